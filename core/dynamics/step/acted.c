// Records the impulses of a step and the points at which they acted, for users of the world.
// The touches of a step change several times. They are searched in each part of the step,
// linearised again if their rows are wrong, and updated at the end. Each time, the features of a
// touch may change, and its stored impulses become guesses for the next solve. The impulses of the
// solves are therefore logged before the touches change, with the geometry of the solves. Their
// sum, with the lever arms, is the change of momentum of each body.
#include "dynamics/step/acted.h"
#include "dynamics/audit/audit.h"
#include "dynamics/step/touch.h"

#include <string.h>

void s2_acted_begin(const S2Step *step) {
  S2World *world = step->world;
  world->acting.count = world->log.count = 0;
  if (step->substep > 0 && world->acted.count > 0) { // earlier substeps
    s2_array_reserve(world->acting, world->acted.count);
    memcpy(world->acting.at, world->acted.at, sizeof(S2Acted) * (size_t)world->acted.count);
    world->acting.count = world->acted.count;
  }
}

// Logs the impulses of kept islands, which are the impulses of the last step. Both lists have the
// same order.
static void log_kept(const S2Step *step) {
  const S2ActedList *before = &step->world->acted;
  S2ActedList *log = &step->world->log;
  int b = 0;
  for (int i = 0; i < step->touch_count && step->still != NULL; i++) {
    if (!s2_touch_kept(step, i)) {
      continue;
    }
    while (b < before->count && s2_acted_compare(&before->at[b], &step->touches[i]) < 0) {
      b += 1;
    }
    for (; b < before->count && s2_acted_compare(&before->at[b], &step->touches[i]) == 0; b++) {
      int32_t at = s2_array_push(*log);
      memcpy(&log->at[at], &before->at[b], sizeof *log->at);
      log->at[at].next = S2_NONE;
      if (step->logged[i] == S2_NONE) {
        step->logged[i] = at;
      } else {
        log->at[at - 1].next = at;
      }
    }
  }
}

void s2_log_begin(S2Step *step) {
  step->world->log.count = 0;
  if (step->touch_count == 0) {
    return;
  }
  step->logged = S2_TAKE(step->arena, int32_t, step->touch_count);
  for (int i = 0; i < step->touch_count; i++) {
    step->logged[i] = S2_NONE;
  }
  log_kept(step);
}

// Adds two entries. The common normal is the direction of the sum of both normal impulses. The
// remainder of each impulse becomes tangential, which preserves the impulse vector.
static void acted_join(S2Acted *sum, const S2Acted *more) {
  bool same = sum->normal.x == more->normal.x && sum->normal.y == more->normal.y;
  S2Vec2 all = s2_add(s2_acted_impulse(sum), s2_acted_impulse(more));
  S2Vec2 press = s2_add_scaled(s2_scale(sum->press, sum->normal), more->press, more->normal);
  double length = s2_length(press);
  if (same || !(length > 0)) {
    sum->press += more->press;
  } else {
    sum->normal = s2_scale(1 / length, press);
    sum->press = length;
  }
  if (same) {
    sum->normal_impulse += more->normal_impulse;
    sum->tangent_impulse += more->tangent_impulse;
  } else {
    sum->normal_impulse = s2_dot(all, sum->normal);
    sum->tangent_impulse = s2_dot(all, s2_left(sum->normal));
  }
  sum->angular_a += more->angular_a;
  sum->angular_b += more->angular_b;
  sum->sliding = more->sliding;
}

// Returns the speed (m/s) at which a point closes its gap with the acceleration of the free motion.
static double acted_arrival(const S2Step *step, const S2Touch *touch, int k) {
  const S2ManifoldPoint *at = &touch->points[k].at;
  double u = s2_touch_velocity(touch, k, at->normal, step->v0);
  if (!(at->gap > 0)) {
    return fmax(-u, 0);
  }
  double gained = fmin(s2_touch_velocity(touch, k, at->normal, step->free_v) - u, 0) / step->h;
  return u < 0 || gained < 0 ? sqrt(u * u - 2 * gained * at->gap) : 0;
}

