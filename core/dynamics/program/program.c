// Steps a world by its program: copies the world's data for the kernels and writes their results
// back.
#include "dynamics/joints/joint.h"
#include "dynamics/program/recorded.h"
#include "dynamics/step/context.h"
#include "dynamics/step/solve.h"

#include <stddef.h>
#include <string.h>

// Maximum number of steps by the general path before the program is tried again.
enum { WAIT_MOST = 63 };

// ---- Bodies that are near -----------------------------------------------------------------------
//
// A program takes a step only if the search for contacts (step/touch.c) would find no pairs in it.
// The boxes here contain those of the search. They are first made from circles about the centres of
// bodies, and from the shapes only if the boxes of circles meet.

// The boxes are larger by this fraction of their coordinates, because the search rounds
// differently.
static const double ROUNDED = 1e-12;

// The velocities of a body at the start of the step and, without contacts and joints, at its end.
typedef struct Motion {
  double v[3], free_v[3];
} Motion;

static Motion apart_motion_of(const S2World *world, int32_t slot) {
  const S2Body *body = &world->bodies.at[slot];
  const S2WorldDef *def = &world->kept.def;
  double scale = body->mass * body->gravity_scale;
  const double inertial[3] = {body->inertia, body->mass, body->mass};
  const double weight[3] = {0, scale * def->gravity.x, scale * def->gravity.y};
  Motion motion;
  for (int c = 0; c < 3; c++) {
    double v = world->v.at[3 * slot + c];
    motion.v[c] = motion.free_v[c] = v;
    if (s2_body_moves(body)) {
      motion.free_v[c] = v + def->dt * (world->f.at[3 * slot + c] + weight[c]) / inertial[c];
    }
  }
  return motion;
}

// m: the largest displacement of a point of a body by a rotation.
static double apart_turn_reach(const S2Body *body, double angle) {
  return fmin(fabs(angle), 2) * body->reach;
}

// m: the distance by which the search expects the body to deviate from its free motion.
static double apart_slack_of(const S2World *world, const S2Body *body, const Motion *motion) {
  double dt = world->kept.def.dt;
  const double *v = motion->v, *free_v = motion->free_v;
  return dt * hypot(free_v[1] - v[1], free_v[2] - v[2]) +
         apart_turn_reach(body, dt * (free_v[0] - v[0]));
}

// Returns the box around the shapes of a body.
static S2Box apart_shapes_box(const S2World *world, int32_t slot) {
  S2Pose pose = s2_slot_pose(world->q.at, slot);
  S2Box all = {{INFINITY, INFINITY}, {-INFINITY, -INFINITY}};
  for (int32_t p = world->bodies.at[slot].first_shape; p != S2_NONE; p = world->pieces.at[p].next) {
    S2Shape shape = s2_piece_shape(world, &world->pieces.at[p]);
    S2Box box = s2_shape_box(&shape, pose);
    all.lo = s2_vec2(fmin(all.lo.x, box.lo.x), fmin(all.lo.y, box.lo.y));
    all.hi = s2_vec2(fmax(all.hi.x, box.hi.x), fmax(all.hi.y, box.hi.y));
  }
  return all;
}

// Returns a box that contains the box of the search around the motion of a body.
static S2Box apart_moving_box(const S2World *world, int32_t slot, double slack, bool exact) {
  const S2Body *body = &world->bodies.at[slot];
  const double *q = world->q.at + 3 * slot;
  Motion motion = apart_motion_of(world, slot);
  double dt = world->kept.def.dt, dx = dt * motion.free_v[1], dy = dt * motion.free_v[2];
  double grow = world->kept.def.contact_margin + apart_turn_reach(body, dt * motion.free_v[0]) +
                fmax(slack, apart_slack_of(world, body, &motion));
  grow += ROUNDED * (grow + body->reach + fabs(q[1]) + fabs(q[2]) + fabs(dx) + fabs(dy));
  double reach = body->reach;
  S2Box box = {{q[1] - reach, q[2] - reach}, {q[1] + reach, q[2] + reach}};
  box = exact ? apart_shapes_box(world, slot) : box;
  return (S2Box){{box.lo.x + fmin(dx, 0) - grow, box.lo.y + fmin(dy, 0) - grow},
                 {box.hi.x + fmax(dx, 0) + grow, box.hi.y + fmax(dy, 0) + grow}};
}

