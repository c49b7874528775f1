#include "diff/world/world_tape.h"

#include "diff/linear/static_vjp.h"
#include "diff/step/trace_notes.h"
#include "diff/world/world_checkpoint.h"
#include "diff/world/world_readings.h"
#include "dynamics/world/world.h"

#include <math.h>
#include <string.h>

struct S2WorldTape {
  S2Tape *tape;
  S2WorldGradient gradient;
  S2WorldGradient tracked;    // of it: what has ever been written from a parameter is 1
  unsigned *flags;            // or NULL
  S2Arena arena;              // of one act, at either end
  S2Quiet *quiet;             // or NULL
  S2World *scratch;           // where things are made again; NULL but while that goes on
  S2Checkpoints *checkpoints; // NULL: none so far
  S2_ARRAY(S2Term) laws;      // of the step that runs; `to` is 3 slot + component
};

static void world_tape_start_sweep(void *data) {
  S2WorldTape *world = data;
  s2_world_gradient_clear(&world->gradient);
}

static void world_tape_drop_scratch(S2WorldTape *tape) {
  if (tape->scratch != NULL) {
    s2_world_destroy(tape->scratch);
    tape->scratch = NULL;
  }
}

static void world_tape_release_world(void *data) {
  S2WorldTape *tape = data;
  world_tape_drop_scratch(tape);
  s2_checkpoints_free(tape->checkpoints);
  s2_world_gradient_free(&tape->gradient);
  s2_world_gradient_free(&tape->tracked);
  s2_arena_free(&tape->arena);
  s2_array_free(tape->laws);
}

S2WorldGradient *s2_world_tape_gradient(S2WorldTape *tape, const S2World *world) {
  s2_world_gradient_fit(&tape->gradient, world);
  return &tape->gradient;
}

S2Tape *s2_world_tape_of(const S2WorldTape *tape) {
  return tape->tape;
}

S2Arena *s2_world_tape_arena(S2WorldTape *tape) {
  return &tape->arena;
}

static S2Status world_tape_no_act(S2Tape *tape, S2Var node, void *data) {
  (void)tape, (void)node, (void)data;
  return s2_ok();
}

S2WorldTape *s2_world_tape_new(S2Tape *tape, unsigned *flags) {
  S2WorldTape *world = s2_tape_take(tape, sizeof *world);
  *world = (S2WorldTape){.tape = tape};
  world->flags = flags;
  world->gradient.tape = tape;
  world->gradient.tracked = &world->tracked;
  s2_arena_init(&world->arena);
  s2_tape_at_start(tape, world_tape_start_sweep, world);
  s2_tape_node(tape, 0, NULL, world_tape_no_act, world_tape_release_world, world);
  return world;
}

void s2_world_tape_look(S2WorldTape *tape, S2Quiet *quiet) {
  tape->quiet = quiet;
  quiet->worlds = true;
}

void s2_world_tape_clipped(S2WorldTape *tape, const char *actuator) {
  if (tape->quiet != NULL) {
    s2_quiet_clipped(tape->quiet, actuator);
  }
}

static double *world_tape_bar_of(S2WorldTape *world, S2Place place) {
  return s2_place_gradient(&world->gradient, place);
}

// ---- Writing and reading ----------------------------------------------------------------------

typedef struct Act {
  S2WorldTape *world;
  bool adds; // else the places were something else before
  int places, terms;
  S2Place *place;
  S2Term *term;
} Act;

static Act *world_tape_take_act(S2WorldTape *tape, int count, const S2Place *places, int terms,
                                const S2Term *term) {
  Act *act = s2_tape_take(tape->tape, sizeof *act);
  *act = (Act){.world = tape, .places = count, .terms = terms};
  if (count > 0) {
    act->place = s2_tape_take(tape->tape, sizeof *places * (size_t)count);
    memcpy(act->place, places, sizeof *places * (size_t)count);
  }
  if (terms > 0) {
    act->term = s2_tape_take(tape->tape, sizeof *term * (size_t)terms);
    memcpy(act->term, term, sizeof *term * (size_t)terms);
  }
  return act;
}

