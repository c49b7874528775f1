// The modes of contacts and boxed rows at a solution: which of the two sides of each pair is 0.
#include "mcp/adjoint/mcp_vjp_stages.h"

#include <math.h>

// Solutions of the active-set solver are exact to rounding, so even a side of 1e-9 decides its
// pair. Other solutions are as accurate as their tolerance. The smaller side of each pair should be
// 0, so it shows the accuracy of a solution. A pair is on an edge if its larger side is at most
// STANDS_OUT times the largest of these smaller sides, or at most ROUNDING. A pair with a side
// above S2_VJP_EDGE is never on an edge.
static const double STANDS_OUT = 1e3, ROUNDING = 1e-12;

typedef struct Sides { // sides of the pairs of a unit, scaled
  double normal, gap;  // impulse (for boxed rows: distance from the nearer bound), and velocity
  double slack, slip;  // distance of friction from its bound, and slip velocity; 0 without friction
  double x, y;         // normal minus gap, and friction minus slip; their signs decide the modes
} Sides;

static Sides vjp_modes_sides_of(const S2VjpPoint *at, int k) {
  const S2Unit *unit = &at->system->unit[k];
  const double *u = at->u + 2 * k;
  double n = at->lambda[2 * k], t = at->lambda[2 * k + 1];
  // The normal pair, then the friction pair. The impulse of a boxed row is compared with its nearer
  // bound.
  double gap = u[0] + unit->c[0] * n + unit->b0[0];
  Sides sides = {.normal = n, .gap = gap, .x = n - gap};
  if (unit->kind == S2_UNIT_BOX) {
    bool low = fabs(sides.x - unit->lo) < fabs(sides.x - unit->hi);
    sides.normal = n - (low ? unit->lo : unit->hi);
  } else if (unit->kind == S2_UNIT_CONTACT) {
    sides.slip = u[1] + unit->c[1] * t + unit->b0[1];
    sides.slack = unit->mu * n - fabs(t);
    sides.y = t - sides.slip;
  }
  return sides;
}

static double vjp_modes_smaller(double a, double b) {
  return fmin(fabs(a), fabs(b));
}

// Returns the limit for edges. A pair is on an edge if neither of its sides exceeds this limit.
static double vjp_modes_edge_of(const S2VjpPoint *at) {
  double worst = 0;
  for (int k = 0; k < at->system->units; k++) {
    if (at->system->unit[k].kind != S2_UNIT_BILATERAL) {
      Sides sides = vjp_modes_sides_of(at, k);
      worst = fmax(worst, vjp_modes_smaller(sides.normal, sides.gap));
      worst = fmax(worst, vjp_modes_smaller(sides.slack, sides.slip));
    }
  }
  return fmin(S2_VJP_EDGE, fmax(ROUNDING, STANDS_OUT * worst));
}

// Finds the direction in which friction would act on a pressing contact with mu = 0. Such a contact
// has no friction cone, and its unit has no friction row.
static unsigned friction_without_cone(const S2VjpPoint *at, int k, const S2VjpModes *to) {
  const S2Problem *problem = at->system->problem;
  int friction = at->system->unit[k].row + 1;
  if (to->mode[k] == S2_SEPARATE || friction >= problem->rows ||
      problem->row[friction].coupled_to != friction - 1) {
    return 0;
  }
  double slip = (at->u_row[friction] + problem->row[friction].bias) / problem->velocity_scale;
  bool slow = fabs(slip) <= S2_VJP_EDGE;
  to->sign[friction] = slow ? 0 : slip > 0 ? -1 : 1;
  return slow ? S2_VJP_WEAK : 0;
}

static unsigned box_mode(const S2VjpPoint *at, int k, double edge, bool beyond,
                         const S2VjpModes *to) {
  const S2Unit *unit = &at->system->unit[k];
  double x = vjp_modes_sides_of(at, k).x;
  bool low = fabs(x - unit->lo) <= edge, high = fabs(x - unit->hi) <= edge;
  if (low || high) {
    to->mode[k] = !beyond ? S2_STICK : low ? S2_SLIDE_MINUS : S2_SLIDE_PLUS;
  }
  to->bound[unit->row] = to->mode[k] == S2_SLIDE_PLUS ? 1 : to->mode[k] == S2_SLIDE_MINUS ? -1 : 0;
  return low || high ? S2_VJP_WEAK : 0;
}

