// The flow by two stages with joints of every kind: order, energy, bodies with given motion.
#include "worlds.h"

// A rod of 1 m and 1 kg hung by its left end from the world by a joint, another one from its right
// end by a hinge.
typedef struct Scene {
  const char *name;
  void (*joint)(S2World *world, const S2BodyId body[2]);
} Scene;

static S2JointId make(S2World *world, S2JointDef def) {
  S2JointId joint;
  must(s2_joint_create(world, &def, &joint));
  return joint;
}

static S2JointDef length_def(S2JointType type, S2BodyId a, S2BodyId b) {
  S2JointDef def = joint_def(type, a, b);
  def.anchor_a = s2_vec2(0, 0);
  def.anchor_b = s2_vec2(-0.6, 0.5);
  return def;
}

static void by_weld(S2World *world, const S2BodyId body[2]) { // to a body that oscillates
  S2BodyDef def = at(-0.5, 0.3);
  S2BodyId arm = add_box(world, def, 0.2, 0.4);
  S2JointDef weld = joint_def(S2_WELD, body[0], arm);
  weld.anchor_a = s2_vec2(0, 0.1);
  make(world, weld);
  make(world, hinge_def(arm, no_body, -0.5, 0.6));
}

static void by_soft_weld(S2World *world, const S2BodyId body[2]) {
  S2JointDef weld = joint_def(S2_WELD, body[0], no_body);
  weld.anchor_a = s2_vec2(0, 0);
  weld.compliance.linear = 1e-3;
  weld.compliance.angular = 1e-2;
  make(world, weld);
}

static void by_soft_hinge(S2World *world, const S2BodyId body[2]) {
  S2JointDef hinge = hinge_def(body[0], no_body, 0, 0);
  hinge.compliance.linear = 1e-3;
  make(world, hinge);
}

static void by_slider(S2World *world, const S2BodyId body[2]) { // on a rail that oscillates
  S2BodyId rail = add_box(world, at(0.2, 0.3), 0.8, 0.1);
  make(world, hinge_def(rail, no_body, 0, 0.3));
  S2JointDef slider = joint_def(S2_SLIDER, body[0], rail);
  slider.anchor_a = s2_vec2(0, 0);
  slider.axis = s2_vec2(1, 0.3);
  slider.has_limits = true;
  slider.limit_lo = -1e4;
  slider.limit_hi = 1e4;
  make(world, slider);
  S2JointDef spring = joint_def(S2_SPRING, body[0], rail);
  spring.anchor_a = s2_vec2(0.1, 0);
  spring.anchor_b = s2_vec2(0.5, 0.3);
  spring.stiffness = 200;
  make(world, spring);
}

static void by_distance(S2World *world, const S2BodyId body[2]) {
  make(world, length_def(S2_DISTANCE, body[0], no_body));
}

static void by_spring(S2World *world, const S2BodyId body[2]) {
  S2JointDef spring = length_def(S2_SPRING, body[0], no_body);
  spring.stiffness = 300;
  spring.rest_length = 0.4;
  make(world, spring);
}

static void by_wheel(S2World *world, const S2BodyId body[2]) {
  S2JointDef wheel = joint_def(S2_WHEEL, body[0], no_body);
  wheel.anchor_a = s2_vec2(0, 0);
  wheel.axis = s2_vec2(0.2, 1);
  wheel.stiffness = 500;
  make(world, wheel);
}

static void by_gear(S2World *world, const S2BodyId body[2]) {
  S2BodyId disc = add_disc(world, at(-2, 0), 0.3);
  S2JointDef gear = joint_def(S2_GEAR, no_body, no_body);
  gear.joint_a = make(world, hinge_def(body[0], no_body, 0, 0));
  gear.joint_b = make(world, hinge_def(disc, no_body, -2, 0));
  gear.ratio = -1.5;
  make(world, gear);
}

static void by_lock(S2World *world, const S2BodyId body[2]) {
  S2JointDef lock = joint_def(S2_LOCK, body[0], no_body);
  lock.lock_y = true;
  make(world, lock);
  S2JointDef spring = length_def(S2_SPRING, body[0], no_body);
  spring.stiffness = 100;
  make(world, spring);
}

