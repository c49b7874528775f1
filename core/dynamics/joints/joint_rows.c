// Assembles the rows of an island's joints in a problem, in the order of core/mcp/mcp.h:
//
//   bilateral    rigid or compliant equations; limits with lo = hi; unbounded motors and servos
//   boxed        motors, dry friction and servos with a bounded force: |lambda| <= max h
//   unilateral   limits, which act ahead of time like contacts: u + (distance to the limit)/h >= 0
#include "dynamics/joints/rows.h"
#include "dynamics/step/islands.h"

#include <string.h>

typedef struct List {
  S2Row *row;
  S2JointPart *part;
  int count;
} List;

typedef struct Builder {
  const S2Step *step;
  const S2Island *island;
  S2SolveKind kind;
  S2Blend blend; // blend of the world's settings
  const S2Joint *joint;
  S2JointAt at;
  S2Vec2 arm; // arm of the anchor on a, in world axes
  int32_t slot;
  int group;
  int32_t aside;       // next unused node for a gear or constraint
  int32_t *nodes;      // per joint of the island: first additional node of a constraint
  int place;           // index of the joint in the island
  S2WideMovers *along; // bodies that the last row moves if there are more than two
  double *speed;       // V, the speed scale; raised by driving rows
  double *rhs;         // right-hand side of the problem
  List *given;         // given impulses that have no row
} Builder;

// Fills in one side of a row. The velocity of a kinematic body is known and is added to the bias.
static void row_ground(const S2Step *step, int32_t slot, const double *j, int32_t node,
                       double *side, double *bias) {
  // A kinematic body has no unknowns. Its side is 0, and its motion adds j v to the bias.
  for (int c = 0; c < 3; c++) {
    side[c] = node == S2_GROUND ? 0 : j[c];
    if (bias != NULL && node == S2_GROUND && slot != S2_NONE) {
      *bias += j[c] * step->free_v[3 * slot + c];
    }
  }
}

// Fills in the sides of a row of a constraint with more than two bodies.
static void row_widen(const Builder *builder, S2Row *row, const S2JointRow *of, double sign,
                      int index, double *moving) {
  const S2Step *step = builder->step;
  S2WideMovers *movers = builder->along;
  *movers = s2_wide_row_movers(step, builder->joint, of);
  for (int i = 0; i < 3 * movers->count; i++) {
    movers->j[i / 3][i % 3] *= sign;
  }
  int at = index < S2_JOINT_EQUATIONS ? index : 0; // one-sided constraints have a single row
  s2_wide_sides(step, movers, builder->nodes[builder->place] + S2_WIDE_NODES * at, row);
  if (moving != NULL) {
    *moving += sign * movers->given;
  }
}

// Appends a row along `of`, with sign 1 or -1. The caller sets the bounds.
static S2Row *row_append(const Builder *builder, List *list, const S2JointRow *of, double sign,
                         int index, double bias) {
  const S2Step *step = builder->step;
  const S2Joint *joint = builder->joint;
  S2JointPart *part = &list->part[list->count];
  S2Row *row = &list->row[list->count++];
  // The gradient of the row; an upper limit reverses it.
  double ja[3], jb[3];
  for (int c = 0; c < 3; c++) {
    ja[c] = sign * of->ja[c];
    jb[c] = sign * of->jb[c];
  }
  *row = (S2Row){
      .a = joint->a == S2_NONE ? S2_GROUND : step->node_of[joint->a],
      .b = joint->b == S2_NONE ? S2_GROUND : step->node_of[joint->b],
      .coupled_to = -1,
      .group = builder->group,
      .bias = bias,
  };
  // In solves for displacements, kinematic bodies do not move.
  double *moving = s2_solve_traits(builder->kind).displacements ? NULL : &row->bias;
  builder->along->count = 0;
  if (s2_joint_is_wide(joint)) {
    row_widen(builder, row, of, sign, index, moving);
  } else {
    row_ground(step, joint->a, ja, row->a, row->ja, moving);
    row_ground(step, joint->b, jb, row->b, row->jb, moving);
  }
  // Store the force on a at its anchor and the torque about the anchor.
  S2Vec2 arm = builder->arm;
  *part = (S2JointPart){
      .joint = builder->slot,
      .row = index,
      .push = {ja[0] - s2_cross(arm, s2_vec2(ja[1], ja[2])), ja[1], ja[2]},
      .error = sign * of->value,
  };
  return row;
}

