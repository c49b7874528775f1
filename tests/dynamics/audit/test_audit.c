// Audits: their own distance against that of the collision tests, faults planted in steps, and
// steps without faults.
#include "worlds.h"

#include "collide/collide.h"
#include "dynamics/audit/audit.h"
#include "dynamics/step/acted.h"

#undef s2_world_destroy // findings are the subject of this test

// ---- Distance ---------------------------------------------------------------------------------

static double random_in(S2Rng *rng, double lo, double hi) {
  return lo + (hi - lo) * s2_rng_uniform(rng);
}

// The signed distance of the audits and that of the narrow phase, written independently, agree for
// all kinds of shapes.
static void two_distances_agree(void **state) {
  (void)state;
  S2Rng rng = s2_rng_seeded(7);
  int apart = 0, overlapping = 0;
  for (int trial = 0; trial < 20000; trial++) {
    S2Vec2 points[2][6], hull[2][6];
    S2Shape shape[2];
    double q[2][3];
    S2Pose pose[2];
    for (int k = 0; k < 2; k++) {
      int count = 1 + (int)random_in(&rng, 0, 5.999);
      for (int i = 0; i < count; i++) {
        points[k][i] = s2_vec2(random_in(&rng, -1, 1), random_in(&rng, -1, 1));
      }
      int corners = count < 3 ? count : s2_hull(points[k], count, hull[k]);
      shape[k] = (S2Shape){.vertices = count < 3 ? points[k] : hull[k],
                           .count = corners,
                           .radius = corners == 1 || trial % 2 == 0 ? random_in(&rng, .01, .3) : 0};
      for (int c = 0; c < 3; c++) {
        q[k][c] = random_in(&rng, c == 0 ? -4 : -1.5, c == 0 ? 4 : 1.5);
      }
      pose[k] = s2_pose(q[k][0], q[k][1], q[k][2]);
    }
    S2Vec2 normal;
    double ours = s2_audit_distance(&shape[0], q[0], &shape[1], q[1], &normal);
    S2Manifold manifold;
    s2_collide(&shape[0], pose[0], &shape[1], pose[1], INFINITY, &manifold);
    double theirs = manifold.points[0].gap;
    for (int k = 1; k < manifold.count; k++) {
      theirs = fmin(theirs, manifold.points[k].gap);
    }
    apart += theirs > 0;
    overlapping += theirs < 0;
    assert_true(fabs(ours - theirs) < 1e-9);
    assert_true(fabs(s2_length(normal) - 1) < 1e-9);
    // Their separation along that direction is a bound on the distance, and equals it.
    double beyond = s2_audit_beyond(&shape[0], q[0], &shape[1], q[1], &normal);
    assert_true(beyond <= ours + 1e-12 && beyond > ours - 1e-9);
  }
  assert_true(apart > 1000 && overlapping > 1000);
}

// All of many corners count: a disc in front of each edge of a polygon.
static void a_polygon_of_40_corners(void **state) {
  (void)state;
  enum { CORNERS = 40 };
  const double turn = 2 * 3.14159265358979324 / CORNERS;
  S2Vec2 corner[CORNERS], centre = {0, 0}, normal;
  for (int i = 0; i < CORNERS; i++) {
    corner[i] = s2_vec2(cos(turn * i), sin(turn * i));
  }
  S2Shape polygon = {.vertices = corner, .count = CORNERS};
  S2Shape disc = {.vertices = &centre, .count = 1, .radius = 0.1};
  for (int i = 0; i < CORNERS; i++) {
    double a = turn * (i + 0.5), q[3] = {0, 0, 0}, at[3] = {0, 2 * cos(a), 2 * sin(a)};
    double apart = s2_audit_distance(&disc, at, &polygon, q, &normal);
    assert_true(fabs(apart - (1.9 - cos(turn / 2))) < 1e-12);
    assert_true(fabs(s2_audit_beyond(&disc, at, &polygon, q, &normal) - apart) < 1e-12);
  }
}

