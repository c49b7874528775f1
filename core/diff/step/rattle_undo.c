// The derivative of the two-stage flow (dynamics/rattle/). With fixed active sets and pieces, a
// piece solves
//
//     W1 u = M v0 + h/2 f + J0' l,             (g(q1) - from)/h + C1 l + b1 = 0,   q1 = q0 + h u
//     W2 v1 = M2 u + h/2 f + J1' k,            J1 v1 + C2 k + b2 = 0
//
// So its adjoint, from the last equation to the first, with p for momenta and y for rows, is
//
//     W2 p + J1' y = dl/dv1,   C2 y - J1 p = 0;       W1 p + J1' y = dl/du,   C1 y - J0 p = dl/dl
//
// The matrix of stage 2 is symmetric; the matrix of stage 1 is the transpose of Newton's matrix.
#include "diff/step/rattle_undo.h"
#include "diff/joints/joint_vjp.h"
#include "mcp/solvers.h"

#include <string.h>

// ---- Parameters of joints ----------------------------------------------------------------------

// Stiffness and damping of a compliant row, and their adjoints. If `compliant` is set, the row has
// a compliance instead of a stiffness.
typedef struct Soft {
  bool compliant;
  double k, d; // N/m, or m/N if compliant; damping in N s/m
  double *k_bar, *d_bar;
} Soft;

static Soft soft_of(S2RattlePiece *piece, int r) {
  const S2RattleTerm *term = &piece->rattle.term[r];
  if (s2_rattle_of_contact(term)) {
    const S2Touch *touch = &piece->rattle.at0.touch[term->place];
    S2TouchBar *pair = &piece->pair[term->place];
    bool gap = term->source == S2_RATTLE_OF_GAP;
    return gap ? (Soft){true, touch->compliance, touch->damping, &pair->compliance, &pair->damping}
               : (Soft){false, 0, touch->viscosity, &piece->unused, &pair->viscosity};
  }
  int32_t slot = piece->rattle.island->joint[term->place];
  const S2Joint *joint = s2_rattle_joint(&piece->rattle, term);
  S2JointGradient *g = &piece->undo->gradient->joint[slot];
  if (term->index == S2_JOINT_SERVO) {
    return (Soft){false, joint->servo_kp, joint->servo_kd, &g->servo_kp, &g->servo_kd};
  }
  if (joint->has_spring) {
    return (Soft){false, joint->stiffness, joint->damping.linear, &g->stiffness,
                  &g->damping.linear};
  }
  bool turns = s2_rattle_turns(&piece->rattle.at0.side[r]);
  return turns ? (Soft){true, joint->compliance.angular, joint->damping.angular,
                        &g->compliance.angular, &g->damping.angular}
               : (Soft){true, joint->compliance.linear, joint->damping.linear,
                        &g->compliance.linear, &g->damping.linear};
}

// C = a/(h e), b = value g/e. Here e = t h K + D and g = K; with a compliance e = t h + D c, g = 1,
// and a c replaces a. Converts adjoints of C and b to adjoints of K (or c), D, h and the value.
static void soften_vjp(S2RattlePiece *piece, int r, double h, double t, double a, double value,
                       double c_bar, double b_bar, double *value_bar, double *h_bar) {
  Soft soft = soft_of(piece, r);
  double k = soft.k, d = soft.d;
  double e = soft.compliant ? t * h + d * k : t * h * k + d;
  double gain = soft.compliant ? 1 : k, top = soft.compliant ? a * k : a;
  double c = top / (h * e), b = value * gain / e;
  double e_bar = -(c_bar * c + b_bar * b) / e;
  *value_bar += b_bar * gain / e;
  *h_bar += -c_bar * c / h + e_bar * (soft.compliant ? t : t * k);
  *soft.d_bar += e_bar * (soft.compliant ? k : 1);
  *soft.k_bar +=
      soft.compliant ? c_bar * a / (h * e) + e_bar * d : b_bar * value / e + e_bar * t * h;
}

// The adjoint of the bound of a force.
static void most_vjp(const S2RattlePiece *piece, int r, double bar) {
  const S2RattleTerm *term = &piece->rattle.term[r];
  S2JointGradient *g = &piece->undo->gradient->joint[piece->rattle.island->joint[term->place]];
  if (term->source == S2_RATTLE_OF_GROUND) {
    *(term->index == S2_GROUND_TORQUE ? &g->max_torque : &g->max_force) += bar;
    return;
  }
  *(term->index == S2_JOINT_DRY     ? &g->friction
    : term->index == S2_JOINT_MOTOR ? &g->motor_max
                                    : &g->servo_max) += bar;
}

static void speed_vjp(const S2RattlePiece *piece, int r, double bar) {
  const S2RattleTerm *term = &piece->rattle.term[r];
  if (term->index == S2_JOINT_MOTOR) {
    piece->undo->gradient->joint[piece->rattle.island->joint[term->place]].motor_speed += bar;
  }
}

// ---- Rows --------------------------------------------------------------------------------------

static double sides_along(const S2Row *row, const double *x) {
  double sum = 0;
  for (int c = 0; c < 3; c++) {
    sum += row->a >= 0 ? row->ja[c] * x[3 * row->a + c] : 0;
    sum += row->b >= 0 ? row->jb[c] * x[3 * row->b + c] : 0;
  }
  return sum;
}

