// Results of jobs on disk, written as soon as they are known, so that an interrupted run can be
// resumed.
//
// The file is a title line followed by records. A record consists of the job's number and the size
// of its bytes (8 bytes each, lowest first), the bytes, and the first 16 digits of the SHA-256 of
// all these bytes. Record 0 is the head. It describes the jobs, so that other jobs do not use these
// results. Records are only appended. The first record that is cut or damaged, and all records
// after it, are ignored.
#ifndef S2_JOURNAL_H
#define S2_JOURNAL_H

#include "lua/parallel/pack.h"

#include "base/status.h"

typedef struct S2Journal S2Journal;

// Opens or creates the file for exclusive use by this process. Returns S2_INVALID if the file is
// not a journal, and S2_IO if it cannot be read or written.
S2Status s2_journal_open(const char *path, S2Journal **journal);
void s2_journal_close(S2Journal *journal); // NULL is allowed

// Reads the next record, starting from the first. Returns false at the end. Then *lost is the size
// of the invalid data after the last record, which the next s2_journal_add removes. Read to the end
// before the first s2_journal_add.
bool s2_journal_next(S2Journal *journal, uint64_t *number, S2Bytes *bytes, uint64_t *lost);

// Appends a record. When this function returns, the operating system has the record, so the record
// survives even if the process ends.
S2Status s2_journal_add(S2Journal *journal, uint64_t number, const void *data, size_t size);

#endif
