// Follows every near pair of rigid shapes along the paths of their bodies, to find passages. While
// the pair is apart, time advances by the distance divided by the largest approach speed, so no
// contact is missed. While the pair overlaps, time advances by small equal steps.
#include "dynamics/audit/audit.h"

typedef struct Swept { // a shape and the box around its path
  int32_t piece, body;
  S2Box box;
} Swept;

typedef struct Pair {
  S2World *world;
  S2Auditor *audit;
  int32_t a, b; // slots
  S2Shape shape_a, shape_b;
  double size; // m: reach of the smaller body
  double thin; // m: width of the thinner shape
  double bend; // m, from pair_bend
} Pair;

// ---- Near pairs -------------------------------------------------------------------------------

// A box around the poses at all knots. A body lies within its reach around its centre.
static S2Box path_box(const S2World *world, const S2Auditor *audit, int32_t slot) {
  const double *q = audit->q0 + 3 * slot;
  double reach = world->bodies.at[slot].reach;
  S2Box box = {{q[1], q[2]}, {q[1], q[2]}};
  for (int k = 0; k < audit->knots[slot]; k++) {
    const S2AuditKnot *knot = &audit->knot[(size_t)audit->knot_room * (size_t)slot + (size_t)k];
    double before = k == 0 ? 0 : knot[-1].t, bend = 0;
    // A parabola leaves the bounding box of its end points by at most a quarter of this length.
    const double *from = k == 0 ? q : knot[-1].q;
    for (int c = 1; c < 3 && knot->curved; c++) {
      bend = fmax(bend, fabs(knot->q[c] - from[c] - (knot->t - before) * knot->v[c]));
    }
    box.lo = s2_vec2(fmin(box.lo.x, knot->q[1] - bend), fmin(box.lo.y, knot->q[2] - bend));
    box.hi = s2_vec2(fmax(box.hi.x, knot->q[1] + bend), fmax(box.hi.y, knot->q[2] + bend));
  }
  box.lo = s2_vec2(box.lo.x - reach, box.lo.y - reach);
  box.hi = s2_vec2(box.hi.x + reach, box.hi.y + reach);
  return box;
}

// Sorts by left sides with a heapsort, which needs no extra memory. The root of the heap of `count`
// boxes is the rightmost box.
static void swept_sift(Swept *heap, int at, int count) {
  Swept moved = heap[at];
  for (int child = 2 * at + 1; child < count; child = 2 * at + 1) {
    child += child + 1 < count && heap[child + 1].box.lo.x > heap[child].box.lo.x;
    if (!(heap[child].box.lo.x > moved.box.lo.x)) {
      break;
    }
    heap[at] = heap[child];
    at = child;
  }
  heap[at] = moved;
}

static void sort_by_left(Swept *swept, int count) {
  for (int at = count / 2 - 1; at >= 0; at--) {
    swept_sift(swept, at, count);
  }
  for (int last = count - 1; last > 0; last--) {
    Swept rightmost = swept[0];
    swept[0] = swept[last];
    swept[last] = rightmost;
    swept_sift(swept, 0, last);
  }
}

// Returns true if the two shapes must not overlap. Filters and pre-solve callbacks may permit
// overlap.
static bool pair_is_rigid(const S2World *world, const Swept *a, const Swept *b) {
  const S2Body *of_a = &world->bodies.at[a->body], *of_b = &world->bodies.at[b->body];
  bool moves = s2_body_yields(of_a) || s2_body_yields(of_b);
  bool sees = (of_a->category & of_b->mask) != 0 && (of_b->category & of_a->mask) != 0;
  bool soft = of_a->contact_compliance + of_b->contact_compliance > 0;
  if (a->body == b->body || !moves || !sees || soft || of_a->sensor || of_b->sensor ||
      s2_world_excluded(world, a->body, b->body)) {
    return false;
  }
  const S2Touch *touch = s2_audit_touch(world, a->piece, b->piece);
  bool asks = world->callbacks.filter != NULL || world->callbacks.pre_solve != NULL;
  return touch != NULL ? touch->allowed && touch->enabled : !asks;
}

