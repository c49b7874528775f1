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
  int first;      // its row among those that are left; a contact's friction is the next one
  double mu;      // of scaled impulses
  double size[2]; // of its rows: turns scaled impulses and speeds into velocities
} Unit;

typedef struct Held { // a row that holds, and its unknown
  int row, friction;  // friction: of a contact that slides, else -1
  double slope;       // of that: scaled impulse over the normal one
} Held;

typedef struct Active {
  S2Condensed of;
  S2Arena *arena;
  int units, held_count;
  Unit *unit;
  Held *held;
  double *x, *q, *u;          // rows that are left, scaled: impulses, speeds without them, speeds
  double *size;               // of them: turns both into velocities
  double *lambda, *v, *speed; // of the whole problem
  double slack;               // m/s
  S2DenseLu lu;               // of the rows that hold
  bool factored;              // it is that of the answer
  double *basis;              // of impulses that no row which holds sees: one after the other
  int basis_count;
} Active;

static inline const S2Row *active_row_of(const Active *active, int k) {
  return &active->of.problem->row[active->of.row[k]];
}

static inline double active_root_of(const Active *active, int k) {
  return active->of.root[active->of.row[k]];
}

// Of a boxed row: the scaled impulse at its upper (PLUS) or lower (MINUS) bound.
double s2_active_bound(const Active *active, const Unit *unit, Mode mode);
// Of the guess in x and u.
Mode s2_active_first_mode(const Active *active, const Unit *unit);
// Of a contact or limit that closes.
Mode s2_active_closing_mode(const Active *active, const Unit *unit);
// m/s: what the law misses at x and u of the unit that is worst.
double s2_active_violation(const Active *active);
// Gives units the modes that x and u ask for: `all` that are wrong, or the one that misses its law
// by most. Returns how many are wrong.
int s2_active_change_modes(Active *active, bool all);

#endif
