// Smooth derivatives of a piece with contacts or limits. The derivative of each stage is taken at a
// point of the central path of its problem, with the rows at the solution. On the path z s = kappa
// for the pairs of each contact and limit (mcp/adjoint/mcp_vjp.h). With dz = -z/s ds the rows are
// compliant rows of active contacts,
//
//     du_n + c dx_n = dk/z0,                            c = s0/z0
//     du_t + (dx_t - m (mu dx_n + x_n dmu) - e dk)/g = 0,  a = z1/s1, b = z2/s2, r = z3/s3,
//     m = (a - b) r/(1 + (a + b) r),                    g = (a + b) - (a - b) m,
//     e = 1/s1 - 1/s2 - (a - b) (1/s3 + r (1/s1 + 1/s2))/(1 + (a + b) r)
//
// Here m, from -1 to 1, is the used fraction of the friction bound. That fraction of the friction
// acts like sliding friction, and the remainder acts like sticking friction. k is kappa in units of
// the row, V^2/w with its mobility w; dk = -k dw/w.
#include "diff/step/rattle_undo.h"
#include "mcp/solvers.h"

#include <string.h>

typedef struct Relaxed { // a stage's problem, assembled again from its solution
  S2Problem problem;
  S2SmoothSolution on_path;
  int32_t *row_of; // maps each row of the problem to a row of the piece
} Relaxed;

static double unknown_of(const S2RattlePiece *piece, int r, bool second) {
  const S2Rattle *rattle = &piece->rattle;
  bool sums = s2_rattle_sums(&rattle->term[r]);
  return !second ? rattle->l[r] : rattle->k[r] + (sums ? rattle->l[r] : 0);
}

// A contact that opens within the piece has no row in stage 2. The smooth derivative gives it a row
// only if it still separates at the end of the piece, because otherwise its velocity does not keep
// it open.
static bool relax_knows(const S2RattlePiece *piece, int r, bool second) {
  const S2Rattle *rattle = &piece->rattle;
  const S2RattleTerm *term = &rattle->term[r];
  int normal = term->law == S2_RATTLE_FRICTION ? r - 1 : r;
  bool opens = second && term->law >= S2_RATTLE_LIMIT && !rattle->late[r] &&
               s2_rattle_row_off(piece, normal, true) > 0;
  return (second ? rattle->second : rattle->first)[r] == S2_RATTLE_KNOWN && !opens;
}

// Assembles the problem of the stage from its solution. Returns false if some rows have constant
// bounds, if contacts are compliant or viscous, or if there is no row to smooth.
static bool relax_problem(S2RattlePiece *piece, bool second, const double *mass, Relaxed *relaxed) {
  const S2Rattle *rattle = &piece->rattle;
  S2Arena *arena = piece->undo->arena;
  int nodes = 3 * rattle->nodes, n = 0;
  S2Row *rows = S2_TAKE(arena, S2Row, rattle->rows);
  double *rhs = S2_TAKE(arena, double, nodes);
  const double *v = second ? rattle->v1 : rattle->u;
  bool bounded = false, any = false;
  relaxed->row_of = S2_TAKE(arena, int32_t, rattle->rows);
  for (int i = 0; i < nodes; i++) {
    rhs[i] = mass[i] * v[i];
  }
  for (int r = 0; r < rattle->rows; r++) {
    const S2RattleTerm *term = &rattle->term[r];
    if (relax_knows(piece, r, second)) {
      continue;
    }
    bool gives = s2_rattle_of_contact(term) && (term->soft || term->law == S2_RATTLE_EQUATION);
    bounded |= term->law == S2_RATTLE_BOUNDED || gives || term->source == S2_RATTLE_OF_GROUND;
    any |= term->law == S2_RATTLE_LIMIT;
    // Use the end of the piece at which the speed of the row was measured.
    const S2RattleRows *at = second || rattle->late[r] ? &rattle->at1 : &rattle->at0;
    S2Row *row = &rows[n];
    *row = s2_rattle_row(rattle, r, &at->side[r]);
    double x = unknown_of(piece, r, second), speed = s2_rattle_row_speed(row, v);
    row->compliance = second ? piece->c2[r] : term->compliance;
    row->bias = s2_rattle_row_off(piece, r, second) - speed - row->compliance * x;
    row->coupled_to = row->coupled_to < 0 ? -1 : n - 1;
    row->lo = term->law == S2_RATTLE_LIMIT ? 0 : -INFINITY;
    for (int c = 0; c < 3; c++) {
      rhs[row->a >= 0 ? 3 * row->a + c : 0] -= row->a >= 0 ? row->ja[c] * x : 0;
      rhs[row->b >= 0 ? 3 * row->b + c : 0] -= row->b >= 0 ? row->jb[c] * x : 0;
    }
    relaxed->row_of[n++] = r;
  }
  relaxed->problem = (S2Problem){.nodes = rattle->nodes,
                                 .rows = n,
                                 .mass = mass,
                                 .rhs = rhs,
                                 .row = rows,
                                 .velocity_scale = rattle->speed,
                                 .length = rattle->island->length};
  piece->undo->gradient->flags |= any && bounded ? S2_GRADIENT_PARTIAL : 0;
  return any && !bounded;
}

