// Newton's second law as an audit: in every step, for every body,
//
//     M (v+ - v) = dt f + impulses of contacts and joints + corrections of the stepping
//
// linear and angular, over random scenes of all shapes in all steppings. `test_momentum N` runs N
// scenes and prints the largest errors.
#include "worlds.h"

// The rounding of the sum of all impulses on a body, relative to their size and the body's
// momentum.
static const double TOLERANCE = 1e-12;

static int scenes = S2_FEWER(96, 12);

enum { STEPS = 90, MOST = 24 };

// ---- Scenes -----------------------------------------------------------------------------------

static double between(S2Rng *rng, double lo, double hi) {
  return lo + (hi - lo) * s2_rng_uniform(rng);
}

static bool chance(S2Rng *rng, double part) {
  return s2_rng_uniform(rng) < part;
}

static void add_shape(S2Rng *rng, S2World *world, S2BodyDef def, S2BodyId *body) {
  double size = between(rng, 0.15, 0.5);
  switch (s2_rng_integer(rng, 0, 4)) {
  case 0:
    *body = add_disc(world, def, size);
    break;
  case 1:
    *body = add_box(world, def, 2 * size, between(rng, 0.2, 2) * size);
    break;
  case 2: { // a capsule
    const S2Vec2 v[2] = {{-size, 0}, {size, 0}};
    *body = add_body(world, def, v, 2, size / 2);
    break;
  }
  case 3: {
    S2Vec2 v[7];
    int count = (int)s2_rng_integer(rng, 3, 7);
    for (int i = 0; i < count; i++) {
      double turn = 2 * 3.141592653589793 * (i + between(rng, 0, 0.3)) / count;
      v[i] = s2_vec2(size * cos(turn), size * sin(turn));
    }
    *body = add_body(world, def, v, count, chance(rng, 0.3) ? size / 5 : 0);
    break;
  }
  default: { // an L of two pieces
    const S2Vec2 v[8] = {{-size, -size},     {size, -size},      {size, -size / 2},
                         {-size, -size / 2}, {-size, -size / 2}, {-size / 2, -size / 2},
                         {-size / 2, size},  {-size, size}};
    S2ShapeDef pieces[2] = {plain_shape(v, 4, 0), plain_shape(v + 4, 4, 0)};
    def.shapes = pieces;
    def.shape_count = 2;
    must(s2_body_create(world, &def, body));
    break;
  }
  }
}

static S2BodyDef material(S2Rng *rng, S2BodyDef def) {
  def.friction = chance(rng, 0.2) ? 0 : between(rng, 0, 1);
  def.restitution = chance(rng, 0.4) ? 0 : between(rng, 0, 1);
  def.contact_compliance = chance(rng, 0.1) ? 1e-5 : 0;
  def.contact_damping = chance(rng, 0.5) ? 10 : 0;
  def.contact_viscosity = chance(rng, 0.1) ? between(rng, 0, 2) : 0;
  def.surface_speed = chance(rng, 0.1) ? between(rng, -1, 1) : 0;
  return def;
}

static void add_chain(S2Rng *rng, S2World *world) {
  enum { SEGMENTS = 20 };
  S2Vec2 p[SEGMENTS + 1];
  S2ShapeDef shapes[SEGMENTS];
  for (int i = 0; i <= SEGMENTS; i++) {
    p[i] = s2_vec2(5 - 0.5 * i, between(rng, -0.1, 0.1));
  }
  for (int i = 0; i < SEGMENTS; i++) {
    shapes[i] = plain_shape(p + i, 2, 0);
    shapes[i].has_previous = i > 0;
    shapes[i].has_next = i + 1 < SEGMENTS;
    shapes[i].previous = i > 0 ? p[i - 1] : p[i];
    shapes[i].next = i + 1 < SEGMENTS ? p[i + 2] : p[i];
  }
  S2BodyDef def = material(rng, fixed_at(0, 0));
  def.shapes = shapes;
  def.shape_count = SEGMENTS;
  S2BodyId body;
  must(s2_body_create(world, &def, &body));
}