static void world_tape_hand_on(const Act *act, const double *bar) {
  for (int i = 0; i < act->terms; i++) {
    const S2Term *term = &act->term[i];
    double g = bar[term->to] * term->factor;
    if (bar[term->to] == 0) { // as a tape does it: what is not finite there does not matter
      continue;
    }
    if (term->from != 0) {
      s2_tape_adjoint(act->world->tape, term->from)[term->index] += g;
    } else {
      *world_tape_bar_of(act->world, term->source) += g;
    }
  }
}

static S2Status world_tape_undo_write(S2Tape *tape, S2Var node, void *data) {
  const Act *act = data;
  S2WorldTape *world = act->world;
  (void)tape, (void)node;
  s2_arena_reset(&world->arena);
  double *bar = S2_TAKE(&world->arena, double, act->places + 1);
  for (int i = 0; i < act->places; i++) {
    double *at = world_tape_bar_of(world, act->place[i]);
    bar[i] = *at;
    *at = act->adds ? *at : 0;
  }
  world_tape_hand_on(act, bar);
  return s2_ok();
}

static void world_tape_note_write(S2WorldTape *tape, const S2World *world, bool adds, int count,
                                  const S2Place *places, int terms, const S2Term *term) {
  s2_world_gradient_fit(&tape->gradient, world);
  Act *act = world_tape_take_act(tape, count, places, terms, term);
  act->adds = adds;
  s2_world_gradient_fit(&tape->tracked, world);
  for (int i = 0; i < terms; i++) {
    *s2_place_gradient(&tape->tracked, places[term[i].to]) = 1;
  }
  s2_tape_node(tape->tape, 0, NULL, world_tape_undo_write, NULL, act);
}

void s2_world_tape_write(S2WorldTape *tape, const S2World *world, int count, const S2Place *places,
                         int terms, const S2Term *term) {
  world_tape_note_write(tape, world, false, count, places, terms, term);
}

void s2_world_tape_add(S2WorldTape *tape, const S2World *world, int count, const S2Place *places,
                       int terms, const S2Term *term) {
  if (terms > 0) {
    world_tape_note_write(tape, world, true, count, places, terms, term);
  }
}

static S2Quiet *world_tape_looks(const S2WorldTape *world) {
  return world->quiet != NULL && world->quiet->looks ? world->quiet : NULL;
}

static S2Status world_tape_undo_read(S2Tape *tape, S2Var node, void *data) {
  const Act *act = data;
  const double *bar = s2_tape_adjoint(tape, node);
  S2Quiet *quiet = world_tape_looks(act->world);
  for (int i = 0; i < act->terms && quiet != NULL; i++) {
    quiet->asked |= bar[act->term[i].to] != 0;
  }
  world_tape_hand_on(act, bar);
  return s2_ok();
}

S2Var s2_world_tape_read(S2WorldTape *tape, const S2World *world, int count, const double *values,
                         int terms, const S2Term *term) {
  if (terms == 0) {
    return 0;
  }
  s2_world_gradient_fit(&tape->gradient, world);
  Act *act = world_tape_take_act(tape, 0, NULL, terms, term);
  return s2_tape_node(tape->tape, count, values, world_tape_undo_read, NULL, act);
}

S2Var s2_world_tape_read_places(S2WorldTape *tape, const S2World *world, int count,
                                const S2Place *places) {
  s2_arena_reset(&tape->arena);
  S2Term *terms = S2_TAKE(&tape->arena, S2Term, count);
  double *values = S2_TAKE(&tape->arena, double, count);
  for (int i = 0; i < count; i++) {
    terms[i] = (S2Term){.to = i, .source = places[i], .factor = 1};
    values[i] = s2_place_value(world, places[i]);
  }
  return s2_world_tape_read(tape, world, count, values, count, terms);
}

// ---- Differences ------------------------------------------------------------------------------

// A step for extrapolated central differences of a number x: its error is (h/scale)^4/120 and a
// rounding unit over h. An angle may be of any size and has the scale 1. x + h/2 is exact, so
// that what is x itself has the derivative 1.
static double world_tape_difference_step(double x) {
  double size = fabs(x);
  double h = size == 0 ? 1e-4 : fmax(1e-6, 1e-3 * (size > 10 && size < 1000 ? 10 : size));
  volatile double up = x + h / 2;
  return 2 * (up - x);
}

