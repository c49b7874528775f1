// The functions of joints: derivatives compared with differences, momentum, compliant rows.
#include "worlds.h"

#include "dynamics/joints/joint.h"
#include "dynamics/joints/rows.h"

// For central differences: the cube root of rounding, for values about 1.
static const double STEP = 1e-5;

static double uniform(S2Rng *rng, double lo, double hi) {
  return lo + (hi - lo) * s2_rng_uniform(rng);
}

static S2BodyId random_body(S2World *world, S2Rng *rng) {
  S2BodyDef def = at(uniform(rng, -2, 2), uniform(rng, -2, 2));
  def.angle = uniform(rng, -4, 4);
  return add_box(world, def, uniform(rng, 0.5, 2), uniform(rng, 0.5, 2));
}

static S2Vec2 random_point(S2Rng *rng) {
  return s2_vec2(uniform(rng, -2, 2), uniform(rng, -2, 2));
}

static S2JointDef random_def(S2Rng *rng, S2JointType type, S2BodyId a, S2BodyId b) {
  S2JointDef def = joint_def(type, a, b);
  bool one = type == S2_LOCK || type == S2_MOUSE;
  def.b = one ? no_body : b;
  def.anchor_a = random_point(rng);
  def.anchor_b = random_point(rng);
  def.axis = random_point(rng);
  def.stiffness = uniform(rng, 1, 100);
  def.target = random_point(rng);
  def.lock_x = def.lock_y = def.lock_angle = type == S2_LOCK;
  if (type == S2_PULLEY) {
    def.ground_a = s2_add(def.anchor_a, s2_vec2(1, 2));
    def.ground_b = s2_add(def.anchor_b, s2_vec2(-1, 1));
    def.ratio = uniform(rng, 0.5, 2);
  }
  return def;
}

// A joint of the type between two bodies (sometimes one of them and the world); gears couple a
// slider with a hinge or a spring.
static S2JointId random_joint(S2World *world, S2Rng *rng, S2JointType type, S2BodyId a,
                              S2BodyId b) {
  S2JointId joint, parts[2];
  if (type == S2_GEAR) {
    S2JointType second = s2_rng_integer(rng, 0, 1) == 0 ? S2_HINGE : S2_SPRING;
    S2JointDef one = random_def(rng, S2_SLIDER, a, b), two = random_def(rng, second, a, no_body);
    must(s2_joint_create(world, &one, &parts[0]));
    must(s2_joint_create(world, &two, &parts[1]));
    S2JointDef gear = s2_joint_def(S2_GEAR);
    gear.joint_a = parts[0];
    gear.joint_b = parts[1];
    gear.ratio = uniform(rng, 0.5, 2);
    must(s2_joint_create(world, &gear, &joint));
    return joint;
  }
  S2JointDef def = random_def(rng, type, a, b);
  int64_t where = s2_rng_integer(rng, 0, 5);
  if (type == S2_PULLEY) {
    where = 2; // it needs two bodies
  }
  if (where == 0 && type != S2_LOCK && type != S2_MOUSE) {
    def.a = no_body;
  } else if (where == 1) {
    def.b = no_body;
  }
  must(s2_joint_create(world, &def, &joint));
  return joint;
}

typedef enum Function { EQUATIONS, COORDINATE, DRIVE } Function;

static int evaluate(const S2JointAt *at, Function function, S2JointRow *rows,
                    S2JointHessian *hessians) {
  const S2JointKind *kind = s2_joint_kind(at->joint->type);
  if (function == EQUATIONS) {
    if (hessians != NULL) {
      s2_joint_hessians(at, hessians);
    }
    return s2_joint_rows(at, rows);
  }
  void (*measure)(const S2JointAt *, S2JointRow *, S2JointHessian *) =
      function == COORDINATE ? kind->coordinate : kind->drive;
  if (measure == NULL) {
    return 0;
  }
  measure(at, rows, hessians);
  return 1;
}

static double *entry(S2JointRow *row, int i) {
  return i < 3 ? &row->ja[i] : &row->jb[i - 3];
}

static void compare(double exact, double difference, S2JointType type, const char *what, int i) {
  if (!(fabs(exact - difference) <= 1e-8 * fmax(1, fabs(exact)))) {
    fail_msg("%s: %s %d is %.12g, by differences %.12g", s2_joint_type_name(type), what, i, exact,
             difference);
  }
}

