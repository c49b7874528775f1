// Phase 7: position projection.
// Projection removes the overlaps and joint errors that linearised rows cause, by the smallest
// displacement in the mass norm:
//
//     min 1/2 dq' M dq   s.t.   Je dq = -g_e,   Jc dq >= -gap
//     (e: rigid rows; c: contacts and limits)
//
// Newton's method iterates this problem. Joints push along their rows from the start of the step,
// and their displacement, divided by h, is also added to the velocities. This is SHAKE (Ryckaert,
// Ciccotti, Berendsen 1977). It adds the part of the joint impulses that the linearised rows
// missed. Without this, a swinging body would lose energy in every step. If joints pushed along the
// rows from the end of the step, the next solve would remove this part again. Displacements by
// contacts are not added to the velocities. If they were, removing overlaps would throw bodies
// apart.
#include "dynamics/joints/rows.h"
#include "dynamics/project/spin.h"
#include "dynamics/project/warn.h"
#include "dynamics/schemes/threads.h"
#include "dynamics/step/acted.h"
#include "dynamics/step/islands.h"
#include "dynamics/step/solve.h"
#include "dynamics/step/touch.h"
#include "dynamics/trace/notes.h"

#include <string.h>

static bool is_pin(const S2Joint *joint) {
  return joint->type == S2_HINGE && joint->limit_lo == -INFINITY && joint->limit_hi == INFINITY &&
         s2_joint_is_rigid(joint) && s2_joint_projected(joint);
}

static S2JointErrors new_errors(const S2World *world, S2Arena *arena, const S2Island *island) {
  int most = (S2_JOINT_EQUATIONS + 1) * island->joints;
  S2JointErrors errors = {.value = S2_TAKE(arena, double, most),
                          .side = S2_TAKE(arena, S2RowSides, most),
                          .pins = true};
  for (int i = 0; i < island->joints && errors.pins; i++) {
    errors.pins = is_pin(&world->joints.at[island->joint[i]]);
  }
  return errors;
}

// Returns true if a row is an equation of a joint. Equations come first, then limits and contacts.
static bool is_equation(const S2Assembly *assembly, int row) {
  return row < assembly->parts && assembly->problem.row[row].lo < 0;
}

static void add_joint_displacement(const S2Assembly *assembly, const double *lambda,
                                   double fraction, S2Shaken *shaken) {
  const S2Problem *problem = &assembly->problem;
  double *by_joints = shaken->dq;
  for (int r = 0; is_equation(assembly, r); r++) {
    const S2Row *row = &problem->row[r];
    shaken->lambda[r] += fraction * lambda[r];
    for (int c = 0; c < 3; c++) {
      if (row->a != S2_GROUND) {
        int at = 3 * row->a + c;
        by_joints[at] += fraction * row->ja[c] * lambda[r] / problem->mass[at];
      }
      if (row->b != S2_GROUND) {
        int at = 3 * row->b + c;
        by_joints[at] += fraction * row->jb[c] * lambda[r] / problem->mass[at];
      }
    }
  }
}

// Returns the rows of hinges at q0 if the first solve had no other rows, otherwise NULL.
static const S2JointPart *pins_at_start(const S2Island *island, const S2JointErrors *errors) {
  const S2Assembly *motion = island->motion;
  bool alone = errors->pins && motion != NULL && motion->parts == 2 * island->joints &&
               motion->parts_given == 0;
  for (int i = 0; alone && i < motion->parts; i++) {
    alone = motion->part[i].joint == island->joint[i / 2] && motion->part[i].row == i % 2;
  }
  return alone ? motion->part : NULL;
}

// Returns true if the dry friction of a joint holds its speed at 0. Sliding friction is a known
// force.
static bool friction_sticks(const S2Step *step, int32_t slot) {
  static const double at_bound = 1 - 1e-9; // allow for the tolerance of the solves
  double most = step->world->joints.at[slot].friction * step->h;
  return fabs(step->joint_impulse[S2_JOINT_ROWS * slot + S2_JOINT_DRY]) < at_bound * most;
}

