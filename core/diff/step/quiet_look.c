// Inspects a step and its solves to explain why all derivatives of a loss are 0 (quiet.h).
#include "diff/step/rattle_undo.h"
#include "diff/step/solve_undo.h"
#include "dynamics/joints/joint.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { BODY_LABEL = S2_NAME_SIZE + 8, JOINT_LABEL = S2_NAME_SIZE + 32 };

static bool quiet_new(const S2Quiet *quiet, S2QuietReason reason) {
  return quiet->text[reason][0] == '\0';
}

static void quiet_of_body(const S2Undo *undo, S2QuietReason reason, int32_t slot,
                          const char *format) {
  char label[BODY_LABEL];
  if (quiet_new(undo->gradient->quiet, reason)) {
    s2_body_label(undo->world, slot, label);
    snprintf(undo->gradient->quiet->text[reason], S2_QUIET_TEXT, format, label);
  }
}

#define UNLINKED                                                                                   \
  "the parameters affect body %s, but the loss depends on body %s, and nothing connects the two"

static void quiet_of_pair(const S2Undo *undo, S2QuietReason reason, int32_t a, int32_t b,
                          const char *format) {
  char label_a[BODY_LABEL], label_b[BODY_LABEL];
  if (quiet_new(undo->gradient->quiet, reason)) {
    s2_body_label(undo->world, a, label_a);
    s2_body_label(undo->world, b, label_b);
    snprintf(undo->gradient->quiet->text[reason], S2_QUIET_TEXT, format, label_a, label_b);
  }
}

static void quiet_of_joint(const S2Undo *undo, S2QuietReason reason, int32_t slot,
                           const char *format) {
  char label[JOINT_LABEL];
  if (quiet_new(undo->gradient->quiet, reason)) {
    s2_joint_label(undo->world, slot, label);
    snprintf(undo->gradient->quiet->text[reason], S2_QUIET_TEXT, format, label);
  }
}

// ---- A step -----------------------------------------------------------------------------------

static bool quiet_any(const void *numbers, size_t bytes) {
  const double *x = numbers;
  for (size_t i = 0; i < bytes / sizeof *x; i++) {
    if (x[i] != 0) {
      return true;
    }
  }
  return false;
}

static bool quiet_tracks(const S2WorldGradient *all, int32_t slot) {
  const S2WorldGradient *t = all->tracked;
  size_t three = 3 * sizeof(double);
  return slot < t->slots &&
         (quiet_any(t->q + 3 * slot, three) || quiet_any(t->v + 3 * slot, three) ||
          quiet_any(t->f + 3 * slot, three) || quiet_any(&t->body[slot], sizeof t->body[slot]));
}

static bool quiet_tracks_material(const S2WorldGradient *all, int32_t slot) {
  return S2_TRACKS_BODY(all, slot, friction) || S2_TRACKS_BODY(all, slot, restitution) ||
         S2_TRACKS_BODY(all, slot, surface_speed) ||
         S2_TRACKS_BODY(all, slot, contact_compliance) ||
         S2_TRACKS_BODY(all, slot, contact_damping) || S2_TRACKS_BODY(all, slot, contact_viscosity);
}

// Called when the sweep reaches the last act of a step. The adjoint then contains only the effect
// of later steps.
void s2_quiet_look_at_step(S2Undo *undo) {
  const S2WorldGradient *all = undo->gradient;
  S2Quiet *quiet = all->quiet;
  if (quiet == NULL || all->tracked == NULL) {
    return;
  }
  int32_t entered = S2_NONE, asked = S2_NONE;
  // Mark bodies that depend directly on parameters, and bodies that the loss depends on.
  for (int i = 0; i < undo->world->order.count; i++) {
    int32_t slot = undo->world->order.at[i];
    bool has = quiet_any(all->q + 3 * slot, 3 * sizeof(double)) ||
               quiet_any(all->v + 3 * slot, 3 * sizeof(double));
    bool tracks = quiet_tracks(all, slot);
    quiet->linked |= has && tracks;
    entered = tracks && entered == S2_NONE ? slot : entered;
    asked = has && asked == S2_NONE ? slot : asked;
    if (quiet_tracks_material(all, slot)) {
      quiet_of_body(undo, S2_QUIET_UNTOUCHED, slot,
                    "body %s touches nothing, so its material has no effect");
    }
    if (S2_TRACKS_BODY(all, slot, restitution)) {
      quiet_of_body(undo, S2_QUIET_UNSTRUCK, slot,
                    "nothing strikes body %s, so its restitution has no effect");
    }
  }
  // Mark joints in the same way.
  for (int i = 0; i < undo->world->joint_order.count; i++) {
    int32_t slot = undo->world->joint_order.at[i];
    const S2JointGradient *t = slot < all->tracked->joints ? &all->tracked->joint[slot] : NULL;
    quiet->linked |= t != NULL && quiet_any(t, sizeof *t);
    if (t != NULL && (t->limit_lo != 0 || t->limit_hi != 0)) {
      quiet_of_joint(undo, S2_QUIET_LIMIT, slot,
                     "%s does not reach its limits, so they have no effect");
    }
  }
  // Gravity and dt affect all bodies.
  const S2WorldGradient *t = all->tracked;
  quiet->linked |= t->gravity.x != 0 || t->gravity.y != 0 || t->dt != 0;
  if (entered != S2_NONE && asked != S2_NONE) {
    quiet_of_pair(undo, S2_QUIET_UNLINKED, entered, asked, UNLINKED);
  }
}

