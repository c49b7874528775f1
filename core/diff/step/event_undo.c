// The derivative of event stepping (algorithm B4 in docs/stepping.md). The step of an island is
// divided into intervals x+ = flow(x, h). The last interval takes the remaining time, h = left. If
// two bodies meet, the interval ends at the impact time h, at which their gap is 0:
//
//     gap(flow(x, h)) = 0  =>  dh = -(dgap/dx dx)/(dgap/dh),   left+ = left - h
//
// The adjoint of h is the adjoint of the flow's end minus the adjoint of the remaining time. It
// becomes a multiple of the adjoint of the gap at the end of the flow. The remaining time passes
// its adjoint unchanged to the previous interval. The rates depend on sliding contacts, so a
// separate sweep over the computed flow finds them.
#include "diff/step/undo.h"
#include "dynamics/rattle/rattle.h"
#include "dynamics/step/forces.h"
#include "dynamics/step/islands.h"

#include <string.h>

// Bodies only graze if they meet at less than this fraction of the island's speed. Derivatives grow
// without bound there.
#define GRAZING 1e-6
// Bodies that have just left each other do not meet again before the fraction S2_EVENT_LEAVING of
// the remaining time. An interval has this shortest length if its length differs from it by at most
// the relative error GIVEN.
#define GIVEN 1e-9

static void event_free_nodes(const S2Undo *undo, const S2Note *note) {
  for (int i = 0; i < note->of->island.nodes; i++) {
    s2_step_free_body(&undo->step, note->of->island.node[i]);
  }
}

static double event_since_start(const S2Undo *undo, const S2Note *note) {
  return note->t - undo->world->kept.time;
}

// ---- Bodies without a solve -------------------------------------------------------------------

void s2_undo_drift(S2Undo *undo, const S2Note *note) {
  s2_undo_enter(undo);
  S2StepAdjoint *bar = &undo->bar;
  // q1 = q0 + h (v0 + free_v)/2, v1 = v2 = free_v; static bodies stay at q0.
  for (int i = 0; i < undo->world->order.count; i++) {
    int32_t slot = undo->world->order.at[i];
    for (int at = 3 * slot, c = 0; c < 3; c++, at++) {
      double q = bar->q1[at], half = s2_undo_goes(&undo->world->bodies.at[slot]) ? q / 2 : 0;
      bar->q0[at] += q;
      bar->v0[at] += note->h * half;
      bar->free_v[at] += bar->v1[at] + bar->v2[at] + note->h * half;
      bar->h += half * (undo->step.v0[at] + undo->step.free_v[at]);
      bar->q1[at] = bar->v1[at] = bar->v2[at] = 0;
    }
  }
  // All intervals of the step share its length.
  bar->h += undo->length_bar;
  undo->length_bar = 0;
}

// Moves the ground to its pose at the time of an interval. The adjoints of its pose then belong to
// that time.
static void event_place_ground(S2Undo *undo) {
  const S2Note *interval = s2_undo_last(undo, S2_ACT_INTERVAL);
  const S2Note *start = s2_undo_last(undo, S2_ACT_FREE);
  double done = event_since_start(undo, interval);
  for (int i = 0; i < interval->of->grounds; i++) {
    for (int at = 3 * interval->of->ground[i], c = 0; c < 3; c++, at++) {
      // Ground always moves at free_v.
      undo->step.q0[at] = start->free.q0[at] + done * undo->step.free_v[at];
      undo->step.q1[at] = undo->step.q0[at] + undo->step.h * undo->step.free_v[at];
      // Save the adjoints of ground poses at other times.
      undo->ground0[at] = undo->bar.q0[at];
      undo->ground1[at] = undo->bar.q1[at];
      undo->bar.q0[at] = undo->bar.q1[at] = 0;
      if (interval->interval.sets_out) {
        undo->ground_v0[at] = undo->bar.v0[at];
        undo->bar.v0[at] = 0;
        undo->step.v0[at] = undo->step.given_start[at];
      }
    }
  }
}

