// Collision: finds the pairs that may touch, and their contact points. It uses shapes and poses,
// but no bodies and no physics.
#ifndef S2_COLLIDE_H
#define S2_COLLIDE_H

#include "base/arena.h"
#include "base/vec.h"
#include "shape/shape.h"

#include <stdint.h>

// ---- Narrow phase -----------------------------------------------------------------------------

// The feature that determines how the gap of a point depends on the two poses. Only these features
// occur in the plane.
typedef enum S2Feature {
  S2_VERTEX_VERTEX, // gap = |pa - pb| - ra - rb
  S2_EDGE_A,        // b's vertex against an edge of a: gap along the edge's normal
  S2_EDGE_B,        // a's vertex against an edge of b
} S2Feature;

typedef struct S2ManifoldPoint {
  S2Feature feature;
  uint32_t id;    // contains vertex and edge indices: equal ids in two steps mean the same contact
  S2Vec2 local_a; // core point in the frame of a: a vertex or a point of the edge
  S2Vec2 local_b;
  S2Vec2 local_normal; // EDGE_A: outward unit normal of a's edge in a's frame; EDGE_B: the same for
                       // b; VERTEX_VERTEX: unused
  S2Vec2 normal;       // unit vector, world axes, from b to a
  S2Vec2 point;        // midway between the two surfaces, world axes, RELATIVE TO THE POSITION OF a
  double gap;          // m, along the normal; negative when overlapping
} S2ManifoldPoint;

typedef struct S2Manifold {
  int count; // number of points: 0, 1 or 2
  S2ManifoldPoint points[2];
} S2Manifold;

// Finds the contact points of two shapes with gaps of at most `reach` (m, >= 0). The gap is the
// exact distance while the cores are apart; otherwise it is minus the least overlap. All arithmetic
// is relative to pose_a, so it is accurate far from the origin. Swapping a and b gives the mirrored
// manifold.
void s2_collide(const S2Shape *a, S2Pose pose_a, const S2Shape *b, S2Pose pose_b, double reach,
                S2Manifold *manifold);

// Recomputes gap, normal and point of the same features at other poses, without a search. A step
// uses this to check whether a known contact is still valid after the bodies have moved. `point` is
// updated in place. A VERTEX_VERTEX pair keeps the sign of its normal even if the cores have passed
// each other.
void s2_manifold_point_update(S2ManifoldPoint *point, const S2Shape *a, S2Pose pose_a,
                              const S2Shape *b, S2Pose pose_b);

// Decodes the features of an id; s2_manifold_point_update then computes the point.
S2ManifoldPoint s2_manifold_point_of(uint32_t id, const S2Shape *a, const S2Shape *b);
// For each shape: the index of the edge that is part of the feature, or of the vertex if the
// feature has no edge of that shape.
void s2_manifold_indices(uint32_t id, int *in_a, int *in_b);

typedef struct S2Closest {
  double distance; // m; if negative, the length of the least translation that separates the shapes
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
  bool on_surface; // the ray began on the surface, or ran along a segment, so a small displacement
                   // may change the hit
} S2RayHit;

// A ray that begins on a surface, or below it by at most this fraction of the shape's size, hits at
// fraction 0 if it points inwards. This tolerance is a hundred times the overlap that a step leaves
// between bodies of that size (S2_PROJECTION_TRIGGER).
#define S2_RAY_SURFACE 1e-7

// A ray that begins deeper inside a shape does not hit that shape. A segment without a radius has
// no inside: a ray that begins on the segment hits it unless the ray runs along it. A ray in line
// with a segment hits the nearer end of the segment.
S2RayHit s2_shape_raycast(const S2Shape *shape, S2Pose pose, S2Vec2 from, S2Vec2 to);

// ---- Broad phase ------------------------------------------------------------------------------

// A balanced tree of boxes, which is refitted as the boxes move. The tree is stored in plain arrays
// of indices, so a snapshot is a copy of the arrays. The pairs depend only on the boxes, never on
// the shape of the tree.
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

// Finds all pairs whose boxes overlap or touch, sorted by (a, b). The result is in `arena`.
int s2_broadphase_pairs(S2Broadphase *broadphase, S2Arena *arena, S2Pair **pairs);

// Finds the same pairs by testing all pairs of boxes; a reference for tests.
int s2_broadphase_pairs_brute(const S2Broadphase *broadphase, S2Arena *arena, S2Pair **pairs);

// The box around all boxes; empty (lo above hi) if there are no boxes.
S2Box s2_broadphase_bounds(const S2Broadphase *broadphase);

// Calls visit(user, proxy) for each proxy whose box overlaps `box`, in ascending order of proxy.
// Stops when visit returns false.
typedef bool S2ProxyVisit(void *user, int32_t proxy);
void s2_broadphase_query(const S2Broadphase *broadphase, S2Box box, S2Arena *arena,
                         S2ProxyVisit *visit, void *user);

// Copies the whole tree to and from a flat buffer: size in bytes, write, and read (which replaces
// the contents).
size_t s2_broadphase_image_size(const S2Broadphase *broadphase);
void s2_broadphase_image_write(const S2Broadphase *broadphase, void *image);
void s2_broadphase_image_read(S2Broadphase *broadphase, const void *image, size_t size);

#endif