static void a_thickness_is_the_least_width(void **state) {
  (void)state;
  const S2Vec2 box[4] = {{-2, -.5}, {2, -.5}, {2, .5}, {-2, .5}};
  assert_true(fabs(s2_audit_thickness(&(S2Shape){.vertices = box, .count = 4}) - 1) < 1e-15);
  assert_true(fabs(s2_audit_thickness(&(S2Shape){.vertices = box, .count = 4, .radius = .1}) -
                   1.2) < 1e-15);
  assert_true(s2_audit_thickness(&(S2Shape){.vertices = box, .count = 2}) == 0);
  assert_true(s2_audit_thickness(&(S2Shape){.vertices = box, .count = 1, .radius = 1}) == 2);
}

// ---- Planted faults ---------------------------------------------------------------------------

typedef struct Scene {
  S2World *world;
  S2BodyId wall, ball;
} Scene;

// A wall from x = 1 to 1.1 and a ball of 0.1 m and 1 kg in front of it, without gravity.
static Scene scene_new(bool strict) {
  S2WorldDef def = s2_world_def();
  def.gravity = s2_vec2(0, 0);
  def.dt = .01;
  def.audit = true;
  def.strict = strict;
  Scene scene;
  must(s2_world_create(&def, &scene.world));
  S2BodyDef wall = at(1.05, 0);
  wall.type = S2_STATIC;
  wall.name = "wall";
  scene.wall = add_box(scene.world, wall, .1, 4);
  S2BodyDef ball = at(0, 0);
  ball.mass = 1;
  ball.name = "ball";
  scene.ball = add_disc(scene.world, ball, .1);
  return scene;
}

// A step that ends with this pose and velocity of the ball, against all physics.
static S2Status faulty_step(Scene *scene, const double q[3], const double v[3]) {
  S2World *world = scene->world;
  must(s2_audit_begin(world));
  S2Step step = s2_step_begin(world, 0, 1);
  step.share = 1;
  int n = 3 * world->bodies.count, at = 3 * (int)(scene->ball.index - 1);
  memcpy(step.q1, world->q.at, sizeof(double) * (size_t)n);
  memcpy(step.v2, world->v.at, sizeof(double) * (size_t)n);
  memcpy(step.q1 + at, q, 3 * sizeof(double));
  memcpy(step.v2 + at, v, 3 * sizeof(double));
  for (int slot = 0; slot < world->bodies.count; slot++) {
    step.node_of[slot] = S2_GROUND;
  }
  world->events.count = 0;
  world->warning[0] = '\0';
  s2_audit_substep(&step);
  memcpy(world->q.at, step.q1, sizeof(double) * (size_t)n);
  memcpy(world->v.at, step.v2, sizeof(double) * (size_t)n);
  world->stats.steps += 1;
  return s2_audit_end(world);
}

static void must_warn(S2World *world, const char *text) {
  int count;
  const S2Event *events = s2_world_events(world, &count);
  assert_int_equal(count, 1);
  assert_int_equal(events[0].type, S2_SOLVER_WARNING);
  if (strstr(events[0].message, text) == NULL) {
    fail_msg("'%s' expected in '%s'", text, events[0].message);
  }
}

static void a_passage_is_found(void **state) {
  (void)state;
  // 200 m/s carry the ball 2 m, through the wall.
  Scene scene = scene_new(false);
  must(s2_body_set_v(scene.world, scene.ball, (double[]){0, 200, 0}));
  must(faulty_step(&scene, (double[]){0, 2, 0}, (double[]){0, 200, 0}));
  const S2WorldStats *stats = s2_world_stats(scene.world);
  assert_int_equal(stats->audit.passages, 1);
  assert_int_equal(stats->audit.jumps + stats->audit.momenta + stats->audit.energies, 0);
  assert_int_equal(stats->unsolved, 1);
  // On the way it is in the wall by half of its width plus the ball's radius.
  assert_true(fabs(s2_world_residuals(scene.world).audit.passage - .15) < .01);
  must_warn(scene.world, "'wall' and 'ball': one body passed through the other");
  s2_world_destroy(scene.world);
}

