// The notes of a step, backwards.
#include "diff/undo.h"

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
  for (int i = 0; i < undo->world.order.count; i++) {
    s2_step_free_body(&undo->step, undo->world.order.at[i]);
  }
  undo->world.drives.at = note->drives;
  undo->world.drives.count = note->drives == NULL ? 0 : undo->notes->joint_slots;
}

void s2_undo_free_body(S2Undo *undo, int32_t slot, double h) {
  double alpha = undo->world.kept.def.alpha;
  S2StepAdjoint *bar = &undo->bar;
  const S2Step *step = &undo->step;
  S2WorldGradient *g = undo->gradient;
  const S2Body *body = &undo->world.bodies.at[slot];
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
  double dt = undo->world.kept.def.dt;
  for (int i = 0; i < undo->world.order.count; i++) {
    s2_undo_free_body(undo, undo->world.order.at[i], note->h);
  }
  // All times of a step are in proportion to dt.
  undo->gradient->dt += (bar->h * note->h + bar->elapsed * (note->t - undo->world.kept.time)) / dt;
  bar->h = bar->elapsed = 0;
  s2_undo_motions(undo, index);
}

// To gravity, and what was applied by hand or by a force law.
static void force_vjp(S2Undo *undo) {
  S2WorldGradient *g = undo->gradient;
  S2Vec2 gravity = undo->world.kept.def.gravity;
  for (int i = 0; i < undo->world.order.count; i++) {
    int32_t slot = undo->world.order.at[i];
    const S2Body *body = &undo->world.bodies.at[slot];
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
  const S2WorldDef *def = &undo->world.kept.def;
  return def->beta == 1 || def->stepping == S2_EVENT || (note->ahead != NULL && note->ahead[slot]);
}

// The velocity that carries a body in the note's step, and what depends on it.
double s2_undo_carry(const S2Undo *undo, const S2Note *note, int at) {
  double beta = undo->world.kept.def.beta;
  if (!goes(&undo->world.bodies.at[at / 3])) {
    return 0;
  }
  return carried_ahead(undo, note, at / 3)
             ? undo->step.v1[at]
             : (1 - beta) * undo->step.v0[at] + beta * undo->step.v1[at];
}

void s2_undo_carried(S2Undo *undo, const S2Note *note, int at, double bar) {
  double beta = undo->world.kept.def.beta;
  if (!goes(&undo->world.bodies.at[at / 3])) {
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
  for (int i = 0; i < undo->world.order.count; i++) {
    for (int at = 3 * undo->world.order.at[i], c = 0; c < 3; c++, at++) {
      double bar = undo->bar.q1[at];
      undo->bar.q1[at] = 0;
      moved_vjp(undo, note, at, bar);
    }
  }
  clear(undo, undo->displaced);
}

// Points at q0 + h carry, whose gaps were carried back by h times their speeds.
static void linearise_vjp(S2Undo *undo, const S2Note *note) {
  const S2Touch *touch = &note->touches[0];
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
    S2PointBar *bar = &undo->late_bar[2 * note->touch_index[0] + k];
    S2Vec2 n = touch->points[k].at.normal;
    double gap_bar = bar->gap;
    undo->bar.h -= gap_bar * s2_touch_velocity(touch, k, n, carry);
    s2_touch_velocity_vjp(touch, k, n, carry, -note->h * gap_bar, carry_bar, bar, &bar->normal);
    s2_touch_point_vjp(&undo->world, touch, k, q, bar, q_bar, undo->gradient);
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

// ---- What joints displaced goes into the velocities -------------------------------------------

// What rounding leaves of a sum, in parts of its terms; a part that is in doubt by more than this
// is on an edge.
static const double ROUNDING = 1e-14, DOUBT = 1e-7;

typedef struct Room { // a s^2 + b s <= room
  double a, b, room;
  double b_doubt, room_doubt; // what rounding leaves of them
  double b_left;              // what is left of a b that is 0, by the tolerance of the solve
} Room;

static double largest_part(Room of) {
  double room = fmax(of.room, 0), root = sqrt(of.b * of.b + 4 * of.a * room);
  return of.a + of.b <= room ? 1 : of.b > 0 ? 2 * room / (of.b + root) : (root - of.b) / (2 * of.a);
}

// The part where b or the room are others within rounding.
static double doubtful_part(Room of, double sign) {
  of.b -= sign * of.b_doubt;
  of.room += sign * of.room_doubt;
  return largest_part(of);
}

// The two of stabilise.c's harmless_part: of the free motion's energy, and of what forces brought.
static void find_rooms(const S2Undo *undo, const S2Note *note, Room room[2]) {
  const S2Step *step = &undo->step;
  double of_b = 0, of_room = 0;
  room[0] = room[1] = (Room){0};
  for (int i = 0; i < 3 * note->island.nodes; i++) {
    int32_t slot = note->island.node[i / 3];
    const S2Body *body = &undo->world.bodies.at[slot];
    int at = 3 * slot + i % 3;
    double inertial = i % 3 == 0 ? body->inertia : body->mass;
    double v0 = step->v0[at], v2 = step->v2[at], free_v = step->free_v[at];
    double push = note->h * step->force[at] / 2, more = note->more[i] / note->h;
    room[0].a += inertial * more * more / 2;
    room[0].b += inertial * v2 * more;
    room[0].room += inertial * (free_v * free_v - v2 * v2) / 2;
    room[1].b += (inertial * v2 - push) * more;
    room[1].room += inertial * (v0 * v0 - v2 * v2) / 2 + push * (v0 + v2);
    of_b += (inertial * fabs(v2) + fabs(push)) * fabs(more);
    of_room += inertial * (v0 * v0 + free_v * free_v + v2 * v2) / 2;
  }
  room[1].a = room[0].a;
  for (int k = 0; k < 2; k++) {
    room[k].b_doubt = ROUNDING * of_b;
    room[k].b_left = (ROUNDING + undo->world.kept.def.tolerance) * of_b;
    room[k].room_doubt = ROUNDING * of_room;
  }
}

// Do rigid joints of the island stand on something that may move?
static bool stands_on_movers(const S2Undo *undo, const S2Island *island) {
  bool moves = false;
  for (int i = 0; i < island->joints; i++) {
    const S2Joint *joint = &undo->world.joints.at[island->joint[i]];
    const int32_t body[2] = {joint->a, joint->b};
    for (int k = 0; k < 2 && s2_joint_is_rigid(joint); k++) {
      moves |= joint->type == S2_LOCK ||
               (body[k] != S2_NONE && undo->world.bodies.at[body[k]].type == S2_KINEMATIC);
    }
  }
  return moves;
}

static bool is_nothing(const Room *room) { // but for rounding
  return fabs(room->b) <= room->b_left && room->room < -room->room_doubt;
}

// The room that bounds the part; NULL: none does, or there is none whatever changes. Rigid joints
// displace across the velocities that they allow, so b of the free motion's energy is 0 where
// nothing moves them, and stays so; that of the other room has no such reason, and where it is 0,
// as where all bodies fall alike, the part max(0, -b/a) is taken as the mean of both sides.
static const Room *binding(S2Undo *undo, const S2Note *note, const Room rooms[2]) {
  double part = note->part, of[2] = {largest_part(rooms[0]), largest_part(rooms[1])};
  const Room *room = &rooms[fabs(of[0] - part) <= fabs(of[1] - part) ? 0 : 1];
  bool other = false; // there is another derivative, on another side
  if (is_nothing(&rooms[0])) {
    other = stands_on_movers(undo, &note->island);
    room = NULL;
  } else {
    bool both = fabs(of[0] - of[1]) <= DOUBT && part > 0 && part < 1;
    bool unsure = doubtful_part(*room, 1) - doubtful_part(*room, -1) > DOUBT;
    bool alike = part < DOUBT && is_nothing(room);
    other = both || (unsure && !alike);
    room = (unsure || part == 0 || part == 1) && !alike ? NULL : room;
  }
  undo->gradient->flags |= other ? S2_GRADIENT_WEAK : 0;
  return room;
}

static void part_vjp(S2Undo *undo, const S2Note *note, double part_bar) {
  const S2Step *step = &undo->step;
  S2StepAdjoint *bar = &undo->bar;
  Room rooms[2];
  if (part_bar == 0) {
    return;
  }
  find_rooms(undo, note, rooms);
  const Room *bound = binding(undo, note, rooms);
  if (bound == NULL) {
    return;
  }
  bool free_one = bound == &rooms[0], none = is_nothing(bound);
  Room room = *bound;
  double s = note->part, slope = 2 * room.a * s + room.b, to = none ? 0 : part_bar / slope;
  double a_bar = -s * s * to, b_bar = none ? -part_bar / (2 * room.a) : -s * to;
  double room_bar = room.room > 0 ? to : 0;
  for (int i = 0; i < 3 * note->island.nodes; i++) {
    int32_t slot = note->island.node[i / 3];
    const S2Body *body = &undo->world.bodies.at[slot];
    S2BodyGradient *g = &undo->gradient->body[slot];
    int at = 3 * slot + i % 3;
    double h = note->h, inertial = i % 3 == 0 ? body->inertia : body->mass;
    double v0 = step->v0[at], v2 = step->v2[at], free_v = step->free_v[at];
    double push = free_one ? 0 : h * step->force[at] / 2, more = note->more[i] / h;
    double more_bar = a_bar * inertial * more + b_bar * (inertial * v2 - push);
    double weight = a_bar * more * more / 2 + b_bar * v2 * more, push_bar = 0;
    bar->v2[at] += b_bar * inertial * more - room_bar * inertial * v2;
    if (free_one) {
      bar->free_v[at] += room_bar * inertial * free_v;
      weight += room_bar * (free_v * free_v - v2 * v2) / 2;
    } else {
      bar->v0[at] += room_bar * (inertial * v0 + push);
      bar->v2[at] += room_bar * push;
      weight += room_bar * (v0 * v0 - v2 * v2) / 2;
      push_bar = room_bar * (v0 + v2) - b_bar * more;
    }
    bar->force[at] += push_bar * h / 2;
    bar->h += push_bar * step->force[at] / 2 - more_bar * more / h;
    undo->displaced[at] += more_bar / h;
    *(i % 3 == 0 ? &g->inertia : &g->mass) += weight;
  }
}

static void feedback_vjp(S2Undo *undo, const S2Note *note) {
  double part_bar = 0, h = note->h;
  for (int i = 0; i < 3 * note->island.nodes; i++) {
    int at = 3 * note->island.node[i / 3] + i % 3;
    double bar = undo->bar.v2[at];
    undo->step.v2[at] = note->before[i];
    undo->displaced[at] = note->part / h * bar;
    part_bar += bar * note->more[i] / h;
    undo->bar.h -= note->part * bar * note->more[i] / (h * h);
  }
  for (int i = 0; i < note->island.joints; i++) {
    int32_t slot = note->island.joint[i];
    undo->feed[slot] = note->part / h;
  }
  for (int r = 0; r < note->rows; r++) { // part/h of these went into the kept impulses
    const S2JointPart *of = &note->shaken[r];
    double bar = s2_undo_impulse(undo, of);
    part_bar += bar * note->lambda[r] / h;
    undo->bar.h -= note->part * bar * note->lambda[r] / (h * h);
  }
  part_vjp(undo, note, part_bar);
}

// ---- Reflections ------------------------------------------------------------------------------

// What is still gained on the way: how much faster e times the arrival is than e times the speed
// now, where that is more.
static void blow_vjp(S2Undo *undo, int index) {
  const S2Note *note = s2_note_at(undo->notes, index);
  for (int i = 0; i < note->island.touches; i++) {
    const S2Touch *touch = &note->touches[i];
    S2TouchBar pair = {0};
    for (int k = 0; k < touch->count; k++) {
      double *more = &undo->more[2 * note->touch_index[i] + k], bar = *more;
      const S2Choice *choice = &note->choices[2 * i + k];
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
    s2_touch_material_vjp(&undo->world, touch, &pair, undo->gradient);
  }
}

static void blend_vjp(S2Undo *undo, const S2Note *note) {
  double e_bar = 0;
  for (int i = 0; i < 3 * note->island.nodes; i++) {
    int at = 3 * note->island.node[i / 3] + i % 3;
    double bar = undo->bar.v2[at];
    e_bar += bar * (note->more[i] - note->before[i]);
    undo->step.v2[at] = note->before[i];
    undo->reflected[at] = note->part * bar;
    undo->bar.v2[at] = (1 - note->part) * bar;
  }
  if (note->island.touches > 0) { // all have this e
    S2TouchBar pair = {.restitution = e_bar};
    s2_touch_material_vjp(&undo->world, &note->touches[0], &pair, undo->gradient);
  }
}

// v2 was put back to that of the blow's start, where these adjoints wait to be added.
static void rewind_vjp(S2Undo *undo, const S2Note *note) {
  for (int i = 0; i < 3 * note->island.nodes; i++) {
    int at = 3 * note->island.node[i / 3] + i % 3;
    undo->start[at] += undo->bar.v2[at];
    undo->bar.v2[at] = undo->reflected[at];
    undo->step.v2[at] = note->before[i];
    undo->reflected[at] = 0;
  }
}

static void start_vjp(S2Undo *undo, const S2Note *note) {
  for (int i = 0; i < 3 * note->island.nodes; i++) {
    int at = 3 * note->island.node[i / 3] + i % 3;
    undo->bar.v2[at] += undo->start[at];
    undo->start[at] = 0;
  }
}

// ---- Acts -------------------------------------------------------------------------------------

// What an abandoned way of q1 started from: its adjoint waited while the way was undone.
static void rejoin(S2Undo *undo) {
  add(undo, undo->back, undo->bar.q1);
  clear(undo, undo->back);
  undo->back_at = S2_NONE;
}

static void of_island(S2Undo *undo, const S2Note *note, double *from_bar, double *to_bar,
                      double *now) {
  for (int i = 0; i < 3 * note->island.nodes; i++) {
    int at = 3 * note->island.node[i / 3] + i % 3;
    to_bar[at] += from_bar[at];
    from_bar[at] = 0;
    now[at] = note->before[i];
  }
  (void)undo;
}

static S2Status midpoint_vjp(S2Undo *undo, const S2Note *note) {
  S2ArenaMark mark = s2_arena_mark(undo->arena);
  double *bar = S2_TAKE_ZEROED(undo->arena, double, 3 * note->island.nodes);
  undo->step.h = note->h;
  for (int i = 0; i < note->island.nodes; i++) {
    undo->step.node_of[note->island.node[i]] = i;
  }
  S2Status status = s2_midpoint_vjp(&undo->step, &note->island, note->more, bar, &undo->bar);
  double *to = note->restarted ? undo->bar.v2 : undo->bar.v0;
  for (int i = 0; i < 3 * note->island.nodes; i++) {
    int at = 3 * note->island.node[i / 3] + i % 3;
    undo->step.node_of[at / 3] = S2_GROUND;
    to[at] += bar[i];
    undo->step.v1[at] = note->before[i];
    undo->step.v2[at] = note->restarted ? note->more[i] : note->before[i];
  }
  s2_arena_rewind(undo->arena, mark);
  return status;
}

static void commit_vjp(S2Undo *undo, int index) {
  const S2Note *note = s2_note_at(undo->notes, index);
  S2WorldGradient *g = undo->gradient;
  const S2WorldDef *def = &undo->world.kept.def;
  // Parts of a step are as long as each other; one that was cut short ends at the time it reached.
  double elapsed = def->stepping_partial ? note->t - undo->world.kept.time
                                         : def->dt / (def->substeps > 1 ? def->substeps : 1);
  // Impulses are those of the last attempt, as if it had lasted all that time.
  double whole = def->stepping == S2_BISECT ? elapsed / note->h : 1;
  set(undo, undo->step.q1, note->before);
  set(undo, undo->step.v2, note->more);
  set(undo, undo->step.v1, note->v1);
  memcpy(undo->step.joint_impulse, note->impulse,
         sizeof(double) * S2_JOINT_ROWS * (size_t)undo->notes->joint_slots);
  for (int i = 0; i < undo->world.order.count; i++) {
    int32_t slot = undo->world.order.at[i];
    const S2Body *body = &undo->world.bodies.at[slot];
    bool given = body->has_motion && body->type == S2_KINEMATIC && body->enabled;
    bool moves = s2_body_moves(body) || given;
    for (int at = 3 * slot; at < 3 * slot + 3; at++) {
      undo->bar.q1[at] = g->q[at];
      undo->bar.v2[at] = moves ? g->v[at] : 0;
      g->v[at] = moves ? 0 : g->v[at]; // the others keep what they were given
      g->q[at] = 0;
    }
  }
  for (int i = 0; i < undo->world.joint_order.count; i++) {
    int32_t slot = undo->world.joint_order.at[i];
    S2JointGradient *joint = &g->joint[slot];
    const S2Joint *of = &undo->world.joints.at[slot];
    for (int r = 0; r < S2_JOINT_ROWS; r++) {
      undo->bar.joint_impulse[S2_JOINT_ROWS * slot + r] = whole * joint->impulse[r];
      undo->impulse_bar[S2_JOINT_ROWS * slot + r] = whole * joint->impulse[r];
      joint->impulse[r] = 0;
    }
    g->dt += joint->reaction_time * elapsed / def->dt;
    joint->reaction_time = 0;
    // else goals wait, or moved as the program says
    for (int c = 0; c < 3 && s2_joint_active(&undo->world, of) && !of->driven; c++) {
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

static void part_of_world_vjp(S2Undo *undo) {
  S2WorldGradient *g = undo->gradient;
  force_vjp(undo);
  for (int i = 0; i < undo->world.order.count; i++) {
    int32_t slot = undo->world.order.at[i];
    bool going = goes(&undo->world.bodies.at[slot]);
    for (int at = 3 * slot; at < 3 * slot + 3; at++) {
      g->q[at] += undo->bar.q0[at] + undo->bar.q1[at];
      g->v[at] += going ? undo->bar.v0[at] : 0;
    }
  }
  for (int i = 0; i < undo->world.joint_order.count; i++) {
    int32_t slot = undo->world.joint_order.at[i];
    for (int r = 0; r < S2_JOINT_ROWS; r++) {
      g->joint[slot].impulse[r] += undo->bar.joint_impulse[S2_JOINT_ROWS * slot + r];
      undo->bar.joint_impulse[S2_JOINT_ROWS * slot + r] = 0;
    }
  }
  double *const used[] = {undo->bar.q0, undo->bar.q1, undo->bar.v0, undo->bar.v1, undo->bar.v2};
  for (size_t i = 0; i < sizeof used / sizeof *used; i++) {
    clear(undo, used[i]);
  }
}

static S2Status undo_act(S2Undo *undo, int index) {
  const S2Note *note = s2_note_at(undo->notes, index);
  undo->step.h = note->h;
  undo->step.t = note->t;
  switch (note->act) {
  case S2_ACT_PART:
    part_of_world_vjp(undo);
    break;
  case S2_ACT_FREE:
    free_vjp(undo, index);
    break;
  case S2_ACT_RESET:
    add(undo, undo->bar.v1, undo->bar.free_v);
    clear(undo, undo->bar.v1);
    set(undo, undo->step.v1, note->before);
    break;
  case S2_ACT_RESET_V2:
    add(undo, undo->bar.v2, undo->bar.free_v);
    clear(undo, undo->bar.v2);
    set(undo, undo->step.v2, note->before);
    break;
  case S2_ACT_SOLVE:
    return s2_undo_solve(undo, index);
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
  case S2_ACT_BLOW:
    s2_undo_forget_contacts(undo, note);
    start_vjp(undo, note);
    blow_vjp(undo, index);
    break;
  case S2_ACT_BLEND:
    S2_TRY(s2_undo_refuse_impulses(undo, note, "a blow of generalised reflections"));
    blend_vjp(undo, note);
    break;
  case S2_ACT_REWIND:
    rewind_vjp(undo, note);
    break;
  case S2_ACT_MIDPOINT:
    S2_TRY(s2_undo_refuse_impulses(undo, note, "nonlinear steps"));
    return midpoint_vjp(undo, note);
  case S2_ACT_INTEGRATE:
    integrate_vjp(undo, note);
    break;
  case S2_ACT_MEND:
    return s2_undo_mend(undo, index);
  case S2_ACT_SHAKE:
    return s2_undo_shake(undo, index);
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
    feedback_vjp(undo, note);
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
  case S2_ACT_DRIFT:
    enter(undo, index);
    s2_undo_drift(undo, note);
    break;
  case S2_ACT_PIECE_END:
    S2_TRY(s2_undo_refuse_impulses(undo, note, "event stepping"));
    return s2_undo_piece(undo, index);
  case S2_ACT_PIECE:
  case S2_ACT_STRUCK:
  case S2_ACT_SET_OUT:
  case S2_ACT_COAST:
  case S2_ACT_ARRIVE:
  case S2_ACT_KEEP:
  case S2_ACT_REPAY:
  case S2_ACT_SLOWER:
    return s2_undo_piece(undo, index);
  }
  return s2_ok();
}

// ---- The whole --------------------------------------------------------------------------------

static S2Undo begin(const S2Notes *notes, S2WorldGradient *gradient, S2Arena *arena) {
  const S2Fixed *fixed = notes->fixed;
  size_t count = 3 * (size_t)notes->slots, joints = (size_t)notes->joint_slots;
  double *const v = S2_TAKE_ZEROED(arena, double, 22 * count);
  S2Undo undo = {.notes = notes, .gradient = gradient, .arena = arena};
  undo.world.bodies.at = fixed->body;
  undo.world.bodies.count = fixed->bodies;
  undo.world.order.at = fixed->order_of;
  undo.world.order.count = fixed->order;
  undo.world.pieces.at = fixed->piece;
  undo.world.pieces.count = fixed->pieces;
  undo.world.vertices.at = fixed->vertex;
  undo.world.vertices.count = fixed->vertices;
  undo.world.joint_order.at = fixed->joint_order_of;
  undo.world.joint_order.count = fixed->joint_order;
  undo.world.joints.count = notes->joint_slots;
  undo.step = (S2Step){
      .arena = arena,
      .q0 = v,
      .v0 = v + count,
      .force = v + 2 * count,
      .mass = v + 3 * count,
      .free_v = v + 4 * count,
      .v1 = v + 5 * count,
      .v2 = v + 6 * count,
      .q1 = v + 7 * count,
      .joint_impulse = S2_TAKE_ZEROED(arena, double, S2_JOINT_ROWS *joints),
      .pushed = S2_TAKE_ZEROED(arena, double, 2 * joints),
      .stiff = S2_TAKE_ZEROED(arena, bool, joints),
      .node_of = S2_TAKE(arena, int32_t, notes->slots),
  };
  undo.bar = (S2StepAdjoint){
      .q0 = v + 8 * count,
      .v0 = v + 9 * count,
      .force = v + 10 * count,
      .mass = v + 11 * count,
      .free_v = v + 12 * count,
      .v1 = v + 13 * count,
      .v2 = v + 14 * count,
      .q1 = v + 15 * count,
      .joint_impulse = S2_TAKE_ZEROED(arena, double, S2_JOINT_ROWS *joints),
      .gradient = gradient,
  };
  undo.world.v.at = undo.step.v0; // read by what no row depends on
  undo.displaced = v + 16 * count;
  undo.reflected = v + 17 * count;
  undo.start = v + 18 * count;
  undo.ground0 = v + 19 * count;
  undo.ground1 = v + 20 * count;
  undo.back = v + 21 * count;
  undo.back_at = S2_NONE;
  undo.feed = S2_TAKE_ZEROED(arena, double, joints);
  undo.impulse_bar = S2_TAKE_ZEROED(arena, double, S2_JOINT_ROWS *joints);
  s2_undo_open_impulses(&undo);
  for (int i = 0; i < notes->slots; i++) {
    undo.step.node_of[i] = S2_GROUND;
  }
  return undo;
}

// Which touches of a note are those of a S2_ACT_LINEARISE before it in the same (sub-)step.
static void find_late(S2Undo *undo) {
  const S2Notes *notes = undo->notes;
  int touches = 0, linearised = 0;
  for (int i = 0; i < notes->at.count; i++) {
    const S2Note *note = s2_note_at(notes, i);
    linearised += note->act == S2_ACT_LINEARISE;
    for (int k = 0; k < note->island.touches && note->touch_index != NULL; k++) {
      touches = note->touch_index[k] + 1 > touches ? note->touch_index[k] + 1 : touches;
    }
  }
  undo->late_bar = S2_TAKE_ZEROED(undo->arena, S2PointBar, 2 * touches);
  undo->lean = S2_TAKE_ZEROED(undo->arena, double, 2 * touches);
  undo->more = S2_TAKE_ZEROED(undo->arena, double, 2 * touches);
  undo->pushed = S2_TAKE_ZEROED(undo->arena, double, 2 * touches);
  undo->rubbed = S2_TAKE_ZEROED(undo->arena, double, 2 * touches);
  undo->touches = touches;
  const bool **late = S2_TAKE_ZEROED(undo->arena, const bool *, notes->at.count);
  undo->late = late;
  if (linearised == 0) {
    return;
  }
  bool *is_late = S2_TAKE_ZEROED(undo->arena, bool, touches);
  for (int i = 0; i < notes->at.count; i++) {
    const S2Note *note = s2_note_at(notes, i);
    if (note->act == S2_ACT_FREE) {
      memset(is_late, 0, sizeof(bool) * (size_t)touches);
    }
    if (note->act == S2_ACT_LINEARISE) {
      assert(note->touch_index != NULL);
      is_late[note->touch_index[0]] = true;
    } else if (note->touch_index != NULL &&
               (note->act != S2_ACT_MEND || note->mend == S2_MEND_SOLVED)) {
      bool *those = S2_TAKE(undo->arena, bool, note->island.touches);
      for (int k = 0; k < note->island.touches; k++) {
        those[k] = is_late[note->touch_index[k]];
      }
      late[i] = those;
    }
  }
}

S2Status s2_trace_sweep(const S2Trace *trace, bool beyond, bool *edge, S2WorldGradient *gradient,
                        S2Arena *arena) {
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
  S2Undo undo = begin(notes, gradient, arena);
  undo.beyond = beyond;
  undo.step.world = &undo.world;
  s2_undo_retell(&undo);
  find_late(&undo);
  for (int i = 0; i < fixed->order; i++) { // forces by hand end with the step
    memset(gradient->f + 3 * fixed->order_of[i], 0, 3 * sizeof(double));
  }
  S2Status status = s2_ok();
  for (int i = notes->at.count - 1; i >= 0 && status.code == S2_OK; i--) {
    if (s2_note_at(notes, i)->act == S2_ACT_COMMIT) { // of which part?
      int part = s2_undo_last(&undo, i, S2_ACT_PART);
      undo.world.kept = *s2_note_at(notes, part)->kept;
      undo.world.joints.at = s2_note_at(notes, part)->joints;
      undo.step.dt = undo.world.kept.def.dt / undo.world.kept.def.substeps;
    }
    status = undo_act(&undo, i);
    if (undo.back_at == i) {
      rejoin(&undo);
    }
    if (status.code == S2_OK && undo.world.refused.code != S2_OK) {
      status =
          s2_error(S2_INVALID, "gradient: the program was asked something else when a step was "
                               "made again (this is a bug)");
    }
  }
  s2_undo_begin_impulses(&undo);
  *edge = undo.edge;
  s2_arena_rewind(arena, mark);
  return status;
}