// Adds `factor` times x at the row's nodes to the adjoint of the row.
static void sides_vjp(const S2Row *row, double factor, const double *x, S2RowBar *bar) {
  for (int c = 0; c < 3; c++) {
    bar->ja[c] += row->a >= 0 ? factor * x[3 * row->a + c] : 0;
    bar->jb[c] += row->b >= 0 ? factor * x[3 * row->b + c] : 0;
  }
}

// As above for kinematic ground and driven locks, whose velocities also receive adjoints.
static void given_speed_vjp(const S2RattlePiece *piece, int r, double factor, S2RowBar *bar) {
  const S2Rattle *rattle = &piece->rattle;
  const S2Step *step = rattle->step;
  const S2RowSides *side = &rattle->at1.side[r];
  const double *given = s2_rattle_ground_end(rattle);
  double *given_bar =
      s2_rattle_ends_step(rattle) ? piece->undo->bar.given_end : piece->undo->bar.free_v;
  int32_t slots[2];
  s2_rattle_bodies(&piece->rattle, &piece->rattle.term[r], slots);
  for (int i = 0; i < 2; i++) {
    double *to = i == 0 ? bar->ja : bar->jb;
    const double *j = i == 0 ? side->a : side->b;
    for (int c = 0; c < 3 && slots[i] != S2_NONE && step->node_of[slots[i]] == S2_GROUND; c++) {
      to[c] += factor * given[3 * slots[i] + c];
      given_bar[3 * slots[i] + c] += factor * j[c];
    }
  }
  int c = s2_rattle_lock_of(rattle, r);
  if (c != S2_NONE) {
    int at = 3 * rattle->island->joint[rattle->term[r].place] + c;
    piece->undo->answers.rate[at] += factor;
    piece->undo->answers.end[at] -= factor;
  }
}

static void speed_along_vjp(S2RattlePiece *piece, int r, const S2Row *row, double factor) {
  S2RowBar *bar = &piece->at1[r];
  sides_vjp(row, factor, piece->rattle.v1, bar);
  given_speed_vjp(piece, r, factor, bar);
  bar->rate += factor;
}

// Returns where to add the adjoints of the rows at one end of a piece: its poses and the joint
// parameters.
static S2PlaceBar rattle_place_bar(S2RattlePiece *piece, bool end) {
  return (S2PlaceBar){.q = end ? piece->q1_bar : piece->q0_bar,
                      .elapsed = end ? &piece->elapsed_bar1 : &piece->elapsed_bar0,
                      .gradient = piece->undo->gradient};
}

static S2JointAt rattle_joint_at(const S2RattlePiece *piece, const S2Joint *joint, bool end,
                                 const S2Rot *turn) {
  const S2Rattle *rattle = &piece->rattle;
  double elapsed = rattle->done + (end ? rattle->h : 0);
  return (S2JointAt){rattle->step->world, joint, end ? rattle->q1 : rattle->q0, elapsed, turn};
}

// Both rows of a rigid hinge.
static void pin_vjp(const S2JointAt *at, const S2RowBar *bars, const S2PlaceBar *place) {
  S2PinBar pin;
  for (int k = 0; k < 2; k++) {
    pin.value[k] = bars[k].value;
    memcpy(pin.ja[k], bars[k].ja, sizeof pin.ja[k]);
    memcpy(pin.jb[k], bars[k].jb, sizeof pin.jb[k]);
  }
  s2_joint_pin_vjp(at, &pin, place);
}

// If `mix` is given, it replaces the combination of equations that belongs to the term.
static void rows_vjp(S2RattlePiece *piece, bool end, const S2RowBar *bars,
                     double (*mix)[S2_JOINT_EQUATIONS]) {
  const S2Rattle *rattle = &piece->rattle;
  S2PlaceBar place = rattle_place_bar(piece, end);
  S2ArenaMark mark = s2_arena_mark(rattle->step->arena);
  const S2Rot *turn = s2_step_turns(rattle->step, rattle->island, end ? rattle->q1 : rattle->q0);
  S2RowBar bar = {0};
  for (int r = 0; r < rattle->rows; r++) {
    const S2RattleTerm *term = &rattle->term[r];
    if (s2_rattle_of_contact(term)) {
      r = s2_rattle_contact_vjp(piece, r, end, bars);
      continue;
    }
    const S2Joint *joint = s2_rattle_joint(rattle, term);
    S2JointGradient *g = &piece->undo->gradient->joint[rattle->island->joint[term->place]];
    S2JointAt at = rattle_joint_at(piece, joint, end, turn);
    if (term->source == S2_RATTLE_OF_GROUND) { // the pose of ground has no first-order effect
      for (int c = 0; c < 3; c++) {
        place.q[3 * joint->a + c] += bars[r].value * term->mix[c];
      }
      continue;
    }
    // value = sign * measured + offset
    g->limit_lo -= term->index == S2_JOINT_LO ? bars[r].value : 0;
    g->limit_hi += term->index == S2_JOINT_HI ? bars[r].value : 0;
    g->servo_goal -= term->index == S2_JOINT_SERVO ? bars[r].value : 0;
    if (term->source != S2_RATTLE_OF_ROWS) {
      s2_row_bar_scale(&bars[r], term->sign, &bar);
      int function = term->source == S2_RATTLE_OF_COORDINATE ? S2_OF_COORDINATE : S2_OF_DRIVE;
      s2_joint_function_vjp(&at, function, &bar, &place);
      continue;
    }
    if (joint->type == S2_HINGE && s2_joint_is_rigid(joint)) {
      pin_vjp(&at, &bars[r++], &place);
      continue;
    }
    const double *parts = mix != NULL ? mix[r] : term->mix;
    for (int i = 0; i < S2_JOINT_EQUATIONS; i++) {
      if (parts[i] != 0) {
        s2_row_bar_scale(&bars[r], parts[i], &bar);
        s2_joint_function_vjp(&at, i, &bar, &place);
      }
    }
  }
  s2_arena_rewind(rattle->step->arena, mark);
}

