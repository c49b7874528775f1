// Islands at rest.
// If a step leaves an island exactly unchanged, the next step also leaves it unchanged.
//
// A step is a function of the state, the forces and the contents of the world. An island can be
// skipped if none of these has changed since the last step and that step left the island exactly
// unchanged. A skipped island is called kept. Its contacts, impulses and residual keep the values
// of the last step. A kept island does not sleep: as soon as a force on one of its bodies changes,
// or another body comes near enough to join it, it is stepped as usual. Skipping kept islands does
// not change any bit of a result. Derivatives need every solve, so steps with derivatives do not
// keep islands.
#ifndef S2_REST_H
#define S2_REST_H

#include "dynamics/step/context.h"

// Marks the bodies that the last step left unchanged. Their forces and free motion are known.
void s2_rest_begin(S2Step *step);
// The flags S2_TOUCH_... of a touch. `number`: its index in the previous search or, for the first
// search of the step, in the world. If a body of the touch has moved, only S2_TOUCH_JOINS remains.
static inline unsigned char s2_rest_known(const S2Step *step, const S2Touch *touch, int number) {
  bool again = step->passes > 0, none = step->still == NULL;
  unsigned char is = again ? step->kept[number] : none ? 0 : step->world->rest.touch.at[number];
  bool stay = !none && step->still[touch->body_a] && step->still[touch->body_b];
  return stay ? is : is & S2_TOUCH_JOINS;
}
// Chooses the islands to keep. The touches of all other islands are searched as usual. False:
// aborted.
bool s2_rest_islands(S2Step *step);
// Whether an island is kept. If so, keeps its bodies in place and counts its solves.
bool s2_rest_keeps(S2Step *step, const S2Island *island);
// Records the islands that the step left unchanged. Must be called before the world changes.
void s2_rest_commit(const S2Step *step);

#endif
