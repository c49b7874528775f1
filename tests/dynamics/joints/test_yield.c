// Bodies with given motion: crushing is reported with its cause, and a bound on the force makes the
// motion yield.
#include "dynamics/world/world.h"
#include "worlds.h"

static const S2Stepping steppings[] = {S2_SPECULATIVE, S2_BISECT, S2_EVENT};
enum { STEPPINGS = 3 };

static S2World *stepped(S2Stepping stepping, double gravity, double dt) {
  S2WorldDef def = fixed_def();
  def.gravity = s2_vec2(0, gravity);
  def.dt = dt;
  def.stepping = stepping;
  S2World *world;
  must(s2_world_create(&def, &world));
  return world;
}

static S2BodyDef named(S2BodyDef def, const char *name) {
  def.name = name;
  return def;
}

static S2BodyDef press_at(double y, double vy, double max_force) {
  S2BodyDef def = named(at(0, y), "press");
  def.type = S2_KINEMATIC;
  def.velocity = s2_vec2(0, vy);
  def.mass = 5;
  def.max_force = max_force;
  return def;
}

// The anvil's top is at 0.
static void add_anvil(S2World *world) {
  add_box(world, named(fixed_at(0, -0.5), "anvil"), 4, 1);
}

static S2JointId make(S2World *world, S2JointDef def) {
  S2JointId joint;
  must(s2_joint_create(world, &def, &joint));
  return joint;
}

static const char *warning_of(S2World *world) {
  int count;
  const S2Event *events = s2_world_events(world, &count);
  for (int i = 0; i < count; i++) {
    if (events[i].type == S2_SOLVER_WARNING) {
      return events[i].message;
    }
  }
  return "";
}

static void says(const char *message, const char *what) {
  if (strstr(message, what) == NULL) {
    fail_msg("'%s' expected in '%s'", what, message);
  }
}

// ---- Crushing ---------------------------------------------------------------------------------

static void crushing_names_its_bodies(void **state) {
  (void)state;
  for (int i = 0; i < STEPPINGS; i++) {
    S2World *world = stepped(steppings[i], -9.81, 1.0 / 120);
    add_anvil(world);
    add_box(world, named(at(0, 0.5), "box"), 1, 1);
    add_box(world, press_at(1.35, -0.5, INFINITY), 2, 0.5);
    int told = 0;
    for (int k = 0; k < 40; k++) {
      must(s2_world_step(world));
      const char *message = warning_of(world);
      if (message[0] != 0) {
        says(message, "'press' (kinematic)");
        says(message, "'box'");
        says(message, "'anvil' (static)");
        says(message, "with a max_force 'press' would yield");
        told += 1;
      }
    }
    const S2WorldStats *stats = s2_world_stats(world);
    assert_true(told > 10);
    assert_int_equal(stats->unsolved, told); // steps
    assert_true(stats->unsolved_solves > stats->unsolved);
    s2_world_destroy(world);
  }
}

// The same where a stack is too large to search for a proof.
static void crushed_stacks_name_the_press(void **state) {
  (void)state;
  for (int discs = 20; discs <= 180; discs += 80) {
    S2World *world = world_new(0, 1.0 / 120);
    add_anvil(world);
    for (int i = 0; i < discs; i++) {
      add_disc(world, rough(at(0, i + 0.5), 0, 0), 0.5);
    }
    add_box(world, press_at(discs + 0.25, -0.5, INFINITY), 2, 0.5);
    must(s2_world_step(world));
    says(warning_of(world), "with a max_force 'press' would yield");
    if (discs <= 100) {
      says(warning_of(world), "'press' (kinematic)");
      says(warning_of(world), "'anvil' (static)");
    }
    s2_world_destroy(world);
  }
}

static S2JointDef ram_of(S2BodyId body, double speed) {
  S2JointDef def = joint_def(S2_LOCK, body, no_body);
  def.lock_x = def.lock_y = def.lock_angle = true;
  def.velocity = s2_vec2(speed, 0);
  def.name = "ram";
  return def;
}

static void locks_that_crush_are_named(void **state) {
  (void)state;
  S2World *world = world_new(0, 0.01);
  make(world, ram_of(add_box(world, named(at(0, 0), "head"), 1, 1), 1));
  add_box(world, named(fixed_at(1.05, 0), "wall"), 1, 1);
  const char *message = "";
  for (int i = 0; i < 10 && message[0] == 0; i++) {
    must(s2_world_step(world));
    message = warning_of(world);
  }
  says(message, "'head'");
  says(message, "'wall' (static)");
  says(message, "lock 'ram'");
  says(message, "with a max_force or max_torque lock 'ram' would yield");
  s2_world_destroy(world);
}

// ---- Yielding ---------------------------------------------------------------------------------