// Both are equal, not both finite (an absent limit), or their difference.
static double world_tape_minus(double a, double b) {
  return a == b || !isfinite(a) || !isfinite(b) ? 0 : a - b;
}

static double world_tape_central(const double *up, const double *down, const double *near_up,
                                 const double *near_down, int i, double h) {
  return (4 * world_tape_minus(near_up[i], near_down[i]) / h -
          world_tape_minus(up[i], down[i]) / (2 * h)) /
         3;
}

S2Var s2_world_tape_measure(S2WorldTape *tape, S2World *world, int count, double *numbers,
                            S2WorldMeasure *measure, const void *user, int places,
                            const S2Place *place) {
  static const double part[4] = {1, -1, 0.5, -0.5};
  s2_arena_reset(&tape->arena);
  double *shifted = S2_TAKE(&tape->arena, double, 4 * count);
  S2Term *terms = S2_TAKE(&tape->arena, S2Term, (size_t)places * (size_t)count);
  int used = 0;
  measure(user, world, numbers);
  for (int p = 0; p < places; p++) {
    double *at = s2_place_in(world, place[p]), was = *at;
    if (!isfinite(was)) {
      continue;
    }
    double h = world_tape_difference_step(was);
    // Differences of two widths, of an error of h^4.
    for (int k = 0; k < 4; k++) {
      *at = was + part[k] * h;
      measure(user, world, shifted + k * count);
    }
    *at = was;
    for (int i = 0; i < count; i++) {
      double factor = world_tape_central(shifted, shifted + count, shifted + 2 * count,
                                         shifted + 3 * count, i, h);
      if (factor != 0) {
        terms[used++] = (S2Term){.to = i, .source = place[p], .factor = factor};
      }
    }
  }
  return s2_world_tape_read(tape, world, count, numbers, used, terms);
}

// ---- Making -----------------------------------------------------------------------------------

typedef struct Maker {
  S2WorldTape *tape;
  bool joint;
  const S2World *world;
  int32_t slot;
  int count; // of its places
  S2Place *places;
  const S2Made *made;
  double *plain; // what it is
  int terms, capacity;
  S2Term *term;
} Maker;

static int world_tape_list_places(const Maker *maker, const S2World *world, int32_t slot,
                                  S2Place *places, int capacity) {
  return maker->joint ? s2_joint_places(slot, places, capacity)
                      : s2_body_places(world, slot, places, capacity);
}

static S2Status world_tape_other_vertices(const Maker *maker) {
  char label[S2_NAME_SIZE + 8];
  s2_body_label(maker->world, maker->slot, label);
  return s2_error(
      S2_UNAVAILABLE,
      "the shapes of body %s get other vertices as soon as a tracked number in them changes: "
      "there is no derivative at such a number; leave out vertices on straight edges, "
      "or start from another number",
      label);
}

// Numbers of the newest thing in the scratch world, which goes again.
static S2Status world_tape_collect(const Maker *maker, double *numbers) {
  S2World *scratch = maker->tape->scratch;
  int32_t slot = maker->joint ? scratch->joint_order.at[scratch->joint_order.count - 1]
                              : scratch->order.at[scratch->order.count - 1];
  S2Place *places = S2_TAKE(&maker->tape->arena, S2Place, maker->count);
  int count = world_tape_list_places(maker, scratch, slot, places, maker->count);
  for (int i = 0; i < count && count == maker->count; i++) {
    numbers[i] = s2_place_value(scratch, places[i]);
  }
  if (maker->joint) {
    s2_joint_destroy_slot(scratch, slot);
  } else {
    s2_body_destroy(scratch, s2_body_id(scratch, slot));
  }
  return count == maker->count ? s2_ok() : world_tape_other_vertices(maker);
}

// Vertices move about as far as the numbers they are made of; farther they are others.
static const double MOST_MOVED = 100;

static S2Status world_tape_remake(const Maker *maker, int which, double by, double *numbers) {
  S2_TRY(maker->made->build(maker->made->user, maker->tape->scratch, which, by));
  S2_TRY(world_tape_collect(maker, numbers));
  for (int i = 0; i < maker->count; i++) {
    bool vertex = maker->places[i].kind == S2_PLACE_VERTEX;
    if (vertex && fabs(numbers[i] - maker->plain[i]) > MOST_MOVED * fabs(by)) {
      return world_tape_other_vertices(maker);
    }
  }
  return s2_ok();
}

