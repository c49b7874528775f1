// Step times of small worlds in motion: one alone, a thousand in turn, and a thousand together
// (s2_worlds_step_many, marked by |), compared with Chipmunk's.
//
//   bench_small [NAME ...]     all scenes, or those whose name starts so
//
// sim2d and Chipmunk run in turn, in blocks, on one thread; the medians of blocks are printed, so
// that their ratio belongs to one run. Chipmunk solves with 10 iterations, its default; it is
// included where it was found at build time (Debian: chipmunk-dev).
#include "bench.h"

#include <math.h>
#include <string.h>
#ifdef S2_HAVE_CHIPMUNK
#include <chipmunk/chipmunk.h>
#endif

enum { WORLDS = 1000, BLOCKS = 31, SETTLE = 20 };
enum { ALONE_STEPS = 2000, MANY_STEPS = 4 };      // steps per block
static const double DT = 1.0 / 60, GRAVITY = -10; // s, m/s^2
static const double FAR = 200;                    // m, half the length of the floor

typedef struct Scene {
  const char *name;
  double dt;
  void (*build)(S2World *world, double u); // u in -1 .. 1 varies the world
#ifdef S2_HAVE_CHIPMUNK
  void (*rival)(cpSpace *space, double u); // NULL: not measured
#endif
  void (*act)(S2World *world, uint64_t *random); // before each step; NULL: nothing
} Scene;

// ---- Ours -------------------------------------------------------------------------------------

static S2BodyId box(S2World *world, double x, double y, double angle, double w, double h,
                    double mass, uint32_t mask) {
  const S2Vec2 v[4] = {{-w / 2, -h / 2}, {w / 2, -h / 2}, {w / 2, h / 2}, {-w / 2, h / 2}};
  S2ShapeDef shape = {
      .vertices = v, .count = 4, .friction = NAN, .restitution = NAN, .density = NAN};
  S2BodyDef def = s2_body_def();
  def.position = s2_vec2(x, y);
  def.angle = angle;
  def.mass = mass;
  def.friction = 0.5;
  def.mask = mask;
  def.shapes = &shape;
  def.shape_count = 1;
  S2BodyId id;
  must(s2_body_create(world, &def, &id));
  return id;
}

static void disc(S2World *world, double y, double restitution) {
  const S2Vec2 v = {0, 0};
  S2ShapeDef shape = {.vertices = &v,
                      .count = 1,
                      .radius = 0.2,
                      .friction = NAN,
                      .restitution = NAN,
                      .density = NAN};
  S2BodyDef def = s2_body_def();
  def.position = s2_vec2(0, y);
  def.velocity = s2_vec2(1, 0);
  def.mass = 1;
  def.restitution = restitution;
  def.shapes = &shape;
  def.shape_count = 1;
  S2BodyId id;
  must(s2_body_create(world, &def, &id));
}

static void ground(S2World *world, double friction, double restitution) {
  const S2Vec2 v[4] = {{-FAR, -2}, {FAR, -2}, {FAR, 0}, {-FAR, 0}};
  S2ShapeDef shape = {
      .vertices = v, .count = 4, .friction = NAN, .restitution = NAN, .density = NAN};
  S2BodyDef def = s2_body_def();
  def.type = S2_STATIC;
  def.friction = friction;
  def.restitution = restitution;
  def.shapes = &shape;
  def.shape_count = 1;
  S2BodyId id;
  must(s2_body_create(world, &def, &id));
}

static S2JointId joint(S2World *world, S2JointType type, S2BodyId a, S2BodyId b, double x,
                       double y) {
  S2JointDef def = s2_joint_def(type);
  def.a = a;
  def.b = b;
  def.anchor_a = s2_vec2(x, y);
  def.axis = s2_vec2(1, 0);
  S2JointId id;
  must(s2_joint_create(world, &def, &id));
  return id;
}

static const S2BodyId none = {0, 0};

static void cart_pole(S2World *world, double u) {
  double a = 0.5 * u;
  S2BodyId cart = box(world, 0, 0, 0, 0.5, 0.3, 1, 0);
  S2BodyId pole = box(world, -0.5 * sin(a), 0.5 * cos(a), a, 0.1, 1, 0.1, 0);
  joint(world, S2_SLIDER, cart, none, 0, 0);
  joint(world, S2_HINGE, pole, cart, 0, 0);
}

