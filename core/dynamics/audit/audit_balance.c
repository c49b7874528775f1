// Balances: what a body's momentum changed by is what forces, contacts, joints and the stepping
// itself gave it. What the energy of bodies that act on each other changed by is work of forces, of
// motors and of what moves by itself, less what friction, impacts and damping can take.
//
// With P the impulses of a step and u the velocities between surfaces, contacts and joints take at
// most |P| |u|, and 1/2 dv' M dv, which is what implicit Euler and inelastic impacts cost. A gain
// has no such source.
#include "dynamics/audit/audit.h"

#include <string.h>

// ---- Momentum ---------------------------------------------------------------------------------

static void contact_sums(const S2World *world, double *sum, double *size) {
  for (int i = 0; i < world->acted.count; i++) {
    const S2Acted *acted = &world->acted.at[i];
    S2Vec2 p = s2_acted_impulse(acted);
    double *a = sum + 3 * acted->body_a, *b = sum + 3 * acted->body_b;
    a[0] += acted->angular_a;
    a[1] += p.x;
    a[2] += p.y;
    b[0] += acted->angular_b;
    b[1] -= p.x;
    b[2] -= p.y;
    size[acted->body_a] += s2_length(p);
    size[acted->body_b] += s2_length(p);
  }
}

// N s: what is left of the balance of a body, and what its terms may leave.
static double momentum_rest(const S2World *world, const S2Auditor *audit, int32_t slot,
                            const double *contacts, double size, double *allowed) {
  const S2Body *body = &world->bodies.at[slot];
  const double inertial[3] = {body->inertia, body->mass, body->mass};
  double rest[3], terms = size + audit->size[slot], damped = 0;
  for (int c = 0; c < 3; c++) {
    double v0 = audit->v0[3 * slot + c], v1 = world->v.at[3 * slot + c];
    double given = audit->force[3 * slot + c] + audit->pushed[3 * slot + c] + contacts[c] +
                   audit->corrected[3 * slot + c];
    double unit = c == 0 ? body->reach : 1; // a torque at the reach
    double rate = c == 0 ? body->angular_damping : body->linear_damping;
    rest[c] = (inertial[c] * (v1 - v0) - given) / unit;
    terms +=
        (fabs(inertial[c] * v0) + fabs(inertial[c] * v1) + fabs(audit->force[3 * slot + c])) / unit;
    // Damping acts in each piece of a step on the velocity at its end, with the flow by two stages
    // on that which carries the body.
    bool stages = world->kept.def.flow == S2_FLOW_RATTLE;
    double carried = (world->q.at[3 * slot + c] - audit->q0[3 * slot + c]) / audit->h;
    double change = fabs(v1 - v0) + (stages ? fabs(carried - v1) : 0);
    damped += rate * audit->h * inertial[c] * (change + fabs(contacts[c]) / inertial[c]) / unit;
  }
  // Of joints it is known what they push, not where on both.
  rest[0] = audit->jointed[slot] ? 0 : rest[0];
  // What moves by the tolerance of lengths in a step is rounding.
  terms += body->mass * S2_AUDIT_LENGTH * body->reach / audit->h;
  *allowed = S2_AUDIT_MOMENTUM * terms + 2 * damped;
  return fmax(hypot(rest[1], rest[2]), fabs(rest[0]));
}

static void judge_momentum(S2World *world, const S2Auditor *audit, const double *contacts,
                           const double *size) {
  for (int i = 0; i < world->order.count; i++) {
    int32_t slot = world->order.at[i];
    const S2Body *body = &world->bodies.at[slot];
    if (!s2_body_moves(body) || body->type != S2_DYNAMIC || body->has_law || audit->held[slot]) {
      continue; // a law may be asked more than once in a step
    }
    double allowed;
    double rest = momentum_rest(world, audit, slot, contacts + 3 * slot, size[slot], &allowed);
    if (rest > allowed) {
      world->residuals.audit.momentum = fmax(world->residuals.audit.momentum, rest);
      s2_audit_find(world, &world->stats.audit.momenta, slot, S2_NONE, 0,
                    "%.3g N s of its momentum come from nothing", rest);
    }
  }
}

