// Pieces of small islands: their lengths and results.
#include "dynamics/audit/audit.h"
#include "dynamics/rattle/rattle_numbers.h"
#include "dynamics/small/small.h"
#include "dynamics/step/solve.h"
#include "dynamics/trace/notes.h"

#include <string.h>

// As in rattle.c. A limit that closes within this last part of a piece does not shorten it. RISES:
// step of finite differences with respect to the length, as a fraction of the length.
static const double LATEST = 1e-9, RISES = 1e-3;

typedef S2SmallOutcome Outcome;

// ---- The piece ---------------------------------------------------------------------------------

static Outcome small_first_stage(S2Small *small, bool frees, bool last) {
  if (!s2_small_first(small, frees)) {
    return S2_SMALL_ELSEWHERE;
  }
  for (int i = 0; i < 3 * small->nodes; i++) {
    small->step->q1[3 * small->slot[i / 3] + i % 3] = small->q1[i / 3][i % 3];
  }
  Outcome outcome = last ? S2_SMALL_SOLVED : s2_small_turns_too_far(small);
  return outcome == S2_SMALL_SOLVED && !last && s2_small_loads_turn(small) ? S2_SMALL_TOO_LONG
                                                                           : outcome;
}

static Outcome small_both_stages(S2Small *small, bool frees, bool last) {
  Outcome outcome = small_first_stage(small, frees, last);
  if (outcome != S2_SMALL_SOLVED) {
    return outcome;
  }
  if (!s2_small_second(small)) {
    return S2_SMALL_ELSEWHERE;
  }
  return !last && s2_small_rows_bring(small) ? S2_SMALL_TOO_LONG : S2_SMALL_SOLVED;
}

// Returns the smallest final value of the limits that were open at the start, and its row.
static double small_least_limit(const S2Small *small, int *row) {
  double least = INFINITY;
  *row = S2_NONE;
  for (int r = 0; r < small->joint_rows; r++) {
    if (small->late[r] && small->at1[r].value < least) {
      least = small->at1[r].value;
      *row = r;
    }
  }
  return least;
}

// Searches the length of the piece at which the first open limit closes, as solve_to_meeting in
// rattle.c. *row receives the limit, or S2_NONE if none closes.
static Outcome small_find_limit(S2Small *small, bool last, int *row) {
  double whole = small->h, value = small_least_limit(small, row);
  if (!(value < -small->enough)) {
    *row = S2_NONE;
    return S2_SMALL_SOLVED;
  }
  S2RattleMeeting meeting = {.hi = whole, .at_lo = small->at0[*row].value, .at_hi = value};
  Outcome outcome = S2_SMALL_SOLVED;
  for (double next = whole;
       outcome == S2_SMALL_SOLVED && next > 0 && fabs(value) > small->enough;) {
    next = s2_rattle_next_length(&meeting);
    double h = next > 0 ? next : meeting.hi;
    for (int r = 0; r < small->rows; r++) {
      small->l[r] *= h / small->h;
    }
    (void)s2_small_set_length(small, h);
    outcome = small_first_stage(small, true, last);
    value = small_least_limit(small, row);
    s2_rattle_narrow(&meeting, h, value);
  }
  return outcome == S2_SMALL_SOLVED && small->h > whole * (1 - LATEST) ? S2_SMALL_ELSEWHERE
                                                                       : outcome;
}

// ---- The result --------------------------------------------------------------------------------

// Writes the record of the piece for the derivative. `closes`: row of the limit that closes at its
// end, or S2_NONE. Returns the end of the record.
static double *small_record_piece(const S2Small *small, int closes, double rises, double *to) {
  double state[2][S2_SMALL_ROWS];
  for (int r = 0; r < small->rows; r++) {
    state[0][r] = small->state[0][r];
    state[1][r] = small->state[1][r];
  }
  S2RattleRecord piece = {.h = small->h,
                          .done = small->done,
                          .met = closes,
                          .rises = rises,
                          .q0 = small->q0[0],
                          .v0 = small->v0,
                          .u = small->u,
                          .v1 = small->v1,
                          .l = small->l,
                          .k = small->k,
                          .first = state[0],
                          .second = state[1]};
  s2_rattle_write_record(&piece, small->nodes, small->rows, to);
  return to + s2_rattle_record_size(small->nodes, small->rows, false);
}