// In an impact at the start of the step, a lock moves at its rate at that time. Sets the locks to
// that rate while the sweep passes over such an impact.
static void event_set_locks(const S2Undo *undo, const S2Note *interval) {
  const S2World *world = undo->world;
  for (int i = 0; i < interval->of->island.joints && world->drives.count > 0; i++) {
    world->drives.at[interval->of->island.joint[i]].strikes = undo->striking;
  }
}

// An impact at the start of the step uses the velocity that the ground has then. The adjoint of
// this velocity is stored separately from that of the ground's mean velocity.
static void event_set_ground(S2Undo *undo, const S2Note *interval) {
  S2StepAdjoint *bar = &undo->bar;
  for (int i = 0; i < interval->of->grounds && interval->interval.sets_out; i++) {
    for (int at = 3 * interval->of->ground[i], c = 0; c < 3; c++, at++) {
      undo->ground_v[at] = bar->free_v[at] + bar->v1[at] + bar->v2[at];
      bar->free_v[at] = bar->v1[at] = bar->v2[at] = 0;
      undo->step.free_v[at] = undo->step.v1[at] = undo->step.v2[at] = undo->step.given_start[at];
    }
  }
  undo->striking = interval->interval.sets_out;
  event_set_locks(undo, interval);
}

static void event_set_ground_back(S2Undo *undo, const S2Note *interval) {
  S2StepAdjoint *bar = &undo->bar;
  const S2Note *start = s2_undo_last(undo, S2_ACT_FREE);
  for (int i = 0; i < interval->of->grounds && interval->interval.sets_out; i++) {
    for (int at = 3 * interval->of->ground[i], c = 0; c < 3; c++, at++) {
      bar->given_start[at] += bar->v0[at];
      bar->v0[at] = undo->ground_v0[at];
      undo->step.v0[at] = start->free.v0[at];
      if (undo->striking) {
        bar->given_start[at] += bar->free_v[at] + bar->v1[at] + bar->v2[at];
        bar->free_v[at] = undo->ground_v[at];
        bar->v1[at] = bar->v2[at] = 0;
        undo->step.free_v[at] = undo->step.v1[at] = undo->step.v2[at] = start->free.v0[at];
      }
    }
  }
  undo->striking = false;
  event_set_locks(undo, interval);
}

static void event_forget_ground(S2Undo *undo, const S2Note *interval) {
  S2StepAdjoint *bar = &undo->bar;
  double done = event_since_start(undo, interval);
  event_set_ground_back(undo, interval);
  for (int i = 0; i < interval->of->grounds; i++) {
    for (int at = 3 * interval->of->ground[i], c = 0; c < 3; c++, at++) {
      double done_bar = bar->q0[at] * undo->step.free_v[at];
      undo->length_bar += done_bar; // done = length - left
      undo->left_bar -= done_bar;
      bar->free_v[at] += done * bar->q0[at] + bar->v1[at] + bar->v2[at];
      bar->q0[at] += undo->ground0[at];
      bar->q1[at] = undo->ground1[at];
      bar->v1[at] = bar->v2[at] = 0;
    }
  }
}

// ---- The flow ---------------------------------------------------------------------------------

// Adjoints of q1 of nodes and ground at the end of the flow, and of v2 = v1. Pieces of the
// two-stage flow handle q1 of nodes themselves.
static void event_arrive_vjp(S2Undo *undo, const S2Note *note, const S2Note *interval) {
  S2StepAdjoint *bar = &undo->bar;
  double h = note->h, share = note->arrive.share;
  bool flows = s2_note_at(undo->notes, undo->index - 1)->act == S2_ACT_PIECE;
  s2_undo_move_nodes(note, bar->v2, bar->v1);
  for (int i = 0; i < note->of->island.nodes && !flows; i++) {
    for (int at = 3 * note->of->island.node[i], c = 0; c < 3; c++, at++) {
      // q1 = q0 + h ((1 - share) v0 + share v1)
      double q = bar->q1[at];
      bar->q1[at] = 0;
      bar->q0[at] += q;
      bar->v0[at] += (1 - share) * h * q;
      bar->v1[at] += share * h * q;
      bar->h += q * ((1 - share) * undo->step.v0[at] + share * undo->step.v1[at]);
    }
  }
  // The ground moved at free_v.
  for (int i = 0; i < interval->of->grounds; i++) {
    for (int at = 3 * interval->of->ground[i], c = 0; c < 3; c++, at++) {
      bar->q0[at] += bar->q1[at];
      bar->free_v[at] += h * bar->q1[at];
      bar->h += bar->q1[at] * undo->step.free_v[at];
      bar->q1[at] = 0;
    }
  }
}