// ---- Following a pair -------------------------------------------------------------------------

static double pair_distance(const Pair *pair, double t, double qa[3], double qb[3],
                            S2Vec2 *normal) {
  s2_audit_pose(pair->audit, pair->a, t, qa);
  s2_audit_pose(pair->audit, pair->b, t, qb);
  return s2_audit_distance(&pair->shape_a, qa, &pair->shape_b, qb, normal);
}

// Returns an upper bound of the approach speed until `to`, within one piece of both paths, m/s.
static double pair_speed(const Pair *pair, double from, double to) {
  S2Vec2 va[2], vb[2];
  double turn_a, turn_b;
  s2_audit_rate(pair->audit, pair->a, from, to, va, &turn_a);
  s2_audit_rate(pair->audit, pair->b, from, to, vb, &turn_b);
  double speed = fmax(s2_length(s2_sub(va[0], vb[0])), s2_length(s2_sub(va[1], vb[1])));
  return speed + turn_a * pair->world->bodies.at[pair->a].reach +
         turn_b * pair->world->bodies.at[pair->b].reach;
}

static S2Vec2 pair_apart(const Pair *pair, double t) {
  double qa[3], qb[3];
  s2_audit_pose(pair->audit, pair->a, t, qa);
  s2_audit_pose(pair->audit, pair->b, t, qb);
  return s2_vec2(qa[1] - qb[1], qa[2] - qb[2]);
}

// Returns the longest relative displacement over the whole step or one piece, m. The pieces matter
// if a body rebounds within the step.
static double pair_way(const Pair *pair) {
  S2Vec2 first = pair_apart(pair, 0), at = first;
  double way = s2_length(s2_sub(pair_apart(pair, INFINITY), first));
  for (double t = 0;;) {
    t = fmin(s2_audit_next_knot(pair->audit, pair->a, t),
             s2_audit_next_knot(pair->audit, pair->b, t));
    if (!isfinite(t)) {
      return way;
    }
    S2Vec2 next = pair_apart(pair, t);
    way = fmax(way, s2_length(s2_sub(next, at)));
    at = next;
  }
}

// Returns the largest apparent overlap of a pair between two correct poses, m. Interpolated paths
// do not include the curvature of turning surfaces. They also cut the corner when a shape goes
// around a corner or slides over a round shape. For a round shape, the bound uses its radius and
// the whole slide.
static double pair_bend(const Pair *pair) {
  const S2Auditor *audit = pair->audit;
  const int32_t slots[2] = {pair->a, pair->b};
  const S2Shape *shapes[2] = {&pair->shape_a, &pair->shape_b};
  double bend = 0, way = pair_way(pair), reach = INFINITY, turned = 0, radius = 0;
  for (int k = 0; k < 2; k++) {
    double turn = s2_audit_turn_at_most(audit, slots[k]);
    bend += turn * turn / 4 * pair->world->bodies.at[slots[k]].reach;
    turned += shapes[k]->count > 1 ? turn * pair->world->bodies.at[slots[k]].reach : 0;
    radius += shapes[k]->radius;
    reach = fmin(reach, pair->world->bodies.at[slots[k]].reach);
  }
  double slide = radius > 0 ? way + turned : way;
  reach = radius > 0 ? fmin(reach, radius) : reach;
  return fmin(bend + slide * slide / (4 * reach), S2_AUDIT_DEPTH * pair->thin);
}

static S2Vec2 in_frame(const double q[3], S2Vec2 v) {
  double c = cos(q[0]), s = sin(q[0]);
  return s2_vec2(c * v.x + s * v.y, c * v.y - s * v.x);
}

