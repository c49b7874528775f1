// Files of arrays: written arrays read back the same; files of NumPy are read; damage is reported
// and never accepted.
#include "files.h"

#include "base/rng.h"
#include "record/data/data.h"
#include "record/data/data_formats.h"
#include "record/record.h"

#include <signal.h>
#include <sys/wait.h>

// ---- Sets -------------------------------------------------------------------------------------

static double *add_numbers(S2DataSet *set, const char *name, const char *unit, size_t count) {
  return s2_data_add(set, name, unit, S2_DATA_NUMBER, 1, &count)->values;
}

// Numbers that change when one digit is missing, texts that need quotes, and all types.
static S2DataSet columns(void) {
  enum { ROWS = 8 };
  static const char *const texts[ROWS] = {
      "", "a", "b,c", "d\"e\"", "\xc3\xa5 \xf0\x9d\x84\x9e", " f ", "#g", "two\nlines"};
  const double numbers[ROWS] = {0.1,  1.0 / 3,  5e-324,    -1.7976931348623157e308,
                                -0.0, INFINITY, -INFINITY, 123456789012345678.0};
  S2DataSet set = {0};
  const size_t rows = ROWS;
  memcpy(add_numbers(&set, "x", "m/s^2", ROWS), numbers, sizeof numbers);
  int64_t *integers = s2_data_add(&set, "n", "", S2_DATA_INTEGER, 1, &rows)->values;
  unsigned char *flags = s2_data_add(&set, "odd", "", S2_DATA_FLAG, 1, &rows)->values;
  S2DataArray *names = s2_data_add(&set, "name, quoted", "", S2_DATA_TEXT, 1, &rows);
  for (int i = 0; i < ROWS; i++) {
    integers[i] = i % 2 == 0 ? -i : ((int64_t)1 << 53) - i;
    flags[i] = i % 2 == 1;
    s2_data_add_text(names, texts[i]);
  }
  return set;
}

static double number_at(const S2DataArray *array, size_t i) {
  return array->type == S2_DATA_NUMBER    ? ((const double *)array->values)[i]
         : array->type == S2_DATA_INTEGER ? (double)((const int64_t *)array->values)[i]
                                          : (double)((const unsigned char *)array->values)[i];
}

static void assert_same_bits(double a, double b) {
  assert_memory_equal(&a, &b, sizeof a);
}

// `typed`: the format keeps types; otherwise everything except texts is numbers.
static void assert_same_array(const S2DataArray *got, const S2DataArray *want, bool typed) {
  assert_string_equal(got->name, want->name);
  assert_string_equal(got->unit, want->unit);
  bool is_text = want->type == S2_DATA_TEXT;
  assert_int_equal(got->type, typed || is_text ? want->type : S2_DATA_NUMBER);
  assert_int_equal(got->axes, want->axes);
  for (int i = 0; i < want->axes; i++) {
    assert_int_equal(got->shape[i], want->shape[i]);
  }
  if (is_text) {
    assert_int_equal(got->bytes, want->bytes);
    assert_memory_equal(got->values, want->values, want->bytes);
  }
  for (size_t i = 0; i < s2_data_count(want) && !is_text; i++) {
    assert_same_bits(number_at(got, i), number_at(want, i));
  }
}

