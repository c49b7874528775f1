// Private to core/diff.
#ifndef S2_TRACE_NOTES_H
#define S2_TRACE_NOTES_H

#include "diff/trace.h"
#include "dynamics/notes.h"

struct S2Trace {
  S2Notes notes;
};

#endif
