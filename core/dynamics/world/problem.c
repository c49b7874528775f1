// Returns the step problem as a value, for inspection, for files or for other solvers.
#include "dynamics/joints/rows.h"
#include "dynamics/schemes/schemes.h"
#include "dynamics/step/forces.h"
#include "dynamics/step/islands.h"
#include "dynamics/step/touch.h"
#include "mcp/problem/convex.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static S2Problem *copy_problem(const S2Problem *from) {
  // Allocate one block, which the caller releases with one free(). The aligned numbers follow the
  // header.
  size_t nodes = (size_t)from->nodes, rows = (size_t)from->rows;
  size_t head = (sizeof(S2Problem) + 15) & ~(size_t)15;
  unsigned char *memory = malloc(head + 6 * nodes * sizeof(double) + rows * sizeof(S2Row));
  if (memory == NULL) {
    return NULL;
  }
  S2Problem *problem = (S2Problem *)(void *)memory;
  double *mass = (double *)(void *)(memory + head), *rhs = mass + 3 * nodes;
  S2Row *row = (S2Row *)(void *)(rhs + 3 * nodes);
  *problem = *from;
  problem->mass = memcpy(mass, from->mass, 3 * nodes * sizeof(double));
  problem->rhs = memcpy(rhs, from->rhs, 3 * nodes * sizeof(double));
  problem->row = rows > 0 ? memcpy(row, from->row, rows * sizeof(S2Row)) : row;
  return problem;
}

// Merges all islands into one. All bodies that move are nodes, in the order of creation.
static S2Island all_islands(S2Step *step) {
  S2World *world = step->world;
  S2Island all = {
      .node = S2_TAKE(step->arena, int32_t, world->bodies.count),
      .touch = S2_TAKE(step->arena, int32_t, step->touch_count),
      .joint = S2_TAKE(step->arena, int32_t, world->joint_order.count),
  };
  for (int i = 0; i < world->order.count; i++) {
    int32_t slot = world->order.at[i];
    const S2Body *body = &world->bodies.at[slot];
    // Number the nodes in the order of creation. Kinematic and static bodies are ground.
    step->node_of[slot] = s2_body_moves(body) ? all.nodes : S2_GROUND;
    if (s2_body_moves(body)) {
      all.node[all.nodes++] = slot;
      all.length = fmax(all.length, body->reach);
    }
  }
  // List the solid contacts with at least one node.
  for (int i = 0; i < step->touch_count; i++) {
    const S2Touch *touch = &step->touches[i];
    if (s2_touch_solid(touch) &&
        (step->node_of[touch->body_a] != S2_GROUND || step->node_of[touch->body_b] != S2_GROUND)) {
      all.touch[all.touches++] = i;
    }
  }
  for (int i = 0; i < world->joint_order.count; i++) {
    if (s2_joint_active(world, &world->joints.at[world->joint_order.at[i]])) {
      all.joint[all.joints++] = world->joint_order.at[i];
    }
  }
  all.length = all.length > 0 ? all.length : 1;
  return all;
}

S2Status s2_world_problem(S2World *world, S2Problem **problem, S2BodyId *nodes, int capacity) {
  *problem = NULL;
  S2_TRY(s2_world_idle(world));
  S2_TRY(s2_world_check_blend(world));
  // Begin a step, and compute forces, free motion and contacts. The step is not committed.
  S2Step step = s2_step_begin(world, 0, world->kept.def.substeps);
  world->stepping = true;
  s2_motions_begin(world);
  world->refused = s2_ok();
  bool going =
      s2_step_forces(&step) && s2_step_free_motion(&step, step.dt) && s2_step_touches(&step);
  world->stepping = false;
  // Stop if a callback has stopped the step or a function has returned a number that is not finite.
  if (!going) {
    S2Status refused = s2_constraints_end(world);
    s2_motions_end(world);
    return refused.code != S2_OK ? refused : s2_error(S2_ABORTED, "stopped by a callback");
  }
  // Find the islands, because the stiffness of a joint depends on its island. The problem contains
  // all islands.
  s2_step_islands(&step);
  s2_step_find_stiff(&step);
  for (int i = 0; i < world->bodies.count; i++) {
    step.node_of[i] = S2_GROUND;
  }
  S2Island all = all_islands(&step);
  // Choose the rows of the first solve according to the stepping scheme of the world.
  bool ahead = s2_world_way(&world->kept.def) == S2_SPECULATIVE ||
               (world->kept.def.stepping == S2_AUTO && s2_island_looks_ahead(&step, &all));
  bool event = s2_world_way(&world->kept.def) == S2_EVENT;
  S2Choice *choices = S2_TAKE_ZEROED(step.arena, S2Choice, 2 * step.touch_count);
  for (int i = 0; i < step.touch_count; i++) {
    for (int k = 0; k < step.touches[i].count; k++) {
      double gap = step.touches[i].points[k].at.gap;
      bool near = gap <= world->kept.def.contact_margin;
      near = event ? gap <= S2_TOUCH_SLOP * all.length : near;
      choices[2 * i + k] = ahead ? (S2Choice){true, s2_step_gap_bias(&step, gap), S2_TARGET_GAP}
                                 : (S2Choice){.use = near || s2_touch_soft(&step.touches[i])};
    }
  }
  // Assembly calls the constraints of the program.
  s2_constraints_begin(world);
  S2Assembly assembly = s2_assemble(&step, step.q0, step.touches, &all, choices, S2_SOLVE_MOTION);
  s2_motions_end(world);
  S2_TRY(s2_constraints_end(world));
  // Return a copy of the problem and the body of each node. The auxiliary nodes of wide gears have
  // no body.
  bool convex = world->kept.def.contact == S2_CONVEX;
  S2Problem law = convex ? s2_mcp_convex(&assembly.problem, step.arena) : assembly.problem;
  *problem = copy_problem(&law);
  for (int i = 0; i < all.nodes && i < capacity; i++) {
    nodes[i] = s2_body_id(world, all.node[i]);
  }
  for (int i = all.nodes; i < assembly.problem.nodes && i < capacity; i++) {
    nodes[i] = (S2BodyId){0, 0};
  }
  // The boxes include predicted motion, so the next step or query must update them.
  world->boxes_stale = true;
  return *problem == NULL ? s2_error(S2_MEMORY, "out of memory") : s2_ok();
}

S2Status s2_world_dump_problems(S2World *world, const char *directory) {
  S2_TRY(s2_world_idle(world));
  s2_memory_free(world->dump_directory);
  world->dump_directory = NULL;
  if (directory == NULL) {
    return s2_ok();
  }
  // Check the directory here, because the first write may be much later.
  struct stat info;
  if (stat(directory, &info) != 0 || !S_ISDIR(info.st_mode)) {
    return s2_error(S2_IO, "cannot write problems to '%s': not a directory", directory);
  }
  size_t bytes = strlen(directory) + 1;
  world->dump_directory = memcpy(s2_memory_take(bytes), directory, bytes);
  return s2_ok();
}