static double row_mobility(const Builder *builder, const S2Row *row) {
  // J M^-1 J' is the speed per unit impulse along the row.
  double w = 0;
  if (builder->along->count > 2) {
    return s2_wide_mobility(builder->step, builder->along);
  }
  for (int side = 0; side < 2; side++) {
    const double *j = side == 0 ? row->ja : row->jb;
    int32_t node = side == 0 ? row->a : row->b;
    bool body = node != S2_GROUND && node < builder->island->nodes;
    for (int c = 0; c < 3 && body; c++) {
      w += j[c] * j[c] / builder->step->mass[3 * builder->island->node[node] + c];
    }
  }
  return w;
}

// Returns true if the row acts only on angles.
static bool turns_alone(const Builder *builder, const S2Row *row) {
  bool angular = row->ja[1] == 0 && row->ja[2] == 0 && row->jb[1] == 0 && row->jb[2] == 0;
  for (int i = 0; i < builder->along->count && builder->along->count > 2; i++) {
    const double *j = builder->along->j[i];
    angular = (i == 0 || angular) && j[1] == 0 && j[2] == 0;
  }
  return angular;
}

// Raises the speed scale V by the speed that a driving row (a motor, a spring or a moving goal)
// causes. An island at rest without gravity would otherwise have no scale for residuals.
static void row_drives(const Builder *builder, const S2Row *row) {
  if (row->bias == 0 || s2_solve_traits(builder->kind).displacements) {
    return;
  }
  // With compliance C', a row causes only a part of the speed `bias`. A bounded row causes at most
  // the speed hi w.
  double w = row_mobility(builder, row), speed = fabs(row->bias);
  speed = w > 0 ? fmin(speed * w / (w + row->compliance), row->hi * w) : 0;
  *builder->speed =
      fmax(*builder->speed, speed * (turns_alone(builder, row) ? builder->island->length : 1));
}

// Applies an impulse known before the solve along the last row of the list.
static void row_give(const Builder *builder, List *list, double impulse) {
  S2Row *row = &list->row[list->count - 1];
  S2JointPart *part = &list->part[list->count - 1];
  // Known impulses go to the right-hand side, M v = rhs + J' given.
  part->given = impulse;
  const S2WideMovers *along = builder->along;
  bool wide = along->count > 2; // the impulse acts on the bodies themselves, not on their copies
  for (int i = 0; i < 3 * along->count && wide; i++) {
    int at = 3 * builder->step->node_of[along->slot[i / 3]] + i % 3;
    builder->rhs[at] += along->j[i / 3][i % 3] * impulse;
  }
  for (int c = 0; c < 3 && !wide; c++) {
    if (row->a != S2_GROUND) {
      builder->rhs[3 * row->a + c] += row->ja[c] * impulse;
    }
    if (row->b != S2_GROUND) {
      builder->rhs[3 * row->b + c] += row->jb[c] * impulse;
    }
  }
  // Raise the scale of residuals, because a known impulse also causes a speed.
  double speed = fabs(impulse) * row_mobility(builder, row);
  *builder->speed =
      fmax(*builder->speed, speed * (turns_alone(builder, row) ? builder->island->length : 1));
}

static void add_wide_gear(Builder *builder, List *list, const S2JointRow *of, double bias) {
  // Splits a gear with more than two bodies into several rows (wide_rows.c). All but the last row
  // are auxiliary.
  S2WideMovers movers = s2_wide_movers(builder->step, builder->joint);
  S2Row *rows = &list->row[list->count];
  bool positions = s2_solve_traits(builder->kind).displacements;
  int count = s2_wide_gear_rows(builder->step, &movers, builder->aside,
                                bias + (positions ? 0 : movers.given), rows);
  builder->aside += movers.count > 2;
  builder->along->count = 0;
  for (int i = 0; i < count; i++) {
    rows[i].group = builder->group;
    list->part[list->count++] = (S2JointPart){.joint = builder->slot, .row = S2_NONE};
    row_drives(builder, &rows[i]);
  }
  // The last row belongs to the gear itself. Its impulse is the impulse of the joint.
  if (count > 0) {
    S2JointPart *own = &list->part[list->count - 1];
    own->row = 0;
    own->push[0] = of->ja[0];
  }
}

