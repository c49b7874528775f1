// Step times of a slack bridge of 100 hinged links. If Chipmunk was found at build time, it steps
// the same scene in the same run.
//
//   bench_bridge
//
// The links are 1 x 0.25 m and start as a V of two straight halves, 80 m from anchor to anchor;
// they do not touch each other. dt is 1/60 s; 600 steps are measured after 300 others. The engines
// alternate every 50 steps, so that both have the same load of the machine. Chipmunk makes 10
// iterations per step, its default. The joint error of both is the largest distance between anchors
// in all measured steps.
#include "bench.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#ifdef S2_HAVE_CHIPMUNK
#include <chipmunk/chipmunk.h>
#endif

enum { LINKS = 100, SETTLE = 300, MEASURE = 600, TURN = 50 };
static const double DT = 1.0 / 60;          // s
static const double HALF[2] = {0.5, 0.125}; // m, half the size of a link
static const double SLOPE[2] = {0.8, -0.6}; // direction of the first half of the V
static const double GRAVITY = -10;          // m/s^2
static const double BAR = 3;                // limit of the ratio of sim2d's step time to Chipmunk's

typedef struct Times {
  double ms[MEASURE];
  int count;
  double joint_error; // m
} Times;

// The start of link i.
static S2Vec2 knot(int i) {
  return s2_vec2(SLOPE[0] * i, SLOPE[1] * (i <= LINKS / 2 ? i : LINKS - i));
}

static double angle(int i) {
  return (i < LINKS / 2 ? 1 : -1) * atan2(SLOPE[1], SLOPE[0]);
}

static S2World *build(void) {
  S2WorldDef world_def = s2_world_def();
  world_def.gravity = s2_vec2(0, GRAVITY);
  world_def.dt = DT;
  S2World *world;
  world_def.profile = true;
  must(s2_world_create(&world_def, &world));
  const S2Vec2 corners[4] = {
      {-HALF[0], -HALF[1]}, {HALF[0], -HALF[1]}, {HALF[0], HALF[1]}, {-HALF[0], HALF[1]}};
  S2ShapeDef shape = {
      .vertices = corners, .count = 4, .friction = NAN, .restitution = NAN, .density = NAN};
  S2BodyId last = {0, 0};
  for (int i = 0; i <= LINKS; i++) {
    S2BodyId link = {0, 0};
    if (i < LINKS) {
      S2BodyDef def = s2_body_def();
      def.position = s2_scale(0.5, s2_add(knot(i), knot(i + 1)));
      def.angle = angle(i);
      def.density = 1;
      def.mask = 0;
      def.shapes = &shape;
      def.shape_count = 1;
      must(s2_body_create(world, &def, &link));
    }
    S2JointDef hinge = s2_joint_def(S2_HINGE);
    hinge.a = i < LINKS ? link : last;
    hinge.b = i < LINKS ? last : link;
    hinge.anchor_a = knot(i);
    S2JointId id;
    must(s2_joint_create(world, &hinge, &id));
    last = link;
  }
  return world;
}

static void step(S2World *world, Times *times) {
  double start = bench_wall_ms();
  must(s2_world_step(world));
  if (times != NULL) {
    times->ms[times->count++] = bench_wall_ms() - start;
    times->joint_error = fmax(times->joint_error, s2_world_residuals(world).joint_error);
  }
}

#ifdef S2_HAVE_CHIPMUNK
typedef struct Rival {
  cpSpace *space;
  cpBody *body[LINKS];
  cpShape *shape[LINKS];
  cpConstraint *pivot[LINKS + 1];
} Rival;

