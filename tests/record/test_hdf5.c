// HDF5 files: files of other programs are read (tests/data/h5py*.h5: by h5py 3.16, with the
// format's oldest and newest structures); damaged or inconsistent ones are reported and never
// accepted.
#include "files.h"
#include "sanitized.h"

#include "base/rng.h"
#include "record/data/data.h"
#include "record/data/data_formats.h"

#include <math.h>

static S2Status load(unsigned char *bytes, size_t size, S2DataSet *set) {
  const S2DataFile file = {"it.h5", bytes, size};
  *set = (S2DataSet){0};
  return s2_hdf5_load(&file, set);
}

static const S2DataArray *found(const S2DataSet *set, const char *name, S2DataType type, int axes) {
  const S2DataArray *array = s2_data_find(set, name);
  if (array == NULL) {
    fail_msg("there is no '%s'", name);
  }
  assert_int_equal(array->type, type);
  assert_int_equal(array->axes, axes);
  return array;
}

static void assert_integers(const S2DataSet *set, const char *name, int count,
                            const int64_t *want) {
  const S2DataArray *array = found(set, name, S2_DATA_INTEGER, 1);
  assert_int_equal(array->shape[0], count);
  assert_memory_equal(array->values, want, (size_t)count * sizeof *want);
}

static void assert_texts(const S2DataSet *set, const char *name, const char *want, size_t bytes) {
  const S2DataArray *array = found(set, name, S2_DATA_TEXT, 1);
  assert_int_equal(array->bytes, bytes);
  assert_memory_equal(array->values, want, bytes);
}

static void test_h5py(void **state) {
  (void)state;
  static const char *const files[] = {S2_TEST_DATA "/h5py.h5", S2_TEST_DATA "/h5py_latest.h5"};
  for (int k = 0; k < 2; k++) {
    S2DataSet set;
    must(s2_data_load(files[k], NULL, &set));
    const S2DataArray *z = found(&set, "z", S2_DATA_NUMBER, 2);
    assert_true(z->shape[0] == 2 && z->shape[1] == 3);
    assert_string_equal(z->unit, "m/s"); // one of eleven attributes
    for (int i = 0; i < 6; i++) {
      assert_true(((const double *)z->values)[i] == i);
    }
    assert_integers(&set, "a/b/big", 5, (const int64_t[]){-2, -1, 0, 1, 2});
    assert_integers(&set, "byte", 2, (const int64_t[]){200, 3});
    assert_integers(&set, "unwritten", 4, (const int64_t[]){-1, -1, -1, -1});
    const S2DataArray *half = found(&set, "half", S2_DATA_NUMBER, 1);
    assert_true(((const double *)half->values)[0] == 1.5);
    assert_true(((const double *)half->values)[1] == -2);
    assert_string_equal(half->unit, "kg");
    const S2DataArray *flag = found(&set, "flag", S2_DATA_FLAG, 1);
    assert_memory_equal(flag->values, "\1\0", 2);
    static const char words[] = "x\0yy\0\xc3\xa5\xc3\x9f\0", fixed[] = "ab\0cde";
    assert_texts(&set, "words", words, sizeof words);
    assert_texts(&set, "fixed", fixed, sizeof fixed);
    for (int i = 0; i < (k == 0 ? 12 : 60); i++) {
      char name[24];
      snprintf(name, sizeof name, "many/d%d", i);
      assert_true(*(const double *)found(&set, name, S2_DATA_NUMBER, 0)->values == i);
    }
    // The first of several names counts, and an enclosing group is not entered again.
    assert_true(*(const double *)found(&set, "alias", S2_DATA_NUMBER, 0)->values == 3.25);
    assert_null(s2_data_find(&set, "one"));
    assert_null(s2_data_find(&set, "soft"));
    assert_int_equal(set.run.entries.count, 1); // the other is a number
    assert_string_equal(s2_run_get(&set.run, "seed", 0), "7");
    if (k == 0) {
      const S2DataArray *packed = found(&set, "packed", S2_DATA_NUMBER, 2);
      for (int i = 0; i < 300; i++) {
        assert_true(((const double *)packed->values)[i] == i);
      }
      const S2DataArray *part = found(&set, "part", S2_DATA_NUMBER, 1);
      for (int i = 0; i < 10; i++) {
        assert_true(((const double *)part->values)[i] == (i == 4 ? 9 : 2.5));
      }
    }
    s2_data_free(&set);
  }
}

