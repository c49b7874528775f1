// Reads columns from .csv files of programs, loggers and spreadsheets. Rejects ambiguous contents,
// and reports their line and column.
#include "record/data/csv_parts.h"

#include <errno.h>
#include <locale.h>
#include <stdio.h>
#include <string.h>

enum {
  PREAMBLE = 100, // largest number of lines before the header.
  // A text counts as a mistake if at least this percentage of its column are numbers. The first
  // limit is for texts that look like numbers, the second for other texts.
  MOST = 50,
  NEARLY_ALL = 90
};

typedef struct Table {
  S2CsvCells *cells;
  const S2DataOptions *options;
  int header, units; // row numbers; -1: none
  int first;         // first row of the values
  int width;
} Table;

// ---- Kinds of rows ----------------------------------------------------------------------------

static bool is_number(const S2CsvCells *cells, const char *cell) {
  double value;
  return s2_csv_number(cells->decimal, cell, &value);
}

static bool is_header(const S2CsvCells *cells, int row) {
  for (int i = 0; i < cells->rows.at[row].count; i++) {
    if (!is_number(cells, s2_csv_cell(cells, row, i))) {
      return true;
    }
  }
  return false;
}

// Removes columns that are empty in every row. Separators at the ends of lines produce such
// columns.
static void trim(S2CsvCells *cells) {
  int width = 0;
  for (int i = 0; i < cells->rows.count; i++) {
    for (int k = cells->rows.at[i].count; k > width; k--) {
      if (*s2_csv_cell(cells, i, k - 1) != '\0') {
        width = k;
      }
    }
  }
  for (int i = 0; i < cells->rows.count && width > 0; i++) {
    S2CsvRow *row = &cells->rows.at[i];
    row->count = row->count < width ? row->count : width;
  }
}

// Finds the first row of the table. It is row 0, or a header after shorter lines. A header has the
// width of most rows and no number.
static int find_start(const S2CsvCells *cells) {
  int width = 0, votes = 0;
  for (int i = 0; i < cells->rows.count; i++) {
    int count = cells->rows.at[i].count;
    width = votes == 0 ? count : width;
    votes += count == width ? 1 : -1;
  }
  int start = 0;
  while (start < cells->rows.count && cells->rows.at[start].count < width) {
    start++;
  }
  bool header =
      start < cells->rows.count && start <= PREAMBLE && cells->rows.at[start].count == width;
  for (int k = 0; k < width && header; k++) {
    header = !is_number(cells, s2_csv_cell(cells, start, k));
  }
  return header ? start : 0;
}

static S2Status check_lengths(const Table *table, int from) {
  const S2CsvCells *cells = table->cells;
  const S2CsvRow *first = &cells->rows.at[from];
  for (int i = from + 1; i < cells->rows.count; i++) {
    const S2CsvRow *row = &cells->rows.at[i];
    if (row->count > first->count || (row->count < first->count && !table->options->fill)) {
      const char *how = "ragged = true, or fill = true to read missing cells at the end as nan";
      if (row->count > first->count) {
        bool comma = cells->separator == ',' && row->count == 2 * first->count;
        how = comma ? "ragged = true, or decimal = \",\" if commas are decimal points"
                    : "ragged = true";
      }
      return s2_data_refuse(
          cells->path,
          "line %d has %d cells, but line %d has %d; to read rows of different lengths, set %s",
          row->line, row->count, first->line, first->count, how);
    }
  }
  return s2_ok();
}

// Units may be in a row below the names. Such a row has no numbers except "1", and at least one of
// its cells is above a column of numbers.
static bool is_unit_row(const Table *table, int row) {
  const S2CsvCells *cells = table->cells;
  bool above = false;
  if (row + 1 >= cells->rows.count) {
    return false;
  }
  for (int k = 0; k < table->width; k++) {
    const char *cell = s2_csv_cell(cells, row, k);
    if (s2_csv_is_missing(cell) || strcmp(cell, "1") == 0) {
      continue;
    }
    if (is_number(cells, cell) || s2_csv_looks_numeric(cell)) {
      return false;
    }
    bool numbers = true, some = false; // not missing
    for (int i = row + 1; i < cells->rows.count && numbers; i++) {
      numbers = is_number(cells, s2_csv_cell(cells, i, k));
      some |= numbers && !s2_csv_is_missing(s2_csv_cell(cells, i, k));
    }
    above |= numbers && some;
  }
  return above;
}

// ---- Columns ----------------------------------------------------------------------------------