// A smooth derivative leaves out later contacts that the step does not reach.
static void event_flag_unseen(S2Undo *undo, const S2Note *note) {
  // If `share` is below 1, the step continues after the flow.
  bool depends = false, last = undo->share == 1;
  for (int i = 0; i < 3 * note->of->island.nodes; i++) {
    depends |= undo->bar.free_v[3 * note->of->island.node[i / 3] + i % 3] != 0;
  }
  bool smooth = undo->world->kept.def.gradient == S2_GRADIENT_SMOOTH;
  undo->gradient->flags |=
      smooth && note->set_out.unseen && last && depends ? S2_GRADIENT_PARTIAL : 0;
}

static void event_set_out_vjp(S2Undo *undo, const S2Note *note) {
  for (int i = 0; i < note->of->island.nodes; i++) {
    s2_undo_free_body(undo, note->of->island.node[i], note->h);
  }
}

void s2_undo_set_out(S2Undo *undo, const S2Note *note) {
  event_flag_unseen(undo, note);
  event_set_out_vjp(undo, note);
  undo->left_bar = (1 - undo->share) * undo->left_bar + undo->share * undo->bar.h;
  undo->bar.h = 0;
}

void s2_undo_fly(S2Undo *undo, const S2Note *note) {
  s2_undo_move_nodes(note, undo->bar.v1, undo->bar.free_v);
}

static size_t event_impulses(const S2Undo *undo) {
  return S2_JOINT_ROWS * (size_t)undo->notes->joint_slots;
}

// Lets the sweep add the adjoints of unused results to scratch arrays.
static void event_scratch_bars(S2Undo *undo) {
  size_t count = 3 * (size_t)undo->notes->slots;
  size_t joints = (size_t)undo->notes->joint_slots;
  S2Arena *arena = undo->arena;
  double *v = S2_TAKE_ZEROED(arena, double, 10 * count);
  // The answers use the gradient, too. Replace it with a scratch copy.
  undo->gradient = undo->answers.gradient = undo->scratch;
  double *of_laws = S2_TAKE_ZEROED(arena, double, 5 * count);
  undo->held = of_laws;
  undo->law = of_laws + count;
  undo->law_q = of_laws + 2 * count;
  undo->law_v = of_laws + 3 * count;
  undo->law_free = of_laws + 4 * count;
  undo->answers.goal = S2_TAKE_ZEROED(arena, double, 3 * joints);
  undo->answers.rate = S2_TAKE_ZEROED(arena, double, 3 * joints);
  undo->answers.begin = S2_TAKE_ZEROED(arena, double, 3 * joints);
  undo->answers.end = S2_TAKE_ZEROED(arena, double, 3 * joints);
  undo->bar = (S2StepAdjoint){
      .q0 = v,
      .v0 = v + count,
      .force = v + 2 * count,
      .mass = v + 3 * count,
      .free_v = v + 4 * count,
      .v1 = v + 5 * count,
      .v2 = v + 6 * count,
      .q1 = v + 7 * count,
      .given_start = v + 8 * count,
      .given_end = v + 9 * count,
      .joint_impulse = S2_TAKE_ZEROED(arena, double, event_impulses(undo)),
      .joint_reaction = S2_TAKE_ZEROED(arena, double, 3 * joints),
      .gradient = undo->scratch,
  };
}