// Returns true if the displacements by joints may be added to the velocities. They may not be added
// in these cases:
// - the step began with joint errors (bodies moved by the program);
// - an impact has changed the velocities that caused the error;
// - with blending, rows correct positions, or turning forces contribute to W;
// - a motor or sticking dry friction has just set the velocities.
static bool feeds_back(const S2Step *step, const S2Island *island, const S2JointErrors *errors) {
  const S2WorldDef *def = &step->world->kept.def;
  bool blends = def->beta < 1 || def->geometric_stiffness != S2_GEOMETRIC_OFF;
  if (!(step->h > 0) || island->joints == 0 || blends ||
      step->stiff[island->joint[0]]) { // h = 0: projection outside a step
    return false;
  }
  // The error was not caused by v2 if an impact has changed the velocities.
  for (int i = 0; i < island->nodes; i++) {
    int32_t at = 3 * island->node[i];
    for (int c = 0; c < 3; c++) {
      if (step->v1[at + c] != step->v2[at + c]) {
        return false;
      }
    }
  }
  // The joints must have no error at the start of the step, and no joint may be driven.
  double elapsed = step->t - step->world->kept.time, most = S2_FEEDBACK_START * island->length;
  const S2Rot *turn = s2_step_turns(step, island, step->q0);
  const S2JointPart *pins = pins_at_start(island, errors);
  for (int i = 0; i < island->joints; i++) {
    const S2Joint *joint = &step->world->joints.at[island->joint[i]];
    S2JointAt at = {step->world, joint, step->q0, elapsed, turn};
    if (!s2_joint_projected(joint)) {
      continue;
    }
    bool driven = joint->has_motor || friction_sticks(step, island->joint[i]) || joint->bounded ||
                  joint->type == S2_GROUND_FRICTION || s2_lock_yields(joint);
    if (driven || (pins != NULL ? s2_length(s2_vec2(pins[2 * i].error, pins[2 * i + 1].error))
                                : s2_joint_violation(&at, island->length)) > most) {
      return false;
    }
  }
  return true;
}

// Takes the joint equations at q0 with the errors at q1. Returns false if q0 and q1 have different
// equations.
static bool take_rows_of_start(S2Step *step, const S2Island *island, const S2Choice *choices,
                               S2Assembly *end, S2Row *rows, S2Shaken *shaken) {
  S2Problem *problem = &end->problem;
  S2Assembly start =
      s2_assemble(step, step->q0, step->touches, island, choices, S2_SOLVE_PROJECTION);
  int count = 0;
  bool same = true;
  memcpy(rows, problem->row, sizeof(S2Row) * (size_t)problem->rows);
  for (; is_equation(end, count) && same; count++) {
    same = is_equation(&start, count);
    if (same) {
      shaken->part[count] = start.part[count];
      memcpy(rows[count].ja, start.problem.row[count].ja, sizeof rows[count].ja);
      memcpy(rows[count].jb, start.problem.row[count].jb, sizeof rows[count].jb);
    }
  }
  shaken->count = count;
  same = same && !is_equation(&start, count);
  problem->row = same ? rows : problem->row;
  return same;
}

typedef struct Pass { // inputs of a pass, for its record
  S2ProjectRows rows;
  const S2Choice *choices;
  double stiffness;
} Pass;

// SOLVED: allowed residual of a solve, relative to the error that the projection removes. LEFT:
// allowed residual relative to the tolerance of positions. With a smaller value, rounding would
// make redundant rows contradict each other, and the solver would try every method.
static const double SOLVED = 1e-9, LEFT = 1e-3;

// Maximum number of factorisations in the solver's flow method for the displacements of a pile. No
// displacement separates a jammed pile, and more factorisations would not find one.
enum { POSITIONS_FLOW = 100 };

// A projection that closes gaps may move a point of a body by at most FAR times the largest error.
// A tower that is 25 times as high as wide needs a factor of 25 to stand up on its two corners. A
// box on three points around a bend by phi needs 1/phi. If FAR is exceeded, all points that pull
// with at least the fraction PULLS of the largest pull are released.
static const double FAR = 30, PULLS = 0.1;