// The loss depends on the state of an island after a step by a program. Returns true if a body of
// the island moves in the step.
static bool quiet_island_moves(const S2ProgramIsland *island, const double *record,
                               const S2WorldGradient *all) {
  const S2Table *table = &island->table;
  const double *v = record + s2_table_head(table) + 3 * table->nodes; // after the first piece
  double still = 1e-10 * island->constants.speed;
  bool has = false, moves = false;
  for (int i = 0; i < table->nodes; i++) {
    has |= quiet_any(all->q + 3 * island->node[i], 3 * sizeof(double)) ||
           quiet_any(all->v + 3 * island->node[i], 3 * sizeof(double));
    moves |=
        fmax(fabs(v[3 * i]) * island->constants.length, hypot(v[3 * i + 1], v[3 * i + 2])) > still;
  }
  return has && moves;
}

void s2_quiet_look_at_record(const S2Program *program, const S2RecordedStep *step,
                             const S2WorldGradient *all) {
  S2Quiet *quiet = all->quiet;
  if (quiet == NULL || all->tracked == NULL) {
    return;
  }
  int entered = -1, asked = -1;
  for (int i = 0; i < program->bodies; i++) {
    int32_t slot = program->slot[i];
    bool has = quiet_any(all->q + 3 * slot, 3 * sizeof(double)) ||
               quiet_any(all->v + 3 * slot, 3 * sizeof(double));
    bool tracks = quiet_tracks(all, slot);
    quiet->linked |= has && tracks;
    entered = tracks && entered < 0 ? i : entered;
    asked = has && asked < 0 ? i : asked;
  }
  // Bodies without joints move unless no force has acted on them.
  for (int i = 0; i < program->free; i++) {
    quiet->moved |= quiet_any(all->q + 3 * program->free_slot[i], 3 * sizeof(double)) ||
                    quiet_any(all->v + 3 * program->free_slot[i], 3 * sizeof(double));
  }
  for (int i = 0; i < program->islands; i++) {
    quiet->moved |= quiet_island_moves(&program->island[i], step->island[i], all);
  }
  if (entered >= 0 && asked >= 0 && quiet_new(quiet, S2_QUIET_UNLINKED)) {
    snprintf(quiet->text[S2_QUIET_UNLINKED], S2_QUIET_TEXT, UNLINKED, program->label[entered],
             program->label[asked]);
  }
}

static double quiet_speed(const double *v, double reach) {
  return fmax(fabs(v[0]) * reach, hypot(v[1], v[2]));
}

void s2_quiet_look_at_flight(const S2Undo *undo) {
  // as a fraction of the velocity change due to forces in the step; smaller values are rounding
  // errors
  static const double still = 1e-10;
  const S2WorldGradient *all = undo->gradient;
  if (all->quiet == NULL || all->tracked == NULL) {
    return;
  }
  double largest = 0;
  for (int i = 0; i < undo->world->order.count; i++) {
    int32_t slot = undo->world->order.at[i];
    const double *v = undo->step.v0 + 3 * slot, *u = undo->step.free_v + 3 * slot;
    const double change[3] = {u[0] - v[0], u[1] - v[1], u[2] - v[2]};
    largest = fmax(largest, quiet_speed(change, undo->world->bodies.at[slot].reach));
  }
  for (int i = 0; i < undo->world->order.count; i++) {
    int32_t slot = undo->world->order.at[i];
    bool has = quiet_any(all->q + 3 * slot, 3 * sizeof(double)) ||
               quiet_any(all->v + 3 * slot, 3 * sizeof(double));
    double speed = quiet_speed(undo->step.v0 + 3 * slot, undo->world->bodies.at[slot].reach);
    all->quiet->moved |= has && speed > still * largest;
  }
}