// Copies the adjoints of all results that were read after the end of the flow. These are
// projections, and their changes of velocities and joint impulses. All of them may depend on the
// length of the flow.
static void event_take_bars(S2Undo *undo, const S2StepAdjoint *from) {
  size_t bytes = sizeof(double) * 3 * (size_t)undo->notes->slots;
  memcpy(undo->bar.q1, from->q1, bytes);
  memcpy(undo->bar.v1, from->v1, bytes);
  memcpy(undo->bar.v2, from->v2, bytes);
  memcpy(undo->bar.mass, from->mass, bytes);
  memcpy(undo->bar.free_v, from->free_v, bytes);
  memcpy(undo->bar.joint_impulse, from->joint_impulse, sizeof(double) * event_impulses(undo));
  memcpy(undo->bar.joint_reaction, from->joint_reaction,
         sizeof(double) * 3 * (size_t)undo->notes->joint_slots);
  undo->bar.h = from->h;
}

// Saves the adjoints of impulses for the main sweep.
static void event_take_impulses(S2Undo *undo, bool none) {
  int count = 2 * undo->touches;
  double *pushed = S2_TAKE_ZEROED(undo->arena, double, count);
  double *dragged = S2_TAKE_ZEROED(undo->arena, double, count);
  for (int i = 0; i < count && !none; i++) {
    pushed[i] = undo->pushed[i];
    dragged[i] = undo->dragged[i];
  }
  undo->pushed = pushed;
  undo->dragged = dragged;
  undo->contact = s2_undo_copy_contacts(undo);
  undo->asked &= !none;
}

static void event_add_gap(S2Undo *undo, const S2Note *note, double part) {
  S2PointBar point = {.gap = part};
  s2_touch_point_vjp(undo->world, &undo->open.touches[0], note->arrive.point, undo->step.q1, &point,
                     undo->bar.q1, undo->gradient);
}

typedef enum EventOf { // the quantity to differentiate with respect to the length of a flow
  OF_LOSS,             // the loss, through the adjoints at the end of the flow
  OF_GAP,              // the gap that is 0 at the end of the flow
  OF_LIMIT             // the value of the limit that closes at the end of the flow
} EventOf;

// Computes dl/dh of the flow that ends with the note.
static void event_rate(S2Undo *undo, const S2Note *note, EventOf of, double *rate) {
  const S2Note *interval = s2_undo_last(undo, S2_ACT_INTERVAL);
  if (undo->scratch == NULL) { // allocated once, for all later calls
    undo->scratch = s2_world_gradient_like(undo->gradient, undo->arena);
  }
  S2ArenaMark mark = s2_arena_mark(undo->arena);
  // Sweep over a copy. All results except the rate are discarded.
  S2Undo all = *undo;
  event_scratch_bars(undo);
  // Set the adjoint of the quantity: the gap at the end of the flow, or the loss as a function of
  // the state there.
  if (of == OF_GAP) {
    event_add_gap(undo, note, 1);
  } else if (of == OF_LOSS) {
    event_take_bars(undo, &all.bar);
  }
  undo->closing = of == OF_LIMIT ? 1 : 0;
  event_take_impulses(undo, of != OF_LOSS);
  event_arrive_vjp(undo, note, interval);
  // Sweep backwards over the flow to its start.
  while (s2_undo_good(undo)) {
    undo->index -= 1;
    const S2Note *by = s2_note_at(undo->notes, undo->index);
    if (by->act == S2_ACT_SET_OUT) {
      event_set_out_vjp(undo, by);
      break;
    }
    if (by->act == S2_ACT_SOLVE) {
      s2_undo_solve(undo, by);
    } else if (by->act == S2_ACT_BALANCE) {
      s2_undo_balance(undo, by);
    } else if (by->act == S2_ACT_PIECE) {
      s2_undo_piece(undo, by);
    } else {
      s2_undo_fly(undo, by);
    }
  }
  // Restore everything except the rate.
  *rate = undo->bar.h;
  *undo = all;
  s2_undo_put_nodes(note, note->arrive.v1, undo->step.v1);
  s2_arena_rewind(undo->arena, mark);
}

