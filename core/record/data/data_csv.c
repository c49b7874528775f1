// Columns as comma-separated values (RFC 4180): a header of names, "x" or "x [m]", then numbers
// with all their digits.
#include "record/data/data_formats.h"

#include <errno.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

// ---- Writing ----------------------------------------------------------------------------------

// Quotes also where a reader might strip blanks or see a comment.
void s2_csv_text(S2Output *output, const char *text) {
  size_t length = strlen(text);
  bool blanks = length > 0 && (text[0] == ' ' || text[length - 1] == ' ' || text[0] == '#');
  if (!blanks && strpbrk(text, ",\"\r\n") == NULL) {
    s2_output_bytes(output, text, length);
    return;
  }
  s2_output_text(output, "\"");
  for (const char *at = text; *at != '\0'; at++) {
    s2_output_bytes(output, at, 1);
    if (*at == '"') {
      s2_output_bytes(output, at, 1);
    }
  }
  s2_output_text(output, "\"");
}

void s2_csv_title(S2Output *output, const char *name, const char *unit) {
  size_t length = strlen(name), more = strlen(unit);
  char *title = s2_memory_take(length + more + 4);
  snprintf(title, length + more + 4, more > 0 ? "%s [%s]" : "%s", name, unit);
  s2_csv_text(output, title);
  s2_memory_free(title);
}

static bool is_matrix(const S2DataSet *set) {
  return set->bare && set->arrays.count == 1 && set->arrays.at[0].axes == 2;
}

S2Status s2_csv_check(const S2DataSet *set) {
  if (is_matrix(set)) {
    return s2_ok();
  }
  // Columns: lists, all of one length.
  for (int i = 0; i < set->arrays.count; i++) {
    const S2DataArray *array = &set->arrays.at[i], *first = &set->arrays.at[0];
    if (array->axes > 1) {
      return s2_error(S2_INVALID,
                      "'%s' is a matrix, and a .csv file has columns: save it alone, its columns "
                      "under names of their own, or as .npz",
                      array->name);
    }
    if (s2_data_count(array) != s2_data_count(first)) {
      return s2_error(S2_INVALID,
                      "'%s' has %zu rows and '%s' has %zu: the columns of a .csv file are of one "
                      "length; .npz takes any",
                      array->name, s2_data_count(array), first->name, s2_data_count(first));
    }
  }
  return s2_ok();
}

static void write_value(S2Output *output, const S2DataArray *array, size_t i, const char **text) {
  char number[S2_NUMBER_SIZE];
  switch (array->type) {
  case S2_DATA_NUMBER:
    s2_number_exact(number, ((const double *)array->values)[i]);
    s2_output_text(output, number);
    break;
  case S2_DATA_INTEGER:
    s2_output_format(output, "%lld", (long long)((const int64_t *)array->values)[i]);
    break;
  case S2_DATA_FLAG:
    s2_output_text(output, ((const unsigned char *)array->values)[i] != 0 ? "1" : "0");
    break;
  case S2_DATA_TEXT:
    s2_csv_text(output, *text);
    *text += strlen(*text) + 1;
    break;
  }
}

void s2_csv_save(S2Output *output, const S2DataSet *set) {
  // An array of two axes is written as it is, without a header.
  if (is_matrix(set)) {
    const S2DataArray *array = &set->arrays.at[0];
    const char *text = array->values;
    for (size_t i = 0; i < s2_data_count(array); i++) {
      write_value(output, array, i, &text);
      s2_output_text(output, (i + 1) % array->shape[1] == 0 ? "\n" : ",");
    }
    return;
  }
  // The header; texts lie one behind the other, so each column has a place of its own in them.
  int columns = set->arrays.count;
  const char **texts = s2_memory_take((size_t)(columns + 1) * sizeof *texts);
  for (int k = 0; k < columns; k++) {
    const S2DataArray *array = &set->arrays.at[k];
    texts[k] = array->values;
    s2_output_text(output, k > 0 ? "," : "");
    if (!set->bare) {
      s2_csv_title(output, array->name, array->unit);
    }
  }
  if (columns > 0 && !set->bare) {
    s2_output_text(output, "\n");
  }
  // Row by row: all columns are of one length.
  size_t rows = columns > 0 ? s2_data_count(&set->arrays.at[0]) : 0;
  for (size_t i = 0; i < rows; i++) {
    for (int k = 0; k < columns; k++) {
      s2_output_text(output, k > 0 ? "," : "");
      write_value(output, &set->arrays.at[k], i, &texts[k]);
    }
    s2_output_text(output, "\n");
  }
  s2_memory_free(texts);
}

