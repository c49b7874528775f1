// Records the hit of a ray on the tape. A ray from f to g hits at P = f + t d with d = g - f. The
// surface belongs to a feature at c with the outward normal n, and n'(P - c) = r for all motions.
// The normal of an edge rotates with the edge. At a vertex, n = (P - c)/r.
#include "diff/world/world_readings.h"
#include "dynamics/world/world.h"

#include <math.h>

static const double NEAR = 1e-11; // tolerance relative to the lengths from which a position is
                                  // computed.

// A number on which a hit depends. The members from `speed` on are derivatives with respect to it.
enum { ARGUMENTS = 4, MOST = ARGUMENTS + 3 + 1 + 4 };
typedef struct Source {
  S2Place place; // for arguments of the ray: `slot` is the index of the argument
  bool argument;
  double speed;   // of the surface along the normal, relative to the ray
  S2Vec2 carried; // of the point, if the fraction does not change
  double turn;    // of the angle of an edge normal
  S2Vec2 centre;  // of the centre of an arc
} Source;

typedef struct Hit {
  S2Vec2 along, point, normal;
  double fraction;
  double radius; // m, distance of the point from the centre of the arc
  bool arc;
  bool held; // true if the ray starts on the surface, so the fraction is 0
  int sources;
  Source source[MOST];
} Hit;

static Source *ray_add(Hit *hit, S2PlaceKind kind, int32_t slot, int number) {
  Source *source = &hit->source[hit->sources++];
  *source = (Source){.place = s2_place(kind, slot, number)};
  return source;
}

static S2Vec2 ray_axis(int c) {
  return s2_vec2(c == 0, c == 1);
}

static void add_ray(Hit *hit) {
  for (int i = 0; i < ARGUMENTS; i++) {
    double part = i < 2 ? 1 - hit->fraction : hit->fraction;
    Source *source = ray_add(hit, S2_PLACE_Q, i, 0);
    source->argument = true;
    source->carried = s2_scale(part, ray_axis(i % 2));
    source->speed = -s2_dot(hit->normal, source->carried);
  }
}

static void ray_add_pose(Hit *hit, int32_t slot, S2Pose pose, S2Vec2 centre) {
  S2Vec2 turn = s2_left(s2_sub(hit->point, pose.position));
  Source *angle = ray_add(hit, S2_PLACE_Q, slot, 0);
  angle->speed = s2_dot(hit->normal, turn);
  angle->turn = 1;
  angle->centre = s2_left(s2_sub(centre, pose.position));
  for (int c = 0; c < 2; c++) {
    Source *place = ray_add(hit, S2_PLACE_Q, slot, 1 + c);
    place->speed = s2_dot(hit->normal, ray_axis(c));
    place->centre = ray_axis(c);
  }
}

static void ray_add_vertex(Hit *hit, int32_t vertex, S2Pose pose, double part, double turn) {
  for (int c = 0; c < 2; c++) {
    S2Vec2 moved = s2_rotate(pose.rotation, ray_axis(c));
    Source *source = ray_add(hit, S2_PLACE_VERTEX, vertex, c);
    source->speed = part * s2_dot(hit->normal, moved);
    source->turn = turn * s2_dot(hit->normal, moved);
    source->centre = moved;
  }
}

// Returns the first vertex of the edge on whose surface the point lies; *end receives its second
// vertex. For a rounded corner, both are the vertex of the corner. Returns -1 if there is no such
// edge.
static int ray_feature(const S2Shape *shape, S2Vec2 point, S2Vec2 normal, int *end, double *part) {
  // The point of the core polygon below the surface point. Near a vertex the surface is a rounded
  // corner.
  S2Vec2 core = s2_add_scaled(point, -shape->radius, normal);
  for (int i = 0; i < shape->count && shape->radius > 0; i++) {
    S2Vec2 off = s2_sub(core, shape->vertices[i]);
    if (s2_length(off) <= NEAR * (s2_length(point) + shape->radius)) {
      *end = i;
      return i;
    }
  }
  // Otherwise take the edge whose normal and extent fit best.
  int best = -1;
  double least = INFINITY;
  for (int i = 0; i < shape->count && shape->count > 1; i++) {
    int to = i + 1 < shape->count ? i + 1 : 0;
    S2Vec2 edge = s2_sub(shape->vertices[to], shape->vertices[i]);
    double length = s2_length(edge);
    double at = s2_dot(s2_sub(core, shape->vertices[i]), edge) / (length * length);
    double askew = s2_length(s2_sub(s2_scale(1 / length, s2_right(edge)), normal));
    double off = askew + fmax(0, fmax(-at, at - 1));
    if (off < least) {
      least = off;
      best = i;
      *end = to;
      *part = at;
    }
  }
  return best;
}

// If a ray runs along the line of a segment without radius, the segment's end acts like a wall
// perpendicular to the ray.
static void ray_add_end(Hit *hit, const S2World *world, const S2Piece *piece, S2Vec2 local) {
  S2Pose pose = s2_slot_pose(world->q.at, piece->body);
  const S2Vec2 *v = world->vertices.at + piece->first_vertex;
  int end = s2_length2(s2_sub(v[1], local)) < s2_length2(s2_sub(v[0], local));
  add_ray(hit);
  ray_add_pose(hit, piece->body, pose, s2_pose_point(pose, v[end]));
  ray_add_vertex(hit, piece->first_vertex + end, pose, 1, 0);
  for (int i = 0; i < hit->sources; i++) { // the ray determines the normal, which does not rotate
    hit->source[i].turn = 0;
  }
}