// m: the largest displacement of a point of a body by dq.
static double farthest_way(const S2Step *step, const S2Island *island, const double *dq) {
  double far = 0;
  for (int i = 0; i < island->nodes; i++) {
    const S2Body *body = &step->world->bodies.at[island->node[i]];
    const double *d = dq + 3 * i;
    far = fmax(far, hypot(d[1], d[2]) + fabs(d[0]) * body->reach);
  }
  return far;
}

// Releases the points with the largest pull if a small error causes a large displacement. The held
// points then nearly contradict each other. For example, three points around a slight bend of the
// ground can only be closed together by a large motion. Overlaps must be removed, but gaps need not
// be closed. Returns true if a point was released.
static bool let_far_go(const S2Step *step, const S2Island *island, const S2Assembly *assembly,
                       const S2Solution *solution, double worst) {
  if (!step->holds || farthest_way(step, island, solution->v) <= FAR * worst) {
    return false;
  }
  double hardest = 0; // N s
  for (int pass = 0; pass < 2; pass++) {
    int r = assembly->parts; // the first contact row; held points come first
    for (int i = 0; i < island->touches; i++) {
      S2Touch *touch = &step->touches[island->touch[i]];
      for (int k = 0; k < touch->count && !s2_touch_soft(touch); k++) {
        S2TouchPoint *point = &touch->points[k];
        if (!s2_point_held(step, point)) {
          continue;
        }
        double pulls = -solution->lambda[r++];
        hardest = pass == 0 ? fmax(hardest, pulls) : hardest;
        if (pass == 1 && pulls > 0 && pulls >= PULLS * hardest) {
          point->normal_impulse = point->tangent_impulse = 0;
          point->closed = false; // otherwise it would be held and pull again
        }
      }
    }
  }
  return hardest > 0;
}

typedef enum Moved { MOVED, NOT_SOLVED, TOO_FAR } Moved;

// Solves the problem, and moves q1 unless points were released.
static Moved solve_positions(S2Step *step, const S2Island *island, S2Assembly *assembly,
                             double worst, const Pass *pass, S2Shaken *shaken) {
  S2World *world = step->world;
  // Use the size of the error as the velocity scale, so that small errors are removed with the same
  // relative accuracy.
  double scale = fmax(worst, S2_PROJECTION_TRIGGER * island->length);
  assembly->problem.velocity_scale = scale;
  S2SolverOptions options = {
      .tolerance = fmax(SOLVED, LEFT * S2_PROJECTION_TOLERANCE * island->length / scale),
      .max_iterations = world->kept.def.max_iterations,
      .attempt = POSITIONS_FLOW,
  };
  s2_budget_share(step, island, &options);
  S2Solution solution = {.v = assembly->v, .lambda = assembly->lambda};
  s2_mcp_solve(&assembly->problem, &options, step->arena, &solution);
  s2_budget_spend(step, &solution);
  world->stats.projections += 1;
  if (!(solution.residual.scaled < 1e-3)) { // jammed: no displacement removes the error
    return NOT_SOLVED;
  }
  if (let_far_go(step, island, assembly, &solution, worst)) {
    return TOO_FAR;
  }
  // Linearised rows are only accurate for small rotations. Leave the remaining rotation to the next
  // pass.
  double turn = 0;
  for (int i = 0; i < island->nodes; i++) {
    turn = fmax(turn, fabs(solution.v[3 * i]));
  }
  double fraction = turn > S2_PROJECTION_TURN ? S2_PROJECTION_TURN / turn : 1;
  s2_note_project(step, island, pass->rows, pass->choices, pass->stiffness, fraction, assembly,
                  &solution);
  for (int i = 0; i < island->nodes; i++) {
    for (int c = 0; c < 3; c++) {
      step->q1[3 * island->node[i] + c] += fraction * solution.v[3 * i + c];
    }
  }
  if (shaken != NULL) {
    add_joint_displacement(assembly, solution.lambda, fraction, shaken);
  }
  // Update the gaps for the next pass.
  for (int i = 0; i < island->touches; i++) {
    s2_touch_collide(world, &step->touches[island->touch[i]], step->q1,
                     world->kept.def.contact_margin);
  }
  return MOVED;
}