static void world_tape_add_terms(Maker *maker, const double *slope, S2Var from, S2Place source) {
  for (int i = 0; i < maker->count; i++) {
    if (slope[i] != 0) {
      if (maker->terms == maker->capacity) {
        int capacity = 2 * maker->capacity + 64;
        S2Term *grown = S2_TAKE(&maker->tape->arena, S2Term, capacity);
        if (maker->terms > 0) {
          memcpy(grown, maker->term, sizeof *grown * (size_t)maker->terms);
        }
        maker->term = grown;
        maker->capacity = capacity;
      }
      maker->term[maker->terms++] =
          (S2Term){.to = i, .from = from, .source = source, .factor = slope[i]};
    }
  }
}

// At the end of what a number may be: five points on one side, of the same order.
static S2Status world_tape_one_sided(const Maker *maker, int which, double h, double *slope) {
  static const double weight[4] = {48, -36, 16, -3};
  double *numbers = S2_TAKE(&maker->tape->arena, double, maker->count);
  memset(slope, 0, sizeof(double) * (size_t)maker->count);
  for (int k = 0; k < 4; k++) {
    S2_TRY(world_tape_remake(maker, which, (k + 1) * h, numbers));
    for (int i = 0; i < maker->count; i++) {
      slope[i] += weight[k] * world_tape_minus(numbers[i], maker->plain[i]) / (12 * h);
    }
  }
  return s2_ok();
}

static S2Status world_tape_two_sided(const Maker *maker, int which, double h, double *slope) {
  static const double part[4] = {1, -1, 0.5, -0.5};
  int n = maker->count;
  double *numbers = S2_TAKE(&maker->tape->arena, double, 4 * n);
  for (int k = 0; k < 4; k++) {
    S2Status status = world_tape_remake(maker, which, part[k] * h, numbers + k * n);
    if (status.code == S2_INVALID) { // beyond its domain
      return world_tape_one_sided(maker, which, -(k % 2 == 0 ? h : -h), slope);
    }
    S2_TRY(status);
  }
  for (int i = 0; i < n; i++) {
    slope[i] = world_tape_central(numbers, numbers + n, numbers + 2 * n, numbers + 3 * n, i, h);
  }
  return s2_ok();
}

// Where shapes get other vertices near the number steps are smaller.
static S2Status world_tape_by_input(const Maker *maker, int which, double *slope) {
  enum { TRIES = 4, SMALLER = 16 };
  double h = world_tape_difference_step(maker->made->values[which]);
  S2Status status = world_tape_two_sided(maker, which, h, slope);
  for (int k = 1; k < TRIES && status.code == S2_UNAVAILABLE; k++) {
    h /= SMALLER;
    status = world_tape_two_sided(maker, which, h, slope);
  }
  return status;
}

// The same for a number of the world that it is made in.
static S2Status world_tape_by_place(const Maker *maker, S2Place place, double *slope) {
  static const double part[4] = {1, -1, 0.5, -0.5};
  int n = maker->count;
  double *numbers = S2_TAKE(&maker->tape->arena, double, 4 * n);
  double *at = s2_place_in(maker->tape->scratch, place), was = *at,
         h = world_tape_difference_step(was);
  for (int k = 0; k < 4; k++) {
    *at = was + part[k] * h;
    S2Status status = world_tape_remake(maker, -1, 0, numbers + k * n);
    at = s2_place_in(maker->tape->scratch, place);
    *at = was;
    S2_TRY(status);
  }
  for (int i = 0; i < n; i++) {
    slope[i] = world_tape_central(numbers, numbers + n, numbers + 2 * n, numbers + 3 * n, i, h);
  }
  return s2_ok();
}