// Always add the rows of the auxiliary copies of a constraint's bodies, even in solves without the
// constraint's own rows. The copies carry a part of the bodies' mass.
static void add_copies(Builder *builder, List *list) {
  S2JointRow along[S2_JOINT_EQUATIONS];
  if (!s2_joint_is_wide(builder->joint)) {
    return;
  }
  builder->nodes[builder->place] = builder->aside;
  int count = s2_joint_rows(&builder->at, along);
  if (s2_constraint_one_sided(builder->joint)) {
    s2_joint_kind(builder->joint->type)->coordinate(&builder->at, along, NULL);
    count = 1;
  }
  for (int i = 0; i < count; i++) {
    S2WideMovers movers = s2_wide_row_movers(builder->step, builder->joint, &along[i]);
    int copies = s2_wide_copies(builder->step, &movers, builder->aside, &list->row[list->count]);
    builder->aside += copies > 0 ? S2_WIDE_NODES : 0;
    for (int k = 0; k < copies; k++) {
      list->row[list->count].group = builder->group;
      list->part[list->count++] = (S2JointPart){.joint = builder->slot, .row = S2_NONE};
    }
  }
}

static void add_bilateral(const Builder *builder, List *list, const S2JointRow *of, int index,
                          double bias, double compliance) {
  S2Row *row = row_append(builder, list, of, 1, index, bias);
  row->lo = -INFINITY;
  row->hi = INFINITY;
  row->compliance = compliance;
  row_drives(builder, row);
}

static void add_boxed(const Builder *builder, List *list, const S2JointRow *of, int index,
                      double bias, double most) {
  S2Row *row = row_append(builder, list, of, 1, index, bias);
  row->lo = -most;
  row->hi = most;
  row_drives(builder, row);
}

// Returns the rate at which an error is corrected, 1/s. A projection corrects the whole error, a
// motion corrects the fraction S2_BAUMGARTE.
static double projection_rate(const Builder *builder) {
  double part = s2_joint_returned(&builder->step->world->kept.def, builder->joint);
  return s2_solve_traits(builder->kind).displacements ? 1
         : builder->kind == S2_SOLVE_MOTION           ? part / builder->step->h
                                                      : 0;
}

// Adds a compliant row and its given impulse.
static void add_elastic(const Builder *builder, List *list, const S2JointRow *of, int index,
                        double bias, double compliance, double given) {
  // If the compliance is infinite, the spring has no row but only a given impulse.
  if (isfinite(compliance)) {
    add_bilateral(builder, list, of, index, bias, compliance);
    if (given != 0) {
      row_give(builder, list, given);
    }
  } else if (given != 0) {
    row_append(builder, builder->given, of, 1, index, 0);
    row_give(builder, builder->given, given);
  }
}

// Returns true if rigid rows constrain only the speeds at the end of the step.
static bool at_end(const S2Blend *blend) {
  return blend->reflect == 0 && blend->ahead == 0 && blend->project == 0;
}

S2Blend s2_step_blend(const S2Step *step, int32_t joint, S2SolveKind kind, const S2Blend *world) {
  // Return early. The rest of the function would not change this blend.
  S2Blend blend = *world;
  if (!step->stiff[joint] && at_end(world)) {
    return blend;
  }
  if (step->stiff[joint]) {
    S2WorldDef def = s2_step_settings(step, joint);
    blend = s2_joint_blend(&def, world->h);
    // If only this island uses implicit Euler, leave out the bend unless the world's settings
    // include it.
    blend.bent = fmin(blend.bent, world->bent);
    // Leave out the correction of positions in the same way.
    blend.ahead = world->project > 0 ? blend.ahead : 0;
    blend.project = world->project > 0 ? blend.project : 0;
  }
  // Only the first solve corrects positions. After an impact, the speeds of rigid rows are 0.
  // Otherwise their error would persist and change its sign in each step.
  if (kind != S2_SOLVE_MOTION || step->world->joints.at[joint].velocity_only) {
    blend.reflect = blend.ahead = blend.project = blend.bent = 0;
  }
  if (step->world->joints.at[joint].stabilization > 0) {
    blend.project = 0; // with `stabilization`, the rows already correct a part of the error
  }
  return blend;
}

static S2Blend blend_of(const Builder *builder) {
  return s2_step_blend(builder->step, builder->slot, builder->kind, &builder->blend);
}