static void an_overlap_at_the_end_is_found(void **state) {
  (void)state;
  Scene scene = scene_new(false);
  must(s2_body_set_v(scene.world, scene.ball, (double[]){0, 95, 0}));
  must(faulty_step(&scene, (double[]){0, .95, 0}, (double[]){0, 95, 0}));
  assert_int_equal(s2_world_stats(scene.world)->audit.overlaps, 1);
  assert_int_equal(s2_world_stats(scene.world)->audit.passages, 0);
  assert_true(fabs(s2_world_residuals(scene.world).audit.passage - .05) < 1e-9);
  must_warn(scene.world, "they overlap by 0.05 m more");
  s2_world_destroy(scene.world);
}

static void a_jump_is_found(void **state) {
  (void)state;
  Scene scene = scene_new(false);
  must(faulty_step(&scene, (double[]){0, -.5, 0}, (double[]){0, 0, 0}));
  assert_int_equal(s2_world_stats(scene.world)->audit.jumps, 1);
  assert_true(fabs(s2_world_residuals(scene.world).audit.jump - .5) < 1e-5);
  must_warn(scene.world, "'ball': it moved 0.5 m farther");
  s2_world_destroy(scene.world);
}

static void momentum_and_energy_from_nothing_are_found(void **state) {
  (void)state;
  Scene scene = scene_new(false);
  must(s2_body_set_v(scene.world, scene.ball, (double[]){0, -2, 0}));
  must(faulty_step(&scene, (double[]){0, -.025, 0}, (double[]){0, -3, 0}));
  const S2WorldStats *stats = s2_world_stats(scene.world);
  assert_int_equal(stats->audit.momenta, 1);
  assert_int_equal(stats->audit.energies, 1);
  assert_int_equal(stats->unsolved, 1); // steps count, not findings
  S2AuditResiduals found = s2_world_residuals(scene.world).audit;
  assert_true(fabs(found.momentum - 1) < 1e-12);
  assert_true(fabs(found.energy - 2.5) < 1e-12); // (9 - 4)/2
  must_warn(scene.world, "its momentum changed by 1 N s without a cause");
  s2_world_destroy(scene.world);
}

static void an_impulse_at_a_distance_is_found(void **state) {
  (void)state;
  Scene scene = scene_new(false);
  s2_audit_begin(scene.world);
  *s2_array_append(scene.world->acted) = (S2Acted){
      .body_a = (int32_t)scene.wall.index - 1,
      .body_b = (int32_t)scene.ball.index - 1,
      .serial_a = scene.wall.serial,
      .serial_b = scene.ball.serial,
      .shape_a = scene.world->bodies.at[scene.wall.index - 1].first_shape,
      .shape_b = scene.world->bodies.at[scene.ball.index - 1].first_shape,
      .normal = {1, 0},
      .normal_impulse = 2,
  };
  must(faulty_step(&scene, (double[]){0, -.02, 0}, (double[]){0, -2, 0}));
  assert_int_equal(s2_world_stats(scene.world)->audit.events, 1);
  assert_true(fabs(s2_world_residuals(scene.world).audit.distance - .9) < 1e-9);
  s2_world_destroy(scene.world);
}

// A step of a disc on a hinge, 1 m from its centre, that turns by .01 rad and ends `gap` before the
// wall, on which an impulse acted. Returns the number of impulses found at a distance.
static int found_on_hinge(double gap) {
  Scene scene = scene_new(false);
  S2World *world = scene.world;
  must(s2_body_set_q(world, scene.ball, (double[]){0, .9 - gap, 0}));
  S2JointDef hinge = s2_joint_def(S2_HINGE);
  hinge.a = scene.ball;
  hinge.anchor_a = s2_vec2(.9 - gap, 1);
  S2JointId joint;
  must(s2_joint_create(world, &hinge, &joint));
  s2_audit_begin(world);
  *s2_array_append(world->acted) = (S2Acted){
      .body_a = (int32_t)scene.wall.index - 1,
      .body_b = (int32_t)scene.ball.index - 1,
      .serial_a = scene.wall.serial,
      .serial_b = scene.ball.serial,
      .shape_a = world->bodies.at[scene.wall.index - 1].first_shape,
      .shape_b = world->bodies.at[scene.ball.index - 1].first_shape,
      .point = {1, 0},
      .normal = {1, 0},
      .normal_impulse = 2,
  };
  must(faulty_step(&scene, (double[]){.01, .9 - gap, 0}, (double[]){1, 0, 0}));
  int found = (int)s2_world_stats(world)->audit.events;
  (s2_world_destroy)(world);
  return found;
}

