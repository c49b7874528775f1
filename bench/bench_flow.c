// Step times of the two flows (S2WorldDef.flow) of worlds with joints only: by programs and by the
// general path, in turn, and in parallel lanes.
//
//   bench_flow [NAME ...]     all scenes, or those whose name starts so
//
// Each block steps the same motion from its start; the least time of all blocks is printed, in
// microseconds a step.
#include "bench.h"

#include "dynamics/program/program.h"

#include <math.h>
#include <string.h>

enum { BLOCKS = 7, SECONDS = 5, WAYS = 4, CROWD = 256, CROWD_STEPS = 8 };

// ---- Scenes -----------------------------------------------------------------------------------

static S2BodyId flow_box(S2World *world, double x, double y, double angle, double width,
                         double height, double mass) {
  const S2Vec2 v[4] = {{-width / 2, -height / 2},
                       {width / 2, -height / 2},
                       {width / 2, height / 2},
                       {-width / 2, height / 2}};
  S2ShapeDef shape = {
      .vertices = v, .count = 4, .friction = NAN, .restitution = NAN, .density = NAN};
  S2BodyDef def = s2_body_def();
  def.position = s2_vec2(x, y);
  def.angle = angle;
  def.mass = mass;
  def.mask = 0;
  def.shapes = &shape;
  def.shape_count = 1;
  S2BodyId id;
  must(s2_body_create(world, &def, &id));
  return id;
}

static void flow_joint(S2World *world, S2JointType type, S2BodyId a, S2BodyId b, double x,
                       double y) {
  S2JointDef def = s2_joint_def(type);
  def.a = a;
  def.b = b;
  def.anchor_a = s2_vec2(x, y);
  def.axis = s2_vec2(1, 0);
  S2JointId id;
  must(s2_joint_create(world, &def, &id));
}

static void build_cart_pole(S2World *world, int links, double u) {
  double a = 0.5 * u * links;
  S2BodyId cart = flow_box(world, 0, 0, 0, 0.5, 0.3, 1), none = {0, 0};
  S2BodyId pole = flow_box(world, -0.5 * sin(a), 0.5 * cos(a), a, 0.1, 1, 0.1);
  flow_joint(world, S2_SLIDER, cart, none, 0, 0);
  flow_joint(world, S2_HINGE, pole, cart, 0, 0);
}

// Two links of 1 m, or more of 0.4 m, hinged to the world and to each other, lifted.
static void build_chain(S2World *world, int links, double u) {
  double x = 0, y = 0, a = 0.5 * u, length = links > 2 ? 0.4 : 1;
  S2BodyId last = {0, 0};
  for (int i = 0; i < links; i++) {
    double c = length * cos(a), s = length * sin(a);
    S2BodyId link = flow_box(world, x + c / 2, y + s / 2, a, length, 0.1, 1);
    flow_joint(world, S2_HINGE, link, last, x, y);
    x += c;
    y += s;
    last = link;
  }
}

typedef struct FlowScene {
  const char *name;
  void (*build)(S2World *world, int links, double u);
  int links;
} FlowScene;

static const FlowScene flow_scenes[] = {
    {"cart_pole", build_cart_pole, 1}, {"double_pendulum", build_chain, 2},
    {"chain_of_8", build_chain, 8},    {"chain_of_10", build_chain, 10},
    {"chain_of_30", build_chain, 30},
};

// u in -1 .. 1 varies the world; no lanes: the general path.
static S2World *flow_world(const FlowScene *scene, double dt, S2FlowRule flow, int lanes,
                           double u) {
  S2WorldDef def = s2_world_def();
  def.dt = dt;
  def.flow = flow;
  S2World *world;
  must(s2_world_create(&def, &world));
  scene->build(world, scene->links, u);
  s2_world_set_lanes(world, lanes);
  return world;
}

// ---- Measuring --------------------------------------------------------------------------------

static void measure_alone(const FlowScene *scene, int rate) {
  double least[WAYS] = {INFINITY, INFINITY, INFINITY, INFINITY};
  for (int block = 0; block < BLOCKS; block++) {
    for (int i = 0; i < WAYS; i++) {
      S2World *world = flow_world(
          scene, 1.0 / rate, i % 2 == 0 ? S2_FLOW_PROJECTED : S2_FLOW_RATTLE, i < 2 ? 1 : 0, 0.5);
      double start = bench_ms();
      for (int k = 0; k < SECONDS * rate; k++) {
        must(s2_world_step(world));
      }
      least[i] = fmin(least[i], 1e3 * (bench_ms() - start) / (SECONDS * rate));
      s2_world_destroy(world);
    }
  }
  printf("%-16s %5d  %9.3f %9.3f %6.2f  %9.3f %9.3f %6.2f\n", scene->name, rate, least[0], least[1],
         least[1] / least[0], least[2], least[3], least[3] / least[2]);
}

static void measure_crowd(const FlowScene *scene, int lanes) {
  static S2World *crowd[2][CROWD];
  double least[2] = {INFINITY, INFINITY};
  for (int i = 0; i < 2 * CROWD; i++) {
    crowd[i % 2][i / 2] =
        flow_world(scene, 1.0 / 60, i % 2 == 0 ? S2_FLOW_PROJECTED : S2_FLOW_RATTLE, lanes,
                   (double)i / CROWD - 1);
  }
  for (int block = 0; block <= 2 * BLOCKS; block++) {
    for (int flow = 0; flow < 2; flow++) {
      double start = bench_ms();
      for (int k = 0; k < CROWD_STEPS; k++) {
        must(s2_worlds_step_many(crowd[flow], CROWD, NULL));
      }
      double us = 1e3 * (bench_ms() - start) / CROWD_STEPS / CROWD;
      // the first block makes the programs
      least[flow] = block > 0 ? fmin(least[flow], us) : INFINITY;
    }
  }
  printf("%-16s %5d| %9.3f %9.3f %6.2f\n", scene->name, lanes, least[0], least[1],
         least[1] / least[0]);
  for (int i = 0; i < 2 * CROWD; i++) {
    s2_world_destroy(crowd[i % 2][i / 2]);
  }
}

int main(int argc, char **argv) {
  printf("%-16s %5s  %9s %9s %6s  %9s %9s %6s\n", "scene", "1/dt", "program", "rattle", "ratio",
         "general", "rattle", "ratio");
  for (size_t i = 0; i < sizeof flow_scenes / sizeof *flow_scenes; i++) {
    const FlowScene *scene = &flow_scenes[i];
    bool wanted = argc == 1;
    for (int k = 1; k < argc; k++) {
      wanted |= strncmp(scene->name, argv[k], strlen(argv[k])) == 0;
    }
    for (int rate = 60; rate <= 240 && wanted; rate *= 2) {
      measure_alone(scene, rate);
    }
    for (int lanes = 1; lanes <= 8 && wanted && scene->links <= 8;
         lanes = lanes == 1 ? 4 : 2 * lanes) {
      measure_crowd(scene, lanes);
    }
  }
  return 0;
}
