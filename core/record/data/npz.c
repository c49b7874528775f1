// Reads and writes zip archives of .npy files, like numpy.savez. Archives are written without
// compression, because simulation results hardly shrink. Compressed archives
// (numpy.savez_compressed) can be read.
#define ZLIB_CONST // zlib declares pointers to its input as const
#include "record/data/data_formats.h"
#include "record/s2d/s2d.h" // little-endian numbers

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

enum {
  // bytes
  LOCAL_HEADER = 30,
  ENTRY_HEADER = 46,
  END_RECORD = 22,
  LONGEST_COMMENT = 65535,
  LONGEST_NAME = 200,
  // values
  LOCAL_MAGIC = 0x04034b50,
  ENTRY_MAGIC = 0x02014b50,
  END_MAGIC = 0x06054b50,
  VERSION = 20, // version of zip that is needed to unpack the archive
  UTF8_NAME = 0x800,
  ENCRYPTED = 1,
  STORED = 0,
  DEFLATED = 8,
  DATE = 0x21, // 1980-01-01, the earliest date, so that equal arrays give equal files
  MOST_ENTRIES = 65534,
};

// Units and the run are stored as arrays with two columns, because .npz has no metadata.
static const char UNITS[] = "units", RUN[] = "run";

// bytes. Larger archives need a format that is not supported
static const uint64_t MOST_BYTES = UINT32_MAX - 1;

// ---- Writing ----------------------------------------------------------------------------------

static void npz_add_pair(S2DataArray *array, const char *a, const char *b) {
  s2_data_add_text(array, a);
  s2_data_add_text(array, b);
  array->shape[0] += 1;
}

// Writes the units and the run as arrays of pairs.
static void add_extras(S2DataSet *extras, const S2DataSet *set) {
  static const size_t none[2] = {0, 2};
  S2DataArray *units = NULL;
  for (int i = 0; i < set->arrays.count; i++) {
    if (set->arrays.at[i].unit[0] != '\0') {
      units = units != NULL ? units : s2_data_add(extras, UNITS, "", S2_DATA_TEXT, 2, none);
      npz_add_pair(units, set->arrays.at[i].name, set->arrays.at[i].unit);
    }
  }
  if (set->run.entries.count > 0) {
    S2DataArray *run = s2_data_add(extras, RUN, "", S2_DATA_TEXT, 2, none);
    S2RunKey *keys = s2_data_run_keys(&set->run);
    for (int i = 0; i < set->run.entries.count; i++) {
      npz_add_pair(run, keys[i], set->run.entries.at[i].value);
    }
    s2_memory_free(keys);
  }
}

S2Status s2_npz_check(const S2DataSet *set) {
  S2DataSet extras = {0};
  add_extras(&extras, set);
  uint64_t bytes = END_RECORD;
  S2Status status = s2_ok();
  for (int i = 0; i < set->arrays.count && status.code == S2_OK; i++) {
    const S2DataArray *array = &set->arrays.at[i];
    size_t value = array->type == S2_DATA_FLAG ? 1 : array->type == S2_DATA_TEXT ? 4 : 8;
    bytes += s2_data_count(array) * value + LOCAL_HEADER + ENTRY_HEADER + 1024;
    if (s2_data_find(&extras, array->name) != NULL) {
      status = s2_error(S2_INVALID, "an array of an .npz file cannot have the name '%s': %s",
                        array->name, "this name is reserved for units");
    } else if (strlen(array->name) > LONGEST_NAME) {
      status = s2_error(S2_INVALID, "the name '%.40s...' is longer than %d bytes", array->name,
                        (int)LONGEST_NAME);
    }
  }
  s2_data_free(&extras);
  if (status.code == S2_OK && (bytes > MOST_BYTES || set->arrays.count > MOST_ENTRIES)) {
    status = s2_error(S2_INVALID,
                      "%.3g GB in %d arrays: an .npz file holds less than 4 GB; "
                      "write several files, or use .h5",
                      1e-9 * (double)bytes, set->arrays.count);
  }
  return status;
}

