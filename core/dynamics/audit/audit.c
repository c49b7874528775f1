// Collects the data of a step for the audits, and reports their findings.
#include "dynamics/audit/audit.h"
#include "dynamics/step/forces.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

// ---- Storage ----------------------------------------------------------------------------------

static double *audit_doubles(int count) {
  return s2_memory_take_zeroed(sizeof(double) * (size_t)count);
}

// Frees the arrays of bodies and joints and clears their pointers, because a later allocation may
// fail.
static void audit_drop(S2Auditor *audit) {
  double **doubles[] = {&audit->q0,        &audit->v0,     &audit->force,   &audit->pushed,
                        &audit->corrected, &audit->size,   &audit->damped,  &audit->work,
                        &audit->excused,   &audit->driven, &audit->carried, &audit->coordinate,
                        &audit->elastic,   &audit->arm,    &audit->pace,    &audit->left,
                        &audit->missed};
  for (size_t i = 0; i < sizeof doubles / sizeof doubles[0]; i++) {
    s2_memory_free(*doubles[i]);
    *doubles[i] = NULL;
  }
  // Free the work, flags, groups and paths of the bodies.
  s2_memory_free(audit->set);
  s2_memory_free(audit->done);
  s2_memory_free(audit->tried);
  s2_memory_free(audit->run);
  s2_memory_free(audit->jointed);
  s2_memory_free(audit->held);
  s2_memory_free(audit->root);
  s2_memory_free(audit->knots);
  s2_memory_free(audit->knot);
  audit->set = audit->jointed = audit->held = NULL;
  audit->done = audit->tried = NULL;
  audit->run = NULL;
  audit->root = NULL;
  audit->knots = NULL;
  audit->knot = NULL;
  audit->room = audit->knot_room = audit->joint_room = 0;
}

static void audit_make_room(S2Auditor *audit, int slots, int joints, int knots) {
  if (slots <= audit->room && knots <= audit->knot_room && joints <= audit->joint_room) {
    return;
  }
  audit_drop(audit);
  int room = slots + slots / 4 + 4, joint_room = joints + joints / 4 + 4;
  audit->q0 = audit_doubles(3 * room);
  audit->v0 = audit_doubles(3 * room);
  audit->force = audit_doubles(3 * room);
  audit->pushed = audit_doubles(3 * room);
  audit->corrected = audit_doubles(3 * room);
  audit->size = audit_doubles(room);
  audit->damped = audit_doubles(room);
  audit->work = audit_doubles(room);
  audit->excused = audit_doubles(room);
  audit->arm = audit_doubles(room);
  audit->left = audit_doubles(6 * room);
  audit->missed = audit_doubles(room);
  // Allocate the work, flags, groups and paths of the bodies.
  audit->set = s2_memory_take_zeroed(sizeof(bool) * (size_t)room);
  audit->done = s2_memory_take_zeroed(sizeof *audit->done * (size_t)room);
  audit->tried = s2_memory_take_zeroed(sizeof *audit->tried * (size_t)room);
  audit->run = s2_memory_take_zeroed(sizeof *audit->run * (size_t)room);
  audit->jointed = s2_memory_take_zeroed(sizeof(bool) * (size_t)room);
  audit->held = s2_memory_take_zeroed(sizeof(bool) * (size_t)room);
  audit->root = s2_memory_take_zeroed(sizeof(int32_t) * (size_t)room);
  audit->knots = s2_memory_take_zeroed(sizeof(int) * (size_t)room);
  // This array is not zeroed: most bodies use few knots, and unwritten pages take no memory.
  audit->knot = s2_memory_take(sizeof(S2AuditKnot) * (size_t)room * (size_t)knots);
  // Joints.
  audit->coordinate = audit_doubles(joint_room);
  audit->pace = audit_doubles(joint_room);
  audit->elastic = audit_doubles(joint_room);
  audit->driven = audit_doubles(joint_room);
  audit->carried = audit_doubles(joint_room);
  audit->room = room;
  audit->knot_room = knots;
  audit->joint_room = joint_room;
}

