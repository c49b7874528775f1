// Step times of the scenes on which other engines are measured, with the accuracy of each step.
//
//   bench_scenes [NAME ...]     all scenes, or those whose name starts so
//
// The lcp-physics scenes (Python, PyTorch; locuslab, commit a85ecfe) are in pixels and seconds, y
// down; the ms/step of lcp-physics in the output were measured on a 2-core x86-64 machine on
// 2026-11-20 with one pinned core, so the ratio is only as accurate as two machines are alike. Each
// scene settles first, and the worst residual includes the settling.
#include "bench.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// ---- Building ---------------------------------------------------------------------------------

typedef struct Material {
  double friction, restitution, density;
} Material;

static S2BodyId body(S2World *world, S2BodyType type, double x, double y, double angle,
                     const S2Vec2 *v, int n, double radius, double mass, Material m) {
  S2ShapeDef shape = {.vertices = v,
                      .count = n,
                      .radius = radius,
                      .friction = NAN,
                      .restitution = NAN,
                      .density = NAN};
  S2BodyDef def = s2_body_def();
  def.type = type;
  def.position = s2_vec2(x, y);
  def.angle = angle;
  def.mass = mass;
  def.density = m.density;
  def.friction = m.friction;
  def.restitution = m.restitution;
  def.shapes = &shape;
  def.shape_count = 1;
  S2BodyId id;
  must(s2_body_create(world, &def, &id));
  return id;
}

static S2BodyId box(S2World *world, S2BodyType type, double x, double y, double angle, double w,
                    double h, double mass, Material m) {
  const S2Vec2 v[4] = {{-w / 2, -h / 2}, {w / 2, -h / 2}, {w / 2, h / 2}, {-w / 2, h / 2}};
  return body(world, type, x, y, angle, v, 4, 0, mass, m);
}

static S2BodyId disc(S2World *world, double x, double y, double r, double mass, Material m) {
  const S2Vec2 v[1] = {{0, 0}};
  return body(world, S2_DYNAMIC, x, y, 0, v, 1, r, mass, m);
}

static void hinge(S2World *world, S2BodyId a, S2BodyId b, double x, double y) {
  S2JointDef def = s2_joint_def(S2_HINGE);
  def.a = a;
  def.b = b;
  def.anchor_a = s2_vec2(x, y);
  S2JointId joint;
  must(s2_joint_create(world, &def, &joint));
}

static S2World *world_new(double gy, double dt, double margin) {
  S2WorldDef def = s2_world_def();
  def.gravity = s2_vec2(0, gy);
  def.dt = dt;
  def.contact_margin = margin;
  S2World *world;
  must(s2_world_create(&def, &world));
  return world;
}

// ---- lcp-physics' scenes: px, s, y down, all bodies e = .5, mu = .9
// ------------------------------

static const Material pixel = {0.9, 0.5, 1};

static S2World *pixels(void) {
  return world_new(100, 1.0 / 30, 0.1);
}

static S2World *lp_ball(int n) {
  (void)n;
  S2World *world = pixels();
  box(world, S2_STATIC, 500, 505, 0, 900, 10, NAN, pixel);
  disc(world, 500, 300, 30, 1, pixel);
  return world;
}

static S2World *lp_chain(int n) {
  S2World *world = pixels();
  S2BodyId last = {0, 0};
  S2BodyId *links = malloc(sizeof *links * (size_t)n);
  for (int i = 0; i < n; i++) {
    links[i] = box(world, S2_DYNAMIC, 300 + 50 * i, 100, 0, 60, 20, 0.7, pixel);
    hinge(world, links[i], last, 275 + 50 * i, 100);
    for (int j = 0; j < i; j++) {
      must(s2_world_no_contact(world, links[i], links[j], true));
    }
    last = links[i];
  }
  free(links);
  return world;
}

static S2World *lp_discs(int n) {
  S2World *world = pixels();
  box(world, S2_STATIC, 500, 505, 0, 230, 10, NAN, pixel);
  box(world, S2_STATIC, 390, 0, 0, 10, 1000, NAN, pixel);
  box(world, S2_STATIC, 610, 0, 0, 10, 1000, NAN, pixel);
  for (int k = 0; k < n; k++) {
    int row = k / 4, column = k % 4;
    disc(world, 420 + 48 * column + (row % 2 ? 10 : 0), 474.3 - 45 * row, 20, 1, pixel);
  }
  return world;
}

static S2World *lp_stack(int n) {
  S2World *world = pixels();
  box(world, S2_STATIC, 500, 505, 0, 900, 10, NAN, pixel);
  for (int i = 0; i < n; i++) {
    box(world, S2_DYNAMIC, 500 + 2 * (i % 2), 479.95 - 40.05 * i, 0, 40, 40, 1, pixel);
  }
  return world;
}

// ---- Scenes of the game engines: m, s, y up, mu .6, e 0
// ------------------------------------------

static const Material wood = {0.6, 0, 1};

static S2World *ground_world(double half_width) {
  S2World *world = world_new(-10, 1.0 / 60, 0.01);
  box(world, S2_STATIC, 0, -1, 0, 2 * half_width, 2, NAN, wood);
  return world;
}

