// The lines along which the rows of an LCS measure and push, and the line of each row. Private to
// core/diff/linear.
#ifndef S2_LCS_LINES_H
#define S2_LCS_LINES_H

#include "diff/linear/lcs.h"
#include "diff/linear/lines.h"
#include "dynamics/step/context.h"

// A direction of the poses and what stands beside J v in its row: bias, and how that changes. The
// Hessian of its S2Line is that of J, which is symmetric only where J is a gradient.
typedef struct S2LcsLine {
  S2Line line;
  double bias;       // m/s, rad/s
  double by_value;   // of the bias, by what J is the gradient of
  double compliance; // of its row
  double base;       // N s, N m s: acts whatever lambda is
} S2LcsLine;

typedef struct S2LcsRow {
  int line;    // -1: a slack
  double sign; // along it or against it
  int slack;   // tangents and drives: the row of the slack in it, else -1
} S2LcsRow;

typedef struct S2LcsRows {
  S2Lines lines;
  S2LcsLine *line;
  S2LcsRow *row; // those of the motion
  S2LcsPart *part;
  int line_count, row_count, part_count;
} S2LcsRows;

// "lcs: ..." where a step of the world cannot be one.
S2Status s2_lcs_check(const S2World *world);
// Those of a step that has its touches; the arena has room for all.
S2Status s2_lcs_rows_of(const S2Step *step, S2Arena *arena, S2LcsRows *rows);

// J w, w over the columns, and what bodies without columns bring.
double s2_lcs_along(const S2LcsRows *rows, const S2LcsLine *line, const double *w);
// out (n) += factor w' dJ/dq, w over the columns; with what moves by itself
void s2_lcs_turn(const S2LcsRows *rows, const S2LcsLine *line, double factor, const double *w,
                 double *out);
// to (n x n) += factor d(J')/dq
void s2_lcs_bend(const S2LcsRows *rows, const S2LcsLine *line, double factor, double *to);

#endif