// Differentiates the impact time.
static void event_meeting_vjp(S2Undo *undo, const S2Note *note) {
  const S2Note *interval = s2_undo_last(undo, S2_ACT_INTERVAL);
  // Bodies that have just separated meet again after a fixed fraction of the remaining time.
  double approach, h_bar, slop = S2_TOUCH_SLOP * note->of->island.length;
  if (fabs(note->h - S2_EVENT_LEAVING * interval->h) <= GIVEN * note->h) {
    undo->share = S2_EVENT_LEAVING;
    return;
  }
  // The gap must be 0 at the end of the interval. If not, the length of the interval has no
  // derivative.
  undo->share = 0;
  if (note->arrive.point == S2_NONE ||
      undo->open.touches[0].points[note->arrive.point].at.gap > slop) { // the bodies did not meet
    undo->gradient->flags |= s2_undo_depends(undo, note, true) ? S2_GRADIENT_PARTIAL : 0;
    return;
  }
  double closed = S2_EVENT_CLOSED * slop;
  undo->gradient->flags |= fabs(undo->open.touches[0].points[note->arrive.point].at.gap) > closed
                               ? S2_GRADIENT_PARTIAL
                               : 0;
  // dh = -(dgap/dx dx)/(dgap/dh). The adjoint of h is dl/dh of the flow minus the adjoint of the
  // remaining time.
  event_rate(undo, note, OF_LOSS, &h_bar);
  event_rate(undo, note, OF_GAP, &approach);
  // If the bodies only graze, the rate is close to 0. (The speed of an island depends on step.h.)
  undo->step.h = note->h > 0 ? note->h : interval->h;
  double least = GRAZING * s2_island_speed(&undo->step, &note->of->island);
  undo->step.h = note->h;
  undo->gradient->flags |= approach > -least ? S2_GRADIENT_GRAZING : 0;
  if (approach < 0) {
    event_add_gap(undo, note, -(h_bar - undo->left_bar) / approach);
  }
}

// Returns true if the interval ends because a limit of a joint closes.
static bool event_closes(const S2Undo *undo, const S2Note *note) {
  const S2Note *by = s2_note_at(undo->notes, undo->index - 1);
  return !note->arrive.meets && by->act == S2_ACT_PIECE &&
         s2_rattle_record(by->rattle.piece, by->of->island.nodes, by->rattle.rows).met >= 0;
}

// Differentiates the time at which a limit closes.
static void event_closing_vjp(S2Undo *undo, const S2Note *note) {
  double approach, h_bar;
  undo->share = 0;
  event_rate(undo, note, OF_LOSS, &h_bar);
  event_rate(undo, note, OF_LIMIT, &approach);
  const S2Island *island = &note->of->island;
  double speed = s2_island_speed(&undo->step, island), least = GRAZING * speed;
  least = fmin(least, least / island->length); // convert to an angular speed if the coordinate is
                                               // an angle
  undo->gradient->flags |= approach > -least ? S2_GRADIENT_GRAZING : 0;
  undo->closing = approach < 0 ? -(h_bar - undo->left_bar) / approach : 0;
}

void s2_undo_arrive(S2Undo *undo, const S2Note *note) {
  const S2Note *interval = s2_undo_last(undo, S2_ACT_INTERVAL);
  // the interval takes all or half of the remaining time
  undo->share = note->arrive.meets ? 1 : note->h / interval->h;
  if (event_closes(undo, note)) {
    event_closing_vjp(undo, note);
  }
  if (note->arrive.meets) {
    undo->gradient->flags |=
        note->arrive.others && s2_undo_depends(undo, note, true) ? S2_GRADIENT_TOGETHER : 0;
    event_meeting_vjp(undo, note);
  }
  if (s2_undo_good(undo)) {
    event_arrive_vjp(undo, note, interval);
  }
}

// ---- Parts of an interval ---------------------------------------------------------------------

// The joint and contact impulses of a step are sums over the impacts and flows of its intervals.
static void event_take_sums(S2Undo *undo, const S2Note *note) {
  for (int i = 0; i < note->of->island.joints; i++) {
    int32_t slot = note->of->island.joint[i];
    size_t at = S2_JOINT_ROWS * (size_t)slot;
    // Each interval gets the adjoint of the whole sum.
    memcpy(undo->bar.joint_impulse + at, undo->impulse_bar + at, sizeof(double) * S2_JOINT_ROWS);
    memcpy(undo->bar.joint_reaction + 3 * slot, undo->reaction + 3 * slot, 3 * sizeof(double));
  }
  s2_undo_sum_contacts(undo);
}

