// Private to core/mcp: methods that differentiate a step problem.
#ifndef S2_MCP_VJP_STAGES_H
#define S2_MCP_VJP_STAGES_H

#include "mcp/adjoint/mcp_vjp.h"
#include "mcp/chain/pdipm_stages.h"

#include <stdbool.h>

typedef struct S2VjpPoint { // a scaled solution of a step problem
  const S2System *system;
  const double *u, *lambda; // 2 per unit, where u is J v
  const double *u_row;      // J v without scaling, 1 per row
} S2VjpPoint;

typedef struct S2VjpModes {
  S2Mode *mode; // Mode of each unit.
  // Per row, zeroed by the caller. For boxed rows, -1 at lo, 1 at hi, 0 between them.
  signed char *bound;
  // Per row, zeroed by the caller. For friction rows of sliding contacts: the direction.
  double *sign;
} S2VjpModes;

// Determines the modes of contacts and boxed rows at a solution. Returns S2_VJP_WEAK if a unit is
// on the edge of two modes. Such a unit counts as separating, sticking or between its bounds; with
// `beyond` it counts as being in the other mode.
unsigned s2_vjp_modes(const S2VjpPoint *at, bool beyond, const S2VjpModes *to);

// Rows that are scaled to 1 are independent if their pivots are at least this large. (The general
// method treats rows as redundant below 3e-6.)
static const double S2_VJP_INDEPENDENT = 1e-4;

// A fast version of s2_mcp_vjp for few active rows. Returns false and writes nothing if there are
// too many active rows, or if they are not independent.
bool s2_mcp_vjp_small(const S2Problem *problem, const double *v, const double *lambda,
                      const double *dl_dv, const double *dl_dlambda, const S2McpGradient *gradient,
                      S2Arena *arena, unsigned *flags);

// A fast version of s2_mcp_vjp for many bilateral rows that are independent. Returns false and
// writes nothing if the method does not apply or is not faster.
bool s2_mcp_vjp_bilateral(const S2Problem *problem, const double *v, const double *lambda,
                          const double *dl_dv, const double *dl_dlambda,
                          const S2McpGradient *gradient, S2Arena *arena);

typedef struct S2VjpHeld { // the active rows, none of which belongs to a contact
  const S2Problem *problem;
  int count;
  const S2Row *const *row;
  const double *dl_dv;      // NULL: 0
  const double *dl_dlambda; // one number for each active row
} S2VjpHeld;

// mcp_vjp_exact.c: computes p (3 per node) and eta (1 per row) with twice the digits, for rows that
// are independent if all masses are equal. Returns false if the rows are not independent, or if
// there are too many.
bool s2_vjp_exact_solve(const S2VjpHeld *held, double *p, double *eta, S2Arena *arena);

enum { S2_VJP_DIRECTIONS = 20 }; // largest number of directions of conjugate residuals

// A vector of the adjoint system: (p, eta), or the residual of its equations.
typedef struct S2VjpPair {
  S2Quad *node; // nodes + 1 entries
  double *unit; // 2 numbers per unit
} S2VjpPair;

