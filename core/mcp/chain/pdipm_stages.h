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

// Islands of so many contacts at least, where they are not pivoted, are taken for piles.
#define S2_PILE_CONTACTS 21

// Proximal semismooth Newton: at most `outers` times at most `inners` factorisations, and more for
// exact solutions in modes worth one. What is not solved within `follow_after` outers has inner
// problems with local minima that are not solutions: from there on path following, at most
// `follow_segments` long, takes over where Newton fails (paths that arrive seldom are longer). A
// run that has not come to its end after `most` factorisations is less likely to than one from
// another start.
#define S2_NEWTON_MOST 12000 // factorisations, as a rule
typedef struct S2NewtonWay {
  double weight; // to begin with
  int outers, inners, follow_after, follow_segments, most;
} S2NewtonWay;

extern const S2NewtonWay s2_newton_cold; // feels its way from a Gauss-Seidel start

double s2_newton_solve(S2System *system, const S2NewtonWay *way, double tolerance, S2Quad *v,
                       double *lambda, int *factorizations, S2Arena *arena);

// What a unit does: its impulses vanish, its velocities vanish, or it slides with the tangential
// impulse +mu lambda_n or -mu lambda_n. Bilateral rows always stick; boxed ones slide at their
// upper or lower bound.
typedef enum S2Mode { S2_SEPARATE = 0, S2_STICK, S2_SLIDE_PLUS, S2_SLIDE_MINUS } S2Mode;

// The modes (v, lambda) shows when impulses and velocities are compared one to one; u = J v.
void s2_refine_modes(const S2System *system, const double *u, const double *lambda, S2Mode *mode);

// The mode that the impulses of a unit show by themselves: at a bound, up to rounding, it slides.
S2Mode s2_impulse_mode(const S2Unit *unit, const double *lambda);

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

// Where a path starts, and how long it may be: the compliance against the impulses given is 1 /
// weight (scaled: 1 is a lone row's own). The start has the modes that impulses and velocities
// show, or those of the impulses alone.
typedef struct S2FollowStart {
  double weight;
  int segments; // a factorisation each
  bool by_impulses;
  bool looks; // gives up a path that has not come far after a few segments: most of such ones lead
              // away
} S2FollowStart;

// One proximal step from `lambda` along the path to its solution. False, and nothing changed, when
// it does not arrive.
bool s2_follow_solve(S2System *system, const S2FollowStart *start, S2Quad *v, double *lambda,
                     int *factorizations, S2Arena *arena);

// Proximal steps of such a path from the impulses given, in the modes they show, until the residual
// falls no more, or about `most` factorisations are done (INT_MAX: no bound).
double s2_finish_solve(S2System *system, int segments, int most, double tolerance, S2Quad *v,
                       double *lambda, int *factorizations, S2Arena *arena);

// What ends a flow in vain.
typedef struct S2FlowWatch {
  // Is it proved that there is no solution? Asked once, where a flow is long or on a ray. NULL:
  // nobody knows.
  bool (*hopeless)(void *user);
  void *user;
  bool asked, proved;
  // The modes stand while the impulses grow by the same again and again, and what is missed stays:
  // contacts jam, and no step from here on is another.
  bool ray;
} S2FlowWatch;

// Proximal steps with a compliance that falls as they succeed, each by undamped mode changes or
// along the path, sweeps where neither finds it, until `most` factorisations are done or the watch
// ends it; the last step ends beyond that. `strictly`: until the work of so many whole ones is, and
// no later.
double s2_flow_solve(S2System *system, int most, bool strictly, double tolerance,
                     S2FlowWatch *watch, S2Quad *v, double *lambda, int *factorizations,
                     S2Arena *arena);

// Projected Gauss-Seidel, `sweeps` times over all rows in alternating order.
double s2_pgs_solve(const S2System *system, int sweeps, S2Quad *v, double *lambda, S2Arena *arena);

#define S2_SWEPT 0.1 // tolerances: sweeps that change less have solved the problem

// The same, always forwards, as nonlinear conjugate gradients (Silcowitz-Hansen, Niebe, Erleben
// 2010): what a sweep changes is taken for minus a gradient. Ends before where a sweep changes no
// impulse by more than `enough`, scaled.
double s2_nncg_sweeps(const S2System *system, int sweeps, double enough, S2Quad *v, double *lambda,
                      S2Arena *arena);

// s2_pdipm_solve up to the first interior point: for callers who have another method to fall back
// on.
S2SolveStatus s2_pdipm_quick_solve(const S2Problem *problem, const S2SolverOptions *options,
                                   S2Arena *arena, S2Solution *solution);

#endif