// A row of the start of a step is a plane, and its point moves on a circle about the hinge: it ends
// up to phi^2 r/2 from that plane, which is 5.5e-5 m here.
static void a_hinge_bends_the_way_to_a_surface(void **state) {
  (void)state;
  assert_int_equal(found_on_hinge(4e-5), 0);
  assert_int_equal(found_on_hinge(7e-5), 1);
}

// A step of a disc at (x, y) over a chain along y = 0 in which an impulse acted at `point`, by a
// row of the right one of its segments. Returns the number of impulses found at a distance.
static int found_over_chain(double x, double y, S2Vec2 point) {
  Scene scene = scene_new(false);
  const S2Vec2 p[3] = {{1, 0}, {0, 0}, {-1, 0}};
  S2ShapeDef shapes[2] = {plain_shape(p, 2, 0), plain_shape(p + 1, 2, 0)};
  shapes[0].has_next = shapes[1].has_previous = true;
  shapes[0].next = p[2];
  shapes[1].previous = p[0];
  S2BodyDef chain = fixed_at(0, -5);
  chain.shapes = shapes;
  chain.shape_count = 2;
  S2BodyId ground;
  must(s2_body_create(scene.world, &chain, &ground));
  must(s2_body_set_q(scene.world, scene.ball, (double[]){0, x, y - 5}));
  // The first shape of a body is either the right segment or the last one of the list.
  const S2World *world = scene.world;
  int32_t right = world->bodies.at[ground.index - 1].first_shape;
  if (!world->pieces.at[right].has_next) {
    right = world->pieces.at[right].next;
  }
  s2_audit_begin(scene.world);
  *s2_array_append(scene.world->acted) = (S2Acted){
      .body_a = (int32_t)ground.index - 1,
      .body_b = (int32_t)scene.ball.index - 1,
      .serial_a = ground.serial,
      .serial_b = scene.ball.serial,
      .shape_a = right,
      .shape_b = world->bodies.at[scene.ball.index - 1].first_shape,
      .point = s2_vec2(point.x, point.y - 5),
      .normal = {0, -1},
      .normal_impulse = 2,
  };
  must(faulty_step(&scene, (double[]){0, x, y - 5}, (double[]){0, 0, 0}));
  int found = (int)s2_world_stats(scene.world)->audit.events;
  (s2_world_destroy)(scene.world);
  return found;
}

// Within a step, a disc moves from one segment to the next: the row of the first one stops it, and
// at the end it is over the second. Both segments have a common surface, so this is no finding.
static void a_row_may_stop_what_is_over_its_neighbour(void **state) {
  (void)state;
  assert_int_equal(found_over_chain(-.5, .1, s2_vec2(-.5, 0)), 0);
  // It is a finding if the disc is above the surface, or if the impulse acted far from the place
  // where the disc touches.
  assert_int_equal(found_over_chain(-.5, .2, s2_vec2(-.5, 0)), 1);
  assert_int_equal(found_over_chain(-.5, .1, s2_vec2(.5, 0)), 1);
}

static void a_strict_world_is_as_before_the_step(void **state) {
  (void)state;
  Scene scene = scene_new(true);
  uint64_t before = s2_world_hash(scene.world);
  S2Status status = faulty_step(&scene, (double[]){0, -.5, 0}, (double[]){0, 0, 0});
  assert_int_equal(status.code, S2_UNSOLVED);
  assert_non_null(strstr(status.message, "it moved 0.5 m farther"));
  assert_true(s2_world_hash(scene.world) == before);
  assert_int_equal(s2_world_stats(scene.world)->steps, 0);
  s2_world_destroy(scene.world);
}