static void add_equations(Builder *builder, List *list) {
  S2JointRow rows[S2_JOINT_EQUATIONS];
  S2SoftRow soft[S2_JOINT_EQUATIONS];
  int count = s2_joint_rows(&builder->at, rows);
  bool positions = s2_solve_traits(builder->kind).displacements;
  if (positions && (builder->joint->velocity_only || !s2_joint_projected(builder->joint))) {
    return; // nothing to project
  }
  // Evaluate a law once per solve, and only in solves in which springs act.
  if (s2_solve_traits(builder->kind).takes_time) {
    s2_spring_ask(builder->step->world, builder->slot, &rows[0]);
  }
  S2Blend blend = blend_of(builder);
  bool wide = builder->joint->type == S2_GEAR && builder->joint->more[0] != S2_NONE; // wide_rows.c.
  // Rigid rows only need a bias if they have no condition on positions.
  if (at_end(&blend) && !wide && s2_joint_is_rigid(builder->joint)) {
    for (int i = 0; i < count; i++) {
      double bias = projection_rate(builder) * rows[i].value + (positions ? 0 : rows[i].rate);
      add_bilateral(builder, list, &rows[i], i, bias, 0);
    }
    return;
  }
  // The conversion to soft rows needs the speeds at the start, and the bends if rows bend within
  // the step.
  s2_joint_speeds(builder->joint, builder->step->v0, rows, count);
  if (blend.ahead > 0 || blend.bent > 0) {
    s2_joint_bend_rows(&builder->at, builder->step->v0, rows, count);
  }
  s2_joint_soften(builder->joint, rows, count, blend, soft);
  // Each soft row becomes one or more rows of the problem, or a given impulse.
  for (int i = 0; i < count; i++) {
    // Springs do not act in solves without duration. A projection must not relax them.
    bool acts = soft[i].rigid || s2_solve_traits(builder->kind).takes_time;
    double toward = soft[i].rigid ? projection_rate(builder) * soft[i].row.value : 0;
    if (acts && wide) {
      add_wide_gear(builder, list, &soft[i].row, toward + (positions ? 0 : soft[i].bias));
    } else if (acts) {
      add_elastic(builder, list, &soft[i].row, i, toward + (positions ? 0 : soft[i].bias),
                  soft[i].compliance, soft[i].given);
    }
  }
}

// The ground receives the opposite of b's impulse from a row of geometric stiffness, at the
// ground's anchor.
static void geometric_push(const Builder *builder, const S2JointRow *row, S2JointPart *part) {
  S2Vec2 from, force = s2_vec2(row->jb[1], row->jb[2]);
  if (s2_joint_geometric_ground(&builder->at, &from)) {
    part->push[0] = -row->jb[0] - s2_cross(from, force);
    part->push[1] = -force.x;
    part->push[2] = -force.y;
  }
}

// K_geo = sum s e e' gives the rows e v + l/(h^2 alpha beta s) = 0. A given impulse adds the
// contribution of v0. Rows cannot have negative stiffness, so the negative part only acts on v0.
// With "psd" it is omitted.
static void add_geometric(const Builder *builder, List *list) {
  S2GeometricStiffness setting = s2_step_geometric(builder->step, builder->slot);
  if (setting == S2_GEOMETRIC_OFF || builder->kind != S2_SOLVE_MOTION) {
    return;
  }
  S2Blend blend = blend_of(builder);
  // Each eigenvector of the geometric stiffness is a row that has a stiffness but no position
  // value.
  S2StiffRow stiff[S2_GEOMETRIC_ROWS];
  int count = s2_joint_geometric(&builder->at, blend, stiff);
  for (int i = 0; i < count; i++) {
    double s = stiff[i].stiffness, hold = blend.h * blend.h * blend.alpha * s;
    if (s < 0 && setting == S2_GEOMETRIC_PSD) {
      continue;
    }
    // Set the row along the eigenvector, and compute its speed.
    S2JointRow row = {0};
    memcpy(row.ja, stiff[i].ja, sizeof row.ja);
    memcpy(row.jb, stiff[i].jb, sizeof row.jb);
    s2_joint_speeds(builder->joint, builder->step->v0, &row, 1);
    double beta = s < 0 ? 0 : blend.beta;
    double compliance = hold * beta > 0 ? 1 / (hold * beta) : INFINITY;
    int rows = list->count, given = builder->given->count;
    add_elastic(builder, list, &row, S2_NONE, 0, compliance, -hold * (1 - beta) * row.speed);
    // add_elastic has appended one row, or only a given impulse.
    if (list->count > rows) {
      geometric_push(builder, &row, &list->part[rows]);
    } else if (builder->given->count > given) {
      geometric_push(builder, &row, &builder->given->part[given]);
    }
  }
}

