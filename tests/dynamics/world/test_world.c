// The engine's API: handles, invalid input, callbacks, events, queries, overlaps.
#include "worlds.h"

#define refused(expression, expected_code, text)                                                   \
  do {                                                                                             \
    S2Status refused_status = (expression);                                                        \
    assert_int_equal(refused_status.code, expected_code);                                          \
    if (strstr(refused_status.message, (text)) == NULL) {                                          \
      fail_msg("'%s' does not say '%s'", refused_status.message, (text));                          \
    }                                                                                              \
  } while (0)

static void stale_handles_are_errors(void **state) {
  (void)state;
  S2World *world = world_new(-10, 0.01);
  S2BodyId one = add_disc(world, at(0, 0), 1), two = add_disc(world, at(3, 0), 1);
  S2JointDef def = hinge_def(one, two, 1.5, 0);
  S2JointId joint;
  must(s2_joint_create(world, &def, &joint));
  must(s2_body_destroy(world, one));
  assert_false(s2_body_alive(world, one));
  assert_false(s2_joint_alive(world, joint)); // was destroyed with its body
  double x;
  refused(s2_body_get(world, one, S2_BODY_X, &x), S2_STALE, "destroyed");
  refused(s2_body_set(world, one, S2_BODY_X, 1), S2_STALE, "destroyed");
  refused(s2_body_destroy(world, one), S2_STALE, "destroyed");
  refused(s2_body_apply_force(world, one, s2_vec2(1, 0), NULL), S2_STALE, "destroyed");
  refused(s2_joint_destroy(world, joint), S2_STALE, "destroyed");
  refused(s2_joint_create(world, &def, &joint), S2_STALE, "destroyed");
  // The slot is used again, the old handle remains invalid.
  S2BodyId three = add_disc(world, at(0, 5), 1);
  assert_int_equal(three.index, one.index);
  assert_false(s2_body_alive(world, one));
  assert_true(s2_body_alive(world, three));
  refused(s2_body_get(world, (S2BodyId){0, 0}, S2_BODY_X, &x), S2_STALE, "destroyed");
  refused(s2_body_get(world, (S2BodyId){999, 1}, S2_BODY_X, &x), S2_STALE, "destroyed");
  steps(world, 3);
  s2_world_destroy(world);
}

static void worlds_refuse_nonsense(void **state) {
  (void)state;
  S2World *world;
  S2WorldDef def = s2_world_def();
  def.dt = 0;
  refused(s2_world_create(&def, &world), S2_INVALID, "dt");
  def.dt = NAN;
  refused(s2_world_create(&def, &world), S2_INVALID, "got nan");
  def = s2_world_def();
  def.gravity.y = INFINITY;
  refused(s2_world_create(&def, &world), S2_INVALID, "gravity");
  def = s2_world_def();
  def.tolerance = -1;
  refused(s2_world_create(&def, &world), S2_INVALID, "tolerance");
  def = s2_world_def();
  def.contact_margin = -1;
  refused(s2_world_create(&def, &world), S2_INVALID, "contact_margin");
  def = s2_world_def();
  def.max_iterations = 0;
  refused(s2_world_create(&def, &world), S2_INVALID, "max_iterations");
  assert_null(world);
}

