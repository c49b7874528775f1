#include "record/data.h"

#include "record/data_formats.h"
#include "record/suffix.h"

#include <assert.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
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

void s2_data_add_text(S2DataArray *array, const char *text) {
  assert(array->type == S2_DATA_TEXT);
  size_t length = strlen(text) + 1, wanted = array->bytes + length;
  // The room is the next power of two; it need not be kept.
  size_t room = 64;
  while (room < wanted) {
    room *= 2;
  }
  if (array->values == NULL || array->bytes <= room / 2) {
    array->values = s2_memory_grow(array->values, room);
  }
  memcpy((char *)array->values + array->bytes, text, length);
  array->bytes = wanted;
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

void s2_data_run_key(const S2Run *run, int entry, char key[S2_RUN_KEY_SIZE]) {
  int before = 0;
  for (int i = 0; i < entry; i++) {
    before += strcmp(run->entries.at[i].key, run->entries.at[entry].key) == 0;
  }
  if (before == 0) {
    snprintf(key, S2_RUN_KEY_SIZE, "%.60s", run->entries.at[entry].key);
  } else {
    snprintf(key, S2_RUN_KEY_SIZE, "%.60s_%d", run->entries.at[entry].key, before + 1);
  }
}

// ---- Files ------------------------------------------------------------------------------------

typedef enum Format { CSV, NPY, NPZ, HDF5, FORMATS } Format;

S2Status s2_data_refuse(const char *path, const char *format, ...) {
  char reason[S2_MESSAGE_SIZE];
  va_list args;
  va_start(args, format);
  vsnprintf(reason, sizeof reason, format, args);
  va_end(args);
  return s2_error(S2_INVALID, "cannot read '%s': %s", s2_path_tail(path), reason);
}

static S2Status find_format(const char *path, int *format) {
  static const char *const suffixes[FORMATS] = {
      [CSV] = ".csv", [NPY] = ".npy", [NPZ] = ".npz", [HDF5] = ".h5"};
  S2_TRY(s2_suffix_find(path, suffixes, FORMATS, format));
  if (*format == HDF5 && !s2_hdf5_available()) {
    return s2_error(S2_UNAVAILABLE,
                    "'%s': this sim2d was built without HDF5; take .npz, or install the HDF5 "
                    "library (Debian: libhdf5-dev) and build again",
                    s2_path_tail(path));
  }
  return s2_ok();
}

S2Status s2_data_check_path(const char *path) {
  int format = 0;
  return find_format(path, &format);
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
  case FORMATS:
    break;
  }
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

static S2Status check_and_write(void *user) {
  const Writing *writing = user;
  S2_TRY(check(writing->set, writing->format));
  return write_file(writing->output, writing->set, writing->format);
}

// The HDF5 library would not stand being left in the middle.
static S2Status write_guarded(Writing *writing) {
  return writing->format == HDF5 ? check_and_write(writing)
                                 : s2_memory_building(check_and_write, writing);
}

S2Status s2_data_write(const S2DataSet *set, const char *path, S2Output *output) {
  int format = 0;
  S2_TRY(find_format(path, &format));
  Writing writing = {set, output, (Format)format};
  return write_guarded(&writing);
}

S2Status s2_data_save(const S2DataSet *set, const char *path) {
  int format = 0;
  S2_TRY(find_format(path, &format));
  S2_TRY(check(set, (Format)format)); // before a file of that name is emptied
  S2Output output;
  S2_TRY(s2_output_open(&output, path));
  Writing writing = {set, &output, (Format)format};
  S2Status written = write_guarded(&writing);
  S2Status closed = s2_output_close(&output);
  return written.code != S2_OK ? written : closed;
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
  S2Status status =
      format == HDF5 ? load_format(&loading) : s2_memory_building(load_format, &loading);
  s2_memory_free(file.bytes);
  if (status.code == S2_MEMORY) {
    *set = (S2DataSet){0}; // what was in it is gone
  }
  return status;
}