// Returns true if the coordinate can reach the limit within the step.
static bool in_reach(const Builder *builder, const S2JointRow *row, double distance) {
  // A moving limit may come this much closer.
  distance -= builder->step->h * fabs(row->rate);
  double length = builder->island->length, speed = *builder->speed;
  double linear = hypot(row->ja[1], row->ja[2]) + hypot(row->jb[1], row->jb[2]);
  double angular = fabs(row->ja[0]) + fabs(row->jb[0]);
  for (int i = 0; i < 2 && s2_joint_is_wide(builder->joint); i++) {
    linear += hypot(row->more[i][1], row->more[i][2]);
    angular += fabs(row->more[i][0]);
  }
  if (s2_solve_traits(builder->kind).displacements) { // projections cause only small displacements
    return distance <= length * linear + angular;
  }
  return distance <= S2_LIMIT_REACH * builder->step->h * speed * (linear + angular / length);
}

static void add_limit(const Builder *builder, List *list, const S2JointRow *row, double sign,
                      double distance, int index) {
  double bias = distance;
  if (!isfinite(distance) || !in_reach(builder, row, distance)) {
    return;
  }
  if (!s2_solve_traits(builder->kind).displacements) {
    // `met` is true if the coordinate touches the limit, or if an earlier solve stopped it there.
    const double *impulse = builder->step->joint_impulse + S2_JOINT_ROWS * builder->slot;
    bool rebounds = builder->kind == S2_SOLVE_REBOUND;
    bool again = builder->kind == S2_SOLVE_IMPACT || builder->kind == S2_SOLVE_LIMITS || rebounds;
    bool met = s2_limit_touches(builder->island, row, distance) || (again && impulse[index] > 0);
    // In bisecting steps, the solve after an impact moves bodies, too.
    bool bisect = builder->step->world->kept.def.stepping == S2_BISECT;
    bool ahead = builder->kind == S2_SOLVE_MOTION || (builder->kind == S2_SOLVE_FORCES && bisect);
    if (!met && !ahead) {
      return;
    }
    bool own = distance < 0 && !s2_joint_projected(builder->joint);
    bias = met && !ahead ? 0
           : own         ? builder->joint->stabilization * distance / builder->step->h
                         : s2_step_gap_bias(builder->step, distance);
    bias += sign * row->rate;
    bias -= rebounds ? s2_limit_target(builder->step, builder->island, builder->slot, index) : 0;
  }
  row_append(builder, list, row, sign, index, bias)->hi = INFINITY;
}

static bool joint_limited(const S2Joint *joint) {
  return joint->limit_lo > -INFINITY || joint->limit_hi < INFINITY;
}

// Adds a unilateral constraint that is compliant or has no position to project. Returns false for
// any other limit.
static bool add_soft_stop(const Builder *builder, List *limits, const S2JointRow *row) {
  bool positions = s2_solve_traits(builder->kind).displacements;
  S2SoftRow soft[S2_JOINT_EQUATIONS];
  if (builder->joint->type != S2_CONSTRAINT) {
    return false;
  }
  // Use implicit Euler for all alpha and beta. A unilateral constraint can only push, so no part of
  // its force may be a given impulse.
  S2Blend euler = {.h = positions ? 0 : builder->step->h, .alpha = 1, .beta = 1};
  s2_joint_soften(builder->joint, row, 1, euler, soft);
  if (soft[0].rigid) {
    return positions && (builder->joint->velocity_only || !s2_joint_projected(builder->joint));
  }
  if (s2_solve_traits(builder->kind).takes_time) { // springs need a solve with a duration
    S2Row *stop = row_append(builder, limits, row, 1, S2_JOINT_LO, soft[0].bias);
    stop->hi = INFINITY;
    stop->compliance = soft[0].compliance;
  }
  return true;
}

static S2Vec2 arm_of(const S2JointAt *at) {
  int32_t a = at->joint->a;
  return a == S2_NONE ? s2_vec2(0, 0) : s2_rotate(s2_joint_turn(at, a), at->joint->local_a);
}