// Reads everything in it, for the sanitizers.
static double walk(const S2DataSet *set) {
  double sum = 0;
  for (int i = 0; i < set->arrays.count; i++) {
    const S2DataArray *array = &set->arrays.at[i];
    size_t count = s2_data_count(array);
    const char *text = array->values;
    for (size_t k = 0; k < count; k++) {
      switch (array->type) {
      case S2_DATA_NUMBER:
        sum += ((const double *)array->values)[k];
        break;
      case S2_DATA_INTEGER:
        sum += (double)((const int64_t *)array->values)[k];
        break;
      case S2_DATA_FLAG:
        assert_true(((const unsigned char *)array->values)[k] <= 1);
        break;
      case S2_DATA_TEXT:
        sum += (double)strlen(text);
        text += strlen(text) + 1;
        break;
      }
    }
    assert_true(array->type != S2_DATA_TEXT || text == (const char *)array->values + array->bytes);
  }
  return sum;
}

// The number of files that still read.
static int damage(const char *path, int rounds, bool flips) {
  size_t size = 0;
  unsigned char *bytes = (unsigned char *)read_all(path, &size);
  unsigned char *bent = s2_memory_take(size + 1);
  S2Rng rng = s2_rng_seeded(11);
  int good = 0;
  for (int i = 0; i < rounds; i++) {
    memcpy(bent, bytes, size + 1);
    size_t length = size;
    if (flips) {
      bent[s2_rng_integer(&rng, 0, (int64_t)size - 1)] ^=
          (unsigned char)(1u << s2_rng_integer(&rng, 0, 7));
    } else {
      length = i % 4 == 0 ? (size_t)s2_rng_integer(&rng, 0, (int64_t)size) : size;
      for (int64_t k = s2_rng_integer(&rng, 1, 6); k > 0 && length > 0; k--) {
        size_t at = (size_t)s2_rng_integer(&rng, 0, (int64_t)length - 1);
        bent[at] = k % 2 == 0 ? (unsigned char)s2_rng_integer(&rng, 0, 255)
                              : bytes[s2_rng_integer(&rng, 0, (int64_t)size - 1)];
      }
    }
    S2DataSet set;
    S2Status status = load(bent, length, &set);
    if (status.code == S2_OK) {
      (void)walk(&set);
      good++;
    } else {
      assert_true(strncmp(status.message, "cannot read 'it.h5': ", 21) == 0);
      assert_true(status.message[21] != '\0');
    }
    s2_data_free(&set);
  }
  s2_memory_free(bytes);
  s2_memory_free(bent);
  return good;
}

enum { ROUNDS = S2_FEWER(10000, 1500) };

static void test_damage(void **state) {
  (void)state;
  for (int flips = 0; flips < 2; flips++) {
    assert_in_range(damage(S2_TEST_DATA "/h5py.h5", ROUNDS, flips != 0), 1, ROUNDS - 1);
    assert_in_range(damage(S2_TEST_DATA "/h5py_latest.h5", ROUNDS, flips != 0), 1, ROUNDS - 1);
  }
}

// A file of the library: more arrays than a header holds, units, texts, and the description of the
// run.
static void test_damage_of_ours(void **state) {
  (void)state;
  if (!s2_hdf5_available()) {
    print_message("skipped: built without HDF5\n");
    return;
  }
  S2DataSet set = {0}, read;
  const size_t three = 3;
  for (int i = 0; i < 70; i++) {
    char name[24];
    snprintf(name, sizeof name, i % 7 == 0 ? "g%d/x" : "x%d", i);
    double *values = s2_data_add(&set, name, "m", S2_DATA_NUMBER, 1, &three)->values;
    values[0] = values[1] = values[2] = i;
  }
  S2DataArray *texts = s2_data_add(&set, "texts", "", S2_DATA_TEXT, 1, &three);
  s2_data_add_text(texts, "a");
  s2_data_add_text(texts, "");
  s2_data_add_text(texts, "ccc");
  s2_run_add(&set.run, "seed", "17");
  must(s2_data_save(&set, in_directory("ours.h5")));
  must(s2_data_load(in_directory("ours.h5"), NULL, &read));
  assert_int_equal(read.arrays.count, 71);
  for (int i = 0; i < 70; i++) {
    const S2DataArray *array = found(&read, set.arrays.at[i].name, S2_DATA_NUMBER, 1);
    assert_true(((const double *)array->values)[2] == i);
    assert_string_equal(array->unit, "m");
  }
  assert_texts(&read, "texts", "a\0\0ccc", 7);
  assert_string_equal(s2_run_get(&read.run, "seed", 0), "17");
  s2_data_free(&set);
  s2_data_free(&read);
  assert_in_range(damage(in_directory("ours.h5"), ROUNDS, true), 1, ROUNDS - 1);
  assert_in_range(damage(in_directory("ours.h5"), ROUNDS, false), 1, ROUNDS - 1);
}

