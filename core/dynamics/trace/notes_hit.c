// Where a step of given length is struck: in speculative and bisecting steps, and in what event
// stepping leaves to a speculative rest. Which step that is does not change with the data, and so
// derivatives know nothing of the time of the impact. However short the step is, they are wrong by
// what a shift of that time is worth (docs/gradients.md).
#include "dynamics/step/islands.h"
#include "dynamics/trace/notes.h"

// Does a point arrive? Faster than the forces change its speed: what rests, slides or rolls does
// not. And from `far` away, m: what has touched since the step began is struck at its start,
// whatever the data are.
static bool hit_arrives(const S2Step *step, const S2Island *island, const S2Touch *touch,
                        double far, double reach) {
  bool any = false;
  for (int k = 0; k < touch->count && !s2_touch_soft(touch); k++) {
    const S2TouchPoint *point = &touch->points[k];
    // Against the normal, by more than forces change within the step, ...
    double u = s2_touch_velocity(touch, k, point->at.normal, step->v0);
    double change = s2_touch_velocity(touch, k, point->at.normal, step->free_v) - u;
    bool meets = point->normal_impulse > 0 || point->at.gap <= reach;
    // ... of one that is not there yet.
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
  for (int i = 0; i < island->touches; i++) {
    if (hit_arrives(step, island, &step->touches[island->touch[i]], slop, fmax(slop, reach))) {
      s2_note_island(step, island, S2_ACT_HIT, NULL);
      return;
    }
  }
}