static S2Status world_tape_note_made(Maker *maker, int sources, const S2Place *source) {
  double *slope = S2_TAKE(&maker->tape->arena, double, maker->count);
  for (int i = 0; i < maker->made->inputs; i++) {
    S2_TRY(world_tape_by_input(maker, i, slope));
    world_tape_add_terms(maker, slope, maker->made->vars[i], (S2Place){0});
  }
  for (int i = 0; i < sources; i++) {
    S2_TRY(world_tape_by_place(maker, source[i], slope));
    world_tape_add_terms(maker, slope, 0, source[i]);
  }
  return s2_ok();
}

static Maker world_tape_open_maker(S2WorldTape *tape, bool joint, const S2World *world,
                                   int32_t slot, const S2Made *made) {
  s2_arena_reset(&tape->arena);
  Maker maker = {.tape = tape, .joint = joint, .world = world, .slot = slot, .made = made};
  maker.count = world_tape_list_places(&maker, world, slot, NULL, 0);
  maker.places = S2_TAKE(&tape->arena, S2Place, maker.count);
  maker.plain = S2_TAKE(&tape->arena, double, maker.count);
  world_tape_list_places(&maker, world, slot, maker.places, maker.count);
  for (int i = 0; i < maker.count; i++) {
    maker.plain[i] = s2_place_value(world, maker.places[i]);
  }
  return maker;
}

S2Status s2_world_tape_made_body(S2WorldTape *tape, const S2World *world, int32_t slot,
                                 const S2Made *made) {
  Maker maker = world_tape_open_maker(tape, false, world, slot, made);
  world_tape_drop_scratch(tape); // left over where building raised
  if (made->inputs > 0) {
    S2_TRY(s2_world_create(&world->kept.def, &tape->scratch));
    S2Status status = world_tape_note_made(&maker, 0, NULL);
    world_tape_drop_scratch(tape);
    S2_TRY(status);
  }
  s2_world_tape_write(tape, world, maker.count, maker.places, maker.terms, maker.term);
  return s2_ok();
}

// What a joint being made looks at: the poses of its bodies and, of a gear, what its joints measure
// by.
static int world_tape_joint_sources(const S2World *world, const S2Joint *joint, S2Place *places) {
  int count = 0;
  const S2Joint *of[3] = {joint, NULL, NULL};
  if (joint->type == S2_GEAR) {
    of[1] = &world->joints.at[joint->joint_a];
    of[2] = &world->joints.at[joint->joint_b];
  }
  for (int i = joint->type == S2_GEAR ? 1 : 0; i < 3 && of[i] != NULL; i++) {
    const int32_t slots[2] = {of[i]->a, of[i]->b};
    for (int k = 0; k < 6; k++) {
      int32_t slot = slots[k / 3];
      bool twice = slot == S2_NONE || (i == 2 && (slot == of[1]->a || slot == of[1]->b));
      if (!twice) {
        places[count++] = s2_place(S2_PLACE_Q, slot, k % 3);
      }
    }
    for (int number = S2_OF_LOCAL_A; i > 0 && number <= S2_OF_ANGLE0; number++) {
      places[count++] = s2_place(S2_PLACE_JOINT, i == 1 ? joint->joint_a : joint->joint_b, number);
    }
  }
  return count;
}

S2Status s2_world_tape_made_joint(S2WorldTape *tape, const S2World *world, int32_t slot,
                                  const S2Made *made) {
  enum { MOST = 2 * 6 + 2 * 7 };
  S2Place sources[MOST];
  Maker maker = world_tape_open_maker(tape, true, world, slot, made);
  world_tape_drop_scratch(tape);
  if (made->build != NULL) {
    int count = world_tape_joint_sources(world, &world->joints.at[slot], sources);
    S2_TRY(s2_world_clone(world, &tape->scratch));
    S2Status status = world_tape_note_made(&maker, count, sources);
    world_tape_drop_scratch(tape);
    S2_TRY(status);
  }
  s2_world_tape_write(tape, world, maker.count, maker.places, maker.terms, maker.term);
  return s2_ok();
}

// ---- Steps ------------------------------------------------------------------------------------

typedef struct Step { // or a part of one
  S2WorldTape *world;
  S2Trace *trace;     // or
  S2Segment *segment; // where it can be made again
  int index;          // of it there; the first owns the segment
  size_t bytes;
  double share; // of dt
  bool goes_on; // a part that is not the last
  bool failed;  // a part of a step that failed: it was never
  struct Step *earlier;
  int laws;
  S2Term *law; // what force laws gave, `to` is 3 slot + component
} Step;

