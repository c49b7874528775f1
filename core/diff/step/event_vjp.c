// Event stepping backwards (algorithm B4 in docs/stepping.md): pieces of an island's step.
//
// A piece goes x+ = flow(x, h). The last one of a step takes what is left, h = left. One that ends
// where others meet takes the h at which the gap there is 0:
//
//     gap(flow(x, h)) = 0  =>  dh = -(dgap/dx dx)/(dgap/dh),   left+ = left - h
//
// so the adjoint of h, which is that of the flow's end less that of what is left, goes as a
// multiple of the gap to where the flow ends, and what is left passes it on unchanged to the piece
// before. Rates are those of the flow that was computed (a contact that slides changes them), taken
// by a sweep of its own over the flow.
#include "diff/step/undo.h"
#include "dynamics/step/forces.h"
#include "dynamics/step/islands.h"

#include <string.h>

// Part of an island's speed below which what meets only grazes: derivatives grow beyond bounds.
#define GRAZING 1e-6
// Of the same: what leaves and meets again at once does so after S2_EVENT_LEAVING of what was left.
#define GIVEN 1e-9

static bool goes(const S2Body *body) {
  return body->enabled && body->type != S2_STATIC;
}

static void put_nodes(const S2Note *note, const double *from, double *to) {
  for (int i = 0; i < note->of->island.nodes; i++) {
    memcpy(to + 3 * note->of->island.node[i], from + 3 * i, 3 * sizeof(double));
  }
}

static void move_nodes(const S2Note *note, double *from, double *to) {
  for (int i = 0; i < note->of->island.nodes; i++) {
    for (int at = 3 * note->of->island.node[i], c = 0; c < 3; c++, at++) {
      to[at] += from[at];
      from[at] = 0;
    }
  }
}

static void free_nodes(const S2Undo *undo, const S2Note *note) {
  for (int i = 0; i < note->of->island.nodes; i++) {
    s2_step_free_body(&undo->step, note->of->island.node[i]);
  }
}

static double since_start(const S2Undo *undo, const S2Note *note) {
  return note->t - undo->world->kept.time;
}

// ---- What is not solved for -------------------------------------------------------------------

void s2_undo_drift(S2Undo *undo, const S2Note *note) {
  S2StepAdjoint *bar = &undo->bar;
  for (int i = 0; i < undo->world->order.count; i++) {
    int32_t slot = undo->world->order.at[i];
    for (int at = 3 * slot, c = 0; c < 3; c++, at++) {
      double q = bar->q1[at], half = goes(&undo->world->bodies.at[slot]) ? q / 2 : 0;
      bar->q0[at] += q;
      bar->v0[at] += note->h * half;
      bar->free_v[at] += bar->v1[at] + bar->v2[at] + note->h * half;
      bar->h += half * (undo->step.v0[at] + undo->step.free_v[at]);
      bar->q1[at] = bar->v1[at] = bar->v2[at] = 0;
    }
  }
  bar->h += undo->length_bar;
  undo->length_bar = 0;
}

// Where it is at the time of a piece, after which the adjoints of its poses are of that time.
static void place_ground(S2Undo *undo, int index) {
  const S2Note *piece = s2_note_at(undo->notes, index);
  const S2Note *start = s2_note_at(undo->notes, s2_undo_last(undo, index, S2_ACT_FREE));
  double done = since_start(undo, piece);
  for (int i = 0; i < piece->of->grounds; i++) {
    for (int at = 3 * piece->of->ground[i], c = 0; c < 3; c++, at++) {
      undo->step.q0[at] = start->before[at] + done * undo->step.free_v[at];
      undo->step.q1[at] = undo->step.q0[at] + undo->step.h * undo->step.free_v[at];
      undo->ground0[at] = undo->bar.q0[at];
      undo->ground1[at] = undo->bar.q1[at];
      undo->bar.q0[at] = undo->bar.q1[at] = 0;
    }
  }
}

