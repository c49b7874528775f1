// Named inputs and outputs of a world: actuators that the step obeys, observations that are read.
//
// They are part of the world: images, restored worlds and clones have them, commands under way too.
#ifndef S2_CONTROL_H
#define S2_CONTROL_H

#include "dynamics/dynamics.h"

typedef enum S2ActuatorKind {
  S2_ACTUATOR_FORCE, // N: of a body along a direction; of a joint along what it measures, on a, and
                     // against it on b: slider, wheel, spring, distance, rope
  S2_ACTUATOR_TORQUE,   // N m: body; hinge, wheel, weld: on a, and against it on b
  S2_ACTUATOR_SPEED,    // of the joint's motor: hinge, slider, wheel, spring
  S2_ACTUATOR_POSITION, // a goal, by the effort kp (goal - position) - kd speed: hinge, slider,
                        // spring
} S2ActuatorKind;

extern const char *const s2_actuator_kind_names[]; // ends with NULL

typedef struct S2ActuatorDef {
  const char *name; // copied, up to S2_NAME_SIZE - 1 bytes
  S2ActuatorKind kind;
  S2JointId joint; // either of the two
  S2BodyId body;
  S2Vec2 direction; // of a force on a body: world, any length but 0
  double lo, hi;    // commands are cut to this, may be infinite
  double delay;     // s, rounded up to whole steps
  double kp, kd;    // of S2_ACTUATOR_POSITION
} S2ActuatorDef;

S2ActuatorDef s2_actuator_def(void); // without bounds and delay, kp 100, kd 10
// `index`: its place among the world's actuators, 0 the first. S2_INVALID, S2_STALE: the message
// says what.
S2Status s2_actuator_create(S2World *world, const S2ActuatorDef *def, int *index);
int s2_world_actuator_count(const S2World *world);
// What was declared; direction is a unit vector then. The name belongs to the world.
S2Status s2_actuator_info(const S2World *world, int index, S2ActuatorDef *def);
void s2_actuator_range(const S2World *world, int index, double *lo, double *hi);
double s2_actuator_value(const S2World *world, int index); // the last command, cut

// The command that counts now, and when it was given.
double s2_actuator_held(S2World *world, int index, double *time);
// The next steps leave actuators out: whoever steps the world does what they would do, by forces
// and motor speeds.
void s2_world_actuate_by_hand(S2World *world, bool by_hand);

// A command holds until the next, from the next step on (or `delay` later). Until the first is due
// 0 counts, or the end of the range next to it. *clipped (may be NULL): it was cut.
S2Status s2_actuator_command(S2World *world, int index, double value, bool *clipped);
// All of them, in order; *clipped: how many were cut. All or none.
S2Status s2_world_act(S2World *world, const double *u, int count, int *clipped);

// ---- Observations -----------------------------------------------------------------------------

typedef struct S2ObservationDef { // a number that is read; noise is added by who reads
  S2JointId joint;                // either of the two
  S2BodyId body;
  int field; // S2JointField or S2BodyField
} S2ObservationDef;

S2Status s2_observation_create(S2World *world, const S2ObservationDef *def, int *index);
int s2_world_observation_size(const S2World *world);
// One number each, in the order declared. S2_STALE: what one looks at is destroyed.
S2Status s2_world_observe(const S2World *world, double *numbers);

#endif