static void small_note_piece(const S2Small *small, const S2Choice *choices, int closes) {
  const S2Step *step = small->step;
  if (step->world->notes != NULL) {
    S2ArenaMark mark = s2_arena_mark(step->arena);
    int numbers = s2_rattle_record_size(small->nodes, small->rows, false);
    double *record = S2_TAKE(step->arena, double, numbers);
    small_record_piece(small, closes, 0, record);
    S2RattleNote note = {.pieces = 1, .rows = small->rows, .piece = record};
    if (step->world->notes->keeps_pieces) {
      S2Small *flat = s2_note_take(step->world->notes, sizeof *flat);
      *flat = *small;
      note.flat = flat;
    }
    s2_note_rattle(step, small->island, choices, &note, numbers);
    s2_arena_rewind(step->arena, mark);
  }
}

// Adds the effect of an impulse along a row to the reaction on the first body, as s2_rattle_push.
static void small_push_joint(const S2SmallJoint *joint, const S2SmallSide *side, const double *q,
                             double impulse, double *reaction) {
  double turn = side->a[0];
  if (joint->type == S2_HINGE && !joint->of_world) {
    turn = s2_small_turns(side) ? turn : 0; // the pin has no torque about the anchor
  } else if (!joint->of_world) {
    S2Vec2 arm = s2_rotate(s2_rot(q[0]), joint->local_a);
    turn -= s2_cross(arm, s2_vec2(side->a[1], side->a[2]));
  }
  reaction[0] += impulse * turn;
  reaction[1] += impulse * side->a[1];
  reaction[2] += impulse * side->a[2];
}

// As paced_work in rattle_rows.c, for audits.
static double small_paced_work(const S2Small *small, int r) {
  const S2SmallRow *row = &small->row[r];
  const S2SmallSide *side = &small->at1[r];
  double work = 0;
  for (int c = 0; c < 6; c++) {
    int seat = c < 3 ? row->a : row->b, at = 3 * seat + c % 3;
    if (seat < small->nodes) {
      double first = small->l[r] * (small->v0[at] - small->u[at]);
      double second = small->k[r] * (small->v1[at] - small->u[at]);
      work += (c < 3 ? side->a[c] : side->b[c - 3]) * (first + second) / 2;
    }
  }
  return fabs(work);
}

// Computes the reactions of a joint in both stages and the work of its motor, S2_RATTLE_HALVES
// numbers. Adds to `reaction` the sum of both stages, which does not include actuators.
static void small_joint_halves(const S2Small *small, const S2SmallJoint *joint, double *halves,
                               double *reaction) {
  memset(halves, 0, sizeof(double) * S2_RATTLE_HALVES);
  for (int k = 0; k < S2_JOINT_ROWS; k++) {
    int r = joint->row[k];
    if (r == S2_NONE || (small->l[r] == 0 && small->k[r] == 0)) {
      continue;
    }
    const S2SmallSide *from = &(small->late[r] ? small->at1 : small->at0)[r];
    const double *q = (small->late[r] ? small->q1 : small->q0)[joint->a];
    double first[3] = {0}, second[3] = {0};
    small_push_joint(joint, from, q, small->l[r], first);
    small_push_joint(joint, &small->at1[r], small->q1[joint->a], small->k[r], second);
    for (int c = 0; c < 3; c++) {
      halves[c] += first[c];
      halves[3 + c] += second[c];
      reaction[c] += small->row[r].effort ? 0 : first[c] + second[c];
    }
    if (small->step->world->audit != NULL && (k == S2_JOINT_MOTOR || k == S2_JOINT_DRY)) {
      halves[6] += small_paced_work(small, r);
    }
  }
}

static void small_keep_joints(const S2Small *small, const S2RattleFlow *flow) {
  const S2Step *step = small->step;
  for (int i = 0; i < small->joints; i++) {
    const S2SmallJoint *joint = &small->joint[i];
    double *impulse = step->joint_impulse + S2_JOINT_ROWS * joint->slot;
    double *reaction = step->joint_reaction + 3 * joint->slot;
    double *halves = flow->halves + S2_RATTLE_HALVES * i;
    reaction[0] = reaction[1] = reaction[2] = 0;
    small_joint_halves(small, joint, halves, reaction);
    for (int k = 0; k < S2_JOINT_ROWS; k++) {
      int r = joint->row[k];
      impulse[k] = r == S2_NONE ? 0 : small->l[r] + small->k[r];
    }
  }
}

