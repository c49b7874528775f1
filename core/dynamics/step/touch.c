// Phase 2: touches.
// The broad phase finds pairs of shapes, and the narrow phase finds their contact points. Some data
// of a pair are copied from the last step: impulses and the result of the filter.
#include "dynamics/step/touch.h"
#include "dynamics/project/passage.h"
#include "dynamics/rest/rest.h"
#include "dynamics/trace/notes.h"

#include <string.h>

// A step is rejected if the number of overlapping pairs exceeds both CROWD_AT_LEAST and
// CROWD_PER_SHAPE times the number of shapes. A shape without overlaps touches about three others
// on average. If many bodies are created at one point, the number of pairs grows with the square of
// the number of bodies. A solve would then take very long and need gigabytes of memory.
enum { CROWD_PER_SHAPE = 100, CROWD_AT_LEAST = 100000 };
// The crowd limits count only overlaps deeper than this fraction of the size of the smaller body.
#define CROWD_DEPTH 1e-3

static double touch_combine(S2Combine how, double a, double b) {
  switch (how) {
  case S2_COMBINE_GEOMETRIC:
    return sqrt(a * b);
  case S2_COMBINE_AVERAGE:
    return (a + b) / 2;
  case S2_COMBINE_MULTIPLY:
    return a * b;
  case S2_COMBINE_MIN:
    return fmin(a, b);
  case S2_COMBINE_MAX:
    return fmax(a, b);
  }
  return 0;
}

// Sets the compliance and damping of a pair. The pair consists of two springs in series, each with
// a damper. In slow motion, both springs carry the force F, and each is compressed by C F - C^2 d
// F'. The pair therefore has
// C = Ca + Cb, d = (Ca^2 da + Cb^2 db) / C^2
// These are dampers in series if Ca da = Cb db. The values do not jump when one side becomes rigid.
static void set_softness(S2Touch *touch, const S2Body *a, const S2Body *b) {
  double sum = a->contact_compliance + b->contact_compliance;
  touch->compliance = sum;
  touch->damping = 0;
  if (sum > 0) {
    double part_a = a->contact_compliance / sum, part_b = b->contact_compliance / sum;
    touch->damping = part_a * part_a * a->contact_damping + part_b * part_b * b->contact_damping;
  }
}

void s2_touch_set_material(const S2World *world, S2Touch *touch) {
  const S2WorldDef *def = &world->kept.def;
  const S2Piece *pa = &world->pieces.at[touch->shape_a], *pb = &world->pieces.at[touch->shape_b];
  const S2Body *a = &world->bodies.at[touch->body_a], *b = &world->bodies.at[touch->body_b];
  touch->friction =
      def->contact == S2_FRICTIONLESS
          ? 0
          : touch_combine(def->combine_friction, isnan(pa->friction) ? a->friction : pa->friction,
                          isnan(pb->friction) ? b->friction : pb->friction);
  touch->restitution = touch_combine(def->combine_restitution,
                                     isnan(pa->restitution) ? a->restitution : pa->restitution,
                                     isnan(pb->restitution) ? b->restitution : pb->restitution);
  touch->viscosity = a->contact_viscosity + b->contact_viscosity;
  touch->surface_speed = a->surface_speed + b->surface_speed;
  set_softness(touch, a, b);
}

static void set_material(const S2World *world, S2Touch *touch) {
  s2_touch_set_material(world, touch);
  const S2Body *a = &world->bodies.at[touch->body_a], *b = &world->bodies.at[touch->body_b];
  touch->sensor = a->sensor || b->sensor;
  touch->asked = false;
  touch->enabled = true;
}

// ---- Geometry ---------------------------------------------------------------------------------

static void carry_impulses(S2Touch *touch, const S2TouchPoint *old, int old_count) {
  for (int k = 0; k < touch->count; k++) {
    S2TouchPoint *point = &touch->points[k];
    for (int j = 0; j < old_count; j++) {
      if (old[j].at.id == point->at.id) {
        point->normal_impulse = old[j].normal_impulse;
        point->tangent_impulse = old[j].tangent_impulse;
        point->sliding = old[j].sliding;
        point->closed = old[j].closed;
      }
    }
  }
}

