// Islands to solve, as problems without a world: stacks, pyramids, piles of discs, hinges, and
// random ones.
#ifndef S2_TEST_ISLANDS_H
#define S2_TEST_ISLANDS_H

// these must be included before cmocka.h
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/rng.h"
#include "mcp/solvers.h"

#include <math.h>
#include <stdlib.h>

static const double TOLERANCE = 1e-9; // the default of a world
static const double STEP = 1.0 / 60;  // s
static const double GRAVITY = 9.81;   // m/s^2

typedef struct Scene {
  int nodes, rows, groups;
  double *mass, *rhs, *position, *v, *lambda;
  S2Row *row;
  S2Problem problem;
} Scene;

static inline Scene *scene_new(int nodes, int rows) {
  Scene *scene = calloc(1, sizeof *scene);
  size_t n = (size_t)(3 * nodes);
  scene->nodes = nodes;
  scene->mass = calloc(n, sizeof(double));
  scene->rhs = calloc(n, sizeof(double));
  scene->position = calloc(n, sizeof(double));
  scene->v = calloc(n, sizeof(double));
  scene->lambda = calloc((size_t)rows + 1, sizeof(double));
  scene->row = calloc((size_t)rows + 1, sizeof(S2Row));
  return scene;
}

static inline void scene_free(Scene *scene) {
  free(scene->mass);
  free(scene->rhs);
  free(scene->position);
  free(scene->v);
  free(scene->lambda);
  free(scene->row);
  free(scene);
}

static inline void set_body(Scene *scene, int i, double x, double y, double mass, double inertia) {
  double *m = scene->mass + 3 * i;
  m[0] = inertia;
  m[1] = m[2] = mass;
  scene->position[3 * i + 1] = x;
  scene->position[3 * i + 2] = y;
}

static inline void fill_jacobian(const Scene *scene, S2Row *row, double px, double py, double nx,
                                 double ny) {
  for (int side = 0; side < 2; side++) {
    int node = side == 0 ? row->a : row->b;
    double sign = side == 0 ? 1 : -1, *j = side == 0 ? row->ja : row->jb;
    if (node >= 0) {
      double rx = px - scene->position[3 * node + 1], ry = py - scene->position[3 * node + 2];
      j[0] = sign * (rx * ny - ry * nx);
      j[1] = sign * nx;
      j[2] = sign * ny;
    }
  }
}

// Contact at p with the normal n from b to a; mu < 0: no friction row at all.
static inline void add_contact(Scene *scene, int a, int b, double px, double py, double nx,
                               double ny, double mu, double gap) {
  S2Row *row = &scene->row[scene->rows];
  row[0] = (S2Row){.a = a, .b = b, .coupled_to = -1, .group = scene->groups, .hi = INFINITY};
  row[0].bias = gap / STEP;
  fill_jacobian(scene, row, px, py, nx, ny);
  if (mu >= 0) {
    row[1] = (S2Row){.a = a, .b = b, .coupled_to = scene->rows, .group = scene->groups, .mu = mu};
    fill_jacobian(scene, row + 1, px, py, ny, -nx);
  }
  scene->rows += mu >= 0 ? 2 : 1;
  scene->groups++;
}

static inline void add_hinge(Scene *scene, int a, int b, double px, double py, double compliance) {
  for (int k = 0; k < 2; k++) {
    S2Row *row = &scene->row[scene->rows++];
    *row = (S2Row){.a = a,
                   .b = b,
                   .coupled_to = -1,
                   .group = scene->groups,
                   .lo = -INFINITY,
                   .hi = INFINITY,
                   .compliance = compliance};
    fill_jacobian(scene, row, px, py, k == 0, k == 1);
  }
  scene->groups++;
}

// Gravity, plus a random velocity in noise * (-1 .. 1) for each number.
static inline void push(Scene *scene, double noise, S2Rng *rng) {
  double fastest = GRAVITY * STEP;
  for (int i = 0; i < 3 * scene->nodes; i++) {
    double v = noise > 0 ? noise * s2_rng_normal(rng) : 0;
    scene->rhs[i] = scene->mass[i] * (v - (i % 3 == 2 ? GRAVITY * STEP : 0));
    scene->v[i] = v;
    fastest = fmax(fastest, fabs(v));
  }
  scene->problem = (S2Problem){.nodes = scene->nodes,
                               .rows = scene->rows,
                               .mass = scene->mass,
                               .rhs = scene->rhs,
                               .row = scene->row,
                               .velocity_scale = fastest,
                               .length = 1};
}

static inline Scene *make_stack(int count, double top_mass, double mu) {
  Scene *scene = scene_new(count, 4 * count);
  for (int i = 0; i < count; i++) {
    double mass = i == count - 1 ? top_mass : 1;
    set_body(scene, i, 0, i + 0.5, mass, mass / 6);
    add_contact(scene, i, i - 1, -0.5, i, 0, 1, mu, 0);
    add_contact(scene, i, i - 1, 0.5, i, 0, 1, mu, 0);
  }
  push(scene, 0, NULL);
  return scene;
}