static void test_round_trips(void **state) {
  (void)state;
  static const char *const files[] = {"set.csv", "set.npz", "set.h5"};
  for (int k = 0; k < 3; k++) {
    if (k == 2 && !s2_hdf5_available()) {
      print_message("skipped: set.h5 (built without HDF5)\n");
      continue;
    }
    S2DataSet set = columns(), read;
    if (k > 0) { // values that only these can hold
      const size_t shape[3] = {2, 3, 4};
      double *cube = s2_data_add(&set, "cube", "m", S2_DATA_NUMBER, 3, shape)->values;
      for (int i = 0; i < 24; i++) {
        cube[i] = i;
      }
      s2_data_add(&set, "none", "", S2_DATA_NUMBER, 1, &(size_t){0});
      *(int64_t *)s2_data_add(&set, "one", "", S2_DATA_INTEGER, 0, NULL)->values = INT64_MIN;
      s2_run_add(&set.run, "seed", "17");
      s2_run_add(&set.run, "argument", "a b");
      s2_run_add(&set.run, "argument", "c");
    }
    must(s2_data_save(&set, in_directory(files[k])));
    must(s2_data_load(in_directory(files[k]), NULL, &read));
    assert_false(read.bare);
    assert_int_equal(read.arrays.count, set.arrays.count);
    for (int i = 0; i < set.arrays.count; i++) {
      const S2DataArray *want = &set.arrays.at[i], *got = s2_data_find(&read, want->name);
      assert_non_null(got);
      if (k == 2 && want->type == S2_DATA_FLAG) { // bytes there
        assert_int_equal(got->type, S2_DATA_INTEGER);
        assert_true(number_at(got, 1) == 1 && number_at(got, 2) == 0);
      } else {
        assert_same_array(got, want, k > 0);
      }
      assert_string_equal(read.arrays.at[i].name, want->name); // the order is kept as well
    }
    if (k > 0) {
      assert_int_equal(read.run.entries.count, 3);
      assert_string_equal(s2_run_get(&read.run, "seed", 0), "17");
      assert_string_equal(s2_run_get(&read.run, "argument", 0), "a b");
      assert_string_equal(s2_run_get(&read.run, "argument_2", 0), "c");
    }
    s2_data_free(&set);
    s2_data_free(&read);
  }
}

static void test_single_arrays(void **state) {
  (void)state;
  static const char *const files[] = {"one.npy", "one.csv"};
  for (int k = 0; k < 2; k++) {
    S2DataSet set = {.bare = true}, read;
    const size_t shape[2] = {3, 2};
    double *values = s2_data_add(&set, "", "", S2_DATA_NUMBER, 2, shape)->values;
    for (int i = 0; i < 6; i++) {
      values[i] = 0.1 * i;
    }
    must(s2_data_save(&set, in_directory(files[k])));
    must(s2_data_load(in_directory(files[k]), NULL, &read));
    assert_true(read.bare);
    assert_same_array(&read.arrays.at[0], &set.arrays.at[0], true);
    s2_data_free(&set);
    s2_data_free(&read);
  }
}

static void refused(S2Status status, S2Code code, const char *why) {
  assert_int_equal(status.code, code);
  if (strstr(status.message, why) == NULL) {
    fail_msg("the message '%s' does not say '%s'", status.message, why);
  }
}

static void test_what_formats_cannot_hold(void **state) {
  (void)state;
  S2DataSet set = {0};
  add_numbers(&set, "a", "", 2);
  add_numbers(&set, "b", "m", 3);
  refused(s2_data_save(&set, in_directory("no.csv")), S2_INVALID, "'b' has 3 rows and 'a' has 2");
  refused(s2_data_save(&set, in_directory("no.npy")), S2_INVALID, "one array without a name");
  refused(s2_data_save(&set, in_directory("no.txt")), S2_INVALID, "unknown suffix '.txt'");
  refused(s2_data_save(&set, "/no/such/folder/a.npz"), S2_IO, "No such file");
  add_numbers(&set, "units", "", 1);
  refused(s2_data_save(&set, in_directory("no.npz")), S2_INVALID, "'units'");
  assert_int_equal(access(in_directory("no.npz"), F_OK), -1); // no file was truncated
  s2_data_free(&set);
  const size_t shape[2] = {1, 1};
  s2_data_add(&set, "m", "", S2_DATA_NUMBER, 2, shape);
  refused(s2_data_save(&set, in_directory("no.csv")), S2_INVALID, "'m' is a matrix");
  s2_data_free(&set);
}

static void test_full_disk(void **state) {
  (void)state;
  if (access("/dev/full", W_OK) != 0) {
    skip();
  }
  static const char *const names[] = {"full.csv", "full.npy", "full.npz", "full.h5"};
  for (int k = 0; k < 4; k++) {
    if (k == 3 && !s2_hdf5_available()) {
      continue;
    }
    S2DataSet set = {.bare = k == 1};
    memset(add_numbers(&set, "x", "", 100000), 0, 100000 * sizeof(double));
    assert_int_equal(symlink("/dev/full", in_directory(names[k])), 0);
    refused(s2_data_save(&set, in_directory(names[k])), S2_IO, "No space left");
    s2_data_free(&set);
  }
}

// ---- Files of NumPy ---------------------------------------------------------------------------

static const S2DataArray *found(const S2DataSet *set, const char *name, S2DataType type, int axes) {
  const S2DataArray *array = s2_data_find(set, name);
  assert_non_null(array);
  assert_int_equal(array->type, type);
  assert_int_equal(array->axes, axes);
  return array;
}

