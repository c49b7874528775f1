#include "peers/accuracy.h"

#include "collide/collide.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct Placed {
  S2Vec2 corner[4];
  S2Shape shape;
  S2Pose pose;
  S2Box box;
  bool fixed;
} Placed;

static void place_body(Placed *placed, const PeerBody *body, const PeerMotion *motion) {
  double w = body->half[0], h = body->half[1];
  const S2Vec2 corners[4] = {{-w, -h}, {w, -h}, {w, h}, {-w, h}};
  for (int i = 0; i < 4; i++) {
    placed->corner[i] = body->radius > 0 ? s2_vec2(0, 0) : corners[i];
  }
  placed->shape = (S2Shape){
      .vertices = placed->corner, .count = body->radius > 0 ? 1 : 4, .radius = body->radius};
  placed->pose = s2_pose(motion->angle, motion->x, motion->y);
  placed->box = s2_shape_box(&placed->shape, placed->pose);
  placed->fixed = body->mass <= 0;
}

static int compare_left(const void *a, const void *b) {
  const Placed *const *x = a, *const *y = b;
  return ((*x)->box.lo.x > (*y)->box.lo.x) - ((*x)->box.lo.x < (*y)->box.lo.x);
}

double peer_overlap(const PeerScene *scene, const PeerMotion *motion) {
  if (!scene->collides) {
    return NAN;
  }
  size_t n = (size_t)scene->bodies;
  Placed *placed = calloc(n + 1, sizeof *placed), **order = calloc(n + 1, sizeof(Placed *));
  if (placed == NULL || order == NULL) {
    fprintf(stderr, "benchmark: out of memory\n");
    exit(1);
  }
  for (size_t i = 0; i < n; i++) {
    place_body(&placed[i], &scene->body[i], &motion[i]);
    order[i] = &placed[i];
  }
  qsort(order, n, sizeof(Placed *), compare_left);

  // From left to right: a body that begins to the right of the end of another cannot meet it.
  double deepest = 0;
  for (size_t i = 0; i < n; i++) {
    const Placed *a = order[i];
    for (size_t j = i + 1; j < n && order[j]->box.lo.x <= a->box.hi.x; j++) {
      const Placed *b = order[j];
      if (!(a->fixed && b->fixed) && s2_box_overlap(a->box, b->box)) {
        double gap = s2_closest(&a->shape, a->pose, &b->shape, b->pose).distance;
        deepest = fmax(deepest, -gap);
      }
    }
  }
  free(placed);
  free(order);
  return deepest;
}

// The present place of the anchor of a hinge on body i; an anchor on the world does not move.
static S2Vec2 anchor_now(const PeerScene *scene, const PeerMotion *motion, int i, S2Vec2 anchor) {
  if (i < 0) {
    return anchor;
  }
  const PeerBody *body = &scene->body[i];
  S2Vec2 local = s2_pose_local(s2_pose(body->angle, body->x, body->y), anchor);
  return s2_pose_point(s2_pose(motion[i].angle, motion[i].x, motion[i].y), local);
}

double peer_joint_error(const PeerScene *scene, const PeerMotion *motion) {
  double worst = scene->hinges > 0 ? 0 : NAN;
  for (int i = 0; i < scene->hinges; i++) {
    const PeerHinge *hinge = &scene->hinge[i];
    S2Vec2 anchor = s2_vec2(hinge->x, hinge->y);
    S2Vec2 apart = s2_sub(anchor_now(scene, motion, hinge->a, anchor),
                          anchor_now(scene, motion, hinge->b, anchor));
    worst = fmax(worst, s2_length(apart));
  }
  return worst;
}

double peer_energy(const PeerScene *scene, const PeerMotion *motion) {
  double energy = 0;
  for (int i = 0; i < scene->bodies; i++) {
    const PeerBody *body = &scene->body[i];
    const PeerMotion *m = &motion[i];
    energy += body->mass * ((m->vx * m->vx + m->vy * m->vy) / 2 - scene->gravity * m->y) +
              body->inertia * m->omega * m->omega / 2;
  }
  return energy;
}

double peer_fastest(const PeerScene *scene, const PeerMotion *motion) {
  double fastest = 0;
  for (int i = 0; i < scene->bodies; i++) {
    if (scene->body[i].mass > 0) {
      fastest = fmax(fastest, hypot(motion[i].vx, motion[i].vy));
    }
  }
  return fastest;
}
