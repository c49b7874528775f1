// Compiles a program: tables and constants for islands of hinges and sliders.
#include "dynamics/joints/joint.h"
#include "dynamics/program/program.h"
#include "dynamics/program/stock/stock.h"
#include "dynamics/rattle/rattle.h"
#include "mcp/chain/bilateral.h"

#include <string.h>

// Returns true if the kernels support all settings of the world.
static bool fits_def(const S2WorldDef *def) {
  S2Stepping way = s2_world_way(def);
  return (way == S2_EVENT || way == S2_SPECULATIVE) && def->stabilization == S2_PROJECTION &&
         def->alpha == 1 && def->beta == 1 && def->substeps == 1 &&
         def->formulation == S2_FORM_VELOCITY && def->geometric_stiffness == S2_GEOMETRIC_OFF &&
         def->solver == S2_SOLVER_AUTO && def->linear_solver == S2_LINEAR_AUTO && !def->profile &&
         !def->audit;
}

static bool fits_body(const S2Body *body) {
  bool damped = body->linear_damping != 0 || body->angular_damping != 0;
  return body->drive == S2_NONE && !body->has_motion && !body->has_law &&
         !(body->type == S2_DYNAMIC && damped);
}

static bool fits_joint(const S2Joint *joint) {
  return (joint->type == S2_HINGE || joint->type == S2_SLIDER) && s2_joint_is_rigid(joint) &&
         joint->limit_lo == -INFINITY && joint->limit_hi == INFINITY && !joint->has_motor &&
         !joint->has_servo && !(joint->friction > 0) && joint->break_force == INFINITY &&
         !joint->bounded && !joint->velocity_only && joint->more[0] == S2_NONE &&
         s2_joint_projected(joint);
}

static bool fits_world(const S2World *world) {
  if (!fits_def(&world->kept.def) || world->order.count > S2_PROGRAM_BODIES) {
    return false;
  }
  for (int i = 0; i < world->order.count; i++) {
    if (!fits_body(&world->bodies.at[world->order.at[i]])) {
      return false;
    }
  }
  for (int i = 0; i < world->joint_order.count; i++) {
    const S2Joint *joint = &world->joints.at[world->joint_order.at[i]];
    bool other = joint->type == S2_CONSTRAINT || !fits_joint(joint) ||
                 (s2_world_rattles(&world->kept.def) && !s2_joint_rattles(world, joint));
    if (other && (joint->type == S2_CONSTRAINT || s2_joint_active(world, joint))) {
      return false;
    }
  }
  return true;
}

// ---- Islands ----------------------------------------------------------------------------------

typedef struct Compiler {
  const S2World *world;
  S2Arena *arena;
  int32_t *root; // per slot: the smallest slot of its island; S2_NONE if it has no joint
} Compiler;

static bool slot_moves(const S2World *world, int32_t slot) {
  return slot != S2_NONE && s2_body_moves(&world->bodies.at[slot]);
}

// Finds the islands in the same way as islands.c, in the order of their smallest slots.
static void find_islands(const Compiler *compiler) {
  const S2World *world = compiler->world;
  int32_t *root = compiler->root;
  for (int32_t slot = 0; slot < world->bodies.count; slot++) {
    root[slot] = S2_NONE;
  }
  for (int i = 0; i < world->joint_order.count; i++) {
    const S2Joint *joint = &world->joints.at[world->joint_order.at[i]];
    int32_t ends[2] = {joint->a, joint->b};
    for (int k = 0; k < 2 && s2_joint_active(world, joint); k++) {
      if (slot_moves(world, ends[k]) && root[ends[k]] == S2_NONE) {
        root[ends[k]] = ends[k];
      }
    }
  }
  // Lower the labels until nothing changes. This is fast enough for a few bodies.
  for (bool again = true; again;) {
    again = false;
    for (int i = 0; i < world->joint_order.count; i++) {
      const S2Joint *joint = &world->joints.at[world->joint_order.at[i]];
      int32_t a = joint->a, b = joint->b;
      if (s2_joint_active(world, joint) && slot_moves(world, a) && slot_moves(world, b) &&
          root[a] != root[b]) {
        root[a] = root[b] = root[a] < root[b] ? root[a] : root[b];
        again = true;
      }
    }
  }
}