static void bodies_refuse_nonsense(void **state) {
  (void)state;
  S2World *world = world_new(-10, 0.01);
  S2BodyId kept = add_disc(world, at(0, 0), 1), body;
  const S2Vec2 square[4] = {{0, 0}, {1, 0}, {1, 1}, {0, 1}}, line[3] = {{0, 0}, {1, 0}, {2, 0}};
  const S2Vec2 point[1] = {{0, 0}}, broken[3] = {{0, 0}, {1, 0}, {NAN, 1}};
  S2ShapeDef good = plain_shape(square, 4, 0);
  uint64_t hash = s2_world_hash(world);
  const struct {
    const char *name;
    size_t offset;
    double bad[4];
    int count;
  } numbers[] = {
      {"mass", offsetof(S2BodyDef, mass), {0, -1, INFINITY}, 3},
      {"inertia", offsetof(S2BodyDef, inertia), {0, -1, INFINITY}, 3},
      {"density", offsetof(S2BodyDef, density), {0, -1, INFINITY, NAN}, 4},
      {"friction", offsetof(S2BodyDef, friction), {-0.1, INFINITY, NAN}, 3},
      {"restitution", offsetof(S2BodyDef, restitution), {-0.1, 1.1, NAN}, 3},
      {"linear_damping", offsetof(S2BodyDef, linear_damping), {-1, NAN}, 2},
      {"angular_damping", offsetof(S2BodyDef, angular_damping), {-1, NAN}, 2},
      {"angle", offsetof(S2BodyDef, angle), {NAN, INFINITY}, 2},
      {"angular_velocity", offsetof(S2BodyDef, angular_velocity), {NAN, INFINITY}, 2},
      {"gravity_scale", offsetof(S2BodyDef, gravity_scale), {NAN}, 1},
      {"surface_speed", offsetof(S2BodyDef, surface_speed), {NAN}, 1},
      {"position", offsetof(S2BodyDef, position), {NAN, INFINITY}, 2},
      {"velocity", offsetof(S2BodyDef, velocity), {NAN, -INFINITY}, 2},
  };
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
    for (int k = 0; k < numbers[i].count; k++) {
      S2BodyDef def = s2_body_def();
      def.shapes = &good;
      def.shape_count = 1;
      memcpy((char *)&def + numbers[i].offset, &numbers[i].bad[k], sizeof(double));
      refused(s2_body_create(world, &def, &body), S2_INVALID, numbers[i].name);
      assert_int_equal(body.index, 0);
    }
  }
  const S2ShapeDef bad_shapes[] = {
      plain_shape(line, 3, 0),   plain_shape(broken, 3, 0),        plain_shape(point, 1, 0),
      plain_shape(point, 1, -1), plain_shape(point, 1, NAN),       plain_shape(point, 1, 1e9),
      plain_shape(square, 0, 1), plain_shape(square, 4, INFINITY),
  };
  for (size_t i = 0; i < sizeof bad_shapes / sizeof *bad_shapes; i++) {
    S2BodyDef def = s2_body_def();
    def.shapes = &bad_shapes[i];
    def.shape_count = 1;
    S2Status status = s2_body_create(world, &def, &body);
    if (status.code != S2_INVALID || status.message[0] == 0) {
      fail_msg("bad shape %zu: code %d '%s'", i, status.code, status.message);
    }
  }
  S2BodyDef empty = s2_body_def();
  refused(s2_body_create(world, &empty, &body), S2_INVALID, "area");
  char name[100];
  memset(name, 'n', sizeof name);
  name[99] = 0;
  empty.name = name;
  refused(s2_body_create(world, &empty, &body), S2_INVALID, "name");
  const S2BodyField writable[] = {
      S2_BODY_X,       S2_BODY_VX,       S2_BODY_ANGLE,       S2_BODY_OMEGA, S2_BODY_MASS,
      S2_BODY_INERTIA, S2_BODY_FRICTION, S2_BODY_RESTITUTION, S2_BODY_MASK,  S2_BODY_TYPE};
  for (size_t i = 0; i < sizeof writable / sizeof *writable; i++) {
    refused(s2_body_set(world, kept, writable[i], NAN), S2_INVALID,
            s2_body_field(writable[i])->name);
    refused(s2_body_set(world, kept, writable[i], INFINITY), S2_INVALID, "got inf");
  }
  refused(s2_body_set(world, kept, S2_BODY_MASS, 0), S2_INVALID, "mass");
  refused(s2_body_set(world, kept, S2_BODY_RESTITUTION, 1.5), S2_INVALID, "0 to 1");
  refused(s2_body_apply_force(world, kept, s2_vec2(NAN, 0), NULL), S2_INVALID, "force");
  assert_true(s2_world_hash(world) == hash);
  assert_int_equal(s2_world_bodies(world, NULL, 0), 1);
  s2_world_destroy(world);
}

static void joints_refuse_nonsense(void **state) {
  (void)state;
  S2World *world = world_new(-10, 0.01);
  S2BodyId body = add_disc(world, at(0, 0), 1);
  S2JointId joint;
  S2JointDef def = hinge_def(body, body, 0, 0);
  refused(s2_joint_create(world, &def, &joint), S2_INVALID, "same body twice");
  def = hinge_def(no_body, no_body, 0, 0);
  refused(s2_joint_create(world, &def, &joint), S2_INVALID, "at least one body");
  def = hinge_def(body, no_body, NAN, 0);
  refused(s2_joint_create(world, &def, &joint), S2_INVALID, "anchor");
  assert_int_equal(s2_world_joints(world, NULL, 0), 0);
  s2_world_destroy(world);
}

// ---- Callbacks --------------------------------------------------------------------------------

