// Creates the contact events of a step: two bodies are near, touch, separate or are far again.
// The events belong to bodies, not to shapes. For example, a disc that rolls over the segments of a
// chain is one contact while any segment is near. The same holds for a body with several pieces on
// the floor.
#include "dynamics/rest/rest.h"
#include "dynamics/step/commit.h"

#include <string.h>

// A pair of shapes that is near, or has had an impulse in the step so far.
typedef struct Found {
  int32_t lo, hi; // slots of the bodies, as in S2Couple
  bool sensor, near, touching;
  int32_t touch;        // S2_NONE if the search has not found the pair
  int32_t acted, count; // first entry in S2World.acted, and number of entries
} Found;

// The pairs of shapes of two bodies. `at` is NULL if there are none.
typedef struct Pairs {
  const Found *at;
  int count;
} Pairs;

static Found found_of(int32_t body_a, int32_t body_b) {
  return (Found){.lo = body_a < body_b ? body_a : body_b,
                 .hi = body_a < body_b ? body_b : body_a,
                 .touch = S2_NONE};
}

static int touch_nearest(const S2Touch *touch) {
  return touch->count == 2 && touch->points[1].at.gap < touch->points[0].at.gap;
}

static void look_at_gap(const S2Step *step, const S2Touch *touch, Found *found) {
  const S2World *world = step->world;
  if (touch->count == 0 || !touch->allowed || !touch->enabled) {
    return;
  }
  // Sensors report overlaps. Contacts report all points within the margin.
  double gap = touch->points[touch_nearest(touch)].at.gap;
  found->sensor = touch->sensor;
  found->near |= gap <= (touch->sensor ? 0 : world->kept.def.contact_margin);
  // Bodies touch if their gap is within a fraction of the size of the smaller body.
  if (!touch->sensor && !found->touching) {
    double a = world->bodies.at[touch->body_a].reach, b = world->bodies.at[touch->body_b].reach;
    found->touching = gap <= S2_TOUCH_SLOP * fmin(a, b);
  }
}

static int list_found(const S2Step *step, Found *found) {
  // Touches and impulses are both sorted by shapes, so traverse both lists together.
  const S2ActedList *acted = step->impulses;
  int count = 0, a = 0;
  for (int i = 0; i <= step->touch_count; i++) {
    // First list the impulses of all pairs before the next touch. The search has not found these
    // pairs.
    const S2Touch *touch = i < step->touch_count ? &step->touches[i] : NULL;
    for (; a < acted->count && (touch == NULL || s2_acted_compare(&acted->at[a], touch) < 0); a++) {
      found[count] = found_of(acted->at[a].body_a, acted->at[a].body_b);
      found[count].near = found[count].touching = true;
      found[count].acted = a;
      found[count++].count = 1;
    }
    if (touch == NULL) {
      break;
    }
    // If the touch is near or has an impulse, list it with the impulses of its pair.
    Found *pair = &found[count];
    *pair = found_of(touch->body_a, touch->body_b);
    pair->touch = i;
    pair->acted = a;
    while (a < acted->count && s2_acted_compare(&acted->at[a], touch) == 0) {
      a += 1;
    }
    pair->count = a - pair->acted;
    pair->near = pair->touching = pair->count > 0;
    look_at_gap(step, touch, pair);
    count += pair->near;
  }
  return count;
}

static int found_compare(const Found *a, const Found *b) {
  if (a->lo != b->lo) {
    return a->lo < b->lo ? -1 : 1;
  }
  if (a->hi != b->hi) {
    return a->hi < b->hi ? -1 : 1;
  }
  return (int)a->sensor - (int)b->sensor;
}

static int compare_couple(const S2Couple *couple, const Found *found) {
  return found_compare(&(Found){.lo = couple->lo, .hi = couple->hi, .sensor = couple->sensor},
                       found);
}

