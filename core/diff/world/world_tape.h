// A world on a tape: what is done to it and read from it while a gradient is recorded.
//
// Each such act is a node without numbers, or with those that were read. Backwards, the world has a
// S2WorldGradient that is at every node the derivative with respect to the world as it was there:
// what is read adds to it, a step turns it into that before the step, what is written hands it on
// to the numbers it was written from. A world comes to the tape when tracked numbers are first
// written to it; before that, and when no gradient is recorded, nothing is noted.
#ifndef S2_WORLD_TAPE_H
#define S2_WORLD_TAPE_H

#include "diff/tape/tape.h"
#include "diff/world/world_fields.h"

typedef struct S2WorldTape S2WorldTape; // lives as long as what the tape holds

// `flags` (NULL: nowhere) gathers S2GradientFlag of all sweeps.
S2WorldTape *s2_world_tape_new(S2Tape *tape, unsigned *flags);
// What sweeps look for while `quiet` (which has to live as long) says that they are to look.
void s2_world_tape_look(S2WorldTape *tape, S2Quiet *quiet);
// A tracked command was clipped.
void s2_world_tape_clipped(S2WorldTape *tape, const char *actuator);

// One summand of an act: numbers written to a place depend on a node (a number of it) or, where
// `from` is 0, on a place as it was before.
typedef struct S2Term {
  int32_t to;    // which of the places written, or of the numbers read
  S2Var from;    // 0: `source`
  int32_t index; // of the number of that node
  S2Place source;
  double factor;
} S2Term;

// The places no longer are what they were, but the sum of their terms: none is a constant.
void s2_world_tape_write(S2WorldTape *tape, const S2World *world, int count, const S2Place *places,
                         int terms, const S2Term *term);
// The same where the sum is added to what the places were.
void s2_world_tape_add(S2WorldTape *tape, const S2World *world, int count, const S2Place *places,
                       int terms, const S2Term *term);
// The node of `count` numbers read from the world; 0 when nothing can depend on them.
S2Var s2_world_tape_read(S2WorldTape *tape, const S2World *world, int count, const double *values,
                         int terms, const S2Term *term);
// The same for numbers that are those at places.
S2Var s2_world_tape_read_places(S2WorldTape *tape, const S2World *world, int count,
                                const S2Place *places);

// A tracked argument of an act: number `which` of its arguments is `var`.
typedef struct S2Argument {
  S2Var var;
  int which;
} S2Argument;

// A force (or impulse) x, y acted on a body at a point, push[4] = {x, y, point} (`at`), or at its
// centre.
void s2_world_tape_push(S2WorldTape *tape, const S2World *world, int32_t slot, bool impulse,
                        const double push[4], bool at, int arguments, const S2Argument *argument);
// The node of given[2] turned by the pose of a body: p + R x, or back, R'(x - p).
S2Var s2_world_tape_point(S2WorldTape *tape, const S2World *world, int32_t slot, bool back,
                          const double point[2], int arguments, const S2Argument *argument);
// s2_world_set_state was called; `which` of an argument is the number of the state.
void s2_world_tape_set_state(S2WorldTape *tape, const S2World *world, int arguments,
                             const S2Argument *argument);
// A joint was enabled or disabled: what it kept of the last step is gone, and a lock that is
// enabled holds where its body is.
void s2_world_tape_enabled(S2WorldTape *tape, const S2World *world, int32_t slot);
// A gear got another ratio (`ratio`, 0: a plain one), and with it the sum that it keeps, which is
// that of the poses now. The world is as it was afterwards.
void s2_world_tape_ratio(S2WorldTape *tape, S2World *world, int32_t slot, S2Var ratio);

// The nodes of what a contact (of s2_world_contacts): point and normal (2 numbers each), gap,
// normal and tangential impulse. 0: a constant. Where bodies were moved by hand since the step
// point and gap are those of the step, and constant.
typedef struct S2ContactVars {
  S2Var point, normal, gap, normal_impulse, tangent_impulse, angular_impulse_a, angular_impulse_b;
} S2ContactVars;
S2ContactVars s2_world_tape_contact(S2WorldTape *tape, const S2World *world,
                                    const S2Contact *contact);
