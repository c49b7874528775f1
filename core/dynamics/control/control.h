// Named inputs and outputs of a world: actuators, which turn commands into forces, and
// observations.
//
// They are part of the world: images and clones carry them, with commands that are under way.
#ifndef S2_CONTROL_H
#define S2_CONTROL_H

#include "base/rng.h"
#include "dynamics/dynamics.h"

typedef enum S2ActuatorKind {
  S2_ACTUATOR_FORCE,   // N: of a body along `direction`; of a joint along what it measures
  S2_ACTUATOR_TORQUE,  // N m
  S2_ACTUATOR_SPEED,   // of a joint's motor, rad/s or m/s
  S2_ACTUATOR_POSITION // a goal, rad or m, held by the effort kp (goal - position) - kd speed,
                       // beside the joint's own spring and damping
} S2ActuatorKind;

typedef struct S2ActuatorDef {
  const char *name; // at most S2_NAME_SIZE - 1 bytes
  S2ActuatorKind kind;
  S2JointId joint; // one of both
  S2BodyId body;
  S2Vec2 direction; // of a body's force; of any length but 0
  bool fixed;       // direction and `at` are of the body's frame, and turn with it: a thruster
  S2Vec2 at;        // m: where a fixed force acts, from the centre of mass
  double lo, hi;    // commands are clipped to them; may be infinite
  double delay;     // s, rounded up to whole steps
  double kp, kd;    // N/m and N s/m, or N m/rad and N m s/rad
  double most; // N m or N, >= 0: largest effort of a position; the motor_max of a speed's motor,
               // where it is finite
  // Of a position: the effort is that of the end of the step, by the servo of its joint, and stable
  // at any gains. Else it is that of the start, which needs kd dt < 2 I.
  bool implicit;
} S2ActuatorDef;

extern const char *const s2_actuator_kind_names[]; // ends with NULL

S2ActuatorDef s2_actuator_def(void); // no bounds, no delay, kp 100, kd 10,
                                     // implicit
S2Status s2_actuator_create(S2World *world, const S2ActuatorDef *def, int *index);
int s2_world_actuator_count(const S2World *world);
const char *s2_actuator_name(const S2World *world, int index);

// Commands in the order of the actuators, which hold until the next. All or none: S2_INVALID where
// one is not finite or `count` is not theirs. *clipped (or NULL) is how many were beyond their
// range.
S2Status s2_world_act(S2World *world, const double *u, int count, int *clipped);
S2Status s2_actuator_command(S2World *world, int index, double u, bool *clipped);
// What was declared; direction is a unit vector then. The name belongs to the world.
S2Status s2_actuator_info(const S2World *world, int index, S2ActuatorDef *def);
void s2_actuator_range(const S2World *world, int index, double *lo, double *hi);
// New gains (>= 0) and largest effort of a position. S2_INVALID: of another kind, or out of range.
S2Status s2_actuator_tune(S2World *world, int index, double kp, double kd, double most);
double s2_actuator_value(const S2World *world, int index); // the last command, clipped
// The command that counts now, and when it was given; -INFINITY: none was.
double s2_actuator_held(S2World *world, int index, double *time);
// Do steps apply them? At first. Images do not know. Who says no does what they do by forces and
// motor speeds.
void s2_world_set_actuated(S2World *world, bool actuated);

typedef struct S2ObservationDef {
  const char *name;
  S2BodyId body; // one of both
  S2JointId joint;
  const char *const *fields; // as fields.def and s2_body_field name them
  int field_count;
  double noise; // standard deviation, >= 0
} S2ObservationDef;

enum { S2_OBSERVED_FIELDS = 12 }; // of one observation

S2Status s2_observation_create(S2World *world, const S2ObservationDef *def, int *index);
int s2_world_observation_size(const S2World *world); // numbers in all
// Fills as many numbers; S2_STALE: what is observed is gone.
S2Status s2_world_observe(S2World *world, double *numbers);
// Noise is a function of this seed and of the world's time, so a clone observes the noise of its
// original. 0: no noise is declared. Images hold the seed.
void s2_world_set_noise_seed(S2World *world, uint64_t seed);
uint64_t s2_world_noise_seed(const S2World *world);
// An episode begins: draws the seed from the episode's generator. A world without noise draws
// nothing.
void s2_world_renew_noise(S2World *world, S2Rng *rng);

#endif