// Splits "name [unit]" or "name (unit)" in place. Any other text is a name without a unit. sim2d
// writes the first form.
static const char *split_unit(char *name) {
  size_t length = strlen(name);
  static const char *const marks[] = {" []", " ()"};
  for (int i = 0; i < 2; i++) {
    const char open[] = {marks[i][0], marks[i][1], '\0'};
    char *unit = strstr(name, open);
    if (unit != NULL && unit > name && name[length - 1] == marks[i][2] &&
        strchr(unit, marks[i][2]) == name + length - 1) {
      name[length - 1] = '\0';
      *unit = '\0';
      return unit + 2;
    }
  }
  return name + length; // ""
}

// The unit of "[m]" and "(m)" is m.
static char *bare_unit(const char *cell) {
  size_t length = strlen(cell);
  bool wrapped = length > 2 && ((*cell == '[' && cell[length - 1] == ']') ||
                                (*cell == '(' && cell[length - 1] == ')'));
  return wrapped ? s2_data_copy_text(cell + 1, length - 2)
                 : s2_data_copy_text(cell, s2_csv_is_missing(cell) ? 0 : length);
}

// Adds the column, but not its values.
static S2Status add_column(const Table *table, int column, const char *title, S2DataSet *set) {
  size_t rows = (size_t)(table->cells->rows.count - table->first);
  char *name = s2_data_copy_text(title, strlen(title));
  const char *unit = split_unit(name);
  char *below = table->units < 0 ? s2_data_copy_text("", 0)
                                 : bare_unit(s2_csv_cell(table->cells, table->units, column));
  // If two columns had the same name, only one could be found.
  S2Status status = s2_ok();
  if (s2_data_find(set, name) != NULL) {
    status = s2_data_refuse(table->cells->path, "two columns have the name '%s'", name);
  } else {
    s2_data_add(set, name, *unit != '\0' ? unit : below, S2_DATA_NUMBER, 1, &rows);
  }
  s2_memory_free(name);
  s2_memory_free(below);
  return status;
}

static bool is_text_column(const Table *table, const char *name) {
  for (int i = 0; i < table->options->text_count; i++) {
    if (strcmp(table->options->texts[i], name) == 0) {
      return true;
    }
  }
  return false;
}

// Decides whether the texts in a column are mistakes.
static S2Status check_texts(const Table *table, int column, const char *name) {
  const S2CsvCells *cells = table->cells;
  int64_t numbers = 0, all = 0;
  int looks = -1, word = -1; // the first rows with such texts
  for (int i = table->first; i < cells->rows.count; i++) {
    const char *cell = s2_csv_cell(cells, i, column);
    if (s2_csv_is_missing(cell)) {
      continue;
    }
    bool number = is_number(cells, cell);
    all++;
    numbers += number;
    if (!number && s2_csv_looks_numeric(cell)) {
      looks = looks < 0 ? i : looks;
    } else if (!number) {
      word = word < 0 ? i : word;
    }
  }
  int bad = looks >= 0 && 100 * numbers >= MOST * all        ? looks
            : word >= 0 && 100 * numbers >= NEARLY_ALL * all ? word
                                                             : -1;
  if (bad < 0) {
    return s2_ok();
  }
  return s2_data_refuse(cells->path,
                        "line %d, column '%.40s': '%.30s' is not a number, but most of the column "
                        "is; to read a column of texts, set texts = {\"%.40s\"}",
                        cells->rows.at[bad].line, name, s2_csv_cell(cells, bad, column), name);
}

static S2Status read_column(const Table *table, int column, const char *title, S2DataSet *set) {
  const S2CsvCells *cells = table->cells;
  S2_TRY(add_column(table, column, title, set));
  S2DataArray *array = &set->arrays.at[set->arrays.count - 1];
  size_t rows = (size_t)(cells->rows.count - table->first), good = 0;
  bool texts = is_text_column(table, array->name);
  while (good < rows && !texts &&
         s2_csv_number(cells->decimal, s2_csv_cell(cells, table->first + (int)good, column),
                       (double *)array->values + good)) {
    good++;
  }
  if (good < rows) { // a column that contains anything but numbers is a column of texts
    if (!texts) {
      S2_TRY(check_texts(table, column, array->name));
    }
    s2_memory_free(array->values);
    array->values = NULL;
    array->type = S2_DATA_TEXT;
    for (size_t i = 0; i < rows; i++) {
      s2_data_add_text(array, s2_csv_cell(cells, table->first + (int)i, column));
    }
  }
  return s2_ok();
}

