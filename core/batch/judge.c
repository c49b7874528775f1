#include "batch/judge.h"

#include "base/memory.h"
#include "dynamics/control/control.h"

#include <math.h>
#include <string.h>

static const double TURN = 6.283185307179586476925, HALF_TURN = 3.141592653589793238463; // rad

struct S2Judge {
  int terms, bounds, factors;
  S2CostTerm *term;
  S2Bound *bound;
  S2Factor *factor;
};

// ---- Norms ------------------------------------------------------------------------------------

const char *const s2_norm_names[] = {"linear", "quadratic", "smooth_abs", "huber",
                                     "l2",     "power",     NULL};

double s2_norm_default(S2Norm norm) {
  static const double given[S2_NORM_COUNT] = {
      [S2_NORM_SMOOTH_ABS] = 0.1, [S2_NORM_HUBER] = 1, [S2_NORM_L2] = 0.1, [S2_NORM_POWER] = 2};
  return given[norm];
}

// Returns the term of one residual, and its slope.
static double norm_of(S2Norm norm, double p, double r, double *slope) {
  double size = fabs(r);
  double root;
  switch (norm) {
  case S2_NORM_QUADRATIC:
    *slope = r;
    return r * r / 2;
  case S2_NORM_SMOOTH_ABS:
    root = sqrt(r * r + p * p);
    *slope = r / root;
    return root - p;
  case S2_NORM_HUBER:
    *slope = size <= p ? r : copysign(p, r);
    return size <= p ? r * r / 2 : p * (size - p / 2);
  case S2_NORM_POWER: // for p = 1, the mean of both slopes at the kink
    *slope = size > 0 ? copysign(p * pow(size, p - 1), r) : 0;
    return pow(size, p);
  default:
    *slope = 1;
    return r;
  }
}

double s2_norm(S2Norm norm, double p, int count, const double *r, double *slope) {
  double sum = 0;
  if (norm != S2_NORM_L2) {
    for (int i = 0; i < count; i++) {
      double ignored;
      sum += norm_of(norm, p, r[i], slope != NULL ? &slope[i] : &ignored);
    }
    return sum;
  }
  // These norms depend on all residuals together.
  for (int i = 0; i < count; i++) {
    sum += r[i] * r[i];
  }
  double root = sqrt(sum + p * p);
  for (int i = 0; i < count && slope != NULL; i++) {
    slope[i] = root > 0 ? r[i] / root : 0;
  }
  return root - p;
}

// ---- Factors ----------------------------------------------------------------------------------

const char *const s2_shape_names[] = {"gaussian",   "linear",     "quadratic", "long_tail",
                                      "reciprocal", "hyperbolic", "cosine",    NULL};

// The expressions and their order are those of sim.env.tolerance, so both give the same bits.
double s2_tolerance(const S2Factor *factor, double x) {
  double v = factor->value;
  if (factor->lo <= x && x <= factor->hi) {
    return 1;
  }
  if (factor->margin == 0) {
    return 0;
  }
  // The distance in units of the margin.
  double d = (x < factor->lo ? factor->lo - x : x - factor->hi) / factor->margin;
  switch (factor->shape) {
  case S2_FACTOR_LINEAR:
    return fmax(0, 1 - d * (1 - v));
  case S2_FACTOR_QUADRATIC:
    return fmax(0, 1 - d * d * (1 - v));
  case S2_FACTOR_LONG_TAIL:
    return 1 / (d * d * (1 / v - 1) + 1);
  case S2_FACTOR_RECIPROCAL:
    return 1 / (d * (1 / v - 1) + 1);
  case S2_FACTOR_HYPERBOLIC: {
    double e = exp(d * log(1 / v + sqrt(1 / (v * v) - 1)));
    return 2 / (e + 1 / e);
  }
  case S2_FACTOR_COSINE: {
    double s = d * acos(2 * v - 1);
    return s < HALF_TURN ? (1 + cos(s)) / 2 : 0;
  }
  default:
    return exp(log(v) * d * d);
  }
}

