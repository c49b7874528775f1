// Phase 3: islands.
// Bodies connected by contacts or joints form one problem. Islands are independent of each other.
// Static and kinematic bodies do not connect islands.
#include "dynamics/step/islands.h"
#include "dynamics/rest/rest.h"
#include "dynamics/step/assemble.h"
#include "dynamics/step/touch.h"

#include <string.h>

static int32_t islands_root(int32_t *parent, int32_t i) {
  while (parent[i] != i) {
    parent[i] = parent[parent[i]];
    i = parent[i];
  }
  return i;
}

// The smaller slot becomes the root, so the result does not depend on the order of the edges.
static void islands_join(int32_t *parent, int32_t a, int32_t b) {
  a = islands_root(parent, a);
  b = islands_root(parent, b);
  if (a < b) {
    parent[b] = a;
  } else {
    parent[a] = b;
  }
}

typedef struct Edge { // a touch or joint that connects movable bodies
  int32_t a, b;       // slots, or S2_NONE
} Edge;

static Edge touch_edge(const S2Step *step, int i) {
  const S2Touch *touch = &step->touches[i];
  const S2Body *bodies = step->world->bodies.at;
  bool joins = s2_touch_kept(step, i) ? (step->kept[i] & S2_TOUCH_JOINS) != 0
                                      : s2_touch_solid(touch) || touch->hidden;
  if (!joins) {
    return (Edge){S2_NONE, S2_NONE};
  }
  return (Edge){s2_body_moves(&bodies[touch->body_a]) ? touch->body_a : S2_NONE,
                s2_body_moves(&bodies[touch->body_b]) ? touch->body_b : S2_NONE};
}

enum { JOINT_EDGES = 3 };

// Lists the edges of a joint. Gears and constraints have up to three edges. The first edge contains
// a moving body if there is one.
static void joint_edges(const S2World *world, int i, Edge edges[JOINT_EDGES]) {
  const S2Joint *joint = &world->joints.at[world->joint_order.at[i]];
  const int32_t slots[4] = {joint->a, joint->b, joint->more[0], joint->more[1]};
  int32_t moving[4] = {S2_NONE, S2_NONE, S2_NONE, S2_NONE};
  int count = 0;
  bool active = s2_joint_active(world, joint);
  for (int k = 0; k < 4 && active; k++) {
    if (slots[k] != S2_NONE && s2_body_moves(&world->bodies.at[slots[k]])) {
      moving[count++] = slots[k];
    }
  }
  for (int k = 0; k < JOINT_EDGES; k++) {
    edges[k] = (Edge){k < count ? moving[k] : S2_NONE, k + 1 < count ? moving[k + 1] : S2_NONE};
  }
}

// Finds the island of each slot, or S2_NONE for bodies without contacts and joints. Islands are
// numbered in the order of their smallest slots.
static int32_t *islands_connect(S2Step *step, const Edge *edges, int edge_count) {
  int slots = step->world->bodies.count;
  int32_t *parent = S2_TAKE(step->arena, int32_t, slots);
  int32_t *island_of = S2_TAKE(step->arena, int32_t, slots);
  bool *bound = S2_TAKE_ZEROED(step->arena, bool, slots); // true if it has an edge.
  // Build a forest over the slots. Each edge merges two trees.
  for (int32_t i = 0; i < slots; i++) {
    parent[i] = i;
  }
  for (int i = 0; i < edge_count; i++) {
    Edge edge = edges[i];
    if (edge.a != S2_NONE) {
      bound[edge.a] = true;
    }
    if (edge.b != S2_NONE) {
      bound[edge.b] = true;
    }
    if (edge.a != S2_NONE && edge.b != S2_NONE) {
      islands_join(parent, edge.a, edge.b);
    }
  }
  // The root of a tree is its smallest slot. Number the islands in the order of their roots.
  step->island_count = 0;
  for (int32_t i = 0; i < slots; i++) {
    int32_t first = islands_root(parent, i); // at most i
    if (bound[i] && first == i) {
      island_of[i] = step->island_count++;
    } else {
      island_of[i] = bound[i] ? island_of[first] : S2_NONE;
    }
  }
  return island_of;
}