static void test_numpy(void **state) {
  (void)state;
  S2DataSet set;
  must(s2_data_load(S2_TEST_DATA "/numpy.npz", NULL, &set));
  assert_int_equal(set.arrays.count, 12);
  const S2DataArray *plain = found(&set, "plain", S2_DATA_NUMBER, 2);
  const double numbers[6] = {1.5, -2.0, NAN, INFINITY, 0.0, -0.0};
  for (size_t i = 0; i < 6; i++) {
    assert_true(isnan(numbers[i]) ? isnan(number_at(plain, i)) : number_at(plain, i) == numbers[i]);
  }
  assert_true(signbit(number_at(plain, 5)));
  const S2DataArray *fortran = found(&set, "fortran", S2_DATA_NUMBER, 3);
  for (size_t i = 0; i < 24; i++) {
    assert_same_bits(number_at(fortran, i), (double)i);
  }
  const S2DataArray *big = found(&set, "big", S2_DATA_INTEGER, 1);
  assert_same_bits(number_at(big, 0), -1);
  assert_same_bits(number_at(big, 1), 1099511627776.0);
  const S2DataArray *small = found(&set, "small", S2_DATA_INTEGER, 2);
  assert_same_bits(number_at(small, 0), -1);
  assert_same_bits(number_at(small, 2), -128);
  const S2DataArray *bytes = found(&set, "bytes", S2_DATA_INTEGER, 1);
  assert_same_bits(number_at(bytes, 255), 255);
  assert_same_bits(number_at(found(&set, "word", S2_DATA_INTEGER, 1), 0), 65535);
  const S2DataArray *flags = found(&set, "flags", S2_DATA_FLAG, 1);
  assert_true(number_at(flags, 0) == 1 && number_at(flags, 1) == 0);
  static const char texts[] = "\xc3\xa5\xe2\x88\xab"
                              "c\0\0xyz \xf0\x9d\x84\x9e";
  const S2DataArray *words = found(&set, "texts", S2_DATA_TEXT, 1);
  assert_int_equal(words->bytes, sizeof texts);
  assert_memory_equal(words->values, texts, sizeof texts);
  assert_memory_equal(found(&set, "raw", S2_DATA_TEXT, 1)->values, "ab\0c", 5);
  assert_same_bits(number_at(found(&set, "scalar", S2_DATA_NUMBER, 0), 0), 2.5);
  assert_same_bits(number_at(found(&set, "whole", S2_DATA_INTEGER, 0), 0), -7);
  const S2DataArray *empty = found(&set, "empty", S2_DATA_NUMBER, 2);
  assert_true(empty->shape[0] == 0 && empty->shape[1] == 3);
  s2_data_free(&set);
}

// An .npy file of this line and these bytes.
static S2Status load_line(const char *line, const void *values, size_t size, S2DataSet *set) {
  char bytes[512] = "\x93NUMPY\x01";
  size_t length = strlen(line);
  bytes[8] = (char)length;
  memcpy(bytes + 10, line, length);
  memcpy(bytes + 10 + length, values, size);
  write_all(in_directory("line.npy"), bytes, 10 + length + size);
  return s2_data_load(in_directory("line.npy"), NULL, set);
}

