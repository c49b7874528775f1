// Files with a few wrong bytes, words or lines: an error that names file and line, or a problem
// that can be written and read again; never anything else. `test_fuzz N` tries N of each format.
#include "base/rng.h"
#include "mcp/contact/contact.h"
#include "mcp/lcp/lcp.h"
#include "mcp/mcp.h"
#include "temporary.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

enum { SIZE = 4096 };

static int64_t cases = 1500;
static char path[TEMPORARY_SIZE];

static const char LCP[] = "# two unknowns\n2\n2 1 # a row\n1 2\r\n\n-5 -6e0\n";
static const char STEP[] = "sim2d-problem 1\nvelocity_scale 0.1\nlength 0.2 # of the ball\n"
                           "nodes 1\nrows 2\nnode 0.005 1 1 0 0.3 -0.1\n"
                           "row 0 -1 -1 0 0 inf 0 0 0 0 0 1 0 0 0\n"
                           "row 0 -1 0 0 0 0 0.5 0 0 0.1 1 0 0 0 0\nend\n";
static const char LOCAL[] = "nc 1\nW 2 2 3\n0 0 1\n0 1 .5\n1 1 1\nq\n-1 2\nmu\n0.5\n";
static const char GLOBAL[] = "# a ball\nnc 1\nM 3 3 3\n0 0 1\n1 1 1\n2 2 1\nH 3 2 2\n1 0 1\n2 1 1\n"
                             "q\n0 0 0\nb -1 2\nmu 0.5\n";

// The start of a random word.
static size_t some_word(S2Rng *rng, const char *text, size_t size) {
  size_t at = (size_t)s2_rng_integer(rng, 0, (int64_t)size - 1);
  while (at > 0 && text[at - 1] != ' ' && text[at - 1] != '\n') {
    at--;
  }
  return at;
}

static size_t put(char *text, size_t size, size_t at, size_t gone, const char *word,
                  size_t length) {
  if (size - gone + length > SIZE - 1) {
    return size;
  }
  memmove(text + at + length, text + at + gone, size - at - gone);
  memcpy(text + at, word, length);
  return size - gone + length;
}

static size_t mutate(S2Rng *rng, char *text, size_t size) {
  static const char *const words[] = {
      "-1",       "0",     "2147483647", "2147483648", "-2147483649", "99999999999999999999",
      "1e309",    "nan",   "-inf",       "1e-320",     "0x1p4",       "nan(1)",
      "3",        "32768", "#",          "\n",         "nc",          "row",
      "\xff\xfe", "1e",    "."};
  enum { WORDS = sizeof words / sizeof *words };
  if (size == 0) {
    return 0;
  }
  size_t at = some_word(rng, text, size), length = strcspn(text + at, " \n");
  length = length > size - at ? size - at : length;
  const char *word = words[s2_rng_integer(rng, 0, WORDS - 1)];
  char copy[64];
  size_t copied = length < sizeof copy ? length : sizeof copy;
  memcpy(copy, text + at, copied);
  switch (s2_rng_integer(rng, 0, 6)) {
  case 0:
    text[s2_rng_integer(rng, 0, (int64_t)size - 1)] = (char)s2_rng_integer(rng, -128, 127);
    return size;
  case 1:
    return (size_t)s2_rng_integer(rng, 0, (int64_t)size); // cut short
  case 2:
    return put(text, size, at, length, "", 0);
  case 3:
    return put(text, size, at, 0, copy, copied);
  case 4:
    size = put(text, size, at, 0, " ", 1);
    return put(text, size, at, 0, copy, copied);
  case 5:
    return put(text, size, at, 0, word, strlen(word));
  default:
    return put(text, size, at, length, word, strlen(word));
  }
}

static void write_file(const char *text, size_t size) {
  remove(path); // some file systems wait for the disk when a file is truncated and written again
  FILE *file = fopen(path, "wb");
  assert_non_null(file);
  assert_int_equal(fwrite(text, 1, size, file), size);
  assert_int_equal(fclose(file), 0);
}

// "PATH:LINE: message"
static void check_error(S2Status status) {
  assert_int_equal(status.code, S2_INVALID);
  assert_memory_equal(status.message, path, strlen(path));
  char *stop;
  assert_int_equal(status.message[strlen(path)], ':');
  assert_true(strtol(status.message + strlen(path) + 1, &stop, 10) >= 1);
  assert_memory_equal(stop, ": ", 2);
  assert_true(strlen(stop) > 5);
}

static bool try_lcp(void) {
  S2LcpProblem *problem;
  S2Status status = s2_lcp_read(path, &problem);
  if (status.code != S2_OK) {
    assert_null(problem);
    check_error(status);
    return false;
  }
  assert_int_equal(s2_lcp_write(problem, path).code, S2_OK);
  s2_lcp_free(problem);
  assert_int_equal(s2_lcp_read(path, &problem).code, S2_OK);
  s2_lcp_free(problem);
  return true;
}

static bool try_step(void) {
  S2Problem *problem;
  S2Status status = s2_problem_read(path, &problem);
  if (status.code != S2_OK) {
    assert_null(problem);
    check_error(status);
    return false;
  }
  assert_int_equal(s2_problem_write(problem, path).code, S2_OK);
  s2_problem_free(problem);
  assert_int_equal(s2_problem_read(path, &problem).code, S2_OK);
  s2_problem_free(problem);
  return true;
}

static bool try_contact(void) {
  S2ContactFile *file;
  S2Status status = s2_contact_read(path, &file);
  if (status.code != S2_OK) {
    assert_null(file);
    check_error(status);
    return false;
  }
  status = file->global ? s2_contact_write_global(&file->global_form, path)
                        : s2_contact_write(&file->local_form, path);
  assert_int_equal(status.code, S2_OK);
  s2_contact_free(file);
  assert_int_equal(s2_contact_read(path, &file).code, S2_OK);
  s2_contact_free(file);
  return true;
}

static void fuzz(const char *seed, bool (*attempt)(void)) {
  S2Rng rng = s2_rng_seeded(1);
  int64_t accepted = 0;
  for (int64_t k = 0; k < cases; k++) {
    char text[SIZE];
    size_t size = strlen(seed);
    memcpy(text, seed, size);
    for (int64_t i = s2_rng_integer(&rng, 1, 3); i > 0; i--) {
      size = mutate(&rng, text, size);
      text[size] = 0;
    }
    write_file(text, size);
    accepted += attempt();
  }
  print_message("%d of %d read\n", (int)accepted, (int)cases);
  assert_true(accepted > cases / 200 && accepted < cases / 2);
}

static void lcp_files(void **state) {
  (void)state;
  fuzz(LCP, try_lcp);
}

static void step_files(void **state) {
  (void)state;
  fuzz(STEP, try_step);
}

static void local_contact_files(void **state) {
  (void)state;
  fuzz(LOCAL, try_contact);
}

static void global_contact_files(void **state) {
  (void)state;
  fuzz(GLOBAL, try_contact);
}

static int open_path(void **state) {
  (void)state;
  temporary_name(path, "fuzz");
  int file = mkstemp(path);
  return file < 0 ? -1 : close(file);
}

static int remove_path(void **state) {
  (void)state;
  return remove(path);
}

int main(int count, char **argument) {
  cases = count > 1 ? strtol(argument[1], NULL, 10) : cases;
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(lcp_files),
      cmocka_unit_test(step_files),
      cmocka_unit_test(local_contact_files),
      cmocka_unit_test(global_contact_files),
  };
  return cmocka_run_group_tests(tests, open_path, remove_path);
}
