#include "diff/joints/contact_vjp.h"
#include "dynamics/step/touch.h"

#include "collide/placed.h"

static const double NO_DIRECTION = 1e-12; // the same threshold as in collide/manifold.c

static void contact_turn_bar(S2Vec2 arm, S2Vec2 bar, double *angle) {
  *angle += s2_dot(s2_left(arm), bar);
}

static void contact_add(S2Vec2 *to, S2Vec2 what) {
  *to = s2_add(*to, what);
}

static void contact_add_scaled(S2Vec2 *to, double factor, S2Vec2 what) {
  *to = s2_add_scaled(*to, factor, what);
}

static double contact_magnitude(S2Vec2 p) {
  return fabs(p.x) + fabs(p.y);
}

// n = right(end - start)/length in the frame of the shape.
static void contact_edge_normal_bar(S2Vec2 edge, S2Vec2 bar, S2Vec2 *start, S2Vec2 *end) {
  double length = s2_length(edge);
  S2Vec2 along = s2_scale(1 / length, edge), normal = s2_right(along);
  S2Vec2 edge_bar = s2_scale(1 / length, s2_add_scaled(s2_left(bar), -s2_dot(normal, bar), along));
  contact_add(end, edge_bar);
  contact_add_scaled(start, -1, edge_bar);
}

S2PointSource s2_manifold_point_vjp(const S2ManifoldPoint *at, S2Vec2 edge, const double qa[3],
                                    const double qb[3], double radius_a, double radius_b,
                                    const S2PointBar *bar) {
  S2PointSource to = {0};
  // The two contact points relative to the centre of a. `from_b` points from b's point to a's
  // point.
  S2Rot turn_a = s2_rot(qa[0]), turn_b = s2_rot(qb[0]);
  S2Vec2 pa = s2_rotate(turn_a, at->local_a), arm = s2_rotate(turn_b, at->local_b);
  S2Vec2 pb = s2_add(s2_vec2(qb[1] - qa[1], qb[2] - qa[2]), arm);
  S2Vec2 from_b = s2_sub(pa, pb), n = at->normal;
  double distance = s2_length(from_b), sign = s2_dot(from_b, at->normal) < 0 ? -1 : 1;
  bool directed = distance > NO_DIRECTION * (contact_magnitude(pa) + contact_magnitude(pb));
  // The normal belongs to an edge, or points from one point to the other.
  if (at->feature == S2_EDGE_A) {
    n = s2_neg(s2_rotate(turn_a, at->local_normal));
  } else if (at->feature == S2_EDGE_B) {
    n = s2_rotate(turn_b, at->local_normal);
  } else if (directed) {
    n = s2_scale(sign / distance, from_b);
  }
  double gap = s2_dot(from_b, n) - radius_a - radius_b;

  // The point is half way between the surfaces, measured from a vertex.
  S2Vec2 n_bar = bar->normal, point = s2_add(bar->point, bar->arm_b), pa_bar = {0}, pb_bar = {0};
  double gap_bar = bar->gap;
  S2Vec2 apart = bar->arm_b; // arm_b = point + x_a - x_b
  if (at->feature == S2_EDGE_B) {
    contact_add(&pa_bar, point);
    contact_add_scaled(&n_bar, -(radius_a + gap / 2), point);
    gap_bar -= s2_dot(n, point) / 2;
    to.radius_a -= s2_dot(n, point);
  } else {
    contact_add(&pb_bar, point);
    contact_add_scaled(&n_bar, radius_b + gap / 2, point);
    gap_bar += s2_dot(n, point) / 2;
    to.radius_b += s2_dot(n, point);
  }
  // gap = n'(pa - pb) - radii
  contact_add_scaled(&n_bar, gap_bar, from_b);
  to.radius_a -= gap_bar;
  to.radius_b -= gap_bar;
  // The normal rotates with its edge, or with the line between the two points.
  S2Vec2 from_bar = s2_scale(gap_bar, n), normal_a = {0}, normal_b = {0};
  if (at->feature == S2_EDGE_A) {
    contact_turn_bar(n, n_bar, &to.qa[0]);
    normal_a = s2_neg(s2_unrotate(turn_a, n_bar));
  } else if (at->feature == S2_EDGE_B) {
    contact_turn_bar(n, n_bar, &to.qb[0]);
    normal_b = s2_unrotate(turn_b, n_bar);
  } else if (directed) {
    contact_add_scaled(&from_bar, sign / distance, s2_add_scaled(n_bar, -s2_dot(n, n_bar), n));
  }
  // Adjoints of the poses.
  contact_add(&pa_bar, from_bar);
  contact_add_scaled(&pb_bar, -1, from_bar);
  contact_turn_bar(pa, pa_bar, &to.qa[0]);
  contact_turn_bar(arm, pb_bar, &to.qb[0]);
  contact_add(&apart, s2_neg(pb_bar)); // pb = x_b - x_a + ...
  to.qa[1] += apart.x;
  to.qa[2] += apart.y;
  to.qb[1] -= apart.x;
  to.qb[2] -= apart.y;
  // Adjoints of the vertices, in the frames of their shapes.
  to.local_a = s2_unrotate(turn_a, pa_bar);
  to.local_b = s2_unrotate(turn_b, pb_bar);
  // Adjoints of both ends of the edge.
  if (at->feature == S2_EDGE_A) {
    contact_edge_normal_bar(edge, normal_a, &to.local_a, &to.edge_end);
  } else if (at->feature == S2_EDGE_B) {
    contact_edge_normal_bar(edge, normal_b, &to.local_b, &to.edge_end);
  }
  return to;
}

