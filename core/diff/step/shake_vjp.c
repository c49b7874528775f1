// Mends by one factorisation (dynamics/project/shake.c), and the angular momentum of what floats
// (dynamics/project/spin.c), backwards.
//
// What SHAKE ends with does not depend on how it got there: displacements dq = M^-1 J0' l with the
// joints' rows at q0, and no error left, g(q1 + dq) = 0. With J1 the rows there,
//
//     [M  J1'] [p]   [dl/d(dq)]
//     [-J0  0] [y] = [dl/dl   ],    dl/dM = -p dq,  dl/dJ0 = l p',  dl/dg = -y.
#include "diff/step/undo.h"

#include <string.h>

// ---- SHAKE ------------------------------------------------------------------------------------

typedef struct Shake {
  S2Undo *undo;
  const S2Note *note;
  S2Assembly start, end; // at q0, at q1
  S2Remade *solve;       // whose rows those of `start` are; NULL: of none
  int rows;
  double *p, *y, *dq_bar; // 3 a node; 1 a row; 3 a node
  const double *reaction; // of what is fed back of the joints' impulses (s2_undo_reaction)
} Shake;

// Rows that S2_SOLVE_PROJECTION makes are to be those of the start: also by the time, if the first
// solve had them.
static void set_start(S2Undo *undo, const S2Note *note, bool start) {
  undo->step.t = start && note->of_motion ? note->t - note->h : note->t;
  if (start) {
    undo->step.q1 = undo->step.q0;
  }
}

static int equations(const S2Problem *problem) {
  int count = 0;
  while (count < problem->rows && problem->row[count].lo < 0) {
    count += 1;
  }
  return count;
}

static bool is_same_island(const S2Island *a, const S2Island *b) {
  return a->nodes == b->nodes && a->joints == b->joints &&
         memcmp(a->node, b->node, sizeof(int32_t) * (size_t)a->nodes) == 0 &&
         memcmp(a->joint, b->joint, sizeof(int32_t) * (size_t)a->joints) == 0;
}

// The equations at q0 are those of the island's first solve, if that is all it had: they are rigid
// and not driven (as in dynamics/project/shake.c). Its number, or S2_NONE.
static int find_solve(const Shake *shake, int index) {
  const S2Notes *notes = shake->undo->notes;
  const S2Island *island = &shake->note->of->island;
  for (int i = index - 1;; i--) {
    const S2Note *note = s2_note_at(notes, i);
    if (note->act == S2_ACT_FREE || note->act == S2_ACT_SET_OUT) { // where q0 is another
      return S2_NONE;
    }
    if (note->act == S2_ACT_SOLVE && note->kind == S2_SOLVE_MOTION &&
        is_same_island(&note->of->island, island)) {
      return i;
    }
  }
}

static bool has_same_rows(const S2Assembly *motion, const S2Assembly *end, int rows) {
  bool same = motion->parts == rows && motion->parts_given == 0;
  for (int r = 0; r < rows && same; r++) {
    const S2Row *row = &motion->problem.row[r];
    same = row->lo == -INFINITY && row->hi == INFINITY && row->compliance == 0 &&
           motion->part[r].joint == end->part[r].joint && motion->part[r].row == end->part[r].row;
  }
  return same;
}

// False: there is no such solve, or the rows count by more than their adjoint.
static bool take_rows_of_solve(Shake *shake, int index) {
  S2Undo *undo = shake->undo;
  int of = shake->note->of_motion && shake->reaction == NULL ? find_solve(shake, index) : S2_NONE;
  if (of == S2_NONE) {
    return false;
  }
  const S2Note *note = s2_note_at(undo->notes, of);
  if (undo->remade[of] == NULL) {
    S2Remade *remade = S2_TAKE(undo->arena, S2Remade, 1);
    s2_undo_set_island(undo, note);
    remade->assembly =
        s2_assemble(&undo->step, s2_step_poses(&undo->step, note->kind), undo->step.touches,
                    &note->of->island, undo->open.choices, note->kind);
    remade->ja = S2_TAKE_ZEROED(undo->arena, double, 6 * remade->assembly.parts);
    remade->jb = remade->ja + 3 * (size_t)remade->assembly.parts;
    undo->remade[of] = remade;
  }
  S2Remade *remade = undo->remade[of];
  if (!has_same_rows(&remade->assembly, &shake->end, shake->rows)) {
    return false;
  }
  shake->solve = remade;
  shake->start = remade->assembly;
  return true;
}

