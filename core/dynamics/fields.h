// Tables made from fields.def: names and domains of the fields of worlds, bodies and joints. Used
// by code that reads and writes fields generically.
#ifndef S2_FIELDS_H
#define S2_FIELDS_H

#include "base/status.h"

#include <stddef.h>

typedef enum S2FieldDomain {
  // double
  S2_FIELD_ANY, // finite, as in all domains of doubles except BOUND
  S2_FIELD_POSITIVE,
  S2_FIELD_NOT_NEGATIVE,
  S2_FIELD_PART,  // from 0 to 1
  S2_FIELD_RANGE, // from 0 to `most`
  S2_FIELD_BOUND, // not negative; infinity means no bound.
  // Other types.
  S2_FIELD_VECTOR,       // S2Vec2, finite
  S2_FIELD_AT_LEAST_ONE, // int, 1 or more
  S2_FIELD_FLAG,         // bool
  S2_FIELD_CHOICE,       // an enum; the value is the index in `names`
  S2_FIELD_BITS,         // uint32_t
  S2_FIELD_COLOR,        // uint32_t, 0xRRGGBBAA; 0 selects a colour of the palette
} S2FieldDomain;

typedef struct S2Field {
  const char *name;
  double most;
  double absent;            // default of a single number, NAN if it is derived from other fields
  const char *const *names; // names of a choice, terminated by NULL
  const char *unit, *meaning;
  size_t offset; // offset of the member in the definition
  S2FieldDomain domain;
  bool program;  // true if only programs can set it, not scripts
  bool required; // true if the Lua key is required
} S2Field;

// Tables of the members of S2WorldDef and S2BodyDef, terminated by a NULL name. The fields of a
// body's state are not included.
extern const S2Field s2_world_fields[];
extern const S2Field s2_body_fields[];
// Keys of joints: members of S2JointDef.
extern const S2Field s2_joint_keys[];

// Pointer to the member of a definition. A vector is two doubles.
void *s2_field_in(const S2Field *field, void *definition);
// Read or write a single number as a double. For choices this is the index in `names`, for bits the
// bits, for flags 0 or 1.
double s2_field_get(const S2Field *field, const void *definition);
void s2_field_set(const S2Field *field, void *definition, double value);
// Checks one value. The error message has the form "name: a number above 0 expected, got -1".
S2Status s2_field_check(const S2Field *field, double value);
// Checks all members of a definition. NAN is valid if it is the default.
S2Status s2_fields_check(const S2Field *fields, const void *definition);

#endif
