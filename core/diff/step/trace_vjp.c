// The notes of a step, backwards.
#include "diff/step/undo.h"
#include "dynamics/step/forces.h"

#include <assert.h>
#include <string.h>

static size_t numbers(const S2Undo *undo) {
  return 3 * (size_t)undo->notes->slots;
}

static void clear(const S2Undo *undo, double *x) {
  memset(x, 0, sizeof(double) * numbers(undo));
}

static void set(const S2Undo *undo, double *to, const double *from) {
  memcpy(to, from, sizeof(double) * numbers(undo));
}

static void add(const S2Undo *undo, const double *x, double *to) {
  for (size_t i = 0; i < numbers(undo); i++) {
    to[i] += x[i];
  }
}

static bool goes(const S2Body *body) { // moves by a velocity
  return body->enabled && body->type != S2_STATIC;
}

// ---- Free motion, forces ----------------------------------------------------------------------

// mass and free_v of the (sub-)step that ends before note `end`, and where it began.
static void enter(S2Undo *undo, int end) {
  int free_at = s2_undo_last(undo, end, S2_ACT_FREE);
  const S2Note *moved = NULL, *note = s2_note_at(undo->notes, free_at);
  for (int i = free_at + 1; i < end; i++) {
    bool mended = s2_note_at(undo->notes, i)->act == S2_ACT_Q0_IS_Q1;
    moved = mended ? s2_note_at(undo->notes, i) : moved;
  }
  set(undo, undo->step.q0, moved != NULL ? moved->before : note->before);
  set(undo, undo->step.v0, note->more);
  set(undo, undo->step.force, note->force);
  undo->step.t = note->t;
  undo->step.h = note->h;
  for (int i = 0; i < undo->world->order.count; i++) {
    s2_step_free_body(&undo->step, undo->world->order.at[i]);
  }
  undo->world->drives.at = note->drives;
  undo->world->drives.count = note->drives == NULL ? 0 : undo->notes->joint_slots;
  // Rows of joints ask for them; in event stepping q0 moves with the pieces.
  bool event = s2_world_way(&undo->world->kept.def) == S2_EVENT;
  undo->step.turned = undo->world->joint_order.count > 0 && !event;
  for (int i = 0; i < undo->world->order.count && undo->step.turned; i++) {
    int32_t slot = undo->world->order.at[i];
    undo->step.turn[slot] = s2_rot(undo->step.q0[3 * slot]);
  }
}

void s2_undo_free_body(S2Undo *undo, int32_t slot, double h) {
  double alpha = undo->world->kept.def.alpha;
  S2StepAdjoint *bar = &undo->bar;
  const S2Step *step = &undo->step;
  S2WorldGradient *g = undo->gradient;
  const S2Body *body = &undo->world->bodies.at[slot];
  for (int c = 0; c < 3; c++) {
    int at = 3 * slot + c;
    double free_bar = bar->free_v[at], mass_bar = bar->mass[at];
    bar->free_v[at] = bar->mass[at] = 0;
    if (!s2_body_moves(body)) {
      bar->v0[at] += body->type == S2_KINEMATIC && body->enabled ? free_bar : 0;
      continue;
    }
    double inertial = c == 0 ? body->inertia : body->mass;
    double damping = c == 0 ? body->angular_damping : body->linear_damping;
    double mass = step->mass[at], left = inertial * (1 - h * (1 - alpha) * damping);
    double over = free_bar / mass, left_bar = over * step->v0[at];
    mass_bar -= over * step->free_v[at];
    bar->v0[at] += over * left;
    bar->force[at] += over * h;
    bar->h +=
        over * step->force[at] + inertial * damping * (mass_bar * alpha - left_bar * (1 - alpha));
    *(c == 0 ? &g->body[slot].inertia : &g->body[slot].mass) +=
        mass_bar * (1 + h * alpha * damping) + left_bar * (1 - h * (1 - alpha) * damping);
    *(c == 0 ? &g->body[slot].angular_damping : &g->body[slot].linear_damping) +=
        inertial * h * (mass_bar * alpha - left_bar * (1 - alpha));
    g->alpha += inertial * h * damping * (mass_bar + left_bar);
  }
}