void s2_touch_point_vjp(const S2World *world, const S2Touch *touch, int k, const double *q,
                        const S2PointBar *bar, double *q_bar, S2WorldGradient *gradient) {
  enum { INDEX_BITS = 15, INDEX_MASK = (1 << INDEX_BITS) - 1 }; // of S2ManifoldPoint.id
  const S2ManifoldPoint *at = &touch->points[k].at;
  const S2Piece *a = &world->pieces.at[touch->shape_a], *b = &world->pieces.at[touch->shape_b];
  int index_a = (int)(at->id >> INDEX_BITS) & INDEX_MASK, index_b = (int)at->id & INDEX_MASK;
  // The contact feature determines the vertices.
  S2Vec2 edge = {0};
  int end = 0;
  if (at->feature != S2_VERTEX_VERTEX) {
    const S2Piece *owner = at->feature == S2_EDGE_A ? a : b;
    S2Shape shape = s2_piece_shape(world, owner);
    int start = at->feature == S2_EDGE_A ? index_a : index_b;
    end = s2_edge_end(&shape, start);
    edge = s2_sub(shape.vertices[end], shape.vertices[start]);
    end += owner->first_vertex;
  }
  S2PointSource to = s2_manifold_point_vjp(at, edge, q + 3 * touch->body_a, q + 3 * touch->body_b,
                                           a->radius, b->radius, bar);
  // Add them to the gradient of the world.
  for (int c = 0; c < 3; c++) {
    q_bar[3 * touch->body_a + c] += to.qa[c];
    q_bar[3 * touch->body_b + c] += to.qb[c];
  }
  gradient->piece[touch->shape_a].radius += to.radius_a;
  gradient->piece[touch->shape_b].radius += to.radius_b;
  contact_add(&gradient->vertex[a->first_vertex + index_a], to.local_a);
  contact_add(&gradient->vertex[b->first_vertex + index_b], to.local_b);
  if (at->feature != S2_VERTEX_VERTEX) {
    contact_add(&gradient->vertex[end], to.edge_end);
  }
}

