// Checks the energy of a group of bodies that act on each other. Because M (v+ - v) = h f + P, the
// change of kinetic energy in a step is the work of its impulses at the mean of the velocities
// before and after. The energy balance is therefore:
//
//     kinetic and potential energy after the step - kinetic and potential energy before it
//         = work of contacts + work of moving ground and belts + work of joints and forces
//           + integration + lifts + corrections
//
// The first line of the right-hand side is physics. The second line is the contribution of the
// method:
//
// - integration: forces act along the mean of the velocities, while bodies move along the carrying
//   velocity. For implicit Euler this term is -h f (v+ - v)/2, which is known exactly. For the
//   trapezoidal rule it is 0.
// - lifts and corrections: position corrections do work against forces, and the velocities lose
//   energy to them. The exact motion has neither effect. If a body turns by phi within a step,
//   constraint rows computed at its start miss surfaces and anchors by phi^2/2 of the body's reach.
//   So a correction against a force F takes up to F phi^2 reach.
//
// The size of impulses does not help to estimate these terms, because a support impulse is large
// but does no work.
#include "dynamics/audit/audit.h"

typedef struct Budget { // energy balance of one group; stored at the group's smallest slot
  int members;          // moving bodies
  bool jointed, meets;  // true if joints act on the group; true if contacts do
  bool unknown;         // true if something does an unknown amount of work on the group
  S2Vec2 frame;         // m/s: mean velocity of the kinematic bodies that touch the group
  int grounds;          // number of kinematic contacts in that mean
  double slow;          // J: kinetic energy of bodies that move by the length tolerance in a step
  double change;        // J: kinetic, potential and elastic energy gained, minus the work of forces
  double kinetic;       // J: kinetic energy before and after, relative to the frame
  double gain, loss;    // J: largest possible gain and loss by motors, friction and damping
  double contacts;      // J: work of contacts
  double ground;        // J: work of kinematic bodies and of belts
  double integrated;    // J: sum of S2AuditWork.integrated
  double swept;         // J: sum of S2AuditWork.swept
  bool set;             // true if the program has moved a body of the group or set its velocity
  double paced;         // J: largest integration error of motors and friction
  double correction;    // J: work of corrections, relative to the frame
  double lifted;        // J: the part of `correction` that turning and initial overlaps explain
  double unresolved;    // J: kinetic energy that forces cause in half a step from rest
  bool gives;           // true if springs or limits act, whose impulses are not known separately
  double turn;          // rad: largest turn of a body, or of a rod between two anchors
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
  const double frame[3] = {0, budget->frame.x, budget->frame.y};
  const S2AuditWork *work = &audit->done[slot];
  S2Vec2 g = world->kept.def.gravity;
  double weight = body->type == S2_DYNAMIC ? body->mass * body->gravity_scale : 0;
  budget->members += 1;
  budget->correction += work->corrected;
  for (int c = 0; c < 3; c++) {
    double before = v0[c] - frame[c], after = v1[c] - frame[c];
    budget->change += inertial[c] * (v1[c] * v1[c] - v0[c] * v0[c]) / 2;
    budget->kinetic += inertial[c] * (before * before + after * after) / 2;
    budget->correction -= audit->corrected[3 * slot + c] * frame[c];
  }
  budget->change -= weight * (g.x * (q1[1] - q0[1]) + g.y * (q1[2] - q0[2]));
  budget->change -= audit->work[slot];
  budget->loss += audit->damped[slot];
  budget->contacts += work->contacts;
  budget->ground += work->ground;
  budget->integrated += work->integrated;
  budget->swept += work->swept;
  budget->set |= audit->set[slot];
  budget->paced += work->paced;
  // A correction does work: the force times the distance by which it moves the body. This distance
  // contains the deviation that turning causes, and initial overlaps and joint errors.
  double turn = s2_audit_turn(audit, slot);
  double force = body->mass * hypot(g.x, g.y) + (contacts + audit->size[slot]) / audit->h;
  budget->lifted += force * (turn * turn * audit->arm[slot] + 2 * audit->excused[slot]);
  double still = S2_AUDIT_LENGTH * body->reach / audit->h;
  budget->slow += body->mass * still * still + force * S2_AUDIT_PLACE * body->reach;
  budget->turn = fmax(budget->turn, turn);
  // A body that leaves a surface more slowly than this counts as resting in the step. Otherwise
  // bounces would never end.
  double slow = hypot(g.x, g.y) * audit->h / 2;
  budget->unresolved += body->mass * slow * slow / 2;
}

