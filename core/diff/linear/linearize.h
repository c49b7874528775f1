// A step as a linear map about the present state: x+ = A x + B u to first order. The derivatives
// are exact. They take one reverse sweep over the recorded step for each entry of the state
// (trace.h).
#ifndef S2_LINEARIZE_H
#define S2_LINEARIZE_H

#include "base/arena.h"
#include "dynamics/dynamics.h"

typedef enum S2InputKind {
  S2_INPUT_FORCE,        // force on the centre of mass of a body during the step
  S2_INPUT_JOINT_FORCE,  // N, along the coordinate of a slider, wheel, spring, distance or rope:
                         // acts on a, and with opposite sign on b
  S2_INPUT_JOINT_TORQUE, // N m, of a hinge, wheel or weld: acts on a, and with opposite sign on b
  S2_INPUT_MOTOR_SPEED,  // speed of a joint's motor
  S2_INPUT_MOTOR_MAX,
  S2_INPUT_REST, // rest length or angle of a joint's spring
  S2_INPUT_GOAL, // goal of a joint's servo, like actuators of kind "position"
} S2InputKind;

typedef struct S2Input {
  S2InputKind kind;
  S2BodyId body;    // FORCE
  S2JointId joint;  // the others
  double amount[3]; // value for u = 1; FORCE uses N m, N, N, other kinds only the first number
  bool fixed;       // FORCE: the direction turns with the body
} S2Input;

// A reduced coordinate of a body (`part` 0: angle, 1: x, 2: y) or of a joint (`part` 0: the
// coordinate with the limits; 1: the angle of a wheel).
typedef struct S2Coordinate {
  S2BodyId body; // one of these is null
  S2JointId joint;
  int part;
} S2Coordinate;

typedef struct S2Linear { // in the arena
  int states, inputs;
  double *a, *b;  // states x states, states x inputs; row-major
  unsigned flags; // S2GradientFlag.
  // Set by reduced linearisations. The state then contains the values of the coordinates, then
  // their speeds.
  int coordinates;
  S2Coordinate *coordinate;
} S2Linear;

// Steps the world (usually a clone). Computes how the final state (s2_world_state) depends on the
// initial state and on the inputs. If a force law has no known slopes, the world does not change.
S2Status s2_world_linearize(S2World *world, const S2Input *inputs, int count, S2Arena *arena,
                            S2Linear *linear);

// Linearises a step in independent coordinates of the motions that rigid joints allow. `wanted`
// lists bodies and joints in order. Each contributes those of its coordinates that the earlier ones
// leave free. If `wanted` is NULL, joints come first, then bodies. Speeds do not include the part
// of the velocities that violates the joints.
S2Status s2_world_linearize_reduced(S2World *world, const S2Input *inputs, int count,
                                    const S2Coordinate *wanted, int wanted_count, S2Arena *arena,
                                    S2Linear *linear);

// Returns the input that corresponds to an actuator without delay: a force, torque, speed or goal.
S2Status s2_actuator_input(const S2World *world, int index, S2Input *input);

// Linearises consecutive steps like s2_world_linearize_reduced, with inputs that are constant over
// the steps. Repeated calls share memory and use the same coordinates (s2_reduction_choose).
// `linear` is in the arena.
typedef struct S2Linearizer S2Linearizer;
struct S2Reduction;
S2Linearizer *s2_linearizer_new(void);
void s2_linearizer_free(S2Linearizer *linearizer);
S2Status s2_linearizer_steps(S2Linearizer *linearizer, S2World *world, const S2Input *inputs,
                             int count, const struct S2Reduction *reduction, int steps,
                             S2Arena *arena, S2Linear *linear);

#endif
