// Phase 5: solves the problem of an island and distributes the result.
#include "dynamics/step/solve.h"
#include "dynamics/audit/audit.h"
#include "dynamics/joints/rows.h"
#include "dynamics/project/warn.h"
#include "dynamics/trace/notes.h"
#include "mcp/problem/conflict.h"
#include "mcp/problem/convex.h"

#include <stdio.h>
#include <string.h>

void s2_step_dump(S2Step *step, const S2Problem *problem) {
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

void s2_keep_worst(S2Residual *worst, const S2Residual *residual) {
  worst->dynamics = fmax(worst->dynamics, residual->dynamics);
  worst->complementarity = fmax(worst->complementarity, residual->complementarity);
  worst->cone = fmax(worst->cone, residual->cone);
  worst->joint = fmax(worst->joint, residual->joint);
  worst->scaled = fmax(worst->scaled, residual->scaled);
}

// Records whether an island was found at rest or needed a solve, for the next step.
static void solve_note_rest(const S2Step *step, const S2Island *island,
                            const S2Solution *solution) {
  if (step->found_at_rest != NULL) {
    S2RestIsland *found = &step->found_at_rest[island - step->islands];
    found->solves += 1;
    found->solved |= solution->iterations > 0 || solution->work > 0 ||
                     solution->status != S2_SOLVED || solution->used != S2_SOLVER_PDIPM;
    s2_keep_worst(&found->residual, &solution->residual);
  }
}

static void solve_account(S2Step *step, const S2Island *island, const S2Choice *choices,
                          S2SolveKind kind, const S2Assembly *assembly,
                          const S2Solution *solution) {
  S2World *world = step->world;
  S2WorldStats *stats = &world->stats;
  solve_note_rest(step, island, solution);
  for (int i = 0; i < island->touches && kind == S2_SOLVE_MOTION; i++) {
    step->touches[island->touch[i]].solved |= solution->iterations > 0;
  }
  stats->solves += 1;
  stats->iterations += (uint64_t)solution->iterations;
  stats->last_iterations += solution->iterations;
  stats->used[solution->used] += 1;
  s2_keep_worst(&step->residuals.solve, &solution->residual);
  if (solution->status != S2_SOLVED) {
    s2_audit_missed(step, island, solution->residual.dynamics);
  }
  if (solution->status != S2_SOLVED && solution->cut) { // the budget ended the solve
    stats->last_status = solution->status;
    step->unsolved += 1;
  } else if (solution->status != S2_SOLVED) {
    stats->unsolved += !world->missed;
    stats->unsolved_solves += 1;
    stats->last_status = solution->status;
    world->missed = true;
    step->unsolved += 1;
    s2_step_warn_of_unsolved(step, island, choices, kind, assembly, solution);
  }
}

// Returns the share of the remaining budget that a solve may use. Later solves and other islands
// need the rest.
static const double BUDGET_SHARE = 0.65;

void s2_budget_share(const S2Step *step, const S2Island *island, S2SolverOptions *options) {
  options->bounded = isfinite(step->budget);
  if (options->bounded) {
    int touches = step->touch_count + step->frozen_touches;
    options->budget = BUDGET_SHARE * step->budget * island->touches / fmax(1, touches);
  }
}

void s2_budget_spend(S2Step *step, const S2Solution *solution) {
  step->budget = fmax(0, step->budget - solution->work);
  step->cut |= solution->cut;
  bool given_up = solution->status != S2_SOLVED && solution->work >= S2_PATIENCE_OF_STEP;
  step->hurries |= solution->cut || given_up;
}

// Returns true if the solver returns a point on the central path, where all contacts push, instead
// of the solution.
static bool solve_on_path(const S2WorldDef *def, S2SolveKind kind) {
  return def->solver == S2_SOLVER_NCP && def->ncp_kappa > 0 && !s2_solve_traits(kind).displacements;
}

// S2ProgramSolver.solve: calls the solver callback of the world, which may abort the step.
static bool solve_ask_program(void *user, const S2Problem *problem, const S2SolverOptions *options,
                              double *lambda, // NOLINT(*-const-parameter): the callback writes it
                              int *iterations) {
  S2World *world = user;
  S2ProgramCall call = {.program = world->kept.def.solver_program,
                        .problem = problem,
                        .options = options,
                        .lambda = lambda};
  // During the call, the program may read the world but not change it.
  bool stepping = world->stepping;
  world->stepping = true;
  bool masked = s2_memory_mask(true);
  bool going = world->callbacks.solve(world->callbacks.user, world, &call);
  s2_memory_mask(masked);
  world->stepping = stepping;
  if (!going) {
    world->refused = s2_error(S2_ABORTED, "the step was stopped by a callback");
  }
  *iterations = call.iterations;
  return going && call.found;
}

// Returns true if the row presses. Its impulse or its speed is 0, up to solver errors, so the
// larger of the two determines the result.
static bool solve_presses(const S2Problem *problem, const S2Solution *solution, int index) {
  const S2Row *row = &problem->row[index];
  double lambda = solution->lambda[index], w = row->compliance, speed = row->bias;
  for (int c = 0; c < 3; c++) {
    int a = 3 * row->a + c, b = 3 * row->b + c;
    w += row->a >= 0 ? row->ja[c] * row->ja[c] / problem->mass[a] : 0;
    w += row->b >= 0 ? row->jb[c] * row->jb[c] / problem->mass[b] : 0;
    speed += row->a >= 0 ? row->ja[c] * solution->v[a] : 0;
    speed += row->b >= 0 ? row->jb[c] * solution->v[b] : 0;
  }
  return lambda * w > speed + row->compliance * lambda;
}

// Removes the impulse of a row, and its effect on the velocities.
static void solve_take_back(const S2Problem *problem, S2Solution *solution, int r) {
  const S2Row *row = &problem->row[r];
  double lambda = solution->lambda[r];
  solution->lambda[r] = 0;
  for (int c = 0; c < 3; c++) {
    if (row->a >= 0) {
      solution->v[3 * row->a + c] -= row->ja[c] * lambda / problem->mass[3 * row->a + c];
    }
    if (row->b >= 0) {
      solution->v[3 * row->b + c] -= row->jb[c] * lambda / problem->mass[3 * row->b + c];
    }
  }
}

// Removes impulses that are rounding errors from contacts and limits that do not act. Such an
// impulse would count as contact at a corner above the floor or at a limit that is not reached. An
// impact would then stop the motion.
static void drop_rounding(const S2Problem *problem, S2Solution *solution) {
  for (int r = 0; r < problem->rows; r++) {
    bool one_sided = problem->row[r].lo == 0 && problem->row[r].hi == INFINITY;
    if (one_sided && solution->lambda[r] > 0 && !solve_presses(problem, solution, r)) {
      solve_take_back(problem, solution, r);
      if (r + 1 < problem->rows && problem->row[r + 1].coupled_to == r) {
        solve_take_back(problem, solution, r + 1);
      }
    }
  }
}

// Returns true if the initial impulses of this motion are the solution of the last step. This is
// true only in the first search, because later searches start from its results.
static bool solve_is_fresh(const S2Step *step, const S2Island *island) {
  bool fresh = false;
  for (int i = 0; i < island->touches && step->passes == 1; i++) {
    fresh |= step->touches[island->touch[i]].fresh;
  }
  return fresh;
}

// Maximum number of factorisations of a flow if the step hurries because earlier solves missed the
// tolerance.
enum { HURRIED_FLOW = 200 };

static int solve_attempt(const S2Step *step) {
  bool hurries = step->hurries && !isfinite(step->budget);
  return step->trying > 0 ? step->trying : hurries ? HURRIED_FLOW : 0;
}

// Solves with the contact law and the formulation of the world, then converts the solution back.
static void solve_posed(S2Step *step, const S2Island *island, const S2Assembly *assembly,
                        S2SolveKind kind, S2Bilateral *keep, S2Problem *posed,
                        S2Solution *solution) {
  const S2WorldDef *def = &step->world->kept.def;
  S2SolverOptions options = {
      .solver = def->solver,
      .tolerance = def->tolerance,
      .max_iterations = def->max_iterations,
      .kappa = solve_on_path(def, kind) ? def->ncp_kappa : 0,
      .undercut = def->ncp_undercut,
      .linear = def->linear_solver,
      .keep = keep,
      .attempt = solve_attempt(step),
      .rest = kind == S2_SOLVE_MOTION || kind == S2_SOLVE_TURNED,
      .impact = kind == S2_SOLVE_IMPACT,
      .fresh = kind == S2_SOLVE_MOTION && solve_is_fresh(step, island),
      .program = {step->world->callbacks.solve == NULL ? NULL : solve_ask_program, step->world},
  };
  s2_budget_share(step, island, &options);
  const double *before = s2_solve_traits(kind).from_v0 ? step->v0 : step->v2;
  S2Assembly law = *assembly;
  if (def->contact == S2_CONVEX) {
    law.problem = s2_mcp_convex(&assembly->problem, step->arena);
    s2_mcp_convex_edges(&assembly->problem, law.lambda);
  }
  *posed = s2_step_pose(step, &law, before);
  *solution = (S2Solution){.v = law.v,
                           .lambda = law.lambda,
                           .low = S2_TAKE(step->arena, double, assembly->problem.rows)};
  s2_mcp_solve(posed, &options, step->arena, solution);
  s2_budget_spend(step, solution);
  s2_step_unpose(step, &law, before, options.tolerance, solution);
  // Remove impulses that are rounding errors.
  if (!solve_on_path(def, kind)) {
    drop_rounding(&law.problem, solution);
  }
  if (def->contact == S2_CONVEX) {
    s2_mcp_convex_impulses(&assembly->problem, solution->lambda);
  }
}

// Stores the impulses of contacts, in the order of their rows in s2_assemble.
static void solve_read_contacts(const S2Step *step, const S2Island *island, const S2Choice *choices,
                                S2SolveKind kind, const S2Assembly *assembly,
                                const double *lambda) {
  double kept = s2_solve_traits(kind).from_v0 ? 0 : 1; // 1 to keep earlier impulses
  int n = assembly->parts;
  for (int i = 0; i < island->touches; i++) {
    S2Touch *touch = &step->touches[island->touch[i]];
    for (int k = 0; k < touch->count; k++) {
      S2TouchPoint *point = &touch->points[k];
      bool used = choices[2 * island->touch[i] + k].use && s2_solve_presses(kind, touch);
      bool normal = used && s2_solve_traits(kind).normals,
           tangent = used && s2_solve_is_rough(kind, touch);
      point->normal_impulse = kept * point->normal_impulse + (normal ? lambda[n] : 0);
      n += normal;
      point->tangent_impulse = kept * point->tangent_impulse + (tangent ? lambda[n] : 0);
      n += tangent;
      // Sliding means that friction is at its bound, up to rounding. A loaded contact without
      // friction always counts as sliding.
      point->sliding =
          point->normal_impulse > 0 &&
          fabs(point->tangent_impulse) >= touch->friction * point->normal_impulse * (1 - 1e-9);
    }
  }
  // Impulses of viscosity, whose rows come first, count as friction.
  for (int i = 0; i < assembly->parts; i++) {
    int32_t point = assembly->part[i].row;
    if (assembly->part[i].joint == S2_NONE) {
      step->touches[point / 2].points[point % 2].tangent_impulse += lambda[i];
    }
  }
}

bool s2_step_goes_on(const S2Step *step) {
  const S2Callbacks *call = &step->world->callbacks;
  bool masked = s2_memory_mask(true);
  bool going = call->proceed == NULL || call->proceed(call->user);
  s2_memory_mask(masked);
  return going;
}

bool s2_step_solve(S2Step *step, const S2Island *island, const S2Choice *choices, S2SolveKind kind,
                   double *v, S2SolveStatus *outcome) {
  S2World *world = step->world;
  if (!s2_step_goes_on(step)) {
    return false;
  }
  double start = s2_stats_clock(world);
  const double *q = s2_step_poses(step, kind);
  S2ArenaMark mark = s2_arena_mark(step->arena);
  S2Assembly assembly = s2_assemble(step, q, step->touches, island, choices, kind);
  if (world->refused.code != S2_OK) { // a constraint callback has failed
    s2_arena_rewind(step->arena, mark);
    return false;
  }
  // For an island without contacts, store the first motion problem, because projection reuses its
  // rows.
  S2Bilateral *keep = NULL;
  if (kind == S2_SOLVE_MOTION && island->motion != NULL && island->motion->parts == 0) {
    *island->motion = assembly;
    keep = island->motion->matrix = S2_TAKE_ZEROED(step->arena, S2Bilateral, 1);
  }
  S2Problem posed;
  S2Solution solution;
  solve_posed(step, island, &assembly, kind, keep, &posed, &solution);
  if (world->refused.code != S2_OK) { // the solver callback has failed
    return false;
  }
  if (keep != NULL) {
    mark = s2_arena_mark(step->arena); // keep all data in the arena
  }
  // Ground friction opposes a momentum that depends on the solve. Assemble again until both agree.
  bool motion = s2_solve_traits(kind).from_v0;
  for (int pass = 0; pass < S2_GROUND_PASSES && motion && solution.status == S2_SOLVED &&
                     s2_step_ground_turned(step, island, &assembly, solution.v, solution.lambda);
       pass++) {
    s2_arena_rewind(step->arena, mark);
    step->ground_last = pass == S2_GROUND_PASSES - 1;
    assembly = s2_assemble(step, q, step->touches, island, choices, kind);
    solve_posed(step, island, &assembly, kind, NULL, &posed, &solution);
  }
  step->ground_last = false;
  s2_step_dump(step, &posed);
  // If an attempt misses the tolerance, report the reason to the caller and change nothing. If the
  // budget has cut the attempt, it counts as solved.
  if (outcome != NULL) {
    *outcome = solution.cut ? S2_SOLVED : solution.status;
    if (*outcome != S2_SOLVED) {
      bool proved = solution.status == S2_INFEASIBLE ||
                    (step->trying == 0 && s2_mcp_conflict(&assembly.problem, NULL, step->arena));
      *outcome = proved ? S2_INFEASIBLE : S2_MAX_ITERATIONS;
      solve_note_rest(step, island, &solution);
      world->stats.solves += 1;
      world->stats.iterations += (uint64_t)solution.iterations;
      s2_arena_rewind(step->arena, mark);
      world->stats.seconds_solve += s2_stats_clock(world) - start;
      return true;
    }
  }
  // Accept the solution as part of the step.
  s2_note_solve(step, island, choices, kind, &assembly, v, &solution);
  solve_account(step, island, choices, kind, &assembly, &solution);

  for (int i = 0; i < island->nodes; i++) {
    memcpy(v + 3 * island->node[i], solution.v + 3 * i, 3 * sizeof(double));
  }
  // Add the impulses of joint rows and the given elastic impulses.
  double kept = motion ? 0 : 1; // 1 to keep earlier impulses
  s2_step_scale_joints(step, island, kept);
  s2_step_add_joints(step, assembly.part, assembly.parts, solution.lambda, 1);
  s2_step_add_joints(step, assembly.part + assembly.parts, assembly.parts_given, NULL, 1);
  solve_read_contacts(step, island, choices, kind, &assembly, solution.lambda);
  s2_arena_rewind(step->arena, mark);
  world->stats.seconds_solve += s2_stats_clock(world) - start;
  return true;
}

void s2_step_scale_contacts(S2Step *step, const S2Island *island, double factor) {
  for (int i = 0; i < island->touches; i++) {
    S2Touch *touch = &step->touches[island->touch[i]];
    for (int k = 0; k < touch->count; k++) {
      touch->points[k].normal_impulse *= factor;
      touch->points[k].tangent_impulse *= factor;
    }
  }
}

void s2_step_scale_joints(S2Step *step, const S2Island *island, double factor) {
  for (int i = 0; i < island->joints; i++) {
    int32_t slot = island->joint[i];
    for (int r = 0; r < S2_JOINT_ROWS; r++) {
      step->joint_impulse[S2_JOINT_ROWS * slot + r] *= factor;
    }
    for (int c = 0; c < 3; c++) {
      step->joint_reaction[3 * slot + c] *= factor;
    }
  }
}

void s2_step_add_joints(S2Step *step, const S2JointPart *parts, int count, const double *lambda,
                        double factor) {
  for (int i = 0; i < count; i++) {
    const S2JointPart *part = &parts[i];
    if (part->joint == S2_NONE) { // a viscosity row of a contact
      continue;
    }
    double impulse = factor * ((lambda == NULL ? 0 : lambda[i]) + part->given);
    if (part->row != S2_NONE) {
      step->joint_impulse[S2_JOINT_ROWS * part->joint + part->row] += impulse;
    }
    for (int c = 0; c < 3; c++) {
      step->joint_reaction[3 * part->joint + c] += part->push[c] * impulse;
    }
  }
}
