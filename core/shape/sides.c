// Finds the outline of a body that consists of convex pieces. The other edges of the pieces are
// internal cuts, where one piece touches or overlaps another.
#include "shape/shape.h"

#include <math.h>
#include <stdlib.h>

// Pieces are joined if their sides are closer than this fraction of the size of the smaller piece.
// It is far above the rounding of tiles to float32, and far too small to be visible.
static const double JOINED = 1e-7;

// Parts of an edge are ignored if they are shorter than this multiple of the joining distance.
static const double SHORT = 4;

// Directions of edges are equal if they differ by less than this angle in rad.
static const double SAME_ANGLE = 1e-6;

// Edges at a concave corner are extended by this fraction of the minimum width of the pieces. So a
// vertex that sinks into one side of the corner still rests on the other side.
static const double OVERHANG = 0.1;

static const double PI = 3.14159265358979323846; // because M_PI is not part of C17

typedef struct Part {
  int index;
  S2Box box;
} Part;

typedef struct Joints {
  const S2Shape *pieces;
  Part *parts; // pieces, ordered by the left side of their boxes
  int count;
  double *sizes; // m, the longer side of each piece's box
  int *near;     // pieces that may touch the current piece
  int near_count;
} Joints;

static int sides_compare(const void *left, const void *right) {
  const Part *a = left, *b = right;
  if (a->box.lo.x != b->box.lo.x) {
    return a->box.lo.x < b->box.lo.x ? -1 : 1;
  }
  return (a->index > b->index) - (a->index < b->index);
}

// Returns the distance in m within which two pieces are joined.
static double sides_distance(const Joints *joints, int a, int b) {
  return JOINED * fmin(joints->sizes[a], joints->sizes[b]);
}

static S2Vec2 sides_next(const S2Shape *shape, int i) {
  return shape->vertices[i + 1 < shape->count ? i + 1 : 0];
}

static S2Vec2 sides_unit(S2Vec2 v) {
  return s2_scale(1 / s2_length(v), v);
}

// ---- Edges ------------------------------------------------------------------------------------

// Finds the part of a line that is in a shape grown by `margin`. The line starts at p, and its unit
// direction is `along`. Returns false if there is no such part.
static bool sides_clip(const S2Shape *shape, S2Vec2 p, S2Vec2 along, double length, double margin,
                       double *from, double *to) {
  *from = 0;
  *to = length;
  for (int i = 0; i < shape->count; i++) {
    S2Vec2 v = shape->vertices[i];
    S2Vec2 normal = s2_right(sides_unit(s2_sub(sides_next(shape, i), v)));
    double height = s2_dot(normal, s2_sub(p, v)) - margin, rate = s2_dot(normal, along);
    if (rate > 0) {
      *to = fmin(*to, -height / rate);
    } else if (rate < 0) {
      *from = fmax(*from, -height / rate);
    } else if (height > 0) {
      return false;
    }
  }
  return *from < *to;
}

typedef struct Cover {
  double from, to, distance;
} Cover;

// Returns edge i without the parts at its ends that are covered by other pieces. A covered part in
// the middle is kept, because it does not misplace contacts.
static Cover sides_open(const Joints *joints, int piece, int i, Cover *covers) {
  const S2Shape *shape = &joints->pieces[piece];
  S2Vec2 p = shape->vertices[i], edge = s2_sub(sides_next(shape, i), p);
  double length = s2_length(edge);
  S2Vec2 along = s2_scale(1 / length, edge);
  int count = 0;
  Cover open = {0, length, 0};
  for (int k = 0; k < joints->near_count; k++) {
    const S2Shape *other = &joints->pieces[joints->near[k]];
    // The edge is covered where the points just outside it are in the other piece.
    Cover cover = {.distance = sides_distance(joints, piece, joints->near[k])};
    S2Vec2 beside = s2_add_scaled(p, cover.distance, s2_right(along));
    if (sides_clip(other, beside, along, length, cover.distance / 2, &cover.from, &cover.to) &&
        cover.to - cover.from > SHORT * cover.distance) {
      covers[count++] = cover;
      open.distance = fmax(open.distance, cover.distance);
    }
  }
  // Remove covered parts at both ends, until none is left there.
  for (bool more = true; more;) {
    more = false;
    for (int k = 0; k < count; k++) {
      double slack = SHORT * covers[k].distance;
      if (covers[k].from <= open.from + slack && covers[k].to > open.from) {
        open.from = covers[k].to;
        more = true;
      }
      if (covers[k].to >= open.to - slack && covers[k].from < open.to) {
        open.to = covers[k].from;
        more = true;
      }
    }
  }
  return open;
}

