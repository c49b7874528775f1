// Prevents tunnelling of fast and thin bodies. A contact row is a plane at the nearest points at
// the start of the step. If a plate is hit at its tip, it may turn so far within the step that it
// ends on the other side of a wall. Beyond a certain depth, the wall would push the body out on the
// wrong side. So the motion of a body stops when its overlap reaches half of that depth. Projection
// moves it back, and the next steps do the remaining motion with rows at the new pose.
#include "dynamics/project/passage.h"
#include "dynamics/trace/notes.h"

#include <string.h>

// Fractions. DEPTH: allowed overlap, relative to the sum of the half widths of two shapes. At that
// overlap, they would be pushed apart to the wrong side. FINE: accuracy relative to the allowed
// overlap.
#define S2_PASSAGE_DEPTH 0.5
#define S2_PASSAGE_FINE  0.1
// Maximum number of samples of a pair in a step. The motion of a shape over hundreds of its own
// widths ends at the last sample.
#define S2_PASSAGE_LOOKS 256
// Overlaps on the path are allowed if turning explains them. A point at the distance r that turns
// by phi leaves the chord of its arc by CHORD phi^2 r, and the plane of a row by PLANE phi^2 r. The
// allowed overlap is at most DEPTH times half the width of the thinner shape. Near contact, the
// search advances by LOOK times that half width, but at least by 1/PARTS of the path.
#define CROSSING_CHORD 0.125
#define CROSSING_PLANE 0.5
#define CROSSING_DEPTH 0.25
#define CROSSING_LOOK  0.02
#define CROSSING_PARTS 4096.0
// Distance by which turning may move a point off the plane of a contact row, as a fraction of half
// the width of the thinner shape.
#define TURN_DEPTH 0.25
// rad: smaller rotations within a piece are not checked.
#define TURN_LOOK 0.02

// m: half of the smallest width of the shape, measured between two parallel lines.
static double half_width(const S2Shape *shape) {
  double least = shape->count > 2 ? INFINITY : 0;
  for (int i = 0; i < shape->count && shape->count > 2; i++) {
    S2Vec2 from = shape->vertices[i];
    S2Vec2 edge = s2_sub(shape->vertices[(i + 1) % shape->count], from);
    double far = 0, length = s2_length(edge);
    for (int k = 0; k < shape->count; k++) {
      double across = s2_cross(edge, s2_sub(shape->vertices[k], from));
      far = across > far ? across : far;
    }
    least = length > 0 ? fmin(least, far / length) : least;
  }
  return least / 2 + shape->radius;
}

double s2_touch_smaller(const S2World *world, const S2Touch *touch) {
  double a = world->bodies.at[touch->body_a].reach, b = world->bodies.at[touch->body_b].reach;
  return fmin(a > 0 ? a : INFINITY, b > 0 ? b : INFINITY);
}

// Returns true if the shape looks the same for every rotation of its body.
static bool shape_round(const S2Shape *shape) {
  return shape->count == 1 && shape->vertices[0].x == 0 && shape->vertices[0].y == 0;
}

bool s2_body_round(const S2World *world, int32_t slot) {
  bool round = true;
  for (int32_t p = world->bodies.at[slot].first_shape; p != S2_NONE; p = world->pieces.at[p].next) {
    S2Shape shape = s2_piece_shape(world, &world->pieces.at[p]);
    round &= shape_round(&shape);
  }
  return round;
}

bool s2_touch_turns_gap(const S2World *world, const S2Touch *touch, int side) {
  S2Shape shape =
      s2_piece_shape(world, &world->pieces.at[side == 0 ? touch->shape_a : touch->shape_b]);
  return !shape_round(&shape);
}

double s2_touch_thin(const S2World *world, const S2Touch *touch) {
  S2Shape of_a = s2_piece_shape(world, &world->pieces.at[touch->shape_a]);
  S2Shape of_b = s2_piece_shape(world, &world->pieces.at[touch->shape_b]);
  double a = half_width(&of_a), b = half_width(&of_b);
  return a > 0 && b > 0 ? fmin(a, b) : fmax(a, b);
}

