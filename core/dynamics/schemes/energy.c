// Energy in event stepping: removes energy errors that a piece adds.
// Energy is measured relative to the touched bodies. It therefore does not depend on the frame of
// reference, and the work of moving obstacles does not count.
//
// A flow (the motion of a piece) pushes along the contact rows of its start, but the bodies and the
// rows turn during the flow. With v1, a body that pivots about a corner therefore separates from it
// or moves into it at q1. For this reason v2 satisfies the rows at q1. Positions then follow
// Newmark's method, and velocities follow implicit Euler. With v1, the next flow would begin with a
// separating corner, and a pressing contact would open. Both v1 and v2 leave energy errors of order
// h^3 per step, and so does projection. These errors are removed from the velocities of each
// connected part.
#include "dynamics/project/spin.h"
#include "dynamics/schemes/event.h"
#include "dynamics/step/acted.h"
#include "dynamics/step/solve.h"

#include <string.h>

// ---- Rows at the end --------------------------------------------------------------------------

static bool event_rests(const S2EventRun *event) {
  bool any = false;
  for (int i = 0; i < event->island->touches; i++) {
    any |= event->resting[i].count > 0;
  }
  return any;
}

// Returns true if the resting point k of a touch is closed at q1 and approaches with v1. The
// impulse of the flow cannot be used here, because it is 0 up to rounding if no force acts.
static bool turns_in(const S2EventRun *event, const S2Touch *touch, int k) {
  const S2ManifoldPoint *at = &touch->points[k].at;
  return at->gap <= event->slop &&
         s2_touch_velocity(touch, k, at->normal, event->step->v1) < -event->tiny;
}

// Examines points that pressed or approach. Returns true if their relative velocities at v1 differ
// between the rows of the flow and the rows at q1. Also returns true if forces have changed
// (`changed`) and points rest. Returns false if a pressing point does not exist at q1.
static bool has_turned(const S2EventRun *event, const S2Touch *solved, bool changed) {
  const S2Step *step = event->step;
  bool turned = changed && event_rests(event), there = true;
  for (int i = 0; i < event->island->touches && there; i++) {
    const S2Touch *now = &step->touches[event->island->touch[i]];
    for (int k = 0; k < solved[i].count; k++) {
      const S2TouchPoint *point = &solved[i].points[k];
      // Find the corresponding point at q1.
      int j = 0;
      while (j < now->count && now->points[j].at.id != point->at.id) {
        j += 1;
      }
      bool rests = s2_resting_has(&event->resting[i], point->at.id);
      if (!(point->normal_impulse > 0) && !(rests && j < now->count && turns_in(event, now, j))) {
        continue;
      }
      there &= j < now->count;
      for (int c = 0; c < 2 && j < now->count; c++) {
        S2Vec2 then_n = point->at.normal, now_n = now->points[j].at.normal;
        double then = s2_touch_velocity(&solved[i], k, c == 0 ? then_n : s2_left(then_n), step->v1);
        double u = s2_touch_velocity(now, j, c == 0 ? now_n : s2_left(now_n), step->v1);
        turned |= fabs(u - then) > event->tiny;
      }
    }
  }
  return turned && there;
}

bool s2_event_turn(const S2EventRun *event, const S2Touch *solved, bool changed, bool *turned) {
  S2Step *step = event->step;
  *turned = !event->straight && has_turned(event, solved, changed);
  if (!*turned) {
    return true;
  }
  for (int i = 0; i < event->island->touches; i++) {
    int32_t index = event->island->touch[i];
    const S2Touch *touch = &step->touches[index];
    for (int k = 0; k < touch->count; k++) {
      const S2TouchPoint *point = &touch->points[k];
      bool closed = point->normal_impulse > 0 || changed || turns_in(event, touch, k);
      event->choices[2 * index + k] =
          (S2Choice){.use = closed && s2_resting_has(&event->resting[i], point->at.id)};
    }
  }
  return s2_step_solve(step, event->island, event->choices, S2_SOLVE_TURNED, step->v2, NULL);
}

// ---- Connected parts --------------------------------------------------------------------------

typedef struct Parts { // connected parts of an island
  int32_t *root;       // the first node of the part of each node
  // The energy (J) of speeds that are too small for solves to remove, per root node. It has no
  // derivative.
  double *rounding;
  // per root node: energy gain (J), and the sum of the magnitudes of its terms (J)
  double *gain, *most;
  // The touches of the island that moved the positions, and the touches that changed the
  // velocities.
  const S2Touch *carried, *acted;
  bool flowed, turned; // as S2Repaid
  bool whole;          // true if the whole island is one part
} Parts;

