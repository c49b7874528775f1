// Steps an island on which only joints act, by two stages (rattle.h).
// The substep is split into short pieces to keep the rotations of bodies small.
#include "dynamics/rattle/rattle.h"
#include "dynamics/audit/audit.h"
#include "dynamics/rattle/linkage.h"
#include "dynamics/rattle/rattle_numbers.h"
#include "dynamics/small/small.h"
#include "dynamics/step/acted.h"
#include "dynamics/step/islands.h"
#include "dynamics/step/solve.h"
#include "dynamics/trace/notes.h"

#include <string.h>

// Largest number of pieces of a substep. With this number of pieces, any rotation is accepted if
// the stages are solved, for example of wheels on their hubs.
enum { PIECES = S2_RATTLE_PIECES };
// ASKS: maximum number of evaluations of force laws in stage 1 until force and velocity agree.
// SLOW: number of evaluations after which finite differences are used.
enum { ASKS = 40, SLOW = 3 };
// Fractions of a force. AGREED: error below which a law agrees with the velocity. NEAR: error above
// which a law is held at its initial value.
static const double AGREED = 1e-14, NEAR = 1e-8;
// Steps of finite differences, as fractions of the velocity (laws) and of the length of a piece.
static const double DIFFERENCE = 1e-6, RISES = 1e-3;
static const double LATEST = 1e-9; // a limit that closes in this last part does not end the piece

// STIFF: forces turn too fast, even with the largest number of pieces.
typedef enum Outcome { SOLVED, TOO_LONG, STIFF, ABORTED } Outcome;

// ---- Creating the stages -----------------------------------------------------------------------

static S2RattleRows new_rows(S2Arena *arena, int rows, int touches) {
  return (S2RattleRows){S2_TAKE(arena, double, rows), S2_TAKE(arena, double, rows),
                        S2_TAKE_ZEROED(arena, S2RowSides, rows), S2_TAKE(arena, S2Touch, touches)};
}

static void set_rounding(S2Rattle *rattle) {
  double far = 0, length = rattle->island->length;
  for (int i = 0; i < rattle->nodes; i++) {
    const double *q = rattle->q0 + 3 * rattle->island->node[i];
    far = fmax(far, fmax(fabs(q[1]), fabs(q[2])));
  }
  rattle->rounding = S2_RATTLE_ROUNDED * (length + far);
  rattle->placed = fmax(S2_PROJECTION_TRIGGER * length, 100 * rattle->rounding);
}

static int count_laws(const S2Step *step, const S2Island *island) {
  int count = 0;
  for (int i = 0; i < island->nodes && step->laws > 0; i++) {
    count += s2_step_lawful(step, island->node[i]);
  }
  return count;
}

// `touches`: number of touches that may have constraint rows. Each touch has two points with
// friction and viscosity.
static S2Rattle rattle_make(S2Step *step, S2Island *island, const S2LawFrame *frame, int touches) {
  S2Arena *arena = step->arena;
  int rows = S2_JOINT_ROWS * island->joints + 6 * touches, n = 3 * island->nodes;
  int slots = 3 * step->world->bodies.count;
  double *numbers = S2_TAKE_ZEROED(arena, double, 7 * n + 2 * rows);
  // One block for the arrays of nodes and rows.
  S2Rattle rattle = {
      .step = step,
      .island = island,
      .frame = frame,
      .nodes = island->nodes,
      .closes = S2_NONE,
      .tolerance = fmin(fmax(step->world->kept.def.tolerance, S2_RATTLE_FINEST), S2_RATTLE_SOLVED),
      .term = S2_TAKE(arena, S2RattleTerm, rows),
      .row_of = (int32_t(*)[S2_JOINT_ROWS])S2_TAKE(arena, int32_t, rows),
      .inertial = numbers,
      .damping = numbers + n,
      .v0 = numbers + 2 * n,
      .u = numbers + 3 * n,
      .v1 = numbers + 4 * n,
      .force = numbers + 5 * n,
      .slope = numbers + 6 * n,
      .kept = S2_TAKE_ZEROED(arena, double, rows),
      .guess = S2_TAKE(arena, double, rows),
      .l = numbers + 7 * n,
      .k = numbers + 7 * n + rows,
      .q0 = S2_TAKE(arena, double, slots),
      .q1 = S2_TAKE(arena, double, slots),
      .late = S2_TAKE_ZEROED(arena, bool, rows),
      .point = S2_TAKE(arena, S2TouchPoint, touches > 0 ? rows : 0),
      .pushed = S2_TAKE(arena, S2TouchPoint, touches > 0 ? rows : 0),
      .first = S2_TAKE(arena, S2RattleState, rows),
      .second = S2_TAKE(arena, S2RattleState, rows),
      .pattern_of = S2_TAKE(arena, int32_t, rows),
      .touch = S2_TAKE(arena, int32_t, touches),
      .at0 = new_rows(arena, rows, touches),
      .at1 = new_rows(arena, rows, touches),
      .arrival = s2_rattle_new_arrival(step, island, rows),
  };
  for (int i = 0; i < n; i++) {
    int32_t slot = island->node[i / 3];
    const S2Body *body = &step->world->bodies.at[slot];
    bool turns = i % 3 == 0;
    rattle.inertial[i] = turns ? body->inertia : body->mass;
    rattle.damping[i] = rattle.inertial[i] * (turns ? body->angular_damping : body->linear_damping);
    rattle.q0[3 * slot + i % 3] = frame->q[3 * slot + i % 3];
    rattle.v0[i] = frame->v[3 * slot + i % 3];
  }
  set_rounding(&rattle);
  return rattle;
}