static S2Pose relative_pose(const double *q, int32_t slot, int32_t to) {
  return s2_pose(q[3 * slot], q[3 * slot + 1] - q[3 * to + 1], q[3 * slot + 2] - q[3 * to + 2]);
}

// Returns the vector from the centre of body b to the centre of body a.
static S2Vec2 touch_offset(const double *q, const S2Touch *touch) {
  const double *qa = q + 3 * touch->body_a, *qb = q + 3 * touch->body_b;
  return s2_vec2(qa[1] - qb[1], qa[2] - qb[2]);
}

void s2_touch_collide(const S2World *world, S2Touch *touch, const double *q, double reach) {
  S2Shape a = s2_piece_shape(world, &world->pieces.at[touch->shape_a]);
  S2Shape b = s2_piece_shape(world, &world->pieces.at[touch->shape_b]);
  S2TouchPoint old[2] = {touch->points[0], touch->points[1]};
  int old_count = touch->count;
  S2Manifold manifold;
  s2_collide(&a, relative_pose(q, touch->body_a, touch->body_a), &b,
             relative_pose(q, touch->body_b, touch->body_a), reach, &manifold);
  touch->count = manifold.count;
  S2Vec2 apart = touch_offset(q, touch);
  for (int k = 0; k < manifold.count; k++) {
    touch->points[k] = (S2TouchPoint){
        .at = manifold.points[k],
        .arm_b = s2_add(manifold.points[k].point, apart),
    };
  }
  carry_impulses(touch, old, old_count);
}

void s2_touch_collide_alone(const S2World *world, const S2Touch *touch, const double *q,
                            double reach, S2Manifold *manifold) {
  S2Shape shape[2];
  for (int i = 0; i < 2; i++) {
    int32_t piece = i == 0 ? touch->shape_a : touch->shape_b;
    shape[i] = s2_piece_shape(world, &world->pieces.at[piece]);
    shape[i].has_previous = shape[i].has_next = false;
    shape[i].sides = NULL;
  }
  s2_collide(&shape[0], relative_pose(q, touch->body_a, touch->body_a), &shape[1],
             relative_pose(q, touch->body_b, touch->body_a), reach, manifold);
}

S2Closest s2_touch_closest(const S2World *world, const S2Touch *touch, const double *q) {
  S2Shape a = s2_piece_shape(world, &world->pieces.at[touch->shape_a]);
  S2Shape b = s2_piece_shape(world, &world->pieces.at[touch->shape_b]);
  return s2_closest(&a, relative_pose(q, touch->body_a, touch->body_a), &b,
                    relative_pose(q, touch->body_b, touch->body_a));
}

// ---- Search -----------------------------------------------------------------------------------

// Returns the largest displacement (m) of a point of the body due to rotation. It is at most twice
// the distance of the point from the centre.
static double turn_reach(const S2Step *step, int32_t slot) {
  return fmin(step->h * fabs(step->free_v[3 * slot]), 2) * step->world->bodies.at[slot].reach;
}

// Returns true if the body's mask or category excludes all contacts. Such a body needs no search.
static bool passes_through(const S2Body *body) {
  return body->mask == 0 || body->category == 0;
}

// Returns the distance (m) by which a body may deviate from its predicted motion within the step,
// for the search.
static double box_growth(const S2Step *step, int32_t slot) {
  const S2World *world = step->world;
  bool still = world->bodies.at[slot].type == S2_STATIC;
  return still ? 0 : world->kept.def.contact_margin + turn_reach(step, slot) + step->slack[slot];
}