// The derivative of s2_tolerance with respect to x. At a kink it is 0.
static double tolerance_slope(const S2Factor *factor, double x) {
  double v = factor->value, value = s2_tolerance(factor, x);
  if ((factor->lo <= x && x <= factor->hi) || value == 0) {
    return 0;
  }
  bool below = x < factor->lo;
  double d = (below ? factor->lo - x : x - factor->hi) / factor->margin;
  double by_x = (below ? -1 : 1) / factor->margin;
  // The derivatives of the expressions in s2_tolerance, written with its value.
  switch (factor->shape) {
  case S2_FACTOR_LINEAR:
    return by_x * (v - 1);
  case S2_FACTOR_QUADRATIC:
    return by_x * 2 * d * (v - 1);
  case S2_FACTOR_LONG_TAIL:
    return by_x * 2 * d * (1 - 1 / v) * value * value;
  case S2_FACTOR_RECIPROCAL:
    return by_x * (1 - 1 / v) * value * value;
  case S2_FACTOR_HYPERBOLIC: {
    double w = log(1 / v + sqrt(1 / (v * v) - 1));
    return -by_x * w * tanh(w * d) * value;
  }
  case S2_FACTOR_COSINE: {
    double w = acos(2 * v - 1);
    return -by_x * w * sin(w * d) / 2;
  }
  default:
    return by_x * 2 * d * log(v) * value;
  }
}

// ---- Readings ---------------------------------------------------------------------------------

// A coordinate of a point on a body. `slope` receives its derivative with respect to the angle.
static S2Status reading_point(const S2World *world, const S2Reading *reading, double *value,
                              double *slope) {
  double centre, angle;
  S2_TRY(s2_body_get(world, reading->body, (S2BodyField)reading->field, &centre));
  S2_TRY(s2_body_get(world, reading->body, S2_BODY_ANGLE, &angle));
  double c = cos(angle), s = sin(angle);
  double arm[2] = {c * reading->at.x - s * reading->at.y, s * reading->at.x + c * reading->at.y};
  bool along_x = reading->field == S2_BODY_X;
  *value = centre + arm[along_x ? 0 : 1];
  *slope = along_x ? -arm[1] : arm[0];
  return s2_ok();
}

S2Status s2_reading_get(const S2World *world, const S2Reading *reading, const double *controls,
                        double *value) {
  if (reading->kind == S2_READ_BODY) {
    return s2_body_get(world, reading->body, (S2BodyField)reading->field, value);
  }
  if (reading->kind == S2_READ_JOINT) {
    return s2_joint_get(world, reading->joint, (S2JointField)reading->field, value);
  }
  if (reading->kind == S2_READ_TOUCHES) {
    bool touches;
    S2_TRY(s2_body_touches(world, reading->body, &touches));
    *value = touches ? 1 : 0;
    return s2_ok();
  }
  if (reading->kind == S2_READ_POINT) {
    double slope;
    return reading_point(world, reading, value, &slope);
  }
  *value = controls == NULL ? 0 : controls[reading->field];
  return s2_ok();
}

S2Status s2_reading_set(S2World *world, const S2Reading *reading, double value) {
  if (reading->kind == S2_READ_CONTROL) {
    return s2_error(S2_INVALID,
                    "a control is a command, not part of the state, so it cannot be set here");
  }
  if (reading->kind == S2_READ_TOUCHES || reading->kind == S2_READ_POINT) {
    return s2_error(S2_INVALID, "%s: cannot be set",
                    reading->kind == S2_READ_POINT ? "a point of a body" : "touches");
  }
  if (reading->kind == S2_READ_BODY) {
    return s2_body_set(world, reading->body, (S2BodyField)reading->field, value);
  }
  // Coordinates follow from the poses. Setting one moves bodies, with everything attached to them.
  if (reading->field == S2_JOINT_ANGLE || reading->field == S2_JOINT_TRANSLATION) {
    S2JointCoordinate set = {reading->joint, value};
    return s2_world_set_coordinates(world, &set, 1);
  }
  return reading->field == S2_JOINT_SPEED
             ? s2_joint_set_speed(world, reading->joint, value)
             : s2_joint_set(world, reading->joint, (S2JointField)reading->field, value);
}

