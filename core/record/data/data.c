#include "record/data/data.h"

#include "base/text.h"
#include "record/data/data_formats.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// ---- Sets of arrays ---------------------------------------------------------------------------

char *s2_data_copy_text(const char *text, size_t length) {
  char *copy = s2_memory_take(length + 1);
  memcpy(copy, text, length);
  copy[length] = '\0';
  return copy;
}

static size_t size_of(S2DataType type) {
  return type == S2_DATA_NUMBER ? sizeof(double) : type == S2_DATA_INTEGER ? sizeof(int64_t) : 1;
}

size_t s2_data_count(const S2DataArray *array) {
  size_t count = 1;
  for (int i = 0; i < array->axes; i++) {
    count *= array->shape[i];
  }
  return count;
}

S2DataArray *s2_data_add(S2DataSet *set, const char *name, const char *unit, S2DataType type,
                         int axes, const size_t *shape) {
  assert(axes <= S2_DATA_AXES);
  S2DataArray *array = s2_array_append(set->arrays);
  *array = (S2DataArray){.type = type, .axes = axes}; // still valid if memory runs out below
  array->name = s2_data_copy_text(name, strlen(name));
  array->unit = s2_data_copy_text(unit, strlen(unit));
  for (int i = 0; i < axes; i++) {
    array->shape[i] = shape[i];
  }
  if (type != S2_DATA_TEXT) {
    size_t count = s2_data_count(array);
    assert(count <= SIZE_MAX / sizeof(double));
    array->values = s2_memory_take(count > 0 ? count * size_of(type) : 1);
  }
  return array;
}

void s2_data_add_text_part(S2DataArray *array, const char *text, size_t length) {
  assert(array->type == S2_DATA_TEXT);
  length = strnlen(text, length);
  size_t wanted = array->bytes + length + 1;
  if (wanted > array->room) {
    array->room = array->room < 64 ? 64 : array->room;
    while (array->room < wanted) {
      array->room *= 2;
    }
    array->values = s2_memory_grow(array->values, array->room);
  }
  char *to = (char *)array->values + array->bytes;
  memcpy(to, text, length);
  to[length] = '\0';
  array->bytes = wanted;
}

void s2_data_add_text(S2DataArray *array, const char *text) {
  s2_data_add_text_part(array, text, strlen(text));
}

const S2DataArray *s2_data_find(const S2DataSet *set, const char *name) {
  for (int i = 0; i < set->arrays.count; i++) {
    if (strcmp(set->arrays.at[i].name, name) == 0) {
      return &set->arrays.at[i];
    }
  }
  return NULL;
}

void s2_data_free(S2DataSet *set) {
  for (int i = 0; i < set->arrays.count; i++) {
    s2_memory_free(set->arrays.at[i].name);
    s2_memory_free(set->arrays.at[i].unit);
    if (!set->arrays.at[i].borrowed) {
      s2_memory_free(set->arrays.at[i].values);
    }
  }
  s2_run_free(&set->run);
  s2_array_free(set->arrays);
  *set = (S2DataSet){0};
}

typedef struct Keyed {
  const char *key;
  int entry;
} Keyed;

static int by_key(const void *a, const void *b) {
  const Keyed *x = a, *y = b;
  int order = strcmp(x->key, y->key);
  return order != 0 ? order : (x->entry > y->entry) - (x->entry < y->entry);
}

S2RunKey *s2_data_run_keys(const S2Run *run) {
  int count = run->entries.count;
  S2RunKey *keys = s2_memory_take(((size_t)count + 1) * sizeof *keys);
  Keyed *sorted = s2_memory_take(((size_t)count + 1) * sizeof *sorted);
  // Sort by key, so that equal keys are adjacent. The sort is stable.
  for (int i = 0; i < count; i++) {
    sorted[i] = (Keyed){run->entries.at[i].key, i};
  }
  qsort(sorted, (size_t)count, sizeof *sorted, by_key);
  // Append a number to each repeated key.
  for (int i = 0, nth = 0; i < count; i++) {
    nth = i > 0 && strcmp(sorted[i - 1].key, sorted[i].key) == 0 ? nth + 1 : 1;
    char *key = keys[sorted[i].entry];
    if (nth == 1) {
      snprintf(key, S2_RUN_KEY_SIZE, "%.60s", sorted[i].key);
    } else {
      snprintf(key, S2_RUN_KEY_SIZE, "%.60s_%d", sorted[i].key, nth);
    }
  }
  s2_memory_free(sorted);
  return keys;
}

// ---- Reading ----------------------------------------------------------------------------------

S2Status s2_data_refuse(const char *path, const char *format, ...) {
  char reason[S2_MESSAGE_SIZE], clean[S2_MESSAGE_SIZE];
  va_list args;
  va_start(args, format);
  vsnprintf(reason, sizeof reason, format, args);
  va_end(args);
  s2_text_escape(clean, sizeof clean, reason); // the reason may contain text of the file
  return s2_error(S2_INVALID, "cannot read '%s': %s", s2_path_tail(path), clean);
}

S2Status s2_data_add_read(const char *path, S2DataSet *set, const char *name, S2DataType type,
                          int axes, const size_t *shape, size_t text_bytes, S2DataArray **added) {
  S2DataArray array = {.type = type, .axes = axes};
  memcpy(array.shape, shape, (size_t)axes * sizeof *shape);
  size_t count = s2_data_count(&array), most = UINT32_MAX;
  bool large = count > most / size_of(type);
  array.room = large ? 0 : type == S2_DATA_TEXT ? text_bytes : count * size_of(type);
  if (large || array.room > most || set->room > most - array.room) {
    return s2_data_refuse(path, "arrays of 4 GB and more are not supported");
  }
  array.values = s2_memory_take(array.room);
  array.name = s2_data_copy_text(name, strlen(name));
  array.unit = s2_data_copy_text("", 0);
  set->room += array.room;
  *added = s2_array_append(set->arrays);
  **added = array;
  return s2_ok();
}
