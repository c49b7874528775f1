// A table over time, written row by row. The suffix of the path selects the format:
//   .csv        written row by row, so that a killed run leaves complete rows
//   .npz, .h5 one array per column, stored in memory (8 bytes per number) and written at the end
#ifndef S2_ROWS_H
#define S2_ROWS_H

#include "base/status.h"
#include "record/run.h"

typedef struct S2RowTitle {
  const char *name, *unit; // a unit may be ""
} S2RowTitle;

typedef struct S2Rows S2Rows;

S2Status s2_rows_open(const char *path, int count, const S2RowTitle *titles, S2Rows **rows);
void s2_rows_run(S2Rows *rows, const S2Run *run); // stored by .npz and .h5
S2Status s2_rows_add(S2Rows *rows, const double *values);
S2Status s2_rows_close(S2Rows *rows); // also frees the table; NULL is allowed

#endif