static S2Vec2 velocity_at(const double v[3], const double q[3], S2Vec2 point) {
  return s2_vec2(v[1] - v[0] * (point.y - q[2]), v[2] + v[0] * (point.x - q[1]));
}

static void budget_contact(const S2World *world, const S2Acted *acted, Budget *budgets,
                           const int32_t *root) {
  const int32_t slots[2] = {acted->body_a, acted->body_b};
  const S2Body *of[2] = {&world->bodies.at[slots[0]], &world->bodies.at[slots[1]]};
  bool soft = of[0]->contact_compliance + of[1]->contact_compliance > 0;
  for (int k = 0; k < 2; k++) {
    Budget *budget = &budgets[root[slots[k]]];
    if (!s2_body_moves(of[k])) {
      continue;
    }
    budget->meets = true;
    budget->unknown |= soft;
    if (!s2_body_moves(of[1 - k])) {
      int32_t slot = slots[1 - k];
      S2Vec2 v = velocity_at(world->v.at + 3 * slot, world->q.at + 3 * slot, acted->point);
      budget->frame = s2_add(budget->frame, v);
      budget->grounds += 1;
    }
  }
}

static bool moves_by_itself(const S2World *world, const S2Auditor *audit, int32_t slot) {
  if (slot == S2_NONE || s2_body_moves(&world->bodies.at[slot])) {
    return false;
  }
  const double *v0 = audit->v0 + 3 * slot, *v1 = world->v.at + 3 * slot;
  return audit_dot(v0, v0) > 0 || audit_dot(v1, v1) > 0;
}

// Returns the angle by which the line between a joint's anchors turns in the step, rad.
static double rod_turn(const S2World *world, const S2Auditor *audit, const S2Joint *joint) {
  S2Vec2 rod[2];
  const double *poses[2] = {audit->q0, world->q.at};
  for (int i = 0; i < 2; i++) {
    rod[i] = s2_audit_rod(joint, poses[i]);
  }
  double cross = s2_cross(rod[0], rod[1]), dot = s2_dot(rod[0], rod[1]);
  return cross == 0 && dot == 0 ? 0 : fabs(atan2(cross, dot));
}

static bool holds_two_anchors(S2JointType type) {
  return type == S2_DISTANCE || type == S2_ROPE || type == S2_SPRING;
}

// Returns an impulse of a joint's motor and friction, N m s or N s. Their work in the step is at
// most this impulse times the mean rate. If the path of body `of` has several pieces, the force may
// change at an impact, so the largest force is used.
static double drive_of(const S2World *world, const S2Auditor *audit, int32_t slot, int32_t of) {
  const S2Joint *joint = &world->joints.at[slot];
  double most = joint->friction + (joint->has_motor ? joint->motor_max : 0);
  bool bounds = audit->knots[of] > 1 && isfinite(most);
  return bounds ? fmax(audit->driven[slot], most * audit->h) : audit->driven[slot];
}