static void free_vjp(S2Undo *undo, int index) {
  const S2Note *note = s2_note_at(undo->notes, index);
  S2StepAdjoint *bar = &undo->bar;
  double dt = undo->world->kept.def.dt;
  for (int i = 0; i < undo->world->order.count; i++) {
    s2_undo_free_body(undo, undo->world->order.at[i], note->h);
  }
  // All times of a step are in proportion to dt.
  undo->gradient->dt += (bar->h * note->h + bar->elapsed * (note->t - undo->world->kept.time)) / dt;
  bar->h = bar->elapsed = 0;
  s2_undo_motions(undo, index);
}

// To gravity, and what was applied by hand or by a force law.
static void force_vjp(S2Undo *undo) {
  S2WorldGradient *g = undo->gradient;
  S2Vec2 gravity = undo->world->kept.def.gravity;
  for (int i = 0; i < undo->world->order.count; i++) {
    int32_t slot = undo->world->order.at[i];
    const S2Body *body = &undo->world->bodies.at[slot];
    double *bar = undo->bar.force + 3 * slot;
    for (int c = 0; c < 3; c++) {
      g->f[3 * slot + c] += bar[c];
    }
    if (body->type == S2_DYNAMIC) {
      double along = gravity.x * bar[1] + gravity.y * bar[2];
      g->body[slot].mass += body->gravity_scale * along;
      g->body[slot].gravity_scale += body->mass * along;
      g->gravity.x += body->mass * body->gravity_scale * bar[1];
      g->gravity.y += body->mass * body->gravity_scale * bar[2];
    }
    memset(bar, 0, 3 * sizeof(double));
  }
}

// ---- Motion -----------------------------------------------------------------------------------

int s2_undo_last(const S2Undo *undo, int index, S2Act act) {
  while (s2_note_at(undo->notes, index)->act != act) {
    index -= 1;
  }
  return index;
}

static bool carried_ahead(const S2Undo *undo, const S2Note *note, int32_t slot) {
  const S2WorldDef *def = &undo->world->kept.def;
  return def->beta == 1 || s2_world_way(def) == S2_EVENT ||
         (note->ahead != NULL && note->ahead[slot]);
}

// The velocity that carries a body in the note's step, and what depends on it.
double s2_undo_carry(const S2Undo *undo, const S2Note *note, int at) {
  double beta = undo->world->kept.def.beta;
  if (!goes(&undo->world->bodies.at[at / 3])) {
    return 0;
  }
  return carried_ahead(undo, note, at / 3)
             ? undo->step.v1[at]
             : (1 - beta) * undo->step.v0[at] + beta * undo->step.v1[at];
}

void s2_undo_carried(S2Undo *undo, const S2Note *note, int at, double bar) {
  double beta = undo->world->kept.def.beta;
  if (!goes(&undo->world->bodies.at[at / 3])) {
    return;
  }
  if (carried_ahead(undo, note, at / 3)) {
    undo->bar.v1[at] += bar;
    return;
  }
  undo->bar.v0[at] += (1 - beta) * bar;
  undo->bar.v1[at] += beta * bar;
  undo->gradient->beta += (undo->step.v1[at] - undo->step.v0[at]) * bar;
}

// q = q0 + h carry
static void moved_vjp(S2Undo *undo, const S2Note *note, int at, double bar) {
  undo->bar.q0[at] += bar;
  undo->bar.h += s2_undo_carry(undo, note, at) * bar;
  s2_undo_carried(undo, note, at, note->h * bar);
}

static void integrate_vjp(S2Undo *undo, const S2Note *note) {
  S2StepAdjoint *to = &undo->bar;
  for (int i = 0; i < undo->world->order.count; i++) {
    int32_t slot = undo->world->order.at[i];
    bool going = goes(&undo->world->bodies.at[slot]), ahead = carried_ahead(undo, note, slot);
    for (int at = 3 * slot; at < 3 * slot + 3; at++) {
      double bar = to->q1[at];
      to->q1[at] = 0;
      if (going && !ahead) {
        moved_vjp(undo, note, at, bar);
        continue;
      }
      to->q0[at] += bar;
      if (going) { // the same where v1 alone carries
        to->h += undo->step.v1[at] * bar;
        to->v1[at] += note->h * bar;
      }
    }
  }
  clear(undo, undo->displaced);
}

