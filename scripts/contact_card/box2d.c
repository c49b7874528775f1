// The scenes of card.lua in Box2D 3.1: prints lines "engine<TAB>scene<TAB>number", as peers.py
// does.
//
// Each scene runs twice, with the step of Box2D's manual (1/60 s) and with the step of sim2d (1/120
// s), both with the 4 substeps of the manual. Bodies sleep only in the scene "kept", so that bodies
// at rest are solved. Other settings are defaults.
#include <box2d/box2d.h>

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <time.h>

enum { SUBSTEPS = 4, TIMED_STEPS = 1000, TIMED_RUNS = 5 };

static const float gravity = 9.81f, turn_time = 4, pi = 3.14159265f; // m/s^2, s

typedef struct Scene {
  b2WorldId world;
  float dt; // s
  b2BodyId ground;
  b2BodyId pushed; // the body that a constant force acts on
  b2Vec2 force;    // N, 0 without a pushed body
} Scene;

typedef struct Look {
  float mass; // kg, 0: static
  float friction;
  bool collides;
} Look;

static Scene open_scene(float dt) {
  b2WorldDef def = b2DefaultWorldDef();
  def.gravity = (b2Vec2){0, -gravity};
  def.enableSleep = false;
  Scene scene = {.world = b2CreateWorld(&def), .dt = dt};
  b2BodyDef body = b2DefaultBodyDef();
  scene.ground = b2CreateBody(scene.world, &body);
  return scene;
}

static b2BodyId new_body(const Scene *scene, float x, float y, Look look) {
  b2BodyDef def = b2DefaultBodyDef();
  def.type = look.mass > 0 ? b2_dynamicBody : b2_staticBody;
  def.position = (b2Vec2){x, y};
  return b2CreateBody(scene->world, &def);
}

static b2ShapeDef shape_of(Look look, float area) {
  b2ShapeDef def = b2DefaultShapeDef();
  def.density = look.mass / area;
  def.material.friction = look.friction;
  if (!look.collides) {
    def.filter.maskBits = 0;
  }
  return def;
}

static b2BodyId box(const Scene *scene, float x, float y, float w, float h, Look look) {
  b2BodyId body = new_body(scene, x, y, look);
  b2ShapeDef def = shape_of(look, w * h);
  b2Polygon polygon = b2MakeBox(w / 2, h / 2);
  b2CreatePolygonShape(body, &def, &polygon);
  return body;
}

static b2BodyId disc(const Scene *scene, float radius, Look look) {
  b2BodyId body = new_body(scene, 0, 0, look);
  b2ShapeDef def = shape_of(look, pi * radius * radius);
  b2CreateCircleShape(body, &def, &(b2Circle){.radius = radius});
  return body;
}

static void hinge(const Scene *scene, b2BodyId a, b2BodyId b, b2Vec2 at) {
  b2RevoluteJointDef def = b2DefaultRevoluteJointDef();
  def.bodyIdA = a;
  def.bodyIdB = b;
  def.localAnchorA = b2Body_GetLocalPoint(a, at);
  def.localAnchorB = b2Body_GetLocalPoint(b, at);
  b2CreateRevoluteJoint(scene->world, &def);
}

static void run(const Scene *scene, float seconds) {
  int steps = (int)lroundf(seconds / scene->dt);
  for (int i = 0; i < steps; i++) {
    if (scene->force.x != 0) {
      b2Body_ApplyForceToCenter(scene->pushed, scene->force, true);
    }
    b2World_Step(scene->world, scene->dt, SUBSTEPS);
  }
}

static double height(b2BodyId body) {
  return b2Body_GetWorldCenterOfMass(body).y;
}

// Mean speed downwards from 1 s to 3 s.
static double creep(const Scene *scene, b2BodyId body) {
  run(scene, 1);
  double before = height(body);
  run(scene, 2);
  return fabs(height(body) - before) / 2;
}

// A static pad and a pad on a rail that is pushed towards it; both are `scale` times 2 by 10 cm.
static void pads(Scene *scene, float width, float friction, float force, float scale) {
  float w = 0.02f * scale, h = 0.1f * scale, x = width / 2 + w / 2;
  box(scene, -x, 0, w, h, (Look){0, friction, true});
  b2BodyId pad = box(scene, x, 0, w, h, (Look){0.1f, friction, true});
  b2PrismaticJointDef def = b2DefaultPrismaticJointDef();
  def.bodyIdA = scene->ground;
  def.bodyIdB = pad;
  def.localAnchorA = (b2Vec2){x, 0};
  def.localAxisA = (b2Vec2){1, 0};
  b2CreatePrismaticJoint(scene->world, &def);
  scene->pushed = pad;
  scene->force = (b2Vec2){-force, 0};
}

static double pinch_disc(Scene *scene, float radius) {
  pads(scene, 2 * radius, 0.7f, 30, radius / 0.004f);
  return creep(scene, disc(scene, radius, (Look){0.045f, 0.7f, true}));
}

