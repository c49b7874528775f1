// Lua values as bytes, for the way to another Lua state, to another machine and into a journal.
//
// nil, booleans, numbers (bit by bit), texts, tables of those, arrays and vectors travel. Keys of
// tables are booleans, numbers or texts. The same value gives the same bytes in every run: keys are
// sorted. What is in two places of a value arrives as two copies.
#ifndef S2_PACK_H
#define S2_PACK_H

#include "lua/base/values.h"

#include <lua.h>
#include <stddef.h>

// Grows; s2_bytes_free gives the memory back. All zeros: empty.
typedef struct S2Bytes {
  unsigned char *at;
  size_t count, capacity;
} S2Bytes;

void s2_bytes_room(S2Bytes *bytes, size_t more); // for so many behind those that count
void s2_bytes_add(S2Bytes *bytes, const void *data, size_t size);
void s2_bytes_free(S2Bytes *bytes);

// Appends the value at `index`. False: it cannot travel; the complaint begins with `what`, the name
// of the value, followed by the path of keys to what is wrong.
bool s2_pack_value(lua_State *L, int index, const char *what, S2Bytes *bytes,
                   S2Complaint *complaint);

// Pushes the value that the bytes hold; false, with nothing pushed, when they are not of this form.
// May raise an error where memory runs out.
bool s2_unpack_value(lua_State *L, const unsigned char *data, size_t size);

#endif