// Points at q0 + h carry, whose gaps were carried back by h times their speeds.
static void linearise_vjp(S2Undo *undo, const S2Note *note) {
  const S2Touch *touch = &undo->open.touches[0];
  const int32_t slot[2] = {touch->body_a, touch->body_b};
  S2ArenaMark mark = s2_arena_mark(undo->arena);
  size_t count = numbers(undo);
  double *q = S2_TAKE_ZEROED(undo->arena, double, count);
  double *carry = S2_TAKE_ZEROED(undo->arena, double, count);
  double *q_bar = S2_TAKE_ZEROED(undo->arena, double, count);
  double *carry_bar = S2_TAKE_ZEROED(undo->arena, double, count);
  for (int side = 0; side < 2; side++) {
    for (int at = 3 * slot[side]; at < 3 * slot[side] + 3; at++) {
      carry[at] = s2_undo_carry(undo, note, at);
      q[at] = undo->step.q0[at] + note->h * carry[at];
    }
  }
  for (int k = 0; k < touch->count; k++) {
    S2PointBar *bar = &undo->late_bar[2 * note->of->touch_index[0] + k];
    S2Vec2 n = touch->points[k].at.normal;
    double gap_bar = bar->gap;
    undo->bar.h -= gap_bar * s2_touch_velocity(touch, k, n, carry);
    s2_touch_velocity_vjp(touch, k, n, carry, -note->h * gap_bar, carry_bar, bar, &bar->normal);
    s2_touch_point_vjp(undo->world, touch, k, q, bar, q_bar, undo->gradient);
    *bar = (S2PointBar){0};
  }
  for (int side = 0; side < 2; side++) {
    for (int at = 3 * slot[side]; at < 3 * slot[side] + 3; at++) {
      s2_undo_carried(undo, note, at, carry_bar[at]);
      moved_vjp(undo, note, at, q_bar[at]);
    }
  }
  s2_arena_rewind(undo->arena, mark);
}

// ---- Reflections ------------------------------------------------------------------------------

// What is still gained on the way: how much faster e times the arrival is than e times the speed
// now, where that is more.
static void blow_vjp(S2Undo *undo, int index) {
  const S2Note *note = s2_note_at(undo->notes, index);
  for (int i = 0; i < note->of->island.touches; i++) {
    const S2Touch *touch = &undo->open.touches[i];
    S2TouchBar pair = {0};
    for (int k = 0; k < touch->count; k++) {
      double *more = &undo->more[2 * note->of->touch_index[i] + k], bar = *more;
      const S2Choice *choice = &undo->open.choices[2 * i + k];
      S2Vec2 n = touch->points[k].at.normal;
      double e = touch->restitution, u = s2_touch_velocity(touch, k, n, undo->step.v2);
      *more = 0;
      if (bar == 0 || !(choice->bias < 0) || !(-choice->bias + e * u > 0)) {
        continue;
      }
      S2PointBar point = {0}; // bar (e u - e arrival)
      s2_touch_velocity_vjp(touch, k, n, undo->step.v2, bar * e, undo->bar.v2, &point,
                            &point.normal);
      pair.restitution += bar * (u - s2_arrival_vjp(undo, touch, k, -bar * e, &point));
      s2_undo_point(undo, index, i, k, &point);
    }
    s2_touch_material_vjp(undo->world, touch, &pair, undo->gradient);
  }
}

static void blend_vjp(S2Undo *undo, const S2Note *note) {
  double e_bar = 0;
  for (int i = 0; i < 3 * note->of->island.nodes; i++) {
    int at = 3 * note->of->island.node[i / 3] + i % 3;
    double bar = undo->bar.v2[at];
    e_bar += bar * (note->more[i] - note->before[i]);
    undo->step.v2[at] = note->before[i];
    undo->reflected[at] = note->part * bar;
    undo->bar.v2[at] = (1 - note->part) * bar;
  }
  if (note->of->island.touches > 0) { // all have this e
    S2TouchBar pair = {.restitution = e_bar};
    s2_touch_material_vjp(undo->world, &undo->open.touches[0], &pair, undo->gradient);
  }
}

// v2 was put back to that of the blow's start, where these adjoints wait to be added.
static void rewind_vjp(S2Undo *undo, const S2Note *note) {
  for (int i = 0; i < 3 * note->of->island.nodes; i++) {
    int at = 3 * note->of->island.node[i / 3] + i % 3;
    undo->start[at] += undo->bar.v2[at];
    undo->bar.v2[at] = undo->reflected[at];
    undo->step.v2[at] = note->before[i];
    undo->reflected[at] = 0;
  }
}

static void start_vjp(S2Undo *undo, const S2Note *note) {
  for (int i = 0; i < 3 * note->of->island.nodes; i++) {
    int at = 3 * note->of->island.node[i / 3] + i % 3;
    undo->bar.v2[at] += undo->start[at];
    undo->start[at] = 0;
  }
}