// A long description of a run does not cost its numbers.
static void test_long_runs(void **state) {
  (void)state;
  if (!s2_hdf5_available()) {
    print_message("skipped: built without HDF5\n");
    return;
  }
  enum { LONG = 100000 };
  S2DataSet set = {0}, read;
  char *text = s2_memory_take(LONG + 1);
  memset(text, 'x', LONG);
  text[LONG] = '\0';
  *(double *)s2_data_add(&set, "x", "", S2_DATA_NUMBER, 0, NULL)->values = 3;
  s2_run_add(&set.run, "word", text);
  for (int i = 0; i < 1500; i++) {
    s2_run_add(&set.run, "word", "w");
  }
  must(s2_data_save(&set, in_directory("long.h5")));
  must(s2_data_load(in_directory("long.h5"), NULL, &read));
  assert_true(*(const double *)found(&read, "x", S2_DATA_NUMBER, 0)->values == 3);
  assert_int_equal(read.run.entries.count, 999);
  assert_string_equal(s2_run_get(&read.run, "word_2", 0), "w");
  s2_memory_free(text);
  s2_data_free(&set);
  s2_data_free(&read);
}

// The place of a run of bytes in a file.
static unsigned char *find(unsigned char *bytes, size_t size, const void *what, size_t length) {
  for (size_t i = 0; i + length <= size; i++) {
    if (memcmp(bytes + i, what, length) == 0) {
      return bytes + i;
    }
  }
  fail_msg("not found");
  return NULL;
}

// A few bytes claim gigabytes: by a shape, and by a chunk.
static void test_claims(void **state) {
  (void)state;
  size_t size = 0;
  unsigned char *bytes = (unsigned char *)read_all(S2_TEST_DATA "/h5py.h5", &size);
  // a shape of 4, with its largest: of data that were never written, so that nothing else limits it
  static const unsigned char shape[] = {1, 1, 1, 0, 0, 0, 0, 0, 4, 0, 0, 0, 0, 0, 0, 0};
  unsigned char *at = find(bytes, size, shape, sizeof shape);
  while (at != NULL) { // all arrays of four
    s2_s2d_set64(at + 8, 500000000);
    at = NULL;
    for (size_t i = 0; i + sizeof shape <= size && at == NULL; i++) {
      at = memcmp(bytes + i, shape, sizeof shape) == 0 ? bytes + i : NULL;
    }
  }
  S2DataSet set;
  S2Status status = load(bytes, size, &set);
  assert_int_equal(status.code, S2_INVALID);
  assert_non_null(strstr(status.message, "claims more data than a file of this size can hold"));
  s2_data_free(&set);
  s2_memory_free(bytes);
}

static void test_names_that_cannot_be(void **state) {
  (void)state;
  static const char *const bad[][2] = {{"x", "."},   {"x", "a/./b"},   {"x", "a//b"},
                                       {"x", "/a"},  {"x", "a/"},      {"x", ""},
                                       {"x", "x/y"}, {"a/b/c", "a/b"}, {"x", "x"}};
  static const S2RowTitle good[] = {{"a", ""}, {"a.x", "m"}, {"b/c", ""}, {"b/d", ""}, {"a!", ""}};
  for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
    const S2RowTitle titles[2] = {{bad[i][0], ""}, {bad[i][1], ""}};
    S2Rows *rows = NULL;
    assert_int_equal(s2_rows_open(in_directory("bad.h5"), 2, titles, &rows).code,
                     s2_hdf5_available() ? S2_INVALID : S2_UNAVAILABLE);
    assert_null(rows);
  }
  assert_int_not_equal(access(in_directory("bad.h5"), F_OK), 0); // no file was created
  const S2RowTitle units[1] = {{"units", "m"}}, run[1] = {{"run", ""}};
  S2Rows *rows = NULL;
  assert_int_equal(s2_rows_open(in_directory("bad.npz"), 1, units, &rows).code, S2_INVALID);
  assert_int_equal(s2_rows_open(in_directory("bad.npz"), 1, run, &rows).code, S2_INVALID);
  if (s2_hdf5_available()) {
    must(s2_rows_open(in_directory("good.h5"), 5, good, &rows));
    must(s2_rows_close(rows));
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_h5py),      cmocka_unit_test(test_damage),
      cmocka_unit_test(test_claims),    cmocka_unit_test(test_damage_of_ours),
      cmocka_unit_test(test_long_runs), cmocka_unit_test(test_names_that_cannot_be),
  };
  return cmocka_run_group_tests(tests, make_directory, remove_directory);
}
