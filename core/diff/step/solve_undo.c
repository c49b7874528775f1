// The derivative of a solve of an island. Its problem is assembled again from the notes. The
// adjoint of the solution is converted to the adjoint of the data of the problem (mcp_vjp.h), and
// then passed back through the assembly to bodies, contact points, materials and joints.
#include "diff/step/solve_undo.h"
#include "dynamics/joints/rows.h"
#include "mcp/problem/convex.h"

#include <string.h>

// A solution value may count as 0 if it is below this multiple of the solver's tolerance.
#define RESOLVED 10

// Speeds below this fraction of the velocity scale of residuals are rounding errors.
#define STILL 1e-10

static void solve_make_gradient(S2McpGradient *data, const S2Problem *problem, S2Arena *arena) {
  size_t nodes = (size_t)problem->nodes, rows = (size_t)problem->rows;
  double *all = S2_TAKE_ZEROED(arena, double, 6 * nodes + 11 * rows), *of_rows = all + 6 * nodes;
  data->mass = all;
  data->rhs = all + 3 * nodes;
  data->ja = of_rows;
  data->jb = of_rows + 3 * rows;
  data->bias = of_rows + 6 * rows;
  data->compliance = of_rows + 7 * rows;
  data->mu = of_rows + 8 * rows;
  data->lo = of_rows + 9 * rows;
  data->hi = of_rows + 10 * rows;
  data->mobility = data->w = NULL;
}

// Adds the adjoint that a projection computed for the rows of this solve.
static void solve_add_remade(S2SolveUndo *solve, const S2Remade *remade) {
  for (int i = 0; i < 3 * solve->assembly->parts; i++) {
    solve->data.ja[i] += remade->ja[i];
    solve->data.jb[i] += remade->jb[i];
  }
}

static bool solve_all_zero(const double *x, int count) {
  for (int i = 0; i < count; i++) {
    if (x[i] != 0) {
      return false;
    }
  }
  return true;
}

// Returns true if the problem has contacts. Smooth derivatives do not include rows with bounds.
static bool solve_has_contacts(const S2Problem *problem, bool *boxed) {
  bool contacts = false;
  *boxed = false;
  for (int r = 0; r < problem->rows; r++) {
    const S2Row *row = &problem->row[r];
    contacts |= row->lo == 0;
    *boxed |= row->coupled_to < 0 && row->lo < row->hi && isfinite(row->lo) && isfinite(row->hi);
  }
  return contacts;
}

static bool solve_is_smooth(const S2WorldDef *def, const S2Note *note) {
  return def->gradient == S2_GRADIENT_SMOOTH && !s2_solve_traits(note->solve.kind).displacements;
}

// Computes the derivative on the central path. Returns false if it does not exist.
static bool solve_differentiate_smoothly(S2SolveUndo *solve, const S2Problem *problem,
                                         const double *dl_dlambda, double kappa, unsigned *flags) {
  S2Arena *arena = solve->undo->arena;
  bool boxed;
  if (!solve_has_contacts(problem, &boxed)) {
    return false; // there is no row to smooth
  }
  S2SmoothSolution on_path = {
      .v = S2_TAKE(arena, double, 3 * problem->nodes),
      .lambda = S2_TAKE(arena, double, problem->rows),
      .z = S2_TAKE(arena, double, 4 * problem->rows),
  };
  if (boxed || s2_mcp_smooth_solve(problem, kappa, NULL, arena, &on_path) != S2_SOLVED) {
    *flags |= S2_GRADIENT_PARTIAL;
    return false;
  }
  solve->v = on_path.v;
  solve->lambda = on_path.lambda;
  *flags |=
      s2_mcp_smooth_vjp(problem, kappa, &on_path, solve->dl_dv, dl_dlambda, &solve->data, arena);
  return true;
}

