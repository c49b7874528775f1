// The scenes in Chipmunk: 10 iterations and a slop of 0.1 m, its defaults; by default bodies do not
// sleep.
#include "peers/engine.h"

#ifdef S2_HAVE_CHIPMUNK
#include "bench.h"

#include <chipmunk/chipmunk.h>
#include <math.h>

typedef struct ChipmunkWorld {
  cpSpace *space;
  cpBody **body;
  cpShape **shape;
  cpConstraint **pivot;
  int bodies, hinges;
  double dt;
} ChipmunkWorld;

static void chipmunk_body(ChipmunkWorld *it, int i, const PeerScene *scene) {
  const PeerBody *of = &scene->body[i];
  bool fixed = of->mass <= 0;
  cpBody *body = fixed ? cpBodyNewStatic() : cpBodyNew(of->mass, of->inertia);
  it->body[i] = cpSpaceAddBody(it->space, body);
  cpBodySetPosition(body, cpv(of->x, of->y));
  cpBodySetAngle(body, of->angle);
  cpShape *shape = of->radius > 0 ? cpCircleShapeNew(body, of->radius, cpvzero)
                                  : cpBoxShapeNew(body, 2 * of->half[0], 2 * of->half[1], 0);
  cpShapeSetFriction(shape, sqrt(scene->friction)); // Chipmunk multiplies both
  cpShapeSetElasticity(shape, 0);
  if (!scene->collides) {
    cpShapeSetFilter(shape, cpShapeFilterNew(1, CP_ALL_CATEGORIES, CP_ALL_CATEGORIES));
  }
  it->shape[i] = cpSpaceAddShape(it->space, shape);
}

static void *chipmunk_build(const PeerScene *scene) {
  ChipmunkWorld *it = take(1, sizeof *it);
  it->space = cpSpaceNew();
  it->dt = scene->dt;
  it->bodies = scene->bodies;
  it->hinges = scene->hinges;
  it->body = take((size_t)scene->bodies, sizeof(cpBody *));
  it->shape = take((size_t)scene->bodies, sizeof(cpShape *));
  it->pivot = take((size_t)scene->hinges, sizeof(cpConstraint *));
  cpSpaceSetGravity(it->space, cpv(0, scene->gravity));
  for (int i = 0; i < scene->bodies; i++) {
    chipmunk_body(it, i, scene);
  }
  for (int i = 0; i < scene->hinges; i++) {
    const PeerHinge *hinge = &scene->hinge[i];
    cpBody *b = hinge->b < 0 ? cpSpaceGetStaticBody(it->space) : it->body[hinge->b];
    it->pivot[i] = cpPivotJointNew(it->body[hinge->a], b, cpv(hinge->x, hinge->y));
    cpConstraintSetCollideBodies(it->pivot[i], cpFalse);
    cpSpaceAddConstraint(it->space, it->pivot[i]);
  }
  return it;
}

static void chipmunk_step(void *world) {
  ChipmunkWorld *it = world;
  cpSpaceStep(it->space, it->dt);
}

static void chipmunk_look(void *world, PeerMotion *motion) {
  ChipmunkWorld *it = world;
  for (int i = 0; i < it->bodies; i++) {
    cpBody *body = it->body[i];
    cpVect at = cpBodyGetPosition(body), v = cpBodyGetVelocity(body);
    motion[i] =
        (PeerMotion){at.x, at.y, cpBodyGetAngle(body), v.x, v.y, cpBodyGetAngularVelocity(body)};
  }
}

static void chipmunk_end(void *world) {
  ChipmunkWorld *it = world;
  for (int i = 0; i < it->hinges; i++) {
    cpSpaceRemoveConstraint(it->space, it->pivot[i]);
    cpConstraintFree(it->pivot[i]);
  }
  for (int i = 0; i < it->bodies; i++) {
    cpSpaceRemoveShape(it->space, it->shape[i]);
    cpShapeFree(it->shape[i]);
    cpSpaceRemoveBody(it->space, it->body[i]);
    cpBodyFree(it->body[i]);
  }
  cpSpaceFree(it->space);
  free(it->body);
  free(it->shape);
  free(it->pivot);
  free(it);
}

// A debugging build, such as Debian's, writes two lines when its first space is made: here, before
// the table begins.
static const char *chipmunk_version(void) {
  cpSpaceFree(cpSpaceNew());
  return cpVersionString;
}

const PeerEngine peer_chipmunk = {.name = "Chipmunk",
                                  .version = chipmunk_version,
                                  .build = chipmunk_build,
                                  .step = chipmunk_step,
                                  .look = chipmunk_look,
                                  .end = chipmunk_end};
#endif
