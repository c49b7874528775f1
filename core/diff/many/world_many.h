// Derivatives of steps that several worlds take side by side (s2_worlds_step_many). Most steps are
// taken by programs and differentiated by their kernels, in lanes; the others are traced. The
// derivatives are those with respect to the efforts of actuators.
//
// The result for a world depends only on that world, not on the other worlds and not on lanes.
#ifndef S2_WORLD_MANY_H
#define S2_WORLD_MANY_H

#include "dynamics/dynamics.h"

enum { S2_MANY_WORLDS = 8 }; // largest number of worlds of a tape

typedef struct S2ManyTape S2ManyTape;

S2ManyTape *s2_many_tape_new(void);
void s2_many_tape_free(S2ManyTape *tape); // NULL is allowed

// Prepares a world for the same steps whenever it returns to its present state. Call this before
// s2_many_tape_start.
void s2_many_tape_prepare(S2World *world);
// Returns true if a prepared world has a program and if its actuators only exert forces and
// torques. Otherwise record the world with S2WorldTape.
bool s2_many_tape_can(const S2World *world);
// Returns true if s2_many_tape_read has a derivative for this field of a body or, if `joint` is not
// {0, 0}, of a joint.
bool s2_many_tape_reads(const S2World *world, S2JointId joint, int field);

// Starts the tape for `count` worlds, which must stay alive.
void s2_many_tape_start(S2ManyTape *tape, S2World *const *worlds, int count);
// Steps the worlds whose status is good, and sets their status.
void s2_many_tape_step(S2ManyTape *tape, S2Status *status);
// Adds `slope` times a field of the present state to the number that is differentiated.
void s2_many_tape_read(S2ManyTape *tape, int world, S2BodyId body, S2JointId joint, int field,
                       double slope);

// Sweeps back over all steps. The worlds must not have changed since the last step.
void s2_many_tape_sweep(S2ManyTape *tape);
// Returns false if the derivative of this world could not be computed.
bool s2_many_tape_good(const S2ManyTape *tape, int world);
// The derivative with respect to the effort of an actuator in a step. *given receives the time of
// the command in force, or NAN if there was none.
double s2_many_tape_effort(const S2ManyTape *tape, int world, int step, int actuator,
                           double *given);
// The time at the start of a step, at which commands may be given.
double s2_many_tape_time(const S2ManyTape *tape, int step);

#endif