bool s2_solve_differentiate(S2SolveUndo *solve) {
  const S2Problem *problem = &solve->assembly->problem;
  const S2Note *note = solve->note;
  if (solve_all_zero(solve->dl_dv, 3 * problem->nodes) &&
      solve_all_zero(solve->dl_dlambda, problem->rows)) {
    return false;
  }
  // Differentiate the problem that was solved. In convex worlds it differs from the assembled one.
  solve_make_gradient(&solve->data, problem, solve->undo->arena);
  S2Undo *undo = solve->undo;
  const S2WorldDef *def = &undo->world->kept.def;
  bool convex = def->contact == S2_CONVEX;
  S2Problem law = convex ? s2_mcp_convex(problem, undo->arena) : *problem;
  const double *v = note->solve.x, *lambda = note->of->lambda, *seed = solve->dl_dlambda;
  if (convex) {
    double *edges = S2_TAKE(undo->arena, double, 2 * problem->rows);
    memcpy(edges, lambda, sizeof(double) * (size_t)problem->rows);
    memcpy(edges + problem->rows, seed, sizeof(double) * (size_t)problem->rows);
    s2_mcp_convex_edges(problem, edges);
    s2_mcp_convex_seed(problem, edges + problem->rows);
    lambda = edges;
    seed = edges + problem->rows;
  }
  // Use the derivative on the central path if it is requested and exists. Otherwise the modes of
  // the rows determine the derivative.
  unsigned *flags = &undo->gradient->flags; // S2VjpFlag and S2GradientFlag use the same bits
  if (!solve_is_smooth(def, note) ||
      !solve_differentiate_smoothly(solve, &law, seed, def->smoothing, flags)) {
    unsigned found = undo->other == 0 ? s2_mcp_vjp(&law, v, lambda, solve->dl_dv, seed,
                                                   &solve->data, undo->arena)
                                      : s2_mcp_vjp_other(&law, undo->other, v, lambda, solve->dl_dv,
                                                         seed, &solve->data, undo->arena);
    // Later acts of the step decide whether these flags matter.
    undo->found |= (found & S2_VJP_WEAK) != 0 ? S2_VJP_OTHER_SIDE : 0;
    undo->found |= (found & S2_VJP_TIED) != 0 ? S2_VJP_OTHER_SHARE : 0;
    *flags |= found & ~(unsigned)(S2_VJP_WEAK | S2_VJP_TIED);
  }
  if (convex) {
    s2_mcp_convex_vjp(problem, note->of->lambda, solve->dl_dlambda, &solve->data);
  }
  return true;
}

// Scales the tolerance for an interval of a step. Loads are proportional to the length of the
// interval, and impacts may be arbitrarily small. The scaled tolerance is never below the accuracy
// of a solve. Smoothed solves keep their tolerance.
static void solve_scale_interval(const S2SolveUndo *solve) {
  const S2Undo *undo = solve->undo;
  const S2WorldDef *def = &undo->world->kept.def;
  if (s2_world_way(def) == S2_EVENT && !solve_is_smooth(def, solve->note)) {
    double h = s2_solve_traits(solve->note->solve.kind).takes_time ? solve->note->h : 0;
    double least = RESOLVED * def->tolerance / S2_VJP_EDGE;
    solve->assembly->problem.velocity_scale *= fmin(1, fmax(h / undo->step.dt, least));
  }
}

bool s2_solve_same_rows(const S2SolveUndo *solve) {
  bool same = solve->assembly->problem.rows == solve->note->solve.rows;
  if (!same) {
    *solve->undo->failed =
        s2_error(S2_INVALID, "a problem of %d rows had %d when it was repeated (this is a bug)",
                 solve->note->solve.rows, solve->assembly->problem.rows);
  }
  return same;
}

// ---- Bodies -----------------------------------------------------------------------------------

double *s2_inertial_bar(S2Undo *undo, int32_t slot, int c) {
  S2BodyGradient *body = &undo->gradient->body[slot];
  return c == 0 ? &body->inertia : &body->mass;
}

int s2_solve_nodes(const S2Undo *undo, const S2Note *note) {
  return note->of->island.nodes + s2_wide_nodes(&undo->step, &note->of->island);
}

