// Islands at rest: what a step has left exactly as it was, the next one leaves so, too.
//
// A step is a function of the state, the forces and what the world is. Where none of that has
// changed for an island since the last step, and that step has changed nothing of it, to the last
// bit, the next one need not be made: its contacts, their impulses and the residual are those of
// the last. Such an island is kept. It is not asleep: as soon as a force on one of its bodies is
// another, or something comes so near that it belongs to it, it is stepped as always. Whether
// islands are kept changes no bit of what a step gives; derivatives, which have to see every solve,
// are taken of steps that keep none.
#ifndef S2_REST_H
#define S2_REST_H

#include "dynamics/step/context.h"

// Which bodies are as the last step has left them: forces and free motion are known.
void s2_rest_begin(S2Step *step);
// S2_TOUCH_... of a touch that is `number` among those of the search before, or of the world where
// this is the first of the step: kept as far as its bodies are.
static inline unsigned char s2_rest_known(const S2Step *step, const S2Touch *touch, int number) {
  bool again = step->passes > 0, none = step->still == NULL;
  unsigned char is = again ? step->kept[number] : none ? 0 : step->world->rest.touch.at[number];
  bool stay = !none && step->still[touch->body_a] && step->still[touch->body_b];
  return stay ? is : is & S2_TOUCH_JOINS;
}
// Which islands are kept; the touches of all others are searched for as always. False: aborted.
bool s2_rest_islands(S2Step *step);
// Is it one of those? Then its bodies stay and its solves are counted.
bool s2_rest_keeps(S2Step *step, const S2Island *island);
// Remembers which islands the step has left as they were; before the world changes.
void s2_rest_commit(const S2Step *step);

#endif