// Computes adjoints of equation values if a matrix couples the constraint rows.
static void equations_vjp(S2RattlePiece *piece, bool end, const S2RowBar *bars) {
  const S2Rattle *rattle = &piece->rattle;
  S2PlaceBar place = rattle_place_bar(piece, end);
  for (int i = 0; i < S2_JOINT_EQUATIONS * rattle->island->joints; i++) {
    int32_t slot = rattle->island->joint[i / S2_JOINT_EQUATIONS];
    const S2Joint *joint = &rattle->step->world->joints.at[slot];
    S2JointAt at = rattle_joint_at(piece, joint, end, NULL);
    if (bars[i].value != 0) {
      s2_joint_function_vjp(&at, i % S2_JOINT_EQUATIONS, &bars[i], &place);
    }
  }
}

// ---- A stage -----------------------------------------------------------------------------------

typedef struct Held { // the active rows of a stage
  S2Row *row;
  S2RowSides *left;
  int32_t *index;
  int count;
} Held;

// The matrix of the active rows. Returns false if it cannot be factored without pivoting.
static bool factor_held(const S2RattlePiece *piece, const S2RattleState *state, const double *mass,
                        const S2Row *push, const S2Row *see, Held *held, S2Bilateral *matrix,
                        S2Problem *problem) {
  int rigid = 0;
  for (int r = 0; r < piece->rattle.rows; r++) {
    if (state[r] == S2_RATTLE_HELD) {
      int n = held->count++;
      held->row[n] = push[r];
      held->row[n].lo = -INFINITY;
      held->row[n].hi = INFINITY;
      memcpy(held->left[n].a, see[r].ja, sizeof held->left[n].a);
      memcpy(held->left[n].b, see[r].jb, sizeof held->left[n].b);
      held->index[n] = r;
      rigid += push[r].compliance == 0;
    }
  }
  *problem = (S2Problem){
      .nodes = piece->rattle.nodes, .rows = held->count, .mass = mass, .row = held->row};
  // otherwise the rows are redundant
  return held->count == 0 || (rigid <= 3 * piece->rattle.nodes &&
                              s2_bilateral_init(matrix, problem, piece->undo->arena) &&
                              s2_bilateral_factor(matrix, held->left));
}

// Computes p and y of a stage with the masses `mass`. The rows `push` apply impulses, and the rows
// `see` measure speeds. `right` and l_bar are adjoints of velocities and impulses. Returns false if
// the matrix cannot be factored.
static bool stage_adjoint(S2RattlePiece *piece, const S2RattleState *state, const double *mass,
                          const S2Row *push, const S2Row *see, const double *right,
                          const double *l_bar) {
  S2Arena *arena = piece->undo->arena;
  int rows = piece->rattle.rows, nodes = 3 * piece->rattle.nodes;
  Held held = {S2_TAKE(arena, S2Row, rows), S2_TAKE(arena, S2RowSides, rows),
               S2_TAKE(arena, int32_t, rows), 0};
  double *x = S2_TAKE(arena, double, rows), *scaled = S2_TAKE(arena, double, nodes);
  S2Problem problem;
  S2Bilateral matrix;
  memset(piece->y, 0, sizeof(double) * (size_t)rows);
  // A pivot may be small although no row is redundant, for example for a light body between heavy
  // bodies. Rows of corrected poses may be redundant.
  if (piece->rattle.touches > 0 ||
      !factor_held(piece, state, mass, push, see, &held, &matrix, &problem)) {
    return s2_rattle_dense(piece, state, mass, push, see, right, l_bar);
  }
  for (int i = 0; i < nodes; i++) {
    scaled[i] = right[i] / mass[i];
  }
  for (int i = 0; i < held.count; i++) {
    int r = held.index[i];
    x[i] = sides_along(&see[r], scaled) + l_bar[r];
  }
  if (held.count > 0) {
    s2_bilateral_apply(&matrix, x);
  }
  // p = W^-1 (right - J' y)
  memcpy(piece->p, right, sizeof(double) * (size_t)nodes);
  for (int i = 0; i < held.count; i++) {
    const S2Row *row = &held.row[i];
    piece->y[held.index[i]] = x[i];
    for (int c = 0; c < 3; c++) {
      if (row->a >= 0) {
        piece->p[3 * row->a + c] -= row->ja[c] * x[i];
      }
      if (row->b >= 0) {
        piece->p[3 * row->b + c] -= row->jb[c] * x[i];
      }
    }
  }
  for (int i = 0; i < nodes; i++) {
    piece->p[i] /= mass[i];
  }
  return true;
}