// y: J0 M^-1 J1' y = J0 M^-1 dl/d(dq) + dl/dl. False: the rows repeat each other.
static bool solve(Shake *shake) {
  S2Undo *undo = shake->undo;
  const S2Row *row = shake->start.problem.row;
  S2RowSides *left = S2_TAKE(undo->arena, S2RowSides, shake->rows);
  for (int r = 0; r < shake->rows; r++) {
    const S2JointPart *part = &shake->start.part[r];
    double sum =
        undo->feed[part->joint] * s2_undo_impulse(undo, part->joint, part->row, part->push);
    for (int c = 0; c < 3; c++) {
      left[r].a[c] = row[r].ja[c];
      left[r].b[c] = row[r].jb[c];
      const double *mass = shake->end.mass;
      sum += row[r].a == S2_GROUND
                 ? 0
                 : row[r].ja[c] * shake->dq_bar[3 * row[r].a + c] / mass[3 * row[r].a + c];
      sum += row[r].b == S2_GROUND
                 ? 0
                 : row[r].jb[c] * shake->dq_bar[3 * row[r].b + c] / mass[3 * row[r].b + c];
    }
    shake->y[r] = sum;
  }
  S2Bilateral matrix;
  bool good = s2_bilateral_init(&matrix, &shake->end.problem, undo->arena) &&
              s2_bilateral_factor(&matrix, left);
  if (good) {
    s2_bilateral_apply(&matrix, shake->y);
  }
  return good;
}

static void masses_vjp(Shake *shake) {
  const S2Row *row = shake->end.problem.row;
  const double *mass = shake->end.mass;
  int count = 3 * shake->note->of->island.nodes;
  memcpy(shake->p, shake->dq_bar, sizeof(double) * (size_t)count);
  for (int r = 0; r < shake->rows; r++) {
    for (int c = 0; c < 3; c++) {
      if (row[r].a != S2_GROUND) {
        shake->p[3 * row[r].a + c] -= row[r].ja[c] * shake->y[r];
      }
      if (row[r].b != S2_GROUND) {
        shake->p[3 * row[r].b + c] -= row[r].jb[c] * shake->y[r];
      }
    }
  }
  for (int i = 0; i < count; i++) {
    S2BodyGradient *body = &shake->undo->gradient->body[shake->note->of->island.node[i / 3]];
    shake->p[i] /= mass[i];
    *(i % 3 == 0 ? &body->inertia : &body->mass) -= shake->p[i] * shake->note->more[i];
  }
}