static double pressed(S2World *world, S2BodyId a, S2BodyId b) {
  int count;
  const S2Contact *contacts = s2_world_contacts(world, &count);
  double sum = 0;
  for (int i = 0; i < count; i++) {
    bool one = contacts[i].a.index == a.index && contacts[i].b.index == b.index;
    bool other = contacts[i].a.index == b.index && contacts[i].b.index == a.index;
    sum += one || other ? contacts[i].normal_impulse : 0;
  }
  return sum / s2_world_settings(world)->dt;
}

// The press moves down as given, stops on the block and presses with exactly its force; a larger
// force from outside moves it back with the difference.
static void a_press_holds_its_force(void **state) {
  (void)state;
  const double most = 100, g = 9.81, dt = 1.0 / 120;
  for (int i = 0; i < STEPPINGS; i++) {
    S2World *world = stepped(steppings[i], -g, dt);
    S2BodyId anvil = add_box(world, fixed_at(0, -0.5), 4, 1);
    S2BodyDef def = at(0, 0.5);
    def.mass = 2;
    S2BodyId block = add_box(world, def, 1, 1);
    S2BodyId press = add_box(world, press_at(1.6, -0.5, most), 2, 0.5);
    steps(world, 30);
    near(get(world, press, S2_BODY_Y), 1.6 - 0.125, 1e-12);
    near(get(world, press, S2_BODY_VY), -0.5, 1e-12);
    steps(world, 90);
    for (int k = 0; k < 60; k++) {
      steps_solved(world, 1, 1e-9, 1e-9);
      near(pressed(world, press, block), most, 1e-7);
      near(pressed(world, block, anvil), most + 2 * g, 1e-7);
      near(get(world, press, S2_BODY_VY), 0, 1e-9);
    }
    S2JointInfo info;
    must(s2_joint_info(world, s2_body_drive(world, press), &info));
    near(info.force.y, -most, 1e-9);
    double before = get(world, press, S2_BODY_Y);
    for (int k = 1; k <= 24; k++) {
      must(s2_body_apply_force(world, press, s2_vec2(0, most + 10), NULL));
      must(s2_world_step(world));
      near(get(world, press, S2_BODY_VY), 10 / 5.0 * k * dt, 1e-9);
    }
    near(get(world, press, S2_BODY_Y), before + 10 / 5.0 * dt * dt * 24 * 25 / 2, 1e-9);
    must(s2_body_set(world, press, S2_BODY_VY, 0.5)); // the lost distance is not made up for
    steps(world, 60);
    near(get(world, press, S2_BODY_VY), 0.5, 1e-12);
    double y = get(world, press, S2_BODY_Y);
    assert_true(y > before + 0.25 - most / 5 * dt * dt && y < before + 0.4);
    s2_world_destroy(world);
  }
}

// Inertia 1 kg m^2, bound 3 N m: it holds 2.5 N m, turns with 2 rad/s^2 under 5 N m, and stops with
// 3 rad/s^2.
static void a_lock_slips_at_its_bound(void **state) {
  (void)state;
  const double dt = 1.0 / 240, most = 3;
  const double torque[3] = {2.5, 5, 0}, speed[3] = {0, 2, 0};
  for (int i = 0; i < STEPPINGS; i++) {
    S2World *world = stepped(steppings[i], -9.81, dt);
    S2BodyDef body = at(0, 0);
    body.mass = 2;
    S2JointDef def = joint_def(S2_LOCK, add_disc(world, body, 1), no_body);
    def.lock_x = def.lock_y = def.lock_angle = true;
    def.max_torque = most;
    S2JointId lock = make(world, def);
    double end = 0;
    for (int part = 0; part < 3; part++) {
      for (int k = 0; k < 240; k++) {
        must(s2_body_apply_torque(world, def.a, torque[part]));
        steps_solved(world, 1, 1e-9, 0);
        double carried;
        must(s2_joint_get(world, lock, S2_JOINT_TORQUE, &carried));
        assert_true(fabs(carried) <= most * (1 + 1e-12));
        near(carried, part == 0 ? -2.5 : part == 1 ? -3 : carried, 1e-9);
      }
      near(get(world, def.a, S2_BODY_OMEGA), speed[part], 1e-9);
      near(get(world, def.a, S2_BODY_X), 0, 1e-9); // x and y have no bound
      near(get(world, def.a, S2_BODY_Y), 0, 1e-9);
      end = get(world, def.a, S2_BODY_ANGLE);
    }
    near(end, 1 + 2.0 / 3, 2 * dt * 1.1); // first order: errors of the first and the last step
    s2_world_destroy(world);
  }
}

