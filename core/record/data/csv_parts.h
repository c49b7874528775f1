// The internal parts of the reader of .csv files. csv_text.c decodes the bytes, csv_dialect.c finds
// the separator, csv_cells.c splits the text, csv_number.c reads numbers, and csv_read.c creates
// columns.
#ifndef S2_CSV_PARTS_H
#define S2_CSV_PARTS_H

#include "record/data/data_formats.h"

typedef struct S2CsvRow {
  int first, count; // in cells
  int line;
} S2CsvRow;

typedef struct S2CsvCells {
  const char *path;
  char separator;               // ' ': any number of blanks
  char decimal;                 // '.' or ','
  S2_ARRAY(const char *) cells; // each cell ends with a 0 and points into the bytes of the file
  S2_ARRAY(S2CsvRow) rows;
  bool commas; // some cell may contain a comma
  int open;    // number of the last line if it has no line end, otherwise 0
} S2CsvCells;

// The cell of a row, or "" after its last cell.
static inline const char *s2_csv_cell(const S2CsvCells *cells, int row, int column) {
  const S2CsvRow *at = &cells->rows.at[row];
  return column < at->count ? cells->cells.at[at->first + column] : "";
}

// Converts UTF-8, UTF-16 or Latin-1 to UTF-8 without a byte order mark, terminated by a 0. `*text`
// points into the file or to `*owned`, which the caller frees.
S2Status s2_csv_decode(const S2DataFile *file, char **text, char **owned);
// Skips `count` lines.
char *s2_csv_skip_lines(char *text, int count);
// Returns true if a line is empty or a comment (#, %, //). `at` is its first character that is not
// blank. A cell #N/A is not a comment, and neither is the unit % in the first column.
bool s2_csv_is_comment(const char *at);

// Finds the separator of cells. A first line "sep=;" defines the separator, and `*text` moves past
// that line. Otherwise chooses the separator that gives the most numbers in a sample of rows.
// `decimal` is the given decimal point, or 0. If it is a comma, the comma is not a separator.
char s2_csv_find_separator(char **text, char decimal);

// Splits the text in place. `line` is the number of its first line.
S2Status s2_csv_cut(S2CsvCells *cells, char *text, int line);

// Decides whether the decimal point of these cells is a comma. Returns S2_INVALID if both notations
// occur, or if the cells are ambiguous.
S2Status s2_csv_find_decimal(S2CsvCells *cells);
// Reads a number, or NaN for a missing value.
bool s2_csv_number(char decimal, const char *cell, double *value);
bool s2_csv_is_missing(const char *cell);
// Returns true if the text begins like a number and has digits. It is probably a mistyped number.
bool s2_csv_looks_numeric(const char *cell);

#endif
