#include "diff/many/world_many.h"

#include "diff/joints/joint_vjp.h"
#include "diff/step/recorded_vjp.h"
#include "diff/step/trace.h"
#include "diff/world/world_tape_parts.h"
#include "dynamics/control/apply.h"

#include <math.h>
#include <string.h>

enum { MOST = S2_MANY_WORLDS };

typedef struct Slope { // of the number, with respect to a coordinate of the state
  int32_t place;       // index in q, or in v after all indices of q
  double value;
} Slope;

typedef struct Push { // an actuator in a step
  double effort, bar; // and its adjoint
  double given;       // s: time of the command
  double q[2][3];     // poses of the bodies on which it acts
} Push;

typedef struct Moment { // a step of all worlds
  double time;          // at its start
  int recorded;         // number of recorded steps, including this one
  S2Trace *trace[MOST]; // or NULL
  int slopes[MOST];     // number of slopes before this step
} Moment;

typedef struct Side { // one of the worlds
  S2WorldGradient gradient;
  S2_ARRAY(Slope) slopes;
  S2_ARRAY(Push) pushes; // [steps][actuators]
} Side;

struct S2ManyTape {
  int count, actuators;
  S2World *world[MOST];
  Side side[MOST];
  bool good[MOST];
  S2WorldGradient tracked; // no parameters
  S2Recorder recorder;
  S2RecordedSweep sweep;
  S2_ARRAY(Moment) moments;
  S2_ARRAY(S2Trace *) traces; // `traces_used` of them are in use
  int traces_used;
  S2Arena arena;
};

S2ManyTape *s2_many_tape_new(void) {
  S2ManyTape *tape = s2_memory_take_zeroed(sizeof *tape);
  s2_recorder_init(&tape->recorder, S2_RECORDED_LANES);
  s2_arena_init(&tape->arena);
  return tape;
}

void s2_many_tape_free(S2ManyTape *tape) {
  if (tape == NULL) {
    return;
  }
  for (int i = 0; i < MOST; i++) {
    s2_world_gradient_free(&tape->side[i].gradient);
    s2_array_free(tape->side[i].slopes);
    s2_array_free(tape->side[i].pushes);
  }
  for (int i = 0; i < tape->traces.count; i++) {
    s2_trace_free(tape->traces.at[i]);
  }
  s2_world_gradient_free(&tape->tracked);
  s2_recorder_free(&tape->recorder);
  s2_array_free(tape->moments);
  s2_array_free(tape->traces);
  s2_arena_free(&tape->arena);
  s2_memory_free(tape);
}

// ---- Support ------------------------------------------------------------------------------------

void s2_many_tape_prepare(S2World *world) {
  s2_program_restart(world);
}

static bool many_can_push(const S2World *world, const S2Actuator *actuator) {
  if (actuator->kind > S2_ACTUATOR_TORQUE) {
    return false;
  }
  if (!actuator->on_joint) {
    return s2_body_alive(world, actuator->body);
  }
  if (!s2_joint_alive(world, actuator->joint)) {
    return false;
  }
  S2JointType type = world->joints.at[actuator->joint.index - 1].type;
  return type == (actuator->turns ? S2_HINGE : S2_SLIDER);
}

bool s2_many_tape_can(const S2World *world) {
  bool can = s2_program_records(world) && !s2_world_asks(world) && world->actuated;
  for (int i = 0; i < world->actuators.count && can; i++) {
    can = many_can_push(world, &world->actuators.at[i]);
  }
  return can;
}

bool s2_many_tape_reads(const S2World *world, S2JointId joint, int field) {
  if (joint.index == 0) {
    return true;
  }
  S2JointType type = world->joints.at[joint.index - 1].type;
  bool measured =
      field == S2_JOINT_ANGLE || field == S2_JOINT_TRANSLATION || field == S2_JOINT_SPEED;
  return measured && (type == S2_HINGE || type == S2_SLIDER);
}

// ---- Steps --------------------------------------------------------------------------------------

void s2_many_tape_start(S2ManyTape *tape, S2World *const *worlds, int count) {
  tape->count = count;
  tape->actuators = count > 0 ? worlds[0]->actuators.count : 0;
  tape->moments.count = tape->traces_used = 0;
  s2_recorder_reset(&tape->recorder);
  s2_recorded_sweep_start(&tape->sweep, &tape->recorder.arena);
  for (int i = 0; i < count; i++) {
    Side *side = &tape->side[i];
    tape->world[i] = worlds[i];
    tape->good[i] = true;
    side->slopes.count = side->pushes.count = 0;
    s2_world_gradient_fit(&side->gradient, worlds[i]);
    s2_world_gradient_clear(&side->gradient);
    s2_world_gradient_fit(&tape->tracked, worlds[i]);
    side->gradient.tracked = &tape->tracked;
  }
}

