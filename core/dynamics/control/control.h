// Named inputs and outputs of a world: actuators, which convert commands to forces, and
// observations.
//
// They are part of the world: images and clones contain them, including pending commands.
#ifndef S2_CONTROL_H
#define S2_CONTROL_H

#include "base/rng.h"
#include "dynamics/dynamics.h"

typedef enum S2ActuatorKind {
  S2_ACTUATOR_FORCE,  // N: on a body along `direction`, or on a joint along its coordinate
  S2_ACTUATOR_TORQUE, // N m
  S2_ACTUATOR_SPEED,  // speed of a joint's motor, rad/s or m/s
  // A goal, rad or m, held by the effort kp (goal - position) - kd speed, in addition to the
  // joint's spring and damping.
  S2_ACTUATOR_POSITION
} S2ActuatorKind;

typedef struct S2ActuatorDef {
  const char *name; // at most S2_NAME_SIZE - 1 bytes
  S2ActuatorKind kind;
  S2JointId joint; // exactly one of joint and body is set
  S2BodyId body;
  S2Vec2 direction; // direction of the force on a body; any length except 0
  bool fixed;       // direction and `at` are in the body's frame and turn with it: a thruster
  S2Vec2 at;        // m: where a fixed force acts, from the centre of mass
  double lo, hi;    // range to which commands are clipped; may be infinite
  double delay;     // s, rounded up to whole steps
  double kp, kd;    // N/m and N s/m, or N m/rad and N m s/rad
  // N m or N, >= 0: the largest effort (position actuators), or motor_max of the motor if finite
  // (speed actuators)
  double most;
  // For position actuators. If true, the joint's servo applies the effort of the end of the step,
  // which is stable at any gains. Otherwise the effort is computed at the start, and stability
  // needs kd dt < 2 I.
  bool implicit;
} S2ActuatorDef;

extern const char *const s2_actuator_kind_names[]; // ends with NULL

S2ActuatorDef s2_actuator_def(void); // no bounds, no delay, kp 100, kd 10,
                                     // implicit
S2Status s2_actuator_create(S2World *world, const S2ActuatorDef *def, int *index);
int s2_world_actuator_count(const S2World *world);
const char *s2_actuator_name(const S2World *world, int index);

// Commands in the order of the actuators; they hold until the next ones. S2_INVALID, with no
// command applied: a command is not finite, or `count` is not the number of actuators. *clipped (or
// NULL) receives the number of commands beyond their range.
S2Status s2_world_act(S2World *world, const double *u, int count, int *clipped);
S2Status s2_actuator_command(S2World *world, int index, double u, bool *clipped);
// The definition, with `direction` as a unit vector. The name belongs to the world.
S2Status s2_actuator_info(const S2World *world, int index, S2ActuatorDef *def);
void s2_actuator_range(const S2World *world, int index, double *lo, double *hi);
// Sets the gains (>= 0) and the largest effort of a position actuator. S2_INVALID: it has another
// kind, or a number is out of range.
S2Status s2_actuator_tune(S2World *world, int index, double kp, double kd, double most);
double s2_actuator_value(const S2World *world, int index); // the last command, clipped
// The command in force and the time at which it was given; -INFINITY: there is none.
double s2_actuator_held(S2World *world, int index, double *time);
// Whether steps apply actuators; initially true. Images do not store this setting. If you switch it
// off, you must apply the effects of actuators yourself, by forces and motor speeds.
void s2_world_set_actuated(S2World *world, bool actuated);

typedef struct S2ObservationDef {
  const char *name;
  S2BodyId body; // exactly one of body and joint is set
  S2JointId joint;
  const char *const *fields; // names as in fields.def and s2_body_field
  int field_count;
  double noise; // standard deviation, >= 0
} S2ObservationDef;

enum { S2_OBSERVED_FIELDS = 12 }; // most fields of one observation

S2Status s2_observation_create(S2World *world, const S2ObservationDef *def, int *index);
int s2_world_observation_size(const S2World *world); // observed values
S2Status s2_world_observe(S2World *world, double *numbers);
// Noise is a function of this seed and of the world's time, so a clone observes the same noise as
// its original. Returns 0 if no noise is declared. Images store the seed.
void s2_world_set_noise_seed(S2World *world, uint64_t seed);
uint64_t s2_world_noise_seed(const S2World *world);
// Draws the seed of an episode from its generator. A world without noise draws nothing.
void s2_world_renew_noise(S2World *world, S2Rng *rng);

#endif
