// dl/d(every number of a world) for one scalar l: arrays parallel to the world's arrays.
//
// A sweep over the steps of a world carries one gradient from the end to the start. Its state part
// (q, v, f, goals, kept impulses) is at every moment the derivative with respect to the state at
// that moment. The parameters are sums over all steps that used them.
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

typedef struct S2PieceGradient { // friction and restitution if the piece has its own
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

// Impulses at a contact point in the last step, as sums. The contact's impulses, its normal and its
// angular impulses are computed from these sums. Each step makes new touches, but a feature of a
// pair of shapes persists.
typedef struct S2ContactGradient {
  int32_t shape_a, shape_b;
  uint32_t feature;
  S2Vec2 impulse;              // on a
  S2Vec2 press;                // sum of normal impulses alone, as vectors
  double angular_a, angular_b; // as in S2Contact
} S2ContactGradient;

typedef struct S2WorldGradient {
  int slots, pieces, vertices, joints;
  double *q, *v, *f; // 3 per body slot
  S2BodyGradient *body;
  S2PieceGradient *piece;
  S2Vec2 *vertex;
  S2JointGradient *joint;
  S2ContactGradient *contact; // those that the loss depends on
  int contacts;
  S2Vec2 gravity;
  double dt, alpha, beta, time;
  S2Tape *tape;   // S2Slope.origin is a node of it; NULL: those are constants
  unsigned flags; // S2GradientFlag, of all steps swept
  // Not 0 if the number depends on a parameter; NULL: all may do so.
  const struct S2WorldGradient *tracked;
  S2Quiet *quiet; // receives observations of sweeps; NULL: none are made
} S2WorldGradient;

static inline bool s2_world_tracks(const S2WorldGradient *tracked, double number) {
  return tracked == NULL || number != 0;
}
// Whether the number `member` of item `slot` of an array may depend on a parameter.
#define S2_TRACKS(gradient, array, count, slot, member)                                            \
  s2_world_tracks((gradient)->tracked,                                                             \
                  (gradient)->tracked != NULL && (slot) < (gradient)->tracked->count               \
                      ? (gradient)->tracked->array[slot].member                                    \
                      : 0)
#define S2_TRACKS_BODY(gradient, slot, member)  S2_TRACKS(gradient, body, slots, slot, member)
#define S2_TRACKS_PIECE(gradient, slot, member) S2_TRACKS(gradient, piece, pieces, slot, member)
#define S2_TRACKS_JOINT(gradient, slot, member) S2_TRACKS(gradient, joint, joints, slot, member)

// Limitations of a gradient. 0: it is the derivative of the computed result.
typedef enum S2GradientFlag {
  S2_GRADIENT_WEAK = 1,         // a contact or bound was on the edge of two modes: one-sided
  S2_GRADIENT_REDUNDANT = 2,    // impulses were not unique
  S2_GRADIENT_UNDETERMINED = 4, // l contains such an impulse
  S2_GRADIENT_SINGULAR = 8,     // a linear system was not solved: do not use the result
  // a number was taken as constant (docs/gradients.md lists these), a solve was taken as exact
  // instead of smooth, or a solve that missed its tolerance was taken as solved
  S2_GRADIENT_PARTIAL = 16,
  S2_GRADIENT_GRAZING = 32, // event: an impact at almost zero speed
  // an impact in a step of fixed length: derivatives do not include the change of its time
  S2_GRADIENT_IMPACT = 64,
  // event: points that met at one time; derivatives with respect to changes that separate those
  // times are incomplete
  S2_GRADIENT_TOGETHER = 128,
  // a friction or restitution of 0 whose geometric mean with another number has an infinite
  // derivative: it counts as constant
  S2_GRADIENT_INFINITE = 256,
  // a compliance of 0 (in the two-stage flow: a curve of a spring): steps with a positive one are
  // computed by a different method. Its derivative is left out, or, for contacts that bounce,
  // computed as if they did not bounce
  S2_GRADIENT_JUMP = 512,
} S2GradientFlag;

// Makes a gradient of zeros that is large enough for this world at present. If called again, grows
// it and keeps its contents.
void s2_world_gradient_fit(S2WorldGradient *gradient, const S2World *world);
// The index of a contact point in `contact`; adds the point if it is missing.
int s2_world_gradient_contact(S2WorldGradient *gradient, int32_t shape_a, int32_t shape_b,
                              uint32_t feature);
void s2_contact_gradient_clear(S2ContactGradient *contact);
// A second gradient of the same size, in the arena: zero, and without contacts.
S2WorldGradient *s2_world_gradient_like(const S2WorldGradient *gradient, S2Arena *arena);
// A copy in the arena without the tape. Its contacts are not in the arena
// (s2_memory_free(contact)).
S2WorldGradient *s2_world_gradient_copy(const S2WorldGradient *gradient, S2Arena *arena);
// Adds a gradient of the same world or a copy of it; grows to its size.
void s2_world_gradient_add(S2WorldGradient *gradient, const S2WorldGradient *other);
void s2_world_gradient_clear(S2WorldGradient *gradient);
void s2_world_gradient_free(S2WorldGradient *gradient);

#endif
