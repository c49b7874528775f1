// The step problem in the form that the interior point, Newton and Gauss-Seidel use. It is scaled,
// and its rows are packed into units of at most two. It has one linear system 1 + A J' D J on the
// nodes, with A = W^-1 or the mobility of the local form. Both forms support the same calls, in
// terms of velocities.
//
// Scaling: velocities over V; the impulse of row i times w_i / V, w = diag(J W^-1 J' + C). So all
// unknowns can be compared with 1, for all units and mass ratios, and
//
//     v = A (c / V + J' (g o lambda)),   u = J v + (C g) lambda + b / V,   g = 1 / w,
//     |lambda_t| <= mu (w_t / w_n) lambda_n.
#ifndef S2_PDIPM_SYSTEM_H
#define S2_PDIPM_SYSTEM_H

#include "linalg/blocksparse.h"
#include "linalg/dense.h"
#include "mcp/mcp.h"

#include <stddef.h>

typedef enum S2UnitKind {
  S2_UNIT_BILATERAL, // one row, or two rows of one joint
  S2_UNIT_BOX,       // one row between finite bounds
  S2_UNIT_NORMAL,    // a contact without friction, or a limit
  S2_UNIT_CONTACT    // normal and tangent
} S2UnitKind;

// A row that a unit lacks has g = 1, so that products need no test.
typedef struct S2Unit {
  int32_t a, b;  // b = nodes stands for the ground
  int32_t slot;  // block of (a, b) in the sparse matrix
  int32_t row;   // index of the first row in the problem
  double g[2];   // 1 / w
  double c[2];   // C g
  double b0[2];  // b / V
  double mu;     // mu w_t / w_n
  double lo, hi; // bounds of a box, lo < hi
  S2UnitKind kind;
  unsigned char rows; // 1 or 2
  bool turned;        // in the problem, the rows have the ground first
  bool angular[2];    // their errors are multiplied by L
} S2Unit;

// The Jacobian of a unit; zero for a row that it lacks.
typedef struct S2UnitRows {
  S2Quad ja[2], jb[2];
} S2UnitRows;

typedef struct S2Response { // of a unit: -d lambda / d u, rows (normal, tangent)
  double nn, nt, tn, tt;
} S2Response;

typedef struct S2LocalMobility S2LocalMobility; // pdipm_local.h

static inline double s2_unit_clip(const S2Unit *box, double x) {
  return x > box->hi ? box->hi : x < box->lo ? box->lo : x;
}

// Vectors over units hold two doubles per unit. Vectors over nodes hold one quad per node and one
// more for the ground. Products may write to the quad of the ground, but no function reads it; keep
// it 0 in velocities.
typedef struct S2System {
  const S2Problem *problem;
  int nodes, units, contacts; // contacts: units that are not bilateral
  S2Unit *unit;
  S2Quad *mass, *inverse_mass; // fourth lane 0 in the inverse; NULL in the local form
  S2Quad *weight;              // of velocities in norms: the masses, or 1 in the local form
  S2Quad *rhs;                 // c / V; local form: A c / V
  S2Quad *scratch;             // nodes + 1
  S2LocalMobility *local;      // NULL, or the local form
  bool prepared, dense;        // `dense` and the rest: set by s2_system_prepare
  S2Dense dense_matrix;
  S2BlockSparse sparse;
  S2Response *factored;   // of each unit, in the present factorisation of the sparse matrix
  bool factored_accurate; // value of sparse.accurate in it
  bool is_factored;       // whether there is a factorisation
  double spent;           // work, in whole factorisations including the work beside each
  S2History *history;     // NULL, or where the stages record each iteration
} S2System;

void s2_system_init(S2System *system, const S2Problem *problem, S2Arena *arena);
// Orders the nodes and finds the pattern of K, before the first factorisation. Separate from init,
// because a scene at rest needs no factorisation and this preparation would take a tenth of its
// step time. Further calls do nothing.
void s2_system_prepare(S2System *system, S2Arena *arena);

// Convert between the problem's vectors and the scaled ones.
void s2_system_read(const S2System *system, const double *v, const double *lambda, S2Quad *v_scaled,
                    double *lambda_scaled);
void s2_system_write(const S2System *system, const S2Quad *v_scaled, const double *lambda_scaled,
                     double *v, double *lambda);