static bool apart_boxes_meet(const S2Box *a, const S2Box *b) {
  // NaN counts as near, and the general path then reports what is wrong.
  return !(a->lo.x > b->hi.x || b->lo.x > a->hi.x || a->lo.y > b->hi.y || b->lo.y > a->hi.y);
}

// Makes the box of a body from its shapes.
static void apart_make_exact(const S2World *world, S2ProgramNear *near) {
  if (!near->stays && !near->exact) {
    near->box = apart_moving_box(world, near->slot, near->slack, true);
    near->exact = true;
  }
}

static bool near_pairs_apart(const S2World *world) {
  S2Program *program = world->program;
  bool apart = true;
  for (int i = 0; i < program->pairs && apart; i++) {
    S2ProgramNear *a = &program->near[program->pair[i][0]];
    S2ProgramNear *b = &program->near[program->pair[i][1]];
    if (apart_boxes_meet(&a->box, &b->box)) {
      apart_make_exact(world, a);
      apart_make_exact(world, b);
      apart = !apart_boxes_meet(&a->box, &b->box);
    }
  }
  return apart;
}

static void apart_set_box(const S2World *world, S2ProgramNear *near, double slack) {
  near->slack = slack;
  near->exact = false;
  near->box = apart_moving_box(world, near->slot, slack, false);
}

bool s2_program_apart(const S2World *world) {
  S2Program *program = world->program;
  for (int i = 0; i < program->near_count && program->pairs > 0; i++) {
    S2ProgramNear *near = &program->near[i];
    const double *q = world->q.at + 3 * near->slot;
    if (!near->stays) {
      apart_set_box(world, near, 0);
    } else if (q[0] != near->q[0] || q[1] != near->q[1] || q[2] != near->q[2]) {
      near->box = apart_shapes_box(world, near->slot);
      memcpy(near->q, q, sizeof near->q);
    }
  }
  return near_pairs_apart(world);
}

// Returns the distance (m) between the pose q at the end of the step and the free motion if the
// search is repeated for it, or 0. The search is repeated if a body leaves half of the margin.
static double apart_astray(const S2World *world, int32_t slot, const double q[3]) {
  const S2Body *body = &world->bodies.at[slot];
  const double *q0 = world->q.at + 3 * slot;
  Motion motion = apart_motion_of(world, slot);
  double dt = world->kept.def.dt, gone[3];
  for (int c = 0; c < 3; c++) {
    gone[c] = q[c] - q0[c] - dt * motion.free_v[c];
  }
  double away = hypot(gone[1], gone[2]) + apart_turn_reach(body, gone[0]);
  double room = world->kept.def.contact_margin / 2 + apart_slack_of(world, body, &motion);
  double rounded = ROUNDED * (room + body->reach + fabs(q0[1]) + fabs(q0[2]) + away);
  return away <= room - rounded ? 0 : away + rounded;
}

bool s2_program_stays_apart(const S2World *world, int32_t slot, const double q[3]) {
  S2Program *program = world->program;
  int i = 0;
  while (i < program->near_count && program->near[i].slot != slot) {
    i++;
  }
  double away = i < program->near_count ? apart_astray(world, slot, q) : 0;
  if (away == 0) {
    return true;
  }
  apart_set_box(world, &program->near[i], away);
  return near_pairs_apart(world);
}

// ---- Readiness --------------------------------------------------------------------------------

static void program_make(S2World *world) {
  s2_arena_reset(&world->arena);
  world->program = s2_program_compile(world, &world->arena);
  world->program_is = S2_PROGRAM_MADE;
  s2_array_reserve(world->corrected, 3 * world->bodies.count);
}

void s2_program_prepare(S2World *world) {
  // The general path takes one step after each change. This step brings the world's data (touches,
  // boxes, impulses of removed limits) into the state that the kernels expect.
  if (world->program_is == S2_PROGRAM_STALE) {
    s2_program_free(world->program);
    world->program = NULL;
    world->program_is = S2_PROGRAM_WAITS;
  } else if (world->program_is == S2_PROGRAM_WAITS && world->lanes > 0) {
    program_make(world);
  }
}