static inline Scene *make_pyramid(int base, double mu, double noise, uint64_t seed) {
  Scene *scene = scene_new(base * (base + 1) / 2, 8 * base * base);
  S2Rng rng = s2_rng_seeded(seed);
  int node = 0;
  for (int level = 0; level < base; level++) {
    for (int j = 0; j < base - level; j++, node++) {
      double x = j + 0.5 * level, y = level + 0.5;
      set_body(scene, node, x, y, 1, 1.0 / 6);
      int below = node - (base - level) - 1;
      for (int d = 0; d < (level > 0 ? 2 : 1); d++) {
        double left = level > 0 ? x - 0.5 + 0.5 * d : x - 0.5;
        double right = level > 0 ? left + 0.5 : x + 0.5;
        int support = level > 0 ? below + d : S2_GROUND;
        add_contact(scene, node, support, left, y - 0.5, 0, 1, mu, 0);
        add_contact(scene, node, support, right, y - 0.5, 0, 1, mu, 0);
      }
      if (j > 0) {
        add_contact(scene, node, node - 1, x - 0.5, y - 0.5, 1, 0, mu, 0);
        add_contact(scene, node, node - 1, x - 0.5, y + 0.5, 1, 0, mu, 0);
      }
    }
  }
  push(scene, noise, &rng);
  return scene;
}

// Contacts of all discs (radius .5, moment .125 m) with gaps below `reach`, also with a floor and
// two walls.
static inline void find_disc_contacts(Scene *scene, double width, double mu, double reach) {
  scene->rows = scene->groups = 0;
  for (int i = 0; i < scene->nodes; i++) {
    double x = scene->position[3 * i + 1], y = scene->position[3 * i + 2];
    if (y - 0.5 < reach) {
      add_contact(scene, i, S2_GROUND, x, y - 0.5, 0, 1, mu, fmax(0, y - 0.5));
    }
    if (x - 0.5 < reach) {
      add_contact(scene, i, S2_GROUND, x - 0.5, y, 1, 0, mu, fmax(0, x - 0.5));
    }
    if (width - x - 0.5 < reach) {
      add_contact(scene, i, S2_GROUND, x + 0.5, y, -1, 0, mu, fmax(0, width - x - 0.5));
    }
    for (int k = 0; k < i; k++) {
      double dx = x - scene->position[3 * k + 1], dy = y - scene->position[3 * k + 2];
      double distance = hypot(dx, dy);
      if (distance - 1 < reach) {
        double nx = dx / distance, ny = dy / distance;
        add_contact(scene, i, k, x - nx / 2, y - ny / 2, nx, ny, mu, fmax(0, distance - 1));
      }
    }
  }
}

static inline Scene *make_disc_pile(int columns, int levels, double mu, double noise,
                                    uint64_t seed) {
  Scene *scene = scene_new(columns * levels, 12 * columns * levels);
  S2Rng rng = s2_rng_seeded(seed);
  for (int i = 0; i < columns * levels; i++) {
    int level = i / columns, j = i % columns;
    double x = 0.5 + j + 0.5 * (level % 2) + 0.01 * s2_rng_uniform(&rng);
    set_body(scene, i, x, 0.5 + level * sqrt(0.75) + 0.01 * s2_rng_uniform(&rng), 1, 0.125);
  }
  find_disc_contacts(scene, columns + 0.52, mu, 0.02);
  push(scene, noise, &rng);
  return scene;
}

static inline double spread(S2Rng *rng, double decades) {
  return pow(10, decades * (s2_rng_uniform(rng) - 0.5));
}

// Bodies at random places, contacts at random points and directions: not a physical scene.
static inline Scene *make_random(uint64_t seed) {
  S2Rng rng = s2_rng_seeded(seed);
  int nodes = (int)s2_rng_integer(&rng, 1, 10), contacts = (int)s2_rng_integer(&rng, 1, 20);
  int hinges = nodes > 1 ? (int)s2_rng_integer(&rng, 0, 2) : 0;
  Scene *scene = scene_new(nodes, 2 * contacts + 2 * hinges);
  for (int i = 0; i < nodes; i++) {
    double mass = spread(&rng, 6);
    set_body(scene, i, 4 * s2_rng_uniform(&rng), 4 * s2_rng_uniform(&rng), mass,
             mass * (0.05 + 0.3 * s2_rng_uniform(&rng)));
  }
  for (int i = 0; i < hinges; i++) {
    int a = (int)s2_rng_integer(&rng, 1, nodes - 1), b = (int)s2_rng_integer(&rng, -1, a - 1);
    add_hinge(scene, a, b, 4 * s2_rng_uniform(&rng), 4 * s2_rng_uniform(&rng), 0);
  }
  for (int i = 0; i < contacts; i++) {
    int a = (int)s2_rng_integer(&rng, 0, nodes - 1), b = (int)s2_rng_integer(&rng, -1, a - 1);
    double ax = scene->position[3 * a + 1], ay = scene->position[3 * a + 2];
    double bx = b >= 0 ? scene->position[3 * b + 1] : ax;
    double by = b >= 0 ? scene->position[3 * b + 2] : ay - 1;
    double angle = atan2(ay - by, ax - bx) + 0.5 * s2_rng_normal(&rng);
    double px = (ax + bx) / 2 + 0.3 * s2_rng_normal(&rng);
    double py = (ay + by) / 2 + 0.3 * s2_rng_normal(&rng);
    double kind = s2_rng_uniform(&rng);
    double mu = kind < 0.1 ? -1 : kind < 0.2 ? 0 : 2 * s2_rng_uniform(&rng);
    add_contact(scene, a, b, px, py, cos(angle), sin(angle), mu, 0);
  }
  push(scene, spread(&rng, 4), &rng);
  return scene;
}

static inline S2Solution solve(Scene *scene, S2Solver solver, S2Arena *arena) {
  S2SolverOptions options = {.solver = solver, .tolerance = TOLERANCE, .max_iterations = 50};
  S2Solution solution = {.v = scene->v, .lambda = scene->lambda};
  s2_mcp_solve(&scene->problem, &options, arena, &solution);
  return solution;
}

#endif
