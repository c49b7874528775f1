#include "record/store.h"

#include <errno.h>
#include <string.h>

static S2Status store_failure(const char *what) {
  return s2_error(S2_IO, "cannot %s the temporary file of the video: %s", what,
                  strerror(errno != 0 ? errno : EIO));
}

// Write the arrays in their memory layout. No other program reads this file.
#define FOR_ARRAYS(DO) DO(bodies) DO(shapes) DO(vertices) DO(contacts) DO(joints) DO(annotations)

S2Status s2_store_add(S2Store *store, const S2Moment *moment) {
  errno = 0;
  if (store->file == NULL) {
    store->file = tmpfile();
    if (store->file == NULL) {
      return store_failure("make");
    }
  }
  bool good = fwrite(moment, sizeof *moment, 1, store->file) == 1;
#define WRITE(field)                                                                               \
  good = good && (moment->field.count == 0 ||                                                      \
                  fwrite(moment->field.at, sizeof *moment->field.at, (size_t)moment->field.count,  \
                         store->file) == (size_t)moment->field.count);
  FOR_ARRAYS(WRITE)
  return good ? s2_ok() : store_failure("write");
}

S2Status s2_store_rewind(S2Store *store) {
  errno = 0;
  if (store->file != NULL && (fflush(store->file) != 0 || fseek(store->file, 0, SEEK_SET) != 0)) {
    return store_failure("write");
  }
  return s2_ok();
}

S2Status s2_store_next(S2Store *store, S2Moment *moment) {
  S2Moment head;
  errno = 0;
  bool good = fread(&head, sizeof head, 1, store->file) == 1;
  // Read the numbers and then the arrays. Reuse the memory of the moment.
  if (good) {
    moment->settings = head.settings;
    moment->time = head.time;
    moment->step = head.step;
    moment->hash = head.hash;
  }
#define READ(field)                                                                                \
  if (good) {                                                                                      \
    size_t count = (size_t)head.field.count;                                                       \
    s2_array_reserve(moment->field, head.field.count);                                             \
    moment->field.count = head.field.count;                                                        \
    good = count == 0 ||                                                                           \
           fread(moment->field.at, sizeof *moment->field.at, count, store->file) == count;         \
  }
  FOR_ARRAYS(READ)
  return good ? s2_ok() : store_failure("read");
}

void s2_store_close(S2Store *store) {
  if (store->file != NULL) {
    fclose(store->file);
    store->file = NULL;
  }
}
