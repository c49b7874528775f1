// Force laws of the program: continuous forces, as functions of the state and of the time.
//
// A piece of length h moves positions by q1 = q0 + h ((1 - share) v0 + share v1), where v1 results
// from the force L(q0, v0, t0). The piece ends with the velocity
//
//     v = v1 + h/(2 W) (L(q0 + w (q1 - q0), v, t0 + w h) - L(q0, v0, t0)),    w = 2 (1 - share)
//
// At share = 1/2 this is velocity Verlet, with the trapezoidal rule for velocity-dependent terms:
// order 2, and symplectic for springs. At share = 1 it is symplectic Euler. In islands with joints,
// and with predictive rows, laws are evaluated only at the start.
#ifndef S2_LAWS_H
#define S2_LAWS_H

#include "dynamics/step/context.h"

typedef struct S2LawAnswer S2LawAnswer; // trace/notes.h

// The state of bodies outside the present island at the start of the step. Laws see these bodies in
// free flight from that state.
typedef struct S2LawFrame {
  const double *q, *v, *free_v; // 3 per slot
  double done;                  // s: from the start of the step to the start of the piece
} S2LawFrame;

// Whether a law acts on the body.
static inline bool s2_step_lawful(const S2Step *step, int32_t slot) {
  const S2World *world = step->world;
  const S2Body *body = &world->bodies.at[slot];
  return body->has_law && body->enabled && body->type == S2_DYNAMIC &&
         world->callbacks.force != NULL;
}
// Whether a law acts on a body of the island.
bool s2_island_lawful(const S2Step *step, const S2Island *island);

// The following functions return false if aborted. s2_laws_begin is called once for each step: it
// finds the bodies with laws, and evaluates the laws at q0, v0, t.
bool s2_laws_begin(S2Step *step);
// Restores the forces of s2_laws_begin, because the step is repeated from its start.
void s2_laws_back_to_begin(S2Step *step);
// Evaluates laws again at the present q0, v0, t, so that `force` of their bodies belongs to a piece
// that begins there. `island` NULL: for all bodies.
bool s2_laws_set_out(S2Step *step, const S2Island *island, const S2LawFrame *frame);
// Ends a piece: computes v1 and v2 of the island's bodies with laws. The forces of these bodies
// become the means of their values at both ends. *changed: whether a force differs between the
// ends. `island` NULL: only v2 of bodies in no island.
bool s2_laws_arrive(S2Step *step, const S2Island *island, const S2LawFrame *frame, bool *changed);

// Evaluates the laws of the island's bodies at q and v (3 per slot), frame->done s after the
// frame's start, and writes their forces to `law` (3 per slot). The step does not change.
// `answers`: NULL, or one for each of those bodies, in the order of the island; their terms stay in
// the arena of the step.
bool s2_laws_look(S2Step *step, const S2Island *island, const S2LawFrame *frame, const double *q,
                  const double *v, double *law, S2LawAnswer *answers);

// x = A^-1 x with A = 1 - diag(c) D, 3 x 3; `transposed`: A'. A singular system leaves x unchanged.
void s2_laws_solve(const double c[3], const double d[9], bool transposed, double x[3]);

#endif
