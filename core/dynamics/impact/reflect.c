// Generalised reflections: impacts that propagate through touching bodies (Smith, Kaufman, Vouga,
// Tamstorf, Grinspun 2012, "Reflections on simultaneous impact").
//
// Under Newton's law, all contacts of an impact reach their targets at once, so a row of touching
// discs separates everywhere. Here, only approaching contacts are reflected, and this is repeated:
//
//     V = {contacts with J v < 0};   0 <= l  _|_  J_V M^-1 J_V' l + (1 + e) J_V v >= 0
//     v += M^-1 J_V' l
//
// until no contact approaches. With e = 1 each pass conserves the energy. After each pass, friction
// applies the impulse that dissipates the most energy within mu times the normal impulses of that
// pass. Joints are rows of every pass.
//
// If all contacts of the impact have the same e < 1, the result is e times the reflected velocities
// plus 1 - e times the inelastic velocities. If the values of e differ, each contact uses its own e
// in the passes.
#include "dynamics/step/islands.h"
#include "dynamics/step/solve.h"
#include "dynamics/trace/notes.h"

#include <string.h>

typedef struct Reflection {
  S2Step *step;
  const S2Island *island;
  S2Choice *choices;    // choices of the current solve
  const bool *touching; // 2 per touch, as in `choices`
  double tiny;          // m/s: slower approaches are treated as solver errors
  bool one;             // true if all contacts have the same restitution, e
  double e;
} Reflection;

static double reflect_approach(const Reflection *run, int32_t index, int k) {
  const S2Touch *touch = &run->step->touches[index];
  return -s2_touch_velocity(touch, k, touch->points[k].at.normal, run->step->v2);
}

static void find_restitution(Reflection *run) {
  run->one = true;
  run->e = NAN;
  for (int i = 0; i < run->island->touches; i++) {
    int32_t index = run->island->touch[i];
    const S2Touch *touch = &run->step->touches[index];
    for (int k = 0; k < touch->count; k++) {
      if (run->touching[2 * index + k]) {
        run->one &= isnan(run->e) || run->e == touch->restitution;
        run->e = touch->restitution;
      }
    }
  }
}

// Chooses the approaching contacts and sets their targets. Returns false if there are none.
static bool choose_approaching(const Reflection *run) {
  bool some = false;
  for (int i = 0; i < run->island->touches; i++) {
    int32_t index = run->island->touch[i];
    const S2Touch *touch = &run->step->touches[index];
    double e = run->one ? 1 : touch->restitution;
    for (int k = 0; k < touch->count; k++) {
      double speed = reflect_approach(run, index, k);
      bool use = run->touching[2 * index + k] && speed > run->tiny;
      run->choices[2 * index + k] =
          (S2Choice){.use = use,
                     .bias = -e * speed,
                     .target = run->one ? S2_TARGET_MIRROR : S2_TARGET_APPROACH};
      some |= use;
    }
  }
  return some;
}

// Applies the friction of one pass. `before` (2 per touch): the normal impulses from before the
// pass.
static bool reflect_friction(const Reflection *run, const double *before) {
  bool rough = false;
  for (int i = 0; i < run->island->touches; i++) {
    int32_t index = run->island->touch[i];
    const S2Touch *touch = &run->step->touches[index];
    for (int k = 0; k < touch->count; k++) {
      S2Choice *choice = &run->choices[2 * index + k];
      double normal = touch->points[k].normal_impulse - before[2 * index + k];
      *choice = (S2Choice){.use = choice->use && touch->friction > 0 && normal > 0,
                           .bias = normal,
                           .target = S2_TARGET_NORMAL};
      rough |= choice->use;
    }
  }
  return !rough || s2_step_solve(run->step, run->island, run->choices, S2_SOLVE_FRICTION,
                                 run->step->v2, NULL);
}

// Ends the impact with one solve over all contacts, without restitution.
static bool end_inelastically(const Reflection *run) {
  for (int i = 0; i < run->island->touches; i++) {
    int32_t index = run->island->touch[i];
    for (int k = 0; k < 2; k++) {
      run->choices[2 * index + k] = (S2Choice){.use = run->touching[2 * index + k]};
    }
  }
  return s2_step_solve(run->step, run->island, run->choices, S2_SOLVE_IMPACT, run->step->v2, NULL);
}

