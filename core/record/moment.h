// A moment is the visible state of a world at one time, as plain arrays. Pictures and files are
// made from moments. So a frame that was read from a file is drawn like the original world.
#ifndef S2_MOMENT_H
#define S2_MOMENT_H

#include "base/array.h"
#include "dynamics/annotation.h"
#include "dynamics/dynamics.h"

// References are indices in the arrays of the moment. -1 stands for the world.

typedef struct S2MomentShape {
  int32_t first_vertex, count; // range in `vertices`; body frame, m
  double radius;               // m
  bool has_previous, has_next; // terrain chains: see S2Shape
  S2Vec2 previous, next;
} S2MomentShape;

typedef struct S2MomentBody {
  S2BodyId id;
  S2BodyType type;
  bool sensor, enabled;
  uint32_t color;       // 0xRRGGBBAA, or 0 for the colour of the palette
  double mass, inertia; // kg, kg m^2
  int32_t first_shape, shape_count;
  double q[3], v[3]; // angle, x, y and their rates
  char name[S2_NAME_SIZE];
} S2MomentBody;

typedef struct S2MomentContact {
  int32_t a, b;
  S2Vec2 point, normal; // same meaning as in S2Contact
  double gap;
  double normal_impulse, tangent_impulse;
  bool sliding;
  uint32_t feature;
} S2MomentContact;

typedef struct S2MomentJoint {
  S2JointId id;
  S2JointType type;
  bool enabled, collide, compliant;
  int32_t a, b;
  S2Vec2 anchor_a, anchor_b, impulse; // same meaning as in S2JointInfo
  int ways;                           // number of points, constant for each joint
  S2Vec2 way[S2_JOINT_WAY];
  double angle, speed;
  char name[S2_NAME_SIZE];
} S2MomentJoint;

typedef S2Annotation S2MomentAnnotation;

enum { S2_UNIT_SIZE = 16 }; // bytes, including the final 0.

// A number that the recording program sets for each frame. It may be a quantity that the script
// defines.
typedef struct S2MomentChannel {
  char name[S2_NAME_SIZE], unit[S2_UNIT_SIZE];
  double value; // NaN until it is set
} S2MomentChannel;

// A structure of zeros is an empty moment.
typedef struct S2Moment {
  S2WorldDef settings;
  double time;       // s
  uint64_t step;     // steps done
  uint64_t hash;     // s2_world_hash
  uint64_t revision; // s2_world_revision of the bodies, shapes and joints, or 0 if they were not
                     // taken from a world
  double kinetic, potential; // J. These and the numbers below are NaN if they were not recorded
  double momentum[3];        // angular momentum about the origin, then linear momentum x, y
  double residual;           // largest S2Residual.scaled of the last step
  double iterations;         // iterations of the last step
  S2_ARRAY(S2MomentChannel) channels;
  S2_ARRAY(S2MomentBody) bodies; // creation order
  S2_ARRAY(S2MomentShape) shapes;
  S2_ARRAY(S2Vec2) vertices;
  S2_ARRAY(S2MomentContact) contacts;
  S2_ARRAY(S2MomentJoint) joints; // creation order
  S2_ARRAY(S2MomentAnnotation) annotations;
  S2_ARRAY(int32_t) body_of_slot; // scratch memory of the capture
  S2_ARRAY(S2BodyId) body_ids;
  S2_ARRAY(S2JointId) joint_ids;
} S2Moment;

// Replaces the contents of `moment` with the present state of `world`, except for the channels.
// Only allocates memory if the world has grown. Keeps the lists of bodies, shapes and joints if
// `moment` has the revision of the world. If you have changed these lists or capture another world,
// set the revision to 0 first.
S2Status s2_moment_capture(S2Moment *moment, S2World *world);
// Captures only the time and the bodies. Removes the contacts, and does not update the joints.
S2Status s2_moment_capture_bodies(S2Moment *moment, S2World *world);
void s2_moment_free(S2Moment *moment);

// Returns the geometry of a shape, borrowed from the moment.
static inline S2Shape s2_moment_shape(const S2Moment *moment, int32_t shape) {
  const S2MomentShape *of = &moment->shapes.at[shape];
  return (S2Shape){
      .vertices = moment->vertices.at + of->first_vertex,
      .count = of->count,
      .radius = of->radius,
      .has_previous = of->has_previous,
      .has_next = of->has_next,
      .previous = of->previous,
      .next = of->next,
  };
}

#endif