// The node of what s2_body_contact_impulse gives; 0: nothing acted.
S2Var s2_world_tape_contact_impulse(S2WorldTape *tape, const S2World *world, int32_t slot,
                                    const double impulse[3]);
// The nodes of the force (x, y) and of the torque of a joint, or of the impulses of these.
S2Var s2_world_tape_reaction(S2WorldTape *tape, const S2World *world, int32_t slot, bool torque,
                             bool impulse);
// The node of S2JointInfo.error, which is `value`.
S2Var s2_world_tape_joint_error(S2WorldTape *tape, S2World *world, int32_t slot, double value);

// The nodes of what s2_world_raycast found; of arguments, `which` is a number of from and to.
typedef struct S2RayVars {
  S2Var point, normal, fraction;
} S2RayVars;
S2RayVars s2_world_tape_ray(S2WorldTape *tape, const S2World *world, S2Vec2 from, S2Vec2 to,
                            const S2RayResult *result, int arguments, const S2Argument *argument);
// The same of s2_world_closest. S2_UNAVAILABLE where the bodies overlap by more than their contact
// geometry gives.
typedef struct S2ClosestVars {
  S2Var distance, point_a, point_b, normal;
} S2ClosestVars;
S2Status s2_world_tape_closest(S2WorldTape *tape, const S2World *world, S2BodyId a, S2BodyId b,
                               const S2ClosestBodies *closest, S2ClosestVars *vars);

// Numbers that a function of the world gives, as it depends on some places: by extrapolated central
// differences, exact to 1e-10 or so. The world is as it was afterwards.
typedef void S2WorldMeasure(const void *user, const S2World *world, double *numbers);
S2Var s2_world_tape_measure(S2WorldTape *tape, S2World *world, int count, double *numbers,
                            S2WorldMeasure *measure, const void *user, int places,
                            const S2Place *place);

// A body or joint that was made in `world` from tracked numbers. `build` makes it again in another
// world, with input `which` changed by `by` (which = -1: as it was); the derivatives are taken by
// differences of that. A joint also depends on the poses of its bodies.
typedef S2Status S2WorldBuild(void *user, S2World *world, int which, double by);
typedef struct S2Made {
  S2WorldBuild *build; // NULL: from plain numbers alone
  void *user;
  int inputs;
  const S2Var *vars;
  const double *values;
} S2Made;
S2Status s2_world_tape_made_body(S2WorldTape *tape, const S2World *world, int32_t slot,
                                 const S2Made *made);
S2Status s2_world_tape_made_joint(S2WorldTape *tape, const S2World *world, int32_t slot,
                                  const S2Made *made);

bool s2_world_has_soft_contacts(const S2World *world);
// Are there functions of the program to be asked within steps: force laws, constraints, springs,
// motions?
bool s2_world_asks(const S2World *world);
// Between begin and end a force law runs within a step: what it reads of poses, velocities, time
// and dt are inputs, as they are those of a moment within the step. A sweep through what it
// computed (s2_tape_sweep_since) adds to their adjoints. All else that it reads is read as ever.
typedef struct S2LawInput {
  S2Place place;
  double bar;
} S2LawInput;
void s2_world_tape_law_begin(S2WorldTape *tape);
void s2_world_tape_law_clear(S2WorldTape *tape); // adjoints are 0
const S2LawInput *s2_world_tape_law_inputs(const S2WorldTape *tape, int *count);
void s2_world_tape_law_end(S2WorldTape *tape);
// Advances the world and notes it. When the step fails nothing is noted. `every` > 0: the step is
// not kept, but an image of the world every so many steps, from which they are made again.
S2Status s2_world_tape_step(S2WorldTape *tape, S2World *world, int every);
// s2_world_solve_static, noted: the derivative is that of where bodies rest by what holds them
// there, not of the way. The world has no force laws.
S2Status s2_world_tape_static(S2WorldTape *tape, S2World *world, const S2StaticOptions *options,
                              S2StaticResult *result);

// `to` is now what `from` is (a clone, a snapshot, what a snapshot restores); NULL: constants.
void s2_world_tape_copy(S2WorldTape *to, S2WorldTape *from);

#endif
