// Collision: finds the pairs that may touch, and their contact points. It uses shapes and poses,
// but no bodies and no physics.
#ifndef S2_COLLIDE_H
#define S2_COLLIDE_H

#include "base/arena.h"
#include "base/vec.h"
#include "shape/shape.h"

#include <stdint.h>

// ---- Narrow phase -----------------------------------------------------------------------------

// The features that touch at a point. They determine how its gap depends on the two poses. There
// are no other kinds in the plane.
typedef enum S2Feature {
  S2_VERTEX_VERTEX, // gap = |pa - pb| - ra - rb
  S2_EDGE_A,        // b's vertex against an edge of a: gap along the edge's normal
  S2_EDGE_B,        // a's vertex against an edge of b
} S2Feature;

typedef struct S2ManifoldPoint {
  S2Feature feature;
  uint32_t id;    // contains vertex and edge indices; a contact keeps its id from step to step
  S2Vec2 local_a; // point of the core in the frame of a: a vertex or a point of the edge
  S2Vec2 local_b;
  S2Vec2 local_normal; // EDGE_A: outward unit normal of a's edge in a's frame; EDGE_B: the same for
                       // b; VERTEX_VERTEX: unused
  S2Vec2 normal;       // unit vector, world axes, from b to a
  S2Vec2 point;        // half way between the surfaces, world axes, RELATIVE TO THE POSITION OF a
  double gap;          // m, along the normal; negative if the surfaces overlap
} S2ManifoldPoint;

typedef struct S2Manifold {
  int count; // number of points: 0, 1 or 2
  S2ManifoldPoint points[2];
} S2Manifold;

// Finds the contact points of two shapes with gaps of at most `reach` (m, >= 0). While the cores
// are apart, the gap is the exact distance. If they overlap, it is minus the smallest overlap. All
// arithmetic is relative to pose_a, so it is accurate far from the origin. Swapping a and b mirrors
// the manifold.
void s2_collide(const S2Shape *a, S2Pose pose_a, const S2Shape *b, S2Pose pose_b, double reach,
                S2Manifold *manifold);

// Updates the gap, normal and point of the same features for other poses, without a search. Steps
// use this to check that a known contact is still valid after the bodies have moved. A
// VERTEX_VERTEX point keeps the sign of its normal even if the cores have passed each other.
void s2_manifold_point_update(S2ManifoldPoint *point, const S2Shape *a, S2Pose pose_a,
                              const S2Shape *b, S2Pose pose_b);

// Finds the features that belong to an id. Call s2_manifold_point_update to compute the point.
S2ManifoldPoint s2_manifold_point_of(uint32_t id, const S2Shape *a, const S2Shape *b);
// For each shape, returns the index of the edge in the feature, or of the vertex if that shape has
// no edge in it.
void s2_manifold_indices(uint32_t id, int *in_a, int *in_b);

typedef struct S2Closest {
  double distance; // m; if the shapes overlap, minus the length of the shortest translation that
                   // separates them
  S2Vec2 point_a;  // point on the surface of a, world
  S2Vec2 point_b;  // point on the surface of b, world
  S2Vec2 normal;   // unit vector from b to a
} S2Closest;

S2Closest s2_closest(const S2Shape *a, S2Pose pose_a, const S2Shape *b, S2Pose pose_b);

typedef struct S2RayHit {
  bool hit;
  double fraction; // position of the hit, 0..1 along from -> to
  S2Vec2 point;
  S2Vec2 normal;   // outward unit normal; for a line, on the side of the ray's start
  bool on_surface; // the ray starts on the surface or runs along a segment, so a small displacement
                   // may change the hit
} S2RayHit;

// A ray may start on a surface, or below it by at most this fraction of the shape's size. If such a
// ray points inwards, it hits at fraction 0. Steps leave overlaps between bodies of that size that
// are a hundred times smaller (S2_PROJECTION_TRIGGER).
#define S2_RAY_SURFACE 1e-7

// A ray that starts deeper inside a shape does not hit that shape. A segment without a radius has
// no inside: a ray that starts on it hits it, unless the ray runs along it. A ray in line with a
// segment hits the nearer end.
S2RayHit s2_shape_raycast(const S2Shape *shape, S2Pose pose, S2Vec2 from, S2Vec2 to);

// ---- Broad phase ------------------------------------------------------------------------------

// A balanced tree of boxes that is refitted as the boxes move. It is stored in plain arrays of
// indices, so copying the arrays makes a snapshot. The pairs depend only on the boxes, never on the
// shape of the tree.
typedef struct S2Broadphase S2Broadphase;

typedef struct S2Pair {
  int32_t a, b; // numbers of the two proxies, a < b
} S2Pair;

S2Broadphase *s2_broadphase_new(void);
void s2_broadphase_free(S2Broadphase *broadphase);

// The caller numbers the proxies with small non-negative integers (shape indices). Only `active`
// proxies look for partners; two inactive (static) proxies never form a pair.
void s2_broadphase_set(S2Broadphase *broadphase, int32_t proxy, S2Box box, bool active);
void s2_broadphase_remove(S2Broadphase *broadphase, int32_t proxy);
// Restricts s2_broadphase_pairs to pairs with a proxy that searches. By default, active proxies
// search. Both pairs of two inactive proxies and pairs of two proxies that do not search are left
// out. Images do not store this.
typedef enum S2ProxySearch {
  S2_SEARCH_IF_ACTIVE,
  S2_SEARCH_NEVER,
  S2_SEARCH_ALWAYS,
} S2ProxySearch;
void s2_broadphase_restrict(S2Broadphase *broadphase, int32_t proxy, S2ProxySearch search);

// Finds all pairs whose boxes overlap or touch, sorted by (a, b). The result is in `arena`.
int s2_broadphase_pairs(S2Broadphase *broadphase, S2Arena *arena, S2Pair **pairs);

// Finds the same pairs by testing all pairs of boxes. Tests use it as a reference.
int s2_broadphase_pairs_brute(const S2Broadphase *broadphase, S2Arena *arena, S2Pair **pairs);

// Returns the box around all boxes, or an empty box (lo above hi) if there are none.
S2Box s2_broadphase_bounds(const S2Broadphase *broadphase);

// Calls visit(user, proxy) for each proxy whose box overlaps `box`, in ascending order of the
// proxies. Stops if visit returns false.
typedef bool S2ProxyVisit(void *user, int32_t proxy);
void s2_broadphase_query(const S2Broadphase *broadphase, S2Box box, S2Arena *arena,
                         S2ProxyVisit *visit, void *user);

// Functions to copy the whole tree to and from a flat buffer. They return its size in bytes, write
// it, and read it. Reading replaces the contents of the tree.
size_t s2_broadphase_image_size(const S2Broadphase *broadphase);
void s2_broadphase_image_write(const S2Broadphase *broadphase, void *image);
void s2_broadphase_image_read(S2Broadphase *broadphase, const void *image, size_t size);

#endif
