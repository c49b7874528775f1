// Speculative stepping uses a fixed dt, predictive rows and two solves.
// This is algorithm B1 in docs/stepping-options.md.
//
// 1. Every contact that can close within the step has a row J v + max(gap, 0)/h >= 0. The solve
//    stops it exactly at the surface. The resulting velocities v1 move the positions.
// 2. If a contact arrives with speed, an impact of zero duration follows. It starts from v1, and
//    its restitution targets use the speeds before the step. The next step begins with its
//    velocities v2. Forces do not act in the impact. Its velocities do not move bodies in this
//    step, so forces would add energy although nothing falls.
// 3. An impact may drive bodies into contacts that were opening. Further impacts follow until no
//    touching contact approaches. If the approach speed of a contact is below the speed change
//    caused by forces in one step, the contact is stopped inelastically. The same applies to
//    contacts in an endless sequence of impacts.
//
// The prediction can be wrong in five ways. All are detected after the solve and corrected:
// - An impact moves a body farther than its free motion. The search is repeated.
// - A row is the tangent plane at the nearest points, so a fast body may pass beside the real
//   surface. If the row of a distant contact carried an impulse but the true gap at the end is
//   open, the contact is linearised again at the end of the step, and the island is solved again.
// - A fast and thin body may pass through the real surface. passage.c ends its motion there.
// - Two shapes overlap at the end although they had no point in reach, or their rows carried no
//   impulse. An example is a corner that crosses from one segment of a bent chain to the next. The
//   shapes get points there, and everything is solved again.
// - Corners clip each other within the step and are apart at the end. They get points where the
//   overlap begins.
#include "dynamics/audit/audit.h"
#include "dynamics/joints/rows.h"
#include "dynamics/project/passage.h"
#include "dynamics/project/spin.h"
#include "dynamics/project/warn.h"
#include "dynamics/rattle/rattle.h"
#include "dynamics/rest/rest.h"
#include "dynamics/schemes/schemes.h"
#include "dynamics/schemes/threads.h"
#include "dynamics/step/acted.h"
#include "dynamics/step/forces.h"
#include "dynamics/step/islands.h"
#include "dynamics/step/solve.h"
#include "dynamics/step/touch.h"
#include "dynamics/trace/notes.h"

#include <string.h>

// Returns true if both bodies of a touch stay in place during the step, up to rounding.
static bool touch_rests(const S2Step *step, const S2Island *island, const S2Touch *touch) {
  const int32_t slot[2] = {touch->body_a, touch->body_b};
  bool rests = true;
  for (int i = 0; i < 2; i++) {
    const double *v = step->v0 + 3 * slot[i];
    double way = step->h * (hypot(v[1], v[2]) + fabs(v[0]) * island->length);
    rests = rests && way <= S2_REST_GAP * island->length;
  }
  return rests;
}

// Between bodies at rest, a gap that is only a rounding error counts as zero. Redundant rows, as in
// a brick wall, have no solution that closes all such gaps, so solves and guesses would always
// differ.
static S2Choice gap_choice(const S2Step *step, const S2Island *island, const S2Touch *touch,
                           double gap) {
  bool rounding = gap > 0 && gap <= S2_REST_GAP * island->length;
  bool none = rounding && touch_rests(step, island, touch);
  return (S2Choice){true, none ? 0 : s2_step_gap_bias(step, gap), S2_TARGET_GAP};
}

// Returns true if the blended motion moves bodies into each other although the velocities of the
// solve stop them at the surface. The blended motion includes a part of the velocity before the
// step.
static bool speculative_overshoots(const S2Step *step, const S2Island *island) {
  double beta = step->world->kept.def.beta, slop = S2_TOUCH_SLOP * island->length;
  for (int i = 0; i < island->touches && beta < 1; i++) {
    const S2Touch *touch = &step->touches[island->touch[i]];
    for (int k = 0; k < touch->count; k++) {
      const S2TouchPoint *point = &touch->points[k];
      double before = s2_touch_velocity(touch, k, point->at.normal, step->v0);
      double after = s2_touch_velocity(touch, k, point->at.normal, step->v1);
      double blended = (1 - beta) * before + beta * after;
      if (point->normal_impulse > 0 && point->at.gap + step->h * blended < -slop &&
          blended < after) {
        return true;
      }
    }
  }
  return false;
}

