// Derivatives of the angular momentum of a free-floating island, and of its allowed energy
// (dynamics/project/spin.c).
#include "diff/step/undo.h"

#include <string.h>

// ---- Angular momentum -------------------------------------------------------------------------

typedef struct Whole { // same structure as in spin.c
  double mass, inertia, spin;
  S2Vec2 *arm, *arm_bar; // per node
} Whole;

static Whole spin_whole_of(const S2Undo *undo, const S2Note *note, const double *v) {
  int nodes = note->of->island.nodes;
  Whole whole = {.arm = S2_TAKE(undo->arena, S2Vec2, nodes),
                 .arm_bar = S2_TAKE_ZEROED(undo->arena, S2Vec2, nodes)};
  const double *first = undo->step.q1 + 3 * note->of->island.node[0];
  S2Vec2 centre = {0, 0};
  for (int i = 0; i < nodes; i++) {
    const double *q = undo->step.q1 + 3 * note->of->island.node[i];
    double m = undo->world->bodies.at[note->of->island.node[i]].mass;
    whole.arm[i] = s2_vec2(q[1] - first[1], q[2] - first[2]);
    whole.mass += m;
    centre = s2_add_scaled(centre, m, whole.arm[i]);
  }
  for (int i = 0; i < nodes; i++) {
    const S2Body *body = &undo->world->bodies.at[note->of->island.node[i]];
    whole.arm[i] = s2_add_scaled(whole.arm[i], -1 / whole.mass, centre);
    whole.inertia += body->inertia + body->mass * s2_length2(whole.arm[i]);
    whole.spin += body->inertia * v[3 * i] +
                  body->mass * s2_cross(whole.arm[i], s2_vec2(v[3 * i + 1], v[3 * i + 2]));
  }
  return whole;
}

// Passes the adjoints of the spin of v, of the inertia and of the arms on to v (3 per slot), the
// masses and q1.
static void spin_whole_vjp(S2Undo *undo, const S2Note *note, const Whole *whole, const double *v,
                           double spin_bar, double inertia_bar, double *v_bar) {
  S2Vec2 centre_bar = {0, 0};
  for (int i = 0; i < note->of->island.nodes; i++) {
    int32_t slot = note->of->island.node[i];
    const S2Body *body = &undo->world->bodies.at[slot];
    S2BodyGradient *g = &undo->gradient->body[slot];
    S2Vec2 arm = whole->arm[i], moves = s2_vec2(v[3 * i + 1], v[3 * i + 2]);
    S2Vec2 *bar = &whole->arm_bar[i];
    // spin = sum I w + m arm x v
    v_bar[3 * slot] += spin_bar * body->inertia;
    v_bar[3 * slot + 1] -= spin_bar * body->mass * arm.y;
    v_bar[3 * slot + 2] += spin_bar * body->mass * arm.x;
    g->inertia += spin_bar * v[3 * i] + inertia_bar;
    g->mass += spin_bar * s2_cross(arm, moves) + inertia_bar * s2_length2(arm);
    // inertia = sum I + m arm^2
    *bar = s2_add_scaled(*bar, spin_bar * body->mass, s2_right(moves));
    *bar = s2_add_scaled(*bar, 2 * inertia_bar * body->mass, arm);
    centre_bar = s2_sub(centre_bar, *bar);
  }
  // Arms start at the centre of mass, sum m arm / sum m.
  for (int i = 0; i < note->of->island.nodes; i++) {
    int32_t slot = note->of->island.node[i];
    double part = undo->world->bodies.at[slot].mass / whole->mass;
    S2Vec2 bar = s2_add_scaled(whole->arm_bar[i], part, centre_bar);
    undo->bar.q1[3 * slot + 1] += bar.x;
    undo->bar.q1[3 * slot + 2] += bar.y;
    undo->gradient->body[slot].mass += s2_dot(whole->arm[i], centre_bar) / whole->mass;
  }
}

// The step rotated the whole island to change the spin of v. Returns the adjoint of the spin.
static double spin_set_vjp(S2Undo *undo, const S2Note *note, double spin, double *v_bar) {
  S2ArenaMark mark = s2_arena_mark(undo->arena);
  Whole whole = spin_whole_of(undo, note, note->spin.before);
  double turn = (spin - whole.spin) / whole.inertia, turn_bar = 0;
  for (int i = 0; i < note->of->island.nodes; i++) {
    const double *bar = v_bar + 3 * note->of->island.node[i];
    S2Vec2 arm = whole.arm[i];
    turn_bar += bar[0] - arm.y * bar[1] + arm.x * bar[2];
    whole.arm_bar[i] = s2_vec2(turn * bar[2], -turn * bar[1]);
  }
  double spin_bar = turn_bar / whole.inertia;
  spin_whole_vjp(undo, note, &whole, note->spin.before, -spin_bar, -turn * spin_bar, v_bar);
  s2_arena_rewind(undo->arena, mark);
  return spin_bar;
}