// Adds the adjoints of the masses, the damping rates and the forces in a stage. The mass multiplies
// `moved`, and damping acts on the velocity `damped`.
static void bodies_vjp(S2RattlePiece *piece, const double *moved, const double *const *damped) {
  const S2Rattle *rattle = &piece->rattle;
  for (int i = 0; i < 3 * rattle->nodes; i++) {
    int32_t slot = rattle->island->node[i / 3];
    const S2Body *body = &rattle->step->world->bodies.at[slot];
    S2BodyGradient *g = &piece->undo->gradient->body[slot];
    double p = piece->p[i], rate = i % 3 == 0 ? body->angular_damping : body->linear_damping;
    double drag = *damped[i];
    *(i % 3 == 0 ? &g->inertia : &g->mass) += p * (moved[i] - piece->half * rate * drag);
    *(i % 3 == 0 ? &g->angular_damping : &g->linear_damping) -=
        p * piece->half * rattle->inertial[i] * drag;
    double *force = piece->lawful[i / 3] ? piece->undo->held : piece->undo->bar.force;
    force[3 * slot + i % 3] += piece->half * p;
    piece->h_bar += p * (rattle->force[i] - rattle->damping[i] * drag) / 2;
  }
}

// ---- Stage 2 -----------------------------------------------------------------------------------

static void second_row_vjp(S2RattlePiece *piece, int r, const S2Row *row) {
  const S2Rattle *rattle = &piece->rattle;
  const S2RattleTerm *term = &rattle->term[r];
  bool sums = s2_rattle_sums(term), given = s2_rattle_halved(term);
  bool coupled =
      term->source == S2_RATTLE_OF_ROWS && s2_rattle_coupled(s2_rattle_joint(rattle, term));
  double pushed = sides_along(row, piece->p) + s2_rattle_row_pull(piece, r, true);
  double y = piece->y[r], h = rattle->h;
  S2RowBar *bar = &piece->at1[r];
  s2_rattle_reaction_vjp(piece, r, true, rattle->k[r] + (rattle->late[r] ? rattle->l[r] : 0), bar);
  s2_rattle_flag_edge(piece, r, true, pushed);
  // J1' k, where k depends on the known l
  sides_vjp(row, rattle->k[r], piece->p, bar);
  piece->l_bar[r] += given ? pushed : sums ? -pushed : 0;
  double side = s2_rattle_side(rattle->second[r]);
  if (term->law == S2_RATTLE_FRICTION) {
    s2_rattle_friction_vjp(piece, r, true, pushed);
  } else if (side != 0) {
    double times = sums ? 2 : 1; // factor in units of h/2
    most_vjp(piece, r, side * times * piece->half * pushed);
    piece->h_bar += side * times * term->most * pushed / 2;
  }
  if (rattle->second[r] != S2_RATTLE_HELD) {
    return;
  }
  s2_rattle_unit_vjp(piece, r, true, row, bar);
  // J1 v1 + C2 k + b2 - speed
  speed_along_vjp(piece, r, row, -y);
  if (term->source == S2_RATTLE_OF_SLIP) {
    s2_rattle_slip_vjp(piece, r, true, bar);
  } else if (!s2_rattle_of_contact(term)) {
    speed_vjp(piece, r, y);
  }
  if (term->soft && !coupled) {
    double half_bar = 0;
    soften_vjp(piece, r, h / 2, 1, 1, rattle->at1.value[r], -y * rattle->k[r], -y, &bar->value,
               &half_bar);
    piece->h_bar += half_bar / 2;
    piece->l_bar[r] += sums ? y * piece->c2[r] : 0; // because k = (l + k) - l
  }
}

static bool second_vjp(S2RattlePiece *piece) {
  const S2Rattle *rattle = &piece->rattle;
  S2Arena *arena = piece->undo->arena;
  int nodes = 3 * rattle->nodes;
  double *mass = S2_TAKE(arena, double, nodes), *moved = S2_TAKE(arena, double, nodes);
  const double **damped = S2_TAKE(arena, const double *, nodes);
  S2Row *rows = S2_TAKE(arena, S2Row, rattle->rows);
  // The masses of the stage, and the vectors that M and damping multiply.
  for (int i = 0; i < nodes; i++) {
    bool cayley = rattle->step->dt * rattle->damping[i] <= 2 * rattle->inertial[i];
    mass[i] = rattle->inertial[i] + (cayley ? 0 : piece->half * rattle->damping[i]);
    damped[i] = cayley ? &rattle->u[i] : NULL;
  }
  s2_rattle_relax(piece, true, mass);
  for (int i = 0; i < nodes; i++) {
    moved[i] = rattle->u[i] - rattle->v1[i];
    damped[i] = damped[i] != NULL ? damped[i] : &rattle->v1[i];
  }
  for (int r = 0; r < rattle->rows; r++) {
    bool ground = rattle->term[r].source == S2_RATTLE_OF_GROUND;
    rows[r] = s2_rattle_row(rattle, r, &rattle->at1.side[r]);
    rows[r].compliance = (ground ? rattle->term[r].compliance : piece->c2[r]) + piece->give[1][r];
  }
  double *k_bar = S2_TAKE(arena, double, rattle->rows);
  S2Row *pushes = S2_TAKE(arena, S2Row, rattle->rows);
  for (int r = 0; r < rattle->rows; r++) {
    k_bar[r] = s2_rattle_row_pull(piece, r, true);
    pushes[r] = rows[r];
  }
  s2_rattle_fold(piece, true, pushes, k_bar);
  if (!stage_adjoint(piece, rattle->second, mass, rows, pushes, piece->v1_bar, k_bar)) {
    return false;
  }
  for (int i = 0; i < nodes; i++) {
    bool cayley = damped[i] == &rattle->u[i];
    piece->u_bar[i] +=
        piece->p[i] * (rattle->inertial[i] - (cayley ? piece->half * rattle->damping[i] : 0));
  }
  s2_rattle_put_laws(piece, true);
  bodies_vjp(piece, moved, damped);
  s2_rattle_laws_vjp(piece, true);
  for (int r = 0; r < rattle->rows; r++) {
    second_row_vjp(piece, r, &rows[r]);
  }
  return true;
}