// ---- Energy -----------------------------------------------------------------------------------

typedef struct Budget { // of bodies that act on each other, by their smallest slot
  double slow;          // J: of bodies that move, or are moved, by the tolerances of lengths
  double change;        // J: kinetic, of gravity and of springs, less the work of forces
  double kinetic;       // J: before and after, what moves
  double gain, loss;    // J: what may have come and gone
  double euler;         // J: 1/2 dv' M dv
  bool meets;           // contacts act on it
  double turn;          // rad: the largest of a body or a rod
  double correction;    // J: what the stepping itself has taken
  bool unknown;         // something drives it whose work is not known
} Budget;

static double audit_dot(const double a[3], const double b[3]) {
  return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

static void budget_body(const S2World *world, const S2Auditor *audit, int32_t slot, double contacts,
                        Budget *budget) {
  const S2Body *body = &world->bodies.at[slot];
  const double *q0 = audit->q0 + 3 * slot, *q1 = world->q.at + 3 * slot;
  const double *v0 = audit->v0 + 3 * slot, *v1 = world->v.at + 3 * slot;
  const double inertial[3] = {body->inertia, body->mass, body->mass};
  S2Vec2 g = world->kept.def.gravity;
  double weight = body->type == S2_DYNAMIC ? body->mass * body->gravity_scale : 0, at = q0[0];
  for (int c = 0; c < 3; c++) {
    double before = inertial[c] * v0[c] * v0[c] / 2, after = inertial[c] * v1[c] * v1[c] / 2;
    budget->change += after - before;
    budget->kinetic += before + after;
    budget->euler += inertial[c] * (v1[c] - v0[c]) * (v1[c] - v0[c]) / 2;
  }
  budget->change -= weight * (g.x * (q1[1] - q0[1]) + g.y * (q1[2] - q0[2]));
  budget->change -= audit->work[slot];
  budget->loss += audit->damped[slot];
  // Overlaps and joint errors of the start are closed against gravity and springs, or with them.
  double lift =
      (body->mass * hypot(g.x, g.y) + audit->size[slot] / audit->h) * audit->excused[slot] * 2;
  budget->gain += lift;
  budget->loss += lift;
  double still = S2_AUDIT_LENGTH * body->reach / audit->h;
  budget->slow += body->mass * still * still +
                  (contacts + audit->size[slot]) / audit->h * S2_AUDIT_PLACE * body->reach;
  const double mean[3] = {(v0[0] + v1[0]) / 2, (v0[1] + v1[1]) / 2, (v0[2] + v1[2]) / 2};
  budget->correction += audit_dot(audit->corrected + 3 * slot, mean);
  for (int k = 0; k < audit->knots[slot]; k++) {
    double next = audit->knot[(size_t)audit->knot_room * (size_t)slot + (size_t)k].q[0];
    budget->turn = fmax(budget->turn, fabs(next - at));
    at = next;
  }
}

static S2Vec2 velocity_at(const double v[3], const double q[3], S2Vec2 point) {
  return s2_vec2(v[1] - v[0] * (point.y - q[2]), v[2] + v[0] * (point.x - q[1]));
}

// What a contact may take, and give where one of the two moves by itself or is a belt.
static void budget_contact(const S2World *world, const S2Auditor *audit, const S2Acted *acted,
                           Budget *budgets) {
  const int32_t slots[2] = {acted->body_a, acted->body_b};
  S2Vec2 p = s2_acted_impulse(acted), speed[2][2];
  double belt = 0, normal = acted->speed, along = 0;
  for (int k = 0; k < 2; k++) {
    const S2Body *body = &world->bodies.at[slots[k]];
    const double *q1 = world->q.at + 3 * slots[k];
    speed[k][0] = velocity_at(audit->v0 + 3 * slots[k], q1, acted->point);
    speed[k][1] = velocity_at(world->v.at + 3 * slots[k], q1, acted->point);
    belt += fabs(body->surface_speed);
  }
  for (int i = 0; i < 2; i++) {
    S2Vec2 u = s2_sub(speed[0][i], speed[1][i]);
    normal = fmax(normal, fabs(s2_dot(u, acted->normal)));
    along = fmax(along, fabs(s2_cross(acted->normal, u)));
  }
  double taken = acted->normal_impulse * normal + fabs(acted->tangent_impulse) * (along + belt);
  for (int k = 0; k < 2; k++) {
    if (!s2_body_moves(&world->bodies.at[slots[k]])) {
      continue;
    }
    Budget *budget = &budgets[audit->root[slots[k]]];
    budget->loss += taken;
    budget->meets = true;
    budget->gain += fabs(acted->tangent_impulse) * belt;
    if (!s2_body_moves(&world->bodies.at[slots[1 - k]])) { // the other moves by itself
      double work = fmax(fabs(s2_dot(p, speed[1 - k][0])), fabs(s2_dot(p, speed[1 - k][1])));
      budget->gain += work;
      budget->loss += work;
    }
  }
  bool soft = world->bodies.at[slots[0]].contact_compliance +
                  world->bodies.at[slots[1]].contact_compliance >
              0;
  for (int k = 0; k < 2 && soft; k++) {
    budgets[audit->root[slots[k]]].unknown = true;
  }
}

static bool moves_by_itself(const S2World *world, const S2Auditor *audit, int32_t slot) {
  if (slot == S2_NONE || s2_body_moves(&world->bodies.at[slot])) {
    return false;
  }
  const double *v0 = audit->v0 + 3 * slot, *v1 = world->v.at + 3 * slot;
  return audit_dot(v0, v0) > 0 || audit_dot(v1, v1) > 0;
}

// rad: how far the line between a joint's anchors turns in the step.
static double rod_turn(const S2World *world, const S2Auditor *audit, const S2Joint *joint) {
  S2Vec2 rod[2];
  const double *poses[2] = {audit->q0, world->q.at};
  for (int i = 0; i < 2; i++) {
    S2Vec2 a = joint->a == S2_NONE ? joint->local_a
                                   : s2_audit_point(poses[i] + 3 * joint->a, joint->local_a);
    S2Vec2 b = joint->b == S2_NONE ? joint->local_b
                                   : s2_audit_point(poses[i] + 3 * joint->b, joint->local_b);
    rod[i] = s2_sub(a, b);
  }
  double cross = s2_cross(rod[0], rod[1]), dot = s2_dot(rod[0], rod[1]);
  return cross == 0 && dot == 0 ? 0 : fabs(atan2(cross, dot));
}

static bool holds_two_anchors(S2JointType type) {
  return type == S2_DISTANCE || type == S2_ROPE || type == S2_SPRING;
}

static void budget_joint(const S2World *world, const S2Auditor *audit, int32_t slot,
                         Budget *budgets) {
  const S2Joint *joint = &world->joints.at[slot];
  int32_t of =
      joint->a != S2_NONE && s2_body_moves(&world->bodies.at[joint->a]) ? joint->a : joint->b;
  if (of == S2_NONE || !s2_body_moves(&world->bodies.at[of])) {
    return;
  }
  Budget *budget = &budgets[audit->root[of]];
  // Motor and friction by the way of the coordinate; springs by what they hold.
  double way = s2_audit_coordinate(world, slot) - audit->coordinate[slot];
  double work = audit->driven[slot] * fabs(way) / audit->h;
  budget->gain += joint->has_motor ? work : 0;
  budget->loss += work;
  double elastic = s2_audit_elastic(world, slot) - audit->elastic[slot];
  budget->change += elastic;
  bool springs = joint->has_spring || joint->compliance.size > 0 || joint->compliance.linear > 0 ||
                 joint->compliance.angular > 0 || joint->type == S2_SPRING ||
                 joint->type == S2_WHEEL;
  if (springs || joint->limit_lo > -INFINITY || joint->limit_hi < INFINITY) {
    // Implicit springs and dashpots take; how much their impulse and speed bound.
    budget->loss += INFINITY;
  }
  budget->turn = holds_two_anchors(joint->type) ? fmax(budget->turn, rod_turn(world, audit, joint))
                                                : budget->turn;
  budget->unknown |= joint->type == S2_LOCK || joint->type == S2_MOUSE ||
                     joint->type == S2_CONSTRAINT || joint->type == S2_GROUND_FRICTION ||
                     joint->has_law || joint->has_servo || joint->type == S2_GEAR ||
                     joint->type == S2_PULLEY || moves_by_itself(world, audit, joint->a) ||
                     moves_by_itself(world, audit, joint->b);
}

static void judge_energy(S2World *world, const Budget *budget, int32_t slot) {
  if (budget->unknown || !(budget->turn <= S2_AUDIT_TURN)) {
    return;
  }
  double scale = budget->kinetic + budget->gain;
  double allowed = (S2_AUDIT_ENERGY + budget->turn * budget->turn) * scale + budget->slow;
  double over = budget->change - budget->gain, under = -budget->change - budget->loss;
  // Implicit Euler takes 1/2 dv' M dv, and so does an inelastic impact: that is told in the sum of
  // all steps, where contacts leave no doubt, and it is no finding.
  world->stats.audit.energy += over > 0 ? over : under > 0 && !budget->meets ? -under : 0;
  under -= budget->euler;
  double rest = over > 0 ? over : under > 0 ? -under : 0;
  if (fabs(rest) > fabs(world->residuals.audit.energy)) {
    world->residuals.audit.energy = rest;
  }
  double own = fabs(budget->correction);
  bool corrects = own > (S2_AUDIT_CORRECTION + budget->turn * budget->turn) * budget->kinetic +
                            budget->gain + budget->slow;
  if (corrects && fabs(rest) <= allowed) {
    world->residuals.audit.energy = fmax(world->residuals.audit.energy, own);
    s2_audit_find(world, &world->stats.audit.energies, slot, S2_NONE, 0,
                  "the stepping itself took or gave its island %.3g J of %.3g J", own,
                  budget->kinetic);
  }
  if (fabs(rest) > allowed) {
    s2_audit_find(world, &world->stats.audit.energies, slot, S2_NONE, 0,
                  "its island %s %.3g J of %.3g J without a cause", rest > 0 ? "gained" : "lost",
                  fabs(rest), budget->kinetic);
  }
}

void s2_audit_balances(S2World *world, S2Auditor *audit) {
  S2ArenaMark mark = s2_arena_mark(&audit->arena);
  double *contacts = S2_TAKE_ZEROED(&audit->arena, double, 3 * audit->slots);
  double *size = S2_TAKE_ZEROED(&audit->arena, double, audit->slots);
  Budget *budgets = S2_TAKE_ZEROED(&audit->arena, Budget, audit->slots);
  contact_sums(world, contacts, size);
  judge_momentum(world, audit, contacts, size);
  // Bodies, contacts and joints add to the budget of their group.
  for (int i = 0; i < world->order.count; i++) {
    int32_t slot = world->order.at[i];
    if (s2_body_moves(&world->bodies.at[slot])) {
      budget_body(world, audit, slot, size[slot], &budgets[audit->root[slot]]);
      budgets[audit->root[slot]].unknown |= world->bodies.at[slot].type != S2_DYNAMIC;
    }
  }
  for (int i = 0; i < world->acted.count; i++) {
    budget_contact(world, audit, &world->acted.at[i], budgets);
  }
  for (int i = 0; i < world->joint_order.count; i++) {
    int32_t slot = world->joint_order.at[i];
    if (s2_joint_active(world, &world->joints.at[slot])) {
      budget_joint(world, audit, slot, budgets);
    }
  }
  for (int i = 0; i < world->order.count; i++) {
    int32_t slot = world->order.at[i];
    if (audit->root[slot] == slot && s2_body_moves(&world->bodies.at[slot])) {
      judge_energy(world, &budgets[slot], slot);
    }
  }
  s2_arena_rewind(&audit->arena, mark);
}
