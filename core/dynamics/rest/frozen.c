// Steps without the islands at rest.
//
// If nothing has changed at the bodies of all known islands at rest, a step leaves these islands
// out. They are called frozen. The search finds no pairs of frozen bodies with each other or with
// static bodies, S2Step.touches does not contain their touches, and the commit leaves their
// touches, impulses and couples where they are in the lists of the world. The work of a step is
// then proportional to the number of awake touches, except for a few passes over the numbers of
// bodies.
//
// If an awake body meets a frozen body, the step thaws: it puts the touches of frozen islands back
// into its list, and continues as a step that keeps islands (rest.c). Both kinds of steps have the
// same result.
#include "dynamics/rest/rest.h"
#include "dynamics/step/touch.h"

#include <string.h>

static bool is_static(const S2World *world, int32_t slot) {
  return world->bodies.at[slot].type == S2_STATIC;
}

// Returns true if a pair belongs to the frozen part of the world while all islands are frozen.
static bool pair_rests(const S2World *world, int32_t a, int32_t b) {
  const bool *rests = world->rest.body.at;
  return (rests[a] || is_static(world, a)) && (rests[b] || is_static(world, b));
}

// ---- Lists of the awake part ------------------------------------------------------------------

static void list_awake(S2AwakeList *list, int32_t index) {
  list->at[list->count++] = index;
}

// Lists the awake touches and sums up the frozen ones. Returns false if a touch of resting bodies
// must be searched again.
static bool list_awake_touches(S2World *world) {
  S2Rest *rest = &world->rest;
  rest->penetration = 0;
  rest->awake_touches.count = 0;
  for (int i = 0; i < world->touches.count; i++) {
    const S2Touch *touch = &world->touches.at[i];
    if (!pair_rests(world, touch->body_a, touch->body_b)) {
      list_awake(&rest->awake_touches, i);
      continue;
    }
    if ((rest->touch.at[i] & S2_TOUCH_KEPT) == 0) {
      return false;
    }
    bool rigid = s2_touch_solid(touch) && !s2_touch_soft(touch);
    for (int k = 0; k < touch->count && rigid; k++) {
      // Do not use fmax, as in s2_step_penetration.
      double depth = -touch->points[k].at.gap;
      rest->penetration = depth > rest->penetration ? depth : rest->penetration;
    }
  }
  return true;
}

// Returns false if there is an impulse between resting bodies that no longer belongs to a touch.
static bool list_awake_acted(S2World *world) {
  S2Rest *rest = &world->rest;
  rest->awake_acted.count = 0;
  int t = 0;
  for (int i = 0; i < world->acted.count; i++) {
    const S2Acted *acted = &world->acted.at[i];
    if (!pair_rests(world, acted->body_a, acted->body_b)) {
      list_awake(&rest->awake_acted, i);
      continue;
    }
    while (t < world->touches.count && s2_acted_compare(acted, &world->touches.at[t]) > 0) {
      t += 1;
    }
    if (t == world->touches.count || s2_acted_compare(acted, &world->touches.at[t]) != 0) {
      return false;
    }
  }
  return true;
}

static void list_awake_couples(S2World *world) {
  S2Rest *rest = &world->rest;
  rest->awake_couples.count = 0;
  for (int i = 0; i < world->couples.count; i++) {
    if (!pair_rests(world, world->couples.at[i].lo, world->couples.at[i].hi)) {
      list_awake(&rest->awake_couples, i);
    }
  }
}

bool s2_rest_couple(const S2World *world, const S2Couple *couple) {
  return world->rest.islands.count > 0 && pair_rests(world, couple->lo, couple->hi);
}

void s2_rest_reserve(const S2Step *step) {
  S2World *world = step->world;
  S2Rest *rest = &world->rest;
  // The step cannot have more entries than this.
  int acted = world->acted.count + world->acting.count + world->log.count;
  int touches = step->touch_count + (step->frozen == NULL ? 0 : step->frozen_touches);
  int couples = world->couples.count + acted + step->touch_count;
  s2_array_reserve(rest->awake_touches, touches);
  s2_array_reserve(rest->awake_acted, acted);
  s2_array_reserve(rest->awake_couples, couples);
  s2_array_reserve(rest->growth, acted);
  if (step->frozen != NULL) {
    s2_array_reserve(world->touches, touches);
    s2_array_reserve(rest->touch, touches);
    s2_array_reserve(world->acted, acted);
    s2_array_reserve(world->couples, couples);
  }
}

void s2_rest_list(S2World *world) {
  S2Rest *rest = &world->rest;
  rest->listed = list_awake_touches(world) && list_awake_acted(world);
  list_awake_couples(world);
}

// ---- A step begins ----------------------------------------------------------------------------