static S2Status read_columns(const Table *table, S2DataSet *set) {
  const S2DataOptions *options = table->options;
  if (options->names != NULL && options->name_count != table->width) {
    return s2_data_refuse(table->cells->path,
                          "the file has %d columns, but the number of names is %d", table->width,
                          options->name_count);
  }
  for (int k = 0; k < table->width; k++) {
    char title[24];
    const char *name =
        options->names != NULL ? options->names[k] : s2_csv_cell(table->cells, table->header, k);
    if (*name == '\0') { // pandas omits the name of its index
      snprintf(title, sizeof title, "column%d", k + 1);
      name = title;
    }
    S2_TRY(read_column(table, k, name, set));
  }
  for (int i = 0; i < options->text_count; i++) {
    if (s2_data_find(set, options->texts[i]) == NULL) {
      return s2_data_refuse(table->cells->path, "the file has no column '%.60s' for `texts`",
                            options->texts[i]);
    }
  }
  return s2_ok();
}

// ---- Rows -------------------------------------------------------------------------------------

static S2Status read_row(const S2CsvCells *cells, int row, int width, double *values) {
  for (int k = 0; k < width; k++) {
    const char *cell = s2_csv_cell(cells, row, k);
    if (!s2_csv_number(cells->decimal, cell, &values[k])) {
      return s2_data_refuse(cells->path, "line %d: '%.30s' is not a number (column %d)",
                            cells->rows.at[row].line, cell, k + 1);
    }
  }
  return s2_ok();
}

// Reads a file without names as a matrix, or as one array per row.
static S2Status read_rows(const S2CsvCells *cells, int first, bool ragged, S2DataSet *set) {
  set->bare = true;
  size_t shape[2] = {(size_t)(cells->rows.count - first),
                     cells->rows.count > 0 ? (size_t)cells->rows.at[0].count : 0};
  double *values = NULL;
  if (!ragged) {
    values = s2_data_add(set, "", "", S2_DATA_NUMBER, 2, shape)->values;
  }
  for (int i = first; i < cells->rows.count; i++) {
    size_t length = ragged ? (size_t)cells->rows.at[i].count : shape[1];
    if (ragged) {
      values = s2_data_add(set, "", "", S2_DATA_NUMBER, 1, &length)->values;
    }
    S2_TRY(read_row(cells, i, (int)length, values));
    values += length;
  }
  return s2_ok();
}

// ---- The whole file ---------------------------------------------------------------------------

static S2Status read_table(S2CsvCells *cells, const S2DataOptions *options, S2DataSet *set) {
  Table table = {.cells = cells, .options = options, .header = -1, .units = -1};
  if (cells->rows.count == 0) {
    return read_rows(cells, 0, options->ragged, set);
  }
  if (options->ragged) {
    return read_rows(cells, is_header(cells, 0) ? 1 : 0, true, set);
  }
  trim(cells);
  table.first = find_start(cells);
  table.width = cells->rows.at[table.first].count;
  S2_TRY(check_lengths(&table, table.first));
  if (is_header(cells, table.first)) {
    table.header = table.first++;
  } else if (options->names == NULL) {
    return read_rows(cells, 0, false, set);
  }
  if (table.header >= 0 && table.first < cells->rows.count && is_unit_row(&table, table.first)) {
    table.units = table.first++;
  }
  return read_columns(&table, set);
}

static S2Status read_file(S2CsvCells *cells, const S2DataFile *file, const S2DataOptions *options,
                          char **owned, S2DataSet *set) {
  char *text;
  S2_TRY(s2_csv_decode(file, &text, owned));
  char *start = s2_csv_skip_lines(text, options->skip), *found = start;
  char separator = s2_csv_find_separator(&found, options->decimal);
  int line = 1 + options->skip + (found != start);
  cells->separator = options->separator != 0 ? options->separator : separator;
  S2_TRY(s2_csv_cut(cells, found, line));
  cells->decimal = options->decimal;
  if (options->decimal == 0) {
    S2_TRY(s2_csv_find_decimal(cells));
  }
  return read_table(cells, options, set);
}

S2Status s2_csv_load(const S2DataFile *file, const S2DataOptions *options, S2DataSet *set) {
  S2CsvCells cells = {.path = file->path, .decimal = '.'};
  char *owned = NULL;
  // strtod uses the decimal point of the thread's locale.
  locale_t plain = newlocale(LC_NUMERIC_MASK, "C", (locale_t)0);
  if (plain == (locale_t)0) {
    return s2_error(S2_IO, "cannot read '%s': %s", s2_path_tail(file->path), strerror(errno));
  }
  locale_t before = uselocale(plain);
  S2Status status = read_file(&cells, file, options, &owned, set);
  set->open = status.code == S2_OK ? cells.open : 0;
  uselocale(before);
  freelocale(plain);
  s2_array_free(cells.cells);
  s2_array_free(cells.rows);
  s2_memory_free(owned);
  return status;
}
