// The trace of a step, and its derivative: one or two reverse sweeps over the notes (sweep.c).
#include "diff/step/trace.h"

#include "diff/step/recorded_vjp.h"
#include "diff/step/undo.h"

#include <math.h>
#include <string.h>

S2Trace *s2_trace_new(void) {
  S2Trace *trace = s2_memory_take_zeroed(sizeof *trace);
  s2_notes_init(&trace->notes);
  return trace;
}

static void trace_clear(S2Trace *trace) {
  s2_notes_clear(&trace->notes);
  s2_program_free(trace->program);
  trace->program = NULL;
}

void s2_trace_free(S2Trace *trace) {
  if (trace != NULL) {
    trace_clear(trace);
    s2_memory_free(trace->numbers);
    s2_memory_free(trace);
  }
}

size_t s2_trace_bytes(const S2Trace *trace) {
  const S2Notes *notes = &trace->notes;
  size_t shared = notes->fixed == NULL ? 0 : notes->fixed->bytes / (size_t)notes->fixed->users;
  return sizeof *trace + notes->bytes + sizeof(S2NoteSlot) * (size_t)notes->at.capacity + shared +
         sizeof(double) * trace->count;
}

// Copies the record of a step that the program has taken.
static void trace_keep(S2Trace *trace, const S2World *world, const S2RecordedStep *step) {
  const S2Program *program = world->program;
  int size[S2_RECORDED_MOST] = {0}, sum = 0;
  for (int i = 0; i < program->islands; i++) {
    const S2Table *table = &program->island[i].table;
    int head = s2_table_head(table);
    size[i] = head + (int)step->island[i][head - 1] * s2_table_piece(table);
    sum += size[i];
  }
  if ((size_t)sum > trace->count) {
    trace->numbers = s2_memory_grow(trace->numbers, sizeof(double) * (size_t)sum);
    trace->count = (size_t)sum;
  }
  double *at = trace->numbers;
  trace->record = *step;
  for (int i = 0; i < program->islands; i++) {
    memcpy(at, step->island[i], sizeof(double) * (size_t)size[i]);
    trace->record.island[i] = at;
    at += size[i];
  }
  trace->program = world->program;
  trace->program->users += 1;
  trace->slots = world->bodies.count;
  trace->joints = world->joints.count;
}

S2Status s2_world_step_traced_state(S2World *world, S2Recorder *recorder, S2Trace *trace) {
  S2_TRY(s2_world_idle(world));
  trace_clear(trace);
  trace->notes.keeps_pieces = trace->keeps_pieces;
  if (recorder != NULL) {
    s2_recorder_reset(recorder);
  }
  world->notes = &trace->notes;
  world->recorder = recorder;
  S2Status status = s2_world_step(world);
  world->notes = NULL;
  world->recorder = NULL;
  if (status.code != S2_OK) {
    s2_notes_clear(&trace->notes);
  } else if (recorder != NULL && recorder->steps.count > 0) {
    trace_keep(trace, world, &recorder->steps.at[0]);
  } else {
    s2_notes_end(&trace->notes);
  }
  return status;
}

S2Status s2_world_step_traced(S2World *world, S2Trace *trace) {
  return s2_world_step_traced_state(world, NULL, trace);
}

// ---- Edges -------------------------------------------------------------------------------------

// Edges between two modes, judged by their effect on the whole step. A contact that a solve leaves
// with neither impulse nor speed is on an edge for that solve, but usually not for the step. Bodies
// that the motion has pressed together always have zero relative speed. So in a later impact or
// projection both modes give the same motion. The derivatives of the step then agree, although
// those of the solve differ. If a sweep finds edges, a second sweep therefore takes the other side
// of all edges at once. Tied rows (mcp_vjp.h) have a second derivative, too. The two derivatives
// differ only if a change makes the rows contradict each other. An example is a change of the
// height of one of two boxes side by side.

// Tolerances for the derivatives of both sides. SAME is a fraction of the largest derivative of the
// same kind. LEAST is an additional tolerance for parameters, because their derivatives may be pure
// rounding. It is a fraction of the largest derivative with respect to the state.
static const double SAME = 1e-9, LEAST = 1e-3;

static double trace_largest(const double *x, int count, int stride) {
  double most = 0;
  for (int i = 0; i < count; i++) {
    most = fmax(most, fabs(x[(ptrdiff_t)i * stride]));
  }
  return most;
}

