// The trace of a step, and its derivative: one or two reverse sweeps over the notes (sweep.c).
#include "diff/step/trace.h"

#include "diff/step/undo.h"

#include <math.h>

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

S2Status s2_trace_vjp(const S2Trace *trace, S2WorldGradient *gradient, S2Arena *arena) {
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