// Passes the adjoint of the kinetic energy on to the velocities v (3 per slot). The energy does not
// include the motion of the centre. The velocity of the centre minimises it, so that velocity has
// no adjoint.
static void spin_kinetic_vjp(S2Undo *undo, const S2Note *note, double energy_bar, const double *v,
                             double *v_bar) {
  S2Vec2 drift = {0, 0};
  double mass = 0;
  for (int i = 0; i < note->of->island.nodes; i++) {
    int32_t slot = note->of->island.node[i];
    double m = undo->world->bodies.at[slot].mass;
    mass += m;
    drift = s2_add_scaled(drift, m, s2_vec2(v[3 * slot + 1], v[3 * slot + 2]));
  }
  for (int i = 0; i < note->of->island.nodes; i++) {
    int32_t slot = note->of->island.node[i], at = 3 * slot;
    const S2Body *body = &undo->world->bodies.at[slot];
    S2BodyGradient *g = &undo->gradient->body[slot];
    S2Vec2 within = s2_add_scaled(s2_vec2(v[at + 1], v[at + 2]), -1 / mass, drift);
    v_bar[at] += energy_bar * body->inertia * v[at];
    v_bar[at + 1] += energy_bar * body->mass * within.x;
    v_bar[at + 2] += energy_bar * body->mass * within.y;
    g->inertia += energy_bar * v[at] * v[at] / 2;
    g->mass += energy_bar * s2_length2(within) / 2;
  }
}

void s2_undo_spin_dq(S2Undo *undo, const S2Note *note) {
  (void)spin_set_vjp(undo, note, 0, undo->displaced);
}

void s2_undo_spin_v2(S2Undo *undo, const S2Note *note) {
  s2_undo_put_nodes(note, note->spin.before, undo->step.v2);
  undo->spin += spin_set_vjp(undo, note, note->spin.value, undo->bar.v2);
}

void s2_undo_cap(S2Undo *undo, const S2Note *note) {
  double bar = s2_undo_slower(undo, note);
  spin_kinetic_vjp(undo, note, bar, undo->step.v2, undo->bar.v2);
  undo->most -= bar;
}

void s2_undo_spin(S2Undo *undo, const S2Note *note) {
  S2ArenaMark mark = s2_arena_mark(undo->arena);
  int nodes = note->of->island.nodes;
  double *v = S2_TAKE(undo->arena, double, 3 * nodes);
  for (int i = 0; i < nodes; i++) {
    memcpy(v + 3 * i, undo->step.v2 + 3 * note->of->island.node[i], 3 * sizeof(double));
  }
  Whole whole = spin_whole_of(undo, note, v);
  spin_whole_vjp(undo, note, &whole, v, undo->spin, 0, undo->bar.v2);
  bool from_v2 = note->spin.from_v2;
  spin_kinetic_vjp(undo, note, undo->most * (1 + S2_SPIN_ROUNDING),
                   from_v2 ? undo->step.v2 : undo->step.free_v,
                   from_v2 ? undo->bar.v2 : undo->bar.free_v);
  undo->spin = undo->most = 0;
  s2_arena_rewind(undo->arena, mark);
}