void s2_solve_bodies_vjp(const S2SolveUndo *solve) {
  S2Undo *undo = solve->undo;
  S2StepAdjoint *bar = &undo->bar;
  const S2Step *step = &undo->step;
  S2SolveKind kind = solve->note->solve.kind;
  bool forces = s2_solve_traits(kind).takes_time;
  bool from_v2 = !s2_solve_traits(kind).from_v0 && !s2_solve_traits(kind).displacements;
  // Projections scaled the inertias. (The auxiliary nodes of wide joints have fractions of their
  // bodies' masses. These count as constants, because no solution depends on the fractions.)
  for (int i = 0; i < solve->note->of->island.nodes && s2_solve_traits(kind).displacements; i++) {
    solve->data.mass[3 * i] *= solve->note->of->stiffness;
  }
  for (int i = 0; i < solve->note->of->island.nodes; i++) {
    int32_t slot = solve->note->of->island.node[i];
    const S2Body *body = &undo->world->bodies.at[slot];
    for (int c = 0; c < 3; c++) {
      int at = 3 * slot + c;
      // Diagonal and right-hand side: W and W free_v if forces act, otherwise M and M v2.
      double mass = solve->data.mass[3 * i + c], rhs = solve->data.rhs[3 * i + c];
      double inertial = c == 0 ? body->inertia : body->mass;
      double *weight = s2_inertial_bar(undo, slot, c);
      if (forces) {
        bar->mass[at] += mass + rhs * step->free_v[at];
        bar->free_v[at] += rhs * step->mass[at];
      } else {
        *weight += mass;
      }
      if (from_v2) {
        *weight += rhs * step->v2[at];
        bar->v2[at] += rhs * inertial;
      }
      // With W, the right-hand side may contain only the change by forces, M (free_v - v0).
      if (kind == S2_SOLVE_FORCES) {
        *weight -= rhs * step->v0[at];
        bar->v0[at] -= rhs * inertial;
      }
    }
  }
}

// ---- Contacts ---------------------------------------------------------------------------------

// Adds the adjoint of contact row r to the adjoints of its point and of `direction`.
static void solve_row_vjp(const S2SolveUndo *solve, const S2Touch *touch, int k, S2Vec2 direction,
                          int r, S2PointBar *point, S2Vec2 *direction_bar) {
  S2Undo *undo = solve->undo;
  const S2Step *step = &undo->step;
  const int32_t slot[2] = {touch->body_a, touch->body_b};
  for (int side = 0; side < 2; side++) {
    // J = sign (arm x d, d) of each body
    S2Vec2 arm = side == 0 ? touch->points[k].at.point : touch->points[k].arm_b;
    double sign = side == 0 ? 1 : -1, bias = solve->data.bias[r], bar[3];
    const double j[3] = {sign * s2_cross(arm, direction), sign * direction.x, sign * direction.y};
    bool ground = step->node_of[slot[side]] == S2_GROUND;
    bool moving = ground && !s2_solve_traits(solve->note->solve.kind).displacements;
    for (int c = 0; c < 3; c++) {
      int at = 3 * slot[side] + c;
      bar[c] = ground ? 0 : (side == 0 ? solve->data.ja : solve->data.jb)[3 * r + c];
      // The velocity of the ground is known, so the bias contains J free_v.
      if (moving) {
        bar[c] = bias * step->free_v[at];
        undo->bar.free_v[at] += bias * j[c];
      }
    }
    S2Vec2 *to = side == 0 ? &point->point : &point->arm_b;
    *to = s2_add_scaled(*to, -sign * bar[0], s2_left(direction));
    *direction_bar = s2_add_scaled(*direction_bar, sign * bar[0], s2_left(arm));
    *direction_bar = s2_add_scaled(*direction_bar, sign, s2_vec2(bar[1], bar[2]));
  }
}

// Passes on `bar`, the adjoint of the speed that restitution uses before a solve.
static void solve_speed_vjp(const S2SolveUndo *solve, const S2Touch *touch, int k, double bar,
                            S2PointBar *point) {
  S2Undo *undo = solve->undo;
  bool motion = solve->note->solve.kind == S2_SOLVE_MOTION; // bisect
  s2_touch_velocity_vjp(touch, k, touch->points[k].at.normal,
                        motion ? undo->step.v0 : undo->step.v2, bar,
                        motion ? undo->bar.v0 : undo->bar.v2, point, &point->normal);
}