static bool small_slides(const S2SmallPoint *point, const double *of, double mu) {
  double normal = of[point->row], most = mu * normal * (1 - 1e-9); // tolerance for rounding
  double tangent = point->rough ? of[point->row + 1] : 0;
  return normal > 0 && fabs(tangent) >= most;
}

// Writes the impulses to the touches of the step, and those of both stages to the flow, as
// s2_rattle_keep_contacts.
static void small_keep_contacts(S2Small *small, S2RattleFlow *flow) {
  const S2Step *step = small->step;
  const S2Island *island = small->island;
  double sum[S2_SMALL_ROWS];
  for (int r = small->joint_rows; r < small->rows; r++) {
    sum[r] = small->l[r] + small->k[r];
  }
  for (int i = 0, p = 0; i < island->touches; i++) {
    S2Touch *touch = &step->touches[island->touch[i]];
    for (int k = 0; k < touch->count; k++) {
      touch->points[k].normal_impulse = touch->points[k].tangent_impulse = 0;
      touch->points[k].sliding = false;
    }
    if (p == small->points || small->point[p].touch != i) {
      flow->first[i].count = flow->second[i].count = 0;
      continue;
    }
    flow->first[i] = flow->second[i] = *touch;
    int count = 0;
    for (; p < small->points && small->point[p].touch == i; p++, count++) {
      const S2SmallPoint *point = &small->point[p];
      S2TouchPoint *now = &touch->points[point->of], *first = &flow->first[i].points[count];
      S2TouchPoint *second = &flow->second[i].points[count];
      *first = *second = *now;
      second->at = point->at1;
      second->arm_b = point->arm1;
      first->normal_impulse = small->l[point->row];
      second->normal_impulse = small->k[point->row];
      now->normal_impulse = sum[point->row];
      if (point->rough) {
        first->tangent_impulse = small->l[point->row + 1];
        second->tangent_impulse = small->k[point->row + 1];
        now->tangent_impulse = sum[point->row + 1];
      }
      // A point also slides if its friction reaches the bound of stage 1.
      now->sliding = small_slides(point, sum, touch->friction) ||
                     small_slides(point, small->l, touch->friction);
      first->sliding = second->sliding = now->sliding;
    }
    flow->first[i].count = flow->second[i].count = count;
  }
}

static void small_keep_motion(const S2Small *small, S2RattleFlow *flow) {
  S2Step *step = small->step;
  for (int i = 0; i < 3 * small->nodes; i++) {
    int at = 3 * small->slot[i / 3] + i % 3;
    flow->u[at] = step->carry[at] = small->u[i];
    step->q1[at] = step->q0[at] + small->h * small->u[i];
    step->v1[at] = flow->v1[at] = small->v1[i];
  }
}

bool s2_small_flow(S2Small *small, const S2Choice *choices, double done, double h, bool last,
                   S2RattleFlow *flow) {
  S2Step *step = small->step;
  if (flow->ahead || !s2_small_begin(small, step->q0, step->v0, choices, done, h)) {
    return false;
  }
  s2_small_guess(small);
  small->worst = (S2Residual){0};
  small->tries = 0;
  bool closes = flow->frees && h == flow->closes_at;
  small->closes = closes ? flow->closes : S2_NONE;
  int row = S2_NONE;
  flow->rests = s2_small_rests(small, flow->frees);
  Outcome outcome = flow->rests ? S2_SMALL_SOLVED : small_both_stages(small, flow->frees, last);
  if (outcome == S2_SMALL_SOLVED && flow->frees && !flow->rests) {
    outcome = small_find_limit(small, last, &row);
  }
  if (outcome == S2_SMALL_ELSEWHERE) {
    return false;
  }
  // Report whether the piece is solved, and whether a limit closes in it.
  bool met = outcome == S2_SMALL_SOLVED && row != S2_NONE;
  flow->met = met ? small->h : INFINITY;
  flow->solved = outcome == S2_SMALL_SOLVED && !met;
  if (met) {
    flow->closes_at = small->h;
    flow->closes = row;
  }
  step->world->stats.iterations += (uint64_t)small->tries;
  if (flow->solved) {
    small_note_piece(small, choices, small->closes);
    small_keep_joints(small, flow);
    small_keep_motion(small, flow);
    small_keep_contacts(small, flow);
    flow->residual = small->worst;
    flow->solves = 2;
  }
  return true;
}