static void add_ground(S2Rng *rng, S2World *world) {
  if (chance(rng, 0.4)) {
    add_chain(rng, world);
  } else {
    add_box(world, material(rng, fixed_at(0, -1)), 20, 2);
  }
  for (int side = -1; side <= 1; side += 2) {
    add_box(world, material(rng, fixed_at(side * 2.5, 3)), 0.5, 8);
  }
  if (chance(rng, 0.3)) { // a body with its own motion
    S2BodyDef def = material(rng, at(between(rng, -1, 1), 0.5));
    def.type = S2_KINEMATIC;
    def.velocity = s2_vec2(between(rng, -0.5, 0.5), between(rng, -0.2, 0.2));
    def.angular_velocity = between(rng, -2, 2);
    add_box(world, def, 1, 0.3);
  }
}

static void add_joint(S2Rng *rng, S2World *world, S2BodyId a, S2BodyId b, bool rope) {
  static const S2JointType types[] = {S2_HINGE,  S2_WELD,   S2_DISTANCE,
                                      S2_SPRING, S2_SLIDER, S2_ROPE};
  double qa[3], qb[3];
  must(s2_body_q(world, a, qa));
  must(s2_body_q(world, b, qb));
  S2JointDef def = joint_def(types[s2_rng_integer(rng, 0, rope ? 5 : 4)], a, b);
  bool shared = def.type == S2_HINGE || def.type == S2_WELD || def.type == S2_SLIDER;
  def.anchor_a =
      shared ? s2_vec2((qa[1] + qb[1]) / 2, (qa[2] + qb[2]) / 2) : s2_vec2(qa[1] + 0.1, qa[2]);
  def.anchor_b = shared ? def.anchor_a : s2_vec2(qb[1], qb[2] - 0.1);
  def.axis = s2_vec2(1, between(rng, -1, 1));
  def.stiffness = def.type == S2_SPRING ? 200 : def.stiffness;
  def.max_length = def.type == S2_ROPE ? 1.5 : def.max_length;
  def.collide = chance(rng, 0.3);
  S2JointId joint;
  must(s2_joint_create(world, &def, &joint));
}

typedef struct Scene {
  S2World *world;
  int count, joints;
  S2BodyId body[MOST];
} Scene;

static Scene make(S2Rng *rng, S2Stepping stepping, bool jointed) {
  Scene scene = {.count = (int)s2_rng_integer(rng, 1, jointed ? 8 : 14)};
  S2WorldDef def = fixed_def();
  def.gravity = s2_vec2(chance(rng, 0.2) ? 1 : 0, chance(rng, 0.1) ? 0 : -9.81);
  def.dt = chance(rng, 0.5) ? 1.0 / 60 : 1.0 / 240;
  def.stepping = stepping;
  def.substeps = jointed || chance(rng, 0.6) ? 1 : (int)s2_rng_integer(rng, 2, 4);
  bool reflects = !jointed && stepping < S2_EVENT && chance(rng, 0.25);
  def.restitution_model = reflects ? S2_REFLECTIONS : S2_NEWTON;
  // The rows of S2_PRE are those of the corrected start, which only contacts report; without any,
  // the ends of joints drift apart.
  static const S2Stabilization some[] = {S2_POST, S2_POST_ASSEMBLY, S2_BAUMGARTE,
                                         S2_NO_STABILIZATION, S2_PRE};
  bool other = stepping < S2_EVENT && chance(rng, 0.3); // which supports only this one
  def.stabilization = other ? some[s2_rng_integer(rng, 0, jointed ? 2 : 4)] : S2_PROJECTION;
  must(s2_world_create(&def, &scene.world));
  if (!jointed || chance(rng, 0.8)) {
    add_ground(rng, scene.world);
  }
  for (int i = 0; i < scene.count; i++) {
    S2BodyDef body = material(rng, at(between(rng, -1.5, 1.5), 0.7 + 0.8 * i));
    body.angle = between(rng, -3, 3);
    body.velocity = s2_vec2(between(rng, -4, 4), between(rng, -6, 2));
    body.angular_velocity = between(rng, -10, 10);
    body.gravity_scale = chance(rng, 0.1) ? 0.5 : 1;
    add_shape(rng, scene.world, body, &scene.body[i]);
  }
  for (int i = 1; jointed && i < scene.count; i++) {
    if (chance(rng, 0.6)) {
      // A rope stops an arrival where its end is reached, not at the start of the step.
      add_joint(rng, scene.world, scene.body[i - 1], scene.body[i], stepping != S2_SPECULATIVE);
      scene.joints += 1;
    }
  }
  return scene;
}

