// The file formats, and their common functions. Private to data*.c, npy.c and npz.c.
#ifndef S2_DATA_FORMATS_H
#define S2_DATA_FORMATS_H

#include "record/data/data.h"
#include "record/s2d/output.h"

// A file in memory, with a 0 after its end. The caller frees it.
typedef struct S2DataFile {
  const char *path;
  unsigned char *bytes;
  size_t size;
} S2DataFile;

// Returns the error S2_INVALID with the message "cannot read 'PATH': ...".
S2Status s2_data_refuse(const char *path, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

// Appends an array for values that will be read from a file. `text_bytes` is the approximate size
// of its texts. Rejects arrays that do not fit into memory, and sets that reach 4 GB.
S2Status s2_data_add_read(const char *path, S2DataSet *set, const char *name, S2DataType type,
                          int axes, const size_t *shape, size_t text_bytes, S2DataArray **added);

// Returns unique keys for all entries, such as "argument", "argument_2". The caller frees them.
enum { S2_RUN_KEY_SIZE = 80 };
typedef char S2RunKey[S2_RUN_KEY_SIZE];
S2RunKey *s2_data_run_keys(const S2Run *run);

// Checks that the format of the path's suffix can store these arrays. Does not depend on their
// values.
S2Status s2_data_check(const S2DataSet *set, const char *path);

enum { S2_DEFLATE_MOST = 1032 }; // largest number of bytes that one compressed byte can produce
// Unpacks `from`. Returns false if the result is not exactly `unpacked` bytes. Set `zlib` if the
// data have the header and checksum of zlib.
bool s2_data_inflate(const unsigned char *from, size_t size, unsigned char *to, size_t unpacked,
                     bool zlib);

// Writes the set to an open file, in the format of the path's suffix. `output` records failures of
// the file.
S2Status s2_data_write(const S2DataSet *set, const char *path, S2Output *output);

// The set must have passed s2_csv_check.
void s2_csv_save(S2Output *output, const S2DataSet *set);
S2Status s2_csv_check(const S2DataSet *set);
S2Status s2_csv_load(const S2DataFile *file, const S2DataOptions *options, S2DataSet *set);
void s2_csv_text(S2Output *output, const char *text); // writes one cell, in quotes if necessary
void s2_csv_title(S2Output *output, const char *name, const char *unit); // writes the name of a
                                                                         // column: "x [m]".

// An array as the bytes of an .npy file: a header and the values.
typedef struct S2Npy {
  unsigned char *header; // owned
  size_t header_size;
  const void *values;
  size_t size;
  void *owned; // memory of `values` if they had to be converted, otherwise NULL
} S2Npy;

void s2_npy_encode(const S2DataArray *array, S2Npy *npy);
void s2_npy_free(S2Npy *npy);
// Appends the array in `bytes`. Messages call it `what`.
S2Status s2_npy_decode(const char *path, const char *what, const unsigned char *bytes, size_t size,
                       const char *name, S2DataSet *set);

S2Status s2_npz_check(const S2DataSet *set);
void s2_npz_save(S2Output *output, const S2DataSet *set);
S2Status s2_npz_load(const S2DataFile *file, S2DataSet *set);

bool s2_hdf5_available(void); // true if this build can write .h5. Every build can read it
S2Status s2_hdf5_check(const S2DataSet *set);
S2Status s2_hdf5_save(S2Output *output, const S2DataSet *set);
S2Status s2_hdf5_load(const S2DataFile *file, S2DataSet *set);

#endif