// Once the way is free, the drive returns to its function of time, as fast as its bound can brake.
static bool to_and_fro(void *user, S2World *world, S2MotionCall *call) {
  (void)user;
  (void)world;
  const double goal[3] = {0, 0.4 * sin(call->t + call->h), 0};
  for (int c = 0; c < 3; c++) {
    call->v[c] = (goal[c] - call->q[c]) / call->h;
    call->place[c] = true;
  }
  return true;
}

static void places_are_gone_back_to(void **state) {
  (void)state;
  const double dt = 1.0 / 240, most = 20;
  for (int i = 0; i < 2 * STEPPINGS; i++) {
    bool loaded = i >= STEPPINGS; // three times the mass that the drive assumes
    S2World *world = stepped(steppings[i % STEPPINGS], 0, dt);
    s2_world_set_callbacks(world, &(S2Callbacks){.motion = to_and_fro});
    S2BodyDef def = at(0, 0);
    def.type = S2_KINEMATIC;
    def.mass = 1;
    def.max_force = most;
    S2BodyId slide = add_box(world, def, 1, 1);
    must(s2_body_set_motion(world, slide, true));
    S2BodyId wall = add_box(world, rough(fixed_at(1.2, 0), 0, 0), 1, 1);
    if (loaded) {
      S2BodyDef load = at(0, 5);
      load.mass = load.inertia = 2;
      S2JointDef weld = joint_def(S2_WELD, slide, add_box(world, load, 1, 1));
      weld.anchor_a = s2_vec2(0, 0);
      make(world, weld);
    }
    steps(world, 240); // sin(1) 0.4 = 0.337 m, but the wall stands at 0.2
    near(get(world, slide, S2_BODY_X), 0.2, 0.011);
    double force;
    must(s2_joint_get(world, s2_body_drive(world, slide), S2_JOINT_FORCE, &force));
    near(force, most, 1e-9);
    must(s2_body_set(world, wall, S2_BODY_X, 9));
    double beyond = 0;
    for (int k = 0; k < 720; k++) {
      must(s2_world_step(world));
      beyond = fmax(beyond, get(world, slide, S2_BODY_X) - 0.4 * sin(s2_world_time(world)));
    }
    near(get(world, slide, S2_BODY_X), 0.4 * sin(s2_world_time(world)), 1e-9);
    // The goal decelerates by .34 of the 20 m/s^2, which causes an overshoot of .34/40 of the
    // distance; with three times the mass it is (3 - 1)/(3 + 1), and the goal moves on meanwhile.

    assert_true(beyond < (loaded ? 0.8 : 0.02) * 0.14);
    s2_world_destroy(world);
  }
}

// The drive returns a body that corrections have displaced: a pendulum below does not move its lock
// away.
static void bounds_that_hold_do_not_creep(void **state) {
  (void)state;
  for (int i = 0; i < STEPPINGS; i++) {
    S2World *world = stepped(steppings[i], -9.81, 1.0 / 240);
    S2BodyDef def = at(0, 0);
    def.mass = 1;
    S2JointDef lock = joint_def(S2_LOCK, add_disc(world, def, 0.1), no_body);
    lock.lock_x = lock.lock_y = lock.lock_angle = true;
    lock.max_force = lock.max_torque = 100;
    make(world, lock);
    def.position = s2_vec2(0.5, 0);
    make(world, hinge_def(lock.a, add_box(world, def, 1, 0.1), 0, 0));
    for (int k = 0; k < 1200; k++) {
      must(s2_world_step(world));
      assert_true(hypot(get(world, lock.a, S2_BODY_X), get(world, lock.a, S2_BODY_Y)) < 2e-4);
    }
    s2_world_destroy(world);
  }
}

// ---- Creation and destruction -----------------------------------------------------------------

static void snapshots_and_clones_yield_alike(void **state) {
  (void)state;
  S2World *world = world_new(-9.81, 1.0 / 120);
  add_anvil(world);
  add_box(world, rough(at(0, 0.5), 0.3, 0), 1, 1);
  S2BodyDef def = press_at(1.4, -0.5, 80);
  def.max_torque = 3;
  def.position.x = 0.8;
  S2BodyId press = add_box(world, def, 2, 0.5);
  steps(world, 40);
  size_t size = s2_world_image_size(world);
  void *image = malloc(size);
  s2_world_image_write(world, image);
  S2World *twin;
  must(s2_world_clone(world, &twin));
  steps(world, 80);
  steps(twin, 80);
  double q[3], other[3];
  must(s2_body_q(world, press, q));
  must(s2_body_q(twin, press, other));
  assert_memory_equal(q, other, sizeof q);
  must(s2_world_image_read(world, image, size));
  steps(world, 80);
  must(s2_body_q(world, press, other));
  assert_memory_equal(q, other, sizeof q);
  assert_true(fabs(q[0]) > 1e-3); // it does yield
  free(image);
  s2_world_destroy(twin);
  s2_world_destroy(world);
}

