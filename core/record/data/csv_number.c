// Reads numbers in the notations of loggers and spreadsheets.
#include "record/data/csv_parts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { LONGEST = 63 }; // maximum length of a number in a notation that strtod cannot read

static bool is_word(const char *cell, const char *const *words, size_t count) {
  for (size_t i = 0; i < count; i++) {
    if (strcasecmp(cell, words[i]) == 0) {
      return true;
    }
  }
  return false;
}

bool s2_csv_is_missing(const char *cell) {
  static const char *const words[] = {"",        "nan",    "na",      "n/a",      "#n/a",
                                      "null",    "none",   "nil",     "-",        "--",
                                      "?",       ".",      "missing", "nan(ind)", "nan(snan)",
                                      "1.#qnan", "1.#ind", "#div/0!", "#value!",  "#ref!",
                                      "#num!",   "#name?", "#null!",  "1.#snan",  "#na"};
  if (*cell >= '0' && *cell <= '9' && cell[1] != '.') {
    return false;
  }
  bool sign = (cell[0] == '-' || cell[0] == '+') && cell[1] != '\0' && cell[1] != '-';
  return is_word(cell + sign, words, sizeof words / sizeof *words);
}

static bool is_infinite(const char *cell, double *value) {
  static const char *const words[] = {"inf", "infinity", "1.#inf", "\xe2\x88\x9e"};
  bool negative = *cell == '-';
  cell += *cell == '-' || *cell == '+';
  *value = negative ? (double)-INFINITY : (double)INFINITY;
  return is_word(cell, words, sizeof words / sizeof *words);
}

static bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

// Returns the length of the group separator at `at`, or 0 if there is none.
static size_t mark_length(const char *at) {
  static const char *const marks[] = {",", ".", " ", "'", "\xc2\xa0", "\xe2\x80\xaf"};
  for (size_t i = 0; i < sizeof marks / sizeof *marks; i++) {
    size_t length = strlen(marks[i]);
    if (strncmp(at, marks[i], length) == 0) {
      return length;
    }
  }
  return 0;
}

// Reads digits after a sign. They may be grouped. `*end` is set to the remaining text.
static size_t copy_whole(char decimal, const char *at, char *to, const char **end) {
  size_t digits = strspn(at, "0123456789"), used = digits, length = 0;
  memcpy(to, at, digits);
  at += digits;
  const char *mark = at;
  while (digits > 0 && digits <= 3 && *at != decimal && (length = mark_length(at)) > 0 &&
         strncmp(at, mark, length) == 0 && strspn(at + length, "0123456789") == 3) {
    memcpy(to + used, at + length, 3);
    used += 3;
    at += length + 3;
  }
  *end = at;
  return used;
}

// Reads notations that strtod cannot: decimal commas, digit groups, Fortran exponents and the
// typographic minus.
static bool read_written(char decimal, const char *cell, double *value) {
  char plain[LONGEST + 2], *to = plain;
  if (strlen(cell) > LONGEST) {
    return false;
  }
  if (strncmp(cell, "\xe2\x88\x92", 3) == 0) {
    *to++ = '-';
    cell += 3;
  } else if (*cell == '-' || *cell == '+') {
    *to++ = *cell++;
  }
  const char *at = cell, *digits = to;
  to += copy_whole(decimal, cell, to, &at);
  bool fraction = *at == decimal;
  if (fraction) {
    size_t length = strspn(at + 1, "0123456789");
    *to = '.';
    memcpy(to + 1, at + 1, length);
    to += length + 1;
    at += length + 1;
  }
  if (to - digits == fraction) {
    return false;
  }
  if (*at != '\0' && strchr("eEdD", *at) != NULL) {
    size_t sign = at[1] == '-' || at[1] == '+', length = strspn(at + 1 + sign, "0123456789");
    *to++ = 'e';
    memcpy(to, at + 1, sign + length);
    to += sign + length;
    at += length > 0 ? 1 + sign + length : 0;
  }
  *to = '\0';
  *value = strtod(plain, NULL);
  return *at == '\0';
}