typedef struct Entry {
  const char *name;
  uint32_t crc, size, offset;
} Entry;

static void npz_set16(unsigned char *at, unsigned value) {
  at[0] = (unsigned char)(value & 0xff);
  at[1] = (unsigned char)(value >> 8 & 0xff);
}

static unsigned npz_get16(const unsigned char *at) {
  return (unsigned)at[0] | (unsigned)at[1] << 8;
}

// Writes the fields that a file's local header and its directory entry have in common.
static void set_common(unsigned char *at, const Entry *entry) {
  npz_set16(at, VERSION);
  npz_set16(at + 2, UTF8_NAME);
  npz_set16(at + 4, STORED);
  npz_set16(at + 6, 0); // time
  npz_set16(at + 8, DATE);
  s2_s2d_set32(at + 10, entry->crc);
  s2_s2d_set32(at + 14, entry->size);
  s2_s2d_set32(at + 18, entry->size);
  npz_set16(at + 22, (unsigned)strlen(entry->name) + 4);
  npz_set16(at + 24, 0);
}

static uint32_t crc_of(uint32_t crc, const void *bytes, size_t size) {
  return (uint32_t)crc32_z(crc, bytes, size);
}

static uint32_t write_entry(S2Output *output, const S2DataArray *array, uint32_t offset,
                            Entry *entry) {
  S2Npy npy;
  s2_npy_encode(array, &npy);
  *entry = (Entry){array->name, crc_of(0, npy.header, npy.header_size),
                   (uint32_t)(npy.header_size + npy.size), offset};
  if (npy.size > 0) {
    entry->crc = crc_of(entry->crc, npy.values, npy.size);
  }
  unsigned char header[LOCAL_HEADER] = {0};
  s2_s2d_set32(header, LOCAL_MAGIC);
  set_common(header + 4, entry);
  s2_output_bytes(output, header, sizeof header);
  s2_output_text(output, array->name);
  s2_output_text(output, ".npy");
  s2_output_bytes(output, npy.header, npy.header_size);
  s2_output_bytes(output, npy.values, npy.size);
  s2_npy_free(&npy);
  return offset + LOCAL_HEADER + (uint32_t)strlen(array->name) + 4 + entry->size;
}

static uint32_t write_directory(S2Output *output, const Entry *entry) {
  unsigned char header[ENTRY_HEADER] = {0};
  s2_s2d_set32(header, ENTRY_MAGIC);
  npz_set16(header + 4, VERSION);
  set_common(header + 6, entry);
  s2_s2d_set32(header + 42, entry->offset);
  s2_output_bytes(output, header, sizeof header);
  s2_output_text(output, entry->name);
  s2_output_text(output, ".npy");
  return ENTRY_HEADER + (uint32_t)strlen(entry->name) + 4;
}

void s2_npz_save(S2Output *output, const S2DataSet *set) {
  S2DataSet extras = {0};
  add_extras(&extras, set);
  int count = set->arrays.count + extras.arrays.count;
  Entry *entries = s2_memory_take((size_t)(count + 1) * sizeof *entries);
  uint32_t offset = 0, directory = 0;
  for (int i = 0; i < count; i++) {
    int extra = i - set->arrays.count;
    offset = write_entry(output, extra < 0 ? &set->arrays.at[i] : &extras.arrays.at[extra], offset,
                         &entries[i]);
  }
  for (int i = 0; i < count; i++) {
    directory += write_directory(output, &entries[i]);
  }
  unsigned char end[END_RECORD] = {0};
  s2_s2d_set32(end, END_MAGIC);
  npz_set16(end + 8, (unsigned)count);
  npz_set16(end + 10, (unsigned)count);
  s2_s2d_set32(end + 12, directory);
  s2_s2d_set32(end + 16, offset);
  s2_output_bytes(output, end, sizeof end);
  s2_memory_free(entries);
  s2_data_free(&extras);
}

