// A solve or a mend of an island, backwards: its problem is assembled again from what was noted,
// the adjoint of its solution becomes that of its data (mcp_vjp.h), and that goes through the
// assembly to bodies, contact points, materials and joints.
#include "diff/undo.h"
#include "mcp/mcp_vjp.h"

#include <string.h>

// Multiples of its tolerance that a solution tells from 0.
#define RESOLVED 10

typedef struct Solve {
  S2Undo *undo;
  int index; // of the note
  const S2Note *note;
  const S2Touch *touches; // that the rows are taken from
  S2Assembly assembly;
  S2Blend blend; // of soft contacts
  S2McpGradient data;
  double *dl_dv, *dl_dlambda, *given;
  const double *reaction;
} Solve;

void s2_undo_point(S2Undo *undo, int index, int touch, int k, const S2PointBar *bar) {
  const S2Note *note = s2_note_at(undo->notes, index);
  const S2Touch *touches = note->solved != NULL ? note->solved : note->touches;
  if (undo->late[index] != NULL && undo->late[index][touch]) {
    S2PointBar *to = &undo->late_bar[2 * note->touch_index[touch] + k];
    to->normal = s2_add(to->normal, bar->normal);
    to->point = s2_add(to->point, bar->point);
    to->arm_b = s2_add(to->arm_b, bar->arm_b);
    to->gap += bar->gap;
  } else {
    s2_touch_point_vjp(&undo->world, &touches[touch], k, undo->step.q0, bar, undo->bar.q0,
                       undo->gradient);
  }
}

void s2_undo_set_island(S2Undo *undo, const S2Note *note) {
  S2Step *step = &undo->step;
  step->h = note->h;
  step->t = note->t;
  step->holds = note->holds;
  step->touches = note->touches;
  step->touch_count = note->island.touches;
  for (int i = 0; i < note->island.nodes; i++) {
    step->node_of[note->island.node[i]] = i;
  }
  for (int i = 0; i < note->island.joints && note->impulse != NULL; i++) {
    int32_t slot = note->island.joint[i];
    memcpy(step->joint_impulse + S2_JOINT_ROWS * slot, note->impulse + S2_JOINT_ROWS * i,
           sizeof(double) * S2_JOINT_ROWS);
    memcpy(step->pushed + 2 * slot, note->pushed + 2 * i, 2 * sizeof(double));
    step->stiff[slot] = note->stiff[i];
  }
}

void s2_undo_forget_island(S2Undo *undo, const S2Note *note) {
  for (int i = 0; i < note->island.nodes; i++) {
    undo->step.node_of[note->island.node[i]] = S2_GROUND;
  }
}

static S2McpGradient new_gradient(const S2Problem *problem, S2Arena *arena) {
  return (S2McpGradient){
      .mass = S2_TAKE(arena, double, 3 * problem->nodes),
      .rhs = S2_TAKE(arena, double, 3 * problem->nodes),
      .ja = S2_TAKE(arena, double, 3 * problem->rows),
      .jb = S2_TAKE(arena, double, 3 * problem->rows),
      .bias = S2_TAKE(arena, double, problem->rows),
      .compliance = S2_TAKE(arena, double, problem->rows),
      .mu = S2_TAKE(arena, double, problem->rows),
      .lo = S2_TAKE(arena, double, problem->rows),
      .hi = S2_TAKE(arena, double, problem->rows),
  };
}

static bool all_zero(const double *x, int count) {
  for (int i = 0; i < count; i++) {
    if (x[i] != 0) {
      return false;
    }
  }
  return true;
}

// Of contacts; boxed rows are no part of smooth derivatives.
static bool has_contacts(const S2Problem *problem, bool *boxed) {
  bool contacts = false;
  *boxed = false;
  for (int r = 0; r < problem->rows; r++) {
    const S2Row *row = &problem->row[r];
    contacts |= row->lo == 0;
    *boxed |= row->coupled_to < 0 && row->lo < row->hi && isfinite(row->lo) && isfinite(row->hi);
  }
  return contacts;
}

