// A record of a solve, one entry per iteration, for plots of convergence. Each iterative solver
// fills the record that the caller supplies; NULL costs nothing.
#ifndef S2_HISTORY_H
#define S2_HISTORY_H

typedef struct S2Iterate {
  double residual; // the measure that the solver's tolerance bounds
  double step;     // fraction of the step taken, 0..1; 1 where the method has none
  double mu;       // complementarity aimed at (mu or kappa), or the compliance of a proximal step;
                   // 0 where the method has none
} S2Iterate;

typedef struct S2History {
  S2Iterate *at; // the caller's memory
  int capacity;
  int count; // iterations seen; only the first `capacity` are kept
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
