// Paths of the centres of bodies.
#ifndef S2_TRAILS_H
#define S2_TRAILS_H

#include "record/moment.h"
#include "record/record.h"

typedef struct S2Trail {
  uint64_t serial; // serial of the body
  int first;       // index in `times` of the trail's first point
  S2_ARRAY(S2Vec2) points;
} S2Trail;

// A structure of zeros is empty.
typedef struct S2Trails {
  int every, skipped;     // moments per point, and moments since the last point
  S2_ARRAY(double) times; // s, times of the points of all trails
  S2_ARRAY(S2Trail) list; // sorted by serial, ascending
} S2Trails;

// Adds a moment, which must be later than the previous ones. Long trails are thinned to bound
// memory.
void s2_trails_add(S2Trails *trails, const S2Moment *moment, const S2RecordOptions *options);
const S2Trail *s2_trails_find(const S2Trails *trails, S2BodyId id); // NULL: none
void s2_trails_free(S2Trails *trails);

#endif
