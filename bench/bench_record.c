// The cost of recording relative to a step, and the number of bytes per body and frame.
//
//   bench_record [SCENE]
//
// Times are processor times: other programs do not count.
//
// A pyramid of 1275 boxes at rest, discs falling into a pile, and a gas of discs. Steps with and
// without a recording alternate in one run, so the ratio does not depend on the machine's load.
#include "bench.h"
#include "record/record.h"
#include "record/s2d/replay.h"
#include "record/s2d/s2d_write.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static S2World *world_new(double gravity) {
  S2WorldDef def = s2_world_def();
  def.gravity = s2_vec2(0, gravity);
  def.dt = 1.0 / 120;
  S2World *world = NULL;
  must(s2_world_create(&def, &world));
  return world;
}

static void add(S2World *world, S2BodyType type, double x, double y, const S2Vec2 *v, int n,
                double radius, S2Vec2 velocity, double restitution) {
  S2ShapeDef shape = {.vertices = v,
                      .count = n,
                      .radius = radius,
                      .friction = NAN,
                      .restitution = NAN,
                      .density = NAN};
  S2BodyDef def = s2_body_def();
  def.type = type;
  def.position = s2_vec2(x, y);
  def.velocity = velocity;
  def.friction = restitution < 1 ? 0.5 : 0;
  def.restitution = restitution;
  def.shapes = &shape;
  def.shape_count = 1;
  S2BodyId id;
  must(s2_body_create(world, &def, &id));
}

static void box(S2World *world, S2BodyType type, double x, double y, double w, double h, double e) {
  const S2Vec2 v[4] = {{-w / 2, -h / 2}, {w / 2, -h / 2}, {w / 2, h / 2}, {-w / 2, h / 2}};
  add(world, type, x, y, v, 4, 0, s2_vec2(0, 0), e);
}

static void disc(S2World *world, double x, double y, double r, S2Vec2 velocity, double e) {
  const S2Vec2 centre[1] = {{0, 0}};
  add(world, S2_DYNAMIC, x, y, centre, 1, r, velocity, e);
}

static S2World *pyramid(void) {
  enum { BASE = 50 };
  S2World *world = world_new(-10);
  box(world, S2_STATIC, 0, -0.5, 200, 1, 0);
  for (int row = 0; row < BASE; row++) {
    for (int i = 0; i < BASE - row; i++) {
      box(world, S2_DYNAMIC, (i - 0.5 * (BASE - row - 1)) * 1.05, row + 0.5, 1, 1, 0);
    }
  }
  return world;
}

static double between(S2Rng *random, double lo, double hi) {
  return lo + (hi - lo) * s2_rng_uniform(random);
}

static S2World *pile(void) {
  S2World *world = world_new(-10);
  S2Rng random = s2_rng_seeded(1);
  box(world, S2_STATIC, 0, -0.5, 22, 1, 0.2);
  box(world, S2_STATIC, -8.5, 15, 1, 30, 0.2);
  box(world, S2_STATIC, 8.5, 15, 1, 30, 0.2);
  for (int i = 0; i < 200; i++) {
    int row = i / 14;
    disc(world, -7.2 + 1.1 * (i % 14) + between(&random, -0.05, 0.05), 0.6 + 1.1 * row,
         between(&random, 0.2, 0.45), s2_vec2(0, 0), 0.2);
  }
  return world;
}

static S2World *gas(void) {
  enum { ROWS = 20 };
  S2World *world = world_new(0);
  S2Rng random = s2_rng_seeded(1);
  for (int side = -1; side <= 1; side += 2) {
    box(world, S2_STATIC, 0, side * 31, 64, 2, 1);
    box(world, S2_STATIC, side * 31, 0, 2, 64, 1);
  }
  for (int i = 0; i < ROWS * ROWS; i++) {
    S2Vec2 v = s2_vec2(between(&random, -3, 3), between(&random, -3, 3));
    int row = i / ROWS;
    disc(world, -28 + 2.9 * (i % ROWS), -28 + 2.9 * row, 0.5, v, 1);
  }
  return world;
}

static void measure(const char *name, S2World *world, int steps) {
  char path[64];
  snprintf(path, sizeof path, "/tmp/bench-record-%ld.s2d", (long)getpid());
  S2Recorder *recorder = NULL;
  must(s2_recorder_open(path, &recorder));
  double stepping = 0, recording = 0;
  for (int i = 0; i < steps; i++) {
    double start = bench_ms();
    must(s2_world_step(world));
    double stepped = bench_ms();
    must(s2_recorder_frame(recorder, world));
    recording += bench_ms() - stepped;
    stepping += stepped - start;
  }
  must(s2_recorder_close(recorder));
  struct stat info = {0};
  stat(path, &info);
  S2Replay *replay = NULL;
  const S2Moment *read = NULL;
  must(s2_replay_open(path, &replay));
  double start = bench_ms();
  for (int i = 0; i < steps; i++) {
    must(s2_replay_frame(replay, (uint64_t)i, &read));
  }
  double reading = bench_ms() - start;
  int bodies = read == NULL ? 0 : read->bodies.count; // no frames: no steps were requested
  s2_replay_close(replay);
  printf("%-10s %6d %9.3f %9.3f %7.1f %% %9.3f %8.1f\n", name, bodies, stepping / steps,
         recording / steps, 100 * recording / stepping, reading / steps,
         (double)info.st_size / steps / bodies);
  s2_world_destroy(world);
  unlink(path);
}

int main(int argc, char **argv) {
  printf("%-10s %6s %9s %9s %9s %9s %9s %8s\n", "", "bodies", "step", "capture", "record",
         "of step", "read", "bytes");
  printf("%-10s %6s %9s %9s %9s %9s %9s %8s\n", "", "", "ms", "ms", "ms", "", "ms", "a body");
  static const struct {
    const char *name;
    S2World *(*make)(void);
    int steps;
  } scenes[] = {{"pyramid-50", pyramid, 300}, {"gas", gas, 600}, {"pile", pile, 300}};
  for (int i = 0; i < 3; i++) {
    if (argc < 2 || strcmp(argv[1], scenes[i].name) == 0) {
      measure(scenes[i].name, scenes[i].make(), scenes[i].steps);
    }
  }
  return 0;
}
