#include "base/memory.h"
#include "base/rng.h"
#include "collide/collide.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { PROXIES = 300 };

static double random_in(S2Rng *rng, double lo, double hi) {
  return lo + (hi - lo) * s2_rng_uniform(rng);
}

static S2Box random_box(S2Rng *rng, double spread) {
  // Boxes on a coarse grid touch and coincide.
  S2Vec2 lo = {floor(random_in(rng, 0, spread)), floor(random_in(rng, 0, spread))};
  double width = (double)s2_rng_integer(rng, 0, 3);
  return (S2Box){lo, s2_add(lo, s2_vec2(width, (double)s2_rng_integer(rng, 0, 3)))};
}

static int compare(S2Broadphase *broadphase, S2Arena *arena) {
  S2Pair *pairs, *brute;
  int count = s2_broadphase_pairs(broadphase, arena, &pairs);
  assert_int_equal(count, s2_broadphase_pairs_brute(broadphase, arena, &brute));
  for (int i = 0; i < count; i++) {
    assert_int_equal(pairs[i].a, brute[i].a);
    assert_int_equal(pairs[i].b, brute[i].b);
  }
  return count;
}

static void random_change(S2Broadphase *broadphase, S2Rng *rng, int count) {
  for (int i = 0; i < count; i++) {
    int32_t proxy = (int32_t)s2_rng_integer(rng, 0, PROXIES - 1);
    if (s2_rng_integer(rng, 0, 9) == 0) {
      s2_broadphase_remove(broadphase, proxy);
    } else {
      s2_broadphase_set(broadphase, proxy, random_box(rng, 40), s2_rng_integer(rng, 0, 2) > 0);
    }
  }
}

static void test_pairs(void **state) {
  (void)state;
  S2Rng rng = s2_rng_seeded(21);
  S2Broadphase *broadphase = s2_broadphase_new();
  S2Arena arena;
  s2_arena_init(&arena);
  assert_int_equal(compare(broadphase, &arena), 0);
  int total = 0;
  for (int round = 0; round < 500; round++) {
    random_change(broadphase, &rng, (int)s2_rng_integer(&rng, 0, round < 250 ? 10 : 200));
    total += compare(broadphase, &arena);
    s2_arena_reset(&arena);
  }
  assert_true(total > 100000);
  for (int32_t proxy = 0; proxy < PROXIES; proxy++) {
    s2_broadphase_remove(broadphase, proxy);
  }
  assert_int_equal(compare(broadphase, &arena), 0);
  s2_arena_free(&arena);
  s2_broadphase_free(broadphase);
}

// Some proxies search although they are inactive, and some do not search although they are active.
// The pairs are the pairs of all proxies of which one is active and one searches.
static void test_restricted(void **state) {
  (void)state;
  S2Rng rng = s2_rng_seeded(24);
  S2Broadphase *broadphase = s2_broadphase_new();
  S2Arena arena;
  s2_arena_init(&arena);
  static S2Box boxes[PROXIES];
  static bool active[PROXIES], searches[PROXIES];
  int left_out = 0, total = 0;
  for (int round = 0; round < 100; round++) {
    for (int32_t proxy = 0; proxy < PROXIES; proxy++) {
      if (round > 0 && s2_rng_integer(&rng, 0, 9) > 0) {
        continue;
      }
      boxes[proxy] = random_box(&rng, 40);
      active[proxy] = s2_rng_integer(&rng, 0, 2) > 0;
      S2ProxySearch search = (S2ProxySearch)s2_rng_integer(&rng, 0, 2);
      searches[proxy] = search == S2_SEARCH_IF_ACTIVE ? active[proxy] : search == S2_SEARCH_ALWAYS;
      bool before = s2_rng_integer(&rng, 0, 1) > 0; // either call may come first
      if (before) {
        s2_broadphase_restrict(broadphase, proxy, search);
      }
      s2_broadphase_set(broadphase, proxy, boxes[proxy], active[proxy]);
      s2_broadphase_restrict(broadphase, proxy, search);
    }
    S2Pair *pairs;
    int count = s2_broadphase_pairs(broadphase, &arena, &pairs), found = 0;
    for (int32_t a = 0; a < PROXIES; a++) {
      for (int32_t b = a + 1; b < PROXIES; b++) {
        bool overlap = s2_box_overlap(boxes[a], boxes[b]) && (active[a] || active[b]);
        bool pair = overlap && (searches[a] || searches[b]);
        left_out += overlap && !pair;
        if (pair) {
          assert_true(found < count);
          assert_int_equal(pairs[found].a, a);
          assert_int_equal(pairs[found].b, b);
          found += 1;
        }
      }
    }
    assert_int_equal(count, found);
    total += count;
    s2_arena_reset(&arena);
  }
  assert_true(left_out > 1000 && total > 10000);
  s2_arena_free(&arena);
  s2_broadphase_free(broadphase);
}

typedef struct Visited {
  int32_t proxies[PROXIES];
  int count, most;
} Visited;