// Rows that differ by less than this fraction count as equal.
static const double ALIKE = 1e-9;

static bool same_tangents(const S2System *system, const S2Unit *x, const S2Unit *y) {
  if (y->kind != S2_UNIT_CONTACT || y->a != x->a || y->b != x->b) {
    return false;
  }
  double size = 0, apart = 0;
  S2UnitRows j, k;
  s2_unit_rows(system, x, &j);
  s2_unit_rows(system, y, &k);
  for (int c = 0; c < 3; c++) {
    size = fmax(size, fmax(fabs(j.ja[1][c]), fabs(j.jb[1][c])));
    apart = fmax(apart, fmax(fabs(j.ja[1][c] - k.ja[1][c]), fabs(j.jb[1][c] - k.jb[1][c])));
  }
  return apart <= ALIKE * size;
}

// A body that rests flat on two points is held by the sum of their friction impulses. A solver may
// split the sum into two impulses that oppose each other at their bounds. Their sum is still not on
// an edge.
static bool holds_with_other(const S2VjpPoint *at, int k, double edge) {
  const S2Unit *unit = &at->system->unit[k];
  for (int j = k - 1; j <= k + 1; j += 2) {
    const S2Unit *other = &at->system->unit[j];
    if (j < 0 || j == at->system->units || !same_tangents(at->system, unit, other)) {
      continue;
    }
    // Treat the two points as one: neither slips, and the sum of their impulses is inside the sum
    // of both cones.
    Sides here = vjp_modes_sides_of(at, k), there = vjp_modes_sides_of(at, j);
    double pull = unit->g[1] * at->lambda[2 * k + 1] + other->g[1] * at->lambda[2 * j + 1];
    double most = unit->g[1] * unit->mu * here.normal + other->g[1] * other->mu * there.normal;
    if (there.x > edge && fmax(fabs(here.slip), fabs(there.slip)) <= edge &&
        most - fabs(pull) > edge * unit->g[1]) {
      return true;
    }
  }
  return false;
}

static unsigned contact_mode(const S2VjpPoint *at, int k, double edge, bool beyond,
                             const S2VjpModes *to) {
  const S2Unit *unit = &at->system->unit[k];
  bool rough = unit->kind == S2_UNIT_CONTACT;
  Sides sides = vjp_modes_sides_of(at, k);
  S2Mode slide = sides.y > 0 ? S2_SLIDE_PLUS : S2_SLIDE_MINUS, *mode = &to->mode[k];
  unsigned flags = 0;
  // Handle contacts on the edge between separating and touching, or between sticking and sliding.
  if (fabs(sides.x) <= edge) {
    flags = S2_VJP_WEAK;
    *mode = !beyond ? S2_SEPARATE : rough && fabs(sides.slip) > edge ? slide : S2_STICK;
  } else if (rough && sides.x > 0 && fabs(fabs(sides.y) - unit->mu * sides.x) <= edge) {
    bool held = holds_with_other(at, k, edge);
    flags = held ? 0 : S2_VJP_WEAK;
    *mode = beyond && !held ? slide : S2_STICK;
  }
  if (rough) {
    to->sign[unit->row + 1] = *mode == S2_SLIDE_PLUS ? 1 : *mode == S2_SLIDE_MINUS ? -1 : 0;
    return flags;
  }
  return flags | friction_without_cone(at, k, to);
}

unsigned s2_vjp_modes(const S2VjpPoint *at, bool beyond, const S2VjpModes *to) {
  unsigned flags = 0;
  s2_refine_modes(at->system, at->u, at->lambda, to->mode);
  double edge = vjp_modes_edge_of(at);
  for (int k = 0; k < at->system->units; k++) {
    S2UnitKind kind = at->system->unit[k].kind;
    if (kind == S2_UNIT_BOX) {
      flags |= box_mode(at, k, edge, beyond, to);
    } else if (kind != S2_UNIT_BILATERAL) {
      flags |= contact_mode(at, k, edge, beyond, to);
    }
  }
  return flags;
}