static bool relax_solve(S2RattlePiece *piece, Relaxed *relaxed) {
  S2Arena *arena = piece->undo->arena;
  const S2Problem *problem = &relaxed->problem;
  relaxed->on_path = (S2SmoothSolution){.v = S2_TAKE(arena, double, 3 * problem->nodes),
                                        .lambda = S2_TAKE(arena, double, problem->rows),
                                        .z = S2_TAKE(arena, double, 4 * problem->rows)};
  double kappa = piece->undo->world->kept.def.smoothing;
  bool solved = s2_mcp_smooth_solve(problem, kappa, NULL, arena, &relaxed->on_path) == S2_SOLVED;
  piece->undo->gradient->flags |= solved ? 0 : S2_GRADIENT_PARTIAL;
  return solved;
}

static double relax_mobility(const Relaxed *relaxed, int i) {
  const S2Row *row = &relaxed->problem.row[i];
  return s2_mcp_delassus(&relaxed->problem, row, row) + row->compliance;
}

// Computes the compliance of a contact or a limit whose rows begin at row i of the problem. Uses z
// s = k, because differences would lose all digits.
static void relax_row(S2RattlePiece *piece, bool second, const Relaxed *relaxed, int i) {
  const S2Problem *problem = &relaxed->problem;
  int r = relaxed->row_of[i], next = i + 1;
  const double *z = relaxed->on_path.z + 4 * (ptrdiff_t)i;
  double w = relax_mobility(relaxed, i), scale = problem->velocity_scale;
  double kappa = piece->undo->world->kept.def.smoothing * scale * scale, k = kappa / w;
  piece->give[second][r] = k / (z[0] * z[0]);
  piece->unit[second][r] = -k / z[0] / w;
  if (next == problem->rows || problem->row[next].coupled_to != i) {
    return;
  }
  // Friction.
  w = relax_mobility(relaxed, next);
  k = kappa / w;
  double a = z[1] * z[1] / k, b = z[2] * z[2] / k, part = z[3] * z[3] / k;
  // Compute the coefficients above without subtracting large numbers.
  double whole = 1 + (a + b) * part, give = whole / (a + b + 4 * a * b * part);
  double e =
      (z[1] - z[2]) * (1 - ((z[1] + z[2]) * z[3] + 2 * part * z[1] * z[2]) / k) / (k * whole);
  piece->share[second][r + 1] = (a - b) * part / whole;
  piece->give[second][r + 1] = give;
  piece->unit[second][r + 1] = -e * give * k / w;
}

void s2_rattle_unit_vjp(S2RattlePiece *piece, int r, bool second, const S2Row *row, S2RowBar *bar) {
  const S2Rattle *rattle = &piece->rattle;
  double w_bar = piece->y[r] * piece->unit[second][r];
  for (int i = 0; i < 6 && w_bar != 0; i++) {
    int32_t node = i < 3 ? row->a : row->b;
    int at = 3 * node + i % 3;
    if (node < 0) {
      continue;
    }
    // w is the sum of j^2/W over the nodes.
    double inertial = rattle->inertial[at], damping = rattle->damping[at];
    bool damped = !second || rattle->step->dt * damping > 2 * inertial;
    double mass = inertial + (damped ? piece->half * damping : 0);
    mass += second ? 0 : piece->half * rattle->slope[at];
    double j = i < 3 ? row->ja[i] : row->jb[i - 3], mass_bar = -w_bar * j * j / (mass * mass);
    *(i < 3 ? &bar->ja[i] : &bar->jb[i - 3]) += 2 * w_bar * j / mass;
    // W = I (1 + h/2 d)
    S2BodyGradient *g = &piece->undo->gradient->body[rattle->island->node[node]];
    double rate = damped ? damping / inertial : 0;
    *(i % 3 == 0 ? &g->inertia : &g->mass) += mass_bar * (1 + piece->half * rate);
    *(i % 3 == 0 ? &g->angular_damping : &g->linear_damping) +=
        damped ? mass_bar * piece->half * inertial : 0;
    piece->h_bar += mass_bar * rate * inertial / 2;
  }
}

void s2_rattle_relax(S2RattlePiece *piece, bool second, const double *mass) {
  S2Rattle *rattle = &piece->rattle;
  Relaxed relaxed;
  bool smooth = piece->undo->world->kept.def.gradient == S2_GRADIENT_SMOOTH;
  if (!smooth || !relax_problem(piece, second, mass, &relaxed) || !relax_solve(piece, &relaxed)) {
    return;
  }
  // All rows of stage 2 are active. Velocities and impulses at the end of the piece are taken from
  // the path. Stage 2 starts with the velocities and impulses of the step, so the momenta of stage
  // 1 are unchanged.
  double *k = s2_arena_copy(piece->undo->arena, rattle->k, rattle->rows);
  S2RattleState *state = second ? rattle->second : rattle->first;
  for (int i = 0; i < relaxed.problem.rows; i++) {
    int r = relaxed.row_of[i];
    k[r] += second ? relaxed.on_path.lambda[i] - unknown_of(piece, r, true) : 0;
    if (rattle->term[r].law >= S2_RATTLE_LIMIT) {
      state[r] = S2_RATTLE_HELD;
      piece->edge[second][r] = false;
    }
    if (rattle->term[r].law == S2_RATTLE_LIMIT) {
      relax_row(piece, second, &relaxed, i);
    }
  }
  rattle->k = k;
  rattle->v1 = second ? relaxed.on_path.v : rattle->v1;
}