// Restricts the broad phase to pairs with an awake body. Kinematic bodies are awake.
static void set_dozing(S2World *world, bool dozing) {
  S2Rest *rest = &world->rest;
  for (int i = 0; i < world->pieces.count && dozing != rest->dozing; i++) {
    int32_t slot = world->pieces.at[i].body;
    S2ProxySearch search = !dozing || slot == S2_NONE || is_static(world, slot)
                               ? S2_SEARCH_IF_ACTIVE
                           : rest->body.at[slot] ? S2_SEARCH_NEVER
                                                 : S2_SEARCH_ALWAYS;
    s2_broadphase_restrict(world->broadphase, i, search);
  }
  rest->dozing = dozing;
}

void s2_rest_freeze(S2Step *step) {
  S2World *world = step->world;
  const S2Rest *rest = &world->rest;
  step->frozen = NULL;
  if (step->still == NULL || !rest->listed || world->audit != NULL) {
    return;
  }
  for (int i = 0; i < world->order.count; i++) {
    int32_t slot = world->order.at[i];
    if (rest->body.at[slot] && !step->still[slot]) {
      return;
    }
  }
  step->frozen = rest->body.at;
  step->frozen_touches = world->touches.count - rest->awake_touches.count;
}

void s2_rest_prepare_search(S2Step *step) {
  set_dozing(step->world, step->frozen != NULL);
}

// ---- Thawing ----------------------------------------------------------------------------------

void s2_rest_thaw(S2Step *step) {
  if (step->frozen == NULL) {
    return;
  }
  const S2World *world = step->world;
  const S2AwakeList *awake = &world->rest.awake_touches;
  int count = step->touch_count + step->frozen_touches;
  S2Touch *touches = S2_TAKE(step->arena, S2Touch, count);
  unsigned char *kept = S2_TAKE(step->arena, unsigned char, count);
  // Merge the frozen touches of the world with the touches of the step.
  int n = 0, k = 0;
  for (int i = 0, a = 0; i <= world->touches.count; i++) {
    if (a < awake->count && awake->at[a] == i) { // the step has searched this pair again
      a += 1;
      continue;
    }
    const S2Touch *frozen = i < world->touches.count ? &world->touches.at[i] : NULL;
    for (; k < step->touch_count && (frozen == NULL || s2_touch_before(&step->touches[k], frozen));
         k++) {
      touches[n] = step->touches[k];
      kept[n++] = step->kept[k];
    }
    if (frozen != NULL) {
      touches[n] = *frozen;
      kept[n++] = world->rest.touch.at[i];
    }
  }
  step->touches = touches;
  step->kept = kept;
  step->touch_count = n;
  step->frozen = NULL;
  step->frozen_touches = 0;
  set_dozing(step->world, false); // the commit may find other islands at rest
}

void s2_rest_thaw_joined(S2Step *step) {
  bool joins = false;
  for (int i = 0; i < step->touch_count && step->frozen != NULL && !joins; i++) {
    const S2Touch *touch = &step->touches[i];
    joins = (step->frozen[touch->body_a] || step->frozen[touch->body_b]) &&
            (s2_touch_solid(touch) || touch->hidden);
  }
  if (joins) {
    s2_rest_thaw(step);
  }
}

// ---- A step without the frozen islands --------------------------------------------------------

void s2_rest_hold(const S2Step *step) {
  for (int slot = 0; slot < step->world->bodies.count && step->frozen != NULL; slot++) {
    for (int c = 3 * slot; c < 3 * slot + 3 && step->frozen[slot]; c++) {
      step->v1[c] = step->v2[c] = step->carry[c] = 0;
      step->q1[c] = step->q0[c];
    }
  }
}

// ---- Commit -----------------------------------------------------------------------------------

// A sorted list of the world, in which a step replaces the awake items.
typedef struct Splice {
  unsigned char *list;
  size_t item;        // bytes
  int count;          // number of items before
  const int32_t *old; // ascending indices of the awake items
  int olds;
  const unsigned char *items; // the new items
  const int32_t *place;       // their ascending indices in the new list
  int news;
} Splice;

static void move_items(const Splice *splice, int to, int from, int count) {
  if (count > 0 && to != from) {
    memmove(splice->list + (size_t)to * splice->item, splice->list + (size_t)from * splice->item,
            (size_t)count * splice->item);
  }
}

// Returns true if the new items are not at the indices of the old ones.
static bool splice_moves(const Splice *splice) {
  size_t bytes = sizeof(int32_t) * (size_t)splice->olds;
  return splice->olds != splice->news ||
         (splice->olds > 0 && memcmp(splice->old, splice->place, bytes) != 0);
}

static void splice_items(const Splice *splice) {
  if (splice_moves(splice)) {
    // Close the gaps of the old items.
    int to = splice->olds > 0 ? splice->old[0] : splice->count;
    for (int i = 0; i < splice->olds; i++) {
      int from = splice->old[i] + 1,
          end = i + 1 < splice->olds ? splice->old[i + 1] : splice->count;
      move_items(splice, to, from, end - from);
      to += end - from;
    }
    // Open gaps for the new items, from the end of the list.
    int end = splice->count - splice->olds;
    for (int i = splice->news - 1; i >= 0; i--) {
      int from = splice->place[i] - i; // the number of frozen items before the new item
      move_items(splice, splice->place[i] + 1, from, end - from);
      end = from;
    }
  }
  for (int i = 0; i < splice->news; i++) {
    memcpy(splice->list + (size_t)splice->place[i] * splice->item,
           splice->items + (size_t)i * splice->item, splice->item);
  }
}

