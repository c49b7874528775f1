// What jobs have given, on disk as soon as they have: from it a run that was ended goes on.
//
// The file: a line that says what it is, then records. A record is the job's number and the size of
// its bytes (8 bytes each, the lowest first), the bytes, and the first 16 digits of the SHA-256 of
// all that. Record 0 is the head: what the jobs are, so that other jobs do not take these results.
// Records are only appended. The first that is cut or damaged, and all after it, count for nothing.
#ifndef S2_JOURNAL_H
#define S2_JOURNAL_H

#include "lua/parallel/pack.h"

#include "base/status.h"

typedef struct S2Journal S2Journal;

// Opens or makes the file, for this process alone. S2_INVALID: it is no journal; S2_IO.
S2Status s2_journal_open(const char *path, S2Journal **journal);
void s2_journal_close(S2Journal *journal); // NULL: nothing

// The next record as it was read, from the first. False: there are no more; what follows in the
// file is cut off, and *lost is its size. Must be called to its end before the first add.
bool s2_journal_next(S2Journal *journal, uint64_t *number, S2Bytes *bytes, uint64_t *lost);

// Appends; the operating system has it when this returns, so the end of the process loses nothing.
S2Status s2_journal_add(S2Journal *journal, uint64_t number, const void *data, size_t size);

#endif