bool s2_undo_depends(const S2Undo *undo, const S2Note *note, bool on_q1) {
  const S2StepAdjoint *bar = &undo->bar;
  const double *const of[] = {bar->q0, bar->v0, bar->v1, bar->v2, bar->free_v, bar->q1};
  bool depends = false;
  for (int i = 0; i < 3 * note->of->island.nodes && !depends; i++) {
    int at = 3 * note->of->island.node[i / 3] + i % 3;
    for (size_t k = 0; k < sizeof of / sizeof *of - !on_q1; k++) {
      depends |= of[k][at] != 0;
    }
  }
  return depends;
}

// Is all of the step at the note given to large islands, which only event stepping itself splits?
static bool left_whole(const S2Undo *undo, int index) {
  return undo->world->kept.def.stepping == S2_AUTO &&
         s2_note_at(undo->notes, s2_undo_last(undo, index, S2_ACT_PIECE))->rows == 0;
}

// A blow whose time does not move with the data: does the loss depend on what it strikes? (Of a
// short rest of a step in event stepping its flag says so, there is nothing better to be had.)
static void hit_vjp(S2Undo *undo, int index) {
  bool rest = undo->in_piece && !left_whole(undo, index);
  unsigned flag = rest ? S2_GRADIENT_PARTIAL : S2_GRADIENT_IMPACT;
  undo->gradient->flags |= s2_undo_depends(undo, s2_note_at(undo->notes, index), false) ? flag : 0;
}

// ---- Acts -------------------------------------------------------------------------------------

// What an abandoned way of q1 started from: its adjoint waited while the way was undone.
static void rejoin(S2Undo *undo) {
  add(undo, undo->back, undo->bar.q1);
  clear(undo, undo->back);
  undo->back_at = S2_NONE;
}

// Impulses before this act are in no energy that is undone.
static void forget_energies(const S2Undo *undo) {
  size_t bytes = sizeof(double) * 2 * (size_t)undo->touches;
  memset(undo->pushed, 0, bytes);
  memset(undo->rubbed, 0, bytes);
  memset(undo->struck, 0, 2 * bytes);
}

static void of_island(S2Undo *undo, const S2Note *note, double *from_bar, double *to_bar,
                      double *now) {
  for (int i = 0; i < 3 * note->of->island.nodes; i++) {
    int at = 3 * note->of->island.node[i / 3] + i % 3;
    to_bar[at] += from_bar[at];
    from_bar[at] = 0;
    now[at] = note->before[i];
  }
  (void)undo;
}

// When it ends does not move with the inputs here, though it does.
static void short_vjp(S2Undo *undo, const S2Note *note) {
  for (int i = 0; i < 3 * note->of->island.nodes; i++) {
    int at = 3 * note->of->island.node[i / 3] + i % 3;
    undo->bar.q0[at] += (1 - note->part) * undo->bar.q1[at];
    undo->bar.q1[at] *= note->part;
  }
  undo->gradient->flags |= S2_GRADIENT_PARTIAL;
}

static void midpoint_vjp(S2Undo *undo, const S2Note *note) {
  S2ArenaMark mark = s2_arena_mark(undo->arena);
  double *bar = S2_TAKE_ZEROED(undo->arena, double, 3 * note->of->island.nodes);
  undo->step.h = note->h;
  for (int i = 0; i < note->of->island.nodes; i++) {
    undo->step.node_of[note->of->island.node[i]] = i;
  }
  s2_midpoint_vjp(&undo->step, &note->of->island, note->more, bar, &undo->bar);
  double *to = note->restarted ? undo->bar.v2 : undo->bar.v0;
  for (int i = 0; i < 3 * note->of->island.nodes; i++) {
    int at = 3 * note->of->island.node[i / 3] + i % 3;
    undo->step.node_of[at / 3] = S2_GROUND;
    to[at] += bar[i];
    undo->step.v1[at] = note->before[i];
    undo->step.v2[at] = note->restarted ? note->more[i] : note->before[i];
  }
  s2_arena_rewind(undo->arena, mark);
}

