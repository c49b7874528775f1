// Force laws of the program: continuous forces, as functions of the state and of the time.
//
// A piece of a step of length h that carries positions by q1 = q0 + h ((1 - share) v0 + share v1),
// v1 with the force L(q0, v0, t0), ends with the velocity
//
//     v = v1 + h/(2 W) (L(q0 + w (q1 - q0), v, t0 + w h) - L(q0, v0, t0)),    w = 2 (1 - share)
//
// which at share = 1/2 is velocity Verlet with the trapezoid for what depends on velocities: order
// 2, and for springs symplectic. At share = 1 it is symplectic Euler. In islands with joints, and
// where rows look ahead, laws are asked at the start alone.
#ifndef S2_LAWS_H
#define S2_LAWS_H

#include "dynamics/step/context.h"

typedef struct S2LawAnswer S2LawAnswer; // trace/notes.h

// The state of bodies that are not in the island at hand, from the start of the step on: laws see
// them as they would fly.
typedef struct S2LawFrame {
  const double *q, *v, *free_v; // 3 a slot
  double done;                  // s, from there to the start of the piece
} S2LawFrame;

// Is there a law that acts on the body?
static inline bool s2_step_lawful(const S2Step *step, int32_t slot) {
  const S2World *world = step->world;
  const S2Body *body = &world->bodies.at[slot];
  return body->has_law && body->enabled && body->type == S2_DYNAMIC &&
         world->callbacks.force != NULL;
}
// Does one act on a body of the island?
bool s2_island_lawful(const S2Step *step, const S2Island *island);

// All false: aborted. Once a step: finds the bodies with laws, and asks at q0, v0, t.
bool s2_laws_begin(S2Step *step);
// The step is made again from its start: forces are those that s2_laws_begin found there.
void s2_laws_back_to_begin(S2Step *step);
// Asks again at q0, v0, t, which have moved: `force` of the bodies with laws is that of a piece
// that begins there. `island` NULL: of all bodies.
bool s2_laws_set_out(S2Step *step, const S2Island *island, const S2LawFrame *frame);
// The piece ends: v1 and v2 of the island's bodies with laws, and their forces are the means of
// both ends; *changed: some are others. `island` NULL: v2 of those that are in no island, alone.
bool s2_laws_arrive(S2Step *step, const S2Island *island, const S2LawFrame *frame, bool *changed);

// Laws of the island's bodies at q and v (3 a slot), frame->done s after the frame's start: their
// forces into `law` (3 a slot). Nothing of the step changes. `answers`: NULL, or one for each of
// those bodies, in the order of the island, whose terms stay in the arena of the step.
bool s2_laws_look(S2Step *step, const S2Island *island, const S2LawFrame *frame, const double *q,
                  const double *v, double *law, S2LawAnswer *answers);

// x = A^-1 x with A = 1 - diag(c) D, 3 x 3; `transposed`: A'. What is singular stays.
void s2_laws_solve(const double c[3], const double d[9], bool transposed, double x[3]);

#endif