double s2_arrival_vjp(S2Undo *undo, const S2Touch *touch, int k, double bar, S2PointBar *point) {
  const S2Step *step = &undo->step;
  S2Vec2 n = touch->points[k].at.normal;
  double h = step->h, gap = touch->points[k].at.gap;
  // a: the relative acceleration of the free motion along the normal.
  double u = s2_touch_velocity(touch, k, n, step->v2);
  double given = s2_touch_velocity(touch, k, n, step->v0);
  double free_u = s2_touch_velocity(touch, k, n, step->free_v), a = (free_u - given) / h;
  double speed = sqrt(u * u + 2 * fmax(0, -a) * fmax(gap, 0));
  if (bar == 0 || !(speed > 0)) {
    return -speed;
  }
  // d speed = (u du - gap da - a dgap)/speed
  s2_touch_velocity_vjp(touch, k, n, step->v2, -bar * u / speed, undo->bar.v2, point,
                        &point->normal);
  // Bodies in equal free fall have a relative acceleration only because of rounding. In that case
  // use the mean of both one-sided derivatives.
  bool alike = fabs(a) <= 1e-12 * (fabs(free_u) + fabs(given)) / h;
  if ((a < 0 || alike) && gap > 0) {
    double a_bar = (alike ? 0.5 : 1) * bar * gap / speed;
    s2_touch_velocity_vjp(touch, k, n, step->free_v, a_bar / h, undo->bar.free_v, point,
                          &point->normal);
    s2_touch_velocity_vjp(touch, k, n, step->v0, -a_bar / h, undo->bar.v0, point, &point->normal);
    undo->bar.h -= a_bar * a / h;
    point->gap += bar * a / speed;
  }
  return -speed;
}

// b = -after of S2Rebound, with after = sqrt(added^2 + there2) - added.
static void solve_return_vjp(const S2SolveUndo *solve, const S2Touch *touch, int k, double bar,
                             S2PointBar *point, S2TouchBar *pair) {
  S2Undo *undo = solve->undo;
  const S2ManifoldPoint *at = &touch->points[k].at;
  double e = touch->restitution, h = undo->step.h, gap = fmax(at->gap, 0);
  double u = s2_touch_velocity(touch, k, at->normal, undo->step.v0);
  double free_u = s2_touch_velocity(touch, k, at->normal, undo->step.free_v);
  S2Rebound back = s2_rebound(e, u, free_u, gap, h);
  double root = sqrt(back.added * back.added + back.there2);
  double there2_bar = -bar / (2 * root), loss = e * e - 1;
  double added_bar = -bar * (back.added / root - 1) + there2_bar * 2 * loss * gap / h;
  pair->restitution += there2_bar * 2 * e * (u * u + 2 * back.added * gap / h);
  point->gap += at->gap > 0 ? there2_bar * 2 * loss * back.added / h : 0;
  undo->bar.h -= there2_bar * 2 * loss * back.added * gap / (h * h);
  added_bar = back.added > 0 ? added_bar : 0;
  double u_bar = there2_bar * 2 * e * e * u + added_bar;
  s2_touch_velocity_vjp(touch, k, at->normal, undo->step.v0, u_bar, undo->bar.v0, point,
                        &point->normal);
  s2_touch_velocity_vjp(touch, k, at->normal, undo->step.free_v, -added_bar, undo->bar.free_v,
                        point, &point->normal);
}

// Passes the adjoint of the chosen bias on to the data from which the bias was computed.
static void solve_target_vjp(const S2SolveUndo *solve, int i, int k, double bar, S2PointBar *point,
                             S2TouchBar *pair) {
  S2Undo *undo = solve->undo;
  const S2Touch *touch = &solve->touches[i];
  const S2Choice *choice = &solve->undo->open.choices[2 * i + k];
  double gap = touch->points[k].at.gap, h = undo->step.h;
  int at = 2 * solve->note->of->touch_index[i] + k;
  switch (choice->target) {
  case S2_TARGET_FIXED:
    break;
  case S2_TARGET_GAP: {
    bool baumgarte = undo->world->kept.def.stabilization == S2_BAUMGARTE;
    // At a resting contact, rounding decides the sign of the gap. Such a gap counts as open.
    double slop = S2_PROJECTION_TRIGGER * solve->note->of->island.length;
    double part = gap >= -slop ? 1 : baumgarte ? S2_BAUMGARTE_FACTOR : 0;
    // b = part gap / h
    point->gap += bar * part / h;
    undo->bar.h -= bar * part * gap / (h * h);
    break;
  }
  case S2_TARGET_ARRIVAL: // see S2_ACT_REBOUND
    undo->more[at] += bar;
    break;
  case S2_TARGET_APPROACH: {
    // b = part e u; the part (event_strike) is constant here
    double u = s2_touch_velocity(touch, k, touch->points[k].at.normal,
                                 solve->note->solve.kind == S2_SOLVE_MOTION ? undo->step.v0
                                                                            : undo->step.v2);
    double whole = touch->restitution * u, part = whole < 0 ? choice->bias / whole : 1;
    pair->restitution += bar * part * u;
    solve_speed_vjp(solve, touch, k, bar * part * touch->restitution, point);
    break;
  }
  case S2_TARGET_RETURN:
    solve_return_vjp(solve, touch, k, bar, point, pair);
    break;
  case S2_TARGET_MIRROR:
    solve_speed_vjp(solve, touch, k, bar, point);
    break;
  case S2_TARGET_NORMAL:
    undo->bound[at] += bar;
    break;
  case S2_TARGET_LEAVING:
    solve_speed_vjp(solve, touch, k, -bar, point);
    undo->more[at] -= bar;
    break;
  case S2_TARGET_ERROR:
    point->gap += bar;
    break;
  }
}

