// Private to core/mcp: the methods to differentiate a step problem.
#ifndef S2_MCP_VJP_STAGES_H
#define S2_MCP_VJP_STAGES_H

#include "mcp/adjoint/mcp_vjp.h"
#include "mcp/chain/pdipm_stages.h"

#include <stdbool.h>

typedef struct S2VjpPoint { // a solution, scaled
  const S2System *system;
  const double *u, *lambda; // 2 per unit; u is J v
  const double *u_row;      // 1 per row, not scaled: J v
} S2VjpPoint;

typedef struct S2VjpModes {
  S2Mode *mode;       // per unit
  signed char *bound; // per row: of boxed rows, -1 at lo, 1 at hi, 0 between; zeroed by the caller
  double *sign;       // per row: direction of sliding friction rows; zeroed by the caller
} S2VjpModes;

// Determines the modes of contacts and boxed rows at a solution. Returns S2_VJP_WEAK if a unit is
// on the edge of two modes. Such a unit counts as separating, sticking or between its bounds; with
// `beyond` it counts as being in the other mode.
unsigned s2_vjp_modes(const S2VjpPoint *at, bool beyond, const S2VjpModes *to);

// Smallest pivot, of rows scaled to 1, at which rows certainly do not repeat each other. (The
// general method calls rows redundant below 3e-6.)
static const double S2_VJP_INDEPENDENT = 1e-4;

// s2_mcp_vjp for few active rows that are independent. False, with nothing written: there are too
// many, or they are not independent.
bool s2_mcp_vjp_small(const S2Problem *problem, const double *v, const double *lambda,
                      const double *dl_dv, const double *dl_dlambda, const S2McpGradient *gradient,
                      S2Arena *arena, unsigned *flags);

// The method for problems whose rows are all bilateral and independent, and so many that this
// method is faster. False: it does not apply, and nothing is written.
bool s2_mcp_vjp_bilateral(const S2Problem *problem, const double *v, const double *lambda,
                          const double *dl_dv, const double *dl_dlambda,
                          const S2McpGradient *gradient, S2Arena *arena);

typedef struct S2VjpHeld { // the active rows; none belongs to a contact
  const S2Problem *problem;
  int count;
  const S2Row *const *row;
  const double *dl_dv;      // NULL: 0
  const double *dl_dlambda; // of those rows
} S2VjpHeld;

// mcp_vjp_exact.c: p (3 per node) and eta (1 per row) with twice the digits, for rows that are
// independent at equal masses. False: the rows are not independent, or there are too many.
bool s2_vjp_exact_solve(const S2VjpHeld *held, double *p, double *eta, S2Arena *arena);

enum { S2_VJP_DIRECTIONS = 20 }; // of conjugate residuals

// A vector of the adjoint system: (p, eta), or the residual of its equations.
typedef struct S2VjpPair {
  S2Quad *node; // nodes + 1
  double *unit; // 2 per unit
} S2VjpPair;

struct S2McpLinear {
  S2Problem problem;          // with A' for the mobility
  S2System system;            // of `problem`
  const S2Mobility *mobility; // A, or NULL
  // weights of the residuals of nodes: inverse masses, or weights of single lanes of A
  S2Quad *energy;
  const double *v, *lambda; // the caller's
  double kappa;             // 0: exact
  double *w, *z;            // of the pairs, 4 per unit, scaled; smooth only
  signed char *bound;       // of boxed rows: -1 at lo, 1 at hi, 0 between; exact only
  double *sign;             // sigma, 1 per row; 0 unless it slides; exact only
  S2Response *soft;         // D'^-1 of smooth contacts, scaled
  S2Response *response;     // (D'^-1 + 1 / WEIGHT)^-1
  S2Response *coupled;      // scratch: responses of smooth contacts without the share of friction
  unsigned flags;
  bool slides;    // friction depends on normal impulses: the system is not symmetric
  S2VjpPair data; // dl/dv, dl/dlambda
  S2VjpPair x, r; // p and eta; their residual
  S2VjpPair kept; // x before a round
  S2VjpPair step[S2_VJP_DIRECTIONS],
      // a step of x, and minus the change of r by it; the changes are orthonormal
      change[S2_VJP_DIRECTIONS];
  double *u;               // J p, 2 per unit
  S2Quad *right, *rest;    // scratch of solve_nodes
  double *p_node, *rhs;    // p and dl/dc, 3 per node
  double *force;           // J' lambda, 3 per node; local form only
  double *eta_row, *u_row; // 1 per row; u_row = J p
  bool other;              // if rows are tied: compute another derivative than that of least norm
  double
      *tie;   // 2 per unit: with S2_VJP_TIED or `yields`, impulses eta that together have no effect
  int yields; // a contact whose friction yields to joints, or -1
  // if a contact is on an edge: the linearisation on the other side of all edges; else NULL
  S2McpLinear *beyond;
  S2Arena *arena; // holds all of this memory
  // mcp_vjp_share.c: r and Z beta of the last product as impulses of all rows, and W^-1 J' times
  // them.
  bool shared;
  double *share_r, *share_z, *share_pr, *share_pz;
};

static inline bool s2_vjp_is_smooth(const S2McpLinear *l, int k) {
  return l->kappa > 0 && l->system.unit[k].kind != S2_UNIT_BILATERAL;
}

// mcp_vjp_ties.c.
enum { S2_VJP_NO_UNIT = -1 };
typedef enum S2VjpTie { S2_TIE_NONE, S2_TIE_YIELDS, S2_TIE_HOLDS } S2VjpTie;
// Examines impulses in r that together have no effect. Two points of one pair that pull against
// each other along one tangent move as one for all data, and are not a tie (S2_TIE_NONE). If only
// friction of one pair takes part beside joints, without normal impulses, it yields: a motion that
// joints impose against it makes it slide. `pair`: one of the contacts of that pair.
S2VjpTie s2_vjp_tie(const S2McpLinear *l, int *pair);
// The sum of the friction impulses of a contact and its neighbours between the same two bodies.
double s2_vjp_pull(const S2System *system, const double *z, int k);

// mcp_vjp_share.c: p and eta for impulses of least norm, and the further terms of the gradient;
// `size` of dl/d(v, lambda). Sets S2_VJP_UNDETERMINED if the loss depends on single impulses.
// False, with nothing changed: the impulses are not of least norm, or that is not clear.
bool s2_vjp_share(S2McpLinear *l, const double *dl_dv, const double *dl_dlambda, double size,
                  S2Arena *arena, unsigned *flags);

// mcp_vjp_write.c: sets the whole gradient to a value.
void s2_vjp_fill(const S2Problem *problem, const S2McpGradient *gradient, double value);
// The products that all methods share: dl/dc = p and dl/dW = -p v of bodies; dl/dJ = lambda p' +
// eta v', dl/db = eta and dl/dC = eta lambda of row r.
void s2_vjp_write_bodies(const S2Problem *problem, const double *p, const double *v,
                         const S2McpGradient *gradient);
void s2_vjp_write_products(const S2Problem *problem, int r, const double *p, const double *v,
                           double eta, double lambda, const S2McpGradient *gradient);
// Writes the gradient from x, p_node, rhs, eta_row, u_row, u and data.
void s2_vjp_write(const S2McpLinear *l, const double *dl_dlambda, const S2McpGradient *gradient);

#endif
