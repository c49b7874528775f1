// The derivative of a static equilibrium, from the implicit function theorem.
//
// A step Q from rest does not move bodies in equilibrium: q = Q(q, p). So the derivative is
//
//     dl/dp = (dQ/dp)' x  with  (I - dQ/dq)' x = dl/dq
//
// Each row of dQ/dq takes one backward sweep over the step.
#include "diff/linear/static_vjp.h"

#include "diff/step/trace_notes.h"

#include <math.h>
#include <string.h>

// NOTHING: a smaller pivot of I - dQ/dq belongs to a direction in which bodies may rest anywhere.
// OF_LOSS: the largest fraction of dl/dq that may lie along such a direction.
static const double NOTHING = 1e-11, OF_LOSS = 1e-8;

static void static_swap(double *a, double *b) {
  double was = *a;
  *a = *b;
  *b = was;
}

typedef struct System { // each row of `at` has n numbers and a right-hand side
  int n;
  double *at;
  int *column; // index of the unknown in each column
} System;

static double *static_row_of(const System *system, int i) {
  return system->at + (size_t)i * (size_t)(system->n + 1);
}

// Moves the largest remaining entry to the diagonal, and returns its size.
static double static_pivot(const System *system, int k) {
  int row = k, column = k, n = system->n;
  for (int i = k; i < n; i++) {
    // Exchange rows and columns. `column` keeps track of the unknowns.
    for (int j = k; j < n; j++) {
      if (fabs(static_row_of(system, i)[j]) > fabs(static_row_of(system, row)[column])) {
        row = i;
        column = j;
      }
    }
  }
  for (int j = 0; j <= n && row != k; j++) {
    static_swap(&static_row_of(system, k)[j], &static_row_of(system, row)[j]);
  }
  for (int i = 0; i < n && column != k; i++) {
    static_swap(&static_row_of(system, i)[k], &static_row_of(system, i)[column]);
  }
  int was = system->column[k];
  system->column[k] = system->column[column];
  system->column[column] = was;
  return fabs(static_row_of(system, k)[k]);
}

// Returns false if the loss depends on a direction that the rows do not determine.
static bool static_solve(const System *system, double *x) {
  int n = system->n, rank = 0;
  double size = 0;
  for (int i = 0; i < n; i++) {
    size = fmax(size, fabs(static_row_of(system, i)[n]));
    system->column[i] = i;
    x[i] = 0;
  }
  // Eliminate until the remaining entries are rounding errors.
  for (; rank < n && static_pivot(system, rank) > NOTHING; rank++) {
    const double *from = static_row_of(system, rank);
    for (int i = rank + 1; i < n; i++) {
      double *to = static_row_of(system, i), factor = to[rank] / from[rank];
      for (int j = rank; j <= n && factor != 0; j++) {
        to[j] -= factor * from[j];
      }
    }
  }
  // The loss must not depend on undetermined directions.
  for (int i = rank; i < n; i++) {
    if (!(fabs(static_row_of(system, i)[n]) <= OF_LOSS * size)) {
      return false;
    }
  }
  // Back substitution. Undetermined directions are set to 0.
  for (int i = rank - 1; i >= 0; i--) {
    const double *row = static_row_of(system, i);
    double sum = row[n];
    for (int j = i + 1; j < rank; j++) {
      sum -= row[j] * x[system->column[j]];
    }
    x[system->column[i]] = sum / row[i];
  }
  return true;
}

S2Status s2_world_rest_traced(S2World *world, const double *f, S2Trace *trace) {
  size_t size = s2_world_image_size(world), bytes = sizeof(double) * (size_t)world->v.count;
  unsigned char *image = s2_memory_take(size);
  S2WorldStats stats = world->stats;
  S2Callbacks callbacks = world->callbacks;
  S2WorldDef *def = &world->kept.def, plain = s2_world_def();
  s2_world_changed(world);
  s2_world_image_write(world, image);
  // Start from rest, under the applied forces.
  if (bytes > 0) {
    memset(world->v.at, 0, bytes);
    memcpy(world->f.at, f, bytes);
  }
  // Take one implicit solve. Settings that do not affect the equilibrium have their default values.
  world->callbacks.motion = NULL;
  def->alpha = plain.alpha;
  def->beta = plain.beta;
  def->stepping = S2_SPECULATIVE; // one solve
  def->substeps = plain.substeps;
  def->stabilization = plain.stabilization;
  def->geometric_stiffness = plain.geometric_stiffness;
  def->flow = plain.flow; // both flows solve the same problem at rest.
  // Record the step, including projections of joints without an error.
  s2_notes_clear(&trace->notes);
  trace->notes.projects = true;
  world->notes = &trace->notes;
  S2Status status = s2_world_step(world);
  world->notes = NULL;
  // Restore the state of the world.
  world->callbacks = callbacks;
  world->stats = stats;
  S2Status back = s2_world_image_read(world, image, size);
  s2_memory_free(image);
  return status.code != S2_OK ? status : back;
}

S2Status s2_static_vjp(const S2Trace *trace, int count, const int32_t *at,
                       S2WorldGradient *gradient, S2Arena *arena) {
  S2ArenaMark mark = s2_arena_mark(arena);
  S2WorldGradient *one = s2_world_gradient_like(gradient, arena);
  System system = {count, S2_TAKE(arena, double, (size_t)count *(size_t)(count + 1)),
                   S2_TAKE(arena, int, count)};
  double *x = S2_TAKE(arena, double, count);
  S2Status status = s2_ok();
  // Compute (I - dQ/dq)' with one sweep per coordinate.
  for (int i = 0; i < count && status.code == S2_OK; i++) {
    s2_world_gradient_clear(one);
    one->q[at[i]] = 1;
    status = s2_trace_vjp(trace, one, arena);
    for (int j = 0; j < count; j++) {
      static_row_of(&system, j)[i] = (i == j) - one->q[at[j]];
    }
    static_row_of(&system, i)[count] = gradient->q[at[i]];
  }
  // Solve for x if it is determined.
  if (status.code == S2_OK && !static_solve(&system, x)) {
    status = s2_error(
        S2_INVALID, "world:solve_static() ended in a state of rest that is not unique (friction "
                    "holds bodies, or no force moves them back), so the result has no derivative");
  }
  // Compute dl/dp = (dQ/dp)' x with one more sweep.
  s2_world_gradient_clear(one);
  for (int i = 0; i < count; i++) {
    one->q[at[i]] = x[i];
  }
  if (status.code == S2_OK) {
    status = s2_trace_vjp(trace, one, arena);
  }
  // Clear derivatives with respect to data that do not affect the equilibrium.
  size_t numbers = 3 * (size_t)gradient->slots;
  memset(one->v, 0, sizeof(double) * numbers);
  memset(gradient->f, 0, sizeof(double) * numbers); // the forces have already had their effect
  for (int i = 0; i < count; i++) {                 // initial poses have no effect
    one->q[at[i]] = gradient->q[at[i]] = gradient->v[at[i]] = 0;
  }
  for (int i = 0; i < gradient->joints; i++) { // stored impulses have no effect
    memset(one->joint[i].impulse, 0, sizeof one->joint[i].impulse);
    memset(gradient->joint[i].impulse, 0, sizeof gradient->joint[i].impulse);
    one->joint[i].reaction_time = gradient->joint[i].reaction_time = 0;
  }
  one->dt = one->alpha = one->beta = 0; // the step length has no effect
  s2_world_gradient_add(gradient, one);
  s2_arena_rewind(arena, mark);
  return status;
}
