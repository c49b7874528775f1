#include "record/data/spill.h"

#include "base/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static const size_t MOST_IN_MEMORY = (size_t)1 << 22; // bytes
static const size_t DOUBLED = (size_t)1
                              << 26; // bytes. Larger arrays grow by a quarter instead of doubling

static S2Status spill_failure(int error) {
  return s2_error(S2_IO, "a temporary file cannot hold the recording: %s", strerror(error));
}

// Reserves disk space, because writing to a mapping kills the process when the disk is full.
// Returns 0 or an errno.
static int take_room(int file, size_t size) {
#ifdef __APPLE__
  return ftruncate(file, (off_t)size) == 0 ? 0 : errno;
#else
  return posix_fallocate(file, 0, (off_t)size);
#endif
}

static void *spill_map(FILE *file, size_t size) {
  void *at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fileno(file), 0);
  return at == MAP_FAILED ? NULL : at;
}

// Moves the bytes from memory into a file.
static S2Status move_out(S2Spill *spill, size_t size) {
  FILE *file = tmpfile();
  if (file == NULL) {
    return spill_failure(errno);
  }
  int error = take_room(fileno(file), size);
  void *at = error == 0 ? spill_map(file, size) : NULL;
  if (at == NULL) {
    error = error != 0 ? error : errno;
    (void)fclose(file);
    return spill_failure(error);
  }
  if (spill->size > 0) {
    memcpy(at, spill->at, spill->size);
  }
  s2_memory_free(spill->at);
  *spill = (S2Spill){at, size, file};
  return s2_ok();
}

S2Status s2_spill_grow(S2Spill *spill, size_t size) {
  if (size <= spill->size) {
    return s2_ok();
  }
  // Double a small size, but increase a large one by a quarter, so that large files are not half
  // empty.
  size_t room = spill->size < 512 ? 512 : spill->size;
  while (room < size) {
    room += room < DOUBLED ? room : room / 4;
  }
  if (room <= MOST_IN_MEMORY) {
    void *grown = s2_memory_try_grow(spill->at, room);
    if (grown == NULL) {
      return s2_memory_exhausted(room);
    }
    spill->at = grown;
    spill->size = room;
    return s2_ok();
  }
  // Store larger contents in a file. Map the file again whenever it grows.
  if (spill->file == NULL) {
    return move_out(spill, room);
  }
  int error = take_room(fileno(spill->file), room);
  void *at = error == 0 ? spill_map(spill->file, room) : NULL;
  if (at == NULL) {
    return spill_failure(error != 0 ? error : errno);
  }
  munmap(spill->at, spill->size);
  spill->at = at;
  spill->size = room;
  return s2_ok();
}

void s2_spill_free(S2Spill *spill) {
  if (spill->file != NULL) {
    munmap(spill->at, spill->size);
    (void)fclose(spill->file);
  } else {
    s2_memory_free(spill->at);
  }
  *spill = (S2Spill){0};
}