bool s2_csv_number(char decimal, const char *cell, double *value) {
  const char *plain = decimal == '.' ? "+-.0123456789eE" : "+-0123456789eE";
  if (strspn(cell, plain) == strlen(cell) && *cell != '\0') {
    char *end = NULL;
    *value = strtod(cell, &end);
    if (*end == '\0') {
      return true;
    }
  }
  if (s2_csv_is_missing(cell)) {
    *value = (double)NAN;
    return true;
  }
  return read_written(decimal, cell, value) || is_infinite(cell, value);
}

bool s2_csv_looks_numeric(const char *cell) {
  cell += strspn(cell, "+-.,");
  return is_digit(*cell);
}

// ---- The decimal point ------------------------------------------------------------------------

typedef enum Says { NOTHING, POINT, COMMA, EITHER } Says;

// Finds the meaning of a single comma or point in a cell. 1,5 has a decimal comma, but 1,234 may be
// an integer.
static Says one_mark(const char *digits, size_t before, Says decimal) {
  const char *behind = digits + before + 1;
  size_t after = strspn(behind, "0123456789");
  bool group = before >= 1 && before <= 3 && *digits != '0' && after == 3 && behind[after] == '\0';
  return group ? EITHER : decimal;
}

static Says says(const char *cell) {
  double value;
  bool point = s2_csv_number('.', cell, &value), comma = s2_csv_number(',', cell, &value);
  const char *first_comma = strchr(cell, ','), *first_point = strchr(cell, '.');
  if ((!point && !comma) || (first_comma == NULL && first_point == NULL)) {
    return NOTHING;
  }
  cell += *cell == '-' || *cell == '+';
  bool one = (first_comma == NULL || strchr(first_comma + 1, ',') == NULL) &&
             (first_point == NULL || strchr(first_point + 1, '.') == NULL) &&
             (first_comma == NULL) != (first_point == NULL);
  size_t before = strspn(cell, "0123456789");
  if (one && (cell[before] == ',' || cell[before] == '.')) {
    return one_mark(cell, before, cell[before] == ',' ? COMMA : POINT);
  }
  return point != comma ? point ? POINT : COMMA : NOTHING;
}

static S2Status decimal_unknown(const S2CsvCells *cells, int row, int column, const char *why) {
  return s2_data_refuse(cells->path,
                        "line %d, column %d: '%.30s' %s; set the decimal point with "
                        "decimal = \",\" or \".\"",
                        cells->rows.at[row].line, column + 1, s2_csv_cell(cells, row, column), why);
}

S2Status s2_csv_find_decimal(S2CsvCells *cells) {
  bool points = false, commas = false;
  int row = -1, column = -1; // a cell whose comma may be a decimal point or a group separator
  int point_row = -1, point_column = -1; // a cell whose point may be a decimal point or a group
                                         // separator
  for (int i = 0; i < cells->rows.count && cells->commas; i++) {
    for (int k = 0; k < cells->rows.at[i].count; k++) {
      const char *cell = s2_csv_cell(cells, i, k);
      Says what = says(cell);
      points |= what == POINT;
      commas |= what == COMMA;
      if (points && commas) {
        return decimal_unknown(cells, i, k,
                               "has a different decimal point than the cells before it");
      }
      if (what == EITHER && row < 0 && strchr(cell, ',') != NULL) {
        row = i;
        column = k;
      }
      if (what == EITHER && point_row < 0 && strchr(cell, '.') != NULL) {
        point_row = i;
        point_column = k;
      }
    }
  }
  // Spreadsheets use semicolons as separators when commas are decimal points.
  bool guess = row >= 0 && !points && !commas && cells->separator != ';';
  if (guess) {
    return decimal_unknown(cells, row, column,
                           "may contain a decimal point or a thousands separator");
  }
  // In a file with decimal commas, a point may have been written by another program.
  if (commas && point_row >= 0) {
    return decimal_unknown(cells, point_row, point_column,
                           "may contain a decimal point or a thousands separator");
  }
  cells->decimal = commas || (row >= 0 && !points) ? ',' : '.';
  return s2_ok();
}