static int32_t root_of(const Parts *parts, int32_t node) {
  while (parts->root[node] != node) {
    node = parts->root[node] = parts->root[parts->root[node]];
  }
  return node;
}

static void energy_join(const Parts *parts, int32_t a, int32_t b) {
  a = root_of(parts, a);
  b = root_of(parts, b);
  parts->root[a < b ? b : a] = a < b ? a : b;
}

// Returns a node of the touch, or S2_GROUND if neither side has a node.
static int32_t node_of(const S2Step *step, const S2Touch *touch) {
  int32_t a = step->node_of[touch->body_a];
  return a != S2_GROUND ? a : step->node_of[touch->body_b];
}

static bool energy_presses(const S2Touch *touch) {
  bool any = false;
  for (int k = 0; k < touch->count; k++) {
    any |= touch->points[k].normal_impulse > 0 || touch->points[k].tangent_impulse != 0;
  }
  return any;
}

static bool energy_closed(const S2EventRun *event, const S2Touch *touch) {
  bool any = false;
  for (int k = 0; k < touch->count; k++) {
    any |= touch->points[k].at.gap <= event->slop;
  }
  return any;
}

// Returns true if touch i of the island connects its bodies.
static bool energy_holds(const S2EventRun *event, const Parts *parts, int i) {
  return parts->whole || energy_presses(&parts->carried[i]) || energy_presses(&parts->acted[i]) ||
         energy_closed(event, &event->step->touches[event->island->touch[i]]);
}

static double energy_beyond(double u, double tiny) {
  return fabs(u) > tiny ? u : 0;
}

S2Work s2_touch_work(const S2Touch *touch, int k, const double *v0, const double *v2, double tiny) {
  const S2TouchPoint *point = &touch->points[k];
  S2Vec2 n = point->at.normal, t = s2_left(n);
  double along0 = s2_touch_velocity(touch, k, t, v0) - touch->surface_speed;
  double along2 = s2_touch_velocity(touch, k, t, v2) - touch->surface_speed;
  return (S2Work){.u0 = energy_beyond(s2_touch_velocity(touch, k, n, v0), tiny),
                  .u2 = energy_beyond(s2_touch_velocity(touch, k, n, v2), tiny),
                  .along0 = energy_beyond(along0, tiny),
                  .along2 = energy_beyond(along2, tiny)};
}

static void energy_add(const Parts *parts, int32_t node, double gain) {
  int32_t root = root_of(parts, node);
  parts->gain[root] += gain;
  parts->most[root] += fabs(gain);
}

// ---- Reduction of the velocities --------------------------------------------------------------

// Creates an island from the nodes of a part and its touches with impulses. `ground` receives the
// ground bodies of the part.
static S2Island part_of(const S2EventRun *event, const Parts *parts, int32_t root, int32_t *ground,
                        int *grounds) {
  const S2Step *step = event->step;
  const S2Island *all = event->island;
  S2Island part = {.length = all->length,
                   .node = S2_TAKE(step->arena, int32_t, all->nodes),
                   .touch = S2_TAKE(step->arena, int32_t, all->touches)};
  *grounds = 0;
  for (int i = 0; i < all->nodes; i++) {
    if (root_of(parts, i) == root) {
      part.node[part.nodes++] = all->node[i];
    }
  }
  for (int i = 0; i < all->touches; i++) {
    const S2Touch *touch = &parts->acted[i];
    if (!energy_holds(event, parts, i) || root_of(parts, node_of(step, touch)) != root) {
      continue;
    }
    const int32_t body[2] = {touch->body_a, touch->body_b};
    for (int k = 0; k < 2; k++) {
      bool known = step->node_of[body[k]] != S2_GROUND;
      for (int g = 0; g < *grounds && !known; g++) {
        known = ground[g] == body[k];
      }
      if (!known) {
        ground[(*grounds)++] = body[k];
      }
    }
    if (energy_presses(touch)) {
      part.touch[part.touches++] = i; // an index in the island, as in `acted`
    }
  }
  return part;
}

