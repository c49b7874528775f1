// Bisecting stepping (lcp-physics, appendix A.1). Contacts act if they are closer than the margin.
// There is no prediction. A step or substep that ends in an overlap is undone and repeated with
// half its length. The published rule is extended by a tolerance, because a turning edge overlaps a
// vertex that moves along it at any step length. It is also extended by a smallest length. At this
// length, an overlap is accepted with a warning, and position projection removes it.
#include "dynamics/audit/audit.h"
#include "dynamics/joints/rows.h"
#include "dynamics/project/passage.h"
#include "dynamics/project/project.h"
#include "dynamics/project/warn.h"
#include "dynamics/schemes/schemes.h"
#include "dynamics/step/acted.h"
#include "dynamics/step/forces.h"
#include "dynamics/step/islands.h"
#include "dynamics/step/solve.h"
#include "dynamics/step/touch.h"
#include "dynamics/trace/notes.h"

#include <string.h>

// Returns the rebound speed (m/s) of a near contact point due to restitution, or 0 if it does not
// rebound.
static double bisect_return(const S2Step *step, const S2Touch *touch, int k) {
  S2Vec2 n = touch->points[k].at.normal;
  double u = s2_touch_velocity(touch, k, n, step->v0);
  double free_u = s2_touch_velocity(touch, k, n, step->free_v);
  return u < 0 ? s2_rebound(touch->restitution, u, free_u, touch->points[k].at.gap, step->h).after
               : 0;
}

static bool bisect_near(const S2Step *step, const S2Touch *touch, int k) {
  return touch->points[k].at.gap <= step->world->kept.def.contact_margin && !s2_touch_soft(touch);
}

// Returns the target speed of a contact. This is the rebound speed or the speed that removes an
// overlap, whichever is larger.
static S2Choice bisect_target(const S2Step *step, const S2Touch *touch, int k, bool use) {
  double back = bisect_return(step, touch, k);
  double lift = -s2_step_gap_bias(step, fmin(touch->points[k].at.gap, 0));
  return (S2Choice){
      .use = use,
      .bias = -fmax(back, lift),
      .target = lift > back ? S2_TARGET_GAP
                : back > 0  ? S2_TARGET_RETURN
                            : S2_TARGET_FIXED,
  };
}

// Chooses the contact rows. Soft contacts are predictive, because a compression without a force
// would create energy. Restitution targets use the velocities before the solve. If any contact has
// a restitution target, separating contacts get no rows, because they would gain energy. Later
// impacts handle them. Returns true if a restitution target applies.
static bool bisect_choose(const S2Step *step, const S2Island *island, S2Choice *choices,
                          bool *touching) {
  double tiny = s2_island_rest_speed(step, island);
  bool bounces = false;
  // Check first if any contact bounces, because the rows depend on it.
  for (int i = 0; i < island->touches; i++) {
    const S2Touch *touch = &step->touches[island->touch[i]];
    for (int k = 0; k < touch->count; k++) {
      bounces |= bisect_near(step, touch, k) && bisect_return(step, touch, k) > tiny;
    }
  }
  for (int i = 0; i < island->touches; i++) {
    int32_t index = island->touch[i];
    const S2Touch *touch = &step->touches[index];
    for (int k = 0; k < touch->count; k++) {
      double u = s2_touch_velocity(touch, k, touch->points[k].at.normal, step->v0);
      bool near = bisect_near(step, touch, k);
      bool use = s2_touch_soft(touch) || (near && !(bounces && u > tiny));
      touching[2 * index + k] = near;
      choices[2 * index + k] = bisect_target(step, touch, k, use);
    }
  }
  return bounces;
}

bool s2_bisect_solve(S2Step *step) {
  S2World *world = step->world;
  size_t bytes = sizeof(double) * 3 * (size_t)world->bodies.count;
  // One solve finds both motion and impact. Its rows contain the restitution targets.
  S2Choice *choices = S2_TAKE_ZEROED(step->arena, S2Choice, 2 * step->touch_count);
  bool *touching = S2_TAKE_ZEROED(step->arena, bool, 2 * step->touch_count);
  s2_note_plain(step, S2_ACT_RESET_V2, step->v2);
  memcpy(step->v2, step->free_v, bytes);
  for (int i = 0; i < step->island_count; i++) {
    S2Island *island = &step->islands[i];
    s2_note_hit(step, island, world->kept.def.contact_margin);
    bool bounces = bisect_choose(step, island, choices, touching);
    bool reflect = bounces && world->kept.def.restitution_model == S2_REFLECTIONS;
    if (reflect) { // the solves below add the joint impulses of the impact
      s2_step_scale_joints(step, island, 0);
      if (!s2_step_before_impact(step, island, false)) {
        return false;
      }
    }
    // With reflections, forces act after the impact.
    if (!(reflect ? s2_step_reflect(step, island, choices, touching)
                  : s2_step_impact(step, island, choices, S2_SOLVE_MOTION)) ||
        !s2_step_later_impacts(step, island, choices, touching, 1)) {
      return false;
    }
    s2_note_stop(step, island);
    island->bounced = bounces;
    island->accounted = true;
  }
  s2_note_plain(step, S2_ACT_V1_IS_V2, step->v1);
  memcpy(step->v1, step->v2, bytes);
  return true;
}