static void set_boxes(S2Step *step) {
  S2World *world = step->world;
  double h = step->h;
  // Frozen bodies keep the boxes of the last step, unless a query has replaced them.
  bool boxed = step->frozen != NULL && world->rest.boxed;
  world->rest.boxed = step->frozen != NULL;
  for (int i = 0; i < world->order.count; i++) {
    int32_t slot = world->order.at[i];
    const S2Body *body = &world->bodies.at[slot];
    // A static body keeps its box from the last step.
    bool known = body->type == S2_STATIC && !(world->kept.fresh && step->passes == 0);
    if (!body->enabled || known || (boxed && step->frozen[slot])) {
      continue;
    }
    S2Pose pose = s2_slot_pose(step->q0, slot);
    step->turn[slot] = pose.rotation;
    if (passes_through(body) && body->type != S2_STATIC) {
      s2_world_drop_boxes(world, slot);
      world->boxes_stale = true; // queries still need the boxes
      continue;
    }
    // Set the boxes around the free motion, enlarged by possible deviations.
    double dx = h * step->free_v[3 * slot + 1], dy = h * step->free_v[3 * slot + 2];
    double grow = box_growth(step, slot);
    for (int32_t p = body->first_shape; p != S2_NONE; p = world->pieces.at[p].next) {
      S2Shape shape = s2_piece_shape(world, &world->pieces.at[p]);
      S2Box box = s2_shape_box(&shape, pose);
      box.lo = s2_vec2(box.lo.x + (dx < 0 ? dx : 0) - grow, box.lo.y + (dy < 0 ? dy : 0) - grow);
      box.hi = s2_vec2(box.hi.x + (dx > 0 ? dx : 0) + grow, box.hi.y + (dy > 0 ? dy : 0) + grow);
      s2_broadphase_set(world->broadphase, p, box, s2_body_yields(body));
    }
  }
  step->turned = true;
}

// Returns the distance (m) within which two bodies may meet in the step. It is the sum of the
// margin, the relative motion of their centres, and the displacements by rotation.
static double pair_reach(const S2Step *step, const S2Touch *touch) {
  int32_t a = touch->body_a, b = touch->body_b;
  const double *va = step->free_v + 3 * a, *vb = step->free_v + 3 * b;
  return step->world->kept.def.contact_margin + step->h * hypot(va[1] - vb[1], va[2] - vb[2]) +
         turn_reach(step, a) + turn_reach(step, b) + step->slack[a] + step->slack[b];
}

// Restricts the time interval [*from, *to] to the times at which the interval a, moving with v,
// overlaps the interval b.
static void overlap_times(double a_lo, double a_hi, double b_lo, double b_hi, double v,
                          double *from, double *to) {
  if (v == 0) {
    *to = a_lo <= b_hi && b_lo <= a_hi ? *to : -INFINITY;
    return;
  }
  double one = (b_hi - a_lo) / v, other = (b_lo - a_hi) / v;
  *from = fmax(*from, fmin(one, other));
  *to = fmin(*to, fmax(one, other));
}

// Returns true if the moving boxes of a pair meet. The broad phase only tests boxes around the
// whole motions, which depend on the common velocity of both bodies. Without this test, islands
// would also depend on that velocity.
static bool boxes_meet(const S2Step *step, const S2Touch *touch) {
  const S2World *world = step->world;
  int32_t a = touch->body_a, b = touch->body_b;
  for (int k = 0; k < touch->count; k++) {
    if (touch->points[k].at.gap <= world->kept.def.contact_margin) { // the shapes are already near
      return true;
    }
  }
  S2Shape shape_a = s2_piece_shape(world, &world->pieces.at[touch->shape_a]);
  S2Shape shape_b = s2_piece_shape(world, &world->pieces.at[touch->shape_b]);
  S2Box box_a = s2_shape_box(&shape_a, relative_pose(step->q0, a, a));
  S2Box box_b = s2_shape_box(&shape_b, relative_pose(step->q0, b, a));
  double grow = box_growth(step, a) + box_growth(step, b), from = 0, to = step->h;
  const double *va = step->free_v + 3 * a, *vb = step->free_v + 3 * b;
  overlap_times(box_a.lo.x - grow, box_a.hi.x + grow, box_b.lo.x, box_b.hi.x, va[1] - vb[1], &from,
                &to);
  overlap_times(box_a.lo.y - grow, box_a.hi.y + grow, box_b.lo.y, box_b.hi.y, va[2] - vb[2], &from,
                &to);
  return from <= to;
}

static bool touch_may_meet(const S2World *world, const S2Pair *pair) {
  int32_t slot_a = world->pieces.at[pair->a].body, slot_b = world->pieces.at[pair->b].body;
  const S2Body *a = &world->bodies.at[slot_a], *b = &world->bodies.at[slot_b];
  if (slot_a == slot_b || !a->enabled || !b->enabled) {
    return false;
  }
  if ((a->category & b->mask) == 0 || (b->category & a->mask) == 0) {
    return false;
  }
  return !s2_world_excluded(world, slot_a, slot_b);
}