static void integrate_island(S2Step *step, const S2Island *island) {
  bool stiff = island->joints > 0 && step->stiff[island->joint[0]];
  bool ahead =
      stiff || (speculative_overshoots(step, island) && !s2_step_blends_contacts(step, island));
  for (int i = 0; i < island->nodes; i++) {
    step->ahead[island->node[i]] = ahead;
    s2_step_carry(step, island->node[i]);
  }
}

// Linearises a touch again at the end of the step if its rows were wrong.
static bool relinearise_touch(S2Step *step, const S2Island *island, int32_t index, bool *replaced,
                              S2Choice *choices) {
  S2Touch *touch = &step->touches[index];
  // Collect the predictions of the rows. These are the smallest gap, the lift of sliding contacts
  // under the convex contact law, and whether a far row carried an impulse.
  double fine = S2_MISS_TOLERANCE * island->length, nearest = INFINITY, predicted = INFINITY;
  double rise = 0;
  bool convex = step->world->kept.def.contact == S2_CONVEX;
  bool far_impulse = false;
  for (int k = 0; k < touch->count; k++) {
    const S2TouchPoint *point = &touch->points[k];
    double u = s2_touch_velocity(touch, k, point->at.normal, step->carry);
    nearest = fmin(nearest, fabs(point->at.gap));
    predicted = fmin(predicted, point->at.gap + step->h * u);
    far_impulse |= point->normal_impulse > 0 && point->at.gap > fine;
    if (convex && point->normal_impulse > 0) {
      rise = fmax(rise, point->at.gap + step->h * u);
    }
  }
  if (!far_impulse && !*replaced) {
    return false;
  }
  // Compute the true gap at the end of the motion.
  S2Touch there = *touch;
  s2_touch_collide(step->world, &there, step->q1, INFINITY);
  double gap = INFINITY;
  // The new row is the tangent plane at the end, with its gap transferred to the start along the
  // motion.
  for (int k = 0; k < there.count; k++) {
    gap = fmin(gap, there.points[k].at.gap);
  }
  // Accept an error of one percent of the distance for any curvature.
  double tolerance = 0.01 * nearest + fine;
  bool missed = far_impulse && gap > rise + tolerance && !touch->on_way &&
                s2_step_passage(step, touch) > step->h;
  bool fell_in = *replaced && gap < fmin(predicted, 0) - tolerance;
  if (there.count == 0 || !(missed || fell_in)) {
    return false;
  }
  for (int k = 0; k < there.count; k++) {
    S2TouchPoint *point = &there.points[k];
    point->at.gap -= step->h * s2_touch_velocity(&there, k, point->at.normal, step->carry);
    choices[2 * index + k] = gap_choice(step, island, touch, point->at.gap);
  }
  *touch = there;
  *replaced = true;
  s2_note_linearise(step, index, step->h, false);
  step->world->stats.relinearisations += 1;
  return true;
}

// Restores the rows of the previous solve if the solve with the new rows does not converge soon.
static void keep_rows(S2Step *step, const S2Island *island, const S2Touch *before, int noted) {
  for (int i = 0; i < island->touches; i++) {
    step->touches[island->touch[i]] = before[i];
  }
  s2_notes_rewind(step, noted);
  step->rows_stay = true;
  step->world->stats.rows_stayed += 1;
}

