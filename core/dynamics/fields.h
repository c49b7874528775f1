// Names and domains of the numbers of worlds and bodies: the lines of fields.def as tables, for
// code that reads and writes fields generically.
#ifndef S2_FIELDS_H
#define S2_FIELDS_H

#include "base/status.h"

#include <stddef.h>

typedef enum S2FieldDomain {
  // double
  S2_FIELD_ANY, // finite, like all domains here except BOUND
  S2_FIELD_POSITIVE,
  S2_FIELD_NOT_NEGATIVE,
  S2_FIELD_PART,  // 0 to 1
  S2_FIELD_RANGE, // 0 to `most`
  S2_FIELD_BOUND, // not negative; infinite: no bound
  // others
  S2_FIELD_VECTOR,       // S2Vec2, finite
  S2_FIELD_AT_LEAST_ONE, // int, 1 or more
  S2_FIELD_FLAG,         // bool
  S2_FIELD_CHOICE,       // an enum: index in `names`
  S2_FIELD_BITS,         // uint32_t
  S2_FIELD_COLOR,        // uint32_t, 0xRRGGBBAA; 0: a colour of the palette
} S2FieldDomain;

typedef struct S2Field {
  const char *name;
  double most;
  double absent;            // default of a single number; NAN: derived from others
  const char *const *names; // names of a choice, end with NULL
  const char *unit, *meaning;
  size_t offset; // offset of the member in the definition
  S2FieldDomain domain;
  bool program;  // scripts cannot set it
  bool required; // whether the key is required
} S2Field;

// Tables that end with a NULL name: members of S2WorldDef, and of S2BodyDef (the fields of
// S2BodyField that are not part of the state).
extern const S2Field s2_world_fields[];
extern const S2Field s2_body_fields[];
// Keys of joints, members of S2JointDef.
extern const S2Field s2_joint_keys[];

// The member of a definition; for a vector, the first of two doubles.
void *s2_field_in(const S2Field *field, void *definition);
// Read or write a single number as a double (the index in `names`, the bits, 0 or 1).
double s2_field_get(const S2Field *field, const void *definition);
void s2_field_set(const S2Field *field, void *definition, double value);
// The message of a failure has the form "name: a number above 0 expected, got -1".
S2Status s2_field_check(const S2Field *field, double value);
// Checks all members of a definition. NAN is valid where it is the default.
S2Status s2_fields_check(const S2Field *fields, const void *definition);

#endif