static void solve_soft_vjp(const S2SolveUndo *solve, const S2Touch *touch, int k, int r,
                           S2PointBar *point, S2TouchBar *pair) {
  S2StepAdjoint *bar = &solve->undo->bar;
  const double *v0 = solve->undo->step.v0;
  const S2ManifoldPoint *at = &touch->points[k].at;
  double speed = s2_touch_velocity(touch, k, at->normal, v0);
  S2SoftGapBar to =
      s2_soften_gap_vjp(at->gap, speed, touch->compliance, touch->damping, solve->blend,
                        solve->data.compliance[r], solve->data.bias[r], pair);
  point->gap += to.gap;
  bar->h += to.h;
  s2_touch_velocity_vjp(touch, k, at->normal, v0, to.speed, bar->v0, point, &point->normal);
  if (solve->blend.beta < 1) { // otherwise they are 1, independent of the world's values
    bar->gradient->alpha += to.alpha;
    bar->gradient->beta += to.beta;
  }
}

// The derivative with respect to a compliance C of 0: a positive C gives the row the compliance C'
// = C/h^2. However, soft contacts do not bounce, and split or blended steps treat them differently.
// In these cases S2_GRADIENT_JUMP is set.
static void solve_rigid_vjp(const S2SolveUndo *solve, const S2Touch *touch, int r,
                            S2TouchBar *pair) {
  S2Undo *undo = solve->undo;
  S2WorldGradient *all = undo->gradient;
  double h = undo->step.h;
  if (s2_solve_traits(solve->note->solve.kind).takes_time && all->tracked != NULL &&
      (S2_TRACKS_BODY(all, touch->body_a, contact_compliance) ||
       S2_TRACKS_BODY(all, touch->body_b, contact_compliance))) {
    const S2WorldDef *def = &undo->world->kept.def;
    bool alike = s2_world_way(def) == S2_SPECULATIVE && def->alpha == 1 && def->beta == 1;
    pair->compliance += alike ? solve->data.compliance[r] / (h * h) : 0;
    all->flags |= !alike || touch->restitution > 0 ? S2_GRADIENT_JUMP : 0;
  }
}

static void solve_normal_vjp(const S2SolveUndo *solve, int i, int k, int r, S2PointBar *point,
                             S2TouchBar *pair) {
  const S2Touch *touch = &solve->touches[i];
  solve_row_vjp(solve, touch, k, touch->points[k].at.normal, r, point, &point->normal);
  if (s2_touch_soft(touch)) {
    solve_soft_vjp(solve, touch, k, r, point, pair);
  } else {
    solve_target_vjp(solve, i, k, solve->data.bias[r], point, pair);
    solve_rigid_vjp(solve, touch, r, pair);
  }
}

static void solve_tangent_vjp(const S2SolveUndo *solve, int i, int k, int r, S2PointBar *point,
                              S2TouchBar *pair) {
  const S2Touch *touch = &solve->touches[i];
  S2Vec2 bar = {0};
  solve_row_vjp(solve, touch, k, s2_left(touch->points[k].at.normal), r, point, &bar);
  point->normal = s2_add(point->normal, s2_right(bar));
  pair->surface_speed -= solve->data.bias[r];
  if (!s2_solve_traits(solve->note->solve.kind).normals) { // bounds: -+ friction * bias
    double bound = solve->data.hi[r] - solve->data.lo[r];
    pair->friction += bound * solve->undo->open.choices[2 * i + k].bias;
    solve_target_vjp(solve, i, k, bound * touch->friction, point, pair);
  } else {
    pair->friction += solve->data.mu[r];
  }
}