// Handles limits with restitution e. Solving stage 2 without them gives their approach speeds s
// along J1. They separate at -e s. So the adjoint of s is -e y, and the adjoint of e is -s y.
// Returns false if no limit is hit.
static bool arrival_take_place(S2RattlePiece *piece) {
  S2Rattle *rattle = &piece->rattle;
  S2RattleArrival *arrival = &rattle->arrival;
  if (!arrival->any) {
    return false;
  }
  int nodes = 3 * rattle->nodes;
  rattle->v1 = arrival->v;
  rattle->k = arrival->k;
  memset(piece->v1_bar, 0, sizeof(double) * (size_t)nodes);
  for (int r = 0; r < rattle->rows; r++) {
    double e = rattle->term[r].restitution, y = piece->y[r];
    if (arrival->back[r] == 0 || y == 0) {
      continue;
    }
    S2Row row = s2_rattle_row(rattle, r, &rattle->at1.side[r]);
    int32_t slot = rattle->island->joint[rattle->term[r].place];
    // The same test as in find_rebounds().
    double parts = rattle->step->dt / rattle->h, speed = arrival->back[r] / e;
    double change = sides_along(&row, rattle->v1) - sides_along(&row, rattle->v0);
    bool edge = -speed - parts / 2 * fabs(change) <= 1e-9 * rattle->speed;
    piece->undo->gradient->flags |= edge ? S2_GRADIENT_WEAK : 0;
    piece->undo->gradient->joint[slot].restitution -= y * speed;
    speed_along_vjp(piece, r, &row, -e * y);
    for (int c = 0; c < 3; c++) {
      piece->v1_bar[row.a >= 0 ? 3 * row.a + c : 0] -= row.a >= 0 ? e * y * row.ja[c] : 0;
      piece->v1_bar[row.b >= 0 ? 3 * row.b + c : 0] -= row.b >= 0 ? e * y * row.jb[c] : 0;
    }
  }
  rattle->second = arrival->state;
  arrival->any = false;
  piece->unasked = true;
  return true;
}

// All adjoints of stage 2. `matrices`: see equations_vjp().
static bool end_vjp(S2RattlePiece *piece, S2RowBar *matrices) {
  bool unasked = piece->unasked, good = true;
  do { // the first solve includes the limits that are hit; the second leaves them out
    s2_rattle_find_states(piece, true);
    s2_rattle_find_edges(piece, true);
    good = second_vjp(piece);
    s2_rattle_zeros_vjp(piece, true);
    s2_rattle_smooth_vjp(piece, true);
    s2_rattle_matrices_vjp(piece, true, matrices);
  } while (good && arrival_take_place(piece));
  piece->unasked = unasked;
  return good;
}

// ---- Stage 1 -----------------------------------------------------------------------------------

// Computes the effect on p of limits whose rows J1 turn with u. `turned` receives the sum of h l
// Hess(g) p over these limits, 3 numbers per node. Returns false if there are no such limits.
static bool late_turns(S2RattlePiece *piece, const S2Row *rows, double *turned) {
  const S2Rattle *rattle = &piece->rattle;
  S2Arena *arena = piece->undo->arena;
  S2ArenaMark mark = s2_arena_mark(arena);
  int slots = 3 * rattle->step->world->bodies.count;
  double *q_bar = S2_TAKE_ZEROED(arena, double, slots), elapsed;
  S2JointGradient unused = {0};
  S2PlaceBar place = {
      .q = q_bar, .elapsed = &elapsed, .joint = &unused, .gradient = piece->undo->gradient};
  bool any = false;
  // The adjoint of l J1' p with respect to the poses is l Hess(g) p.
  for (int r = 0; r < rattle->rows; r++) {
    if (rattle->late[r] && rattle->l[r] != 0) {
      const S2RattleTerm *term = &rattle->term[r];
      S2RowBar bar = {0};
      sides_vjp(&rows[r], term->sign * rattle->l[r], piece->p, &bar);
      any = true;
      if (s2_rattle_of_contact(term)) {
        s2_rattle_contact_poses(piece, r, &bar, q_bar);
        continue;
      }
      S2JointAt at = {rattle->step->world, s2_rattle_joint(rattle, term), rattle->q1,
                      rattle->done + rattle->h, NULL};
      s2_joint_function_vjp(&at, S2_OF_COORDINATE, &bar, &place);
    }
  }
  for (int i = 0; i < 3 * rattle->nodes; i++) {
    turned[i] = rattle->h * q_bar[3 * rattle->island->node[i / 3] + i % 3];
  }
  s2_arena_rewind(arena, mark);
  return any;
}

