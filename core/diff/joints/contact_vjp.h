// Derivatives of the contact data in a problem: positions of points, materials and springs. Private
// to core/diff.
#ifndef S2_CONTACT_POINT_VJP_H
#define S2_CONTACT_POINT_VJP_H

#include "diff/world/world_gradient.h"
#include "dynamics/step/context.h"
#include "mcp/adjoint/mcp_vjp.h"

typedef struct S2PointBar { // adjoint of a contact point
  S2Vec2 normal, point, arm_b;
  double gap;
} S2PointBar;

typedef struct S2TouchBar { // adjoint of the material of a pair
  double friction, restitution, surface_speed, compliance, damping, viscosity;
} S2TouchBar;

typedef struct S2PointSource { // adjoints of the data from which a contact point is computed
  double qa[3], qb[3];
  double radius_a, radius_b;
  S2Vec2 local_a, local_b; // vertices; if the feature has an edge, the start of the edge
  S2Vec2 edge_end;         // the end of the edge, if there is one
} S2PointSource;

// Returns the adjoints of the data from which a contact point is computed: poses (angle, x, y),
// radii and vertices. `edge` is end - start of the edge in its own frame (EDGE_A, EDGE_B). The gap
// and the point stored in `at` are computed again, not read.
S2PointSource s2_manifold_point_vjp(const S2ManifoldPoint *at, S2Vec2 edge, const double qa[3],
                                    const double qb[3], double radius_a, double radius_b,
                                    const S2PointBar *bar);

// Passes on the adjoint of contact point k of a touch at the poses q. Adds to the gradient of the
// world's pieces and vertices, and to q_bar (3 per slot).
void s2_touch_point_vjp(const S2World *world, const S2Touch *touch, int k, const double *q,
                        const S2PointBar *bar, double *q_bar, S2WorldGradient *gradient);

// Differentiates the speed of a relative to b at point k along a direction. `bar` is the adjoint of
// that speed. Adds to the adjoints of the velocities, the point and the direction.
void s2_touch_velocity_vjp(const S2Touch *touch, int k, S2Vec2 direction, const double *v,
                           double bar, double *v_bar, S2PointBar *point, S2Vec2 *direction_bar);

// Passes on the adjoint of the material of a pair. Values that a pre-solve callback chose count as
// constants.
void s2_touch_material_vjp(const S2World *world, const S2Touch *touch, const S2TouchBar *bar,
                           S2WorldGradient *gradient);

// Adjoint of s2_soften_gap: passes the adjoints of the row's compliance and bias on to the pair and
// to these arguments.
typedef struct S2SoftGapBar {
  double gap, speed, h, alpha, beta;
} S2SoftGapBar;

S2SoftGapBar s2_soften_gap_vjp(double gap, double speed, double compliance, double damping,
                               S2Blend blend, double compliance_bar, double bias_bar,
                               S2TouchBar *touch);

// Computes dl/d(data) for the rows of two contact points of a pair with friction (stick_vjp.c).
// `normal` is the first of these rows. Returns false if it depends on the direction of a change
// which of the two points slides first. The result is then the mean of both derivatives or, with
// `beyond`, one of them.
bool s2_stick_vjp(const S2Problem *problem, const double *v, const double *lambda,
                  const double *dl_dlambda, int normal, bool beyond, S2McpGradient *data);

#endif
