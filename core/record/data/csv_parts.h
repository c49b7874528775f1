// Private to the reader of .csv files: what it is made of. csv_text.c makes text of bytes,
// csv_dialect.c finds out how it is written, csv_cells.c cuts it up, csv_number.c reads numbers,
// csv_read.c makes columns of them.
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
  S2_ARRAY(const char *) cells; // each ends with a 0, in the file's bytes
  S2_ARRAY(S2CsvRow) rows;
  bool commas; // some cell may have a comma in it
  int open;    // line that ends with the file, 0: none
} S2CsvCells;

// The cell of a row, "" behind its last.
static inline const char *s2_csv_cell(const S2CsvCells *cells, int row, int column) {
  const S2CsvRow *at = &cells->rows.at[row];
  return column < at->count ? cells->cells.at[at->first + column] : "";
}

// UTF-8 without a mark, ended by a 0, from UTF-8, UTF-16 or Latin-1. `*text` is the file's own
// bytes or `*owned`, to be freed.
S2Status s2_csv_decode(const S2DataFile *file, char **text, char **owned);
// Behind so many lines.
char *s2_csv_skip_lines(char *text, int count);
// Is it a line that holds no row: empty, or a comment (#, %, //)? `at`: its first character that is
// no blank. A cell #N/A is no comment, nor is the unit % in the first column.
bool s2_csv_is_comment(const char *at);

// What separates cells: what a first line "sep=;" says (`*text` goes behind it), else what makes
// most cells of the first rows numbers.
// `decimal`: the decimal point that was given, or 0; a decimal comma separates nothing.
char s2_csv_find_separator(char **text, char decimal);

// Cuts the text up, in place; `line` is the number of its first.
S2Status s2_csv_cut(S2CsvCells *cells, char *text, int line);

// Is the decimal point of these cells a comma? S2_INVALID where both occur or nothing tells.
S2Status s2_csv_find_decimal(S2CsvCells *cells);
// A number, or nan for a missing value.
bool s2_csv_number(char decimal, const char *cell, double *value);
bool s2_csv_is_missing(const char *cell);
// Begins as a number does and has digits: a text that was meant to be a number.
bool s2_csv_looks_numeric(const char *cell);

#endif