// Checks that the number exists.
static S2Status judge_check_reading(const S2World *world, const S2Reading *reading, int controls) {
  if (reading->kind == S2_READ_CONTROL) {
    if (reading->field < 0 || reading->field >= controls) {
      return s2_error(S2_INVALID, "control %d: there are only %d", reading->field + 1, controls);
    }
    return s2_ok();
  }
  if (reading->kind == S2_READ_POINT &&
      ((reading->field != S2_BODY_X && reading->field != S2_BODY_Y) || !isfinite(reading->at.x) ||
       !isfinite(reading->at.y))) {
    return s2_error(S2_INVALID, "a point of a body has finite coordinates and the fields x and y");
  }
  int most = reading->kind == S2_READ_TOUCHES ? 1
             : reading->kind == S2_READ_JOINT ? (int)S2_JOINT_FIELD_COUNT
                                              : (int)S2_BODY_FIELD_COUNT;
  // Check that the field exists, and that a joint of this type has it.
  if (reading->field < 0 || reading->field >= most) {
    return s2_error(S2_INVALID, "field %d does not exist", reading->field);
  }
  if (reading->kind == S2_READ_JOINT && s2_joint_alive(world, reading->joint)) {
    S2JointInfo info;
    S2_TRY(s2_joint_info(world, reading->joint, &info));
    S2JointField field = (S2JointField)reading->field;
    if (!s2_joint_type_has(info.type, field)) {
      return s2_error(S2_INVALID, "a %s has no field '%s'", s2_joint_type_name(info.type),
                      s2_joint_field_name(field));
    }
  }
  double value;
  return s2_reading_get(world, reading, NULL, &value);
}

// ---- Making -----------------------------------------------------------------------------------

static S2Status judge_check_term(const S2World *world, const S2CostTerm *term, int controls) {
  if (term->count < 1 || term->count > S2_TERM_MOST) {
    return s2_error(S2_INVALID, "1 to %d numbers expected, got %d", S2_TERM_MOST, term->count);
  }
  if ((int)term->norm < 0 || term->norm >= S2_NORM_COUNT) {
    return s2_error(S2_INVALID, "there is no norm %d", (int)term->norm);
  }
  // Checks the domain of a norm's parameter.
  bool free = term->norm == S2_NORM_LINEAR || term->norm == S2_NORM_QUADRATIC;
  double least = term->norm == S2_NORM_POWER ? 1 : 0;
  bool may_be_least = term->norm == S2_NORM_POWER || term->norm == S2_NORM_L2;
  if (!free && !(isfinite(term->p) && (term->p > least || (may_be_least && term->p == least)))) {
    return s2_error(S2_INVALID, "%s: a number %s %g expected, got %g", s2_norm_names[term->norm],
                    may_be_least ? "not below" : "above", least, term->p);
  }
  if (!isfinite(term->weight) || !isfinite(term->terminal)) {
    return s2_error(S2_INVALID, "weights have to be finite");
  }
  for (int i = 0; i < term->count; i++) {
    if (!isfinite(term->goal[i])) {
      return s2_error(S2_INVALID, "goal %d has to be finite, got %g", i + 1, term->goal[i]);
    }
    if (!(isfinite(term->scale[i]) && term->scale[i] >= 0)) {
      return s2_error(S2_INVALID, "scale %d: a finite number above 0 expected, got %g", i + 1,
                      term->scale[i]);
    }
    S2_TRY(judge_check_reading(world, &term->of[i], controls));
  }
  return s2_ok();
}

S2Status s2_judge_create(const S2World *world, int controls, int terms, const S2CostTerm *term,
                         int bounds, const S2Bound *bound, S2Judge **judge) {
  // Check all arguments before any allocation.
  for (int i = 0; i < terms; i++) {
    S2Status status = judge_check_term(world, &term[i], controls);
    if (status.code != S2_OK) {
      return s2_error(status.code, "cost %d: %s", i + 1, status.message);
    }
  }
  for (int i = 0; i < bounds; i++) {
    S2Status status = judge_check_reading(world, &bound[i].of, controls);
    if (status.code == S2_OK && !(bound[i].lo <= bound[i].hi)) {
      status = s2_error(S2_INVALID, "lo <= hi expected, got %g and %g", bound[i].lo, bound[i].hi);
    }
    if (status.code != S2_OK) {
      return s2_error(status.code, "bound %d: %s", i + 1, status.message);
    }
  }
  *judge = s2_memory_take_zeroed(sizeof **judge);
  (*judge)->terms = terms;
  (*judge)->bounds = bounds;
  (*judge)->term = s2_memory_take(sizeof *term * (size_t)(terms + 1));
  (*judge)->bound = s2_memory_take(sizeof *bound * (size_t)(bounds + 1));
  if (terms > 0) {
    memcpy((*judge)->term, term, sizeof *term * (size_t)terms);
    for (int i = 0; i < terms * S2_TERM_MOST; i++) {
      double *scale = &(*judge)->term[i / S2_TERM_MOST].scale[i % S2_TERM_MOST];
      *scale = *scale == 0 ? 1 : *scale;
    }
  }
  if (bounds > 0) {
    memcpy((*judge)->bound, bound, sizeof *bound * (size_t)bounds);
  }
  return s2_ok();
}

