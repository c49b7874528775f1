// The derivative of a pseudo-static equilibrium.
#ifndef S2_STATIC_VJP_H
#define S2_STATIC_VJP_H

#include "diff/step/trace.h"

// A traced step from rest under forces `f` (3 per slot), for a world in equilibrium. It leaves the
// world unchanged. The step uses the default settings, because an equilibrium does not depend on
// the settings of a step. The step projects all joints, however small their errors are.
S2Status s2_world_rest_traced(S2World *world, const double *f, S2Trace *trace);

// `trace` is the trace of such a step. `at` lists the entries (of 3 per slot) of the bodies that
// move. The function converts the gradient with respect to the state at rest to the gradient with
// respect to the state before the search, and adds to the gradients of parameters. The initial
// poses and velocities of the moving bodies have no effect. It returns S2_INVALID if bodies could
// also rest nearby and the gradient depends on their exact position.
S2Status s2_static_vjp(const S2Trace *trace, int count, const int32_t *at,
                       S2WorldGradient *gradient, S2Arena *arena);

#endif