// Allocate one block for the arrays of all audits, so that the end of a step needs no allocation.
static void audit_reserve(S2Auditor *audit, int slots, int pieces) {
  size_t bytes = S2_AUDIT_SCRATCH * ((size_t)slots + (size_t)pieces + 1);
  for (int i = 0; i < 2; i++) { // the second pass needs only one block
    s2_arena_reset(&audit->arena);
    (void)s2_arena_take(&audit->arena, bytes);
  }
  s2_arena_reset(&audit->arena);
}

void s2_audit_free(S2World *world) {
  S2Auditor *audit = world->audit;
  if (audit == NULL) {
    return;
  }
  audit_drop(audit);
  s2_memory_free(audit->before);
  s2_memory_free(audit->image);
  s2_arena_free(&audit->arena);
  s2_memory_free(audit);
  world->audit = NULL;
}

// ---- Collecting -------------------------------------------------------------------------------

// Returns the elastic energy of a joint's springs, J.
static double audit_elastic(const S2World *world, const S2Joint *joint) {
  S2JointRow rows[S2_JOINT_EQUATIONS];
  S2JointAt at = {world, joint, world->q.at, 0, NULL};
  int count = s2_joint_rows(&at, rows);
  return s2_joint_energy(joint, rows, count);
}

double s2_audit_elastic(const S2World *world, int32_t slot) {
  const S2Joint *joint = &world->joints.at[slot];
  return s2_joint_active(world, joint) ? audit_elastic(world, joint) : 0;
}

static S2JointRow audit_drive(const S2World *world, const S2Joint *joint) {
  const S2JointKind *kind = s2_joint_kind(joint->type);
  S2JointRow row = {0};
  if (kind->drive != NULL && s2_joint_active(world, joint)) {
    kind->drive(&(S2JointAt){world, joint, world->q.at, 0, NULL}, &row, NULL);
  }
  return row;
}

double s2_audit_coordinate(const S2World *world, int32_t slot) {
  return audit_drive(world, &world->joints.at[slot]).value;
}

double s2_audit_pace(const S2World *world, int32_t slot) {
  const S2Joint *joint = &world->joints.at[slot];
  S2JointRow row = audit_drive(world, joint);
  double speed = row.rate;
  for (int c = 0; c < 3; c++) {
    speed += joint->a == S2_NONE ? 0 : row.ja[c] * world->v.at[3 * joint->a + c];
    speed += joint->b == S2_NONE ? 0 : row.jb[c] * world->v.at[3 * joint->b + c];
  }
  return speed;
}

static void audit_make_room_for_held(const S2World *world, S2Auditor *audit) {
  int room = world->acted.count + world->acted.count / 4 + 4;
  if (world->acted.count > audit->held_room) {
    s2_memory_free(audit->before);
    audit->before = NULL;
    audit->held_room = 0;
    audit->before = s2_memory_take(sizeof *audit->before * (size_t)room);
    audit->held_room = room;
  }
}

// Stores the pairs that stick, i.e. whose friction is below its bound.
static void audit_keep_held(const S2World *world, S2Auditor *audit) {
  audit->held_before = 0;
  for (int i = 0; i < world->acted.count; i++) {
    const S2Acted *acted = &world->acted.at[i];
    if (!acted->sliding && acted->normal_impulse > 0) {
      audit->before[audit->held_before++] = (S2AuditHeld){acted->shape_a, acted->shape_b};
    }
  }
}

static void audit_keep_image(S2World *world, S2Auditor *audit) {
  audit->image_size = 0;
  if (!world->kept.def.strict) {
    return;
  }
  size_t size = s2_world_image_size(world);
  if (size > audit->image_room) {
    s2_memory_free(audit->image);
    audit->image = NULL;
    audit->image_room = 0;
    audit->image = s2_memory_take(size + size / 4);
    audit->image_room = size + size / 4;
  }
  s2_world_image_write(world, audit->image);
  audit->image_size = size;
}

static int knots_needed(const S2World *world) {
  double fastest = 0;
  for (int i = 0; i < world->order.count; i++) {
    fastest = fmax(fastest, fabs(world->v.at[3 * world->order.at[i]]));
  }
  // An impact may make a slow body spin within a step. So worlds with few bodies always reserve
  // more knots, except for a single body, which has no impacts.
  int count = world->order.count;
  bool few = count > 1 && world->bodies.count <= S2_AUDIT_FEW;
  bool spins = few || fastest * world->kept.def.dt > S2_AUDIT_SPIN;
  return (spins ? S2_AUDIT_KNOTS_SPINNING : S2_AUDIT_KNOTS) * world->kept.def.substeps;
}