// Returns true if row r is the viscosity row of this contact point.
static bool solve_is_drag(const S2Assembly *assembly, int r, int point) {
  return r < assembly->parts && assembly->part[r].joint == S2_NONE &&
         assembly->part[r].row == point;
}

// Viscosity rows: lambda = -h d u along the surface.
static void solve_drag_vjp(const S2SolveUndo *solve, int r, S2PointBar *point, S2TouchBar *pair,
                           int i, int k) {
  const S2Touch *touch = &solve->touches[i];
  S2StepAdjoint *bar = &solve->undo->bar;
  S2Vec2 along = {0};
  double h = solve->undo->step.h, d = touch->viscosity, give = solve->data.compliance[r];
  solve_row_vjp(solve, touch, k, s2_left(touch->points[k].at.normal), r, point, &along);
  point->normal = s2_add(point->normal, s2_right(along));
  pair->surface_speed -= solve->data.bias[r];
  pair->viscosity -= give / (h * d * d);
  bar->h -= give / (h * h * d);
}

// If both points of touch i stick, decides which of them receives the adjoint of both. The rows of
// the touch begin at row r.
static void solve_stick_vjp(S2SolveUndo *solve, int i, int r) {
  const S2Note *note = solve->note;
  const S2Touch *touch = &solve->touches[i];
  const S2Choice *choice = &solve->undo->open.choices[2 * i];
  bool both = solve->undo->world->kept.def.contact != S2_CONVEX && touch->count == 2 &&
              choice[0].use && choice[1].use && s2_solve_traits(note->solve.kind).normals &&
              s2_solve_presses(note->solve.kind, touch) &&
              s2_solve_is_rough(note->solve.kind, touch);
  if (both &&
      !s2_stick_vjp(&solve->assembly->problem, note->solve.x, note->of->lambda, solve->dl_dlambda,
                    r, (solve->undo->other & S2_VJP_OTHER_SIDE) != 0, &solve->data)) {
    solve->undo->found |= S2_VJP_OTHER_SIDE;
  }
}

// Differentiates the rows of the note's contact points. These rows begin at row r. `put` receives
// the adjoint of each point.
void s2_solve_contacts_vjp(S2SolveUndo *solve, S2PutPoint *put) {
  const S2Note *note = solve->note;
  int r = solve->assembly->parts, drag = 0, count = note->of->island.touches;
  bool holds = s2_solve_traits(note->solve.kind).displacements &&
               note->holds; // as in the assembly: held points are equations, which come first
  solve->blend = s2_contact_blend(&solve->undo->step, &note->of->island, note->solve.kind);
  // Points that are held come before other points, because their rows are equations.
  for (int at = holds ? 0 : count; at < 2 * count; at++) {
    int i = at % count;
    const S2Touch *touch = &solve->touches[i];
    S2TouchBar pair = {0};
    bool any = false;
    solve_stick_vjp(solve, i, r);
    for (int k = 0; k < touch->count; k++) {
      bool later = holds && s2_point_held(&solve->undo->step, &touch->points[k]) != (at < count);
      if (!solve->undo->open.choices[2 * i + k].use || !s2_solve_presses(note->solve.kind, touch) ||
          later) {
        continue;
      }
      // The rows of a point: viscosity, normal, tangent.
      S2PointBar point = {0};
      if (solve_is_drag(solve->assembly, drag, 2 * i + k)) {
        solve_drag_vjp(solve, drag++, &point, &pair, i, k);
      }
      s2_solve_zero_vjp(solve, i, k, r, &pair);
      if (s2_solve_traits(note->solve.kind).normals) {
        solve_normal_vjp(solve, i, k, r++, &point, &pair);
      }
      if (s2_solve_is_rough(note->solve.kind, touch)) {
        solve_tangent_vjp(solve, i, k, r++, &point, &pair);
      }
      // The caller handles the adjoint of the position. The pair accumulates the adjoint of the
      // material.
      put(solve, i, k, &point);
      any = true;
    }
    if (any) {
      s2_touch_material_vjp(solve->undo->world, touch, &pair, solve->undo->gradient);
    }
  }
}