// ---- Reading ----------------------------------------------------------------------------------

typedef struct Directory {
  size_t offset, size; // position and size in the file
  unsigned count;
} Directory;

static S2Status find_directory(const S2DataFile *file, Directory *directory) {
  size_t least =
      file->size > END_RECORD + LONGEST_COMMENT ? file->size - END_RECORD - LONGEST_COMMENT : 0;
  for (size_t at = file->size; at >= least + END_RECORD; at--) {
    const unsigned char *end = file->bytes + at - END_RECORD;
    if (s2_s2d_get32(end) != END_MAGIC || npz_get16(end + 20) != file->size - at) {
      continue;
    }
    *directory = (Directory){s2_s2d_get32(end + 16), s2_s2d_get32(end + 12), npz_get16(end + 10)};
    if (directory->offset == UINT32_MAX || directory->count > MOST_ENTRIES) {
      return s2_data_refuse(file->path, "archives of 4 GB and more are not supported");
    }
    size_t before = at - END_RECORD;
    if (directory->offset > before || directory->size > before - directory->offset ||
        npz_get16(end + 8) != directory->count) {
      break;
    }
    return s2_ok();
  }
  return s2_data_refuse(file->path, "not an .npz file (a zip archive), or cut short");
}

typedef struct Packed {
  char name[LONGEST_NAME + 8];
  unsigned flags, method;
  uint32_t crc;
  size_t size, unpacked, local, start; // positions of the local header and of the contents in bytes
  unsigned entry;                      // position in the directory
} Packed;

// Reads one entry of the directory and moves *at past it.
static S2Status read_entry(const S2DataFile *file, const Directory *directory, size_t *at,
                           Packed *packed) {
  size_t left = directory->offset + directory->size - *at;
  const unsigned char *header = file->bytes + *at;
  if (left < ENTRY_HEADER || s2_s2d_get32(header) != ENTRY_MAGIC) {
    return s2_data_refuse(file->path, "the archive's directory is damaged");
  }
  size_t name = npz_get16(header + 28);
  size_t whole = ENTRY_HEADER + name + npz_get16(header + 30) + npz_get16(header + 32);
  if (left < whole || name >= sizeof packed->name) {
    return s2_data_refuse(file->path, "the archive's directory is damaged");
  }
  *packed = (Packed){.flags = npz_get16(header + 8),
                     .method = npz_get16(header + 10),
                     .crc = s2_s2d_get32(header + 16),
                     .size = s2_s2d_get32(header + 20),
                     .unpacked = s2_s2d_get32(header + 24),
                     .local = s2_s2d_get32(header + 42)};
  memcpy(packed->name, header + ENTRY_HEADER, name);
  if (memchr(packed->name, 0, name) != NULL) {
    return s2_data_refuse(file->path, "the archive's directory is damaged");
  }
  *at += whole;
  return s2_ok();
}

bool s2_data_inflate(const unsigned char *from, size_t size, unsigned char *to, size_t unpacked,
                     bool zlib) {
  z_stream stream = {0};
  if (size > UINT32_MAX || unpacked > UINT32_MAX ||
      inflateInit2(&stream, zlib ? MAX_WBITS : -MAX_WBITS) != Z_OK) {
    return false;
  }
  stream.next_in = from;
  stream.avail_in = (uInt)size;
  stream.next_out = to;
  stream.avail_out = (uInt)unpacked;
  int result = inflate(&stream, Z_FINISH);
  bool good = result == Z_STREAM_END && stream.avail_out == 0 && stream.avail_in == 0;
  inflateEnd(&stream);
  return good;
}