static double pinch(Scene *scene) {
  return pinch_disc(scene, 0.004f);
}

static double large(Scene *scene) {
  return pinch_disc(scene, 0.1f);
}

static double wall(Scene *scene) {
  box(scene, -0.5f, 0, 1, 10, (Look){0, 1, true});
  b2BodyId cube = box(scene, 0.05f, 0, 0.1f, 0.1f, (Look){1, 1, true});
  scene->pushed = cube;
  scene->force = (b2Vec2){-20, 0};
  return creep(scene, cube);
}

static double turn(Scene *scene) {
  pads(scene, 0.02f, 1, 10, 1);
  b2BodyId bar = box(scene, 0, 0, 0.02f, 0.06f, (Look){0.063f, 1, true});
  run(scene, 0.5f);
  double before = height(bar), farthest = 0;
  int count = (int)lroundf(turn_time / scene->dt);
  for (int i = 1; i <= count; i++) {
    float angle = 2 * pi * (float)i / (float)count;
    b2World_SetGravity(scene->world, (b2Vec2){gravity * sinf(angle), -gravity * cosf(angle)});
    run(scene, scene->dt);
    farthest = fmax(farthest, fabs(height(bar) - before));
  }
  return farthest;
}

static b2BodyId cube_on_ground(Scene *scene) {
  box(scene, 0, -0.5f, 40, 1, (Look){0, 0.5f, true});
  return box(scene, 0, 0.05f, 0.1f, 0.1f, (Look){1, 0.5f, true});
}

static double slide(Scene *scene) {
  b2BodyId cube = cube_on_ground(scene);
  run(scene, 1);
  double before = height(cube), highest = 0;
  b2Body_SetLinearVelocity(cube, (b2Vec2){6, 0});
  int count = (int)lroundf(2 / scene->dt);
  for (int i = 0; i < count; i++) {
    run(scene, scene->dt);
    highest = fmax(highest, height(cube) - before);
  }
  return highest;
}

static double heavy(Scene *scene) {
  box(scene, 0, -0.5f, 40, 1, (Look){0, 0.6f, true});
  b2BodyId top = b2_nullBodyId;
  for (int i = 0; i < 10; i++) {
    top = box(scene, 0, (float)i + 0.5f, 1, 1, (Look){i == 9 ? 1000 : 1, 0.6f, true});
  }
  run(scene, 5);
  return fabs(9.5 - height(top));
}

static double energy(b2BodyId body) {
  b2Vec2 v = b2Body_GetLinearVelocity(body);
  double omega = b2Body_GetAngularVelocity(body), mass = b2Body_GetMass(body);
  double speed2 = (double)v.x * v.x + (double)v.y * v.y;
  return mass * (gravity * height(body) + speed2 / 2) +
         b2Body_GetRotationalInertia(body) * omega * omega / 2;
}

static double pendulum(Scene *scene) {
  b2BodyId a = box(scene, 0.5f, 0, 1, 0.1f, (Look){1, 0.5f, false});
  b2BodyId b = box(scene, 1.5f, 0, 1, 0.1f, (Look){1, 0.5f, false});
  hinge(scene, scene->ground, a, (b2Vec2){0, 0});
  hinge(scene, a, b, (b2Vec2){1, 0});
  double worst = 0;
  for (int i = 0; i < 100; i++) {
    run(scene, 0.1f);
    worst = fmax(worst, fabs(energy(a) + energy(b)));
  }
  return worst / (2 * (double)gravity);
}

static double now_us(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static double rest(Scene *scene) {
  cube_on_ground(scene);
  run(scene, 2);
  double best = HUGE_VAL;
  for (int i = 0; i < TIMED_RUNS; i++) {
    double start = now_us();
    for (int k = 0; k < TIMED_STEPS; k++) {
      b2World_Step(scene->world, scene->dt, SUBSTEPS);
    }
    best = fmin(best, (now_us() - start) / TIMED_STEPS);
  }
  return best;
}

static double kept(Scene *scene) {
  b2World_EnableSleeping(scene->world, true);
  return rest(scene);
}

typedef struct Entry {
  const char *name;
  double (*measure)(Scene *scene);
} Entry;

int main(void) {
  static const Entry entries[] = {
      {"pinch", pinch}, {"large", large},       {"wall", wall}, {"turn", turn}, {"slide", slide},
      {"heavy", heavy}, {"pendulum", pendulum}, {"rest", rest}, {"kept", kept},
  };
  b2Version version = b2GetVersion();
  for (int rate = 60; rate <= 120; rate *= 2) {
    for (size_t i = 0; i < sizeof entries / sizeof *entries; i++) {
      Scene scene = open_scene(1 / (float)rate);
      double value = entries[i].measure(&scene);
      b2DestroyWorld(scene.world);
      printf("Box2D %d.%d.%d, 1/%d s\t%s\t%.6g\n", version.major, version.minor, version.revision,
             rate, entries[i].name, value);
    }
  }
  return 0;
}
