// A world on a tape: changes to it and readings from it while a gradient is recorded.
//
// Each change or reading is a node of the tape. The node of a reading has the numbers that were
// read. Other nodes have no numbers. In a sweep the world has an S2WorldGradient. At every node,
// this is the derivative with respect to the world at that point of the recording. A reading adds
// to it, a step converts it to the derivative before the step, and a write passes it on to the
// numbers that were written. A world is added to the tape when tracked numbers are first written to
// it. Before that, and when no gradient is recorded, nothing is recorded.
#ifndef S2_WORLD_TAPE_H
#define S2_WORLD_TAPE_H

#include "diff/tape/tape.h"
#include "diff/world/world_fields.h"

typedef struct S2WorldTape S2WorldTape; // exists as long as the nodes of the tape

// `flags` (may be NULL) collects the S2GradientFlag values of all sweeps.
S2WorldTape *s2_world_tape_new(S2Tape *tape, unsigned *flags);
// Sweeps fill `quiet` if it requests observations. `quiet` must exist as long as the tape.
void s2_world_tape_look(S2WorldTape *tape, S2Quiet *quiet);
// Records that a tracked command was clipped.
void s2_world_tape_clipped(S2WorldTape *tape, const char *actuator);

// One term of an act: number `to` depends on a number of the node `from`. If `from` is 0, it
// depends on the former number at the place `source`. `factor` is the derivative.
typedef struct S2Term {
  int32_t to;    // index of the place written, or of the number read
  S2Var from;    // 0: `source`
  int32_t index; // index of the number in that node
  S2Place source;
  double factor;
} S2Term;

// Each place becomes the sum of its terms; its former value has no effect.
void s2_world_tape_write(S2WorldTape *tape, const S2World *world, int count, const S2Place *places,
                         int terms, const S2Term *term);
// Like s2_world_tape_write, but adds the sums to the former values.
void s2_world_tape_add(S2WorldTape *tape, const S2World *world, int count, const S2Place *places,
                       int terms, const S2Term *term);
// The node of `count` numbers read from the world, or 0 if they are constants.
S2Var s2_world_tape_read(S2WorldTape *tape, const S2World *world, int count, const double *values,
                         int terms, const S2Term *term);
// Reads numbers that are stored at these places.
S2Var s2_world_tape_read_places(S2WorldTape *tape, const S2World *world, int count,
                                const S2Place *places);

// A tracked argument of an act: argument number `which` is `var`.
typedef struct S2Argument {
  S2Var var;
  int which;
} S2Argument;

// Records that a force (or an impulse) x, y acted on a body; push[4] contains x, y and the point.
// The force acted at the point if `at` is true, otherwise at the centre.
void s2_world_tape_push(S2WorldTape *tape, const S2World *world, int32_t slot, bool impulse,
                        const double push[4], bool at, int arguments, const S2Argument *argument);
// Makes the node of a point x transformed by the pose of a body. This is p + R x, or the inverse
// R'(x - p) if `back` is set.
S2Var s2_world_tape_point(S2WorldTape *tape, const S2World *world, int32_t slot, bool back,
                          const double point[2], int arguments, const S2Argument *argument);
// Call this after s2_world_set_state. `which` of an argument is its index in the state.
void s2_world_tape_set_state(S2WorldTape *tape, const S2World *world, int arguments,
                             const S2Argument *argument);
// Call this when a joint is enabled or disabled. This clears its data of the last step. A newly
// enabled lock holds its body at the present pose.
void s2_world_tape_enabled(S2WorldTape *tape, const S2World *world, int32_t slot);
// Call this after the ratio of a gear has changed. `ratio` is the node of the new ratio (0: a
// constant). The gear's sum is computed from the present poses.
void s2_world_tape_ratio(S2WorldTape *tape, S2World *world, int32_t slot, S2Var ratio);

// The nodes of a contact (from s2_world_contacts): point and normal (2 numbers each), gap, normal
// and tangential impulse. 0 is a constant. If the user has moved bodies since the step, point and
// gap keep their values of the step and count as constants.
typedef struct S2ContactVars {
  S2Var point, normal, gap, normal_impulse, tangent_impulse, angular_impulse_a, angular_impulse_b;
} S2ContactVars;
S2ContactVars s2_world_tape_contact(S2WorldTape *tape, const S2World *world,
                                    const S2Contact *contact);
// The node of s2_body_contact_impulse; 0: there was no impulse.
S2Var s2_world_tape_contact_impulse(S2WorldTape *tape, const S2World *world, int32_t slot,
                                    const double impulse[3]);