// ---- Impacts -----------------------------------------------------------------------------------

const S2SmallImpact *s2_small_keep_impact(S2Small *small, const S2Choice *choices, double done) {
  S2Notes *notes = small == NULL ? NULL : small->step->world->notes;
  if (notes == NULL || !notes->keeps_pieces) {
    return NULL;
  }
  const S2Step *step = small->step;
  if (!s2_small_begin(small, step->q0, step->v0, choices, done, step->h)) {
    return NULL;
  }
  // The velocities after the impact, and the impulses of joints and contacts.
  S2SmallImpact *impact = s2_note_take(notes, sizeof *impact);
  impact->small = *small;
  S2Small *of = &impact->small;
  for (int i = 0; i < 3 * of->nodes; i++) {
    of->v1[i] = step->v2[3 * of->slot[i / 3] + i % 3];
  }
  for (int r = 0; r < of->joint_rows; r++) {
    int32_t slot = of->joint[of->row[r].place].slot;
    of->l[r] = step->joint_impulse[S2_JOINT_ROWS * slot + of->row[r].index];
  }
  for (int i = 0; i < of->points; i++) {
    const S2SmallPoint *point = &of->point[i];
    int32_t index = small->island->touch[point->touch];
    const S2Touch *touch = &step->touches[index];
    of->l[point->row] = touch->points[point->of].normal_impulse;
    if (point->rough) {
      of->l[point->row + 1] = touch->points[point->of].tangent_impulse;
    }
    bool rebounds = choices[2 * index + point->of].target == S2_TARGET_APPROACH;
    impact->restitution[i] = rebounds ? touch->restitution : 0;
  }
  return impact;
}

// ---- Pieces of the general path ----------------------------------------------------------------

// Sets the piece to a recorded one. Returns false if stage 1 of the record has impulses of limits
// that were open at the start.
static bool small_recall(S2Small *small, const S2RattleRecord *record) {
  bool good = true;
  small->h = record->h;
  small->done = record->done;
  small->closes = record->met;
  memcpy(small->q0[0], record->q0, sizeof(double) * (size_t)(3 * small->nodes));
  memcpy(small->v0, record->v0, sizeof(double) * (size_t)(3 * small->nodes));
  memcpy(small->u, record->u, sizeof(double) * (size_t)(3 * small->nodes));
  memcpy(small->v1, record->v1, sizeof(double) * (size_t)(3 * small->nodes));
  memcpy(small->l, record->l, sizeof(double) * (size_t)small->rows);
  memcpy(small->k, record->k, sizeof(double) * (size_t)small->rows);
  for (int r = 0; r < small->rows; r++) {
    small->state[0][r] = (S2RattleState)record->first[r];
    small->state[1][r] = (S2RattleState)record->second[r];
    small->known[0][r] = small->state[0][r] == S2_RATTLE_KNOWN;
    small->known[1][r] = small->state[1][r] == S2_RATTLE_KNOWN;
  }
  // Measure the rows at both ends.
  (void)s2_small_set_out(small);
  for (int i = 0; i < 3 * small->nodes; i++) {
    small->q1[i / 3][i % 3] = small->q0[i / 3][i % 3] + small->h * small->u[i];
  }
  s2_small_measure(small, small->q1, true);
  s2_small_measure_open(small);
  for (int r = 0; r < small->joint_rows; r++) {
    good &= !small->late[r] || small->known[0][r];
  }
  return good;
}