// Rows and Hessians of one function, compared with central differences of its values and rows.
static void check_derivatives(S2World *world, const S2Joint *joint, Function function) {
  double *q = world->q.at;
  S2JointAt at = {world, joint, q, 0, NULL};
  S2JointRow rows[3], plus[3], minus[3];
  S2JointHessian hessians[3];
  int count = evaluate(&at, function, rows, hessians);
  for (int i = 0; i < 6; i++) {
    int32_t slot = i < 3 ? joint->a : joint->b;
    if (slot == S2_NONE) {
      continue;
    }
    double *x = &q[3 * slot + i % 3], kept = *x;
    *x = kept + STEP;
    double width = *x;
    evaluate(&at, function, plus, NULL);
    *x = kept - STEP;
    width -= *x;
    evaluate(&at, function, minus, NULL);
    *x = kept;
    for (int r = 0; r < count; r++) {
      compare(*entry(&rows[r], i), (plus[r].value - minus[r].value) / width, joint->type,
              "gradient", i);
      for (int j = 0; j < 6; j++) {
        if ((j < 3 ? joint->a : joint->b) != S2_NONE) {
          compare(hessians[r].at[i][j], (*entry(&plus[r], j) - *entry(&minus[r], j)) / width,
                  joint->type, "hessian", 6 * i + j);
        }
      }
    }
  }
}

// Forces along the gradient of a function of two bodies cancel, and so do their moments.
static void check_balance(const S2World *world, const S2Joint *joint, const S2JointRow *rows,
                          int count) {
  if (joint->a == S2_NONE || joint->b == S2_NONE || joint->type == S2_GEAR) {
    return; // a gear here also pushes on the world
  }
  const double *qa = world->q.at + 3 * joint->a, *qb = world->q.at + 3 * joint->b;
  for (int r = 0; r < count; r++) {
    const double *a = rows[r].ja, *b = rows[r].jb;
    near(a[1] + b[1], 0, 0);
    near(a[2] + b[2], 0, 0);
    near(a[0] + qa[1] * a[2] - qa[2] * a[1] + b[0] + qb[1] * b[2] - qb[2] * b[1], 0, 1e-13);
  }
}

// Directions turn too fast there for differences.
static bool is_short(const S2World *world, const S2Joint *joint) {
  const S2Joint *of = joint->type == S2_GEAR ? &world->joints.at[joint->joint_b] : joint;
  S2JointRow length;
  s2_measure_length(&(S2JointAt){world, of, world->q.at, 0, NULL}, &length, NULL);
  return (s2_joint_kind(of->type)->parts & S2_HAS_LENGTH) != 0 && length.value < 0.5;
}

static void derivatives_are_exact(void **state) {
  (void)state;
  S2Rng rng = s2_rng_seeded(1);
  for (int type = 0; type < S2_JOINT_TYPE_COUNT; type++) {
    // functions of a program, and types without a function
    if (type == S2_CONSTRAINT || type == S2_GROUND_FRICTION) {
      continue;
    }
    for (int trial = 0; trial < 100; trial++) {
      S2World *world = world_new(0, 0.01);
      S2BodyId a = random_body(world, &rng), b = random_body(world, &rng);
      S2JointId id = random_joint(world, &rng, (S2JointType)type, a, b);
      const S2Joint *joint = &world->joints.at[id.index - 1];
      for (int i = 0; i < 6; i++) { // away from its initial pose, but not to length zero
        world->q.at[i] += uniform(&rng, -0.2, 0.2);
      }
      S2JointRow rows[3];
      for (int f = 0; f < 3; f++) {
        S2JointAt at = {world, joint, world->q.at, 0, NULL};
        if (is_short(world, joint)) {
          continue;
        }
        check_derivatives(world, joint, (Function)f);
        int count = evaluate(&at, (Function)f, rows, NULL);
        if (!s2_joint_may_hold(joint)) {
          check_balance(world, joint, rows, count);
        }
      }
      s2_world_destroy(world);
    }
  }
}

// ---- Compliant rows ---------------------------------------------------------------------------

static S2Blend implicit(double h) {
  return (S2Blend){.h = h, .alpha = 1, .beta = 1};
}

static S2Joint soft_weld(S2JointWeights compliance, S2JointWeights damping) {
  return (S2Joint){.type = S2_WELD, .compliance = compliance, .damping = damping};
}

static void fill(S2JointRow rows[3], S2Rng *rng) {
  for (int r = 0; r < 3; r++) {
    rows[r] = (S2JointRow){.value = uniform(rng, -1, 1)};
    for (int c = 0; c < 3; c++) {
      rows[r].ja[c] = uniform(rng, -1, 1);
      rows[r].jb[c] = uniform(rng, -1, 1);
    }
  }
}