// Does one Newton step with inertias multiplied by `stiffness`. Returns false if it could not be
// solved. If `shaken` is not NULL, joints push along their rows at q0, and their displacements are
// added to it.
static bool project(S2Step *step, const S2Island *island, double worst, double stiffness,
                    S2Shaken *shaken) {
  S2Choice *choices = S2_TAKE_ZEROED(step->arena, S2Choice, 2 * step->touch_count);
  for (int i = 0; i < island->touches; i++) {
    const S2Touch *touch = &step->touches[island->touch[i]];
    for (int k = 0; k < touch->count; k++) {
      choices[2 * island->touch[i] + k] =
          (S2Choice){true, touch->points[k].at.gap, S2_TARGET_ERROR};
    }
  }
  S2Assembly assembly =
      s2_assemble(step, step->q1, step->touches, island, choices, S2_SOLVE_PROJECTION);
  s2_wide_stiffen(step, island, stiffness, assembly.mass);
  if (shaken != NULL) {
    S2Row *rows = S2_TAKE(step->arena, S2Row, assembly.problem.rows);
    if (!take_rows_of_start(step, island, choices, &assembly, rows, shaken)) {
      return false;
    }
  }
  Pass pass = {shaken != NULL ? S2_PROJECT_SHAKE : S2_PROJECT_ANEW, choices, stiffness};
  Moved moved = solve_positions(step, island, &assembly, worst, &pass, shaken);
  return moved == TOO_FAR ? project(step, island, worst, stiffness, shaken) : moved == MOVED;
}

// Returns the largest s in [0, 1] with a s^2 + b s <= room. a and room must not be negative.
static double largest_fraction(double a, double b, double room) {
  room = fmax(room, 0);
  double root = sqrt(b * b + 4 * a * room);
  return a + b <= room ? 1 : b > 0 ? 2 * room / (b + root) : (root - b) / (2 * a);
}

// Returns the fraction of the displacements by joints (divided by h) that is added to the
// velocities. The energy must not exceed that of the unconstrained motion. If the step turns a body
// far or a contact is near, it must also not exceed the initial energy plus the work of forces.
// This is because the energy of SHAKE oscillates about the true energy. The amplitude grows with
// the rotation per step.
static double harmless_fraction(const S2Step *step, const S2Island *island, const double *by_joints,
                                S2Vec2 frame) {
  double a = 0, free_b = 0, free_room = 0, b = 0, room = 0, turn = 0;
  for (int i = 0; i < island->nodes; i++) {
    int32_t slot = island->node[i];
    const S2Body *body = &step->world->bodies.at[slot];
    const double inertial[3] = {body->inertia, body->mass, body->mass};
    turn = fmax(turn, step->h * fabs(step->v1[3 * slot]));
    for (int c = 0; c < 3; c++) {
      int at = 3 * slot + c;
      double ride = c == 0 ? 0 : c == 1 ? frame.x : frame.y;
      double v0 = step->v0[at] - ride, v2 = step->v2[at] - ride, free_v = step->free_v[at] - ride;
      double push = step->h * step->force[at] / 2, more = by_joints[3 * i + c] / step->h;
      a += inertial[c] * more * more / 2;
      free_b += inertial[c] * v2 * more;
      free_room += inertial[c] * (free_v * free_v - v2 * v2) / 2;
      b += (inertial[c] * v2 - push) * more;
      room += inertial[c] * (v0 * v0 - v2 * v2) / 2 + push * (v0 + v2);
    }
  }
  double fraction = largest_fraction(a, free_b, free_room);
  bool sways = turn > S2_FEEDBACK_TURN || island->touches > 0;
  return sways ? fmin(fraction, largest_fraction(a, b, room)) : fraction;
}

// State of a floating island before its projection.
typedef struct Spin {
  bool kept;
  double value, energy; // N m s; J: largest energy that the island may have
  double *v;            // 3 per node; scratch memory
} Spin;