void s2_event_ride(const S2Step *step, const int32_t *ground, int grounds, int32_t slot,
                   double ride[3]) {
  const double *q = step->q1 + 3 * slot;
  ride[0] = ride[1] = ride[2] = 0;
  for (int g = 0; g < grounds; g++) {
    if (ground[g] == S2_NONE) { // the world is at rest
      continue;
    }
    const double *v = step->free_v + 3 * ground[g], *at = step->q1 + 3 * ground[g];
    ride[0] += v[0] / grounds;
    ride[1] += (v[1] - v[0] * (q[2] - at[2])) / grounds;
    ride[2] += (v[2] + v[0] * (q[1] - at[1])) / grounds;
  }
}

// A part whose velocities are reduced. If the part touches ground, all velocities relative to the
// ground are reduced by the same factor, because rotation and translation of a pivoting body depend
// on each other. Otherwise the internal motion is reduced first, then the rotation of the whole
// part, so momentum is conserved.
typedef struct Part {
  S2Island island;
  int32_t *ground;
  int grounds;
  double *v, *ride; // velocities relative to the ground and velocities of the ground, 3 per node
  double kinetic;   // available kinetic energy (J)
} Part;

static Part get_part(const S2EventRun *event, const Parts *parts, int32_t root) {
  const S2Step *step = event->step;
  Part part = {.ground = S2_TAKE(step->arena, int32_t, 2 * event->island->touches)};
  part.island = part_of(event, parts, root, part.ground, &part.grounds);
  int nodes = part.island.nodes;
  part.v = S2_TAKE(step->arena, double, 3 * nodes);
  part.ride = S2_TAKE_ZEROED(step->arena, double, 3 * nodes);
  for (int i = 0; i < nodes; i++) {
    if (part.grounds > 0) {
      s2_event_ride(step, part.ground, part.grounds, part.island.node[i], part.ride + 3 * i);
    }
    for (int c = 0; c < 3; c++) {
      part.v[3 * i + c] = step->v2[3 * part.island.node[i] + c] - part.ride[3 * i + c];
    }
  }
  part.kinetic = part.grounds > 0 ? s2_island_kinetic(step, &part.island, part.v)
                                  : s2_island_kinetic_within(step, &part.island, part.v);
  return part;
}

static void repay_part(const S2EventRun *event, const Parts *parts, int32_t root) {
  S2Step *step = event->step;
  double noted = parts->gain[root], gain = noted + parts->rounding[root];
  bool edge = fabs(noted) < S2_EVENT_LEVEL * parts->most[root];
  if (!(gain > 0 || edge)) {
    return;
  }
  // The kinetic energy is relative to the part's ground. Energy gains within rounding errors are
  // not recorded.
  Part part = get_part(event, parts, root);
  double most = fmax(0, part.kinetic - gain), less = 1;
  S2Repaid repaid = {.energy = noted > S2_SPIN_ROUNDING * part.kinetic ? noted : 0, // 0: rounding
                     .tiny = event->tiny,
                     .edge = edge,
                     .flowed = parts->flowed,
                     .turned = parts->turned,
                     .ground = part.ground,
                     .grounds = part.grounds,
                     .touches = parts->acted,
                     .index = event->island->touch};
  s2_note_repay(step, &part.island, &repaid);
  if (!(gain > 0)) {
    return;
  }
  // Without ground, conserve linear and angular momentum. Otherwise slow down the whole part.
  if (part.grounds == 0) {
    s2_island_cap(step, &part.island, most, part.v);
  } else {
    less = part.kinetic > 0 ? sqrt(most / part.kinetic) : 0;
  }
  for (int i = 0; i < part.island.nodes; i++) {
    double *v2 = step->v2 + 3 * part.island.node[i], now[3], dv[3];
    for (int c = 0; c < 3; c++) {
      now[c] = part.ride[3 * i + c] + less * part.v[3 * i + c];
      dv[c] = now[c] - v2[c];
    }
    s2_step_correct(step, part.island.node[i], dv, 1);
    memcpy(v2, now, sizeof now);
  }
}

// Joins all parts if one of them has too little energy. Projection may lift bodies that have no
// known contact at the end. In that case, the whole island loses the energy.
static void join_all_if_short(const S2EventRun *event, Parts *parts) {
  bool enough = true;
  for (int i = 0; i < event->island->nodes && enough; i++) {
    enough = parts->root[i] != i || !(parts->gain[i] > 0) ||
             parts->gain[i] <= get_part(event, parts, i).kinetic;
  }
  for (int i = 1; i < event->island->nodes && !enough; i++) {
    parts->gain[0] += parts->gain[i];
    parts->rounding[0] += parts->rounding[i];
    parts->most[0] += parts->most[i];
    parts->root[i] = 0;
  }
  parts->whole = !enough;
}

