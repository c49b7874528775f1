// Which part of the world a picture shows.
#ifndef S2_VIEW_H
#define S2_VIEW_H

#include "record/draw/scene.h"
#include "record/moment.h"
#include "record/record.h"

// Where the bodies of a world have been: what a picture of several moments, or a video, makes room
// for. All zeros is empty.
typedef struct S2SweptBody {
  uint64_t serial; // of the body: never used twice in a world
  bool moves;
  S2Box box, reach; // of its shapes, and of the anchors that hold it
  double size;      // m: extent of the body itself
} S2SweptBody;

typedef struct S2Sweep {
  S2_ARRAY(S2SweptBody) bodies; // by serial, ascending
  bool contacts;                // one carried an impulse
} S2Sweep;

void s2_sweep_add(S2Sweep *sweep, const S2Moment *moment);
void s2_sweep_free(S2Sweep *sweep);

// The section and size of the picture. Fitted to everything that moves, with some of what stands
// around it; large things that do not move are cut, never fitted. `moment` is the one drawn in
// full. Errors: S2_INVALID for a width or a section that cannot be drawn.
S2Status s2_view_fit(const S2Sweep *sweep, const S2Moment *moment, const S2DrawOptions *options,
                     S2SceneView *view);
S2Status s2_view_of(const S2Moment *moment, const S2DrawOptions *options, S2SceneView *view);

// Moves the view to the body that is followed, where there is one.
void s2_view_follow(S2SceneView *view, const S2Moment *moment, const S2DrawOptions *options);

// Pixels of a length that is 1 in a picture 800 wide, and changes more slowly than the width.
double s2_view_unit(int width);

#endif