static void pendulum(S2World *world, double u) {
  double a = 1.5 + 0.5 * u;
  S2BodyId one = box(world, 0.5 * cos(a), 0.5 * sin(a), a, 1, 0.1, 1, 0);
  S2BodyId two = box(world, 1.5 * cos(a), 1.5 * sin(a), a, 1, 0.1, 1, 0);
  joint(world, S2_HINGE, one, none, 0, 0);
  joint(world, S2_HINGE, two, one, cos(a), sin(a));
}

static void chain(S2World *world, double u) {
  double x = 0, y = 0, length = 0.4;
  S2BodyId last = none;
  for (int k = 0; k < 6; k++) {
    double a = 0.2 + 0.15 * u + (k % 2 == 1 ? 0.5 : -0.5) * (1 + 0.15 * u);
    S2BodyId id = box(world, x + length / 2 * cos(a), y + length / 2 * sin(a), a, length, 0.1,
                      1 + 0.5 * k, 0);
    must(s2_body_set(world, id, S2_BODY_OMEGA, u * (k - 2.5)));
    if (k > 0) {
      joint(world, S2_HINGE, id, last, x, y);
    }
    last = id;
    x += length * cos(a);
    y += length * sin(a);
  }
}

static void ball(S2World *world, double u) {
  ground(world, 0.5, 1);
  disc(world, 0.8 + 0.5 * u, 1);
}

static void resting_box(S2World *world, double u) {
  ground(world, 0.5, 0);
  box(world, u, 0.25, 0, 0.5, 0.5, 1, UINT32_MAX);
}

// A box without friction, which bounces for ever.
static void thrown_box(S2World *world, double u) {
  ground(world, 0, 1);
  S2BodyId id = box(world, 0, 1 + 0.3 * u, u, 0.5, 0.5, 1, UINT32_MAX);
  must(s2_body_set(world, id, S2_BODY_RESTITUTION, 1));
  must(s2_body_set(world, id, S2_BODY_FRICTION, 0));
  must(s2_body_set_v(world, id, (const double[3]){3 * u, 1, 2}));
}

// Foot, leg, thigh and torso (the sizes of Gym's hopper), which touch the floor only.
enum { PARTS = 4, FLOOR = 1, PART = 2 };
static const double parts[PARTS][5] = { // x, y, width, height, mass
    {0, 0.03, 0.39, 0.06, 5.1},
    {-0.065, 0.28, 0.08, 0.5, 2.7},
    {-0.065, 0.755, 0.1, 0.45, 3.9},
    {-0.065, 1.18, 0.1, 0.4, 3.5}};

static void stand_hopper(S2World *world, double u, bool limited) {
  const double z = 0.05 + 0.03 * u, hip[PARTS] = {0, z + 0.03, z + 0.53, z + 0.98};
  static const double limits[PARTS][2] = {{0, 0}, {-0.78, 0.78}, {-0.1, 2.6}, {-2.6, 0.1}};
  S2BodyId last = none;
  ground(world, 0.9, 0);
  must(s2_body_set(world, s2_world_body(world, 0), S2_BODY_CATEGORY, FLOOR));
  for (int i = 0; i < PARTS; i++) {
    const double *of = parts[i];
    S2BodyId id = box(world, of[0], of[1] + z, 0, of[2], of[3], of[4], FLOOR);
    must(s2_body_set(world, id, S2_BODY_CATEGORY, PART));
    if (i > 0) {
      S2JointId hinge = joint(world, S2_HINGE, id, last, -0.065, hip[i]);
      if (limited) {
        must(s2_joint_set_limits(world, hinge, limits[i][0], limits[i][1]));
      }
    }
    last = id;
  }
}

// A cart-pole that may touch a floor 2 m below.
static void floor_cart_pole(S2World *world, double u) {
  double a = 0.5 * u;
  ground(world, 0.5, 0);
  must(s2_body_set(world, s2_world_body(world, 0), S2_BODY_CATEGORY, FLOOR));
  S2BodyId cart = box(world, 0, 2, 0, 0.5, 0.3, 1, FLOOR);
  S2BodyId pole = box(world, -0.5 * sin(a), 2 + 0.5 * cos(a), a, 0.1, 1, 0.1, FLOOR);
  must(s2_body_set(world, cart, S2_BODY_CATEGORY, PART));
  must(s2_body_set(world, pole, S2_BODY_CATEGORY, PART));
  joint(world, S2_SLIDER, cart, none, 0, 2);
  joint(world, S2_HINGE, pole, cart, 0, 2);
}