// If only viscosity acts, makes the normal perpendicular to the impulse. Impulses of viscosity are
// along the surfaces. If the surfaces turn between pieces, the sum of the impulses is along none of
// them.
static void acted_lie_along(S2Acted *sum) {
  S2Vec2 all = s2_acted_impulse(sum), across = s2_right(all);
  double length = s2_length(all);
  if (!(sum->press > 0) && length > 0) {
    double side = s2_dot(across, sum->normal) < 0 ? -1 : 1;
    sum->normal = s2_scale(side / length, across);
    sum->normal_impulse = 0;
    sum->tangent_impulse = side * length;
  }
}

static void acted_fill(S2Acted *acted, const S2Touch *touch, int k, double normal, double tangent) {
  const S2TouchPoint *point = &touch->points[k];
  memset(acted, 0, sizeof *acted); // zero the padding, which is part of images
  acted->shape_a = touch->shape_a;
  acted->shape_b = touch->shape_b;
  acted->body_a = touch->body_a;
  acted->body_b = touch->body_b;
  acted->serial_a = touch->serial_a;
  acted->serial_b = touch->serial_b;
  acted->feature = point->at.id;
  acted->next = S2_NONE;
  acted->sliding = point->sliding;
  acted->normal = point->at.normal;
  acted->normal_impulse = acted->press = normal;
  acted->tangent_impulse = tangent;
  S2Vec2 all = s2_acted_impulse(acted);
  acted->angular_a = s2_cross(point->at.point, all);
  acted->angular_b = -s2_cross(point->arm_b, all);
}

void s2_log_touch(const S2Step *step, int32_t index, const S2Touch *as, const double *less) {
  S2ActedList *log = &step->world->log;
  for (int k = 0; k < as->count; k++) {
    double normal = as->points[k].normal_impulse - (less == NULL ? 0 : less[2 * k]);
    double tangent = as->points[k].tangent_impulse - (less == NULL ? 0 : less[2 * k + 1]);
    if (normal == 0 && tangent == 0) {
      continue;
    }
    s2_audit_contact(step, as, k, normal, tangent);
    // Add the impulse to the log entry of the same feature.
    int32_t last = S2_NONE, known = step->logged[index];
    while (known != S2_NONE && log->at[known].feature != as->points[k].at.id) {
      last = known;
      known = log->at[known].next;
    }
    if (known != S2_NONE) {
      S2Acted more;
      acted_fill(&more, as, k, normal, tangent);
      acted_join(&log->at[known], &more);
      if (s2_world_rattles(&step->world->kept.def)) {
        acted_lie_along(&log->at[known]);
      }
      continue;
    }
    int32_t at = s2_array_push(*log);
    acted_fill(&log->at[at], as, k, normal, tangent);
    log->at[at].speed = acted_arrival(step, as, k);
    *(last == S2_NONE ? &step->logged[index] : &log->at[last].next) = at;
  }
}

void s2_log_islands(S2Step *step) {
  s2_log_begin(step);
  for (int i = 0; i < step->touch_count; i++) {
    const S2Touch *touch = &step->touches[i];
    bool solved =
        step->node_of[touch->body_a] != S2_GROUND || step->node_of[touch->body_b] != S2_GROUND;
    if (solved && s2_touch_solid(touch) && !s2_touch_kept(step, i)) {
      s2_log_touch(step, i, touch, NULL);
    }
  }
}

static void acted_swap(S2ActedList *a, S2ActedList *b) {
  S2ActedList was = *a;
  *a = *b;
  *b = was;
}