static void bounds_come_and_go(void **state) {
  (void)state;
  S2World *world = world_new(-9.81, 0.01);
  S2BodyId press = add_box(world, press_at(0, -0.5, INFINITY), 1, 1);
  assert_int_equal(s2_body_drive(world, press).index, 0);
  assert_true(isinf(get(world, press, S2_BODY_MASS)));
  uint64_t revision = s2_world_revision(world);
  must(s2_body_set(world, press, S2_BODY_MAX_FORCE, 30));
  assert_true(s2_world_revision(world) != revision);
  near(get(world, press, S2_BODY_MASS), 5, 0);
  near(get(world, press, S2_BODY_MAX_FORCE), 30, 0);
  assert_true(isinf(get(world, press, S2_BODY_MAX_TORQUE)));
  assert_int_equal(s2_world_state_size(world), 6);
  steps(world, 10);
  near(get(world, press, S2_BODY_Y), -0.05, 1e-12); // gravity does not act
  near(s2_world_energy(world).potential, 0, 0);
  must(s2_body_set(world, press, S2_BODY_MAX_FORCE, INFINITY));
  assert_int_equal(s2_body_drive(world, press).index, 0);
  must(s2_body_set(world, press, S2_BODY_MAX_TORQUE, 2));
  must(s2_joint_destroy(world, s2_body_drive(world, press))); // like no bound
  assert_true(isinf(get(world, press, S2_BODY_MAX_TORQUE)));
  must(s2_body_set(world, press, S2_BODY_MAX_TORQUE, 2));
  must(s2_body_set(world, press, S2_BODY_TYPE, S2_DYNAMIC));
  assert_int_equal(s2_world_joints(world, NULL, 0), 0);
  must(s2_body_set(world, press, S2_BODY_TYPE, S2_KINEMATIC));
  must(s2_body_set(world, press, S2_BODY_MAX_FORCE, 1));
  must(s2_body_destroy(world, press));
  assert_int_equal(s2_world_joints(world, NULL, 0), 0);
  s2_world_destroy(world);
}

static void refuses(S2Status status, const char *message) {
  assert_int_equal(status.code, S2_INVALID);
  says(status.message, message);
}

static void nonsense_is_refused(void **state) {
  (void)state;
  S2World *world = world_new(0, 0.01);
  S2BodyId body = add_box(world, at(0, 0), 1, 1), id;
  S2BodyDef def = at(0, 0);
  def.max_force = 1;
  refuses(s2_body_create(world, &def, &id), "max_force: applies only to a kinematic body");
  def.type = S2_KINEMATIC;
  refuses(s2_body_create(world, &def, &id), "needs an area, or mass and inertia");
  def.max_torque = -1;
  refuses(s2_body_create(world, &def, &id), "max_torque: a number not below 0 expected, got -1");
  refuses(s2_body_set(world, body, S2_BODY_MAX_FORCE, 1), "use a lock with the same key");
  S2JointDef lock = joint_def(S2_LOCK, body, no_body);
  lock.lock_x = true;
  lock.max_force = NAN;
  S2JointId joint;
  refuses(s2_joint_create(world, &lock, &joint), "max_force: a number not below 0 expected");
  lock.max_force = 3;
  lock.compliance.linear = 1e-3;
  refuses(s2_joint_create(world, &lock, &joint), "cannot be combined with compliance");
  lock.compliance.linear = 0;
  joint = make(world, lock);
  refuses(s2_joint_set(world, joint, S2_JOINT_COMPLIANCE, 1), "a bound or compliance, not both");
  refuses(s2_joint_set(world, joint, S2_JOINT_MAX_FORCE, -1), "a number not below 0");
  must(s2_joint_set(world, joint, S2_JOINT_MAX_FORCE, INFINITY));
  must(s2_joint_set(world, joint, S2_JOINT_COMPLIANCE, 1));
  refuses(s2_joint_set(world, joint, S2_JOINT_MAX_FORCE, 2), "a bound or compliance, not both");
  s2_world_destroy(world);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(crushing_names_its_bodies),
      cmocka_unit_test(crushed_stacks_name_the_press),
      cmocka_unit_test(locks_that_crush_are_named),
      cmocka_unit_test(a_press_holds_its_force),
      cmocka_unit_test(a_lock_slips_at_its_bound),
      cmocka_unit_test(places_are_gone_back_to),
      cmocka_unit_test(bounds_that_hold_do_not_creep),
      cmocka_unit_test(snapshots_and_clones_yield_alike),
      cmocka_unit_test(bounds_come_and_go),
      cmocka_unit_test(nonsense_is_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