static void world_tape_release_step(void *data) {
  Step *step = data;
  s2_tape_count_bytes(step->world->tape, -(ptrdiff_t)step->bytes);
  s2_trace_free(step->trace);
  if (step->segment != NULL && step->index == 0) {
    s2_segment_free(step->segment);
  }
}

// The gradient's f is that of the forces in this step, or part of one; by hand they act in all.
static void world_tape_forces_vjp(const Step *step, const double *later) {
  S2WorldTape *world = step->world;
  for (int i = 0; i < step->laws; i++) {
    const S2Term *law = &step->law[i];
    s2_tape_adjoint(world->tape, law->from)[law->index] += world->gradient.f[law->to];
  }
  for (int i = 0; i < 3 * world->gradient.slots && later != NULL; i++) {
    world->gradient.f[i] += later[i];
  }
}

// Impulses of contacts are summed over the parts of a step: what is asked of them is asked of the
// part before as well. (Those of joints are the last part's.) NULL: there is none before.
static S2ContactGradient *world_tape_asked_of_earlier(const Step *step, S2Arena *arena) {
  const S2WorldGradient *gradient = &step->world->gradient;
  if (step->earlier == NULL || gradient->contacts == 0) {
    return NULL;
  }
  S2ContactGradient *asked = S2_TAKE(arena, S2ContactGradient, gradient->contacts);
  memcpy(asked, gradient->contact, sizeof *asked * (size_t)gradient->contacts);
  return asked;
}

// What the sweep over a step is worth.
static S2Status world_tape_swept(const S2WorldTape *world) {
  if (world->flags != NULL) {
    *world->flags |= world->gradient.flags;
  }
  if ((world->gradient.flags & S2_GRADIENT_SINGULAR) != 0) {
    return s2_error(S2_INVALID, "a step has no derivative: its linear system is singular");
  }
  return s2_ok();
}

static S2Status world_tape_undo_step(S2Tape *tape, S2Var node, void *data) {
  const Step *step = data;
  S2WorldTape *world = step->world;
  const S2Trace *trace = step->trace;
  (void)node;
  if (step->failed) {
    return s2_ok();
  }
  // dt is also how far the world's time goes.
  s2_arena_reset(&world->arena);
  S2WorldGradient *gradient = &world->gradient;
  gradient->dt += step->share * gradient->time;
  gradient->quiet = world_tape_looks(world);
  const double *later =
      step->goes_on ? s2_arena_copy(&world->arena, gradient->f, 3 * gradient->slots) : NULL;
  // A trace that was not kept is made again, with its segment.
  if (trace == NULL) {
    size_t before = s2_segment_traces(step->segment);
    S2_TRY(s2_segment_trace(step->segment, step->index, &trace));
    size_t made = s2_segment_traces(step->segment) - before; // all or none
    s2_tape_count_bytes(tape, (ptrdiff_t)made);
  }
  // Contacts of steps before this one wait until their own.
  const S2ContactGradient *asked = world_tape_asked_of_earlier(step, &world->arena);
  S2_TRY(s2_trace_vjp(trace, gradient, &world->arena));
  if (asked != NULL) {
    memcpy(gradient->contact, asked, sizeof *asked * (size_t)gradient->contacts);
  }
  world_tape_forces_vjp(step, later);
  // Nothing before needs the segment's traces.
  if (step->segment != NULL && step->index == 0) {
    s2_tape_count_bytes(tape, -(ptrdiff_t)s2_segment_traces(step->segment));
    s2_segment_forget(step->segment);
  }
  return world_tape_swept(world);
}

// ---- Rest -------------------------------------------------------------------------------------

typedef struct Rest {
  S2WorldTape *world;
  S2Trace *trace; // of a step from there
  bool found;
  int count; // of the numbers that say where: `at` of 3 a slot
  int32_t *at;
  size_t bytes;
} Rest;

static void world_tape_release_rest(void *data) {
  Rest *rest = data;
  s2_tape_count_bytes(rest->world->tape, -(ptrdiff_t)rest->bytes);
  s2_trace_free(rest->trace);
}

