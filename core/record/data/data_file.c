// Reads and writes files that store sets of arrays. Each format is an entry of a table.
#include "record/data/data_formats.h"
#include "record/suffix.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

// ---- Formats ----------------------------------------------------------------------------------

typedef struct DataFormat {
  const char *suffix;
  S2Status (*available)(
      const char *path); // checks that this build can write the format, or NULL if it always can
  S2Status (*check)(const S2DataSet *set);
  S2Status (*save)(S2Output *output, const S2DataSet *set); // called only after `check` succeeded
  S2Status (*load)(const S2DataFile *file, const S2DataOptions *options, S2DataSet *set);
} DataFormat;

static S2Status csv_save(S2Output *output, const S2DataSet *set) {
  s2_csv_save(output, set);
  return s2_ok();
}

static S2Status npy_check(const S2DataSet *set) {
  if (set->arrays.count != 1 || !set->bare) {
    return s2_error(S2_INVALID, "an .npy file holds one array without a name; .npz holds several");
  }
  return s2_ok();
}

static S2Status npy_save(S2Output *output, const S2DataSet *set) {
  S2Npy npy;
  s2_npy_encode(&set->arrays.at[0], &npy);
  s2_output_bytes(output, npy.header, npy.header_size);
  s2_output_bytes(output, npy.values, npy.size);
  s2_npy_free(&npy);
  return s2_ok();
}

static S2Status npy_load(const S2DataFile *file, const S2DataOptions *options, S2DataSet *set) {
  (void)options;
  set->bare = true;
  return s2_npy_decode(file->path, "the file", file->bytes, file->size, "", set);
}

static S2Status npz_save(S2Output *output, const S2DataSet *set) {
  s2_npz_save(output, set);
  return s2_ok();
}

static S2Status npz_load(const S2DataFile *file, const S2DataOptions *options, S2DataSet *set) {
  (void)options;
  return s2_npz_load(file, set);
}

static S2Status hdf5_available(const char *path) {
  if (s2_hdf5_available()) {
    return s2_ok();
  }
  return s2_error(S2_UNAVAILABLE,
                  "'%s': this sim2d was built without HDF5; use .npz, or install the HDF5 "
                  "library (Debian: libhdf5-dev) and build again",
                  s2_path_tail(path));
}

static S2Status hdf5_load(const S2DataFile *file, const S2DataOptions *options, S2DataSet *set) {
  (void)options;
  return s2_hdf5_load(file, set);
}

static const DataFormat formats[] = {
    {".csv", NULL, s2_csv_check, csv_save, s2_csv_load},
    {".npy", NULL, npy_check, npy_save, npy_load},
    {".npz", NULL, s2_npz_check, npz_save, npz_load},
    {".h5", hdf5_available, s2_hdf5_check, s2_hdf5_save, hdf5_load},
};
enum { FORMATS = sizeof formats / sizeof formats[0] };

static S2Status find_format(const char *path, const DataFormat **format) {
  const char *suffixes[FORMATS];
  int index = 0;
  for (int i = 0; i < FORMATS; i++) {
    suffixes[i] = formats[i].suffix;
  }
  S2_TRY(s2_suffix_find(path, suffixes, FORMATS, &index));
  *format = &formats[index];
  return s2_ok();
}

static S2Status find_writer(const char *path, const DataFormat **format) {
  S2_TRY(find_format(path, format));
  return (*format)->available != NULL ? (*format)->available(path) : s2_ok();
}

// ---- Writing ----------------------------------------------------------------------------------

S2Status s2_data_check_path(const char *path) {
  const DataFormat *format;
  return find_writer(path, &format);
}

S2Status s2_data_check(const S2DataSet *set, const char *path) {
  const DataFormat *format;
  S2_TRY(find_writer(path, &format));
  return format->check(set);
}

typedef struct Writing {
  const S2DataSet *set;
  S2Output *output;
  const DataFormat *format;
} Writing;

static S2Status check_all(void *user) {
  const Writing *writing = user;
  return writing->format->check(writing->set);
}

static S2Status data_write_all(void *user) {
  const Writing *writing = user;
  return writing->format->save(writing->output, writing->set);
}

S2Status s2_data_write(const S2DataSet *set, const char *path, S2Output *output) {
  Writing writing = {set, output, NULL};
  S2_TRY(find_writer(path, &writing.format));
  S2_TRY(s2_memory_building(check_all, &writing));
  return s2_memory_building(data_write_all, &writing);
}

S2Status s2_data_save(const S2DataSet *set, const char *path) {
  S2Output output;
  Writing writing = {set, &output, NULL};
  S2_TRY(find_writer(path, &writing.format));
  S2_TRY(s2_memory_building(check_all, &writing)); // check before anything is written
  S2_TRY(s2_output_open_whole(&output, path));
  S2Status written = s2_memory_building(data_write_all, &writing);
  if (written.code != S2_OK) {
    s2_output_abandon(&output);
    return written;
  }
  return s2_output_close(&output);
}

// ---- Reading ----------------------------------------------------------------------------------

// Reads until the end of the file, because pipes and devices have no size.
static S2Status data_read_file(const char *path, S2DataFile *file) {
  // endless devices such as /dev/zero are rejected here. Also the limit of .npz files
  static const size_t most = (size_t)UINT32_MAX;
  FILE *stream = fopen(path, "rb");
  if (stream == NULL) {
    return s2_error(S2_IO, "cannot read '%s': %s", s2_path_tail(path), strerror(errno));
  }
  // Double the buffer whenever it is full. Reserve one byte for the final 0.
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
  // Find out why reading ended: a failure, lack of memory, the size limit, or the end of the file.
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
  const DataFormat *format;
} Loading;

static S2Status load_format(void *user) {
  const Loading *loading = user;
  S2Status status = loading->format->load(loading->file, loading->options, loading->set);
  if (status.code != S2_OK) {
    s2_data_free(loading->set);
  }
  return status;
}

S2Status s2_data_load(const char *path, const S2DataOptions *options, S2DataSet *set) {
  static const S2DataOptions none = {0};
  *set = (S2DataSet){0};
  const DataFormat *format;
  S2_TRY(find_format(path, &format));
  S2DataFile file = {0};
  S2_TRY(data_read_file(path, &file));
  Loading loading = {&file, options != NULL ? options : &none, set, format};
  S2Status status = s2_memory_building(load_format, &loading);
  s2_memory_free(file.bytes);
  if (status.code == S2_MEMORY) {
    *set = (S2DataSet){0}; // the guard has freed the contents
    return s2_error(S2_MEMORY, "cannot read '%s': %s", s2_path_tail(path), status.message);
  }
  return status;
}
