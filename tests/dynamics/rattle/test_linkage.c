// Linkages, the islands of rigid hinges and sliders that flat arrays step (rattle/linkage.h),
// compared with the general path, and their conserved quantities.
#include "worlds.h"

enum { BODIES = 14, STEPS = 60 };

typedef enum Shape { CHAIN, TREE, RING, SLIDERS, SHAPES } Shape;

typedef struct Linkage {
  S2World *world;
  S2BodyId body[BODIES];
  S2JointId joint[BODIES + 1];
  int joints;
} Linkage;

// Joins bodies i and j half-way between their centres. `limited`: with limits that are never
// reached, so that the general path steps the island.
static void join(Linkage *linkage, int i, int j, S2JointType type, bool limited) {
  S2BodyId a = linkage->body[i], b = j < 0 ? no_body : linkage->body[j];
  S2JointDef def = joint_def(type, a, b);
  double x = get(linkage->world, a, S2_BODY_X), y = get(linkage->world, a, S2_BODY_Y);
  double to_x = j < 0 ? 0 : get(linkage->world, b, S2_BODY_X);
  double to_y = j < 0 ? 0.3 : get(linkage->world, b, S2_BODY_Y);
  def.anchor_a = s2_vec2((x + to_x) / 2, (y + to_y) / 2);
  def.axis = s2_vec2(0.6, 0.8);
  if (limited) {
    def.has_limits = true;
    def.limit_lo = -1e6;
    def.limit_hi = 1e6;
  }
  must(s2_joint_create(linkage->world, &def, &linkage->joint[linkage->joints++]));
}

// `grounded`: the first body is joined to the world.
static Linkage make(Shape shape, bool grounded, bool limited) {
  S2WorldDef settings = fixed_def();
  settings.gravity = s2_vec2(0, grounded ? -10 : 0);
  settings.dt = 1.0 / 120;
  settings.flow = S2_FLOW_RATTLE;
  Linkage linkage = {.joints = 0};
  must(s2_world_create(&settings, &linkage.world));
  S2Rng rng = s2_rng_seeded(7 + (uint64_t)shape);
  for (int i = 0; i < BODIES; i++) {
    double along = shape == RING ? 2 * acos(-1) * i / BODIES : i;
    S2BodyDef def = shape == RING   ? at(2 * cos(along), 2 * sin(along))
                    : shape == TREE ? at(0.7 * ((i + 1) % 4), -0.6 * ((i + 1) / 2))
                                    : at(0.8 * i, -0.2 * i);
    def.mask = 0;
    def.angle = s2_rng_uniform(&rng);
    def.density = 0.5 + s2_rng_uniform(&rng);
    def.linear_damping = grounded && i % 5 == 0 ? 0.3 : 0;
    linkage.body[i] = add_box(linkage.world, def, 0.7, 0.2);
  }
  if (grounded) {
    join(&linkage, 0, -1, S2_HINGE, limited);
  }
  for (int i = 1; i < BODIES; i++) {
    bool slides = shape == SLIDERS && i % 3 == 0;
    join(&linkage, i, shape == TREE ? (i - 1) / 2 : i - 1, slides ? S2_SLIDER : S2_HINGE, limited);
  }
  if (shape == RING) {
    join(&linkage, 0, BODIES - 1, S2_HINGE, limited);
  }
  return linkage;
}

static void step(const Linkage *linkage) {
  must(s2_world_step(linkage->world));
  assert_int_equal(s2_world_stats(linkage->world)->unsolved_solves, 0);
  assert_true(s2_world_stats(linkage->world)->worst_scaled <= 1e-9);
}

static void test_linkages_agree_with_the_general_path(void **state) {
  (void)state;
  static const S2BodyField fields[6] = {S2_BODY_ANGLE, S2_BODY_X,  S2_BODY_Y,
                                        S2_BODY_OMEGA, S2_BODY_VX, S2_BODY_VY};
  for (int shape = 0; shape < SHAPES; shape++) {
    Linkage flat = make((Shape)shape, true, false), general = make((Shape)shape, true, true);
    for (int i = 0; i < STEPS; i++) {
      step(&flat);
      step(&general);
    }
    double moved = 0;
    for (int i = 0; i < BODIES; i++) {
      for (int k = 0; k < 6; k++) {
        double x = get(flat.world, flat.body[i], fields[k]);
        near(x, get(general.world, general.body[i], fields[k]), 1e-8);
        moved = fmax(moved, k > 2 ? fabs(x) : 0);
      }
    }
    assert_true(moved > 0.5); // the scene is not at rest
    for (int i = 0; i < flat.joints; i++) {
      S2JointInfo one, other;
      must(s2_joint_info(flat.world, flat.joint[i], &one));
      must(s2_joint_info(general.world, general.joint[i], &other));
      near(one.force.x, other.force.x, 1e-6);
      near(one.force.y, other.force.y, 1e-6);
      near(one.torque, other.torque, 1e-6);
    }
    s2_world_destroy(flat.world);
    s2_world_destroy(general.world);
  }
}

static void test_free_linkages_keep_their_momentum(void **state) {
  (void)state;
  for (int shape = 0; shape < SHAPES; shape++) {
    Linkage linkage = make((Shape)shape, false, false);
    must(s2_body_apply_impulse(linkage.world, linkage.body[3], s2_vec2(0.3, 0.4), NULL));
    double before[3], after[3];
    s2_world_momentum(linkage.world, before);
    for (int i = 0; i < STEPS; i++) {
      step(&linkage);
    }
    s2_world_momentum(linkage.world, after);
    for (int c = 0; c < 3; c++) {
      near(after[c], before[c], 1e-12);
    }
    s2_world_destroy(linkage.world);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_linkages_agree_with_the_general_path),
      cmocka_unit_test(test_free_linkages_keep_their_momentum),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