S2Status s2_judge_multiply(S2Judge *judge, const S2World *world, int controls, int factors,
                           const S2Factor *factor) {
  for (int i = 0; i < factors; i++) {
    const S2Factor *at = &factor[i];
    S2Status status = judge_check_reading(world, &at->of, controls);
    if (status.code == S2_OK && !(at->lo <= at->hi && at->margin >= 0 && isfinite(at->margin) &&
                                  at->value > 0 && at->value < 1)) {
      status = s2_error(S2_INVALID, "lo <= hi, a margin of at least 0 and a value between 0 and 1 "
                                    "expected");
    }
    if (status.code == S2_OK && ((int)at->shape < 0 || at->shape >= S2_FACTOR_COUNT)) {
      status = s2_error(S2_INVALID, "there is no shape %d", (int)at->shape);
    }
    if (status.code != S2_OK) {
      return s2_error(status.code, "factor %d: %s", i + 1, status.message);
    }
  }
  s2_memory_free(judge->factor);
  judge->factors = factors;
  judge->factor = s2_memory_take(sizeof *factor * (size_t)(factors + 1));
  if (factors > 0) {
    memcpy(judge->factor, factor, sizeof *factor * (size_t)factors);
  }
  return s2_ok();
}

void s2_judge_free(S2Judge *judge) {
  if (judge != NULL) {
    s2_memory_free(judge->factor);
    s2_memory_free(judge->term);
    s2_memory_free(judge->bound);
    s2_memory_free(judge);
  }
}

int s2_judge_terms(const S2Judge *judge) {
  return judge == NULL ? 0 : judge->terms;
}

const S2CostTerm *s2_judge_term(const S2Judge *judge, int index) {
  return &judge->term[index];
}

// ---- Judging ----------------------------------------------------------------------------------

// `slope` (or NULL) receives the derivatives with respect to the residuals.
static S2Status judge_term(const S2CostTerm *term, const S2World *world, const double *controls,
                           double *value, double *slope) {
  double r[S2_TERM_MOST];
  for (int i = 0; i < term->count; i++) {
    double number;
    S2_TRY(s2_reading_get(world, &term->of[i], controls, &number));
    r[i] = term->wrap ? remainder(number - term->goal[i], TURN) : number - term->goal[i];
    r[i] /= term->scale[i];
  }
  *value = s2_norm(term->norm, term->p, term->count, r, slope);
  return s2_ok();
}

// Receives derivatives with respect to readings, times `scale`.
typedef struct Listener {
  S2JudgeSlope *tell; // NULL: none are needed
  void *user;
  double scale;
} Listener;

static S2Status judge_tell(Listener to, const S2World *world, const S2Reading *of, double slope) {
  S2Reading part = *of;
  double value, by_angle;
  if (of->kind != S2_READ_POINT) {
    to.tell(to.user, of, slope);
    return s2_ok();
  }
  S2_TRY(reading_point(world, of, &value, &by_angle));
  part.kind = S2_READ_BODY;
  to.tell(to.user, &part, slope);
  part.field = S2_BODY_ANGLE;
  to.tell(to.user, &part, slope * by_angle);
  return s2_ok();
}

// Adds sign * weight_i * n_i to the sum for each term i, in order. Uses the terminal weights if
// `terminal` is true.
static S2Status judge_add(const S2Judge *judge, const S2World *world, const double *controls,
                          bool terminal, double sign, double *sum, Listener to) {
  for (int i = 0; i < s2_judge_terms(judge); i++) {
    const S2CostTerm *term = &judge->term[i];
    double value, slope[S2_TERM_MOST] = {0}, weight = terminal ? term->terminal : term->weight;
    if (weight == 0) {
      continue;
    }
    S2_TRY(judge_term(term, world, controls, &value, to.tell != NULL ? slope : NULL));
    *sum += sign * (weight * value);
    for (int k = 0; k < term->count && to.tell != NULL; k++) {
      double by = sign * to.scale * weight * slope[k] / term->scale[k];
      S2_TRY(judge_tell(to, world, &term->of[k], by));
    }
  }
  return s2_ok();
}