static bool sides_inner(const Cover *open) {
  return open->to - open->from <= SHORT * open->distance;
}

// ---- Vertices ---------------------------------------------------------------------------------

// The wedge that a shape fills around a point. It extends counter-clockwise from direction `out` to
// direction `back`. If the point is inside, the shape fills all directions.
typedef struct Wedge {
  S2Vec2 out, back;
  bool all;
} Wedge;

static bool sides_wedge(const S2Shape *shape, S2Vec2 point, double distance, Wedge *wedge) {
  *wedge = (Wedge){.all = true};
  for (int i = 0; i < shape->count; i++) {
    S2Vec2 v = shape->vertices[i], along = sides_unit(s2_sub(sides_next(shape, i), v));
    double height = s2_dot(s2_right(along), s2_sub(point, v));
    if (height > distance) {
      return false;
    }
    if (height >= -distance) {
      // The point is on this edge. If it is a vertex, it is also on an adjacent edge.
      S2Vec2 before = shape->vertices[i > 0 ? i - 1 : shape->count - 1];
      bool at_start = s2_length(s2_sub(point, v)) <= 2 * distance;
      bool at_end = s2_length(s2_sub(point, sides_next(shape, i))) <= 2 * distance;
      if (!at_end) {
        *wedge = (Wedge){along, at_start ? sides_unit(s2_sub(before, v)) : s2_neg(along), false};
      }
    }
  }
  return true;
}

// Returns the angle in rad from direction a counter-clockwise to direction b. It is between
// -SAME_ANGLE and 2 PI - SAME_ANGLE.
static double sides_turn(S2Vec2 a, S2Vec2 b) {
  double angle = atan2(s2_cross(a, b), s2_dot(a, b));
  return angle < -SAME_ANGLE ? angle + 2 * PI : angle;
}

// Extends the wedge of a piece at a vertex by the wedges of its neighbours, until both of its sides
// are on the outline. Returns false if the pieces surround the vertex.
static bool sides_grow(const Joints *joints, int piece, S2Vec2 vertex, Wedge *wedge) {
  double solid = sides_turn(wedge->out, wedge->back);
  for (bool more = true; more;) {
    more = false;
    for (int k = 0; k < joints->near_count; k++) {
      const S2Shape *other = &joints->pieces[joints->near[k]];
      double distance = sides_distance(joints, piece, joints->near[k]);
      Wedge beside;
      if (!sides_wedge(other, vertex, distance, &beside)) {
        continue;
      }
      double extent = beside.all ? 2 * PI : sides_turn(beside.out, beside.back);
      // Compute the angles by which the other wedge extends beyond this one on each side.
      double right = sides_turn(beside.out, wedge->out),
             left = sides_turn(wedge->back, beside.back);
      bool to_right = right > SAME_ANGLE && right <= extent + SAME_ANGLE;
      bool to_left = left > SAME_ANGLE && left <= extent + SAME_ANGLE;
      solid += (to_right ? right : 0) + (to_left ? left : 0);
      if (beside.all || solid >= 2 * PI - SAME_ANGLE) {
        return false;
      }
      wedge->out = to_right ? beside.out : wedge->out;
      wedge->back = to_left ? beside.back : wedge->back;
      more = more || to_right || to_left;
    }
  }
  return true;
}

// ---- All pieces -------------------------------------------------------------------------------

static bool sides_take_part(const S2Shape *shape) {
  return shape->count > 2 && shape->radius == 0;
}

static void sides_find_near(Joints *joints, int place) {
  Part *part = &joints->parts[place];
  double grow = JOINED * joints->sizes[part->index];
  S2Box box = {{part->box.lo.x - grow, part->box.lo.y - grow},
               {part->box.hi.x + grow, part->box.hi.y + grow}};
  joints->near_count = 0;
  for (int k = 0; k < joints->count && joints->parts[k].box.lo.x <= box.hi.x; k++) {
    if (k != place && s2_box_overlap(joints->parts[k].box, box)) {
      joints->near[joints->near_count++] = joints->parts[k].index;
    }
  }
}