typedef struct Probe {
  S2World *world;
  S2BodyId body;
  int forces, filters, pre_solves;
  bool abort_force, abort_filter, abort_pre_solve, disable, refuse;
  S2Code inside[4]; // codes of calls from inside a step
} Probe;

static bool probe_force(void *user, S2World *world, S2ForceCall *call) {
  Probe *probe = user;
  S2BodyId body = call->body;
  probe->forces += 1;
  probe->inside[0] = s2_world_step(world).code;
  probe->inside[1] = s2_body_set(world, body, S2_BODY_X, 7).code;
  probe->inside[2] = s2_body_destroy(world, body).code;
  S2BodyId made;
  S2BodyDef def = s2_body_def();
  probe->inside[3] = s2_body_create(world, &def, &made).code;
  call->force[1] += 3;
  return !probe->abort_force;
}

static bool probe_filter(void *user, S2World *world, S2BodyId a, S2BodyId b, bool *collide) {
  Probe *probe = user;
  (void)world;
  (void)a;
  (void)b;
  probe->filters += 1;
  *collide = !probe->refuse;
  return !probe->abort_filter;
}

static bool probe_pre_solve(void *user, S2World *world, S2PreContact *contact) {
  Probe *probe = user;
  (void)world;
  probe->pre_solves += 1;
  contact->enabled = !probe->disable;
  return !probe->abort_pre_solve;
}

static S2World *probed_world(Probe *probe) {
  S2World *world = world_new(-10, 0.01);
  add_box(world, fixed_at(0, -1), 10, 2);
  probe->world = world;
  probe->body = add_box(world, at(0, 0.5), 1, 1);
  must(s2_body_set_force_law(world, probe->body, true));
  S2Callbacks callbacks = {
      .user = probe, .force = probe_force, .filter = probe_filter, .pre_solve = probe_pre_solve};
  s2_world_set_callbacks(world, &callbacks);
  return world;
}

static void callbacks_are_called(void **state) {
  (void)state;
  Probe probe = {0};
  S2World *world = probed_world(&probe);
  steps(world, 5);
  // Event stepping, which is the default here, calls laws at the start of the step, and its two
  // stages call them at (q0, v0), at (q0, u) until the law agrees with u, and at (q1, u).
  assert_int_equal(probe.forces, fixed_def().stepping == S2_AUTO ? 20 : 5);
  assert_int_equal(probe.filters, 1);
  assert_int_equal(probe.pre_solves, 5);
  for (int i = 0; i < 4; i++) {
    assert_int_equal(probe.inside[i], S2_BUSY);
  }
  s2_world_destroy(world);
}

static void filters_and_pre_solve_let_bodies_through(void **state) {
  (void)state;
  for (int way = 0; way < 2; way++) {
    Probe probe = {.refuse = way == 0, .disable = way == 1};
    S2World *world = probed_world(&probe);
    steps(world, 50);
    bool split = s2_world_way(s2_world_settings(world)) == S2_EVENT; // falls by the trapezoid
    double fall = 10 * 0.0001 * 50 * (split ? 50 : 51) / 2;
    near(get(world, probe.body, S2_BODY_Y), 0.5 - fall, 1e-9);
    s2_world_destroy(world);
  }
}

static void an_aborted_step_leaves_no_trace(void **state) {
  (void)state;
  for (int way = 0; way < 3; way++) {
    Probe probe = {0};
    S2World *world = probed_world(&probe);
    if (way > 0) {
      steps(world, 3);
    }
    must(s2_body_apply_force(world, probe.body, s2_vec2(5, 0), NULL));
    size_t size = s2_world_image_size(world);
    void *image = malloc(size);
    s2_world_image_write(world, image);
    probe.abort_force = way == 0;
    probe.abort_filter = way == 0;
    probe.abort_pre_solve = way == 1;
    probe.abort_force |= way == 2;
    uint64_t hash = s2_world_hash(world);
    refused(s2_world_step(world), S2_ABORTED, "callback");
    assert_true(s2_world_hash(world) == hash);
    // The world continues as if the step had not been tried, with the applied force.
    probe.abort_force = probe.abort_filter = probe.abort_pre_solve = false;
    steps(world, 5);
    hash = s2_world_hash(world);
    must(s2_world_image_read(world, image, size));
    steps(world, 5);
    assert_true(s2_world_hash(world) == hash);
    free(image);
    s2_world_destroy(world);
  }
}