void s2_program_hasten(S2World *world) {
  if (world->program_is == S2_PROGRAM_MADE || world->lanes == 0) {
    return;
  }
  s2_program_free(world->program);
  program_make(world);
  // One step of the general path removes outdated data (see s2_program_prepare).
  if (world->program != NULL && world->kept.steps > 0) {
    world->program->wait = 1;
  }
}

bool s2_program_records(const S2World *world) {
  const S2Program *program = world->program;
  bool records = world->program_is == S2_PROGRAM_MADE && program != NULL;
  for (int i = 0; records && i < program->islands; i++) {
    records = program->island[i].table.rattles;
  }
  return records;
}

void s2_program_restart(S2World *world) {
  s2_program_hasten(world);
  if (world->program_is == S2_PROGRAM_MADE && world->program != NULL) {
    world->program->wait = world->kept.steps > 0 ? 1 : 0;
    world->program->waits = 0;
  }
}

// A world is not ready if its step needs more than s2_program_write, because s2_worlds_step_many
// omits parts of the preparation in s2_world_step.
bool s2_program_ready(S2World *world) {
  S2Program *program = world->program;
  if (world->program_is != S2_PROGRAM_MADE || program == NULL || world->stepping) {
    return false;
  }
  if (program->dt != world->kept.def.dt) { // static.c takes steps of other lengths
    s2_world_changed(world);
    return false;
  }
  if (program->wait > 0) {
    program->wait -= 1;
    return false;
  }
  bool noted = world->notes != NULL && (world->recorder == NULL || !s2_program_records(world));
  bool fits = world->lanes > 0 && !noted && world->dump_directory == NULL &&
              world->touches.count == 0 && world->acted.count == 0 && world->couples.count == 0;
  // Clear the corrections if no step has written any since the state was set.
  int numbers = 3 * world->bodies.count;
  if (fits && world->corrected.count == 0 && world->corrected.capacity >= numbers) {
    world->corrected.count = numbers;
    memset(world->corrected.at, 0, sizeof(double) * (size_t)numbers);
  }
  return fits && world->corrected.count == numbers;
}

// After each failure of the program, the general path takes more steps than after the last one.
// This saves time in worlds that are unsuitable for programs.
static void program_misses(S2Program *program) {
  program->waits = 2 * program->waits + 1 < WAIT_MOST ? 2 * program->waits + 1 : WAIT_MOST;
  program->wait = program->waits;
}

// ---- Inputs of kernels ------------------------------------------------------------------------

#define AT(type, member) (offsetof(type, member) / sizeof(double))

typedef struct Lane { // one of `lanes` interleaved structs of numbers
  double *at;
  int lanes;
} Lane;

static inline void lane_put(Lane lane, size_t at, const double *from, int count) {
  double *to = lane.at + (size_t)lane.lanes * at;
  for (int i = 0; i < count; i++) {
    to[lane.lanes * i] = from[i];
  }
}

static inline void lane_get(Lane lane, size_t at, double *to, int count) {
  const double *from = lane.at + (size_t)lane.lanes * at;
  for (int i = 0; i < count; i++) {
    to[i] = from[lane.lanes * i];
  }
}

static inline double lane_number(Lane lane, size_t at) {
  return lane.at[(size_t)lane.lanes * at];
}

