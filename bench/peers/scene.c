#include "peers/scene.h"

#include "bench.h"

#include <math.h>

enum { LINKS = 100 };                       // links of the bridge
static const double SLOPE[2] = {0.8, -0.6}; // direction of the first half of its V
static const double DENSITY = 1;            // kg/m^2

static void add_body(PeerScene *scene, PeerBody body, double density) {
  double r2 = body.radius * body.radius, w = body.half[0], h = body.half[1];
  body.mass = density * (body.radius > 0 ? acos(-1) * r2 : 4 * w * h);
  body.inertia = body.mass * (body.radius > 0 ? r2 / 2 : (w * w + h * h) / 3);
  scene->moving += density > 0;
  scene->body[scene->bodies++] = body;
}

// A box that never moves.
static void add_wall(PeerScene *scene, double x, double y, double half_width, double half_height) {
  add_body(scene, (PeerBody){.x = x, .y = y, .half = {half_width, half_height}}, 0);
}

static void add_unit_box(PeerScene *scene, double x, double y) {
  add_body(scene, (PeerBody){.x = x, .y = y, .half = {0.5, 0.5}}, DENSITY);
}

static void fill_stack(PeerScene *scene, int n) {
  scene->body = take((size_t)n + 1, sizeof *scene->body);
  add_wall(scene, 0, -1, 20, 1);
  for (int i = 0; i < n; i++) {
    add_unit_box(scene, 0, i + 0.5);
  }
}

static void fill_pyramid(PeerScene *scene, int n) {
  scene->body = take((size_t)n * ((size_t)n + 1) / 2 + 2, sizeof *scene->body); // see fill_beside
  add_wall(scene, 0, -1, 2 * n + 20, 1);
  for (int i = 0; i < n; i++) {
    for (int j = 0; j < n - i; j++) {
      add_unit_box(scene, j - (n - i - 1) / 2.0, i + 0.5);
    }
  }
}

// A pyramid at rest, and a pendulum of one box that swings beside it.
static void fill_beside(PeerScene *scene, int n) {
  fill_pyramid(scene, n);
  double x = n / 2.0 + 10, y = 5;
  scene->hinge = take(1, sizeof *scene->hinge);
  add_unit_box(scene, x, y);
  scene->hinge[scene->hinges++] = (PeerHinge){scene->bodies - 1, -1, x + 3, y};
}

// Rows of discs above the floor between two walls, with gaps and small random shifts.
static void fill_discs(PeerScene *scene, int n) {
  double w = round(1.2 * sqrt(n)); // m, between the walls
  int columns = (int)(w / 1.1);
  scene->body = take((size_t)n + 3, sizeof *scene->body);
  add_wall(scene, 0, -1, w, 1);
  add_wall(scene, -w / 2 - 1, 199, 1, 200);
  add_wall(scene, w / 2 + 1, 199, 1, 200);
  for (int k = 0; k < n; k++) {
    int i = k % columns, j = k / columns;
    double shift = ((7 * i + 13 * j) % 11 - 5) * 0.005;
    double x = -w / 2 + (i + 0.5) * w / columns + shift;
    add_body(scene, (PeerBody){.x = x, .y = 0.6 + 1.2 * j, .radius = 0.5}, DENSITY);
  }
}

// Links that hang as a V between two anchors 80 m apart and then fall; they do not collide.
static void fill_bridge(PeerScene *scene, int n) {
  scene->collides = false;
  scene->body = take((size_t)n, sizeof *scene->body);
  scene->hinge = take((size_t)n + 1, sizeof *scene->hinge);
  for (int i = 0; i <= n; i++) {
    bool down = i < n / 2;
    double x = SLOPE[0] * i, y = SLOPE[1] * (i <= n / 2 ? i : n - i);
    if (i < n) {
      PeerBody link = {.x = x + SLOPE[0] / 2,
                       .y = y + (down ? 1 : -1) * SLOPE[1] / 2,
                       .angle = (down ? 1 : -1) * atan2(SLOPE[1], SLOPE[0]),
                       .half = {0.5, 0.125}};
      add_body(scene, link, DENSITY);
    }
    // The first body of each pair is the later link; the ends are hinged to the world.
    scene->hinge[scene->hinges++] =
        (PeerHinge){.a = i < n ? i : n - 1, .b = i < n ? i - 1 : -1, .x = x, .y = y};
  }
}

// Boxes of a pyramid begin where they stay, so 100 steps settle them; a heap needs 20 s.
const PeerCase peer_cases[] = {
    {"stack10", "stack", fill_stack, 10, 300, 600, false},
    {"bridge", "bridge", fill_bridge, LINKS, 300, 600, false},
    {"pyramid10", "pyramid", fill_pyramid, 10, 100, 400, false},
    {"pyramid20", "pyramid", fill_pyramid, 20, 100, 400, false},
    {"pyramid50", "pyramid", fill_pyramid, 50, 100, 200, false},
    {"pyramid100", "pyramid", fill_pyramid, 100, 60, 60, false},
    {"beside20", "beside", fill_beside, 20, 100, 400, false},
    {"beside50", "beside", fill_beside, 50, 100, 200, false},
    {"beside100", "beside", fill_beside, 100, 60, 60, false},
    {"pile100", "pile", fill_discs, 100, 1200, 200, false},
    {"pile300", "pile", fill_discs, 300, 1200, 200, false},
    {"pour100", "pour", fill_discs, 100, 0, 150, false},
    {"pour300", "pour", fill_discs, 300, 0, 150, false},
    {"pour1000", "pour", fill_discs, 1000, 0, 150, true},
};
const int peer_case_count = sizeof peer_cases / sizeof *peer_cases;

PeerScene peer_scene(const PeerCase *of) {
  PeerScene scene = {.dt = 1.0 / 60, .gravity = -10, .friction = 0.6, .collides = true};
  of->fill(&scene, of->n);
  return scene;
}

void peer_scene_free(PeerScene *scene) {
  free(scene->body);
  free(scene->hinge);
  *scene = (PeerScene){0};
}
