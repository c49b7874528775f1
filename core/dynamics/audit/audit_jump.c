// Jumps: checks that in a step no body moves farther than its velocity, its impulses and the
// initial overlaps explain. It also checks that contacts held by friction do not slip.
#include "dynamics/audit/audit.h"

#include <string.h>

// Returns the smallest slot of the group of bodies to which this slot belongs. Contacts and joints
// connect the bodies of a group.
static int32_t jump_root(int32_t *root, int32_t slot) {
  while (root[slot] != slot) {
    root[slot] = root[root[slot]];
    slot = root[slot];
  }
  return slot;
}

static void jump_join(const S2World *world, int32_t *root, int32_t a, int32_t b) {
  if (a == S2_NONE || b == S2_NONE || !s2_body_moves(&world->bodies.at[a]) ||
      !s2_body_moves(&world->bodies.at[b])) {
    return;
  }
  int32_t of_a = jump_root(root, a), of_b = jump_root(root, b);
  root[of_a > of_b ? of_a : of_b] = of_a < of_b ? of_a : of_b;
}

static void find_groups(const S2World *world, const S2Auditor *audit) {
  for (int32_t slot = 0; slot < audit->slots; slot++) {
    audit->root[slot] = slot;
  }
  for (int i = 0; i < world->acted.count; i++) {
    jump_join(world, audit->root, world->acted.at[i].body_a, world->acted.at[i].body_b);
  }
  for (int i = 0; i < world->joint_order.count; i++) {
    const S2Joint *joint = &world->joints.at[world->joint_order.at[i]];
    const int32_t ends[S2_JOINT_BODIES] = {joint->a, joint->b, joint->more[0], joint->more[1]};
    for (int k = 0; k < S2_JOINT_BODIES; k++) { // any of these bodies may be immovable
      for (int l = k + 1; l < S2_JOINT_BODIES; l++) {
        jump_join(world, audit->root, ends[k], ends[l]);
      }
    }
  }
  for (int32_t slot = 0; slot < audit->slots; slot++) {
    audit->root[slot] = jump_root(audit->root, slot);
  }
}

// Returns how far an anchor leaves a straight path when a rod, a rope or a spring turns, m.
static double rod_bend(const S2World *world, const S2Auditor *audit, const S2Joint *joint) {
  if (joint->type != S2_DISTANCE && joint->type != S2_ROPE && joint->type != S2_SPRING) {
    return 0;
  }
  S2Vec2 rod[2];
  const double *poses[2] = {audit->q0, world->q.at};
  for (int i = 0; i < 2; i++) {
    rod[i] = s2_audit_rod(joint, poses[i]);
  }
  double length = fmin(s2_length(rod[0]), s2_length(rod[1]));
  double across = s2_length(s2_sub(rod[0], rod[1]));
  return length > 0 ? fmin(across * across / length, 2 * length) : 0;
}

// Computes, for each body, the distance (m) that joints explain. A step may remove initial anchor
// errors, and turning rods bend the paths. Also computes the largest distance of a joint from the
// body's centre.
static void excuse_joints(const S2World *world, const S2Auditor *audit) {
  for (int32_t slot = 0; slot < audit->slots; slot++) {
    audit->arm[slot] = world->bodies.at[slot].reach;
  }
  for (int i = 0; i < world->joint_order.count; i++) {
    const S2Joint *joint = &world->joints.at[world->joint_order.at[i]];
    if (!s2_joint_active(world, joint)) {
      continue;
    }
    S2JointAt at = {world, joint, audit->q0, 0, NULL};
    const int32_t ends[2] = {joint->a, joint->b};
    double length = 0;
    for (int k = 0; k < 2; k++) {
      length = ends[k] == S2_NONE ? length : fmax(length, world->bodies.at[ends[k]].reach);
    }
    double error = s2_joint_violation(&at, length > 0 ? length : 1) + rod_bend(world, audit, joint);
    for (int k = 0; k < 2; k++) {
      if (ends[k] == S2_NONE) {
        continue;
      }
      double *arm = &audit->arm[ends[k]];
      *arm = fmax(*arm, s2_length(k == 0 ? joint->local_a : joint->local_b));
      const double *q0 = audit->q0 + 3 * ends[k], *q1 = world->q.at + 3 * ends[k];
      // A constraint of a script may curve the paths of its bodies arbitrarily.
      double curve = joint->type == S2_CONSTRAINT ? hypot(q1[1] - q0[1], q1[2] - q0[2]) : 0;
      audit->excused[ends[k]] += error + curve;
    }
  }
}

