// Reads HDF5 files in memory (HDF5 File Format Specification, version 3.0). Private to h5_*.c and
// data_hdf5_read.c. The HDF5 library is not used for reading, because it follows any address in a
// file and so is unsafe for untrusted files. This reader supports superblocks 0 to 3, both kinds of
// groups and of object headers, and values that are stored contiguously, in the header or in chunks
// (deflate, shuffle).
//
// All bytes are read through views, which are bounded. Reading beyond the end of a view returns 0
// and sets a flag. Three budgets limit time and memory for damaged files. `structure` is the number
// of bytes of headers, nodes and heaps that may still be read. `stored` is the number of bytes of
// values that may still be read, and `unpacked` is their size after unpacking.
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
  // One bit per byte of the file. It is set if an object that was read starts there.
  unsigned char *seen;
  const char *trouble; // the first error, or NULL
  S2_ARRAY(S2H5Collection)
  collections;              // the collections of texts read so far, sorted by address
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
  bool shared; // the message only contains the address of its contents
  S2H5View data;
} S2H5Message;

typedef S2_ARRAY(S2H5Message) S2H5Object; // the messages of the object's header

typedef struct S2H5Link {
  char *name; // owned
  uint64_t address, order;
} S2H5Link;

typedef S2_ARRAY(S2H5Link) S2H5Links;

// These functions return false and set `trouble` if the file is invalid.
bool s2_h5_fail(S2H5 *h5, const char *trouble); // false
bool s2_h5_pay(S2H5 *h5, uint64_t stored, uint64_t unpacked);
bool s2_h5_open(S2H5 *h5, const S2DataFile *file);
void s2_h5_close(S2H5 *h5);

S2H5View s2_h5_view(S2H5 *h5, uint64_t address, uint64_t size); // uses up the budget `structure`
uint64_t s2_h5_number(S2H5View *view, unsigned bytes);
uint64_t s2_h5_address(const S2H5 *h5, S2H5View *view);
uint64_t s2_h5_length(const S2H5 *h5, S2H5View *view);
S2H5View s2_h5_part(S2H5View *view, uint64_t size); // returns the next bytes of the view
bool s2_h5_starts(S2H5View *view, const char magic[5]);

// Appends the messages of the header at `address`, or none if the object was read before.
bool s2_h5_object(S2H5 *h5, uint64_t address, S2H5Object *object);
// Appends the messages in the heap at `heap`, and sets their kind. The tree at `tree` contains
// their positions.
bool s2_h5_dense(S2H5 *h5, uint64_t heap, uint64_t tree, S2H5Kind kind, S2H5Object *object);
const S2H5Message *s2_h5_message(const S2H5Object *object, S2H5Kind kind); // returns the first such
                                                                           // message, or NULL.

// Lists the hard links of a group in order of creation. If that order is not known, sorts them by
// name.
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
  bool in_heap; // each value is the address of a text in a heap
  bool padded;  // with blanks
} S2H5Type;

typedef struct S2H5Space {
  int axes;
  uint64_t shape[S2_DATA_AXES], count;
} S2H5Space;

typedef struct S2H5Values {
  const unsigned char *bytes;
  unsigned char *owned; // memory of `bytes`, or NULL if they are in the file
} S2H5Values;

// Returns the bytes of the values at an address.
S2H5View s2_h5_stored(S2H5 *h5, uint64_t address, uint64_t size);
bool s2_h5_type(S2H5 *h5, S2H5View data, S2H5Type *type);
bool s2_h5_space(S2H5 *h5, S2H5View data, S2H5Space *space);
// Reads the values of a dataset. Their number and size are given by `space` and `type`.
bool s2_h5_values(S2H5 *h5, const S2H5Object *object, const S2H5Type *type, const S2H5Space *space,
                  S2H5Values *values);
// Converts the values and writes them to the array, which must have memory for them.
bool s2_h5_decode(S2H5 *h5, const S2H5Type *type, const unsigned char *bytes, size_t count,
                  S2DataArray *array);
// Reads an attribute that contains a single text. The caller frees its name and value. Returns
// false for other attributes, but does not set `trouble`. This function clears `trouble`, so do not
// call it after an error.
bool s2_h5_attribute(S2H5 *h5, const S2H5Message *message, char **name, char **value);

#endif