// A pendulum of 1 m and 1 kg, released from the horizontal. With `brake` a motor holds it with 0.05
// N m, and the step by projection dissipates more than the motor's work: in each step, half of the
// squared turn times the kinetic energy.
static S2World *pendulum_new(bool strict, bool brake, S2FlowRule flow) {
  S2WorldDef def = s2_world_def();
  def.flow = flow;
  def.audit = true;
  def.strict = strict;
  S2World *world;
  must(s2_world_create(&def, &world));
  S2BodyDef ball = at(1, 0);
  ball.mass = 1;
  ball.inertia = .01;
  ball.mask = 0;
  S2BodyId bob = add_disc(world, ball, .02);
  S2JointDef hinge = s2_joint_def(S2_HINGE);
  hinge.a = bob;
  hinge.anchor_a = s2_vec2(0, 0);
  hinge.has_motor = brake;
  hinge.motor_max = .05;
  S2JointId joint;
  must(s2_joint_create(world, &hinge, &joint));
  return world;
}

// No single step shows it: the sum over a run of steps does, and a strict world refuses the step.
static void what_rigid_joints_take_adds_up(void **state) {
  (void)state;
  S2World *world = pendulum_new(true, true, S2_FLOW_PROJECTED);
  S2Status status = s2_ok();
  int steps = 0;
  for (; steps < 600 && status.code == S2_OK; steps++) {
    status = s2_world_step(world);
  }
  assert_int_equal(status.code, S2_UNSOLVED);
  assert_non_null(strstr(status.message, "rigid joints have lowered the energy of its island"));
  assert_true(steps > 10 && steps < 200);
  s2_world_destroy(world);
  // The audit finds no fault in 10 s without the motor, nor with the motor and the two stages,
  // which lose only the motor's work.
  for (int i = 0; i < 3; i++) {
    world = pendulum_new(true, i == 2, i == 0 ? S2_FLOW_PROJECTED : S2_FLOW_AUTO);
    for (int k = 0; k < 1200; k++) {
      must(s2_world_step(world));
    }
    s2_world_destroy(world);
  }
}

static void a_velocity_against_a_joint_is_found(void **state) {
  (void)state;
  S2World *world = pendulum_new(false, false, S2_FLOW_AUTO);
  S2BodyId bob;
  assert_int_equal(s2_world_bodies(world, &bob, 1), 1);
  const double *v = &world->v.at[3 * (bob.index - 1)];
  for (int k = 0; k < 60; k++) {
    must(s2_world_step(world));
  }
  assert_int_equal(s2_world_stats(world)->audit.drifts, 0);
  // 5 % more along the rod contain 0.0025 of the energy.
  const double *q = &world->q.at[3 * (bob.index - 1)];
  double speed = hypot(v[1], v[2]);
  double wrong[3] = {v[0], v[1] + .05 * speed * q[1], v[2] + .05 * speed * q[2]};
  s2_audit_begin(world);
  must(s2_body_set_v(world, bob, wrong));
  world->audit->h = s2_world_def().dt;
  s2_audit_joints(world, world->audit);
  assert_int_equal(s2_world_stats(world)->audit.drifts, 1);
  assert_true(fabs(s2_world_residuals(world).audit.drift / (.05 * speed) - 1) < .5);
  s2_world_destroy(world);
}