// Sorts the list by merge sort. Usually the list is already sorted.
static Found *found_sorted(const S2Step *step, Found *list, int count) {
  // Check whether the list is already sorted.
  bool in_order = true;
  for (int i = 1; i < count && in_order; i++) {
    in_order = found_compare(&list[i - 1], &list[i]) <= 0;
  }
  Found *to = in_order ? NULL : S2_TAKE(step->arena, Found, count);
  // Merge runs of doubling length between two buffers. This sort is stable.
  for (int run = 1; run < count && !in_order; run *= 2) {
    for (int start = 0; start < count; start += 2 * run) {
      int middle = start + run < count ? start + run : count;
      int end = middle + run < count ? middle + run : count;
      for (int i = start, k = middle, at = start; at < end; at++) {
        bool first = k == end || (i < middle && found_compare(&list[i], &list[k]) <= 0);
        to[at] = list[first ? i++ : k++];
      }
    }
    Found *was = list;
    list = to;
    to = was;
  }
  return list;
}

// ---- Creating events --------------------------------------------------------------------------

static S2Event *couple_event(S2World *world, S2EventType type, const S2Couple *couple) {
  S2Event *event = s2_world_event(world, type);
  S2BodyId lo = {(uint32_t)couple->lo + 1, couple->serial_lo};
  S2BodyId hi = {(uint32_t)couple->hi + 1, couple->serial_hi};
  event->a = couple->flipped ? hi : lo;
  event->b = couple->flipped ? lo : hi;
  return event;
}

static bool is_first(const S2Couple *couple, int32_t body) {
  return body == (couple->flipped ? couple->hi : couple->lo);
}

static void add_impulses(const S2Step *step, const S2Couple *couple, Pairs pairs, S2Event *event) {
  // Sum over all pairs of the two bodies. The sign is chosen so that the impulse acts on event->a.
  for (int i = 0; i < pairs.count; i++) {
    for (int k = 0; k < pairs.at[i].count; k++) {
      const S2Acted *acted = &step->impulses->at[pairs.at[i].acted + k];
      double sign = is_first(couple, acted->body_a) ? 1 : -1;
      event->impulse = s2_add_scaled(event->impulse, sign, s2_acted_impulse(acted));
      event->normal_impulse += acted->normal_impulse;
      event->tangent_impulse += acted->tangent_impulse;
    }
  }
}

// Adds the point at which the two bodies are nearest at the end of the step. Returns false if the
// search found no pair of these bodies.
static bool add_nearest(const S2Step *step, const S2Couple *couple, Pairs pairs, S2Event *event) {
  // Find the point with the smallest gap over all pairs of the two bodies.
  double least = INFINITY;
  for (int i = 0; i < pairs.count; i++) {
    const S2Touch *touch = pairs.at[i].touch == S2_NONE ? NULL : &step->touches[pairs.at[i].touch];
    int k = touch == NULL ? 0 : touch_nearest(touch);
    if (touch != NULL && touch->count > 0 && touch->points[k].at.gap < least) {
      const S2ManifoldPoint *at = &touch->points[k].at;
      const double *qa = step->q1 + 3 * touch->body_a;
      least = at->gap;
      event->point = s2_add(s2_vec2(qa[1], qa[2]), at->point);
      event->normal = is_first(couple, touch->body_a) ? at->normal : s2_neg(at->normal);
      event->speed = -s2_touch_velocity(touch, k, at->normal, step->v_start);
    }
  }
  return isfinite(least);
}

// Adds the position of the largest impulse, and the largest impact speed. Returns false if there
// was no impulse.
static bool add_largest(const S2Step *step, const S2Couple *couple, Pairs pairs, S2Event *event) {
  // Use the speed of the fastest point. Another point may have the largest impulse.
  double largest = -INFINITY, fastest = 0;
  for (int i = 0; i < pairs.count; i++) {
    for (int k = 0; k < pairs.at[i].count; k++) {
      const S2Acted *acted = &step->impulses->at[pairs.at[i].acted + k];
      fastest = fmax(fastest, acted->speed);
      if (acted->normal_impulse > largest) {
        largest = acted->normal_impulse;
        event->point = acted->point;
        event->normal = is_first(couple, acted->body_a) ? acted->normal : s2_neg(acted->normal);
      }
    }
  }
  if (isfinite(largest)) {
    event->speed = fastest;
  }
  return isfinite(largest);
}

