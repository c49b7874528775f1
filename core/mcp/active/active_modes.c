// The units of the active-set solver: the modes that the impulses and speeds of a try indicate
// (active.h).
#include "mcp/active/active.h"

#include "linalg/numbers.h"
#include "mcp/solvers.h"

#include <math.h>

double s2_active_bound(const Active *active, const Unit *unit, Mode mode) {
  const S2Row *row = active_row_of(active, unit->first);
  return (mode == PLUS ? row->hi : row->lo) * active_root_of(active, unit->first);
}

// For the guess, the sign of impulse minus speed selects one of the two branches of a unit's law.
// If the difference is only rounding, choose open or sticking.
Mode s2_active_first_mode(const Active *active, const Unit *unit) {
  int k = unit->first;
  double normal = active->x[k] - active->u[k];
  if (unit->kind == BOX) {
    return normal > s2_active_bound(active, unit, PLUS)    ? PLUS
           : normal < s2_active_bound(active, unit, MINUS) ? MINUS
                                                           : STICK;
  }
  if (unit->kind == EQUATION) {
    return STICK;
  }
  if (!(normal * unit->size[0] > active->slack)) {
    return OPEN;
  }
  double across = unit->kind == CONTACT ? active->x[k + 1] - active->u[k + 1] : 0;
  double over = (fabs(across) - unit->mu * normal) * unit->size[1];
  return unit->kind == NORMAL || over <= active->slack ? STICK : across > 0 ? PLUS : MINUS;
}

// A closing contact slides in the direction of its motion.
Mode s2_active_closing_mode(const Active *active, const Unit *unit) {
  double slip = unit->kind == CONTACT ? active->u[unit->first + 1] * unit->size[1] : 0;
  return slip < -active->slack ? PLUS : slip > active->slack ? MINUS : STICK;
}

// Returns the excess of a contact's friction over its bound, m/s.
static double beyond_bound(const Active *active, const Unit *unit) {
  int k = unit->first;
  return (fabs(active->x[k + 1]) - unit->mu * active->x[k]) * unit->size[1];
}

static Mode next_mode(const Active *active, const Unit *unit) {
  int k = unit->first;
  double slack = active->slack, x = active->x[k] * unit->size[0], u = active->u[k] * unit->size[0];
  Mode mode = unit->mode;
  if (unit->kind == EQUATION) {
    return STICK;
  }
  if (unit->kind == BOX) {
    double above = x - s2_active_bound(active, unit, PLUS) * unit->size[0],
           below = s2_active_bound(active, unit, MINUS) * unit->size[0] - x;
    return mode == PLUS    ? (u > slack ? STICK : PLUS)
           : mode == MINUS ? (u < -slack ? STICK : MINUS)
           : above > slack ? PLUS
           : below > slack ? MINUS
                           : STICK;
  }
  // An open contact closes if its bodies approach each other. A sticking contact slides if its
  // friction is above the bound. A contact opens if its impulse is negative. A sliding contact
  // sticks if its slip has changed direction.
  bool rough = unit->kind == CONTACT;
  double slip = rough ? active->u[k + 1] * unit->size[1] : 0;
  if (mode == OPEN) {
    return u < -slack ? s2_active_closing_mode(active, unit) : OPEN;
  }
  if (mode == STICK && rough) {
    double over = beyond_bound(active, unit);
    return !(over > slack) ? STICK : active->x[k + 1] > 0 ? PLUS : MINUS;
  }
  if (x < -slack) {
    return OPEN;
  }
  return mode == PLUS && slip > slack ? STICK : mode == MINUS && slip < -slack ? STICK : mode;
}

// Returns the violation of a unit's law at x and u, m/s.
static double unit_violation(const Active *active, const Unit *unit) {
  int k = unit->first;
  double x = active->x[k], least = unit->kind == EQUATION ? -INFINITY : 0, most = INFINITY;
  if (unit->kind == BOX) {
    least = s2_active_bound(active, unit, MINUS);
    most = s2_active_bound(active, unit, PLUS);
  }
  double worst = fabs(x - fmin(fmax(x - active->u[k], least), most)) * unit->size[0];
  if (unit->kind == CONTACT) {
    double t = active->x[k + 1], bound = unit->mu * fmax(x, 0);
    worst = s2_larger(worst, fabs(t - s2_clip(t - active->u[k + 1], bound)) * unit->size[1]);
  }
  return worst;
}

double s2_active_violation(const Active *active) {
  double worst = 0;
  for (int i = 0; i < active->units; i++) {
    worst = s2_larger(worst, unit_violation(active, &active->unit[i]));
  }
  return worst;
}

// Returns true if the unit is a sticking contact that must slide next.
static bool unit_slips(const Unit *unit, Mode next) {
  return unit->kind == CONTACT && unit->mode == STICK && (next == PLUS || next == MINUS);
}

// The friction rows of two sticking contact points between the same bodies are nearly linearly
// dependent, so their friction impulses may grow against each other without bound. If one of these
// points slides, the other often sticks. If such contacts would slide in opposite directions, only
// the contact furthest beyond its bound slides, and the others stick for another try. Returns true
// if unit i sticks. `next` contains the modes that the try indicates for all units.
static bool unit_yields(const Active *active, const Mode *next, int i) {
  const Unit *unit = &active->unit[i];
  if (!unit_slips(unit, next[i])) {
    return false;
  }
  const S2Row *row = active_row_of(active, unit->first);
  double own = beyond_bound(active, unit);
  bool yields = false;
  for (int j = 0; j < active->units && !yields; j++) {
    const Unit *other = &active->unit[j];
    if (!unit_slips(other, next[j]) || next[j] == next[i]) {
      continue;
    }
    const S2Row *of = active_row_of(active, other->first);
    double beyond = beyond_bound(active, other);
    yields = of->a == row->a && of->b == row->b && (beyond > own || (beyond == own && j < i));
  }
  return yields;
}

// Gives all units the modes that x and u indicate. Returns the number of wrong units.
static int change_all_modes(Active *active) {
  Mode *next = S2_TAKE(active->arena, Mode, active->units);
  bool *yields = S2_TAKE(active->arena, bool, active->units);
  int wrong = 0;
  for (int i = 0; i < active->units; i++) {
    next[i] = next_mode(active, &active->unit[i]);
    wrong += next[i] != active->unit[i].mode;
  }
  for (int i = 0; i < active->units; i++) {
    yields[i] = unit_yields(active, next, i);
  }
  for (int i = 0; i < active->units; i++) {
    active->unit[i].mode = yields[i] ? STICK : next[i];
  }
  return wrong;
}

// Changes only the mode of the unit with the largest violation.
static int change_worst_mode(Active *active) {
  Unit *worst = NULL;
  double most = -1;
  int wrong = 0;
  for (int i = 0; i < active->units; i++) {
    Unit *unit = &active->unit[i];
    Mode next = next_mode(active, unit);
    double missed = next == unit->mode ? -1 : unit_violation(active, unit);
    if (missed > most) {
      most = missed;
      worst = unit;
    }
    wrong += next != unit->mode;
  }
  if (worst != NULL) {
    worst->mode = next_mode(active, worst);
  }
  return wrong;
}

int s2_active_change_modes(Active *active, bool all) {
  return all ? change_all_modes(active) : change_worst_mode(active);
}