const S2Small *s2_small_keep_pieces(const S2Step *step, const S2Island *island,
                                    const S2Choice *choices, const S2RattleNote *note) {
  S2Notes *notes = step->world->notes;
  if (notes == NULL || !notes->keeps_pieces || note->laws > 0 || note->placings > 0) {
    return NULL;
  }
  S2ArenaMark mark = s2_arena_mark(step->arena);
  S2Step own = *step; // the piece needs a step that it may change
  S2Small *small = s2_small_take(&own, island), *kept = NULL;
  bool good = small != NULL && !s2_island_rebounds(step, island) &&
              s2_small_begin(small, step->q0, step->v0, choices, 0, step->dt) &&
              small->rows == note->rows;
  if (good) {
    kept = s2_note_take(notes, sizeof *kept * (size_t)note->pieces);
  }
  for (int k = 0; k < note->pieces && good; k++) {
    int size = s2_rattle_record_size(small->nodes, note->rows, false);
    S2RattleRecord piece =
        s2_rattle_record(note->piece + (ptrdiff_t)(k * size), small->nodes, note->rows);
    good = small_recall(small, &piece);
    kept[k] = *small;
  }
  s2_arena_rewind(step->arena, mark);
  return good ? kept : NULL;
}

// ---- Islands on which only joints act ----------------------------------------------------------

// Computes the derivative of the value of the closing limit with respect to the length of the
// piece, as find_rise in rattle.c.
static bool small_find_rise(const S2Small *small, bool last, int row, double *rises) {
  double value[2];
  for (int i = 0; i < 2; i++) {
    S2Small other = *small;
    double change = 1 + (i == 0 ? -RISES : RISES);
    for (int r = 0; r < other.rows; r++) {
      other.l[r] *= change;
    }
    (void)s2_small_set_length(&other, change * small->h);
    if (small_first_stage(&other, true, last) != S2_SMALL_SOLVED) {
      return false;
    }
    value[i] = other.at1[row].value;
  }
  *rises = (value[1] - value[0]) / (2 * RISES * small->h);
  return true;
}

// Sums over the pieces of a step.
typedef struct Sums {
  double impulse[S2_SMALL_JOINT_ROWS], reaction[S2_SMALL_JOINTS][3];
  double *record, *recorded; // start and end of the records
  S2Small *flat;             // copies of the pieces in the notes, or NULL
  int pieces;
} Sums;

// Adds the piece to the sums and passes it to the audits.
static void small_add_piece(const S2Small *small, int closes, double rises, Sums *sums) {
  const S2Step *step = small->step;
  for (int r = 0; r < small->rows; r++) {
    sums->impulse[r] += small->l[r] + small->k[r];
  }
  for (int i = 0; i < small->joints; i++) {
    double halves[S2_RATTLE_HALVES];
    small_joint_halves(small, &small->joint[i], halves, sums->reaction[i]);
    const S2Joint *joint = &step->world->joints.at[small->joint[i].slot];
    s2_audit_halves(step, joint, halves, halves + 3, halves[6]);
  }
  for (int i = 0; i < small->nodes; i++) {
    S2AuditFlight flight = {small->q0[i], small->q1[i], small->v0 + 3 * (size_t)i,
                            small->v1 + 3 * (size_t)i, small->u + 3 * (size_t)i};
    s2_audit_flight(step, small->slot[i], small->done + small->h, small->h, &flight, false);
  }
  if (sums->record != NULL) {
    sums->recorded = small_record_piece(small, closes, rises, sums->recorded);
  }
  if (sums->flat != NULL) {
    sums->flat[sums->pieces] = *small;
  }
  sums->pieces += 1;
}

// Starts the next piece, of length h, at the end of this one. Its guess is the impulse of this
// piece.
static bool small_go_on(S2Small *small, double h) {
  double part = h / small->h / 2;
  small->done += small->h;
  small->h = h;
  small->closes = S2_NONE;
  for (int i = 0; i < small->nodes; i++) {
    memcpy(small->q0[i], small->q1[i], sizeof small->q0[i]);
  }
  memcpy(small->v0, small->v1, sizeof(double) * (size_t)(3 * small->nodes));
  for (int r = 0; r < small->rows; r++) {
    const S2SmallRow *row = &small->row[r];
    double l = (small->l[r] + small->k[r]) * part, most = row->most * h / 2;
    small->l[r] = row->law == S2_RATTLE_LIMIT ? fmax(l, 0) : fmax(-most, fmin(most, l));
  }
  return s2_small_set_out(small);
}

