// The derivatives of steps by programs, from their records: they equal those of the notes, agree
// with differences, and have the same bits in any lane.
#include "programs.h"

#include "diff/step/recorded_vjp.h"
#include "diff/step/trace.h"

enum { SHAPES = S2_FEWER(40, 12), WORLDS = 6, STEPS = 40, MOST = 32 };

typedef struct Side { // a world that is recorded, and the same world, which is traced
  S2World *world, *twin;
  double was[2][3 * MOST]; // state before the step
  S2WorldGradient by_record, by_notes;
} Side;

typedef struct Crowd {
  int lanes, by_program;
  Side side[WORLDS];
  S2World *world[WORLDS];
  S2Recorder recorder;
  S2RecordedSweep sweep;
  S2Trace *trace;
  S2Arena arena;
} Crowd;

static S2Status step_alone(void *user, S2World *world, int index) {
  (void)user, (void)index;
  return s2_world_step(world);
}

static Crowd *crowd_new(uint64_t shape, int lanes) {
  Crowd *crowd = calloc(1, sizeof *crowd);
  crowd->lanes = lanes;
  for (int i = 0; i < WORLDS; i++) {
    Recipe recipe = {.shape = shape, .numbers = 100 * shape + (uint64_t)i, .flow = S2_FLOW_RATTLE};
    Side *side = &crowd->side[i];
    side->world = crowd->world[i] = recipe_world(recipe);
    side->twin = recipe_world(recipe);
    s2_world_set_lanes(side->world, lanes);
  }
  s2_recorder_init(&crowd->recorder, S2_RECORDED_LANES);
  s2_arena_init(&crowd->arena);
  crowd->trace = s2_trace_new();
  return crowd;
}

static void crowd_free(Crowd *crowd) {
  for (int i = 0; i < WORLDS; i++) {
    Side *side = &crowd->side[i];
    s2_world_destroy(side->world);
    s2_world_destroy(side->twin);
    s2_world_gradient_free(&side->by_record);
    s2_world_gradient_free(&side->by_notes);
  }
  s2_recorder_free(&crowd->recorder);
  s2_arena_free(&crowd->arena);
  s2_trace_free(crowd->trace);
  free(crowd);
}

// The adjoints of the state after the step; the same for the same seed.
static void draw_bars(S2WorldGradient *gradient, const S2World *world, uint64_t seed) {
  S2Rng rng = s2_rng_seeded(seed);
  s2_world_gradient_fit(gradient, world);
  s2_world_gradient_clear(gradient);
  for (int i = 0; i < 3 * gradient->slots; i++) {
    gradient->q[i] = between(&rng, -1, 1);
    gradient->v[i] = between(&rng, -1, 1);
  }
  gradient->flags = S2_GRADIENT_WEAK; // one sweep of the notes is enough
}

// Records a step of all worlds. Afterwards by_record has the gradients before it, for the worlds
// that are listed in `recorded`.
static void crowd_step(Crowd *crowd, int step, bool recorded[WORLDS]) {
  S2Status each[WORLDS];
  bool good[WORLDS];
  S2WorldGradient gradients[WORLDS];
  const S2Program *programs[WORLDS];
  for (int i = 0; i < WORLDS; i++) {
    Side *side = &crowd->side[i];
    size_t bytes = 3 * sizeof(double) * (size_t)side->world->bodies.count;
    recorded[i] = false;
    recipe_push(side->world, (uint64_t)i, step);
    memcpy(side->was[0], side->world->q.at, bytes);
    memcpy(side->was[1], side->world->v.at, bytes);
  }
  s2_recorder_reset(&crowd->recorder);
  s2_recorded_sweep_start(&crowd->sweep, &crowd->recorder.arena);
  must(s2_worlds_step_with(crowd->world, WORLDS, each, step_alone, NULL, &crowd->recorder));
  for (int i = 0; i < WORLDS; i++) {
    draw_bars(&crowd->side[i].by_record, crowd->world[i], (uint64_t)(1000 * step + i));
    gradients[i] = crowd->side[i].by_record;
    programs[i] = crowd->world[i]->program;
    good[i] = true;
  }
  for (int k = 0; k < crowd->recorder.steps.count; k++) {
    const S2RecordedStep *of = &crowd->recorder.steps.at[k];
    s2_recorded_vjp(&crowd->sweep, of, programs, gradients, good);
    for (int i = 0; i < of->worlds; i++) {
      if (of->index[i] >= 0) {
        recorded[of->index[i]] = true;
      }
    }
  }
  for (int i = 0; i < WORLDS; i++) {
    assert_true(good[i]);
  }
}

static void assert_near(const double *a, const double *b, int count, const char *what, int world,
                        int step) {
  double most = 0, worst = 0;
  for (int i = 0; i < count; i++) {
    most = fmax(most, fabs(b[i]));
    worst = fmax(worst, fabs(a[i] - b[i]));
  }
  if (!(worst <= 1e-9 * most)) {
    fail_msg("world %d, step %d: %s differ by %g of %g", world, step, what, worst, most);
  }
}

static bool is_recordable(const Crowd *crowd) {
  return has_program(crowd->world[0]) && s2_program_records(crowd->world[0]);
}

