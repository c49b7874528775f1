#include "record/data/data.h"

#include "base/text.h"
#include "record/data/data_formats.h"
#include "record/suffix.h"

#include <assert.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// ---- Sets of arrays ---------------------------------------------------------------------------

char *s2_data_copy_text(const char *text, size_t length) {
  char *copy = s2_memory_take(length + 1);
  memcpy(copy, text, length);
  copy[length] = '\0';
  return copy;
}

static size_t size_of(S2DataType type) {
  return type == S2_DATA_NUMBER ? sizeof(double) : type == S2_DATA_INTEGER ? sizeof(int64_t) : 1;
}

size_t s2_data_count(const S2DataArray *array) {
  size_t count = 1;
  for (int i = 0; i < array->axes; i++) {
    count *= array->shape[i];
  }
  return count;
}

S2DataArray *s2_data_add(S2DataSet *set, const char *name, const char *unit, S2DataType type,
                         int axes, const size_t *shape) {
  assert(axes <= S2_DATA_AXES);
  S2DataArray *array = s2_array_append(set->arrays);
  *array = (S2DataArray){.type = type, .axes = axes}; // sound, should memory run out below
  array->name = s2_data_copy_text(name, strlen(name));
  array->unit = s2_data_copy_text(unit, strlen(unit));
  for (int i = 0; i < axes; i++) {
    array->shape[i] = shape[i];
  }
  if (type != S2_DATA_TEXT) {
    size_t count = s2_data_count(array);
    assert(count <= SIZE_MAX / sizeof(double));
    array->values = s2_memory_take(count > 0 ? count * size_of(type) : 1);
  }
  return array;
}

void s2_data_add_text_part(S2DataArray *array, const char *text, size_t length) {
  assert(array->type == S2_DATA_TEXT);
  length = strnlen(text, length);
  size_t wanted = array->bytes + length + 1;
  if (wanted > array->room) {
    array->room = array->room < 64 ? 64 : array->room;
    while (array->room < wanted) {
      array->room *= 2;
    }
    array->values = s2_memory_grow(array->values, array->room);
  }
  char *to = (char *)array->values + array->bytes;
  memcpy(to, text, length);
  to[length] = '\0';
  array->bytes = wanted;
}

void s2_data_add_text(S2DataArray *array, const char *text) {
  s2_data_add_text_part(array, text, strlen(text));
}

const S2DataArray *s2_data_find(const S2DataSet *set, const char *name) {
  for (int i = 0; i < set->arrays.count; i++) {
    if (strcmp(set->arrays.at[i].name, name) == 0) {
      return &set->arrays.at[i];
    }
  }
  return NULL;
}

void s2_data_free(S2DataSet *set) {
  for (int i = 0; i < set->arrays.count; i++) {
    s2_memory_free(set->arrays.at[i].name);
    s2_memory_free(set->arrays.at[i].unit);
    if (!set->arrays.at[i].borrowed) {
      s2_memory_free(set->arrays.at[i].values);
    }
  }
  s2_run_free(&set->run);
  s2_array_free(set->arrays);
  *set = (S2DataSet){0};
}

typedef struct Keyed {
  const char *key;
  int entry;
} Keyed;

static int by_key(const void *a, const void *b) {
  const Keyed *x = a, *y = b;
  int order = strcmp(x->key, y->key);
  return order != 0 ? order : (x->entry > y->entry) - (x->entry < y->entry);
}

S2RunKey *s2_data_run_keys(const S2Run *run) {
  int count = run->entries.count;
  S2RunKey *keys = s2_memory_take(((size_t)count + 1) * sizeof *keys);
  Keyed *sorted = s2_memory_take(((size_t)count + 1) * sizeof *sorted);
  for (int i = 0; i < count; i++) {
    sorted[i] = (Keyed){run->entries.at[i].key, i};
  }
  qsort(sorted, (size_t)count, sizeof *sorted, by_key);
  for (int i = 0, nth = 0; i < count; i++) {
    nth = i > 0 && strcmp(sorted[i - 1].key, sorted[i].key) == 0 ? nth + 1 : 1;
    char *key = keys[sorted[i].entry];
    if (nth == 1) {
      snprintf(key, S2_RUN_KEY_SIZE, "%.60s", sorted[i].key);
    } else {
      snprintf(key, S2_RUN_KEY_SIZE, "%.60s_%d", sorted[i].key, nth);
    }
  }
  s2_memory_free(sorted);
  return keys;
}