// Computes bounds of the contact impulses on a body within the step (N s and N m s). Friction
// impulses of the motion and of an impact may cancel in the sum. But each is at most mu times its
// normal impulse, and normal impulses do not cancel.
static void contact_sizes(const S2World *world, double *linear, double *angular) {
  for (int i = 0; i < world->acted.count; i++) {
    const S2Acted *acted = &world->acted.at[i];
    const S2Touch *touch = s2_audit_touch(world, acted->shape_a, acted->shape_b);
    double normal = acted->normal_impulse;
    double along = fmax(fabs(acted->tangent_impulse), touch == NULL ? 0 : touch->friction * normal);
    const int32_t slots[2] = {acted->body_a, acted->body_b};
    const double given[2] = {acted->angular_a, acted->angular_b};
    for (int k = 0; k < 2; k++) {
      const double *q = world->q.at + 3 * slots[k];
      S2Vec2 arm = s2_sub(acted->point, s2_vec2(q[1], q[2]));
      double torque =
          normal * fabs(s2_cross(arm, acted->normal)) + along * fabs(s2_dot(arm, acted->normal));
      linear[slots[k]] += hypot(normal, along);
      angular[slots[k]] += fmax(fabs(given[k]), torque);
    }
  }
}

// Returns the duration of the longest piece of a body's path, s.
static double longest_piece(const S2Auditor *audit, int32_t slot) {
  double longest = 0, at = 0;
  for (int k = 0; k < audit->knots[slot]; k++) {
    double next = audit->knot[(size_t)audit->knot_room * (size_t)slot + (size_t)k].t;
    longest = fmax(longest, next - at);
    at = next;
  }
  return longest;
}

// m: if a kinematic body turns and acts on another body, the largest deviation of that body's path
// from a straight line within a piece.
static void excuse_driven(const S2World *world, S2Auditor *audit, int32_t driven, int32_t slot,
                          double *bent) {
  const S2Body *body = &world->bodies.at[driven];
  if (body->type == S2_KINEMATIC && s2_body_moves(&world->bodies.at[slot])) {
    double turn = fmin(fabs(audit->v0[3 * driven]) * longest_piece(audit, slot), 2);
    bent[slot] = fmax(bent[slot], turn * turn * body->reach);
  }
}

// Computes, for each group, the largest distance that initial overlaps, joint errors and turning
// explain, m.
static void spread_excuses(const S2World *world, S2Auditor *audit, double *group) {
  double *bent = S2_TAKE_ZEROED(&audit->arena, double, audit->slots);
  for (int i = 0; i < world->acted.count; i++) {
    const S2Acted *acted = &world->acted.at[i];
    excuse_driven(world, audit, acted->body_a, acted->body_b, bent);
    excuse_driven(world, audit, acted->body_b, acted->body_a, bent);
  }
  for (int i = 0; i < world->order.count; i++) {
    int32_t slot = world->order.at[i];
    double turn = fmin(s2_audit_turn(audit, slot), 2);
    double own = audit->excused[slot] + bent[slot] + turn * turn * audit->arm[slot] +
                 S2_AUDIT_LENGTH * world->bodies.at[slot].reach;
    group[audit->root[slot]] += s2_body_moves(&world->bodies.at[slot]) ? own : 0;
  }
}

// Returns the difference between a displacement and the predicted one, m. The prediction is scaled
// by the best fraction from 0 to 1, because a step may stop an island early to prevent tunnelling.
static double jump_from(S2Vec2 way, S2Vec2 led) {
  double unit = fmax(fmax(fabs(way.x), fabs(way.y)), fmax(fabs(led.x), fabs(led.y)));
  if (!(unit > 0)) {
    return 0;
  }
  way = s2_vec2(way.x / unit, way.y / unit); // the square of 1e200 m/s would overflow
  led = s2_vec2(led.x / unit, led.y / unit);
  double square = s2_dot(led, led), part = square > 0 ? s2_dot(way, led) / square : 0;
  return unit * s2_length(s2_add_scaled(way, -fmin(fmax(part, 0), 1), led));
}