static S2Status world_tape_undo_rest(S2Tape *tape, S2Var node, void *data) {
  const Rest *rest = data;
  S2WorldTape *world = rest->world;
  bool asked = false;
  (void)tape, (void)node;
  for (int i = 0; i < rest->count; i++) {
    asked |= world->gradient.q[rest->at[i]] != 0;
  }
  if (asked && !rest->found) {
    return s2_error(S2_INVALID, "world:solve_static() found no rest within its max_steps: the "
                                "places where it stopped have no derivative");
  }
  s2_arena_reset(&world->arena);
  S2_TRY(s2_static_vjp(rest->trace, rest->count, rest->at, &world->gradient, &world->arena));
  return world_tape_swept(world);
}

S2Status s2_world_tape_static(S2WorldTape *tape, S2World *world, const S2StaticOptions *options,
                              S2StaticResult *result) {
  s2_arena_reset(&tape->arena);
  // Forces by hand end with the first step, and hold at rest, too.
  size_t numbers = (size_t)world->f.count;
  double *f = S2_TAKE(&tape->arena, double, numbers);
  if (numbers > 0) {
    memcpy(f, world->f.at, sizeof(double) * numbers);
  }
  S2_TRY(s2_world_solve_static(world, options, result));
  // A step at the place of rest says how it depends on everything.
  Rest *rest = s2_tape_take(tape->tape, sizeof *rest);
  *rest = (Rest){.world = tape, .trace = s2_trace_new(), .found = result->solved};
  rest->at = s2_tape_take(tape->tape, sizeof *rest->at * numbers);
  for (int i = 0; i < world->order.count; i++) {
    int32_t slot = world->order.at[i];
    for (int c = 0; c < 3 && s2_body_moves(&world->bodies.at[slot]); c++) {
      rest->at[rest->count++] = 3 * slot + c;
    }
  }
  S2Status status = s2_world_rest_traced(world, f, rest->trace);
  if (status.code != S2_OK) {
    s2_trace_free(rest->trace);
    return status;
  }
  if (tape->checkpoints != NULL) {
    s2_checkpoints_break(tape->checkpoints);
  }
  // A world whose joints come off has no place that is independent of the way.
  bool drifts = world->kept.def.stabilization == S2_NO_STABILIZATION;
  if (drifts && world->joint_order.count > 0 && tape->flags != NULL) {
    *tape->flags |= S2_GRADIENT_PARTIAL; // how far joints have come off depends on the way
  }
  s2_world_gradient_fit(&tape->gradient, world);
  rest->bytes = s2_trace_bytes(rest->trace);
  s2_tape_count_bytes(tape->tape, (ptrdiff_t)rest->bytes);
  s2_tape_node(tape->tape, 0, NULL, world_tape_undo_rest, world_tape_release_rest, rest);
  return s2_ok();
}

// ---- Force laws -------------------------------------------------------------------------------

bool s2_world_asks(const S2World *world) {
  bool asks = false;
  for (int i = 0; i < world->order.count; i++) {
    const S2Body *body = &world->bodies.at[world->order.at[i]];
    asks |= body->has_law || body->has_motion;
  }
  for (int i = 0; i < world->joint_order.count; i++) {
    const S2Joint *joint = &world->joints.at[world->joint_order.at[i]];
    asks |= joint->type == S2_CONSTRAINT || joint->has_law || joint->driven;
  }
  return asks;
}

void s2_world_tape_law(S2WorldTape *tape, int32_t slot, const S2Var vars[3]) {
  for (int k = 0; k < 3; k++) {
    if (vars[k] != 0) {
      *s2_array_append(tape->laws) = (S2Term){.to = 3 * slot + k, .from = vars[k], .factor = 1};
    }
  }
}

static Step *world_tape_new_step(S2WorldTape *tape) {
  Step *step = s2_tape_take(tape->tape, sizeof *step);
  *step = (Step){.world = tape, .share = 1};
  tape->laws.count = 0;
  return step;
}

