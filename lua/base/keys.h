// Keyword tables: world:box{size = {1, 1}, friction = 0.3}. An unknown key is an error that
// suggests the nearest known key.
#ifndef S2_KEYS_H
#define S2_KEYS_H

#include "base/vec.h"
#include "lua/base/values.h"

#include <lua.h>
#include <stdbool.h>
#include <stdint.h>

enum { S2_KEYS_SCOPE = 32 };

typedef struct S2Keys {
  lua_State *L;
  int table;                 // stack index
  int argument;              // argument number of the function, for messages
  char scope[S2_KEYS_SCOPE]; // prefix of each key in messages, such as "shapes[2]."
} S2Keys;

// Checks that the argument is a table, and that each of its keys is in one of the two lists or in 1
// .. positional. The lists end with NULL, and `more` may be NULL. If `optional`, an empty table
// replaces a missing argument.
S2Keys s2_keys_open(lua_State *L, int argument, bool optional, const char *const *names,
                    const char *const *more, int positional);
// Like s2_keys_open, for a nested table, which must be on top of the stack.
S2Keys s2_keys_inner(const S2Keys *outer, const char *scope, const char *const *names,
                     const char *const *more);

// Each returns false and leaves *value unchanged if the key is absent, and raises an error if the
// value has the wrong kind. The stack is unchanged. Text is valid as long as the table exists.
bool s2_keys_number(const S2Keys *keys, const char *key, S2Domain domain, double *value);
bool s2_keys_integer(const S2Keys *keys, const char *key, int64_t lo, int64_t hi, int64_t *value);
bool s2_keys_boolean(const S2Keys *keys, const char *key, bool *value);
bool s2_keys_choice(const S2Keys *keys, const char *key, const char *const *names, int *value);
bool s2_keys_vec2(const S2Keys *keys, const char *key, S2Vec2 *value);
bool s2_keys_color(const S2Keys *keys, const char *key, uint32_t *value);
bool s2_keys_name(const S2Keys *keys, const char *key, const char **value);
bool s2_keys_has(const S2Keys *keys, const char *key);
// Pushes the value of a key and returns its type, which is LUA_TNIL if the key is absent.
int s2_keys_push(const S2Keys *keys, const char *key);

// These raise the errors "key 'K' is missing" and "key 'K': complaint".
void s2_keys_require(const S2Keys *keys, const char *key);
int s2_keys_fail(const S2Keys *keys, const char *key, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
