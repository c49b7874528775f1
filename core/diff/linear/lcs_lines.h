// The lines along which the rows of an LCS measure speeds and apply impulses, and the line of each
// row. Private to core/diff/linear.
#ifndef S2_LCS_LINES_H
#define S2_LCS_LINES_H

#include "diff/linear/lcs.h"
#include "diff/linear/lines.h"
#include "dynamics/step/context.h"

// A line in the space of poses, and the bias of its row with the derivative of the bias. The
// Hessian of its S2Line is the derivative of J. It is symmetric only if J is a gradient.
typedef struct S2LcsLine {
  S2Line line;
  double bias;       // m/s, rad/s
  double by_value;   // derivative of the bias with respect to the function whose gradient is J
  double compliance; // compliance of the row
  double base;       // N s, N m s: constant impulse, independent of lambda
} S2LcsLine;

typedef struct S2LcsRow {
  int line;    // -1 if the row is a slack
  double sign; // 1 along the line, -1 against it
  int slack;   // the slack row of a tangent or drive, otherwise -1
} S2LcsRow;

typedef struct S2LcsRows {
  S2Lines lines;
  S2LcsLine *line;
  S2LcsRow *row; // rows of the motion
  S2LcsPart *part;
  int line_count, row_count, part_count;
} S2LcsRows;

// Returns an error "lcs: ..." if no LCS can describe a step of the world.
S2Status s2_lcs_check(const S2World *world);
// Collects the rows of a step whose touches are known. The rows are in `arena`.
S2Status s2_lcs_rows_of(const S2Step *step, S2Arena *arena, S2LcsRows *rows);

// Returns J w, where w covers the columns, plus the contribution of bodies without columns.
double s2_lcs_along(const S2LcsRows *rows, const S2LcsLine *line, const double *w);
// out (n) += factor w' dJ/dq, where w covers the columns and the bodies with prescribed motion
void s2_lcs_turn(const S2LcsRows *rows, const S2LcsLine *line, double factor, const double *w,
                 double *out);
// to (n x n) += factor d(J')/dq
void s2_lcs_bend(const S2LcsRows *rows, const S2LcsLine *line, double factor, double *to);

#endif