// v1 receives a rotation of the whole island, as one body with masses W at q0. Its angular momentum
// is the moment that joints caused, W (free_v - v1).
void s2_undo_balance(S2Undo *undo, const S2Note *note) {
  S2ArenaMark mark = s2_arena_mark(undo->arena);
  const S2Step *step = &undo->step;
  S2StepAdjoint *bar = &undo->bar;
  int nodes = note->of->island.nodes;
  S2Vec2 *arm = S2_TAKE(undo->arena, S2Vec2, nodes), *arm_bar = S2_TAKE(undo->arena, S2Vec2, nodes);
  S2Vec2 centre = {0}, centre_bar = {0};
  double weight = 0, inertia = 0, moment = 0, turn_bar = 0;
  // Compute the centre of the whole island with the masses W.
  for (int i = 0; i < nodes; i++) {
    const double *q = step->q0 + 3 * note->of->island.node[i],
                 *w = step->mass + 3 * note->of->island.node[i];
    const double *first = step->q0 + 3 * note->of->island.node[0];
    arm[i] = s2_vec2(q[1] - first[1], q[2] - first[2]);
    weight += w[1];
    centre = s2_add_scaled(centre, w[1], arm[i]);
  }
  // Compute the inertia, the missing moment and dl/d(turn).
  for (int i = 0; i < nodes; i++) {
    int32_t at = 3 * note->of->island.node[i];
    const double *w = step->mass + at, *v = note->plain.before + 3 * i, *free_v = step->free_v + at;
    arm[i] = s2_add_scaled(arm[i], -1 / weight, centre);
    inertia += w[0] + w[1] * s2_length2(arm[i]);
    moment += w[0] * (free_v[0] - v[0]) +
              w[1] * s2_cross(arm[i], s2_vec2(free_v[1] - v[1], free_v[2] - v[2]));
    turn_bar += bar->v1[at] - arm[i].y * bar->v1[at + 1] + arm[i].x * bar->v1[at + 2];
  }
  // turn = moment / inertia
  double turn = moment / inertia, moment_bar = turn_bar / inertia, inertia_bar = -turn * moment_bar;
  // Compute the adjoints of the masses and the arms, and of free_v and v1. The difference of these
  // velocities determines the moment.
  for (int i = 0; i < nodes; i++) {
    int32_t at = 3 * note->of->island.node[i];
    const double *w = step->mass + at, *v = note->plain.before + 3 * i, *free_v = step->free_v + at;
    S2Vec2 missing = s2_vec2(free_v[1] - v[1], free_v[2] - v[2]);
    const double along[3] = {w[0], -w[1] * arm[i].y, w[1] * arm[i].x}; // d moment / d free_v
    arm_bar[i] = s2_vec2(turn * bar->v1[at + 2], -turn * bar->v1[at + 1]);
    arm_bar[i] = s2_add_scaled(arm_bar[i], -moment_bar * w[1], s2_left(missing));
    arm_bar[i] = s2_add_scaled(arm_bar[i], 2 * inertia_bar * w[1], arm[i]);
    centre_bar = s2_sub(centre_bar, arm_bar[i]);
    bar->mass[at] += moment_bar * (free_v[0] - v[0]) + inertia_bar;
    bar->mass[at + 1] += moment_bar * s2_cross(arm[i], missing) + inertia_bar * s2_length2(arm[i]);
    for (int c = 0; c < 3; c++) {
      bar->free_v[at + c] += moment_bar * along[c];
      bar->v1[at + c] -= moment_bar * along[c];
      step->v1[at + c] = v[c];
    }
  }
  // Arms start at the centre of mass, with weights W.
  for (int i = 0; i < nodes; i++) {
    int32_t at = 3 * note->of->island.node[i];
    S2Vec2 to = s2_add_scaled(arm_bar[i], step->mass[at + 1] / weight, centre_bar);
    bar->q0[at + 1] += to.x;
    bar->q0[at + 2] += to.y;
    bar->mass[at + 1] += s2_dot(arm[i], centre_bar) / weight;
  }
  s2_arena_rewind(undo->arena, mark);
}

// ---- Energy -----------------------------------------------------------------------------------

typedef struct Parts { // parts of the motion v of an island
  double kinetic, drifting, turning, rest, turn;
  S2Vec2 drift;
} Parts;

static Parts spin_parts_of(const S2Undo *undo, const S2Note *note, const Whole *whole,
                           const double *v) {
  Parts parts = {.turn = whole->spin / whole->inertia};
  for (int i = 0; i < note->of->island.nodes; i++) {
    const S2Body *body = &undo->world->bodies.at[note->of->island.node[i]];
    S2Vec2 moves = s2_vec2(v[3 * i + 1], v[3 * i + 2]);
    parts.kinetic += (body->inertia * v[3 * i] * v[3 * i] + body->mass * s2_length2(moves)) / 2;
    parts.drift = s2_add_scaled(parts.drift, body->mass / whole->mass, moves);
  }
  parts.drifting = whole->mass * s2_length2(parts.drift) / 2;
  parts.turning = whole->spin * parts.turn / 2;
  bool alone = note->of->island.nodes == 1; // for one body, the rest is only rounding error
  parts.rest = alone ? 0 : fmax(0, parts.kinetic - parts.drifting - parts.turning);
  return parts;
}