// Notes the effort of each actuator in the next step, and the poses on which its forces depend.
static void many_note_pushes(S2ManyTape *tape, int index) {
  S2World *world = tape->world[index];
  Side *side = &tape->side[index];
  for (int i = 0; i < tape->actuators; i++) {
    int command;
    const S2Actuator *actuator = &world->actuators.at[i];
    int32_t slots[2] = {S2_NONE, S2_NONE};
    Push *push = s2_array_append(side->pushes);
    *push = (Push){.effort = s2_actuator_due(world, i, &command)};
    push->given = command == S2_NONE ? NAN : world->commands.at[command].t;
    if (actuator->on_joint) {
      const S2Joint *joint = &world->joints.at[actuator->joint.index - 1];
      slots[0] = joint->a;
      slots[1] = joint->b;
    } else {
      slots[0] = (int32_t)actuator->body.index - 1;
    }
    for (int k = 0; k < 2; k++) {
      if (slots[k] != S2_NONE) {
        memcpy(push->q[k], world->q.at + 3 * slots[k], sizeof push->q[k]);
      }
    }
  }
}

typedef struct Stepping {
  S2ManyTape *tape;
  Moment *moment;
  const int32_t *index; // of the worlds that are stepped
} Stepping;

static S2Status many_step_traced(void *user, S2World *world, int index) {
  Stepping *stepping = user;
  S2ManyTape *tape = stepping->tape;
  if (tape->traces_used == tape->traces.count) {
    // NOLINTNEXTLINE(bugprone-sizeof-expression): an array of pointers
    *s2_array_append(tape->traces) = s2_trace_new();
  }
  S2Trace *trace = tape->traces.at[tape->traces_used++];
  stepping->moment->trace[stepping->index[index]] = trace;
  return s2_world_step_traced(world, trace);
}

void s2_many_tape_step(S2ManyTape *tape, S2Status *status) {
  int32_t index[MOST] = {0};
  int count = 0, recorded = tape->recorder.steps.count;
  S2World *worlds[MOST] = {NULL};
  S2Status each[MOST];
  Moment *moment = s2_array_append(tape->moments);
  *moment = (Moment){0};
  for (int i = 0; i < tape->count; i++) {
    moment->slopes[i] = tape->side[i].slopes.count;
    if (status[i].code == S2_OK) {
      index[count] = i;
      worlds[count++] = tape->world[i];
      moment->time = s2_world_time(tape->world[i]);
      many_note_pushes(tape, i);
    }
  }
  Stepping stepping = {tape, moment, index};
  (void)s2_worlds_step_with(worlds, count, each, many_step_traced, &stepping, &tape->recorder);
  for (int i = 0; i < count; i++) {
    status[index[i]] = each[i];
  }
  // The records list the worlds that were stepped. Let them list the worlds of the tape.
  moment->recorded = tape->recorder.steps.count;
  for (int i = recorded; i < moment->recorded; i++) {
    S2RecordedStep *step = &tape->recorder.steps.at[i];
    for (int k = 0; k < step->worlds; k++) {
      step->index[k] = step->index[k] < 0 ? -1 : index[step->index[k]];
    }
  }
}

// ---- Readings -----------------------------------------------------------------------------------

static void many_add(Side *side, int32_t place, double value) {
  if (value != 0) {
    *s2_array_append(side->slopes) = (Slope){place, value};
  }
}

// The angle of a hinge is the angle of body a minus the angle of body b. The same holds for speeds.
static void many_read_turn(Side *side, const S2Joint *joint, int first, double slope) {
  if (joint->a != S2_NONE) {
    many_add(side, first + 3 * joint->a, slope);
  }
  if (joint->b != S2_NONE) {
    many_add(side, first + 3 * joint->b, -slope);
  }
}