// Takes the whole step, in pieces that end when limits close.
static bool small_take_pieces(S2Small *small, Sums *sums) {
  double left = small->h;
  for (bool whole = false; !whole;) {
    int row = S2_NONE;
    double rises = 0;
    bool frees = sums->pieces < S2_RATTLE_MEETINGS;
    bool rests = s2_small_rests(small, frees);
    if (!rests && (small_both_stages(small, frees, false) != S2_SMALL_SOLVED ||
                   (frees && small_find_limit(small, false, &row) != S2_SMALL_SOLVED))) {
      return false;
    }
    // If a limit closes, the piece ends there, and the derivative needs the rise of its value.
    whole = row == S2_NONE;
    bool noted = sums->record != NULL;
    small->closes = row;
    if (!whole &&
        ((noted && !small_find_rise(small, false, row, &rises)) || !s2_small_second(small))) {
      return false;
    }
    small_add_piece(small, row, rises, sums);
    left -= small->h;
    if (!whole && !small_go_on(small, left)) {
      return false;
    }
  }
  return true;
}

static void small_keep_end(const S2Small *small, const double *q, const Sums *sums) {
  S2Step *step = small->step;
  for (int i = 0; i < 3 * small->nodes; i++) {
    int at = 3 * small->slot[i / 3] + i % 3;
    step->q1[at] = small->q1[i / 3][i % 3];
    step->v2[at] = small->v1[i];
    step->v1[at] = step->carry[at] = (step->q1[at] - q[at]) / step->dt;
  }
  for (int i = 0; i < small->joints; i++) {
    const S2SmallJoint *joint = &small->joint[i];
    double *impulse = step->joint_impulse + S2_JOINT_ROWS * joint->slot;
    for (int k = 0; k < S2_JOINT_ROWS; k++) {
      impulse[k] = joint->row[k] == S2_NONE ? 0 : sums->impulse[joint->row[k]];
    }
    memcpy(step->joint_reaction + 3 * joint->slot, sums->reaction[i], sizeof sums->reaction[i]);
  }
}

bool s2_small_island(S2Step *step, S2Island *island, const S2LawFrame *frame) {
  S2Small *small = s2_small_take(step, island);
  // Programs step islands of hinges and sliders without other rows, with the bits of the general
  // path.
  if (small == NULL || !small->drives || island->turning > 0) {
    return false;
  }
  for (int i = 0; i < small->nodes; i++) {
    if (step->dt * fabs(frame->v[3 * small->slot[i]]) > S2_RATTLE_TURN) {
      return false;
    }
  }
  Sums sums = {.record = NULL};
  int most = s2_rattle_record_size(small->nodes, small->joint_rows, false);
  if (step->world->notes != NULL) {
    most *= 1 + S2_RATTLE_MEETINGS;
    sums.record = sums.recorded = S2_TAKE(step->arena, double, most);
    if (step->world->notes->keeps_pieces) {
      sums.flat = s2_note_take(step->world->notes, sizeof *sums.flat * (1 + S2_RATTLE_MEETINGS));
    }
  }
  small->worst = (S2Residual){0};
  small->tries = 0;
  s2_audit_again(step, island);
  if (!s2_small_begin(small, frame->q, frame->v, NULL, 0, step->dt)) {
    return false;
  }
  s2_small_guess(small);
  if (!small_take_pieces(small, &sums)) {
    return false;
  }
  if (sums.record != NULL) {
    S2RattleNote note = {
        .pieces = sums.pieces, .rows = small->rows, .piece = sums.record, .flat = sums.flat};
    s2_note_rattle(step, island, NULL, &note, (int)(sums.recorded - sums.record));
  }
  small_keep_end(small, frame->q, &sums);
  S2WorldStats *stats = &step->world->stats;
  s2_rattle_certify(step, island, &small->worst);
  stats->iterations += (uint64_t)small->tries;
  stats->solves += 2 * (uint64_t)sums.pieces;
  stats->used[S2_SOLVER_LINEAR] += 2 * (uint64_t)sums.pieces;
  island->joint_error = NAN;
  return true;
}
