// Norms, costs and bounds; threads that share items.
#include "worlds.h"

#include "base/threads/workers.h"
#include "batch/judge.h"

#include <stdatomic.h>

static void test_norms_are_what_the_header_says(void **state) {
  (void)state;
  const double r[2] = {3, -4};
  double slope[2];
  near(s2_norm(S2_NORM_LINEAR, 0, 2, r, slope), -1, 0);
  near(s2_norm(S2_NORM_QUADRATIC, 0, 2, r, slope), 12.5, 0);
  near(s2_norm(S2_NORM_L2, 12, 2, r, slope), 13 - 12, 1e-15);
  near(slope[1], -4.0 / 13, 1e-15);
  near(s2_norm(S2_NORM_SMOOTH_ABS, 4, 1, r, slope), 1, 1e-15);
  near(slope[0], 0.6, 1e-15);
  near(s2_norm(S2_NORM_HUBER, 3.5, 2, r, slope), 4.5 + 3.5 * (4 - 1.75), 1e-15);
  near(slope[0], 3, 0);
  near(slope[1], -3.5, 0);
  near(s2_norm(S2_NORM_POWER, 3, 2, r, slope), 27 + 64, 1e-13);
  near(slope[1], -48, 1e-13);
}

static void test_slopes_are_those_of_differences(void **state) {
  (void)state;
  const double h = 1e-5;
  for (int n = 0; n < S2_NORM_COUNT; n++) {
    double p = n == S2_NORM_POWER ? 2.5 : 0.3;
    double r[3] = {0.2, -0.7, 1.1}, slope[3];
    s2_norm((S2Norm)n, p, 3, r, slope);
    for (int i = 0; i < 3; i++) {
      double was = r[i];
      r[i] = was + h;
      double up = s2_norm((S2Norm)n, p, 3, r, NULL);
      r[i] = was - h;
      double down = s2_norm((S2Norm)n, p, 3, r, NULL);
      r[i] = was;
      near(slope[i], (up - down) / (2 * h), 1e-8);
    }
  }
  // At 0 all slopes are finite.
  const double zero[2] = {0, 0};
  double slope[2];
  near(s2_norm(S2_NORM_L2, 0, 2, zero, slope), 0, 0);
  near(slope[0], 0, 0);
  near(s2_norm(S2_NORM_POWER, 1, 2, zero, slope), 0, 0);
  near(slope[1], 0, 0);
}

static S2CostTerm term_of(S2BodyId body, S2BodyField field) {
  return (S2CostTerm){.count = 1,
                      .of = {{.kind = S2_READ_BODY, .body = body, .field = (int)field}},
                      .weight = 1,
                      .norm = S2_NORM_QUADRATIC};
}

static void test_a_judge_sums_terms_and_knows_bounds(void **state) {
  (void)state;
  S2World *world = world_new(0, 0.01);
  S2BodyId body = add_disc(world, at(2, 3), 0.5);
  S2CostTerm terms[2] = {term_of(body, S2_BODY_X), term_of(body, S2_BODY_ANGLE)};
  terms[0].goal[0] = 1;
  terms[0].terminal = 10;
  terms[1].wrap = true;
  terms[1].goal[0] = 3;
  terms[1].weight = 2;
  S2Bound bound = {{.kind = S2_READ_BODY, .body = body, .field = S2_BODY_Y}, -INFINITY, 3};
  S2Judge *judge;
  must(s2_judge_create(world, 0, 2, terms, 1, &bound, &judge));
  must(s2_body_set(world, body, S2_BODY_ANGLE, -3)); // 0.28 from 3 on the shorter way
  double cost, off = 2 * 3.14159265358979323846 - 6;
  must(s2_judge_running(judge, world, NULL, &cost));
  near(cost, 0.5 + off * off, 1e-12);
  must(s2_judge_terminal(judge, world, NULL, &cost));
  near(cost, 5, 0);
  bool ended;
  must(s2_judge_ended(judge, world, NULL, &ended));
  assert_false(ended); // the bound itself is within
  must(s2_body_set(world, body, S2_BODY_Y, 3.001));
  must(s2_judge_ended(judge, world, NULL, &ended));
  assert_true(ended);
  must(s2_body_destroy(world, body));
  assert_int_equal(s2_judge_running(judge, world, NULL, &cost).code, S2_STALE);
  s2_judge_free(judge);
  // Without a judge the cost is 0 and no episode ends.
  must(s2_judge_running(NULL, world, NULL, &cost));
  near(cost, 0, 0);
  must(s2_judge_ended(NULL, world, NULL, &ended));
  assert_false(ended);
  s2_world_destroy(world);
}