// Solves (W1 - h l Hess(g) - h/2 dL/du)' p + J1' y = dl/du by fixed-point iteration, because all
// terms except W1 are small.
static bool first_adjoint(S2RattlePiece *piece, const double *mass, const S2Row *end,
                          const S2Row *start, const double *l_bar) {
  enum { PASSES = 100 };
  const S2Rattle *rattle = &piece->rattle;
  int nodes = 3 * rattle->nodes;
  double *right = s2_arena_copy(piece->undo->arena, piece->u_bar, nodes);
  double *turned = S2_TAKE(piece->undo->arena, double, nodes), moved = 1;
  for (int pass = 0; pass < PASSES && moved > 0; pass++) {
    if (!stage_adjoint(piece, rattle->first, mass, end, start, right, l_bar)) {
      return false;
    }
    bool any = late_turns(piece, end, turned) || piece->laws > 0;
    s2_rattle_laws_turn(piece, turned);
    double change = 0, size = 0;
    for (int i = 0; i < nodes && any; i++) {
      change = fmax(change, fabs(piece->u_bar[i] + turned[i] - right[i]));
      size = fmax(size, fabs(right[i]));
      right[i] = piece->u_bar[i] + turned[i];
    }
    moved = change > 1e-14 * size ? change / size : 0;
  }
  return moved <= 1e-9;
}

static void first_row_vjp(S2RattlePiece *piece, int r, const S2Row *row, S2RowBar *end) {
  const S2Rattle *rattle = &piece->rattle;
  const S2RattleTerm *term = &rattle->term[r];
  double pushed = sides_along(row, piece->p) + piece->l_bar[r], y = piece->y[r], h = rattle->h;
  double side = s2_rattle_side(rattle->first[r]);
  S2RowBar *bar = &piece->at0[r];
  s2_rattle_flag_edge(piece, r, false, pushed);
  sides_vjp(row, rattle->l[r], piece->p, rattle->late[r] ? end : bar);
  if (!rattle->late[r]) { // otherwise the row acts in stage 2
    s2_rattle_reaction_vjp(piece, r, false, rattle->l[r], bar);
  }
  if (term->law == S2_RATTLE_FRICTION) {
    s2_rattle_friction_vjp(piece, r, false, pushed);
  } else if (side != 0) {
    most_vjp(piece, r, side * piece->half * pushed);
    piece->h_bar += side * term->most * pushed / 2;
  }
  if (rattle->first[r] != S2_RATTLE_HELD) {
    return;
  }
  s2_rattle_unit_vjp(piece, r, false, row, rattle->late[r] ? end : bar);
  double theta = term->trapezoid ? 0.5 : 1, from = s2_rattle_from(rattle, r), none = 0;
  bool begins = term->changes && from == rattle->at0.value[r]; // false if it starts on the surface
  if (term->source == S2_RATTLE_OF_SLIP) {
    s2_rattle_slip_vjp(piece, r, false, end);
    if (term->soft) {
      soften_vjp(piece, r, h, theta, 2, 0, -y * rattle->l[r], 0, &none, &piece->h_bar);
    }
    return;
  }
  // (g(q1) - from)/h + C1 l + b1 - speed
  end->value -= y / h;
  if (term->soft && term->source == S2_RATTLE_OF_ROWS &&
      s2_rattle_coupled(s2_rattle_joint(rattle, term))) {
    return; // the other adjoints are computed for all rows of the joint together
  }
  bar->value += begins ? y / h : 0;
  piece->h_bar += y * (rattle->at1.value[r] - from) / (h * h);
  if (!s2_rattle_of_contact(term)) {
    speed_vjp(piece, r, y);
  }
  if (term->soft && term->source != S2_RATTLE_OF_GROUND) {
    soften_vjp(piece, r, h, theta, 2, from, -y * rattle->l[r], -y, begins ? &bar->value : &none,
               &piece->h_bar);
  }
}