static bool reflect_all(const Reflection *run) {
  S2Step *step = run->step;
  S2ArenaMark mark = s2_arena_mark(step->arena);
  double *before = S2_TAKE_ZEROED(step->arena, double, 2 * step->touch_count);
  bool going = true;
  int pass = 0;
  while (going && pass < S2_REFLECTION_PASSES && choose_approaching(run)) {
    for (int i = 0; i < run->island->touches; i++) {
      int32_t index = run->island->touch[i];
      for (int k = 0; k < step->touches[index].count; k++) {
        before[2 * index + k] = step->touches[index].points[k].normal_impulse;
      }
    }
    going = s2_step_impact(step, run->island, run->choices, S2_SOLVE_FRICTIONLESS) &&
            reflect_friction(run, before);
    pass += 1;
  }
  if (going && pass == S2_REFLECTION_PASSES) {
    going = end_inelastically(run);
  }
  s2_arena_rewind(step->arena, mark);
  return going;
}

// Blends two results: e times the reflected result plus 1 - e times the inelastic impact from the
// same start. Scales the impulses so that the joint impulses from before the impact count once.
static bool reflect_blend(const Reflection *run, const double *start) {
  S2Step *step = run->step;
  const S2Island *island = run->island;
  S2ArenaMark mark = s2_arena_mark(step->arena);
  double *reflected = S2_TAKE(step->arena, double, 3 * island->nodes), e = run->e;
  // The later scaling by 1 - e then leaves e times the reflected impulses.
  s2_step_scale_contacts(step, island, e / (1 - e));
  s2_step_scale_joints(step, island, e / (1 - e));
  // Solve the inelastic impact from the velocities at which the reflections started.
  s2_note_island(step, island, S2_ACT_REWIND, step->v2);
  for (int i = 0; i < island->nodes; i++) {
    double *v = step->v2 + 3 * island->node[i];
    memcpy(reflected + 3 * i, v, 3 * sizeof(double));
    memcpy(v, start + 3 * i, 3 * sizeof(double));
  }
  bool going = end_inelastically(run);
  s2_step_scale_contacts(step, island, 1 - e);
  s2_step_scale_joints(step, island, 1 - e);
  // v2 = e reflected + (1 - e) inelastic.
  s2_note_blend(step, island, run->choices, e, reflected);
  for (int i = 0; i < island->nodes; i++) {
    for (int c = 0; c < 3; c++) {
      double *v = &step->v2[3 * island->node[i] + c];
      *v = e * reflected[3 * i + c] + (1 - e) * *v;
    }
  }
  s2_arena_rewind(step->arena, mark);
  return going;
}

// Records the blend at e = 1 and then restores the step. The step needs no blend at e = 1, but its
// derivative with respect to e does.
static bool note_slope(const Reflection *run, const double *start) {
  S2Step *step = run->step;
  const S2Island *island = run->island;
  S2ArenaMark mark = s2_arena_mark(step->arena);
  const S2WorldStats stats = step->world->stats;
  const S2WorldResiduals residuals = step->residuals;
  size_t touches = sizeof(S2Touch) * (size_t)step->touch_count;
  size_t joints = sizeof(double) * (size_t)step->world->joints.count;
  S2Touch *touch = S2_TAKE(step->arena, S2Touch, step->touch_count);
  double *impulse = S2_TAKE(step->arena, double, S2_JOINT_ROWS * step->world->joints.count);
  double *reaction = S2_TAKE(step->arena, double, 3 * step->world->joints.count);
  double *reflected = S2_TAKE(step->arena, double, 3 * island->nodes);
  // Save all data that the inelastic solve overwrites.
  memcpy(touch, step->touches, touches);
  if (joints > 0) {
    memcpy(impulse, step->joint_impulse, S2_JOINT_ROWS * joints);
    memcpy(reaction, step->joint_reaction, 3 * joints);
  }
  // Record the blend as it would be solved for e < 1.
  s2_note_island(step, island, S2_ACT_REWIND, step->v2);
  for (int i = 0; i < island->nodes; i++) {
    double *v = step->v2 + 3 * island->node[i];
    memcpy(reflected + 3 * i, v, 3 * sizeof(double));
    memcpy(v, start + 3 * i, 3 * sizeof(double));
  }
  bool going = end_inelastically(run);
  s2_note_blend(step, island, run->choices, 1, reflected);
  for (int i = 0; i < island->nodes; i++) {
    memcpy(step->v2 + 3 * island->node[i], reflected + 3 * i, 3 * sizeof(double));
  }
  // Restore the saved data.
  memcpy(step->touches, touch, touches);
  if (joints > 0) {
    memcpy(step->joint_impulse, impulse, S2_JOINT_ROWS * joints);
    memcpy(step->joint_reaction, reaction, 3 * joints);
  }
  step->residuals = residuals;
  step->world->stats = stats;
  s2_arena_rewind(step->arena, mark);
  return going;
}