static int touch_compare(const S2Touch *touch, const S2Pair *pair) {
  if (touch->shape_a != pair->a) {
    return touch->shape_a < pair->a ? -1 : 1;
  }
  return touch->shape_b < pair->b ? -1 : touch->shape_b > pair->b;
}

static bool same_bodies(const S2World *world, const S2Touch *touch) {
  return world->bodies.at[touch->body_a].serial == touch->serial_a &&
         world->bodies.at[touch->body_b].serial == touch->serial_b &&
         world->pieces.at[touch->shape_a].body == touch->body_a &&
         world->pieces.at[touch->shape_b].body == touch->body_b;
}

static bool ask_filter(const S2Step *step, S2Touch *touch) {
  S2World *world = step->world;
  const S2Callbacks *call = &world->callbacks;
  touch->allowed = true;
  bool masked = s2_memory_mask(true);
  bool going =
      call->filter == NULL || call->filter(call->user, world, s2_body_id(world, touch->body_a),
                                           s2_body_id(world, touch->body_b), &touch->allowed);
  s2_memory_mask(masked);
  return going;
}

static bool ask_pre_solve(const S2Step *step, S2Touch *touch) {
  S2World *world = step->world;
  const S2Callbacks *call = &world->callbacks;
  touch->asked = true;
  if (call->pre_solve == NULL) {
    return true;
  }
  // Pass the nearest point to the program.
  int nearest = touch->count == 2 && touch->points[1].at.gap < touch->points[0].at.gap;
  const S2ManifoldPoint *at = &touch->points[nearest].at;
  const double *qa = step->q0 + 3 * touch->body_a;
  S2PreContact contact = {
      .a = s2_body_id(world, touch->body_a),
      .b = s2_body_id(world, touch->body_b),
      .point = s2_vec2(qa[1] + at->point.x, qa[2] + at->point.y),
      .normal = at->normal,
      .gap = at->gap,
      .friction = touch->friction,
      .restitution = touch->restitution,
      .surface_speed = touch->surface_speed,
      .enabled = true,
  };
  bool masked = s2_memory_mask(true);
  bool going = call->pre_solve(call->user, world, &contact);
  s2_memory_mask(masked);
  if (!going) {
    return false;
  }
  // Changes made by the callback apply to this step.
  touch->friction = contact.friction;
  touch->restitution = contact.restitution;
  touch->surface_speed = contact.surface_speed;
  touch->enabled = contact.enabled;
  for (int k = 0; k < touch->count && !touch->enabled; k++) { // discard impulses
    touch->points[k].normal_impulse = touch->points[k].tangent_impulse = 0;
    touch->points[k].sliding = false;
  }
  return true;
}

static S2Touch fresh_touch(const S2World *world, const S2Pair *pair) {
  S2Touch touch;
  memset(&touch, 0, sizeof touch);
  touch.shape_a = pair->a;
  touch.shape_b = pair->b;
  touch.body_a = world->pieces.at[pair->a].body;
  touch.body_b = world->pieces.at[pair->b].body;
  touch.serial_a = world->bodies.at[touch.body_a].serial;
  touch.serial_b = world->bodies.at[touch.body_b].serial;
  return touch;
}

bool s2_touch_ask(const S2Step *step, S2Touch *touch) {
  return touch->count == 0 || touch->asked || ask_pre_solve(step, touch);
}

// Returns true if a pair may be hit in this step although it has no contact point. If two segments
// of a chain or two pieces of a body are adjacent, each contact point belongs to only one of the
// two shapes. The other shape may still be hit in this step. Event stepping searches for impact
// times only among the touches of an island, so it includes such a pair. Other schemes find the
// pair at the end of the step.
static bool may_hide(const S2Step *step, const S2Touch *touch) {
  const S2World *world = step->world;
  const S2Piece *a = &world->pieces.at[touch->shape_a], *b = &world->pieces.at[touch->shape_b];
  bool joined =
      a->has_previous || a->has_next || a->joined || b->has_previous || b->has_next || b->joined;
  return joined && s2_world_way(&world->kept.def) == S2_EVENT;
}