// Returns the seat of a body. Gives a new seat to a new ground, or returns -1 if no seat is free.
static int find_seat(const Compiler *compiler, S2ProgramIsland *island, int32_t slot) {
  S2Table *table = &island->table;
  for (int i = 0; i < table->nodes; i++) {
    if (island->node[i] == slot && slot != S2_NONE) {
      return i;
    }
  }
  for (int k = 0; k < table->grounds; k++) {
    if (island->ground[k] == slot) {
      return table->nodes + k;
    }
  }
  if (table->grounds == S2_TABLE_GROUNDS) {
    return -1;
  }
  const S2Body *body = slot == S2_NONE ? NULL : &compiler->world->bodies.at[slot];
  int k = table->grounds++;
  table->stands[k] = body == NULL;
  table->goes[k] = body != NULL && body->type == S2_KINEMATIC && body->enabled;
  table->rides |= table->goes[k];
  island->ground[k] = slot;
  return table->nodes + k;
}

// Lists the bodies and joints of the island of `root`. Returns false if there are too many.
static bool gather_island(const Compiler *compiler, int32_t root, S2ProgramIsland *island) {
  const S2World *world = compiler->world;
  S2Table *table = &island->table;
  for (int32_t slot = root; slot < world->bodies.count; slot++) {
    if (compiler->root[slot] == root) {
      if (table->nodes == S2_TABLE_NODES) {
        return false;
      }
      island->node[table->nodes++] = slot;
    }
  }
  // Joints keep their order. Grounds get seats in the order in which the joints name them.
  for (int i = 0; i < world->joint_order.count; i++) {
    int32_t slot = world->joint_order.at[i];
    const S2Joint *joint = &world->joints.at[slot];
    int32_t of = slot_moves(world, joint->a) ? joint->a : joint->b;
    if (!s2_joint_active(world, joint) || compiler->root[of] != root) {
      continue;
    }
    int g = table->joints;
    int a = g == S2_TABLE_JOINTS ? -1 : find_seat(compiler, island, joint->a);
    int b = a < 0 ? -1 : find_seat(compiler, island, joint->b);
    if (b < 0) {
      return false;
    }
    bool hinge = joint->type == S2_HINGE;
    table->type[g] = (int16_t)(hinge ? S2_TABLE_HINGE : S2_TABLE_SLIDER);
    table->a[g] = (int16_t)a;
    table->b[g] = (int16_t)b;
    island->joint[g] = slot;
    table->joints += 1;
  }
  table->floats = table->grounds == 0;
  table->rattles = s2_world_rattles(&world->kept.def);
  return true;
}

// ---- The matrix -------------------------------------------------------------------------------

static int32_t seat_node(const S2Table *table, int seat) {
  return seat < table->nodes ? seat : S2_GROUND;
}

// Makes a problem with the sparsity pattern of the table.
static S2Problem pattern_problem(const S2Table *table, S2Arena *arena) {
  S2Row *rows = S2_TAKE_ZEROED(arena, S2Row, 2 * table->joints);
  for (int i = 0; i < 2 * table->joints; i++) {
    rows[i] = (S2Row){.a = seat_node(table, table->a[i / 2]),
                      .b = seat_node(table, table->b[i / 2]),
                      .coupled_to = -1,
                      .group = i / 2,
                      .lo = -INFINITY,
                      .hi = INFINITY};
  }
  return (S2Problem){.nodes = table->nodes, .rows = 2 * table->joints, .row = rows};
}

