// Plane vectors, rotations and poses.
#ifndef S2_VEC_H
#define S2_VEC_H

#include "base/sincos.h"

#include <math.h>

typedef struct S2Vec2 {
  double x, y;
} S2Vec2;

typedef struct S2Rot {
  double c, s; // cosine and sine
} S2Rot;

typedef struct S2Pose { // a point of the body frame p goes to position + R p
  S2Vec2 position;      // m
  S2Rot rotation;
} S2Pose;

typedef struct S2Box { // axis-aligned
  S2Vec2 lo, hi;
} S2Box;

static inline S2Vec2 s2_vec2(double x, double y) {
  return (S2Vec2){x, y};
}
static inline S2Vec2 s2_add(S2Vec2 a, S2Vec2 b) {
  return (S2Vec2){a.x + b.x, a.y + b.y};
}
static inline S2Vec2 s2_sub(S2Vec2 a, S2Vec2 b) {
  return (S2Vec2){a.x - b.x, a.y - b.y};
}
static inline S2Vec2 s2_neg(S2Vec2 a) {
  return (S2Vec2){-a.x, -a.y};
}
static inline S2Vec2 s2_scale(double k, S2Vec2 a) {
  return (S2Vec2){k * a.x, k * a.y};
}
static inline S2Vec2 s2_add_scaled(S2Vec2 a, double k, S2Vec2 b) {
  return (S2Vec2){a.x + k * b.x, a.y + k * b.y};
}
static inline double s2_dot(S2Vec2 a, S2Vec2 b) {
  return a.x * b.x + a.y * b.y;
}
static inline double s2_cross(S2Vec2 a, S2Vec2 b) {
  return a.x * b.y - a.y * b.x;
}
static inline double s2_length2(S2Vec2 a) {
  return a.x * a.x + a.y * a.y;
}
static inline double s2_length(S2Vec2 a) {
  return sqrt(a.x * a.x + a.y * a.y);
}
static inline S2Vec2 s2_left(S2Vec2 a) {
  return (S2Vec2){-a.y, a.x};
} // turned by +90 degrees
static inline S2Vec2 s2_right(S2Vec2 a) {
  return (S2Vec2){a.y, -a.x};
} // turned by -90 degrees

static inline S2Rot s2_rot(double angle) {
  S2Rot rot;
  s2_sincos(angle, &rot.s, &rot.c);
  return rot;
}
static inline S2Vec2 s2_rotate(S2Rot r, S2Vec2 p) {
  return (S2Vec2){r.c * p.x - r.s * p.y, r.s * p.x + r.c * p.y};
}
static inline S2Vec2 s2_unrotate(S2Rot r, S2Vec2 p) {
  return (S2Vec2){r.c * p.x + r.s * p.y, -r.s * p.x + r.c * p.y};
}

static inline S2Pose s2_pose(double angle, double x, double y) {
  return (S2Pose){{x, y}, s2_rot(angle)};
}
static inline S2Vec2 s2_pose_point(S2Pose pose, S2Vec2 p) {
  return s2_add(pose.position, s2_rotate(pose.rotation, p));
}
static inline S2Vec2 s2_pose_local(S2Pose pose, S2Vec2 p) {
  return s2_unrotate(pose.rotation, s2_sub(p, pose.position));
}

static inline int s2_box_overlap(S2Box a, S2Box b) {
  return a.lo.x <= b.hi.x && b.lo.x <= a.hi.x && a.lo.y <= b.hi.y && b.lo.y <= a.hi.y;
}

#endif
