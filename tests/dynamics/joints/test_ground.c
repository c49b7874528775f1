// Ground friction of many bodies at once: the force lies in its disc and opposes the motion.
#include "worlds.h"

enum { MOST = 24, CLUSTERS = S2_FEWER(60, 20) };

typedef struct Cluster {
  S2World *world;
  S2BodyId body[MOST];
  S2JointId friction[MOST];
  double bound[MOST]; // N
  int count;
} Cluster;

static Cluster cluster_new(S2Solver solver, S2Stepping stepping, double dt) {
  S2WorldDef def = fixed_def();
  def.gravity = s2_vec2(0, 0);
  def.dt = dt;
  def.solver = solver;
  def.stepping = stepping;
  Cluster cluster = {0};
  must(s2_world_create(&def, &cluster.world));
  return cluster;
}

static void add_puck(Cluster *cluster, S2BodyDef def, double radius, double force) {
  int i = cluster->count++;
  S2JointDef joint = s2_joint_def(S2_GROUND_FRICTION);
  cluster->body[i] = add_disc(cluster->world, def, radius);
  joint.a = cluster->body[i];
  joint.max_force = cluster->bound[i] = force;
  joint.max_torque = 0.1 * force * radius;
  must(s2_joint_create(cluster->world, &joint, &cluster->friction[i]));
}

// The largest force over its bound, and for sliding bodies the largest part of the bound that does
// not oppose the motion.
static void measure(const Cluster *cluster, double *beyond, double *askew) {
  for (int i = 0; i < cluster->count; i++) {
    S2JointInfo info;
    double v[3];
    must(s2_joint_info(cluster->world, cluster->friction[i], &info));
    must(s2_body_v(cluster->world, cluster->body[i], v));
    double speed = hypot(v[1], v[2]), bound = cluster->bound[i];
    *beyond = fmax(*beyond, hypot(info.force.x, info.force.y) / bound - 1);
    if (speed > 1e-4) {
      double across = (info.force.x * v[2] - info.force.y * v[1]) / speed;
      *askew = fmax(*askew, fabs(across) / bound);
    }
  }
}

// Later impacts in a step turn velocities after the friction has acted: such steps are not compared
// by direction.
static void run(Cluster *cluster, int steps, double *beyond, double *askew) {
  const S2WorldStats *stats = s2_world_stats(cluster->world);
  for (int i = 0; i < steps; i++) {
    uint64_t impacts = stats->second_solves;
    double turned = 0;
    must(s2_world_step(cluster->world));
    measure(cluster, beyond, &turned);
    if (stats->second_solves == impacts && stats->bisections == 0) {
      *askew = fmax(*askew, turned);
    }
  }
  assert_int_equal(stats->unsolved_solves, 0);
}

// Four discs in a row, hit at once by a fifth, head on and off the line.
static void a_row_that_is_hit(void **state) {
  (void)state;
  const S2Stepping steppings[2] = {S2_SPECULATIVE, S2_BISECT};
  int unsettled = 0; // after all passes: within the bound, but not along the momentum
  for (int i = 0; i < CLUSTERS; i++) {
    Cluster cluster = cluster_new(S2_SOLVER_AUTO, steppings[i % 2], i % 3 == 0 ? 0.02 : 1.0 / 240);
    double beyond = -1, askew = 0, aside = 0.02 * (i / 6);
    for (int k = 0; k < 4; k++) {
      S2BodyDef def = at(0.2 * k, 0.003 * k * (i % 5));
      def.mass = 0.3;
      def.restitution = 0.2 * (i % 4);
      add_puck(&cluster, def, 0.1, 5);
    }
    S2BodyDef def = at(-0.5, aside);
    def.velocity = s2_vec2(1 + 0.2 * i, 0);
    def.mass = 0.3;
    add_puck(&cluster, def, 0.1, 5);
    run(&cluster, 200, &beyond, &askew);
    assert_true(beyond <= 1e-6);
    unsettled += askew > 1e-5 && i % 2 == 0;
    s2_world_destroy(cluster.world);
  }
  assert_true(unsettled <= 1);
}

static double draw(S2Rng *rng, double lo, double hi) {
  return lo + (hi - lo) * s2_rng_uniform(rng);
}

static void random_clusters(void **state) {
  (void)state;
  double beyond = -1, askew = 0;
  S2Rng rng = s2_rng_seeded(7);
  for (int i = 0; i < CLUSTERS; i++) {
    Cluster cluster = cluster_new(S2_SOLVER_AUTO, i % 4 == 3 ? S2_BISECT : S2_SPECULATIVE, 0.01);
    int side = 2 + i % 3;
    for (int k = 0; k < side * side; k++) {
      double x = 0.201 * (k % side), y = 0.201 * (k / side);
      S2BodyDef def = at(x, y);
      def.mass = draw(&rng, 0.1, 3);
      def.restitution = i % 2 == 0 ? 0 : 0.5;
      def.friction = draw(&rng, 0, 0.8);
      add_puck(&cluster, def, 0.1, draw(&rng, 0.5, 10));
    }
    for (int k = 0; k < 2; k++) {
      double angle = draw(&rng, 0, 6.283), middle = 0.1 * (side - 1);
      S2BodyDef def = at(middle + 1.2 * cos(angle + k * 3), middle + 1.2 * sin(angle + k * 3));
      double speed = draw(&rng, 1, 8);
      def.mass = 1;
      def.velocity = s2_vec2(-speed * cos(angle + k * 3), -speed * sin(angle + k * 3));
      add_puck(&cluster, def, 0.1, 2);
    }
    run(&cluster, 150, &beyond, &askew);
    s2_world_destroy(cluster.world);
  }
  (void)askew;
  assert_true(beyond <= 1e-6);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_row_that_is_hit),
      cmocka_unit_test(random_clusters),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