// Locates the bytes of an entry, and checks as much as possible before unpacking.
static S2Status find_bytes(const S2DataFile *file, const Directory *directory, Packed *packed) {
  size_t length = strlen(packed->name), start = packed->local, end = directory->offset;
  // Check that the directory entry is plausible.
  if (length < 4 || strcmp(packed->name + length - 4, ".npy") != 0) {
    return s2_data_refuse(file->path, "the member '%s' of the archive is not an array (.npy)",
                          packed->name);
  }
  if (packed->size == UINT32_MAX || packed->unpacked == UINT32_MAX) {
    return s2_data_refuse(file->path, "'%s': arrays of 4 GB and more are not supported",
                          packed->name);
  }
  // Skip the local header. The name, extra fields and contents follow.
  if (start > end || end - start < LOCAL_HEADER ||
      s2_s2d_get32(file->bytes + start) != LOCAL_MAGIC) {
    return s2_data_refuse(
        file->path, "'%s' is not at the position given in the archive's directory", packed->name);
  }
  start += LOCAL_HEADER + npz_get16(file->bytes + start + 26) + npz_get16(file->bytes + start + 28);
  if (start > end || packed->size > end - start) {
    return s2_data_refuse(file->path, "'%s' is cut short", packed->name);
  }
  packed->start = start;
  // Reject unsupported methods and impossible sizes, because memory of the stated size is allocated
  // later.
  if ((packed->flags & ENCRYPTED) != 0 ||
      (packed->method != STORED && packed->method != DEFLATED)) {
    return s2_data_refuse(file->path, "'%s' is encrypted, or packed by an unsupported method",
                          packed->name);
  }
  bool possible = packed->method == DEFLATED ? packed->unpacked / S2_DEFLATE_MOST <= packed->size
                                             : packed->size == packed->unpacked;
  if (!possible) {
    return s2_data_refuse(file->path, "'%s' is damaged (its stated size is impossible)",
                          packed->name);
  }
  packed->name[length - 4] = '\0';
  return s2_ok();
}

static int npz_by_place(const void *a, const void *b) {
  size_t x = ((const Packed *)a)->local, y = ((const Packed *)b)->local;
  return (x > y) - (x < y);
}

static int npz_by_name(const void *a, const void *b) {
  return strcmp(((const Packed *)a)->name, ((const Packed *)b)->name);
}

static int by_entry(const void *a, const void *b) {
  size_t x = ((const Packed *)a)->entry, y = ((const Packed *)b)->entry;
  return (x > y) - (x < y);
}

// Rejects entries that overlap or have the same name. If entries could overlap, a small file could
// unpack to any size.
static S2Status check_entries(const S2DataFile *file, Packed *packed, unsigned count) {
  qsort(packed, count, sizeof *packed, npz_by_place);
  for (unsigned i = 1; i < count; i++) {
    if (packed[i].local < packed[i - 1].start + packed[i - 1].size) {
      return s2_data_refuse(file->path, "'%s' and '%s' in it overlap", packed[i - 1].name,
                            packed[i].name);
    }
  }
  qsort(packed, count, sizeof *packed, npz_by_name);
  for (unsigned i = 1; i < count; i++) {
    if (strcmp(packed[i - 1].name, packed[i].name) == 0) {
      return s2_data_refuse(file->path, "it has two arrays '%s'", packed[i].name);
    }
  }
  qsort(packed, count, sizeof *packed, by_entry);
  return s2_ok();
}

static S2Status load_entry(const S2DataFile *file, const Packed *packed, S2DataSet *set) {
  // Returns the contents of an entry, unpacked if necessary.
  const unsigned char *bytes = file->bytes + packed->start;
  unsigned char *owned = NULL;
  bool good = true;
  if (packed->method == DEFLATED) {
    owned = s2_memory_take(packed->unpacked + 1);
    good = s2_data_inflate(bytes, packed->size, owned, packed->unpacked, false);
    bytes = owned;
  }
  S2Status status;
  // The checksum applies to the unpacked bytes.
  if (!good || crc_of(0, bytes, packed->unpacked) != packed->crc) {
    status =
        s2_data_refuse(file->path, "'%s' is damaged (its checksum does not match)", packed->name);
  } else {
    char what[sizeof packed->name + 8];
    snprintf(what, sizeof what, "'%s'", packed->name);
    status = s2_npy_decode(file->path, what, bytes, packed->unpacked, packed->name, set);
  }
  s2_memory_free(owned);
  return status;
}

