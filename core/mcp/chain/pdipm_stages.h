// The methods the interior-point solver chains. Each works on the scaled system, starts from
// (v, lambda), leaves there the best point it met (never a worse one; but Gauss-Seidel its last)
// and returns its residual as s2_system_residual measures it. `factorizations` is added to.
#ifndef S2_PDIPM_STAGES_H
#define S2_PDIPM_STAGES_H

#include "mcp/chain/pdipm_system.h"

// Where the interior point starts: warm from the point given, its distances from the boundary
// raised to `floor`, or cold from z = impulse, s = velocity, spread by exp(+-spread) at random.
typedef struct S2InteriorStart {
  bool warm;
  double floor;
  double impulse, velocity;
  double spread;
  uint64_t seed; // of that
} S2InteriorStart;

double s2_interior_solve(S2System *system, const S2InteriorStart *start, double tolerance,
                         int max_iterations, S2Quad *v, double *lambda, int *factorizations,
                         S2Arena *arena);

// Proximal semismooth Newton starting with weight `sigma`: at most `outers` times at most `inners`
// factorisations, and one more for each set of modes worth an exact solution.
double s2_newton_solve(S2System *system, double sigma, int outers, int inners, double tolerance,
                       S2Quad *v, double *lambda, int *factorizations, S2Arena *arena);

// What a unit does: its impulses vanish, its velocities vanish, or it slides with the tangential
// impulse +mu lambda_n or -mu lambda_n. Bilateral rows always stick; boxed ones slide at their
// upper or lower bound.
typedef enum S2Mode { S2_SEPARATE = 0, S2_STICK, S2_SLIDE_PLUS, S2_SLIDE_MINUS } S2Mode;

// The modes (v, lambda) shows when impulses and velocities are compared one to one; u = J v.
void s2_refine_modes(const S2System *system, const double *u, const double *lambda, S2Mode *mode);

// Responses of units in these modes when rows that hold have a compliance of 1 / weight added
// (scaled). True: a contact slides, so K is not symmetric.
bool s2_refine_respond(const S2System *system, const S2Mode *mode, double weight,
                       S2Response *response);

// A scaled residual this good is not improved further: it is round-off.
#define S2_REFINED 1e-14

// Solves the equations of given modes to the last digits. With bilateral rows only this is the
// whole solution; otherwise the residual tells whether the modes were right.
double s2_refine_solve(S2System *system, const S2Mode *mode, S2Quad *v, double *lambda,
                       int *factorizations, S2Arena *arena);

// One proximal step from `lambda`: follows the path to the solution with compliance 1 / weight
// against it (scaled: 1 is a lone row's own), at most `segments` long, a factorisation each. False,
// and nothing changed, when it does not arrive.
bool s2_follow_solve(S2System *system, double weight, int segments, S2Quad *v, double *lambda,
                     int *factorizations, S2Arena *arena);

// Projected Gauss-Seidel, `sweeps` times over all rows in alternating order.
double s2_pgs_solve(const S2System *system, int sweeps, S2Quad *v, double *lambda, S2Arena *arena);

// s2_pdipm_solve up to the first interior point: for callers who have another method to fall back
// on.
S2SolveStatus s2_pdipm_quick_solve(const S2Problem *problem, const S2SolverOptions *options,
                                   S2Arena *arena, S2Solution *solution);

#endif