bool s2_island_look_ahead(S2Step *step, const S2Island *island, S2Choice *choices, bool *solved) {
  bool *replaced = S2_TAKE_ZEROED(step->arena, bool, island->touches);
  S2Touch *before = NULL; // touches of the last solve, if rows are replaced
  int noted = 0;
  for (int i = 0; i < island->touches; i++) {
    const S2Touch *touch = &step->touches[island->touch[i]];
    for (int k = 0; k < touch->count; k++) {
      choices[2 * island->touch[i] + k] = gap_choice(step, island, touch, touch->points[k].at.gap);
    }
  }
  // Solve, move, and repeat while rows miss the real surface.
  bool again = true;
  for (int pass = 0; again; pass++) {
    s2_found_guess(step, island, pass);
    // If the rows of a large pile were replaced, this solve is only an attempt. If it fails, the
    // previous rows are restored.
    S2SolveStatus outcome = S2_SOLVED;
    step->trying = pass == 0        ? (solved == NULL ? 0 : S2_ATTEMPT_WHOLE)
                   : before != NULL ? S2_ATTEMPT_ROWS
                                    : 0;
    bool going = s2_step_solve(step, island, choices, S2_SOLVE_MOTION, step->v1,
                               step->trying > 0 ? &outcome : NULL);
    step->trying = 0;
    if (!going) {
      return false;
    }
    if (outcome != S2_SOLVED && pass == 0) {
      *solved = false;
      break;
    }
    if (outcome != S2_SOLVED) {
      keep_rows(step, island, before, noted);
      break;
    }
    s2_found_keep(step, island, pass);
    s2_island_balance(step, island);
    integrate_island(step, island);
    again = false;
    bool may = pass < S2_RELINEARISE_PASSES && !step->hurries && !step->rows_stay;
    if (may && island->touches > S2_ATTEMPT_TOUCHES) {
      noted = s2_notes_mark(step);
      before = before != NULL ? before : S2_TAKE(step->arena, S2Touch, island->touches);
      for (int i = 0; i < island->touches; i++) {
        before[i] = step->touches[island->touch[i]];
      }
    }
    for (int i = 0; i < island->touches && may; i++) {
      again |= relinearise_touch(step, island, island->touch[i], &replaced[i], choices);
    }
  }
  return true;
}

// Chooses the rows of an impact for the velocities v before the step. `touching` (2 per touch, like
// the choices) receives the rigid contacts that are closed at the end of the step. Arriving
// contacts get a restitution target. `bounces` is true if a contact rebounds. Returns true if a
// contact arrives faster than it would because of forces alone.
static bool choose_impact(const S2Step *step, const S2Island *island, const double *v,
                          S2Choice *choices, bool *touching, bool *bounces) {
  double h = step->h, tiny = s2_island_rest_speed(step, island);
  bool impact = false;
  *bounces = false;
  for (int i = 0; i < island->touches; i++) {
    int32_t index = island->touch[i];
    const S2Touch *touch = &step->touches[index];
    for (int k = 0; k < touch->count; k++) {
      const S2TouchPoint *point = &touch->points[k];
      // Compute the approach speed before the step, and the acceleration of the free motion.
      double u = s2_touch_velocity(touch, k, point->at.normal, v);
      double given = s2_touch_velocity(touch, k, point->at.normal, step->v0);
      double a = (s2_touch_velocity(touch, k, point->at.normal, step->free_v) - given) / h;
      S2Choice *choice = &choices[2 * index + k];
      bool closed = point->normal_impulse > 0 || point->at.gap <= S2_TOUCH_SLOP * island->length;
      bool hard = closed && !s2_touch_soft(touch); // soft contacts take no part in impacts
      touching[2 * index + k] = hard;
      *choice = (S2Choice){.use = hard ? u <= tiny : closed};
      if (hard && u < 0 && u <= tiny) {
        // Compute the arrival speed of a point that closes its gap at its free acceleration.
        double arrival = -sqrt(u * u + 2 * fmax(0, -a) * fmax(point->at.gap, 0));
        choice->bias = touch->restitution * arrival;
        choice->target = S2_TARGET_ARRIVAL;
        impact |= u < -fabs(a) * h / 2 - tiny;
        *bounces |= choice->bias < 0;
      }
    }
  }
  return impact;
}

bool s2_step_outran(S2Step *step) {
  const S2World *world = step->world;
  // Each body may use half of the margin of a pair.
  double room = world->kept.def.contact_margin / 2;
  bool outran = false;
  for (int i = 0; i < step->island_count; i++) {
    for (int k = 0; k < step->islands[i].nodes; k++) {
      int32_t slot = step->islands[i].node[k];
      const double *v = step->v1 + 3 * slot, *free_v = step->free_v + 3 * slot;
      double turn = fmin(step->h * fabs(v[0] - free_v[0]), 2);
      double more =
          step->h * hypot(v[1] - free_v[1], v[2] - free_v[2]) + turn * world->bodies.at[slot].reach;
      if (more > room + step->slack[slot]) {
        step->slack[slot] = more;
        step->strayed[slot] = true;
        outran = true;
      }
    }
  }
  return outran;
}