static inline void read_state(const S2World *world, const S2ProgramIsland *island, Lane lane) {
  static const double none[3] = {0, 0, 0};
  const S2Table *table = &island->table;
  for (int i = 0; i < table->nodes; i++) {
    size_t slot = 3 * (size_t)island->node[i], at = 3 * (size_t)i;
    lane_put(lane, AT(S2TableState, q) + at, world->q.at + slot, 3);
    lane_put(lane, AT(S2TableState, v) + at, world->v.at + slot, 3);
    lane_put(lane, AT(S2TableState, force) + at, world->f.at + slot, 3);
  }
  // Set the pose and velocity of the ground.
  for (int k = 0; k < table->grounds; k++) {
    size_t slot = 3 * (size_t)island->ground[k], at = 3 * (size_t)k;
    const double *q = table->stands[k] ? none : world->q.at + slot;
    const double *v = table->goes[k] ? world->v.at + slot : none;
    lane_put(lane, AT(S2TableState, ground_q) + at, q, 3);
    lane_put(lane, AT(S2TableState, ground_v) + at, v, 3);
  }
  for (int g = 0; g < table->joints; g++) {
    const S2Joint *joint = &world->joints.at[island->joint[g]];
    lane_put(lane, AT(S2TableState, lambda) + 2 * (size_t)g, joint->impulse, 2);
    lane_put(lane, AT(S2TableState, acted) + (size_t)g, &joint->reaction_time, 1);
  }
}

static void read_constants(const S2ProgramIsland *island, Lane lane) {
  const S2Constants *of = &island->constants;
  int node = sizeof of->node[0] / sizeof(double), joint = sizeof of->joint[0] / sizeof(double);
  lane_put(lane, AT(S2Constants, node), &of->node[0].inertia, node * island->table.nodes);
  lane_put(lane, AT(S2Constants, joint), of->joint[0].arm_a, joint * island->table.joints);
  lane_put(lane, AT(S2Constants, h), &of->h, 4);
}

void s2_program_constants(const S2Program *program, int island, int lanes, int lane,
                          double *constants) {
  read_constants(&program->island[island], (Lane){constants + lane, lanes});
}

void s2_program_read(const S2World *world, int island, int lanes, int lane, double *state,
                     double *constants) {
  const S2ProgramIsland *of = &world->program->island[island];
  read_state(world, of, (Lane){state + lane, lanes});
  if (constants != NULL) {
    read_constants(of, (Lane){constants + lane, lanes});
  }
}

// ---- Results ----------------------------------------------------------------------------------

static inline void keep_most(double *most, double x) { // fmax would be a function call
  *most = x > *most ? x : *most;
}

static void write_island(S2World *world, const S2ProgramIsland *island, Lane lane) {
  const S2Table *table = &island->table;
  for (int i = 0; i < table->nodes; i++) {
    size_t slot = 3 * (size_t)island->node[i], at = 3 * (size_t)i;
    lane_get(lane, AT(S2TableState, q) + at, world->q.at + slot, 3);
    lane_get(lane, AT(S2TableState, v) + at, world->v.at + slot, 3);
    // In other islands, the correction has been 0 since the step before the program was made.
    if (table->floats) {
      lane_get(lane, AT(S2TableState, corrected) + at, world->corrected.at + slot, 3);
    }
  }
  for (int g = 0; g < table->joints; g++) {
    S2Joint *joint = &world->joints.at[island->joint[g]];
    lane_get(lane, AT(S2TableState, lambda) + 2 * (size_t)g, joint->impulse, 2);
    lane_get(lane, AT(S2TableState, reaction) + 3 * (size_t)g, joint->reaction, 3);
    joint->reaction_time = island->constants.h;
  }
  // Update the statistics in the same way as s2_mcp_solve and projection.
  double scaled = lane_number(lane, AT(S2TableState, residual));
  double raw = lane_number(lane, AT(S2TableState, joint));
  double balance = lane_number(lane, AT(S2TableState, balance));
  S2WorldResiduals *left = &world->residuals;
  keep_most(&left->solve.scaled, scaled);
  keep_most(&left->solve.joint, raw);
  keep_most(&left->solve.dynamics, balance);
  keep_most(&left->joint_error, lane_number(lane, AT(S2TableState, error)));
  // The two-stage flow makes two solves per piece. Otherwise there is a single solve, followed by
  // projections.
  uint64_t passes = (uint64_t)lane_number(lane, AT(S2TableState, passes));
  uint64_t solves = table->rattles ? 2 * passes : 1;
  world->stats.projections += table->rattles ? 0 : passes;
  world->stats.solves += solves;
  world->stats.used[S2_SOLVER_LINEAR] += solves;
}

// Final velocities and poses of bodies without joints.
typedef struct Flights {
  double q[S2_PROGRAM_FREE][3], v[S2_PROGRAM_FREE][3];
} Flights;