static void event_near(const S2Step *step, const S2Couple *couple, Pairs pairs) {
  S2Event *event =
      couple_event(step->world, couple->sensor ? S2_SENSOR_BEGIN : S2_CONTACT_BEGIN, couple);
  if (!add_nearest(step, couple, pairs, event)) {
    (void)add_largest(step, couple, pairs, event);
  }
  add_impulses(step, couple, pairs, event);
}

static void event_touch(const S2Step *step, const S2Couple *couple, Pairs pairs) {
  S2Event *event = couple_event(step->world, S2_TOUCH_BEGIN, couple);
  if (!add_largest(step, couple, pairs, event)) { // the bodies touch without an impulse
    (void)add_nearest(step, couple, pairs, event);
    event->speed = fmax(event->speed, 0);
  }
  add_impulses(step, couple, pairs, event);
}

// ---- Couples ----------------------------------------------------------------------------------

static void begin_couple(const S2Step *step, const Found *found, S2Couple *couple) {
  const S2Body *bodies = step->world->bodies.at;
  memset(couple, 0, sizeof *couple); // zero the padding, which is part of images
  couple->lo = found->lo;
  couple->hi = found->hi;
  couple->serial_lo = bodies[found->lo].serial;
  couple->serial_hi = bodies[found->hi].serial;
  couple->sensor = found->sensor;
  // The first body of the events is body a of the first pair or, for sensors, the sensor.
  int32_t a = found->touch != S2_NONE ? step->touches[found->touch].body_a
                                      : step->impulses->at[found->acted].body_a;
  couple->flipped = found->sensor ? !bodies[found->lo].sensor : a != found->lo;
}

// Records the impulses that a couple at rest gains in each step.
static void keep_growth(const S2Step *step, const S2Couple *couple, Pairs pairs) {
  S2World *world = step->world;
  for (int i = 0; i < pairs.count; i++) {
    for (int k = 0; k < pairs.at[i].count; k++) {
      const S2Acted *acted = &step->impulses->at[pairs.at[i].acted + k];
      *s2_array_append(world->rest.growth) = (S2RestGrowth){
          .couple = (int32_t)(couple - world->couples.at),
          .impulse = s2_scale(is_first(couple, acted->body_a) ? 1 : -1, s2_acted_impulse(acted)),
          .normal = acted->normal_impulse,
      };
    }
  }
}

void s2_couples_grow(S2World *world) {
  const S2Rest *rest = &world->rest;
  for (int i = 0; i < rest->growth.count; i++) {
    const S2RestGrowth *growth = &rest->growth.at[i];
    S2Couple *couple = &world->couples.at[growth->couple];
    couple->impulse = s2_add(couple->impulse, growth->impulse);
    couple->normal_impulse += growth->normal;
  }
}

// Updates the touch state and creates its events. Called after a whole step, because touches
// neither begin nor end between substeps.
static void couple_follow_touch(const S2Step *step, S2Couple *couple, Pairs pairs) {
  bool touching = false;
  for (int i = 0; i < pairs.count; i++) {
    touching |= pairs.at[i].touching;
  }
  // The end event contains the sum of the impulses since the touch began. The next touch starts
  // from zero.
  if (!touching && couple->touching) {
    S2Event *event = couple_event(step->world, S2_TOUCH_END, couple);
    event->impulse = couple->impulse;
    event->normal_impulse = couple->normal_impulse;
  }
  if (touching && !couple->touching) {
    event_touch(step, couple, pairs);
    couple->impulse = s2_vec2(0, 0);
    couple->normal_impulse = 0;
  }
  // Sum the impulses while the bodies touch.
  if (touching) {
    S2Event all = {.impulse = couple->impulse, .normal_impulse = couple->normal_impulse};
    add_impulses(step, couple, pairs, &all);
    couple->impulse = all.impulse;
    couple->normal_impulse = all.normal_impulse;
    if (s2_rest_couple(step->world, couple)) {
      keep_growth(step, couple, pairs);
    }
  }
  couple->touching = touching;
}