static bool ray_look_at(Hit *hit, const S2World *world, int32_t index) {
  const S2Piece *piece = &world->pieces.at[index];
  S2Shape shape = s2_piece_shape(world, piece);
  S2Pose pose = s2_slot_pose(world->q.at, piece->body);
  int end = 0;
  double part = 0;
  S2Vec2 local = s2_pose_local(pose, hit->point), n = s2_unrotate(pose.rotation, hit->normal);
  bool bare = shape.count == 2 && shape.radius == 0;
  if (bare && fabs(s2_cross(n, s2_sub(shape.vertices[1], shape.vertices[0]))) <
                  fabs(s2_dot(n, s2_sub(shape.vertices[1], shape.vertices[0])))) {
    ray_add_end(hit, world, piece, local);
    return true;
  }
  int start = ray_feature(&shape, local, n, &end, &part);
  if (start < 0) {
    return false;
  }
  // Add the sources that move the surface: the ray itself, the pose, the radius and the vertices.
  hit->arc = start == end;
  hit->radius = s2_length(s2_sub(local, shape.vertices[start]));
  add_ray(hit);
  ray_add_pose(hit, piece->body, pose, s2_pose_point(pose, shape.vertices[start]));
  ray_add(hit, S2_PLACE_PIECE, index, 0)->speed = 1; // its radius
  if (hit->arc) {
    ray_add_vertex(hit, piece->first_vertex + start, pose, 1, 0);
  } else {
    // Both ends of an edge are sources, weighted by their proximity to the point.
    double length = s2_length(s2_sub(shape.vertices[end], shape.vertices[start]));
    ray_add_vertex(hit, piece->first_vertex + start, pose, 1 - part, 1 / length);
    ray_add_vertex(hit, piece->first_vertex + end, pose, part, -1 / length);
  }
  if (hit->arc) { // the normal of an arc follows from the point and the centre
    for (int i = 0; i < hit->sources; i++) {
      hit->source[i].turn = 0;
    }
  }
  return true;
}

static S2Var ray_read(S2WorldTape *tape, const S2World *world, const Hit *hit, int count,
                      const double *values, double slope[][MOST], int arguments,
                      const S2Argument *argument) {
  S2Term terms[2 * MOST];
  int used = 0;
  for (int i = 0; i < count * hit->sources; i++) {
    const Source *source = &hit->source[i % hit->sources];
    S2Term term = {.to = i / hit->sources, .source = source->place};
    term.factor = slope[i / hit->sources][i % hit->sources];
    // Add terms only for arguments of the ray that the script tracks.
    for (int k = 0; k < arguments && source->argument; k++) {
      term.from = argument[k].which == source->place.slot ? argument[k].var : term.from;
    }
    if (term.factor != 0 && (!source->argument || term.from != 0)) {
      terms[used++] = term;
    }
  }
  return s2_world_tape_read(tape, world, count, values, used, terms);
}

S2RayVars s2_world_tape_ray(S2WorldTape *tape, const S2World *world, S2Vec2 from, S2Vec2 to,
                            const S2RayResult *result, int arguments, const S2Argument *argument) {
  Hit hit = {.along = s2_sub(to, from),
             .point = result->point,
             .normal = result->normal,
             .fraction = result->fraction};
  unsigned flags = 0;
  int32_t slot = (int32_t)result->body.index - 1, index = world->bodies.at[slot].first_shape;
  // Find the shape of the body that was hit.
  for (; index != S2_NONE; index = world->pieces.at[index].next) {
    S2Shape shape = s2_piece_shape(world, &world->pieces.at[index]);
    S2RayHit again = s2_shape_raycast(&shape, s2_slot_pose(world->q.at, slot), from, to);
    if (again.hit && again.fraction == result->fraction) {
      // If the ray moves slightly, it may hit another feature or miss.
      flags = again.on_surface ? S2_GRADIENT_WEAK : 0;
      hit.held = again.on_surface && again.fraction == 0;
      break;
    }
  }
  if (index == S2_NONE || !ray_look_at(&hit, world, index)) {
    return (S2RayVars){0};
  }
  s2_world_tape_flag(tape, flags);
  // fraction = n'(P - f)/n'd, so its rate is the surface speed along n divided by n'd.
  double closing = s2_dot(hit.normal, hit.along);
  double fraction[1][MOST] = {{0}}, point[2][MOST] = {{0}}, normal[2][MOST] = {{0}};
  for (int i = 0; i < hit.sources; i++) {
    const Source *source = &hit.source[i];
    double by = hit.held ? 0 : source->speed / closing;
    // The point moves along the ray. On an arc the normal rotates with the point.
    S2Vec2 moved = s2_add_scaled(source->carried, by, hit.along), turned;
    turned = s2_scale(source->turn, s2_left(hit.normal));
    if (hit.arc) {
      S2Vec2 off = s2_sub(moved, source->centre);
      turned = s2_scale(1 / hit.radius, s2_add_scaled(off, -s2_dot(off, hit.normal), hit.normal));
    }
    fraction[0][i] = by;
    point[0][i] = moved.x;
    point[1][i] = moved.y;
    normal[0][i] = turned.x;
    normal[1][i] = turned.y;
  }
  // Create three nodes of the tape.
  const double at[2] = {hit.point.x, hit.point.y}, n[2] = {hit.normal.x, hit.normal.y};
  return (S2RayVars){
      .point = ray_read(tape, world, &hit, 2, at, point, arguments, argument),
      .normal = ray_read(tape, world, &hit, 2, n, normal, arguments, argument),
      .fraction = ray_read(tape, world, &hit, 1, &hit.fraction, fraction, arguments, argument),
  };
}