// Returns the slot of the constraint that is the friction of this constraint, or S2_NONE.
static int32_t coupled_slot(const Builder *builder) {
  const S2Joint *joint = builder->joint;
  for (int i = 0; i < builder->island->joints && joint->unilateral; i++) {
    const S2Joint *other = &builder->step->world->joints.at[builder->island->joint[i]];
    if (other->coupled == builder->slot && other->coupled_serial == joint->serial &&
        other->friction > 0) {
      return builder->island->joint[i];
    }
  }
  return S2_NONE;
}

// Zero friction has no row, but it has a derivative (zero_vjp.c), which needs the callback's
// results in the record of the step.
static void ask_idle_coupled(const Builder *normal) {
  const S2Joint *joint = normal->joint;
  for (int i = 0; i < normal->island->joints && normal->step->world->notes != NULL; i++) {
    const S2Joint *other = &normal->step->world->joints.at[normal->island->joint[i]];
    if (other->coupled == normal->slot && other->coupled_serial == joint->serial &&
        other->friction == 0) {
      S2JointAt at = normal->at;
      S2JointRow along;
      at.joint = other;
      s2_joint_kind(other->type)->coordinate(&at, &along, NULL);
    }
  }
}

// The friction row must directly follow the row of its normal constraint, as for contacts.
static void add_coupled(const Builder *normal, List *limits) {
  int32_t slot = coupled_slot(normal);
  if (!s2_solve_traits(normal->kind).friction) {
    return;
  }
  ask_idle_coupled(normal);
  if (slot == S2_NONE) {
    return;
  }
  Builder builder = *normal;
  S2JointRow along;
  builder.slot = slot;
  builder.joint = builder.at.joint = &builder.step->world->joints.at[slot];
  builder.arm = arm_of(&builder.at);
  s2_joint_kind(builder.joint->type)->coordinate(&builder.at, &along, NULL);
  S2Row *row = row_append(&builder, limits, &along, 1, S2_JOINT_DRY, along.rate);
  row->coupled_to = limits->count - 2; // preliminary index; list_behind() corrects it
  row->mu = builder.joint->friction;
}

static void add_limits(const Builder *builder, List *limits) {
  const S2Joint *joint = builder->joint;
  S2JointRow row;
  if (joint_limited(joint) && joint->limit_lo < joint->limit_hi) {
    s2_joint_kind(joint->type)->coordinate(&builder->at, &row, NULL);
    int before = limits->count;
    if (!add_soft_stop(builder, limits, &row)) {
      add_limit(builder, limits, &row, 1, row.value - joint->limit_lo, S2_JOINT_LO);
      add_limit(builder, limits, &row, -1, joint->limit_hi - row.value, S2_JOINT_HI);
    }
    if (limits->count > before && joint->unilateral) {
      add_coupled(builder, limits);
    }
  }
}

static void add_equal_limits(const Builder *builder, List *equal) {
  const S2Joint *joint = builder->joint;
  S2JointRow row;
  if (joint_limited(joint) && joint->limit_lo == joint->limit_hi) {
    // This is an equation, as in rigid joints, with the error and the effect of the bend.
    S2JointHessian hessian;
    s2_joint_kind(joint->type)->coordinate(&builder->at, &row, &hessian);
    row.value -= joint->limit_lo;
    s2_joint_speeds(joint, builder->step->v0, &row, 1);
    s2_joint_bends(joint, builder->step->v0, &hessian, &row, 1);
    double toward = projection_rate(builder) * row.value;
    bool positions = s2_solve_traits(builder->kind).displacements;
    add_bilateral(builder, equal, &row, S2_JOINT_LO,
                  toward + (positions ? 0 : s2_joint_return(blend_of(builder), &row)), 0);
  }
}

// Adds motor and dry friction. Bounded forces have no effect in solves without duration.
static void add_drive(const Builder *builder, List *equal, List *boxes) {
  const S2Joint *joint = builder->joint;
  // Return if there is no drive, or if this is a projection.
  bool endless = joint->has_motor && joint->motor_max == INFINITY;
  bool bounded = s2_solve_traits(builder->kind).takes_time;
  if ((!joint->has_motor && !(joint->friction > 0)) || joint->type == S2_CONSTRAINT ||
      s2_solve_traits(builder->kind).displacements) {
    return;
  }
  S2JointRow row;
  double h = builder->step->h;
  // An unbounded motor is an equation. A bounded motor is a boxed row, like friction.
  s2_joint_kind(joint->type)->drive(&builder->at, &row, NULL);
  if (endless) {
    add_bilateral(builder, equal, &row, S2_JOINT_MOTOR, -joint->motor_speed, 0);
  } else if (joint->has_motor && bounded && joint->motor_max * h > 0) {
    add_boxed(builder, boxes, &row, S2_JOINT_MOTOR, -joint->motor_speed, joint->motor_max * h);
  }
  if (joint->friction * h > 0 && bounded) {
    add_boxed(builder, boxes, &row, S2_JOINT_DRY, 0, joint->friction * h);
  }
}