// Applies the forces of the step after the reflections. Resting contacts keep their rows. Each
// reflected contact leaves with at least its reflected speed plus the speed that it would have
// gained over its remaining distance. `more` is that gain (2 per touch), negative if the contact
// did not arrive. Soft contacts act if `more` is not negative.
static bool reflect_follow(const Reflection *run, const double *more) {
  for (int i = 0; i < run->island->touches; i++) {
    int32_t index = run->island->touch[i];
    const S2Touch *touch = &run->step->touches[index];
    for (int k = 0; k < touch->count; k++) {
      double leaving = -reflect_approach(run, index, k), gain = more[2 * index + k];
      bool rests = leaving <= run->tiny, thrown = !rests && gain >= 0;
      bool pushes = s2_touch_soft(touch) && gain >= 0;
      run->choices[2 * index + k] =
          (S2Choice){.use = pushes || (run->touching[2 * index + k] && (rests || thrown)),
                     .bias = thrown ? -(leaving + gain) : 0,
                     .target = thrown ? S2_TARGET_LEAVING : S2_TARGET_FIXED};
    }
  }
  return s2_step_impact(run->step, run->island, run->choices, S2_SOLVE_FORCES);
}

bool s2_step_reflect(S2Step *step, const S2Island *island, S2Choice *choices,
                     const bool *touching) {
  Reflection run = {
      .step = step,
      .island = island,
      .choices = choices,
      .touching = touching,
      .tiny = step->world->kept.def.tolerance * s2_island_speed(step, island),
  };
  S2ArenaMark mark = s2_arena_mark(step->arena);
  double *start = S2_TAKE(step->arena, double, 3 * island->nodes);
  double *more = S2_TAKE(step->arena, double, 2 * step->touch_count);
  for (int i = 0; i < island->nodes; i++) {
    memcpy(start + 3 * i, step->v2 + 3 * island->node[i], 3 * sizeof(double));
  }
  // Find the arriving contacts and the speed that each would have gained over its remaining
  // distance.
  bool bounces = false;
  for (int i = 0; i < island->touches; i++) {
    int32_t index = island->touch[i];
    const S2Touch *touch = &step->touches[index];
    for (int k = 0; k < touch->count; k++) {
      const S2Choice *choice = &choices[2 * index + k];
      double now = touch->restitution * reflect_approach(&run, index, k);
      bool soft = s2_touch_soft(touch), arrives = choice->use && !soft && choice->bias < 0;
      more[2 * index + k] = arrives ? fmax(-choice->bias - now, 0) : soft && choice->use ? 0 : -1;
      bounces |= arrives;
    }
  }
  // No contact needs a rebound, so one solve computes the motion with all contacts.
  if (!bounces) {
    s2_arena_rewind(step->arena, mark);
    return s2_step_impact(step, island, choices, S2_SOLVE_MOTION);
  }
  s2_note_impact(step, island, choices, S2_ACT_REFLECT, NULL);
  find_restitution(&run);
  s2_step_scale_contacts(step, island, 0);
  bool blended = run.one && run.e < 1;
  if (blended) {
    s2_step_scale_joints(step, island, 1 / run.e);
  }
  bool sloped = run.one && run.e == 1 && step->world->notes != NULL;
  bool going = reflect_all(&run) && (!blended || reflect_blend(&run, start)) &&
               (!sloped || note_slope(&run, start)) && reflect_follow(&run, more);
  s2_arena_rewind(step->arena, mark);
  return going;
}