static void rows_vjp(Shake *shake) {
  S2Undo *undo = shake->undo;
  const S2Note *note = shake->note;
  int most = 3 * (shake->rows + note->of->island.nodes) + shake->start.parts + shake->end.parts;
  double *none = S2_TAKE_ZEROED(undo->arena, double, most);
  bool solved = shake->solve != NULL; // then the solve has the rows at q0
  double *ja = solved ? shake->solve->ja : S2_TAKE_ZEROED(undo->arena, double, 3 * shake->rows);
  double *jb = solved ? shake->solve->jb : S2_TAKE_ZEROED(undo->arena, double, 3 * shake->rows);
  for (int r = 0; r < shake->rows; r++) {
    const S2Row *row = &shake->start.problem.row[r];
    for (int c = 0; c < 3; c++) {
      ja[3 * r + c] += row->a == S2_GROUND ? 0 : note->of->lambda[r] * shake->p[3 * row->a + c];
      jb[3 * r + c] += row->b == S2_GROUND ? 0 : note->of->lambda[r] * shake->p[3 * row->b + c];
    }
    shake->y[r] = -shake->y[r];
  }
  S2RowsAdjoint at_end = {none, none, none, none, shake->y, none,
                          none, none, none, none, NULL,     NULL};
  shake->start.parts = shake->end.parts = shake->rows; // equations come first
  shake->start.parts_given = shake->end.parts_given = 0;
  s2_joint_rows_vjp(&undo->step, &note->of->island, S2_SOLVE_PROJECTION, &shake->end, &at_end,
                    &undo->bar);
  if (solved) {
    return;
  }
  S2RowsAdjoint at_start = {none,
                            note->of->lambda,
                            ja,
                            jb,
                            none,
                            none,
                            none,
                            none,
                            shake->p,
                            none,
                            shake->reaction,
                            note->of->lambda};
  double *q1 = undo->step.q1, *q1_bar = undo->bar.q1;
  double h = undo->bar.h;
  set_start(undo, note, true);
  undo->bar.q1 = undo->bar.q0;
  s2_joint_rows_vjp(&undo->step, &note->of->island, S2_SOLVE_PROJECTION, &shake->start, &at_start,
                    &undo->bar);
  set_start(undo, note, false);
  undo->bar.h = note->of_motion ? h : undo->bar.h; // their time is that of the start
  undo->step.q1 = q1;
  undo->bar.q1 = q1_bar;
}

void s2_undo_shake(S2Undo *undo, int index) {
  const S2Note *note = s2_note_at(undo->notes, index);
  int count = 3 * note->of->island.nodes;
  Shake shake = {.undo = undo, .note = note, .rows = note->rows};
  s2_undo_set_island(undo, note);
  shake.reaction = s2_undo_reaction(undo, note, undo->feed[note->of->island.joint[0]]);
  shake.end = s2_assemble(&undo->step, undo->step.q1, undo->step.touches, &note->of->island, NULL,
                          S2_SOLVE_PROJECTION);
  bool solved = take_rows_of_solve(&shake, index); // which stay until the solve is undone
  S2ArenaMark mark = s2_arena_mark(undo->arena);
  s2_undo_set_island(undo, note);
  if (!solved) {
    double *q1 = undo->step.q1;
    set_start(undo, note, true);
    shake.start = s2_assemble(&undo->step, undo->step.q1, undo->step.touches, &note->of->island,
                              NULL, S2_SOLVE_PROJECTION);
    set_start(undo, note, false);
    undo->step.q1 = q1;
  }
  shake.y = S2_TAKE(undo->arena, double, note->rows);
  shake.p = S2_TAKE(undo->arena, double, count);
  shake.dq_bar = S2_TAKE(undo->arena, double, count);
  for (int i = 0; i < count; i++) {
    int at = 3 * note->of->island.node[i / 3] + i % 3;
    shake.dq_bar[i] = undo->bar.q1[at] + undo->displaced[at];
  }
  if (equations(&shake.start.problem) != note->rows ||
      equations(&shake.end.problem) != note->rows) {
    *undo->failed =
        s2_error(S2_INVALID, "mends of %d equations were made again with %d (this is a bug)",
                 note->rows, equations(&shake.end.problem));
  } else {
    shake.end.problem.rows = note->rows;
    if (solve(&shake)) {
      masses_vjp(&shake);
      rows_vjp(&shake);
    } else {
      undo->gradient->flags |= S2_GRADIENT_SINGULAR;
    }
  }
  for (int i = 0; i < count; i++) {
    undo->step.q1[3 * note->of->island.node[i / 3] + i % 3] = note->before[i];
  }
  s2_undo_forget_island(undo, note);
  s2_arena_rewind(undo->arena, mark);
}

// ---- Angular momentum -------------------------------------------------------------------------

typedef struct Whole { // as in spin.c
  double mass, inertia, spin;
  S2Vec2 *arm, *arm_bar; // a node
} Whole;

