// Inconsistent archives of arrays: entries that share one packed stream, names that occur twice,
// impossible sizes.
#include "files.h"

#include "record/data/data.h"
#include "record/data/data_formats.h"

#include <zlib.h>

typedef struct Archive {
  unsigned char *bytes;
  size_t size, room;
} Archive;

static unsigned char *extend(Archive *archive, size_t size) {
  if (archive->size + size > archive->room) {
    archive->room = 2 * (archive->size + size);
    archive->bytes = s2_memory_grow(archive->bytes, archive->room);
  }
  archive->size += size;
  unsigned char *at = archive->bytes + archive->size - size;
  memset(at, 0, size);
  return at;
}

typedef struct Entry {
  char name[32]; // with its suffix
  uint32_t crc, size, unpacked, local;
} Entry;

// The common part of both headers of an entry.
static void put_common(unsigned char *at, const Entry *entry) {
  at[0] = 20;
  at[4] = 8; // deflate
  s2_s2d_set32(at + 10, entry->crc);
  s2_s2d_set32(at + 14, entry->size);
  s2_s2d_set32(at + 18, entry->unpacked);
  at[22] = (unsigned char)strlen(entry->name);
}

// An .npy file of so many zeros, packed.
static Entry put_zeros(Archive *archive, const char *name, int count) {
  char header[128];
  memset(header, ' ', sizeof header);
  int length = snprintf(header + 10, sizeof header - 10,
                        "{'descr': '|u1', 'fortran_order': False, 'shape': (%d,), }", count);
  header[10 + length] = ' ';
  memcpy(header, "\x93NUMPY\1\0\x76\0", 10);
  header[127] = '\n';
  size_t size = sizeof header + (size_t)count;
  unsigned char *plain = s2_memory_take_zeroed(size);
  memcpy(plain, header, sizeof header);
  Entry entry = {.unpacked = (uint32_t)size, .local = (uint32_t)archive->size};
  snprintf(entry.name, sizeof entry.name, "%s.npy", name);
  unsigned char *packed = s2_memory_take(size + 100);
  z_stream stream = {.next_in = plain, .avail_in = (uInt)size};
  stream.next_out = packed;
  stream.avail_out = (uInt)size + 100;
  assert_int_equal(deflateInit2(&stream, 9, Z_DEFLATED, -MAX_WBITS, 9, Z_DEFAULT_STRATEGY), Z_OK);
  assert_int_equal(deflate(&stream, Z_FINISH), Z_STREAM_END);
  entry.size = (uint32_t)stream.total_out;
  deflateEnd(&stream);
  entry.crc = (uint32_t)crc32_z(0, plain, size);
  unsigned char *local = extend(archive, 30);
  s2_s2d_set32(local, 0x04034b50);
  put_common(local + 4, &entry);
  memcpy(extend(archive, strlen(entry.name)), entry.name, strlen(entry.name));
  memcpy(extend(archive, entry.size), packed, entry.size);
  s2_memory_free(plain);
  s2_memory_free(packed);
  return entry;
}

static void put_directory(Archive *archive, const Entry *entries, int count) {
  uint32_t start = (uint32_t)archive->size;
  for (int i = 0; i < count; i++) {
    unsigned char *at = extend(archive, 46);
    s2_s2d_set32(at, 0x02014b50);
    put_common(at + 6, &entries[i]);
    s2_s2d_set32(at + 42, entries[i].local);
    memcpy(extend(archive, strlen(entries[i].name)), entries[i].name, strlen(entries[i].name));
  }
  uint32_t size = (uint32_t)archive->size - start;
  unsigned char *end = extend(archive, 22);
  s2_s2d_set32(end, 0x06054b50);
  end[8] = end[10] = (unsigned char)(count & 0xff);
  end[9] = end[11] = (unsigned char)(count >> 8);
  s2_s2d_set32(end + 12, size);
  s2_s2d_set32(end + 16, start);
}

static S2Status load(Archive *archive, S2DataSet *set) {
  const S2DataFile file = {"it.npz", archive->bytes, archive->size};
  *set = (S2DataSet){0};
  S2Status status = s2_npz_load(&file, set);
  s2_memory_free(archive->bytes);
  *archive = (Archive){0};
  return status;
}

static void assert_refused(Archive *archive, const char *reason) {
  S2DataSet set;
  S2Status status = load(archive, &set);
  assert_int_equal(status.code, S2_INVALID);
  assert_non_null(strstr(status.message, reason));
  s2_data_free(&set);
}

static void test_one_stream_for_many(void **state) {
  (void)state;
  enum { ENTRIES = 20, ZEROS = 1 << 20 };
  Archive archive = {0};
  Entry entries[ENTRIES];
  entries[0] = put_zeros(&archive, "a", ZEROS);
  for (int i = 1; i < ENTRIES; i++) {
    entries[i] = entries[0];
    entries[i].name[0] = (char)('a' + i);
  }
  put_directory(&archive, entries, ENTRIES);
  assert_refused(&archive, "overlap");
  // An entry that starts within another one, whose bytes are those of a header.
  entries[0] = put_zeros(&archive, "a", ZEROS);
  entries[1] = put_zeros(&archive, "b", ZEROS);
  entries[0].size += 10;
  put_directory(&archive, entries, 2);
  assert_refused(&archive, "overlap");
  // After the directory there are no entries.
  entries[0] = put_zeros(&archive, "a", 10);
  entries[0].size += 1;
  put_directory(&archive, entries, 1);
  assert_refused(&archive, "cut short");
}

static void test_sizes_that_cannot_be(void **state) {
  (void)state;
  Archive archive = {0};
  Entry entry = put_zeros(&archive, "a", 1000);
  entry.unpacked = entry.size * 1033 + 1033;
  put_directory(&archive, &entry, 1);
  assert_refused(&archive, "its stated size is impossible");
  // Bytes that become numbers of 8 bytes each.
  S2DataSet set = {0};
  S2DataArray *array = NULL;
  const size_t many = 400000000;
  S2Status status = s2_data_add_read("it.npz", &set, "a", S2_DATA_INTEGER, 1, &many, 0, &array);
  for (int i = 0; i < 2 && status.code == S2_OK; i++) { // less than 4 GB each; never written to
    status = s2_data_add_read("it.npz", &set, "b", S2_DATA_INTEGER, 1, &many, 0, &array);
  }
  assert_int_equal(status.code, S2_INVALID);
  s2_data_free(&set);
}

static void test_many_entries(void **state) {
  (void)state;
  enum { ENTRIES = 2000 };
  Archive archive = {0};
  static Entry entries[ENTRIES];
  for (int again = 0; again < 2; again++) {
    for (int i = 0; i < ENTRIES; i++) {
      char name[16];
      snprintf(name, sizeof name, "x%d", ENTRIES - i);
      entries[i] = put_zeros(&archive, name, i % 3);
    }
    if (again == 1) {
      memcpy(entries[ENTRIES / 2].name, "x7.npy", sizeof "x7.npy");
    }
    put_directory(&archive, entries, ENTRIES);
    if (again == 1) {
      assert_refused(&archive, "it has two arrays 'x7'");
      break;
    }
    S2DataSet set;
    must(load(&archive, &set));
    assert_int_equal(set.arrays.count, ENTRIES);
    assert_string_equal(set.arrays.at[0].name, "x2000"); // the order is the directory's
    assert_int_equal(set.arrays.at[ENTRIES - 1].shape[0], (ENTRIES - 1) % 3);
    s2_data_free(&set);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_one_stream_for_many),
      cmocka_unit_test(test_sizes_that_cannot_be),
      cmocka_unit_test(test_many_entries),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