static void budget_joint(const S2World *world, const S2Auditor *audit, int32_t slot,
                         Budget *budgets) {
  const S2Joint *joint = &world->joints.at[slot];
  const int32_t ends[4] = {joint->a, joint->b, joint->more[0], joint->more[1]};
  int32_t of = S2_NONE; // a body of the joint's group
  bool driven = false;
  for (int k = 0; k < 4; k++) {
    if (of == S2_NONE && ends[k] != S2_NONE && s2_body_moves(&world->bodies.at[ends[k]])) {
      of = ends[k];
    }
    driven |= moves_by_itself(world, audit, ends[k]);
  }
  if (of == S2_NONE) {
    return;
  }
  Budget *budget = &budgets[audit->root[of]];
  budget->jointed = true;
  // The work of a motor and of friction follows from the change of the joint's coordinate. The work
  // of springs follows from their elastic energy.
  double way = s2_audit_coordinate(world, slot) - audit->coordinate[slot];
  double work = way == 0 ? 0 : drive_of(world, audit, slot, of) * fabs(way) / audit->h;
  budget->gain += joint->has_motor ? work : 0;
  budget->loss += work;
  // Add the integration error of motor and friction. Their impulses act at the mean speed, but the
  // joint moves at the rate `way / h`. (The two-stage flow records this error for each piece.)
  double mean = (audit->pace[slot] + s2_audit_pace(world, slot)) / 2;
  budget->paced += audit->driven[slot] * fabs(mean - way / audit->h);
  double elastic = s2_audit_elastic(world, slot) - audit->elastic[slot];
  budget->change += elastic;
  bool springs = joint->has_spring || joint->compliance.size > 0 || joint->compliance.linear > 0 ||
                 joint->compliance.angular > 0 || joint->type == S2_SPRING ||
                 joint->type == S2_WHEEL;
  if (springs || joint->limit_lo > -INFINITY || joint->limit_hi < INFINITY) {
    // Implicit springs and dashpots take an unknown amount of energy, so an energy loss is never a
    // finding here.
    budget->loss += INFINITY;
    budget->gives = true;
  }
  budget->turn = holds_two_anchors(joint->type) ? fmax(budget->turn, rod_turn(world, audit, joint))
                                                : budget->turn;
  budget->unknown |= joint->type == S2_LOCK || joint->type == S2_MOUSE ||
                     joint->type == S2_CONSTRAINT || joint->type == S2_GROUND_FRICTION ||
                     joint->has_law || joint->has_servo || joint->type == S2_GEAR ||
                     joint->type == S2_PULLEY || driven;
}

// ---- Judging ----------------------------------------------------------------------------------

// Returns the signed distance of a value from an interval, or 0 inside it, J.
static double audit_beyond(double value, double lo, double hi) {
  return value > hi ? value - hi : value < lo ? value - lo : 0;
}

// If only joints act, two effects change the kinetic energy: the work of forces at the mean
// velocity, which is known from the integration, and the effect of rigid joints, which should be
// zero. The effect of joints is judged over many steps. With a correct method, its sum oscillates
// with the state, plus a random walk of errors that differ from step to step. An error of constant
// sign grows with the number of steps.
static void judge_run(S2World *world, S2Auditor *audit, const Budget *budget, int32_t slot) {
  S2AuditRun *run = &audit->run[slot];
  uint64_t now = world->kept.steps;
  if (run->members != budget->members || run->step + 1 != now || budget->set) {
    *run = (S2AuditRun){.members = budget->members};
  }
  run->step = now;
  if (budget->set) { // joints remove the parts of set velocities that violate them
    return;
  }
  double may = budget->turn * budget->turn * (budget->kinetic + budget->gain) + budget->slow +
               budget->lifted + budget->paced;
  run->rest += audit_beyond(budget->change - budget->swept, -budget->loss, budget->gain);
  run->most = fmax(run->most, may);
  run->spread2 += budget->turn * budget->turn * may * may;
  if (fabs(run->rest) > S2_AUDIT_SWAY * run->most + S2_AUDIT_SPREAD * sqrt(run->spread2)) {
    if (fabs(run->rest) > fabs(world->residuals.audit.energy)) {
      world->residuals.audit.energy = run->rest;
    }
    s2_audit_find(world, &world->stats.audit.energies, slot, S2_NONE, 0,
                  "rigid joints have %s the energy of its island by %.3g J in the last steps",
                  run->rest > 0 ? "raised" : "lowered", fabs(run->rest));
    run->members = 0;
  }
}

