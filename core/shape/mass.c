#include "shape/shape.h"

#include <math.h>

static const double PI = 3.14159265358979323846; // because M_PI is not part of C17.

// The moments of a region about a reference point.
typedef struct Moments {
  double area;   // m^2
  S2Vec2 first;  // m^3
  double second; // polar, m^4
} Moments;

// Adds the triangle between the reference point and an edge p -> q.
static void add_triangle(Moments *sum, S2Vec2 p, S2Vec2 q) {
  double twice = s2_cross(p, q);
  sum->area += twice / 2;
  sum->first = s2_add_scaled(sum->first, twice / 6, s2_add(p, q));
  sum->second += twice / 12 * (s2_length2(p) + s2_dot(p, q) + s2_length2(q));
}

// Adds a rectangle of height `radius` on the edge p -> q.
static void add_strip(Moments *sum, S2Vec2 p, S2Vec2 q, S2Vec2 normal, double radius) {
  double length = s2_length(s2_sub(q, p));
  double area = length * radius;
  S2Vec2 middle = s2_add_scaled(s2_scale(0.5, s2_add(p, q)), radius / 2, normal);
  sum->area += area;
  sum->first = s2_add_scaled(sum->first, area, middle);
  sum->second += area * (s2_length2(middle) + (length * length + radius * radius) / 12);
}

// Adds the circular sector at a vertex, between the normals of the previous and the next edge.
// Integrating the unit vector over the angle gives right(to) - right(from).
static void add_sector(Moments *sum, S2Vec2 vertex, S2Vec2 from, S2Vec2 to, double angle,
                       double radius) {
  double area = angle * radius * radius / 2;
  // The first moment about the vertex is r^3 / 3 times the integral of the unit vector.
  S2Vec2 about_vertex =
      s2_scale(radius * radius * radius / 3, s2_sub(s2_right(to), s2_right(from)));
  sum->area += area;
  sum->first = s2_add(s2_add_scaled(sum->first, area, vertex), about_vertex);
  sum->second +=
      area * (s2_length2(vertex) + radius * radius / 2) + 2 * s2_dot(vertex, about_vertex);
}

static S2Vec2 edge_normal(S2Vec2 p, S2Vec2 q) {
  S2Vec2 along = s2_sub(q, p);
  return s2_scale(1 / s2_length(along), s2_right(along));
}

S2MassProperties s2_shape_mass(const S2Shape *shape) {
  int n = shape->count;
  S2Vec2 reference = {0, 0}; // near the centroid, so that the final shift loses no digits
  for (int i = 0; i < n; i++) {
    reference = s2_add_scaled(reference, 1.0 / n, shape->vertices[i]);
  }
  Moments sum = {0};
  if (n == 1) {
    S2Vec2 any = {1, 0};
    add_sector(&sum, s2_sub(shape->vertices[0], reference), any, any, 2 * PI, shape->radius);
  }
  // Add the core as triangles, a strip along each edge, and a sector at each vertex.
  for (int i = 0; n > 1 && i < n; i++) {
    S2Vec2 p = s2_sub(shape->vertices[i], reference);
    S2Vec2 q = s2_sub(shape->vertices[(i + 1) % n], reference);
    S2Vec2 r = s2_sub(shape->vertices[(i + 2) % n], reference);
    S2Vec2 normal = edge_normal(p, q);
    S2Vec2 next = edge_normal(q, r);
    double sine = s2_cross(normal, next);
    // avoids -0, which fmax may return
    double turn = atan2(sine > 0 ? sine : 0, s2_dot(normal, next));
    add_triangle(&sum, p, q);
    add_strip(&sum, p, q, normal, shape->radius);
    add_sector(&sum, q, normal, next, turn, shape->radius);
  }
  if (!(sum.area > 0)) { // a segment without radius is a uniform line
    double length = n == 2 ? s2_length(s2_sub(shape->vertices[1], shape->vertices[0])) : 0;
    return (S2MassProperties){
        .length = length, .centre = reference, .inertia = length * length * length / 12};
  }
  // Steiner's theorem: shift the moment from the reference point to the centroid.
  S2Vec2 centre = s2_scale(1 / sum.area, sum.first);
  return (S2MassProperties){
      .area = sum.area,
      .centre = s2_add(reference, centre),
      .inertia = sum.second - sum.area * s2_length2(centre),
  };
}
