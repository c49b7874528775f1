// The methods that the interior-point solver chains. Each works on the scaled system, starts from
// (v, lambda) and leaves the best point met there, never one worse than the start. (Gauss-Seidel
// leaves its last point.) It returns the residual of that point by s2_system_residual, and adds to
// `factorizations`.
#ifndef S2_PDIPM_STAGES_H
#define S2_PDIPM_STAGES_H

#include "mcp/chain/pdipm_system.h"

// The start of the interior point. Warm: from the given point, with its distances from the boundary
// raised to `floor`. Cold: z = impulse, s = velocity, multiplied by exp(+-spread) at random.
typedef struct S2InteriorStart {
  bool warm;
  double floor;
  double impulse, velocity;
  double spread;
  uint64_t seed; // of the spread
} S2InteriorStart;

double s2_interior_solve(S2System *system, const S2InteriorStart *start, double tolerance,
                         int max_iterations, S2Quad *v, double *lambda, int *factorizations,
                         S2Arena *arena);

// Islands with at least this many contacts count as piles, unless they are pivoted.
#define S2_PILE_CONTACTS 21

// Proximal semismooth Newton: at most `outers` outer steps of at most `inners` factorisations each,
// and more for exact solutions in promising modes. If `follow_after` outer steps do not solve it,
// the inner problems have local minima that are not solutions. From then on path following takes
// over where Newton fails, with at most `follow_segments` segments (longer paths seldom arrive).
// After `most` factorisations another start is more promising.
#define S2_NEWTON_MOST 12000 // factorisations, as a rule
typedef struct S2NewtonWay {
  double weight; // the first weight
  int outers, inners, follow_after, follow_segments, most;
} S2NewtonWay;

extern const S2NewtonWay s2_newton_cold; // for a Gauss-Seidel start

double s2_newton_solve(S2System *system, const S2NewtonWay *way, double tolerance, S2Quad *v,
                       double *lambda, int *factorizations, S2Arena *arena);

// The mode of a unit: its impulses vanish, its velocities vanish, or it slides with the tangential
// impulse +mu lambda_n or -mu lambda_n. Bilateral rows always stick. Boxed rows slide at their
// upper or lower bound.
typedef enum S2Mode { S2_SEPARATE = 0, S2_STICK, S2_SLIDE_PLUS, S2_SLIDE_MINUS } S2Mode;

// The modes of (v, lambda), by comparing impulses with velocities; u = J v.
void s2_refine_modes(const S2System *system, const double *u, const double *lambda, S2Mode *mode);

// The mode of a unit by its impulses alone: at a bound, up to rounding, it slides.
S2Mode s2_impulse_mode(const S2Unit *unit, const double *lambda);

// Responses of units in these modes when active rows have an additional compliance of 1 / weight
// (scaled). True: a contact slides, so K is not symmetric.
bool s2_refine_respond(const S2System *system, const S2Mode *mode, double weight,
                       S2Response *response);

// A scaled residual this small is round-off and is not improved further.
#define S2_REFINED 1e-14

// Solves the equations of given modes to the last digits. With bilateral rows only, this is the
// whole solution; otherwise the residual decides whether the modes were right.
double s2_refine_solve(S2System *system, const S2Mode *mode, S2Quad *v, double *lambda,
                       int *factorizations, S2Arena *arena);

// The start of a path and its limits. The compliance relative to the given impulses is 1 / weight
// (scaled: a lone row has the compliance 1). The modes at the start follow from impulses and
// velocities, or from the impulses alone.
typedef struct S2FollowStart {
  double weight;
  int segments; // a factorisation each
  bool by_impulses;
  bool looks; // gives up a path that has not come far after a few segments, because most such paths
              // do not arrive
} S2FollowStart;

// One proximal step from `lambda` along the path to its solution. False, with nothing changed: the
// path does not arrive.
bool s2_follow_solve(S2System *system, const S2FollowStart *start, S2Quad *v, double *lambda,
                     int *factorizations, S2Arena *arena);

// Proximal steps along such paths from the given impulses, in the modes that they show. Ends when
// the residual no longer falls, or after about `most` factorisations (INT_MAX: no bound).
double s2_finish_solve(S2System *system, int segments, int most, double tolerance, S2Quad *v,
                       double *lambda, int *factorizations, S2Arena *arena);

// Conditions that end a flow without a solution.
typedef struct S2FlowWatch {
  // Whether it is proved that there is no solution. Called once, when a flow is long or on a ray.
  // NULL: no such test.
  bool (*hopeless)(void *user);
  void *user;
  bool asked, proved;
  // The flow is on a ray: the modes stay, each step increases the impulses by the same amount, and
  // the residual stays. Contacts jam, and further steps do not change this.
  bool ray;
} S2FlowWatch;

// Proximal steps with a compliance that falls as they succeed. Each uses undamped mode changes or
// the path, and sweeps if both fail. Ends after `most` factorisations or when the watch ends it;
// the last step may exceed the limit. `strictly`: counts the work of whole factorisations, without
// exceeding it.
double s2_flow_solve(S2System *system, int most, bool strictly, double tolerance,
                     S2FlowWatch *watch, S2Quad *v, double *lambda, int *factorizations,
                     S2Arena *arena);

// Projected Gauss-Seidel, `sweeps` times over all rows in alternating order.
double s2_pgs_solve(const S2System *system, int sweeps, S2Quad *v, double *lambda, S2Arena *arena);

#define S2_SWEPT 0.1 // in tolerances: sweeps that change less have solved the problem

// The same sweeps, always forwards, as nonlinear conjugate gradients (Silcowitz-Hansen, Niebe,
// Erleben 2010): the change by a sweep serves as minus a gradient. Ends early if a sweep changes no
// impulse by more than `enough`, scaled.
double s2_nncg_sweeps(const S2System *system, int sweeps, double enough, S2Quad *v, double *lambda,
                      S2Arena *arena);

// s2_pdipm_solve up to the first interior point, for callers that have a fallback.
S2SolveStatus s2_pdipm_quick_solve(const S2Problem *problem, const S2SolverOptions *options,
                                   S2Arena *arena, S2Solution *solution);

#endif
