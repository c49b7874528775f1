// Derivatives of event stepping where joints act: against what is known in closed form, and against
// differences (world_differences.h).
#include "joint_ways.h"

static S2World *event_world(S2Vec2 gravity, double dt) {
  S2World *world = world_new(0, dt);
  S2WorldDef def = *s2_world_settings(world);
  def.stepping = S2_EVENT;
  def.gravity = gravity;
  def.tolerance = 1e-12;
  must(s2_world_configure(world, &def));
  return world;
}

typedef struct Seen {
  int meetings, struck, shaken, fed, floating, mended, limits, steps, splits;
} Seen;

static void look(const S2World *start, int steps, Seen *seen) {
  S2World *world;
  must(s2_world_clone(start, &world));
  S2Trace *trace = s2_trace_new();
  for (int k = 0; k < steps; k++) {
    must(s2_world_step_traced(world, trace));
    for (int i = 0; i < trace->notes.at.count; i++) {
      const S2Note *note = s2_note_at(&trace->notes, i);
      bool jointed = note->island.joints > 0;
      if (getenv("S2_NOTES") != NULL) {
        static const char *const acts[] = {"PART","FREE","RESET","RESET_V2","SOLVE","LINEARISE","V2_IS_V1","V1_IS_V2","RESTART","BLOW","BLEND","REWIND","MIDPOINT","INTEGRATE","MEND","SHAKE","SPIN","SPIN_V2","SPIN_DQ","FEEDBACK","Q0_IS_Q1","ON","COMMIT","DRIFT","PIECE","STRUCK","SET_OUT","COAST","ARRIVE","KEEP","REPAY","SLOWER","PIECE_END"};
        printf("%d %s nodes %d h %.6g kind %d mend %d rows %d meets %d part %g edge %d touches %d", k + 1, acts[note->act], note->island.nodes, note->h, note->kind, note->mend, note->rows, note->meets, note->part, note->edge, note->island.touches);
        for (int t = 0; t < note->island.touches && note->touches; t++) {
          for (int p = 0; p < note->touches[t].count; p++) {
            printf(" [%d-%d %d gap %.3g use %d target %d bias %g]", note->touches[t].body_a, note->touches[t].body_b, p, note->touches[t].points[p].at.gap, note->choices[2*t+p].use, note->choices[2*t+p].target, note->choices[2*t+p].bias);
          }
        }
        for (int r = 0; r < note->rows && note->lambda; r++) printf(" %.3g", note->lambda[r]);
        printf("\n");
      }
      seen->meetings += jointed && note->act == S2_ACT_ARRIVE && note->meets;
      seen->struck += jointed && note->act == S2_ACT_STRUCK;
      seen->shaken += note->act == S2_ACT_SHAKE;
      seen->fed += note->act == S2_ACT_FEEDBACK && note->part > 0;
      seen->floating += note->act == S2_ACT_SPIN_V2;
      seen->mended += jointed && note->act == S2_ACT_MEND;
      seen->limits += note->act == S2_ACT_SOLVE && note->kind == S2_STOP;
    }
  }
  seen->steps += steps;
  seen->splits += (int)s2_world_stats(world)->splits;
  s2_trace_free(trace);
  s2_world_destroy(world);
}

// ---- Differences ------------------------------------------------------------------------------

