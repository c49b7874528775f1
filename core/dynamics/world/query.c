// Questions about the present geometry: rays, boxes, points, distances. Sensors and disabled bodies
// are left out.
#include "dynamics/world/world.h"

#include <string.h>

typedef struct RayQuery {
  const S2World *world;
  S2Vec2 from, to;
  S2RayResult best;
} RayQuery;

static bool piece_visible(const S2World *world, int32_t piece) {
  const S2Body *body = &world->bodies.at[world->pieces.at[piece].body];
  return body->enabled && !body->sensor;
}

static bool visit_ray(void *user, int32_t proxy) {
  RayQuery *query = user;
  const S2World *world = query->world;
  if (!piece_visible(world, proxy)) {
    return true;
  }
  // The nearest hit so far; of equal ones the one found first, in the order of pieces.
  const S2Piece *piece = &world->pieces.at[proxy];
  S2Shape shape = s2_piece_shape(world, piece);
  S2RayHit hit =
      s2_shape_raycast(&shape, s2_slot_pose(world->q.at, piece->body), query->from, query->to);
  if (hit.hit && (query->best.body.index == 0 || hit.fraction < query->best.fraction)) {
    query->best =
        (S2RayResult){s2_body_id(world, piece->body), hit.point, hit.normal, hit.fraction};
  }
  return true;
}

S2RayResult s2_world_raycast(S2World *world, S2Vec2 from, S2Vec2 to) {
  RayQuery query = {.world = world, .from = from, .to = to};
  s2_world_refresh_boxes(world);
  S2ArenaMark mark = s2_arena_mark(&world->arena);
  // Only what the ray's box overlaps.
  S2Box box = {{fmin(from.x, to.x), fmin(from.y, to.y)}, {fmax(from.x, to.x), fmax(from.y, to.y)}};
  s2_broadphase_query(world->broadphase, box, &world->arena, visit_ray, &query);
  s2_arena_rewind(&world->arena, mark);
  return query.best;
}

typedef struct BodyQuery {
  const S2World *world;
  bool by_point;
  S2Vec2 point;
  S2Box box;
  bool *found; // a slot
} BodyQuery;

static bool visit_body(void *user, int32_t proxy) {
  BodyQuery *query = user;
  const S2World *world = query->world;
  // The box of a piece may overlap where the piece itself does not have the point.
  if (piece_visible(world, proxy)) {
    const S2Piece *piece = &world->pieces.at[proxy];
    S2Shape shape = s2_piece_shape(world, piece);
    S2Pose pose = s2_slot_pose(world->q.at, piece->body);
    bool in = query->by_point ? s2_shape_contains(&shape, pose, query->point)
                              : s2_box_overlap(s2_shape_box(&shape, pose), query->box);
    query->found[piece->body] |= in;
  }
  return true;
}

static int query_bodies(S2World *world, BodyQuery *query, S2BodyId *bodies, int capacity) {
  s2_world_refresh_boxes(world);
  S2ArenaMark mark = s2_arena_mark(&world->arena);
  query->world = world;
  query->found = S2_TAKE_ZEROED(&world->arena, bool, world->bodies.count);
  s2_broadphase_query(world->broadphase, query->box, &world->arena, visit_body, query);
  // In creation order; all are counted, those there is room for are given.
  int count = 0;
  for (int i = 0; i < world->order.count; i++) {
    int32_t slot = world->order.at[i];
    if (query->found[slot]) {
      if (count < capacity) {
        bodies[count] = s2_body_id(world, slot);
      }
      count += 1;
    }
  }
  s2_arena_rewind(&world->arena, mark);
  return count;
}

int s2_world_query_box(S2World *world, S2Vec2 lo, S2Vec2 hi, S2BodyId *bodies, int capacity) {
  BodyQuery query = {.box = {lo, hi}};
  return query_bodies(world, &query, bodies, capacity);
}

int s2_world_query_point(S2World *world, S2Vec2 point, S2BodyId *bodies, int capacity) {
  BodyQuery query = {.by_point = true, .point = point, .box = {point, point}};
  return query_bodies(world, &query, bodies, capacity);
}

S2Status s2_world_closest(S2World *world, S2BodyId a, S2BodyId b, S2ClosestBodies *closest) {
  int32_t slot_a, slot_b;
  S2_TRY(s2_body_slot(world, a, &slot_a));
  S2_TRY(s2_body_slot(world, b, &slot_b));
  if (slot_a == slot_b) {
    return s2_error(S2_INVALID, "closest: two different bodies expected");
  }
  // A distance is between shapes.
  if (world->bodies.at[slot_a].first_shape == S2_NONE ||
      world->bodies.at[slot_b].first_shape == S2_NONE) {
    return s2_error(S2_INVALID, "closest: a body without shapes has no distance");
  }
  *closest = (S2ClosestBodies){.distance = INFINITY};
  S2Pose pose_a = s2_slot_pose(world->q.at, slot_a), pose_b = s2_slot_pose(world->q.at, slot_b);
  // The nearest of all pairs of pieces.
  int32_t p = world->bodies.at[slot_a].first_shape;
  for (; p != S2_NONE; p = world->pieces.at[p].next) {
    S2Shape shape_a = s2_piece_shape(world, &world->pieces.at[p]);
    int32_t r = world->bodies.at[slot_b].first_shape;
    for (; r != S2_NONE; r = world->pieces.at[r].next) {
      S2Shape shape_b = s2_piece_shape(world, &world->pieces.at[r]);
      S2Closest near = s2_closest(&shape_a, pose_a, &shape_b, pose_b);
      if (near.distance < closest->distance) {
        *closest = (S2ClosestBodies){near.distance, near.point_a, near.point_b, near.normal};
      }
    }
  }
  return s2_ok();
}