// The impulse of the rows on (a, b) at velocities v: -J' C'^-1 (J v + b).
static void impulse_of(const S2SoftRow soft[3], const double v[6], double impulse[6]) {
  memset(impulse, 0, 6 * sizeof(double));
  for (int r = 0; r < 3; r++) {
    const S2JointRow *row = &soft[r].row;
    double u = soft[r].bias;
    for (int c = 0; c < 3; c++) {
      u += row->ja[c] * v[c] + row->jb[c] * v[3 + c];
    }
    for (int c = 0; c < 3; c++) {
      impulse[c] -= row->ja[c] * u / soft[r].compliance;
      impulse[3 + c] -= row->jb[c] * u / soft[r].compliance;
    }
  }
}

// lambda = -h (K (g + h u) + D u) for random full matrices, K inverted by hand from C = B B' + 1.
static void soft_rows_are_implicit_euler(void **state) {
  (void)state;
  S2Rng rng = s2_rng_seeded(2);
  for (int trial = 0; trial < 200; trial++) {
    double h = uniform(&rng, 1e-3, 0.1), v[6], c[3][3], d[3][3], given[6] = {0}, got[6];
    S2JointWeights compliance = {.size = 3}, damping = {.size = 3};
    for (int pass = 0; pass < 2; pass++) {
      double b[3][3];
      for (int i = 0; i < 9; i++) {
        b[i / 3][i % 3] = uniform(&rng, -1, 1);
      }
      for (int i = 0; i < 9; i++) {
        const double *x = b[i / 3], *y = b[i % 3];
        double sum = x[0] * y[0] + x[1] * y[1] + x[2] * y[2];
        (pass == 0 ? c : d)[i / 3][i % 3] = sum + (pass == 0 && i / 3 == i % 3 ? 0.1 : 0);
      }
    }
    memcpy(compliance.matrix, c, sizeof c);
    memcpy(damping.matrix, d, sizeof d);
    for (int i = 0; i < 6; i++) {
      v[i] = uniform(&rng, -1, 1);
    }
    S2Joint joint = soft_weld(compliance, damping);
    S2JointRow rows[3];
    S2SoftRow soft[3];
    fill(rows, &rng);
    s2_joint_soften(&joint, rows, 3, implicit(h), soft);
    impulse_of(soft, v, got);
    double u[3], stretch[3], force[3];
    for (int r = 0; r < 3; r++) {
      u[r] = 0;
      for (int k = 0; k < 3; k++) {
        u[r] += rows[r].ja[k] * v[k] + rows[r].jb[k] * v[3 + k];
      }
      stretch[r] = rows[r].value + h * u[r];
    }
    double det = 0;
    for (int i = 0; i < 3; i++) {
      det +=
          c[0][i] * (c[1][(i + 1) % 3] * c[2][(i + 2) % 3] - c[1][(i + 2) % 3] * c[2][(i + 1) % 3]);
    }
    for (int r = 0; r < 3; r++) {
      force[r] = 0;
      for (int k = 0; k < 3; k++) { // cofactors of a symmetric matrix
        int r1 = (r + 1) % 3, r2 = (r + 2) % 3, k1 = (k + 1) % 3, k2 = (k + 2) % 3;
        double inverse = (c[r1][k1] * c[r2][k2] - c[r1][k2] * c[r2][k1]) / det;
        force[r] += inverse * stretch[k] + d[r][k] * u[k];
      }
      for (int k = 0; k < 3; k++) {
        given[k] -= h * rows[r].ja[k] * force[r];
        given[3 + k] -= h * rows[r].jb[k] * force[r];
      }
    }
    for (int i = 0; i < 6; i++) {
      near(got[i], given[i], 1e-9 * fmax(1, fabs(given[i])));
    }
    // The energy is that of the inverse as well.
    double energy = 0;
    for (int r = 0; r < 3; r++) {
      for (int k = 0; k < 3; k++) {
        int r1 = (r + 1) % 3, r2 = (r + 2) % 3, k1 = (k + 1) % 3, k2 = (k + 2) % 3;
        energy += rows[r].value * rows[k].value * (c[r1][k1] * c[r2][k2] - c[r1][k2] * c[r2][k1]) /
                  det / 2;
      }
    }
    near(s2_joint_energy(&joint, rows, 3), energy, 1e-9 * fmax(1, energy));
  }
}