static double smallest_body(const S2World *world) {
  double size = INFINITY;
  for (int i = 0; i < world->order.count; i++) {
    const S2Body *body = &world->bodies.at[world->order.at[i]];
    if (s2_body_moves(body) && body->reach > 0) {
      size = fmin(size, body->reach);
    }
  }
  return isfinite(size) ? size : 1;
}

S2Bisect s2_bisect_begin(S2Step *step) {
  step->acted = 0;
  double *carried = S2_TAKE_ZEROED(step->arena, double, 3 * step->world->joints.count);
  return (S2Bisect){
      .tolerance = S2_BISECT_TOLERANCE * smallest_body(step->world),
      .smallest = S2_BISECT_SMALLEST * step->dt,
      .left = step->dt,
      .next = step->dt,
      .carried = carried,
      .clean = s2_arena_mark(step->arena),
  };
}

void s2_bisect_set_out(const S2Step *step, S2Bisect *bisect) {
  bisect->h = fmin(bisect->next, bisect->left);
  bisect->unsolved = step->unsolved;
  bisect->noted = s2_notes_mark(step);
}

// Frees the memory of the last attempt, except for its touches, because a step may have thousands
// of attempts.
void s2_bisect_forget(S2Step *step, const S2Bisect *bisect) {
  const S2Touch *from = step->touches;
  s2_arena_rewind(step->arena, bisect->clean);
  step->touches = S2_TAKE(step->arena, S2Touch, step->touch_count);
  if (step->touch_count > 0) { // rewinding keeps the data intact, but source and target may overlap
    memmove(step->touches, from, sizeof(S2Touch) * (size_t)step->touch_count);
  }
  s2_notes_rewind(step, bisect->noted);
}

// Returns true if rebounds lift bodies too far. Bodies move with their rebound velocities during
// the whole substep. If several points of a body bounce in sequence, the potential energy of the
// lift may exceed the remaining kinetic energy. Shorter substeps lift less.
static bool lifts_too_much(const S2Step *step) {
  bool any = false;
  for (int i = 0; i < step->island_count && !any; i++) {
    const S2Island *island = &step->islands[i];
    any = island->bounced && !s2_island_can_pay(step, island, S2_BISECT_PAYS);
  }
  return any;
}

// Returns true if shapes would turn past each other, or would wholly or partly pass through each
// other, in the motion of the last solve.
static bool bisect_passes_through(const S2Step *step) {
  bool any = s2_step_turning(step, step->v1) > 1;
  for (int i = 0; i < step->touch_count && !any; i++) {
    const S2Touch *touch = &step->touches[i];
    any = touch->allowed && touch->enabled && !touch->sensor &&
          (s2_step_passage(step, touch) < step->h ||
           (!s2_touch_soft(touch) && s2_step_crossing(step, touch, false) < step->h));
  }
  return any;
}

bool s2_bisect_halves(const S2Step *step, S2Bisect *bisect) {
  S2World *world = step->world;
  double overlap = s2_step_penetration(step), most = bisect->before + bisect->tolerance;
  // If a problem has no solution because moving bodies squeeze another body, a shorter substep does
  // not help.
  bool may = bisect->h > bisect->smallest && step->unsolved <= bisect->unsolved;
  if (may && (!(overlap <= most) || lifts_too_much(step) || bisect_passes_through(step))) {
    bisect->h /= 2;
    world->stats.bisections += 1;
    return true;
  }
  if (overlap > most) {
    s2_world_warn(world,
                  "bisect: an overlap of %.3g m remains after a sub-step of %.3g s (t = %.6g s)",
                  overlap, bisect->h, step->t);
  }
  return false;
}

void s2_bisect_go_on(S2Step *step, S2Bisect *bisect) {
  const S2World *world = step->world;
  size_t bytes = sizeof(double) * 3 * (size_t)world->bodies.count;
  s2_note_end(step, S2_ACT_NEXT);
  s2_audit_piece(step, NULL, bisect->h, false);
  memcpy(step->q0, step->q1, bytes);
  step->turned = false;
  memcpy(step->v0, step->v2, bytes);
  for (int i = 0; i < 3 * world->joints.count; i++) {
    bisect->carried[i] += step->joint_reaction[i];
  }
  step->acted += bisect->h;
  step->t += bisect->h;
  // Ignore a remainder that is only a rounding error.
  bisect->left -= bisect->h;
  bisect->left = bisect->left > S2_BISECT_ROUNDING * step->dt ? bisect->left : 0;
  bisect->next = 2 * bisect->h; // next, try twice the length that succeeded, or the whole remainder
  step->cut_short = bisect->left > 0 && world->kept.def.stepping_partial;
}

// Sums the joint reactions over the whole step, as the other schemes do. The sums determine whether
// a joint breaks.
void s2_bisect_end(S2Step *step, const S2Bisect *bisect) {
  int joints = step->world->joints.count;
  for (int i = 0; i < 3 * joints; i++) {
    step->joint_reaction[i] = bisect->carried[i];
  }
  for (int i = 0; i < S2_JOINT_ROWS * joints && step->acted != step->h; i++) {
    step->joint_impulse[i] *= step->acted / step->h;
  }
}
