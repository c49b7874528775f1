// Private to core/diff.
#ifndef S2_TRACE_NOTES_H
#define S2_TRACE_NOTES_H

#include "diff/step/trace.h"
#include "dynamics/program/recorded.h"
#include "dynamics/trace/notes.h"

struct S2Trace {
  S2Notes notes;
  S2Program *program;    // NULL, or the program that took the step; then there are no notes
  S2RecordedStep record; // its record
  double *numbers;       // of the record
  size_t count;
  int slots, joints; // of the world
  bool keeps_pieces; // as in S2Notes
};

#endif