// ---- Cells ------------------------------------------------------------------------------------

typedef struct Row {
  int first, count; // in cells
  int line;
} Row;

typedef struct Cells {
  const char *path;
  char separator;
  S2_ARRAY(const char *) cells; // each ends with a 0, in the file's bytes
  S2_ARRAY(Row) rows;
  int open; // line that ends with the file, 0: none
} Cells;

static char *csv_skip_blanks(const Cells *cells, char *at) {
  while (*at == ' ' || (*at == '\t' && cells->separator != '\t')) {
    at++;
  }
  return at;
}

typedef struct Cursor {
  char *at;
  int line;
  bool more; // a cell of the same row follows
} Cursor;

static S2Status quoted_cell(const Cells *cells, Cursor *cursor) {
  int line = cursor->line;
  char *to = ++cursor->at;
  while (*cursor->at != '"' || *++cursor->at == '"') {
    if (*cursor->at == '\0') {
      return s2_data_refuse(cells->path, "line %d: the quote that starts there does not end", line);
    }
    cursor->line += *cursor->at == '\n';
    *to++ = *cursor->at++;
  }
  char *end = csv_skip_blanks(cells, cursor->at);
  if (*end != cells->separator && *end != '\n' && *end != '\r' && *end != '\0' &&
      cells->separator != ' ') {
    return s2_data_refuse(cells->path, "line %d: text behind the quotes of a cell", cursor->line);
  }
  cursor->at = end;
  // `to` lies before what follows the cell: at least the closing quote was dropped.
  *to = '\0';
  return s2_ok();
}

// Ends a cell with a 0 and moves behind what separates it from the next. Where nothing lies between
// the cell and the line end, that stays: end_row makes it the 0.
static S2Status read_cell(Cells *cells, Cursor *cursor) {
  char *start = csv_skip_blanks(cells, cursor->at);
  cursor->at = start;
  // The contents: up to the closing quote, or to what ends a cell, without blanks at its end.
  char *end = NULL;
  if (*start == '"') {
    *s2_array_append(cells->cells) = start + 1;
    S2_TRY(quoted_cell(cells, cursor));
  } else {
    const char stops[] = {cells->separator, '\r', '\n', cells->separator == ' ' ? '\t' : '\0',
                          '\0'};
    *s2_array_append(cells->cells) = start;
    cursor->at += strcspn(start, stops);
    end = cursor->at;
    while (end > start && (end[-1] == ' ' || end[-1] == '\t')) {
      end--;
    }
  }
  // What comes behind it: the separator, which is passed, or the end of the line.
  if (cells->separator == ' ') { // blanks at the end of a line separate nothing
    char *next = csv_skip_blanks(cells, cursor->at);
    cursor->more = *next != '\r' && *next != '\n' && *next != '\0';
    if (end != NULL && next != end) {
      *end = '\0';
      end = NULL;
    }
    cursor->at = next;
  } else {
    cursor->more = *cursor->at == cells->separator;
    cursor->at += cursor->more;
  }
  // Ended last: what stands there was still to be looked at.
  if (end != NULL && end < cursor->at) {
    *end = '\0';
  }
  return s2_ok();
}

static void csv_end_row(Cursor *cursor) {
  char *at = cursor->at;
  if (*at == '\0') {
    return;
  }
  bool pair = at[0] == '\r' && at[1] == '\n';
  *at = '\0';
  cursor->at = at + (pair ? 2 : 1);
  cursor->line++;
}

