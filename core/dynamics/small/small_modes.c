// The modes of contacts, limits and boxed rows that impulses and speeds indicate.
// The rules are those of mcp/active/active_modes.c.
#include "dynamics/small/small_problem.h"
#include "linalg/numbers.h"

Mode s2_small_first_mode(const S2SmallProblem *to, const Unit *unit) {
  int k = unit->first;
  double normal = to->x[k] - to->u[k];
  if (unit->kind == BOX) {
    return normal > unit->hi ? PLUS : normal < unit->lo ? MINUS : STICK;
  }
  if (!(normal * unit->size[0] > to->slack)) {
    return OPEN;
  }
  if (unit->kind == NORMAL) {
    return STICK;
  }
  double across = to->x[k + 1] - to->u[k + 1];
  double over = (fabs(across) - unit->mu * normal) * unit->size[1];
  return over <= to->slack ? STICK : across > 0 ? PLUS : MINUS;
}

// A closing contact slides in the direction of its motion.
Mode s2_small_closing_mode(const S2SmallProblem *to, const Unit *unit) {
  double slip = unit->kind == CONTACT ? to->u[unit->first + 1] * unit->size[1] : 0;
  return slip < -to->slack ? PLUS : slip > to->slack ? MINUS : STICK;
}

static double small_beyond_bound(const S2SmallProblem *to, const Unit *unit) {
  int k = unit->first;
  return (fabs(to->x[k + 1]) - unit->mu * to->x[k]) * unit->size[1];
}

// The mode that x and u of a try indicate.
static Mode small_next_mode(const S2SmallProblem *to, const Unit *unit) {
  int k = unit->first;
  double slack = to->slack, x = to->x[k] * unit->size[0], u = to->u[k] * unit->size[0];
  Mode mode = unit->mode;
  if (unit->kind == BOX) {
    double above = x - unit->hi * unit->size[0], below = unit->lo * unit->size[0] - x;
    return mode == PLUS    ? (u > slack ? STICK : PLUS)
           : mode == MINUS ? (u < -slack ? STICK : MINUS)
           : above > slack ? PLUS
           : below > slack ? MINUS
                           : STICK;
  }
  bool rough = unit->kind == CONTACT;
  double slip = rough ? to->u[k + 1] * unit->size[1] : 0;
  if (mode == OPEN) {
    return u < -slack ? s2_small_closing_mode(to, unit) : OPEN;
  }
  if (mode == STICK && rough) {
    return !(small_beyond_bound(to, unit) > slack) ? STICK : to->x[k + 1] > 0 ? PLUS : MINUS;
  }
  if (x < -slack) {
    return OPEN;
  }
  return mode == PLUS && slip > slack ? STICK : mode == MINUS && slip < -slack ? STICK : mode;
}

static double small_unit_violation(const S2SmallProblem *to, const Unit *unit) {
  int k = unit->first;
  double x = to->x[k], least = unit->kind == BOX ? unit->lo : 0;
  double most = unit->kind == BOX ? unit->hi : INFINITY;
  double worst = fabs(x - fmin(fmax(x - to->u[k], least), most)) * unit->size[0];
  if (unit->kind == CONTACT) {
    double t = to->x[k + 1], bound = unit->mu * fmax(x, 0);
    worst = s2_larger(worst, fabs(t - s2_clip(t - to->u[k + 1], bound)) * unit->size[1]);
  }
  return worst;
}

static bool small_slips(const Unit *unit, Mode next) {
  return unit->kind == CONTACT && unit->mode == STICK && (next == PLUS || next == MINUS);
}

// If two sticking points between the same bodies would slide in opposite directions, only the one
// that is further beyond its bound slides. Returns true if unit i sticks for another try.
static bool small_yields(const S2SmallStage *stage, const S2SmallProblem *to, const Mode *next,
                         int i) {
  const Unit *unit = &to->unit[i];
  if (!small_slips(unit, next[i])) {
    return false;
  }
  const S2SmallRow *row = &stage->small->row[to->row[unit->first]];
  double own = small_beyond_bound(to, unit);
  for (int j = 0; j < to->units; j++) {
    const Unit *other = &to->unit[j];
    if (!small_slips(other, next[j]) || next[j] == next[i]) {
      continue;
    }
    const S2SmallRow *of = &stage->small->row[to->row[other->first]];
    double beyond = small_beyond_bound(to, other);
    if (of->a == row->a && of->b == row->b && (beyond > own || (beyond == own && j < i))) {
      return true;
    }
  }
  return false;
}

int s2_small_change_modes(const S2SmallStage *stage, S2SmallProblem *to, bool all) {
  Mode next[S2_SMALL_UNITS];
  bool yielding[S2_SMALL_UNITS] = {false};
  int wrong = 0, worst = -1;
  double most = -1;
  for (int i = 0; i < to->units; i++) {
    next[i] = small_next_mode(to, &to->unit[i]);
    wrong += next[i] != to->unit[i].mode;
  }
  for (int i = 0; i < to->units && wrong > 0; i++) {
    yielding[i] = all && small_yields(stage, to, next, i);
    double missed =
        all || next[i] == to->unit[i].mode ? -1 : small_unit_violation(to, &to->unit[i]);
    worst = missed > most ? i : worst;
    most = fmax(most, missed);
  }
  for (int i = 0; i < to->units && wrong > 0; i++) {
    bool changes = all ? !yielding[i] : i == worst;
    to->unit[i].mode = changes ? next[i] : all ? STICK : to->unit[i].mode;
  }
  return wrong;
}