static void hopper(S2World *world, double u) {
  stand_hopper(world, u, false);
}

static void limited_hopper(S2World *world, double u) {
  stand_hopper(world, u, true);
}

// A hand on a slider pushes a box along the floor.
enum { HAND = 1 };

static void pushed_box(S2World *world, double u) {
  ground(world, 0.5, 0);
  S2BodyId hand = box(world, -0.6, 0.25, 0, 0.3, 0.1, 1, UINT32_MAX);
  joint(world, S2_SLIDER, hand, none, -0.6, 0.25);
  box(world, 0.1 * u, 0.25, 0, 0.5, 0.5, 1, UINT32_MAX);
}

static double uniform(uint64_t *random) { // -1 .. 1
  *random = *random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  return 2 * (double)(*random >> 11) * 0x1p-53 - 1;
}

// Small random torques; a fallen hopper is set upright again.
static void twitch(S2World *world, uint64_t *random) {
  const double most[3] = {3, 9, 9}, still[3] = {0, 0, 0};
  double q[3];
  must(s2_body_q(world, s2_world_body(world, PARTS), q));
  for (int i = 0; i < PARTS && (q[2] < 0.7 || fabs(q[0]) > 0.4); i++) {
    S2BodyId id = s2_world_body(world, i + 1);
    must(s2_body_set_q(world, id, (const double[3]){0, parts[i][0], parts[i][1] + 0.05}));
    must(s2_body_set_v(world, id, still));
  }
  for (int i = 0; i < 3; i++) {
    double torque = most[i] * uniform(random);
    must(s2_body_apply_torque(world, s2_world_body(world, i + 2), torque));
    must(s2_body_apply_torque(world, s2_world_body(world, i + 1), -torque));
  }
}

// A force of up to 12 N on the hand, and drag that keeps it slow.
static void push(S2World *world, uint64_t *random) {
  S2BodyId hand = s2_world_body(world, HAND);
  double v[3];
  must(s2_body_v(world, hand, v));
  double force = 6 + 6 * uniform(random) - 5 * v[1];
  must(s2_body_apply_force(world, hand, s2_vec2(force, 0), NULL));
}

// ---- Chipmunk's -------------------------------------------------------------------------------

#ifdef S2_HAVE_CHIPMUNK
static cpBody *rival_box(cpSpace *space, double x, double y, double angle, double w, double h,
                         double mass, bool collides) {
  cpBody *body = cpSpaceAddBody(space, cpBodyNew(mass, cpMomentForBox(mass, w, h)));
  cpBodySetPosition(body, cpv(x, y));
  cpBodySetAngle(body, angle);
  if (collides) {
    cpShapeSetFriction(cpSpaceAddShape(space, cpBoxShapeNew(body, w, h, 0)), 0.5);
  }
  return body;
}

static void rival_ground(cpSpace *space, double friction, double restitution) {
  cpShape *shape = cpSpaceAddShape(
      space, cpSegmentShapeNew(cpSpaceGetStaticBody(space), cpv(-FAR, 0), cpv(FAR, 0), 0));
  cpShapeSetFriction(shape, friction);
  cpShapeSetElasticity(shape, restitution);
}

static void rival_pivot(cpSpace *space, cpBody *a, cpBody *b, double x, double y) {
  cpSpaceAddConstraint(space,
                       cpPivotJointNew(a, b == NULL ? cpSpaceGetStaticBody(space) : b, cpv(x, y)));
}

static void rival_cart_pole(cpSpace *space, double u) {
  double a = 0.5 * u;
  cpBody *cart = rival_box(space, 0, 0, 0, 0.5, 0.3, 1, false);
  cpBody *pole = rival_box(space, -0.5 * sin(a), 0.5 * cos(a), a, 0.1, 1, 0.1, false);
  cpBody *still = cpSpaceGetStaticBody(space);
  cpSpaceAddConstraint(space, cpGrooveJointNew(still, cart, cpv(-FAR, 0), cpv(FAR, 0), cpv(0, 0)));
  cpSpaceAddConstraint(space, cpGearJointNew(still, cart, 0, 1));
  rival_pivot(space, pole, cart, 0, 0);
}

