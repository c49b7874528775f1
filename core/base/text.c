#include "base/text.h"

#include <stdbool.h>
#include <string.h>

enum { REPLACEMENT = 0xfffd }; // U+FFFD replaces bytes that are not valid text.

// ---- UTF-8 ------------------------------------------------------------------------------------

uint32_t s2_utf8_next(const char **at) {
  const unsigned char *bytes = (const unsigned char *)*at;
  static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
  int length = bytes[0] < 0x80             ? 1
               : (bytes[0] & 0xe0) == 0xc0 ? 2
               : (bytes[0] & 0xf0) == 0xe0 ? 3
               : (bytes[0] & 0xf8) == 0xf0 ? 4
                                           : 0;
  uint32_t code = length == 1 ? bytes[0] : length == 0 ? 0 : bytes[0] & (0x7fu >> length);
  for (int i = 1; i < length; i++) {
    if ((bytes[i] & 0xc0) != 0x80) {
      length = 0;
      break;
    }
    code = code << 6 | (bytes[i] & 0x3fu);
  }
  // Reject overlong encodings, code points beyond Unicode, and halves of surrogate pairs.
  if (length == 0 || code < least[length] || code > 0x10ffff || (code >= 0xd800 && code < 0xe000)) {
    *at += 1;
    return REPLACEMENT;
  }
  *at += length;
  return code;
}

int s2_utf8_put(char bytes[S2_UTF8_MOST], uint32_t code) {
  if (code > 0x10ffff || (code >= 0xd800 && code < 0xe000)) {
    code = REPLACEMENT;
  }
  if (code < 0x80) {
    bytes[0] = (char)code;
    return 1;
  }
  int length = code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
  for (int i = length - 1; i > 0; i--) {
    bytes[i] = (char)(0x80u | (code & 0x3fu));
    code >>= 6;
  }
  bytes[0] = (char)(((0xf00u >> length) & 0xffu) | code);
  return length;
}

// ---- Escapes ----------------------------------------------------------------------------------

// Returns the number of bytes of the character at `at`, or 0 if it is invalid.
static size_t text_character(const char *at) {
  const char *end = at;
  uint32_t code = s2_utf8_next(&end);
  bool blank = code == '\t' || code == '\n' || code == '\r';
  bool control = (code < 0x20 && !blank) || (code >= 0x7f && code < 0xa0);
  bool forbidden = code == 0xfffe || code == 0xffff;
  bool bad = code == REPLACEMENT && end == at + 1; // a genuine U+FFFD in the text has three bytes
  return control || forbidden || bad ? 0 : (size_t)(end - at);
}

static const char *text_entity(char c) {
  return c == '&' ? "&amp;" : c == '<' ? "&lt;" : c == '>' ? "&gt;" : NULL;
}

size_t s2_text_next(S2TextForm form, const char **at, char written[S2_TEXT_PIECE]) {
  const char *from = *at;
  unsigned byte = (unsigned char)*from;
  size_t length = text_character(from);
  *at += length > 0 ? length : 1;
  // The escapes of each form.
  if (form == S2_TEXT_JSON && (byte < 0x20 || byte == 0x7f)) {
    return (size_t)snprintf(written, S2_TEXT_PIECE, "\\u%04x", byte);
  }
  if (form == S2_TEXT_JSON && (byte == '"' || byte == '\\')) {
    return (size_t)snprintf(written, S2_TEXT_PIECE, "\\%c", (char)byte);
  }
  if (form == S2_TEXT_XML && text_entity(*from) != NULL) {
    return (size_t)snprintf(written, S2_TEXT_PIECE, "%s", text_entity(*from));
  }
  if (form == S2_TEXT_PLAIN && (byte < 0x20 || length == 0)) {
    return (size_t)snprintf(written, S2_TEXT_PIECE, "\\x%02X", byte);
  }
  if (length == 0) {
    length = (size_t)s2_utf8_put(written, REPLACEMENT);
  } else {
    memcpy(written, from, length);
  }
  written[length] = '\0';
  return length;
}

void s2_text_escape(char *to, size_t size, const char *from) {
  size_t used = 0;
  while (*from != '\0') {
    char piece[S2_TEXT_PIECE];
    size_t length = s2_text_next(S2_TEXT_PLAIN, &from, piece);
    if (used + length >= size) {
      break;
    }
    memcpy(to + used, piece, length);
    used += length;
  }
  to[used] = '\0';
}

void s2_text_print(FILE *file, S2TextForm form, const char *text) {
  while (*text != '\0') {
    char piece[S2_TEXT_PIECE];
    s2_text_next(form, &text, piece);
    fputs(piece, file);
  }
}

// ---- Near words -------------------------------------------------------------------------------

enum {
  LONGEST = 40,  // longer words are not compared
  MAX_EDITS = 2, // a word with more edits counts as a different word
};

static int text_minimum(int a, int b) {
  return a < b ? a : b;
}

// Optimal string alignment distance.
static int text_edits(const char *a, size_t n, const char *b, size_t m) {
  int d[LONGEST + 1][LONGEST + 1];
  // The distance to the empty word: insert or delete all letters.
  for (size_t i = 0; i <= n; i++) {
    d[i][0] = (int)i;
  }
  for (size_t j = 0; j <= m; j++) {
    d[0][j] = (int)j;
  }
  for (size_t i = 1; i <= n; i++) {
    for (size_t j = 1; j <= m; j++) {
      // Take the cheapest of replacing, inserting, deleting, and swapping neighbours.
      int change = d[i - 1][j - 1] + (a[i - 1] != b[j - 1]);
      d[i][j] = text_minimum(change, text_minimum(d[i - 1][j], d[i][j - 1]) + 1);
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        d[i][j] = text_minimum(d[i][j], d[i - 2][j - 2] + 1);
      }
    }
  }
  return d[n][m];
}

const char *s2_text_nearest(const char *word, const char *const *names, int count) {
  size_t n = strlen(word);
  const char *best = NULL;
  int best_edits = MAX_EDITS + 1;
  for (int i = 0; i < count && n <= LONGEST; i++) {
    size_t m = strlen(names[i]);
    if (m > LONGEST) {
      continue;
    }
    int distance = text_edits(word, n, names[i], m);
    if (distance < best_edits && 2 * distance < (int)n + 1) {
      best = names[i];
      best_edits = distance;
    }
  }
  return best;
}