static bool visit(void *user, int32_t proxy) {
  Visited *visited = user;
  visited->proxies[visited->count++] = proxy;
  return visited->count < visited->most;
}

static void test_query(void **state) {
  (void)state;
  S2Rng rng = s2_rng_seeded(22);
  S2Broadphase *broadphase = s2_broadphase_new();
  S2Arena arena;
  s2_arena_init(&arena);
  static S2Box boxes[PROXIES];
  for (int32_t proxy = 0; proxy < PROXIES; proxy++) {
    boxes[proxy] = random_box(&rng, 40);
    // pairs with static boxes are found as well
    s2_broadphase_set(broadphase, proxy, boxes[proxy], false);
    if (proxy == PROXIES / 2) {
      compare(broadphase, &arena); // some are in the tree, some outside it
    }
  }
  for (int round = 0; round < 300; round++) {
    S2Box box = random_box(&rng, 40);
    Visited visited = {.most = round % 2 ? PROXIES + 1 : 3};
    s2_broadphase_query(broadphase, box, &arena, visit, &visited);
    int expected = 0;
    for (int32_t proxy = 0; proxy < PROXIES && expected < visited.most; proxy++) {
      if (s2_box_overlap(boxes[proxy], box)) {
        assert_true(expected < visited.count);
        assert_int_equal(visited.proxies[expected], proxy);
        expected += 1;
      }
    }
    assert_int_equal(visited.count, expected);
    s2_arena_reset(&arena);
  }
  s2_arena_free(&arena);
  s2_broadphase_free(broadphase);
}

static void test_image(void **state) {
  (void)state;
  S2Rng rng = s2_rng_seeded(23);
  S2Broadphase *broadphase = s2_broadphase_new();
  S2Broadphase *copy = s2_broadphase_new();
  S2Arena arena;
  s2_arena_init(&arena);
  random_change(copy, &rng, 500); // replaced by the read one
  for (int round = 0; round < 50; round++) {
    random_change(broadphase, &rng, 20);
    size_t size = s2_broadphase_image_size(broadphase);
    unsigned char *image = s2_arena_take(&arena, size);
    s2_broadphase_image_write(broadphase, image);
    s2_broadphase_image_read(copy, image, size);
    S2Pair *pairs, *copied;
    int count = s2_broadphase_pairs(broadphase, &arena, &pairs);
    assert_int_equal(s2_broadphase_pairs(copy, &arena, &copied), count);
    if (count > 0) {
      assert_memory_equal(pairs, copied, (size_t)count * sizeof *pairs);
    }
    assert_int_equal(s2_broadphase_image_size(copy), size);
    unsigned char *again = s2_arena_take(&arena, size);
    s2_broadphase_image_write(copy, again);
    assert_memory_equal(image, again, size);
    compare(copy, &arena);
    s2_arena_reset(&arena);
  }
  s2_arena_free(&arena);
  s2_broadphase_free(copy);
  s2_broadphase_free(broadphase);
}

static void test_odd_boxes(void **state) {
  (void)state;
  S2Broadphase *broadphase = s2_broadphase_new();
  S2Arena arena;
  s2_arena_init(&arena);
  S2Box all = {{-INFINITY, -INFINITY}, {INFINITY, INFINITY}};
  S2Box bad = {{NAN, 0}, {1, 1}};
  for (int32_t proxy = 0; proxy < 100; proxy++) {
    S2Box box = {{proxy, 0}, {proxy + 0.5, 1}};
    s2_broadphase_set(broadphase, proxy, proxy == 7 ? all : proxy == 8 ? bad : box, true);
  }
  assert_int_equal(compare(broadphase, &arena), 98); // the plane paired with every other box
  s2_arena_free(&arena);
  s2_broadphase_free(broadphase);
}

static void test_no_heap_in_steady_state(void **state) {
  (void)state;
  S2Broadphase *broadphase = s2_broadphase_new();
  S2Arena arena;
  s2_arena_init(&arena);
  uint64_t before = 0;
  for (int round = 0; round < 60; round++) {
    if (round == 10) {
      before = s2_memory_count();
    }
    // boxes mix, but the number of pairs is constant
    for (int32_t proxy = 0; proxy < PROXIES; proxy++) {
      double x = (proxy * 7 + round * 13 * (proxy % 5)) % PROXIES;
      s2_broadphase_set(broadphase, proxy, (S2Box){{x, 0}, {x + 0.5, 1}}, true);
    }
    S2Pair *pairs;
    s2_broadphase_pairs(broadphase, &arena, &pairs);
    s2_arena_reset(&arena);
  }
  assert_int_equal(s2_memory_count(), before);
  s2_arena_free(&arena);
  s2_broadphase_free(broadphase);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_pairs),     cmocka_unit_test(test_restricted),
      cmocka_unit_test(test_query),     cmocka_unit_test(test_image),
      cmocka_unit_test(test_odd_boxes), cmocka_unit_test(test_no_heap_in_steady_state),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