// Moves the ground at its velocity, from its pose at the start of the substep.
static void place_slot(const S2Rattle *rattle, int32_t slot, double since, double *q) {
  const S2Step *step = rattle->step;
  for (int c = 3 * slot; slot != S2_NONE && c < 3 * slot + 3; c++) {
    if (step->node_of[slot] == S2_GROUND) {
      double way = since * step->free_v[c];
      q[c] = way != 0 ? rattle->frame->q[c] + way : rattle->frame->q[c]; // preserves -0
    }
  }
}

static void rattle_place_ground(const S2Rattle *rattle, double since, double *q) {
  const S2World *world = rattle->step->world;
  for (int i = 0; i < rattle->touches; i++) {
    place_slot(rattle, rattle->at0.touch[i].body_a, since, q);
    place_slot(rattle, rattle->at0.touch[i].body_b, since, q);
  }
  for (int i = 0; i < rattle->island->joints; i++) {
    const S2Joint *joint = &world->joints.at[rattle->island->joint[i]];
    const int32_t of[2] = {joint->joint_a, joint->joint_b}; // of gears
    place_slot(rattle, joint->a, since, q);
    place_slot(rattle, joint->b, since, q);
    for (int k = 0; k < 2; k++) {
      place_slot(rattle, of[k] == S2_NONE ? S2_NONE : world->joints.at[of[k]].a, since, q);
      place_slot(rattle, of[k] == S2_NONE ? S2_NONE : world->joints.at[of[k]].b, since, q);
    }
  }
}

// Finds the late rows: limits that are initially open, and contacts that are initially away from
// their surface. They get their impulse when they close, so stage 1 pushes along J1. If the rows
// turn, an impulse along J0 would add energy.
static void find_late(S2Rattle *rattle) {
  for (int r = 0; r < rattle->rows; r++) {
    // A compliant contact is late if it is open at the start and its spring is too stiff for the
    // trapezoidal rule.
    if (s2_rattle_of_contact(&rattle->term[r])) {
      int normal = s2_rattle_normal(rattle, r);
      const S2RattleTerm *term = &rattle->term[normal];
      double gap = rattle->at0.value[normal], off = term->soft ? gap : fabs(gap);
      rattle->late[r] = !s2_rattle_halved(term) && off > S2_TOUCH_SLOP * rattle->island->length;
      continue;
    }
    double slop =
        S2_TOUCH_SLOP * (s2_rattle_turns(&rattle->at0.side[r]) ? 1 : rattle->island->length);
    rattle->late[r] = rattle->term[r].law == S2_RATTLE_LIMIT && rattle->at0.value[r] > slop;
  }
}

// Sets the velocity scale V and the accuracy that follows from it. V is the maximum of the island's
// speed and the speeds that drives cause.
static void set_speed(S2Rattle *rattle) {
  double length = rattle->island->length;
  rattle->speed = s2_island_speed(rattle->step, rattle->island);
  for (int r = 0; r < rattle->rows; r++) {
    const S2RattleTerm *term = &rattle->term[r];
    double asked = fabs(term->bias - term->speed);
    if (asked == 0) {
      continue;
    }
    S2Row row = s2_rattle_row(rattle, r, &rattle->at0.side[r]);
    double w = s2_rattle_row_mobility(rattle, &row);
    asked = w > 0 ? fmin(asked * w / (w + term->compliance), term->most * rattle->h * w) : 0;
    bool turns = s2_rattle_turns(&rattle->at0.side[r]);
    rattle->speed = fmax(rattle->speed, asked * (turns ? length : 1));
  }
  double way = S2_RATTLE_WAY * rattle->tolerance * rattle->speed * rattle->h;
  double enough = fmin(S2_RATTLE_PLACE * length, way);
  rattle->enough = fmax(enough, rattle->rounding);
}

// ---- Forces ------------------------------------------------------------------------------------

// Sets the forces of a stage. They are the forces that are constant over the step plus the forces
// of laws, `law` (3 per slot), which is NULL if there are no laws.
static void set_force(const S2Rattle *rattle, const double *law) {
  const S2Step *step = rattle->step;
  for (int i = 0; i < 3 * rattle->nodes; i++) {
    int32_t slot = rattle->island->node[i / 3];
    int at = 3 * slot + i % 3;
    bool lawful = law != NULL && s2_step_lawful(step, slot);
    rattle->force[i] = lawful ? step->held[at] + law[at] : step->force[at];
  }
}