static void add_servo(const Builder *builder, List *equal, List *boxes) {
  const S2Joint *joint = builder->joint;
  double h = builder->step->h, most = joint->servo_max * h;
  if (!s2_solve_traits(builder->kind).takes_time || !s2_servo_acts(joint, h)) {
    return;
  }
  S2Servo servo;
  s2_servo_row(&builder->at, h, builder->step->v0, builder->kind == S2_SOLVE_MOTION, &servo);
  if (!isfinite(servo.soft[0].compliance)) { // the servo has no gains
    return;
  }
  List *list = isfinite(most) ? boxes : equal;
  S2Row *row = row_append(builder, list, &servo.soft[0].row, 1, S2_JOINT_SERVO, servo.soft[0].bias);
  // The reaction of the joint does not include the effort of an actuator.
  memset(list->part[list->count - 1].push, 0, sizeof list->part->push);
  row->lo = -most;
  row->hi = most;
  row->compliance = servo.soft[0].compliance;
  row_drives(builder, row);
}

// Adds a constraint with a bounded force. Like a motor, it has no effect in solves without
// duration.
static void add_bounded(const Builder *builder, List *boxes) {
  const S2Joint *joint = builder->joint;
  double h = builder->step->h, lo = h * joint->bound_lo, hi = h * joint->bound_hi;
  S2JointRow along;
  if (!joint->bounded || !s2_solve_traits(builder->kind).takes_time || !(lo < hi)) {
    return;
  }
  s2_joint_kind(joint->type)->coordinate(&builder->at, &along, NULL);
  S2Row *row = row_append(builder, boxes, &along, 1, S2_JOINT_DRY, along.rate);
  row->lo = lo;
  row->hi = fmax(hi, -lo); // the larger bound, because row_drives() reads `hi`
  row_drives(builder, row);
  row->hi = hi;
}

// Adds the rows of locks that yield. Like motors, they have no effect in solves without duration.
static void add_bounded_locks(const Builder *builder, List *boxes) {
  S2BoundedRow rows[S2_JOINT_EQUATIONS];
  if (!s2_lock_yields(builder->joint) || !s2_solve_traits(builder->kind).takes_time) {
    return;
  }
  // Each row has as its target the speed of the goal plus a return speed, from which the bound can
  // still brake.
  double h = builder->step->h;
  int count = s2_lock_bounded_rows(&builder->at, rows);
  for (int i = 0; i < count; i++) {
    if (rows[i].most * h > 0) {
      S2LockReturn back = s2_lock_return(rows[i].row.value, rows[i].most / rows[i].mass, h);
      add_boxed(builder, boxes, &rows[i].row, rows[i].index, rows[i].row.rate + back.speed,
                rows[i].most * h);
    }
  }
}

static void add_ground_friction(const Builder *builder, List *boxes) {
  const S2Step *step = builder->step;
  const S2Joint *joint = builder->joint;
  if (joint->type != S2_GROUND_FRICTION || builder->kind != S2_SOLVE_MOTION) {
    return;
  }
  // The momentum p of the body after the step without ground friction.
  const double *mass = step->mass + 3 * joint->a, *free_v = step->free_v + 3 * joint->a;
  const double *pushed = step->pushed + 2 * builder->slot;
  S2GroundState state = {
      .momentum = {mass[1] * free_v[1] + step->h * pushed[0],
                   mass[2] * free_v[2] + step->h * pushed[1]},
      .mass = mass[1],
      .h = step->h,
      .last = step->ground_last,
  };
  S2GroundRows rows;
  s2_ground_friction_rows(joint, &state, &rows);
  for (int i = 0; i < 3; i++) {
    if (rows.bound[i] > 0) {
      add_boxed(builder, boxes, &rows.row[i], i, 0, rows.bound[i]);
      boxes->row[boxes->count - 1].compliance = rows.compliance[i];
    }
  }
}