// ---- Solves -----------------------------------------------------------------------------------

static void solve_put_point(S2SolveUndo *solve, int i, int k, const S2PointBar *point) {
  s2_undo_solved_point(solve->undo, i, k, point);
}

// Collects the adjoints of stored impulses, and of impulses that bound friction.
static void solve_take_impulses(S2SolveUndo *solve) {
  S2Undo *undo = solve->undo;
  const S2Note *note = solve->note;
  const S2Assembly *assembly = solve->assembly;
  int parts = assembly->parts + assembly->parts_given;
  solve->given = S2_TAKE_ZEROED(undo->arena, double, parts);
  // Joints store impulses for the next step, and reactions contain them.
  for (int r = 0; r < parts; r++) {
    const S2JointPart *part = &assembly->part[r];
    double bar = s2_undo_impulse(undo, part->joint, part->row, part->push);
    solve->given[r] = bar;
    if (r < assembly->parts) {
      solve->dl_dlambda[r] += bar;
    }
  }
  // The loss may use contact impulses and joint reactions.
  solve->aside = S2_TAKE_ZEROED(undo->arena, double, 2 * note->of->island.touches);
  s2_undo_contact_impulses(undo, note, assembly, solve->dl_dlambda, solve->aside);
  solve->reaction = s2_undo_reaction(undo, note, note->solve.fraction);
  if (s2_solve_traits(note->solve.kind).from_v0) { // this solve replaced the earlier impulses
    s2_undo_forget_joints(undo, note);
    s2_undo_forget_contacts(undo, note);
  }
  // The energies of event stepping and of impacts also depend on the impulses.
  bool flows = note->solve.kind == S2_SOLVE_MOTION || note->solve.kind == S2_SOLVE_TURNED;
  for (int i = 0; i < assembly->parts && flows; i++) {
    const S2JointPart *part = &assembly->part[i];
    if (part->joint == S2_NONE) { // the viscosity is a part of the same tangent impulse
      int point = 2 * note->of->touch_index[part->row / 2] + part->row % 2;
      solve->dl_dlambda[i] += undo->dragged[point];
    }
  }
  // Visit normal and tangent rows in their order.
  int r = assembly->parts;
  for (int i = 0; i < note->of->island.touches && s2_solve_traits(note->solve.kind).normals; i++) {
    const S2Touch *touch = &undo->open.touches[i];
    for (int k = 0; k < touch->count; k++) {
      if (undo->open.choices[2 * i + k].use && s2_solve_presses(note->solve.kind, touch)) {
        int at = 2 * note->of->touch_index[i] + k;
        bool rough = s2_solve_is_rough(note->solve.kind, touch);
        // The bound of a friction that a later solve computed.
        if (note->solve.kind == S2_SOLVE_FRICTIONLESS) {
          solve->dl_dlambda[r] += undo->bound[at];
          undo->bound[at] = 0;
        } else if (flows) {
          solve->dl_dlambda[r] += undo->pushed[at];
          solve->dl_dlambda[r + rough] += rough ? undo->dragged[at] : 0;
          solve->aside[2 * i + k] += undo->dragged[at];
          undo->pushed[at] = undo->dragged[at] = 0;
        } else if (note->solve.kind == S2_SOLVE_IMPACT) {
          solve->dl_dlambda[r] += undo->struck[2 * at];
          solve->dl_dlambda[r + rough] += rough ? undo->struck[2 * at + 1] : 0;
          solve->aside[2 * i + k] += undo->struck[2 * at + 1];
        }
        r += 1 + rough;
      }
    }
  }
}