static void test_npy_headers(void **state) {
  (void)state;
  static const struct {
    const char *line, *why; // NULL: it is valid
    size_t size;
  } cases[] = {
      {"{'descr': '<i2', 'fortran_order': False, 'shape': (2,), }\n", NULL, 4},
      {"{\"shape\":(2,),\"fortran_order\":True,\"descr\":\"|u1\"}", NULL, 2},
      {"{'descr': '<i2', 'fortran_order': False, 'shape': (2)}", NULL, 4},
      {"{'descr': '<i2', 'fortran_order': False, 'shape': (3,), }",
       "has 4 bytes, but its shape needs", 4},
      {"{'descr': '<i2', 'fortran_order': False, 'shape': (1,), }", "has 4 bytes", 4},
      {"{'descr': '<f8', 'fortran_order': False, 'shape': (4294967296, 4294967296), }", "cut short",
       8},
      {"{'descr': '<f8', 'fortran_order': False, 'shape': (99999999999999999999,), }", "damaged",
       8},
      {"{'descr': '<f8', 'fortran_order': False, 'shape': (-1,), }", "damaged", 8},
      {"{'descr': '<f8', 'fortran_order': False, 'shape': (1,1,1,1,1,1,1,1,1), }", "8 axes", 8},
      {"{'descr': '<f8', 'fortran_order': False}", "damaged", 8},
      {"{'descr': '<f8', 'descr': '<f8', 'fortran_order': False, 'shape': ()}", "damaged", 8},
      {"{'descr': '<f8', 'fortran_order': 0, 'shape': (1,), }", "damaged", 8},
      {"{'descr': '<f8', 'fortran_order': False, 'shape': (1,), } x", "damaged", 8},
      {"{'descr': '<f8', 'more': 1, 'fortran_order': False, 'shape': (1,), }", "damaged", 8},
      {"{'descr': [('x', '<f8')], 'fortran_order': False, 'shape': (1,), }", "structured", 8},
      {"{'descr': '|O', 'fortran_order': False, 'shape': (1,), }", "objects", 8},
      {"{'descr': '<c16', 'fortran_order': False, 'shape': (1,), }", "'<c16'", 16},
      {"{'descr': '<M8[s]', 'fortran_order': False, 'shape': (1,), }", "'<M8[s]'", 8},
      {"{'descr': '<f2', 'fortran_order': False, 'shape': (4,), }", "'<f2'", 8},
      {"{'descr': '<U0', 'fortran_order': False, 'shape': (4,), }", "'<U0'", 0},
      {"{'descr': '', 'fortran_order': False, 'shape': (1,), }", "type ''", 8},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    S2DataSet set;
    S2Status status =
        load_line(cases[i].line, "\1\0\2\0\0\0\0\0\0\0\0\0\0\0\0", cases[i].size, &set);
    if (cases[i].why == NULL) {
      must(status);
      assert_same_bits(number_at(&set.arrays.at[0], 0), 1);
      assert_same_bits(number_at(&set.arrays.at[0], 1), cases[i].size == 2 ? 0 : 2);
    } else {
      refused(status, S2_INVALID, cases[i].why);
      assert_int_equal(set.arrays.count, 0);
    }
    s2_data_free(&set);
  }
  S2DataSet set;
  refused(load_line("{'descr': '<u8', 'fortran_order': False, 'shape': (1,), }",
                    "\xff\xff\xff\xff\xff\xff\xff\xff", 8, &set),
          S2_INVALID, "above 2^63");
  refused(load_line("{'descr': '<U2', 'fortran_order': False, 'shape': (1,), }", "\0\0\0\0a\0\0\0",
                    8, &set),
          S2_INVALID, "zero character");
}

// ---- CSV --------------------------------------------------------------------------------------

static S2Status load_csv(const char *text, const S2DataOptions *options, S2DataSet *set) {
  write_all(in_directory("text.csv"), text, strlen(text));
  return s2_data_load(in_directory("text.csv"), options, set);
}

