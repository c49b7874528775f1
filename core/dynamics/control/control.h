// Named inputs and outputs of a world: actuators, which convert commands to forces, and
// observations.
//
// Both belong to the world: images and clones contain them, including pending commands.
#ifndef S2_CONTROL_H
#define S2_CONTROL_H

#include "base/rng.h"
#include "dynamics/dynamics.h"

typedef enum S2ActuatorKind {
  S2_ACTUATOR_FORCE,  // N, on a body along `direction`, or on a joint along its coordinate
  S2_ACTUATOR_TORQUE, // N m
  S2_ACTUATOR_SPEED,  // speed of a joint's motor, rad/s or m/s
  // Target position, rad or m. The effort kp (goal - position) - kd speed acts in addition to the
  // joint's spring and damping.
  S2_ACTUATOR_POSITION
} S2ActuatorKind;

typedef struct S2ActuatorDef {
  const char *name; // at most S2_NAME_SIZE - 1 bytes
  S2ActuatorKind kind;
  S2JointId joint; // set exactly one of joint and body
  S2BodyId body;
  S2Vec2 direction; // direction of the force on a body; may have any length except 0
  bool fixed;    // true for a thruster: direction and `at` are in the body's frame and turn with it
  S2Vec2 at;     // m: point at which a fixed force acts, relative to the centre of mass
  double lo, hi; // range to which commands are clipped; bounds may be infinite
  double delay;  // s, rounded up to whole steps
  double kp, kd; // N/m and N s/m, or N m/rad and N m s/rad.
  // N m or N, >= 0. The largest effort of a position actuator. For speed actuators, motor_max of
  // the motor, if finite.
  double most;
  // Only for position actuators. If true, the joint's servo applies the effort at the end of the
  // step, which is stable for all gains. Otherwise the effort is computed at the start of the step,
  // and stability requires kd dt < 2 I.
  bool implicit;
} S2ActuatorDef;

extern const char *const s2_actuator_kind_names[]; // the last entry is NULL

S2ActuatorDef s2_actuator_def(void); // no bounds, no delay, kp 100, kd 10
                                     // and implicit
S2Status s2_actuator_create(S2World *world, const S2ActuatorDef *def, int *index);
int s2_world_actuator_count(const S2World *world);
const char *s2_actuator_name(const S2World *world, int index);

// Gives one command to each actuator, in their order. A command holds until the next one.
// Returns S2_INVALID and applies no command if a command is not finite, or if `count` is not the
// number of actuators. *clipped receives the number of commands outside their range. `clipped` may
// be NULL.
S2Status s2_world_act(S2World *world, const double *u, int count, int *clipped);
S2Status s2_actuator_command(S2World *world, int index, double u, bool *clipped);
// The definition, with `direction` normalised. The world owns the name.
S2Status s2_actuator_info(const S2World *world, int index, S2ActuatorDef *def);
void s2_actuator_range(const S2World *world, int index, double *lo, double *hi);
// Sets the gains (>= 0) and the largest effort of a position actuator. Returns S2_INVALID if the
// actuator is of another kind, or if a number is out of range.
S2Status s2_actuator_tune(S2World *world, int index, double kp, double kd, double most);
double s2_actuator_value(const S2World *world, int index); // the last command, clipped
// The command in force and the time at which it was given (-INFINITY if there is none).
double s2_actuator_held(S2World *world, int index, double *time);
// Numbers of an actuator that a caller may have computed from other numbers.
typedef enum S2ActuatorNumber {
  S2_ACTUATOR_COMMAND, // the last command
  S2_ACTUATOR_IDLE,    // the effort or goal before the first command
  S2_ACTUATOR_DIRECTION_X,
  S2_ACTUATOR_DIRECTION_Y,
  S2_ACTUATOR_AT_X,
  S2_ACTUATOR_AT_Y,
  S2_ACTUATOR_KP,
  S2_ACTUATOR_KD,
  S2_ACTUATOR_MOST,
  S2_ACTUATOR_NUMBERS
} S2ActuatorNumber;
// The origin of a number: the node of a tape that computed it (s2_tape_origin), or 0. Steps ignore
// origins. Images and clones contain them. Setting the number sets its origin to 0.
void s2_actuator_set_origin(S2World *world, int index, S2ActuatorNumber number, uint64_t origin);
uint64_t s2_actuator_origin(const S2World *world, int index, S2ActuatorNumber number);
// Switches actuators on or off for all steps. They are initially on. Images do not store this
// setting. If you switch them off, apply their effects yourself with forces and motor speeds.
void s2_world_set_actuated(S2World *world, bool actuated);

typedef struct S2ObservationDef {
  const char *name;
  S2BodyId body; // set exactly one of body and joint
  S2JointId joint;
  // Names of fields as in fields.def and s2_body_field, or one of these: cos_angle and sin_angle of
  // a body or a joint with an angle, and touches: 1 if the body has a contact (s2_body_touches),
  // else 0.
  const char *const *fields;
  int field_count;
  double noise; // standard deviation, >= 0
} S2ObservationDef;

enum { S2_OBSERVED_FIELDS = 12 }; // largest number of fields of one observation

S2Status s2_observation_create(S2World *world, const S2ObservationDef *def, int *index);
int s2_world_observation_size(const S2World *world); // observed values
// The index of a field of a body or a joint in the observation, or -1 if it is not observed, or
// with noise. Pass the null handle for the other one of the two.
int s2_world_observed_at(const S2World *world, S2BodyId body, S2JointId joint, int field);
S2Status s2_world_observe(S2World *world, double *numbers);
// Noise is a function of this seed and of the world's time, so a clone observes the same noise as
// its original. s2_world_noise_seed returns 0 if no noise is declared. Images store the seed.
void s2_world_set_noise_seed(S2World *world, uint64_t seed);
uint64_t s2_world_noise_seed(const S2World *world);
// Draws a new noise seed for an episode from `rng`. A world without noise does not use `rng`.
void s2_world_renew_noise(S2World *world, S2Rng *rng);

#endif