static Whole whole_of(const S2Undo *undo, const S2Note *note, const double *v) {
  int nodes = note->of->island.nodes;
  Whole whole = {.arm = S2_TAKE(undo->arena, S2Vec2, nodes),
                 .arm_bar = S2_TAKE_ZEROED(undo->arena, S2Vec2, nodes)};
  const double *first = undo->step.q1 + 3 * note->of->island.node[0];
  S2Vec2 centre = {0, 0};
  for (int i = 0; i < nodes; i++) {
    const double *q = undo->step.q1 + 3 * note->of->island.node[i];
    double m = undo->world->bodies.at[note->of->island.node[i]].mass;
    whole.arm[i] = s2_vec2(q[1] - first[1], q[2] - first[2]);
    whole.mass += m;
    centre = s2_add_scaled(centre, m, whole.arm[i]);
  }
  for (int i = 0; i < nodes; i++) {
    const S2Body *body = &undo->world->bodies.at[note->of->island.node[i]];
    whole.arm[i] = s2_add_scaled(whole.arm[i], -1 / whole.mass, centre);
    whole.inertia += body->inertia + body->mass * s2_length2(whole.arm[i]);
    whole.spin += body->inertia * v[3 * i] +
                  body->mass * s2_cross(whole.arm[i], s2_vec2(v[3 * i + 1], v[3 * i + 2]));
  }
  return whole;
}

// From the adjoints of the spin of v and of the inertia, those of the arms beside, to v (3 a slot),
// to masses and to q1.
static void whole_vjp(S2Undo *undo, const S2Note *note, const Whole *whole, const double *v,
                      double spin_bar, double inertia_bar, double *v_bar) {
  S2Vec2 centre_bar = {0, 0};
  for (int i = 0; i < note->of->island.nodes; i++) {
    int32_t slot = note->of->island.node[i];
    const S2Body *body = &undo->world->bodies.at[slot];
    S2BodyGradient *g = &undo->gradient->body[slot];
    S2Vec2 arm = whole->arm[i], moves = s2_vec2(v[3 * i + 1], v[3 * i + 2]);
    S2Vec2 *bar = &whole->arm_bar[i];
    v_bar[3 * slot] += spin_bar * body->inertia;
    v_bar[3 * slot + 1] -= spin_bar * body->mass * arm.y;
    v_bar[3 * slot + 2] += spin_bar * body->mass * arm.x;
    g->inertia += spin_bar * v[3 * i] + inertia_bar;
    g->mass += spin_bar * s2_cross(arm, moves) + inertia_bar * s2_length2(arm);
    *bar = s2_add_scaled(*bar, spin_bar * body->mass, s2_right(moves));
    *bar = s2_add_scaled(*bar, 2 * inertia_bar * body->mass, arm);
    centre_bar = s2_sub(centre_bar, *bar);
  }
  for (int i = 0; i < note->of->island.nodes; i++) {
    int32_t slot = note->of->island.node[i];
    double part = undo->world->bodies.at[slot].mass / whole->mass;
    S2Vec2 bar = s2_add_scaled(whole->arm_bar[i], part, centre_bar);
    undo->bar.q1[3 * slot + 1] += bar.x;
    undo->bar.q1[3 * slot + 2] += bar.y;
    undo->gradient->body[slot].mass += s2_dot(whole->arm[i], centre_bar) / whole->mass;
  }
}

// v was made to have a spin by a turn of the whole; returns the adjoint of that spin.
static double set_spin_vjp(S2Undo *undo, const S2Note *note, double spin, double *v_bar) {
  S2ArenaMark mark = s2_arena_mark(undo->arena);
  Whole whole = whole_of(undo, note, note->before);
  double turn = (spin - whole.spin) / whole.inertia, turn_bar = 0;
  for (int i = 0; i < note->of->island.nodes; i++) {
    const double *bar = v_bar + 3 * note->of->island.node[i];
    S2Vec2 arm = whole.arm[i];
    turn_bar += bar[0] - arm.y * bar[1] + arm.x * bar[2];
    whole.arm_bar[i] = s2_vec2(turn * bar[2], -turn * bar[1]);
  }
  double spin_bar = turn_bar / whole.inertia;
  whole_vjp(undo, note, &whole, note->before, -spin_bar, -turn * spin_bar, v_bar);
  s2_arena_rewind(undo->arena, mark);
  return spin_bar;
}

