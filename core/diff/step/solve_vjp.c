// A solve of an island, backwards: its problem is assembled again from what was noted,
// the adjoint of its solution becomes that of its data (mcp_vjp.h), and that goes through the
// assembly to bodies, contact points, materials and joints.
#include "diff/step/solve_vjp.h"
#include "dynamics/joints/rows.h"

#include <string.h>

// Multiples of its tolerance that a solution tells from 0.
#define RESOLVED 10

static void make_gradient(S2McpGradient *data, const S2Problem *problem, S2Arena *arena) {
  size_t nodes = (size_t)problem->nodes, rows = (size_t)problem->rows;
  double *all = S2_TAKE(arena, double, 6 * nodes + 11 * rows), *of_rows = all + 6 * nodes;
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

// What a mend had for the rows of this solve.
static void add_remade(S2SolveUndo *solve, const S2Remade *remade, bool any) {
  const S2Problem *problem = &solve->assembly->problem;
  if (!any) {
    make_gradient(&solve->data, problem, solve->undo->arena);
    memset(solve->data.mass, 0,
           sizeof(double) * (6 * (size_t)problem->nodes + 11 * (size_t)problem->rows));
  }
  for (int i = 0; i < 3 * solve->assembly->parts; i++) {
    solve->data.ja[i] += remade->ja[i];
    solve->data.jb[i] += remade->jb[i];
  }
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

static bool is_smooth(const S2WorldDef *def, const S2Note *note) {
  return def->gradient == S2_GRADIENT_SMOOTH && !s2_solve_traits(note->kind).displacements;
}

// On the central path, at the data of the step; false where that is not to be had.
static bool differentiate_smoothly(const S2SolveUndo *solve, double kappa, unsigned *flags) {
  const S2Problem *problem = &solve->assembly->problem;
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

bool s2_solve_differentiate(S2SolveUndo *solve) {
  const S2Problem *problem = &solve->assembly->problem;
  const S2Note *note = solve->note;
  if (all_zero(solve->dl_dv, 3 * problem->nodes) && all_zero(solve->dl_dlambda, problem->rows)) {
    return false;
  }
  make_gradient(&solve->data, problem, solve->undo->arena);
  const S2WorldDef *def = &solve->undo->world->kept.def;
  unsigned *flags = &solve->undo->gradient->flags; // S2VjpFlag and S2GradientFlag: the same bits
  if (!is_smooth(def, note) || !differentiate_smoothly(solve, def->smoothing, flags)) {
    S2Undo *undo = solve->undo;
    const double *v = note->more, *lambda = note->of->lambda;
    unsigned found = undo->other == 0
                         ? s2_mcp_vjp(problem, v, lambda, solve->dl_dv, solve->dl_dlambda,
                                      &solve->data, undo->arena)
                         : s2_mcp_vjp_other(problem, undo->other, v, lambda, solve->dl_dv,
                                            solve->dl_dlambda, &solve->data, undo->arena);
    // What of these matters is told by what the step makes of it.
    undo->found |= (found & S2_VJP_WEAK) != 0 ? S2_VJP_OTHER_SIDE : 0;
    undo->found |= (found & S2_VJP_TIED) != 0 ? S2_VJP_OTHER_SHARE : 0;
    *flags |= found & ~(unsigned)(S2_VJP_WEAK | S2_VJP_TIED);
  }
  return true;
}

// Of a piece of a step loads are in proportion to its length, and those of blows may be of any
// size: small ones are not 0, above what a solve may leave. How smooth a solve is does not change.
static void scale_piece(const S2SolveUndo *solve) {
  const S2Undo *undo = solve->undo;
  const S2WorldDef *def = &undo->world->kept.def;
  if (s2_world_way(def) == S2_EVENT && !is_smooth(def, solve->note)) {
    double h = s2_solve_traits(solve->note->kind).takes_time ? solve->note->h : 0;
    double least = RESOLVED * def->tolerance / S2_VJP_EDGE;
    solve->assembly->problem.velocity_scale *= fmin(1, fmax(h / undo->step.dt, least));
  }
}

bool s2_solve_same_rows(const S2SolveUndo *solve) {
  bool same = solve->assembly->problem.rows == solve->note->rows;
  if (!same) {
    *solve->undo->failed =
        s2_error(S2_INVALID, "a problem of %d rows was made again with %d (this is a bug)",
                 solve->note->rows, solve->assembly->problem.rows);
  }
  return same;
}

// ---- Bodies -----------------------------------------------------------------------------------

double *s2_inertial_bar(S2Undo *undo, int32_t slot, int c) {
  S2BodyGradient *body = &undo->gradient->body[slot];
  return c == 0 ? &body->inertia : &body->mass;
}

int s2_solve_nodes(const S2Undo *undo, const S2Note *note) {
  return note->of->island.nodes + s2_gear_nodes(&undo->step, &note->of->island);
}

void s2_solve_bodies_vjp(const S2SolveUndo *solve) {
  S2Undo *undo = solve->undo;
  S2StepAdjoint *bar = &undo->bar;
  const S2Step *step = &undo->step;
  S2SolveKind kind = solve->note->kind;
  bool forces = s2_solve_traits(kind).takes_time;
  bool from_v2 = !s2_solve_traits(kind).from_v0 && !s2_solve_traits(kind).displacements;
  for (int i = 0; i < solve->note->of->island.nodes && s2_solve_traits(kind).displacements; i++) {
    solve->data.mass[3 * i] *= solve->note->of->stiffness;
  }
  s2_gear_join(step, &solve->note->of->island, solve->assembly->problem.nodes, solve->data.mass);
  for (int i = 0; i < solve->note->of->island.nodes; i++) {
    int32_t slot = solve->note->of->island.node[i];
    const S2Body *body = &undo->world->bodies.at[slot];
    for (int c = 0; c < 3; c++) {
      int at = 3 * slot + c;
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
      if (kind == S2_SOLVE_FORCES) {
        *weight -= rhs * step->v0[at];
        bar->v0[at] -= rhs * inertial;
      }
    }
  }
}

// ---- Contacts ---------------------------------------------------------------------------------

// Row r along `direction` at a point: to the point, and to the direction.
static void row_vjp(const S2SolveUndo *solve, const S2Touch *touch, int k, S2Vec2 direction, int r,
                    S2PointBar *point, S2Vec2 *direction_bar) {
  S2Undo *undo = solve->undo;
  const S2Step *step = &undo->step;
  const int32_t slot[2] = {touch->body_a, touch->body_b};
  for (int side = 0; side < 2; side++) {
    S2Vec2 arm = side == 0 ? touch->points[k].at.point : touch->points[k].arm_b;
    double sign = side == 0 ? 1 : -1, bias = solve->data.bias[r], bar[3];
    const double j[3] = {sign * s2_cross(arm, direction), sign * direction.x, sign * direction.y};
    bool ground = step->node_of[slot[side]] == S2_GROUND;
    bool moving = ground && !s2_solve_traits(solve->note->kind).displacements;
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
static void speed_vjp(const S2SolveUndo *solve, const S2Touch *touch, int k, double bar,
                      S2PointBar *point) {
  S2Undo *undo = solve->undo;
  bool motion = solve->note->kind == S2_SOLVE_MOTION; // bisect
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
static void target_vjp(const S2SolveUndo *solve, int i, int k, double bar, S2PointBar *point,
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
    // What rests has a gap of either sign by rounding: it counts as open.
    double slop = S2_PROJECTION_TRIGGER * solve->note->of->island.length;
    double part = gap >= -slop ? 1 : baumgarte ? S2_BAUMGARTE_FACTOR : 0;
    point->gap += bar * part / h;
    undo->bar.h -= bar * part * gap / (h * h);
    break;
  }
  case S2_TARGET_ARRIVAL: // S2_ACT_REBOUND has it
    undo->more[at] += bar;
    break;
  case S2_TARGET_APPROACH:
    pair->restitution +=
        bar *
        s2_touch_velocity(touch, k, touch->points[k].at.normal,
                          solve->note->kind == S2_SOLVE_MOTION ? undo->step.v0 : undo->step.v2);
    speed_vjp(solve, touch, k, bar * touch->restitution, point);
    break;
  case S2_TARGET_MIRROR:
    speed_vjp(solve, touch, k, bar, point);
    break;
  case S2_TARGET_NORMAL:
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

static void soft_vjp(const S2SolveUndo *solve, const S2Touch *touch, int k, int r,
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
  if (solve->blend.beta < 1) { // else they are 1 whatever the world's are
    bar->gradient->alpha += to.alpha;
    bar->gradient->beta += to.beta;
  }
}

static void normal_vjp(const S2SolveUndo *solve, int i, int k, int r, S2PointBar *point,
                       S2TouchBar *pair) {
  const S2Touch *touch = &solve->touches[i];
  row_vjp(solve, touch, k, touch->points[k].at.normal, r, point, &point->normal);
  if (s2_touch_soft(touch)) {
    soft_vjp(solve, touch, k, r, point, pair);
  } else {
    target_vjp(solve, i, k, solve->data.bias[r], point, pair);
  }
}

static void tangent_vjp(const S2SolveUndo *solve, int i, int k, int r, S2PointBar *point,
                        S2TouchBar *pair) {
  const S2Touch *touch = &solve->touches[i];
  S2Vec2 bar = {0};
  row_vjp(solve, touch, k, s2_left(touch->points[k].at.normal), r, point, &bar);
  point->normal = s2_add(point->normal, s2_right(bar));
  pair->surface_speed -= solve->data.bias[r];
  if (!s2_solve_traits(solve->note->kind).normals) { // within -+ friction * bias
    double bound = solve->data.hi[r] - solve->data.lo[r];
    pair->friction += bound * solve->undo->open.choices[2 * i + k].bias;
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
static void drag_vjp(const S2SolveUndo *solve, int r, S2PointBar *point, S2TouchBar *pair, int i,
                     int k) {
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
static void stick(S2SolveUndo *solve, int i, int r) {
  const S2Note *note = solve->note;
  const S2Touch *touch = &solve->touches[i];
  const S2Choice *choice = &solve->undo->open.choices[2 * i];
  bool both = touch->count == 2 && choice[0].use && choice[1].use &&
              s2_solve_traits(note->kind).normals && s2_solve_presses(note->kind, touch) &&
              s2_solve_is_rough(note->kind, touch);
  if (both &&
      !s2_stick_vjp(&solve->assembly->problem, note->more, note->of->lambda, solve->dl_dlambda, r,
                    (solve->undo->other & S2_VJP_OTHER_SIDE) != 0, &solve->data)) {
    solve->undo->found |= S2_VJP_OTHER_SIDE;
  }
}

// Rows of the points of the note's touches, from row r on. `put` hands a point on.
void s2_solve_contacts_vjp(S2SolveUndo *solve, S2PutPoint *put) {
  const S2Note *note = solve->note;
  int r = solve->assembly->parts, drag = 0, count = note->of->island.touches;
  bool holds = s2_solve_traits(note->kind).displacements &&
               note->holds; // as in assembly: equations come first
  solve->blend = s2_contact_blend(&solve->undo->step, &note->of->island, note->kind);
  for (int at = holds ? 0 : count; at < 2 * count; at++) {
    int i = at % count;
    const S2Touch *touch = &solve->touches[i];
    S2TouchBar pair = {0};
    bool any = false;
    stick(solve, i, r);
    for (int k = 0; k < touch->count; k++) {
      bool later = holds && s2_point_held(&solve->undo->step, &touch->points[k]) != (at < count);
      if (!solve->undo->open.choices[2 * i + k].use || !s2_solve_presses(note->kind, touch) ||
          later) {
        continue;
      }
      S2PointBar point = {0};
      if (is_drag(solve->assembly, drag, 2 * i + k)) {
        drag_vjp(solve, drag++, &point, &pair, i, k);
      }
      if (s2_solve_traits(note->kind).normals) {
        normal_vjp(solve, i, k, r++, &point, &pair);
      }
      if (s2_solve_is_rough(note->kind, touch)) {
        tangent_vjp(solve, i, k, r++, &point, &pair);
      }
      put(solve, i, k, &point);
      any = true;
    }
    if (any) {
      s2_touch_material_vjp(solve->undo->world, touch, &pair, solve->undo->gradient);
    }
  }
}

// ---- Solves -----------------------------------------------------------------------------------

void s2_undo_solved_point(S2Undo *undo, int index, int touch, int k, const S2PointBar *bar) {
  S2SolveKind kind = s2_note_at(undo->notes, index)->kind;
  if (kind == S2_SOLVE_LIMITS || kind == S2_SOLVE_TURNED) { // at q1
    s2_touch_point_vjp(undo->world, &undo->open.solved[touch], k, undo->step.q1, bar, undo->bar.q1,
                       undo->gradient);
    return;
  }
  s2_undo_point(undo, index, touch, k, bar);
}

static void put_solved(S2SolveUndo *solve, int i, int k, const S2PointBar *point) {
  s2_undo_solved_point(solve->undo, solve->index, i, k, point);
}

// The adjoints of kept impulses, of those that bound friction.
static void take_impulses(S2SolveUndo *solve) {
  S2Undo *undo = solve->undo;
  const S2Note *note = solve->note;
  const S2Assembly *assembly = solve->assembly;
  int parts = assembly->parts + assembly->parts_given;
  solve->given = S2_TAKE_ZEROED(undo->arena, double, parts);
  for (int r = 0; r < parts; r++) {
    const S2JointPart *part = &assembly->part[r];
    double bar = s2_undo_impulse(undo, part->joint, part->row, part->push);
    solve->given[r] = bar;
    if (r < assembly->parts) {
      solve->dl_dlambda[r] += bar;
    }
  }
  s2_undo_contact_impulses(undo, solve->index, assembly, solve->dl_dlambda);
  solve->reaction = s2_undo_reaction(undo, note, 1);
  if (s2_solve_traits(note->kind).from_v0) { // replaced by this solve
    s2_undo_forget_joints(undo, note);
    s2_undo_forget_contacts(undo, note);
  }
  bool flows = note->kind == S2_SOLVE_MOTION || note->kind == S2_SOLVE_TURNED;
  for (int i = 0; i < assembly->parts && flows; i++) {
    const S2JointPart *part = &assembly->part[i];
    if (part->joint == S2_NONE) { // viscosity, of the same tangent impulse
      int point = 2 * note->of->touch_index[part->row / 2] + part->row % 2;
      solve->dl_dlambda[i] += undo->rubbed[point];
    }
  }
  int r = assembly->parts;
  for (int i = 0; i < note->of->island.touches && s2_solve_traits(note->kind).normals; i++) {
    const S2Touch *touch = &undo->open.touches[i];
    for (int k = 0; k < touch->count; k++) {
      if (undo->open.choices[2 * i + k].use && s2_solve_presses(note->kind, touch)) {
        int at = 2 * note->of->touch_index[i] + k;
        bool rough = s2_solve_is_rough(note->kind, touch);
        if (note->kind == S2_SOLVE_FRICTIONLESS) {
          solve->dl_dlambda[r] += undo->lean[at];
          undo->lean[at] = 0;
        } else if (flows) {
          solve->dl_dlambda[r] += undo->pushed[at];
          solve->dl_dlambda[r + rough] += rough ? undo->rubbed[at] : 0;
          undo->pushed[at] = undo->rubbed[at] = 0;
        } else if (note->kind == S2_SOLVE_IMPACT) {
          solve->dl_dlambda[r] += undo->struck[2 * at];
          solve->dl_dlambda[r + rough] += rough ? undo->struck[2 * at + 1] : 0;
        }
        r += 1 + rough;
      }
    }
  }
}

void s2_undo_solve(S2Undo *undo, int index) {
  const S2Note *note = s2_note_at(undo->notes, index);
  S2ArenaMark mark = s2_arena_mark(undo->arena);
  S2SolveUndo solve = {.undo = undo, .index = index, .note = note};
  double *now = note->into_v1 ? undo->step.v1 : undo->step.v2;
  double *bar = note->into_v1 ? undo->bar.v1 : undo->bar.v2;
  s2_undo_set_island(undo, note);
  solve.touches = undo->open.solved;
  solve.dl_dv = S2_TAKE_ZEROED(undo->arena, double, 3 * s2_solve_nodes(undo, note));
  for (int i = 0; i < note->of->island.nodes; i++) {
    int32_t at = 3 * note->of->island.node[i];
    memcpy(solve.dl_dv + 3 * i, bar + at, 3 * sizeof(double));
    memcpy(now + at, note->before != NULL ? note->before + 3 * i : undo->step.free_v + at,
           3 * sizeof(double));
    memset(bar + at, 0, 3 * sizeof(double));
  }
  const S2Remade *remade = undo->remade == NULL ? NULL : undo->remade[index];
  S2Assembly made;
  if (remade != NULL) {
    made = remade->assembly;
  } else {
    made = s2_assemble(&undo->step, s2_step_poses(&undo->step, note->kind), undo->step.touches,
                       &note->of->island, undo->open.choices, note->kind);
  }
  solve.assembly = &made;
  scale_piece(&solve);
  if (s2_solve_same_rows(&solve)) {
    solve.dl_dlambda = S2_TAKE_ZEROED(undo->arena, double, note->rows);
    take_impulses(&solve);
    bool any = s2_solve_differentiate(&solve);
    if (remade != NULL) {
      add_remade(&solve, remade, any);
    }
    if (any || remade != NULL) {
      s2_solve_bodies_vjp(&solve);
      s2_solve_contacts_vjp(&solve, put_solved);
      S2RowsAdjoint rows = {note->more,    note->of->lambda, solve.data.ja,
                            solve.data.jb, solve.data.bias,  solve.data.compliance,
                            solve.data.lo, solve.data.hi,    solve.data.rhs,
                            solve.given,   solve.reaction,   note->of->lambda};
      if (note->of->island.joints > 0) {
        s2_joint_rows_vjp(&undo->step, &note->of->island, note->kind, &made, &rows, &undo->bar);
      }
    }
  }
  s2_undo_forget_island(undo, note);
  s2_arena_rewind(undo->arena, mark);
}
