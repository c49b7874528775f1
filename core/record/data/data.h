// Named arrays, and the files that store them: .csv, .npy and .npz (NumPy), and .h5 (HDF5).
#ifndef S2_DATA_H
#define S2_DATA_H

#include "base/array.h"
#include "base/status.h"
#include "record/run.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum S2DataType {
  S2_DATA_NUMBER,  // double
  S2_DATA_INTEGER, // int64_t
  S2_DATA_FLAG,    // unsigned char, 0 or 1
  S2_DATA_TEXT,    // UTF-8 strings, each with a final 0, one after another
} S2DataType;

enum { S2_DATA_AXES = 8 }; // at most

typedef struct S2DataArray {
  char *name, *unit; // owned by the array; a unit may be ""
  S2DataType type;
  int axes;                   // 0: a single value
  size_t shape[S2_DATA_AXES]; // the last axis changes fastest
  void *values;               // owned
  size_t bytes, room;         // size and capacity of texts in bytes
  bool borrowed;              // the values belong to another owner
} S2DataArray;

// A structure of zeros is an empty set.
typedef struct S2DataSet {
  S2_ARRAY(S2DataArray) arrays;
  S2Run run;   // the run that produced the arrays; not stored by .csv and .npy
  bool bare;   // the arrays have no names: a single array, or the rows of a ragged table
  size_t room; // total bytes of all values to be read from a file
  int open; // number of the last line of a .csv file if it has no line end, which may mean that the
            // file is truncated. Otherwise 0
} S2DataSet;

// Appends an array. Its values are not initialised, except that texts are empty. The pointer is
// valid until the next call. The caller must make sure that the size does not overflow.
S2DataArray *s2_data_add(S2DataSet *set, const char *name, const char *unit, S2DataType type,
                         int axes, const size_t *shape);
void s2_data_add_text(S2DataArray *array, const char *text);
// The added text ends at the first 0 in `text`, if there is one.
void s2_data_add_text_part(S2DataArray *array, const char *text, size_t length);
const S2DataArray *s2_data_find(const S2DataSet *set, const char *name); // or NULL
size_t s2_data_count(const S2DataArray *array);                          // of values
void s2_data_free(S2DataSet *set);
char *s2_data_copy_text(const char *text, size_t length); // the caller frees the copy.

// Checks whether this build can write the format of the suffix. Returns S2_UNAVAILABLE for .h5 in a
// build without HDF5.
S2Status s2_data_check_path(const char *path);

// The suffix selects the format. Returns S2_INVALID if the format cannot store these arrays. If the
// file cannot be completed, the previous file does not change, and the status is an error.
S2Status s2_data_save(const S2DataSet *set, const char *path);

typedef struct S2DataOptions { // of .csv
  char separator;              // 0 to detect it from the contents, ' ' for any number of blanks
  char decimal;                // '.' or ',', or 0 to detect it from the contents
  int skip;                    // number of lines to skip at the start of the file
  bool fill;                   // cells missing at the ends of rows become NaN
  bool ragged;                 // rows may differ in length, and each row becomes an array
  const char *const *names;    // names of the columns, or NULL to read them from the file
  int name_count;
  const char *const *texts; // columns that remain texts, whatever they contain
  int text_count;
} S2DataOptions;

// `options` may be NULL. The file need not be trusted, because the shapes in the set always fit its
// values. Returns S2_IO if the file cannot be read, and S2_INVALID if it has the wrong format or is
// not supported. Then the message names the place, and the set is empty.
S2Status s2_data_load(const char *path, const S2DataOptions *options, S2DataSet *set);

#endif