static void test_csv_reading(void **state) {
  (void)state;
  S2DataSet set;
  must(load_csv("\xef\xbb\xbf# a comment\r\n\r\n t [s] ,\"a \"\"b\"\"\",name\r\n"
                "1, 2 ,x\r\n  # another\r\n,NaN,\"y\"\r\n-inf,1e3,",
                NULL, &set));
  assert_int_equal(set.arrays.count, 3);
  const S2DataArray *t = found(&set, "t", S2_DATA_NUMBER, 1);
  assert_string_equal(t->unit, "s");
  assert_int_equal(t->shape[0], 3);
  assert_same_bits(number_at(t, 0), 1);
  assert_true(isnan(number_at(t, 1)));
  assert_same_bits(number_at(t, 2), -INFINITY);
  const S2DataArray *a = found(&set, "a \"b\"", S2_DATA_NUMBER, 1);
  assert_same_bits(number_at(a, 0), 2);
  assert_true(isnan(number_at(a, 1)));
  assert_same_bits(number_at(a, 2), 1000);
  assert_memory_equal(found(&set, "name", S2_DATA_TEXT, 1)->values, "x\0y\0", 5);
  s2_data_free(&set);

  must(load_csv("1,2\n3,4", NULL, &set)); // no header
  assert_true(set.bare);
  assert_same_bits(number_at(found(&set, "", S2_DATA_NUMBER, 2), 3), 4);
  s2_data_free(&set);
  static const char *const names[] = {"x", "y"};
  const S2DataOptions named = {.names = names, .name_count = 2};
  must(load_csv("1,2\n3,4\n", &named, &set));
  assert_same_bits(number_at(found(&set, "y", S2_DATA_NUMBER, 1), 1), 4);
  s2_data_free(&set);
  must(load_csv("u,v\n1,2\n", &named, &set)); // instead of the header
  assert_same_bits(number_at(found(&set, "y", S2_DATA_NUMBER, 1), 0), 2);
  s2_data_free(&set);
  const S2DataOptions ragged = {.ragged = true};
  must(load_csv("1,2,3\n4\n", &ragged, &set));
  assert_int_equal(set.arrays.count, 2);
  assert_int_equal(set.arrays.at[0].shape[0], 3);
  assert_same_bits(number_at(&set.arrays.at[1], 0), 4);
  s2_data_free(&set);
  const S2DataOptions blanks = {.separator = ' '}, tabs = {.separator = '\t'};
  must(load_csv("  x  y \n 1\t 2 \n3   4\n", &blanks, &set));
  assert_same_bits(number_at(found(&set, "y", S2_DATA_NUMBER, 1), 1), 4);
  s2_data_free(&set);
  must(load_csv("x\ty\n1\t\n", &tabs, &set));
  assert_true(isnan(number_at(found(&set, "y", S2_DATA_NUMBER, 1), 0)));
  s2_data_free(&set);
  must(load_csv("", NULL, &set));
  assert_int_equal(found(&set, "", S2_DATA_NUMBER, 2)->shape[0], 0);
  s2_data_free(&set);
}

static void test_csv_refusals(void **state) {
  (void)state;
  static const char *const names[] = {"x", "y", "z"};
  const S2DataOptions named = {.names = names, .name_count = 3}, ragged = {.ragged = true};
  S2DataSet set;
  refused(load_csv("x,y\n1,2\n3\n", NULL, &set), S2_INVALID,
          "line 3 has 1 cells, but line 1 has 2");
  refused(load_csv("1,2\n3,a\n", NULL, &set), S2_INVALID, "line 2: 'a' is not a number");
  refused(load_csv("1,2\n3,1.2.3\n", NULL, &set), S2_INVALID, "'1.2.3' is not a number");
  refused(load_csv("1\n2,b\n", &ragged, &set), S2_INVALID, "line 2: 'b' is not a number");
  refused(load_csv("x,x [m]\n1,2\n", NULL, &set), S2_INVALID, "two columns have the name 'x'");
  refused(load_csv("1,2\n", &named, &set), S2_INVALID, "2 columns, but the number of names is 3");
  refused(load_csv("x\n\"a\nb\n", NULL, &set), S2_INVALID, "line 2: a quote");
  refused(load_csv("x\n\"a\"b\n", NULL, &set), S2_INVALID, "after the closing quote");
  write_all(in_directory("text.csv"), "1\0002", 3);
  refused(s2_data_load(in_directory("text.csv"), NULL, &set), S2_INVALID, "not a text file");
  refused(s2_data_load(in_directory("nothing.csv"), NULL, &set), S2_IO, "No such file");
  refused(s2_data_load(directory, NULL, &set), S2_INVALID, "no suffix");
}

// Where decimal points are commas.
static void test_locale(void **state) {
  (void)state;
  if (!take_comma_locale()) {
    skip();
  }
  test_round_trips(state);
  test_csv_reading(state);
  leave_locale();
}

// ---- Damage -----------------------------------------------------------------------------------

// A set that was read must be consistent.
static void walk(const S2DataSet *set) {
  for (int i = 0; i < set->arrays.count; i++) {
    const S2DataArray *array = &set->arrays.at[i];
    size_t texts = 0;
    double sum = 0;
    for (size_t k = 0; k < s2_data_count(array) && array->type != S2_DATA_TEXT; k++) {
      sum += number_at(array, k);
    }
    for (size_t k = 0; k < array->bytes; k++) {
      texts += ((const char *)array->values)[k] == '\0';
    }
    assert_true(array->type != S2_DATA_TEXT || texts == s2_data_count(array));
    assert_true(!isnan(sum) || isnan(sum)); // the sum is used
  }
}

