// Private to h5_*.c and data_hdf5_read.c: HDF5 files as they lie in memory (HDF5 File Format
// Specification, version 3.0). A reader of our own, since the library follows whatever addresses a
// file names: a file of strangers must not. Known are superblocks 0 to 3, both kinds of groups and
// of object headers, and values that lie together, in the header or in chunks (deflate, shuffle).
//
// Every byte is read through a view, which knows its end: what is read beyond it is 0 and leaves a
// mark. Three purses bound time and memory whatever a file says: `structure`, bytes of headers,
// nodes and heaps that may still be looked at; `stored`, bytes of values that may still be taken,
// which in a file of a writer that means well are there once; and `unpacked`, what these may
// become.
#ifndef S2_H5_H
#define S2_H5_H

#include "record/data/data_formats.h"

typedef struct S2H5View {
  const unsigned char *at, *end;
  bool bad; // something was wanted that is not there
} S2H5View;

typedef struct S2H5Text {
  uint32_t number;
  S2H5View bytes;
} S2H5Text;

typedef struct S2H5Collection {
  uint64_t address;
  int first, count; // in `texts`, by number
} S2H5Collection;

typedef struct S2H5 {
  const unsigned char *bytes;
  uint64_t size;             // of the file
  uint64_t base;             // what addresses count from
  unsigned offsets, lengths; // bytes of an address, of a length
  uint64_t root;             // address of the root group's header
  uint64_t structure, stored, unpacked;
  unsigned char *seen; // a bit a byte of the file: an object's header starts there and was read
  const char *trouble; // the first, NULL: none yet
  S2_ARRAY(S2H5Collection) collections; // of texts, read so far, by address
  S2_ARRAY(S2H5Text) texts;             // of all of them
} S2H5;

#define S2_H5_NOWHERE UINT64_MAX // the address of what is not there

typedef enum S2H5Kind { // of messages
  S2_H5_SPACE = 1,
  S2_H5_LINK_INFO = 2,
  S2_H5_TYPE = 3,
  S2_H5_OLD_FILL = 4,
  S2_H5_FILL = 5,
  S2_H5_LINK = 6,
  S2_H5_LAYOUT = 8,
  S2_H5_FILTERS = 11,
  S2_H5_ATTRIBUTE = 12,
  S2_H5_CONTINUATION = 16,
  S2_H5_TABLE = 17, // of symbols
  S2_H5_ATTRIBUTE_INFO = 21,
} S2H5Kind;

typedef struct S2H5Message {
  S2H5Kind kind;
  bool shared; // it only says where it is
  S2H5View data;
} S2H5Message;

typedef S2_ARRAY(S2H5Message) S2H5Object; // what its header says

typedef struct S2H5Link {
  char *name; // owned
  uint64_t address, order;
} S2H5Link;

typedef S2_ARRAY(S2H5Link) S2H5Links;

// All of these return false and set `trouble` when something is not as it should be.
bool s2_h5_fail(S2H5 *h5, const char *trouble); // false
bool s2_h5_pay(S2H5 *h5, uint64_t stored, uint64_t unpacked);
bool s2_h5_open(S2H5 *h5, const S2DataFile *file);
void s2_h5_close(S2H5 *h5);

S2H5View s2_h5_view(S2H5 *h5, uint64_t address, uint64_t size); // pays from `structure`
uint64_t s2_h5_number(S2H5View *view, unsigned bytes);
uint64_t s2_h5_address(const S2H5 *h5, S2H5View *view);
uint64_t s2_h5_length(const S2H5 *h5, S2H5View *view);
S2H5View s2_h5_part(S2H5View *view, uint64_t size); // the next bytes of it
bool s2_h5_starts(S2H5View *view, const char magic[5]);

// Appends the messages of the header at `address`; of an object that was read before: none.
bool s2_h5_object(S2H5 *h5, uint64_t address, S2H5Object *object);
// Those in the heap at `heap`, by the records of the tree at `tree`, as messages of that kind.
bool s2_h5_dense(S2H5 *h5, uint64_t heap, uint64_t tree, S2H5Kind kind, S2H5Object *object);
const S2H5Message *s2_h5_message(const S2H5Object *object, S2H5Kind kind); // the first, or NULL

// The hard links of a group, in the order they were made if that is known, else by name.
bool s2_h5_links(S2H5 *h5, const S2H5Object *object, S2H5Links *links);
void s2_h5_free_links(S2H5Links *links);

typedef enum S2H5Class {
  S2_H5_INTEGER,
  S2_H5_FLOAT,
  S2_H5_TEXT,
  S2_H5_FLAG,
  S2_H5_OTHER
} S2H5Class;

typedef struct S2H5Type {
  S2H5Class class;
  uint32_t size; // bytes of a value
  bool big_endian, has_sign;
  bool in_heap; // texts: each is the place of one
  bool padded;  // with blanks
} S2H5Type;

typedef struct S2H5Space {
  int axes;
  uint64_t shape[S2_DATA_AXES], count;
} S2H5Space;

typedef struct S2H5Values {
  const unsigned char *bytes;
  unsigned char *owned; // NULL: `bytes` lie in the file
} S2H5Values;

// An address in the file and the bytes of values there.
S2H5View s2_h5_stored(S2H5 *h5, uint64_t address, uint64_t size);
bool s2_h5_type(S2H5 *h5, S2H5View data, S2H5Type *type);
bool s2_h5_space(S2H5 *h5, S2H5View data, S2H5Space *space);
// The values of a dataset, as many and as large as space and type say.
bool s2_h5_values(S2H5 *h5, const S2H5Object *object, const S2H5Type *type, const S2H5Space *space,
                  S2H5Values *values);
// Puts them into an array that has room for them.
bool s2_h5_decode(S2H5 *h5, const S2H5Type *type, const unsigned char *bytes, size_t count,
                  S2DataArray *array);
// The name and the only text of an attribute, both to be freed; false without trouble: it is
// something else. To be asked only while there is no trouble.
bool s2_h5_attribute(S2H5 *h5, const S2H5Message *message, char **name, char **value);

#endif