static void forget_ground(S2Undo *undo, int index) {
  const S2Note *piece = s2_note_at(undo->notes, index);
  S2StepAdjoint *bar = &undo->bar;
  double done = since_start(undo, piece);
  for (int i = 0; i < piece->of->grounds; i++) {
    for (int at = 3 * piece->of->ground[i], c = 0; c < 3; c++, at++) {
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

// q1 of nodes and ground at the flow's end, and v2 = v1.
static void arrive_vjp(S2Undo *undo, const S2Note *note, const S2Note *piece) {
  S2StepAdjoint *bar = &undo->bar;
  double h = note->h, share = note->part;
  move_nodes(note, bar->v2, bar->v1);
  for (int i = 0; i < note->of->island.nodes; i++) {
    for (int at = 3 * note->of->island.node[i], c = 0; c < 3; c++, at++) {
      double q = bar->q1[at];
      bar->q1[at] = 0;
      bar->q0[at] += q;
      bar->v0[at] += (1 - share) * h * q;
      bar->v1[at] += share * h * q;
      bar->h += q * ((1 - share) * undo->step.v0[at] + share * undo->step.v1[at]);
    }
  }
  for (int i = 0; i < piece->of->grounds; i++) {
    for (int at = 3 * piece->of->ground[i], c = 0; c < 3; c++, at++) {
      bar->q0[at] += bar->q1[at];
      bar->free_v[at] += h * bar->q1[at];
      bar->h += bar->q1[at] * undo->step.free_v[at];
      bar->q1[at] = 0;
    }
  }
}

// What was to be smooth knows nothing of contacts to come that the step does not get to.
static void flag_unseen(S2Undo *undo, const S2Note *note) {
  bool depends = false, last = undo->share == 1; // else more of the step follows
  for (int i = 0; i < 3 * note->of->island.nodes; i++) {
    depends |= undo->bar.free_v[3 * note->of->island.node[i / 3] + i % 3] != 0;
  }
  bool smooth = undo->world->kept.def.gradient == S2_GRADIENT_SMOOTH;
  undo->gradient->flags |= smooth && note->unseen && last && depends ? S2_GRADIENT_PARTIAL : 0;
}

static void set_out_vjp(S2Undo *undo, const S2Note *note) {
  for (int i = 0; i < note->of->island.nodes; i++) {
    s2_undo_free_body(undo, note->of->island.node[i], note->h);
  }
}

static void coast_vjp(S2Undo *undo, const S2Note *note) {
  move_nodes(note, undo->bar.v1, undo->bar.free_v);
}

static size_t impulses(const S2Undo *undo) {
  return S2_JOINT_ROWS * (size_t)undo->notes->joint_slots;
}

// Adjoints of a sweep whose other results nobody asks for.
static void scratch_bars(S2Undo *undo) {
  size_t count = 3 * (size_t)undo->notes->slots;
  size_t joints = (size_t)undo->notes->joint_slots;
  S2Arena *arena = undo->arena;
  double *v = S2_TAKE_ZEROED(arena, double, 8 * count);
  undo->gradient = undo->retold.gradient = undo->scratch;
  undo->retold.goal = S2_TAKE_ZEROED(arena, double, 3 * joints);
  undo->retold.rate = S2_TAKE_ZEROED(arena, double, 3 * joints);
  undo->bar = (S2StepAdjoint){
      .q0 = v,
      .v0 = v + count,
      .force = v + 2 * count,
      .mass = v + 3 * count,
      .free_v = v + 4 * count,
      .v1 = v + 5 * count,
      .v2 = v + 6 * count,
      .q1 = v + 7 * count,
      .joint_impulse = S2_TAKE_ZEROED(arena, double, impulses(undo)),
      .joint_reaction = S2_TAKE_ZEROED(arena, double, 3 * joints),
      .gradient = undo->scratch,
  };
}

// All that was read since the flow's end may depend on how long it took: mends, and what they put
// into the velocities and the joints' impulses.
static void take_bars(S2Undo *undo, const S2StepAdjoint *from) {
  size_t bytes = sizeof(double) * 3 * (size_t)undo->notes->slots;
  memcpy(undo->bar.q1, from->q1, bytes);
  memcpy(undo->bar.v1, from->v1, bytes);
  memcpy(undo->bar.v2, from->v2, bytes);
  memcpy(undo->bar.mass, from->mass, bytes);
  memcpy(undo->bar.free_v, from->free_v, bytes);
  memcpy(undo->bar.joint_impulse, from->joint_impulse, sizeof(double) * impulses(undo));
  memcpy(undo->bar.joint_reaction, from->joint_reaction,
         sizeof(double) * 3 * (size_t)undo->notes->joint_slots);
  undo->bar.h = from->h;
}

// What they were stays for the sweep that counts.
static void take_impulses(S2Undo *undo, bool none) {
  int count = 2 * undo->touches;
  double *pushed = S2_TAKE_ZEROED(undo->arena, double, count);
  double *rubbed = S2_TAKE_ZEROED(undo->arena, double, count);
  for (int i = 0; i < count && !none; i++) {
    pushed[i] = undo->pushed[i];
    rubbed[i] = undo->rubbed[i];
  }
  undo->pushed = pushed;
  undo->rubbed = rubbed;
  undo->contact = s2_undo_copy_contacts(undo);
  undo->asked &= !none;
}

static void add_gap(S2Undo *undo, const S2Note *note, double part) {
  S2PointBar point = {.gap = part};
  s2_touch_point_vjp(undo->world, &undo->open.touches[0], note->rows, undo->step.q1, &point,
                     undo->bar.q1, undo->gradient);
}

// dl/dh of the flow that ends with note `index`, where l is the gap that vanishes there, or (`gap`
// false) what the adjoints of its end say.
static void rate_of(S2Undo *undo, int index, bool gap, double *rate) {
  const S2Note *note = s2_note_at(undo->notes, index);
  const S2Note *piece = s2_note_at(undo->notes, s2_undo_last(undo, index, S2_ACT_PIECE));
  if (undo->scratch == NULL) { // it stays
    undo->scratch = s2_world_gradient_like(undo->gradient, undo->arena);
  }
  S2ArenaMark mark = s2_arena_mark(undo->arena);
  S2Undo all = *undo;
  scratch_bars(undo);
  if (gap) {
    add_gap(undo, note, 1);
  } else {
    take_bars(undo, &all.bar);
  }
  take_impulses(undo, gap);
  arrive_vjp(undo, note, piece);
  int at = index - 1;
  for (; s2_note_at(undo->notes, at)->act != S2_ACT_SET_OUT && s2_undo_good(undo); at--) {
    const S2Note *by = s2_note_at(undo->notes, at);
    if (by->act == S2_ACT_SOLVE) {
      s2_undo_solve(undo, at);
    } else if (by->act == S2_ACT_BALANCE) {
      s2_undo_balance(undo, by);
    } else {
      coast_vjp(undo, by);
    }
  }
  if (s2_undo_good(undo)) {
    set_out_vjp(undo, s2_note_at(undo->notes, at));
  }
  *rate = undo->bar.h;
  *undo = all;
  put_nodes(note, note->v1, undo->step.v1);
  s2_arena_rewind(undo->arena, mark);
}

// When they meet.
static void meeting_vjp(S2Undo *undo, int index) {
  const S2Note *note = s2_note_at(undo->notes, index);
  const S2Note *piece = s2_note_at(undo->notes, s2_undo_last(undo, index, S2_ACT_PIECE));
  double approach, h_bar, slop = S2_TOUCH_SLOP * note->of->island.length;
  if (fabs(note->h - S2_EVENT_LEAVING * piece->h) <= GIVEN * note->h) {
    undo->share = S2_EVENT_LEAVING;
    return;
  }
  undo->share = 0;
  if (note->rows == S2_NONE ||
      undo->open.touches[0].points[note->rows].at.gap > slop) { // they did not
    undo->gradient->flags |= S2_GRADIENT_PARTIAL;
    return;
  }
  double closed = S2_EVENT_CLOSED * slop;
  undo->gradient->flags |=
      fabs(undo->open.touches[0].points[note->rows].at.gap) > closed ? S2_GRADIENT_PARTIAL : 0;
  rate_of(undo, index, false, &h_bar);
  rate_of(undo, index, true, &approach);
  double least = GRAZING * s2_island_speed(&undo->step, &note->of->island);
  undo->gradient->flags |= approach > -least ? S2_GRADIENT_GRAZING : 0;
  if (approach < 0) {
    add_gap(undo, note, -(h_bar - undo->left_bar) / approach);
  }
}

static void arrival_vjp(S2Undo *undo, int index) {
  const S2Note *note = s2_note_at(undo->notes, index);
  const S2Note *piece = s2_note_at(undo->notes, s2_undo_last(undo, index, S2_ACT_PIECE));
  undo->share = 1;
  if (note->meets) {
    undo->gradient->flags |=
        note->edge && s2_undo_depends(undo, note, true) ? S2_GRADIENT_TOGETHER : 0;
    meeting_vjp(undo, index);
  }
  if (s2_undo_good(undo)) {
    arrive_vjp(undo, note, piece);
  }
}

// ---- Pieces -----------------------------------------------------------------------------------

// What joints and contacts carried in a step is the sum over the blows and flows of its pieces.
static void take_sums(S2Undo *undo, const S2Note *note) {
  for (int i = 0; i < note->of->island.joints; i++) {
    int32_t slot = note->of->island.joint[i];
    size_t at = S2_JOINT_ROWS * (size_t)slot;
    memcpy(undo->bar.joint_impulse + at, undo->impulse_bar + at, sizeof(double) * S2_JOINT_ROWS);
    memcpy(undo->bar.joint_reaction + 3 * slot, undo->reaction + 3 * slot, 3 * sizeof(double));
  }
  s2_undo_sum_contacts(undo);
}

static void end_vjp(S2Undo *undo, int index) {
  const S2Note *note = s2_note_at(undo->notes, index);
  const S2Note *from = s2_note_at(undo->notes, s2_undo_last(undo, index, S2_ACT_SET_OUT));
  put_nodes(note, note->before, undo->step.q1);
  put_nodes(note, note->more, undo->step.v2);
  put_nodes(note, note->v1, undo->step.v1);
  put_nodes(note, from->before, undo->step.q0);
  put_nodes(note, from->more, undo->step.v0);
  free_nodes(undo, note);
  place_ground(undo, s2_undo_last(undo, index, S2_ACT_PIECE));
  take_sums(undo, note);
}

static void struck_vjp(S2Undo *undo, const S2Note *note) {
  move_nodes(note, undo->bar.v0, undo->bar.v2);
  for (int i = 0; i < note->of->island.nodes; i++) {
    memcpy(undo->step.v2 + 3 * note->of->island.node[i],
           undo->step.v0 + 3 * note->of->island.node[i], 3 * sizeof(double));
  }
  put_nodes(note, note->before, undo->step.v0);
  free_nodes(undo, note);
  take_sums(undo, note);
}

static void begin_vjp(S2Undo *undo, int index) {
  const S2Note *note = s2_note_at(undo->notes, index);
  forget_ground(undo, index);
  undo->length_bar += undo->bar.elapsed; // since the step began: length - left
  undo->left_bar -= undo->bar.elapsed;
  undo->bar.elapsed = 0;
  for (int i = 0; i < note->of->island.joints; i++) { // those of the step before are not read
    memset(undo->bar.joint_impulse + S2_JOINT_ROWS * (size_t)note->of->island.joint[i], 0,
           sizeof(double) * S2_JOINT_ROWS);
  }
  if (note->rows > 0) {
    move_nodes(note, undo->bar.q0, undo->bar.q1);
    move_nodes(note, undo->bar.v0, undo->bar.v2);
  } else { // all of the step is left
    undo->length_bar += undo->left_bar;
    undo->left_bar = 0;
  }
}

// J by point k of a touch, times `bar`.
static void work_vjp(S2Undo *undo, int index, int i, int k, double bar, S2TouchBar *pair) {
  const S2Note *note = s2_note_at(undo->notes, index);
  const S2Touch *touch = &undo->open.touches[i];
  const S2TouchPoint *at = &touch->points[k];
  const double *v0 = undo->step.v0, *v2 = undo->step.v2;
  if (at->normal_impulse == 0 && at->tangent_impulse == 0) { // no row of the flow takes it up
    return;
  }
  S2Vec2 n = at->at.normal, t = s2_left(n), t_bar = {0};
  S2PointBar point = {0};
  S2Work work = s2_touch_work(touch, k, v0, v2, note->of->tiny);
  double normal = bar * at->normal_impulse / 2, tangent = bar * at->tangent_impulse / 2;
  undo->pushed[2 * note->of->touch_index[i] + k] += bar * (work.u0 + work.u2) / 2;
  undo->rubbed[2 * note->of->touch_index[i] + k] += bar * (work.along0 + work.along2) / 2;
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
  point.normal = s2_add(point.normal, s2_right(t_bar));
  if (note->turned) {
    s2_touch_point_vjp(undo->world, touch, k, undo->step.q1, &point, undo->bar.q1, undo->gradient);
  } else {
    s2_undo_point(undo, index, i, k, &point);
  }
}

// f'(h m - (q1 - q0)) and what contacts brought, times `bar`; m is the mean of v0 and v2 where
// there was a flow, else v1.
static void gain_vjp(S2Undo *undo, int index, double bar) {
  const S2Note *note = s2_note_at(undo->notes, index);
  S2Step *step = &undo->step;
  S2StepAdjoint *to = &undo->bar;
  double share = note->flowed ? 0.5 : 0;
  for (int i = 0; i < note->of->island.nodes; i++) {
    for (int at = 3 * note->of->island.node[i], c = 0; c < 3; c++, at++) {
      double f = step->force[at], *later = note->flowed ? &to->v2[at] : &to->v1[at];
      double mean =
          share * step->v0[at] + (1 - share) * (note->flowed ? step->v2[at] : step->v1[at]);
      to->force[at] += bar * (step->h * mean - (step->q1[at] - step->q0[at]));
      to->h += bar * f * mean;
      to->v0[at] += bar * f * step->h * share;
      *later += bar * f * step->h * (1 - share);
      to->q1[at] -= bar * f;
      to->q0[at] += bar * f;
    }
  }
  for (int i = 0; i < note->of->island.touches; i++) {
    S2TouchBar pair = {0};
    for (int k = 0; k < undo->open.touches[i].count; k++) {
      work_vjp(undo, index, i, k, bar, &pair);
    }
    s2_touch_material_vjp(undo->world, &undo->open.touches[i], &pair, undo->gradient);
  }
}

static void repay_vjp(S2Undo *undo, int index) {
  const S2Note *note = s2_note_at(undo->notes, index);
  undo->gradient->flags |= note->edge ? S2_GRADIENT_WEAK : 0;
  if (note->part > 0) {
    gain_vjp(undo, index, s2_undo_repaid(undo, note));
  }
}

void s2_undo_piece(S2Undo *undo, int index) {
  const S2Note *note = s2_note_at(undo->notes, index);
  switch (note->act) {
  case S2_ACT_PIECE_END:
    end_vjp(undo, index);
    break;
  case S2_ACT_REPAY:
    repay_vjp(undo, index);
    break;
  case S2_ACT_ARRIVE:
    arrival_vjp(undo, index);
    break;
  case S2_ACT_COAST:
    coast_vjp(undo, note);
    break;
  case S2_ACT_SET_OUT:
    flag_unseen(undo, note);
    set_out_vjp(undo, note);
    undo->left_bar = (1 - undo->share) * undo->left_bar + undo->share * undo->bar.h;
    undo->bar.h = 0;
    break;
  case S2_ACT_STRUCK:
    struck_vjp(undo, note);
    break;
  default: // S2_ACT_PIECE
    begin_vjp(undo, index);
    break;
  }
}
