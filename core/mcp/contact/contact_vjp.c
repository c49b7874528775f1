// For the equivalent step problem, mcp_vjp.h gives y = dl/db. In the local form y = dl/dq, because
// u has no other bias. On the central path it also gives the slope dl/d(W_kk). Let p be the adjoint
// of the momentum, M p = dl/dv + H y. Then
//
//     dl/dq = p,   dl/dM = -p v',   dl/dH = p r' + v y',   dl/db = y
//
// for both forms. Only the lower triangle of M is read, and it represents both triangles.
#include "mcp/contact/contact.h"

#include "linalg/numbers.h"
#include "mcp/contact/contact_form.h"

#include <math.h>
#include <string.h>

// Computes the derivatives of the step problem at r. v has 3 velocities per node.
static unsigned contact_vjp_pull(S2Problem *step, const S2ContactSolution *solution,
                                 const double *v, const double *dl_dv, const double *dl_dr,
                                 const S2McpGradient *gradient, S2Arena *arena) {
  if (!(solution->kappa > 0)) {
    return s2_mcp_vjp(step, v, solution->r, dl_dv, dl_dr, gradient, arena);
  }
  // Copy the pairs of the path in the row order of the step problem.
  double *z = S2_TAKE_ZEROED(arena, double, 4 * step->rows);
  double *nodes = S2_TAKE(arena, double, 3 * step->nodes);
  for (int k = 0; k < step->rows / 2; k++) {
    memcpy(z + 8 * (size_t)k, solution->z + 4 * (size_t)k, 4 * sizeof(double));
  }
  memcpy(nodes, v, sizeof(double) * 3 * (size_t)step->nodes);
  S2SmoothSolution at = {.v = nodes, .lambda = solution->r, .z = z};
  double scale = step->velocity_scale;
  return s2_mcp_smooth_vjp(step, solution->kappa / (scale * scale), &at, dl_dv, dl_dr, gradient,
                           arena);
}

static void write_mu(const double *from, int contacts, double *to) {
  for (int k = 0; k < contacts && to != NULL; k++) {
    to[k] = from[2 * k + 1];
  }
}

// ---- Local form -------------------------------------------------------------------------------

// Copies two numbers per contact to the lanes of its node.
static double *contact_vjp_spread(const double *from, int contacts, S2Arena *arena) {
  double *to = S2_TAKE_ZEROED(arena, double, 3 * contacts);
  for (int i = 0; i < 2 * contacts && from != NULL; i++) {
    to[3 * (i / 2) + 1 + i % 2] = from[i];
  }
  return to;
}

// Computes y and the members of `to` except rhs.
static unsigned contact_vjp_pull_local(S2Problem *step, const S2ContactSolution *solution,
                                       const S2ContactLoss *loss, double *y, S2McpGradient to,
                                       S2Arena *arena) {
  int n = step->nodes;
  to.rhs = S2_TAKE(arena, double, 3 * n);
  // y = dl/dq is dl/d(rhs) on the lanes of the velocities.
  unsigned flags = contact_vjp_pull(step, solution, contact_vjp_spread(solution->u, n, arena),
                                    contact_vjp_spread(loss->u, n, arena), loss->r, &to, arena);
  for (int i = 0; i < 2 * n; i++) {
    y[i] = to.rhs[3 * (i / 2) + 1 + i % 2];
  }
  return flags;
}

unsigned s2_contact_vjp(const S2ContactProblem *problem, const S2ContactSolution *solution,
                        const S2ContactLoss *loss, const S2LocalContactGradient *gradient,
                        S2Arena *arena) {
  int n = problem->contacts, entries = problem->w->start[2 * n];
  if (!s2_contact_finite(problem)) {
    s2_fill_numbers(gradient->w, entries, NAN);
    s2_fill_numbers(gradient->q, 2 * n, NAN);
    s2_fill_numbers(gradient->mu, n, NAN);
    return S2_VJP_SINGULAR;
  }
  // Build the step problem of the local form. The derivatives of its blocks are the derivatives of
  // the entries of W.
  S2ArenaMark mark = s2_arena_mark(arena);
  int32_t *place = S2_TAKE(arena, int32_t, entries);
  S2Problem step = s2_contact_local_form(problem, place, arena);
  double *mobility = S2_TAKE(arena, double, 9 * (size_t)step.mobility->start[n]);
  double *y = S2_TAKE(arena, double, 2 * n), *mu = S2_TAKE(arena, double, 2 * n);
  unsigned flags = contact_vjp_pull_local(&step, solution, loss, y,
                                          (S2McpGradient){.mu = mu, .mobility = mobility}, arena);
  for (int p = 0; p < entries && gradient->w != NULL; p++) {
    gradient->w[p] = mobility[place[p]];
  }
  for (int i = 0; i < 2 * n && gradient->q != NULL; i++) {
    gradient->q[i] = y[i];
  }
  write_mu(mu, n, gradient->mu);
  s2_arena_rewind(arena, mark);
  return flags;
}