static int mutate(const char *name, const char *source, int rounds) {
  size_t size = 0;
  unsigned char *bytes = (unsigned char *)read_all(source, &size);
  unsigned char *bent = s2_memory_take(size + 1);
  S2Rng rng = s2_rng_seeded(7);
  int good = 0;
  for (int i = 0; i < rounds; i++) {
    memcpy(bent, bytes, size);
    size_t length = i % 4 == 0 ? (size_t)s2_rng_integer(&rng, 0, (int64_t)size) : size;
    for (int64_t k = s2_rng_integer(&rng, i % 4 == 0 ? 0 : 1, 4); k > 0 && length > 0; k--) {
      static const unsigned char telling[] = {0,   1,    0x7f, 0x80, 0xff, '"',
                                              ',', '\n', '(',  '\'', '9'};
      size_t at = (size_t)s2_rng_integer(&rng, 0, (int64_t)length - 1);
      bent[at] = k % 2 == 0 ? (unsigned char)s2_rng_integer(&rng, 0, 255)
                            : telling[s2_rng_integer(&rng, 0, sizeof telling - 1)];
    }
    S2DataFile file = {name, bent, length};
    bent[length] = 0;
    S2DataSet set = {0};
    const S2DataOptions options = {.ragged = i % 5 == 0, .separator = i % 7 == 0 ? ' ' : 0};
    S2Status status = strstr(name, ".csv") != NULL ? s2_csv_load(&file, &options, &set)
                      : strstr(name, ".npz") != NULL
                          ? s2_npz_load(&file, &set)
                          : s2_npy_decode(name, "it", bent, length, "", &set);
    if (status.code == S2_OK) {
      walk(&set);
      good++;
    } else {
      assert_true(status.message[0] != '\0');
    }
    s2_data_free(&set);
  }
  s2_memory_free(bytes);
  s2_memory_free(bent);
  return good;
}

static void test_damaged_files(void **state) {
  (void)state;
  enum { ROUNDS = 4000 };
  S2DataSet set = columns();
  must(s2_data_save(&set, in_directory("good.csv")));
  must(s2_data_save(&set, in_directory("good.npz")));
  s2_data_free(&set);
  set.bare = true;
  const size_t shape[2] = {2, 2};
  S2DataArray *texts = s2_data_add(&set, "", "", S2_DATA_TEXT, 2, shape);
  for (int i = 0; i < 4; i++) {
    s2_data_add_text(texts, "text");
  }
  must(s2_data_save(&set, in_directory("good.npy")));
  s2_data_free(&set);
  assert_true(mutate("good.csv", in_directory("good.csv"), ROUNDS) > 0);
  // Checksums cover the numbers there: files that still read were changed in unused bytes.
  assert_true(mutate("good.npz", in_directory("good.npz"), ROUNDS) < ROUNDS / 4);
  assert_true(mutate("good.npz", S2_TEST_DATA "/numpy.npz", ROUNDS) < ROUNDS / 4);
  assert_true(mutate("good.npy", in_directory("good.npy"), ROUNDS) > 0);
}

// ---- Recordings -------------------------------------------------------------------------------

