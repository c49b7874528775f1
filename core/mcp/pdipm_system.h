// The step problem as the interior point, Newton and Gauss-Seidel see it: scaled, with rows packed
// into units of at most two, and with one linear system K = W + J' D J on the nodes.
//
// Scaled: velocities over V; the impulse of row i times w_i / V, w = diag(J W^-1 J' + C). So all
// unknowns compare with 1 whatever the units and mass ratios are, and
//
//     W v - J' (g o lambda) = c / V,   u = J v + (C g) lambda + b / V,   g = 1 / w,
//     |lambda_t| <= mu (w_t / w_n) lambda_n.
#ifndef S2_PDIPM_SYSTEM_H
#define S2_PDIPM_SYSTEM_H

#include "linalg/blocksparse.h"
#include "linalg/dense.h"
#include "mcp/mcp.h"

typedef enum S2UnitKind {
  S2_UNIT_BILATERAL, // one row, or two rows of one joint
  S2_UNIT_NORMAL,    // a contact without friction
  S2_UNIT_CONTACT    // normal and tangent
} S2UnitKind;

// A row that a unit lacks is zero with g = 1, so that products need not ask.
typedef struct S2Unit {
  S2Quad ja[2], jb[2];
  int32_t a, b; // b = nodes stands for the ground
  int32_t slot; // block of (a, b) in the sparse matrix
  int32_t row;  // index of the first row in the problem
  S2UnitKind kind;
  int32_t rows;  // 1 or 2
  double g[2];   // 1 / w
  double c[2];   // C g
  double b0[2];  // b / V
  double mu;     // mu w_t / w_n
  double arm[2]; // L for angular rows, else 1 (residual only)
} S2Unit;

// Vectors over units hold two doubles a unit; vectors over nodes one quad a node and one more for
// the ground, which products may write to and nobody reads: keep it 0 in velocities.
typedef struct S2System {
  const S2Problem *problem;
  int nodes, units, contacts; // contacts: units that are not bilateral
  S2Unit *unit;
  S2Quad *mass, *inverse_mass; // fourth lane 0 in the inverse
  S2Quad *rhs;                 // c / V
  S2Quad *scratch;             // nodes + 1
  bool prepared, dense;        // dense and what follows: by s2_system_prepare
  S2Dense dense_matrix;
  S2BlockSparse sparse;
} S2System;

typedef struct S2Response { // of a unit: -d lambda / d u, rows (normal, tangent)
  double nn, nt, tn, tt;
} S2Response;

void s2_system_init(S2System *system, const S2Problem *problem, S2Arena *arena);
// Orders the nodes and finds the pattern of K, before the first factor. Apart from init, since a
// scene at rest needs no factor and this would be a tenth of its step.
void s2_system_prepare(S2System *system, S2Arena *arena);

// Between the problem's vectors and the scaled ones.
void s2_system_read(const S2System *system, const double *v, const double *lambda, S2Quad *v_scaled,
                    double *lambda_scaled);
void s2_system_write(const S2System *system, const S2Quad *v_scaled, const double *lambda_scaled,
                     double *v, double *lambda);

void s2_system_row_velocity(const S2System *system, const S2Quad *v, double *u); // u = J v
// y += factor J' (g o lambda)
void s2_system_add_impulses(const S2System *system, const double *lambda, double factor, S2Quad *y);
// v = W^-1 (c + J' (g o lambda))
void s2_system_velocity(const S2System *system, const double *lambda, S2Quad *v);
// f = W v - J' (g o lambda) - c
void s2_system_imbalance(const S2System *system, const S2Quad *v, const double *lambda, S2Quad *f);

// `scaled` of s2_mcp_residual, straight from the scaled unknowns. u = J v is given back.
double s2_system_residual(const S2System *system, const S2Quad *v, const double *lambda, double *u);

// Factors K = W + J' (g o response) J. False when that is numerically singular.
bool s2_system_factor(S2System *system, const S2Response *response, bool nonsymmetric);
void s2_system_solve(const S2System *system, const S2Quad *b, S2Quad *x); // x = K^-1 b; x may be b

#endif