// Counts a pair in *found if it overlaps. Returns true if the number of overlapping pairs exceeds
// the limit.
static bool touch_crowded(const S2Step *step, const S2Touch *touch, int *found) {
  S2World *world = step->world;
  const S2Body *bodies = world->bodies.at;
  double size = fmin(bodies[touch->body_a].reach, bodies[touch->body_b].reach);
  if (touch->count == 0 || !(touch->points[0].at.gap < -CROWD_DEPTH * size)) {
    return false;
  }
  int64_t most = (int64_t)CROWD_PER_SHAPE * world->pieces.count;
  most = most < CROWD_AT_LEAST ? CROWD_AT_LEAST : most;
  *found += 1;
  if (*found <= most) {
    return false;
  }
  char a[S2_NAME_SIZE + 8], b[S2_NAME_SIZE + 8];
  s2_body_label(world, touch->body_a, a);
  s2_body_label(world, touch->body_b, b);
  world->refused = s2_error(S2_INVALID,
                            "more than %lld pairs of shapes overlap (for example %s and %s): place "
                            "the bodies side by side",
                            (long long)most, a, b);
  return true;
}

bool s2_touch_search(const S2Step *step, S2Touch *touch, int *overlapping) {
  touch->on_way = false;
  if (!touch->allowed || touch->sensor) {
    touch->count = 0;
    touch->hidden = false;
    return true;
  }
  s2_touch_collide(step->world, touch, step->q0, pair_reach(step, touch));
  bool meets = (touch->count > 0 || may_hide(step, touch)) && boxes_meet(step, touch);
  touch->hidden = meets && touch->count == 0;
  touch->count = meets ? touch->count : 0;
  // Call pre-solve here, because a later search may be the first to find points.
  return s2_touch_ask(step, touch) && !touch_crowded(step, touch, overlapping);
}

// The touches of the last pass of this step or, in the first pass, of the last step. A step with
// frozen islands uses only the awake ones.
typedef struct Known {
  const S2Touch *touches;
  const int32_t *index; // of the items, or NULL for all touches
  int count;
} Known;

static Known known_touches(const S2Step *step) {
  const S2World *world = step->world;
  if (step->passes > 0) {
    return (Known){step->touches, NULL, step->touch_count};
  }
  const S2AwakeList *awake = &world->rest.awake_touches;
  return step->frozen != NULL ? (Known){world->touches.at, awake->at, awake->count}
                              : (Known){world->touches.at, NULL, world->touches.count};
}

static int known_place(const Known *known, int i) {
  return known->index == NULL ? i : known->index[i];
}

bool s2_step_touches(S2Step *step) {
  S2World *world = step->world;
  double start = s2_stats_clock(world);
  // Broad phase: find pairs whose boxes overlap.
  s2_rest_prepare_search(step);
  set_boxes(step);
  S2Pair *pairs;
  int pair_count = s2_broadphase_pairs(world->broadphase, step->arena, &pairs);
  double middle = s2_stats_clock(world);
  world->stats.seconds_broad += middle - start;

  bool again = step->passes > 0;
  Known list = known_touches(step);
  int o = 0;
  S2Touch *touches = S2_TAKE(step->arena, S2Touch, pair_count);
  unsigned char *kept = S2_TAKE_ZEROED(step->arena, unsigned char, pair_count);
  int count = 0, overlapping = 0;
  for (int i = 0; i < pair_count; i++) {
    if (!touch_may_meet(world, &pairs[i])) {
      continue;
    }
    // Both lists are sorted by shapes, so advance to the old data of the pair.
    while (o < list.count && touch_compare(&list.touches[known_place(&list, o)], &pairs[i]) < 0) {
      o += 1;
    }
    int place = o < list.count ? known_place(&list, o) : 0;
    const S2Touch *old = &list.touches[place];
    bool known = o < list.count && touch_compare(old, &pairs[i]) == 0 && same_bodies(world, old);
    S2Touch *touch = &touches[count++];
    kept[count - 1] = known ? s2_rest_known(step, old, place) : 0;
    if ((kept[count - 1] & S2_TOUCH_KEPT) != 0) { // search later, unless its island is kept
      *touch = *old;
      continue;
    }
    *touch = known ? *old : fresh_touch(world, &pairs[i]);
    if (!(known && again)) {
      set_material(world, touch);
      touch->fresh = touch->solved;
      touch->solved = false;
    }
    if (!known && !ask_filter(step, touch)) {
      return false;
    }
    // Narrow phase: find the points that may close within the step.
    if (!s2_touch_search(step, touch, &overlapping)) {
      return false;
    }
  }
  step->touches = touches;
  step->touch_count = count;
  step->kept = kept;
  step->passes += 1;
  if (pair_count > 0) { // reading the clock is slow compared with a step without contacts
    world->stats.seconds_narrow += s2_stats_clock(world) - middle;
  }
  return true;
}