// Evaluates the laws at the poses q (3 per slot) and the velocities v (3 per node). `since`: time
// from the start of the substep, s.
static bool ask_laws(const S2Rattle *rattle, const double *q, const double *v, double since,
                     double *law, S2LawAnswer *answers) {
  S2Step *step = rattle->step;
  S2ArenaMark mark = s2_arena_mark(step->arena);
  int n = 3 * step->world->bodies.count;
  double *all_q = s2_arena_copy(step->arena, rattle->frame->q, n);
  double *all_v = s2_arena_copy(step->arena, rattle->frame->v, n);
  for (int i = 0; i < 3 * rattle->nodes; i++) {
    int at = 3 * rattle->island->node[i / 3] + i % 3;
    all_q[at] = q[at];
    all_v[at] = v[i];
  }
  S2LawFrame frame = *rattle->frame;
  frame.done = since;
  bool going = s2_laws_look(step, rattle->island, &frame, all_q, all_v, law, answers);
  // The stored answers must contain the total force.
  for (int i = 0; i < rattle->nodes && answers != NULL && going; i++) {
    int32_t slot = rattle->island->node[i];
    if (s2_step_lawful(step, slot)) {
      for (int c = 0; c < 3; c++) {
        answers->change[c] = step->held[3 * slot + c] + law[3 * slot + c];
      }
      answers->held = rattle->laws_held;
      s2_note_terms(step->world->notes, answers++);
    }
  }
  s2_arena_rewind(step->arena, mark);
  return going;
}

// Computes `slope`, the damping of each law, by finite differences at the velocities u. This is
// minus the derivative of the law with respect to the velocity of its own body.
static bool rattle_find_slopes(const S2Rattle *rattle, const double *law) {
  S2Step *step = rattle->step;
  S2ArenaMark mark = s2_arena_mark(step->arena);
  double *more = S2_TAKE(step->arena, double, 3 * step->world->bodies.count);
  bool going = true;
  for (int i = 0; i < 3 * rattle->nodes && going; i++) {
    int at = 3 * rattle->island->node[i / 3] + i % 3;
    if (s2_step_lawful(step, rattle->island->node[i / 3])) {
      double was = rattle->u[i], by = DIFFERENCE * fmax(fabs(was), DIFFERENCE * rattle->speed);
      rattle->u[i] = was + by;
      going = ask_laws(rattle, rattle->q0, rattle->u, rattle->done, more, NULL);
      rattle->u[i] = was;
      rattle->slope[i] = fmax(0, -(more[at] - law[at]) / by);
    }
  }
  s2_arena_rewind(step->arena, mark);
  return going;
}

// Returns the relative difference between the current forces of laws and those with which stage 1
// was solved.
static double laws_off(const S2Rattle *rattle, const double *was, const double *law) {
  double off = 0;
  for (int i = 0; i < rattle->nodes; i++) {
    int32_t slot = rattle->island->node[i];
    for (int c = 0; c < 3 && s2_step_lawful(rattle->step, slot); c++) {
      int at = 3 * slot + c;
      double size = fabs(rattle->step->held[at]) + fabs(was[at]) + fabs(law[at]);
      off = size > 0 ? fmax(off, fabs(law[at] - was[at]) / size) : off;
    }
  }
  return off;
}

// Solves stage 1 repeatedly with f(q0, u), until the laws that depend on velocities agree with u.
// Holds the laws at their initial values if they do not agree.
static Outcome first_with_laws(S2Rattle *rattle, double *law) {
  S2Step *step = rattle->step;
  int n = 3 * step->world->bodies.count;
  double *start = s2_arena_copy(step->arena, law, n), *was = S2_TAKE(step->arena, double, n);
  double off = 1, before = 1;
  rattle->laws_held = false;
  memset(rattle->slope, 0, sizeof(double) * (size_t)(3 * rattle->nodes));
  set_force(rattle, law);
  for (int pass = 0; pass < ASKS && off > AGREED; pass++) {
    if (!s2_rattle_first(rattle)) {
      return TOO_LONG;
    }
    memcpy(was, law, sizeof(double) * (size_t)n);
    if (!ask_laws(rattle, rattle->q0, rattle->u, rattle->done, law, NULL)) {
      return ABORTED;
    }
    before = off;
    off = laws_off(rattle, was, law);
    if (pass == SLOW && off > AGREED && !rattle_find_slopes(rattle, law)) {
      return ABORTED;
    }
    set_force(rattle, law);
    // the total force is then f(u) + slope (u - next u)
    for (int i = 0; i < 3 * rattle->nodes; i++) {
      rattle->force[i] += rattle->slope[i] * rattle->u[i];
    }
    if (off <= NEAR && off >= before) { // the law is not smooth enough for a smaller error
      return SOLVED;
    }
  }
  if (off <= NEAR) {
    return SOLVED;
  }
  rattle->laws_held = true;
  memcpy(law, start, sizeof(double) * (size_t)n);
  memset(rattle->slope, 0, sizeof(double) * (size_t)(3 * rattle->nodes));
  set_force(rattle, law);
  return s2_rattle_first(rattle) ? SOLVED : TOO_LONG;
}