// A diagonal matrix gives the same as numbers; a compliance of 0 in one direction leaves a rigid
// row there; and the limit to 0 is continuous.
static void soft_rows_pass_through_rigid_ones(void **state) {
  (void)state;
  S2Rng rng = s2_rng_seeded(3);
  S2JointRow rows[3];
  S2SoftRow soft[3], same[3];
  fill(rows, &rng);
  rows[2].ja[1] = rows[2].ja[2] = rows[2].jb[1] = rows[2].jb[2] = 0;
  S2Joint numbers =
      soft_weld((S2JointWeights){.linear = 0.01, .angular = 0}, (S2JointWeights){.linear = 5});
  S2Joint matrix = soft_weld((S2JointWeights){.size = 3, .matrix = {0.01, 0, 0, 0, 0.01}},
                             (S2JointWeights){.size = 3, .matrix = {5, 0, 0, 0, 5}});
  s2_joint_soften(&numbers, rows, 3, implicit(0.01), soft);
  s2_joint_soften(&matrix, rows, 3, implicit(0.01), same);
  assert_true(same[0].rigid && same[0].compliance == 0 && same[0].bias == 0); // rigid ones first
  near(same[0].row.value, rows[2].value, 0);
  for (int r = 0; r < 2; r++) {
    assert_false(same[1 + r].rigid);
    near(same[1 + r].compliance, soft[r].compliance, 1e-12);
    near(same[1 + r].bias, soft[r].bias, 1e-12);
    near(soft[r].compliance, 1 / (0.01 * (0.01 * 100 + 5)), 1e-12); // (h (h k + d))^-1
  }
  assert_true(soft[2].rigid && soft[2].bias == 0);
  for (double c = 1e-3; c > 1e-30; c /= 10) {
    S2Joint stiff = soft_weld((S2JointWeights){.linear = c}, (S2JointWeights){.linear = 5});
    s2_joint_soften(&stiff, rows, 3, implicit(0.01), soft);
    near(soft[0].compliance, 0, c / 1e-4 * 1.001);
    near(soft[0].bias, rows[0].value / 0.01, 1e3 * c / 0.01 * 100);
  }
}

// s2_joint_turns_too_fast tests cheap bounds before it computes eigenvalues. None of these bounds
// may be below the largest eigenvalue. Otherwise it would return 0 for a `least` just below the
// value that it returns for a tiny one.
static void bounds_of_turning_hide_nothing(void **state) {
  (void)state;
  S2Rng rng = s2_rng_seeded(17);
  static const S2JointType types[] = {S2_HINGE, S2_SLIDER, S2_DISTANCE, S2_WELD};
  int found = 0;
  for (int i = 0; i < 8000; i++) {
    S2World *world = world_new(0, 0.01);
    S2BodyId a = random_body(world, &rng), b = random_body(world, &rng);
    S2JointDef def = random_def(&rng, types[i % 4], a, b);
    if (i % 8 != 1) { // every second slider has a spring
      def.stiffness = NAN;
    }
    S2JointId id;
    must(s2_joint_create(world, &def, &id));
    const S2Joint *joint = &world->joints.at[id.index - 1];
    // Move the bodies apart, except for every fourth world.
    for (int c = 0; c < 6 && i % 16 >= 4; c++) {
      world->q.at[c] += uniform(&rng, -1, 1);
    }
    double impulse[S2_JOINT_ROWS] = {0}, mass[6];
    for (int r = 0; r < 3; r++) {
      impulse[r] = uniform(&rng, -1, 1) * pow(10, uniform(&rng, -2, 1));
    }
    impulse[s2_rng_uniform(&rng) < 0.5 ? S2_JOINT_LO : S2_JOINT_HI] = uniform(&rng, 0, 1);
    for (int c = 0; c < 6; c++) {
      mass[c] = c % 3 == 2 ? mass[c - 1] : pow(10, uniform(&rng, -2, 1));
    }
    S2Step step = {.world = world, .mass = mass};
    S2JointAt at = {world, joint, world->q.at, 0, NULL};
    S2JointLoad load = {impulse, 0.01};
    double most = s2_joint_turns_too_fast(&step, &at, &load, 0.01, 1e-9);
    if (most > 0) {
      found += 1;
      near(s2_joint_turns_too_fast(&step, &at, &load, 0.01, most * (1 - 1e-7)), most, 1e-9 * most);
    }
    s2_world_destroy(world);
  }
  assert_true(found > 4000);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(derivatives_are_exact),
      cmocka_unit_test(soft_rows_are_implicit_euler),
      cmocka_unit_test(soft_rows_pass_through_rigid_ones),
      cmocka_unit_test(bounds_of_turning_hide_nothing),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
