// Writes columns as comma-separated values (RFC 4180): a header of names, "x" or "x [m]", then
// numbers with all their digits.
#include "record/data/data_formats.h"

#include <stdio.h>
#include <string.h>

// Also quote text that a reader might trim or take for a comment.
void s2_csv_text(S2Output *output, const char *text) {
  size_t length = strlen(text);
  bool blanks = length > 0 && (text[0] == ' ' || text[length - 1] == ' ');
  bool comment = text[0] == '#' || text[0] == '%' || (text[0] == '/' && text[1] == '/');
  if (!blanks && !comment && strpbrk(text, ",\"\r\n") == NULL) {
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
  // All columns must be one-dimensional and have the same length.
  for (int i = 0; i < set->arrays.count; i++) {
    const S2DataArray *array = &set->arrays.at[i], *first = &set->arrays.at[0];
    if (array->axes > 1) {
      return s2_error(S2_INVALID,
                      "'%s' is a matrix, but a .csv file has columns: save it alone, save its "
                      "columns under separate names, or use .npz",
                      array->name);
    }
    if (s2_data_count(array) != s2_data_count(first)) {
      return s2_error(S2_INVALID,
                      "'%s' has %zu rows and '%s' has %zu: all columns of a .csv file must have "
                      "the same length; use .npz",
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
  // Write a two-dimensional array without a header.
  if (is_matrix(set)) {
    const S2DataArray *array = &set->arrays.at[0];
    const char *text = array->values;
    for (size_t i = 0; i < s2_data_count(array); i++) {
      write_value(output, array, i, &text);
      s2_output_text(output, (i + 1) % array->shape[1] == 0 ? "\n" : ",");
    }
    return;
  }
  // Write the header. Texts are stored one after another, so remember the next text of each column.
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
  // Write the rows. All columns have the same length.
  size_t rows = columns > 0 ? s2_data_count(&set->arrays.at[0]) : 0;
  for (size_t i = 0; i < rows; i++) {
    for (int k = 0; k < columns; k++) {
      s2_output_text(output, k > 0 ? "," : "");
      // Quote the empty text, because a reader would skip an empty line.
      bool empty = columns == 1 && set->arrays.at[k].type == S2_DATA_TEXT && *texts[k] == '\0';
      s2_output_text(output, empty ? "\"\"" : "");
      write_value(output, &set->arrays.at[k], i, &texts[k]);
    }
    s2_output_text(output, "\n");
  }
  s2_memory_free(texts);
}