// ---- Recording for the derivative --------------------------------------------------------------

// Records the laws and their slopes in both stages.
static bool record_laws(S2Rattle *rattle, S2LawAnswer *answers) {
  S2Arena *arena = rattle->step->arena;
  S2ArenaMark mark = s2_arena_mark(arena);
  double *law = S2_TAKE(arena, double, 3 * rattle->step->world->bodies.count);
  int count = count_laws(rattle->step, rattle->island);
  const double *v = rattle->laws_held ? rattle->v0 : rattle->u;
  bool going = ask_laws(rattle, rattle->q0, v, rattle->done, law, answers);
  rattle->laws_held = false; // stage 2 evaluates the laws at u
  going = going &&
          ask_laws(rattle, rattle->q1, rattle->u, rattle->done + rattle->h, law, answers + count);
  s2_arena_rewind(arena, mark);
  return going;
}

S2Rattle s2_rattle_again(S2Step *step, S2Island *island, const S2LawFrame *frame,
                         const S2RattleRecord *record, const S2Choice *choices) {
  S2Rattle rattle = rattle_make(step, island, frame, choices == NULL ? 0 : island->touches);
  if (choices != NULL) {
    s2_rattle_choose(&rattle, choices);
  }
  rattle.h = record->h;
  rattle.met = rattle.closes = record->met;
  rattle.done = record->done;
  // Restore the recorded numbers, and compute all other numbers from them.
  for (int i = 0; i < 3 * rattle.nodes; i++) {
    int at = 3 * island->node[i / 3] + i % 3;
    rattle.q0[at] = record->q0[i];
    rattle.q1[at] = record->q0[i] + record->h * record->u[i];
    rattle.v0[i] = record->v0[i];
    rattle.u[i] = record->u[i];
    rattle.v1[i] = record->v1[i];
    rattle.force[i] = step->force[at];
  }
  rattle.speed = s2_island_speed(step, island);
  rattle_place_ground(&rattle, rattle.done, rattle.q0);
  rattle_place_ground(&rattle, rattle.done + rattle.h, rattle.q1);
  s2_rattle_make_terms(&rattle);
  s2_rattle_set_grounds(&rattle);
  s2_rattle_measure(&rattle, rattle.q0, rattle.done, &rattle.at0);
  s2_rattle_soften_contacts(&rattle);
  s2_rattle_measure(&rattle, rattle.q1, rattle.done + rattle.h, &rattle.at1);
  find_late(&rattle);
  s2_rattle_recall(&rattle, record);
  s2_rattle_find_repeated(&rattle);
  return rattle;
}

// ---- A piece -----------------------------------------------------------------------------------

// Keeps the island at rest, with its current impulses.
static void rattle_stay(S2Rattle *rattle) {
  rattle->rests = true;
  memset(rattle->u, 0, sizeof(double) * (size_t)(3 * rattle->nodes));
  memset(rattle->v1, 0, sizeof(double) * (size_t)(3 * rattle->nodes));
  memcpy(rattle->k, rattle->l, sizeof(double) * (size_t)rattle->rows);
  for (int r = 0; r < rattle->rows; r++) { // for the derivative: the states that stage 2 would set
    const S2RattleTerm *term = &rattle->term[r];
    bool open = term->law >= S2_RATTLE_LIMIT && !s2_rattle_closed(rattle, r);
    bool known = open || s2_rattle_halved(term) || s2_rattle_other_stage(term, true);
    rattle->second[r] = known ? S2_RATTLE_KNOWN : rattle->first[r];
    if (term->source == S2_RATTLE_OF_GROUND && term->index >= S2_GROUND_FIRST) {
      // A different row has the impulse of both stages (rattle_ground.c).
      int other = rattle->row_of[term->place][term->index - S2_GROUND_FIRST + S2_GROUND_SECOND];
      rattle->k[other] = 2 * rattle->l[r];
      rattle->k[r] = -rattle->l[r];
      rattle->second[other] = rattle->first[r];
    }
  }
  for (int i = 0; i < rattle->nodes; i++) {
    int32_t slot = rattle->island->node[i];
    memcpy(rattle->q1 + 3 * slot, rattle->q0 + 3 * slot, 3 * sizeof(double));
  }
}

static Outcome second_with_laws(S2Rattle *rattle, double *law) {
  if (law != NULL) {
    if (!ask_laws(rattle, rattle->q1, rattle->u, rattle->done + rattle->h, law, NULL)) {
      return ABORTED;
    }
    set_force(rattle, law);
  }
  return s2_rattle_second(rattle) ? SOLVED : TOO_LONG;
}

