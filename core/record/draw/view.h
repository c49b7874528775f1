// Selects the part of the world that a picture shows.
#ifndef S2_VIEW_H
#define S2_VIEW_H

#include "record/draw/scene.h"
#include "record/moment.h"
#include "record/record.h"

// Areas that the bodies of a world have covered. A picture of several moments, or a video, shows
// all of them. A structure of zeros is empty.
typedef struct S2SweptBody {
  uint64_t serial; // serial of the body; never reused in a world
  bool moves;
  S2Box box, reach; // box of its shapes, and of the anchors that hold it
  double size;      // m, extent of the body itself
} S2SweptBody;

typedef struct S2Sweep {
  S2_ARRAY(S2SweptBody) bodies; // sorted by serial, ascending
  bool contacts;                // whether a contact carried an impulse
} S2Sweep;

void s2_sweep_add(S2Sweep *sweep, const S2Moment *moment);
void s2_sweep_free(S2Sweep *sweep);

// Computes the section and size of the picture. The section is fitted to all moving bodies, with
// some of the static surroundings. Large static bodies are cut off, never fitted. `moment` is the
// moment that is drawn in full. Returns S2_INVALID if the width or the section cannot be drawn.
S2Status s2_view_fit(const S2Sweep *sweep, const S2Moment *moment, const S2DrawOptions *options,
                     S2SceneView *view);
S2Status s2_view_of(const S2Moment *moment, const S2DrawOptions *options, S2SceneView *view);

// Moves the view to the body that it follows, if there is one.
void s2_view_follow(S2SceneView *view, const S2Moment *moment, const S2DrawOptions *options);

// A length in pixels that is 1 in a picture 800 pixels wide, and grows more slowly than the width.
double s2_view_unit(int width);

#endif