static void marks_roll_back_everything(void **state) {
  (void)state;
  S2World *world = world_new(-10, 0.01);
  S2BodyId body = add_disc(world, at(0, 3), 1);
  s2_world_mark(world);
  uint64_t hash = s2_world_hash(world);
  S2BodyId other = add_disc(world, at(5, 3), 1);
  must(s2_body_set(world, body, S2_BODY_FRICTION, 0.9));
  must(s2_body_destroy(world, body));
  steps(world, 3);
  s2_world_rollback(world);
  assert_true(s2_world_hash(world) == hash);
  assert_true(s2_body_alive(world, body));
  assert_false(s2_body_alive(world, other));
  near(get(world, body, S2_BODY_FRICTION), 0.5, 0);
  // An object created now must not be confused with one that was rolled back.
  S2BodyId third = add_disc(world, at(5, 3), 1);
  assert_int_equal(third.index, other.index);
  assert_false(s2_body_alive(world, other));
  s2_world_destroy(world);
}

// ---- Events -----------------------------------------------------------------------------------

static int count_events(S2World *world, S2EventType type) {
  int count, n = 0;
  const S2Event *events = s2_world_events(world, &count);
  for (int i = 0; i < count; i++) {
    n += events[i].type == type;
  }
  return n;
}

static void contacts_begin_and_end(void **state) {
  (void)state;
  S2World *world = world_new(-10, 1.0 / 120);
  add_box(world, rough(fixed_at(0, -1), 0.5, 1), 10, 2);
  add_disc(world, rough(at(0, 1), 0.5, 1), 0.5);
  int begins = 0, ends = 0, impulses = 0;
  for (int i = 0; i < 120; i++) {
    must(s2_world_step(world));
    begins += count_events(world, S2_CONTACT_BEGIN);
    ends += count_events(world, S2_CONTACT_END);
    impulses += count_events(world, S2_CONTACT_IMPULSE);
  }
  assert_int_equal(begins, 2); // at .316 s and .949 s
  assert_int_equal(ends, 2);
  assert_true(impulses >= 2);
  s2_world_destroy(world);
}

static void sensors_feel_but_do_not_push(void **state) {
  (void)state;
  S2World *world = world_new(-10, 1.0 / 120);
  S2BodyDef gate = fixed_at(0, 0);
  gate.sensor = true;
  S2BodyId sensor = add_box(world, gate, 2, 1);
  S2BodyId ball = add_disc(world, at(0, 2), 0.25);
  int begins = 0, ends = 0, contacts = 0;
  for (int i = 0; i < 150; i++) {
    must(s2_world_step(world));
    int count;
    const S2Event *events = s2_world_events(world, &count);
    for (int k = 0; k < count; k++) {
      if (events[k].type == S2_SENSOR_BEGIN) {
        assert_int_equal(events[k].a.serial, sensor.serial);
        assert_int_equal(events[k].b.serial, ball.serial);
      }
    }
    begins += count_events(world, S2_SENSOR_BEGIN);
    ends += count_events(world, S2_SENSOR_END);
    s2_world_contacts(world, &count);
    contacts += count;
  }
  assert_int_equal(begins, 1);
  assert_int_equal(ends, 1);
  assert_int_equal(contacts, 0);
  near(get(world, ball, S2_BODY_VY), -10 * 150 / 120.0, 1e-10);
  s2_world_destroy(world);
}

static void destroying_a_touching_body_ends_the_contact(void **state) {
  (void)state;
  S2World *world = world_new(-10, 1.0 / 120);
  add_box(world, fixed_at(0, -1), 10, 2);
  S2BodyId ball = add_disc(world, at(0, 0.5), 0.5);
  steps(world, 2);
  must(s2_body_destroy(world, ball));
  must(s2_world_step(world));
  assert_int_equal(count_events(world, S2_CONTACT_END), 1);
  must(s2_world_step(world));
  assert_int_equal(count_events(world, S2_CONTACT_END), 0);
  s2_world_destroy(world);
}

// ---- Groups, queries, overlaps ----------------------------------------------------------------

static bool falls_through(void (*arrange)(S2World *, S2BodyId, S2BodyId)) {
  S2World *world = world_new(-10, 1.0 / 120);
  S2BodyId floor = add_box(world, fixed_at(0, -1), 10, 2), ball = add_disc(world, at(0, 0.5), 0.5);
  arrange(world, floor, ball);
  steps(world, 90);
  bool through = get(world, ball, S2_BODY_Y) < 0;
  s2_world_destroy(world);
  return through;
}