void s2_touch_velocity_vjp(const S2Touch *touch, int k, S2Vec2 direction, const double *v,
                           double bar, double *v_bar, S2PointBar *point, S2Vec2 *direction_bar) {
  const S2TouchPoint *at = &touch->points[k];
  const double *va = v + 3 * touch->body_a, *vb = v + 3 * touch->body_b;
  double *to_a = v_bar + 3 * touch->body_a, *to_b = v_bar + 3 * touch->body_b;
  to_a[0] += bar * s2_cross(at->at.point, direction);
  to_b[0] -= bar * s2_cross(at->arm_b, direction);
  to_a[1] += bar * direction.x;
  to_a[2] += bar * direction.y;
  to_b[1] -= bar * direction.x;
  to_b[2] -= bar * direction.y;
  // cross(p, d) = d'(-left(p))... = p.x d.y - p.y d.x
  contact_add_scaled(&point->point, -bar * va[0], s2_left(direction));
  contact_add_scaled(&point->arm_b, bar * vb[0], s2_left(direction));
  contact_add_scaled(direction_bar, bar, s2_vec2(va[1] - vb[1], va[2] - vb[2]));
  contact_add_scaled(direction_bar, bar * va[0], s2_left(at->at.point));
  contact_add_scaled(direction_bar, -bar * vb[0], s2_left(at->arm_b));
}

// ---- Materials --------------------------------------------------------------------------------

typedef struct Combined { // a property of a shape or its body, and the adjoint of that property
  double value, *bar;
  bool tracked;
} Combined;

// Handles a combined property whose two values are equal. A parameter that changes both values gets
// the whole derivative, half of it through each value. If both values are 0 and a parameter changes
// only one of them, their minimum stays 0 and their maximum follows that value.
static void contact_equal_bar(S2Combine how, Combined a, Combined b, double bar) {
  bool alone = a.value == 0 && a.tracked != b.tracked;
  double part = !alone ? 0.5 : how == S2_COMBINE_MAX ? 1 : 0;
  *a.bar += a.tracked || !alone ? part * bar : 0;
  *b.bar += b.tracked || !alone ? part * bar : 0;
}

static void contact_geometric_bar(Combined a, Combined b, double bar, unsigned *flags) {
  double root = sqrt(a.value * b.value);
  if (root > 0) {
    *a.bar += bar * b.value / (2 * root);
    *b.bar += bar * a.value / (2 * root);
  } else if (a.value == 0 && b.value == 0) { // sqrt(x x) = x
    contact_equal_bar(S2_COMBINE_GEOMETRIC, a, b, bar);
  } else if (bar != 0 &&
             (a.value == 0 ? a : b).tracked) { // the derivative with respect to the other value is
                                               // 0
    *flags |= S2_GRADIENT_INFINITE;
  }
}

static void contact_combine_bar(S2Combine how, Combined of_a, Combined of_b, double bar,
                                unsigned *flags) {
  double a = of_a.value, b = of_b.value, *a_bar = of_a.bar, *b_bar = of_b.bar;
  switch (how) {
  case S2_COMBINE_GEOMETRIC:
    contact_geometric_bar(of_a, of_b, bar, flags);
    break;
  case S2_COMBINE_AVERAGE:
    *a_bar += bar / 2;
    *b_bar += bar / 2;
    break;
  case S2_COMBINE_MULTIPLY:
    *a_bar += bar * b;
    *b_bar += bar * a;
    break;
  case S2_COMBINE_MIN:
  case S2_COMBINE_MAX:
    if (a == b) {
      contact_equal_bar(how, of_a, of_b, bar);
    } else {
      *((how == S2_COMBINE_MIN) == (a < b) ? a_bar : b_bar) += bar;
    }
    break;
  }
}