// ---- A solve ----------------------------------------------------------------------------------

// Inspects a row of joint `slot`. `full` is true if its force is at its bound, `pushes` if its
// force is not 0.
static void quiet_look_at_joint_row(const S2Undo *undo, int32_t slot, int row, bool full,
                                    bool pushes) {
  const S2WorldGradient *all = undo->gradient;
  // A reason holds unless a row contradicts it.
  if (row == S2_JOINT_MOTOR && full) {
    all->quiet->denied[S2_QUIET_MOTOR_IDLE] = true;
    if (S2_TRACKS_JOINT(all, slot, motor_speed)) {
      quiet_of_joint(undo, S2_QUIET_MOTOR_FULL, slot,
                     "the motor of %s is at its bound, so its speed has no effect");
    }
  } else if (row == S2_JOINT_MOTOR) {
    all->quiet->denied[S2_QUIET_MOTOR_FULL] = true;
    if (S2_TRACKS_JOINT(all, slot, motor_max)) {
      quiet_of_joint(undo, S2_QUIET_MOTOR_IDLE, slot,
                     "the motor of %s stays below its bound, so the bound has no "
                     "effect");
    }
  } else if (row == S2_JOINT_DRY && full) {
    all->quiet->denied[S2_QUIET_DRY] = true;
  } else if (row == S2_JOINT_DRY && S2_TRACKS_JOINT(all, slot, friction)) {
    quiet_of_joint(undo, S2_QUIET_DRY, slot,
                   "%s does not move: its dry friction holds it, and a little more or less "
                   "friction would hold it too");
  } else if ((row == S2_JOINT_LO || row == S2_JOINT_HI) && pushes) {
    all->quiet->denied[S2_QUIET_LIMIT] = true;
  }
}

// The masses of an island, and the adjoints of its velocities and impulses. Each array has 3
// numbers per node.
typedef struct QuietBars {
  const double *v, *push, *mass;
} QuietBars;

// Returns true if, within rounding, the loss depends on the velocity of a body along `t`, but not
// on impulses on the body.
static bool quiet_is_held(const S2Undo *undo, const QuietBars *bars, int32_t slot, S2Vec2 t) {
  static const double rounding = 1e-9;
  int node = undo->step.node_of[slot];
  if (node == S2_GROUND) {
    return false;
  }
  const double *bar = bars->v + 3 * node, *push = bars->push + 3 * node;
  const double *mass = bars->mass + 3 * node;
  double asked = fabs(t.x * bar[1] + t.y * bar[2]), most = 0;
  for (int c = 0; c < 3; c++) {
    most = fmax(most, mass[c] * fabs(push[c]));
  }
  return asked > rounding * hypot(bar[1], bar[2]) && most <= rounding * asked;
}

// A contact point with a normal force shows that materials have an effect, unless it sticks.
// Friction below its bound has no effect. It may even hold the body against all changes of the
// parameters.
static void quiet_look_at_point(const S2Undo *undo, const S2Touch *touch, int k, bool sticks,
                                const QuietBars *bars) {
  const S2WorldGradient *all = undo->gradient;
  int32_t a = touch->body_a, b = touch->body_b;
  bool material = quiet_tracks_material(all, a) || quiet_tracks_material(all, b) ||
                  S2_TRACKS_PIECE(all, touch->shape_a, friction) ||
                  S2_TRACKS_PIECE(all, touch->shape_b, friction);
  all->quiet->denied[S2_QUIET_UNTOUCHED] |= material;
  // A sliding point needs no message: its friction has an effect.
  if (!sticks) {
    return;
  }
  bool friction = S2_TRACKS_BODY(all, a, friction) || S2_TRACKS_BODY(all, b, friction);
  if (friction) {
    bool ground = undo->step.node_of[a] == S2_GROUND;
    quiet_of_pair(undo, S2_QUIET_STICKS, ground ? b : a, ground ? a : b,
                  "body %s sticks to body %s: a little more or less friction has no effect");
  }
  S2Vec2 t = s2_left(touch->points[k].at.normal);
  bool of_a = quiet_is_held(undo, bars, a, t);
  if (of_a || quiet_is_held(undo, bars, b, t)) {
    quiet_of_pair(undo, S2_QUIET_HELD, of_a ? a : b, of_a ? b : a,
                  "body %s sticks to body %s: friction holds it against all changes by the "
                  "parameters (gradient = \"smooth\" gives a smoothed derivative here)");
  }
}