// Lists the products of the links of each node, in the order of bilateral_fill(). `slot` contains
// the block of each pair.
static bool list_fills(const S2Bilateral *bilateral, S2Table *table) {
  const int32_t *slot = bilateral->slot, *place = bilateral->matrix.place;
  for (int i = 0; i < table->nodes; i++) {
    for (int32_t p = bilateral->start[i]; p < bilateral->start[i + 1]; p++) {
      for (int32_t q = bilateral->start[i]; q <= p; q++) {
        if (table->fills == S2_TABLE_FILLS) {
          return false;
        }
        // The diagonal comes last here and first in the general path. The bits are still equal,
        // because the diagonal and the pairs are in different blocks.
        int32_t x = bilateral->link[p], y = bilateral->link[q];
        bool below = q == p || place[x / 2] > place[y / 2];
        int32_t see = below ? x : y, push = below ? y : x;
        table->fill[table->fills++] = (S2TableFill){
            .node = (int16_t)i,
            .see = (int16_t)(see / 2),
            .see_side = (int16_t)(see % 2),
            .push = (int16_t)(push / 2),
            .push_side = (int16_t)(push % 2),
            .block = (int16_t)(q == p ? -1 : *slot++),
        };
      }
    }
  }
  return true;
}

// Lists the blocks that change when each column is eliminated.
static bool list_targets(const S2BlockSparse *matrix, S2Table *table) {
  for (int j = 0; j < matrix->nodes; j++) {
    for (int32_t e = matrix->row_start[j]; e < matrix->row_start[j + 1]; e++) {
      int32_t k = matrix->row_column[e], first = matrix->row_block[e] + 1;
      for (int32_t p = first; p < matrix->column_start[k + 1]; p++) {
        int32_t at = matrix->column_start[j];
        while (matrix->row[at] != matrix->row[p]) {
          at += 1;
        }
        if (table->targets == S2_TABLE_TARGETS) {
          return false;
        }
        table->target[table->targets++] = (uint8_t)at;
      }
      // The next column is eliminated together with this column.
      bool two = e + 1 < matrix->row_start[j + 1] && matrix->extends[k] &&
                 matrix->row_column[e + 1] == k + 1;
      e += two;
    }
  }
  return true;
}

static bool make_pattern(S2Table *table, S2Arena *arena) {
  S2Problem problem = pattern_problem(table, arena);
  S2Bilateral bilateral;
  if (!s2_bilateral_init(&bilateral, &problem, arena) ||
      bilateral.matrix.blocks > S2_TABLE_BLOCKS || bilateral.groups != table->joints) {
    return false;
  }
  const S2BlockSparse *matrix = &bilateral.matrix;
  // always table->joints
  int joints = table->joints < S2_TABLE_JOINTS ? table->joints : S2_TABLE_JOINTS;
  table->blocks = matrix->blocks;
  for (int g = 0; g < joints; g++) {
    table->order[g] = (int16_t)matrix->order[g];
    table->place[g] = (int16_t)matrix->place[g];
    table->extends[g] = matrix->extends[g];
  }
  for (int g = 0; g <= joints; g++) {
    table->column[g] = (int16_t)matrix->column_start[g];
    table->row_start[g] = (int16_t)matrix->row_start[g];
  }
  for (int p = 0; p < table->blocks; p++) {
    table->row[p] = (int16_t)matrix->row[p];
    table->row_column[p] = (int16_t)matrix->row_column[p];
    table->row_block[p] = (int16_t)matrix->row_block[p];
  }
  return list_fills(&bilateral, table) && list_targets(matrix, table);
}

// ---- Constants --------------------------------------------------------------------------------

// Computes constant factors for the bounds of (h w)^2 in geometric.c. joint_swing() adds the
// quantities that change from step to step.
static void set_swing(const S2World *world, const S2Joint *joint, double swing[3]) {
  bool a = slot_moves(world, joint->a), b = slot_moves(world, joint->b);
  double arm_a = s2_length(joint->local_a), arm_b = s2_length(joint->local_b);
  double inertia_a = a ? world->bodies.at[joint->a].inertia : INFINITY;
  double inertia_b = b ? world->bodies.at[joint->b].inertia : INFINITY;
  if (joint->type == S2_HINGE) {
    swing[0] = arm_a / inertia_a;
    swing[1] = arm_b / inertia_b;
    swing[2] = 3 / inertia_b;
    return;
  }
  double turn_a = 1 / sqrt(inertia_a), turn_b = 1 / sqrt(inertia_b);
  double linear = (a ? 1 / sqrt(world->bodies.at[joint->a].mass) : 0) +
                  (b ? 1 / sqrt(world->bodies.at[joint->b].mass) : 0);
  swing[0] = arm_a * turn_a * (turn_a + 2 * turn_b) + arm_a * turn_b * turn_b + 2 * turn_b * linear;
  swing[1] = turn_b * turn_b;
  swing[2] = 0;
}