static void get_velocities(const S2Step *step, const S2Island *island, double *v) {
  for (int i = 0; i < island->nodes; i++) {
    memcpy(v + 3 * i, step->v2 + 3 * island->node[i], 3 * sizeof(double));
  }
}

static Spin keep_spin(const S2Step *step, const S2Island *island) {
  Spin spin = {.kept = s2_island_floats(step, island)};
  if (spin.kept) {
    spin.v = S2_TAKE(step->arena, double, 3 * island->nodes);
    bool from_v2;
    spin.energy = s2_island_most_kinetic(step, island, spin.v, &from_v2);
    get_velocities(step, island, spin.v);
    spin.value = s2_island_spin(step, island, spin.v);
    s2_note_spin(step, island, from_v2);
  }
  return spin;
}

static void give_back_spin(const S2Step *step, const S2Island *island, const Spin *spin,
                           double most) {
  if (spin->kept) {
    get_velocities(step, island, spin->v);
    s2_note_set_spin(step, island, S2_ACT_SPIN_V2, spin->value, spin->v);
    s2_island_set_spin(step, island, spin->value, spin->v);
    double excess = s2_island_kinetic_within(step, island, spin->v) - most;
    if (excess > 0) {
      s2_note_cap(step, island, excess, spin->v);
    }
    s2_island_cap(step, island, most, spin->v);
    for (int i = 0; i < island->nodes; i++) {
      double *v2 = step->v2 + 3 * island->node[i];
      const double *v = spin->v + 3 * i;
      const double dv[3] = {v[0] - v2[0], v[1] - v2[1], v[2] - v2[2]};
      s2_step_correct(step, island->node[i], dv, 1);
      memcpy(v2, v, 3 * sizeof(double));
    }
  }
}

// Makes a few passes of SHAKE, which converge linearly. Later passes of the projection remove the
// remaining error.
static bool shake_by_passes(S2Step *step, S2Island *island, S2Shaken *shaken, double *worst) {
  bool converges = true;
  for (int pass = 0; pass < S2_SHAKE_PASSES && converges && *worst > island->enough; pass++) {
    S2ArenaMark mark = s2_arena_mark(step->arena);
    double before = *worst;
    converges = project(step, island, *worst, 1, shaken);
    s2_arena_rewind(step->arena, mark);
    *worst = s2_step_violation(step, island, NULL);
    converges = converges && *worst < before / 2;
  }
  return converges;
}

static S2Shaken new_shaken(const S2Step *step, const S2Island *island) {
  int rows = S2_JOINT_ROWS * island->joints + s2_wide_room(step, island);
  return (S2Shaken){
      .dq = S2_TAKE_ZEROED(step->arena, double, 3 * (island->nodes + s2_wide_nodes(step, island))),
      .lambda = S2_TAKE_ZEROED(step->arena, double, rows),
      .part = S2_TAKE_ZEROED(step->arena, S2JointPart, rows),
  };
}

// Runs SHAKE and adds the joint displacements to the velocities. Later passes remove the remaining
// error, which does not affect the velocities noticeably. If the passes do not converge, the
// velocities are not changed.
static double project_shake(S2Step *step, S2Island *island, S2JointErrors *errors, double worst,
                            const Spin *spin) {
  S2Shaken shaken = new_shaken(step, island);
  bool converges = s2_step_shake(step, island, errors, &shaken, &worst) ||
                   shake_by_passes(step, island, &shaken, &worst);
  give_back_spin(step, island, spin, INFINITY);
  // Only feed back the displacements without rotation, because a rigid rotation does not violate
  // any joint.
  double *by_joints = NULL;
  if (spin->kept) { // remove the rotation from the displacements
    by_joints = s2_arena_copy(step->arena, shaken.dq, 3 * island->nodes);
    s2_note_set_spin(step, island, S2_ACT_SPIN_DQ, 0, shaken.dq);
    s2_island_set_spin(step, island, 0, shaken.dq);
  }
  // Measure the energy relative to the ground of the island.
  int32_t *ground = S2_TAKE(step->arena, int32_t, S2_HOLDERS(island));
  int grounds = s2_island_holders(step, island, false, ground);
  S2Vec2 frame = s2_island_frame(step, island, ground, grounds);
  double fraction = converges ? harmless_fraction(step, island, shaken.dq, frame) : 0;
  for (int i = 0; i < island->nodes && spin->kept; i++) {
    const double *all = shaken.dq + 3 * i, *less = by_joints + 3 * i;
    const double turn[3] = {all[0] - less[0], all[1] - less[1], all[2] - less[2]};
    s2_step_correct(step, island->node[i], turn, fraction / step->h);
  }
  // v2 += s dq/h. The impulses change accordingly.
  s2_note_feedback(step, island, fraction, &shaken, ground, grounds);
  s2_step_add_joints(step, shaken.part, shaken.count, shaken.lambda, fraction / step->h);
  for (int i = 0; i < island->nodes; i++) {
    for (int c = 0; c < 3; c++) {
      step->v2[3 * island->node[i] + c] += fraction * shaken.dq[3 * i + c] / step->h;
    }
  }
  return worst;
}

