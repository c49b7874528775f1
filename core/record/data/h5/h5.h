// Private to h5_*.c and data_hdf5_read.c: a reader of HDF5 files in memory (HDF5 File Format
// Specification, version 3.0). It exists because the library follows any address that a file
// contains, which is unsafe for files from strangers. It supports superblocks 0 to 3, both kinds of
// groups and of object headers, and values stored contiguously, in the header or in chunks
// (deflate, shuffle).
//
// Every byte is read through a view, which knows its end. Reading beyond the end gives 0 and sets a
// flag. Three budgets bound time and memory for any file. `structure`: bytes of headers, nodes and
// heaps that may still be read. `stored`: bytes of values that may still be read; a valid file
// contains each value only once. `unpacked`: the size of these values after unpacking.
#ifndef S2_H5_H
#define S2_H5_H

#include "record/data/data_formats.h"

typedef struct S2H5View {
  const unsigned char *at, *end;
  bool bad; // a read went beyond the end of the view
} S2H5View;

typedef struct S2H5Text {
  uint32_t number;
  S2H5View bytes;
} S2H5Text;

typedef struct S2H5Collection {
  uint64_t address;
  int first, count; // range in `texts`, sorted by number
} S2H5Collection;

typedef struct S2H5 {
  const unsigned char *bytes;
  uint64_t size;             // bytes of the file
  uint64_t base;             // origin of the addresses in the file
  unsigned offsets, lengths; // bytes per address and bytes per length
  uint64_t root;             // address of the header of the root group
  uint64_t structure, stored, unpacked;
  // 1 bit per byte of the file: set if the header of an object that was read starts there
  unsigned char *seen;
  const char *trouble; // the first error, or NULL
  S2_ARRAY(S2H5Collection)
  collections;              // collections of texts that were read so far, sorted by
                            // address
  S2_ARRAY(S2H5Text) texts; // the texts of all collections
} S2H5;

#define S2_H5_NOWHERE UINT64_MAX // the address of an absent object

typedef enum S2H5Kind { // kinds of header messages
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
  bool shared; // the message contains only an address
  S2H5View data;
} S2H5Message;

typedef S2_ARRAY(S2H5Message) S2H5Object; // the messages of the object's header

typedef struct S2H5Link {
  char *name; // owned
  uint64_t address, order;
} S2H5Link;

typedef S2_ARRAY(S2H5Link) S2H5Links;

// All of these functions return false and set `trouble` if the file is invalid.
bool s2_h5_fail(S2H5 *h5, const char *trouble); // false
bool s2_h5_pay(S2H5 *h5, uint64_t stored, uint64_t unpacked);
bool s2_h5_open(S2H5 *h5, const S2DataFile *file);
void s2_h5_close(S2H5 *h5);

S2H5View s2_h5_view(S2H5 *h5, uint64_t address, uint64_t size); // charges the budget `structure`
uint64_t s2_h5_number(S2H5View *view, unsigned bytes);
uint64_t s2_h5_address(const S2H5 *h5, S2H5View *view);
uint64_t s2_h5_length(const S2H5 *h5, S2H5View *view);
S2H5View s2_h5_part(S2H5View *view, uint64_t size); // returns the next bytes of the view
bool s2_h5_starts(S2H5View *view, const char magic[5]);

// Appends the messages of the header at `address`, or none if the object was read before.
bool s2_h5_object(S2H5 *h5, uint64_t address, S2H5Object *object);
// Appends the messages in the heap at `heap` as messages of the given kind. The records of the tree
// at `tree` locate them.
bool s2_h5_dense(S2H5 *h5, uint64_t heap, uint64_t tree, S2H5Kind kind, S2H5Object *object);
const S2H5Message *s2_h5_message(const S2H5Object *object, S2H5Kind kind); // returns the first such
                                                                           // message, or NULL.

// Lists the hard links of a group, in the order of creation if it is known, otherwise by name.
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
  uint32_t size; // bytes per value
  bool big_endian, has_sign;
  bool in_heap; // texts: each value is the address of a text in a heap
  bool padded;  // with blanks
} S2H5Type;

typedef struct S2H5Space {
  int axes;
  uint64_t shape[S2_DATA_AXES], count;
} S2H5Space;

typedef struct S2H5Values {
  const unsigned char *bytes;
  unsigned char *owned; // memory of `bytes`; NULL: they are in the file
} S2H5Values;

// Returns the bytes of values at an address of the file.
S2H5View s2_h5_stored(S2H5 *h5, uint64_t address, uint64_t size);
bool s2_h5_type(S2H5 *h5, S2H5View data, S2H5Type *type);
bool s2_h5_space(S2H5 *h5, S2H5View data, S2H5Space *space);
// Reads the values of a dataset; space and type determine their number and size.
bool s2_h5_values(S2H5 *h5, const S2H5Object *object, const S2H5Type *type, const S2H5Space *space,
                  S2H5Values *values);
// Converts the values and writes them to the array, which must have memory for them.
bool s2_h5_decode(S2H5 *h5, const S2H5Type *type, const unsigned char *bytes, size_t count,
                  S2DataArray *array);
// Reads the name and the only text of an attribute; the caller frees both. Returns false without
// `trouble` if the attribute is not a single text. Call this only if `trouble` is not set, because
// the function clears it.
bool s2_h5_attribute(S2H5 *h5, const S2H5Message *message, char **name, char **value);

#endif
