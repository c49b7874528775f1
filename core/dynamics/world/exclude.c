// Pairs of bodies that never touch, either by the user's request or because a joint connects them.
#include "dynamics/world/world.h"

#include <string.h>

// Returns the index of the first entry that is not less than (body, other).
static int excluded_find(const S2World *world, int32_t body, int32_t other) {
  int first = 0, last = world->excluded.count;
  while (first < last) {
    int middle = first + (last - first) / 2;
    const S2SlotPair *pair = &world->excluded.at[middle];
    if (pair->body < body || (pair->body == body && pair->other < other)) {
      first = middle + 1;
    } else {
      last = middle;
    }
  }
  return first;
}

static bool excluded_is(const S2World *world, int i, int32_t body, int32_t other) {
  return i < world->excluded.count && world->excluded.at[i].body == body &&
         world->excluded.at[i].other == other;
}

bool s2_world_excluded(const S2World *world, int32_t body_a, int32_t body_b) {
  return world->excluded.count > 0 &&
         excluded_is(world, excluded_find(world, body_a, body_b), body_a, body_b);
}

static void excluded_insert(S2World *world, int32_t body, int32_t other, bool by_user) {
  int i = excluded_find(world, body, other);
  s2_line_insert(world->excluded, i);
  S2SlotPair *pair = &world->excluded.at[i];
  memset(pair, 0, sizeof *pair); // images contain the padding, so it must be zero
  pair->body = body;
  pair->other = other;
  pair->by_user = by_user;
  s2_world_changed(world);
}

// Removes one entry. Each reason has a separate entry, so two joints between the same bodies have
// two entries.
static void excluded_erase(S2World *world, int32_t body, int32_t other, bool by_user) {
  for (int i = excluded_find(world, body, other); excluded_is(world, i, body, other); i++) {
    if (world->excluded.at[i].by_user == by_user) {
      s2_line_remove(world->excluded, i);
      s2_world_changed(world);
      return;
    }
  }
}

void s2_world_exclude(S2World *world, int32_t body_a, int32_t body_b, bool by_user) {
  excluded_insert(world, body_a, body_b, by_user);
  excluded_insert(world, body_b, body_a, by_user);
}

void s2_world_include(S2World *world, int32_t body_a, int32_t body_b, bool by_user) {
  excluded_erase(world, body_a, body_b, by_user);
  excluded_erase(world, body_b, body_a, by_user);
}

void s2_world_include_all(S2World *world, int32_t body) {
  for (int i = excluded_find(world, body, 0);
       i < world->excluded.count && world->excluded.at[i].body == body;
       i = excluded_find(world, body, 0)) {
    S2SlotPair pair = world->excluded.at[i];
    s2_world_include(world, body, pair.other, pair.by_user);
  }
}
