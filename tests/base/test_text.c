// Arbitrary text, its hash, and the run and the plots of a recording that contains such text.
#include "files.h"

#include "base/number.h"
#include "base/sha256.h"
#include "base/text.h"
#include "record/draw/plots.h"

static void assert_escaped(const char *text, const char *want) {
  char got[64];
  s2_text_escape(got, sizeof got, text);
  assert_string_equal(got, want);
}

static void test_escape(void **state) {
  (void)state;
  assert_escaped("", "");
  assert_escaped("plain \\ text", "plain \\ text");
  assert_escaped("\x1b[2J\a\n\t\r\x7f", "\\x1B[2J\\x07\\x0A\\x09\\x0D\\x7F");
  assert_escaped("\xc3\xa5 \xe2\x82\xac \xf0\x9d\x84\x9e",
                 "\xc3\xa5 \xe2\x82\xac \xf0\x9d\x84\x9e");
  assert_escaped("\xc2\x9b"
                 "1m",
                 "\\xC2\\x9B1m");  // the control character CSI
  assert_escaped("\xc3", "\\xC3"); // cut short
  assert_escaped("\xff\xc0\x80\xed\xa0\x80", "\\xFF\\xC0\\x80\\xED\\xA0\\x80"); // not UTF-8
  char small[8];
  s2_text_escape(small, sizeof small, "abcd\n!"); // an escape that does not fit whole is omitted
  assert_string_equal(small, "abcd");
  s2_text_escape(small, sizeof small, "abc\n!");
  assert_string_equal(small, "abc\\x0A");
}

static void assert_written(S2TextForm form, const char *text, const char *want) {
  char got[128] = "", piece[S2_TEXT_PIECE];
  while (*text != '\0') {
    size_t length = s2_text_next(form, &text, piece);
    assert_int_equal(length, strlen(piece));
    strcat(got, piece);
  }
  assert_string_equal(got, want);
}

// Names in Latin-1 and with control characters are valid JSON and XML.
static void test_forms(void **state) {
  (void)state;
  const char *text = "<a href=\"&\\\">\n\x1b\x7f Stra\xdf"
                     "e \xc3\xa5\xc2\x9b \xef\xbf\xbf";
  assert_written(S2_TEXT_CLEAN, text,
                 "<a href=\"&\\\">\n\xef\xbf\xbd\xef\xbf\xbd Stra\xef\xbf\xbd"
                 "e \xc3\xa5\xef\xbf\xbd\xef\xbf\xbd \xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd");
  assert_written(S2_TEXT_XML, "<a>\n&\"\xdf\x01", "&lt;a&gt;\n&amp;\"\xef\xbf\xbd\xef\xbf\xbd");
  assert_written(S2_TEXT_JSON, "<\"a\\>\n\t\x1b\x7f\xdf\xc3\xa5",
                 "<\\\"a\\\\>\\u000a\\u0009\\u001b\\u007f\xef\xbf\xbd\xc3\xa5");
  assert_written(S2_TEXT_JSON, "\xef\xbf\xbd \xf0\x9d\x84\x9e", "\xef\xbf\xbd \xf0\x9d\x84\x9e");
}

// Every code point is restored from its bytes; a number that is not a code point becomes U+FFFD.
static void test_utf8(void **state) {
  (void)state;
  for (uint32_t code = 1; code < 0x110010; code++) {
    char bytes[S2_UTF8_MOST + 1] = {0};
    int length = s2_utf8_put(bytes, code);
    const char *at = bytes;
    bool none = code > 0x10ffff || (code >= 0xd800 && code < 0xe000);
    assert_int_equal(s2_utf8_next(&at), none ? 0xfffd : code);
    assert_ptr_equal(at, bytes + length);
  }
  static const char *const bad[] = {"\xc0\x80",         "\xe0\x80\x80",     "\xed\xa0\x80",
                                    "\xf4\x90\x80\x80", "\xf8\x88\x80\x80", "\xe2\x82"};
  for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
    const char *at = bad[i];
    assert_int_equal(s2_utf8_next(&at), 0xfffd);
    assert_ptr_equal(at, bad[i] + 1);
  }
}

static void assert_hash(const char *text, size_t times, const char *want) {
  char got[S2_SHA256_SIZE];
  S2Sha256 hash = {0};
  for (size_t i = 0; i < times; i++) {
    s2_sha256_add(&hash, text, strlen(text));
  }
  s2_sha256_end(&hash, got);
  assert_string_equal(got, want);
}

// The examples of FIPS 180-2.
static void test_sha256(void **state) {
  (void)state;
  assert_hash("", 1, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  assert_hash("abc", 1, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  assert_hash("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", 1,
              "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  assert_hash("aaaaaaaaaa", 100000,
              "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

static void test_run(void **state) {
  (void)state;
  S2Run run = {0};
  s2_run_add(&run, "word", "a");
  s2_run_add(&run, "seed", "1");
  s2_run_add(&run, "word", "");
  s2_run_add(&run, "word", "c");
  int at = 0;
  assert_string_equal(s2_run_next(&run, "word", &at), "a");
  assert_string_equal(s2_run_next(&run, "word", &at), "");
  assert_string_equal(s2_run_next(&run, "word", &at), "c");
  assert_null(s2_run_next(&run, "word", &at));
  assert_null(s2_run_next(&run, "word", &at));
  assert_string_equal(s2_run_get(&run, "word", 2), "c");
  assert_null(s2_run_get(&run, "word", 3));
  s2_run_free(&run);
}

static void test_plots(void **state) {
  (void)state;
  static const char *const puts[][2] = {{"b", "1"}, {"a", "2"}, {"b", "3"}, {"c", "4"},
                                        {"a", "5"}, {"b", "6"}, {"", "7"}};
  static const char *const kept[][2] = {{"b", "6"}, {"a", "5"}, {"c", "4"}, {"", "7"}};
  for (int way = 0; way < 2; way++) { // one by one, and all at once
    S2Plots plots = {0};
    for (int i = 0; i < 7; i++) {
      if (way == 0) {
        s2_plots_put(&plots, puts[i][0], puts[i][1]);
      } else {
        s2_plots_append(&plots, puts[i][0], strlen(puts[i][0]), puts[i][1], 1);
      }
    }
    if (way == 1) {
      s2_plots_settle(&plots);
    }
    assert_int_equal(plots.list.count, 4);
    assert_int_equal(plots.changes, 7);
    for (int i = 0; i < 4; i++) {
      assert_string_equal(plots.list.at[i].name, kept[i][0]);
      assert_string_equal(plots.list.at[i].svg, kept[i][1]);
    }
    s2_plots_free(&plots);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_escape), cmocka_unit_test(test_forms), cmocka_unit_test(test_utf8),
      cmocka_unit_test(test_sha256), cmocka_unit_test(test_run),   cmocka_unit_test(test_plots),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
