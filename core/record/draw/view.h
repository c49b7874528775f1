// Selects the part of the world that a picture shows.
#ifndef S2_VIEW_H
#define S2_VIEW_H

#include "record/draw/scene.h"
#include "record/moment.h"
#include "record/record.h"

// The area that a body of a world has covered. Videos and pictures of several moments show these
// areas completely.
typedef struct S2SweptBody {
  uint64_t serial; // serial of the body; never reused in a world
  bool moves;
  S2Box box, reach; // boxes of its shapes and of its joint anchors
  double size;      // m, extent of the body itself
} S2SweptBody;

typedef struct S2Sweep {
  S2_ARRAY(S2SweptBody) bodies; // sorted by serial, ascending
  bool contacts;                // true if any contact had an impulse
} S2Sweep;

void s2_sweep_add(S2Sweep *sweep, const S2Moment *moment);
void s2_sweep_free(S2Sweep *sweep);

// Computes the size of the picture and the section of the world that it shows. A fitted section
// contains all moving bodies and some of their static surroundings. `moment` is the moment that is
// drawn in full. Returns S2_INVALID if the width or the section is out of range.
S2Status s2_view_fit(const S2Sweep *sweep, const S2Moment *moment, const S2DrawOptions *options,
                     S2SceneView *view);
S2Status s2_view_of(const S2Moment *moment, const S2DrawOptions *options, S2SceneView *view);

// Moves the view to the body that it follows, if there is one.
void s2_view_follow(S2SceneView *view, const S2Moment *moment, const S2DrawOptions *options);

// Returns the unit of lengths in a picture. It is 1 pixel if the picture is 800 pixels wide, and
// grows more slowly than the width.
double s2_view_unit(int width);

#endif