// Of the kinetic energy beside the motion of the centre at velocities v, to them (both 3 a slot).
// The centre's is the one that leaves the least, so that nothing goes through it.
static void kinetic_vjp(S2Undo *undo, const S2Note *note, double energy_bar, const double *v,
                        double *v_bar) {
  S2Vec2 drift = {0, 0};
  double mass = 0;
  for (int i = 0; i < note->of->island.nodes; i++) {
    int32_t slot = note->of->island.node[i];
    double m = undo->world->bodies.at[slot].mass;
    mass += m;
    drift = s2_add_scaled(drift, m, s2_vec2(v[3 * slot + 1], v[3 * slot + 2]));
  }
  for (int i = 0; i < note->of->island.nodes; i++) {
    int32_t slot = note->of->island.node[i], at = 3 * slot;
    const S2Body *body = &undo->world->bodies.at[slot];
    S2BodyGradient *g = &undo->gradient->body[slot];
    S2Vec2 within = s2_add_scaled(s2_vec2(v[at + 1], v[at + 2]), -1 / mass, drift);
    v_bar[at] += energy_bar * body->inertia * v[at];
    v_bar[at + 1] += energy_bar * body->mass * within.x;
    v_bar[at + 2] += energy_bar * body->mass * within.y;
    g->inertia += energy_bar * v[at] * v[at] / 2;
    g->mass += energy_bar * s2_length2(within) / 2;
  }
}

void s2_undo_spin(S2Undo *undo, int index) {
  const S2Note *note = s2_note_at(undo->notes, index);
  int nodes = note->of->island.nodes;
  if (note->act == S2_ACT_SPIN_DQ) {
    (void)set_spin_vjp(undo, note, 0, undo->displaced);
    return;
  }
  if (note->act == S2_ACT_SPIN_V2) {
    for (int i = 0; i < nodes; i++) {
      memcpy(undo->step.v2 + 3 * note->of->island.node[i], note->before + 3 * i,
             3 * sizeof(double));
    }
    undo->spin += set_spin_vjp(undo, note, note->of->spin, undo->bar.v2);
    return;
  }
  if (note->act == S2_ACT_CAP) {
    double bar = s2_undo_slower(undo, note);
    kinetic_vjp(undo, note, bar, undo->step.v2, undo->bar.v2);
    undo->most -= bar;
    return;
  }
  S2ArenaMark mark = s2_arena_mark(undo->arena);
  double *v = S2_TAKE(undo->arena, double, 3 * nodes);
  for (int i = 0; i < nodes; i++) {
    memcpy(v + 3 * i, undo->step.v2 + 3 * note->of->island.node[i], 3 * sizeof(double));
  }
  Whole whole = whole_of(undo, note, v);
  whole_vjp(undo, note, &whole, v, undo->spin, 0, undo->bar.v2);
  kinetic_vjp(undo, note, undo->most * (1 + S2_SPIN_ROUNDING),
              note->from_v2 ? undo->step.v2 : undo->step.free_v,
              note->from_v2 ? undo->bar.v2 : undo->bar.free_v);
  undo->spin = undo->most = 0;
  s2_arena_rewind(undo->arena, mark);
}

