// Which part of the world a picture shows.
#ifndef S2_VIEW_H
#define S2_VIEW_H

#include "record/moment.h"
#include "record/record.h"
#include "record/scene.h"

// The section and size of the picture. Fitted to everything that moves, with some of what stands
// around it; large things that do not move are cut, never fitted. Errors: S2_INVALID for a width or
// a section that cannot be drawn.
S2Status s2_view_of(const S2Moment *moment, const S2DrawOptions *options, S2SceneView *view);

#endif