static void arrange_nothing(S2World *world, S2BodyId a, S2BodyId b) {
  (void)world;
  (void)a;
  (void)b;
}
static void arrange_masks(S2World *world, S2BodyId a, S2BodyId b) {
  must(s2_body_set(world, a, S2_BODY_CATEGORY, 2));
  must(s2_body_set(world, b, S2_BODY_MASK, 1));
}
static void arrange_no_contact(S2World *world, S2BodyId a, S2BodyId b) {
  must(s2_world_no_contact(world, a, b, true));
}
static void arrange_no_contact_and_back(S2World *world, S2BodyId a, S2BodyId b) {
  must(s2_world_no_contact(world, a, b, true));
  must(s2_world_no_contact(world, b, a, false));
}
static void arrange_joint(S2World *world, S2BodyId a, S2BodyId b) {
  S2JointDef def = hinge_def(a, b, 0.5, -0.5);
  S2JointId joint;
  must(s2_joint_create(world, &def, &joint));
}
static void arrange_disabled(S2World *world, S2BodyId a, S2BodyId b) {
  (void)b;
  must(s2_body_set(world, a, S2_BODY_ENABLED, 0));
}

static void who_touches_whom(void **state) {
  (void)state;
  assert_false(falls_through(arrange_nothing));
  assert_true(falls_through(arrange_masks));
  assert_true(falls_through(arrange_no_contact));
  assert_false(falls_through(arrange_no_contact_and_back));
  assert_true(falls_through(arrange_joint));
  assert_true(falls_through(arrange_disabled));
}

static void queries_find_bodies(void **state) {
  (void)state;
  S2World *world = world_new(0, 1.0 / 120);
  S2BodyId box = add_box(world, at(5, 0), 2, 2), disc = add_disc(world, at(10, 0), 1), found[4];
  S2RayResult hit = s2_world_raycast(world, s2_vec2(0, 0), s2_vec2(20, 0), NULL);
  assert_int_equal(hit.body.serial, box.serial);
  near(hit.point.x, 4, 1e-12);
  near(hit.normal.x, -1, 1e-12);
  near(hit.fraction, 0.2, 1e-12);
  hit = s2_world_raycast(world, s2_vec2(0, 5), s2_vec2(20, 5), NULL);
  assert_int_equal(hit.body.index, 0);
  // All hits along the ray, in order, counted beyond the capacity; filters.
  S2RayResult all[2];
  assert_int_equal(s2_world_raycast_all(world, s2_vec2(20, 0), s2_vec2(0, 0), NULL, all, 1), 2);
  assert_int_equal(all[0].body.serial, disc.serial);
  S2QueryFilter filter = {.ignored = &disc, .ignored_count = 1, .mask = 1};
  assert_int_equal(s2_world_raycast_all(world, s2_vec2(20, 0), s2_vec2(0, 0), &filter, all, 2), 1);
  assert_int_equal(all[0].body.serial, box.serial);
  filter.mask = 2;
  hit = s2_world_raycast(world, s2_vec2(0, 0), s2_vec2(20, 0), &filter);
  assert_int_equal(hit.body.index, 0);
  assert_int_equal(s2_world_query_point(world, s2_vec2(10.5, 0.5), NULL, found, 4), 1);
  assert_int_equal(found[0].serial, disc.serial);
  assert_int_equal(s2_world_query_box(world, s2_vec2(0, -5), s2_vec2(20, 5), NULL, found, 4), 2);
  // After a step queries find bodies at their present positions.
  must(s2_body_set(world, box, S2_BODY_VY, 600));
  must(s2_world_step(world));
  assert_int_equal(s2_world_query_point(world, s2_vec2(5, 0), NULL, found, 4), 0);
  assert_int_equal(s2_world_query_point(world, s2_vec2(5, 5), NULL, found, 4), 1);
  S2ClosestBodies closest;
  must(s2_body_set(world, box, S2_BODY_Y, 0));
  must(s2_world_closest(world, box, disc, &closest));
  near(closest.distance, 3, 1e-12);
  refused(s2_world_closest(world, box, box, &closest), S2_INVALID, "different");
  s2_world_destroy(world);
}