static S2Status read_cells(Cells *cells, char *text, size_t size) {
  if (memchr(text, 0, size) != NULL) {
    return s2_data_refuse(cells->path, "not a text file (it has a byte 0)");
  }
  // The text is cut up in place: cells point into it.
  Cursor cursor = {.at = text, .line = 1};
  if (strncmp(cursor.at, "\xef\xbb\xbf", 3) == 0) {
    cursor.at += 3; // a mark of UTF-8 that some programs write
  }
  while (*cursor.at != '\0') {
    // Comments and empty lines are no rows.
    char *at = csv_skip_blanks(cells, cursor.at);
    if (*at == '#' || *at == '\n' || *at == '\r' || *at == '\0') {
      cursor.at = at + strcspn(at, "\n");
      csv_end_row(&cursor);
      continue;
    }
    // A row goes on while a separator follows.
    Row row = {.first = cells->cells.count, .line = cursor.line};
    do {
      S2_TRY(read_cell(cells, &cursor));
      if (cells->cells.count > INT32_MAX / 2) {
        return s2_data_refuse(cells->path, "more than a thousand million cells");
      }
    } while (cursor.more);
    // A last line without an end may have been cut.
    cells->open = *cursor.at == '\0' ? row.line : 0;
    csv_end_row(&cursor);
    row.count = cells->cells.count - row.first;
    *s2_array_append(cells->rows) = row;
  }
  return s2_ok();
}

// ---- Numbers ----------------------------------------------------------------------------------

// Missing values are nan.
static bool csv_read_number(const char *cell, double *value) {
  static const char *const missing[] = {"", "nan", "-nan", "na", "n/a", "null", "none"};
  if (strspn(cell, "+-.0123456789eE") == strlen(cell) && *cell != '\0') {
    char *end = NULL;
    *value = strtod(cell, &end);
    return *end == '\0';
  }
  for (size_t i = 0; i < sizeof missing / sizeof missing[0]; i++) {
    if (strcasecmp(cell, missing[i]) == 0) {
      *value = (double)NAN;
      return true;
    }
  }
  bool negative = *cell == '-';
  cell += *cell == '-' || *cell == '+';
  *value = negative ? (double)-INFINITY : (double)INFINITY;
  return strcasecmp(cell, "inf") == 0 || strcasecmp(cell, "infinity") == 0;
}

static bool is_header(const Cells *cells, const Row *row) {
  double value;
  for (int i = 0; i < row->count; i++) {
    if (!csv_read_number(cells->cells.at[row->first + i], &value)) {
      return true;
    }
  }
  return false;
}

// ---- Columns ----------------------------------------------------------------------------------

static const char *cell_at(const Cells *cells, int row, int column) {
  return cells->cells.at[cells->rows.at[row].first + column];
}

// "x [m]" is x in m. Adds the column, empty.
static S2Status csv_add_column(const Cells *cells, S2DataSet *set, const char *title,
                               S2DataType type, size_t rows) {
  // "name [unit]", as we write it; else all of it is the name.
  char *name = s2_data_copy_text(title, strlen(title)), *unit = strstr(name, " [");
  size_t length = strlen(name);
  if (unit != NULL && unit > name && name[length - 1] == ']' &&
      strchr(unit, ']') == name + length - 1) {
    name[length - 1] = '\0';
    *unit = '\0';
    unit += 2;
  } else {
    unit = name + length; // ""
  }
  // Two columns of a name could not both be found.
  S2Status status = s2_ok();
  if (s2_data_find(set, name) != NULL) {
    status = s2_data_refuse(cells->path, "two columns have the name '%s'", name);
  } else {
    s2_data_add(set, name, unit, type, 1, &rows);
  }
  s2_memory_free(name);
  return status;
}

static S2Status read_column(const Cells *cells, int column, int first, const char *title,
                            S2DataSet *set) {
  size_t rows = (size_t)(cells->rows.count - first);
  S2_TRY(csv_add_column(cells, set, title, S2_DATA_NUMBER, rows));
  S2DataArray *array = &set->arrays.at[set->arrays.count - 1];
  size_t good = 0;
  while (good < rows && csv_read_number(cell_at(cells, first + (int)good, column),
                                        (double *)array->values + good)) {
    good++;
  }
  if (good < rows) { // not all are numbers: texts
    s2_memory_free(array->values);
    array->values = NULL;
    array->type = S2_DATA_TEXT;
    for (size_t i = 0; i < rows; i++) {
      s2_data_add_text(array, cell_at(cells, first + (int)i, column));
    }
  }
  return s2_ok();
}

