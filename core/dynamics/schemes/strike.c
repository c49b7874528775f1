// Impacts of event stepping: which points take part, and their velocities after the impact.
//
// Newton's restitution and friction together may add energy (Kane's example). The restitution of
// all points is then multiplied by the largest fraction that adds none. The derivative treats this
// fraction as constant and has the flag `partial`.
#include "dynamics/schemes/event.h"

#include "dynamics/impact/impact.h"
#include "dynamics/project/passage.h"
#include "dynamics/step/islands.h"
#include "dynamics/step/touch.h"

#include <math.h>
#include <string.h>

// An energy gain is a rounding error if it is below this fraction of the energy of the velocity
// change.
static const double STRIKE_ROUNDING = 1e-9;

// ---- Slow points -------------------------------------------------------------------------------

// Returns the acceleration (m/s^2) of the gap at point k due to rotation alone. The normal and the
// points turn with the bodies.
static double turning_acceleration(const S2EventRun *event, const S2Touch *touch, int k,
                                   const double *v) {
  const S2TouchPoint *point = &touch->points[k];
  const double *va = v + 3 * touch->body_a, *vb = v + 3 * touch->body_b;
  S2Vec2 n = point->at.normal;
  double slide = fabs(s2_touch_velocity(touch, k, s2_left(n), v));
  double of_a = fabs(s2_dot(n, point->at.point)), of_b = fabs(s2_dot(n, point->arm_b));
  double by_a = s2_touch_turns_gap(event->step->world, touch, 0) ? fabs(va[0]) : 0;
  double by_b = s2_touch_turns_gap(event->step->world, touch, 1) ? fabs(vb[0]) : 0;
  return by_a * by_a * of_a + by_b * by_b * of_b + 2 * fmax(by_a, by_b) * slide;
}

// Returns the change of the approach speed (m/s) due to rotation in half a piece, if rotation
// limits the length of pieces.
static double slow_by_turning(const S2EventRun *event, const S2Touch *touch, int k) {
  return event->horizon < event->left
             ? turning_acceleration(event, touch, k, event->step->v0) * event->horizon / 2
             : 0;
}

// Returns the change of the approach speed (m/s) due to forces in half a step. Restitution applies
// only to faster contacts. This prevents an endless sequence of impacts.
static double event_slow(const S2EventRun *event, const S2Touch *touch, int k) {
  S2Vec2 n = touch->points[k].at.normal;
  double then = s2_touch_velocity(touch, k, n, event->v_start);
  double free_then = s2_touch_velocity(touch, k, n, event->free_start);
  return fmax(fabs(free_then - then) / 2 + slow_by_turning(event, touch, k), event->tiny);
}

double s2_event_slow_if_held(const S2EventRun *event, const S2Touch *touch, int k) {
  const S2TouchPoint *point = &touch->points[k];
  S2Vec2 n = point->at.normal;
  double ja[3] = {s2_cross(point->at.point, n), n.x, n.y};
  double jb[3] = {s2_cross(point->arm_b, n), n.x, n.y};
  const double *a = event->v_start + 3 * touch->body_a, *b = event->v_start + 3 * touch->body_b;
  const double *free_a = event->free_start + 3 * touch->body_a;
  const double *free_b = event->free_start + 3 * touch->body_b;
  double of_a = 0, of_b = 0;
  for (int c = 0; c < 3; c++) {
    of_a += ja[c] * (free_a[c] - a[c]);
    of_b += jb[c] * (free_b[c] - b[c]);
  }
  return fmax(fmax(fabs(of_a), fabs(of_b)) / 2, event_slow(event, touch, k));
}

bool s2_event_strikes(const S2EventRun *event, const double *v) {
  const S2Step *step = event->step;
  for (int i = 0; i < event->island->touches; i++) {
    const S2Touch *touch = &step->touches[event->island->touch[i]];
    for (int k = 0; k < touch->count && !s2_touch_soft(touch); k++) {
      const S2ManifoldPoint *at = &touch->points[k].at;
      if (at->gap <= event->slop && s2_touch_velocity(touch, k, at->normal, v) < -event->tiny) {
        return true;
      }
    }
  }
  return false;
}

// ---- The impact --------------------------------------------------------------------------------

typedef struct Strike { // the state before an impact, which each try starts from
  const double *start;  // m/s, rad/s: velocities, 3 per node
  S2JointImpulses held; // impulses of joints
  int noted;            // index of the first note of the impact
  // What solves above their tolerance have marked.
  uint64_t unsolved, unsolved_solves, contradictions, unsolved_impacts;
  S2SolveStatus last_status;
  int missed_solves;
  bool missed, hurries;
} Strike;

static Strike strike_begin(const S2EventRun *event) {
  S2Step *step = event->step;
  const S2Island *island = event->island;
  const S2WorldStats *stats = &step->world->stats;
  double *start = S2_TAKE(step->arena, double, 3 * island->nodes);
  for (int i = 0; i < island->nodes; i++) {
    memcpy(start + 3 * i, step->v2 + 3 * island->node[i], 3 * sizeof(double));
  }
  return (Strike){.start = start,
                  .held = s2_step_take_joints(step, island),
                  .noted = s2_notes_mark(step),
                  .unsolved = stats->unsolved,
                  .unsolved_solves = stats->unsolved_solves,
                  .contradictions = stats->contradictions,
                  .unsolved_impacts = stats->unsolved_impacts,
                  .last_status = stats->last_status,
                  .missed_solves = step->unsolved,
                  .missed = step->world->missed,
                  .hurries = step->hurries};
}