static double reach_of(const S2World *world, int32_t slot) {
  return slot == S2_NONE ? 0 : world->bodies.at[slot].reach;
}

static void set_constants(const S2World *world, S2ProgramIsland *island) {
  const S2Table *table = &island->table;
  const S2WorldDef *def = &world->kept.def;
  S2Constants *of = &island->constants;
  for (int i = 0; i < table->nodes; i++) {
    const S2Body *body = &world->bodies.at[island->node[i]];
    of->node[i].inertia = body->inertia;
    of->node[i].mass = body->mass;
    of->node[i].inverse[0] = 1 / body->inertia;
    of->node[i].inverse[1] = 1 / body->mass;
    of->node[i].weight[0] = body->mass * body->gravity_scale * def->gravity.x;
    of->node[i].weight[1] = body->mass * body->gravity_scale * def->gravity.y;
    of->length = fmax(of->length, body->reach);
  }
  of->length = of->length > 0 ? of->length : 1; // without shapes, any length is suitable
  for (int g = 0; g < table->joints; g++) {
    const S2Joint *joint = &world->joints.at[island->joint[g]];
    const S2Vec2 across = s2_left(joint->axis);
    double size = fmax(reach_of(world, joint->a), reach_of(world, joint->b));
    memcpy(of->joint[g].arm_a, &joint->local_a, sizeof of->joint[g].arm_a);
    memcpy(of->joint[g].arm_b, &joint->local_b, sizeof of->joint[g].arm_b);
    memcpy(of->joint[g].across, &across, sizeof of->joint[g].across);
    of->joint[g].angle = joint->angle0;
    of->joint[g].size = size > 0 ? size : 1;
    set_swing(world, joint, of->joint[g].swing);
  }
  of->h = def->dt / def->substeps;
  of->tolerance = def->tolerance;
  of->speed = fmax(of->h * s2_length(def->gravity), 1e-6 * of->length / of->h);
}

// Tables can be compared as bytes, because they and their padding are zero-initialised.
static bool stock_is(const S2Table *table, const S2Table *stock) {
  S2Table plain = *stock;
  plain.stock = S2_STOCK_NONE;
  return memcmp(table, &plain, sizeof plain) == 0; // NOLINT(bugprone-suspicious-memory-comparison)
}