struct S2McpLinear {
  S2Problem problem;          // the problem with mobility A'
  S2System system;            // of `problem`
  const S2Mobility *mobility; // A, or NULL.
  // Weights of the residuals of nodes: inverse masses, or inverses of the diagonal entries of A.
  S2Quad *energy;
  const double *v, *lambda; // the caller's
  double kappa;             // 0: exact
  double *w, *z;            // scaled values of the pairs, 4 per unit; smooth only
  signed char *bound;       // for boxed rows: -1 at lo, 1 at hi, 0 between them; exact only
  double *sign;             // sigma, 1 per row: 0 unless the row slides; exact only
  S2Response *soft;         // D'^-1 of smooth contacts, scaled
  S2Response *response;     // (D'^-1 + 1 / WEIGHT)^-1
  S2Response *coupled;      // scratch: a copy of `response` that keeps the friction coupling
  unsigned flags;
  bool slides;    // the system is not symmetric, because friction depends on normal impulses
  S2VjpPair data; // dl/dv, dl/dlambda
  S2VjpPair x, r; // p and eta, and their residual
  S2VjpPair kept; // x at the start of a round
  S2VjpPair step[S2_VJP_DIRECTIONS],
      // steps of x, and the changes of r that they cause; the changes are orthonormal
      change[S2_VJP_DIRECTIONS];
  double *u;               // velocities J p, 2 per unit
  S2Quad *right, *rest;    // scratch of solve_nodes
  double *p_node, *rhs;    // p and dl/dc, 3 per node
  double *force;           // J' lambda, 3 per node; local form only
  double *eta_row, *u_row; // 1 per row; u_row = J p
  bool other;              // true to compute a derivative without least norm if rows are tied
  // With S2_VJP_TIED or `yields`: impulses eta that together have no effect, 2 per unit.
  double *tie;
  int yields; // A contact whose friction yields to joints, or -1.
  // If a contact is on an edge: the linearisation on the other side of all edges. Otherwise NULL.
  S2McpLinear *beyond;
  S2Arena *arena; // The arena that owns all arrays of this struct.
  // mcp_vjp_share.c: r and Z beta of the last product, as impulses of all rows, and the velocities
  // W^-1 J' r and W^-1 J' Z beta.
  bool shared;
  double *share_r, *share_z, *share_pr, *share_pz;
};

static inline bool s2_vjp_is_smooth(const S2McpLinear *l, int k) {
  return l->kappa > 0 && l->system.unit[k].kind != S2_UNIT_BILATERAL;
}

// mcp_vjp_ties.c.
enum { S2_VJP_NO_UNIT = -1 };
typedef enum S2VjpTie { S2_TIE_NONE, S2_TIE_YIELDS, S2_TIE_HOLDS } S2VjpTie;
// Examines the impulses in r, which together have no effect. Two contact points between the same
// bodies may pull against each other along one tangent. Such points always move together, so this
// is not a tie (S2_TIE_NONE). If only joints and the friction between one pair of bodies take part,
// the friction yields (S2_TIE_YIELDS), because it slides if the joints impose a motion. `pair`
// receives one of the contacts of that pair.
S2VjpTie s2_vjp_tie(const S2McpLinear *l, int *pair);
// Returns the total friction impulse of a contact and its neighbouring contacts between the same
// bodies.
double s2_vjp_pull(const S2System *system, const double *z, int k);

// mcp_vjp_share.c: computes p and eta for impulses of least norm, and the other terms of the
// gradient. `size` is the size of dl/d(v, lambda). Sets S2_VJP_UNDETERMINED if the loss depends on
// single impulses. Returns false and changes nothing if the impulses do not have least norm, or if
// that is not clear.
bool s2_vjp_share(S2McpLinear *l, const double *dl_dv, const double *dl_dlambda, double size,
                  S2Arena *arena, unsigned *flags);

// mcp_vjp_write.c: sets the whole gradient to a value.
void s2_vjp_fill(const S2Problem *problem, const S2McpGradient *gradient, double value);
// Write the products that all methods share. These are dl/dc = p and dl/dW = -p v for bodies, and
// dl/dJ = lambda p' + eta v', dl/db = eta and dl/dC = eta lambda for row r.
void s2_vjp_write_bodies(const S2Problem *problem, const double *p, const double *v,
                         const S2McpGradient *gradient);
void s2_vjp_write_products(const S2Problem *problem, int r, const double *p, const double *v,
                           double eta, double lambda, const S2McpGradient *gradient);
// Computes the gradient from x, p_node, rhs, eta_row, u_row, u and data.
void s2_vjp_write(const S2McpLinear *l, const double *dl_dlambda, const S2McpGradient *gradient);

#endif
