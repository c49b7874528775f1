// Friction of two points of a pair that stick on one tangent.
//
// The rows of both points are equal, so the linear system gives half of the adjoint to each point.
// But if the bodies approach each other at these points, as in a flat landing, the rows differ
// after any small change of a corner. They cannot both be active then. A rotation has the same
// effect if the two normals belong to different bodies. The point whose friction is used up first
// starts to slide, and the other point gets the whole adjoint.
#include "diff/joints/contact_vjp.h"

#include <math.h>

// Rows count as equal if their relative difference is below this.
static const double ALIKE = 1e-9;

static bool stick_same_row(const S2Row *x, const S2Row *y) {
  double size = 0, apart = 0;
  for (int c = 0; c < 3; c++) {
    size = fmax(size, fmax(fabs(x->ja[c]), fabs(x->jb[c])));
    apart = fmax(apart, fmax(fabs(x->ja[c] - y->ja[c]), fabs(x->jb[c] - y->jb[c])));
  }
  return apart <= ALIKE * size;
}

static double stick_speed_of(const S2Row *row, const double *v) {
  double u = 0;
  for (int c = 0; c < 3; c++) {
    u += row->a >= 0 ? row->ja[c] * v[3 * row->a + c] : 0;
    u += row->b >= 0 ? row->jb[c] * v[3 * row->b + c] : 0;
  }
  return u;
}

static void stick_give(const S2Problem *problem, const double *v, int from, int to,
                       S2McpGradient *data) {
  const S2Row *row = &problem->row[from];
  double eta = data->bias[from];
  data->bias[from] -= eta;
  data->bias[to] += eta;
  for (int c = 0; c < 3; c++) {
    double a = row->a >= 0 ? eta * v[3 * row->a + c] : 0;
    double b = row->b >= 0 ? eta * v[3 * row->b + c] : 0;
    data->ja[3 * from + c] -= a;
    data->ja[3 * to + c] += a;
    data->jb[3 * from + c] -= b;
    data->jb[3 * to + c] += b;
  }
}

bool s2_stick_vjp(const S2Problem *problem, const double *v, const double *lambda,
                  const double *dl_dlambda, int normal, bool beyond, S2McpGradient *data) {
  enum { FIRST, SECOND };
  const int tangent[2] = {normal + 1, normal + 3};
  // Check that both points stick and have not used up their friction.
  double most[2], pull = 0, scale = S2_VJP_EDGE * problem->velocity_scale;
  for (int k = 0; k < 2; k++) {
    const S2Row *row = &problem->row[tangent[k]];
    most[k] = row->mu * lambda[row->coupled_to];
    pull += lambda[tangent[k]];
    if (!(most[k] > 0 && fabs(stick_speed_of(row, v) + row->bias) <= scale)) {
      return true; // one of the two points slides
    }
  }
  // Check that the rows and their adjoints are equal, and that the bodies approach each other.
  bool one = stick_same_row(&problem->row[tangent[FIRST]], &problem->row[tangent[SECOND]]);
  bool together = dl_dlambda[tangent[FIRST]] == dl_dlambda[tangent[SECOND]];
  bool approach = fmax(fabs(stick_speed_of(&problem->row[normal], v)),
                       fabs(stick_speed_of(&problem->row[normal + 2], v))) > scale;
  if (!one || !together || !approach) {
    return true;
  }
  // The point with more friction gets the whole adjoint, if it still sticks after the friction of
  // the other point is used up in either direction.
  int strong = most[FIRST] >= most[SECOND] ? FIRST : SECOND;
  bool sure = fabs(pull) + most[!strong] < most[strong];
  if (sure || beyond) {
    stick_give(problem, v, tangent[!strong], tangent[strong], data);
  }
  return sure;
}