const S2SeenTouch *s2_step_see(const S2Step *step) {
  S2SeenTouch *seen = S2_TAKE(step->arena, S2SeenTouch, step->touch_count);
  for (int i = 0; i < step->touch_count; i++) {
    const S2Touch *touch = &step->touches[i];
    seen[i] = (S2SeenTouch){touch->shape_a, touch->shape_b, touch->count, {0}, {0}};
    for (int k = 0; k < touch->count; k++) {
      seen[i].id[k] = touch->points[k].at.id;
      seen[i].gap[k] = touch->points[k].at.gap;
    }
  }
  return seen;
}

bool s2_step_same_points(const S2Step *step, const S2SeenTouch *seen, int count) {
  bool same = step->touch_count == count;
  for (int i = 0; i < count && same; i++) {
    const S2Touch *touch = &step->touches[i];
    same = touch->shape_a == seen[i].shape_a && touch->shape_b == seen[i].shape_b &&
           touch->count == seen[i].count;
    for (int k = 0; k < touch->count && same; k++) {
      same = touch->points[k].at.id == seen[i].id[k] && touch->points[k].at.gap == seen[i].gap[k];
    }
  }
  return same;
}

// Copies the entries of an island's nodes from an array with 3 entries per slot.
static double *take_nodes(const S2Step *step, const S2Island *island, const double *from) {
  double *to = S2_TAKE(step->arena, double, 3 * island->nodes);
  for (int i = 0; i < island->nodes; i++) {
    memcpy(to + 3 * i, from + 3 * island->node[i], 3 * sizeof(double));
  }
  return to;
}

// Steps the island by the two-stage flow, if that flow supports it. In that case, v1 is the mean
// velocity of the step.
static bool rattle_island(S2Step *step, S2Island *island) {
  bool done = false;
  // steps that are split because of large rotations use projection
  bool whole = step->h == step->dt;
  if (!whole || !s2_island_rattles(step, island) || step->stiff[island->joint[0]]) {
    return true;
  }
  S2LawFrame frame = {step->q0, step->v0, step->free_v, 0};
  bool going = s2_island_rattle(step, island, &frame, &done);
  island->flowed_q1 = done ? take_nodes(step, island, step->q1) : NULL;
  island->flowed_v2 = done ? take_nodes(step, island, step->v2) : NULL;
  return going;
}

bool s2_island_put_flowed(const S2Island *island, const double *flowed, double *to) {
  for (int i = 0; i < island->nodes && flowed != NULL; i++) {
    memcpy(to + 3 * island->node[i], flowed + 3 * i, 3 * sizeof(double));
  }
  return flowed != NULL;
}

static bool look_ahead_work(S2Step *step, S2Island *island, void *choices) {
  return s2_rest_keeps(step, island) ||
         (rattle_island(step, island) &&
          (island->flowed_q1 != NULL || s2_island_look_ahead(step, island, choices, NULL)));
}

bool s2_step_look_ahead(S2Step *step, S2Choice *choices) {
  // Discard the audit records of an earlier search. In a whole step, this includes records of the
  // two-stage flow.
  if (step->h == step->dt) {
    s2_audit_again(step, NULL);
  } else if (step->world->audit != NULL) {
    s2_audit_forget(step);
  }
  s2_note_plain(step, S2_ACT_RESET, step->v1);
  memcpy(step->v1, step->free_v, sizeof(double) * 3 * (size_t)step->world->bodies.count);
  s2_step_integrate(step);
  s2_rest_hold(step);
  return s2_islands_run(step, look_ahead_work, choices, NULL);
}

