// The cost of derivatives of steps, as ratios within one run: 100 steps of 1/240 s without notes,
// with notes, and the sweep back over the notes; then the same for derivatives with respect to the
// state alone ("state"), for which steps by programs need no notes. Then the memory of 10,000 steps
// of the cheaper scenes with and without an image every 100 steps.
//
//   bench_gradient [NAME ...]     all scenes, or those whose name starts so
#include "bench.h"

#include "diff/linear/linearize.h"
#include "diff/step/trace.h"
#include "diff/world/world_checkpoint.h"
#include "dynamics/program/recorded.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STEPS = 100, ROUNDS = 7, LONG = 10000, EVERY = 100 };

// ---- Scenes -----------------------------------------------------------------------------------

static S2BodyId add(S2World *world, S2BodyType type, double x, double y, const S2Vec2 *v, int count,
                    double radius) {
  S2ShapeDef shape = {.vertices = v,
                      .count = count,
                      .radius = radius,
                      .friction = NAN,
                      .restitution = NAN,
                      .density = NAN};
  S2BodyDef def = s2_body_def();
  def.type = type;
  def.position = s2_vec2(x, y);
  def.restitution = 0.3;
  def.friction = 0.4;
  def.shapes = &shape;
  def.shape_count = 1;
  S2BodyId body;
  must(s2_body_create(world, &def, &body));
  return body;
}

static S2BodyId box(S2World *world, S2BodyType type, double x, double y, double w, double h) {
  const S2Vec2 v[4] = {{-w / 2, -h / 2}, {w / 2, -h / 2}, {w / 2, h / 2}, {-w / 2, h / 2}};
  return add(world, type, x, y, v, 4, 0);
}

static S2BodyId disc(S2World *world, double x, double y, double radius) {
  const S2Vec2 centre[1] = {{0, 0}};
  return add(world, S2_DYNAMIC, x, y, centre, 1, radius);
}

static S2World *new_world(void) {
  S2WorldDef def = s2_world_def();
  def.dt = 1.0 / 240;
  S2World *world;
  must(s2_world_create(&def, &world));
  return world;
}

static S2World *ball(int count) {
  (void)count;
  S2World *world = new_world();
  box(world, S2_STATIC, 0, -0.5, 20, 1);
  disc(world, 0, 1, 0.3);
  return world;
}

static S2World *chain(int count) {
  S2World *world = new_world();
  S2BodyId before = {0, 0};
  for (int k = 0; k < count; k++) {
    S2JointDef hinge = s2_joint_def(S2_HINGE);
    hinge.a = box(world, S2_DYNAMIC, k + 0.5, 0, 1, 0.1);
    hinge.b = before;
    hinge.anchor_a = s2_vec2(k, 0);
    S2JointId joint;
    must(s2_joint_create(world, &hinge, &joint));
    before = hinge.a;
  }
  return world;
}

// Into a trough, five in a row.
static S2World *discs(int count) {
  S2World *world = new_world();
  box(world, S2_STATIC, 0, -0.5, 20, 1);
  box(world, S2_STATIC, -1.6, 2, 0.2, 6);
  box(world, S2_STATIC, 1.6, 2, 0.2, 6);
  for (int k = 0; k < count; k++) {
    int row = k / 5, column = k % 5;
    disc(world, -1.2 + 0.6 * column + (row % 2 == 0 ? 0 : 0.05), 0.4 + 0.6 * row, 0.25);
  }
  return world;
}

static S2World *stack(int count) {
  S2World *world = new_world();
  box(world, S2_STATIC, 0, -0.5, 20, 1);
  for (int k = 0; k < count; k++) {
    box(world, S2_DYNAMIC, 0, 0.25 + 0.5 * k, 0.5, 0.5);
  }
  return world;
}

typedef struct Scene {
  const char *name;
  S2World *(*make)(int count);
  int count, before; // steps before it is measured
  bool lasts;        // its long run is measured as well
} Scene;

static const Scene scenes[] = {
    {"ball", ball, 1, 120, true},       {"chain7", chain, 7, 0, false},
    {"chain10", chain, 10, 0, true},    {"discs5", discs, 5, 120, true},
    {"discs20", discs, 20, 120, false}, {"discs40", discs, 40, 120, false},
    {"stack10", stack, 10, 120, true},
};