// `law` contains the forces of laws at q0 and v0. It receives the forces at q1 and u. NULL if no
// law acts.
static Outcome solve_stages(S2Rattle *rattle, double *law, bool last) {
  rattle->rests = rattle->arrival.any = false;
  set_force(rattle, law);
  if (law == NULL && s2_rattle_rests(rattle)) {
    rattle_stay(rattle);
    return SOLVED;
  }
  Outcome outcome = SOLVED;
  if (law != NULL) {
    outcome = first_with_laws(rattle, law);
  } else if (!s2_rattle_first(rattle)) {
    outcome = TOO_LONG;
  }
  bool splits = outcome == SOLVED && !last;
  if (outcome != SOLVED ||
      (splits && (s2_rattle_turns_too_far(rattle) || s2_rattle_loads_turn(rattle)))) {
    return outcome == ABORTED ? ABORTED : TOO_LONG;
  }
  if (last && rattle->kept != NULL && s2_rattle_loads_turn(rattle)) {
    return STIFF;
  }
  outcome = rattle->looks ? SOLVED : second_with_laws(rattle, law);
  bool brings = outcome == SOLVED && splits && !rattle->looks && s2_rattle_rows_bring(rattle);
  return brings ? TOO_LONG : outcome;
}

// Sets l to the guess, the impulses for the previous length scaled to the current length. Ground
// friction does not use the guess, because its rows change direction.
static void recall_guess(S2Rattle *rattle) {
  for (int r = 0; r < rattle->rows && rattle->grounds == 0; r++) {
    rattle->l[r] = rattle->guess[r];
  }
}

// Solves a piece from q0 and v0 to q1 and v1. `last`: true to accept any rotation of bodies.
static Outcome solve_piece(S2Rattle *rattle, double *law, bool last) {
  S2Step *step = rattle->step;
  double elapsed = rattle->done;
  rattle_place_ground(rattle, rattle->done, rattle->q0);
  rattle_place_ground(rattle, rattle->done + rattle->h, rattle->q1);
  s2_rattle_make_terms(rattle);
  if (rattle->again) {
    recall_guess(rattle);
  } else {
    s2_rattle_measure(rattle, rattle->q0, elapsed, &rattle->at0);
  }
  bool placed = rattle->done == 0 && !rattle->again && s2_rattle_place(rattle);
  if (placed) {
    s2_rattle_make_terms(rattle);
  }
  if (step->world->refused.code != S2_OK) { // the callback of a constraint has failed
    return ABORTED;
  }
  rattle->patterned = false;
  s2_rattle_soften_contacts(rattle);
  find_late(rattle);
  set_speed(rattle);
  if (law != NULL && !ask_laws(rattle, rattle->q0, rattle->v0, rattle->done, law, NULL)) {
    return ABORTED;
  }
  Outcome outcome = solve_stages(rattle, law, last);
  if (outcome == SOLVED && placed && rattle->shortened) {
    s2_note_refuse_joints(step, rattle->island,
                          "flow \"rattle\" and poses that are far from satisfying the joints");
  }
  return step->world->refused.code != S2_OK ? ABORTED : outcome;
}

// Solves stage 1 with a different length. Writes the smallest final value of a limit to *value and
// the row of this limit to *row.
static Outcome look_again(S2Rattle *rattle, double *law, bool last, double h, double *value,
                          int *row) {
  S2ArenaMark mark = s2_arena_mark(rattle->step->arena);
  for (int r = 0; r < rattle->rows; r++) {
    rattle->guess[r] = rattle->l[r] * (h / rattle->h);
  }
  rattle->h = h;
  rattle->again = rattle->looks = true;
  Outcome outcome = solve_piece(rattle, law, last);
  rattle->again = rattle->looks = false;
  *value = s2_rattle_least_limit(rattle, row);
  s2_arena_rewind(rattle->step->arena, mark);
  rattle->patterned = false;
  return outcome;
}

// Computes `rises`, the derivative of the closing limit's value with respect to the length of the
// piece. Sets it to 0 if it is unknown. It is only needed for the derivative of the step.
static Outcome find_rise(S2Rattle *rattle, double *law, bool last) {
  S2ArenaMark mark = s2_arena_mark(rattle->step->arena);
  double tau = rattle->h, value[2];
  const double *guess = s2_arena_copy(rattle->step->arena, rattle->guess, rattle->rows);
  S2Residual worst = rattle->worst;
  int row, met = rattle->met;
  Outcome outcome = SOLVED;
  for (int i = 0; i < 2 && outcome == SOLVED; i++) {
    double h = tau * (1 + (i == 0 ? -RISES : RISES));
    outcome = look_again(rattle, law, true, h, &value[i], &row);
    value[i] = rattle->at1.value[met];
  }
  rattle->rises = outcome == SOLVED ? (value[1] - value[0]) / (2 * RISES * tau) : 0;
  // Restore the original length and its guess, so that recording does not change the bits of the
  // step.
  rattle->h = tau;
  memcpy(rattle->l, guess, sizeof(double) * (size_t)rattle->rows);
  outcome = outcome == ABORTED ? outcome : look_again(rattle, law, last, tau, &value[0], &row);
  rattle->worst = worst;
  s2_arena_rewind(rattle->step->arena, mark);
  return outcome;
}