// ---- Files ------------------------------------------------------------------------------------

typedef enum Format { CSV, NPY, NPZ, HDF5, FORMATS } Format;

S2Status s2_data_refuse(const char *path, const char *format, ...) {
  char reason[S2_MESSAGE_SIZE], clean[S2_MESSAGE_SIZE];
  va_list args;
  va_start(args, format);
  vsnprintf(reason, sizeof reason, format, args);
  va_end(args);
  s2_text_escape(clean, sizeof clean, reason); // it quotes the file
  return s2_error(S2_INVALID, "cannot read '%s': %s", s2_path_tail(path), clean);
}

static S2Status find_format(const char *path, int *format) {
  static const char *const suffixes[FORMATS] = {
      [CSV] = ".csv", [NPY] = ".npy", [NPZ] = ".npz", [HDF5] = ".h5"};
  return s2_suffix_find(path, suffixes, FORMATS, format);
}

static S2Status find_writer(const char *path, int *format) {
  S2_TRY(find_format(path, format));
  if (*format == HDF5 && !s2_hdf5_available()) {
    return s2_error(S2_UNAVAILABLE,
                    "'%s': this sim2d was built without HDF5; take .npz, or install the HDF5 "
                    "library (Debian: libhdf5-dev) and build again",
                    s2_path_tail(path));
  }
  return s2_ok();
}

static S2Status check(const S2DataSet *set, Format format) {
  switch (format) {
  case CSV:
    return s2_csv_check(set);
  case NPY:
    if (set->arrays.count != 1 || !set->bare) {
      return s2_error(S2_INVALID,
                      "an .npy file holds one array without a name; .npz holds several");
    }
    return s2_ok();
  case NPZ:
    return s2_npz_check(set);
  case HDF5:
    return s2_hdf5_check(set);
  case FORMATS:
    break;
  }
  return s2_ok();
}

S2Status s2_data_check_path(const char *path) {
  int format = 0;
  return find_writer(path, &format);
}

S2Status s2_data_check(const S2DataSet *set, const char *path) {
  int format = 0;
  S2_TRY(find_writer(path, &format));
  return check(set, (Format)format);
}

S2Status s2_data_add_read(const char *path, S2DataSet *set, const char *name, S2DataType type,
                          int axes, const size_t *shape, size_t text_bytes, S2DataArray **added) {
  S2DataArray array = {.type = type, .axes = axes};
  memcpy(array.shape, shape, (size_t)axes * sizeof *shape);
  size_t count = s2_data_count(&array), most = UINT32_MAX;
  bool large = count > most / size_of(type);
  array.room = large ? 0 : type == S2_DATA_TEXT ? text_bytes : count * size_of(type);
  if (large || array.room > most || set->room > most - array.room) {
    return s2_data_refuse(path, "arrays of 4 GB and more are not supported");
  }
  array.values = s2_memory_take(array.room);
  array.name = s2_data_copy_text(name, strlen(name));
  array.unit = s2_data_copy_text("", 0);
  set->room += array.room;
  *added = s2_array_append(set->arrays);
  **added = array;
  return s2_ok();
}

static S2Status write_file(S2Output *output, const S2DataSet *set, Format format) {
  S2Npy npy;
  switch (format) {
  case CSV:
    s2_csv_save(output, set);
    break;
  case NPY:
    s2_npy_encode(&set->arrays.at[0], &npy);
    s2_output_bytes(output, npy.header, npy.header_size);
    s2_output_bytes(output, npy.values, npy.size);
    s2_npy_free(&npy);
    break;
  case NPZ:
    s2_npz_save(output, set);
    break;
  case HDF5:
    return s2_hdf5_save(output, set);
  case FORMATS:
    break;
  }
  return s2_ok();
}

typedef struct Writing {
  const S2DataSet *set;
  S2Output *output;
  Format format;
} Writing;