// ---- Measuring --------------------------------------------------------------------------------

typedef struct Cost { // us a step, the best of all rounds
  double plain, noted, back, smooth, state, state_back;
  size_t bytes; // a step
} Cost;

static double step_all(const S2World *start, S2Trace *const *trace, S2Recorder *recorder,
                       S2World **end) {
  S2World *world;
  must(s2_world_clone(start, &world));
  must(s2_world_step(world)); // the memory is allocated from here on
  must(s2_world_step(world)); // and a program is made
  double begin = bench_ms();
  for (int k = 0; k < STEPS; k++) {
    must(trace == NULL ? s2_world_step(world)
                       : s2_world_step_traced_state(world, recorder, trace[k]));
  }
  double took = 1e3 * (bench_ms() - begin) / STEPS;
  *end = world;
  return took;
}

static double read_back(const S2World *end, S2Trace *const *trace, S2WorldGradient *g,
                        S2Arena *arena) {
  s2_world_gradient_fit(g, end);
  s2_world_gradient_clear(g);
  for (int i = 0; i < 3 * g->slots; i++) {
    g->q[i] = 1 + 0.1 * i;
  }
  double begin = bench_ms();
  for (int k = STEPS - 1; k >= 0; k--) {
    must(s2_trace_vjp(trace[k], g, arena));
  }
  return 1e3 * (bench_ms() - begin) / STEPS;
}

static void measure(S2World *start, Cost *cost) {
  S2Trace *trace[STEPS];
  S2WorldGradient g = {0};
  S2Arena arena;
  s2_arena_init(&arena);
  for (int k = 0; k < STEPS; k++) {
    trace[k] = s2_trace_new();
  }
  *cost = (Cost){INFINITY, INFINITY, INFINITY, INFINITY, INFINITY, INFINITY, 0};
  S2Recorder recorder;
  s2_recorder_init(&recorder, 1);
  for (int round = 0; round < ROUNDS; round++) {
    S2World *end;
    cost->plain = fmin(cost->plain, step_all(start, NULL, NULL, &end));
    s2_world_destroy(end);
    cost->state = fmin(cost->state, step_all(start, trace, &recorder, &end));
    cost->state_back = fmin(cost->state_back, read_back(end, trace, &g, &arena));
    s2_world_destroy(end);
    cost->noted = fmin(cost->noted, step_all(start, trace, NULL, &end));
    cost->back = fmin(cost->back, read_back(end, trace, &g, &arena));
    s2_world_destroy(end);
  }
  for (int k = 0; k < STEPS; k++) {
    cost->bytes += s2_trace_bytes(trace[k]) / STEPS;
  }
  S2WorldDef def = *s2_world_settings(start);
  def.gradient = S2_GRADIENT_SMOOTH;
  must(s2_world_configure(start, &def));
  S2World *end;
  step_all(start, trace, NULL, &end);
  for (int round = 0; round < 2; round++) {
    cost->smooth = fmin(cost->smooth, read_back(end, trace, &g, &arena));
  }
  s2_world_destroy(end);
  for (int k = 0; k < STEPS; k++) {
    s2_trace_free(trace[k]);
  }
  s2_world_gradient_free(&g);
  s2_arena_free(&arena);
  s2_recorder_free(&recorder);
}

// ---- Long runs --------------------------------------------------------------------------------

typedef struct Memory { // bytes
  size_t whole;         // the notes of all steps
  size_t peak;          // with images: these, the changes between steps and the notes of one part
  size_t segment;       // the largest sum of an image and the changes in its steps
  size_t notes;         // the largest of one step
  int images;           // one every EVERY steps, and where a pair of touching boxes begins or ends
} Memory;