double s2_touch_turns(const S2World *world, const S2Touch *touch, const double *v, double h) {
  const int32_t slot[2] = {touch->body_a, touch->body_b};
  const int32_t piece[2] = {touch->shape_a, touch->shape_b};
  double most = 1;
  for (int i = 0; i < 2; i++) {
    // Rotating by phi moves a point of the body away from its tangent by at most phi^2/2 times the
    // reach.
    double turn = h * fabs(v[3 * slot[i]]), reach = world->bodies.at[slot[i]].reach;
    if (!(turn > most * TURN_LOOK)) {
      continue;
    }
    S2Shape shape = s2_piece_shape(world, &world->pieces.at[piece[i]]);
    if (!shape_round(&shape)) {
      double thin = s2_touch_thin(world, touch);
      double free = fmin(sqrt(2 * TURN_DEPTH * thin / reach), S2_TURN_MOST);
      most = fmax(most, ceil(turn / fmax(free, TURN_LOOK)));
    }
  }
  return fmin(most, S2_TURN_PIECES);
}

double s2_step_turning(const S2Step *step, const double *v) {
  double most = 1;
  for (int i = 0; i < step->touch_count; i++) {
    const S2Touch *touch = &step->touches[i];
    if (touch->allowed && touch->enabled && !touch->sensor && touch->count > 0) {
      most = fmax(most, s2_touch_turns(step->world, touch, v, step->h));
    }
  }
  return step->h * S2_TURN_PIECES > step->dt ? most : 1;
}

double s2_touch_depth(const S2World *world, const S2Touch *touch) {
  S2Shape a = s2_piece_shape(world, &world->pieces.at[touch->shape_a]);
  S2Shape b = s2_piece_shape(world, &world->pieces.at[touch->shape_b]);
  return S2_PASSAGE_DEPTH * (half_width(&a) + half_width(&b));
}

double s2_touch_depth_fine(const S2World *world, const S2Touch *touch, double depth) {
  return fmax(S2_PASSAGE_FINE * depth, S2_TOUCH_SLOP * s2_touch_smaller(world, touch));
}

// Computes the pose at the time `t` (s) of the motion, relative to the position of body `to` at
// that time.
static S2Pose pose_at(const S2Step *step, int32_t slot, int32_t to, double t) {
  const double *q = step->q0 + 3 * slot, *v = step->carry + 3 * slot;
  const double *origin = step->q0 + 3 * to, *speed = step->carry + 3 * to;
  return s2_pose(q[0] + t * v[0], q[1] - origin[1] + t * (v[1] - speed[1]),
                 q[2] - origin[2] + t * (v[2] - speed[2]));
}

// Returns true if a pair has changed sides at the end of the motion. The pair overlaps deeply at
// the start and would separate along n.
static bool changes_sides(const S2Step *step, const S2Touch *touch, S2Vec2 n) {
  S2Pose from = pose_at(step, touch->body_a, touch->body_b, 0);
  S2Pose to = pose_at(step, touch->body_a, touch->body_b, step->h);
  return s2_dot(n, from.position) > 0 && s2_dot(n, to.position) < 0;
}

// The centre of a shape. It must not enter a piece that adjoins other pieces of its body. Otherwise
// the shape could slide along the cut between two pieces without overlapping either of them deeply.
typedef struct Centre {
  S2Vec2 at;    // m, in the frame of the shape's body
  double depth; // m: a quarter of the shape's width; 0: no check is needed.
  // m: a centre nearer to a piece than this counts as inside. Every shape's centre is farther than
  // this from its own outline.
  double fine;
} Centre;

static Centre centre_of(const S2Shape *shape, const S2Shape *other) {
  double half = other->sides != NULL ? half_width(shape) : 0;
  return half > 0 ? (Centre){s2_shape_mass(shape).centre, S2_PASSAGE_DEPTH * half,
                             S2_PASSAGE_FINE * half}
                  : (Centre){.depth = 0};
}

// m: the distance of a centre from a piece, or INFINITY if no check is needed.
static double centre_distance(const Centre *centre, S2Pose pose, const S2Shape *piece,
                              S2Pose pose_of_piece) {
  if (!(centre->depth > 0)) {
    return INFINITY;
  }
  S2Shape point = {.vertices = &centre->at, .count = 1};
  return s2_closest(&point, pose, piece, pose_of_piece).distance;
}