// v is the sum of the drift, the rotation of the whole island and the rest. Energy is removed from
// the rest first, then from the rotation (s2_island_cap). One of the two is multiplied by s.
double s2_undo_slower(S2Undo *undo, const S2Note *note) {
  S2ArenaMark mark = s2_arena_mark(undo->arena);
  const double *v = note->energy.before;
  double energy = note->energy.loss, *bar = undo->bar.v2;
  Whole whole = spin_whole_of(undo, note, v);
  Parts at = spin_parts_of(undo, note, &whole, v), to = {0}; // `to`: adjoints.
  // Determine whether the rest or the rotation is reduced, and by which factor s.
  double inertia_bar = 0, energy_bar = 0, s, s_bar = 0;
  bool from_rest = at.rest > energy;
  s = from_rest ? sqrt(1 - energy / at.rest) : sqrt(fmax(0, 1 - (energy - at.rest) / at.turning));
  s = isfinite(s) ? s : 0; // the island did not turn
  // v2 = drift + turn x arm + rest, where turn or rest has the factor s.
  double drift = from_rest ? 1 - s : 1, turn = from_rest ? 1 - s : s;
  for (int i = 0; i < note->of->island.nodes; i++) {
    int32_t slot = note->of->island.node[i];
    double *of = bar + 3 * slot;
    S2Vec2 arm = whole.arm[i], moves = s2_vec2(of[1], of[2]);
    double by_turn = of[0] + s2_dot(s2_left(arm), moves), by_drift = s2_dot(moves, at.drift);
    double all = of[0] * v[3 * i] + of[1] * v[3 * i + 1] + of[2] * v[3 * i + 2];
    s_bar += from_rest ? all - by_drift - at.turn * by_turn : at.turn * by_turn;
    to.turn += turn * by_turn;
    to.drift = s2_add_scaled(to.drift, drift, moves);
    whole.arm_bar[i] = s2_scale(-turn * at.turn, s2_left(moves));
    for (int c = 0; c < 3; c++) {
      of[c] *= from_rest ? s : 0;
      undo->step.v2[3 * slot + c] = v[3 * i + c];
    }
  }
  // s^2 = 1 - energy/rest, or 1 - (energy - rest)/turning
  double slope = s > 0 ? s_bar / (2 * s) : 0; // of s^2
  if (from_rest) {
    energy_bar = -slope / at.rest;
    to.rest = slope * energy / (at.rest * at.rest);
  } else if (s > 0) {
    energy_bar = -slope / at.turning;
    to.rest = note->of->island.nodes == 1 ? 0 : slope / at.turning;
    to.turning = slope * (energy - at.rest) / (at.turning * at.turning);
  }
  // rest = kinetic - drifting - turning
  to.kinetic += to.rest;
  to.drifting -= to.rest;
  to.turning -= to.rest;
  to.turn += to.turning * whole.spin; // turning = inertia turn^2 / 2
  inertia_bar += to.turning * at.turn * at.turn / 2 - to.turn * at.turn / whole.inertia;
  // drifting = m drift^2/2; turn = spin/inertia
  to.drift = s2_add_scaled(to.drift, to.drifting * whole.mass, at.drift);
  // Adjoints of velocities and masses of the bodies.
  for (int i = 0; i < note->of->island.nodes; i++) {
    int32_t slot = note->of->island.node[i];
    const S2Body *body = &undo->world->bodies.at[slot];
    S2BodyGradient *g = &undo->gradient->body[slot];
    S2Vec2 moves = s2_vec2(v[3 * i + 1], v[3 * i + 2]);
    double part = body->mass / whole.mass;
    bar[3 * slot] += to.kinetic * body->inertia * v[3 * i];
    bar[3 * slot + 1] += to.kinetic * body->mass * moves.x + part * to.drift.x;
    bar[3 * slot + 2] += to.kinetic * body->mass * moves.y + part * to.drift.y;
    g->inertia += to.kinetic * v[3 * i] * v[3 * i] / 2;
    g->mass += to.kinetic * s2_length2(moves) / 2 + to.drifting * s2_length2(at.drift) / 2 +
               s2_dot(to.drift, s2_sub(moves, at.drift)) / whole.mass;
  }
  // Adjoints through the spin and the inertia of all bodies.
  spin_whole_vjp(undo, note, &whole, v, to.turn / whole.inertia, inertia_bar, bar);
  s2_arena_rewind(undo->arena, mark);
  return energy_bar;
}