// Creates the events of a couple. Returns true if it still needs an end event.
static bool couple_follow(const S2Step *step, S2Couple *couple, Pairs pairs, bool over) {
  bool near = pairs.count > 0;
  // Create the events in the order near, touch begin or touch end, far.
  if (near && !couple->near) {
    event_near(step, couple, pairs);
  }
  if (over) {
    couple_follow_touch(step, couple, pairs);
  }
  if (!near && couple->near) {
    couple_event(step->world, couple->sensor ? S2_SENSOR_END : S2_CONTACT_END, couple);
  }
  couple->near = near;
  return near || couple->touching;
}

static bool couple_alive(const S2World *world, const S2Couple *couple) {
  return world->bodies.at[couple->lo].serial == couple->serial_lo &&
         world->bodies.at[couple->hi].serial == couple->serial_hi;
}

static Pairs pairs_at(const Found *found, int count) {
  Pairs pairs = {found, 1};
  while (pairs.count < count && found_compare(found, &found[pairs.count]) == 0) {
    pairs.count += 1;
  }
  return pairs;
}

// Copies the couples before the step, without those of frozen islands. Returns their number.
static int couples_before(const S2Step *step, S2Couple **couples) {
  const S2World *world = step->world;
  const S2AwakeList *awake = step->frozen == NULL ? NULL : &world->rest.awake_couples;
  int count = awake == NULL ? world->couples.count : awake->count;
  *couples = S2_TAKE(step->arena, S2Couple, count);
  for (int i = 0; i < count; i++) {
    memcpy(*couples + i, &world->couples.at[awake == NULL ? i : awake->at[i]], sizeof **couples);
  }
  return count;
}

// Merges the previous couples with the current pairs into `couples`. Returns the number of couples.
static int merge_couples(const S2Step *step, const S2Couple *old, int olds, const Found *found,
                         int count, bool last, S2Couple *couples) {
  int kept = 0;
  for (int o = 0, f = 0; o < olds || f < count;) {
    int which = o == olds ? 1 : f == count ? -1 : compare_couple(&old[o], &found[f]);
    S2Couple *couple = &couples[kept];
    if (which <= 0) {
      memcpy(couple, &old[o++], sizeof *couple);
    }
    // If a body was destroyed, end this couple. A new body may use its slot, so the current pairs
    // may belong to another couple.
    if (which <= 0 && !couple_alive(step->world, couple)) { // a body was destroyed
      (void)couple_follow(step, couple, (Pairs){NULL, 0}, true);
      continue;
    }
    Pairs pairs = which < 0 ? (Pairs){NULL, 0} : pairs_at(&found[f], count - f);
    if (which > 0) {
      begin_couple(step, &found[f], couple);
    }
    f += pairs.count;
    // Overwrite the old list with the couple. Keep the couple while it still needs an end event.
    kept += couple_follow(step, couple, pairs, last);
  }
  return kept;
}

void s2_step_contact_events(S2Step *step, bool last) {
  S2World *world = step->world;
  int most = step->touch_count + step->impulses->count;
  if (world->couples.count == 0 && most == 0) {
    return;
  }
  // Sort the pairs by bodies. The previous couples have the same order.
  Found *found = S2_TAKE(step->arena, Found, most + 1);
  int count = list_found(step, found);
  found = found_sorted(step, found, count);
  S2Couple *old;
  int olds = couples_before(step, &old);
  if (step->frozen != NULL) {
    S2Couple *awake = S2_TAKE(step->arena, S2Couple, olds + count);
    s2_rest_put_couples(step, awake, merge_couples(step, old, olds, found, count, last, awake));
    s2_couples_grow(world);
    return;
  }
  s2_array_reserve(world->couples, olds + count);
  world->couples.count = merge_couples(step, old, olds, found, count, last, world->couples.at);
}