static void commit_vjp(S2Undo *undo, int index) {
  const S2Note *note = s2_note_at(undo->notes, index);
  S2WorldGradient *g = undo->gradient;
  const S2WorldDef *def = &undo->world->kept.def;
  // Parts of a step are as long as each other; one that was cut short ends at the time it reached.
  double elapsed = def->stepping_partial ? note->t - undo->world->kept.time
                                         : def->dt / (def->substeps > 1 ? def->substeps : 1);
  // Impulses are those of the last attempt, as if it had lasted all that time.
  double whole = def->stepping == S2_BISECT ? elapsed / note->h : 1;
  set(undo, undo->step.q1, note->before);
  set(undo, undo->step.v2, note->more);
  set(undo, undo->step.v1, note->v1);
  if (def->nonlinear) { // else each solve has those that it reads
    memcpy(undo->step.joint_impulse, note->v1 + numbers(undo),
           sizeof(double) * S2_JOINT_ROWS * (size_t)undo->notes->joint_slots);
  }
  for (int i = 0; i < undo->world->order.count; i++) {
    int32_t slot = undo->world->order.at[i];
    const S2Body *body = &undo->world->bodies.at[slot];
    bool given = body->has_motion && body->type == S2_KINEMATIC && body->enabled;
    bool moves = s2_body_moves(body) || given;
    for (int at = 3 * slot; at < 3 * slot + 3; at++) {
      undo->bar.q1[at] = g->q[at];
      undo->bar.v2[at] = moves ? g->v[at] : 0;
      g->v[at] = moves ? 0 : g->v[at]; // the others keep what they were given
      g->q[at] = 0;
    }
  }
  for (int i = 0; i < undo->world->joint_order.count; i++) {
    int32_t slot = undo->world->joint_order.at[i];
    S2JointGradient *joint = &g->joint[slot];
    const S2Joint *of = &undo->world->joints.at[slot];
    for (int r = 0; r < S2_JOINT_ROWS; r++) {
      undo->bar.joint_impulse[S2_JOINT_ROWS * slot + r] = whole * joint->impulse[r];
      undo->impulse_bar[S2_JOINT_ROWS * slot + r] = whole * joint->impulse[r];
      joint->impulse[r] = 0;
    }
    g->dt += joint->reaction_time * elapsed / def->dt;
    joint->reaction_time = 0;
    // else goals wait, or moved as the program says
    bool goes_on = of->type == S2_LOCK && !of->driven && s2_joint_active(undo->world, of);
    if (goes_on) {
      s2_undo_given_up(undo, slot, elapsed);
    }
    for (int c = 0; c < 3 && goes_on; c++) {
      joint->rate[c] += elapsed * joint->goal[c];
      g->dt += elapsed / def->dt * of->rate[c] * joint->goal[c];
    }
  }
  s2_undo_end_impulses(undo);
  enter(undo, index);
  s2_undo_locks(undo, elapsed);
}

static void on_vjp(S2Undo *undo, int index) {
  const S2Note *note = s2_note_at(undo->notes, index);
  add(undo, undo->bar.q0, undo->bar.q1);
  add(undo, undo->bar.v0, undo->bar.v2);
  clear(undo, undo->bar.q0);
  clear(undo, undo->bar.v0);
  set(undo, undo->step.q1, note->before);
  set(undo, undo->step.v2, note->more);
  set(undo, undo->step.v1, note->v1);
  s2_undo_end_sub_step(undo);
  enter(undo, index);
}

static void part_of_world_vjp(S2Undo *undo, int index) {
  S2WorldGradient *g = undo->gradient;
  force_vjp(undo);
  for (int i = 0; i < undo->world->order.count; i++) {
    int32_t slot = undo->world->order.at[i];
    bool going = goes(&undo->world->bodies.at[slot]);
    for (int at = 3 * slot; at < 3 * slot + 3; at++) {
      g->q[at] += undo->bar.q0[at] + undo->bar.q1[at];
      g->v[at] += going ? undo->bar.v0[at] : 0;
    }
  }
  for (int i = 0; i < undo->world->joint_order.count; i++) {
    int32_t slot = undo->world->joint_order.at[i];
    for (int r = 0; r < S2_JOINT_ROWS; r++) {
      g->joint[slot].impulse[r] += undo->bar.joint_impulse[S2_JOINT_ROWS * slot + r];
      undo->bar.joint_impulse[S2_JOINT_ROWS * slot + r] = 0;
    }
  }
  double *const used[] = {undo->bar.q0, undo->bar.q1, undo->bar.v0, undo->bar.v1, undo->bar.v2};
  for (size_t i = 0; i < sizeof used / sizeof *used && index > 0; i++) { // for the part before
    clear(undo, used[i]);
  }
}

