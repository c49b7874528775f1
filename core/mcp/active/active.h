// Private header of the active-set solver (active.c): its units and their modes (active_modes.c).
#ifndef S2_ACTIVE_H
#define S2_ACTIVE_H

#include "mcp/active/condensed.h"
#include "mcp/pivot/dense_lu.h"

typedef enum Kind { EQUATION, NORMAL, CONTACT, BOX } Kind;
// A boxed row has mode PLUS at hi, MINUS at lo and STICK between them.
typedef enum Mode { OPEN, STICK, PLUS, MINUS } Mode;

typedef struct Unit {
  Kind kind;
  Mode mode;
  // first row of the unit in the condensed problem; the friction row of a contact follows it
  int first;
  double mu;      // friction coefficient for scaled impulses
  double size[2]; // factor for each row that converts scaled impulses and speeds to velocities
} Unit;

typedef struct Held { // an active row, whose condition holds with equality, and its unknown
  int row, friction;  // friction row if the contact slides, else -1
  double slope;       // scaled friction impulse divided by the scaled normal impulse
} Held;

typedef struct Active {
  S2Condensed of;
  S2Arena *arena;
  int units, held_count;
  Unit *unit;
  Held *held;
  // scaled quantities of the condensed rows: impulses x, speeds q at zero impulses, and speeds u
  double *x, *q, *u;
  double *size;               // factors that convert x and u to velocities
  double *lambda, *v, *speed; // impulses, node velocities and row speeds of the whole problem
  double slack;               // m/s
  S2DenseLu lu;               // factors of the system of the active rows
  bool factored;              // True if lu belongs to the answer.
  // basis of the impulses that do not change the speed of any active row
  double *basis;
  int basis_count;
} Active;

static inline const S2Row *active_row_of(const Active *active, int k) {
  return &active->of.problem->row[active->of.row[k]];
}

static inline double active_root_of(const Active *active, int k) {
  return active->of.root[active->of.row[k]];
}

// Returns the scaled impulse of a boxed row at its upper (PLUS) or lower (MINUS) bound.
double s2_active_bound(const Active *active, const Unit *unit, Mode mode);
// Returns the mode that the guess in x and u indicates.
Mode s2_active_first_mode(const Active *active, const Unit *unit);
// Returns the mode of a contact or limit when it closes.
Mode s2_active_closing_mode(const Active *active, const Unit *unit);
// Returns the largest violation of a unit's law at x and u, in m/s.
double s2_active_violation(const Active *active);
// Corrects the modes that are wrong at x and u. If `all` is not set, only corrects the unit with
// the largest violation. Returns the number of wrong units.
int s2_active_change_modes(Active *active, bool all);

#endif
