// Bodies and locks with motions given by the program, compared with closed forms.
#include "worlds.h"

static const double W = 7, A = 0.3; // rad/s, m: of all oscillations here

typedef struct Script {
  int calls, fail_at; // calls so far; the number of the one that fails, 0: none
  double spoil;       // added to the answer
} Script;

static double place(double t) {
  return A * sin(W * t);
}

// x and y oscillate, the angle turns at a constant rate.
static bool swing(void *user, S2World *world, S2MotionCall *call) {
  Script *script = user;
  double end = call->t + call->h;
  const double pose[3] = {2 * end, place(end), A * (1 - cos(W * end))};
  (void)world;
  script->calls += 1;
  assert_true((call->body.index != 0) != (call->joint.index != 0));
  for (int c = 0; c < 3; c++) {
    call->v[c] = (pose[c] - call->q[c]) / call->h + script->spoil;
  }
  return script->calls != script->fail_at;
}

static S2World *swinging(S2WorldDef def, Script *script) {
  S2World *world;
  must(s2_world_create(&def, &world));
  s2_world_set_callbacks(world, &(S2Callbacks){.user = script, .motion = swing});
  return world;
}

static S2JointId drive(S2World *world, S2BodyId body, bool x, bool y, bool angle) {
  S2JointDef lock = s2_joint_def(S2_LOCK);
  lock.a = body;
  lock.lock_x = x;
  lock.lock_y = y;
  lock.lock_angle = angle;
  lock.driven = true;
  S2JointId id;
  must(s2_joint_create(world, &lock, &id));
  return id;
}

// A box hangs on a rod from a driven body; a fast ball makes bisecting steps halve.
static void a_shaker_is_where_it_should_be(void **state) {
  (void)state;
  for (int i = 0; i < 4; i++) {
    S2WorldDef def = fixed_def();
    Script script = {0};
    def.stepping = i == 1 ? S2_BISECT : S2_SPECULATIVE;
    def.substeps = i == 2 ? 4 : 1;
    def.alpha = def.beta = i == 3 ? 0.6 : 1;
    S2World *world = swinging(def, &script);
    S2BodyId shaker = add_box(world, at(0, 0), 0.4, 0.2);
    S2JointId lock = drive(world, shaker, true, true, true);
    S2BodyId weight = add_box(world, at(0, -1), 0.2, 0.2);
    S2JointDef hinge = s2_joint_def(S2_HINGE);
    hinge.a = weight;
    hinge.b = shaker;
    hinge.anchor_a = s2_vec2(0, 0);
    S2JointId id;
    must(s2_joint_create(world, &hinge, &id));
    add_box(world, fixed_at(0, -1.5), 20, 0.2);
    S2BodyDef fast = at(1, 0);
    fast.velocity = s2_vec2(0, -8);
    add_disc(world, fast, 0.1);
    double before[3] = {0, 0, 0}, worst = 0, worst_speed = 0;
    for (int n = 1; n <= 600; n++) {
      must(s2_world_step(world));
      double t = s2_world_time(world), q[3], v[3];
      must(s2_body_q(world, shaker, q));
      must(s2_body_v(world, shaker, v));
      const double exact[3] = {2 * t, place(t), A * (1 - cos(W * t))};
      for (int c = 0; c < 3; c++) {
        worst = fmax(worst, fabs(q[c] - exact[c]));
        double mean = (exact[c] - before[c]) / def.dt;
        bool whole = def.substeps == 1 && def.stepping == S2_SPECULATIVE && def.beta == 1;
        worst_speed = fmax(worst_speed, whole ? fabs(v[c] - mean) : 0);
        before[c] = exact[c];
      }
      S2JointInfo info;
      must(s2_joint_info(world, lock, &info));
      assert_true(info.driven && info.error < 1e-9);
    }
    assert_true(worst < 1e-9);
    assert_true(worst_speed < 1e-7);
    assert_int_equal(s2_world_stats(world)->unsolved_solves, 0);
    assert_true(i != 1 || s2_world_stats(world)->bisections > 0);
    s2_world_destroy(world);
  }
}

