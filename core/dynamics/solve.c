// Phase 5: an island's problem is solved and its answer handed out.
#include "dynamics/step.h"
#include "mcp/conflict.h"

#include <stdio.h>
#include <string.h>

static void dump(S2Step *step, const S2Problem *problem) {
  S2World *world = step->world;
  if (world->dump_directory != NULL) {
    char path[4096];
    snprintf(path, sizeof path, "%s/problem-%06llu-%02d.txt", world->dump_directory,
             (unsigned long long)world->kept.steps, world->dumped++);
    S2Status status = s2_problem_write(problem, path);
    if (status.code != S2_OK) {
      s2_world_warn(world, "%s", status.message);
    }
  }
}

static void keep_worst(S2Residual *worst, const S2Residual *residual) {
  worst->dynamics = fmax(worst->dynamics, residual->dynamics);
  worst->complementarity = fmax(worst->complementarity, residual->complementarity);
  worst->cone = fmax(worst->cone, residual->cone);
  worst->joint = fmax(worst->joint, residual->joint);
  worst->scaled = fmax(worst->scaled, residual->scaled);
}

static void account(S2Step *step, const S2Island *island, const S2Solution *solution) {
  S2World *world = step->world;
  S2WorldStats *stats = &world->stats;
  stats->solves += 1;
  stats->iterations += (uint64_t)solution->iterations;
  stats->last_iterations += solution->iterations;
  stats->used[solution->used] += 1;
  keep_worst(&step->residuals.solve, &solution->residual);
  if (solution->status != S2_SOLVED) {
    step->unsolved += 1;
    stats->unsolved += 1;
    stats->last_status = solution->status;
    s2_world_warn(world,
                  "step %llu (t = %.6g s): an island of %d bod%s was solved to a scaled residual "
                  "of %.1e only, tolerance %.1e",
                  (unsigned long long)world->kept.steps + 1, step->t, island->nodes,
                  island->nodes == 1 ? "y" : "ies", solution->residual.scaled,
                  world->kept.def.tolerance);
  }
}

static void keep_joint_impulses(S2Step *step, const S2Island *island, const S2Assembly *assembly,
                                const double *lambda, double kept) {
  for (int i = 0; i < island->joints; i++) {
    int32_t slot = island->joint[i];
    for (int r = 0; r < S2_JOINT_ROWS; r++) {
      step->joint_impulse[S2_JOINT_ROWS * slot + r] *= kept;
    }
    for (int c = 0; c < 3; c++) {
      step->joint_reaction[3 * slot + c] *= kept;
    }
  }
  for (int i = 0; i < assembly->parts + assembly->parts_given; i++) {
    const S2JointPart *part = &assembly->part[i];
    double impulse = (i < assembly->parts ? lambda[i] : 0) + part->given;
    if (part->row != S2_NONE) {
      step->joint_impulse[S2_JOINT_ROWS * part->joint + part->row] += impulse;
    }
    for (int c = 0; c < 3; c++) {
      step->joint_reaction[3 * part->joint + c] += part->push[c] * impulse;
    }
  }
}

bool s2_step_solve(S2Step *step, const S2Island *island, const S2Choice *choices, S2Kind kind,
                   double *v, S2SolveStatus *outcome) {
  S2World *world = step->world;
  if (world->callbacks.proceed != NULL && !world->callbacks.proceed(world->callbacks.user)) {
    return false;
  }
  double start = s2_clock();
  S2ArenaMark mark = s2_arena_mark(step->arena);
  S2Assembly assembly = s2_assemble(step, island, choices, kind);
  S2SolverOptions options = {
      .solver = world->kept.def.solver,
      .tolerance = world->kept.def.tolerance,
      .max_iterations = world->kept.def.max_iterations,
  };
  S2Solution solution = {.v = assembly.v, .lambda = assembly.lambda};
  const double *before = kind == S2_IMPACT ? step->v2 : step->v0;
  S2Problem posed = s2_step_pose(step, island, &assembly, before);
  dump(step, &posed);
  s2_mcp_solve(&posed, &options, step->arena, &solution);
  s2_step_unpose(step, island, &assembly, before, options.tolerance, &solution);
  bool good = solution.status == S2_SOLVED;
  if (outcome != NULL) {
    *outcome = solution.status;
    if (!good) {
      bool proved = s2_mcp_conflict(&assembly.problem, step->arena);
      *outcome = proved ? S2_INFEASIBLE : S2_MAX_ITERATIONS;
      world->stats.solves += 1;
      world->stats.iterations += (uint64_t)solution.iterations;
      s2_arena_rewind(step->arena, mark);
      world->stats.seconds_solve += s2_clock() - start;
      return true;
    }
  }
  account(step, island, &solution);

  for (int i = 0; i < island->nodes; i++) {
    memcpy(v + 3 * island->node[i], solution.v + 3 * i, 3 * sizeof(double));
  }
  double kept = kind == S2_IMPACT; // what was there before stays
  keep_joint_impulses(step, island, &assembly, solution.lambda, kept);
  int n = assembly.parts;
  for (int i = 0; i < island->touches; i++) {
    S2Touch *touch = &step->touches[island->touch[i]];
    for (int k = 0; k < touch->count; k++) {
      S2TouchPoint *point = &touch->points[k];
      bool used = choices[2 * island->touch[i] + k].use;
      bool rough = touch->friction > 0;
      point->normal_impulse = kept * point->normal_impulse + (used ? solution.lambda[n] : 0);
      point->tangent_impulse =
          kept * point->tangent_impulse + (used && rough ? solution.lambda[n + 1] : 0);
      // At the bound up to rounding; without friction a loaded contact slides whatever it does.
      point->sliding =
          point->normal_impulse > 0 &&
          fabs(point->tangent_impulse) >= touch->friction * point->normal_impulse * (1 - 1e-9);
      n += used ? 1 + rough : 0;
    }
  }
  s2_arena_rewind(step->arena, mark);
  world->stats.seconds_solve += s2_clock() - start;
  return true;
}