void s2_system_row_velocity(const S2System *system, const S2Quad *v, double *u); // u = J v
// y += factor J' (g o lambda): momenta, before A turns them into velocities
void s2_system_add_impulses(const S2System *system, const double *lambda, double factor, S2Quad *y);
// y += factor A J' (g o lambda); y is not `scratch`
void s2_system_push_all(const S2System *system, const double *lambda, double factor, S2Quad *y);
// v = A (c + J' (g o lambda))
void s2_system_velocity(const S2System *system, const double *lambda, S2Quad *v);
// Clips impulses to their bounds; the bounds of tangents follow from the clipped normal impulses.
void s2_system_clip(const S2System *system, double *lambda);
// f = v - A (c + J' (g o lambda)); f is not `scratch`
void s2_system_imbalance(const S2System *system, const S2Quad *v, const double *lambda, S2Quad *f);

// `scaled` of s2_mcp_residual, computed from the scaled unknowns. Returns u = J v, too, and leaves
// the imbalance in `scratch`.
double s2_system_residual(const S2System *system, const S2Quad *v, const double *lambda, double *u);

// Factors 1 + A J' (g o response) J, symmetrically for bodies unless `nonsymmetric`. False if it is
// numerically singular. Costs less if few responses differ from those of the last call; the bits
// are the same.
bool s2_system_factor(S2System *system, const S2Response *response, bool nonsymmetric);
void s2_system_solve(const S2System *system, const S2Quad *b, S2Quad *x); // x may be b

// Unrolled; otherwise the numbers would go through memory, which takes twice the time.
S2_INLINE void s2_unit_rows(const S2System *system, const S2Unit *unit, S2UnitRows *j) {
  const S2Row *row = &system->problem->row[unit->row];
  s2_quad_load(&j->ja[0], unit->turned ? row[0].jb : row[0].ja);
  s2_quad_load(&j->jb[0], unit->turned ? row[0].ja : row[0].jb);
  j->ja[1] = j->jb[1] = (S2Quad){0};
  if (unit->rows == 2) {
    s2_quad_load(&j->ja[1], unit->turned ? row[1].jb : row[1].ja);
    s2_quad_load(&j->jb[1], unit->turned ? row[1].ja : row[1].jb);
  }
}

// The factor that multiplies errors of row r.
S2_INLINE double s2_unit_arm(const S2System *system, const S2Unit *unit, int r) {
  return unit->angular[r] ? system->problem->length : 1;
}

// Operations on single units, for methods that go from contact to contact. They give u = J v of
// unit k; the velocities that a change of its impulses causes; and its block of the scaled Delassus
// matrix with compliance (u_n and u_t per lambda_n and lambda_t).
S2_INLINE void s2_system_unit_velocity(const S2System *system, int k, const S2Quad *v,
                                       double u[2]) {
  const S2Unit *unit = &system->unit[k];
  S2UnitRows j;
  s2_unit_rows(system, unit, &j);
  S2Quad va = v[unit->a], vb = v[unit->b];
  for (int r = 0; r < 2; r++) {
    S2Quad s = j.ja[r] * va + j.jb[r] * vb;
    u[r] = s[0] + s[1] + s[2];
  }
}

void s2_local_push(const S2System *system, int k, const double change[2], S2Quad *v);
S2Response s2_local_coupling(const S2System *system, int k);

S2_INLINE void s2_system_push(const S2System *system, int k, const double change[2], S2Quad *v) {
  if (system->local != NULL) {
    s2_local_push(system, k, change, v);
    return;
  }
  const S2Unit *unit = &system->unit[k];
  S2UnitRows j;
  s2_unit_rows(system, unit, &j);
  double n = unit->g[0] * change[0], t = unit->g[1] * change[1];
  v[unit->a] += system->inverse_mass[unit->a] * (j.ja[0] * n + j.ja[1] * t);
  v[unit->b] += system->inverse_mass[unit->b] * (j.jb[0] * n + j.jb[1] * t);
}

S2_INLINE S2Response s2_system_coupling(const S2System *system, int k) {
  if (system->local != NULL) {
    return s2_local_coupling(system, k);
  }
  const S2Unit *unit = &system->unit[k];
  S2UnitRows j;
  s2_unit_rows(system, unit, &j);
  double w[2][2];
  for (int r = 0; r < 2; r++) {
    for (int s = 0; s < 2; s++) {
      S2Quad sum = j.ja[r] * system->inverse_mass[unit->a] * j.ja[s] +
                   j.jb[r] * system->inverse_mass[unit->b] * j.jb[s];
      w[r][s] = (sum[0] + sum[1] + sum[2]) * unit->g[s];
    }
  }
  return (S2Response){w[0][0] + unit->c[0], w[0][1], w[1][0], w[1][1] + unit->c[1]};
}

#endif
