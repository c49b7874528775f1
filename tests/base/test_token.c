// The words of text files: where they end, their line numbers, and the refused texts.
#include "base/memory.h"
#include "base/token.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const char PATH[] = "test_token.txt";

static S2Status open_bytes(S2Tokens *tokens, const char *bytes, size_t size) {
  FILE *file = fopen(PATH, "wb");
  assert_non_null(file);
  assert_int_equal(fwrite(bytes, 1, size, file), size);
  assert_int_equal(fclose(file), 0);
  S2Status status = s2_tokens_open(tokens, PATH);
  remove(PATH);
  return status;
}

static void open_text(S2Tokens *tokens, const char *text) {
  assert_int_equal(open_bytes(tokens, text, strlen(text)).code, S2_OK);
}

static void must(S2Status status) {
  if (status.code != S2_OK) {
    fail_msg("%s", status.message);
  }
}

// `message` without the path.
static void must_fail(S2Status status, const char *message) {
  assert_int_equal(status.code, S2_INVALID);
  assert_memory_equal(status.message, PATH, strlen(PATH));
  assert_string_equal(status.message + strlen(PATH), message);
}

static double next_real(S2Tokens *tokens) {
  double value = NAN;
  must(s2_tokens_seek(tokens, "a number"));
  must(s2_tokens_real(tokens, "x", S2_ANY_REAL, &value));
  return value;
}

// Blanks of all kinds, comments directly after a word and over whole lines, both line endings, and
// a last word at the end of the file.
static void words_and_lines(void **state) {
  (void)state;
  S2Tokens tokens;
  open_text(&tokens, "# 9 9\r\n1# 9 9\n\t 2 \v\f 3\r\n\r\n   # 9\n\n4\r\n5");
  static const int lines[] = {2, 3, 3, 7, 8};
  for (int i = 0; i < 5; i++) {
    assert_true(next_real(&tokens) == i + 1);
    assert_int_equal(tokens.line, lines[i]);
    assert_int_equal(tokens.length, 1);
  }
  must(s2_tokens_end_line(&tokens));
  must(s2_tokens_end_file(&tokens));
  must_fail(s2_tokens_seek(&tokens, "more"), ":8: the file ends where more was expected");
  s2_tokens_close(&tokens);
}

static void nothing_to_read(void **state) {
  (void)state;
  static const char *const texts[] = {"", " ", "\n", "#", "# no end of line", "\r\n#\r\n \t"};
  static const int lines[] = {1, 1, 2, 1, 1, 3};
  for (int i = 0; i < 6; i++) {
    S2Tokens tokens;
    char message[80];
    double value;
    open_text(&tokens, texts[i]);
    must(s2_tokens_end_line(&tokens));
    must_fail(s2_tokens_real(&tokens, "x", S2_ANY_REAL, &value), ":1: x is missing");
    must(s2_tokens_end_file(&tokens));
    snprintf(message, sizeof message, ":%d: the file ends where 'word' was expected", lines[i]);
    must_fail(s2_tokens_expect(&tokens, "word"), message);
    s2_tokens_close(&tokens);
  }
}

static void keywords(void **state) {
  (void)state;
  S2Tokens tokens;
  open_text(&tokens, "\n rows#of it\nrowsandmore\nro\nrows 1 end");
  must(s2_tokens_expect(&tokens, "rows"));
  must(s2_tokens_end_line(&tokens));
  must_fail(s2_tokens_expect(&tokens, "rows"), ":3: expected 'rows', found 'rowsandmore'");
  must_fail(s2_tokens_expect(&tokens, "rows"), ":4: expected 'rows', found 'ro'");
  must(s2_tokens_expect(&tokens, "rows"));
  must_fail(s2_tokens_end_file(&tokens), ":5: unexpected '1'");
  must(s2_tokens_expect(&tokens, "end"));
  must(s2_tokens_end_file(&tokens));
  s2_tokens_close(&tokens);
}

// Numbers of a line end at its end.
static void lines_end(void **state) {
  (void)state;
  S2Tokens tokens;
  int n = 0;
  double x;
  open_text(&tokens, "1 2 # 3\n4");
  must(s2_tokens_integer(&tokens, "n", 0, 9, &n));
  assert_int_equal(n, 1);
  must(s2_tokens_real(&tokens, "x", S2_ANY_REAL, &x));
  must_fail(s2_tokens_integer(&tokens, "n", 0, 9, &n), ":1: n is missing");
  must_fail(s2_tokens_real(&tokens, "x", S2_ANY_REAL, &x), ":1: x is missing");
  must(s2_tokens_end_line(&tokens));
  must_fail(s2_tokens_end_file(&tokens), ":2: unexpected '4'");
  s2_tokens_close(&tokens);
}

