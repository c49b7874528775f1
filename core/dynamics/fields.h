// What the numbers of worlds and bodies are called and may be: the lines of fields.def as tables,
// for whoever reads and writes them without knowing each.
#ifndef S2_FIELDS_H
#define S2_FIELDS_H

#include "base/status.h"

#include <stddef.h>

typedef enum S2FieldDomain {
  // double
  S2_FIELD_ANY, // finite, as all of these but BOUND
  S2_FIELD_POSITIVE,
  S2_FIELD_NOT_NEGATIVE,
  S2_FIELD_PART,  // 0 to 1
  S2_FIELD_RANGE, // 0 to `most`
  S2_FIELD_BOUND, // not negative, may be infinite: none
  // others
  S2_FIELD_VECTOR,       // S2Vec2, finite
  S2_FIELD_AT_LEAST_ONE, // int, 1 or more
  S2_FIELD_FLAG,         // bool
  S2_FIELD_CHOICE,       // an enum: which of `names`
  S2_FIELD_BITS,         // uint32_t
  S2_FIELD_COLOR,        // uint32_t, 0xRRGGBBAA; 0: the palette's
} S2FieldDomain;

typedef struct S2Field {
  const char *name;
  double most;
  double absent;            // what one number is when nobody says; NAN: worked out from others
  const char *const *names; // of a choice, ends with NULL
  const char *unit, *meaning;
  size_t offset; // of the member in the definition
  S2FieldDomain domain;
  bool program;  // not for scripts
  bool required; // of a key
} S2Field;

// Tables that end with a name NULL. Members of S2WorldDef; of S2BodyDef (those of S2BodyField that
// are no part of the state).
extern const S2Field s2_world_fields[];
extern const S2Field s2_body_fields[];
// Keys of joints, members of S2JointDef.
extern const S2Field s2_joint_keys[];

// The member of a definition; a vector has two of them.
void *s2_field_in(const S2Field *field, void *definition);
// As a double what is one number (the place in `names`, the bits, 0 or 1), and back.
double s2_field_get(const S2Field *field, const void *definition);
void s2_field_set(const S2Field *field, void *definition, double value);
// "name: a number above 0 expected, got -1".
S2Status s2_field_check(const S2Field *field, double value);
// Of all members of a definition; NAN is good where it is what is absent.
S2Status s2_fields_check(const S2Field *fields, const void *definition);

#endif