void s2_undo_interval_end(S2Undo *undo, const S2Note *note) {
  const S2Note *from = s2_undo_last(undo, S2_ACT_SET_OUT);
  undo->in_interval = true;
  s2_undo_put_nodes(note, note->end.q1, undo->step.q1);
  s2_undo_put_nodes(note, note->end.v2, undo->step.v2);
  s2_undo_put_nodes(note, note->end.v1, undo->step.v1);
  s2_undo_put_nodes(note, from->set_out.q0, undo->step.q0);
  s2_undo_put_nodes(note, from->set_out.v0, undo->step.v0);
  if (note->end.force != NULL) {
    s2_undo_put_nodes(note, note->end.force, undo->step.force);
  }
  event_free_nodes(undo, note);
  event_place_ground(undo);
  event_take_sums(undo, note);
}

void s2_undo_struck(S2Undo *undo, const S2Note *note) {
  s2_undo_move_nodes(note, undo->bar.v0, undo->bar.v2);
  for (int i = 0; i < note->of->island.nodes; i++) {
    memcpy(undo->step.v2 + 3 * note->of->island.node[i],
           undo->step.v0 + 3 * note->of->island.node[i], 3 * sizeof(double));
  }
  s2_undo_put_nodes(note, note->plain.before, undo->step.v0);
  event_free_nodes(undo, note);
  event_set_ground(undo, s2_undo_last(undo, S2_ACT_INTERVAL));
  event_take_sums(undo, note);
}

void s2_undo_interval(S2Undo *undo, const S2Note *note) {
  undo->in_interval = false;
  event_forget_ground(undo, note);
  undo->length_bar += undo->bar.elapsed; // time since the start of the step = length - left
  undo->left_bar -= undo->bar.elapsed;
  undo->bar.elapsed = 0;
  for (int i = 0; i < note->of->island.joints; i++) { // impulses of the previous step are not used
    memset(undo->bar.joint_impulse + S2_JOINT_ROWS * (size_t)note->of->island.joint[i], 0,
           sizeof(double) * S2_JOINT_ROWS);
  }
  // Except in the first interval, q0 and v0 were q1 and v2 of the previous interval.
  if (note->interval.earlier > 0) {
    s2_undo_move_nodes(note, undo->bar.q0, undo->bar.q1);
    s2_undo_move_nodes(note, undo->bar.v0, undo->bar.v2);
  } else { // in the first interval, the remaining time is the whole step
    undo->length_bar += undo->left_bar;
    undo->left_bar = 0;
  }
}

// Passes on the adjoint `bar` of the work J at contact point k of a touch.
static void event_work_vjp(S2Undo *undo, const S2Note *note, int i, int k, double bar,
                           S2TouchBar *pair) {
  const S2Touch *touch = &undo->open.touches[i];
  const S2TouchPoint *at = &touch->points[k];
  const double *v0 = undo->step.v0, *v2 = undo->step.v2;
  if (at->normal_impulse == 0 && at->tangent_impulse == 0) { // the flow has no row for this point
    return;
  }
  // J is the sum of impulse (u0 + u2)/2 over normal and tangent. First the adjoints of the
  // impulses.
  S2Vec2 n = at->at.normal, t = s2_left(n), t_bar = {0};
  S2PointBar point = {0};
  S2Work work = s2_touch_work(touch, k, v0, v2, note->of->tiny);
  double normal = bar * at->normal_impulse / 2, tangent = bar * at->tangent_impulse / 2;
  undo->pushed[2 * note->of->touch_index[i] + k] += bar * (work.u0 + work.u2) / 2;
  undo->dragged[2 * note->of->touch_index[i] + k] += bar * (work.along0 + work.along2) / 2;
  // Adjoints of the velocities before and after the flow, if they are used.
  for (int after = 0; after < 2; after++) {
    const double *v = after ? v2 : v0;
    double *v_bar = after ? undo->bar.v2 : undo->bar.v0;
    if ((after ? work.u2 : work.u0) != 0) {
      s2_touch_velocity_vjp(touch, k, n, v, normal, v_bar, &point, &point.normal);
    }
    if ((after ? work.along2 : work.along0) != 0) {
      s2_touch_velocity_vjp(touch, k, t, v, tangent, v_bar, &point, &t_bar);
      pair->surface_speed -= tangent;
    }
  }
  // Adjoint of the contact point, which is at q1 if its rows were assembled there.
  point.normal = s2_add(point.normal, s2_right(t_bar));
  if (note->energy.turned) {
    s2_touch_point_vjp(undo->world, touch, k, undo->step.q1, &point, undo->bar.q1, undo->gradient);
  } else {
    s2_undo_point(undo, i, k, &point);
  }
}