// A round shape looks the same from all sides, so its frame does not define a side.
static bool pair_flipped(const Pair *pair, const S2Vec2 in[2], const S2Vec2 out[2]) {
  bool flips_a = pair->shape_a.count == 1 || s2_dot(in[0], out[0]) < 0;
  bool flips_b = pair->shape_b.count == 1 || s2_dot(in[1], out[1]) < 0;
  return flips_a && flips_b && s2_dot(in[0], out[0]) + s2_dot(in[1], out[1]) < 0;
}

typedef struct Found {
  double depth, at; // m and s: deepest overlap and its time
  double nearest;   // m: smallest distance of the pair
  double crossed;   // s: time at which one shape came out on the other side, or INFINITY
} Found;

// Stores on which side the shapes of a pair were when they were last apart.
typedef struct Side {
  bool known;
  S2Vec2 normal[2]; // in the frames of a and b
  double depth;     // m: deepest overlap since that time
} Side;

// Examines one sample. Returns true if the pair changed sides. Determines the side only if the
// cores are far enough apart, because otherwise rounding dominates the normal.
static bool side_changes(const Pair *pair, Side *side, double gap, S2Vec2 normal,
                         const double qa[3], const double qb[3]) {
  double cores = gap + pair->shape_a.radius + pair->shape_b.radius;
  side->depth = fmax(side->depth, -gap);
  if (gap < 0 || cores < S2_AUDIT_SIDE * pair->size) {
    return false;
  }
  S2Vec2 now[2] = {in_frame(qa, normal), in_frame(qb, normal)};
  bool changes = side->known && side->depth > S2_AUDIT_LENGTH * pair->size + pair->bend &&
                 pair_flipped(pair, side->normal, now);
  *side = (Side){true, {now[0], now[1]}, 0};
  return changes;
}

// Follows the pair along its paths through the step.
static Found pair_follow(const Pair *pair) {
  Found found = {0, 0, INFINITY, INFINITY};
  double end = pair->audit->h, t = 0, qa[3], qb[3];
  double least = end / S2_AUDIT_SAMPLES_MOST;
  Side side = {0};
  S2Vec2 normal = {0, 0};
  for (;;) {
    double gap = pair_distance(pair, t, qa, qb, &normal);
    if (-gap > found.depth) {
      found.depth = -gap;
      found.at = t;
    }
    found.nearest = fmin(found.nearest, gap);
    if (side_changes(pair, &side, gap, normal, qa, qb)) {
      found.crossed = fmin(found.crossed, t);
    }
    if (t >= end) {
      return found;
    }
    double to = fmin(end, fmin(s2_audit_next_knot(pair->audit, pair->a, t),
                               s2_audit_next_knot(pair->audit, pair->b, t)));
    double speed = pair_speed(pair, t, to);
    if (!(speed > 0)) {
      t = to;
      continue;
    }
    // While the pair (nearly) overlaps, each time step moves it by a twentieth of the thinner
    // shape's width.
    double small = fmin(end / S2_AUDIT_SAMPLES, pair->thin / 20 / speed);
    t = fmin(to, t + fmax(fmax(gap / speed, small), least));
  }
}

// Adds an initial overlap to the distance that the audit of jumps accepts as explained.
static void pair_excuse(const Pair *pair, double depth) {
  pair->audit->excused[pair->a] += depth;
  pair->audit->excused[pair->b] += depth;
}

static bool path_still(const S2Auditor *audit, int32_t slot) {
  const S2AuditKnot *knot = &audit->knot[(size_t)audit->knot_room * (size_t)slot];
  bool still = true;
  for (int k = 0; k < audit->knots[slot] && still; k++) {
    for (int c = 0; c < 3; c++) {
      still &= knot[k].q[c] == audit->q0[3 * slot + c];
      still &= !knot[k].curved || knot[k].v[c] == 0;
    }
  }
  return still;
}

// Returns true if both bodies stand still throughout the step.
static bool pair_still(const Pair *pair) {
  return path_still(pair->audit, pair->a) && path_still(pair->audit, pair->b);
}