// A body on the base by the joint, another one on that by a hinge, both soon on the floor or at the
// wall.
static S2World *falling(S2JointType type, Way joint, int seed) {
  S2Rng rng = s2_rng_seeded(700 + (uint64_t)seed);
  S2World *world = event_world(s2_vec2(0.7, -9.8), 1.0 / 60);
  S2BodyDef floor = rough(fixed_at(0, -1.52), 0.3, 0.6);
  floor.angle = 0.03;
  add_box(world, floor, 60, 2);
  S2BodyDef wall = rough(at(1.95, 0), 0.3, 0.5);
  wall.angle = -0.1;
  if (seed % 3 == 0) {
    wall.type = S2_KINEMATIC;
    wall.velocity = s2_vec2(-0.3, 0.1);
    wall.angular_velocity = 0.1;
  } else {
    wall.type = S2_STATIC;
  }
  add_box(world, wall, 0.4, 3);
  S2BodyDef place = rough(at(0, 0), 0.2, 0.5);
  place.type = seed % 4 == 1 ? S2_KINEMATIC : S2_STATIC;
  place.velocity = seed % 4 == 1 ? s2_vec2(0.3, -0.2) : s2_vec2(0, 0);
  place.angular_velocity = seed % 4 == 1 ? 0.4 : 0;
  place.angle = 0.2;
  S2BodyId base = add_box(world, place, 0.2, 0.2);
  bool lively = type != S2_LOCK && type != S2_WELD;
  S2BodyDef first = rough(moving(0.6, -0.2, lively ? 0.2 : 0, lively ? -0.5 : 0,
                                 lively ? s2_rng_normal(&rng) : 0),
                          0.2, 0.3 + 0.4 * s2_rng_uniform(&rng));
  first.angle = 0.3;
  S2BodyId one = add_box(world, first, 0.7, 0.3);
  S2BodyDef second = rough(moving(1.3, -0.3, 0.1, -0.5 - s2_rng_uniform(&rng), -0.3), 0.4,
                           0.3 + 0.4 * s2_rng_uniform(&rng));
  S2BodyId two = add_box(world, second, 0.5, 0.2);
  S2JointId hinges[2];
  S2JointDef hinge = s2_joint_def(S2_HINGE);
  hinge.a = two;
  hinge.b = one;
  hinge.anchor_a = s2_vec2(1, -0.25);
  must(s2_joint_create(world, &hinge, &hinges[1]));
  if (type == S2_GEAR) {
    hinge.a = two;
    hinge.b = s2_joint_def(S2_HINGE).b;
    S2JointDef slider = s2_joint_def(S2_SLIDER);
    slider.a = one;
    slider.anchor_a = s2_vec2(0.2, 0.1);
    slider.axis = s2_vec2(0.8, -0.6);
    must(s2_joint_create(world, &slider, &hinges[0]));
  }
  if (!add_joint(world, type, joint, one, base, s2_vec2(0.3, 0.1), hinges)) {
    s2_world_destroy(world);
    return NULL;
  }
  return world;
}

static void each_type(void **state) {
  (void)state;
  const Way ways[] = {AS_IS,   SCALAR, DAMPED,         MATRIX,        LIMITED,
                      PINCHED, MOTOR,  MOTOR_AT_BOUND, MOTOR_ENDLESS, DRY_FRICTION};
  enum { WAYS_HERE = sizeof ways / sizeof *ways };
  Count counts[CLASSES] = {{0}};
  Seen seen = {0};
  for (int k = 0; k < TYPES * WAYS_HERE; k++) {
    S2JointType type = types[k % TYPES];
    S2World *world = falling(type, ways[k / TYPES], k);
    if (world == NULL) {
      continue;
    }
    char name[96];
    snprintf(name, sizeof name, "%s, %s", s2_joint_type_name(type), way_name[ways[k / TYPES]]);
    double askew = type == S2_GROUND_FRICTION ? 2e-4 : 0;
    if (getenv("S2_SHOW") != NULL) {
      printf("- %s\n", name);
    }
    int n = getenv("S2_STEPS") ? atoi(getenv("S2_STEPS")) : 12;
    compare_to(name, world, n, (uint64_t)k, fmax(1e-6, askew), fmax(1e-6, askew), 1e-2, counts);
    if (getenv("S2_ONLY") == NULL || strcmp(getenv("S2_ONLY"), name) == 0) look(world, n, &seen);
    s2_world_destroy(world);
  }
  report("each type", counts);
  if (getenv("S2_SHOW") != NULL) {
    printf("%d steps, %d splits: %d meetings, %d struck, %d shaken, %d fed, %d floating, %d mended, "
           "%d stops\n",
           seen.steps, seen.splits, seen.meetings, seen.struck, seen.shaken, seen.fed,
           seen.floating, seen.mended, seen.limits);
  }
}

int main(void) {
  picked = 4; // numbers of a class
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(each_type),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