static void rival_pendulum(cpSpace *space, double u) {
  double a = 1.5 + 0.5 * u;
  cpBody *one = rival_box(space, 0.5 * cos(a), 0.5 * sin(a), a, 1, 0.1, 1, false);
  cpBody *two = rival_box(space, 1.5 * cos(a), 1.5 * sin(a), a, 1, 0.1, 1, false);
  rival_pivot(space, one, NULL, 0, 0);
  rival_pivot(space, two, one, cos(a), sin(a));
}

static void rival_ball(cpSpace *space, double u) {
  rival_ground(space, 0.5, 1);
  cpBody *body = cpSpaceAddBody(space, cpBodyNew(1, cpMomentForCircle(1, 0, 0.2, cpvzero)));
  cpBodySetPosition(body, cpv(0, 0.8 + 0.5 * u));
  cpBodySetVelocity(body, cpv(1, 0));
  cpShapeSetElasticity(cpSpaceAddShape(space, cpCircleShapeNew(body, 0.2, cpvzero)), 1);
}

static void rival_resting_box(cpSpace *space, double u) {
  rival_ground(space, 0.5, 0);
  rival_box(space, u, 0.25, 0, 0.5, 0.5, 1, true);
}

static void rival_thrown_box(cpSpace *space, double u) {
  rival_ground(space, 0, 1);
  cpBody *body = cpSpaceAddBody(space, cpBodyNew(1, cpMomentForBox(1, 0.5, 0.5)));
  cpBodySetPosition(body, cpv(0, 1 + 0.3 * u));
  cpBodySetAngle(body, u);
  cpBodySetVelocity(body, cpv(1, 2));
  cpBodySetAngularVelocity(body, 3 * u);
  cpShape *shape = cpSpaceAddShape(space, cpBoxShapeNew(body, 0.5, 0.5, 0));
  cpShapeSetElasticity(shape, 1);
}

static void rival_floor_cart_pole(cpSpace *space, double u) {
  double a = 0.5 * u;
  rival_ground(space, 0.5, 0);
  cpBody *part[2] = {rival_box(space, 0, 2, 0, 0.5, 0.3, 1, false),
                     rival_box(space, -0.5 * sin(a), 2 + 0.5 * cos(a), a, 0.1, 1, 0.1, false)};
  for (int i = 0; i < 2; i++) {
    cpShape *shape =
        cpSpaceAddShape(space, cpBoxShapeNew(part[i], i == 0 ? 0.5 : 0.1, i == 0 ? 0.3 : 1, 0));
    cpShapeSetFilter(shape, cpShapeFilterNew(1, CP_ALL_CATEGORIES, CP_ALL_CATEGORIES)); // a group
  }
  cpBody *still = cpSpaceGetStaticBody(space);
  cpSpaceAddConstraint(space,
                       cpGrooveJointNew(still, part[0], cpv(-FAR, 2), cpv(FAR, 2), cpv(0, 0)));
  cpSpaceAddConstraint(space, cpGearJointNew(still, part[0], 0, 1));
  rival_pivot(space, part[1], part[0], 0, 2);
}
#define RIVAL(function) .rival = (function),
#else
#define RIVAL(function)
#endif

static const Scene scenes[] = {
    {.name = "cart_pole", .dt = DT, .build = cart_pole, RIVAL(rival_cart_pole)},
    {.name = "double_pendulum", .dt = DT, .build = pendulum, RIVAL(rival_pendulum)},
    {.name = "chain_of_6", .dt = DT, .build = chain},
    {.name = "ball", .dt = DT, .build = ball, RIVAL(rival_ball)},
    {.name = "resting_box", .dt = DT, .build = resting_box, RIVAL(rival_resting_box)},
    {.name = "thrown_box", .dt = DT, .build = thrown_box, RIVAL(rival_thrown_box)},
    {.name = "floor_cart_pole", .dt = DT, .build = floor_cart_pole, RIVAL(rival_floor_cart_pole)},
    {.name = "hopper", .dt = 1.0 / 120, .build = hopper, .act = twitch},
    {.name = "limited_hopper", .dt = 1.0 / 120, .build = limited_hopper, .act = twitch},
    {.name = "pushed_box", .dt = 1.0 / 120, .build = pushed_box, .act = push},
};

// ---- Measuring --------------------------------------------------------------------------------

typedef struct Run {
  int count; // number of worlds
  bool side_by_side;
  S2World *world[WORLDS];
#ifdef S2_HAVE_CHIPMUNK
  cpSpace *space[WORLDS];
#endif
  uint64_t random;
} Run;