// The step applied only a fraction s of the computed change. The result is a blend of the state
// before the solve and the solution, with the weights 1 - s and s. The fraction counts as constant.
static void solve_keep_fraction(S2SolveUndo *solve, double *bar) {
  const S2Note *note = solve->note;
  double fraction = note->solve.fraction;
  if (fraction == 1) {
    return;
  }
  bool any = false;
  for (int i = 0; i < 3 * note->of->island.nodes; i++) {
    bar[3 * note->of->island.node[i / 3] + i % 3] = (1 - fraction) * solve->dl_dv[i];
    any |= solve->dl_dv[i] != 0;
    solve->dl_dv[i] *= fraction;
  }
  for (int r = 0; r < note->solve.rows; r++) {
    any |= solve->dl_dlambda[r] != 0;
    solve->dl_dlambda[r] *= fraction;
  }
  for (int k = 0; k < 2 * note->of->island.touches; k++) {
    solve->aside[k] *= fraction;
  }
  solve->undo->gradient->flags |= any ? S2_GRADIENT_PARTIAL : 0;
}

void s2_undo_solve(S2Undo *undo, const S2Note *note) {
  S2ArenaMark mark = s2_arena_mark(undo->arena);
  S2SolveUndo solve = {.undo = undo, .note = note, .v = note->solve.x, .lambda = note->of->lambda};
  double *now = note->solve.into_v1 ? undo->step.v1 : undo->step.v2;
  double *bar = note->solve.into_v1 ? undo->bar.v1 : undo->bar.v2;
  // Takes dl/dv of the island's nodes, and resets their velocities to the values before the solve.
  s2_undo_set_island(undo, note);
  solve.touches = undo->open.solved;
  solve.dl_dv = S2_TAKE_ZEROED(undo->arena, double, 3 * s2_solve_nodes(undo, note));
  for (int i = 0; i < note->of->island.nodes; i++) {
    int32_t at = 3 * note->of->island.node[i];
    memcpy(solve.dl_dv + 3 * i, bar + at, 3 * sizeof(double));
    memcpy(now + at,
           note->solve.before != NULL ? note->solve.before + 3 * i : undo->step.free_v + at,
           3 * sizeof(double));
    memset(bar + at, 0, 3 * sizeof(double));
  }
  // Assemble the problem again, unless a later projection has already done this.
  const S2Remade *remade = undo->remade == NULL ? NULL : undo->remade[undo->index];
  S2Assembly made;
  if (remade != NULL) {
    made = remade->assembly;
  } else {
    made = s2_assemble(&undo->step, s2_step_poses(&undo->step, note->solve.kind),
                       undo->step.touches, &note->of->island, undo->open.choices, note->solve.kind);
  }
  solve.assembly = &made;
  solve.still = STILL * made.problem.velocity_scale;
  solve_scale_interval(&solve);
  // The adjoint of the solution of the problem.
  if (s2_solve_same_rows(&solve)) {
    solve.dl_dlambda = S2_TAKE_ZEROED(undo->arena, double, note->solve.rows);
    solve_take_impulses(&solve);
    solve_keep_fraction(&solve, bar);
    // The adjoint of the data of the problem.
    bool any = s2_solve_differentiate(&solve);
    if (!any) {
      solve_make_gradient(&solve.data, &made.problem, undo->arena);
    }
    s2_quiet_look_at_solve(&solve);
    if (remade != NULL) {
      solve_add_remade(&solve, remade);
    }
    // Pass the adjoints of the data back through the assembly to their sources. This is also
    // necessary if only the impulse of a point without a row has an adjoint.
    bool asked =
        solve.reaction != NULL || !solve_all_zero(solve.aside, 2 * note->of->island.touches);
    if (any || remade != NULL || asked) {
      s2_solve_bodies_vjp(&solve);
      s2_solve_contacts_vjp(&solve, solve_put_point);
      S2RowsAdjoint rows = {.v = note->solve.x,
                            .lambda = note->of->lambda,
                            .ja = solve.data.ja,
                            .jb = solve.data.jb,
                            .bias = solve.data.bias,
                            .compliance = solve.data.compliance,
                            .lo = solve.data.lo,
                            .hi = solve.data.hi,
                            .mu = solve.data.mu,
                            .rhs = solve.data.rhs,
                            .given = solve.given,
                            .reaction = solve.reaction,
                            .pushed = note->of->lambda,
                            .still = solve.still};
      if (note->of->island.joints > 0) {
        s2_joint_rows_vjp(&undo->step, &note->of->island, note->solve.kind, &made, &rows,
                          &undo->bar);
      }
    }
  }
  s2_undo_forget_island(undo, note);
  s2_arena_rewind(undo->arena, mark);
}