// A value that is set on a shape takes precedence over the value of its body.
// NOLINTBEGIN(bugprone-macro-parentheses): `number` is the name of a member
#define COMBINED(number, side)                                                                     \
  (isnan(p##side->number) ? (Combined){side->number, &body_##side->number,                         \
                                       S2_TRACKS_BODY(gradient, touch->body_##side, number)}       \
                          : (Combined){p##side->number, &piece_##side->number,                     \
                                       S2_TRACKS_PIECE(gradient, touch->shape_##side, number)})
// NOLINTEND(bugprone-macro-parentheses)

void s2_touch_material_vjp(const S2World *world, const S2Touch *touch, const S2TouchBar *bar,
                           S2WorldGradient *gradient) {
  const S2WorldDef *def = &world->kept.def;
  const S2Piece *pa = &world->pieces.at[touch->shape_a], *pb = &world->pieces.at[touch->shape_b];
  const S2Body *a = &world->bodies.at[touch->body_a], *b = &world->bodies.at[touch->body_b];
  S2BodyGradient *body_a = &gradient->body[touch->body_a];
  S2BodyGradient *body_b = &gradient->body[touch->body_b];
  S2PieceGradient *piece_a = &gradient->piece[touch->shape_a];
  S2PieceGradient *piece_b = &gradient->piece[touch->shape_b];
  // A value that differs from the material's own value was set by a callback. It counts as a
  // constant.
  S2Touch made = *touch; // the material as it is without a callback
  s2_touch_set_material(world, &made);
  if (def->contact != S2_FRICTIONLESS && made.friction == touch->friction) {
    contact_combine_bar(def->combine_friction, COMBINED(friction, a), COMBINED(friction, b),
                        bar->friction, &gradient->flags);
  }
  if (made.restitution == touch->restitution) {
    contact_combine_bar(def->combine_restitution, COMBINED(restitution, a),
                        COMBINED(restitution, b), bar->restitution, &gradient->flags);
  }
  // Surface speeds and viscosities are sums.
  if (made.surface_speed == touch->surface_speed) {
    body_a->surface_speed += bar->surface_speed;
    body_b->surface_speed += bar->surface_speed;
  }
  body_a->contact_viscosity += bar->viscosity;
  body_b->contact_viscosity += bar->viscosity;
  // Two springs in series: their compliances add up.
  double sum = touch->compliance;
  if (sum > 0) { // d = (Ca^2 da + Cb^2 db)/C^2
    double part_a = a->contact_compliance / sum, part_b = b->contact_compliance / sum;
    double less = bar->compliance - 2 * bar->damping * touch->damping / sum;
    body_a->contact_compliance += less + 2 * bar->damping * part_a * a->contact_damping / sum;
    body_b->contact_compliance += less + 2 * bar->damping * part_b * b->contact_damping / sum;
    body_a->contact_damping += bar->damping * part_a * part_a;
    body_b->contact_damping += bar->damping * part_b * part_b;
  } else {
    body_a->contact_compliance += bar->compliance;
    body_b->contact_compliance += bar->compliance;
  }
}

// C' = C/(h alpha D), b = (gap + (h alpha (1 - beta) + d C (1 - alpha)) u_k)/(alpha D), with D = h
// beta + d C. An open contact has b = gap/h and alpha = beta = 1.
S2SoftGapBar s2_soften_gap_vjp(double gap, double speed, double compliance, double damping,
                               S2Blend blend, double compliance_bar, double bias_bar,
                               S2TouchBar *touch) {
  bool pressed = gap < 0;
  double c = compliance, d = damping, h = blend.h;
  double alpha = pressed ? blend.alpha : 1, beta = pressed ? blend.beta : 1;
  double sum = h * beta + d * c, give = compliance_bar * c / (h * alpha * sum);
  // Adjoint of C', which open contacts also have.
  touch->compliance += compliance_bar * beta / (alpha * sum * sum);
  touch->damping -= give * c / sum;
  S2SoftGapBar to = {.h = -give * (1 / h + beta / sum)};
  // b = gap/h
  if (!pressed) {
    to.gap = bias_bar / h;
    to.h -= bias_bar * gap / (h * h);
    return to;
  }
  // b = (gap + part u_k)/(alpha D)
  double part = h * alpha * (1 - beta) + d * c * (1 - alpha), known = bias_bar / (alpha * sum);
  double bias = known * (gap + part * speed); // the bias, times its adjoint
  to.gap = known;
  to.speed = known * part;
  touch->compliance += known * d * (1 - alpha) * speed - bias * d / sum;
  touch->damping += known * c * (1 - alpha) * speed - bias * c / sum;
  to.h += known * alpha * (1 - beta) * speed - bias * beta / sum;
  to.alpha = known * (h * (1 - beta) - d * c) * speed - (give + bias) / alpha;
  to.beta = -known * h * alpha * speed - (give + bias) * h / sum;
  return to;
}