// Compares structures that contain only doubles, field by field.
static bool trace_same(const void *a, const void *b, int count, size_t size, double least) {
  int fields = (int)(size / sizeof(double));
  for (int k = 0; k < fields; k++) {
    const double *x = (const double *)a + k, *y = (const double *)b + k;
    double most =
        SAME * fmax(least, fmax(trace_largest(x, count, fields), trace_largest(y, count, fields)));
    for (int i = 0; i < count; i++) {
      ptrdiff_t at = (ptrdiff_t)i * fields;
      if (!(fabs(x[at] - y[at]) <= most)) { // or one of them is NaN
        return false;
      }
    }
  }
  return true;
}

// A restitution of 0 has only a one-sided derivative. On that side, bodies separate after an
// impact. The first sweep assumes this, too.
static void trace_forget_zero_restitution(const S2Fixed *fixed, const S2WorldGradient *from,
                                          S2WorldGradient *to) {
  for (int i = 0; i < fixed->bodies; i++) {
    if (fixed->body[i].restitution == 0) {
      to->body[i].restitution = from->body[i].restitution;
    }
  }
  for (int i = 0; i < fixed->pieces; i++) {
    if (fixed->piece[i].restitution == 0) {
      to->piece[i].restitution = from->piece[i].restitution;
    }
  }
}

static bool trace_same_gradients(const S2WorldGradient *a, const S2WorldGradient *b) {
  size_t three = 3 * sizeof(double), vector = sizeof(S2Vec2);
  double least =
      LEAST * fmax(trace_largest(a->q, 3 * a->slots, 1), trace_largest(a->v, 3 * a->slots, 1));
  // Treat the settings as one more array.
  const double settings_a[] = {a->gravity.x, a->gravity.y, a->dt, a->alpha, a->beta, a->time};
  const double settings_b[] = {b->gravity.x, b->gravity.y, b->dt, b->alpha, b->beta, b->time};
  return trace_same(a->q, b->q, a->slots, three, least) &&
         trace_same(a->v, b->v, a->slots, three, least) &&
         trace_same(a->f, b->f, a->slots, three, least) &&
         trace_same(a->body, b->body, a->slots, sizeof *a->body, least) &&
         trace_same(a->piece, b->piece, a->pieces, sizeof *a->piece, least) &&
         trace_same(a->vertex, b->vertex, a->vertices, vector, least) &&
         trace_same(a->joint, b->joint, a->joints, sizeof *a->joint, least) &&
         trace_same(settings_a, settings_b, 1, sizeof settings_a, least);
}

// The derivative of a step that a program has taken.
static S2Status trace_record_vjp(const S2Trace *trace, S2WorldGradient *gradient) {
  if (gradient->slots < trace->slots || gradient->joints < trace->joints) {
    return s2_error(S2_INVALID, "the gradient does not fit the world (s2_world_gradient_fit)");
  }
  const S2Program *program = trace->program;
  S2RecordedSweep sweep = {.lanes = 0};
  bool good = true;
  s2_quiet_look_at_record(program, &trace->record, gradient);
  memset(gradient->f, 0, sizeof(double) * 3 * (size_t)trace->slots);
  s2_recorded_vjp(&sweep, &trace->record, &program, gradient, &good);
  gradient->flags |= good ? 0 : S2_GRADIENT_SINGULAR;
  // The step has no contacts, and it has overwritten all reactions.
  for (int i = 0; i < gradient->contacts; i++) {
    s2_contact_gradient_clear(&gradient->contact[i]);
  }
  for (int i = 0; i < trace->joints; i++) {
    memset(gradient->joint[i].reaction, 0, sizeof gradient->joint[i].reaction);
  }
  return s2_ok();
}

S2Status s2_trace_vjp(const S2Trace *trace, S2WorldGradient *gradient, S2Arena *arena) {
  if (trace->program != NULL) {
    return trace_record_vjp(trace, gradient);
  }
  unsigned found = 0, ignored = 0;
  if ((gradient->flags & S2_GRADIENT_WEAK) != 0) { // no second sweep is needed
    return s2_trace_sweep(trace, 0, &found, gradient, arena);
  }
  // Take the other side of all edges at once, in a copy.
  S2ArenaMark mark = s2_arena_mark(arena);
  S2WorldGradient *other = s2_world_gradient_copy(gradient, arena);
  S2Status status = s2_trace_sweep(trace, 0, &found, gradient, arena);
  if (status.code == S2_OK && found != 0) {
    status = s2_trace_sweep(trace, S2_VJP_OTHER_SIDE | S2_VJP_OTHER_SHARE, &ignored, other, arena);
    trace_forget_zero_restitution(trace->notes.fixed, gradient, other);
    // Both derivatives of the step must be equal.
    bool sound = status.code == S2_OK && (other->flags & ~gradient->flags) == 0;
    gradient->flags |= sound && trace_same_gradients(gradient, other) ? 0 : S2_GRADIENT_WEAK;
  }
  s2_memory_free(other->contact);
  s2_arena_rewind(arena, mark);
  return status;
}