static void keep_places(S2AwakeList *awake, const int32_t *place, int count) {
  if (count > 0) {
    memcpy(awake->at, place, sizeof(int32_t) * (size_t)count);
  }
  awake->count = count;
}

// Returns the number of awake items before the index `end`.
static int awake_before(const S2AwakeList *awake, int end) {
  int lo = 0, hi = awake->count;
  while (lo < hi) {
    int middle = (lo + hi) / 2;
    bool less = awake->at[middle] < end;
    lo = less ? middle + 1 : lo;
    hi = less ? hi : middle;
  }
  return lo;
}

// Computes the index of each new item. `before` returns true if item i of the world precedes the
// new item k. The old awake items are in the list, too, so the search may compare with them.
typedef bool ItemBefore(const S2World *world, int i, const void *items, int k);

static int32_t *places_of(const S2Step *step, int count, const S2AwakeList *awake,
                          const void *items, int news, ItemBefore *before) {
  int32_t *place = S2_TAKE(step->arena, int32_t, news);
  for (int k = 0; k < news; k++) {
    int lo = 0, hi = count;
    while (lo < hi) {
      int middle = (lo + hi) / 2;
      bool less = before(step->world, middle, items, k);
      lo = less ? middle + 1 : lo;
      hi = less ? hi : middle;
    }
    place[k] = lo - awake_before(awake, lo) + k;
  }
  return place;
}

static bool touch_before(const S2World *world, int i, const void *items, int k) {
  return s2_touch_before(&world->touches.at[i], (const S2Touch *)items + k);
}

void s2_rest_put_touches(const S2Step *step) {
  S2World *world = step->world;
  S2Rest *rest = &world->rest;
  S2AwakeList *awake = &rest->awake_touches;
  int count = world->touches.count, news = step->touch_count;
  int32_t *place = places_of(step, count, awake, step->touches, news, touch_before);
  splice_items(&(Splice){(unsigned char *)world->touches.at, sizeof(S2Touch), count, awake->at,
                         awake->count, (unsigned char *)step->touches, place, news});
  unsigned char *joins = S2_TAKE(step->arena, unsigned char, news);
  for (int i = 0; i < news; i++) {
    joins[i] = step->kept[i] & S2_TOUCH_JOINS;
  }
  splice_items(&(Splice){rest->touch.at, 1, count, awake->at, awake->count, joins, place, news});
  world->touches.count = count - awake->count + news;
  keep_places(awake, place, news);
}

static bool acted_before(const S2World *world, int i, const void *items, int k) {
  const S2Acted *a = &world->acted.at[i], *b = (const S2Acted *)items + k;
  return a->shape_a != b->shape_a ? a->shape_a < b->shape_a : a->shape_b < b->shape_b;
}

void s2_rest_put_acted(const S2Step *step) {
  S2World *world = step->world;
  S2AwakeList *awake = &world->rest.awake_acted;
  int count = world->acted.count, news = world->acting.count;
  int32_t *place = places_of(step, count, awake, world->acting.at, news, acted_before);
  splice_items(&(Splice){(unsigned char *)world->acted.at, sizeof(S2Acted), count, awake->at,
                         awake->count, (unsigned char *)world->acting.at, place, news});
  world->acted.count = count - awake->count + news;
  world->acting.count = 0;
  keep_places(awake, place, news);
}

static bool couple_before(const S2World *world, int i, const void *items, int k) {
  const S2Couple *a = &world->couples.at[i], *b = (const S2Couple *)items + k;
  return a->lo != b->lo   ? a->lo < b->lo
         : a->hi != b->hi ? a->hi < b->hi
                          : (int)a->sensor < (int)b->sensor;
}

void s2_rest_put_couples(const S2Step *step, const S2Couple *couples, int news) {
  S2World *world = step->world;
  S2Rest *rest = &world->rest;
  S2AwakeList *awake = &rest->awake_couples;
  int count = world->couples.count;
  int32_t *place = places_of(step, count, awake, couples, news, couple_before);
  Splice splice = {(unsigned char *)world->couples.at,
                   sizeof(S2Couple),
                   count,
                   awake->at,
                   awake->count,
                   (const unsigned char *)couples,
                   place,
                   news};
  splice_items(&splice);
  // Follow the frozen couples to their new indices.
  int old = 0, now = 0;
  for (int i = 0; i < rest->growth.count && splice_moves(&splice); i++) {
    S2RestGrowth *growth = &rest->growth.at[i];
    while (old < awake->count && awake->at[old] < growth->couple) {
      old += 1;
    }
    int rank = growth->couple - old; // the number of frozen couples before it
    while (now < news && place[now] - now <= rank) {
      now += 1;
    }
    growth->couple = rank + now;
  }
  world->couples.count = count - awake->count + news;
  keep_places(awake, place, news);
}
