// dl/d(everything a world is made of), for one scalar l: arrays parallel to those of the world.
//
// A sweep over the steps of a world carries one of these from the end to the start. The state part
// (q, v, f, goals, kept impulses) is at every moment the derivative with respect to the state at
// that moment; the parameters add up over all steps that used them.
#ifndef S2_WORLD_GRADIENT_H
#define S2_WORLD_GRADIENT_H

#include "base/arena.h"
#include "base/status.h"
#include "base/vec.h"
#include "diff/tape/tape.h"
#include "diff/world/quiet.h"
#include "dynamics/dynamics.h"

typedef struct S2BodyGradient {
#define S2_BODY_NUMBER(ID, member, default, domain, most, unit, meaning) double member;
#include "dynamics/fields.def"
} S2BodyGradient;

typedef struct S2PieceGradient { // friction and restitution where the piece has its own
  double radius, friction, restitution;
} S2PieceGradient;

typedef struct S2WeightsGradient { // of S2JointWeights
  double linear, angular, matrix[9];
} S2WeightsGradient;

typedef struct S2JointGradient {
#define S2_JOINT_NUMBER(ID, member, type, array, count) type member array;
#define S2_JOINT_WEIGHTS(ID, member)                    S2WeightsGradient member;
#include "dynamics/fields.def"
} S2JointGradient;

// What acted at a contact point in the last step, as the sums that its impulses, its normal and
// what it turned are computed from. Touches are new ones in every step; a feature of a pair of
// shapes goes on.
typedef struct S2ContactGradient {
  int32_t shape_a, shape_b;
  uint32_t feature;
  S2Vec2 impulse;              // on a
  S2Vec2 press;                // of normal impulses alone, as vectors
  double angular_a, angular_b; // as in S2Contact
} S2ContactGradient;

typedef struct S2WorldGradient {
  int slots, pieces, vertices, joints;
  double *q, *v, *f; // 3 a body slot
  S2BodyGradient *body;
  S2PieceGradient *piece;
  S2Vec2 *vertex;
  S2JointGradient *joint;
  S2ContactGradient *contact; // those that somebody asked for
  int contacts;
  S2Vec2 gravity;
  double dt, alpha, beta, time;
  S2Tape *tape;   // what S2Slope.origin is a number of; NULL: those are constants
  unsigned flags; // S2GradientFlag, of all steps swept
  // Not 0 where a number of the world depends on a parameter; NULL: all may do so.
  const struct S2WorldGradient *tracked;
  S2Quiet *quiet; // what sweeps look for; NULL: nothing
} S2WorldGradient;

static inline bool s2_world_tracks(const S2WorldGradient *tracked, double number) {
  return tracked == NULL || number != 0;
}
// May the number `member` of item `slot` of an array depend on a parameter?
#define S2_TRACKS(gradient, array, count, slot, member)                                            \
  s2_world_tracks((gradient)->tracked,                                                             \
                  (gradient)->tracked != NULL && (slot) < (gradient)->tracked->count               \
                      ? (gradient)->tracked->array[slot].member                                    \
                      : 0)
#define S2_TRACKS_BODY(gradient, slot, member)  S2_TRACKS(gradient, body, slots, slot, member)
#define S2_TRACKS_PIECE(gradient, slot, member) S2_TRACKS(gradient, piece, pieces, slot, member)
#define S2_TRACKS_JOINT(gradient, slot, member) S2_TRACKS(gradient, joint, joints, slot, member)

// What a gradient is worth; 0: it is the derivative of what was computed.
typedef enum S2GradientFlag {
  S2_GRADIENT_WEAK = 1,         // a contact or bound was on the edge of two modes: one-sided
  S2_GRADIENT_REDUNDANT = 2,    // impulses were not unique
  S2_GRADIENT_UNDETERMINED = 4, // l asked for such an impulse
  S2_GRADIENT_SINGULAR = 8,     // a linear system was not solved: do not use the result
  S2_GRADIENT_PARTIAL = 16,     // something that docs/gradients.md lists was taken as constant, a
                                // solve that was to be smooth as exact, or one that missed its
                                // tolerance as solved
  S2_GRADIENT_GRAZING = 32,     // event: an impact at (nearly) no speed
  S2_GRADIENT_IMPACT = 64,      // an impact in a step of given length: derivatives do not know of
                                // its time
  S2_GRADIENT_TOGETHER = 128,   // event: points that met at one time; derivatives by what parts
                                // those times are not whole
  S2_GRADIENT_INFINITE = 256,   // a friction or restitution of 0 whose geometric mean with another
                                // number has an infinite derivative: it counts as constant
  S2_GRADIENT_JUMP =
      512, // a compliance (by two stages: a curve of a spring) of 0: steps with it are made another
           // way, and its derivative is left out, or (contacts that bounce) that of no bounce
} S2GradientFlag;

// Zero, large enough for this world as it is; grows (keeping contents) when asked again.
void s2_world_gradient_fit(S2WorldGradient *gradient, const S2World *world);
// The place of a contact point in `contact`, made where there is none.
int s2_world_gradient_contact(S2WorldGradient *gradient, int32_t shape_a, int32_t shape_b,
                              uint32_t feature);
void s2_contact_gradient_clear(S2ContactGradient *contact);
// Another of its size, in the arena: zero, and without contacts.
S2WorldGradient *s2_world_gradient_like(const S2WorldGradient *gradient, S2Arena *arena);
// As it is, in the arena, but for contacts (s2_memory_free(contact)), and without the tape.
S2WorldGradient *s2_world_gradient_copy(const S2WorldGradient *gradient, S2Arena *arena);
// Adds another of the same world or a copy of it; grows to its size.
void s2_world_gradient_add(S2WorldGradient *gradient, const S2WorldGradient *other);
void s2_world_gradient_clear(S2WorldGradient *gradient);
void s2_world_gradient_free(S2WorldGradient *gradient);

#endif
