// Private to core/dynamics/small: the complementarity problem of a stage.
// The method is that of mcp/active (active.c explains it): equations are eliminated, the modes of
// contacts, limits and boxed rows are searched from the guess, and impulses that the modes leave
// undetermined have the least norm. All arrays have fixed sizes. The functions are in
// small_condense.c (elimination of equations), small_modes.c (modes) and small_solve.c (the
// search).
#ifndef S2_SMALL_PROBLEM_H
#define S2_SMALL_PROBLEM_H

#include "dynamics/small/small.h"

enum { S2_SMALL_ALL = S2_SMALL_EQUATIONS + S2_SMALL_SIDED };

// Equations whose pivot is below this fraction of their diagonal are dependent (condensed.c).
#define S2_SMALL_DEPENDENT 1e-6

typedef enum Kind { NORMAL, CONTACT, BOX } Kind;
// A boxed row has mode PLUS at hi, MINUS at lo and STICK between them.
typedef enum Mode { OPEN, STICK, PLUS, MINUS } Mode;

typedef struct Unit {
  Kind kind;
  Mode mode;
  int first;      // first condensed row; the friction row of a contact follows
  double mu;      // friction coefficient for scaled impulses
  double size[2]; // converts scaled impulses and speeds of each row to velocities
  double lo, hi;  // scaled bounds of a boxed row
} Unit;

typedef struct Held {
  int row, friction; // friction row if the contact slides, else -1
  double slope;      // scaled friction impulse per scaled normal impulse
} Held;

struct S2SmallProblem {
  int equations, rows, units, held;
  int equation[S2_SMALL_EQUATIONS], row[S2_SMALL_SIDED];
  // Per row of the island: Delassus diagonal w, its root, and the factor that makes an angular
  // speed a velocity.
  double w[S2_SMALL_ROWS], root[S2_SMALL_ROWS], weight[S2_SMALL_ROWS];
  // The matrix J_left W^-1 J' of all unknown rows, equations first, after the elimination of the
  // equations: L and U of the equations (L has the diagonal 1), L^-1 times the columns of the other
  // rows, these rows times U^-1, and their Schur complement. `inverse` is 1 / U_ii.
  double s[S2_SMALL_ALL][S2_SMALL_ALL], inverse[S2_SMALL_EQUATIONS];
  double z[S2_SMALL_SIDED][S2_SMALL_EQUATIONS]; // the columns of the other rows, transposed
  double g[S2_SMALL_SIDED][S2_SMALL_SIDED];     // scaled by 1 / root on both sides
  double x[S2_SMALL_SIDED], q[S2_SMALL_SIDED], u[S2_SMALL_SIDED], size[S2_SMALL_SIDED];
  Unit unit[S2_SMALL_UNITS];
  Held of[S2_SMALL_SIDED];
  // Factors of the system of the held rows, with complete pivoting.
  double lu[S2_SMALL_SIDED][S2_SMALL_SIDED];
  int pivot_row[S2_SMALL_SIDED], pivot_column[S2_SMALL_SIDED], rank;
  // Impulses of all rows, multiplied by `root`, that do not change the speed of a held row.
  double basis[S2_SMALL_SIDED][S2_SMALL_ROWS];
  double slack; // m/s
};

// e := L^-1 e, for one number per equation
static inline void s2_small_forward(const S2SmallProblem *of, double *e) {
  for (int i = 1; i < of->equations; i++) {
    const double *l = of->s[i];
    double sum = e[i];
    for (int c = 0; c < i; c++) {
      sum -= l[c] * e[c];
    }
    e[i] = sum;
  }
}

// e := U^-1 e
static inline void s2_small_back(const S2SmallProblem *of, double *e) {
  for (int i = of->equations - 1; i >= 0; i--) {
    const double *u = of->s[i];
    double sum = e[i];
    for (int c = i + 1; c < of->equations; c++) {
      sum -= u[c] * e[c];
    }
    e[i] = sum * of->inverse[i];
  }
}

// Functions in small_modes.c.
// Returns the mode that the guess in x and u indicates.
Mode s2_small_first_mode(const S2SmallProblem *problem, const Unit *unit);
// Returns the mode of a contact or limit when it closes.
Mode s2_small_closing_mode(const S2SmallProblem *problem, const Unit *unit);
// Changes wrong modes: all of them, or only the one with the largest violation. Returns the number
// of wrong modes.
int s2_small_change_modes(const S2SmallStage *stage, S2SmallProblem *problem, bool all);

#endif