static void overlaps_warn_and_resolve(void **state) {
  (void)state;
  S2World *world = world_new(-10, 1.0 / 120);
  S2BodyDef floor = fixed_at(0, -1), low = at(0, 0.4);
  floor.name = "floor";
  low.name = "low";
  add_box(world, floor, 10, 2);
  add_box(world, low, 1, 1);
  S2Overlap overlaps[4];
  assert_int_equal(s2_world_overlaps(world, overlaps, 4), 1);
  near(overlaps[0].depth, 0.1, 1e-12);
  S2World *other;
  must(s2_world_clone(world, &other));
  must(s2_world_step(other));
  int count;
  const S2Event *events = s2_world_events(other, &count);
  bool warned = false;
  for (int i = 0; i < count; i++) {
    warned |= events[i].type == S2_SOLVER_WARNING && strstr(events[i].message, "'floor'") != NULL &&
              strstr(events[i].message, "'low'") != NULL &&
              strstr(events[i].message, "0.1") != NULL;
  }
  assert_true(warned);
  double remaining;
  must(s2_world_resolve_overlaps(world, &remaining));
  near(remaining, 0, 1e-9);
  assert_int_equal(s2_world_overlaps(world, overlaps, 4), 0);
  s2_world_destroy(world);
  s2_world_destroy(other);
}

static void a_heap_at_one_spot_comes_apart(void **state) {
  (void)state;
  S2World *world = world_new(-10, 1.0 / 120);
  add_box(world, fixed_at(0, -1), 100, 2);
  for (int i = 0; i < 12; i++) {
    add_box(world, at(0.01 * i, 0.5 + 0.013 * i), 1, 1);
  }
  double remaining;
  must(s2_world_resolve_overlaps(world, &remaining));
  assert_true(remaining < 1e-6);
  steps_solved(world, 60, 1e-9, 1e-6);
  s2_world_destroy(world);
}

// ---- Other ------------------------------------------------------------------------------------

static void state_round_trip(void **state) {
  (void)state;
  S2World *world = world_new(-10, 1.0 / 120);
  add_box(world, fixed_at(0, -1), 10, 2);
  add_box(world, at(0, 0.7), 1, 1);
  add_disc(world, at(2, 1.7), 0.5);
  double first[12], again[12];
  assert_int_equal(s2_world_state_size(world), 12);
  s2_world_state(world, first);
  steps(world, 100);
  must(s2_world_set_state(world, first, 12));
  s2_world_state(world, again);
  assert_memory_equal(first, again, sizeof first);
  refused(s2_world_set_state(world, first, 11), S2_INVALID, "12 numbers");
  first[3] = NAN;
  refused(s2_world_set_state(world, first, 12), S2_INVALID, "state[4]");
  s2_world_state(world, first);
  assert_memory_equal(first, again, sizeof first);
  s2_world_destroy(world);
}

static void far_from_the_origin_all_is_the_same(void **state) {
  (void)state;
  double rest[2];
  for (int i = 0; i < 2; i++) {
    double far = i * 1048576.0; // a power of two, so that positions are exact there as well
    S2World *world = world_new(-10, 1.0 / 64);
    add_box(world, fixed_at(far, far - 1), 16, 2);
    S2BodyId box = add_box(world, at(far, far + 0.75), 1, 1);
    steps_solved(world, 200, 1e-9, 1e-8);
    rest[i] = get(world, box, S2_BODY_Y) - far;
    s2_world_destroy(world);
  }
  near(rest[0], rest[1], 1e-9);
}

static void conveyors_carry(void **state) {
  (void)state;
  S2World *world = world_new(-10, 1.0 / 120);
  S2BodyDef belt = fixed_at(0, -1);
  belt.surface_speed = -1.5; // clockwise: the top moves to the right
  add_box(world, belt, 100, 2);
  S2BodyId box = add_box(world, at(0, 0.5), 1, 1);
  steps(world, 240);
  near(get(world, box, S2_BODY_VX), 1.5, 1e-9);
  s2_world_destroy(world);
}

static void kinematic_bodies_push(void **state) {
  (void)state;
  S2World *world = world_new(-10, 1.0 / 120);
  S2BodyDef lift = at(0, -1);
  lift.type = S2_KINEMATIC;
  lift.velocity = s2_vec2(0, 0.5);
  S2BodyId platform = add_box(world, lift, 4, 2), box = add_box(world, at(0, 0.5), 1, 1);
  steps_solved(world, 120, 1e-9, 1e-9);
  near(get(world, platform, S2_BODY_Y), -0.5, 1e-12);
  near(get(world, box, S2_BODY_VY), 0.5, 1e-9);
  near(get(world, box, S2_BODY_Y), 1, 1e-2);
  s2_world_destroy(world);
}

