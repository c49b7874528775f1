// Splits the text of a .csv file into cells, in place (RFC 4180).
#include "record/data/csv_parts.h"

#include <string.h>

static char *csv_skip_blanks(const S2CsvCells *cells, char *at) {
  while (*at == ' ' || (*at == '\t' && cells->separator != '\t')) {
    at++;
  }
  return at;
}

typedef struct Cursor {
  char *at;
  int line;
  bool more; // another cell of the same row follows
} Cursor;

static S2Status quoted_cell(S2CsvCells *cells, Cursor *cursor) {
  int line = cursor->line;
  char *to = ++cursor->at;
  while (*cursor->at != '"' || *++cursor->at == '"') {
    if (*cursor->at == '\0') {
      return s2_data_refuse(cells->path, "line %d: a quote starts here and is never closed", line);
    }
    cursor->line += *cursor->at == '\n';
    cells->commas |= *cursor->at == ',';
    *to++ = *cursor->at++;
  }
  char *end = csv_skip_blanks(cells, cursor->at);
  if (*end != cells->separator && *end != '\n' && *end != '\r' && *end != '\0' &&
      cells->separator != ' ') {
    return s2_data_refuse(cells->path, "line %d: text after the closing quote of a cell",
                          cursor->line);
  }
  cursor->at = end;
  // `to` is never beyond the closing quote, so the 0 does not overwrite unread text.
  *to = '\0';
  return s2_ok();
}

// Terminates a cell with a 0 and moves past the separator. A line end directly after the cell is
// kept for end_row, which replaces it with the 0.
static S2Status read_cell(S2CsvCells *cells, Cursor *cursor) {
  char *start = csv_skip_blanks(cells, cursor->at);
  cursor->at = start;
  // A quoted cell ends at the closing quote. Any other cell ends without its trailing blanks.
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
  // Skip the separator, unless the line ends here.
  if (cells->separator == ' ') { // blanks at the end of a line are not separators
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
  // Write the 0 last, because it overwrites a character that was needed above.
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

S2Status s2_csv_cut(S2CsvCells *cells, char *text, int line) {
  // The text is split in place, and cells point into it.
  Cursor cursor = {.at = text, .line = line};
  cells->commas = cells->separator != ',' && strchr(text, ',') != NULL;
  while (*cursor.at != '\0') {
    // Comments and empty lines are not rows.
    char *at = csv_skip_blanks(cells, cursor.at);
    if (s2_csv_is_comment(at)) {
      cursor.at = at + strcspn(at, "\r\n");
      csv_end_row(&cursor);
      continue;
    }
    // The row continues as long as there are separators.
    S2CsvRow row = {.first = cells->cells.count, .line = cursor.line};
    do {
      S2_TRY(read_cell(cells, &cursor));
      if (cells->cells.count > INT32_MAX / 2) {
        return s2_data_refuse(cells->path, "the file has more than a thousand million cells");
      }
    } while (cursor.more);
    // A last line without a line end may be truncated.
    cells->open = *cursor.at == '\0' ? row.line : 0;
    csv_end_row(&cursor);
    row.count = cells->cells.count - row.first;
    *s2_array_append(cells->rows) = row;
  }
  return s2_ok();
}
