// Worlds stepped by programs have the bits of the general path.
#include "programs.h"

enum { WORLDS = 150, STEPS = 200 };

// Trees, chains and loops at random, on ground that moves or not or on nothing, pushed by hand.
static void test_random_worlds(void **state) {
  (void)state;
  int by_program = 0, steps = 0;
  for (uint64_t seed = 1; seed <= WORLDS; seed++) {
    S2World *plain = recipe_world((Recipe){seed, seed}), *fast = recipe_world((Recipe){seed, seed});
    char where[64];
    snprintf(where, sizeof where, "world %d", (int)seed);
    s2_world_set_lanes(plain, 0);
    for (int i = 0; i < STEPS; i++) {
      recipe_push(plain, seed, i);
      recipe_push(fast, seed, i);
      must(s2_world_step(plain));
      s2_arena_reset(&fast->arena);
      must(s2_world_step(fast));
      by_program += fast->arena.used == 0; // what the general path works in
      steps += 1;
      assert_same_world(plain, fast, where);
    }
    assert_true(has_program(fast));
    assert_false(has_program(plain));
    s2_world_destroy(plain);
    s2_world_destroy(fast);
  }
  print_message("by programs: %d of %d\n", by_program, steps);
  assert_true(by_program > steps / 2);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_random_worlds),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