// Finds a kernel that was compiled for this table.
static int32_t find_stock(const S2Table *table) {
  S2_STOCK_TABLES(S2_STOCK_DEFINE)
  int32_t stock = S2_STOCK_NONE;
#define S2_STOCK_FIND(ID, first, in_stages)                                                        \
  stock = stock_is(table, &s2_stock_##ID) ? S2_STOCK_##ID : stock;
  S2_STOCK_TABLES(S2_STOCK_FIND)
  return stock;
}

// Computes two hashes of the bytes, similar to FNV-1a but with different start values and
// multipliers. Together they have 128 bits.
static void hash_more(uint64_t hash[2], const void *at, size_t bytes) {
  const unsigned char *byte = at;
  for (size_t i = 0; i < bytes; i++) {
    hash[0] = (hash[0] ^ byte[i]) * UINT64_C(0x100000001b3);
    hash[1] = (hash[1] ^ (byte[i] + 0x9eu) ^ (hash[1] >> 29)) * UINT64_C(0x9e3779b97f4a7c15);
  }
}

// Lists the bodies without an island: free bodies, and bodies that no force moves. Returns false if
// there are too many.
static bool list_others(const Compiler *compiler, S2Program *program) {
  const S2World *world = compiler->world;
  for (int i = 0; i < world->order.count; i++) {
    int32_t slot = world->order.at[i];
    const S2Body *body = &world->bodies.at[slot];
    if (!s2_body_moves(body)) {
      program->goes[program->still] = body->type == S2_KINEMATIC && body->enabled;
      program->still_slot[program->still++] = slot;
      program->boxed |= body->type == S2_STATIC && body->enabled && body->first_shape != S2_NONE;
    } else if (compiler->root[slot] == S2_NONE) {
      if (program->free == S2_PROGRAM_FREE) {
        return false;
      }
      program->free_inertial[program->free][0] = world->bodies.at[slot].inertia;
      program->free_inertial[program->free][1] = world->bodies.at[slot].mass;
      program->free_slot[program->free++] = slot;
    }
  }
  return true;
}

// Returns the index of a body in the list of bodies that may collide.
static int list_near(const S2World *world, int32_t slot, S2Program *program) {
  int i = 0;
  while (i < program->near_count && program->near[i].slot != slot) {
    i++;
  }
  if (i == program->near_count) {
    bool stays = world->bodies.at[slot].type == S2_STATIC;
    program->near[program->near_count++] = (S2ProgramNear){.slot = slot, .stays = stays};
    program->near[i].q[0] = NAN; // the box is not known yet
  }
  return i;
}

// Returns true if two bodies can never collide.
static bool never_meet(const S2World *world, int32_t slot_a, int32_t slot_b) {
  const S2Body *a = &world->bodies.at[slot_a], *b = &world->bodies.at[slot_b];
  bool shapeless = a->first_shape == S2_NONE || b->first_shape == S2_NONE;
  bool off = !a->enabled || !b->enabled || (a->type == S2_STATIC && b->type == S2_STATIC);
  return shapeless || off || (a->category & b->mask) == 0 || (b->category & a->mask) == 0 ||
         s2_world_excluded(world, slot_a, slot_b);
}

// Lists the pairs of bodies that may collide. Returns false if there are too many.
static bool list_pairs(const S2World *world, S2Program *program) {
  bool speculative = s2_world_way(&world->kept.def) == S2_SPECULATIVE;
  for (int i = 0; i < world->order.count; i++) {
    for (int k = 0; k < i; k++) {
      int32_t a = world->order.at[i], b = world->order.at[k];
      if (never_meet(world, a, b)) {
        continue;
      }
      // A speculative step repeats its search by another rule (s2_step_outran).
      if (program->pairs == S2_PROGRAM_PAIRS || speculative) {
        return false;
      }
      uint8_t *pair = program->pair[program->pairs++];
      pair[0] = (uint8_t)list_near(world, a, program);
      pair[1] = (uint8_t)list_near(world, b, program);
    }
  }
  return true;
}

S2Program *s2_program_compile(const S2World *world, S2Arena *arena) {
  if (!fits_world(world)) {
    return NULL;
  }
  S2ArenaMark mark = s2_arena_mark(arena);
  Compiler compiler = {world, arena, S2_TAKE(arena, int32_t, world->bodies.count)};
  find_islands(&compiler);
  int islands = 0;
  for (int32_t slot = 0; slot < world->bodies.count; slot++) {
    islands += compiler.root[slot] == slot;
  }
  // Compile in the arena first, because this may run out of memory.
  size_t size = sizeof(S2Program) + sizeof(S2ProgramIsland) * (size_t)islands;
  S2Program *made = s2_arena_take_zeroed(arena, size), *program = NULL;
  made->users = 1;
  made->dt = world->kept.def.dt;
  made->splits = s2_world_way(&world->kept.def) == S2_EVENT;
  made->kind[0] = UINT64_C(0xcbf29ce484222325);
  for (int i = 0; i < world->order.count; i++) {
    made->slot[made->bodies] = world->order.at[i];
    s2_body_label(world, world->order.at[i], made->label[made->bodies++]);
  }
  bool good = islands <= S2_PROGRAM_FREE && list_others(&compiler, made) &&
              islands + made->free > 0 && list_pairs(world, made);
  for (int32_t slot = 0; slot < world->bodies.count && good; slot++) {
    if (compiler.root[slot] == slot) {
      S2ProgramIsland *island = &made->island[made->islands++];
      good = gather_island(&compiler, slot, island) && make_pattern(&island->table, arena);
      set_constants(world, island);
      island->table.stock = find_stock(&island->table);
      hash_more(made->kind, &island->table, sizeof island->table);
    }
  }
  if (good) {
    program = s2_memory_take(size);
    memcpy(program, made, size);
  }
  s2_arena_rewind(arena, mark);
  return program;
}
