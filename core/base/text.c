#include "base/text.h"

#include <stddef.h>
#include <string.h>

enum {
  LONGEST = 40,  // longer words are not compared
  MAX_EDITS = 2, // further away it is another word, not a slip
};

static int minimum(int a, int b) {
  return a < b ? a : b;
}

// Optimal string alignment distance.
static int edits(const char *a, size_t n, const char *b, size_t m) {
  int d[LONGEST + 1][LONGEST + 1];
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
    int distance = edits(word, n, names[i], m);
    if (distance < best_edits && 2 * distance < (int)n + 1) {
      best = names[i];
      best_edits = distance;
    }
  }
  return best;
}