static void long_run(const S2World *start, Memory *memory) {
  static S2Segment *segment[LONG];
  static int index[LONG];
  S2World *world;
  S2WorldGradient g = {0};
  S2Arena arena;
  s2_arena_init(&arena);
  must(s2_world_clone(start, &world));
  S2Checkpoints *checkpoints = s2_checkpoints_new();
  for (int k = 0; k < LONG; k++) {
    must(s2_checkpoints_step(checkpoints, world, EVERY, &segment[k], &index[k]));
  }
  s2_checkpoints_free(checkpoints);
  s2_world_gradient_fit(&g, world);
  g.q[3] = 1;
  *memory = (Memory){0};
  size_t kept = 0, traced = 0;
  for (int k = 0; k < LONG; k++) {
    if (index[k] != 0) {
      continue;
    }
    size_t bytes = s2_segment_bytes(segment[k]);
    kept += bytes;
    memory->images += 1;
    memory->segment = bytes > memory->segment ? bytes : memory->segment;
  }
  for (int k = LONG - 1; k >= 0; k--) {
    const S2Trace *trace;
    must(s2_segment_trace(segment[k], index[k], &trace));
    must(s2_trace_vjp(trace, &g, &arena));
    size_t bytes = s2_trace_bytes(trace);
    memory->whole += bytes;
    memory->notes = bytes > memory->notes ? bytes : memory->notes;
    traced += bytes;
    if (index[k] == 0) {
      memory->peak = kept + traced > memory->peak ? kept + traced : memory->peak;
      kept -= s2_segment_bytes(segment[k]);
      traced = 0;
      s2_segment_free(segment[k]);
    }
  }
  s2_world_destroy(world);
  s2_world_gradient_free(&g);
  s2_arena_free(&arena);
}

static double linearize(const S2World *start, bool reduced) {
  S2Arena arena;
  S2World *world;
  S2Linear linear;
  s2_arena_init(&arena);
  must(s2_world_clone(start, &world));
  double begin = bench_ms();
  must(reduced ? s2_world_linearize_reduced(world, NULL, 0, NULL, 0, &arena, &linear)
               : s2_world_linearize(world, NULL, 0, &arena, &linear));
  double took = 1e3 * (bench_ms() - begin);
  s2_world_destroy(world);
  s2_arena_free(&arena);
  return took;
}

static bool asked(const char *name, int argc, char **argv) {
  bool found = argc == 1;
  for (int i = 1; i < argc; i++) {
    found |= strncmp(name, argv[i], strlen(argv[i])) == 0;
  }
  return found;
}

static void print_long_runs(int argc, char **argv) {
  printf("\n%d steps, an image every %d: largest memory in kB. The bound is the number of\n"
         "images times the largest image with its changes, plus %d times the largest notes of a\n"
         "step.\n",
         LONG, EVERY, EVERY);
  printf("%-8s %9s %9s %9s %7s %12s %12s\n", "scene", "all notes", "peak", "bound", "images",
         "bytes a step", "with images");
  for (size_t i = 0; i < sizeof scenes / sizeof *scenes; i++) {
    if (!asked(scenes[i].name, argc, argv) || !scenes[i].lasts) {
      continue;
    }
    S2World *world = scenes[i].make(scenes[i].count);
    Memory memory;
    long_run(world, &memory);
    double bound = (double)memory.images * (double)memory.segment + EVERY * (double)memory.notes;
    printf("%-8s %9.0f %9.0f %9.0f %7d %12.0f %12.0f\n", scenes[i].name,
           1e-3 * (double)memory.whole, 1e-3 * (double)memory.peak, 1e-3 * bound, memory.images,
           (double)memory.whole / LONG, (double)memory.peak / LONG);
    fflush(stdout);
    s2_world_destroy(world);
  }
}

int main(int argc, char **argv) {
  printf("%-8s %9s %9s %9s %7s %7s %9s %9s %9s %8s %9s %9s\n", "scene", "step us", "noted", "back",
         "noted/", "back/", "state", "back", "smooth", "bytes", "A us", "A reduced");
  for (size_t i = 0; i < sizeof scenes / sizeof *scenes; i++) {
    if (!asked(scenes[i].name, argc, argv)) {
      continue;
    }
    S2World *world = scenes[i].make(scenes[i].count);
    for (int k = 0; k < scenes[i].before; k++) {
      must(s2_world_step(world));
    }
    Cost cost;
    measure(world, &cost);
    printf("%-8s %9.2f %9.2f %9.2f %7.2f %7.2f %9.2f %9.2f %9.2f %8zu %9.0f %9.0f\n",
           scenes[i].name, cost.plain, cost.noted, cost.back, cost.noted / cost.plain,
           cost.back / cost.plain, cost.state, cost.state_back, cost.smooth, cost.bytes,
           linearize(world, false), linearize(world, true));
    fflush(stdout);
    s2_world_destroy(world);
  }
  print_long_runs(argc, argv);
  return 0;
}
