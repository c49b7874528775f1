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

// ---- Steps without the islands at rest (frozen.c) ----------------------------------------------

// Leaves out all known islands at rest if nothing has changed at their bodies. Must be called after
// s2_rest_begin has found the unchanged bodies.
void s2_rest_freeze(S2Step *step);
void s2_rest_prepare_search(S2Step *step); // must be called before the broad phase
// Puts the touches of frozen islands back, so that no island is frozen.
void s2_rest_thaw(S2Step *step);
// Thaws if a touch joins an awake body and a frozen body.
void s2_rest_thaw_joined(S2Step *step);
void s2_rest_hold(const S2Step *step); // keeps frozen bodies in place
// Allocates the memory of the functions below.
void s2_rest_reserve(const S2Step *step);
// Put the awake touches, impulses and couples into the lists of the world.
void s2_rest_put_touches(const S2Step *step);
void s2_rest_put_acted(const S2Step *step); // from S2World.acting
void s2_rest_put_couples(const S2Step *step, const S2Couple *couples, int count);
// Lists the items of the world outside the islands at rest, after a step that has frozen none.
void s2_rest_list(S2World *world);
// Returns true if both bodies of a couple are at rest or static.
bool s2_rest_couple(const S2World *world, const S2Couple *couple);

// ---- The end of a step --------------------------------------------------------------------------

// Records the islands that the step left unchanged. Must be called before the world changes.
void s2_rest_commit(const S2Step *step);
// Ends the record of a step, after the world has changed.
void s2_rest_end(const S2Step *step);
// Takes a step of a world in which the last step kept all islands, if nothing has changed since.
// The result has the same bits as a normal step. Returns false, and does nothing, if a normal step
// is needed.
bool s2_rest_step(S2World *world);

#endif
