// The kinds of solves and their properties.
#ifndef S2_SOLVE_KIND_H
#define S2_SOLVE_KIND_H

#include "dynamics/step/context.h"

typedef enum S2SolveKind {
  S2_SOLVE_MOTION, // velocities at the end of the step.
  // Event stepping: velocities at the end of a piece, solved again with the contacts at that time.
  S2_SOLVE_TURNED,
  // Velocities after an impact, which has zero duration. Limits act if they are touched or were
  // reached in the preceding motion.
  S2_SOLVE_IMPACT,
  S2_SOLVE_FRICTIONLESS, // an impact without friction (reflections)
  S2_SOLVE_FRICTION,     // friction of an impact, with known bounds (reflections)
  S2_SOLVE_LIMITS,       // an impact at q1: stops coordinates that move beyond a limit
  S2_SOLVE_REBOUND,      // an impact at q1: coordinates that arrive with speed rebound
  S2_SOLVE_FORCES,       // effect of the step's forces after an impact
  S2_SOLVE_PROJECTION,   // displacements that correct q1; biases of joints are position errors
} S2SolveKind;

typedef struct S2SolveTraits {
  bool from_v0;       // starts from the velocities at the start of the step, not from v2
  bool takes_time;    // forces, springs and dampers act
  bool normals;       // contacts have normal rows
  bool friction;      // contacts have friction rows
  bool at_end;        // joint rows are evaluated at q1
  bool displacements; // the unknowns are displacements, and moving ground has no effect
} S2SolveTraits;

static inline S2SolveTraits s2_solve_traits(S2SolveKind kind) {
  static const S2SolveTraits of[] = {
      [S2_SOLVE_MOTION] = {.from_v0 = true, .takes_time = true, .normals = true, .friction = true},
      [S2_SOLVE_TURNED] = {.from_v0 = true, .takes_time = true, .normals = true, .friction = true},
      [S2_SOLVE_IMPACT] = {.normals = true, .friction = true},
      [S2_SOLVE_FRICTIONLESS] = {.normals = true},
      [S2_SOLVE_FRICTION] = {.friction = true},
      [S2_SOLVE_LIMITS] = {.normals = true, .friction = true, .at_end = true},
      [S2_SOLVE_REBOUND] = {.normals = true, .friction = true, .at_end = true},
      [S2_SOLVE_FORCES] = {.takes_time = true, .normals = true, .friction = true},
      [S2_SOLVE_PROJECTION] = {.normals = true, .at_end = true, .displacements = true},
  };
  return of[kind];
}

// Returns true if contact points of this touch act. Soft contacts do not act in impacts and
// projection.
static inline bool s2_solve_presses(S2SolveKind kind, const S2Touch *touch) {
  return !s2_touch_soft(touch) || s2_solve_traits(kind).takes_time;
}

// Returns true if contact points of this touch have friction rows.
static inline bool s2_solve_is_rough(S2SolveKind kind, const S2Touch *touch) {
  return touch->friction > 0 && s2_solve_traits(kind).friction;
}

#endif
