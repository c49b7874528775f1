#include "diff/step/trace.h"

#include "diff/step/trace_notes.h"

S2Trace *s2_trace_new(void) {
  S2Trace *trace = s2_memory_take(sizeof *trace);
  s2_notes_init(&trace->notes);
  return trace;
}

void s2_trace_free(S2Trace *trace) {
  if (trace != NULL) {
    s2_notes_clear(&trace->notes);
    s2_memory_free(trace);
  }
}

size_t s2_trace_bytes(const S2Trace *trace) {
  const S2Notes *notes = &trace->notes;
  size_t shared = notes->fixed == NULL ? 0 : notes->fixed->bytes / (size_t)notes->fixed->users;
  return sizeof *trace + notes->bytes + sizeof(S2NoteSlot) * (size_t)notes->at.capacity + shared;
}

S2Status s2_world_step_traced(S2World *world, S2Trace *trace) {
  S2_TRY(s2_world_idle(world));
  s2_notes_clear(&trace->notes);
  world->notes = &trace->notes;
  S2Status status = s2_world_step(world);
  world->notes = NULL;
  if (status.code != S2_OK) {
    s2_notes_clear(&trace->notes);
  } else {
    s2_notes_end(&trace->notes);
  }
  return status;
}