static void quiet_look_at_solved_point(const S2SolveUndo *solve, int i, int k, int normal) {
  S2SolveKind kind = solve->note->solve.kind;
  const S2Touch *touch = &solve->touches[i];
  const double *lambda = solve->note->of->lambda;
  if (!(lambda[normal] > 0)) {
    return;
  }
  QuietBars bars = {solve->dl_dv, solve->data.rhs, solve->assembly->problem.mass};
  bool rough = s2_solve_is_rough(kind, touch);
  bool slides = !rough || fabs(lambda[normal + 1]) >= touch->friction * lambda[normal] * (1 - 1e-9);
  solve->undo->gradient->quiet->denied[S2_QUIET_UNSTRUCK] |= kind == S2_SOLVE_IMPACT;
  quiet_look_at_point(solve->undo, touch, k, !slides, &bars);
}

void s2_quiet_look_at_solve(const S2SolveUndo *solve) {
  const S2Undo *undo = solve->undo;
  const S2Note *note = solve->note;
  const S2Island *island = &note->of->island;
  if (undo->gradient->quiet == NULL || undo->gradient->tracked == NULL) {
    return;
  }
  for (int i = 0; i < island->nodes; i++) {
    const double *v = note->solve.x + 3 * i;
    double fast = fmax(fabs(v[0]) * island->length, hypot(v[1], v[2]));
    undo->gradient->quiet->moved |=
        fast > solve->still && quiet_any(solve->dl_dv + 3 * i, 3 * sizeof(double));
  }
  for (int r = 0; r < solve->assembly->parts; r++) {
    const S2JointPart *part = &solve->assembly->part[r];
    const S2Row *row = &solve->assembly->problem.row[r];
    double lambda = note->of->lambda[r];
    bool full = lambda >= row->hi * (1 - 1e-9) || lambda <= row->lo * (1 - 1e-9);
    if (part->joint != S2_NONE) {
      quiet_look_at_joint_row(undo, part->joint, part->row, full, lambda > 0);
    }
  }
  // Visit the normal row of each point, followed by its friction row.
  int r = solve->assembly->parts;
  for (int i = 0; i < 2 * island->touches && s2_solve_traits(note->solve.kind).normals; i++) {
    const S2Touch *touch = &solve->touches[i / 2];
    if (i % 2 < touch->count && undo->open.choices[i].use &&
        s2_solve_presses(note->solve.kind, touch)) {
      quiet_look_at_solved_point(solve, i / 2, i % 2, r);
      r += 1 + s2_solve_is_rough(note->solve.kind, touch);
    }
  }
}

// ---- A piece of the two-stage flow -----------------------------------------------------------

void s2_quiet_look_at_piece(const S2RattlePiece *piece) {
  const S2Rattle *rattle = &piece->rattle;
  const S2Undo *undo = piece->undo;
  if (undo->gradient->quiet == NULL || undo->gradient->tracked == NULL) {
    return;
  }
  double still = 1e-10 * rattle->speed; // smaller values are rounding errors
  for (int i = 0; i < rattle->nodes; i++) {
    undo->gradient->quiet->moved |=
        quiet_speed(rattle->u + 3 * i, rattle->island->length) > still &&
        quiet_any(piece->u_bar + 3 * i, 3 * sizeof(double));
  }
  QuietBars bars = {piece->u_bar, piece->p, rattle->inertial};
  for (int r = 0; r < rattle->rows; r++) {
    const S2RattleTerm *term = &rattle->term[r];
    bool full = rattle->first[r] != S2_RATTLE_HELD, pushes = rattle->l[r] + rattle->k[r] > 0;
    if (term->source == S2_RATTLE_OF_GAP && pushes) {
      bool rough = r + 1 < rattle->rows && rattle->term[r + 1].source == S2_RATTLE_OF_SLIP;
      bool sticks = rough && rattle->first[r + 1] == S2_RATTLE_HELD;
      quiet_look_at_point(undo, &rattle->at0.touch[term->place], term->index, sticks, &bars);
    } else if (!s2_rattle_of_contact(term)) {
      quiet_look_at_joint_row(undo, rattle->island->joint[term->place], term->index, full, pushes);
    }
  }
}