// See S2Program.splits. Otherwise bodies move with their final velocities.
static double flight_end(const S2Program *program, double q, double v0, double v1, double h) {
  return q + h * (program->splits ? (1 - 0.5) * v0 + 0.5 * v1 : v1);
}

// Returns false if the motion is not finite.
static bool fly_free(const S2World *world, Flights *to) {
  const S2Program *program = world->program;
  S2Vec2 gravity = world->kept.def.gravity;
  double h = program->dt;
  bool finite = true;
  for (int i = 0; i < program->free; i++) {
    int32_t at = 3 * program->free_slot[i];
    const S2Body *body = &world->bodies.at[at / 3];
    const double inertial[3] = {body->inertia, body->mass, body->mass};
    const double weight[3] = {0, body->mass * body->gravity_scale * gravity.x,
                              body->mass * body->gravity_scale * gravity.y};
    for (int c = 0; c < 3; c++) {
      double v0 = world->v.at[at + c], force = world->f.at[at + c];
      force = c > 0 ? force + weight[c] : force;
      to->v[i][c] = (inertial[c] * v0 + h * force) / inertial[c];
      to->q[i][c] = flight_end(program, world->q.at[at + c], v0, to->v[i][c], h);
      finite = finite && isfinite(to->q[i][c]) && isfinite(to->v[i][c]);
    }
  }
  return finite;
}

static void write_others(S2World *world, const Flights *flights) {
  const S2Program *program = world->program;
  double h = program->dt;
  for (int i = 0; i < program->free; i++) {
    memcpy(world->q.at + 3 * program->free_slot[i], flights->q[i], sizeof flights->q[i]);
    memcpy(world->v.at + 3 * program->free_slot[i], flights->v[i], sizeof flights->v[i]);
  }
  for (int i = 0; i < program->still; i++) {
    int32_t at = 3 * program->still_slot[i];
    for (int c = at; c < at + 3; c++) {
      double v = program->goes[i] ? world->v.at[c] : 0;
      world->q.at[c] = flight_end(program, world->q.at[c], v, v, h);
    }
  }
}

// Static bodies get their boxes in the first step after they were moved.
static void box_still(S2World *world) {
  const S2Program *program = world->program;
  for (int i = 0; i < program->still && program->boxed; i++) {
    int32_t slot = program->still_slot[i];
    const S2Body *body = &world->bodies.at[slot];
    int32_t p = body->type == S2_STATIC && body->enabled ? body->first_shape : S2_NONE;
    for (; p != S2_NONE; p = world->pieces.at[p].next) {
      S2Shape shape = s2_piece_shape(world, &world->pieces.at[p]);
      S2Box box = s2_shape_box(&shape, s2_slot_pose(world->q.at, slot));
      s2_broadphase_set(world->broadphase, p, box, false);
    }
  }
}

// Writes the same final state as s2_step_begin, s2_step_commit and the solves.
static void write_account(S2World *world) {
  const S2Program *program = world->program;
  S2WorldStats *stats = &world->stats;
  int iterations = s2_world_rattles(&world->kept.def) ? 0 : program->islands;
  stats->iterations += (uint64_t)iterations;
  stats->last_iterations = iterations;
  stats->last_status = S2_SOLVED;
  stats->steps += 1;
  keep_most(&stats->worst_scaled, world->residuals.solve.scaled);
  keep_most(&stats->worst_joint_error, world->residuals.joint_error);
  stats->bodies = world->order.count;
  stats->joints = world->joint_order.count;
  stats->islands = program->islands;
  stats->contacts = stats->largest_island = 0;
  // Set the remaining state as after any completed step.
  world->dumped = 0;
  world->missed = false;
  world->events.count = 0;
  world->warning[0] = 0;
  world->impulses_listed = false;
  world->boxes_stale = world->contacts_stale = true;
  world->kept.time += program->dt;
  world->kept.steps += 1;
  world->kept.fresh = false;
}

