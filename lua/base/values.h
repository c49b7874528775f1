// Functions that read Lua values of a given kind. They do not raise errors, but return a complaint,
// which the caller puts after the name of the key, field or argument.
#ifndef S2_VALUES_H
#define S2_VALUES_H

#include "base/vec.h"

#include <lua.h>
#include <stdbool.h>
#include <stdint.h>

enum { S2_COMPLAINT_SIZE = 240 };

typedef struct S2Complaint {
  char text[S2_COMPLAINT_SIZE];
} S2Complaint;

typedef enum S2Domain { S2_ANY_NUMBER, S2_NON_NEGATIVE, S2_POSITIVE } S2Domain; // finite only

// Writes the complaint and returns false.
bool s2_complain(S2Complaint *complaint, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

bool s2_value_number(lua_State *L, int index, S2Domain domain, double *value,
                     S2Complaint *complaint);
// Reads a bound, which is zero or positive and may be infinite.
bool s2_value_bound(lua_State *L, int index, double *value, S2Complaint *complaint);
bool s2_value_integer(lua_State *L, int index, int64_t lo, int64_t hi, int64_t *value,
                      S2Complaint *complaint);
// Reads an integer, or a float without a fraction (as Lua does for table keys). Returns false for
// anything else, including text.
bool s2_value_whole(lua_State *L, int index, lua_Integer *value);
bool s2_value_boolean(lua_State *L, int index, bool *value, S2Complaint *complaint);
// Reads one of the texts in `names`, which ends with NULL. *value becomes the position of the text.
bool s2_value_choice(lua_State *L, int index, const char *const *names, int *value,
                     S2Complaint *complaint);
// Reads {x, y}, {x=, y=} or a vector. `names` contains the n field names, and `shape` is the text
// "{x, y}" for messages.
bool s2_value_vector(lua_State *L, int index, int n, const char *const *names, const char *shape,
                     double *values, S2Complaint *complaint);
bool s2_value_vec2(lua_State *L, int index, S2Vec2 *value, S2Complaint *complaint);
// Reads "#rrggbb", "#rrggbbaa" or a colour name. *value becomes 0xRRGGBBAA.
bool s2_value_color(lua_State *L, int index, uint32_t *value, S2Complaint *complaint);
// Reads the name of a body or joint. The result is borrowed from the Lua string.
bool s2_value_name(lua_State *L, int index, const char **value, S2Complaint *complaint);

// Like the s2_value_ functions, for argument number `argument`. They raise a bad-argument error.
double s2_argument_number(lua_State *L, int argument, S2Domain domain);
S2Vec2 s2_argument_vec2(lua_State *L, int argument);
int64_t s2_argument_integer(lua_State *L, int argument, int64_t lo, int64_t hi);

#endif
