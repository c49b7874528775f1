// Finds the character that separates the cells of a text.
#include "record/data/csv_parts.h"

#include <string.h>
#include <strings.h>

enum {
  SAMPLE = 200, // maximum number of rows to examine
  CELL = 48     // longer cells are not numbers
};

typedef struct Score {
  int rows, wide;     // rows, and rows with more than one cell
  int cells, numbers; // cells that are not empty, and cells that are numbers
  int same, width;    // rows with the most common width, and that width
  int votes;
} Score;

static void take_cell(Score *score, const char *from, size_t length, char separator) {
  char cell[CELL];
  double value;
  while (length > 0 && (from[length - 1] == ' ' || from[length - 1] == '\t')) {
    length--;
  }
  if (length == 0) {
    return;
  }
  score->cells++;
  if (length < sizeof cell) {
    memcpy(cell, from, length);
    cell[length] = '\0';
    // If the separator is not a comma, commas may be decimal points.
    score->numbers += s2_csv_is_missing(cell) || s2_csv_number('.', cell, &value) ||
                      (separator != ',' && s2_csv_number(',', cell, &value));
  }
}

// Adds the cells of the row at `at` to the score. Returns the end of the row.
static const char *take_row(Score *score, const char *at, char separator) {
  int width = 0;
  bool more = true;
  while (more) {
    at += strspn(at, separator == '\t' ? " " : " \t");
    const char *from = at;
    if (*at == '"') {
      from = ++at;
      while (*at != '\0' && (*at != '"' || at[1] == '"')) {
        at += *at == '"' ? 2 : 1;
      }
      take_cell(score, from, (size_t)(at - from), separator);
      at += *at == '"';
      at += strcspn(at, (char[]){separator, '\r', '\n', '\0'});
    } else {
      at += strcspn(at, (char[]){separator, '\r', '\n', separator == ' ' ? '\t' : '\r', '\0'});
      take_cell(score, from, (size_t)(at - from), separator);
    }
    width++;
    if (separator == ' ') {
      at += strspn(at, " \t");
      more = *at != '\r' && *at != '\n' && *at != '\0';
    } else {
      more = *at == separator;
      at += more;
    }
  }
  score->rows++;
  score->wide += width > 1;
  // Find the most common width by majority vote (Boyer and Moore).
  if (score->votes == 0) {
    score->width = width;
    score->same = 0;
  }
  score->votes += width == score->width ? 1 : -1;
  score->same += width == score->width;
  return at;
}

// Scores at most `most` rows, after skipping the first `from` rows.
static Score score_of(const char *text, char separator, int from, int most) {
  Score score = {0};
  int passed = 0;
  while (*text != '\0' && (passed < from || score.rows < most)) {
    const char *at = text + strspn(text, separator == '\t' ? " " : " \t");
    if (s2_csv_is_comment(at)) {
      text = at + strcspn(at, "\r\n");
    } else {
      text = take_row(&score, text, separator);
      passed += 1;
      if (passed == from) { // lines above the table are ignored
        score = (Score){0};
      }
    }
    text += *text == '\r' || *text == '\n';
  }
  return score;
}

char s2_csv_find_separator(char **text, char decimal) {
  static const char candidates[] = {',', ';', '\t', ' '};
  char *at = *text;
  if (strncasecmp(at, "sep=", 4) == 0 && at[4] != '\0' && (at[5] == '\r' || at[5] == '\n')) {
    *text = s2_csv_skip_lines(at, 1);
    return at[4];
  }
  char best = decimal == ',' ? ';' : ',';
  double most = -1;
  int rows = score_of(at, ',', 0, SAMPLE).rows;
  for (size_t i = 0; i < sizeof candidates; i++) {
    Score score = score_of(at, candidates[i], rows / 2, SAMPLE);
    double numbers = score.cells > 0 ? (double)score.numbers / score.cells : 0;
    double value = score.rows > 0 ? numbers * score.same / score.rows : 0;
    // Blanks separate cells only if there are numbers, because blanks also occur in texts.
    bool separates = 2 * score.wide > score.rows && (candidates[i] != ' ' || numbers > 0) &&
                     candidates[i] != decimal;
    if (separates && value > most) {
      best = candidates[i];
      most = value;
    }
  }
  return best;
}