// Allocates all memory for the audit of this step.
static S2Status audit_prepare(void *user) {
  S2World *world = user;
  if (world->audit == NULL) {
    world->audit = s2_memory_take_zeroed(sizeof *world->audit);
    world->free_audit = s2_audit_free;
    s2_arena_init(&world->audit->arena);
  }
  S2Auditor *audit = world->audit;
  audit_make_room(audit, world->bodies.count, world->joints.count, knots_needed(world));
  audit_reserve(audit, world->bodies.count, world->pieces.count);
  audit_make_room_for_held(world, audit);
  audit_keep_image(world, audit);
  return s2_ok();
}

static void audit_clear(const S2World *world, S2Auditor *audit) {
  int slots = world->bodies.count;
  audit->slots = slots;
  audit->time = world->kept.time;
  audit->h = 0;
  audit->found = false;
  size_t bytes = sizeof(double) * (size_t)slots;
  memset(audit->force, 0, 3 * bytes);
  memset(audit->pushed, 0, 3 * bytes);
  memset(audit->corrected, 0, 3 * bytes);
  memset(audit->damped, 0, bytes);
  memset(audit->size, 0, bytes);
  memset(audit->work, 0, bytes);
  memset(audit->excused, 0, bytes);
  memset(audit->missed, 0, bytes);
  memset(audit->jointed, 0, sizeof(bool) * (size_t)slots);
  memset(audit->held, 0, sizeof(bool) * (size_t)slots);
  memset(audit->knots, 0, sizeof(int) * (size_t)slots);
  memset(audit->done, 0, sizeof *audit->done * (size_t)slots);
  memset(audit->tried, 0, sizeof *audit->tried * (size_t)slots);
  for (int slot = 0; slot < world->joints.count; slot++) {
    audit->driven[slot] = audit->carried[slot] = 0;
  }
}

S2Status s2_audit_begin(S2World *world) {
  world->residuals.audit = (S2AuditResiduals){0};
  if (!world->kept.def.audit) {
    s2_audit_free(world);
    return s2_ok();
  }
  S2_TRY(s2_memory_guarded(audit_prepare, world));
  S2Auditor *audit = world->audit;
  audit_clear(world, audit);
  // Store the state at the start of the step.
  if (audit->slots > 0) {
    memcpy(audit->q0, world->q.at, 3 * sizeof(double) * (size_t)audit->slots);
    memcpy(audit->v0, world->v.at, 3 * sizeof(double) * (size_t)audit->slots);
  }
  for (int32_t slot = 0; slot < audit->slots; slot++) {
    audit->set[slot] = false;
    for (int c = 0; c < 3; c++) {
      audit->set[slot] |= audit->left[6 * slot + c] != audit->q0[3 * slot + c];
      audit->set[slot] |= audit->left[6 * slot + 3 + c] != audit->v0[3 * slot + c];
    }
  }
  for (int i = 0; i < world->joint_order.count; i++) {
    int32_t slot = world->joint_order.at[i];
    audit->coordinate[slot] = s2_audit_coordinate(world, slot);
    audit->pace[slot] = s2_audit_pace(world, slot);
    audit->elastic[slot] = s2_audit_elastic(world, slot);
  }
  audit_keep_held(world, audit);
  return s2_ok();
}

static void audit_knot(S2Auditor *audit, int32_t slot, S2AuditKnot knot) {
  S2AuditKnot *of = audit->knot + (size_t)audit->knot_room * (size_t)slot;
  int *count = &audit->knots[slot];
  if (*count == audit->knot_room) { // too many pieces: merge this one into the last
    *count -= 1;
    memcpy(knot.v, of[*count].v, sizeof knot.v);
    knot.curved = false;
  }
  of[(*count)++] = knot;
}

static S2AuditFlight flight_of(const S2Step *step, int32_t slot) {
  int32_t at = 3 * slot;
  return (S2AuditFlight){step->q0 + at, step->q1 + at, step->v0 + at, step->v2 + at,
                         step->carry + at};
}