// ---- Global form ------------------------------------------------------------------------------

// Adjoint quantities, computed from the step problem.
typedef struct Adjoint {
  double *p;              // freedoms
  double *y, *slope, *mu; // 2n
} Adjoint;

static unsigned pull_bodies(S2GlobalForm *form, const S2GlobalContactProblem *problem,
                            const S2ContactSolution *solution, const S2ContactLoss *loss,
                            Adjoint *to, S2Arena *arena) {
  int freedoms = problem->freedoms, rows = 2 * problem->contacts, all = 3 * form->step.nodes;
  double *v = S2_TAKE_ZEROED(arena, double, all), *dl_dv = S2_TAKE_ZEROED(arena, double, all);
  double *rhs = S2_TAKE(arena, double, all);
  memcpy(v, solution->v, sizeof(double) * (size_t)freedoms);
  if (loss->v != NULL) {
    memcpy(dl_dv, loss->v, sizeof(double) * (size_t)freedoms);
  }
  // Since u = H' v + b, the derivative of the loss with respect to u contributes to its derivatives
  // with respect to v and b.
  if (loss->u != NULL) {
    s2_csr_add_times(problem->h, 1, loss->u, dl_dv);
  }
  S2McpGradient gradient = {.rhs = rhs, .bias = to->y, .mu = to->mu, .w = to->slope};
  unsigned flags = contact_vjp_pull(&form->step, solution, v, dl_dv, loss->r, &gradient, arena);
  for (int i = 0; i < rows && loss->u != NULL; i++) {
    to->y[i] += loss->u[i];
  }
  memcpy(to->p, rhs, sizeof(double) * (size_t)freedoms);
  return flags;
}

static unsigned pull_condensed(S2GlobalForm *form, const S2GlobalContactProblem *problem,
                               const S2ContactSolution *solution, const S2ContactLoss *loss,
                               Adjoint *to, S2Arena *arena) {
  int freedoms = problem->freedoms, rows = 2 * problem->contacts;
  double *dl_dr = S2_TAKE_ZEROED(arena, double, rows);
  memset(to->p, 0, sizeof(double) * (size_t)freedoms);
  if (loss->r != NULL) {
    memcpy(dl_dr, loss->r, sizeof(double) * (size_t)rows);
  }
  if (loss->v != NULL) { // v = M^-1 (H r + q)
    memcpy(to->p, loss->v, sizeof(double) * (size_t)freedoms);
    s2_global_form_respond(form, freedoms, to->p);
    s2_csr_add_transposed_times(problem->h, 1, to->p, dl_dr);
    memcpy(to->p, loss->v, sizeof(double) * (size_t)freedoms);
  }
  S2ContactLoss local = {.r = dl_dr, .u = loss->u};
  unsigned flags = contact_vjp_pull_local(&form->step, solution, &local, to->y,
                                          (S2McpGradient){.mu = to->mu, .w = to->slope}, arena);
  // p = M^-1 (dl/dv + H y)
  s2_csr_add_times(problem->h, 1, to->y, to->p);
  s2_global_form_respond(form, freedoms, to->p);
  return flags;
}