// Returns true if the log already has the order of the list. This is the case if each touch was
// logged once.
static bool in_order(const S2Step *step) {
  int32_t next = 0;
  for (int i = 0; i < step->touch_count; i++) {
    for (int32_t at = step->logged[i]; at != S2_NONE; at = step->world->log.at[at].next) {
      if (at != next++) {
        return false;
      }
    }
  }
  return true;
}

// Finds the entry of the same feature at or after `first`, and adds the new entry to it. If there
// is none, appends the new entry.
static void acted_put(S2ActedList *list, int first, const S2Acted *acted) {
  for (int i = first; i < list->count; i++) {
    if (list->at[i].feature == acted->feature) {
      acted_join(&list->at[i], acted);
      return;
    }
  }
  int at = s2_array_push(*list);
  memcpy(&list->at[at], acted, sizeof *acted);
}

void s2_log_keep(S2Step *step) {
  S2World *world = step->world;
  if (world->audit != NULL) {
    s2_audit_keep(step);
  }
  if (world->log.count == 0) {
    return;
  }
  // The impulses of the first attempt need no merging.
  if (world->acting.count == 0 && in_order(step)) {
    acted_swap(&world->acting, &world->log);
    world->log.count = 0;
    return;
  }
  S2ActedList *to = &world->merged;
  // Merge both lists, which are sorted by shapes. Add impulses of the same feature.
  const S2ActedList *old = &world->acting;
  int o = 0;
  to->count = 0;
  for (int i = 0; i < step->touch_count; i++) {
    const S2Touch *touch = &step->touches[i];
    for (; o < old->count && s2_acted_compare(&old->at[o], touch) < 0; o++) {
      acted_put(to, to->count, &old->at[o]);
    }
    int first = to->count;
    for (; o < old->count && s2_acted_compare(&old->at[o], touch) == 0; o++) {
      acted_put(to, to->count, &old->at[o]);
    }
    for (int32_t at = step->logged[i]; at != S2_NONE; at = world->log.at[at].next) {
      acted_put(to, first, &world->log.at[at]);
    }
  }
  for (; o < old->count; o++) {
    acted_put(to, to->count, &old->at[o]);
  }
  acted_swap(&world->acting, to);
  world->log.count = 0;
  for (int i = 0; i < step->touch_count; i++) {
    step->logged[i] = S2_NONE;
  }
}

void s2_step_correct(const S2Step *step, int32_t slot, const double dv[3], double fraction) {
  const S2Body *body = &step->world->bodies.at[slot];
  double *corrected = step->corrected + 3 * slot;
  s2_audit_correct(step, slot, (double[]){fraction * dv[0], fraction * dv[1], fraction * dv[2]});
  corrected[0] += body->inertia * fraction * dv[0];
  corrected[1] += body->mass * fraction * dv[1];
  corrected[2] += body->mass * fraction * dv[2];
}

static void commit_corrections(const S2Step *step) {
  S2World *world = step->world;
  int numbers = 3 * world->bodies.count;
  s2_array_reserve(world->corrected, numbers);
  for (int i = 0; i < numbers; i++) {
    bool earlier = step->substep > 0 && i < world->corrected.count;
    world->corrected.at[i] = step->corrected[i] + (earlier ? world->corrected.at[i] : 0);
  }
  world->corrected.count = numbers;
}

// Computes the position at q1 of a feature that is not a point of its touch at the end.
static void acted_place(const S2Step *step, S2Acted *acted) {
  const S2World *world = step->world;
  S2Shape a = s2_piece_shape(world, &world->pieces.at[acted->shape_a]);
  S2Shape b = s2_piece_shape(world, &world->pieces.at[acted->shape_b]);
  S2Pose pose_a = s2_slot_pose(step->q1, acted->body_a);
  S2ManifoldPoint at = s2_manifold_point_of(acted->feature, &a, &b);
  at.normal = acted->normal;
  s2_manifold_point_update(&at, &a, pose_a, &b, s2_slot_pose(step->q1, acted->body_b));
  acted->point = s2_add(pose_a.position, at.point);
  acted->gap = at.gap;
}

