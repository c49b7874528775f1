// The methods that the interior-point solver chains. Each method works on the scaled system and
// starts from (v, lambda). It leaves the best point found in (v, lambda), which is never worse than
// the start. (Gauss-Seidel leaves its last point.) It returns the residual of that point, computed
// by s2_system_residual, and adds its factorisations to `factorizations`.
#ifndef S2_PDIPM_STAGES_H
#define S2_PDIPM_STAGES_H

#include "mcp/chain/pdipm_system.h"

// The start of the interior-point method. A warm start begins at the given point, with distances
// from the boundary of at least `floor`. A cold start sets z = impulse and s = velocity, multiplied
// by random factors between exp(-spread) and exp(spread).
typedef struct S2InteriorStart {
  bool warm;
  double floor;
  double impulse, velocity;
  double spread;
  uint64_t seed; // seed of the random factors
} S2InteriorStart;

double s2_interior_solve(S2System *system, const S2InteriorStart *start, double tolerance,
                         int max_iterations, S2Quad *v, double *lambda, int *factorizations,
                         S2Arena *arena);

// Islands with at least this many contacts count as piles, unless the problem is in the local form.
#define S2_PILE_CONTACTS 21

// Proximal semismooth Newton. It makes at most `outers` outer steps of at most `inners`
// factorisations each. It also tries to solve the equations of promising modes exactly. If
// `follow_after` outer steps do not solve the problem, the inner problems have local minima that
// are not solutions. From then on, path following takes over if Newton fails. Paths have at most
// `follow_segments` segments, because longer paths seldom reach a solution. The method ends after
// about `most` factorisations, because another start is then more promising.
#define S2_NEWTON_MOST 12000 // default of `most`
typedef struct S2NewtonWay {
  double weight; // the first weight
  int outers, inners, follow_after, follow_segments, most;
} S2NewtonWay;

extern const S2NewtonWay s2_newton_cold; // settings for a Gauss-Seidel start

double s2_newton_solve(S2System *system, const S2NewtonWay *way, double tolerance, S2Quad *v,
                       double *lambda, int *factorizations, S2Arena *arena);

// The mode of a unit. Its impulses are 0, its velocities are 0, or it slides with the tangential
// impulse +mu lambda_n or -mu lambda_n. Bilateral rows always stick. Boxed rows slide at their
// upper or lower bound.
typedef enum S2Mode { S2_SEPARATE = 0, S2_STICK, S2_SLIDE_PLUS, S2_SLIDE_MINUS } S2Mode;

// Compares impulses with velocities to find the modes of (v, lambda). u must be J v.
void s2_refine_modes(const S2System *system, const double *u, const double *lambda, S2Mode *mode);

// Returns the mode of a unit according to its impulses only. If an impulse is at its bound, up to
// rounding, the unit slides.
S2Mode s2_impulse_mode(const S2Unit *unit, const double *lambda);

// Computes the responses of units in these modes, where active rows have an additional scaled
// compliance of 1 / weight. Returns true if a contact slides. K is then not symmetric.
bool s2_refine_respond(const S2System *system, const S2Mode *mode, double weight,
                       S2Response *response);

// A scaled residual up to this value is rounding and is not improved further.
#define S2_REFINED 1e-14

// Solves the equations of given modes to full precision. If all rows are bilateral, this is the
// whole solution. Otherwise the residual decides whether the modes were correct.
double s2_refine_solve(S2System *system, const S2Mode *mode, S2Quad *v, double *lambda,
                       int *factorizations, S2Arena *arena);

// The start of a path and its limits. The compliance relative to the given impulses is 1 / weight,
// in units in which a single row has compliance 1. The first modes follow from impulses and
// velocities, or only from the impulses if `by_impulses` is set.
typedef struct S2FollowStart {
  double weight;
  int segments; // limit of segments, with one factorisation each
  bool by_impulses;
  // Give up a path that makes little progress in its first segments. Most such paths reach no
  // solution.
  bool looks;
} S2FollowStart;

// Makes one proximal step from `lambda` along the path to its solution. Returns false and changes
// nothing if the path does not reach the solution.
bool s2_follow_solve(S2System *system, const S2FollowStart *start, S2Quad *v, double *lambda,
                     int *factorizations, S2Arena *arena);

// Makes proximal steps from the given impulses, starting in the modes that the impulses indicate.
// Ends when the residual stops falling, or after about `most` factorisations (INT_MAX: no limit).
double s2_finish_solve(S2System *system, int segments, int most, double tolerance, S2Quad *v,
                       double *lambda, int *factorizations, S2Arena *arena);

// Conditions that end a flow without a solution.
typedef struct S2FlowWatch {
  // Called once, when a flow is long or on a ray. Returns true if the problem provably has no
  // solution. May be NULL.
  bool (*hopeless)(void *user);
  void *user;
  bool asked, proved;
  // The flow is on a ray: the modes and the residual do not change, and each step increases the
  // impulses by the same amount. Contacts are jammed, and further steps do not change this.
  bool ray;
} S2FlowWatch;

// Makes proximal steps with a compliance that decreases while they succeed. Each step uses undamped
// mode changes or path following, and sweeps if both fail. Ends when `watch` ends it, or after
// `most` factorisations, which the last step may exceed. With `strictly`, `most` limits the work in
// units of whole factorisations, and no step exceeds it.
double s2_flow_solve(S2System *system, int most, bool strictly, double tolerance,
                     S2FlowWatch *watch, S2Quad *v, double *lambda, int *factorizations,
                     S2Arena *arena);

// Makes `sweeps` sweeps of projected Gauss-Seidel over all rows, in alternating order.
double s2_pgs_solve(const S2System *system, int sweeps, S2Quad *v, double *lambda, S2Arena *arena);

// The problem is solved if a sweep changes impulses by less than this fraction of the tolerance.
#define S2_SWEPT 0.1

// Uses sweeps of s2_pgs_solve in a nonlinear conjugate gradient method (Silcowitz-Hansen, Niebe,
// Erleben 2010). All sweeps run forwards. The change in a sweep serves as a negative gradient. Ends
// early if a sweep changes no scaled impulse by more than `enough`.
double s2_nncg_sweeps(const S2System *system, int sweeps, double enough, S2Quad *v, double *lambda,
                      S2Arena *arena);

// Runs s2_pdipm_solve only up to its first interior-point run, for callers that have a fallback.
S2SolveStatus s2_pdipm_quick_solve(const S2Problem *problem, const S2SolverOptions *options,
                                   S2Arena *arena, S2Solution *solution);

#endif