static S2World *pyramid(int n) {
  S2World *world = ground_world(2 * n + 20);
  for (int i = 0; i < n; i++) {
    for (int j = 0; j < n - i; j++) {
      box(world, S2_DYNAMIC, j - (n - i - 1) / 2.0, i + 0.5, 0, 1, 1, NAN, wood);
    }
  }
  return world;
}

static S2World *heavy(int density) {
  S2World *world = ground_world(20);
  for (int i = 0; i < 10; i++) {
    box(world, S2_DYNAMIC, 0, i + 0.5, 0, 1, 1, NAN,
        (Material){0.6, 0, i == 9 ? (double)density : 1});
  }
  return world;
}

static S2World *discs(int n) {
  double w = n <= 100 ? 12 : n <= 1000 ? 38 : 85;
  S2World *world = ground_world(w);
  box(world, S2_STATIC, -w / 2 - 1, 199, 0, 2, 400, NAN, wood);
  box(world, S2_STATIC, w / 2 + 1, 199, 0, 2, 400, NAN, wood);
  int columns = (int)(w / 1.1);
  for (int k = 0; k < n; k++) {
    int i = k % columns, j = k / columns;
    double jitter = ((i * 7 + j * 13) % 11 - 5) * 0.005;
    disc(world, -w / 2 + (i + 0.5) * w / columns + jitter, 0.6 + 1.2 * j, 0.5, NAN, wood);
  }
  return world;
}

// ---- Measuring --------------------------------------------------------------------------------

typedef struct Scene {
  const char *name;
  S2World *(*build)(int n);
  int n, settle, measure;
  double peer; // ms/step of lcp-physics, settled; 0: none
} Scene;

static const Scene scenes[] = {
    {"lp.ball_air", lp_ball, 1, 2, 20, 0.055},     {"lp.ball", lp_ball, 1, 300, 400, 3.47},
    {"lp.chain10", lp_chain, 10, 5, 200, 0.65},    {"lp.discs5", lp_discs, 5, 360, 200, 5.21},
    {"lp.discs10", lp_discs, 10, 360, 150, 8.30},  {"lp.discs20", lp_discs, 20, 360, 100, 15.7},
    {"lp.discs40", lp_discs, 40, 360, 60, 39.8},   {"lp.stack5", lp_stack, 5, 150, 150, 6.81},
    {"lp.stack10", lp_stack, 10, 150, 150, 10.25}, {"heavy1000", heavy, 1000, 100, 900, 0},
    {"pyramid10", pyramid, 10, 100, 400, 0},       {"pyramid20", pyramid, 20, 100, 400, 0},
    {"discs100", discs, 100, 1200, 200, 0},
};

static int compare(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static void run(const Scene *scene) {
  S2World *world = scene->build(scene->n);
  double settling = 0, slowest = 0;
  for (int i = 0; i < scene->settle; i++) {
    double t = bench_wall_ms();
    must(s2_world_step(world));
    t = bench_wall_ms() - t;
    settling += t;
    slowest = fmax(slowest, t);
  }
  double *ms = malloc(sizeof(double) * (size_t)scene->measure);
  for (int i = 0; i < scene->measure; i++) {
    ms[i] = bench_wall_ms();
    must(s2_world_step(world));
    ms[i] = bench_wall_ms() - ms[i];
  }
  qsort(ms, (size_t)scene->measure, sizeof *ms, compare);
  const S2WorldStats *stats = s2_world_stats(world);
  double median = ms[scene->measure / 2], p90 = ms[scene->measure * 9 / 10];
  char ratio[32] = "-", peer[32] = "-";
  if (scene->peer > 0) {
    snprintf(ratio, sizeof ratio, "%.0f", scene->peer / median);
    snprintf(peer, sizeof peer, "%.3g", scene->peer);
  }
  printf("%-12s %8.4f %8.4f %9.4f %9.3f %8d %9.1e %9.1e %8llu %8s %7s\n", scene->name, median, p90,
         scene->settle > 0 ? settling / scene->settle : 0, slowest, stats->contacts,
         stats->worst_scaled, stats->worst_penetration, (unsigned long long)stats->unsolved, peer,
         ratio);
  fflush(stdout);
  free(ms);
  s2_world_destroy(world);
}

int main(int argc, char **argv) {
  printf("%-12s %8s %8s %9s %9s %8s %9s %9s %8s %8s %7s\n", "scene", "median", "p90", "settling",
         "slowest", "contacts", "residual", "overlap", "unsolved", "lcp-phys", "times");
  printf("%-12s %8s %8s %9s %9s %8s %9s %9s %8s %8s %7s\n", "", "ms", "ms", "mean ms", "ms", "",
         "worst", "worst m", "solves", "ms", "faster");
  for (size_t i = 0; i < sizeof scenes / sizeof *scenes; i++) {
    bool wanted = argc == 1;
    for (int k = 1; k < argc; k++) {
      wanted |= strncmp(scenes[i].name, argv[k], strlen(argv[k])) == 0;
    }
    if (wanted) {
      run(&scenes[i]);
    }
  }
  return 0;
}
