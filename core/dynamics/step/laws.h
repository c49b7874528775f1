// Force laws of the program: continuous forces that are functions of the state and the time.
//
// In a piece of length h, positions move to q1 = q0 + h ((1 - share) v0 + share v1). The velocity
// v1 results from the force L(q0, v0, t0). The piece ends with the velocity
//
//     v = v1 + h/(2 W) (L(q0 + w (q1 - q0), v, t0 + w h) - L(q0, v0, t0)),    w = 2 (1 - share).
//
// With share = 1/2, this is velocity Verlet with the trapezoidal rule for velocity-dependent terms.
// It is of second order, and symplectic for springs. With share = 1, it is symplectic Euler. In
// islands with joints or predictive rows, laws are evaluated only at the start.
#ifndef S2_LAWS_H
#define S2_LAWS_H

#include "dynamics/step/context.h"

typedef struct S2LawAnswer S2LawAnswer; // defined in trace/notes.h.

// The state at the start of the step of bodies outside the current island. Laws see these bodies in
// free flight from that state.
typedef struct S2LawFrame {
  const double *q, *v, *free_v; // 3 per slot
  double done;                  // time from the start of the step to the start of the piece (s)
} S2LawFrame;

// Returns true if a force law acts on the body.
static inline bool s2_step_lawful(const S2Step *step, int32_t slot) {
  const S2World *world = step->world;
  const S2Body *body = &world->bodies.at[slot];
  return body->has_law && body->enabled && body->type == S2_DYNAMIC &&
         world->callbacks.force != NULL;
}
// Returns true if a force law acts on a body of the island.
bool s2_island_lawful(const S2Step *step, const S2Island *island);

// These functions return false if aborted.
// s2_laws_begin is called once for each step. It finds the bodies with laws, and evaluates the laws
// at q0, v0, t.
bool s2_laws_begin(S2Step *step);
// Restores the forces of s2_laws_begin, because the step is repeated from its start.
void s2_laws_back_to_begin(S2Step *step);
// Evaluates the laws at the current q0, v0, t, for a piece that begins there, and sets `force` of
// their bodies. If `island` is NULL, does this for all bodies.
bool s2_laws_set_out(S2Step *step, const S2Island *island, const S2LawFrame *frame);
// Ends a piece: computes v1 and v2 of the island's bodies with laws. The force on such a body
// becomes the mean of its values at both ends of the piece. *changed is true if a force differs
// between both ends. If `island` is NULL, only computes v2 of bodies outside islands.
bool s2_laws_arrive(S2Step *step, const S2Island *island, const S2LawFrame *frame, bool *changed);

// Evaluates the laws of the island's bodies at q and v (3 per slot), at the time frame->done after
// the start of the frame. Writes their forces to `law` (3 per slot) and does not change the step.
// `answers` receives one answer for each body with a law, in the order of the island, and may be
// NULL. The terms of the answers stay in the arena of the step.
bool s2_laws_look(S2Step *step, const S2Island *island, const S2LawFrame *frame, const double *q,
                  const double *v, double *law, S2LawAnswer *answers);

// Computes x = A^-1 x with the 3 x 3 matrix A = 1 - diag(c) D. If `transposed` is true, uses A'. If
// A is singular, x is unchanged.
void s2_laws_solve(const double c[3], const double d[9], bool transposed, double x[3]);

#endif
