#include "record/run.h"

#include <string.h>

static char *run_copy(const char *text, size_t size) {
  char *result = s2_memory_take(size + 1);
  memcpy(result, text, size);
  result[size] = '\0';
  return result;
}

void s2_run_add_bytes(S2Run *run, const char *key, size_t key_size, const char *value,
                      size_t value_size) {
  int at = s2_array_push(run->entries);
  run->entries.at[at] = (S2RunEntry){0}; // remains valid if memory runs out below
  run->entries.at[at].key = run_copy(key, key_size);
  run->entries.at[at].value = run_copy(value, value_size);
}

void s2_run_add(S2Run *run, const char *key, const char *value) {
  s2_run_add_bytes(run, key, strlen(key), value, strlen(value));
}

void s2_run_copy(S2Run *to, const S2Run *from) {
  for (int i = 0; i < from->entries.count; i++) {
    s2_run_add(to, from->entries.at[i].key, from->entries.at[i].value);
  }
}

const char *s2_run_next(const S2Run *run, const char *key, int *at) {
  while (*at < run->entries.count) {
    const S2RunEntry *entry = &run->entries.at[(*at)++];
    if (strcmp(entry->key, key) == 0) {
      return entry->value;
    }
  }
  return NULL;
}

const char *s2_run_get(const S2Run *run, const char *key, int n) {
  int at = 0;
  const char *value = s2_run_next(run, key, &at);
  for (; n > 0 && value != NULL; n--) {
    value = s2_run_next(run, key, &at);
  }
  return value;
}

void s2_run_free(S2Run *run) {
  for (int i = 0; i < run->entries.count; i++) {
    s2_memory_free(run->entries.at[i].key);
    s2_memory_free(run->entries.at[i].value);
  }
  s2_array_free(run->entries);
}