// Returns the minimum distance in m between two parallel lines that enclose the shape.
static double sides_width(const S2Shape *shape) {
  double least = INFINITY;
  for (int i = 0; i < shape->count; i++) {
    S2Vec2 v = shape->vertices[i], normal = s2_right(sides_unit(s2_sub(sides_next(shape, i), v)));
    double width = 0;
    for (int k = 0; k < shape->count; k++) {
      width = fmax(width, -s2_dot(normal, s2_sub(shape->vertices[k], v)));
    }
    least = fmin(least, width);
  }
  return least;
}

static double sides_overhang(const Joints *joints, int piece) {
  double width = sides_width(&joints->pieces[piece]);
  for (int k = 0; k < joints->near_count; k++) {
    width = fmin(width, sides_width(&joints->pieces[joints->near[k]]));
  }
  return OVERHANG * width;
}

// Computes the sides of one piece. Returns NULL if it has no neighbour.
static S2Side *sides_of(const Joints *joints, int piece, Cover *covers, S2Arena *arena) {
  const S2Shape *shape = &joints->pieces[piece];
  int n = shape->count;
  Cover *open = S2_TAKE(arena, Cover, n);
  bool joined = false;
  for (int i = 0; i < n; i++) {
    open[i] = sides_open(joints, piece, i, covers);
    joined = joined || open[i].distance > 0;
  }
  if (!joined) {
    return NULL;
  }
  S2Side *sides = S2_TAKE_ZEROED(arena, S2Side, n);
  double overhang = sides_overhang(joints, piece);
  for (int i = 0; i < n; i++) {
    int before = i > 0 ? i - 1 : n - 1;
    S2Vec2 v = shape->vertices[i], back = s2_sub(shape->vertices[before], v);
    Wedge wedge = {sides_unit(s2_sub(sides_next(shape, i), v)), sides_unit(back), false};
    double slack = 2 * fmax(open[i].distance, open[before].distance);
    bool inner = sides_inner(&open[i]), inner_before = sides_inner(&open[before]);
    bool leaves = !inner && open[i].from == 0;
    bool arrives = !inner_before && open[before].to == s2_length(back);
    // The vertex belongs to this piece alone if both of its edges are open there.
    bool alone = leaves && arrives;
    if (alone || ((leaves || arrives) && sides_grow(joints, piece, v, &wedge))) {
      sides[i].in = s2_neg(wedge.back);
      sides[i].out = wedge.out;
      sides[i].owns_in = arrives;
      sides[i].owns_out = leaves;
    }
    // Extend an edge by the overhang at a concave corner, or if another piece covers its end.
    // Otherwise extend it by the slack.
    bool hollow = !alone && s2_cross(sides[i].in, sides[i].out) < -SAME_ANGLE;
    double from = hollow || !leaves ? overhang : slack, to = hollow || !arrives ? overhang : slack;
    sides[i].from = inner ? INFINITY : alone ? -INFINITY : open[i].from - from;
    sides[before].to = inner_before ? -INFINITY : alone ? INFINITY : open[before].to + to;
  }
  return sides;
}

void s2_sides(const S2Shape *pieces, int count, S2Arena *arena, S2Side **sides) {
  Joints joints = {.pieces = pieces,
                   .parts = S2_TAKE(arena, Part, count),
                   .sizes = S2_TAKE(arena, double, count)};
  for (int i = 0; i < count; i++) {
    S2Box box = s2_shape_box(&pieces[i], s2_pose(0, 0, 0));
    sides[i] = NULL;
    joints.sizes[i] = fmax(box.hi.x - box.lo.x, box.hi.y - box.lo.y);
    if (sides_take_part(&pieces[i])) {
      joints.parts[joints.count++] = (Part){i, box};
    }
  }
  if (joints.count < 2) {
    return;
  }
  qsort(joints.parts, (size_t)joints.count, sizeof *joints.parts, sides_compare);
  joints.near = S2_TAKE(arena, int, count);
  Cover *covers = S2_TAKE(arena, Cover, count);
  for (int k = 0; k < joints.count; k++) {
    int piece = joints.parts[k].index;
    sides_find_near(&joints, k);
    sides[piece] = sides_of(&joints, piece, covers, arena);
  }
}
