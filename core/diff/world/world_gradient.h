// The gradient of one scalar l: its derivatives with respect to all numbers of a world. The arrays
// are parallel to the world's arrays.
//
// A sweep over the steps of a world carries one gradient from the end to the start. Its state part
// (q, v, f, goals, stored impulses) is always the derivative with respect to the state at the
// current point of the sweep. The parameters are sums over all steps that used them.
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

typedef struct S2PieceGradient { // friction and restitution, if the piece has its own values
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

// The sums of impulses at a contact point in the last step. The contact's impulses, normal and
// angular impulses are computed from these sums. A point is identified by its shapes and feature,
// because each step creates new touches.
typedef struct S2ContactGradient {
  int32_t shape_a, shape_b;
  uint32_t feature;
  S2Vec2 impulse;              // on a
  S2Vec2 press;                // vector sum of the normal impulses alone
  double angular_a, angular_b; // same meaning as in S2Contact
} S2ContactGradient;

typedef struct S2WorldGradient {
  int slots, pieces, vertices, joints;
  double *q, *v, *f; // 3 per body slot
  S2BodyGradient *body;
  S2PieceGradient *piece;
  S2Vec2 *vertex;
  S2JointGradient *joint;
  S2ContactGradient *contact; // contact points that the loss depends on
  int contacts;
  unsigned flags; // S2GradientFlag values of all steps in the sweep
  S2Vec2 gravity;
  double dt, alpha, beta, time;
  S2Tape *tape; // tape with the nodes S2Slope.origin, or NULL if the slopes are constants
  // Nonzero for numbers that depend on a parameter. If NULL, all numbers may depend on one.
  const struct S2WorldGradient *tracked;
  S2Quiet *quiet; // receives observations of sweeps, or NULL
} S2WorldGradient;

static inline bool s2_world_tracks(const S2WorldGradient *tracked, double number) {
  return tracked == NULL || number != 0;
}
// True if `member` of item `slot` in an array may depend on a parameter.
#define S2_TRACKS(gradient, array, count, slot, member)                                            \
  s2_world_tracks((gradient)->tracked,                                                             \
                  (gradient)->tracked != NULL && (slot) < (gradient)->tracked->count               \
                      ? (gradient)->tracked->array[slot].member                                    \
                      : 0)
#define S2_TRACKS_BODY(gradient, slot, member)  S2_TRACKS(gradient, body, slots, slot, member)
#define S2_TRACKS_PIECE(gradient, slot, member) S2_TRACKS(gradient, piece, pieces, slot, member)
#define S2_TRACKS_JOINT(gradient, slot, member) S2_TRACKS(gradient, joint, joints, slot, member)

// Limitations of a gradient. Without flags, the gradient is the derivative of the computed result.
typedef enum S2GradientFlag {
  // a contact or bound was on the boundary between two modes, so the derivative is one-sided
  S2_GRADIENT_WEAK = 1,
  S2_GRADIENT_REDUNDANT = 2,    // impulses were not unique
  S2_GRADIENT_UNDETERMINED = 4, // the loss contains an impulse that is not unique
  S2_GRADIENT_SINGULAR = 8,     // a linear system was not solved, so the gradient is unusable
  // a number was treated as constant (see the list in docs/gradients.md), a solve was not smoothed,
  // or a solve that missed its tolerance was treated as solved
  S2_GRADIENT_PARTIAL = 16,
  S2_GRADIENT_GRAZING = 32, // event stepping: an impact at almost zero speed
  // an impact in a step of fixed length: derivatives do not include the change of its time
  S2_GRADIENT_IMPACT = 64,
  // event stepping: several impacts happened at the same time; derivatives are incomplete for
  // changes that separate them in time
  S2_GRADIENT_TOGETHER = 128,
  // a friction or restitution of 0 counts as constant because its geometric mean with another value
  // has an infinite derivative
  S2_GRADIENT_INFINITE = 256,
  // A compliance is 0, but steps with a positive value use a different method. The derivative with
  // respect to it is omitted. For contacts that bounce, it is computed as if they did not. In the
  // two-stage flow, this also applies to nonlinear terms of springs.
  S2_GRADIENT_JUMP = 512,
} S2GradientFlag;

// Creates a gradient of zeros with the present size of the world. Further calls enlarge the
// gradient and preserve its contents.
void s2_world_gradient_fit(S2WorldGradient *gradient, const S2World *world);
// Returns the index of a contact point in `contact`, and adds the point if it is missing.
int s2_world_gradient_contact(S2WorldGradient *gradient, int32_t shape_a, int32_t shape_b,
                              uint32_t feature);
void s2_contact_gradient_clear(S2ContactGradient *contact);
// Creates a gradient of zeros in the arena, with the same size but without contacts.
S2WorldGradient *s2_world_gradient_like(const S2WorldGradient *gradient, S2Arena *arena);
// Creates a copy in the arena, without the tape. Its contacts are not in the arena. Free them with
// s2_memory_free(contact).
S2WorldGradient *s2_world_gradient_copy(const S2WorldGradient *gradient, S2Arena *arena);
// Adds the gradient `other` of the same world, or of a copy. `gradient` grows to the size of
// `other`.
void s2_world_gradient_add(S2WorldGradient *gradient, const S2WorldGradient *other);
void s2_world_gradient_clear(S2WorldGradient *gradient);
void s2_world_gradient_free(S2WorldGradient *gradient);

#endif
