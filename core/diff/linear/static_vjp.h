// The derivative of a pseudo-static equilibrium.
#ifndef S2_STATIC_VJP_H
#define S2_STATIC_VJP_H

#include "diff/step/trace.h"

// Records a step from rest under the forces `f` (3 per slot). The world must be in equilibrium and
// does not change. The step uses default settings, because the equilibrium does not depend on them.
// It projects all joints, however small their errors are.
S2Status s2_world_rest_traced(S2World *world, const double *f, S2Trace *trace);

// Differentiates through the search for an equilibrium. `trace` comes from s2_world_rest_traced.
// `at` lists the entries (3 per slot) of the bodies that move. Converts the
// gradient with respect to the state at rest to the gradient with respect to the state before the
// search, and adds to the gradients of parameters. The initial poses and velocities of the moving
// bodies have no effect.
// Returns S2_INVALID if bodies could also rest nearby and the gradient depends on their exact
// position.
S2Status s2_static_vjp(const S2Trace *trace, int count, const int32_t *at,
                       S2WorldGradient *gradient, S2Arena *arena);

#endif