// ---- After the motion -------------------------------------------------------------------------

// Moves both bodies to their poses after the time `until` of the motion.
static void put_on_way(const S2Step *step, const S2Touch *touch, double until) {
  const int32_t slot[2] = {touch->body_a, touch->body_b};
  for (int i = 0; i < 6; i++) {
    int at = 3 * slot[i / 3] + i % 3;
    step->q1[at] = step->q0[at] + until * step->carry[at];
  }
}

// If the pair overlaps after the time `until` (s) of the motion, sets its contact points,
// linearised at that time. Otherwise returns false and leaves the pair unchanged.
static bool linearise_on_way(const S2Step *step, S2Touch *touch, double until) {
  S2Touch there = *touch;
  double deepest = 0;
  if (until < step->h) {
    put_on_way(step, touch, until);
  }
  s2_touch_collide(step->world, &there, step->q1, until < step->h ? INFINITY : 0);
  if (until < step->h) {
    put_on_way(step, touch, step->h);
  }
  for (int k = 0; k < there.count; k++) {
    S2TouchPoint *point = &there.points[k];
    deepest = fmax(deepest, -point->at.gap);
    point->at.gap -= until * s2_touch_velocity(&there, k, point->at.normal, step->carry);
  }
  if (!(deepest > S2_MISS_TOLERANCE * s2_touch_smaller(step->world, touch))) {
    return false;
  }
  *touch = there;
  touch->on_way = until < step->h;
  return true;
}

static bool touch_presses(const S2Touch *touch) {
  bool presses = false;
  for (int k = 0; k < touch->count; k++) {
    presses |= touch->points[k].normal_impulse > 0;
  }
  return presses;
}

// Returns the time (s) at which a pair must be linearised again because no row has predicted an
// overlap, or INFINITY if there is no such time. If a body passes through the other body or a part
// of it, this is the time at which the passage begins, because the contact would be on the wrong
// side at the end. *moves is true if the time depends on the inputs.
static double where_unforeseen(const S2Step *step, const S2Touch *touch, bool *moves) {
  double passage = s2_step_passage(step, touch);
  *moves = passage < step->h && s2_touch_driven(step->world, touch);
  if (*moves) { // a kinematic body cannot stop short
    return passage;
  }
  // Keep the rows if they are soft, because soft rows predict overlaps. Also keep them without
  // projection, because the energy that a new row adds would not be bounded.
  bool projects = step->world->kept.def.stabilization == S2_PROJECTION;
  if (touch->count > 0 && (s2_touch_soft(touch) || !projects)) {
    return passage <= step->h ? passage : INFINITY;
  }
  bool presses = touch_presses(touch);
  double crossing = s2_step_crossing(step, touch, presses);
  if (passage <= step->h || crossing < step->h || presses) {
    // At a kinematic body, the step may be a discontinuous function of its inputs, so the
    // derivative is one-sided.
    *moves = s2_touch_driven(step->world, touch);
    return crossing;
  }
  // If a pair moves by less than this fraction of its size, its deviation from the planes of its
  // rows is of second order.
  return s2_touch_still(step, touch, S2_KEEP_FEATURES) ? INFINITY : step->h;
}

// Finds missing contact points of touch i within the step. Also finds them at the end of the step,
// unless `within` is true. Sets *found to true if the touch gets points. Returns false if aborted.
static bool look_unforeseen(const S2Step *step, int32_t i, bool within, bool *found) {
  S2Touch *touch = &step->touches[i];
  bool moves;
  if (s2_touch_kept(step, i) || !touch->allowed || !touch->enabled || touch->sensor) {
    return true;
  }
  double until = where_unforeseen(step, touch, &moves);
  bool overlaps = until < step->h || (until == step->h && !within);
  if (!overlaps || !linearise_on_way(step, touch, until)) {
    return true;
  }
  bool going = s2_touch_ask(step, touch);
  if (going && s2_touch_solid(touch)) {
    s2_note_linearise(step, i, until, moves);
    *found = true;
  }
  return going;
}