static S2Status read_columns(const Cells *cells, const S2DataOptions *options, bool header,
                             S2DataSet *set) {
  int width = cells->rows.at[0].count;
  if (options->names != NULL && options->name_count != width) {
    return s2_data_refuse(cells->path, "it has %d columns, %d names were given", width,
                          options->name_count);
  }
  for (int k = 0; k < width; k++) {
    char title[24];
    const char *name = options->names != NULL ? options->names[k] : cell_at(cells, 0, k);
    if (*name == '\0') { // pandas leaves the name of its index out
      snprintf(title, sizeof title, "column%d", k + 1);
      name = title;
    }
    S2_TRY(read_column(cells, k, header ? 1 : 0, name, set));
  }
  return s2_ok();
}

static S2Status csv_read_row(const Cells *cells, const Row *row, double *values) {
  for (int k = 0; k < row->count; k++) {
    const char *cell = cells->cells.at[row->first + k];
    if (!csv_read_number(cell, &values[k])) {
      return s2_data_refuse(cells->path, "line %d: '%.30s' is no number", row->line, cell);
    }
  }
  return s2_ok();
}

// No names anywhere: a matrix, or an array a row.
static S2Status csv_read_rows(const Cells *cells, int first, bool ragged, S2DataSet *set) {
  set->bare = true;
  size_t shape[2] = {(size_t)(cells->rows.count - first),
                     cells->rows.count > 0 ? (size_t)cells->rows.at[0].count : 0};
  double *values = NULL;
  if (!ragged) {
    values = s2_data_add(set, "", "", S2_DATA_NUMBER, 2, shape)->values;
  }
  for (int i = first; i < cells->rows.count; i++) {
    const Row *row = &cells->rows.at[i];
    size_t length = (size_t)row->count;
    if (ragged) {
      values = s2_data_add(set, "", "", S2_DATA_NUMBER, 1, &length)->values;
    }
    S2_TRY(csv_read_row(cells, row, values));
    values += length;
  }
  return s2_ok();
}

static S2Status check_lengths(const Cells *cells) {
  for (int i = 1; i < cells->rows.count; i++) {
    const Row *row = &cells->rows.at[i], *first = &cells->rows.at[0];
    if (row->count != first->count) {
      return s2_data_refuse(cells->path,
                            "line %d has %d cells, line %d has %d; rows of different lengths are "
                            "read with ragged = true",
                            row->line, row->count, first->line, first->count);
    }
  }
  return s2_ok();
}

static S2Status csv_load(Cells *cells, const S2DataFile *file, const S2DataOptions *options,
                         S2DataSet *set) {
  S2_TRY(read_cells(cells, (char *)file->bytes, file->size));
  bool header = cells->rows.count > 0 && is_header(cells, &cells->rows.at[0]);
  if (options->ragged) {
    return csv_read_rows(cells, header ? 1 : 0, true, set);
  }
  S2_TRY(check_lengths(cells));
  if (header || (options->names != NULL && cells->rows.count > 0)) {
    return read_columns(cells, options, header, set);
  }
  return csv_read_rows(cells, 0, false, set);
}

S2Status s2_csv_load(const S2DataFile *file, const S2DataOptions *options, S2DataSet *set) {
  Cells cells = {.path = file->path,
                 .separator = options->separator != 0 ? options->separator : ','};
  // strtod takes the decimal point of the thread's locale.
  locale_t plain = newlocale(LC_NUMERIC_MASK, "C", (locale_t)0);
  if (plain == (locale_t)0) {
    return s2_error(S2_IO, "cannot read '%s': %s", s2_path_tail(file->path), strerror(errno));
  }
  locale_t before = uselocale(plain);
  S2Status status = csv_load(&cells, file, options, set);
  set->open = status.code == S2_OK ? cells.open : 0;
  uselocale(before);
  freelocale(plain);
  s2_array_free(cells.cells);
  s2_array_free(cells.rows);
  return status;
}
