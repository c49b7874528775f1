// Queries of the current geometry: rays, boxes, points, distances. Queries ignore disabled bodies.
#include "dynamics/world/world.h"

#include <stdlib.h>
#include <string.h>

// Rounding error of the start of a ray, as a fraction of its coordinates.
static const double RAY_ROUNDING = 1e-14;

static bool query_wants(const S2World *world, const S2QueryFilter *filter, int32_t piece) {
  static const S2QueryFilter all = {0};
  int32_t slot = world->pieces.at[piece].body;
  const S2Body *body = &world->bodies.at[slot];
  filter = filter == NULL ? &all : filter;
  for (int i = 0; i < filter->ignored_count; i++) {
    if (s2_body_id(world, slot).serial == filter->ignored[i].serial) {
      return false;
    }
  }
  return body->enabled && (filter->sensors || !body->sensor) &&
         (filter->category == 0 || (filter->category & body->mask) != 0) &&
         (filter->mask == 0 || (filter->mask & body->category) != 0);
}

typedef struct RayFound {
  S2RayResult hit;
  int32_t piece;
} RayFound;

typedef struct RayQuery {
  const S2World *world;
  const S2QueryFilter *filter;
  S2Vec2 from, to;
  RayFound *best; // one hit, or one per body slot
  bool each;      // true if `best` has one entry per body slot
} RayQuery;

static bool visit_ray(void *user, int32_t proxy) {
  RayQuery *query = user;
  const S2World *world = query->world;
  if (!query_wants(world, query->filter, proxy)) {
    return true;
  }
  // Keep the nearest hit. If hits are equal, keep the first hit in the order of pieces.
  const S2Piece *piece = &world->pieces.at[proxy];
  S2Shape shape = s2_piece_shape(world, piece);
  S2RayHit hit =
      s2_shape_raycast(&shape, s2_slot_pose(world->q.at, piece->body), query->from, query->to);
  RayFound *best = &query->best[query->each ? piece->body : 0];
  if (hit.hit && (best->hit.body.index == 0 || hit.fraction < best->hit.fraction)) {
    best->hit = (S2RayResult){s2_body_id(world, piece->body), hit.point, hit.normal, hit.fraction};
    best->piece = proxy;
  }
  return true;
}

// Casts a ray. Only tests shapes whose box overlaps the box of the ray.
static void query_cast(S2World *world, RayQuery *query) {
  S2Vec2 from = query->from, to = query->to;
  S2Box box = {{fmin(from.x, to.x), fmin(from.y, to.y)}, {fmax(from.x, to.x), fmax(from.y, to.y)}};
  // Enlarge the box, because a start slightly below a surface counts as on the surface. The
  // permitted depth depends on the size of the shape, and no shape is larger than the box of all
  // shapes.
  S2Box all = s2_broadphase_bounds(world->broadphase);
  double far = fabs(from.x) + fabs(from.y) + fabs(all.lo.x) + fabs(all.lo.y);
  double grow = S2_RAY_SURFACE * (all.hi.x - all.lo.x + all.hi.y - all.lo.y) + RAY_ROUNDING * far;
  box = (S2Box){{box.lo.x - grow, box.lo.y - grow}, {box.hi.x + grow, box.hi.y + grow}};
  query->world = world;
  s2_broadphase_query(world->broadphase, box, &world->arena, visit_ray, query);
}

S2RayResult s2_world_raycast(S2World *world, S2Vec2 from, S2Vec2 to, const S2QueryFilter *filter) {
  RayFound best = {0};
  RayQuery query = {.filter = filter, .from = from, .to = to, .best = &best};
  s2_world_refresh_boxes(world);
  S2ArenaMark mark = s2_arena_mark(&world->arena);
  query_cast(world, &query);
  s2_arena_rewind(&world->arena, mark);
  return best.hit;
}

// Compares two hits. Equal hits keep the order of pieces, so the first hit is the result of
// s2_world_raycast.
static int ray_compare(const void *left, const void *right) {
  const RayFound *a = left, *b = right;
  if (a->hit.fraction != b->hit.fraction) {
    return a->hit.fraction < b->hit.fraction ? -1 : 1;
  }
  return a->piece < b->piece ? -1 : 1;
}

int s2_world_raycast_all(S2World *world, S2Vec2 from, S2Vec2 to, const S2QueryFilter *filter,
                         S2RayResult *results, int capacity) {
  RayQuery query = {.filter = filter, .from = from, .to = to, .each = true};
  s2_world_refresh_boxes(world);
  S2ArenaMark mark = s2_arena_mark(&world->arena);
  query.best = S2_TAKE_ZEROED(&world->arena, RayFound, world->bodies.count);
  query_cast(world, &query);
  // Collect the bodies that were hit, then sort.
  int count = 0;
  for (int slot = 0; slot < world->bodies.count; slot++) {
    if (query.best[slot].hit.body.index != 0) {
      query.best[count++] = query.best[slot];
    }
  }
  if (count > 1) {
    qsort(query.best, (size_t)count, sizeof *query.best, ray_compare);
  }
  for (int i = 0; i < count && i < capacity; i++) {
    results[i] = query.best[i].hit;
  }
  s2_arena_rewind(&world->arena, mark);
  return count;
}

typedef struct BodyQuery {
  const S2World *world;
  const S2QueryFilter *filter;
  bool by_point;
  S2Vec2 point;
  S2Box box;
  bool *found; // per slot: whether the body was found
} BodyQuery;

static bool visit_body(void *user, int32_t proxy) {
  BodyQuery *query = user;
  const S2World *world = query->world;
  // Test the shape itself, because a box may contain points outside the shape.
  if (query_wants(world, query->filter, proxy)) {
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
  // Iterate over the bodies in the order of creation. Count all bodies, but write at most
  // `capacity`.
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

int s2_world_query_box(S2World *world, S2Vec2 lo, S2Vec2 hi, const S2QueryFilter *filter,
                       S2BodyId *bodies, int capacity) {
  BodyQuery query = {.filter = filter, .box = {lo, hi}};
  return query_bodies(world, &query, bodies, capacity);
}

int s2_world_query_point(S2World *world, S2Vec2 point, const S2QueryFilter *filter,
                         S2BodyId *bodies, int capacity) {
  BodyQuery query = {.filter = filter, .by_point = true, .point = point, .box = {point, point}};
  return query_bodies(world, &query, bodies, capacity);
}

S2Status s2_world_closest(S2World *world, S2BodyId a, S2BodyId b, S2ClosestBodies *closest) {
  int32_t slot_a, slot_b;
  S2_TRY(s2_body_slot(world, a, &slot_a));
  S2_TRY(s2_body_slot(world, b, &slot_b));
  if (slot_a == slot_b) {
    return s2_error(S2_INVALID, "closest: two different bodies expected");
  }
  // Both bodies need shapes to have a distance.
  if (world->bodies.at[slot_a].first_shape == S2_NONE ||
      world->bodies.at[slot_b].first_shape == S2_NONE) {
    return s2_error(S2_INVALID, "closest: a body without shapes has no distance");
  }
  *closest = (S2ClosestBodies){.distance = INFINITY};
  S2Pose pose_a = s2_slot_pose(world->q.at, slot_a), pose_b = s2_slot_pose(world->q.at, slot_b);
  // Find the nearest pair of pieces.
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