bool s2_step_unforeseen(const S2Step *step, bool *found) {
  *found = false;
  bool going = true;
  for (int i = 0; i < step->touch_count && going; i++) {
    going = look_unforeseen(step, i, false, found);
  }
  return going;
}

bool s2_island_unforeseen_within(const S2Step *step, const S2Island *island, bool *found) {
  *found = false;
  bool going = true;
  for (int i = 0; i < island->touches && going; i++) {
    going = look_unforeseen(step, island->touch[i], true, found);
  }
  return going;
}

// Returns the relative motion (m) of two bodies within the step.
static double touch_moved(const S2Step *step, int32_t a, int32_t b) {
  const double *qa = step->q0 + 3 * a, *qb = step->q0 + 3 * b;
  const double *ra = step->q1 + 3 * a, *rb = step->q1 + 3 * b;
  double dx = (ra[1] - qa[1]) - (rb[1] - qb[1]), dy = (ra[2] - qa[2]) - (rb[2] - qb[2]);
  const S2Body *bodies = step->world->bodies.at;
  return hypot(dx, dy) + fabs(ra[0] - qa[0]) * bodies[a].reach +
         fabs(rb[0] - qb[0]) * bodies[b].reach;
}

bool s2_touch_still(const S2Step *step, const S2Touch *touch, double fraction) {
  const S2Body *bodies = step->world->bodies.at;
  int32_t a = touch->body_a, b = touch->body_b;
  return touch->count > 0 &&
         !(touch_moved(step, a, b) > fraction * fmin(bodies[a].reach, bodies[b].reach));
}

void s2_touch_follow(const S2Step *step, S2Touch *touch) {
  const S2World *world = step->world;
  int32_t a = touch->body_a, b = touch->body_b;
  S2Shape sa = s2_piece_shape(world, &world->pieces.at[touch->shape_a]);
  S2Shape sb = s2_piece_shape(world, &world->pieces.at[touch->shape_b]);
  S2Pose pa = relative_pose(step->q1, a, a), pb = relative_pose(step->q1, b, a);
  for (int k = 0; k < touch->count; k++) {
    S2TouchPoint *point = &touch->points[k];
    s2_manifold_point_update(&point->at, &sa, pa, &sb, pb);
    point->arm_b = s2_add(point->at.point, touch_offset(step->q1, touch));
  }
}

void s2_touch_settle(const S2Step *step, S2Touch *touch) {
  if (s2_touch_still(step, touch, S2_KEEP_FEATURES)) {
    s2_touch_follow(step, touch);
  } else {
    s2_touch_collide(step->world, touch, step->q1, step->world->kept.def.contact_margin);
  }
}

void s2_step_settle(S2Step *step) {
  if (step->touch_count == 0) {
    return;
  }
  S2World *world = step->world;
  double start = s2_stats_clock(world);
  S2Stabilization how = world->kept.def.stabilization;
  if (how == S2_POST || (how == S2_PROJECTION && world->notes != NULL)) {
    step->touches_solved = S2_TAKE(step->arena, S2Touch, step->touch_count);
    memcpy(step->touches_solved, step->touches, sizeof(S2Touch) * (size_t)step->touch_count);
  }
  for (int i = 0; i < step->touch_count; i++) {
    S2Touch *touch = &step->touches[i];
    if (!touch->allowed || s2_touch_kept(step, i)) {
      continue;
    }
    if (touch->sensor) {
      s2_touch_collide(world, touch, step->q1, 0);
    } else {
      s2_touch_settle(step, touch);
    }
  }
  world->stats.seconds_narrow += s2_stats_clock(world) - start;
}

double s2_step_penetration(const S2Step *step) {
  double deepest = 0;
  for (int i = 0; i < step->touch_count; i++) {
    const S2Touch *touch = &step->touches[i];
    bool rigid = s2_touch_solid(touch) && !s2_touch_soft(touch);
    for (int k = 0; k < touch->count && rigid; k++) {
      // Do not use fmax here, because it may turn a gap of 0 into -0.
      deepest = touch->points[k].at.gap < -deepest ? -touch->points[k].at.gap : deepest;
    }
  }
  return deepest;
}