static void world_tape_note_step(Step *step, const S2World *world) {
  S2WorldTape *tape = step->world;
  step->laws = tape->laws.count;
  if (step->laws > 0) {
    size_t bytes = sizeof(S2Term) * (size_t)step->laws;
    step->law = s2_tape_take(tape->tape, bytes);
    memcpy(step->law, tape->laws.at, bytes);
  }
  s2_world_gradient_fit(&tape->gradient, world);
  if (step->segment == NULL) {
    step->bytes = s2_trace_bytes(step->trace);
  } else { // its share of what the segment holds
    size_t bytes = s2_segment_bytes(step->segment);
    step->bytes = step->index == 0 ? bytes : 0;
  }
  s2_tape_count_bytes(tape->tape, (ptrdiff_t)step->bytes);
  s2_tape_node(tape->tape, 0, NULL, world_tape_undo_step, world_tape_release_step, step);
}

// Parts are noted one by one where functions of the program look at the states between them.
typedef struct Parts {
  Step *now;
  S2World *world;
} Parts;

static void world_tape_begin_part(Parts *parts, Step *earlier) {
  Step *step = parts->now = world_tape_new_step(parts->now->world);
  step->share = 1.0 / parts->world->kept.def.substeps;
  step->earlier = earlier;
  step->trace = s2_trace_new();
  parts->world->notes = &step->trace->notes;
}

static void world_tape_next_part(void *user) {
  Parts *parts = user;
  Step *ended = parts->now;
  ended->goes_on = true;
  world_tape_note_step(ended, parts->world);
  world_tape_begin_part(parts, ended);
}

static S2Status world_tape_step_in_parts(S2WorldTape *tape, S2World *world) {
  Step first = {.world = tape};
  Parts parts = {&first, world};
  S2_TRY(s2_world_idle(world));
  world_tape_begin_part(&parts, NULL);
  world->parted = world_tape_next_part;
  world->parted_user = &parts; // cppcheck-suppress autoVariables; taken back below
  S2Status status = s2_world_step(world);
  world->parted = NULL;
  world->parted_user = NULL;
  world->notes = NULL;
  if (status.code == S2_OK) {
    world_tape_note_step(parts.now, world);
    return status;
  }
  s2_trace_free(parts.now->trace);
  for (Step *step = parts.now->earlier; step != NULL; step = step->earlier) {
    step->failed = true;
  }
  return status;
}

S2Status s2_world_tape_step(S2WorldTape *tape, S2World *world, int every) {
  bool in_parts = world->kept.def.substeps > 1 && s2_world_asks(world);
  if (every > 0 && !in_parts && s2_checkpoints_can(world)) {
    tape->checkpoints = tape->checkpoints == NULL ? s2_checkpoints_new() : tape->checkpoints;
    Step *step = world_tape_new_step(tape);
    S2_TRY(s2_checkpoints_step(tape->checkpoints, world, every, &step->segment, &step->index));
    world_tape_note_step(step, world);
    return s2_ok();
  }
  if (tape->checkpoints != NULL) {
    s2_checkpoints_break(tape->checkpoints);
  }
  if (in_parts) {
    return world_tape_step_in_parts(tape, world);
  }
  Step *step = world_tape_new_step(tape);
  step->trace = s2_trace_new();
  S2Status status = s2_world_step_traced(world, step->trace);
  if (status.code != S2_OK) {
    s2_trace_free(step->trace);
    return status;
  }
  world_tape_note_step(step, world);
  return status;
}

// ---- Copies -----------------------------------------------------------------------------------

typedef struct Copy {
  S2WorldTape *to, *from;
} Copy;

static S2Status world_tape_undo_copy(S2Tape *tape, S2Var node, void *data) {
  const Copy *copy = data;
  (void)tape, (void)node;
  if (copy->from != NULL) {
    s2_world_gradient_add(&copy->from->gradient, &copy->to->gradient);
  }
  s2_world_gradient_clear(&copy->to->gradient);
  return s2_ok();
}

void s2_world_tape_copy(S2WorldTape *to, S2WorldTape *from) {
  Copy *copy = s2_tape_take(to->tape, sizeof *copy);
  *copy = (Copy){to, from};
  if (from != NULL) {
    s2_world_gradient_add(&to->tracked, &from->tracked);
  }
  s2_tape_node(to->tape, 0, NULL, world_tape_undo_copy, NULL, copy);
}