// Solves a piece of length h. If `frees` is true, the piece ends when an initially open limit
// closes.
static Outcome solve_to_meeting(S2Rattle *rattle, double *law, bool last, bool frees) {
  double whole = rattle->h, value;
  int row;
  rattle->met = S2_NONE;
  rattle->closes = rattle->kept == NULL ? rattle->closes : S2_NONE;
  rattle->frees = frees;
  Outcome outcome = solve_piece(rattle, law, last);
  value = frees ? s2_rattle_least_limit(rattle, &row) : INFINITY;
  if (outcome != SOLVED || !(value < -rattle->enough)) {
    return outcome;
  }
  // Solve stage 1 again for each length, because the motion depends on the length of the piece.
  S2RattleMeeting meeting = {.hi = whole, .at_lo = rattle->at0.value[row], .at_hi = value};
  for (double next = whole; outcome == SOLVED && next > 0 && fabs(value) > rattle->enough;) {
    next = s2_rattle_next_length(&meeting);
    double h = next > 0 ? next : meeting.hi;
    outcome = look_again(rattle, law, last, h, &value, &row);
    s2_rattle_narrow(&meeting, h, value);
  }
  rattle->met = rattle->closes = row;
  // A limit that closes at the very end of the piece does not shorten it. It becomes a row of the
  // whole piece.
  if (outcome == SOLVED && rattle->h > whole * (1 - LATEST)) {
    rattle->met = rattle->closes = S2_NONE;
    rattle->frees = false;
    outcome = look_again(rattle, law, last, whole, &value, &row);
  } else if (outcome == SOLVED && rattle->step->world->notes != NULL && rattle->kept != NULL) {
    outcome = find_rise(rattle, law, last);
  }
  // In event stepping, the caller repeats the piece with the shorter length.
  bool again = rattle->kept == NULL && rattle->met != S2_NONE;
  bool ends = outcome == SOLVED && !rattle->rests && !again;
  return ends ? second_with_laws(rattle, law) : outcome;
}

// ---- The substep -------------------------------------------------------------------------------

// Starts the next piece at the end of this piece.
static void rattle_go_on(S2Rattle *rattle) {
  for (int r = 0; r < rattle->rows; r++) {
    const S2RattleTerm *term = &rattle->term[r];
    rattle->kept[S2_JOINT_ROWS * term->place + term->index] = s2_rattle_impulse(rattle, r);
  }
  for (int i = 0; i < rattle->nodes; i++) {
    int32_t slot = rattle->island->node[i];
    memcpy(rattle->q0 + 3 * slot, rattle->q1 + 3 * slot, 3 * sizeof(double));
  }
  memcpy(rattle->v0, rattle->v1, sizeof(double) * (size_t)(3 * rattle->nodes));
  rattle->done += rattle->h;
  rattle->last = rattle->h;
}

// Solves the substep in `pieces` pieces of equal length. Divides pieces in which limits close.
// *made: the resulting number of pieces. `record`: s2_rattle_record_size numbers per piece, or
// NULL. `answers`: one per law, stage and piece.
static Outcome solve_pieces(S2Rattle *rattle, const S2RattleSums *sums, int pieces, double *record,
                            S2LawAnswer *answers, int *made) {
  S2Step *step = rattle->step;
  const S2Island *island = rattle->island;
  int laws = count_laws(step, island);
  bool lawful = laws > 0;
  double *law = lawful ? S2_TAKE(step->arena, double, 3 * step->world->bodies.count) : NULL;
  memset(sums->impulse, 0, sizeof(double) * (size_t)(S2_JOINT_ROWS * island->joints));
  memset(sums->reaction, 0, sizeof(double) * (size_t)(3 * island->joints));
  s2_audit_again(step, island); // discards the records of an attempt with fewer pieces
  rattle->worst = (S2Residual){0};
  Outcome outcome = SOLVED;
  *made = 0;
  double left = step->dt / pieces; // remaining length of this piece
  for (int ended = 0; ended < pieces && outcome == SOLVED;) {
    S2ArenaMark mark = s2_arena_mark(step->arena);
    rattle->h = left;
    bool frees = *made - ended < S2_RATTLE_MEETINGS;
    outcome = solve_to_meeting(rattle, law, 2 * pieces > PIECES, frees);
    if (outcome == SOLVED) {
      *made += 1;
      s2_rattle_add_impulses(rattle, sums, NULL);
      if (record != NULL) {
        s2_rattle_record_piece(rattle, record);
        record += s2_rattle_record_size(rattle->nodes, rattle->rows, rattle->arrival.v != NULL);
        outcome = lawful && !record_laws(rattle, answers) ? ABORTED : SOLVED;
        answers += 2 * laws;
      }
      s2_rattle_show_piece(rattle);
      rattle_go_on(rattle);
      bool whole = rattle->met == S2_NONE;
      ended += whole;
      left = whole ? step->dt / pieces : left - rattle->h;
    }
    s2_arena_rewind(step->arena, mark);
  }
  return outcome;
}

// ---- A piece of event stepping -----------------------------------------------------------------