static void a_fast_ball_does_not_pass_a_thin_wall(void **state) {
  (void)state;
  S2World *world = world_new(0, 1.0 / 60);
  add_box(world, fixed_at(5, 0), 0.01, 4);
  S2BodyDef def = at(0, 0);
  def.velocity = s2_vec2(2000, 0);
  S2BodyId ball = add_disc(world, def, 0.1);
  steps(world, 60);
  assert_true(get(world, ball, S2_BODY_X) < 5);
  s2_world_destroy(world);
}

// A fast ball that passes a peg at a distance must not bounce off the plane at the peg's nearest
// point.
static void a_near_miss_is_a_miss(void **state) {
  (void)state;
  for (int i = 1; i < 20; i++) {
    S2World *world = world_new(0, 1.0 / 60);
    add_disc(world, rough(fixed_at(0, 0), 0, 1), 0.5);
    S2BodyDef def = rough(at(-1.1 - 0.05 * i, 0.501 + 0.1), 0, 1);
    def.velocity = s2_vec2(90, 0);
    S2BodyId ball = add_disc(world, def, 0.1);
    steps(world, 4);
    near(get(world, ball, S2_BODY_VY), 0, 1e-9);
    near(get(world, ball, S2_BODY_VX), 90, 1e-9);
    s2_world_destroy(world);
  }
}

static void stepping_partial_stops_where_it_halved(void **state) {
  (void)state;
  S2WorldDef def = s2_world_def();
  def.stepping = S2_BISECT;
  def.stepping_partial = true;
  S2World *world;
  must(s2_world_create(&def, &world));
  add_box(world, fixed_at(0, -1), 10, 2);
  S2BodyDef fall = at(0, 1);
  fall.velocity = s2_vec2(0, -40);
  add_disc(world, fall, 0.5);
  bool cut = false;
  for (int i = 0; i < 20; i++) {
    double t = s2_world_time(world);
    must(s2_world_step(world));
    double took = s2_world_time(world) - t;
    assert_true(took > 0 && took <= def.dt * (1 + 1e-12));
    cut |= took < 0.9 * def.dt;
    assert_true(s2_world_residuals(world).penetration <= 1e-6);
  }
  assert_true(cut);
  s2_world_destroy(world);
}

static void strict_worlds_fail_loudly(void **state) {
  (void)state;
  S2World *world = world_new(-10, 1.0 / 60);
  S2WorldDef def = *s2_world_settings(world);
  def.strict = true;
  def.tolerance = 1e-300; // no solver reaches this
  must(s2_world_configure(world, &def));
  add_box(world, fixed_at(0, -1), 10, 2);
  for (int i = 0; i < 3; i++) {
    S2BodyDef def_of = at(0.1 * i, 0.5 + i);
    def_of.angular_velocity = 0.1 * (i + 1); // exact rest has no residual
    add_box(world, def_of, 1, 1);
  }
  uint64_t hash = s2_world_hash(world);
  refused(s2_world_step(world), S2_UNSOLVED, "residual");
  assert_true(s2_world_hash(world) == hash);
  s2_world_destroy(world);
}

static void motion_that_is_not_finite_is_refused(void **state) {
  (void)state;
  S2World *world = world_new(-10, 1);
  S2BodyDef def = at(0, 0);
  def.name = "arm";
  S2BodyId body = add_disc(world, def, 1);
  must(s2_body_apply_force(world, body, s2_vec2(1e308, 0), NULL));
  must(s2_body_apply_force(world, body, s2_vec2(1e308, 0), NULL));
  uint64_t hash = s2_world_hash(world);
  refused(s2_world_step(world), S2_INVALID, "'arm'");
  assert_true(s2_world_hash(world) == hash);
  s2_world_destroy(world);
}

static void bodies_come_and_go(void **state) {
  (void)state;
  S2World *world = world_new(-10, 1.0 / 60);
  add_box(world, fixed_at(0, -1), 40, 2);
  S2Rng rng = s2_rng_seeded(5);
  S2BodyId live[64];
  int count = 0;
  for (int i = 0; i < 600; i++) {
    if (count < 30) {
      S2BodyDef def = at(20 * s2_rng_uniform(&rng) - 10, 1 + 4 * s2_rng_uniform(&rng));
      live[count++] =
          s2_rng_integer(&rng, 0, 1) ? add_disc(world, def, 0.3) : add_box(world, def, 0.5, 0.4);
    }
    if (count > 20 && s2_rng_integer(&rng, 0, 2) > 0) {
      int k = (int)s2_rng_integer(&rng, 0, count - 1);
      must(s2_body_destroy(world, live[k]));
      live[k] = live[--count];
    }
    must(s2_world_step(world));
    assert_true(s2_world_residuals(world).solve.scaled <= 1e-9);
  }
  assert_int_equal(s2_world_bodies(world, NULL, 0), count + 1);
  s2_world_destroy(world);
}

