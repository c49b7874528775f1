// Measures the violation of an island's contacts, joints and limits at q1.
#include "dynamics/joints/rows.h"
#include "dynamics/project/project.h"

#include <string.h>

static void keep_errors(const S2JointError *of, S2JointErrors *errors) {
  for (int k = 0; k < of->count; k++) {
    S2RowSides *side = &errors->side[errors->rows + k];
    errors->value[errors->rows + k] = of->rows[k].value;
    memcpy(side->a, of->rows[k].ja, sizeof side->a);
    memcpy(side->b, of->rows[k].jb, sizeof side->b);
  }
  errors->rows += of->count;
  errors->largest = of->square <= errors->largest ? errors->largest : of->square;
  errors->limited |= of->limited;
}

// For islands that have only hinges, such as bridges and chains. Returns the largest squared error.
static double measure_pins(const S2Step *step, const S2Island *island, const S2Rot *turn,
                           S2JointErrors *errors) {
  double largest = 0;
  for (int i = 0; i < island->joints; i++) {
    const S2Joint *joint = &step->world->joints.at[island->joint[i]];
    S2JointAt at = {step->world, joint, step->q1, 0, turn};
    S2Pin pin;
    s2_measure_pin(&at, &pin);
    for (int k = 0; k < 2; k++) {
      errors->value[2 * i + k] = pin.value[k];
      memcpy(errors->side[2 * i + k].a, pin.ja[k], sizeof pin.ja[k]);
      memcpy(errors->side[2 * i + k].b, pin.jb[k], sizeof pin.jb[k]);
    }
    double square = pin.value[0] * pin.value[0] + pin.value[1] * pin.value[1];
    largest = square <= largest ? largest : square; // this form propagates NaN
  }
  errors->rows = 2 * island->joints;
  errors->largest = largest;
  return largest;
}

// errors->largest is the square of the largest error until the end of this function.
static double joints_violation(const S2Step *step, S2Island *island, S2JointErrors *errors) {
  S2ArenaMark mark = s2_arena_mark(step->arena);
  const S2Rot *turn = s2_step_turns(step, island, step->q1);
  double elapsed = step->t - step->world->kept.time + step->h, square = 0, beyond = 0;
  bool lengths = false, pins = errors != NULL && errors->pins;
  square = pins ? fmax(0, measure_pins(step, island, turn, errors)) : 0;
  for (int i = 0; i < island->joints && !pins; i++) {
    const S2Joint *joint = &step->world->joints.at[island->joint[i]];
    if (!s2_joint_projected(joint)) {
      lengths = true; // it may have a joint error, but is not projected
      continue;
    }
    S2JointAt at = {step->world, joint, step->q1, elapsed, turn};
    S2JointError of;
    s2_joint_error(&at, island->length, &of);
    square = of.rigid > square ? of.rigid : square; // fmax would be a function call
    beyond = of.beyond > beyond ? of.beyond : beyond;
    lengths |= of.angular || of.limited;
    if (errors != NULL) {
      keep_errors(&of, errors);
    }
  }
  s2_arena_rewind(step->arena, mark);
  double worst = fmax(sqrt(square), beyond);
  island->joint_error = lengths ? NAN : worst;
  return worst;
}

double s2_step_violation(const S2Step *step, S2Island *island, S2JointErrors *errors) {
  double worst = 0;
  for (int i = 0; i < island->touches; i++) {
    const S2Touch *touch = &step->touches[island->touch[i]];
    for (int k = 0; k < touch->count && !s2_touch_soft(touch); k++) {
      const S2TouchPoint *point = &touch->points[k];
      worst = fmax(worst, s2_point_held(step, point) ? fabs(point->at.gap) : -point->at.gap);
    }
  }
  if (errors != NULL) {
    errors->rows = 0;
    errors->largest = 0;
    errors->limited = false;
  }
  if (island->joints > 0) {
    worst = fmax(worst, joints_violation(step, island, errors));
  }
  if (errors != NULL) {
    errors->largest = sqrt(errors->largest);
  }
  return worst;
}