static void expect(S2Status status, const char *message) {
  assert_int_equal(status.code, S2_INVALID);
  assert_string_equal(status.message, message);
}

static void test_terms_that_cannot_be(void **state) {
  (void)state;
  S2World *world = world_new(0, 0.01);
  S2BodyId body = add_disc(world, at(0, 0), 0.5);
  S2JointDef lock = joint_def(S2_LOCK, body, no_body);
  lock.lock_x = true;
  S2JointId joint;
  must(s2_joint_create(world, &lock, &joint));
  S2Judge *judge;
  S2CostTerm term = term_of(body, S2_BODY_X);
  term.weight = NAN;
  expect(s2_judge_create(world, 0, 1, &term, 0, NULL, &judge), "cost 1: weights have to be finite");
  term = term_of(body, S2_BODY_X);
  term.norm = S2_NORM_HUBER;
  expect(s2_judge_create(world, 0, 1, &term, 0, NULL, &judge),
         "cost 1: huber: a number above 0 expected, got 0");
  term.norm = S2_NORM_POWER;
  term.p = 0.5;
  expect(s2_judge_create(world, 0, 1, &term, 0, NULL, &judge),
         "cost 1: power: a number not below 1 expected, got 0.5");
  term = term_of(body, S2_BODY_X);
  term.count = S2_TERM_MOST + 1;
  expect(s2_judge_create(world, 0, 1, &term, 0, NULL, &judge),
         "cost 1: 1 to 16 numbers expected, got 17");
  term = term_of(body, S2_BODY_X);
  term.of[0] = (S2Reading){.kind = S2_READ_CONTROL, .field = 2};
  expect(s2_judge_create(world, 2, 1, &term, 0, NULL, &judge),
         "cost 1: control 3: there are only 2");
  term.of[0] = (S2Reading){.kind = S2_READ_JOINT, .joint = joint, .field = S2_JOINT_TRANSLATION};
  expect(s2_judge_create(world, 2, 1, &term, 0, NULL, &judge),
         "cost 1: a lock has no field 'translation'");
  S2Bound bound = {{.kind = S2_READ_BODY, .body = body, .field = S2_BODY_X}, 2, 1};
  expect(s2_judge_create(world, 0, 0, NULL, 1, &bound, &judge),
         "bound 1: lo <= hi expected, got 2 and 1");
  must(s2_body_destroy(world, body));
  term = term_of(body, S2_BODY_X);
  assert_int_equal(s2_judge_create(world, 0, 1, &term, 0, NULL, &judge).code, S2_STALE);
  s2_world_destroy(world);
}

enum { ITEMS = 1000 };

typedef struct Shares {
  atomic_int done[ITEMS];
  atomic_int worst; // worker
} Shares;

static void share(void *user, int worker, int item) {
  Shares *shares = user;
  atomic_fetch_add(&shares->done[item], 1);
  int worst = atomic_load(&shares->worst);
  while (worker > worst && !atomic_compare_exchange_weak(&shares->worst, &worst, worker)) {
  }
}

static void test_each_item_is_done_once(void **state) {
  (void)state;
  static Shares shares;
  for (int threads = 0; threads <= 4; threads++) {
    S2Workers *workers = s2_workers_new(threads);
    int count = s2_workers_count(workers);
    assert_in_range(count, 1, threads < 1 ? 1 : threads);
    for (int run = 0; run < 50; run++) {
      int items = run % 3 == 0 ? run : ITEMS - run;
      for (int i = 0; i < ITEMS; i++) {
        atomic_store(&shares.done[i], 0);
      }
      s2_workers_run(workers, items, share, &shares);
      for (int i = 0; i < ITEMS; i++) {
        assert_int_equal(atomic_load(&shares.done[i]), i < items);
      }
    }
    assert_in_range(atomic_load(&shares.worst), 0, 3);
    s2_workers_free(workers);
  }
  s2_workers_free(NULL);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_norms_are_what_the_header_says),
      cmocka_unit_test(test_slopes_are_those_of_differences),
      cmocka_unit_test(test_a_judge_sums_terms_and_knows_bounds),
      cmocka_unit_test(test_terms_that_cannot_be),
      cmocka_unit_test(test_each_item_is_done_once),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