// Returns the gap at q1 of a contact point of the solve. This is the gap of the same feature, or
// else the gap that the solve predicted.
static double gap_at_end(const S2Step *step, int32_t index, int k) {
  const S2Touch *solved = &step->touches_solved[index], *now = &step->touches[index];
  const S2TouchPoint *point = &solved->points[k];
  for (int j = 0; j < now->count; j++) {
    if (now->points[j].at.id == point->at.id) {
      return now->points[j].at.gap;
    }
  }
  return point->at.gap + step->h * s2_touch_velocity(solved, k, point->at.normal, step->carry);
}

// Does one linear solve with the rows of the step's solve (at q0) and the errors at q1.
static void post_with_same_rows(S2Step *step, const S2Island *island, double worst) {
  S2Choice *choices = S2_TAKE_ZEROED(step->arena, S2Choice, 2 * step->touch_count);
  S2Assembly end = s2_assemble(step, step->q1, step->touches, island, choices,
                               S2_SOLVE_PROJECTION); // joint errors
  for (int i = 0; i < island->touches; i++) {
    int32_t index = island->touch[i];
    for (int k = 0; k < step->touches_solved[index].count; k++) {
      choices[2 * index + k] = (S2Choice){true, gap_at_end(step, index, k), S2_TARGET_ERROR};
    }
  }
  S2Assembly assembly =
      s2_assemble(step, step->q0, step->touches_solved, island, choices, S2_SOLVE_PROJECTION);
  S2Row *rows = S2_TAKE(step->arena, S2Row, assembly.problem.rows);
  for (int r = 0; r < assembly.problem.rows; r++) {
    rows[r] = assembly.problem.row[r];
    for (int k = 0; k < end.parts && r < assembly.parts; k++) {
      const S2JointPart *now = &end.part[k], *then = &assembly.part[r];
      bool same = now->joint == then->joint && now->row == then->row;
      rows[r].bias = same ? end.problem.row[k].bias : rows[r].bias;
    }
  }
  assembly.problem.row = rows;
  Pass pass = {S2_PROJECT_SOLVED, choices, 1};
  (void)solve_positions(step, island, &assembly, worst, &pass, NULL); // no points are held here
}

// Projects positions once, by a linear solve. The velocities do not change.
static void project_once(S2Step *step, bool same_rows) {
  double start = s2_stats_clock(step->world);
  for (int i = 0; i < step->island_count; i++) {
    S2Island *island = &step->islands[i];
    double worst = s2_step_violation(step, island, NULL);
    S2ArenaMark mark = s2_arena_mark(step->arena);
    if (worst > S2_PROJECTION_TRIGGER * island->length) {
      if (same_rows) {
        post_with_same_rows(step, island, worst);
      } else {
        (void)project(step, island, worst, 1, NULL);
      }
    }
    island->joint_error = NAN; // the stored error is outdated
    s2_arena_rewind(step->arena, mark);
  }
  step->world->stats.seconds_project += s2_stats_clock(step->world) - start;
}