static void contact_vjp_write(const S2GlobalContactProblem *problem,
                              const S2ContactSolution *solution, const Adjoint *from,
                              const S2GlobalContactGradient *to) {
  const double *p = from->p, *v = solution->v, *y = from->y;
  const S2Csr *m = problem->m, *h = problem->h;
  // Compute dl/dM = -p v', folded onto the lower triangle, and dl/dH = p r' + v y'.
  for (int i = 0; i < problem->freedoms; i++) {
    for (int32_t e = m->start[i]; e < m->start[i + 1] && to->m != NULL; e++) {
      int32_t j = m->column[e];
      to->m[e] = j > i ? 0 : j == i ? -p[i] * v[i] : -p[i] * v[j] - p[j] * v[i];
    }
    for (int32_t e = h->start[i]; e < h->start[i + 1] && to->h != NULL; e++) {
      to->h[e] = p[i] * solution->r[h->column[e]] + v[i] * y[h->column[e]];
    }
    if (to->q != NULL) {
      to->q[i] = p[i];
    }
  }
  for (int i = 0; i < 2 * problem->contacts && to->b != NULL; i++) {
    to->b[i] = y[i];
  }
  write_mu(from->mu, problem->contacts, to->mu);
}

// Adds the derivatives through W_kk = h' M^-1 h, where h is a column of H. With x = M^-1 h they are
// dW_kk/dh = 2 x and dW_kk/dM = -x x'.
static void add_slopes(const S2GlobalForm *form, const S2GlobalContactProblem *problem,
                       const double *slope, const S2GlobalContactGradient *to, S2Arena *arena) {
  int freedoms = problem->freedoms;
  const S2Csr *m = problem->m;
  double *x = S2_TAKE(arena, double, freedoms);
  // Copy H and replace each value with the index of its entry. The transpose then shows where the
  // entries of each column are stored.
  S2Csr numbers = *problem->h;
  numbers.value = S2_TAKE(arena, double, numbers.start[freedoms]);
  for (int32_t e = 0; e < numbers.start[freedoms]; e++) {
    numbers.value[e] = e;
  }
  // Compute x = M^-1 h for each column h of H.
  S2Csr columns = s2_csr_transpose(&numbers, arena);
  for (int k = 0; k < columns.rows; k++) {
    memset(x, 0, sizeof(double) * (size_t)freedoms);
    for (int32_t e = columns.start[k]; e < columns.start[k + 1]; e++) {
      x[columns.column[e]] = problem->h->value[(int32_t)columns.value[e]];
    }
    s2_global_form_respond(form, freedoms, x);
    for (int32_t e = columns.start[k]; e < columns.start[k + 1] && to->h != NULL; e++) {
      to->h[(int32_t)columns.value[e]] += 2 * slope[k] * x[columns.column[e]];
    }
    // Add -x x' to dl/dM, folded onto the lower triangle.
    for (int i = 0; i < freedoms && to->m != NULL; i++) {
      for (int32_t e = m->start[i]; e < m->start[i + 1] && m->column[e] <= i; e++) {
        to->m[e] -= (m->column[e] < i ? 2 : 1) * slope[k] * x[i] * x[m->column[e]];
      }
    }
  }
}

unsigned s2_contact_vjp_global(const S2GlobalContactProblem *problem,
                               const S2ContactSolution *solution, const S2ContactLoss *loss,
                               const S2GlobalContactGradient *gradient, S2Arena *arena) {
  int freedoms = problem->freedoms, rows = 2 * problem->contacts;
  S2ArenaMark mark = s2_arena_mark(arena);
  S2GlobalForm form;
  if (s2_contact_global_form(problem, &form, arena) != S2_SOLVED) {
    s2_arena_rewind(arena, mark);
    s2_fill_numbers(gradient->m, problem->m->start[freedoms], NAN);
    s2_fill_numbers(gradient->h, problem->h->start[freedoms], NAN);
    s2_fill_numbers(gradient->q, freedoms, NAN);
    s2_fill_numbers(gradient->b, rows, NAN);
    s2_fill_numbers(gradient->mu, problem->contacts, NAN);
    return S2_VJP_SINGULAR;
  }
  // Compute the adjoint from the bodies or from the local form, as the solver does.
  Adjoint adjoint = {.p = S2_TAKE(arena, double, freedoms),
                     .y = S2_TAKE(arena, double, rows),
                     .slope = S2_TAKE(arena, double, rows),
                     .mu = S2_TAKE(arena, double, rows)};
  unsigned flags = form.bodies ? pull_bodies(&form, problem, solution, loss, &adjoint, arena)
                               : pull_condensed(&form, problem, solution, loss, &adjoint, arena);
  contact_vjp_write(problem, solution, &adjoint, gradient);
  if (solution->kappa > 0) {
    add_slopes(&form, problem, adjoint.slope, gradient, arena);
  }
  s2_arena_rewind(arena, mark);
  return flags;
}