// Copies the poses, velocities and impulses of the piece to the step and to `flow`.
static void keep_flow(const S2Rattle *rattle, const S2RattleSums *sums, S2RattleFlow *flow) {
  S2Step *step = rattle->step;
  const S2Island *island = rattle->island;
  for (int i = 0; i < 3 * rattle->nodes; i++) {
    int at = 3 * island->node[i / 3] + i % 3;
    // If the poses were first projected onto the joints, their total displacement differs from h u.
    bool placed = rattle->q0[at] != step->q0[at];
    flow->u[at] = placed ? (rattle->q1[at] - step->q0[at]) / rattle->h : rattle->u[i];
    step->carry[at] = flow->u[at];
    step->q1[at] = step->q0[at] + rattle->h * flow->u[at];
    step->v1[at] = flow->v1[at] = rattle->v1[i];
  }
  for (int i = 0; i < island->joints; i++) {
    int32_t slot = island->joint[i];
    memcpy(step->joint_impulse + S2_JOINT_ROWS * slot, sums->impulse + S2_JOINT_ROWS * i,
           sizeof(double) * S2_JOINT_ROWS);
    memcpy(step->joint_reaction + 3 * slot, sums->reaction + 3 * i, 3 * sizeof(double));
  }
  s2_rattle_keep_contacts(rattle, flow);
  flow->residual = rattle->worst;
  flow->solves = 2;
}

// Records the piece for the derivative. Returns false if aborted.
static bool note_flow(S2Rattle *rattle, const S2Choice *choices, int closes) {
  const S2Step *step = rattle->step;
  if (step->world->notes == NULL) {
    return true;
  }
  S2ArenaMark mark = s2_arena_mark(step->arena);
  int numbers = s2_rattle_record_size(rattle->nodes, rattle->rows, rattle->arrival.v != NULL);
  int laws = 2 * count_laws(step, rattle->island);
  double *record = S2_TAKE(step->arena, double, numbers);
  S2LawAnswer *answers = S2_TAKE_ZEROED(step->arena, S2LawAnswer, laws);
  bool going = laws == 0 || record_laws(rattle, answers);
  rattle->met = closes;
  s2_rattle_record_piece(rattle, record);
  S2RattleNote note = {1,   rattle->rows, laws, record, answers, rattle->placings, rattle->placing,
                       NULL};
  note.flat = s2_small_keep_pieces(step, rattle->island, choices, &note);
  s2_note_rattle(step, rattle->island, choices, &note, numbers);
  s2_arena_rewind(step->arena, mark);
  return going;
}

bool s2_rattle_flow(S2Step *step, S2Island *island, const S2Choice *choices,
                    const S2LawFrame *frame, double h, bool last, S2RattleFlow *flow) {
  double started = s2_stats_clock(step->world);
  flow->solved = flow->rests = false;
  if (!s2_step_goes_on(step)) {
    return false;
  }
  if (flow->small != NULL && s2_small_flow(flow->small, choices, frame->done, h, last, flow)) {
    step->world->stats.seconds_solve += s2_stats_clock(step->world) - started;
    return true;
  }
  S2ArenaMark mark = s2_arena_mark(step->arena);
  // Start from the current state of the step, not from the start of the substep.
  S2Rattle rattle = rattle_make(step, island, frame, island->touches);
  for (int i = 0; i < 3 * rattle.nodes; i++) {
    int at = 3 * island->node[i / 3] + i % 3;
    rattle.q0[at] = step->q0[at];
    rattle.v0[i] = step->v0[at];
  }
  rattle.kept = NULL; // the pieces of a step differ in length
  set_rounding(&rattle);
  rattle.h = h;
  rattle.done = frame->done;
  rattle.ahead = flow->ahead;
  bool closes = flow->frees && h == flow->closes_at;
  rattle.closes = closes ? flow->closes : S2_NONE;
  s2_rattle_choose(&rattle, choices);
  bool lawful = s2_island_lawful(step, island);
  double *law = lawful ? S2_TAKE(step->arena, double, 3 * step->world->bodies.count) : NULL;
  S2RattleSums sums = {S2_TAKE_ZEROED(step->arena, double, S2_JOINT_ROWS * island->joints),
                       S2_TAKE_ZEROED(step->arena, double, 3 * island->joints)};
  // Solve one piece of the step. The caller shortens pieces that are too long.
  Outcome outcome = solve_to_meeting(&rattle, law, last, flow->frees);
  bool met = outcome == SOLVED && rattle.met != S2_NONE;
  flow->met = met ? rattle.h : INFINITY;
  flow->solved = outcome == SOLVED && !met;
  if (met) {
    flow->closes_at = rattle.h;
    flow->closes = rattle.met;
  }
  if (flow->solved) {
    flow->rests = rattle.rests;
    outcome = note_flow(&rattle, choices, closes ? flow->closes : S2_NONE) ? outcome : ABORTED;
    s2_rattle_add_impulses(&rattle, &sums, flow->halves);
    keep_flow(&rattle, &sums, flow);
  }
  s2_arena_rewind(step->arena, mark);
  step->world->stats.seconds_solve += s2_stats_clock(step->world) - started;
  return outcome != ABORTED;
}

// ---- The substep -------------------------------------------------------------------------------