static double core_reach(const S2Shape *shape) { // m, from the centre of the body
  double square = 0;
  for (int i = 0; i < shape->count; i++) {
    square = fmax(square, s2_dot(shape->vertices[i], shape->vertices[i]));
  }
  return sqrt(square);
}

// Returns a lower bound of the pair's distance throughout the step, m. Takes the initial distance
// along one direction, and subtracts the most that velocities and turning can reduce it. *normal
// points from b to a at the start.
static double pair_least(const Pair *pair, S2Vec2 normal) {
  const S2Auditor *audit = pair->audit;
  double qa[3], qb[3], t = 0;
  s2_audit_pose(audit, pair->a, 0, qa);
  s2_audit_pose(audit, pair->b, 0, qb);
  double apart = s2_audit_beyond(&pair->shape_a, qa, &pair->shape_b, qb, &normal), least = apart;
  double reach_a = core_reach(&pair->shape_a), reach_b = core_reach(&pair->shape_b);
  for (;;) { // loop over the pieces of both paths
    double next_a = s2_audit_next_knot(audit, pair->a, t);
    double next_b = s2_audit_next_knot(audit, pair->b, t), to = fmin(next_a, next_b);
    if (!isfinite(to)) {
      return least;
    }
    if (isfinite(next_a) != isfinite(next_b) && to - t > 1e-9 * audit->h) {
      return -INFINITY; // one path ends here, so its velocity is unknown
    }
    // Velocities are linear within a piece, so they are largest at one of its ends.
    S2Vec2 va[2], vb[2];
    double turn_a, turn_b;
    s2_audit_rate(audit, pair->a, t, to, va, &turn_a);
    s2_audit_rate(audit, pair->b, t, to, vb, &turn_b);
    double parting =
        fmin(s2_dot(normal, s2_sub(va[0], vb[0])), s2_dot(normal, s2_sub(va[1], vb[1])));
    apart += (to - t) * (parting - turn_a * reach_a - turn_b * reach_b);
    least = apart >= least ? least : apart; // a NaN in `apart` becomes the result
    t = to;
  }
}

static Pair pair_make(S2World *world, S2Auditor *audit, int32_t piece_a, int32_t piece_b) {
  const S2Piece *a = &world->pieces.at[piece_a], *b = &world->pieces.at[piece_b];
  return (Pair){
      .world = world,
      .audit = audit,
      .a = a->body,
      .b = b->body,
      .shape_a = s2_piece_shape(world, a),
      .shape_b = s2_piece_shape(world, b),
      .size = fmin(world->bodies.at[a->body].reach, world->bodies.at[b->body].reach),
  };
}

static void pair_judge(Pair *pair) {
  S2World *world = pair->world;
  S2AuditResiduals *worst = &world->residuals.audit;
  S2AuditStats *stats = &world->stats.audit;
  double qa[3], qb[3];
  S2Vec2 normal;
  double before = fmax(-pair_distance(pair, 0, qa, qb, &normal), 0);
  double slop = S2_AUDIT_LENGTH * pair->size;
  if (before > S2_PROJECTION_TRIGGER * pair->size) {
    pair_excuse(pair, before);
  }
  // Skip a pair that cannot overlap by `slop / 2`.
  if (pair_still(pair) || pair_least(pair, normal) >= -slop / 2) {
    return;
  }
  double thin[2] = {s2_audit_thickness(&pair->shape_a), s2_audit_thickness(&pair->shape_b)};
  pair->thin = thin[0] > 0 && thin[1] > 0 ? fmin(thin[0], thin[1]) : fmax(thin[0], thin[1]);
  pair->bend = pair_bend(pair);
  // Measure the overlap within the step and at its end.
  Found found = pair_follow(pair);
  double after = fmax(-pair_distance(pair, INFINITY, qa, qb, &normal), 0);
  double deep = fmax(fmax(found.depth - before - pair->bend, after - before), 0);
  if (isfinite(found.crossed)) {
    worst->passage = fmax(worst->passage, found.depth);
    s2_audit_find(world, &stats->passages, pair->a, pair->b, found.crossed,
                  "one body passed through the other (%.3g m deep)", found.depth);
  } else if (deep > slop) {
    worst->passage = fmax(worst->passage, deep);
    s2_audit_find(world, &stats->overlaps, pair->a, pair->b, found.at,
                  "they overlap by %.3g m more than at the start of the step", deep);
  }
}