// Appends rows after the bilateral ones, with ascending groups. Returns the next group.
static int list_behind(List *all, const List *more, int group) {
  for (int i = 0; i < more->count; i++) {
    all->row[all->count] = more->row[i];
    // a friction row follows its normal row, in the same group
    bool follows = more->row[i].coupled_to >= 0;
    all->row[all->count].coupled_to = follows ? all->count - 1 : -1;
    all->row[all->count].group = follows ? group - 1 : group++;
    all->part[all->count++] = more->part[i];
  }
  return group;
}

static List new_list(S2Arena *arena, int most) {
  return (List){S2_TAKE(arena, S2Row, most), S2_TAKE(arena, S2JointPart, most), 0};
}

int s2_step_joint_rows(const S2Step *step, const double *q, const S2Island *island,
                       S2SolveKind kind, S2Row *rows, S2JointPart *parts, double *lambda,
                       double *rhs, double *speed, int *given) {
  bool end = s2_solve_traits(kind).at_end;
  // Bounded rows are collected separately, because they must follow all equations.
  S2ArenaMark mark = s2_arena_mark(step->arena);
  List all = {rows, parts, 0};
  List boxes = new_list(step->arena, 3 * island->joints);
  List limits = new_list(step->arena, 2 * island->joints);
  List without = new_list(step->arena, (S2_JOINT_EQUATIONS + S2_GEOMETRIC_ROWS) * island->joints);
  // Evaluate the joints at the start or the end of the step.
  double elapsed = step->t - step->world->kept.time + (end ? step->h : 0);
  double raised = *speed;
  const S2Rot *turn = s2_step_turns(step, island, q);
  // Data for all joints of the island.
  Builder builder = {
      .step = step, .island = island, .kind = kind, .speed = &raised, .given = &without};
  builder.blend =
      s2_joint_blend(&step->world->kept.def, s2_solve_traits(kind).displacements ? 0 : step->h);
  builder.rhs = rhs;
  builder.aside = island->nodes;
  builder.nodes = S2_TAKE(step->arena, int32_t, island->joints);
  S2WideMovers along = {0};
  builder.along = &along;
  // Add limits after drives, because drives cause speeds that widen the range of limits. Add limits
  // with friction last, as for contacts.
  for (int pass = 0; pass < 3; pass++) {
    for (int i = 0; i < island->joints; i++) {
      if (pass > 0 && !joint_limited(&step->world->joints.at[island->joint[i]])) {
        continue;
      }
      builder.slot = island->joint[i];
      builder.group = builder.place = i;
      builder.joint = &step->world->joints.at[builder.slot];
      builder.at = (S2JointAt){step->world, builder.joint, q, elapsed, turn};
      builder.arm = arm_of(&builder.at);
      along.count = 0;
      if (pass == 0) {
        add_copies(&builder, &all);
        add_equations(&builder, &all);
        add_geometric(&builder, &all);
        add_equal_limits(&builder, &all);
        add_drive(&builder, &all, &boxes);
        add_servo(&builder, &all, &boxes);
        add_bounded_locks(&builder, &boxes);
        add_bounded(&builder, &boxes);
        add_ground_friction(&builder, &boxes);
      } else if (s2_solve_traits(kind).normals && // pass 2 adds the limits with friction
                 (coupled_slot(&builder) != S2_NONE) == (pass == 2)) {
        add_limits(&builder, &limits);
      }
    }
  }
  // Append the lists in the order of the problem. Each bounded row gets its own group.
  list_behind(&all, &limits, list_behind(&all, &boxes, island->joints));
  // Given impulses without a row come after the rows.
  *given = without.count;
  for (int i = 0; i < without.count; i++) {
    parts[all.count + i] = without.part[i];
  }
  s2_arena_rewind(step->arena, mark);
  *speed = raised;
  // Warm start with the impulses of the last step, excluding their given part.
  bool warm = kind == S2_SOLVE_MOTION;
  for (int i = 0; i < all.count; i++) {
    const S2JointPart *part = &parts[i];
    bool known = warm && part->row != S2_NONE;
    lambda[i] =
        known ? step->joint_impulse[S2_JOINT_ROWS * part->joint + part->row] - part->given : 0;
  }
  return all.count;
}
