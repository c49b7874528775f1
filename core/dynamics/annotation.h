// Annotations: lines, arrows, points and texts that are drawn over pictures and recordings of a
// world. The engine itself does not read them. Snapshots, clones and hashes do not contain them.
#ifndef S2_ANNOTATION_H
#define S2_ANNOTATION_H

#include "dynamics/dynamics.h"

typedef enum S2AnnotationType {
  S2_ANNOTATION_LINE,  // from, to
  S2_ANNOTATION_ARROW, // from, to
  S2_ANNOTATION_POINT, // to
  S2_ANNOTATION_TEXT,  // to
} S2AnnotationType;

enum { S2_ANNOTATION_SIZE = 96 }; // size of a text in bytes, including the final 0

typedef struct S2Annotation {
  S2AnnotationType type;
  S2Vec2 from, to;               // m
  uint32_t color;                // 0xRRGGBBAA, or 0 for the default text colour
  double size, letters;          // pixels: line width or point radius; text height
  char text[S2_ANNOTATION_SIZE]; // drawn at `to`; "" for no text
  char name[S2_NAME_SIZE];
  bool shown; // true if a step has ended since the annotation was made
} S2Annotation;

const char *s2_annotation_type_name(S2AnnotationType type); // "line", "arrow", ...

// Adds `count` annotations with one name. They replace earlier annotations of that name and remain
// until they are replaced or cleared. Annotations without a name ("") stay until after the next
// step. The step after that removes them, and so does a new annotation without a name. Returns
// S2_INVALID if there are too many, and S2_BUSY within a step.
S2Status s2_world_annotate(S2World *world, const S2Annotation *annotations, int count);
void s2_world_clear_annotations(S2World *world, const char *name); // NULL: all of them.
// The result is valid until the next change of the world.
const S2Annotation *s2_world_annotations(const S2World *world, int *count);

#endif