// Solves impacts without rebound. Starting from v1, the velocities of the motion, all closed
// contacts stop approaching. This removes energy at every contact.
static bool speculative_land(S2Step *step, const S2Island *island, S2Choice *choices,
                             const bool *touching) {
  // If beta is below 1, the velocity error of joints changes its sign in each step. An impact
  // removes this error.
  bool approaches = island->joints > 0 && step->world->kept.def.beta < 1;
  double tiny = s2_island_rest_speed(step, island);
  for (int i = 0; i < island->touches; i++) {
    int32_t index = island->touch[i];
    const S2Touch *touch = &step->touches[index];
    for (int k = 0; k < touch->count; k++) {
      bool use = touching[2 * index + k];
      choices[2 * index + k] = (S2Choice){.use = use};
      approaches |=
          use && s2_touch_velocity(touch, k, touch->points[k].at.normal, step->v2) < -tiny;
    }
  }
  step->world->stats.second_solves += approaches;
  if (!approaches) {
    return true;
  }
  // Use the result of the same impact in the last search as the guess.
  S2ArenaMark mark = s2_arena_mark(step->arena);
  double *before = step->found == NULL ? NULL : s2_step_contact_impulses(step, island);
  step->impact = s2_found_guess_impact(step, island);
  bool going = s2_step_solve(step, island, choices, S2_SOLVE_IMPACT, step->v2, NULL);
  step->impact = NULL;
  s2_found_keep_impact(step, island, before);
  s2_arena_rewind(step->arena, mark);
  return going;
}

// Solves impacts with rebounds. Contacts that already separate have no row in the first impact,
// because holding them would add energy.
static bool speculative_rebound(S2Step *step, const S2Island *island, S2Choice *choices,
                                const bool *touching, const S2JointImpulses *held) {
  double tiny = s2_island_rest_speed(step, island);
  for (int i = 0; i < island->touches; i++) {
    int32_t index = island->touch[i];
    const S2Touch *touch = &step->touches[index];
    for (int k = 0; k < touch->count; k++) {
      S2Choice *choice = &choices[2 * index + k];
      double u = s2_touch_velocity(touch, k, touch->points[k].at.normal, step->v2);
      choice->use = touching[2 * index + k] && (choice->bias < 0 || u <= tiny);
    }
  }
  step->world->stats.second_solves += 1;
  S2ArenaMark mark = s2_arena_mark(step->arena);
  const double *pressed = s2_step_contact_impulses(step, island);
  bool going = s2_step_impact(step, island, choices, S2_SOLVE_IMPACT) &&
               s2_step_later_impacts(step, island, choices, touching, 1);
  if (going) {
    s2_step_keep_energy(step, island, pressed, held);
  }
  s2_arena_rewind(step->arena, mark);
  return going;
}

bool s2_island_impact(S2Step *step, const S2Island *island, S2Choice *choices, bool *touching) {
  s2_note_hit(step, island, 0);
  s2_note_stop(step, island);
  bool bounces;
  if (island->touches == 0 || !choose_impact(step, island, step->v0, choices, touching, &bounces)) {
    return true;
  }
  if (!bounces) {
    return speculative_land(step, island, choices, touching);
  }
  // Compute the arrival speeds from the velocities before the step, corrected to satisfy the
  // joints.
  bool reflect = step->world->kept.def.restitution_model == S2_REFLECTIONS;
  // Save the impulses of the motion while the velocities before the step are corrected.
  S2ArenaMark mark = s2_arena_mark(step->arena);
  int noted = s2_notes_mark(step);
  S2JointImpulses held = s2_step_take_joints(step, island);
  if (!s2_step_before_impact(step, island, !reflect)) {
    return false;
  }
  choose_impact(step, island, step->v2, choices, touching, &bounces);
  // Reflections start from the corrected velocities before the step, and forces act afterwards.
  if (reflect && bounces) {
    step->world->stats.second_solves += 1;
    s2_arena_rewind(step->arena, mark);
    return s2_step_reflect(step, island, choices, touching) &&
           s2_step_later_impacts(step, island, choices, touching, 1);
  }
  if (reflect) {
    s2_notes_rewind(step, noted);
  } else {
    s2_note_impact(step, island, choices, S2_ACT_REBOUND, step->v2);
  }
  // Otherwise the impact starts from v1, at the end of the motion.
  for (int i = 0; i < island->nodes; i++) {
    int32_t at = 3 * island->node[i];
    memcpy(step->v2 + at, step->v1 + at, 3 * sizeof(double));
  }
  s2_step_put_joints(step, island, &held);
  bool going = bounces ? speculative_rebound(step, island, choices, touching, &held)
                       : speculative_land(step, island, choices, touching);
  s2_arena_rewind(step->arena, mark);
  return going;
}