// Returns the island of an edge, or NULL if no body of the edge can move.
static S2Island *edge_island(const S2Step *step, const int32_t *island_of, Edge edge) {
  int32_t slot = edge.a != S2_NONE ? edge.a : edge.b;
  return slot == S2_NONE ? NULL : &step->islands[island_of[slot]];
}

static void add_holder(const S2Step *step, int32_t slot, S2Vec2 *sum, int *count) {
  if (slot == S2_NONE) { // the world
    *count += 1;
  } else if (step->node_of[slot] == S2_GROUND) {
    *sum = s2_add(*sum, s2_vec2(step->free_v[3 * slot + 1], step->free_v[3 * slot + 2]));
    *count += 1;
  }
}

// Sets the mean velocity of the ground bodies of the island, or 0 if there is no ground.
static void set_frame(const S2Step *step, S2Island *island) {
  S2Vec2 sum = {0, 0};
  int count = 0;
  for (int i = 0; i < island->touches; i++) {
    add_holder(step, step->touches[island->touch[i]].body_a, &sum, &count);
    add_holder(step, step->touches[island->touch[i]].body_b, &sum, &count);
  }
  for (int i = 0; i < island->joints; i++) {
    const S2Joint *joint = &step->world->joints.at[island->joint[i]];
    add_holder(step, joint->a, &sum, &count);
    add_holder(step, joint->b, &sum, &count);
    for (int k = 0; k < 2 && s2_joint_is_wide(joint); k++) {
      add_holder(step, joint->more[k], &sum, &count);
    }
  }
  island->grounded = count > 0;
  island->frame = count > 0 ? s2_scale(1.0 / count, sum) : sum;
}

// Returns the speed (m/s) of the fastest ground surface at the island, due to rotation or a belt.
// (The tip of a rotating bar, for example, may hit a body at rest at high speed.)
static double swing_of(const S2Step *step, const S2Island *island) {
  double fastest = 0;
  for (int i = 0; i < island->touches; i++) {
    const S2Touch *touch = &step->touches[island->touch[i]];
    const int32_t slot[2] = {touch->body_a, touch->body_b};
    for (int k = 0; k < touch->count; k++) {
      const S2Vec2 arm[2] = {touch->points[k].at.point, touch->points[k].arm_b};
      for (int side = 0; side < 2; side++) {
        bool turns = step->node_of[slot[side]] == S2_GROUND && step->free_v[3 * slot[side]] != 0;
        double speed = turns ? fabs(step->free_v[3 * slot[side]]) * s2_length(arm[side]) : 0;
        fastest = fmax(fastest, speed);
      }
      fastest = fmax(fastest, fabs(touch->surface_speed));
    }
  }
  return fastest;
}

