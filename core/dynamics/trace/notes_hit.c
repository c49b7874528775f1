// Detects impacts in steps of given length.
// These are speculative and bisecting steps, and speculative remainders of event stepping. The
// derivative assumes that an impact stays in its step when the inputs change. It therefore never
// includes the effect of a change of the impact time, even if steps are short (docs/gradients.md).
#include "dynamics/joints/rows.h"
#include "dynamics/step/islands.h"
#include "dynamics/trace/notes.h"

// Returns true if a point arrives with speed. Its speed must exceed half of the change by forces
// within the step. This excludes resting, sliding and rolling contacts. Its initial gap must exceed
// `far` (m). This excludes points that touch at the start of the step, because their impact is
// always at that time.
static bool hit_arrives(const S2Step *step, const S2Island *island, const S2Touch *touch,
                        double far, double reach) {
  bool any = false;
  for (int k = 0; k < touch->count && !s2_touch_soft(touch); k++) {
    const S2TouchPoint *point = &touch->points[k];
    // Condition 1: the approach speed exceeds half of its change by forces within the step.
    double u = s2_touch_velocity(touch, k, point->at.normal, step->v0);
    double change = s2_touch_velocity(touch, k, point->at.normal, step->free_v) - u;
    bool meets = point->normal_impulse > 0 || point->at.gap <= reach;
    // Condition 2: the initial gap is open.
    any |=
        meets && point->at.gap > far && u < -fabs(change) / 2 - s2_island_rest_speed(step, island);
  }
  return any;
}

void s2_note_hit(const S2Step *step, const S2Island *island, double reach) {
  S2Notes *notes = step->world->notes;
  if (notes == NULL) {
    return;
  }
  double slop = S2_TOUCH_SLOP * island->length;
  bool any = false;
  for (int i = 0; i < island->touches && !any; i++) {
    any = hit_arrives(step, island, &step->touches[island->touch[i]], slop, fmax(slop, reach));
  }
  if (any) {
    s2_note_island(step, island, S2_ACT_HIT, NULL);
  }
}

void s2_note_stop(const S2Step *step, const S2Island *island) {
  bool stops = false;
  for (int i = 0; i < island->joints && step->world->notes != NULL && !stops; i++) {
    stops = s2_limit_struck(step, island, island->joint[i], S2_JOINT_LO) ||
            s2_limit_struck(step, island, island->joint[i], S2_JOINT_HI);
  }
  if (stops) {
    s2_note_island(step, island, S2_ACT_STOP, NULL);
  }
}