// Restores the state before the impact.
static void strike_restart(const S2EventRun *event, const Strike *strike) {
  S2Step *step = event->step;
  const S2Island *island = event->island;
  S2WorldStats *stats = &step->world->stats;
  s2_event_forget_impulses(event);
  s2_step_put_joints(step, island, &strike->held);
  s2_notes_rewind(step, strike->noted);
  for (int i = 0; i < island->nodes; i++) {
    memcpy(step->v2 + 3 * island->node[i], strike->start + 3 * i, 3 * sizeof(double));
  }
  stats->unsolved = strike->unsolved;
  stats->unsolved_solves = strike->unsolved_solves;
  stats->contradictions = strike->contradictions;
  stats->unsolved_impacts = strike->unsolved_impacts;
  stats->last_status = strike->last_status;
  step->unsolved = strike->missed_solves;
  step->world->missed = strike->missed;
  step->hurries = strike->hurries;
}

// Chooses the points of an impact. After the impact, touching points satisfy J v+ >= -`part` e J v.
// A point that forces alone would return to the surface is slow, and its e is 0.
static void choose_struck(const S2EventRun *event, double part) {
  const S2Step *step = event->step;
  for (int i = 0; i < event->island->touches; i++) {
    int32_t index = event->island->touch[i];
    const S2Touch *touch = &step->touches[index];
    for (int k = 0; k < touch->count; k++) {
      const S2ManifoldPoint *at = &touch->points[k].at;
      double u = s2_touch_velocity(touch, k, at->normal, step->v2);
      double back = touch->restitution * fmin(u, 0);
      bool touches = at->gap <= event->slop && !s2_touch_soft(touch);
      bool bounces = -back > event_slow(event, touch, k);
      event->choices[2 * index + k] = (S2Choice){
          .use = touches && u <= event->tiny,
          .bias = bounces ? part * back : 0,
          .target = bounces ? S2_TARGET_APPROACH : S2_TARGET_FIXED,
      };
      event->touching[2 * index + k] = touches;
    }
  }
}

// Computes the energy (J) that the impulses P of contacts have removed since the start, relative to
// the surfaces: -P (u0 + u2)/2 = dv'M dv/2 - P u2. *rounding (J) is its error.
static double energy_removed(const S2EventRun *event, const double *start, double *rounding) {
  const S2Step *step = event->step;
  const S2Island *island = event->island;
  double work = 0, square = 0, pressed = 0; // J, J, N s
  for (int i = 0; i < island->nodes; i++) {
    const S2Body *body = &step->world->bodies.at[island->node[i]];
    const double inertial[3] = {body->inertia, body->mass, body->mass};
    for (int c = 0; c < 3; c++) {
      double change = step->v2[3 * island->node[i] + c] - start[3 * i + c];
      square += inertial[c] * change * change / 2;
    }
  }
  for (int i = 0; i < island->touches; i++) {
    const S2Touch *touch = &step->touches[island->touch[i]];
    for (int k = 0; k < touch->count && !s2_touch_soft(touch); k++) {
      const S2TouchPoint *point = &touch->points[k];
      S2Vec2 n = point->at.normal;
      double along = s2_touch_velocity(touch, k, s2_left(n), step->v2) - touch->surface_speed;
      work += point->normal_impulse * s2_touch_velocity(touch, k, n, step->v2);
      work += point->tangent_impulse * along;
      pressed += fabs(point->normal_impulse) + fabs(point->tangent_impulse);
    }
  }
  double tolerance = step->world->kept.def.tolerance * s2_island_speed(step, island);
  *rounding = STRIKE_ROUNDING * square + tolerance * pressed;
  return square - work;
}

// Solves the impacts with a fraction of each restitution. *removed and *rounding: see
// energy_removed. Returns false if aborted.
static bool strike_try(const S2EventRun *event, const Strike *strike, double part, double *removed,
                       double *rounding) {
  S2Step *step = event->step;
  const S2Island *island = event->island;
  strike_restart(event, strike);
  choose_struck(event, part);
  step->world->stats.second_solves += 1;
  if (!s2_step_impact(step, island, event->choices, S2_SOLVE_IMPACT) ||
      !s2_step_later_impacts(step, island, event->choices, event->touching, part)) {
    return false;
  }
  *removed = energy_removed(event, strike->start, rounding);
  return true;
}

// Finds the largest fraction of the restitution with which the impact adds no energy, and solves
// the impact with it. `removed` is the energy that the whole restitution removes; it is negative.
// Returns false if aborted.
static bool strike_reduced(const S2EventRun *event, const Strike *strike, double removed) {
  S2RattleMeeting search = {.hi = 1, .at_hi = removed};
  double rounding;
  if (!strike_try(event, strike, 0, &search.at_lo, &rounding)) {
    return false;
  }
  // The removed energy is a parabola in the fraction while no point changes its mode, so the search
  // needs few solves.
  for (bool found = search.at_lo <= rounding; !found;) {
    double next = s2_rattle_next_length(&search), part = next > 0 ? next : search.lo;
    if (!strike_try(event, strike, part, &removed, &rounding)) {
      return false;
    }
    found = next == 0 || (removed >= 0 && removed <= rounding);
    s2_rattle_narrow(&search, part, removed);
  }
  s2_note_short(event->step, event->island, 1); // sets the flag
  return true;
}

bool s2_event_strike(const S2EventRun *event) {
  S2Step *step = event->step;
  // Restitution targets use velocities that satisfy the joints.
  if (!s2_step_before_impact(step, event->island, false)) {
    return false;
  }
  S2ArenaMark mark = s2_arena_mark(step->arena);
  Strike strike = strike_begin(event);
  double removed, rounding;
  bool going = strike_try(event, &strike, 1, &removed, &rounding);
  if (going && removed < -rounding) {
    going = strike_reduced(event, &strike, removed);
  }
  s2_arena_rewind(step->arena, mark);
  return going;
}