// ---- Where impulses acted ---------------------------------------------------------------------

// Computes, per slot, how far joints may move a body off the surfaces of its contacts, m. If the
// body turns about a hinge by phi, a point at distance r leaves the plane of a contact row by phi^2
// r/2, because the row is computed at the start of the step.
static const double *bends_of_joints(const S2World *world, S2Auditor *audit) {
  double *bend = S2_TAKE_ZEROED(&audit->arena, double, audit->slots);
  for (int i = 0; i < world->joint_order.count; i++) {
    const S2Joint *joint = &world->joints.at[world->joint_order.at[i]];
    const int32_t ends[2] = {joint->a, joint->b};
    for (int k = 0; k < 2 && s2_joint_active(world, joint); k++) {
      if (ends[0] != S2_NONE && ends[1] != S2_NONE) {
        double turn = s2_audit_turn(audit, ends[1 - k]);
        double by = turn * turn / 4 * world->bodies.at[ends[1 - k]].reach;
        bend[ends[k]] = fmax(bend[ends[k]], by);
      }
      if (ends[k] != S2_NONE && joint->type == S2_HINGE) {
        double turn = s2_audit_turn(audit, ends[k]);
        double arm = s2_length(k == 0 ? joint->local_a : joint->local_b);
        double by = turn * turn / 2 * (arm + world->bodies.at[ends[k]].reach);
        bend[ends[k]] = fmax(bend[ends[k]], by);
      }
    }
  }
  return bend;
}

// Returns the distance from piece `other` to the nearest neighbour of piece `of` on its body, at
// the end of the step, m. A neighbour must also be near the point of the impulse, so the larger of
// both distances counts. Neighbouring pieces and chain segments share a surface, so the contact row
// of one piece may stop a point above another piece.
static double apart_from_neighbours(S2World *world, S2Auditor *audit, const S2Acted *acted,
                                    int32_t of, int32_t other) {
  const S2Vec2 centre = {0, 0};
  const S2Shape point = {.vertices = &centre, .count = 1};
  const double at[3] = {0, acted->point.x, acted->point.y};
  double nearest = INFINITY, q[3], q_other[3];
  int32_t slot = world->pieces.at[of].body;
  for (int32_t p = world->bodies.at[slot].first_shape; p != S2_NONE; p = world->pieces.at[p].next) {
    const S2Piece *piece = &world->pieces.at[p];
    if (p != of && (piece->joined || piece->has_previous || piece->has_next)) {
      Pair pair = pair_make(world, audit, p, other);
      S2Vec2 normal = {0, 0};
      double apart = pair_distance(&pair, INFINITY, q, q_other, &normal);
      double away = s2_audit_distance(&pair.shape_a, q, &point, at, &normal);
      nearest = fmin(nearest, fmax(apart, away));
    }
  }
  return nearest;
}