// On the central path, at the data of the step; false where that is not to be had.
static bool differentiate_smoothly(const Solve *solve, double kappa, unsigned *flags) {
  const S2Problem *problem = &solve->assembly.problem;
  S2Arena *arena = solve->undo->arena;
  bool boxed;
  if (!has_contacts(problem, &boxed)) {
    return false; // nothing to smooth
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
  *flags |= s2_mcp_smooth_vjp(problem, kappa, &on_path, solve->dl_dv, solve->dl_dlambda,
                              &solve->data, arena);
  return true;
}

// False: nothing depends on this solve.
static bool differentiate(Solve *solve) {
  const S2Problem *problem = &solve->assembly.problem;
  const S2Note *note = solve->note;
  if (all_zero(solve->dl_dv, 3 * problem->nodes) && all_zero(solve->dl_dlambda, problem->rows)) {
    return false;
  }
  solve->data = new_gradient(problem, solve->undo->arena);
  const S2WorldDef *def = &solve->undo->world.kept.def;
  unsigned *flags = &solve->undo->gradient->flags; // S2VjpFlag and S2GradientFlag: the same bits
  bool smooth = def->gradient == S2_GRADIENT_SMOOTH && note->kind != S2_POSITIONS;
  if (!smooth || !differentiate_smoothly(solve, def->smoothing, flags)) {
    unsigned found = (solve->undo->beyond ? s2_mcp_vjp_beyond : s2_mcp_vjp)(
        problem, note->more, note->lambda, solve->dl_dv, solve->dl_dlambda, &solve->data,
        solve->undo->arena);
    solve->undo->edge |= (found & S2_VJP_WEAK) != 0;
    *flags |= found & ~(unsigned)S2_VJP_WEAK;
  }
  return true;
}

// Of a piece of a step loads are in proportion to its length, and those of blows may be of any
// size: small ones are not 0, above what a solve may leave.
static void scale_piece(Solve *solve) {
  const S2Undo *undo = solve->undo;
  const S2WorldDef *def = &undo->world.kept.def;
  if (def->stepping == S2_EVENT) {
    double h = s2_kind_takes_time(solve->note->kind) ? solve->note->h : 0;
    double least = RESOLVED * def->tolerance / S2_VJP_EDGE;
    solve->assembly.problem.velocity_scale *= fmin(1, fmax(h / undo->step.dt, least));
  }
}

static S2Status same_rows(const Solve *solve) {
  return solve->assembly.problem.rows == solve->note->rows
             ? s2_ok()
             : s2_error(S2_INVALID, "a problem of %d rows was made again with %d (this is a bug)",
                        solve->note->rows, solve->assembly.problem.rows);
}

// ---- Bodies -----------------------------------------------------------------------------------

static double *inertial_bar(S2Undo *undo, int32_t slot, int c) {
  S2BodyGradient *body = &undo->gradient->body[slot];
  return c == 0 ? &body->inertia : &body->mass;
}

static int nodes_of(const S2Undo *undo, const S2Note *note) {
  return note->island.nodes + s2_gear_nodes(&undo->step, &note->island);
}

static void bodies_vjp(const Solve *solve) {
  S2Undo *undo = solve->undo;
  S2StepAdjoint *bar = &undo->bar;
  const S2Step *step = &undo->step;
  S2Kind kind = solve->note->kind;
  bool forces = s2_kind_takes_time(kind);
  bool from_v2 = kind != S2_MOTION && kind != S2_REBOUND && kind != S2_POSITIONS;
  for (int i = 0; i < solve->note->island.nodes && kind == S2_POSITIONS; i++) {
    solve->data.mass[3 * i] *= solve->note->stiffness;
  }
  s2_gear_join(step, &solve->note->island, solve->assembly.problem.nodes, solve->data.mass);
  for (int i = 0; i < solve->note->island.nodes; i++) {
    int32_t slot = solve->note->island.node[i];
    const S2Body *body = &undo->world.bodies.at[slot];
    for (int c = 0; c < 3; c++) {
      int at = 3 * slot + c;
      double mass = solve->data.mass[3 * i + c], rhs = solve->data.rhs[3 * i + c];
      double inertial = c == 0 ? body->inertia : body->mass;
      double *weight = inertial_bar(undo, slot, c);
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
      if (kind == S2_FOLLOW) {
        *weight -= rhs * step->v0[at];
        bar->v0[at] -= rhs * inertial;
      }
    }
  }
}

// ---- Contacts ---------------------------------------------------------------------------------

// Row r along `direction` at a point: to the point, and to the direction.
static void row_vjp(const Solve *solve, const S2Touch *touch, int k, S2Vec2 direction, int r,
                    S2PointBar *point, S2Vec2 *direction_bar) {
  S2Undo *undo = solve->undo;
  const S2Step *step = &undo->step;
  const int32_t slot[2] = {touch->body_a, touch->body_b};
  for (int side = 0; side < 2; side++) {
    S2Vec2 arm = side == 0 ? touch->points[k].at.point : touch->points[k].arm_b;
    double sign = side == 0 ? 1 : -1, bias = solve->data.bias[r], bar[3];
    const double j[3] = {sign * s2_cross(arm, direction), sign * direction.x, sign * direction.y};
    bool ground = step->node_of[slot[side]] == S2_GROUND;
    bool moving = ground && solve->note->kind != S2_POSITIONS;
    for (int c = 0; c < 3; c++) {
      int at = 3 * slot[side] + c;
      bar[c] = ground ? 0 : (side == 0 ? solve->data.ja : solve->data.jb)[3 * r + c];
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

// The speed that restitution counts with before a solve, times `bar`.
static void speed_vjp(const Solve *solve, const S2Touch *touch, int k, double bar,
                      S2PointBar *point) {
  S2Undo *undo = solve->undo;
  bool motion = solve->note->kind == S2_MOTION; // bisect
  s2_touch_velocity_vjp(touch, k, touch->points[k].at.normal,
                        motion ? undo->step.v0 : undo->step.v2, bar,
                        motion ? undo->bar.v0 : undo->bar.v2, point, &point->normal);
}

double s2_arrival_vjp(S2Undo *undo, const S2Touch *touch, int k, double bar, S2PointBar *point) {
  const S2Step *step = &undo->step;
  S2Vec2 n = touch->points[k].at.normal;
  double h = step->h, gap = touch->points[k].at.gap;
  double u = s2_touch_velocity(touch, k, n, step->v2);
  double given = s2_touch_velocity(touch, k, n, step->v0);
  double free_u = s2_touch_velocity(touch, k, n, step->free_v), a = (free_u - given) / h;
  double speed = sqrt(u * u + 2 * fmax(0, -a) * fmax(gap, 0));
  if (bar == 0 || !(speed > 0)) {
    return -speed;
  }
  s2_touch_velocity_vjp(touch, k, n, step->v2, -bar * u / speed, undo->bar.v2, point,
                        &point->normal);
  // Two that fall alike have no acceleration towards each other but rounding: the mean of both
  // sides.
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

// What a chosen bias was made of.
static void target_vjp(const Solve *solve, int i, int k, double bar, S2PointBar *point,
                       S2TouchBar *pair) {
  S2Undo *undo = solve->undo;
  const S2Touch *touch = &solve->touches[i];
  const S2Choice *choice = &solve->note->choices[2 * i + k];
  double gap = touch->points[k].at.gap, h = undo->step.h;
  int at = 2 * solve->note->touch_index[i] + k;
  switch (choice->target) {
  case S2_TARGET_FIXED:
    break;
  case S2_TARGET_GAP: {
    bool baumgarte = undo->world.kept.def.stabilization == S2_BAUMGARTE;
    // What rests has a gap of either sign by rounding: it counts as open.
    double slop = S2_PROJECTION_TRIGGER * solve->note->island.length;
    double part = gap >= -slop ? 1 : baumgarte ? S2_BAUMGARTE_FACTOR : 0;
    point->gap += bar * part / h;
    undo->bar.h -= bar * part * gap / (h * h);
    break;
  }
  case S2_TARGET_ARRIVAL:
    pair->restitution += bar * s2_arrival_vjp(undo, touch, k, bar * touch->restitution, point);
    break;
  case S2_TARGET_APPROACH:
    pair->restitution +=
        bar * s2_touch_velocity(touch, k, touch->points[k].at.normal,
                                solve->note->kind == S2_MOTION ? undo->step.v0 : undo->step.v2);
    speed_vjp(solve, touch, k, bar * touch->restitution, point);
    break;
  case S2_TARGET_MIRROR:
    speed_vjp(solve, touch, k, bar, point);
    break;
  case S2_TARGET_LEAN:
    undo->lean[at] += bar;
    break;
  case S2_TARGET_LEAVING:
    speed_vjp(solve, touch, k, -bar, point);
    undo->more[at] -= bar;
    break;
  case S2_TARGET_ERROR:
    point->gap += bar;
    break;
  }
}

static void soft_vjp(const Solve *solve, const S2Touch *touch, int k, int r, S2PointBar *point,
                     S2TouchBar *pair) {
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
  if (solve->blend.beta < 1) { // else they are 1 whatever the world's are
    bar->gradient->alpha += to.alpha;
    bar->gradient->beta += to.beta;
  }
}

static void normal_vjp(const Solve *solve, int i, int k, int r, S2PointBar *point,
                       S2TouchBar *pair) {
  const S2Touch *touch = &solve->touches[i];
  row_vjp(solve, touch, k, touch->points[k].at.normal, r, point, &point->normal);
  if (s2_touch_soft(touch)) {
    soft_vjp(solve, touch, k, r, point, pair);
  } else {
    target_vjp(solve, i, k, solve->data.bias[r], point, pair);
  }
}

static void tangent_vjp(const Solve *solve, int i, int k, int r, S2PointBar *point,
                        S2TouchBar *pair) {
  const S2Touch *touch = &solve->touches[i];
  S2Vec2 bar = {0};
  row_vjp(solve, touch, k, s2_left(touch->points[k].at.normal), r, point, &bar);
  point->normal = s2_add(point->normal, s2_right(bar));
  pair->surface_speed -= solve->data.bias[r];
  if (solve->note->kind == S2_RUB) { // within -+ friction * bias
    double bound = solve->data.hi[r] - solve->data.lo[r];
    pair->friction += bound * solve->note->choices[2 * i + k].bias;
    target_vjp(solve, i, k, bound * touch->friction, point, pair);
  } else {
    pair->friction += solve->data.mu[r];
  }
}

// Is row r the viscosity of this point of the note's touches?
static bool is_drag(const S2Assembly *assembly, int r, int point) {
  return r < assembly->parts && assembly->part[r].joint == S2_NONE &&
         assembly->part[r].row == point;
}

// Viscosity: rows lambda = -h d u along the surface.
static void drag_vjp(const Solve *solve, int r, S2PointBar *point, S2TouchBar *pair, int i, int k) {
  const S2Touch *touch = &solve->touches[i];
  S2StepAdjoint *bar = &solve->undo->bar;
  S2Vec2 along = {0};
  double h = solve->undo->step.h, d = touch->viscosity, give = solve->data.compliance[r];
  row_vjp(solve, touch, k, s2_left(touch->points[k].at.normal), r, point, &along);
  point->normal = s2_add(point->normal, s2_right(along));
  pair->surface_speed -= solve->data.bias[r];
  pair->viscosity -= give / (h * d * d);
  bar->h -= give / (h * h * d);
}

// Rows from r on, of touch i: which of two points that stick has the adjoint of both?
static void stick(Solve *solve, int i, int r) {
  const S2Note *note = solve->note;
  const S2Touch *touch = &solve->touches[i];
  const S2Choice *choice = &note->choices[2 * i];
  bool both = touch->count == 2 && choice[0].use && choice[1].use && note->kind != S2_RUB &&
              s2_kind_presses(note->kind, touch) && s2_kind_is_rough(note->kind, touch);
  if (both && !s2_stick_vjp(&solve->assembly.problem, note->more, note->lambda, solve->dl_dlambda,
                            r, solve->undo->beyond, &solve->data)) {
    solve->undo->edge = true;
  }
}

// Rows of the points of the note's touches, from row r on. `put` hands a point on.
typedef void PutPoint(Solve *solve, int i, int k, const S2PointBar *point);

static void contacts_vjp(Solve *solve, PutPoint *put) {
  const S2Note *note = solve->note;
  int r = solve->assembly.parts, drag = 0, count = note->island.touches;
  bool holds = note->kind == S2_POSITIONS && note->holds; // as in assembly: equations come first
  solve->blend = s2_contact_blend(&solve->undo->step, &note->island, note->kind);
  for (int at = holds ? 0 : count; at < 2 * count; at++) {
    int i = at % count;
    const S2Touch *touch = &solve->touches[i];
    S2TouchBar pair = {0};
    bool any = false;
    stick(solve, i, r);
    for (int k = 0; k < touch->count; k++) {
      bool later = holds && s2_point_held(&solve->undo->step, &touch->points[k]) != (at < count);
      if (!note->choices[2 * i + k].use || !s2_kind_presses(note->kind, touch) || later) {
        continue;
      }
      S2PointBar point = {0};
      if (is_drag(&solve->assembly, drag, 2 * i + k)) {
        drag_vjp(solve, drag++, &point, &pair, i, k);
      }
      if (note->kind != S2_RUB) {
        normal_vjp(solve, i, k, r++, &point, &pair);
      }
      if (s2_kind_is_rough(note->kind, touch)) {
        tangent_vjp(solve, i, k, r++, &point, &pair);
      }
      put(solve, i, k, &point);
      any = true;
    }
    if (any) {
      s2_touch_material_vjp(&solve->undo->world, touch, &pair, solve->undo->gradient);
    }
  }
}

// ---- Solves -----------------------------------------------------------------------------------

static void put_solved(Solve *solve, int i, int k, const S2PointBar *point) {
  S2Undo *undo = solve->undo;
  if (solve->note->kind == S2_STOP) { // at q1
    s2_touch_point_vjp(&undo->world, &solve->touches[i], k, undo->step.q1, point, undo->bar.q1,
                       undo->gradient);
    return;
  }
  s2_undo_point(solve->undo, solve->index, i, k, point);
}

// The adjoints of kept impulses, of those that bound friction.
static void take_impulses(Solve *solve) {
  S2Undo *undo = solve->undo;
  const S2Note *note = solve->note;
  const S2Assembly *assembly = &solve->assembly;
  int parts = assembly->parts + assembly->parts_given;
  solve->given = S2_TAKE_ZEROED(undo->arena, double, parts);
  for (int r = 0; r < parts; r++) {
    double bar = s2_undo_impulse(undo, &assembly->part[r]);
    solve->given[r] = bar;
    if (r < assembly->parts) {
      solve->dl_dlambda[r] += bar;
    }
  }
  s2_undo_contact_impulses(undo, note, assembly, solve->dl_dlambda);
  solve->reaction = s2_undo_reaction(undo, note, 1);
  if (note->kind == S2_MOTION || note->kind == S2_REBOUND) { // replaced by this solve
    s2_undo_forget_joints(undo, note);
    s2_undo_forget_contacts(undo, note);
  }
  int r = assembly->parts;
  for (int i = 0; i < note->island.touches && note->kind != S2_RUB; i++) {
    const S2Touch *touch = &note->touches[i];
    for (int k = 0; k < touch->count; k++) {
      if (note->choices[2 * i + k].use && s2_kind_presses(note->kind, touch)) {
        int at = 2 * note->touch_index[i] + k;
        bool rough = s2_kind_is_rough(note->kind, touch);
        if (note->kind == S2_REFLECT) {
          solve->dl_dlambda[r] += undo->lean[at];
          undo->lean[at] = 0;
        } else if (note->kind == S2_MOTION) {
          solve->dl_dlambda[r] += undo->pushed[at];
          solve->dl_dlambda[r + rough] += rough ? undo->rubbed[at] : 0;
          undo->pushed[at] = undo->rubbed[at] = 0;
        }
        r += 1 + rough;
      }
    }
  }
}

S2Status s2_undo_solve(S2Undo *undo, int index) {
  const S2Note *note = s2_note_at(undo->notes, index);
  S2ArenaMark mark = s2_arena_mark(undo->arena);
  Solve solve = {.undo = undo, .index = index, .note = note, .touches = note->touches};
  double *now = note->into_v1 ? undo->step.v1 : undo->step.v2;
  double *bar = note->into_v1 ? undo->bar.v1 : undo->bar.v2;
  s2_undo_set_island(undo, note);
  solve.dl_dv = S2_TAKE_ZEROED(undo->arena, double, 3 * nodes_of(undo, note));
  for (int i = 0; i < note->island.nodes; i++) {
    int32_t at = 3 * note->island.node[i];
    memcpy(solve.dl_dv + 3 * i, bar + at, 3 * sizeof(double));
    memcpy(now + at, note->before + 3 * i, 3 * sizeof(double));
    memset(bar + at, 0, 3 * sizeof(double));
  }
  solve.assembly = s2_assemble(&undo->step, &note->island, note->choices, note->kind);
  scale_piece(&solve);
  S2Status status = same_rows(&solve);
  if (status.code == S2_OK) {
    solve.dl_dlambda = S2_TAKE_ZEROED(undo->arena, double, note->rows);
    take_impulses(&solve);
    if (differentiate(&solve)) {
      bodies_vjp(&solve);
      contacts_vjp(&solve, put_solved);
      S2RowsAdjoint rows = {note->more,      note->lambda,          solve.data.ja,  solve.data.jb,
                            solve.data.bias, solve.data.compliance, solve.data.lo,  solve.data.hi,
                            solve.data.rhs,  solve.given,           solve.reaction, note->lambda};
      if (note->island.joints > 0) {
        status = s2_joint_rows_vjp(&undo->step, &note->island, note->kind, &solve.assembly, &rows,
                                   &undo->bar);
      }
    }
  }
  s2_undo_forget_island(undo, note);
  s2_arena_rewind(undo->arena, mark);
  return status;
}

// ---- Mends ------------------------------------------------------------------------------------

// Of a joint: points that are held are equations, too.
static bool is_equation(const S2Assembly *assembly, int row) {
  return row < assembly->parts && assembly->problem.row[row].lo < 0;
}

// In a mend the geometry of contacts is that of q1, ...
static void put_mended(Solve *solve, int i, int k, const S2PointBar *point) {
  S2Undo *undo = solve->undo;
  s2_touch_point_vjp(&undo->world, &solve->note->touches[i], k, undo->step.q1, point, undo->bar.q1,
                     undo->gradient);
}

// q1 is what it was; dl/d(displacement), from q1 and from the part that was limited by the turn.
static void take_displacement(Solve *solve) {
  const S2Note *note = solve->note;
  S2Undo *undo = solve->undo;
  double part_bar = 0;
  int most = 0;
  for (int i = 0; i < note->island.nodes; i++) {
    int32_t at = 3 * note->island.node[i];
    for (int c = 0; c < 3; c++) {
      solve->dl_dv[3 * i + c] = note->part * undo->bar.q1[at + c];
      part_bar += note->more[3 * i + c] * undo->bar.q1[at + c];
      undo->step.q1[at + c] = note->before[3 * i + c];
    }
    most = fabs(note->more[3 * i]) > fabs(note->more[3 * most]) ? i : most;
  }
  if (note->part < 1) {
    double turn = note->more[3 * most];
    solve->dl_dv[3 * most] -= part_bar * note->part / turn;
  }
}

// Passes after the first find limits and contacts where those before put them, to rounding: which
// of them hold then makes no difference, as they move next to nothing. Nor does it in event
// stepping, where the gaps of what rests and of what has just met are 0 whatever the data.
static bool is_later_pass(const S2Undo *undo, int index) {
  int32_t first = s2_note_at(undo->notes, index)->island.node[0];
  for (int i = index - 1; i >= 0; i--) {
    const S2Note *note = s2_note_at(undo->notes, i);
    bool feeds =
        note->act == S2_ACT_FEEDBACK || note->act == S2_ACT_SPIN_V2 || note->act == S2_ACT_SPIN_DQ;
    if (!feeds || note->island.node[0] != first) {
      return note->act == S2_ACT_MEND && note->island.node[0] == first;
    }
  }
  return false;
}

// Modes are told relative to what was to be removed.
static void scale_mend(S2Problem *problem, const S2Note *note) {
  problem->velocity_scale = S2_PROJECTION_TRIGGER * note->island.length;
  for (int r = 0; r < problem->rows; r++) { // what is open is not removed
    double bias = problem->row[r].bias, error = problem->row[r].lo < 0 ? fabs(bias) : -bias;
    problem->velocity_scale = fmax(problem->velocity_scale, error);
  }
}

static void copy_rows(S2Problem *problem, S2Arena *arena) {
  S2Row *rows = S2_TAKE(arena, S2Row, problem->rows);
  if (problem->rows > 0) {
    memcpy(rows, problem->row, sizeof(S2Row) * (size_t)problem->rows);
  }
  problem->row = rows;
}

// The same island with the joints' rows at q0.
static S2Assembly assemble_start(S2Undo *undo, const S2Note *note) {
  double *q1 = undo->step.q1;
  undo->step.q1 = undo->step.q0;
  S2Assembly start = s2_assemble(&undo->step, &note->island, note->choices, S2_POSITIONS);
  undo->step.q1 = q1;
  return start;
}

// Rows of S2_MEND_SHAKE: equations at q0. Returns how many.
static int take_start(const S2Assembly *start, S2Assembly *assembly, S2Arena *arena) {
  S2Problem *problem = &assembly->problem;
  copy_rows(problem, arena);
  S2Row *rows = (S2Row *)problem->row; // the copy
  int count = 0;
  for (; is_equation(assembly, count); count++) {
    memcpy(rows[count].ja, start->problem.row[count].ja, sizeof rows[count].ja);
    memcpy(rows[count].jb, start->problem.row[count].jb, sizeof rows[count].jb);
  }
  return count;
}

// What joints displaced, part J' lambda / mass, goes into the velocities; its adjoint to lambda.
static void feed_vjp(Solve *solve, const S2Assembly *start, int equations, double *ja, double *jb) {
  S2Undo *undo = solve->undo;
  const S2Note *note = solve->note;
  for (int r = 0; r < equations; r++) {
    const S2Row *row = &solve->assembly.problem.row[r];
    const S2JointPart *part = &start->part[r];
    double lambda = note->lambda[r], sum = 0;
    for (int side = 0; side < 2; side++) {
      int node = side == 0 ? row->a : row->b;
      const double *j = side == 0 ? row->ja : row->jb;
      double *j_bar = side == 0 ? ja : jb;
      for (int c = 0; c < 3 && node != S2_GROUND && node < note->island.nodes; c++) {
        int32_t slot = note->island.node[node]; // nodes of gears are displaced for nothing
        const S2Body *body = &undo->world.bodies.at[slot];
        double mass = solve->assembly.problem.mass[3 * node + c]; // a part of the body's
        double over = note->part * undo->displaced[3 * slot + c] / mass;
        sum += j[c] * over;
        j_bar[3 * r + c] += lambda * over;
        *inertial_bar(undo, slot, c) -=
            over * j[c] * lambda / (c == 0 ? body->inertia : body->mass);
      }
    }
    sum += note->part * undo->feed[part->joint] * s2_undo_impulse(undo, part);
    solve->dl_dlambda[r] += sum;
  }
  solve->reaction = s2_undo_reaction(undo, note, note->part * undo->feed[note->island.joint[0]]);
}

// What a displacement of bodies is worth that acts along equations: of q1, and of what is fed back.
static double *pushes_bar(const Solve *solve) {
  const S2Undo *undo = solve->undo;
  int count = 3 * solve->note->island.nodes;
  double *bar = S2_TAKE(undo->arena, double, count);
  for (int i = 0; i < count; i++) {
    double displaced = undo->displaced[3 * solve->note->island.node[i / 3] + i % 3];
    bar[i] = solve->data.rhs[i] + solve->note->part * displaced / solve->assembly.problem.mass[i];
  }
  return bar;
}

// Joints: errors at q1, and in S2_MEND_SHAKE the rest of the equations at q0.
static S2Status mended_joints(Solve *solve, const S2Assembly *start, int equations) {
  S2Undo *undo = solve->undo;
  const S2Note *note = solve->note;
  S2McpGradient *data = &solve->data;
  double h = undo->bar.h, elapsed = undo->bar.elapsed;
  double *none = S2_TAKE_ZEROED(undo->arena, double, 3 * (note->rows + note->island.nodes));
  S2RowsAdjoint rows = {note->more,   note->lambda, data->ja,
                        data->jb,     data->bias,   none,
                        none,         none,         start == NULL ? data->rhs : none,
                        solve->given, NULL,         NULL};
  S2Status status = s2_ok();
  if (start != NULL) {
    S2RowsAdjoint at_start = {
        note->more, note->lambda,      data->ja,     data->jb,        none,        none, none,
        none,       pushes_bar(solve), solve->given, solve->reaction, note->lambda};
    double *q1 = undo->step.q1, *q1_bar = undo->bar.q1;
    S2Assembly only = *start; // equations come first
    only.parts = equations;
    only.parts_given = 0;
    undo->step.q1 = undo->step.q0;
    undo->bar.q1 = undo->bar.q0;
    status =
        s2_joint_rows_vjp(&undo->step, &note->island, S2_POSITIONS, &only, &at_start, &undo->bar);
    undo->step.q1 = q1;
    undo->bar.q1 = q1_bar;
    memset(data->ja, 0, sizeof(double) * 3 * (size_t)equations);
    memset(data->jb, 0, sizeof(double) * 3 * (size_t)equations);
  }
  if (status.code == S2_OK) {
    status = s2_joint_rows_vjp(&undo->step, &note->island, S2_POSITIONS, &solve->assembly, &rows,
                               &undo->bar);
  }
  if (note->h == 0) { // before the step: goals are where they are
    undo->bar.h = h;
    undo->bar.elapsed = elapsed;
  }
  return status;
}

// ---- Mends with the rows of the solve ---------------------------------------------------------

// Rows where the solve had them; errors are those at the end, of the same feature or as the solve
// left it.
static void put_solved_row(Solve *solve, int i, int k, const S2PointBar *bar) {
  S2Undo *undo = solve->undo;
  const S2Touch *now = &solve->note->touches[i], *then = &solve->touches[i];
  S2PointBar point = *bar, gap = {.gap = bar->gap};
  for (int j = 0; j < now->count; j++) {
    if (now->points[j].at.id == then->points[k].at.id) {
      point.gap = 0;
      s2_touch_point_vjp(&undo->world, now, j, undo->step.q1, &gap, undo->bar.q1, undo->gradient);
      s2_undo_point(undo, solve->index, i, k, &point);
      return;
    }
  }
  S2ArenaMark mark = s2_arena_mark(undo->arena);
  const S2Note *moved = s2_note_at(undo->notes, s2_undo_last(undo, solve->index, S2_ACT_INTEGRATE));
  int count = 3 * undo->notes->slots;
  double *carry = S2_TAKE_ZEROED(undo->arena, double, count);
  double *carry_bar = S2_TAKE_ZEROED(undo->arena, double, count);
  const int32_t slot[2] = {then->body_a, then->body_b};
  for (int side = 0; side < 2; side++) {
    for (int at = 3 * slot[side]; at < 3 * slot[side] + 3; at++) {
      carry[at] = s2_undo_carry(undo, moved, at);
    }
  }
  S2Vec2 n = then->points[k].at.normal;
  undo->bar.h += bar->gap * s2_touch_velocity(then, k, n, carry);
  s2_touch_velocity_vjp(then, k, n, carry, undo->step.h * bar->gap, carry_bar, &point,
                        &point.normal);
  for (int side = 0; side < 2; side++) {
    for (int at = 3 * slot[side]; at < 3 * slot[side] + 3; at++) {
      s2_undo_carried(undo, moved, at, carry_bar[at]);
    }
  }
  s2_undo_point(undo, solve->index, i, k, &point);
  s2_arena_rewind(undo->arena, mark);
}

// The row of `end` that gives row r its error; -1: none does.
static int end_row(const Solve *solve, const S2Assembly *end, int r) {
  const S2JointPart *then = &solve->assembly.part[r];
  int found = -1;
  for (int k = 0; k < end->parts; k++) {
    bool same = end->part[k].joint == then->joint && end->part[k].row == then->row;
    found = same ? k : found;
  }
  return found;
}

static S2Status solved_joints(Solve *solve, const S2Assembly *end) {
  S2Undo *undo = solve->undo;
  S2McpGradient *data = &solve->data;
  const S2Note *note = solve->note;
  int rows = solve->assembly.parts > end->parts ? solve->assembly.parts : end->parts;
  double *none = S2_TAKE_ZEROED(undo->arena, double, 3 * (rows + note->island.nodes));
  double *errors = S2_TAKE_ZEROED(undo->arena, double, rows);
  double *given = S2_TAKE_ZEROED(undo->arena, double, end->parts + end->parts_given);
  for (int r = 0; r < solve->assembly.parts; r++) {
    int at = end_row(solve, end, r);
    if (at >= 0) {
      errors[at] += data->bias[r];
      data->bias[r] = 0;
    }
  }
  double *q1 = undo->step.q1, *q1_bar = undo->bar.q1;
  S2RowsAdjoint at_start = {note->more, note->lambda, data->ja,  data->jb,     data->bias, none,
                            none,       none,         data->rhs, solve->given, NULL,       NULL};
  S2RowsAdjoint at_end = {note->more, none, none, none,  errors, none,
                          none,       none, none, given, NULL,   NULL};
  undo->step.q1 = undo->step.q0;
  undo->bar.q1 = undo->bar.q0;
  S2Status status = s2_joint_rows_vjp(&undo->step, &note->island, S2_POSITIONS, &solve->assembly,
                                      &at_start, &undo->bar);
  undo->step.q1 = q1;
  undo->bar.q1 = q1_bar;
  return status.code != S2_OK ? status
                              : s2_joint_rows_vjp(&undo->step, &note->island, S2_POSITIONS, end,
                                                  &at_end, &undo->bar);
}

static S2Status undo_solved_mend(S2Undo *undo, int index) {
  const S2Note *note = s2_note_at(undo->notes, index);
  S2Arena *arena = undo->arena;
  S2ArenaMark mark = s2_arena_mark(arena);
  Solve solve = {.undo = undo, .index = index, .note = note, .touches = note->solved};
  s2_undo_set_island(undo, note);
  solve.dl_dv = S2_TAKE_ZEROED(arena, double, 3 * nodes_of(undo, note));
  solve.dl_dlambda = S2_TAKE_ZEROED(arena, double, note->rows);
  take_displacement(&solve);
  S2Choice *no_contacts = S2_TAKE_ZEROED(arena, S2Choice, 2 * note->island.touches);
  S2Assembly end = s2_assemble(&undo->step, &note->island, no_contacts, S2_POSITIONS);
  undo->step.touches = note->solved;
  solve.assembly = assemble_start(undo, note);
  S2Status status = same_rows(&solve);
  if (status.code == S2_OK) {
    S2Problem *problem = &solve.assembly.problem;
    copy_rows(problem, arena);
    for (int r = 0; r < solve.assembly.parts; r++) {
      int at = end_row(&solve, &end, r);
      S2Row *row = (S2Row *)problem->row + r; // the copy
      row->bias = at >= 0 ? end.problem.row[at].bias : row->bias;
    }
    scale_mend(problem, note);
    solve.given = S2_TAKE_ZEROED(arena, double, solve.assembly.parts + solve.assembly.parts_given);
    if (differentiate(&solve)) {
      bodies_vjp(&solve);
      contacts_vjp(&solve, put_solved_row);
      status = note->island.joints > 0 ? solved_joints(&solve, &end) : status;
    }
  }
  s2_undo_forget_island(undo, note);
  s2_arena_rewind(arena, mark);
  return status;
}

S2Status s2_undo_mend(S2Undo *undo, int index) {
  const S2Note *note = s2_note_at(undo->notes, index);
  S2Arena *arena = undo->arena;
  if (note->mend == S2_MEND_SOLVED) {
    return undo_solved_mend(undo, index);
  }
  S2ArenaMark mark = s2_arena_mark(arena);
  Solve solve = {.undo = undo, .index = index, .note = note, .touches = note->touches};
  s2_undo_set_island(undo, note);
  solve.dl_dv = S2_TAKE_ZEROED(arena, double, 3 * nodes_of(undo, note));
  solve.dl_dlambda = S2_TAKE_ZEROED(arena, double, note->rows);
  take_displacement(&solve);
  solve.assembly = s2_assemble(&undo->step, &note->island, note->choices, S2_POSITIONS);
  scale_mend(&solve.assembly.problem, note);
  for (int i = 0; i < note->island.nodes; i++) {
    solve.assembly.mass[3 * i] *= note->stiffness;
  }
  solve.given = S2_TAKE_ZEROED(arena, double, solve.assembly.parts + solve.assembly.parts_given);
  double *ja = S2_TAKE_ZEROED(arena, double, 3 * note->rows);
  double *jb = S2_TAKE_ZEROED(arena, double, 3 * note->rows);
  bool shaken = note->mend == S2_MEND_SHAKE;
  S2Assembly start = {0};
  int equations = 0;
  S2Status status = same_rows(&solve);
  if (status.code == S2_OK && shaken) {
    start = assemble_start(undo, note);
    equations = take_start(&start, &solve.assembly, arena);
    feed_vjp(&solve, &start, equations, ja, jb);
  }
  bool edge = undo->edge;
  if (status.code == S2_OK && differentiate(&solve)) {
    if (undo->world.kept.def.stepping == S2_EVENT || is_later_pass(undo, index)) {
      undo->edge = edge;
    }
    for (int i = 0; i < 3 * note->rows; i++) {
      solve.data.ja[i] += ja[i];
      solve.data.jb[i] += jb[i];
    }
    bodies_vjp(&solve);
    contacts_vjp(&solve, put_mended);
    if (note->island.joints > 0) {
      status = mended_joints(&solve, shaken ? &start : NULL, equations);
    }
  }
  s2_undo_forget_island(undo, note);
  s2_arena_rewind(arena, mark);
  return status;
}