static void by_mouse(S2World *world, const S2BodyId body[2]) {
  S2JointDef mouse = joint_def(S2_MOUSE, body[0], no_body);
  mouse.anchor_a = s2_vec2(0, 0);
  mouse.target = s2_vec2(0.1, 0.2);
  mouse.stiffness = 400;
  make(world, mouse);
}

static void by_equal_limits(S2World *world, const S2BodyId body[2]) { // a hinge that does not turn
  S2BodyId arm = add_box(world, at(0, 0.5), 0.1, 1);
  make(world, hinge_def(arm, no_body, 0, 1));
  S2JointDef hinge = hinge_def(body[0], arm, 0, 0);
  hinge.has_limits = true;
  hinge.limit_lo = hinge.limit_hi = 0;
  make(world, hinge);
}

static void by_two_hinges(S2World *world, const S2BodyId body[2]) { // one more than needed
  make(world, hinge_def(body[0], no_body, 0, 0));
  make(world, hinge_def(body[0], no_body, 0, 0));
}

static void by_a_loop(S2World *world, const S2BodyId body[2]) { // a rigid triangle
  S2BodyDef left = at(0.25, 0.4), right = at(0.75, 0.4);
  left.mask = right.mask = 0;
  S2BodyId side[2] = {add_box(world, left, 0.6, 0.1), add_box(world, right, 0.6, 0.1)};
  make(world, hinge_def(side[0], body[0], 0, 0));
  make(world, hinge_def(side[1], body[0], 1, 0));
  make(world, hinge_def(side[0], side[1], 0.5, 0.8));
  make(world, hinge_def(side[0], no_body, 0.5, 0.8));
}

static const Scene scenes[] = {
    {"weld", by_weld},
    {"soft weld", by_soft_weld},
    {"soft hinge", by_soft_hinge},
    {"slider", by_slider},
    {"distance", by_distance},
    {"spring", by_spring},
    {"wheel", by_wheel},
    {"gear", by_gear},
    {"lock", by_lock},
    {"mouse", by_mouse},
    {"equal limits", by_equal_limits},
    {"two hinges", by_two_hinges},
    {"loop", by_a_loop},
};
enum { SCENES = sizeof scenes / sizeof scenes[0] };

static S2World *scene_world(const Scene *scene, double dt, S2BodyId body[2]) {
  S2WorldDef def = fixed_def();
  def.dt = dt;
  def.stepping = S2_AUTO;
  S2World *world;
  must(s2_world_create(&def, &world));
  for (int i = 0; i < 2; i++) {
    S2BodyDef rod = at(0.5 + i, 0);
    rod.mask = 0; // bodies pass through each other
    rod.mass = 1;
    body[i] = add_box(world, rod, 1, 0.05);
  }
  make(world, hinge_def(body[1], body[0], 1, 0));
  scene->joint(world, body);
  return world;
}

// J: the largest difference of the energy from its start in each third of the time (s).
static void scene_sway(const Scene *scene, int rate, int time, double sway[3]) {
  S2BodyId body[2];
  S2World *world = scene_world(scene, 1.0 / rate, body);
  double before = s2_world_energy(world).total;
  int count = time * rate;
  memset(sway, 0, 3 * sizeof(double));
  for (int i = 0; i < count; i++) {
    must(s2_world_step(world));
    double *worst = &sway[3 * i / count];
    *worst = fmax(*worst, fabs(s2_world_energy(world).total - before));
    double error = s2_world_residuals(world).joint_error;
    if (!(error <= 1e-12)) {
      fail_msg("%s: step %d: joints are off by %.3e m", scene->name, i + 1, error);
    }
  }
  assert_int_equal(s2_world_stats(world)->unsolved_solves, 0);
  s2_world_destroy(world);
}