// Returns the smallest distance between two shapes that acted on each other, m. Returns 0 if they
// touched, or if turning explains the distance.
static double acted_apart(S2World *world, S2Auditor *audit, const S2Acted *acted,
                          const double *joined) {
  Pair pair = pair_make(world, audit, acted->shape_a, acted->shape_b);
  double touch = S2_AUDIT_TOUCH * pair.size, qa[3], qb[3];
  touch += world->kept.def.stepping == S2_BISECT ? world->kept.def.contact_margin : 0;
  // Most pairs touch at the end of the step or at its start. Follow only the others.
  S2Vec2 normal;
  if (pair_distance(&pair, INFINITY, qa, qb, &normal) <= touch ||
      pair_distance(&pair, 0, qa, qb, &normal) <= touch) {
    return 0;
  }
  pair.thin = fmax(s2_audit_thickness(&pair.shape_a), s2_audit_thickness(&pair.shape_b));
  pair.bend = pair_bend(&pair);
  double nearest = pair_follow(&pair).nearest;
  double allowed = fmin(joined[pair.a] + joined[pair.b], S2_AUDIT_DEPTH * pair.thin);
  double most = touch + pair.bend + allowed;
  if (!(nearest > most)) {
    return 0;
  }
  nearest =
      fmin(nearest, apart_from_neighbours(world, audit, acted, acted->shape_a, acted->shape_b));
  nearest =
      fmin(nearest, apart_from_neighbours(world, audit, acted, acted->shape_b, acted->shape_a));
  return nearest > most ? nearest : 0;
}

// Report an impulse between two shapes that stayed apart throughout the step.
static void judge_events(S2World *world, S2Auditor *audit) {
  const double *joined = bends_of_joints(world, audit);
  double apart = 0;
  // The contact to which `apart` belongs. The points of a pair are consecutive.
  const S2Acted *last = NULL;
  for (int i = 0; i < world->acted.count; i++) {
    const S2Acted *acted = &world->acted.at[i];
    if (!(acted->normal_impulse > 0)) {
      continue;
    }
    const S2Body *of_a = &world->bodies.at[acted->body_a], *of_b = &world->bodies.at[acted->body_b];
    if (of_a->serial != acted->serial_a || of_b->serial != acted->serial_b ||
        of_a->contact_compliance + of_b->contact_compliance > 0) {
      continue;
    }
    if (last == NULL || last->shape_a != acted->shape_a || last->shape_b != acted->shape_b) {
      apart = acted_apart(world, audit, acted, joined);
    }
    last = acted;
    if (apart > 0) {
      world->residuals.audit.distance = fmax(world->residuals.audit.distance, apart);
      s2_audit_find(world, &world->stats.audit.events, acted->body_a, acted->body_b, 0,
                    "an impulse of %.3g N s acted, but they stayed %.3g m apart",
                    acted->normal_impulse, apart);
    }
  }
}

// ---- All passages -----------------------------------------------------------------------------

void s2_audit_passages(S2World *world, S2Auditor *audit) {
  S2ArenaMark mark = s2_arena_mark(&audit->arena);
  Swept *swept = S2_TAKE(&audit->arena, Swept, world->pieces.count);
  int count = 0;
  for (int i = 0; i < world->order.count; i++) {
    int32_t slot = world->order.at[i];
    const S2Body *body = &world->bodies.at[slot];
    if (!body->enabled || body->sensor || body->mask == 0 || body->category == 0) {
      continue;
    }
    // The shapes of a body share the box around its path. A shape of a static body has its own box.
    S2Box box = path_box(world, audit, slot);
    for (int32_t p = body->first_shape; p != S2_NONE; p = world->pieces.at[p].next) {
      swept[count++] = (Swept){p, slot, box};
      if (body->type == S2_STATIC) {
        S2Shape shape = s2_piece_shape(world, &world->pieces.at[p]);
        swept[count - 1].box = s2_shape_box(&shape, s2_slot_pose(audit->q0, slot));
      }
    }
  }
  // Examine the pairs whose boxes overlap.
  sort_by_left(swept, count);
  for (int i = 0; i < count; i++) {
    for (int k = i + 1; k < count && swept[k].box.lo.x <= swept[i].box.hi.x; k++) {
      const Swept *a = &swept[i], *b = &swept[k];
      if (a->piece > b->piece) {
        a = &swept[k];
        b = &swept[i];
      }
      if (!s2_box_overlap(a->box, b->box) || !pair_is_rigid(world, a, b)) {
        continue;
      }
      Pair pair = pair_make(world, audit, a->piece, b->piece);
      pair_judge(&pair);
    }
  }
  judge_events(world, audit);
  s2_arena_rewind(&audit->arena, mark);
}
