// Reads, writes and checks numbers of worlds and bodies, as described in fields.def.
#include "dynamics/fields.h"

#include "dynamics/dynamics.h"

#include <math.h>
#include <string.h>

#define S2_NAMES(...) ((const char *const[]){__VA_ARGS__, NULL})

#define S2_SETTING(member, type, default, domain, names, unit, derivative, meaning)                \
  {#member,           1,     0,    names, unit, meaning, offsetof(S2WorldDef, member),             \
   S2_FIELD_##domain, false, false},
#define S2_PROGRAM_SETTING(member, type, default, domain, names, unit, derivative, meaning)        \
  {#member,           1,    0,    names, unit, meaning, offsetof(S2WorldDef, member),              \
   S2_FIELD_##domain, true, false},

const S2Field s2_world_fields[] = {
#include "dynamics/fields.def"
    {.name = NULL}};

#define S2_BODY_NUMBER(ID, member, default, domain, most, unit, meaning)                           \
  {#member,           most,  default, NULL, unit, meaning, offsetof(S2BodyDef, member),            \
   S2_FIELD_##domain, false, false},
#define S2_BODY_BOUND(ID, member, default, domain, most, unit, meaning)                            \
  S2_BODY_NUMBER(ID, member, default, domain, most, unit, meaning)
#define S2_BODY_MARK(ID, member, type, default, domain, names, meaning)                            \
  {#member, 0, 0, names, "", meaning, offsetof(S2BodyDef, member), S2_FIELD_##domain, false, false},

const S2Field s2_body_fields[] = {
#include "dynamics/fields.def"
    {.name = NULL}};

#define S2_JOINT_KEY(member, type, default, domain, required)                                      \
  {#member, 1, 0, NULL, "", "", offsetof(S2JointDef, member), S2_FIELD_##domain, false, required},

const S2Field s2_joint_keys[] = {
#include "dynamics/fields.def"
    {.name = NULL}};

_Static_assert(sizeof(S2Stepping) == sizeof(int) && sizeof(S2BodyType) == sizeof(int),
               "choices are read and written as int");

void *s2_field_in(const S2Field *field, void *definition) {
  return (unsigned char *)definition + field->offset;
}

double s2_field_get(const S2Field *field, const void *definition) {
  // The domain determines the type of the member.
  const void *at = (const unsigned char *)definition + field->offset;
  switch (field->domain) {
  case S2_FIELD_AT_LEAST_ONE:
  case S2_FIELD_CHOICE:
    return *(const int *)at;
  case S2_FIELD_FLAG:
    return *(const bool *)at;
  case S2_FIELD_BITS:
  case S2_FIELD_COLOR:
    return *(const uint32_t *)at;
  default: // a double; for a vector, its first component
    return *(const double *)at;
  }
}

void s2_field_set(const S2Field *field, void *definition, double value) {
  void *at = s2_field_in(field, definition);
  switch (field->domain) {
  case S2_FIELD_AT_LEAST_ONE:
  case S2_FIELD_CHOICE:
    *(int *)at = (int)value;
    return;
  case S2_FIELD_FLAG:
    *(bool *)at = value != 0;
    return;
  case S2_FIELD_BITS:
  case S2_FIELD_COLOR:
    *(uint32_t *)at = (uint32_t)value;
    return;
  default:
    *(double *)at = value;
    return;
  }
}

static int field_choices(const S2Field *field) {
  int count = 0;
  while (field->names[count] != NULL) {
    count++;
  }
  return count;
}

S2Status s2_field_check(const S2Field *field, double value) {
  const char *name = field->name;
  S2FieldDomain domain = field->domain;
  // Infinity means no bound.
  if (domain == S2_FIELD_BOUND && value == INFINITY) {
    return s2_ok();
  }
  if (!isfinite(value)) {
    return s2_error(S2_INVALID, "%s: finite number expected, got %g", name, value);
  }
  // Check the range of each domain. The message states the expected range.
  if (domain == S2_FIELD_POSITIVE && value <= 0) {
    return s2_error(S2_INVALID, "%s: a number above 0 expected, got %g", name, value);
  }
  if ((domain == S2_FIELD_NOT_NEGATIVE || domain == S2_FIELD_BOUND) && value < 0) {
    return s2_error(S2_INVALID, "%s: a number not below 0 expected, got %g", name, value);
  }
  double most = domain == S2_FIELD_PART ? 1 : field->most;
  if ((domain == S2_FIELD_PART || domain == S2_FIELD_RANGE) && (value < 0 || value > most)) {
    return s2_error(S2_INVALID, "%s: a number from 0 to %g expected, got %g", name, most, value);
  }
  if (domain == S2_FIELD_AT_LEAST_ONE && value < 1) {
    return s2_error(S2_INVALID, "%s: 1 or more expected, got %g", name, value);
  }
  // Bits and colours are 32-bit integers.
  if ((domain == S2_FIELD_BITS || domain == S2_FIELD_COLOR) &&
      (value < 0 || value > (double)UINT32_MAX || value != floor(value))) {
    return s2_error(S2_INVALID, "%s: an integer from 0 to 2^32 - 1 expected, got %g", name, value);
  }
  if (domain == S2_FIELD_FLAG && value != 0 && value != 1) {
    return s2_error(S2_INVALID, "%s: 0 or 1 expected, got %g", name, value);
  }
  // A choice is the index of a name.
  if (domain == S2_FIELD_CHOICE &&
      (value < 0 || value >= field_choices(field) || value != floor(value))) {
    return s2_error(S2_INVALID, "%s: a known choice expected, got number %g", name, value);
  }
  return s2_ok();
}

S2Status s2_fields_check(const S2Field *fields, const void *definition) {
  for (const S2Field *field = fields; field->name != NULL; field++) {
    const double *at =
        (const double *)(const void *)((const unsigned char *)definition + field->offset);
    if (field->domain == S2_FIELD_VECTOR) {
      if (!isfinite(at[0]) || !isfinite(at[1])) {
        return s2_error(S2_INVALID, "%s: finite numbers expected, got {%g, %g}", field->name, at[0],
                        at[1]);
      }
      continue;
    }
    // NAN means that an optional number was omitted.
    double value = s2_field_get(field, definition);
    if (!isnan(value) || !isnan(field->absent)) {
      S2_TRY(s2_field_check(field, value));
    }
  }
  return s2_ok();
}
