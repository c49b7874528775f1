// Packs Lua values as bytes for another Lua state, another machine, or a journal. It supports nil,
// booleans, numbers (bit by bit), texts, arrays, vectors, and tables of these. Keys of tables are
// booleans, numbers or texts. Keys are sorted, so equal values have equal bytes in every run. A
// table that occurs twice in a value arrives as two copies.
#ifndef S2_PACK_H
#define S2_PACK_H

#include "lua/base/values.h"

#include <lua.h>
#include <stddef.h>

// A growing buffer, freed by s2_bytes_free. If all members are zero, it is empty.
typedef struct S2Bytes {
  unsigned char *at;
  size_t count, capacity;
} S2Bytes;

void s2_bytes_room(S2Bytes *bytes, size_t more); // makes room for `more` bytes at the end
void s2_bytes_add(S2Bytes *bytes, const void *data, size_t size);
void s2_bytes_free(S2Bytes *bytes);

// Appends the value at `index`. Returns false if it cannot be packed. The complaint then begins
// with `what`, the name of the value, followed by the path of keys to the cause.
bool s2_pack_value(lua_State *L, int index, const char *what, S2Bytes *bytes,
                   S2Complaint *complaint);

// Pushes the value that the bytes encode. If the bytes are malformed, returns false and pushes no
// value. May raise an error if memory runs out.
bool s2_unpack_value(lua_State *L, const unsigned char *data, size_t size);

#endif
