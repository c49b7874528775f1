// Private to core/diff: the derivatives of a world with respect to the inputs of a forward pass
// (s2_tape_jacobian). A column has one number for each place of the world, with the layout of a
// gradient.
#ifndef S2_WORLD_TANGENT_H
#define S2_WORLD_TANGENT_H

#include "diff/world/world_fields.h"

typedef struct S2WorldTangents {
  int columns;
  S2WorldGradient *of; // per column
  double *fresh;       // rows under construction, each with `columns` numbers
  size_t fresh_capacity;
} S2WorldTangents;

// All zeros, with the layout of `like`.
void s2_world_tangents_start(S2WorldTangents *tangents, const S2WorldGradient *like, int columns);
void s2_world_tangents_free(S2WorldTangents *tangents);
// Reserves memory for this many rows.
double *s2_world_tangents_fresh(S2WorldTangents *tangents, int rows);
// Adds bar times tangent to row[columns], summed over all places.
void s2_world_tangents_product(const S2WorldTangents *tangents, const S2WorldGradient *bar,
                               double *row);
// Adds factor times the tangent of a place to row[columns].
void s2_world_tangents_add(const S2WorldTangents *tangents, S2Place place, double factor,
                           double *row);
// Sets the tangent of a place to row[columns].
void s2_world_tangents_set(S2WorldTangents *tangents, S2Place place, const double *row);
// `to` becomes a copy of `from` (NULL: zero).
void s2_world_tangents_copy(S2WorldTangents *to, const S2WorldTangents *from);

// Lists the places that a step writes and whose adjoint in `bar` is not 0. Writes at most
// s2_world_stepped_most places and returns their number.
int s2_world_stepped_most(const S2WorldGradient *bar);
int s2_world_stepped_places(const S2WorldGradient *bar, S2Place *places);

#endif
