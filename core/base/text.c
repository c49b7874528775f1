#include "base/text.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

// ---- Any bytes --------------------------------------------------------------------------------

int s2_text_utf8(const char *at) {
  const unsigned char *byte = (const unsigned char *)at;
  // ASCII: what can be printed, and blanks.
  if (byte[0] < 0x80) {
    bool allowed = byte[0] >= 0x20 || byte[0] == '\t' || byte[0] == '\n' || byte[0] == '\r';
    return allowed && byte[0] != 0x7f ? 1 : 0;
  }
  // The length is in the first byte's leading ones; six bits come from each of the rest.
  int length = byte[0] >= 0xf0 ? 4 : byte[0] >= 0xe0 ? 3 : 2;
  uint32_t code = byte[0] & (0xffu >> (length + 1));
  for (int i = 1; i < length; i++) {
    if ((byte[i] & 0xc0) != 0x80) {
      return 0;
    }
    code = code << 6 | (byte[i] & 0x3f);
  }
  // Refused: overlong forms, halves of surrogates, control characters and what is no character.
  static const uint32_t least[5] = {[2] = 0x80, [3] = 0x800, [4] = 0x10000};
  bool surrogate = code >= 0xd800 && code <= 0xdfff;
  bool control = code < 0xa0, none = code == 0xfffe || code == 0xffff;
  bool bad = byte[0] < 0xc2 || byte[0] > 0xf4 || code < least[length] || code > 0x10ffff;
  return bad || surrogate || control || none ? 0 : length;
}

// The next character, escaped where it must be, and moves on behind it.
enum { PIECE = 8 };
static void next_piece(const char **at, char piece[PIECE]) {
  int length = (unsigned char)**at < 0x20 ? 0 : s2_text_utf8(*at);
  if (length > 0) {
    memcpy(piece, *at, (size_t)length);
    piece[length] = '\0';
  } else {
    snprintf(piece, PIECE, "\\x%02X", (unsigned)(unsigned char)**at);
  }
  *at += length > 0 ? length : 1;
}

void s2_text_escape(char *to, size_t size, const char *from) {
  size_t used = 0;
  while (*from != '\0') {
    char piece[PIECE];
    next_piece(&from, piece);
    size_t length = strlen(piece);
    if (used + length >= size) {
      break;
    }
    memcpy(to + used, piece, length);
    used += length;
  }
  to[used] = '\0';
}

void s2_text_print(FILE *file, const char *text) {
  while (*text != '\0') {
    char piece[PIECE];
    next_piece(&text, piece);
    fputs(piece, file);
  }
}

// ---- Near words -------------------------------------------------------------------------------

enum {
  LONGEST = 40,  // longer words are not compared
  MAX_EDITS = 2, // further away it is another word, not a slip
};

static int minimum(int a, int b) {
  return a < b ? a : b;
}

// Optimal string alignment distance.
static int text_edits(const char *a, size_t n, const char *b, size_t m) {
  int d[LONGEST + 1][LONGEST + 1];
  // d[i][j]: edits that turn the first i letters of a into the first j of b.
  for (size_t i = 0; i <= n; i++) {
    d[i][0] = (int)i;
  }
  for (size_t j = 0; j <= m; j++) {
    d[0][j] = (int)j;
  }
  for (size_t i = 1; i <= n; i++) {
    for (size_t j = 1; j <= m; j++) {
      int change = d[i - 1][j - 1] + (a[i - 1] != b[j - 1]);
      d[i][j] = minimum(change, minimum(d[i - 1][j], d[i][j - 1]) + 1);
      // Two letters swapped are one edit.
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        d[i][j] = minimum(d[i][j], d[i - 2][j - 2] + 1);
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
    // A slip changes at most half of a word.
    int distance = text_edits(word, n, names[i], m);
    if (distance < best_edits && 2 * distance < (int)n + 1) {
      best = names[i];
      best_edits = distance;
    }
  }
  return best;
}
