// Records the iterations of a solve, for convergence plots. Each iterative solver fills the record
// that the caller supplies. NULL disables recording at no cost.
#ifndef S2_HISTORY_H
#define S2_HISTORY_H

typedef struct S2Iterate {
  double residual; // the residual that the solver compares with its tolerance
  double step;     // Fraction of the step taken, 0..1; 1 if the method has no step length.
  // Target complementarity (mu or kappa), or the compliance of a proximal step. 0 if the method has
  // neither.
  double mu;
} S2Iterate;

typedef struct S2History {
  S2Iterate *at; // array allocated by the caller
  int capacity;
  int count; // number of iterations; only the first `capacity` are recorded
} S2History;

static inline void s2_history_add(S2History *history, double residual, double step, double mu) {
  if (history != 0) {
    if (history->count < history->capacity) {
      history->at[history->count] = (S2Iterate){residual, step, mu};
    }
    history->count += 1;
  }
}

#endif