static bool first_vjp(S2RattlePiece *piece, S2RowBar *values) {
  const S2Rattle *rattle = &piece->rattle;
  S2Arena *arena = piece->undo->arena;
  int nodes = 3 * rattle->nodes;
  double *mass = S2_TAKE(arena, double, nodes), *moved = S2_TAKE(arena, double, nodes);
  const double **damped = S2_TAKE(arena, const double *, nodes);
  S2Row *start = S2_TAKE(arena, S2Row, rattle->rows), *end = S2_TAKE(arena, S2Row, rattle->rows);
  s2_rattle_put_slopes(piece);
  // Collect the masses and dl/du. The latter includes the adjoint of the final poses.
  for (int i = 0; i < nodes; i++) {
    mass[i] = rattle->inertial[i] + piece->half * (rattle->damping[i] + rattle->slope[i]);
    piece->u_bar[i] += rattle->h * piece->q1_bar[3 * rattle->island->node[i / 3] + i % 3];
  }
  s2_rattle_relax(piece, false, mass);
  for (int i = 0; i < nodes; i++) {
    moved[i] = rattle->v0[i] - rattle->u[i];
    damped[i] = &rattle->u[i];
  }
  for (int r = 0; r < rattle->rows; r++) {
    start[r] = s2_rattle_row(rattle, r, &rattle->at0.side[r]);
    end[r] = s2_rattle_row(rattle, r, &rattle->at1.side[r]);
    start[r] = rattle->late[r] ? end[r] : start[r];
    end[r].compliance = rattle->term[r].compliance + piece->give[0][r];
    piece->l_bar[r] += s2_rattle_row_pull(piece, r, rattle->late[r]);
  }
  S2Row *pushes = S2_TAKE(arena, S2Row, rattle->rows);
  double *l_bar = s2_arena_copy(arena, piece->l_bar, rattle->rows);
  memcpy(pushes, start, sizeof *pushes * (size_t)rattle->rows);
  s2_rattle_fold(piece, false, pushes, l_bar);
  s2_rattle_see_slip(piece, end);
  if (!first_adjoint(piece, mass, end, pushes, l_bar)) {
    return false;
  }
  for (int i = 0; i < nodes; i++) {
    piece->v0_bar[i] = piece->p[i] * rattle->inertial[i];
  }
  s2_rattle_put_laws(piece, false);
  bodies_vjp(piece, moved, damped);
  s2_rattle_laws_vjp(piece, false);
  for (int r = 0; r < rattle->rows; r++) {
    first_row_vjp(piece, r, &start[r], &values[r]);
  }
  return true;
}

// ---- A piece -----------------------------------------------------------------------------------

// Differentiates the poses of ground bodies at the start or end of a piece. Such a pose is the pose
// at the start of the substep plus the motion until then. Returns the adjoint of the time.
static double ground_places_vjp(S2RattlePiece *piece, double since, double *q_bar) {
  const S2Step *step = piece->rattle.step;
  S2StepAdjoint *bar = &piece->undo->bar;
  double since_bar = 0;
  for (int i = 0; i < 3 * step->world->bodies.count; i++) {
    if (step->node_of[i / 3] == S2_GROUND && q_bar[i] != 0) {
      bar->q0[i] += q_bar[i];
      bar->free_v[i] += since * q_bar[i];
      since_bar += step->free_v[i] * q_bar[i];
      q_bar[i] = 0;
    }
  }
  return since_bar;
}

bool s2_rattle_piece_vjp(S2RattlePiece *piece) {
  S2Rattle *rattle = &piece->rattle;
  S2StepAdjoint *bar = &piece->undo->bar;
  S2Arena *arena = piece->undo->arena;
  S2RowBar *values = S2_TAKE_ZEROED(arena, S2RowBar, rattle->rows);
  int equations = S2_JOINT_EQUATIONS * rattle->island->joints;
  S2RowBar *matrices[2] = {S2_TAKE_ZEROED(arena, S2RowBar, equations),
                           S2_TAKE_ZEROED(arena, S2RowBar, equations)};
  s2_rattle_soften_end(rattle, &rattle->at1, piece->c2, piece->b2, piece->mix);
  s2_rattle_find_states(piece, false);
  s2_rattle_find_edges(piece, false);
  if (!end_vjp(piece, matrices[1])) {
    return false;
  }
  if (piece->timing_bar != 0) {
    piece->at1[piece->rattle.met].value += piece->timing_bar;
  }
  rows_vjp(piece, true, piece->at1, piece->mix);
  equations_vjp(piece, true, matrices[1]);
  // Measure rows of stage 1 at the end of the piece. Matrices may combine them differently there.
  s2_rattle_measure(rattle, rattle->q1, rattle->done + rattle->h, &rattle->at1);
  if (!first_vjp(piece, values)) {
    return false;
  }
  s2_rattle_flag_repeated(piece);
  s2_quiet_look_at_piece(piece);
  s2_rattle_zeros_vjp(piece, false);
  s2_rattle_smooth_vjp(piece, false);
  s2_rattle_materials_vjp(piece);
  s2_rattle_matrices_vjp(piece, false, matrices[0]);
  rows_vjp(piece, true, values, NULL);
  rows_vjp(piece, false, piece->at0, NULL);
  equations_vjp(piece, false, matrices[0]);
  // q1 = q0 + h u
  for (int i = 0; i < 3 * rattle->nodes; i++) {
    int at = 3 * rattle->island->node[i / 3] + i % 3;
    piece->q0_bar[at] += piece->q1_bar[at];
    piece->h_bar += piece->q1_bar[at] * rattle->u[i];
    piece->q1_bar[at] = 0;
  }
  // in event stepping, q0 of ground is its pose at the start of the piece
  double began = piece->event ? 0 : rattle->done;
  piece->start_bar += ground_places_vjp(piece, began, piece->q0_bar);
  piece->end_bar += ground_places_vjp(piece, began + rattle->h, piece->q1_bar);
  piece->start_bar += piece->elapsed_bar0 - piece->h_bar;
  piece->end_bar += piece->elapsed_bar1 + piece->h_bar;
  bar->elapsed += piece->event ? piece->elapsed_bar0 + piece->elapsed_bar1 : 0;
  return true;
}