S2Status s2_judge_running(const S2Judge *judge, const S2World *world, const double *controls,
                          double *cost) {
  *cost = 0;
  return judge_add(judge, world, controls, false, 1, cost, (Listener){0});
}

S2Status s2_judge_slopes(const S2Judge *judge, const S2World *world, const double *controls,
                         bool terminal, double scale, double *cost, S2JudgeSlope *tell,
                         void *user) {
  *cost = 0;
  return judge_add(judge, world, controls, terminal, 1, cost, (Listener){tell, user, scale});
}

// Adds the product of the factors.
static S2Status judge_factors(const S2Judge *judge, const S2World *world, const double *controls,
                              double *reward, Listener to) {
  int count = judge == NULL ? 0 : judge->factors;
  double product = 1;
  for (int i = 0; i < count; i++) {
    double value;
    S2_TRY(s2_reading_get(world, &judge->factor[i].of, controls, &value));
    product *= s2_tolerance(&judge->factor[i], value);
  }
  for (int i = 0; i < count && to.tell != NULL; i++) {
    double slope = 1, value;
    for (int k = 0; k < count; k++) {
      S2_TRY(s2_reading_get(world, &judge->factor[k].of, controls, &value));
      slope *= k == i ? tolerance_slope(&judge->factor[k], value)
                      : s2_tolerance(&judge->factor[k], value);
    }
    S2_TRY(judge_tell(to, world, &judge->factor[i].of, slope));
  }
  *reward += count > 0 ? product : 0;
  return s2_ok();
}

S2Status s2_judge_reward(const S2Judge *judge, const S2World *world, const double *controls,
                         double constant, double *reward) {
  return s2_judge_reward_slopes(judge, world, controls, constant, reward, NULL, NULL);
}

S2Status s2_judge_reward_slopes(const S2Judge *judge, const S2World *world, const double *controls,
                                double constant, double *reward, S2JudgeSlope *tell, void *user) {
  Listener to = {tell, user, 1};
  *reward = constant;
  S2_TRY(judge_factors(judge, world, controls, reward, to));
  return judge_add(judge, world, controls, false, -1, reward, to);
}

S2Status s2_judge_terminal(const S2Judge *judge, const S2World *world, const double *controls,
                           double *cost) {
  *cost = 0;
  return judge_add(judge, world, controls, true, 1, cost, (Listener){0});
}

int s2_judge_bounds(const S2Judge *judge) {
  return judge == NULL ? 0 : judge->bounds;
}

void s2_judge_find(const S2Judge *judge, const S2World *world, int *seen) {
  static const S2BodyId no_body = {0, 0};
  static const S2JointId no_joint = {0, 0};
  for (int i = 0; i < s2_judge_bounds(judge); i++) {
    const S2Reading *of = &judge->bound[i].of;
    seen[i] = of->kind == S2_READ_BODY ? s2_world_observed_at(world, of->body, no_joint, of->field)
              : of->kind == S2_READ_JOINT
                  ? s2_world_observed_at(world, no_body, of->joint, of->field)
                  : -1;
  }
}

S2Status s2_judge_ended(const S2Judge *judge, const S2World *world, const double *controls,
                        bool *ended) {
  return s2_judge_ended_seen(judge, world, controls, NULL, NULL, ended);
}

S2Status s2_judge_ended_seen(const S2Judge *judge, const S2World *world, const double *controls,
                             const int *seen, const double *observation, bool *ended) {
  *ended = false;
  for (int i = 0; judge != NULL && i < judge->bounds && !*ended; i++) {
    const S2Bound *bound = &judge->bound[i];
    double value;
    if (seen != NULL && seen[i] >= 0) {
      value = observation[seen[i]];
    } else {
      S2_TRY(s2_reading_get(world, &bound->of, controls, &value));
    }
    *ended = !(bound->lo <= value && value <= bound->hi);
  }
  return s2_ok();
}