static S2Status check_all(void *user) {
  const Writing *writing = user;
  return check(writing->set, writing->format);
}

static S2Status write_all(void *user) {
  const Writing *writing = user;
  return write_file(writing->output, writing->set, writing->format);
}

S2Status s2_data_write(const S2DataSet *set, const char *path, S2Output *output) {
  int format = 0;
  S2_TRY(find_writer(path, &format));
  Writing writing = {set, output, (Format)format};
  S2_TRY(s2_memory_building(check_all, &writing));
  return s2_memory_building(write_all, &writing);
}

S2Status s2_data_save(const S2DataSet *set, const char *path) {
  int format = 0;
  S2_TRY(find_writer(path, &format));
  S2Output output;
  Writing writing = {set, &output, (Format)format};
  S2_TRY(s2_memory_building(check_all, &writing)); // before anything is written
  S2_TRY(s2_output_open_whole(&output, path));
  S2Status written = s2_memory_building(write_all, &writing);
  if (written.code != S2_OK) {
    s2_output_abandon(&output);
    return written;
  }
  return s2_output_close(&output);
}

// Pipes and devices have no size: the file is read until it ends.
static S2Status read_file(const char *path, S2DataFile *file) {
  static const size_t most = (size_t)UINT32_MAX; // ends the reading of /dev/zero; .npz ends there
  FILE *stream = fopen(path, "rb");
  if (stream == NULL) {
    return s2_error(S2_IO, "cannot read '%s': %s", s2_path_tail(path), strerror(errno));
  }
  size_t capacity = (size_t)1 << 16, used = 0;
  unsigned char *bytes = s2_memory_try(capacity), *grown = bytes;
  errno = 0;
  while (grown != NULL &&
         (used += fread(bytes + used, 1, capacity - 1 - used, stream)) == capacity - 1 &&
         used < most) {
    capacity *= 2;
    grown = s2_memory_try_grow(bytes, capacity);
    bytes = grown != NULL ? grown : bytes;
  }
  int reason = ferror(stream) != 0 ? (errno != 0 ? errno : EIO) : 0;
  fclose(stream);
  if (grown == NULL) {
    s2_memory_free(bytes);
    return s2_memory_exhausted(capacity);
  }
  bytes[used] = 0;
  *file = (S2DataFile){path, bytes, used};
  if (reason == 0 && used < most) {
    return s2_ok();
  }
  s2_memory_free(bytes);
  if (reason != 0) {
    return s2_error(S2_IO, "cannot read '%s': %s", s2_path_tail(path), strerror(reason));
  }
  return s2_data_refuse(path, "files of 4 GB and more are not supported");
}

typedef struct Loading {
  const S2DataFile *file;
  const S2DataOptions *options;
  S2DataSet *set;
  Format format;
} Loading;

static S2Status load_format(void *user) {
  const Loading *loading = user;
  const S2DataFile *file = loading->file;
  S2DataSet *set = loading->set;
  S2Status status = s2_ok();
  switch (loading->format) {
  case CSV:
    status = s2_csv_load(file, loading->options, set);
    break;
  case NPY:
    status = s2_npy_decode(file->path, "the file", file->bytes, file->size, "", set);
    set->bare = true;
    break;
  case NPZ:
    status = s2_npz_load(file, set);
    break;
  case HDF5:
    status = s2_hdf5_load(file, set);
    break;
  case FORMATS:
    break;
  }
  if (status.code != S2_OK) {
    s2_data_free(set);
  }
  return status;
}

S2Status s2_data_load(const char *path, const S2DataOptions *options, S2DataSet *set) {
  static const S2DataOptions none = {0};
  *set = (S2DataSet){0};
  int format = 0;
  S2_TRY(find_format(path, &format));
  S2DataFile file = {0};
  S2_TRY(read_file(path, &file));
  Loading loading = {&file, options != NULL ? options : &none, set, (Format)format};
  S2Status status = s2_memory_building(load_format, &loading);
  s2_memory_free(file.bytes);
  if (status.code == S2_MEMORY) {
    *set = (S2DataSet){0}; // what was in it is gone
    return s2_error(S2_MEMORY, "cannot read '%s': %s", s2_path_tail(path), status.message);
  }
  return status;
}