// The translation of a slider, or its rate J v.
static void many_read_slide(S2ManyTape *tape, int index, const S2Joint *joint, bool rate,
                            double slope) {
  const S2World *world = tape->world[index];
  Side *side = &tape->side[index];
  s2_arena_reset(&tape->arena);
  int numbers = 3 * world->bodies.count;
  double *q_bar = S2_TAKE_ZEROED(&tape->arena, double, numbers), elapsed = 0;
  S2JointGradient unused = {0};
  S2PlaceBar place = {
      .q = q_bar, .elapsed = &elapsed, .gradient = &side->gradient, .joint = &unused};
  S2JointAt at = {world, joint, world->q.at, 0, NULL};
  S2RowBar bar = {.value = rate ? 0 : slope};
  const int32_t slots[2] = {joint->a, joint->b};
  S2JointRow row;
  s2_joint_kind(joint->type)->coordinate(&at, &row, NULL);
  for (int k = 0; k < 6 && rate; k++) {
    int32_t slot = slots[k / 3];
    double j = k < 3 ? row.ja[k] : row.jb[k - 3];
    if (slot != S2_NONE) {
      *(k < 3 ? &bar.ja[k] : &bar.jb[k - 3]) = slope * world->v.at[3 * slot + k % 3];
      many_add(side, numbers + 3 * slot + k % 3, slope * j);
    }
  }
  // The coordinate or its direction depends on the poses.
  s2_joint_function_vjp(&at, S2_OF_COORDINATE, &bar, &place);
  for (int k = 0; k < 6; k++) {
    int32_t slot = slots[k / 3];
    if (slot != S2_NONE) {
      many_add(side, 3 * slot + k % 3, q_bar[3 * slot + k % 3]);
    }
  }
}

void s2_many_tape_read(S2ManyTape *tape, int index, S2BodyId body, S2JointId id, int field,
                       double slope) {
  Side *side = &tape->side[index];
  int numbers = 3 * tape->world[index]->bodies.count;
  if (id.index != 0) {
    const S2Joint *joint = &tape->world[index]->joints.at[id.index - 1];
    bool rate = field == S2_JOINT_SPEED;
    if (field == S2_JOINT_ANGLE || (rate && joint->type == S2_HINGE)) {
      many_read_turn(side, joint, rate ? numbers : 0, slope);
    } else {
      many_read_slide(tape, index, joint, rate, slope);
    }
  } else if (field < S2_BODY_STATE_COUNT) { // all other fields are constants
    int first = field < S2_BODY_OMEGA ? field : numbers + field - S2_BODY_OMEGA;
    many_add(side, first + 3 * ((int32_t)body.index - 1), slope);
  }
}

// ---- Back ---------------------------------------------------------------------------------------

// Passes the adjoint of the forces on to the effort that caused them, and to the poses on which
// they depend.
static void many_slide_vjp(const S2World *world, const S2Joint *joint, S2WorldGradient *g,
                           Push *push) {
  static const double none[3] = {0, 0, 0};
  int32_t a = joint->a, b = joint->b;
  const double *qa = push->q[0], *qb = push->q[1];
  bool yields_a = a != S2_NONE && s2_body_yields(&world->bodies.at[a]);
  bool yields_b = b != S2_NONE && s2_body_yields(&world->bodies.at[b]);
  const double *fa = yields_a ? g->f + 3 * a : none, *fb = yields_b ? g->f + 3 * b : none;
  // The force acts at the anchor of a, along the axis of b.
  S2Vec2 arm = s2_rotate(s2_rot(qa[0]), joint->local_a), n = s2_rotate(s2_rot(qb[0]), joint->axis);
  S2Vec2 w = s2_vec2(qa[1] + arm.x - qb[1], qa[2] + arm.y - qb[2]);
  double e = push->effort;
  push->bar = fa[0] * s2_cross(arm, n) + fa[1] * n.x + fa[2] * n.y - fb[0] * s2_cross(w, n) -
              fb[1] * n.x - fb[2] * n.y;
  S2Vec2 n_bar = s2_vec2(fa[1] - fb[1] - fa[0] * arm.y + fb[0] * w.y,
                         fa[2] - fb[2] + fa[0] * arm.x - fb[0] * w.x);
  S2Vec2 w_bar = s2_vec2(-fb[0] * n.y, fb[0] * n.x);
  S2Vec2 arm_bar = s2_vec2(fa[0] * n.y + w_bar.x, w_bar.y - fa[0] * n.x);
  if (a != S2_NONE) {
    g->q[3 * a] += e * (arm_bar.y * arm.x - arm_bar.x * arm.y);
    g->q[3 * a + 1] += e * w_bar.x;
    g->q[3 * a + 2] += e * w_bar.y;
  }
  if (b != S2_NONE) {
    g->q[3 * b] += e * (n_bar.y * n.x - n_bar.x * n.y);
    g->q[3 * b + 1] -= e * w_bar.x;
    g->q[3 * b + 2] -= e * w_bar.y;
  }
}

