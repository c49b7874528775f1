// What the step does for actuators. Private to core/dynamics.
#ifndef S2_ACTUATE_H
#define S2_ACTUATE_H

#include "dynamics/control/control.h"

typedef struct S2Actuator {
  char name[S2_NAME_SIZE];
  S2ActuatorKind kind;
  S2JointId joint;
  S2BodyId body;
  S2Vec2 direction;
  double lo, hi, delay, kp, kd;
  bool turns;   // it acts as a torque
  double value; // the last command
  double held;  // the one that counts, and when it was given
  double held_time;
} S2Actuator;

typedef struct S2Command { // that waits
  int32_t actuator;
  double time; // s, when it was given
  double value;
} S2Command;

// Commands that have waited long enough count from now on.
void s2_world_take_due(S2World *world);

// The efforts of a step that begins now are added to the forces of the world, and speeds are given
// to motors. On failure (what an actuator acts on is destroyed) nothing is changed.
S2Status s2_world_actuate(S2World *world);
// The efforts are taken out again, after the step or when it failed: they are no forces by hand.
void s2_world_actuated(S2World *world, bool failed);

#endif
