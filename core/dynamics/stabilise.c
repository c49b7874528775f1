// Phase 7: position projection. What linearised rows leave of overlaps and joint errors is removed
// from the positions by the smallest displacement in the norm of the masses:
//
//     min 1/2 dq' M dq   s.t.   Je dq = -g_e,   Jc dq >= -gap     (e: rigid rows, c: contacts,
//     limits)
//
// iterated (Newton), on positions alone. Velocities are not touched.
#include "dynamics/step.h"

// The largest overlap or joint error of an island at q1, m.
static double violation(const S2Step *step, const S2Island *island) {
  double worst = 0;
  for (int i = 0; i < island->touches; i++) {
    const S2Touch *touch = &step->touches[island->touch[i]];
    for (int k = 0; k < touch->count; k++) {
      worst = fmax(worst, -touch->points[k].at.gap);
    }
  }
  for (int i = 0; i < island->joints; i++) {
    const S2Joint *joint = &step->world->joints.at[island->joint[i]];
    S2JointAt at = {step->world, joint, step->q1, step->t - step->world->kept.time + step->h};
    worst = fmax(worst, s2_joint_violation(&at, island->length));
  }
  return worst;
}

// One Newton step, with inertias times `stiffness`; false when it could not be solved.
static bool project(S2Step *step, const S2Island *island, double worst, double stiffness) {
  S2World *world = step->world;
  S2Choice *choices = S2_TAKE_ZEROED(step->arena, S2Choice, 2 * step->touch_count);
  for (int i = 0; i < island->touches; i++) {
    const S2Touch *touch = &step->touches[island->touch[i]];
    for (int k = 0; k < touch->count; k++) {
      choices[2 * island->touch[i] + k] = (S2Choice){true, touch->points[k].at.gap};
    }
  }
  S2Assembly assembly = s2_assemble(step, island, choices, S2_POSITIONS);
  for (int i = 0; i < island->nodes; i++) {
    assembly.mass[3 * i] *= stiffness;
  }
  // Relative to what is to be removed, so that the last digits come out, too.
  assembly.problem.velocity_scale = fmax(worst, S2_PROJECTION_TRIGGER * island->length);
  S2SolverOptions options = {.tolerance = 1e-9, .max_iterations = world->kept.def.max_iterations};
  S2Solution solution = {.v = assembly.v, .lambda = assembly.lambda};
  s2_mcp_solve(&assembly.problem, &options, step->arena, &solution);
  world->stats.projections += 1;
  if (!(solution.residual.scaled < 1e-3)) { // jammed: no displacement helps
    return false;
  }
  double turn = 0;
  for (int i = 0; i < island->nodes; i++) {
    turn = fmax(turn, fabs(solution.v[3 * i]));
  }
  double part = turn > S2_PROJECTION_TURN ? S2_PROJECTION_TURN / turn : 1;
  for (int i = 0; i < island->nodes; i++) {
    for (int c = 0; c < 3; c++) {
      step->q1[3 * island->node[i] + c] += part * solution.v[3 * i + c];
    }
  }
  for (int i = 0; i < island->touches; i++) {
    s2_touch_collide(world, &step->touches[island->touch[i]], step->q1,
                     world->kept.def.contact_margin);
  }
  return true;
}

void s2_step_stabilise(S2Step *step) {
  S2World *world = step->world;
  if (world->kept.def.stabilization == S2_NO_STABILIZATION || step->island_count == 0) {
    return;
  }
  double start = s2_clock();
  for (int i = 0; i < step->island_count; i++) {
    const S2Island *island = &step->islands[i];
    double worst = violation(step, island);
    if (worst <= S2_PROJECTION_TRIGGER * island->length) {
      continue;
    }
    S2ArenaMark mark = s2_arena_mark(step->arena);
    double stiffness = 1;
    for (int pass = 0; pass < S2_PROJECTION_PASSES; pass++) {
      double before = worst;
      bool solved = project(step, island, worst, stiffness);
      s2_arena_rewind(step->arena, mark);
      worst = violation(step, island);
      stiffness *= worst > before / 2 ? S2_PROJECTION_STIFFER : 1;
      if (!solved || worst <= S2_PROJECTION_TOLERANCE * island->length) {
        break;
      }
    }
  }
  world->stats.seconds_project += s2_clock() - start;
}