static void kinematic_bodies_do_not_drift(void **state) {
  (void)state;
  for (int i = 0; i < 3; i++) {
    S2WorldDef def = fixed_def();
    Script script = {0};
    def.stepping = i == 1 ? S2_BISECT : S2_SPECULATIVE;
    def.substeps = i == 2 ? 3 : 1;
    S2World *world = swinging(def, &script);
    S2BodyDef kinematic = at(0, 0);
    kinematic.type = S2_KINEMATIC;
    S2BodyId platform = add_disc(world, kinematic, 0.1);
    must(s2_body_set_motion(world, platform, true));
    S2BodyDef other = at(0, -3);
    other.type = S2_KINEMATIC;
    S2BodyId still = add_box(world, other, 4, 0.2);
    must(s2_body_set_motion(world, still, true));
    assert_true(s2_body_has_motion(world, still));
    must(s2_body_set_motion(world, still, false));
    double worst = 0;
    for (int n = 1; n <= 1200; n++) {
      must(s2_world_step(world));
      double t = s2_world_time(world), q[3], v[3];
      must(s2_body_q(world, platform, q));
      must(s2_body_v(world, platform, v));
      worst = fmax(worst, fabs(q[1] - place(t)) + fabs(q[2] - A * (1 - cos(W * t))));
      near(v[1], (place(t) - place(t - def.dt / def.substeps)) * def.substeps / def.dt, 1e-9);
    }
    assert_true(worst < 1e-13); // no drift in 10 s
    near(get(world, still, S2_BODY_Y), -3, 1e-15);
    s2_world_destroy(world);
  }
}

static bool lift(void *user, S2World *world, S2MotionCall *call) {
  double end = call->t + call->h;
  (void)user;
  (void)world;
  call->v[1] = (place(end) / 4 - call->q[1]) / call->h;
  call->v[2] = (A * (1 - cos(W * end)) - call->q[2]) / call->h;
  return true;
}

// The tray moves up and down with less than g, and the box on it moves with it.
static void a_tray_carries_a_box(void **state) {
  (void)state;
  for (int i = 0; i < 3; i++) {
    S2WorldDef def = fixed_def();
    def.gravity = s2_vec2(0, -20); // A w^2 = 14.7 vertically, a quarter of it horizontally
    def.stepping = i == 1 ? S2_BISECT : S2_SPECULATIVE;
    def.substeps = i == 2 ? 3 : 1;
    S2World *world;
    must(s2_world_create(&def, &world));
    s2_world_set_callbacks(world, &(S2Callbacks){.motion = lift});
    S2BodyDef kinematic = at(0, 0);
    kinematic.type = S2_KINEMATIC;
    kinematic.friction = 2;
    S2BodyId tray = add_box(world, kinematic, 4, 0.2);
    S2BodyDef load = at(0.5, 0.35);
    load.friction = 2;
    load.velocity = s2_vec2(place(def.dt) / 4 / def.dt, 0);
    S2BodyId box = add_box(world, load, 0.5, 0.5);
    must(s2_body_set_motion(world, tray, true));
    double worst = 0;
    for (int n = 0; n < 600; n++) {
      must(s2_world_step(world));
      worst = fmax(worst, fabs(get(world, box, S2_BODY_X) - get(world, tray, S2_BODY_X) - 0.5));
      worst = fmax(worst, fabs(get(world, box, S2_BODY_Y) - get(world, tray, S2_BODY_Y) - 0.35));
    }
    assert_true(worst < 1e-12);
    s2_world_destroy(world);
  }
}