// The oscillation of the energy is of order h^2: with half of the step a quarter of it remains
// within 3 s, in which the two motions are still alike. The energy does not drift: a uniform drift
// would give three times the difference in the last third of 60 s as in the first. The oscillation
// of chaotic motions varies at random from third to third, so the mean over the scenes counts.
static void energy_of_every_joint_sways(void **state) {
  (void)state;
  double growth = 0; // sum of logarithms
  for (int k = 0; k < SCENES; k++) {
    double coarse[3], fine[3], longer[3];
    scene_sway(&scenes[k], 480, 3, coarse);
    scene_sway(&scenes[k], 960, 3, fine);
    scene_sway(&scenes[k], 120, 60, longer);
    double most = fmax(coarse[0], fmax(coarse[1], coarse[2]));
    double finer = fmax(fine[0], fmax(fine[1], fine[2]));
    growth += log(longer[2] / longer[0]);
    if (!(most > 0) || !(fabs(4 * finer / most - 1) < 0.05)) {
      fail_msg("%s: %.3e J, %.3f of it at half the step", scenes[k].name, most, finer / most);
    }
  }
  assert_true(exp(growth / SCENES) < 1.5);
}

// The end of the second rod after half a second, compared with a step 16 times smaller.
static void every_joint_has_order_two(void **state) {
  (void)state;
  for (int k = 0; k < SCENES; k++) {
    double error[2], q[3][2];
    for (int level = 0; level < 3; level++) {
      const int rate[3] = {480, 960, S2_FEWER(15360, 3840)};
      S2BodyId body[2];
      S2World *world = scene_world(&scenes[k], 1.0 / rate[level], body);
      steps(world, rate[level] / 2);
      for (int i = 0; i < 2; i++) {
        q[level][i] = get(world, body[i], S2_BODY_ANGLE) + get(world, body[i], S2_BODY_X);
      }
      s2_world_destroy(world);
    }
    for (int level = 0; level < 2; level++) {
      error[level] = hypot(q[level][0] - q[2][0], q[level][1] - q[2][1]);
    }
    double order = log2(error[0] / error[1]);
    if (!(order > 1.8 && order < 2.3)) {
      fail_msg("%s: errors %.3e %.3e: order %.3f", scenes[k].name, error[0], error[1], order);
    }
  }
}

// A joint to a body with given motion: the same pendulum in a carriage, and order 2 on a crank.
static void joints_to_what_moves_as_given(void **state) {
  (void)state;
  double angle[2], x[3];
  for (int k = 0; k < 5; k++) {
    const int rate[5] = {240, 240, 120, 240, 7680};
    S2WorldDef def = fixed_def();
    def.dt = 1.0 / rate[k];
    def.stepping = S2_AUTO;
    S2World *world;
    must(s2_world_create(&def, &world));
    S2BodyDef carriage = at(0, 0), rod = at(k < 2 ? 0.5 : 1, 0);
    carriage.type = S2_KINEMATIC;
    carriage.velocity.x = rod.velocity.x = k == 1 ? 1.5 : 0;
    carriage.angular_velocity = k < 2 ? 0 : 2;
    rod.velocity.y = k < 2 ? 0 : 1;
    rod.mask = 0;
    S2BodyId base = add_box(world, carriage, 0.1, 0.1), body = add_box(world, rod, 1, 0.1);
    make(world, hinge_def(body, base, k < 2 ? 0 : 0.5, 0));
    steps(world, rate[k]);
    near(s2_world_residuals(world).joint_error, 0, 1e-12);
    assert_int_equal(s2_world_stats(world)->projections, 0);
    angle[k % 2] = k < 2 ? get(world, body, S2_BODY_ANGLE) : angle[k % 2];
    x[k < 2 ? 0 : k - 2] = get(world, body, S2_BODY_X);
    s2_world_destroy(world);
  }
  near(angle[0], angle[1], 1e-11);
  double order = log2((x[0] - x[2]) / (x[1] - x[2]));
  assert_true(order > 1.8 && order < 2.2);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(energy_of_every_joint_sways),
      cmocka_unit_test(every_joint_has_order_two),
      cmocka_unit_test(joints_to_what_moves_as_given),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