static void undo_act(S2Undo *undo, int index) {
  const S2Note *note = s2_note_at(undo->notes, index);
  undo->step.h = note->h;
  undo->step.t = note->t;
  switch (note->act) {
  case S2_ACT_PART:
    part_of_world_vjp(undo, index);
    break;
  case S2_ACT_FREE:
    free_vjp(undo, index);
    break;
  case S2_ACT_RESET:
    forget_energies(undo);
    add(undo, undo->bar.v1, undo->bar.free_v);
    clear(undo, undo->bar.v1);
    if (note->before != NULL) {
      set(undo, undo->step.v1, note->before);
    }
    break;
  case S2_ACT_RESET_V2:
    forget_energies(undo);
    add(undo, undo->bar.v2, undo->bar.free_v);
    clear(undo, undo->bar.v2);
    set(undo, undo->step.v2, note->before);
    break;
  case S2_ACT_SOLVE:
    s2_undo_solve(undo, index);
    break;
  case S2_ACT_LINEARISE:
    linearise_vjp(undo, note);
    break;
  case S2_ACT_V2_IS_V1:
    add(undo, undo->bar.v2, undo->bar.v1);
    clear(undo, undo->bar.v2);
    break;
  case S2_ACT_V1_IS_V2:
    add(undo, undo->bar.v1, undo->bar.v2);
    clear(undo, undo->bar.v1);
    set(undo, undo->step.v2, undo->step.v1);
    set(undo, undo->step.v1, note->before);
    break;
  case S2_ACT_RESTART: // what the first solve gave joints is in none of the laws of restitution
    s2_undo_forget_joints(undo, note);
    of_island(undo, note, undo->bar.v2, undo->bar.v0, undo->step.v2);
    break;
  case S2_ACT_REBOUND:
    of_island(undo, note, undo->bar.v2, undo->bar.v1, undo->step.v2);
    s2_undo_rebound(undo, index);
    break;
  case S2_ACT_KEEP:
    s2_undo_keep(undo, index);
    break;
  case S2_ACT_RECALL:
    s2_undo_recall(undo, note);
    of_island(undo, note, undo->bar.v2, undo->bar.v0, undo->step.v2);
    break;
  case S2_ACT_BLOW:
    s2_undo_forget_contacts(undo, note);
    start_vjp(undo, note);
    blow_vjp(undo, index);
    break;
  case S2_ACT_BLEND:
    if (!s2_undo_refuses_impulses(undo, note, "a blow of generalised reflections")) {
      blend_vjp(undo, note);
    }
    break;
  case S2_ACT_REWIND:
    rewind_vjp(undo, note);
    break;
  case S2_ACT_MIDPOINT:
    if (!s2_undo_refuses_impulses(undo, note, "nonlinear steps")) {
      midpoint_vjp(undo, note);
    }
    break;
  case S2_ACT_INTEGRATE:
    integrate_vjp(undo, note);
    break;
  case S2_ACT_SHORT:
    short_vjp(undo, note);
    break;
  case S2_ACT_SLOW:
    s2_undo_slow(undo, index);
    break;
  case S2_ACT_MEND:
    s2_undo_mend(undo, index);
    break;
  case S2_ACT_SHAKE:
    s2_undo_shake(undo, index);
    break;
  case S2_ACT_SPIN:
  case S2_ACT_SPIN_V2:
  case S2_ACT_SPIN_DQ:
  case S2_ACT_CAP:
    s2_undo_spin(undo, index);
    break;
  case S2_ACT_BALANCE:
    s2_undo_balance(undo, note);
    break;
  case S2_ACT_GO_BACK:
    of_island(undo, note, undo->bar.q1, undo->back, undo->step.q1);
    undo->back_at = note->since;
    break;
  case S2_ACT_FEEDBACK:
    s2_undo_feedback(undo, note);
    break;
  case S2_ACT_Q0_IS_Q1:
    add(undo, undo->bar.q0, undo->bar.q1);
    clear(undo, undo->bar.q0);
    set(undo, undo->step.q1, undo->step.q0);
    break;
  case S2_ACT_ON:
    on_vjp(undo, index);
    break;
  case S2_ACT_COMMIT:
    commit_vjp(undo, index);
    break;
  case S2_ACT_HIT:
    hit_vjp(undo, index);
    break;
  case S2_ACT_DRIFT:
    enter(undo, index);
    s2_undo_drift(undo, note);
    break;
  case S2_ACT_PIECE_END:
    undo->in_piece = true;
    s2_undo_piece(undo, index);
    break;
  case S2_ACT_PIECE:
    undo->in_piece = false; // fall through
  case S2_ACT_STRUCK:
  case S2_ACT_SET_OUT:
  case S2_ACT_COAST:
  case S2_ACT_ARRIVE:
  case S2_ACT_REPAY:
    s2_undo_piece(undo, index);
    break;
  }
}