static void failures_undo_the_step(void **state) {
  (void)state;
  for (int i = 0; i < 4; i++) {
    S2WorldDef def = fixed_def();
    Script script = {0};
    def.stepping = i % 2 == 0 ? S2_SPECULATIVE : S2_BISECT;
    def.substeps = 2;
    S2World *world = swinging(def, &script);
    S2BodyId body = add_box(world, at(0, 0), 1, 1);
    if (i < 2) {
      drive(world, body, true, false, false);
    } else {
      assert_int_equal(s2_body_set_motion(world, body, true).code, S2_INVALID);
      must(s2_body_set(world, body, S2_BODY_TYPE, S2_KINEMATIC));
      must(s2_body_set_motion(world, body, true));
    }
    must(s2_world_step(world));
    uint64_t hash = s2_world_hash(world);
    int each = script.calls / 2;
    script.fail_at = script.calls + each + 1; // in the second part
    assert_int_equal(s2_world_step(world).code, S2_ABORTED);
    assert_true(s2_world_hash(world) == hash);
    script.spoil = NAN;
    S2Status status = s2_world_step(world);
    assert_int_equal(status.code, S2_INVALID);
    assert_non_null(
        strstr(status.message, i < 2 ? "motion of a lock: the velocity of its angle is nan"
                                     : "motion of a body: the velocity of its angle is "
                                       "nan"));
    assert_true(s2_world_hash(world) == hash);
    S2Problem *problem = NULL;
    assert_int_equal(s2_world_problem(world, &problem, NULL, 0).code, S2_INVALID);
    script = (Script){0};
    must(s2_world_problem(world, &problem, NULL, 0));
    s2_problem_free(problem);
    assert_true(s2_world_hash(world) == hash);
    must(s2_world_step(world));
    near(get(world, body, S2_BODY_X), place(s2_world_time(world)), 1e-9);
    s2_world_destroy(world);
  }
}

static void clones_go_on_with_the_same_bits(void **state) {
  (void)state;
  Script script = {0};
  S2World *world = swinging(fixed_def(), &script), *copy;
  S2BodyId body = add_box(world, at(0, 0), 1, 1);
  S2JointId lock = drive(world, body, true, true, false);
  for (int i = 0; i < 50; i++) {
    must(s2_world_step(world));
  }
  must(s2_world_clone(world, &copy));
  s2_world_set_callbacks(copy, &(S2Callbacks){.user = &script, .motion = swing});
  for (int i = 0; i < 50; i++) {
    must(s2_world_step(world));
    must(s2_world_step(copy));
    assert_true(s2_world_hash(world) == s2_world_hash(copy));
  }
  // Without a callback it stands still at its place.
  s2_world_set_callbacks(copy, &(S2Callbacks){0});
  double x = get(copy, body, S2_BODY_X);
  must(s2_world_step(copy));
  must(s2_world_step(copy));
  near(get(copy, body, S2_BODY_X), x, 1e-12);
  S2StaticOptions options = s2_static_options();
  S2StaticResult result;
  assert_int_equal(s2_world_solve_static(copy, &options, &result).code, S2_INVALID);
  const double still[3] = {0, 0, 0};
  assert_int_equal(s2_joint_set_velocity(world, lock, still).code, S2_INVALID);
  s2_world_destroy(copy);
  s2_world_destroy(world);
}

// An equilibrium is found with kinematic bodies at rest.
static void statics_wait(void **state) {
  (void)state;
  Script script = {0};
  S2World *world = swinging(fixed_def(), &script);
  S2BodyDef kinematic = at(0, -1);
  kinematic.type = S2_KINEMATIC;
  S2BodyId floor = add_box(world, kinematic, 4, 0.2), box = add_box(world, at(0, -0.6), 0.5, 0.5);
  must(s2_body_set_motion(world, floor, true));
  S2StaticOptions options = s2_static_options();
  S2StaticResult result;
  must(s2_world_solve_static(world, &options, &result));
  assert_true(result.solved);
  assert_int_equal(script.calls, 0);
  near(get(world, floor, S2_BODY_Y), -1, 1e-15);
  near(get(world, box, S2_BODY_Y), -0.65, 1e-9);
  s2_world_destroy(world);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_shaker_is_where_it_should_be),
      cmocka_unit_test(kinematic_bodies_do_not_drift),
      cmocka_unit_test(a_tray_carries_a_box),
      cmocka_unit_test(failures_undo_the_step),
      cmocka_unit_test(clones_go_on_with_the_same_bits),
      cmocka_unit_test(statics_wait),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