void s2_step_islands(S2Step *step) {
  s2_rest_thaw_joined(step);
  S2World *world = step->world;
  int slots = world->bodies.count, touches = step->touch_count, joints = world->joint_order.count;
  int most = touches + JOINT_EDGES * joints;
  // List the edges: touches that may carry impulses, and joints.
  Edge *edges = S2_TAKE(step->arena, Edge, most);
  for (int i = 0; i < touches; i++) {
    edges[i] = touch_edge(step, i);
  }
  for (int i = 0; i < joints; i++) {
    Edge of[JOINT_EDGES];
    joint_edges(world, i, of);
    for (int k = 0; k < JOINT_EDGES; k++) { // all first edges, then all second edges, ...
      edges[touches + k * joints + i] = of[k];
    }
  }
  const int32_t *island_of = islands_connect(step, edges, most);
  step->islands = S2_TAKE_ZEROED(step->arena, S2Island, step->island_count);

  // Count the members, then fill the lists.
  for (int32_t i = 0; i < slots; i++) {
    if (island_of[i] != S2_NONE) {
      S2Island *island = &step->islands[island_of[i]];
      island->nodes += 1;
      island->length = fmax(island->length, world->bodies.at[i].reach);
    }
  }
  for (int i = 0; i < touches + joints; i++) {
    S2Island *island = edge_island(step, island_of, edges[i]);
    if (island != NULL) {
      *(i < touches ? &island->touches : &island->joints) += 1;
    }
  }
  // Allocate lists of the counted lengths. Filling the lists counts again.
  for (int i = 0; i < step->island_count; i++) {
    S2Island *island = &step->islands[i];
    island->node = S2_TAKE(step->arena, int32_t, island->nodes);
    island->touch = S2_TAKE(step->arena, int32_t, island->touches);
    island->joint = S2_TAKE(step->arena, int32_t, island->joints);
    if (island->touches == 0 && world->kept.def.stepping != S2_BISECT) {
      island->motion = S2_TAKE_ZEROED(step->arena, S2Assembly, 1);
    }
    island->nodes = island->touches = island->joints = 0;
    island->joint_error = NAN;
    if (!(island->length > 0)) {
      island->length = 1; // bodies without shapes may use any length
    }
  }
  // List the bodies in ascending order. The position of a body in the list is its node index.
  bool swings = false; // true if any ground body rotates or is a belt
  for (int32_t i = 0; i < slots; i++) {
    step->node_of[i] = S2_GROUND;
    bool frozen = step->frozen != NULL && step->frozen[i];
    swings |= island_of[i] == S2_NONE && step->free_v[3 * i] != 0 && !frozen;
    step->node_of[i] = frozen ? 0 : step->node_of[i]; // frozen bodies belong to other islands
    if (island_of[i] != S2_NONE) {
      S2Island *island = &step->islands[island_of[i]];
      step->node_of[i] = island->nodes;
      island->node[island->nodes++] = i;
    }
  }
  // List the touches and joints in ascending order.
  for (int i = 0; i < touches + joints; i++) {
    S2Island *island = edge_island(step, island_of, edges[i]);
    if (island != NULL && i < touches) {
      swings |= step->touches[i].surface_speed != 0;
      island->touch[island->touches++] = i;
    } else if (island != NULL) {
      island->joint[island->joints++] = world->joint_order.at[i - touches];
    }
  }
  for (int i = 0; i < step->island_count; i++) {
    set_frame(step, &step->islands[i]);
    step->islands[i].swing = swings ? swing_of(step, &step->islands[i]) : 0;
  }
}

// ---- Speed of an island -----------------------------------------------------------------------

// Returns the larger of `speed` and the speed of v relative to the frame. Computes the speed of v
// only if it can be larger. Islands without touches use sqrt instead of hypot, like the kernels of
// programs (program/kernel_solve.h).
static double islands_faster(double speed, const S2Island *island, const double *v) {
  double vx = v[1] - island->frame.x, vy = v[2] - island->frame.y, length = island->length;
  if (fabs(vx) + fabs(vy) > speed) {
    speed = fmax(speed, island->touches == 0 ? sqrt(vx * vx + vy * vy) : hypot(vx, vy));
  }
  return length * fabs(v[0]) > speed ? length * fabs(v[0]) : speed;
}

// The shortest length of a piece for the velocity scale, as a fraction of the step. The rounding
// error of compliant rows is the rounding error of a position divided by the length of the piece.
// In short pieces, this error and the velocity scale grow. Below this length, the scale stays
// constant. Without this limit, the scale was 3e11 m/s in pieces of 1e-18 s. A solve that wrongly
// stopped a body with a speed of 5 m/s was then accepted.
static const double SHORTEST_SCALED = 1e-8;

double s2_island_speed(const S2Step *step, const S2Island *island) {
  S2Vec2 gravity = step->world->kept.def.gravity, frame = island->frame;
  double length = island->length, dt = step->dt;
  double h = island->joints > 0 ? fmax(step->h, SHORTEST_SCALED * dt) : dt;
  double speed = fmax(step->h * s2_length(gravity), 1e-6 * length / h);
  speed = fmax(fmax(speed, S2_FRAME_ROUNDING * s2_length(frame)), island->swing);
  for (int i = 0; i < island->nodes; i++) {
    speed = islands_faster(speed, island, step->v0 + 3 * island->node[i]);
    speed = islands_faster(speed, island, step->free_v + 3 * island->node[i]);
  }
  return speed;
}

double s2_island_rest_speed(const S2Step *step, const S2Island *island) {
  return S2_REST_TOLERANCES * step->world->kept.def.tolerance * s2_island_speed(step, island);
}