// Copies the current touches of the island.
static const S2Touch *touches_of(const S2EventRun *event) {
  S2Touch *touches = S2_TAKE(event->step->arena, S2Touch, event->island->touches);
  for (int i = 0; i < event->island->touches; i++) {
    touches[i] = event->step->touches[event->island->touch[i]];
  }
  return touches;
}

static Parts new_parts(const S2EventRun *event, const S2Touch *now, const S2Touch *solved,
                       bool turned) {
  const S2Step *step = event->step;
  const S2Island *island = event->island;
  Parts parts = {.root = S2_TAKE(step->arena, int32_t, island->nodes),
                 .rounding = S2_TAKE_ZEROED(step->arena, double, island->nodes),
                 .gain = S2_TAKE_ZEROED(step->arena, double, island->nodes),
                 .most = S2_TAKE_ZEROED(step->arena, double, island->nodes),
                 .carried = solved == NULL ? now : solved,
                 .acted = solved == NULL || turned ? now : solved,
                 .flowed = solved != NULL && !event->straight,
                 .turned = turned};
  for (int i = 0; i < island->nodes; i++) {
    parts.root[i] = i;
  }
  for (int i = 0; i < island->touches; i++) {
    int32_t a = step->node_of[now[i].body_a], b = step->node_of[now[i].body_b];
    if (a != S2_GROUND && b != S2_GROUND && energy_holds(event, &parts, i)) {
      energy_join(&parts, a, b);
    }
  }
  return parts;
}

// Adds the work of contacts at the mean of the velocities before and after the flow.
static void add_work(const S2EventRun *event, const Parts *parts) {
  const S2Step *step = event->step;
  for (int i = 0; i < event->island->touches && parts->flowed; i++) {
    const S2Touch *touch = &parts->acted[i];
    for (int k = 0; k < touch->count && energy_presses(touch); k++) {
      const S2TouchPoint *point = &touch->points[k];
      S2Work all = s2_touch_work(touch, k, step->v0, step->v2, 0);
      S2Work work = {.u0 = energy_beyond(all.u0, event->tiny),
                     .u2 = energy_beyond(all.u2, event->tiny),
                     .along0 = energy_beyond(all.along0, event->tiny),
                     .along2 = energy_beyond(all.along2, event->tiny)};
      int32_t node = node_of(step, touch);
      double by_normal = point->normal_impulse * (work.u0 + work.u2) / 2;
      double by_tangent = point->tangent_impulse * (work.along0 + work.along2) / 2;
      energy_add(parts, node, by_normal);
      energy_add(parts, node, by_tangent);
      parts->rounding[root_of(parts, node)] +=
          point->normal_impulse * (all.u0 + all.u2) / 2 - by_normal +
          point->tangent_impulse * (all.along0 + all.along2) / 2 - by_tangent;
    }
  }
}

bool s2_event_falls_short(const S2EventRun *event, const S2Touch *solved) {
  S2ArenaMark mark = s2_arena_mark(event->step->arena);
  Parts parts = new_parts(event, touches_of(event), solved, false);
  add_work(event, &parts);
  bool falls = false;
  for (int i = 0; i < event->island->nodes && !falls; i++) {
    falls = parts.root[i] == i && parts.gain[i] > 0 &&
            parts.gain[i] > get_part(event, &parts, i).kinetic;
  }
  s2_arena_rewind(event->step->arena, mark);
  return falls;
}

void s2_event_repay(const S2EventRun *event, const S2Touch *solved, const double *before,
                    bool turned) {
  const S2Step *step = event->step;
  const S2Island *island = event->island;
  if (island->joints > 0) { // SHAKE accounts for the energy of islands with joints
    return;
  }
  S2ArenaMark mark = s2_arena_mark(step->arena);
  Parts parts = new_parts(event, touches_of(event), solved, turned);
  for (int i = 0; i < 3 * island->nodes; i++) {
    int at = 3 * island->node[i / 3] + i % 3;
    energy_add(&parts, i / 3, -step->force[at] * (step->q1[at] - before[i]));
    if (turned) {
      energy_add(&parts, i / 3, step->h * step->force[at] * (step->v2[at] - step->v1[at]) / 2);
    }
  }
  add_work(event, &parts);
  join_all_if_short(event, &parts);
  for (int i = 0; i < island->nodes; i++) {
    if (parts.root[i] == i) {
      repay_part(event, &parts, i);
    }
  }
  s2_arena_rewind(step->arena, mark);
}