static void test_recorded_arrays(void **state) {
  (void)state;
  enum { FRAMES = 6, LATER = 3, BODIES = 5 };
  static const char *const files[] = {"run.npz", "run.h5"};
  for (int k = 0; k < (s2_hdf5_available() ? 2 : 1); k++) {
    S2World *world = small_world();
    S2Recorder *recorder = NULL;
    must(s2_recorder_open(in_directory(files[k]), &recorder));
    S2Run about = {0};
    s2_run_add(&about, "seed", "3");
    s2_recorder_run(recorder, &about);
    s2_run_free(&about);
    s2_recorder_set(recorder, s2_recorder_channel(recorder, "lift", "m"), 0.5);
    s2_recorder_channel(recorder, "energy", ""); // a name that exists already
    double poses[FRAMES][BODIES][3], energy[FRAMES];
    int contacts[FRAMES], all = 0;
    S2BodyId bodies[BODIES];
    for (int i = 0; i < FRAMES; i++) {
      if (i == LATER) {
        add_disc(world, named(at(0, 5), "late"), 0.1);
        s2_recorder_set(recorder, 0, 1.5);
        s2_recorder_set(recorder, s2_recorder_channel(recorder, "new", ""), 7);
      }
      must(s2_world_step(world));
      must(s2_recorder_frame(recorder, world));
      int count = s2_world_bodies(world, bodies, BODIES);
      for (int b = 0; b < BODIES; b++) {
        poses[i][b][0] = (double)NAN;
        if (b < count) {
          must(s2_body_q(world, bodies[b], poses[i][b]));
        }
      }
      energy[i] = s2_world_energy(world).total;
      (void)s2_world_contacts(world, &contacts[i]);
      all += contacts[i];
    }
    must(s2_recorder_close(recorder));
    s2_world_destroy(world);

    S2DataSet set;
    must(s2_data_load(in_directory(files[k]), NULL, &set));
    const S2DataArray *q = found(&set, "q", S2_DATA_NUMBER, 3);
    assert_true(q->shape[0] == FRAMES && q->shape[1] == BODIES && q->shape[2] == 3);
    assert_string_equal(q->unit, "rad, m, m");
    for (size_t i = 0; i < FRAMES; i++) {
      for (size_t b = 0; b < BODIES; b++) {
        double angle = number_at(q, 3 * (BODIES * i + b));
        assert_true(isnan(angle) == (i < LATER && b == BODIES - 1));
        if (!isnan(angle)) {
          assert_memory_equal((const double *)q->values + 3 * (BODIES * i + b), poses[i][b],
                              sizeof poses[i][b]);
        }
      }
      assert_same_bits(number_at(found(&set, "energy", S2_DATA_NUMBER, 2), 3 * i + 2), energy[i]);
      assert_same_bits(number_at(found(&set, "contacts", S2_DATA_INTEGER, 1), i), contacts[i]);
    }
    assert_true(all > 0);
    assert_int_equal(found(&set, "contact_impulse", S2_DATA_NUMBER, 2)->shape[0], all);
    const S2DataArray *pairs = found(&set, "contact_bodies", S2_DATA_INTEGER, 2);
    const S2DataArray *frames = found(&set, "contact_frame", S2_DATA_INTEGER, 1);
    for (size_t i = 0; i < (size_t)all; i++) {
      assert_true(number_at(pairs, 2 * i) < BODIES && number_at(pairs, 2 * i + 1) < BODIES);
      assert_true(i == 0 || number_at(frames, i) >= number_at(frames, i - 1));
    }
    const S2DataArray *names = found(&set, "name", S2_DATA_TEXT, 1);
    static const char expected[] = "floor\0a \"round\", <thing> & co\0\0bob\0late";
    assert_int_equal(names->bytes, sizeof expected);
    assert_memory_equal(names->values, expected, sizeof expected);
    assert_string_equal(s2_run_get(&set.run, "seed", 0), "3");
    const S2DataArray *lift = found(&set, "lift", S2_DATA_NUMBER, 1);
    assert_string_equal(lift->unit, "m");
    assert_same_bits(number_at(lift, LATER - 1), 0.5);
    assert_same_bits(number_at(lift, LATER), 1.5);
    const S2DataArray *fresh = found(&set, "new", S2_DATA_NUMBER, 1);
    assert_true(isnan(number_at(fresh, LATER - 1)) && number_at(fresh, LATER) == 7);
    assert_true(isnan(number_at(found(&set, "channel_energy", S2_DATA_NUMBER, 1), 0)));
    s2_data_free(&set);
  }
}

static S2Rows *open_rows(const char *path) {
  static const S2RowTitle titles[] = {{"time", "s"}, {"bob.x", "m"}};
  S2Rows *rows = NULL;
  must(s2_rows_open(path, 2, titles, &rows));
  return rows;
}

static void test_rows(void **state) {
  (void)state;
  static const char *const files[] = {"rows.csv", "rows.npz"};
  for (int k = 0; k < 2; k++) {
    S2Rows *rows = open_rows(in_directory(files[k]));
    for (int i = 0; i < 1000; i++) {
      must(s2_rows_add(rows, (const double[2]){i / 7.0, i == 3 ? (double)NAN : -i}));
    }
    must(s2_rows_close(rows));
    S2DataSet set;
    must(s2_data_load(in_directory(files[k]), NULL, &set));
    const S2DataArray *time = found(&set, "time", S2_DATA_NUMBER, 1);
    assert_string_equal(time->unit, "s");
    for (size_t i = 0; i < 1000; i++) {
      assert_same_bits(number_at(time, i), (double)i / 7.0);
    }
    assert_true(isnan(number_at(found(&set, "bob.x", S2_DATA_NUMBER, 1), 3)));
    s2_data_free(&set);
  }
  S2Rows *rows = NULL;
  refused(s2_rows_open(in_directory("rows.s2d"), 0, NULL, &rows), S2_INVALID, "unknown suffix");
  assert_null(rows);
}