// Computes s2_step_passage for one pair. Sets *deep to true if the pair already overlaps so deeply
// that it will come out on the wrong side.
static double passage_of(const S2Step *step, const S2Touch *touch, bool *deep) {
  *deep = false;
  const S2World *world = step->world;
  int32_t a = touch->body_a, b = touch->body_b;
  const double *va = step->carry + 3 * a, *vb = step->carry + 3 * b, h = step->h;
  double reach_a = world->bodies.at[a].reach, reach_b = world->bodies.at[b].reach;
  // Largest possible relative speed of two points of the shapes.
  double speed =
      hypot(va[1] - vb[1], va[2] - vb[2]) + fabs(va[0]) * reach_a + fabs(vb[0]) * reach_b;
  // A pair that is slow relative to its size cannot pass through within the step.
  double smaller = s2_touch_smaller(world, touch);
  if (!(speed * h > S2_PASSAGE_SLOW * smaller)) {
    return INFINITY;
  }
  // Overlap at which the shapes would come out on the wrong side.
  S2Shape of_a = s2_piece_shape(world, &world->pieces.at[touch->shape_a]);
  S2Shape of_b = s2_piece_shape(world, &world->pieces.at[touch->shape_b]);
  double depth = s2_touch_depth(world, touch);
  Centre centre_a = centre_of(&of_a, &of_b), centre_b = centre_of(&of_b, &of_a);
  double least = centre_a.depth > 0 ? fmin(depth, centre_a.depth) : depth;
  least = centre_b.depth > 0 ? fmin(least, centre_b.depth) : least;
  if (!(speed * h > least)) { // the motion is too short for a deep overlap
    return INFINITY;
  }
  // Conservative advancement: within the time room/speed, the distance decreases by at most `room`.
  double fine = s2_touch_depth_fine(world, touch, depth), t = 0;
  for (int look = 0; look < S2_PASSAGE_LOOKS; look++) {
    S2Pose pose_a = pose_at(step, a, a, t), pose_b = pose_at(step, b, a, t);
    S2Closest closest = s2_closest(&of_a, pose_a, &of_b, pose_b);
    double room = depth + closest.distance;
    double from_a = centre_distance(&centre_a, pose_a, &of_b, pose_b);
    double from_b = centre_distance(&centre_b, pose_b, &of_a, pose_a);
    // Do not stop a pair that already overlaps deeply at the start.
    if (look == 0 && (room <= fine || from_a <= 0 || from_b <= 0)) {
      *deep = changes_sides(step, touch, closest.normal);
      return INFINITY;
    }
    if (room <= fine || (look > 0 && (from_a <= centre_a.fine || from_b <= centre_b.fine))) {
      return t;
    }
    t += fmin(room, fmin(from_a, from_b)) / speed;
    if (t >= h) {
      return INFINITY;
    }
  }
  return t;
}

double s2_step_passage(const S2Step *step, const S2Touch *touch) {
  bool deep;
  return passage_of(step, touch, &deep);
}

// Relative motion of the shapes of a touch.
typedef struct Ways {
  S2Shape a, b;
  double way; // m: relative path of the centres
  // m: effect of turning to first and second order, the sums of phi r and of phi^2 r
  double turned, squared;
} Ways;

static Ways ways_of(const S2Step *step, const S2Touch *touch) {
  const S2World *world = step->world;
  const double *va = step->carry + 3 * touch->body_a, *vb = step->carry + 3 * touch->body_b;
  Ways ways = {.a = s2_piece_shape(world, &world->pieces.at[touch->shape_a]),
               .b = s2_piece_shape(world, &world->pieces.at[touch->shape_b]),
               .way = step->h * hypot(va[1] - vb[1], va[2] - vb[2])};
  for (int side = 0; side < 2; side++) {
    double turn = step->h * fabs(side == 0 ? va[0] : vb[0]);
    double reach = world->bodies.at[side == 0 ? touch->body_a : touch->body_b].reach;
    reach = shape_round(side == 0 ? &ways.a : &ways.b) ? 0 : reach;
    ways.turned += turn * reach;
    ways.squared += turn * turn * reach;
  }
  return ways;
}