static bool same_pair(const S2Acted *a, const S2Acted *b) {
  return a->shape_a == b->shape_a && a->shape_b == b->shape_b;
}

// Returns the end of the entries of a pair. They begin at `first`.
static int pair_end(const S2ActedList *list, int first) {
  int end = first;
  while (end < list->count && same_pair(&list->at[end], &list->at[first])) {
    end++;
  }
  return end;
}

static bool pair_before(const S2Acted *a, const S2Acted *b) {
  return a->shape_a != b->shape_a ? a->shape_a < b->shape_a : a->shape_b < b->shape_b;
}

// Returns the number of contact points whose mode (open, sticking or sliding) has changed. Open
// points have no impulse and are not listed. Both lists are sorted by shapes, and a pair has few
// points.
static uint64_t mode_changes(const S2ActedList *before, const S2ActedList *now) {
  uint64_t changes = 0;
  for (int b = 0, n = 0; b < before->count || n < now->count;) {
    bool gone = n == now->count || (b < before->count && pair_before(&before->at[b], &now->at[n]));
    bool came = !gone && (b == before->count || pair_before(&now->at[n], &before->at[b]));
    int b_end = came ? b : pair_end(before, b), n_end = gone ? n : pair_end(now, n);
    // All points count as changed, except points with the same feature and mode.
    changes += (uint64_t)(b_end - b + n_end - n);
    for (int i = b; i < b_end; i++) {
      for (int k = n; k < n_end; k++) {
        if (before->at[i].feature == now->at[k].feature) {
          changes -= before->at[i].sliding == now->at[k].sliding ? 2 : 1;
        }
      }
    }
    b = b_end;
    n = n_end;
  }
  return changes;
}

// Returns the impulses of the last step without those of frozen islands. The copy is in the arena.
static S2ActedList impulses_before(const S2Step *step) {
  const S2World *world = step->world;
  if (step->frozen == NULL) {
    return world->acted;
  }
  const S2AwakeList *awake = &world->rest.awake_acted;
  S2ActedList list = {.at = S2_TAKE(step->arena, S2Acted, awake->count), .count = awake->count};
  for (int i = 0; i < awake->count; i++) {
    list.at[i] = world->acted.at[awake->at[i]];
  }
  return list;
}

void s2_acted_commit(S2Step *step) {
  S2World *world = step->world;
  commit_corrections(step);
  s2_log_keep(step);
  S2ActedList before = impulses_before(step);
  world->stats.mode_changes += mode_changes(&before, &world->acting);
  if (step->frozen == NULL) {
    acted_swap(&world->acted, &world->acting);
    world->acting.count = 0;
  }
  S2ActedList *list = step->frozen == NULL ? &world->acted : &world->acting;
  step->impulses = list;
  // Find the current position of each point. Both lists have the same order. If the feature still
  // exists, the touch has its position.
  for (int i = 0, t = 0; i < list->count; i++) {
    S2Acted *acted = &list->at[i];
    while (t < step->touch_count && s2_acted_compare(acted, &step->touches[t]) > 0) {
      t += 1;
    }
    const S2Touch *touch = t < step->touch_count ? &step->touches[t] : NULL;
    acted->next = S2_NONE; // clear the index into the log
    acted->gone = true;
    for (int k = 0; touch != NULL && k < touch->count && acted->gone; k++) {
      if (touch->points[k].at.id == acted->feature && s2_acted_compare(acted, touch) == 0) {
        const double *qa = step->q1 + 3 * acted->body_a;
        acted->point = s2_add(s2_vec2(qa[1], qa[2]), touch->points[k].at.point);
        acted->gap = touch->points[k].at.gap;
        acted->gone = false;
      }
    }
    // If the feature does not exist, compute its position along the stored normal.
    if (acted->gone) {
      acted_place(step, acted);
    }
  }
}