void s2_audit_flight(const S2Step *step, int32_t slot, double end, double h,
                     const S2AuditFlight *flight, bool curved) {
  S2Auditor *audit = step->world->audit;
  if (audit == NULL) {
    return;
  }
  S2AuditKnot knot = {.t = step->t - audit->time + end, .curved = curved};
  memcpy(knot.q, flight->q1, sizeof knot.q);
  memcpy(knot.v, flight->v0, sizeof knot.v);
  audit_knot(audit, slot, knot);
  if (s2_body_moves(&step->world->bodies.at[slot])) {
    s2_audit_integrated(step, slot, h, flight);
  }
}

void s2_audit_piece(const S2Step *step, const S2Island *island, double h, bool curved) {
  const S2World *world = step->world;
  S2Auditor *audit = world->audit;
  int count = audit == NULL ? 0 : island == NULL ? world->order.count : island->nodes;
  for (int i = 0; i < count; i++) {
    int32_t slot = island == NULL ? world->order.at[i] : island->node[i];
    S2AuditFlight flight = flight_of(step, slot);
    s2_audit_flight(step, slot, h, h, &flight, curved);
  }
  if (audit != NULL && island == NULL) { // a search is never repeated from an earlier point
    s2_audit_keep(step);
  }
}

void s2_audit_again(const S2Step *step, const S2Island *island) {
  S2Auditor *audit = step->world->audit;
  int count = audit == NULL ? 0 : island == NULL ? audit->slots : island->nodes;
  for (int i = 0; i < count; i++) {
    int32_t slot = island == NULL ? i : island->node[i];
    const S2AuditKnot *of = audit->knot + (size_t)audit->knot_room * (size_t)slot;
    while (audit->knots[slot] > 0 && of[audit->knots[slot] - 1].t > audit->h) {
      audit->knots[slot] -= 1;
    }
    audit->tried[slot] = (S2AuditWork){0};
  }
}

// Records the effects of forces, damping and corrections on a body in a substep of length h.
static void audit_body(const S2Step *step, int32_t slot, double h) {
  S2Auditor *audit = step->world->audit;
  const S2World *world = step->world;
  const S2Body *body = &world->bodies.at[slot];
  const double *force = step->force + 3 * slot, *q = world->q.at + 3 * slot;
  const double *v0 = step->v_start + 3 * slot, *v1 = step->v2 + 3 * slot;
  const double *q1 = step->q1 + 3 * slot;
  double weight = body->type == S2_DYNAMIC ? body->mass * body->gravity_scale : 0;
  S2Vec2 g = world->kept.def.gravity;
  const double given[3] = {force[0], force[1] - weight * g.x, force[2] - weight * g.y};
  const double inertial[3] = {body->inertia, body->mass, body->mass};
  for (int c = 0; c < 3; c++) {
    double rate = c == 0 ? body->angular_damping : body->linear_damping;
    double most = fmax(fabs(v0[c]), fabs(v1[c]));
    audit->force[3 * slot + c] += h * force[c] - h * rate * inertial[c] * v1[c];
    audit->damped[slot] += h * rate * inertial[c] * most * most;
    audit->work[slot] += given[c] * (q1[c] - q[c]);
    audit->corrected[3 * slot + c] += step->corrected[3 * slot + c];
  }
  if (audit->knots[slot] == 0 ||
      audit->knot[(size_t)audit->knot_room * (size_t)slot + (size_t)audit->knots[slot] - 1].t <=
          audit->h) {
    // A body outside all islands flies freely. In event stepping, its path follows the trapezoidal
    // rule.
    bool flies = step->share < 1 && step->node_of[slot] == S2_GROUND && s2_body_moves(body);
    S2AuditKnot knot = {.t = audit->h + h, .curved = flies};
    memcpy(knot.q, q1, sizeof knot.q);
    memcpy(knot.v, v0, sizeof knot.v);
    audit_knot(audit, slot, knot);
    if (s2_body_moves(body)) {
      S2AuditFlight flight = flight_of(step, slot);
      s2_audit_integrated(step, slot, h, &flight);
    }
  }
}