double s2_step_crossing(const S2Step *step, const S2Touch *touch, bool presses) {
  int32_t a = touch->body_a, b = touch->body_b;
  Ways ways = ways_of(step, touch);
  double h = step->h, speed = (ways.way + ways.turned) / h,
         thin = s2_touch_thin(step->world, touch);
  double widths = speed * h / (CROSSING_LOOK * thin);
  // Skip the search if a check at the end of the step is sufficient, or if the samples would be too
  // far apart for the thin width.
  if (!(widths > 2) || widths * CROSSING_LOOK > CROSSING_PARTS) {
    return INFINITY;
  }
  // Use a power of two as the number of parts. Small changes of the inputs rarely change it.
  double parts = fmin(exp2(ceil(log2(widths))), CROSSING_PARTS);
  double smaller = s2_touch_smaller(step->world, touch);
  double bend = ways.squared + ways.way * ways.way / smaller;
  double depth = fmin((presses ? CROSSING_PLANE : CROSSING_CHORD) * bend, CROSSING_DEPTH * thin) +
                 S2_MISS_TOLERANCE * smaller;
  for (double part = 0; part < parts;) {
    double t = part / parts * h;
    S2Closest closest =
        s2_closest(&ways.a, pose_at(step, a, a, t), &ways.b, pose_at(step, b, a, t));
    if (part == 0) { // an initial overlap is allowed
      depth += fmax(-closest.distance, 0);
    } else if (closest.distance < -depth) {
      return t;
    }
    part += fmax(floor(closest.distance / (speed * h) * parts), 1);
  }
  return INFINITY;
}

bool s2_touch_driven(const S2World *world, const S2Touch *touch) {
  return world->bodies.at[touch->body_a].type == S2_KINEMATIC ||
         world->bodies.at[touch->body_b].type == S2_KINEMATIC;
}

void s2_step_warn_of_passage(const S2Step *step, const S2Touch *touch, double t) {
  char a[S2_NAME_SIZE + 8], b[S2_NAME_SIZE + 8];
  s2_body_label(step->world, touch->body_a, a);
  s2_body_label(step->world, touch->body_b, b);
  s2_world_warn(step->world,
                "step %llu (t = %.6g s): %s and %s may pass through each other: they move too far "
                "in a step of %.3g s for their size; use a shorter dt, or substeps",
                (unsigned long long)step->world->kept.steps + 1, step->t + t, a, b, step->dt);
}

bool s2_island_stop_short(S2Step *step, const S2Island *island, double fraction) {
  if (fraction >= 1) {
    return false;
  }
  s2_note_short(step, island, fraction);
  for (int i = 0; i < island->nodes; i++) {
    for (int c = 3 * island->node[i]; c < 3 * island->node[i] + 3; c++) {
      step->carry[c] *= fraction;
      step->q1[c] = step->q0[c] + step->h * step->carry[c];
    }
  }
  return true;
}

void s2_step_stop_short(S2Step *step) {
  S2ArenaMark mark = s2_arena_mark(step->arena);
  int slots = step->world->bodies.count;
  double *fraction = NULL; // per slot: fraction of its motion.
  // Find the smallest fraction for each body that is about to pass through another body.
  for (int i = 0; i < step->touch_count; i++) {
    const S2Touch *touch = &step->touches[i];
    if (s2_touch_kept(step, i) || !touch->allowed || !touch->enabled || touch->sensor) {
      continue;
    }
    bool deep;
    double t = passage_of(step, touch, &deep);
    if (deep || (t < step->h && s2_touch_driven(step->world, touch))) {
      s2_step_warn_of_passage(step, touch, fmin(t, step->h));
    }
    if (!(t < step->h)) {
      continue;
    }
    if (fraction == NULL) {
      fraction = S2_TAKE(step->arena, double, slots);
      for (int slot = 0; slot < slots; slot++) {
        fraction[slot] = 1;
      }
    }
    fraction[touch->body_a] = fmin(fraction[touch->body_a], t / step->h);
    fraction[touch->body_b] = fmin(fraction[touch->body_b], t / step->h);
  }
  // All bodies of an island stop together.
  for (int i = 0; i < step->island_count && fraction != NULL; i++) {
    const S2Island *island = &step->islands[i];
    double least = 1;
    for (int k = 0; k < island->nodes; k++) {
      least = fmin(least, fraction[island->node[k]]);
    }
    (void)s2_island_stop_short(step, island, least);
  }
  // Free bodies stop separately.
  for (int i = 0; i < step->world->order.count && fraction != NULL; i++) {
    int32_t slot = step->world->order.at[i];
    S2Island alone = {.nodes = 1, .node = &slot};
    bool free = step->node_of[slot] == S2_GROUND && s2_body_moves(&step->world->bodies.at[slot]);
    (void)s2_island_stop_short(step, &alone, free ? fraction[slot] : 1);
  }
  s2_arena_rewind(step->arena, mark);
}