static S2World *build(const Scene *scene, double u) {
  S2WorldDef def = s2_world_def();
  def.gravity = s2_vec2(0, GRAVITY);
  def.dt = scene->dt;
  S2World *world;
  must(s2_world_create(&def, &world));
  scene->build(world, u);
  return world;
}

static int compare(const void *a, const void *b) {
  const double *x = a, *y = b;
  return (*x > *y) - (*x < *y);
}

static double median(double *of) {
  qsort(of, BLOCKS, sizeof *of, compare);
  return of[BLOCKS / 2];
}

static void ours_step(const Scene *scene, Run *run, int steps) {
  for (int k = 0; k < steps; k++) {
    for (int i = 0; i < run->count && (scene->act != NULL || !run->side_by_side); i++) {
      if (scene->act != NULL) {
        scene->act(run->world[i], &run->random);
      }
      if (!run->side_by_side) {
        must(s2_world_step(run->world[i]));
      }
    }
    if (run->side_by_side) {
      must(s2_worlds_step_many(run->world, run->count, NULL));
    }
  }
}

// us a world-step of sim2d and of Chipmunk (NAN without it), in turn.
static void measure(const Scene *scene, int count, int steps, bool side_by_side) {
  double us[2];
  static Run run;
  run = (Run){.count = count, .side_by_side = side_by_side, .random = 1};
  for (int i = 0; i < count; i++) {
    double u = count == 1 ? 0.5 : 2.0 * (i + 1) / count - 1;
    run.world[i] = build(scene, u);
#ifdef S2_HAVE_CHIPMUNK
    if (scene->rival != NULL) {
      run.space[i] = cpSpaceNew();
      cpSpaceSetGravity(run.space[i], cpv(0, GRAVITY));
      scene->rival(run.space[i], u);
    }
#endif
  }
  double ours[BLOCKS], theirs[BLOCKS];
  ours_step(scene, &run, SETTLE);
  for (int block = 0; block < BLOCKS; block++) {
    double start = bench_ms();
    ours_step(scene, &run, steps);
    ours[block] = 1e3 * (bench_ms() - start) / steps / count;
    theirs[block] = NAN;
#ifdef S2_HAVE_CHIPMUNK
    start = bench_ms();
    for (int k = 0; k < steps && scene->rival != NULL; k++) {
      for (int i = 0; i < count; i++) {
        cpSpaceStep(run.space[i], scene->dt);
      }
    }
    theirs[block] = scene->rival == NULL ? NAN : 1e3 * (bench_ms() - start) / steps / count;
#endif
  }
  us[0] = median(ours);
  us[1] = median(theirs);
  // The accuracy of the steps.
  double worst = 0, passes = 0;
  unsigned long long unsolved = 0, done = 0;
  for (int i = 0; i < count; i++) {
    const S2WorldStats *stats = s2_world_stats(run.world[i]);
    worst = fmax(worst, stats->worst_scaled);
    unsolved += (unsigned long long)stats->unsolved;
    passes += (double)stats->projections;
    done += (unsigned long long)stats->steps;
    s2_world_destroy(run.world[i]);
#ifdef S2_HAVE_CHIPMUNK
    if (run.space[i] != NULL) {
      cpSpaceFree(run.space[i]);
    }
#endif
  }
  printf("%-16s %5d%c %10.3f %10.3f %8.2f %12.1e %9llu %10.2f\n", scene->name, count,
         side_by_side ? '|' : ' ', us[0], us[1], us[0] / us[1], worst, unsolved,
         passes / (double)done);
}

int main(int argc, char **argv) {
  printf("%-16s %6s %10s %10s %8s %12s %9s %10s\n", "scene", "worlds", "us a step", "Chipmunk",
         "ratio", "residual", "unsolved", "passes");
  for (size_t i = 0; i < sizeof scenes / sizeof *scenes; i++) {
    bool wanted = argc == 1;
    for (int k = 1; k < argc; k++) {
      wanted |= strncmp(scenes[i].name, argv[k], strlen(argv[k])) == 0;
    }
    if (wanted) {
      measure(&scenes[i], 1, ALONE_STEPS, false);
      measure(&scenes[i], WORLDS, MANY_STEPS, false);
      measure(&scenes[i], WORLDS, MANY_STEPS, true);
    }
  }
  return 0;
}