// v1 += a turn of the whole, as one body of the masses W at q0, that has the moment of what joints
// did, W (free_v - v1).
void s2_undo_balance(S2Undo *undo, const S2Note *note) {
  S2ArenaMark mark = s2_arena_mark(undo->arena);
  const S2Step *step = &undo->step;
  S2StepAdjoint *bar = &undo->bar;
  int nodes = note->of->island.nodes;
  S2Vec2 *arm = S2_TAKE(undo->arena, S2Vec2, nodes), *arm_bar = S2_TAKE(undo->arena, S2Vec2, nodes);
  S2Vec2 centre = {0}, centre_bar = {0};
  double weight = 0, inertia = 0, moment = 0, turn_bar = 0;
  for (int i = 0; i < nodes; i++) {
    const double *q = step->q0 + 3 * note->of->island.node[i],
                 *w = step->mass + 3 * note->of->island.node[i];
    const double *first = step->q0 + 3 * note->of->island.node[0];
    arm[i] = s2_vec2(q[1] - first[1], q[2] - first[2]);
    weight += w[1];
    centre = s2_add_scaled(centre, w[1], arm[i]);
  }
  for (int i = 0; i < nodes; i++) {
    int32_t at = 3 * note->of->island.node[i];
    const double *w = step->mass + at, *v = note->before + 3 * i, *free_v = step->free_v + at;
    arm[i] = s2_add_scaled(arm[i], -1 / weight, centre);
    inertia += w[0] + w[1] * s2_length2(arm[i]);
    moment += w[0] * (free_v[0] - v[0]) +
              w[1] * s2_cross(arm[i], s2_vec2(free_v[1] - v[1], free_v[2] - v[2]));
    turn_bar += bar->v1[at] - arm[i].y * bar->v1[at + 1] + arm[i].x * bar->v1[at + 2];
  }
  double turn = moment / inertia, moment_bar = turn_bar / inertia, inertia_bar = -turn * moment_bar;
  for (int i = 0; i < nodes; i++) {
    int32_t at = 3 * note->of->island.node[i];
    const double *w = step->mass + at, *v = note->before + 3 * i, *free_v = step->free_v + at;
    S2Vec2 missing = s2_vec2(free_v[1] - v[1], free_v[2] - v[2]);
    const double along[3] = {w[0], -w[1] * arm[i].y, w[1] * arm[i].x}; // d moment / d free_v
    arm_bar[i] = s2_vec2(turn * bar->v1[at + 2], -turn * bar->v1[at + 1]);
    arm_bar[i] = s2_add_scaled(arm_bar[i], -moment_bar * w[1], s2_left(missing));
    arm_bar[i] = s2_add_scaled(arm_bar[i], 2 * inertia_bar * w[1], arm[i]);
    centre_bar = s2_sub(centre_bar, arm_bar[i]);
    bar->mass[at] += moment_bar * (free_v[0] - v[0]) + inertia_bar;
    bar->mass[at + 1] += moment_bar * s2_cross(arm[i], missing) + inertia_bar * s2_length2(arm[i]);
    for (int c = 0; c < 3; c++) {
      bar->free_v[at + c] += moment_bar * along[c];
      bar->v1[at + c] -= moment_bar * along[c];
      step->v1[at + c] = v[c];
    }
  }
  for (int i = 0; i < nodes; i++) {
    int32_t at = 3 * note->of->island.node[i];
    S2Vec2 to = s2_add_scaled(arm_bar[i], step->mass[at + 1] / weight, centre_bar);
    bar->q0[at + 1] += to.x;
    bar->q0[at + 2] += to.y;
    bar->mass[at + 1] += s2_dot(arm[i], centre_bar) / weight;
  }
  s2_arena_rewind(undo->arena, mark);
}

// ---- Energy -----------------------------------------------------------------------------------

typedef struct Parts { // of the motion v of an island: of the whole, and beside that
  double kinetic, drifting, turning, rest, turn;
  S2Vec2 drift;
} Parts;

static Parts parts_of(const S2Undo *undo, const S2Note *note, const Whole *whole, const double *v) {
  Parts parts = {.turn = whole->spin / whole->inertia};
  for (int i = 0; i < note->of->island.nodes; i++) {
    const S2Body *body = &undo->world->bodies.at[note->of->island.node[i]];
    S2Vec2 moves = s2_vec2(v[3 * i + 1], v[3 * i + 2]);
    parts.kinetic += (body->inertia * v[3 * i] * v[3 * i] + body->mass * s2_length2(moves)) / 2;
    parts.drift = s2_add_scaled(parts.drift, body->mass / whole->mass, moves);
  }
  parts.drifting = whole->mass * s2_length2(parts.drift) / 2;
  parts.turning = whole->spin * parts.turn / 2;
  bool alone = note->of->island.nodes == 1; // then it is rounding
  parts.rest = alone ? 0 : fmax(0, parts.kinetic - parts.drifting - parts.turning);
  return parts;
}

