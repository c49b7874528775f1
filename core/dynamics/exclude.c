// Pairs of bodies that never touch: by the user's word, or because a joint holds them together.
#include "dynamics/world.h"

#include <string.h>

// First entry not below (lo, hi).
static int find(const S2World *world, int32_t lo, int32_t hi) {
  int first = 0, last = world->excluded.count;
  while (first < last) {
    int middle = (first + last) / 2;
    const S2SlotPair *pair = &world->excluded.at[middle];
    if (pair->lo < lo || (pair->lo == lo && pair->hi < hi)) {
      first = middle + 1;
    } else {
      last = middle;
    }
  }
  return first;
}

static bool is(const S2World *world, int i, int32_t lo, int32_t hi) {
  return i < world->excluded.count && world->excluded.at[i].lo == lo &&
         world->excluded.at[i].hi == hi;
}

bool s2_world_excluded(const S2World *world, int32_t body_a, int32_t body_b) {
  if (world->excluded.count == 0) {
    return false;
  }
  int32_t lo = body_a < body_b ? body_a : body_b, hi = body_a < body_b ? body_b : body_a;
  return is(world, find(world, lo, hi), lo, hi);
}

void s2_world_exclude(S2World *world, int32_t body_a, int32_t body_b, bool by_user) {
  int32_t lo = body_a < body_b ? body_a : body_b, hi = body_a < body_b ? body_b : body_a;
  int i = find(world, lo, hi);
  (void)s2_array_push(world->excluded);
  S2SlotPair *at = world->excluded.at + i;
  memmove(at + 1, at, sizeof *at * (size_t)(world->excluded.count - 1 - i));
  *at = (S2SlotPair){lo, hi, by_user};
}

// One entry a reason: two joints between the same bodies leave two.
void s2_world_include(S2World *world, int32_t body_a, int32_t body_b, bool by_user) {
  int32_t lo = body_a < body_b ? body_a : body_b, hi = body_a < body_b ? body_b : body_a;
  for (int i = find(world, lo, hi); is(world, i, lo, hi); i++) {
    S2SlotPair *at = world->excluded.at + i;
    if (at->by_user == by_user) {
      memmove(at, at + 1, sizeof *at * (size_t)(world->excluded.count - 1 - i));
      world->excluded.count -= 1;
      return;
    }
  }
}

void s2_world_include_all(S2World *world, int32_t body) {
  int kept = 0;
  for (int i = 0; i < world->excluded.count; i++) {
    S2SlotPair pair = world->excluded.at[i];
    if (pair.lo != body && pair.hi != body) {
      world->excluded.at[kept++] = pair;
    }
  }
  world->excluded.count = kept;
}