static Rival rival_build(void) {
  Rival rival = {.space = cpSpaceNew()};
  cpSpaceSetGravity(rival.space, cpv(0, GRAVITY));
  double width = 2 * HALF[0], height = 2 * HALF[1], mass = width * height;
  for (int i = 0; i < LINKS; i++) {
    S2Vec2 middle = s2_scale(0.5, s2_add(knot(i), knot(i + 1)));
    rival.body[i] =
        cpSpaceAddBody(rival.space, cpBodyNew(mass, cpMomentForBox(mass, width, height)));
    cpBodySetPosition(rival.body[i], cpv(middle.x, middle.y));
    cpBodySetAngle(rival.body[i], angle(i));
    rival.shape[i] = cpSpaceAddShape(rival.space, cpBoxShapeNew(rival.body[i], width, height, 0));
    cpShapeSetFilter(rival.shape[i], cpShapeFilterNew(1, CP_ALL_CATEGORIES, CP_ALL_CATEGORIES));
  }
  cpBody *ground = cpSpaceGetStaticBody(rival.space);
  for (int i = 0; i <= LINKS; i++) {
    S2Vec2 at = knot(i);
    rival.pivot[i] = cpPivotJointNew(i > 0 ? rival.body[i - 1] : ground,
                                     i < LINKS ? rival.body[i] : ground, cpv(at.x, at.y));
    cpConstraintSetCollideBodies(rival.pivot[i], cpFalse);
    cpSpaceAddConstraint(rival.space, rival.pivot[i]);
  }
  return rival;
}

static void rival_free(Rival *rival) {
  for (int i = 0; i <= LINKS; i++) {
    cpSpaceRemoveConstraint(rival->space, rival->pivot[i]);
    cpConstraintFree(rival->pivot[i]);
  }
  for (int i = 0; i < LINKS; i++) {
    cpSpaceRemoveShape(rival->space, rival->shape[i]);
    cpShapeFree(rival->shape[i]);
    cpSpaceRemoveBody(rival->space, rival->body[i]);
    cpBodyFree(rival->body[i]);
  }
  cpSpaceFree(rival->space);
}

static void rival_step(Rival *rival, Times *times) {
  double start = bench_wall_ms();
  cpSpaceStep(rival->space, DT);
  if (times == NULL) {
    return;
  }
  times->ms[times->count++] = bench_wall_ms() - start;
  for (int i = 0; i <= LINKS; i++) {
    cpConstraint *pivot = rival->pivot[i];
    cpVect a = cpBodyLocalToWorld(cpConstraintGetBodyA(pivot), cpPivotJointGetAnchorA(pivot));
    cpVect b = cpBodyLocalToWorld(cpConstraintGetBodyB(pivot), cpPivotJointGetAnchorB(pivot));
    times->joint_error = fmax(times->joint_error, cpvdist(a, b));
  }
}
#endif

static int compare(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

// Returns the median, ms.
static double report(const char *name, Times *times) {
  qsort(times->ms, (size_t)times->count, sizeof(double), compare);
  double median = times->ms[times->count / 2];
  printf("%-12s %8.4f %8.4f %12.1e\n", name, median, times->ms[times->count * 9 / 10],
         times->joint_error);
  return median;
}

int main(void) {
  Times ours = {0};
  S2World *world = build();
  for (int i = 0; i < SETTLE; i++) {
    step(world, NULL);
  }
#ifdef S2_HAVE_CHIPMUNK
  Times theirs = {0};
  Rival rival = rival_build();
  for (int i = 0; i < SETTLE; i++) {
    rival_step(&rival, NULL);
  }
#endif
  while (ours.count < MEASURE) {
    for (int i = 0; i < TURN; i++) {
      step(world, &ours);
    }
#ifdef S2_HAVE_CHIPMUNK
    for (int i = 0; i < TURN; i++) {
      rival_step(&rival, &theirs);
    }
#endif
  }
  const S2WorldStats *stats = s2_world_stats(world);
  printf("%-12s %8s %8s %12s\n", "ms a step", "median", "p90", "joint error");
  double median = report("sim2d", &ours);
#ifdef S2_HAVE_CHIPMUNK
  double peer = report("Chipmunk", &theirs);
  printf("ratio %.1f, limit %.0f\n", median / peer, BAR);
  rival_free(&rival);
#else
  (void)median;
  printf("Chipmunk was not found at build time: no ratio (limit %.0f)\n", BAR);
#endif
  printf(
      "sim2d: worst residual %.1e, %llu solves missed the tolerance; %.2f factorisations and %.2f "
      "projections a step, %.4f ms in solves, %.4f in projections\n",
      stats->worst_scaled, (unsigned long long)stats->unsolved,
      (double)stats->iterations / (SETTLE + MEASURE),
      (double)stats->projections / (SETTLE + MEASURE),
      1e3 * stats->seconds_solve / (SETTLE + MEASURE),
      1e3 * stats->seconds_project / (SETTLE + MEASURE));
  s2_world_destroy(world);
  return 0;
}