static void audit_joint(const S2Step *step, int32_t slot) {
  S2Auditor *audit = step->world->audit;
  const S2Joint *joint = &step->world->joints.at[slot];
  const double *impulse = step->joint_impulse + S2_JOINT_ROWS * slot;
  const double *reaction = step->joint_reaction + 3 * slot;
  audit->driven[slot] += fabs(impulse[S2_JOINT_MOTOR]) + fabs(impulse[S2_JOINT_DRY]);
  audit->carried[slot] += hypot(reaction[1], reaction[2]);
  // The reaction of a joint does not include the force of its servo. The force of a gear acts on
  // the bodies of the joints that it couples.
  bool unknown = s2_joint_may_hold(joint) || joint->type == S2_GEAR ||
                 (joint->has_servo && joint->type != S2_HINGE);
  const int32_t ends[4] = {joint->a, joint->b, joint->more[0], joint->more[1]};
  for (int k = 0; k < 4; k++) {
    if (ends[k] == S2_NONE) {
      continue;
    }
    audit->jointed[ends[k]] = true;
    audit->held[ends[k]] |= unknown || k > 1;
    for (int c = 1; c < 3 && k < 2; c++) {
      audit->pushed[3 * ends[k] + c] += k == 0 ? reaction[c] : -reaction[c];
    }
    audit->size[ends[k]] += hypot(reaction[1], reaction[2]);
  }
}

void s2_audit_missed(const S2Step *step, const S2Island *island, double dynamics) {
  S2Auditor *audit = step->world->audit;
  for (int i = 0; audit != NULL && i < island->nodes; i++) {
    audit->missed[island->node[i]] += dynamics;
  }
}

void s2_audit_substep(const S2Step *step) {
  S2World *world = step->world;
  S2Auditor *audit = world->audit;
  double h = step->cut_short ? step->t - world->kept.time : step->dt;
  s2_audit_keep(step);
  for (int i = 0; i < world->order.count; i++) {
    audit_body(step, world->order.at[i], h);
  }
  for (int i = 0; i < world->joint_order.count; i++) {
    int32_t slot = world->joint_order.at[i];
    if (s2_joint_active(world, &world->joints.at[slot])) {
      audit_joint(step, slot);
    }
  }
  s2_audit_keep(step);
  audit->h += h;
}

// ---- Paths ------------------------------------------------------------------------------------

// Returns the piece of a path that contains the time t. *from receives its start time.
static const S2AuditKnot *audit_find(const S2Auditor *audit, int32_t slot, double t, double *from,
                                     const double **q) {
  const S2AuditKnot *of = audit->knot + (size_t)audit->knot_room * (size_t)slot;
  int count = audit->knots[slot], k = 0;
  *from = 0;
  *q = audit->q0 + 3 * slot;
  while (k + 1 < count && of[k].t <= t) {
    *from = of[k].t;
    *q = of[k].q;
    k += 1;
  }
  return count > 0 ? &of[k] : NULL;
}

void s2_audit_pose(const S2Auditor *audit, int32_t slot, double t, double pose[3]) {
  double from;
  const double *q;
  const S2AuditKnot *knot = audit_find(audit, slot, t, &from, &q);
  memcpy(pose, q, 3 * sizeof(double));
  if (knot == NULL || !(knot->t > from)) {
    return;
  }
  double span = knot->t - from, s = fmin((t - from) / span, 1);
  for (int c = 0; c < 3; c++) {
    double way = knot->q[c] - q[c], start = knot->curved ? span * knot->v[c] : way;
    pose[c] = s < 1 ? q[c] + s * start + s * s * (way - start) : knot->q[c];
  }
}

double s2_audit_turn(const S2Auditor *audit, int32_t slot) {
  double turn = 0, at = audit->q0[3 * slot];
  for (int k = 0; k < audit->knots[slot]; k++) {
    double next = audit->knot[(size_t)audit->knot_room * (size_t)slot + (size_t)k].q[0];
    turn = fmax(turn, fabs(next - at));
    at = next;
  }
  return turn;
}

double s2_audit_turn_at_most(const S2Auditor *audit, int32_t slot) {
  double turn = 0, at = audit->q0[3 * slot], begin = 0;
  for (int k = 0; k < audit->knots[slot]; k++) {
    const S2AuditKnot *knot = &audit->knot[(size_t)audit->knot_room * (size_t)slot + (size_t)k];
    double gone = knot->q[0] - at, first = (knot->t - begin) * knot->v[0];
    // On a parabola, the final speed is twice the mean speed minus the initial speed.
    turn = fmax(turn, knot->curved ? fmax(fabs(first), fabs(2 * gone - first)) : fabs(gone));
    at = knot->q[0];
    begin = knot->t;
  }
  return turn;
}

