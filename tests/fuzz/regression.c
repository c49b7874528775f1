// The targets without a fuzzer: the files of the corpus, with all former findings among them, and a
// number of changes of each, always the same ones.
//
//   fuzz_regression FOLDER TARGET [CHANGES [SEED]]
#include "targets.h"

#include "base/rng.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LARGEST = 1 << 16, FILES = 256, CHANGES = 3000 };

typedef struct File {
  uint8_t bytes[LARGEST];
  size_t size;
} File;

static int by_name(const void *a, const void *b) {
  return strcmp(*(const char *const *)a, *(const char *const *)b);
}

// Names of the folder in sorted order, the same on all systems.
static int list(const char *folder, char *names[FILES]) {
  DIR *open = opendir(folder);
  int count = 0;
  for (struct dirent *entry; open != NULL && (entry = readdir(open)) != NULL && count < FILES;) {
    if (entry->d_name[0] != '.') {
      names[count++] = strdup(entry->d_name);
    }
  }
  if (open != NULL) {
    closedir(open);
  }
  qsort(names, (size_t)count, sizeof *names, by_name);
  return count;
}

static bool read_file(const char *folder, const char *name, File *file) {
  char path[1024];
  int length = snprintf(path, sizeof path, "%s/%s", folder, name);
  FILE *stream = length < (int)sizeof path ? fopen(path, "rb") : NULL;
  if (stream == NULL) {
    return false;
  }
  file->size = fread(file->bytes, 1, LARGEST, stream);
  return fclose(stream) == 0;
}

static size_t below(S2Rng *rng, size_t count) {
  return (size_t)s2_rng_integer(rng, 0, count == 0 ? 0 : (int64_t)count - 1);
}

static const uint64_t WORDS[] = {0,
                                 1,
                                 2,
                                 0x7f,
                                 0xff,
                                 0x7fff,
                                 0xffff,
                                 0x10000,
                                 0x7fffffff,
                                 0x80000000,
                                 0xffffffff,
                                 0x10000000,
                                 0x7ff8000000000000,
                                 0x7fefffffffffffff,
                                 0x8000000000000000,
                                 0xffffffffffffffff};

// Changes bits, bytes or numbers of every width; removes or doubles pieces, or copies them from
// elsewhere.
static size_t change(S2Rng *rng, uint8_t *bytes, size_t size) {
  size_t at = below(rng, size), length = 1 + below(rng, 16);
  if (size < 32) {
    bytes[size] = (uint8_t)below(rng, 256);
    return size + 1;
  }
  length = length > size - at ? size - at : length;
  switch (s2_rng_integer(rng, 0, 6)) {
  case 0:
    bytes[at] ^= (uint8_t)(1u << below(rng, 8));
    return size;
  case 1:
    bytes[at] = (uint8_t)below(rng, 256);
    return size;
  case 2:
  case 3: {
    uint64_t word = WORDS[below(rng, sizeof WORDS / sizeof *WORDS)];
    size_t width = (size_t)1 << below(rng, 4);
    at &= ~(width < 4 ? (size_t)0 : (size_t)3);
    memcpy(bytes + at, &word, width > size - at ? size - at : width);
    return size;
  }
  case 4:
    memmove(bytes + at, bytes + at + length, size - at - length);
    return size - length;
  case 5:
    if (size + length > LARGEST) {
      return size;
    }
    memmove(bytes + at + length, bytes + at, size - at);
    return size + length;
  default:
    memmove(bytes + at, bytes + below(rng, size - length), length);
    return size;
  }
}

int main(int count, char **argument) {
  const S2FuzzTarget *target = count > 2 ? s2_fuzz_target(argument[2]) : NULL;
  if (target == NULL) {
    fprintf(stderr, "usage: fuzz_regression FOLDER TARGET [CHANGES [SEED]]\n");
    return 2;
  }
  long changes = count > 3 ? strtol(argument[3], NULL, 10) : CHANGES;
  S2Rng rng = s2_rng_seeded(count > 4 ? (uint64_t)strtol(argument[4], NULL, 10) : 1);
  char folder[1024], *names[FILES];
  snprintf(folder, sizeof folder, "%s/%s", argument[1], target->name);
  int files = list(folder, names);
  long good = 0, runs = 0;
  static File file, changed;
  for (int i = 0; i < files; i++) {
    if (!read_file(folder, names[i], &file)) {
      fprintf(stderr, "cannot read %s/%s\n", folder, names[i]);
      return 1;
    }
    good += target->run(file.bytes, file.size);
    runs++;
    for (long k = 0; k < changes; k++) {
      memcpy(changed.bytes, file.bytes, file.size);
      changed.size = file.size;
      for (int64_t n = s2_rng_integer(&rng, 1, 4); n > 0; n--) {
        changed.size = change(&rng, changed.bytes, changed.size);
      }
      good += target->run(changed.bytes, changed.size);
      runs++;
    }
    free(names[i]);
  }
  s2_fuzz_end();
  printf("%s: %d files, %ld runs, %ld read\n", target->name, files, runs, good);
  return files > 0 && good > 0 && (good < runs || changes == 0) ? 0 : 1;
}