// Finds the active rows of a pose correction of size 0. A step starts by correcting poses that
// violate joints by more than rounding. All other poses are treated as if they had been corrected
// by 0. Otherwise a change of a pose or an anchor would count as a joint error, which stage 1 would
// convert to velocities.
static void placing_of_none(const S2RattlePiece *piece, S2RattleState *state) {
  const S2Rattle *rattle = &piece->rattle;
  for (int r = 0; r < rattle->rows; r++) {
    const S2RattleTerm *term = &rattle->term[r];
    bool holds = term->law == S2_RATTLE_LIMIT
                     ? rattle->first[r] == S2_RATTLE_HELD && !rattle->late[r]
                     : rattle->first[r] != S2_RATTLE_GIVEN; // a redundant GIVEN row
    bool held = s2_rattle_has_place(term) && holds;
    state[r] = held ? S2_RATTLE_HELD : S2_RATTLE_OPEN;
  }
}

typedef struct Placing { // one pass of a pose correction
  S2Row *row;            // rows at the poses before the pass
  S2RattleState *state;
  double *x, *dq; // x per row; dq, 3 per node: the displacement
} Placing;

// With g of the active rows, q + dq with M dq = J' x, J dq + g = 0. So M p + J' y = dl/dq, J p = 0,
// dl = p (dJ' x - dM dq) - y (dJ dq + dg).
static bool placing_vjp(S2RattlePiece *piece, const Placing *pass, double *q_bar) {
  const S2Rattle *rattle = &piece->rattle;
  int nodes = 3 * rattle->nodes, rows = rattle->rows;
  double *none = S2_TAKE_ZEROED(piece->undo->arena, double, rows);
  if (!stage_adjoint(piece, pass->state, rattle->inertial, pass->row, pass->row, q_bar, none)) {
    return false;
  }
  memset(piece->at0, 0, sizeof *piece->at0 * (size_t)rows);
  memset(piece->q0_bar, 0, sizeof *q_bar * (size_t)(3 * rattle->step->world->bodies.count));
  for (int r = 0; r < rows; r++) {
    sides_vjp(&pass->row[r], pass->x[r], piece->p, &piece->at0[r]);
    sides_vjp(&pass->row[r], -piece->y[r], pass->dq, &piece->at0[r]);
    piece->at0[r].value -= piece->y[r];
  }
  for (int i = 0; i < nodes; i++) {
    S2BodyGradient *g = &piece->undo->gradient->body[rattle->island->node[i / 3]];
    *(i % 3 == 0 ? &g->inertia : &g->mass) -= piece->p[i] * pass->dq[i];
  }
  rows_vjp(piece, false, piece->at0, NULL);
  for (int i = 0; i < nodes; i++) {
    q_bar[i] += piece->q0_bar[3 * rattle->island->node[i / 3] + i % 3];
    piece->q0_bar[3 * rattle->island->node[i / 3] + i % 3] = 0;
  }
  (void)ground_places_vjp(piece, rattle->done, piece->q0_bar); // at time 0
  return true;
}

bool s2_rattle_placings_vjp(S2RattlePiece *piece, double *q_bar) {
  S2Rattle *rattle = &piece->rattle;
  const S2RattleNote *note = &piece->note->rattle;
  S2Arena *arena = piece->undo->arena;
  int nodes = 3 * rattle->nodes, rows = rattle->rows;
  Placing pass = {S2_TAKE(arena, S2Row, rows), S2_TAKE(arena, S2RattleState, rows),
                  S2_TAKE_ZEROED(arena, double, rows), S2_TAKE_ZEROED(arena, double, nodes)};
  double *off = S2_TAKE(arena, double, rows), *still = S2_TAKE_ZEROED(arena, double, nodes);
  bool begins = rattle->done == 0, good = true;
  piece->elapsed_bar0 = 0;
  // At the poses after the correction.
  for (int r = 0; r < rows && begins && note->placings == 0; r++) {
    pass.row[r] = s2_rattle_row(rattle, r, &rattle->at0.side[r]);
  }
  if (begins && note->placings == 0) {
    placing_of_none(piece, pass.state);
    good = placing_vjp(piece, &pass, q_bar);
  }
  for (int k = note->placings - 1; k >= 0 && good; k--) { // from the last pass to the first
    const double *q = note->placing + (ptrdiff_t)(nodes + rows) * k, *held = q + nodes;
    for (int i = 0; i < nodes; i++) {
      rattle->q0[3 * rattle->island->node[i / 3] + i % 3] = q[i];
    }
    s2_rattle_measure(rattle, rattle->q0, rattle->done, &rattle->at0);
    for (int r = 0; r < rows; r++) {
      pass.row[r] = s2_rattle_row(rattle, r, &rattle->at0.side[r]);
      pass.state[r] = held[r] != 0 ? S2_RATTLE_HELD : S2_RATTLE_OPEN;
      off[r] = -rattle->at0.value[r];
    }
    // Compute x and dq again.
    good = stage_adjoint(piece, pass.state, rattle->inertial, pass.row, pass.row, still, off);
    memcpy(pass.x, piece->y, sizeof *pass.x * (size_t)rows);
    for (int i = 0; i < nodes; i++) {
      pass.dq[i] = -piece->p[i];
    }
    good = good && placing_vjp(piece, &pass, q_bar);
  }
  piece->undo->bar.elapsed += piece->event ? piece->elapsed_bar0 : 0;
  return good;
}