void s2_step_project_start(S2Step *step) {
  const S2World *world = step->world;
  double h = step->h;
  step->h = 0; // q1 equals q0, and goals have their initial values
  project_once(step, false);
  step->h = h;
  s2_note_plain(step, S2_ACT_Q0_IS_Q1, step->q1);
  memcpy(step->q0, step->q1, sizeof(double) * 3 * (size_t)world->bodies.count);
  step->turned = false;
}

typedef struct Best {
  double worst;
  double *q; // poses, 3 per node
  int noted; // number of records that led to these positions
} Best;

static void keep_best(const S2Step *step, const S2Island *island, double worst, Best *best) {
  for (int i = 0; i < island->nodes && worst <= best->worst; i++) {
    memcpy(best->q + 3 * i, step->q1 + 3 * island->node[i], 3 * sizeof(double));
  }
  best->noted = worst <= best->worst ? s2_notes_mark(step) : best->noted;
  best->worst = fmin(best->worst, worst);
}

// Returns to the best positions. Newton steps diverge if errors cannot vanish, and would lift
// bodies unnecessarily.
static void go_back(const S2Step *step, S2Island *island, const Best *best) {
  island->joint_error = NAN; // the last measured error belongs to other positions
  for (int i = 0; i < island->nodes; i++) {
    memcpy(step->q1 + 3 * island->node[i], best->q + 3 * i, 3 * sizeof(double));
  }
  for (int i = 0; i < island->touches; i++) {
    s2_touch_collide(step->world, &step->touches[island->touch[i]], step->q1,
                     step->world->kept.def.contact_margin);
  }
}

// Records joints that have no error, for example between bodies at rest, because the derivatives of
// poses depend on them. Contacts are not recorded. The solve already closes them, and a projection
// would put them exactly at the boundary between open and closed.
static void note_joints(S2Step *step, S2Island *island, S2JointErrors *errors, double worst) {
  S2World *world = step->world;
  if (world->notes == NULL || errors->rows == 0) {
    return;
  }
  double none = 0;
  S2Shaken shaken = new_shaken(step, island);
  if (world->notes->projects) {
    bool noted = s2_step_shake(step, island, errors, &shaken, &none) ||
                 (island->touches == 0 && project(step, island, worst, 1, NULL));
    if (!noted) {
      s2_note_refuse_joints(step, island, "a redundant set of contacts and joints");
    }
    return;
  }
  // Run SHAKE here only to record it, and then restore the positions. A step that records a
  // derivative must have the same result as a step that does not.
  if (island->touches == 0 && worst <= island->enough) {
    double *q = S2_TAKE(step->arena, double, 3 * island->nodes), error = island->joint_error;
    uint64_t projections = world->stats.projections;
    for (int i = 0; i < island->nodes; i++) {
      memcpy(q + 3 * i, step->q1 + 3 * island->node[i], 3 * sizeof(double));
    }
    (void)s2_step_shake(step, island, errors, &shaken, &none);
    for (int i = 0; i < island->nodes; i++) {
      memcpy(step->q1 + 3 * island->node[i], q + 3 * i, 3 * sizeof(double));
    }
    island->joint_error = error;
    world->stats.projections = projections;
  }
}

// Errors below this value are rounding errors, which no pass can reduce.
static double projection_enough(const S2Step *step, const S2Island *island) {
  double far = 0;
  for (int i = 0; i < island->nodes; i++) {
    const double *q = step->q1 + 3 * island->node[i];
    far = fmax(far, fmax(fabs(q[1]), fabs(q[2])));
  }
  return fmax(S2_PROJECTION_TOLERANCE * island->length, S2_PROJECTION_ROUNDING * far);
}

