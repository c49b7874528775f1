// Islands at rest.
//
// A step is a function of the state, the forces and the contents of the world. If a step leaves an
// island exactly unchanged, and none of these inputs changes, the next step also leaves it
// unchanged. Such an island can be skipped. A skipped island is called kept. Its contacts, impulses
// and residual keep the values of the last step. A kept island does not sleep. It is stepped as
// usual as soon as a force on one of its bodies changes, or another body comes near enough to join
// it. Skipping kept islands does not change any bit of a result. Derivatives need every solve, so
// steps with derivatives do not keep islands.
#ifndef S2_REST_H
#define S2_REST_H

#include "dynamics/step/context.h"

// Marks the bodies that the last step left unchanged. Their forces and free motion are known.
void s2_rest_begin(S2Step *step);
// Returns the flags S2_TOUCH_... of a touch. `number` is its index in the previous search or, for
// the first search of the step, in the world. If a body of the touch has moved, only S2_TOUCH_JOINS
// remains.
static inline unsigned char s2_rest_known(const S2Step *step, const S2Touch *touch, int number) {
  bool again = step->passes > 0, none = step->still == NULL;
  unsigned char is = again ? step->kept[number] : none ? 0 : step->world->rest.touch.at[number];
  bool stay = !none && step->still[touch->body_a] && step->still[touch->body_b];
  return stay ? is : is & S2_TOUCH_JOINS;
}
// Chooses the islands to keep. The touches of all other islands are searched as usual. Returns
// false if aborted.
bool s2_rest_islands(S2Step *step);
// Returns true if an island is kept. If so, keeps its bodies in place and counts its solves.
bool s2_rest_keeps(S2Step *step, const S2Island *island);
// Records the islands that the step left unchanged. Must be called before the world changes.
void s2_rest_commit(const S2Step *step);
// Ends the record of a step, after the world has changed.
void s2_rest_end(S2World *world);
// Takes a step of a world in which the last step kept all islands, if nothing has changed since.
// The result has the same bits as a normal step. Returns false, and does nothing, if a normal step
// is needed.
bool s2_rest_step(S2World *world);

#endif