// ---- The audit --------------------------------------------------------------------------------

typedef struct Sum { // angular (N m s), x, y (N s), and the sizes of all that was added
  double given[3], size[3];
} Sum;

static void give(Sum *sum, double angular, double x, double y) {
  const double what[3] = {angular, x, y};
  for (int c = 0; c < 3; c++) {
    sum->given[c] += what[c];
    sum->size[c] += fabs(what[c]);
  }
}

static double cross(S2Vec2 a, S2Vec2 b) {
  return a.x * b.y - a.y * b.x;
}

typedef struct Before {
  double q[3], v[3];
} Before;

typedef struct Anchors {
  S2Vec2 a, b;
} Anchors;

static void add_contacts(const Scene *scene, Sum *sums) {
  int count;
  const S2Contact *contacts = s2_world_contacts(scene->world, &count);
  for (int k = 0; k < count; k++) {
    const S2Contact *c = &contacts[k];
    double x = c->normal.x * c->normal_impulse - c->normal.y * c->tangent_impulse;
    double y = c->normal.y * c->normal_impulse + c->normal.x * c->tangent_impulse;
    for (int i = 0; i < scene->count; i++) {
      if (c->a.index == scene->body[i].index) {
        give(&sums[i], c->angular_impulse_a, x, y);
      } else if (c->b.index == scene->body[i].index) {
        give(&sums[i], c->angular_impulse_b, -x, -y);
      }
    }
  }
}

// Anchors and centres at the start of the step: a step of one piece has its rows there.
static void add_joints(const Scene *scene, const Before *before, const Anchors *anchors,
                       Sum *sums) {
  S2JointId joints[MOST];
  int count = s2_world_joints(scene->world, joints, MOST);
  for (int k = 0; k < count; k++) {
    S2JointInfo info;
    must(s2_joint_info(scene->world, joints[k], &info));
    for (int i = 0; i < scene->count; i++) {
      bool of_a = info.a.index == scene->body[i].index;
      if (of_a || info.b.index == scene->body[i].index) {
        S2Vec2 at = of_a ? anchors[k].a : anchors[k].b;
        S2Vec2 arm = s2_vec2(at.x - before[i].q[1], at.y - before[i].q[2]);
        double sign = of_a ? 1 : -1, turn = info.angular_impulse + cross(arm, info.impulse);
        give(&sums[i], sign * turn, sign * info.impulse.x, sign * info.impulse.y);
      }
    }
  }
}

typedef struct Worst {
  double linear, angular, corrected;
  int64_t bodies, corrections, unsolved;
} Worst;

static void audit(const Scene *scene, const Before *before, const Anchors *anchors, bool angular,
                  Worst *worst) {
  const S2WorldDef *def = s2_world_settings(scene->world);
  Sum sums[MOST] = {0};
  add_contacts(scene, sums);
  add_joints(scene, before, anchors, sums);
  for (int i = 0; i < scene->count; i++) {
    S2BodyId body = scene->body[i];
    S2BodyInfo info;
    double more[3], net[3], scale = get(scene->world, body, S2_BODY_GRAVITY_SCALE);
    must(s2_body_info(scene->world, body, &info));
    Sum *sum = &sums[i];
    if (scene->joints == 0) { // a second report of the same
      must(s2_body_contact_impulse(scene->world, body, net));
      for (int c = 0; c < 3; c++) {
        near(net[c], sum->given[c], 1e-14 * sum->size[c]);
      }
    }
    double weight = info.mass * scale * def->dt;
    must(s2_body_correction(scene->world, body, more));
    give(sum, more[0], more[1], more[2]);
    give(sum, 0, weight * def->gravity.x, weight * def->gravity.y);
    const double inertial[3] = {info.inertia, info.mass, info.mass};
    double reach = sqrt(info.inertia / info.mass);
    double all = sum->size[1] + sum->size[2] + sum->size[0] / reach;
    for (int c = 0; c < 3; c++) { // velocities have rounding of their own
      all += inertial[c] * (fabs(info.v[c]) + fabs(before[i].v[c])) / (c == 0 ? reach : 1);
    }
    double corrected = hypot(more[1], more[2]);
    worst->corrections += corrected != 0 || more[0] != 0;
    worst->corrected = fmax(worst->corrected, all > 0 ? corrected / all : 0);
    for (int c = angular ? 0 : 1; c < 3; c++) {
      double off = inertial[c] * (info.v[c] - before[i].v[c]) - sum->given[c];
      double part = fabs(off) / (all * (c == 0 ? reach : 1));
      double *of = c == 0 ? &worst->angular : &worst->linear;
      *of = fmax(*of, all > 0 ? part : 0);
    }
    worst->bodies += 1;
  }
}