static void judge_energy(S2World *world, S2Auditor *audit, const Budget *budget, int32_t slot) {
  // Joints remove the parts of set velocities that violate them.
  bool stops = budget->jointed && budget->set;
  if (budget->unknown || !(budget->turn <= S2_AUDIT_TURN)) {
    return;
  }
  double square = budget->turn * budget->turn;
  // Contacts may remove energy, but must not add any. If springs act, the work of contacts is not
  // used, because the energy of springs is computed from their state and not from mean velocities.
  double taken = budget->gives ? 0 : fmin(budget->contacts, 0);
  double change = budget->change - budget->ground - taken;
  double rest = audit_beyond(change, stops ? -INFINITY : -budget->loss, budget->gain);
  world->stats.audit.energy += rest;
  double allowed = (S2_AUDIT_ENERGY + square) * (budget->kinetic + budget->gain) + budget->slow;
  double lost = fmin(budget->integrated, 0) - budget->lifted - budget->paced -
                (budget->meets ? budget->unresolved : 0);
  double won = fmax(budget->integrated, 0) + budget->lifted + budget->paced;
  double step = audit_beyond(rest, lost, won);
  if (fabs(step) > fabs(world->residuals.audit.energy)) {
    world->residuals.audit.energy = step;
  }
  if (budget->jointed && !budget->meets && !budget->gives) {
    judge_run(world, audit, budget, slot);
  }
  double own = fabs(budget->correction);
  double corrects =
      budget->lifted + budget->slow + (S2_AUDIT_CORRECTION + square) * budget->kinetic;
  if (fabs(step) > allowed) {
    s2_audit_find(world, &world->stats.audit.energies, slot, S2_NONE, 0,
                  "its island %s %.3g J without a cause (kinetic energy %.3g J)",
                  step > 0 ? "gained" : "lost", fabs(step), budget->kinetic);
  } else if (own > corrects) {
    world->residuals.audit.energy = fmax(world->residuals.audit.energy, own);
    s2_audit_find(
        world, &world->stats.audit.energies, slot, S2_NONE, 0,
        "time stepping itself changed the energy of its island by %.3g J (kinetic energy %.3g J)",
        own, budget->kinetic);
  }
}

// Computes, for each body, the sum of the magnitudes of its contact impulses, N s.
static void energy_contact_sizes(const S2World *world, double *size) {
  for (int i = 0; i < world->acted.count; i++) {
    const S2Acted *acted = &world->acted.at[i];
    double length = s2_length(s2_acted_impulse(acted));
    size[acted->body_a] += length;
    size[acted->body_b] += length;
  }
}

void s2_audit_energies(S2World *world, S2Auditor *audit) {
  S2ArenaMark mark = s2_arena_mark(&audit->arena);
  double *size = S2_TAKE_ZEROED(&audit->arena, double, audit->slots);
  Budget *budgets = S2_TAKE_ZEROED(&audit->arena, Budget, audit->slots);
  energy_contact_sizes(world, size);
  for (int i = 0; i < world->acted.count; i++) {
    budget_contact(world, &world->acted.at[i], budgets, audit->root);
  }
  for (int32_t slot = 0; slot < audit->slots; slot++) {
    if (budgets[slot].grounds > 0) {
      budgets[slot].frame = s2_scale(1.0 / budgets[slot].grounds, budgets[slot].frame);
    }
  }
  // Add the bodies and joints to the budgets of their groups.
  for (int i = 0; i < world->order.count; i++) {
    int32_t slot = world->order.at[i];
    if (s2_body_moves(&world->bodies.at[slot])) {
      budget_body(world, audit, slot, size[slot], &budgets[audit->root[slot]]);
      // Skip groups with force laws. The audit does not know the law's forces at both ends of each
      // piece.
      const S2Body *body = &world->bodies.at[slot];
      budgets[audit->root[slot]].unknown |= body->type != S2_DYNAMIC || body->has_law;
    }
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
      judge_energy(world, audit, &budgets[slot], slot);
    }
  }
  s2_arena_rewind(&audit->arena, mark);
}