// v is drift, turn of the whole and the rest. What is taken comes from the rest, then from the turn
// (s2_island_cap), by one factor s of one of them; the drift stays.
double s2_undo_slower(S2Undo *undo, const S2Note *note) {
  S2ArenaMark mark = s2_arena_mark(undo->arena);
  const double *v = note->before;
  double energy = note->part, *bar = undo->bar.v2;
  Whole whole = whole_of(undo, note, v);
  Parts at = parts_of(undo, note, &whole, v), to = {0}; // `to`: adjoints
  double inertia_bar = 0, energy_bar = 0, s, s_bar = 0;
  bool from_rest = at.rest > energy;
  s = from_rest ? sqrt(1 - energy / at.rest) : sqrt(fmax(0, 1 - (energy - at.rest) / at.turning));
  s = isfinite(s) ? s : 0; // it did not turn
  double drift = from_rest ? 1 - s : 1, turn = from_rest ? 1 - s : s;
  for (int i = 0; i < note->of->island.nodes; i++) {
    int32_t slot = note->of->island.node[i];
    double *of = bar + 3 * slot;
    S2Vec2 arm = whole.arm[i], moves = s2_vec2(of[1], of[2]);
    double by_turn = of[0] + s2_dot(s2_left(arm), moves), by_drift = s2_dot(moves, at.drift);
    double all = of[0] * v[3 * i] + of[1] * v[3 * i + 1] + of[2] * v[3 * i + 2];
    s_bar += from_rest ? all - by_drift - at.turn * by_turn : at.turn * by_turn;
    to.turn += turn * by_turn;
    to.drift = s2_add_scaled(to.drift, drift, moves);
    whole.arm_bar[i] = s2_scale(-turn * at.turn, s2_left(moves));
    for (int c = 0; c < 3; c++) {
      of[c] *= from_rest ? s : 0;
      undo->step.v2[3 * slot + c] = v[3 * i + c];
    }
  }
  double slope = s > 0 ? s_bar / (2 * s) : 0; // of s^2
  if (from_rest) {
    energy_bar = -slope / at.rest;
    to.rest = slope * energy / (at.rest * at.rest);
  } else if (s > 0) {
    energy_bar = -slope / at.turning;
    to.rest = note->of->island.nodes == 1 ? 0 : slope / at.turning;
    to.turning = slope * (energy - at.rest) / (at.turning * at.turning);
  }
  to.kinetic += to.rest;
  to.drifting -= to.rest;
  to.turning -= to.rest;
  to.turn += to.turning * whole.spin; // turning = inertia turn^2 / 2
  inertia_bar += to.turning * at.turn * at.turn / 2 - to.turn * at.turn / whole.inertia;
  to.drift = s2_add_scaled(to.drift, to.drifting * whole.mass, at.drift);
  for (int i = 0; i < note->of->island.nodes; i++) {
    int32_t slot = note->of->island.node[i];
    const S2Body *body = &undo->world->bodies.at[slot];
    S2BodyGradient *g = &undo->gradient->body[slot];
    S2Vec2 moves = s2_vec2(v[3 * i + 1], v[3 * i + 2]);
    double part = body->mass / whole.mass;
    bar[3 * slot] += to.kinetic * body->inertia * v[3 * i];
    bar[3 * slot + 1] += to.kinetic * body->mass * moves.x + part * to.drift.x;
    bar[3 * slot + 2] += to.kinetic * body->mass * moves.y + part * to.drift.y;
    g->inertia += to.kinetic * v[3 * i] * v[3 * i] / 2;
    g->mass += to.kinetic * s2_length2(moves) / 2 + to.drifting * s2_length2(at.drift) / 2 +
               s2_dot(to.drift, s2_sub(moves, at.drift)) / whole.mass;
  }
  whole_vjp(undo, note, &whole, v, to.turn / whole.inertia, inertia_bar, bar);
  s2_arena_rewind(undo->arena, mark);
  return energy_bar;
}
