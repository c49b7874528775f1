// The option --watch detects files that are saved. Times are arguments, so the test does not wait.
#include "lua/record/watch.h"

#include "temporary.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static const double CHECK = 1; // s between checks, more than s2_watch_look requires

static void save(const char *path, const char *text) {
  FILE *file = fopen(path, "w");
  assert_non_null(file);
  fputs(text, file);
  fclose(file);
}

// A save in parts empties the file first. It is reported once, after the last part.
static void test_parts(void **state) {
  (void)state;
  char path[TEMPORARY_SIZE];
  temporary_name(path, "watch");
  int file = mkstemp(path);
  assert_true(file >= 0);
  close(file);
  save(path, "print 1");
  S2Watch watch = {0};
  double now = 0;
  s2_watch_add(&watch, path);
  assert_false(s2_watch_look(&watch, now += CHECK));
  const char *const parts[] = {"", "pri", "print 'h", "print 'half", "print 'whole'"};
  for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
    save(path, parts[i]);
    assert_false(s2_watch_look(&watch, now += CHECK));
  }
  // A check that comes too early does not count.
  assert_false(s2_watch_look(&watch, now));
  assert_true(s2_watch_look(&watch, now += CHECK));
  assert_false(s2_watch_look(&watch, now += CHECK));
  // A file that is missing for a moment is replaced by a rename.
  remove(path);
  assert_false(s2_watch_look(&watch, now += CHECK));
  save(path, "print 'another'");
  assert_false(s2_watch_look(&watch, now += CHECK));
  assert_true(s2_watch_look(&watch, now += CHECK));
  remove(path);
  s2_watch_free(&watch);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_parts)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