static void project_island(S2Step *step, S2Island *island) {
  s2_island_correct_balance(step, island);
  S2ArenaMark start_mark = s2_arena_mark(step->arena);
  S2JointErrors errors = new_errors(step->world, step->arena, island);
  double worst = s2_step_violation(step, island, &errors);
  island->enough = projection_enough(step, island);
  if (worst <= fmax(S2_PROJECTION_TRIGGER * island->length, 2 * island->enough)) {
    note_joints(step, island, &errors, worst);
    if (island->bounced) {
      s2_island_repay(step, island, false);
    }
    s2_arena_rewind(step->arena, start_mark);
    return;
  }
  // Keep the best positions so far, because it may be impossible to remove the errors.
  Best best = {worst, S2_TAKE(step->arena, double, 3 * island->nodes), 0};
  keep_best(step, island, worst, &best);
  Spin spin = keep_spin(step, island);
  S2ArenaMark mark = s2_arena_mark(step->arena);
  // First correct along the rows of joints at q0, with feedback to the velocities (SHAKE).
  bool feeds = feeds_back(step, island, &errors);
  if (feeds) {
    worst = project_shake(step, island, &errors, worst, &spin);
  }
  s2_arena_rewind(step->arena, mark);
  // Keep the feedback and its record, even if the passes below fail.
  int fed = s2_notes_mark(step);
  double *fed_q = S2_TAKE(step->arena, double, 3 * island->nodes);
  for (int i = 0; i < island->nodes && fed > best.noted; i++) {
    memcpy(fed_q + 3 * i, step->q1 + 3 * island->node[i], 3 * sizeof(double));
  }
  mark = s2_arena_mark(step->arena);
  keep_best(step, island, worst, &best);
  bool done = worst <= island->enough;
  // Then do Newton steps. If they stall, increase the inertias to make bodies turn less.
  double stiffness = 1;
  for (int pass = 0; pass < S2_PROJECTION_PASSES && !done; pass++) {
    double before = worst;
    bool solved = project(step, island, worst, stiffness, NULL);
    s2_arena_rewind(step->arena, mark);
    worst = s2_step_violation(step, island, NULL);
    stiffness *= worst > before / 2 ? S2_PROJECTION_STIFFER : 1;
    keep_best(step, island, worst, &best);
    done = !solved || worst <= island->enough;
  }
  // Return to the best positions if they are not from the last pass.
  if (worst > best.worst) {
    go_back(step, island, &best);
    if (best.noted < fed) { // the velocities already contain the feedback
      s2_notes_rewind(step, fed);
      s2_note_go_back(step, island, best.noted, fed_q);
    } else {
      s2_notes_rewind(step, best.noted);
    }
  }
  if (step->h > 0 && best.worst > S2_MISFIT * island->length) {
    s2_step_warn_of_misfits(step, island);
  }
  // Restore the angular momentum from before the projection, and apply the earlier energy limit.
  give_back_spin(step, island, &spin, spin.energy);
  if (island->accounted && island->touches > 0) {
    s2_island_repay(step, island, feeds);
  }
  s2_arena_rewind(step->arena, start_mark);
}

void s2_island_project(S2Step *step, S2Island *island) {
  double start = s2_stats_clock(step->world);
  project_island(step, island);
  step->world->stats.seconds_project += s2_stats_clock(step->world) - start;
}

static bool project_work(S2Step *step, S2Island *island, void *user) {
  (void)user;
  if (!island->kept && island->flowed_q1 == NULL) {
    s2_island_project(step, island);
  }
  return true;
}

bool s2_islands_project(S2Step *step) {
  return s2_islands_run(step, project_work, NULL, NULL);
}

// Records momentum corrections and removes the energy that rebounds have added, in islands that
// project_island() does not process.
static void settle_accounts(S2Step *step) {
  for (int i = 0; i < step->island_count; i++) {
    s2_island_correct_balance(step, &step->islands[i]);
    if (step->islands[i].bounced) {
      s2_island_repay(step, &step->islands[i], false);
    }
  }
}

bool s2_step_project(S2Step *step) {
  bool going = true;
  switch (step->world->kept.def.stabilization) {
  case S2_PROJECTION:
    going = s2_islands_project(step);
    break;
  case S2_POST:
  case S2_POST_ASSEMBLY:
    project_once(step, step->world->kept.def.stabilization == S2_POST);
    settle_accounts(step);
    break;
  case S2_PRE:       // done
  case S2_BAUMGARTE: // done by the velocity solve
  case S2_NO_STABILIZATION:
    settle_accounts(step);
    break;
  }
  return going;
}