// Returns true if the search would find no pairs for the motion of the kernels' results.
static bool stay_apart(const S2World *world, const double *at, int lanes, size_t apart) {
  const S2Program *program = world->program;
  bool stay = true;
  for (int i = 0; i < program->islands && stay; i++) {
    const S2ProgramIsland *island = &program->island[i];
    Lane lane = {(double *)at + apart * (size_t)i, lanes}; // only read
    for (int k = 0; k < island->table.nodes && stay; k++) {
      double q[3];
      lane_get(lane, AT(S2TableState, q) + 3 * (size_t)k, q, 3);
      stay = s2_program_stays_apart(world, island->node[k], q);
    }
  }
  return stay;
}

bool s2_program_write(S2World *world, int lanes, int lane, const double *state, size_t apart) {
  S2Program *program = world->program;
  double *at = (double *)state + lane; // the state is only read
  bool good = true;
  for (int i = 0; i < program->islands; i++) {
    Lane of = {at + apart * (size_t)i, lanes};
    good = good && lane_number(of, AT(S2TableState, missed)) == 0;
  }
  Flights flights;
  good = good && fly_free(world, &flights);
  if (!good) {
    program_misses(program);
    return false;
  }
  if (program->pairs > 0 && !stay_apart(world, at, lanes, apart)) {
    return false;
  }
  program->waits = 0;
  // The world is changed only from here on.
  s2_annotations_begin_step(world);
  if (world->kept.fresh) {
    box_still(world);
  }
  world->residuals = (S2WorldResiduals){0};
  for (int i = 0; i < program->islands; i++) {
    write_island(world, &program->island[i], (Lane){at + apart * (size_t)i, lanes});
  }
  write_others(world, &flights);
  for (int i = 0; i < world->order.count; i++) {
    double *force = world->f.at + 3 * world->order.at[i];
    force[0] = force[1] = force[2] = 0;
  }
  write_account(world);
  s2_annotations_end_step(world);
  return true;
}

// ---- Steps of one world -----------------------------------------------------------------------

bool s2_program_proceeds(S2World *world) {
  if (world->callbacks.proceed == NULL) {
    return true;
  }
  world->stepping = true;
  bool going = world->callbacks.proceed(world->callbacks.user);
  world->stepping = false;
  return going;
}

S2Status s2_program_stopped(S2World *world) {
  world->events.count = 0;
  return s2_error(S2_ABORTED, "the step was stopped by a callback");
}

bool s2_program_run(S2World *world, S2Recorder *recorder, S2RecordedStep *step, S2Status *status) {
  S2TableState state[S2_PROGRAM_FREE];
  const S2Program *program = world->program;
  for (int i = 0; i < program->islands; i++) {
    const S2ProgramIsland *island = &program->island[i];
    read_state(world, island, (Lane){(double *)&state[i], 1});
    s2_table_step_1(&island->table, &island->constants, &state[i],
                    recorder != NULL ? recorder->scratch : NULL);
    if (recorder != NULL) {
      step->island[i] = s2_recorder_keep(recorder, &island->table, 1);
    }
  }
  *status = s2_ok();
  return s2_program_write(world, 1, 0, (const double *)state, sizeof *state / sizeof(double));
}

bool s2_program_hangs(const S2World *world) {
  const S2Program *program = world->program;
  bool hangs = world->program_is == S2_PROGRAM_MADE && program != NULL && program->islands > 0 &&
               program->pairs == 0;
  for (int i = 0; hangs && i < program->islands; i++) {
    hangs = !program->island[i].table.floats;
  }
  return hangs;
}

bool s2_program_step(S2World *world, S2Status *status) {
  if (!s2_program_ready(world) || !s2_program_apart(world)) {
    return false;
  }
  if (!s2_program_proceeds(world)) {
    *status = s2_program_stopped(world);
    return true;
  }
  S2Recorder *recorder = world->recorder;
  S2RecordedStep *step = NULL;
  if (recorder != NULL) {
    step = s2_array_append(recorder->steps);
    *step = (S2RecordedStep){.lanes = 1, .worlds = 1};
  }
  bool good = s2_program_run(world, recorder, step, status);
  if (recorder != NULL && !good) {
    recorder->steps.count -= 1;
  }
  return good;
}

void s2_world_set_lanes(S2World *world, int most) {
  world->lanes = most;
  s2_world_changed(world);
}