// ---- The whole --------------------------------------------------------------------------------

// The bodies, pieces and joints that the notes have, as a world.
static S2World *view_of(const S2Notes *notes, S2Arena *arena) {
  const S2Fixed *fixed = notes->fixed;
  S2World *world = S2_TAKE_ZEROED(arena, S2World, 1);
  world->bodies.at = fixed->body;
  world->bodies.count = fixed->bodies;
  world->order.at = fixed->order_of;
  world->order.count = fixed->order;
  world->pieces.at = fixed->piece;
  world->pieces.count = fixed->pieces;
  world->vertices.at = fixed->vertex;
  world->vertices.count = fixed->vertices;
  world->joint_order.at = fixed->joint_order_of;
  world->joint_order.count = fixed->joint_order;
  world->joints.at = S2_TAKE(arena, S2Joint, notes->joint_slots);
  world->joints.count = notes->joint_slots;
  world->kept.def = fixed->def;
  return world;
}

// `undo` is all zero. One after the other: whole structures are large, and would be copied.
static void begin(S2Undo *undo, const S2Notes *notes, S2WorldGradient *gradient, S2Arena *arena) {
  size_t count = 3 * (size_t)notes->slots, joints = (size_t)notes->joint_slots;
  size_t rows = S2_JOINT_ROWS * joints;
  S2Step *step = &undo->step;
  S2StepAdjoint *bar = &undo->bar;
  const struct {
    double **at;
    size_t count;
  } arrays[] = {
      {&step->q0, count},
      {&step->v0, count},
      {&step->force, count},
      {&step->mass, count},
      {&step->free_v, count},
      {&step->v1, count},
      {&step->v2, count},
      {&step->q1, count},
      {&bar->q0, count},
      {&bar->v0, count},
      {&bar->force, count},
      {&bar->mass, count},
      {&bar->free_v, count},
      {&bar->v1, count},
      {&bar->v2, count},
      {&bar->q1, count},
      {&undo->displaced, count},
      {&undo->reflected, count},
      {&undo->start, count},
      {&undo->ground0, count},
      {&undo->ground1, count},
      {&undo->back, count},
      {&step->joint_impulse, rows},
      {&bar->joint_impulse, rows},
      {&step->pushed, 2 * joints},
      {&undo->feed, joints},
      {&undo->impulse_bar, rows},
      {&undo->waiting_impulse, rows},
      {&undo->waiting_reaction, 3 * joints},
  };
  enum { ARRAYS = sizeof arrays / sizeof *arrays };
  size_t total = 0;
  for (int i = 0; i < ARRAYS; i++) {
    total += arrays[i].count;
  }
  double *v = S2_TAKE_ZEROED(arena, double, total); // in one piece: zeroed at once
  for (int i = 0; i < ARRAYS; i++) {
    *arrays[i].at = v;
    v += arrays[i].count;
  }
  undo->back_at = S2_NONE;
  undo->notes = notes;
  undo->gradient = bar->gradient = gradient;
  undo->arena = step->arena = arena;
  undo->world = step->world = view_of(notes, arena);
  undo->world->v.at = step->v0; // read by what no row depends on
  s2_undo_open_impulses(undo);
  s2_undo_retell(undo);
  step->dt = notes->fixed->def.dt / notes->fixed->def.substeps;
  if (joints > 0) {
    undo->remade = S2_TAKE_ZEROED(arena, S2Remade *, notes->at.count);
    step->stiff = S2_TAKE_ZEROED(arena, bool, joints);
    step->turn = S2_TAKE(arena, S2Rot, notes->slots);
  }
  step->node_of = S2_TAKE(arena, int32_t, notes->slots);
  for (int i = 0; i < notes->slots; i++) {
    step->node_of[i] = S2_GROUND;
  }
}

static bool has_touches(const S2Note *note) {
  return note->of != NULL && note->of->touch_index != NULL;
}

