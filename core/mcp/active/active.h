// Private to the active set (active.c): its units and their modes (active_modes.c).
#ifndef S2_ACTIVE_H
#define S2_ACTIVE_H

#include "mcp/active/condensed.h"
#include "mcp/pivot/dense_lu.h"

typedef enum Kind { EQUATION, NORMAL, CONTACT, BOX } Kind;
typedef enum Mode { OPEN, STICK, PLUS, MINUS } Mode; // a box: STICK between its bounds, PLUS at hi

typedef struct Unit {
  Kind kind;
  Mode mode;
  // its first row in the condensed problem; the friction of a contact is the next one
  int first;
  double mu;      // for scaled impulses
  double size[2]; // of its rows: converts scaled impulses and speeds to velocities
} Unit;

typedef struct Held { // an active row (its condition holds with equality), and its unknown
  int row, friction;  // friction: of a sliding contact, else -1
  double slope;       // scaled friction impulse divided by the normal one
} Held;

typedef struct Active {
  S2Condensed of;
  S2Arena *arena;
  int units, held_count;
  Unit *unit;
  Held *held;
  // of the condensed rows, scaled: impulses, speeds at zero impulses, speeds
  double *x, *q, *u;
  double *size;               // of these rows: converts both to velocities
  double *lambda, *v, *speed; // of the whole problem
  double slack;               // m/s
  S2DenseLu lu;               // of the active rows
  bool factored;              // whether lu belongs to the answer
  // of the impulses that change no speed of an active row: one vector after the other
  double *basis;
  int basis_count;
} Active;

static inline const S2Row *active_row_of(const Active *active, int k) {
  return &active->of.problem->row[active->of.row[k]];
}

static inline double active_root_of(const Active *active, int k) {
  return active->of.root[active->of.row[k]];
}

// The scaled impulse of a boxed row at its upper (PLUS) or lower (MINUS) bound.
double s2_active_bound(const Active *active, const Unit *unit, Mode mode);
// The mode that the guess in x and u indicates.
Mode s2_active_first_mode(const Active *active, const Unit *unit);
// The mode of a contact or limit that closes.
Mode s2_active_closing_mode(const Active *active, const Unit *unit);
// m/s: the largest violation of a unit's law at x and u.
double s2_active_violation(const Active *active);
// Changes the modes of the units with a wrong mode at x and u: of all these units (`all`), or of
// the unit with the largest violation. Returns the number of wrong units.
int s2_active_change_modes(Active *active, bool all);

#endif
