#define _DEFAULT_SOURCE // NOLINT(bugprone-reserved-identifier): flock
#include "lua/parallel/journal.h"

#include "base/memory.h"
#include "base/sha256.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

// Increase the number when the format of records changes.
static const char TITLE[] = "sim2d journal 1\n";

enum { CHECK_SIZE = 16, WORDS = 2 };

struct S2Journal {
  int file;
  uint64_t size, at; // file size at opening, and size of the valid part (bytes)
  char path[256];    // for messages
  S2Bytes record;    // the record being written
};

static S2Status journal_failed(const S2Journal *journal, const char *verb) {
  return s2_error(S2_IO, "cannot %s the journal '%s': %s", verb, journal->path, strerror(errno));
}

static bool journal_read(int file, void *data, size_t size) {
  unsigned char *at = data;
  while (size > 0) {
    ssize_t got = read(file, at, size);
    if (got <= 0 && !(got < 0 && errno == EINTR)) {
      return false;
    }
    at += got > 0 ? got : 0;
    size -= got > 0 ? (size_t)got : 0;
  }
  return true;
}

static bool journal_write(int file, const void *data, size_t size) {
  const unsigned char *at = data;
  while (size > 0) {
    ssize_t put = write(file, at, size);
    if (put < 0 && errno != EINTR) {
      return false;
    }
    at += put > 0 ? put : 0;
    size -= put > 0 ? (size_t)put : 0;
  }
  return true;
}

// Locks the file and writes or checks its title.
static S2Status journal_begin(S2Journal *journal) {
  struct stat info;
  if (flock(journal->file, LOCK_EX | LOCK_NB) != 0) {
    return errno == EWOULDBLOCK
               ? s2_error(S2_IO, "the journal '%s' is in use by another run", journal->path)
               : journal_failed(journal, "lock");
  }
  if (fstat(journal->file, &info) != 0) {
    return journal_failed(journal, "read");
  }
  journal->size = (uint64_t)info.st_size;
  journal->at = sizeof TITLE - 1;
  // A file that ends within the title is started again. Any other content is not a journal.
  char title[sizeof TITLE - 1];
  size_t known = journal->size < journal->at ? (size_t)journal->size : (size_t)journal->at;
  if (!journal_read(journal->file, title, known)) {
    return journal_failed(journal, "read");
  }
  if (memcmp(title, TITLE, known) != 0) {
    return s2_error(S2_INVALID, "'%s' is not a sim2d journal; it is left unchanged", journal->path);
  }
  if (known < journal->at) {
    if (lseek(journal->file, 0, SEEK_SET) < 0 ||
        !journal_write(journal->file, TITLE, sizeof TITLE - 1)) {
      return journal_failed(journal, "write");
    }
    journal->size = journal->at;
  }
  return s2_ok();
}

S2Status s2_journal_open(const char *path, S2Journal **result) {
  S2Journal *journal = s2_memory_take_zeroed(sizeof *journal);
  strncpy(journal->path, path, sizeof journal->path - 1);
  journal->file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  S2Status status = journal->file < 0 ? journal_failed(journal, "open") : journal_begin(journal);
  if (status.code != S2_OK) {
    s2_journal_close(journal);
    journal = NULL;
  }
  *result = journal;
  return status;
}

void s2_journal_close(S2Journal *journal) {
  if (journal != NULL) {
    if (journal->file >= 0) {
      (void)close(journal->file);
    }
    s2_bytes_free(&journal->record);
    s2_memory_free(journal);
  }
}

static void record_check(const S2Bytes *record, char check[S2_SHA256_SIZE]) {
  S2Sha256 hash = {0};
  s2_sha256_add(&hash, record->at, record->count);
  s2_sha256_end(&hash, check);
}

// Reads the record at `at` into journal->record, without its checksum.
static bool record_read(S2Journal *journal, uint64_t words[WORDS]) {
  const uint64_t frame = WORDS * sizeof *words + CHECK_SIZE;
  uint64_t left = journal->size - journal->at;
  if (left < frame || lseek(journal->file, (off_t)journal->at, SEEK_SET) < 0 ||
      !journal_read(journal->file, words, WORDS * sizeof *words) || words[1] > left - frame) {
    return false;
  }
  // Check the size against the file before using it.
  S2Bytes *record = &journal->record;
  size_t size = WORDS * sizeof *words + (size_t)words[1];
  record->count = 0;
  s2_bytes_add(record, words, WORDS * sizeof *words);
  s2_bytes_room(record, (size_t)words[1]);
  if (!journal_read(journal->file, record->at + record->count, (size_t)words[1])) {
    return false;
  }
  record->count = size;
  char stored[CHECK_SIZE], check[S2_SHA256_SIZE];
  record_check(record, check);
  return journal_read(journal->file, stored, CHECK_SIZE) && memcmp(stored, check, CHECK_SIZE) == 0;
}

bool s2_journal_next(S2Journal *journal, uint64_t *number, S2Bytes *bytes, uint64_t *lost) {
  uint64_t words[WORDS];
  if (!record_read(journal, words)) {
    *lost = journal->size - journal->at;
    return false;
  }
  *number = words[0];
  bytes->count = 0;
  s2_bytes_add(bytes, journal->record.at + sizeof words, (size_t)words[1]);
  journal->at += journal->record.count + CHECK_SIZE;
  return true;
}

S2Status s2_journal_add(S2Journal *journal, uint64_t number, const void *data, size_t size) {
  // Cut off everything after the last valid record, including a record that is incomplete because
  // the disk was full.
  if (journal->size != journal->at) {
    if (ftruncate(journal->file, (off_t)journal->at) != 0) {
      return journal_failed(journal, "write");
    }
    journal->size = journal->at;
  }
  // Use a single write, so that the record is complete or absent unless the machine fails.
  S2Bytes *record = &journal->record;
  const uint64_t words[WORDS] = {number, size};
  char check[S2_SHA256_SIZE];
  record->count = 0;
  s2_bytes_add(record, words, sizeof words);
  s2_bytes_add(record, data, size);
  record_check(record, check);
  s2_bytes_add(record, check, CHECK_SIZE);
  if (lseek(journal->file, (off_t)journal->at, SEEK_SET) < 0 ||
      !journal_write(journal->file, record->at, record->count)) {
    journal->size = UINT64_MAX; // cut the file before the next record
    return journal_failed(journal, "write");
  }
  journal->at += record->count;
  journal->size = journal->at;
  return s2_ok();
}
