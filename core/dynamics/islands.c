// Phase 3: islands. Bodies joined by contacts or joints form one problem; islands know nothing of
// each other. Static and kinematic bodies join nobody.
#include "dynamics/step.h"

#include <string.h>

static int32_t root(int32_t *parent, int32_t i) {
  while (parent[i] != i) {
    parent[i] = parent[parent[i]];
    i = parent[i];
  }
  return i;
}

// The smaller slot becomes the root, so the result does not depend on the order of the edges.
static void join(int32_t *parent, int32_t a, int32_t b) {
  a = root(parent, a);
  b = root(parent, b);
  if (a < b) {
    parent[b] = a;
  } else {
    parent[a] = b;
  }
}

typedef struct Edge { // a touch or joint, through the movable bodies it acts on
  int32_t a, b;       // slots or S2_NONE
} Edge;

static Edge touch_edge(const S2Step *step, int i) {
  const S2Touch *touch = &step->touches[i];
  const S2Body *bodies = step->world->bodies.at;
  if (!s2_touch_solid(touch)) {
    return (Edge){S2_NONE, S2_NONE};
  }
  return (Edge){s2_body_moves(&bodies[touch->body_a]) ? touch->body_a : S2_NONE,
                s2_body_moves(&bodies[touch->body_b]) ? touch->body_b : S2_NONE};
}

static Edge joint_edge(const S2World *world, int i) {
  const S2Joint *joint = &world->joints.at[world->joint_order.at[i]];
  const S2Body *bodies = world->bodies.at;
  if (!s2_joint_active(world, joint)) {
    return (Edge){S2_NONE, S2_NONE};
  }
  return (Edge){joint->a != S2_NONE && s2_body_moves(&bodies[joint->a]) ? joint->a : S2_NONE,
                joint->b != S2_NONE && s2_body_moves(&bodies[joint->b]) ? joint->b : S2_NONE};
}

void s2_step_islands(S2Step *step) {
  S2World *world = step->world;
  int slots = world->bodies.count, joints = world->joint_order.count;
  int32_t *parent = S2_TAKE(step->arena, int32_t, slots);
  bool *bound = S2_TAKE_ZEROED(step->arena, bool, slots); // has any contact or joint
  Edge *touch_edges = S2_TAKE(step->arena, Edge, step->touch_count);
  Edge *joint_edges = S2_TAKE(step->arena, Edge, joints);
  for (int32_t i = 0; i < slots; i++) {
    parent[i] = i;
    step->node_of[i] = S2_GROUND;
  }
  for (int i = 0; i < step->touch_count + joints; i++) {
    Edge edge =
        i < step->touch_count ? touch_edge(step, i) : joint_edge(world, i - step->touch_count);
    *(i < step->touch_count ? &touch_edges[i] : &joint_edges[i - step->touch_count]) = edge;
    if (edge.a != S2_NONE) {
      bound[edge.a] = true;
    }
    if (edge.b != S2_NONE) {
      bound[edge.b] = true;
    }
    if (edge.a != S2_NONE && edge.b != S2_NONE) {
      join(parent, edge.a, edge.b);
    }
  }

  // Number the islands by their smallest slot, count their parts, then fill.
  int32_t *island_of = S2_TAKE(step->arena, int32_t, slots);
  step->island_count = 0;
  for (int32_t i = 0; i < slots; i++) {
    if (bound[i] && root(parent, i) == i) {
      island_of[i] = step->island_count++;
    }
  }
  S2Island *islands = S2_TAKE_ZEROED(step->arena, S2Island, step->island_count);
  step->islands = islands;
  for (int32_t i = 0; i < slots; i++) {
    if (bound[i]) {
      island_of[i] = island_of[root(parent, i)];
      islands[island_of[i]].nodes += 1;
      islands[island_of[i]].length = fmax(islands[island_of[i]].length, world->bodies.at[i].reach);
    }
  }
#define ISLAND(edge) (&islands[island_of[(edge).a != S2_NONE ? (edge).a : (edge).b]])
#define IDLE(edge)   ((edge).a == S2_NONE && (edge).b == S2_NONE)
  for (int i = 0; i < step->touch_count; i++) {
    if (!IDLE(touch_edges[i])) {
      ISLAND(touch_edges[i])->touches += 1;
    }
  }
  for (int i = 0; i < joints; i++) {
    if (!IDLE(joint_edges[i])) {
      ISLAND(joint_edges[i])->joints += 1;
    }
  }
  for (int i = 0; i < step->island_count; i++) {
    S2Island *island = &islands[i];
    island->node = S2_TAKE(step->arena, int32_t, island->nodes);
    island->touch = S2_TAKE(step->arena, int32_t, island->touches);
    island->joint = S2_TAKE(step->arena, int32_t, island->joints);
    island->nodes = island->touches = island->joints = 0;
    if (!(island->length > 0)) {
      island->length = 1; // bodies without shapes: any length does
    }
  }
  for (int32_t i = 0; i < slots; i++) {
    if (bound[i]) {
      S2Island *island = &islands[island_of[i]];
      step->node_of[i] = island->nodes;
      island->node[island->nodes++] = i;
    }
  }
  for (int i = 0; i < step->touch_count; i++) {
    if (!IDLE(touch_edges[i])) {
      S2Island *island = ISLAND(touch_edges[i]);
      island->touch[island->touches++] = i;
    }
  }
  for (int i = 0; i < joints; i++) {
    if (!IDLE(joint_edges[i])) {
      S2Island *island = ISLAND(joint_edges[i]);
      island->joint[island->joints++] = world->joint_order.at[i];
    }
  }
#undef ISLAND
#undef IDLE
}