// Energy that the stepping itself removes, without a cause in contacts, forces or turns.
static void a_correction_without_a_cause_is_found(void **state) {
  (void)state;
  Scene scene = scene_new(false);
  int32_t slot = (int32_t)scene.ball.index - 1;
  must(s2_body_set_v(scene.world, scene.ball, (double[]){0, -2, 0}));
  s2_audit_begin(scene.world);
  S2World *world = scene.world;
  S2Step step = s2_step_begin(world, 0, 1);
  step.share = 1;
  int n = 3 * world->bodies.count, of = 3 * slot;
  memcpy(step.q1, world->q.at, sizeof(double) * (size_t)n);
  memcpy(step.v2, world->v.at, sizeof(double) * (size_t)n);
  memcpy(step.carry, world->v.at, sizeof(double) * (size_t)n);
  for (int i = 0; i < world->bodies.count; i++) {
    step.node_of[i] = S2_GROUND;
  }
  const double dv[3] = {0, .001, 0};
  s2_step_correct(&step, slot, dv, 1); // 0.002 J of 4 J, before and after
  step.v2[of + 1] += dv[1];
  step.q1[of + 1] -= .02;
  world->events.count = 0;
  world->warning[0] = '\0';
  s2_audit_substep(&step);
  memcpy(world->q.at, step.q1, sizeof(double) * (size_t)n);
  memcpy(world->v.at, step.v2, sizeof(double) * (size_t)n);
  must(s2_audit_end(world));
  S2AuditStats found = s2_world_stats(world)->audit;
  assert_int_equal(found.energies, 1);
  assert_int_equal(found.momenta, 0);
  assert_true(fabs(s2_world_residuals(world).audit.energy - (2 * .001 - .001 * .001 / 2)) < 1e-12);
  must_warn(world, "time stepping itself changed the energy");
  s2_world_destroy(world);
}

// ---- Sound steps ------------------------------------------------------------------------------

// A ball that bounces between floor and ceiling, and a pendulum: nothing is found, the bits are
// those of a world without audits, and nothing remains when the setting is removed.
static void sound_steps_have_no_findings(void **state) {
  (void)state;
  uint64_t hash[2];
  for (int audited = 0; audited < 2; audited++) {
    S2WorldDef def = s2_world_def();
    def.audit = audited == 1;
    S2World *world;
    must(s2_world_create(&def, &world));
    S2BodyDef ground = at(0, -.5);
    ground.type = S2_STATIC;
    ground.restitution = .8;
    add_box(world, ground, 20, 1);
    S2BodyDef ball = at(0, 1);
    ball.restitution = .8;
    ball.velocity = s2_vec2(1, 0);
    add_disc(world, ball, .2);
    S2BodyId bob = add_disc(world, at(4, 3), .1);
    S2JointDef hinge = s2_joint_def(S2_HINGE);
    hinge.a = bob;
    hinge.anchor_a = s2_vec2(3, 3);
    S2JointId joint;
    must(s2_joint_create(world, &hinge, &joint));
    for (int k = 0; k < 600; k++) {
      must(s2_world_step(world));
    }
    S2AuditStats found = s2_world_stats(world)->audit;
    assert_int_equal(found.passages + found.overlaps + found.jumps + found.momenta +
                         found.energies + found.events,
                     0);
    hash[audited] = s2_world_hash(world);
    def.audit = false;
    must(s2_world_configure(world, &def));
    must(s2_world_step(world));
    assert_null(world->audit);
    s2_world_destroy(world);
  }
  assert_true(hash[0] == hash[1]);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(two_distances_agree),
      cmocka_unit_test(a_polygon_of_40_corners),
      cmocka_unit_test(a_thickness_is_the_least_width),
      cmocka_unit_test(a_passage_is_found),
      cmocka_unit_test(an_overlap_at_the_end_is_found),
      cmocka_unit_test(a_jump_is_found),
      cmocka_unit_test(momentum_and_energy_from_nothing_are_found),
      cmocka_unit_test(an_impulse_at_a_distance_is_found),
      cmocka_unit_test(a_hinge_bends_the_way_to_a_surface),
      cmocka_unit_test(a_row_may_stop_what_is_over_its_neighbour),
      cmocka_unit_test(a_strict_world_is_as_before_the_step),
      cmocka_unit_test(what_rigid_joints_take_adds_up),
      cmocka_unit_test(a_velocity_against_a_joint_is_found),
      cmocka_unit_test(a_correction_without_a_cause_is_found),
      cmocka_unit_test(sound_steps_have_no_findings),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