static void undo_contacts_act(S2Undo *undo, int index) {
  const S2Note *note = s2_note_at(undo->notes, index);
  if (!has_touches(note)) {
    undo_act(undo, index);
    return;
  }
  S2ArenaMark mark = s2_arena_mark(undo->arena);
  s2_undo_open(undo, note);
  undo_act(undo, index);
  undo->open.note = NULL;
  if (note->act != S2_ACT_ARRIVE) { // whose scratch stays
    s2_arena_rewind(undo->arena, mark);
  }
}

// Which touches of a note are those of a S2_ACT_LINEARISE before it in the same (sub-)step.
static void find_late(S2Undo *undo) {
  const S2Notes *notes = undo->notes;
  int touches = notes->touches;
  undo->lean = S2_TAKE_ZEROED(undo->arena, double, 12 * touches);
  undo->more = undo->lean + 2 * (size_t)touches;
  undo->pushed = undo->lean + 4 * (size_t)touches;
  undo->rubbed = undo->lean + 6 * (size_t)touches;
  undo->struck = undo->lean + 8 * (size_t)touches;
  undo->touches = touches;
  if (!notes->linearised) {
    return;
  }
  undo->late_bar = S2_TAKE_ZEROED(undo->arena, S2PointBar, 2 * touches);
  const bool **late = S2_TAKE_ZEROED(undo->arena, const bool *, notes->at.count);
  undo->late = late;
  bool *is_late = S2_TAKE_ZEROED(undo->arena, bool, touches);
  for (int i = 0; i < notes->at.count; i++) {
    const S2Note *note = s2_note_at(notes, i);
    if (note->act == S2_ACT_FREE) {
      memset(is_late, 0, sizeof(bool) * (size_t)touches);
    }
    if (note->act == S2_ACT_LINEARISE) {
      assert(has_touches(note));
      is_late[note->of->touch_index[0]] = true;
    } else if (has_touches(note) && (note->act != S2_ACT_MEND || note->mend == S2_MEND_SOLVED)) {
      bool *those = S2_TAKE(undo->arena, bool, note->of->island.touches);
      for (int k = 0; k < note->of->island.touches; k++) {
        those[k] = is_late[note->of->touch_index[k]];
      }
      late[i] = those;
    }
  }
}

S2Status s2_trace_sweep(const S2Trace *trace, unsigned other, unsigned *found,
                        S2WorldGradient *gradient, S2Arena *arena) {
  const S2Notes *notes = &trace->notes;
  const S2Fixed *fixed = notes->fixed;
  if (notes->at.count == 0) {
    return s2_error(S2_INVALID, "the trace is empty: trace a step first");
  }
  if (notes->reason != NULL) {
    return s2_error(S2_INVALID,
                    "a step with %s has no derivative: leave it out of the steps that the loss "
                    "depends on, or give such a world plain numbers (sim.stop_gradient)",
                    notes->reason);
  }
  if (gradient->slots < notes->slots || gradient->pieces < fixed->pieces ||
      gradient->vertices < fixed->vertices || gradient->joints < notes->joint_slots) {
    return s2_error(S2_INVALID, "the gradient does not fit the world (s2_world_gradient_fit)");
  }
  gradient->flags |= notes->unsolved ? S2_GRADIENT_PARTIAL : 0;
  S2ArenaMark mark = s2_arena_mark(arena);
  S2Status failed = s2_ok();
  S2Undo undo = {.failed = &failed, .other = other};
  begin(&undo, notes, gradient, arena);
  find_late(&undo);
  for (int i = 0; i < fixed->order; i++) { // forces by hand end with the step
    memset(gradient->f + 3 * fixed->order_of[i], 0, 3 * sizeof(double));
  }
  for (int i = notes->at.count - 1; i >= 0 && s2_undo_good(&undo); i--) {
    if (s2_note_at(notes, i)->act == S2_ACT_COMMIT) { // of which part?
      int part = s2_undo_last(&undo, i, S2_ACT_PART);
      undo.part = s2_note_at(notes, part);
      undo.world->kept.time = undo.part->t;
      s2_note_joints(notes, undo.part, undo.world->joints.at);
    }
    undo_contacts_act(&undo, i);
    if (undo.back_at == i) {
      rejoin(&undo);
    }
    if (failed.code == S2_OK && undo.world->refused.code != S2_OK) {
      failed = s2_error(S2_INVALID, "the program was asked something else when a step was made "
                                    "again (this is a bug)");
    }
  }
  s2_undo_begin_impulses(&undo);
  *found = undo.found;
  s2_arena_rewind(arena, mark);
  return failed;
}
