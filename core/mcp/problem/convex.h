// A convex form of Coulomb's law (Anitescu 2006, "Optimization-based simulation of nonsmooth rigid
// multibody dynamics"; the rigid limit of Castro et al. 2022). The impulse of a contact is in the
// friction cone, and its velocity is in the dual cone. Both are complementary to each other:
//
//     (l_n, l_t) in K = {|l_t| <= mu l_n},  orthogonal to
//     (u_n + b_n, u_t + b_t) in K* = {u_n + b_n >= mu |u_t + b_t|}
//
// A step is then a quadratic program. Its v is unique if there is a solution. Under this law a
// sliding contact also separates, with the speed mu |u_t|. In the plane both cones have two edges,
// l = p (1, mu) + q (1, -mu), and the law is equivalent to two frictionless rows per contact:
//
//     J_n + mu J_t, bias b_n + mu b_t, impulse p     and     J_n - mu J_t, bias b_n - mu b_t, q.
#ifndef S2_CONVEX_H
#define S2_CONVEX_H

#include "mcp/adjoint/mcp_vjp.h"

// Returns the same problem with two edge rows in place of each normal row and its friction row, so
// the number of rows is unchanged. Soft contacts keep Coulomb's law, because their compliance acts
// only along the normal, and no edge row can express that. The new rows are allocated in the arena.
S2Problem s2_mcp_convex(const S2Problem *problem, S2Arena *arena);

// Convert impulses of `problem`, 1 per row, to impulses of its convex form, p, q = (l_n +- l_t /
// mu) / 2, and back. If a guess is outside the cone, p or q is negative.
void s2_mcp_convex_edges(const S2Problem *problem, double *lambda);
void s2_mcp_convex_impulses(const S2Problem *problem, double *lambda);

// Convert derivatives in place. The first function converts dl/dlambda of impulses to dl/dlambda of
// edges. The second converts dl/d(data) of the convex form to dl/d(data) of `problem`. `lambda` are
// the impulses. `dl_dlambda` is the derivative before conversion, or NULL. ja, jb, bias and mu must
// not be NULL.
void s2_mcp_convex_seed(const S2Problem *problem, double *dl_dlambda);
void s2_mcp_convex_vjp(const S2Problem *problem, const double *lambda, const double *dl_dlambda,
                       const S2McpGradient *gradient);

#endif