static void integers(void **state) {
  (void)state;
  static const struct {
    const char *text, *message; // NULL: 7
  } cases[] = {
      {"7", NULL},
      {"+7", NULL},
      {"0000000000000000000000000000000000000000000000000000000000000000000000007", NULL},
      {"8", ":1: n is 8; it must be in -3..7"},
      {"-4", ":1: n is -4; it must be in -3..7"},
      {"99999999999999999999999", ":1: n is 99999999999999999999999; it must be in -3..7"},
      {"-99999999999999999999999", ":1: n is -99999999999999999999999; it must be in -3..7"},
      {"7.0", ":1: n must be an integer, not '7.0'"},
      {"7e0", ":1: n must be an integer, not '7e0'"},
      {"0x7", ":1: n must be an integer, not '0x7'"},
      {"seven", ":1: n must be an integer, not 'seven'"},
      {"-", ":1: n must be an integer, not '-'"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    S2Tokens tokens;
    int n = 0;
    open_text(&tokens, cases[i].text);
    S2Status status = s2_tokens_integer(&tokens, "n", -3, 7, &n);
    if (cases[i].message == NULL) {
      must(status);
      assert_int_equal(n, 7);
    } else {
      must_fail(status, cases[i].message);
    }
    s2_tokens_close(&tokens);
  }
}

static void reals(void **state) {
  (void)state;
  static const struct {
    const char *text;
    S2Reals allowed;
    const char *message; // NULL: the value is that of strtod
  } cases[] = {
      {"-1.5e-3", S2_FINITE_REALS, NULL},
      {"0x1.8p3", S2_FINITE_REALS, NULL},
      {"4.9406564584124654e-324", S2_FINITE_REALS, NULL},
      {"1e-999", S2_FINITE_REALS, NULL},
      {"inf", S2_NO_NAN, NULL},
      {"-inf", S2_ANY_REAL, NULL},
      {"nan", S2_ANY_REAL, NULL},
      {"nan", S2_NO_NAN, ":1: x is not a number (nan)"},
      {"nan", S2_FINITE_REALS, ":1: x is not a number (nan)"},
      {"-inf", S2_FINITE_REALS, ":1: x must be finite"},
      {"1e999", S2_FINITE_REALS, ":1: x must be finite"},
      {"1,5", S2_ANY_REAL, ":1: x must be a number, not '1,5'"},
      {"1.5x", S2_ANY_REAL, ":1: x must be a number, not '1.5x'"},
      {"1e", S2_ANY_REAL, ":1: x must be a number, not '1e'"},
      {"\xff\xfe", S2_ANY_REAL, ":1: x must be a number, not '\\xFF\\xFE'"},
      {"\x1b[2J", S2_ANY_REAL, ":1: x must be a number, not '\\x1B[2J'"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    S2Tokens tokens;
    double x = 0;
    open_text(&tokens, cases[i].text);
    S2Status status = s2_tokens_real(&tokens, "x", cases[i].allowed, &x);
    if (cases[i].message == NULL) {
      must(status);
      double expected = strtod(cases[i].text, NULL);
      assert_true(x == expected || (isnan(x) && isnan(expected)));
    } else {
      must_fail(status, cases[i].message);
    }
    s2_tokens_close(&tokens);
  }
}

// Digits far behind the decimal point, with an exponent after them: a fixed buffer would cut them
// off.
static void long_numbers(void **state) {
  (void)state;
  static const int digits[] = {61, 62, 63, 64, 65, 255, 1000, 100000};
  for (size_t k = 0; k < sizeof digits / sizeof *digits; k++) {
    size_t most = (size_t)digits[k] + 32;
    char *text = s2_memory_take(most);
    int used = snprintf(text, most, "0.");
    memset(text + used, '0', (size_t)digits[k]);
    snprintf(text + used + digits[k], most - (size_t)(used + digits[k]), "25e%d 8", digits[k]);
    S2Tokens tokens;
    open_text(&tokens, text);
    assert_true(next_real(&tokens) == 0.25);
    assert_true(next_real(&tokens) == 8);
    must(s2_tokens_end_file(&tokens));
    s2_tokens_close(&tokens);
    s2_memory_free(text);
  }
}

// Words of the size of the reader's first chunk, and of a byte less and a byte more. Errors quote
// 40 characters.
static void huge_words(void **state) {
  (void)state;
  for (size_t size = 65534; size <= 65537; size++) {
    char *text = s2_memory_take(size);
    memset(text, 'x', size);
    text[0] = '\n';
    S2Tokens tokens;
    double x;
    assert_int_equal(open_bytes(&tokens, text, size).code, S2_OK);
    assert_int_equal(tokens.size, size);
    must(s2_tokens_seek(&tokens, "x"));
    must_fail(s2_tokens_real(&tokens, "x", S2_ANY_REAL, &x),
              ":2: x must be a number, not 'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx'");
    assert_int_equal(tokens.length, size - 1);
    must(s2_tokens_end_file(&tokens));
    s2_tokens_close(&tokens);
    s2_memory_free(text);
  }
}

static void bytes_that_are_no_text(void **state) {
  (void)state;
  static const char bytes[] = "1 2\n3\0 4\n";
  S2Tokens tokens;
  must_fail(open_bytes(&tokens, bytes, sizeof bytes - 1),
            ":2: not a text file (it contains a zero byte)");
  s2_tokens_close(&tokens);
  must_fail(open_bytes(&tokens, "", 1), ":1: not a text file (it contains a zero byte)");
  s2_tokens_close(&tokens);
}

static void files_that_cannot_be_read(void **state) {
  (void)state;
  static const char *const paths[] = {"does/not/exist", "."};
  for (int i = 0; i < 2; i++) {
    S2Tokens tokens;
    S2Status status = s2_tokens_open(&tokens, paths[i]);
    assert_int_equal(status.code, S2_IO);
    assert_non_null(strstr(status.message, paths[i]));
    s2_tokens_close(&tokens);
    s2_tokens_close(&tokens); // a second close does no harm
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(words_and_lines),
      cmocka_unit_test(nothing_to_read),
      cmocka_unit_test(keywords),
      cmocka_unit_test(lines_end),
      cmocka_unit_test(integers),
      cmocka_unit_test(reals),
      cmocka_unit_test(long_numbers),
      cmocka_unit_test(huge_words),
      cmocka_unit_test(bytes_that_are_no_text),
      cmocka_unit_test(files_that_cannot_be_read),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
