// Builds a scene from a moment: the visible marks of bodies, contacts and joints.
#ifndef S2_PICTURE_H
#define S2_PICTURE_H

#include "record/draw/palette.h"
#include "record/draw/scene.h"
#include "record/draw/trails.h"
#include "record/moment.h"
#include "record/record.h"

// The moments of a world that appear in one picture, the earliest first. The last moment is drawn
// in full, and earlier ones are faded.
typedef struct S2Story {
  const S2Moment *moments;
  int count;              // number of moments, at least 1
  const S2Trails *trails; // NULL: none
} S2Story;

// Replaces the contents of `scene`. Its view must be set.
void s2_picture_story(S2Scene *scene, const S2Story *story, const S2DrawOptions *options);

// Replaces the contents of `scene`. Fails with the errors of s2_view_of.
S2Status s2_picture_build(S2Scene *scene, const S2Moment *moment, const S2DrawOptions *options);

// ---- Shared by picture.c, labels.c and marks.c --------------------------------------------------

typedef struct S2Picture {
  S2Scene *scene;
  const S2Moment *moment; // drawn now
  const S2DrawOptions *options;
  const S2Theme *theme;
  double unit;      // length in pixels (s2_view_unit)
  double body_size; // pixels: mean extent of the moving bodies
  double fade;      // fraction of the background that is mixed into the colours of past moments
} S2Picture;

// Returns the colour with the current fading.
uint32_t s2_picture_color(const S2Picture *picture, uint32_t color);

// Impulses below this fraction of the largest impulse have no arrow.
#define S2_ARROW_THRESHOLD 1e-2
double s2_picture_largest_impulse(const S2Moment *moment);

// Draws the marks on top of the bodies.
void s2_picture_contacts(S2Picture *picture);
void s2_picture_joints(S2Picture *picture);
void s2_picture_names(S2Picture *picture);
void s2_picture_annotations(S2Picture *picture); // draws the annotations of the script.
// Draws the title above the picture, and the time, scale and meaning of the arrows below it.
void s2_picture_legend(S2Picture *picture, const S2Story *story);

#endif
