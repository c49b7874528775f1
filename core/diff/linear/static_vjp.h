// The derivative of a pseudo-static equilibrium.
#ifndef S2_STATIC_VJP_H
#define S2_STATIC_VJP_H

#include "diff/step/trace.h"

// A step from rest, of a world whose bodies are where they rest, with forces `f` (3 a slot). It
// leaves the world unchanged. The step has the default settings, and it projects joints however
// small their error is: the places at which bodies rest do not depend on the settings of a step.
S2Status s2_world_rest_traced(S2World *world, const double *f, S2Trace *trace);

// `trace` is of such a step; `at` are the numbers (of 3 a slot) of the bodies that move. Turns the
// gradient with respect to the state at rest into that before the search for it, of which poses and
// velocities of what moves do not matter, adding to the parameters. S2_INVALID where bodies could
// rest nearby as well and the gradient asks where.
S2Status s2_static_vjp(const S2Trace *trace, int count, const int32_t *at,
                       S2WorldGradient *gradient, S2Arena *arena);

#endif