// The twin takes the same step with notes.
static void compare_with_notes(Crowd *crowd, int index, int step, bool recorded) {
  Side *side = &crowd->side[index];
  recipe_push(side->twin, (uint64_t)index, step);
  must(s2_world_step_traced(side->twin, crowd->trace));
  if (!recorded) {
    return;
  }
  crowd->by_program += 1;
  int numbers = 3 * side->world->bodies.count;
  draw_bars(&side->by_notes, side->twin, (uint64_t)(1000 * step + index));
  s2_arena_reset(&crowd->arena);
  must(s2_trace_vjp(crowd->trace, &side->by_notes, &crowd->arena));
  assert_true((side->by_notes.flags & S2_GRADIENT_SINGULAR) == 0);
  int name = index;
  assert_near(side->by_record.q, side->by_notes.q, numbers, "poses", name, step);
  assert_near(side->by_record.v, side->by_notes.v, numbers, "velocities", name, step);
  assert_near(side->by_record.f, side->by_notes.f, numbers, "forces", name, step);
}

static void test_like_notes(void **state) {
  (void)state;
  int by_program = 0, recordable = 0;
  for (uint64_t shape = 1; shape <= SHAPES; shape++) {
    Crowd *crowd = crowd_new(shape, 8);
    bool recorded[WORLDS];
    for (int step = 0; step < STEPS; step++) {
      crowd_step(crowd, step, recorded);
      for (int i = 0; i < WORLDS; i++) {
        compare_with_notes(crowd, i, step, recorded[i] && is_recordable(crowd));
      }
    }
    recordable += is_recordable(crowd);
    by_program += crowd->by_program;
    crowd_free(crowd);
  }
  assert_true(recordable > SHAPES / 2);
  assert_true(by_program > recordable * STEPS * WORLDS / 2);
}

static void test_lanes(void **state) {
  (void)state;
  for (uint64_t shape = 1; shape <= SHAPES; shape++) {
    Crowd *crowds[3] = {crowd_new(shape, 1), crowd_new(shape, 4), crowd_new(shape, 8)};
    bool recorded[3][WORLDS];
    for (int step = 0; step < STEPS; step++) {
      for (int k = 0; k < 3; k++) {
        crowd_step(crowds[k], step, recorded[k]);
      }
      for (int k = 1; k < 3; k++) {
        for (int i = 0; i < WORLDS; i++) {
          const S2WorldGradient *a = &crowds[0]->side[i].by_record;
          const S2WorldGradient *b = &crowds[k]->side[i].by_record;
          size_t bytes = 3 * sizeof(double) * (size_t)crowds[0]->world[i]->bodies.count;
          assert_true(recorded[0][i] == recorded[k][i]);
          assert_memory_equal(a->q, b->q, bytes);
          assert_memory_equal(a->v, b->v, bytes);
          assert_memory_equal(a->f, b->f, bytes);
        }
      }
    }
    for (int k = 0; k < 3; k++) {
      crowd_free(crowds[k]);
    }
  }
}

// The derivative of the final state along a force, by differences of steps.
static double by_differences(const S2World *start, int body, S2Vec2 force, double torque,
                             uint64_t seed) {
  const double width = 1e-3;
  double sum = 0;
  for (int side = -1; side <= 1; side += 2) {
    S2World *world;
    S2WorldGradient bars = {0};
    must(s2_world_clone(start, &world));
    S2BodyId id = s2_world_body(world, body);
    must(s2_body_apply_force(world, id, s2_scale(side * width, force), NULL));
    must(s2_body_apply_torque(world, id, side * width * torque));
    must(s2_world_step(world));
    draw_bars(&bars, world, seed);
    for (int i = 0; i < 3 * bars.slots; i++) {
      sum += side * (bars.q[i] * world->q.at[i] + bars.v[i] * world->v.at[i]) / (2 * width);
    }
    s2_world_gradient_free(&bars);
    s2_world_destroy(world);
  }
  return sum;
}

static void test_differences(void **state) {
  (void)state;
  int compared = 0;
  for (uint64_t shape = 1; shape <= SHAPES; shape++) {
    Crowd *crowd = crowd_new(shape, 8);
    bool recorded[WORLDS];
    for (int step = 1; step <= 11; step++) { // without forces in the last one
      S2World *start;
      must(s2_world_clone(crowd->world[0], &start));
      crowd_step(crowd, step, recorded);
      if (step == 11 && recorded[0] && is_recordable(crowd)) {
        for (int body = 0; s2_world_body(start, body).index != 0; body++) {
          int32_t slot = (int32_t)s2_world_body(start, body).index - 1;
          const double *f = crowd->side[0].by_record.f + 3 * slot;
          S2Vec2 force = s2_vec2(0.6, -0.8);
          double slope = by_differences(start, body, force, 0.5, (uint64_t)(1000 * step));
          double mine = 0.5 * f[0] + force.x * f[1] + force.y * f[2];
          assert_true(fabs(slope - mine) <= 1e-6 * (0.01 + fabs(mine)));
          compared += 1;
        }
      }
      s2_world_destroy(start);
    }
    crowd_free(crowd);
  }
  assert_true(compared > 2 * SHAPES);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_like_notes),
      cmocka_unit_test(test_lanes),
      cmocka_unit_test(test_differences),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