double s2_audit_next_knot(const S2Auditor *audit, int32_t slot, double t) {
  const S2AuditKnot *of = audit->knot + (size_t)audit->knot_room * (size_t)slot;
  for (int k = 0; k < audit->knots[slot]; k++) {
    if (of[k].t > t) {
      return of[k].t;
    }
  }
  return INFINITY;
}

void s2_audit_rate(const S2Auditor *audit, int32_t slot, double from, double to, S2Vec2 v[2],
                   double *turn) {
  double begin;
  const double *q;
  const S2AuditKnot *knot = audit_find(audit, slot, from, &begin, &q);
  v[0] = v[1] = s2_vec2(0, 0);
  *turn = 0;
  if (knot == NULL || !(knot->t > begin)) {
    return;
  }
  double span = knot->t - begin, rate[2][3];
  for (int c = 0; c < 3; c++) {
    double mean = (knot->q[c] - q[c]) / span, start = knot->curved ? knot->v[c] : mean;
    rate[0][c] = start + 2 * (mean - start) * (from - begin) / span;
    rate[1][c] = start + 2 * (mean - start) * (to - begin) / span;
  }
  v[0] = s2_vec2(rate[0][1], rate[0][2]);
  v[1] = s2_vec2(rate[1][1], rate[1][2]);
  *turn = fmax(fabs(rate[0][0]), fabs(rate[1][0]));
}

S2Vec2 s2_audit_point(const double q[3], S2Vec2 local) {
  double c = cos(q[0]), s = sin(q[0]);
  return s2_vec2(q[1] + c * local.x - s * local.y, q[2] + s * local.x + c * local.y);
}

S2Vec2 s2_audit_rod(const S2Joint *joint, const double *q) {
  S2Vec2 a =
      joint->a == S2_NONE ? joint->local_a : s2_audit_point(q + 3 * joint->a, joint->local_a);
  S2Vec2 b =
      joint->b == S2_NONE ? joint->local_b : s2_audit_point(q + 3 * joint->b, joint->local_b);
  return s2_sub(a, b);
}

// ---- Contacts ---------------------------------------------------------------------------------

const S2Touch *s2_audit_touch(const S2World *world, int32_t shape_a, int32_t shape_b) {
  int lo = 0, hi = world->touches.count;
  while (lo < hi) { // sorted by (a, b)
    int middle = (lo + hi) / 2;
    const S2Touch *touch = &world->touches.at[middle];
    bool before = touch->shape_a != shape_a ? touch->shape_a < shape_a : touch->shape_b < shape_b;
    lo = before ? middle + 1 : lo;
    hi = before ? hi : middle;
  }
  const S2Touch *touch = lo < world->touches.count ? &world->touches.at[lo] : NULL;
  return touch != NULL && touch->shape_a == shape_a && touch->shape_b == shape_b ? touch : NULL;
}

// ---- Findings ---------------------------------------------------------------------------------

void s2_audit_find(S2World *world, uint64_t *count, int32_t a, int32_t b, double t,
                   const char *format, ...) {
  S2Auditor *audit = world->audit;
  *count += 1;
  if (audit->found) {
    return;
  }
  audit->found = true;
  char label[2][S2_NAME_SIZE + 8];
  s2_body_label(world, a, label[0]);
  if (b != S2_NONE) {
    s2_body_label(world, b, label[1]);
  }
  // The text of the first finding of the step.
  int size = sizeof audit->text;
  int used = snprintf(audit->text, (size_t)size, "audit of step %llu (t = %.6g s): %s%s%s: ",
                      (unsigned long long)world->kept.steps, audit->time + t, label[0],
                      b == S2_NONE ? "" : " and ", b == S2_NONE ? "" : label[1]);
  if (used < size) {
    va_list args;
    va_start(args, format);
    vsnprintf(audit->text + used, (size_t)(size - used), format, args);
    va_end(args);
  }
  if (audit->first[0] == '\0') {
    memcpy(audit->first, audit->text, sizeof audit->first);
  }
  s2_world_warn(world, "%s", audit->text);
}

const char *s2_world_finding(const S2World *world) {
  return world->audit == NULL ? "" : world->audit->first;
}