static void judge_jump(S2World *world, const S2Auditor *audit, int32_t slot, double linear,
                       double angular, double excuse) {
  const S2Body *body = &world->bodies.at[slot];
  const double *q0 = audit->q0 + 3 * slot, *v0 = audit->v0 + 3 * slot;
  const double *q1 = world->q.at + 3 * slot, *v1 = world->v.at + 3 * slot;
  double h = audit->h;
  // Add the impulses of contacts, joints, forces and corrections.
  const double *force = audit->force + 3 * slot, *own = audit->corrected + 3 * slot;
  // The contact log contains one sum per feature, in which impacts from two sides nearly cancel.
  // The sums `struck` and `spun` use magnitudes, so they do not cancel.
  const S2AuditWork *done = &audit->done[slot];
  double pushed = fmax(linear, done->struck) + fmax(audit->size[slot], done->halves) +
                  hypot(force[1], force[2]) + hypot(own[1], own[2]);
  double change = hypot(v1[1] - v0[1], v1[2] - v0[2]);
  double beyond = jump_from(s2_vec2(q1[1] - q0[1], q1[2] - q0[2]), s2_vec2(h * v0[1], h * v0[2])) -
                  h * fmax(pushed / body->mass, change);
  double spin =
      fmax(angular, done->spun) + audit->size[slot] * body->reach + fabs(force[0]) + fabs(own[0]);
  double turned = jump_from(s2_vec2(q1[0] - q0[0], 0), s2_vec2(h * v0[0], 0));
  double most = audit->jointed[slot] ? INFINITY : spin / body->inertia;
  double over = body->reach * (turned - h * fmax(most, fabs(v1[0] - v0[0])));
  double jump = fmax(beyond, over) - 2 * excuse;
  // Skip bodies with a force law. The audit knows only the mean of its forces at both ends.
  if (body->type == S2_DYNAMIC && !body->has_law && jump > S2_AUDIT_LENGTH * body->reach) {
    world->residuals.audit.jump = fmax(world->residuals.audit.jump, jump);
    s2_audit_find(world, &world->stats.audit.jumps, slot, S2_NONE, 0,
                  "it moved %.3g m farther than its velocity and impulses explain", jump);
  }
}

// ---- Slip -------------------------------------------------------------------------------------

static S2Vec2 point_velocity(const double v[3], S2Vec2 arm) {
  return s2_vec2(v[1] - v[0] * arm.y, v[2] + v[0] * arm.x);
}

// Returns true if friction held this pair in the previous step, too.
static bool held_before(const S2Auditor *audit, const S2Acted *acted) {
  int lo = 0, hi = audit->held_before;
  while (lo < hi) {
    int middle = (lo + hi) / 2;
    const S2AuditHeld *held = &audit->before[middle];
    bool below = held->shape_a < acted->shape_a ||
                 (held->shape_a == acted->shape_a && held->shape_b < acted->shape_b);
    lo = below ? middle + 1 : lo;
    hi = below ? hi : middle;
  }
  return lo < audit->held_before && audit->before[lo].shape_a == acted->shape_a &&
         audit->before[lo].shape_b == acted->shape_b;
}

static bool acted_on_same(const S2Acted *a, const S2Acted *b) {
  return a->shape_a == b->shape_a && a->shape_b == b->shape_b;
}

// Returns how far two bodies with relative speed u slide within a step before friction stops them,
// m. Uses the total friction of the pair, and ignores rotation.
static double sliding_way(const S2World *world, const S2Acted *acted, double u, double h) {
  const S2Touch *touch = s2_audit_touch(world, acted->shape_a, acted->shape_b);
  const S2Body *a = &world->bodies.at[acted->body_a], *b = &world->bodies.at[acted->body_b];
  double light = (s2_body_moves(a) ? 1 / a->mass : 0) + (s2_body_moves(b) ? 1 / b->mass : 0);
  const S2Acted *all = world->acted.at, *end = all + world->acted.count, *other = acted;
  while (other > all && acted_on_same(other - 1, acted)) { // contacts are sorted by shapes
    other -= 1;
  }
  double press = 0;
  for (; other < end && acted_on_same(other, acted); other++) {
    press += other->normal_impulse;
  }
  double bound = touch == NULL ? 0 : touch->friction * press * light;
  return bound > 0 ? fmin(h * u, u * u * h / (2 * bound)) : h * u;
}