// The nodes of the force (x, y) and the torque of a joint, or of their impulses.
S2Var s2_world_tape_reaction(S2WorldTape *tape, const S2World *world, int32_t slot, bool torque,
                             bool impulse);
// The node of S2JointInfo.error, whose value is `value`.
S2Var s2_world_tape_joint_error(S2WorldTape *tape, S2World *world, int32_t slot, double value);

// The nodes of a hit of s2_world_raycast; `which` of an argument is an index into the numbers of
// `from` and `to`.
typedef struct S2RayVars {
  S2Var point, normal, fraction;
} S2RayVars;
S2RayVars s2_world_tape_ray(S2WorldTape *tape, const S2World *world, S2Vec2 from, S2Vec2 to,
                            const S2RayResult *result, int arguments, const S2Argument *argument);
// Makes the nodes of a result of s2_world_closest. Returns S2_UNAVAILABLE if the bodies overlap too
// deeply. In that case the distance is not the gap of any contact.
typedef struct S2ClosestVars {
  S2Var distance, point_a, point_b, normal;
} S2ClosestVars;
S2Status s2_world_tape_closest(S2WorldTape *tape, const S2World *world, S2BodyId a, S2BodyId b,
                               const S2ClosestBodies *closest, S2ClosestVars *vars);

// The node of a coordinate or the speed of a joint, whose value is `value`. The derivatives are
// exact. Returns false if they are not known, for gears, pulleys and constraints.
bool s2_world_tape_joint_field(S2WorldTape *tape, const S2World *world, int32_t slot,
                               S2JointField field, double value, S2Var *var);

// Calls s2_world_observe. vars[i] receives the node of number i, or 0 for a constant. Returns
// S2_UNAVAILABLE if the derivative of an observed field is not known.
S2Status s2_world_tape_observe(S2WorldTape *tape, S2World *world, double *numbers, S2Var *vars);

// The node of numbers that a function computes from places of the world. Its derivatives are
// extrapolated central differences, accurate to about 1e-10. The world is not changed.
typedef void S2WorldMeasure(const void *user, const S2World *world, double *numbers);
S2Var s2_world_tape_measure(S2WorldTape *tape, S2World *world, int count, double *numbers,
                            S2WorldMeasure *measure, const void *user, int places,
                            const S2Place *place);

// A body or joint that was created in `world` from tracked numbers. `build` creates it again in
// another world, and adds `by` to input `which`, or changes no input if `which` is -1. The
// derivatives are computed from differences of the results. A joint also depends on the poses of
// its bodies.
typedef S2Status S2WorldBuild(void *user, S2World *world, int which, double by);
typedef struct S2Made {
  S2WorldBuild *build; // NULL: the object depends only on plain numbers
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
// Returns true if steps call user callbacks: force laws, constraints, springs or motions.
bool s2_world_asks(const S2World *world);
// A force law runs between begin and end, within a step. The poses, velocities, time and dt that it
// reads belong to a moment within the step, so they are inputs. A sweep through the law's nodes
// (s2_tape_sweep_since) adds to the adjoints of these inputs. All other numbers are read as usual.
typedef struct S2LawInput {
  S2Place place;
  double bar;
} S2LawInput;
void s2_world_tape_law_begin(S2WorldTape *tape);
void s2_world_tape_law_clear(S2WorldTape *tape); // the adjoints are 0
const S2LawInput *s2_world_tape_law_inputs(const S2WorldTape *tape, int *count);
void s2_world_tape_law_end(S2WorldTape *tape);
// Advances the world and records the step, with its actuators. A step that fails is not recorded.
// Commands and gains of actuators are tracked by their origins (s2_tape_origin). If `every` > 0,
// stores an image of the world at intervals of `every` steps, and the sweep repeats the steps from
// these images.
S2Status s2_world_tape_step(S2WorldTape *tape, S2World *world, int every);
// Calls s2_world_solve_static and records the derivative of the equilibrium poses with respect to
// the forces that determine them. The path to these poses has no effect. The world has no force
// laws.
S2Status s2_world_tape_static(S2WorldTape *tape, S2World *world, const S2StaticOptions *options,
                              S2StaticResult *result);

// Makes `to` a copy of `from`, for a clone or a snapshot. If `from` is NULL, all numbers become
// constants.
void s2_world_tape_copy(S2WorldTape *to, S2WorldTape *from);

#endif
