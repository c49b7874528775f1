// Private to core/diff.
#ifndef S2_TRACE_NOTES_H
#define S2_TRACE_NOTES_H

#include "diff/step/trace.h"
#include "dynamics/trace/notes.h"

struct S2Trace {
  S2Notes notes;
};

#endif