// Friction holds a pair if it is below its bound in this step and in the previous one. The two
// material points then stay together, except for turning, and for the distance over which friction
// stops a new relative speed. The previous step matters, because friction may stop a slide in the
// first step in which the pair sticks.
static void judge_slip(S2World *world, const S2Auditor *audit, const S2Acted *acted,
                       double excuse) {
  int32_t a = acted->body_a, b = acted->body_b;
  double held = fabs(acted->tangent_impulse);
  if (acted->sliding || !(held > 0) || acted->serial_a != world->bodies.at[a].serial ||
      acted->serial_b != world->bodies.at[b].serial || world->bodies.at[a].surface_speed != 0 ||
      world->bodies.at[b].surface_speed != 0 || !held_before(audit, acted)) {
    return;
  }
  const double *q0[2] = {audit->q0 + 3 * a, audit->q0 + 3 * b};
  const double *q1[2] = {world->q.at + 3 * a, world->q.at + 3 * b};
  const double *v0[2] = {audit->v0 + 3 * a, audit->v0 + 3 * b};
  const double *v1[2] = {world->v.at + 3 * a, world->v.at + 3 * b};
  S2Vec2 tangent = s2_left(acted->normal), at[2][2], speed[2][2], rolled[2];
  for (int k = 0; k < 2; k++) { // follow the material point of each body through the step
    S2Vec2 arm = s2_sub(acted->point, s2_vec2(q1[k][1], q1[k][2]));
    double c = cos(q0[k][0] - q1[k][0]), s = sin(q0[k][0] - q1[k][0]);
    S2Vec2 then = s2_vec2(c * arm.x - s * arm.y, s * arm.x + c * arm.y);
    at[k][0] = s2_add(s2_vec2(q0[k][1], q0[k][2]), then);
    at[k][1] = acted->point;
    speed[k][0] = point_velocity(v0[k], then);
    speed[k][1] = point_velocity(v1[k], arm);
    double way[3] = {q1[k][0] - q0[k][0], q1[k][1] - q0[k][1], q1[k][2] - q0[k][2]};
    rolled[k] = point_velocity(way, arm);
  }
  double h = audit->h, size = fmin(world->bodies.at[a].reach, world->bodies.at[b].reach);
  // If a body pivots, its material point stays in place. If it rolls, it moves as far as its rim
  // turns.
  double slip = fmin(fabs(s2_dot(tangent, s2_sub(at[0][0], at[1][0]))),
                     fabs(s2_dot(tangent, s2_sub(rolled[0], rolled[1]))));
  double before = s2_length(s2_sub(speed[0][0], speed[1][0]));
  double after = s2_length(s2_sub(speed[0][1], speed[1][1]));
  double slack =
      S2_AUDIT_LENGTH * size + 2 * excuse + sliding_way(world, acted, before, h) + h * after;
  bool soft = world->bodies.at[a].contact_compliance + world->bodies.at[b].contact_compliance > 0;
  if (slip > slack && !soft && audit->knots[a] <= world->kept.def.substeps &&
      audit->knots[b] <= world->kept.def.substeps) {
    world->residuals.audit.slip = fmax(world->residuals.audit.slip, slip);
    s2_audit_find(world, &world->stats.audit.slips, a, b, 0,
                  "they slipped by %.3g m while friction held them", slip);
  }
}

void s2_audit_jumps(S2World *world, S2Auditor *audit) {
  S2ArenaMark mark = s2_arena_mark(&audit->arena);
  double *linear = S2_TAKE_ZEROED(&audit->arena, double, audit->slots);
  double *angular = S2_TAKE_ZEROED(&audit->arena, double, audit->slots);
  double *group = S2_TAKE_ZEROED(&audit->arena, double, audit->slots);
  find_groups(world, audit);
  contact_sizes(world, linear, angular);
  excuse_joints(world, audit);
  spread_excuses(world, audit, group);
  for (int i = 0; i < world->order.count; i++) {
    int32_t slot = world->order.at[i];
    if (s2_body_moves(&world->bodies.at[slot])) {
      judge_jump(world, audit, slot, linear[slot], angular[slot], group[audit->root[slot]]);
    }
  }
  for (int i = 0; i < world->acted.count; i++) {
    const S2Acted *acted = &world->acted.at[i];
    double excuse = fmax(group[audit->root[acted->body_a]], group[audit->root[acted->body_b]]);
    judge_slip(world, audit, acted, excuse);
  }
  s2_arena_rewind(&audit->arena, mark);
}
