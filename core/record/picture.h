// From a moment to a scene: what a picture shows of bodies, contacts and joints.
#ifndef S2_PICTURE_H
#define S2_PICTURE_H

#include "record/moment.h"
#include "record/record.h"
#include "record/scene.h"

// Replaces the contents of `scene`. Errors: those of s2_view_of.
S2Status s2_picture_build(S2Scene *scene, const S2Moment *moment, const S2DrawOptions *options);

// ---- Shared by picture.c and marks.c ----------------------------------------------------------

typedef struct S2Picture {
  S2Scene *scene;
  const S2Moment *moment;
  const S2DrawOptions *options;
  double unit;      // pixels: 1 in a picture 800 wide, slower than the width elsewhere
  double body_size; // pixels: mean extent of the bodies that move
} S2Picture;

#define S2_INK       0x2e3440ffu // text, outlines of symbols
#define S2_FAINT_INK 0x2e344090u // what should not draw the eye
#define S2_HALO      0xfcfbf8d8u // behind text and arrows: the background, not quite opaque

// Marks on top of the bodies.
void s2_picture_contacts(S2Picture *picture);
void s2_picture_joints(S2Picture *picture);
void s2_picture_names(S2Picture *picture);
void s2_picture_legend(S2Picture *picture); // time, scale, meaning of the arrows

#endif
