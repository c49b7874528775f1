#include "record/rows.h"

#include "record/data/data_formats.h"
#include "record/suffix.h"

#include <string.h>

typedef enum Format { CSV, NPZ, HDF5, FORMATS } Format;

static const size_t MOST_BYTES = (size_t)UINT32_MAX - (1u << 24); // bytes, with space for headers

struct S2Rows {
  Format format;
  S2Output output;
  int width;
  char *titles;   // name, unit, name, unit, ..., each with a final 0
  double *values; // row by row
  size_t rows, capacity;
  S2Run run;
};

static void write_header(S2Rows *rows) {
  const char *at = rows->titles;
  for (int i = 0; i < rows->width; i++) {
    const char *name = at, *unit = name + strlen(name) + 1;
    at = unit + strlen(unit) + 1;
    s2_output_text(&rows->output, i > 0 ? "," : "");
    s2_csv_title(&rows->output, name, unit);
  }
  s2_output_text(&rows->output, "\n");
}

typedef struct Making {
  const char *path;
  int count;
  const S2RowTitle *titles;
  Format format;
  S2Output output;
  S2Rows *rows;
} Making;

// Check the titles now, because an error at the end of the run would lose all numbers.
static S2Status check_titles(void *user) {
  const Making *making = user;
  S2DataSet set = {0};
  for (int i = 0; i < making->count; i++) {
    s2_data_add(&set, making->titles[i].name, making->titles[i].unit, S2_DATA_NUMBER, 1,
                &(size_t){0});
  }
  s2_run_add(&set.run, "sim2d", ""); // the set may contain entries of the run
  S2Status status = s2_data_check(&set, making->path);
  s2_data_free(&set);
  return status;
}

static S2Status rows_make(void *user) {
  Making *making = user;
  S2Rows *opened = s2_memory_take_zeroed(sizeof *opened);
  opened->format = making->format;
  opened->output = making->output;
  opened->width = making->count;
  // Store the titles one after another, each with a final 0.
  size_t bytes = 0;
  for (int i = 0; i < making->count; i++) {
    bytes += strlen(making->titles[i].name) + strlen(making->titles[i].unit) + 2;
  }
  char *at = opened->titles = s2_memory_take(bytes + 1);
  for (int i = 0; i < making->count; i++) {
    const char *const texts[2] = {making->titles[i].name, making->titles[i].unit};
    for (int k = 0; k < 2; k++) {
      size_t length = strlen(texts[k]) + 1;
      memcpy(at, texts[k], length);
      at += length;
    }
  }
  making->rows = opened;
  return s2_ok();
}

S2Status s2_rows_open(const char *path, int count, const S2RowTitle *titles, S2Rows **rows) {
  static const char *const suffixes[FORMATS] = {[CSV] = ".csv", [NPZ] = ".npz", [HDF5] = ".h5"};
  *rows = NULL;
  int format = 0;
  S2_TRY(s2_suffix_find(path, suffixes, FORMATS, &format));
  Making making = {.path = path, .count = count, .titles = titles, .format = (Format)format};
  // Perform all checks before the file is opened.
  S2_TRY(s2_memory_building(check_titles, &making));
  S2_TRY(format == CSV ? s2_output_open(&making.output, path)
                       : s2_output_open_whole(&making.output, path));
  S2Status made = s2_memory_building(rows_make, &making);
  if (made.code != S2_OK) {
    s2_output_abandon(&making.output);
    return made;
  }
  if (format == CSV) {
    write_header(making.rows);
  }
  *rows = making.rows;
  return s2_ok();
}

void s2_rows_run(S2Rows *rows, const S2Run *run) {
  s2_run_copy(&rows->run, run);
}

static S2Status rows_write_row(S2Rows *rows, const double *values) {
  for (int i = 0; i < rows->width; i++) {
    char text[S2_NUMBER_SIZE];
    s2_number_exact(text, values[i]);
    s2_output_text(&rows->output, i > 0 ? "," : "");
    s2_output_text(&rows->output, text);
  }
  s2_output_text(&rows->output, "\n");
  return s2_output_flush(&rows->output); // complete rows survive a crash of this process
}

static S2Status too_long(const S2Rows *rows) {
  return s2_error(S2_IO,
                  "'%s': an .npz file holds less than 4 GB; record every nth step, or use .h5",
                  s2_path_tail(rows->output.path));
}

static bool is_full(const S2Rows *rows) {
  return rows->format == NPZ && rows->rows > MOST_BYTES / sizeof(double) / (size_t)rows->width;
}

S2Status s2_rows_add(S2Rows *rows, const double *values) {
  if (rows->format == CSV) {
    return rows_write_row(rows, values);
  }
  size_t width = (size_t)rows->width;
  if (is_full(rows)) {
    return too_long(rows);
  }
  // Store the rows until the end. Double the memory when it is full.
  if (rows->rows == rows->capacity) {
    size_t capacity = rows->capacity == 0 ? 256 : 2 * rows->capacity;
    size_t bytes = capacity * width * sizeof *rows->values;
    double *grown = s2_memory_try_grow(rows->values, bytes);
    if (grown == NULL) {
      return s2_memory_exhausted(bytes);
    }
    rows->values = grown;
    rows->capacity = capacity;
  }
  memcpy(rows->values + rows->rows * width, values, width * sizeof *values);
  rows->rows++;
  return s2_ok();
}

typedef struct Gathering {
  const S2Rows *rows;
  S2DataSet set;
} Gathering;

static S2Status rows_gather(void *user) {
  Gathering *gathering = user;
  const S2Rows *rows = gathering->rows;
  s2_run_copy(&gathering->set.run, &rows->run);
  const char *at = rows->titles;
  for (int k = 0; k < rows->width; k++) {
    const char *name = at, *unit = name + strlen(name) + 1;
    at = unit + strlen(unit) + 1;
    double *values =
        s2_data_add(&gathering->set, name, unit, S2_DATA_NUMBER, 1, &rows->rows)->values;
    for (size_t i = 0; i < rows->rows; i++) {
      values[i] = rows->values[i * (size_t)rows->width + (size_t)k];
    }
  }
  return s2_ok();
}

static S2Status write_arrays(S2Rows *rows) {
  Gathering gathering = {.rows = rows};
  S2_TRY(s2_memory_building(rows_gather, &gathering));
  S2Status status = s2_data_write(&gathering.set, rows->output.path, &rows->output);
  s2_data_free(&gathering.set);
  return status;
}

S2Status s2_rows_close(S2Rows *rows) {
  if (rows == NULL) {
    return s2_ok();
  }
  S2Status written = rows->format == CSV ? s2_ok() : write_arrays(rows);
  if (written.code != S2_OK) {
    s2_output_abandon(&rows->output);
  } else if (is_full(rows)) {
    written = too_long(rows);
  }
  S2Status closed = s2_output_close(&rows->output);
  s2_run_free(&rows->run);
  s2_memory_free(rows->titles);
  s2_memory_free(rows->values);
  s2_memory_free(rows);
  return written.code != S2_OK ? written : closed;
}
