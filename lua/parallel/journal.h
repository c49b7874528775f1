// Results of jobs on disk, written as soon as they are known, so that an interrupted run can be
// resumed.
//
// The file is a title line followed by records. A record consists of the job's number and the size
// of its bytes (8 bytes each, lowest first), the bytes, and the first 16 digits of the SHA-256 of
// all these. Record 0 is the head: it describes the jobs, so that other jobs do not use these
// results. Records are only appended. The first record that is cut or damaged, and all records
// after it, are ignored.
#ifndef S2_JOURNAL_H
#define S2_JOURNAL_H

#include "lua/parallel/pack.h"

#include "base/status.h"

typedef struct S2Journal S2Journal;

// Opens or creates the file, for this process alone. S2_INVALID: it is not a journal. S2_IO: it
// cannot be read or written.
S2Status s2_journal_open(const char *path, S2Journal **journal);
void s2_journal_close(S2Journal *journal); // NULL is allowed

// Reads the next record, starting from the first. False: there are no more; *lost is the size of
// the bad data after them, which the next add cuts off. Read to the end before the first add.
bool s2_journal_next(S2Journal *journal, uint64_t *number, S2Bytes *bytes, uint64_t *lost);

// Appends a record. The operating system has the record when this function returns, so the record
// survives the end of the process.
S2Status s2_journal_add(S2Journal *journal, uint64_t number, const void *data, size_t size);

#endif