static void many_push_vjp(const S2World *world, const S2Actuator *actuator, S2WorldGradient *g,
                          Push *push) {
  if (actuator->on_joint) {
    const S2Joint *joint = &world->joints.at[actuator->joint.index - 1];
    const int32_t slots[2] = {joint->a, joint->b};
    for (int k = 0; k < 2 && actuator->turns; k++) {
      bool yields = slots[k] != S2_NONE && s2_body_yields(&world->bodies.at[slots[k]]);
      push->bar += yields ? (k == 0 ? 1 : -1) * g->f[3 * slots[k]] : 0;
    }
    if (!actuator->turns) {
      many_slide_vjp(world, joint, g, push);
    }
    return;
  }
  // The actuator acts on a body.
  int32_t slot = (int32_t)actuator->body.index - 1;
  const double *f = g->f + 3 * slot;
  if (!s2_body_yields(&world->bodies.at[slot])) {
    return;
  }
  if (actuator->turns) {
    push->bar = f[0];
  } else if (actuator->fixed) {
    S2Vec2 along = s2_rotate(s2_rot(push->q[0][0]), actuator->direction);
    push->bar = f[0] * s2_actuator_arm(actuator) + f[1] * along.x + f[2] * along.y;
    g->q[3 * slot] += push->effort * (f[2] * along.x - f[1] * along.y);
  } else {
    push->bar = f[1] * actuator->direction.x + f[2] * actuator->direction.y;
  }
}

static void many_undo_recorded(S2ManyTape *tape, const S2RecordedStep *step) {
  S2WorldGradient gradients[MOST];
  const S2Program *programs[MOST] = {NULL};
  for (int i = 0; i < step->worlds; i++) {
    int at = step->index[i];
    if (at >= 0) {
      gradients[at] = tape->side[at].gradient; // with the same arrays
      programs[at] = tape->world[at]->program;
    }
  }
  s2_recorded_vjp(&tape->sweep, step, programs, gradients, tape->good);
}

static void many_undo_traced(S2ManyTape *tape, int index, const S2Trace *trace) {
  S2WorldGradient *gradient = &tape->side[index].gradient;
  gradient->flags = S2_GRADIENT_WEAK; // do not sweep twice
  s2_arena_reset(&tape->arena);
  bool good = tape->good[index] && s2_trace_vjp(trace, gradient, &tape->arena).code == S2_OK;
  tape->good[index] = good && (gradient->flags & S2_GRADIENT_SINGULAR) == 0;
}

// Adds the slopes that follow a step.
static void many_undo_readings(Side *side, int from) {
  int numbers = 3 * side->gradient.slots;
  for (int i = side->slopes.count - 1; i >= from; i--) {
    const Slope *slope = &side->slopes.at[i];
    double *to = slope->place < numbers ? side->gradient.q : side->gradient.v - numbers;
    to[slope->place] += slope->value;
  }
  side->slopes.count = from;
}

void s2_many_tape_sweep(S2ManyTape *tape) {
  for (int t = tape->moments.count - 1; t >= 0; t--) {
    const Moment *moment = &tape->moments.at[t];
    for (int i = 0; i < tape->count; i++) {
      many_undo_readings(&tape->side[i], moment->slopes[i]);
    }
    for (int k = t > 0 ? moment[-1].recorded : 0; k < moment->recorded; k++) {
      many_undo_recorded(tape, &tape->recorder.steps.at[k]);
    }
    for (int i = 0; i < tape->count; i++) {
      Side *side = &tape->side[i];
      if (moment->trace[i] != NULL) {
        many_undo_traced(tape, i, moment->trace[i]);
      }
      // A world that has failed has taken fewer steps.
      for (int k = 0; k < tape->actuators && t < side->pushes.count / tape->actuators; k++) {
        many_push_vjp(tape->world[i], &tape->world[i]->actuators.at[k], &side->gradient,
                      &side->pushes.at[t * tape->actuators + k]);
      }
    }
  }
}

bool s2_many_tape_good(const S2ManyTape *tape, int world) {
  return tape->good[world];
}

double s2_many_tape_effort(const S2ManyTape *tape, int world, int step, int actuator,
                           double *given) {
  const Push *push = &tape->side[world].pushes.at[step * tape->actuators + actuator];
  *given = push->given;
  return push->bar;
}

double s2_many_tape_time(const S2ManyTape *tape, int step) {
  return tape->moments.at[step].time;
}