// Bodies in one place have pairs as the square of their number: more than any heap needs are
// refused before memory is used for them, and the world is unchanged.
static void crowds_are_refused(void **state) {
  (void)state;
  S2World *world = world_new(-9.81, 1.0 / 120);
  for (int i = 0; i < 500; i++) {
    add_disc(world, at(1e-6 * i, 0), 0.5);
  }
  uint64_t before = s2_world_hash(world);
  double remaining;
  for (int i = 0; i < 3; i++) {
    S2Status status = i == 1 ? s2_world_resolve_overlaps(world, &remaining) : s2_world_step(world);
    assert_int_equal(status.code, S2_INVALID);
    assert_non_null(strstr(status.message, "more than 100000 pairs of shapes overlap"));
    assert_true(before == s2_world_hash(world));
  }
  S2Problem *problem;
  assert_int_equal(s2_world_problem(world, &problem, NULL, 0).code, S2_INVALID);
  assert_int_equal(s2_world_overlaps(world, NULL, 0), 0);
  s2_world_destroy(world);
}

// Counts of several worlds: sums, and the maximum of values that do not add up.
static void statistics_add_up(void **state) {
  (void)state;
  S2World *one = world_new(-10, 0.01), *two = world_new(-10, 0.01);
  for (int i = 0; i < 2; i++) {
    S2World *world = i == 0 ? one : two;
    add_box(world, fixed_at(0, -0.5), 10, 1);
    for (int k = 0; k <= i; k++) {
      add_box(world, at(0, 0.5 + k), 1, 1);
    }
    steps(world, 3 + i);
  }
  const S2WorldStats *a = s2_world_stats(one), *b = s2_world_stats(two);
  S2WorldStats sum = *a;
  s2_stats_add(&sum, b);
  assert_int_equal(sum.steps, 7);
  assert_int_equal(sum.solves, a->solves + b->solves);
  assert_int_equal(sum.kept, a->kept + b->kept);
  assert_int_equal(sum.bodies, 5);
  assert_int_equal(sum.contacts, 2 + 4);
  assert_int_equal(sum.largest_island, 4);
  assert_true(sum.worst_scaled == fmax(a->worst_scaled, b->worst_scaled));
  assert_true(sum.arena_bytes ==
              (a->arena_bytes > b->arena_bytes ? a->arena_bytes : b->arena_bytes));
  for (int i = 0; i < S2_SOLVER_COUNT; i++) {
    assert_int_equal(sum.used[i], a->used[i] + b->used[i]);
  }
  s2_world_destroy(one);
  s2_world_destroy(two);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(crowds_are_refused),
      cmocka_unit_test(stale_handles_are_errors),
      cmocka_unit_test(worlds_refuse_nonsense),
      cmocka_unit_test(bodies_refuse_nonsense),
      cmocka_unit_test(joints_refuse_nonsense),
      cmocka_unit_test(callbacks_are_called),
      cmocka_unit_test(filters_and_pre_solve_let_bodies_through),
      cmocka_unit_test(an_aborted_step_leaves_no_trace),
      cmocka_unit_test(marks_roll_back_everything),
      cmocka_unit_test(contacts_begin_and_end),
      cmocka_unit_test(sensors_feel_but_do_not_push),
      cmocka_unit_test(destroying_a_touching_body_ends_the_contact),
      cmocka_unit_test(who_touches_whom),
      cmocka_unit_test(queries_find_bodies),
      cmocka_unit_test(overlaps_warn_and_resolve),
      cmocka_unit_test(a_heap_at_one_spot_comes_apart),
      cmocka_unit_test(state_round_trip),
      cmocka_unit_test(far_from_the_origin_all_is_the_same),
      cmocka_unit_test(conveyors_carry),
      cmocka_unit_test(kinematic_bodies_push),
      cmocka_unit_test(a_fast_ball_does_not_pass_a_thin_wall),
      cmocka_unit_test(a_near_miss_is_a_miss),
      cmocka_unit_test(stepping_partial_stops_where_it_halved),
      cmocka_unit_test(strict_worlds_fail_loudly),
      cmocka_unit_test(motion_that_is_not_finite_is_refused),
      cmocka_unit_test(bodies_come_and_go),
      cmocka_unit_test(statistics_add_up),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