// Removes an array of pairs from the set. Returns false if there is none.
static bool take_pairs(S2DataSet *set, const char *name, S2DataArray *pairs) {
  for (int i = 0; i < set->arrays.count; i++) {
    S2DataArray *array = &set->arrays.at[i];
    if (strcmp(array->name, name) == 0 && array->type == S2_DATA_TEXT && array->axes == 2 &&
        array->shape[1] == 2) {
      *pairs = *array;
      set->arrays.count--;
      memmove(array, array + 1, (size_t)(set->arrays.count - i) * sizeof *array);
      return true;
    }
  }
  return false;
}

static void free_pairs(S2DataArray *pairs) {
  s2_memory_free(pairs->name);
  s2_memory_free(pairs->unit);
  s2_memory_free(pairs->values);
}

typedef struct Named {
  const char *name;
  S2DataArray *array;
} Named;

static int by_array_name(const void *a, const void *b) {
  return strcmp(((const Named *)a)->name, ((const Named *)b)->name);
}

static void read_units(S2DataSet *set) {
  S2DataArray pairs;
  if (!take_pairs(set, UNITS, &pairs)) {
    return;
  }
  // Sort the arrays by name, so that each unit is found quickly.
  size_t count = (size_t)set->arrays.count;
  Named *named = s2_memory_take((count + 1) * sizeof *named);
  for (size_t i = 0; i < count; i++) {
    named[i] = (Named){set->arrays.at[i].name, &set->arrays.at[i]};
  }
  qsort(named, count, sizeof *named, by_array_name);
  const char *at = pairs.values;
  for (size_t i = 0; i < pairs.shape[0]; i++) {
    const char *unit = at + strlen(at) + 1;
    const Named key = {at, NULL}, *found = bsearch(&key, named, count, sizeof key, by_array_name);
    if (found != NULL) {
      s2_memory_free(found->array->unit);
      found->array->unit = s2_data_copy_text(unit, strlen(unit));
    }
    at = unit + strlen(unit) + 1;
  }
  s2_memory_free(named);
  free_pairs(&pairs);
}

static void npz_read_run(S2DataSet *set) {
  S2DataArray pairs;
  if (!take_pairs(set, RUN, &pairs)) {
    return;
  }
  const char *at = pairs.values;
  for (size_t i = 0; i < pairs.shape[0]; i++) {
    const char *key = at, *value = key + strlen(key) + 1;
    at = value + strlen(value) + 1;
    s2_run_add(&set->run, key, value);
  }
  free_pairs(&pairs);
}

S2Status s2_npz_load(const S2DataFile *file, S2DataSet *set) {
  Directory directory = {0};
  S2_TRY(find_directory(file, &directory));
  // Check all entries before the first array is created.
  Packed *packed = s2_memory_take(((size_t)directory.count + 1) * sizeof *packed);
  S2Status status = s2_ok();
  size_t at = directory.offset;
  for (unsigned i = 0; i < directory.count && status.code == S2_OK; i++) {
    status = read_entry(file, &directory, &at, &packed[i]);
    if (status.code == S2_OK) {
      packed[i].entry = i;
      status = find_bytes(file, &directory, &packed[i]);
    }
  }
  if (status.code == S2_OK) {
    status = check_entries(file, packed, directory.count);
  }
  for (unsigned i = 0; i < directory.count && status.code == S2_OK; i++) {
    status = load_entry(file, &packed[i], set);
  }
  s2_memory_free(packed);
  S2_TRY(status);
  // Use the arrays that describe other arrays (units, run).
  read_units(set);
  npz_read_run(set);
  return s2_ok();
}