// The file of a killed process contains every row that was added.
static void test_killed_rows(void **state) {
  (void)state;
  int pipe_ends[2];
  assert_int_equal(pipe(pipe_ends), 0);
  pid_t child = fork();
  assert_true(child >= 0);
  if (child == 0) {
    S2Rows *rows = open_rows(in_directory("killed.csv"));
    for (int i = 0; i < 50; i++) {
      must(s2_rows_add(rows, (const double[2]){i, 1.0 / 3}));
    }
    (void)!write(pipe_ends[1], "x", 1);
    for (;;) {
      pause();
    }
  }
  char byte;
  assert_int_equal(read(pipe_ends[0], &byte, 1), 1);
  assert_int_equal(kill(child, SIGKILL), 0);
  assert_int_equal(waitpid(child, NULL, 0), child);
  S2DataSet set;
  must(s2_data_load(in_directory("killed.csv"), NULL, &set));
  assert_int_equal(found(&set, "bob.x", S2_DATA_NUMBER, 1)->shape[0], 50);
  s2_data_free(&set);
}

static void test_columns(void **state) {
  (void)state;
  S2World *world = small_world();
  must(s2_world_step(world));
  static const char *const names[] = {"bob.x",         "bob.angle",    "bob.vy",     "pivot.angle",
                                      "pivot.force_y", "energy.total", "momentum.y", "contacts",
                                      "residual",      "step"};
  static const char *const units[] = {"m", "rad", "m/s", "rad", "N", "J", "kg m/s", "", "", ""};
  S2Column column[10];
  for (int i = 0; i < 10; i++) {
    must(s2_column_find(world, names[i], &column[i]));
    assert_string_equal(column[i].unit, units[i]);
  }
  double q[3], v[3], momentum[3];
  S2BodyId bodies[4];
  assert_int_equal(s2_world_bodies(world, bodies, 4), 4);
  must(s2_body_q(world, bodies[3], q));
  must(s2_body_v(world, bodies[3], v));
  s2_world_momentum(world, momentum);
  assert_same_bits(s2_column_read(world, &column[0]), q[1]);
  assert_same_bits(s2_column_read(world, &column[1]), q[0]);
  assert_same_bits(s2_column_read(world, &column[2]), v[2]);
  assert_true(s2_column_read(world, &column[4]) != 0);
  assert_same_bits(s2_column_read(world, &column[5]), s2_world_energy(world).total);
  assert_same_bits(s2_column_read(world, &column[6]), momentum[2]);
  assert_true(s2_column_read(world, &column[7]) > 0);
  assert_same_bits(s2_column_read(world, &column[9]), 1);
  must(s2_body_destroy(world, bodies[3]));
  assert_true(isnan(s2_column_read(world, &column[0])));
  assert_true(isnan(s2_column_read(world, &column[3]))); // its joint was destroyed with it

  S2Column none;
  refused(s2_column_find(world, "bob.x", &none), S2_INVALID, "no body or joint has the name 'bob'");
  refused(s2_column_find(world, "floor.z", &none), S2_INVALID, "a body has no 'z', only angle, x");
  refused(s2_column_find(world, "floor.omga", &none), S2_INVALID, "did you mean 'omega'");
  refused(s2_column_find(world, "energy.totl", &none), S2_INVALID, "'energy.total'");
  refused(s2_column_find(world, "", &none), S2_INVALID, "only energy.kinetic");
  s2_world_destroy(world);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_round_trips),
      cmocka_unit_test(test_single_arrays),
      cmocka_unit_test(test_what_formats_cannot_hold),
      cmocka_unit_test(test_full_disk),
      cmocka_unit_test(test_numpy),
      cmocka_unit_test(test_npy_headers),
      cmocka_unit_test(test_csv_reading),
      cmocka_unit_test(test_csv_refusals),
      cmocka_unit_test(test_locale),
      cmocka_unit_test(test_damaged_files),
      cmocka_unit_test(test_recorded_arrays),
      cmocka_unit_test(test_rows),
      cmocka_unit_test(test_killed_rows),
      cmocka_unit_test(test_columns),
  };
  return cmocka_run_group_tests(tests, make_directory, remove_directory);
}