static void run(Scene *scene, bool angular, Worst *worst) {
  for (int k = 0; k < STEPS; k++) {
    Before before[MOST];
    Anchors anchors[MOST];
    S2JointId joints[MOST];
    int count = s2_world_joints(scene->world, joints, MOST);
    bool apart = false; // jammed hinges are corrected by rows at both ends
    for (int i = 0; i < count; i++) {
      S2JointInfo info;
      must(s2_joint_info(scene->world, joints[i], &info));
      apart |= info.type == S2_HINGE && info.error > 1e-9;
      // Joints that hold bodies at a common point push at that of a, those that pull push at each
      // end.
      bool shared = info.type == S2_SLIDER || info.type == S2_WELD || info.type == S2_HINGE;
      anchors[i].a = info.anchor_a;
      anchors[i].b = shared ? info.anchor_a : info.anchor_b;
    }
    for (int i = 0; i < scene->count; i++) {
      must(s2_body_q(scene->world, scene->body[i], before[i].q));
      must(s2_body_v(scene->world, scene->body[i], before[i].v));
    }
    uint64_t unsolved = s2_world_stats(scene->world)->unsolved_solves;
    must(s2_world_step(scene->world));
    if (s2_world_stats(scene->world)->unsolved_solves >
        unsolved) { // impulses that are not a solution
      worst->unsolved += 1;
      continue;
    }
    audit(scene, before, anchors, angular && !apart, worst);
  }
}

static void check(S2Stepping stepping, bool jointed) {
  static const char *const names[] = {"speculative", "bisect", "event", "auto"};
  Worst all = {0};
  // If a step has pieces, the lever arms of joints are not reported: only their impulses.
  bool angular = !jointed || stepping == S2_SPECULATIVE;
  for (int i = 0; i < scenes / 6; i++) {
    S2Rng rng = s2_rng_seeded((uint64_t)(6 * i + 2 * (int)stepping + jointed + 1));
    Scene scene = make(&rng, stepping, jointed);
    run(&scene, angular, &all);
    s2_world_destroy(scene.world);
    if (!(all.linear <= TOLERANCE && all.angular <= TOLERANCE)) {
      fail_msg("%s, scene %d%s: off by %.2e, angular %.2e", names[stepping], i,
               jointed ? " with joints" : "", all.linear, all.angular);
    }
  }
  print_message(
      "%s%s: %d scenes, %lld times a body, off by %.1e, angular %.1e; %lld corrections of "
      "at most %.1e; %lld steps unsolved\n",
      names[stepping], jointed ? ", joints" : "", scenes / 6, (long long)all.bodies, all.linear,
      all.angular, (long long)all.corrections, all.corrected, (long long)all.unsolved);
  assert_true(all.bodies > 100 * all.unsolved);
}

static void all_is_told(void **state) {
  (void)state;
  for (int jointed = 0; jointed < 2; jointed++) {
    check(S2_SPECULATIVE, jointed);
    check(S2_BISECT, jointed);
    check(S2_EVENT, jointed);
    check(S2_AUTO, jointed);
  }
}

int main(int argc, char **argv) {
  scenes = argc > 1 ? atoi(argv[1]) : scenes;
  const struct CMUnitTest tests[] = {cmocka_unit_test(all_is_told)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