// Force laws at the end of the flow change v1 once more. The mean velocities contain the changed
// v1, so the term f'h (old v1 - v1)/2 is differentiated separately.
static void event_kick_vjp(S2Undo *undo, double bar) {
  int index = undo->index;
  const S2Note *note;
  do {
    note = s2_note_at(undo->notes, --index);
  } while (note->act != S2_ACT_SET_OUT && note->act != S2_ACT_LAWS_END);
  const S2LawsAct *act = note->act == S2_ACT_LAWS_END ? note->laws.act : NULL;
  for (int i = 0; act != NULL && i < 3 * act->count; i++) {
    int at = 3 * act->answers[i / 3].slot + i % 3;
    double f = undo->step.force[at], h = undo->step.h;
    double late = (note->laws.v2[i] - undo->step.v1[at]) / 2;
    undo->bar.force[at] += bar * h * late;
    undo->bar.h += bar * f * late;
    undo->bar.v1[at] -= bar * f * h / 2;
    undo->law_flow[at] += bar * f * h / 2;
  }
}

// Passes on `bar`, the adjoint of the sum of f'(h m - (q1 - q0)) and the work of contacts. The mean
// velocity m is (v0 + v2)/2 if there was a flow, otherwise v1.
static void event_gain_vjp(S2Undo *undo, const S2Note *note, double bar) {
  S2Step *step = &undo->step;
  S2StepAdjoint *to = &undo->bar;
  // The mean velocity of the flow: (v0 + v2)/2, or v1 without a flow.
  double share = note->energy.flowed ? 0.5 : 0;
  // f'(h mean - (q1 - q0)) is the difference of two works of the forces: at the mean velocity, and
  // along the actual displacement.
  for (int i = 0; i < note->of->island.nodes; i++) {
    for (int at = 3 * note->of->island.node[i], c = 0; c < 3; c++, at++) {
      double f = step->force[at], *later = note->energy.flowed ? &to->v2[at] : &to->v1[at];
      double mean =
          share * step->v0[at] + (1 - share) * (note->energy.flowed ? step->v2[at] : step->v1[at]);
      to->force[at] += bar * (step->h * mean - (step->q1[at] - step->q0[at]));
      to->h += bar * f * mean;
      to->v0[at] += bar * f * step->h * share;
      *later += bar * f * step->h * (1 - share);
      to->q1[at] -= bar * f;
      to->q0[at] += bar * f;
    }
  }
  if (note->energy.flowed) {
    event_kick_vjp(undo, bar);
  }
  // The work of each contact.
  for (int i = 0; i < note->of->island.touches; i++) {
    S2TouchBar pair = {0};
    for (int k = 0; k < undo->open.touches[i].count; k++) {
      event_work_vjp(undo, note, i, k, bar, &pair);
    }
    s2_touch_material_vjp(undo->world, &undo->open.touches[i], &pair, undo->gradient);
  }
}

void s2_undo_repay(S2Undo *undo, const S2Note *note) {
  undo->gradient->flags |= note->energy.edge ? S2_GRADIENT_WEAK : 0;
  if (note->energy.loss > 0) {
    event_gain_vjp(undo, note, s2_undo_repaid(undo, note));
  }
}