// rad: the largest rotation of a body in the substep, counting only the part that affects its
// constraint rows.
static double turn_at_first(S2Step *step, S2Island *island, const S2LawFrame *frame) {
  double turn = 0, seen = 0;
  for (int i = 0; i < island->nodes; i++) {
    turn = fmax(turn, step->dt * fabs(frame->v[3 * island->node[i]]));
  }
  if (turn <= S2_RATTLE_TURN) {
    return turn;
  }
  S2ArenaMark mark = s2_arena_mark(step->arena);
  S2Rattle rattle = rattle_make(step, island, frame, 0);
  rattle_place_ground(&rattle, 0, rattle.q0);
  rattle.h = step->dt;
  s2_rattle_make_terms(&rattle);
  s2_rattle_measure(&rattle, rattle.q0, 0, &rattle.at0);
  for (int i = 0; i < rattle.nodes; i++) {
    double of = step->dt * fabs(frame->v[3 * island->node[i]]);
    seen = fmax(seen, s2_rattle_seen_turn(&rattle, i, of));
  }
  s2_arena_rewind(step->arena, mark);
  return seen;
}

static int pieces_at_first(S2Step *step, S2Island *island, const S2LawFrame *frame) {
  double turn = turn_at_first(step, island, frame);
  // The direction of forces is explicit within a piece. Use enough pieces to limit (h w)^2.
  double stiff = sqrt(island->turning / S2_TURNS_TOO_FAST);
  int pieces = 1;
  while (pieces < PIECES && (pieces * S2_RATTLE_TURN < turn || pieces < stiff)) {
    pieces *= 2;
  }
  return pieces;
}

// Updates the solver statistics and the residual of the step.
static void rattle_account(S2Rattle *rattle, int pieces) {
  S2Step *step = rattle->step;
  S2WorldStats *stats = &step->world->stats;
  s2_rattle_certify(step, rattle->island, &rattle->worst);
  stats->solves += 2 * (uint64_t)pieces;
  stats->used[S2_SOLVER_LINEAR] += 2 * (uint64_t)pieces;
  rattle->island->joint_error = s2_rattle_pins_error(rattle);
}

bool s2_island_rattle(S2Step *step, S2Island *island, const S2LawFrame *frame, bool *done) {
  double started = s2_stats_clock(step->world);
  *done = false;
  if (!s2_step_goes_on(step)) {
    return false;
  }
  S2ArenaMark mark = s2_arena_mark(step->arena);
  *done = s2_small_island(step, island, frame) || s2_linkage_island(step, island, frame);
  s2_arena_rewind(step->arena, mark);
  if (*done) {
    step->world->stats.seconds_solve += s2_stats_clock(step->world) - started;
    return true;
  }
  S2Rattle rattle;
  S2RattleSums sums = {S2_TAKE(step->arena, double, S2_JOINT_ROWS * island->joints),
                       S2_TAKE(step->arena, double, 3 * island->joints)};
  // Double the number of pieces until each piece is short enough.
  Outcome outcome = TOO_LONG;
  int pieces = pieces_at_first(step, island, frame);
  for (int more = pieces; outcome == TOO_LONG && more <= PIECES; more *= 2) {
    S2ArenaMark attempt = s2_arena_mark(step->arena);
    pieces = more;
    rattle = rattle_make(step, island, frame, 0);
    int most = pieces + S2_RATTLE_MEETINGS, laws = count_laws(step, island), made;
    bool rebounds = rattle.arrival.v != NULL;
    int rows = S2_JOINT_ROWS * island->joints;
    int room = s2_rattle_record_size(island->nodes, rows, rebounds) * most;
    double *record = step->world->notes == NULL ? NULL : S2_TAKE(step->arena, double, room);
    laws = record == NULL ? 0 : 2 * laws;
    S2LawAnswer *answers = S2_TAKE_ZEROED(step->arena, S2LawAnswer, laws * most);
    outcome = solve_pieces(&rattle, &sums, pieces, record, answers, &made);
    *done = outcome == SOLVED;
    if (*done) {
      int size = s2_rattle_record_size(island->nodes, rattle.rows, rebounds);
      S2RattleNote note = {made,    rattle.rows,     laws * made,    record,
                           answers, rattle.placings, rattle.placing, NULL};
      note.flat = s2_small_keep_pieces(step, island, NULL, &note);
      s2_note_rattle(step, island, NULL, &note, size * made);
      s2_rattle_keep_end(&rattle, &sums);
      rattle_account(&rattle, made);
    }
    s2_arena_rewind(step->arena, attempt);
  }
  // Islands that are too stiff for 64 pieces use implicit Euler.
  if (outcome == STIFF || (outcome == TOO_LONG && island->turning > 0)) {
    s2_island_stiffen(step, island);
  } else if (outcome == TOO_LONG) {
    s2_rattle_miss(step); // the step falls back to another method
    island->gave_up = true;
  }
  s2_arena_rewind(step->arena, mark);
  step->world->stats.seconds_solve += s2_stats_clock(step->world) - started;
  return outcome != ABORTED;
}
