#include "diff/world/world_tape.h"

#include "diff/world/world_tape_parts.h"
#include "dynamics/world/world.h"

#include <math.h>
#include <string.h>

static void world_tape_start_sweep(void *data) {
  S2WorldTape *world = data;
  int columns = s2_tape_columns(world->tape);
  s2_world_gradient_clear(&world->gradient);
  if (columns > 0) {
    s2_world_tangents_free(&world->tangents); // tangents of other columns
    s2_world_tangents_start(&world->tangents, &world->gradient, columns);
  }
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
  if (tape->recorder != NULL) {
    s2_recorder_free(tape->recorder);
    s2_memory_free(tape->recorder);
  }
  s2_world_gradient_free(&tape->gradient);
  s2_world_tangents_free(&tape->tangents);
  s2_world_gradient_free(&tape->tracked);
  s2_arena_free(&tape->arena);
  s2_array_free(tape->inputs);
}

S2WorldGradient *s2_world_tape_gradient(S2WorldTape *tape, const S2World *world) {
  s2_world_gradient_fit(&tape->gradient, world);
  return &tape->gradient;
}

S2Tape *s2_world_tape_of(const S2WorldTape *tape) {
  return tape->tape;
}

void s2_world_tape_flag(S2WorldTape *tape, unsigned flags) {
  if (tape->flags != NULL) {
    *tape->flags |= flags;
  }
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
  S2Var node = s2_tape_node(tape, 0, NULL, world_tape_no_act, world_tape_release_world, world);
  s2_tape_set_forward(tape, node, world_tape_no_act, NULL);
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

typedef S2WorldAct Act;

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

// Returns true if this number changes within a step. A force law reads such numbers as inputs
// (S2LawInput).
static bool world_tape_of_moment(S2Place place) {
  bool state = place.kind == S2_PLACE_Q || place.kind == S2_PLACE_V;
  return state ||
         (place.kind == S2_PLACE_WORLD && (place.number == S2_OF_TIME || place.number == S2_OF_DT));
}

static S2LawInput *world_tape_input(S2WorldTape *world, S2Place place) {
  S2LawInput *input = world->inputs.at;
  int i = 0;
  while (i < world->inputs.count &&
         (input[i].place.kind != place.kind || input[i].place.number != place.number ||
          input[i].place.slot != place.slot)) {
    i += 1;
  }
  if (i == world->inputs.count) {
    *s2_array_append(world->inputs) = (S2LawInput){place, 0};
  }
  return &world->inputs.at[i];
}

// While a force law is running, only numbers that it read within the step receive adjoints. These
// go to the inputs of the law. At other times, all other numbers receive adjoints. These go to the
// gradient.
static void world_tape_hand_within(const Act *act, S2Place source, double g) {
  if (act->within && world_tape_of_moment(source)) {
    if (act->world->asks) {
      world_tape_input(act->world, source)->bar += g;
    }
  } else if (!act->world->asks) {
    *world_tape_bar_of(act->world, source) += g;
  }
}

static void world_tape_hand_on(const Act *act, const double *bar) {
  for (int i = 0; i < act->terms; i++) {
    const S2Term *term = &act->term[i];
    double g = bar[term->to] * term->factor;
    if (bar[term->to] == 0) { // an adjoint of 0 stays 0, even if a derivative is infinite
      continue;
    }
    if (term->from != 0) {
      s2_tape_adjoint(act->world->tape, term->from)[term->index] += g;
    } else {
      world_tape_hand_within(act, term->source, g);
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
    *at = i < act->replaced ? 0 : *at;
  }
  world_tape_hand_on(act, bar);
  return s2_ok();
}

// Adds the contributions of the terms to row[columns].
static void world_tape_add_tangents(const Act *act, int columns, double *rows) {
  const S2WorldTape *world = act->world;
  for (int i = 0; i < act->terms; i++) {
    const S2Term *term = &act->term[i];
    double *row = rows + (size_t)term->to * (size_t)columns;
    if (term->from == 0 && act->within && world_tape_of_moment(term->source)) {
      continue; // the step itself includes this derivative
    }
    if (term->from == 0) {
      s2_world_tangents_add(&world->tangents, term->source, term->factor, row);
      continue;
    }
    const double *tangent =
        s2_tape_tangent(world->tape, term->from) + (size_t)term->index * (size_t)columns;
    for (int j = 0; j < columns; j++) {
      row[j] += tangent[j] == 0 ? 0 : term->factor * tangent[j];
    }
  }
}

static S2Status world_tape_push_write(S2Tape *tape, S2Var node, void *data) {
  const Act *act = data;
  S2WorldTangents *tangents = &act->world->tangents;
  size_t columns = (size_t)s2_tape_columns(tape);
  (void)node;
  double *rows = s2_world_tangents_fresh(tangents, act->places);
  memset(rows, 0, sizeof *rows * columns * (size_t)act->places);
  for (int i = act->replaced; i < act->places; i++) {
    s2_world_tangents_add(tangents, act->place[i], 1, rows + (size_t)i * columns);
  }
  world_tape_add_tangents(act, (int)columns, rows);
  for (int i = 0; i < act->places; i++) {
    s2_world_tangents_set(tangents, act->place[i], rows + (size_t)i * columns);
  }
  return s2_ok();
}

S2WorldAct *s2_world_tape_act(S2WorldTape *tape, const S2World *world, int replaced, int count,
                              const S2Place *places, int terms, const S2Term *term) {
  s2_world_gradient_fit(&tape->gradient, world);
  Act *act = world_tape_take_act(tape, count, places, terms, term);
  act->replaced = replaced;
  s2_world_gradient_fit(&tape->tracked, world);
  for (int i = 0; i < terms; i++) {
    S2PlaceKind kind = places[term[i].to].kind;
    *s2_place_gradient(&tape->tracked, places[term[i].to]) = 1;
    tape->parameters |= kind != S2_PLACE_Q && kind != S2_PLACE_V && kind != S2_PLACE_F;
  }
  S2Var node = s2_tape_node(tape->tape, 0, NULL, world_tape_undo_write, NULL, act);
  s2_tape_set_forward(tape->tape, node, world_tape_push_write, NULL);
  return act;
}

void s2_world_tape_write(S2WorldTape *tape, const S2World *world, int count, const S2Place *places,
                         int terms, const S2Term *term) {
  (void)s2_world_tape_act(tape, world, count, count, places, terms, term);
}

void s2_world_tape_add(S2WorldTape *tape, const S2World *world, int count, const S2Place *places,
                       int terms, const S2Term *term) {
  if (terms > 0) {
    (void)s2_world_tape_act(tape, world, 0, count, places, terms, term);
  }
}

S2Quiet *s2_world_tape_looks(const S2WorldTape *world) {
  return world->quiet != NULL && world->quiet->looks ? world->quiet : NULL;
}

static S2Status world_tape_undo_read(S2Tape *tape, S2Var node, void *data) {
  const Act *act = data;
  const double *bar = s2_tape_adjoint(tape, node);
  S2Quiet *quiet = s2_world_tape_looks(act->world);
  for (int i = 0; i < act->terms && quiet != NULL; i++) {
    quiet->asked |= bar[act->term[i].to] != 0;
  }
  world_tape_hand_on(act, bar);
  return s2_ok();
}

static S2Status world_tape_push_read(S2Tape *tape, S2Var node, void *data) {
  world_tape_add_tangents(data, s2_tape_columns(tape), s2_tape_tangent(tape, node));
  return s2_ok();
}

S2Var s2_world_tape_read(S2WorldTape *tape, const S2World *world, int count, const double *values,
                         int terms, const S2Term *term) {
  if (terms == 0) {
    return 0;
  }
  s2_world_gradient_fit(&tape->gradient, world);
  Act *act = world_tape_take_act(tape, 0, NULL, terms, term);
  act->within = tape->asks;
  S2Var node = s2_tape_node(tape->tape, count, values, world_tape_undo_read, NULL, act);
  s2_tape_set_forward(tape->tape, node, world_tape_push_read, NULL);
  return node;
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

// Returns the step h for extrapolated central differences of a number x. The error of the
// differences is (h/scale)^4/120 plus the rounding unit divided by h. Angles have the scale 1. x +
// h/2 is exact, so the derivative of x itself is exactly 1.
static double world_tape_difference_step(double x) {
  double size = fabs(x);
  double h = size == 0 ? 1e-4 : fmax(1e-6, 1e-3 * (size > 10 && size < 1000 ? 10 : size));
  volatile double up = x + h / 2;
  return 2 * (up - x);
}

// The difference, or 0 if both numbers are equal or one is infinite (an absent limit).
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
    // Combine differences of two widths. The error is of order h^4.
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

// ---- Creating objects -------------------------------------------------------------------------

typedef struct Maker {
  S2WorldTape *tape;
  bool joint;
  const S2World *world;
  int32_t slot;
  int count; // number of the object's places
  S2Place *places;
  const S2Made *made;
  double *plain; // its values
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
  return s2_error(S2_UNAVAILABLE,
                  "the shapes of body %s get different vertices as soon as a tracked number in "
                  "them changes, so there is no derivative at this number: leave out vertices on "
                  "straight edges, or start from another number",
                  label);
}

// Reads the numbers of the newest object in the scratch world, and removes the object again.
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

// Vertices move about as far as the numbers on which they depend. A vertex that seems to move
// farther is a different vertex.
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

// At an end of the number's range, use five points on one side. The order of accuracy is the same.
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
    if (status.code == S2_INVALID) { // outside the number's domain
      return world_tape_one_sided(maker, which, -(k % 2 == 0 ? h : -h), slope);
    }
    S2_TRY(status);
  }
  for (int i = 0; i < n; i++) {
    slope[i] = world_tape_central(numbers, numbers + n, numbers + 2 * n, numbers + 3 * n, i, h);
  }
  return s2_ok();
}

// Reduces the difference step if shapes get different vertices near the number.
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

// Differentiates an object with respect to a number of the world in which it is created.
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
  world_tape_drop_scratch(tape); // an object left over from a build that raised an error
  if (made->inputs > 0) {
    S2_TRY(s2_world_create(&world->kept.def, &tape->scratch));
    S2Status status = world_tape_note_made(&maker, 0, NULL);
    world_tape_drop_scratch(tape);
    S2_TRY(status);
  }
  s2_world_tape_write(tape, world, maker.count, maker.places, maker.terms, maker.term);
  return s2_ok();
}

// Lists the numbers that the creation of a joint reads. These are the poses of its bodies and, for
// a gear, the numbers in the measures of its joints.
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

static S2Status world_tape_push_copy(S2Tape *tape, S2Var node, void *data) {
  const Copy *copy = data;
  (void)tape, (void)node;
  s2_world_tangents_copy(&copy->to->tangents, copy->from == NULL ? NULL : &copy->from->tangents);
  return s2_ok();
}

void s2_world_tape_copy(S2WorldTape *to, S2WorldTape *from) {
  Copy *copy = s2_tape_take(to->tape, sizeof *copy);
  *copy = (Copy){to, from};
  if (from != NULL) {
    s2_world_gradient_add(&to->tracked, &from->tracked);
    to->parameters |= from->parameters;
  }
  S2Var node = s2_tape_node(to->tape, 0, NULL, world_tape_undo_copy, NULL, copy);
  s2_tape_set_forward(to->tape, node, world_tape_push_copy, NULL);
}
