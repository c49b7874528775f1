// Derivatives of what contacts bring into a problem: where the points are, materials, springs.
// Private to core/diff.
#ifndef S2_CONTACT_POINT_VJP_H
#define S2_CONTACT_POINT_VJP_H

#include "diff/world/world_gradient.h"
#include "dynamics/step/context.h"
#include "mcp/adjoint/mcp_vjp.h"

typedef struct S2PointBar { // adjoint of a point of a touch
  S2Vec2 normal, point, arm_b;
  double gap;
} S2PointBar;

typedef struct S2TouchBar { // adjoint of what its pair is made of
  double friction, restitution, surface_speed, compliance, damping, viscosity;
} S2TouchBar;

typedef struct S2PointSource { // adjoint of what a point is made of
  double qa[3], qb[3];
  double radius_a, radius_b;
  S2Vec2 local_a, local_b; // the vertices; of the edge's owner its start
  S2Vec2 edge_end;         // the end of the edge, where there is one
} S2PointSource;

// Normal, arms and gap of a manifold point as a function of poses (angle, x, y), radii and
// vertices; `edge` is end - start of the edge in its own frame (EDGE_A, EDGE_B). What does not
// decide the point is not looked at: the gap kept in `at`, its point.
S2PointSource s2_manifold_point_vjp(const S2ManifoldPoint *at, S2Vec2 edge, const double qa[3],
                                    const double qb[3], double radius_a, double radius_b,
                                    const S2PointBar *bar);

// The same of point k of a touch, into the gradient of the world's pieces and vertices, and into
// q_bar (3 a slot) at poses q.
void s2_touch_point_vjp(const S2World *world, const S2Touch *touch, int k, const double *q,
                        const S2PointBar *bar, double *q_bar, S2WorldGradient *gradient);

// Velocity of a against b at point k along a direction, times `bar`: to the velocities, the point
// and the direction.
void s2_touch_velocity_vjp(const S2Touch *touch, int k, S2Vec2 direction, const double *v,
                           double bar, double *v_bar, S2PointBar *point, S2Vec2 *direction_bar);

// Materials of a pair. What a pre-solve callback chose counts as constant.
void s2_touch_material_vjp(const S2World *world, const S2Touch *touch, const S2TouchBar *bar,
                           S2WorldGradient *gradient);

// s2_soften_gap: from the adjoint of the row's compliance and bias to the pair, and the rest.
typedef struct S2SoftGapBar {
  double gap, speed, h, alpha, beta;
} S2SoftGapBar;

S2SoftGapBar s2_soften_gap_vjp(double gap, double speed, double compliance, double damping,
                               S2Blend blend, double compliance_bar, double bias_bar,
                               S2TouchBar *touch);

// stick_vjp.c: dl/d(data) of the rows of two points of a pair with friction, the first of which is
// row `normal`. False: which of them gives way depends on the way the data change; it is the mean
// of both, `beyond` one of them.
bool s2_stick_vjp(const S2Problem *problem, const double *v, const double *lambda,
                  const double *dl_dlambda, int normal, bool beyond, S2McpGradient *data);

#endif
