// Evaluates force laws, and finds velocities that agree with them at the end of a piece.
#include "dynamics/step/laws.h"
#include "dynamics/step/forces.h"
#include "dynamics/trace/notes.h"

#include <string.h>

// Relative tolerances of the equation v = u + c L(v), in the kinetic energy norm. Errors below
// ROUNDING are rounding errors. For laws that are not smooth, an error of AGREED is sufficient.
static const double ROUNDING = 1e-14;
static const double AGREED = 1e-8;
// PASSES is the maximum number of evaluations until velocities and laws agree. STALLED is the
// maximum number of evaluations without improvement.
enum { PASSES = 50, STALLED = 5 };
// If more than the fraction SLOW of the error remains after an evaluation, the derivative of a law
// with respect to the velocity of its body is computed by finite differences. DIFFERENCE is the
// step of these differences, as a fraction of the velocity.
static const double SLOW = 0.03, DIFFERENCE = 1e-6;

// ---- The visible state --------------------------------------------------------------------------

static bool body_goes(const S2World *world, int32_t slot) {
  const S2Body *body = &world->bodies.at[slot];
  return body->enabled && body->type != S2_STATIC;
}

typedef struct View {
  const S2Step *step;
  const S2Island *island; // NULL if all bodies have the state q, v
  const S2LawFrame *frame;
  double since; // time since the start of the frame (s)
  double t;     // s
  double *q, *v;
} View;

static S2LawOf view_of(const View *view, int32_t slot) {
  const S2Island *island = view->island;
  int32_t node = view->step->node_of[slot];
  if (island == NULL || (node != S2_GROUND && node < island->nodes && island->node[node] == slot)) {
    return S2_LAW_OWN;
  }
  return S2_LAW_FLIES;
}

// Returns the acceleration of a body outside the island.
static double view_bend(const View *view, int at) {
  const S2LawFrame *frame = view->frame;
  return (frame->free_v[at] - frame->v[at]) / view->step->dt;
}

// Returns the state after the fraction `part` of the piece. Bodies of the island are between q0 and
// q and have the velocity v. Other bodies are in free flight.
static View view_at(const S2Step *step, const S2Island *island, const S2LawFrame *frame,
                    const double *q, const double *v, double part) {
  int n = 3 * step->world->bodies.count;
  View view = {.step = step, .island = island, .frame = frame, .t = step->t + part * step->h};
  view.since = frame == NULL ? 0 : frame->done + part * step->h;
  view.q = S2_TAKE(step->arena, double, n);
  view.v = S2_TAKE(step->arena, double, n);
  for (int32_t slot = 0; slot < step->world->bodies.count; slot++) {
    S2LawOf of = view_of(&view, slot);
    double s = view.since;
    bool goes = body_goes(step->world, slot);
    for (int at = 3 * slot; at < 3 * slot + 3; at++) {
      double bend = of == S2_LAW_OWN ? 0 : view_bend(&view, at);
      double from = step->q0[at], to = part == 1 ? q[at] : from + part * (q[at] - from);
      double speed = of == S2_LAW_OWN ? v[at] : frame->v[at] + s * bend;
      view.q[at] = of == S2_LAW_OWN ? to : frame->q[at] + s * (frame->v[at] + s / 2 * bend);
      // bodies that do not move keep their stored velocity
      view.v[at] = goes ? speed : step->world->v.at[at];
    }
  }
  return view;
}

// ---- Evaluation ---------------------------------------------------------------------------------

void s2_force_slope(S2World *world, int number, int32_t slot, S2BodyField part, double by) {
  *s2_array_append(world->slopes) = (S2ForceTerm){number, slot, part, by};
}

static void laws_keep_answer(const View *view, const S2ForceCall *call, S2LawAnswer *answer) {
  const S2World *world = view->step->world;
  int count = world->slopes.count;
  if (!call->sloped) {
    world->notes->reason = "a force law that returns no slopes (s2_force_slope)";
  }
  S2LawTerm *terms = S2_TAKE(view->step->arena, S2LawTerm, count + 1);
  for (int i = 0; i < count; i++) {
    S2ForceTerm term = world->slopes.at[i];
    S2LawOf of = view_of(view, term.slot);
    int c = (int)term.part % 3, at = 3 * term.slot + c;
    bool moves = of != S2_LAW_OWN && body_goes(world, term.slot);
    double bend = moves ? view_bend(view, at) : 0;
    double rate = !moves ? 0 : term.part < S2_BODY_OMEGA ? view->v[at] : bend;
    terms[i] = (S2LawTerm){term, of, rate};
  }
  answer->terms = count;
  answer->term = terms;
  memcpy(answer->by_time, call->by_time, sizeof call->by_time);
  memcpy(answer->by_dt, call->by_dt, sizeof call->by_dt);
  memcpy(answer->origin, call->origin, sizeof call->origin);
}

// Evaluates the law of a body. `answer` receives the slopes and may be NULL.
static bool laws_ask(const View *view, int32_t slot, double force[3], S2LawAnswer *answer) {
  const S2Step *step = view->step;
  S2World *world = step->world;
  const S2Callbacks *call = &world->callbacks;
  S2ForceCall asked = {.body = s2_body_id(world, slot),
                       .t = view->t,
                       .dt = step->dt,
                       .wanted = answer != NULL,
                       .timed = view->island != NULL};
  world->slopes.count = 0;
  // Write the state of the view to the world, because the program reads the world. Mask memory
  // errors, because they must not jump across stack frames of the program.
  double *q = world->q.at, *v = world->v.at;
  world->q.at = view->q;
  world->v.at = view->v;
  bool masked = s2_memory_mask(true);
  bool going = call->force(call->user, world, &asked);
  s2_memory_mask(masked);
  world->q.at = q;
  world->v.at = v;
  memcpy(force, asked.force, sizeof asked.force);
  if (going && answer != NULL) {
    answer->slot = slot;
    laws_keep_answer(view, &asked, answer);
  }
  return going;
}

bool s2_laws_look(S2Step *step, const S2Island *island, const S2LawFrame *frame, const double *q,
                  const double *v, double *law, S2LawAnswer *answers) {
  S2LawFrame then = *frame; // view_at() expects the start of a piece of length h
  then.done -= step->h;
  View view = view_at(step, island, &then, q, v, 1);
  view.since = frame->done;
  view.t = step->world->kept.time + frame->done; // event stepping changes step->t
  int count = 0;
  for (int i = 0; i < island->nodes; i++) {
    int32_t slot = island->node[i];
    if (s2_step_lawful(step, slot) &&
        !laws_ask(&view, slot, law + 3 * slot, answers == NULL ? NULL : &answers[count++])) {
      return false;
    }
  }
  return true;
}

// Lists the slots of an island's bodies with laws. If `island` is NULL, lists bodies outside
// islands or, with `all`, all bodies.
static int laws_of(const S2Step *step, const S2Island *island, bool all, int32_t *slots) {
  View view = {.step = step, .island = island};
  int count = 0;
  for (int i = 0; i < step->laws; i++) {
    int32_t slot = step->lawful[i];
    bool takes = island == NULL ? all || step->node_of[slot] == S2_GROUND
                                : view_of(&view, slot) == S2_LAW_OWN;
    if (takes) {
      slots[count++] = slot;
    }
  }
  return count;
}

bool s2_island_lawful(const S2Step *step, const S2Island *island) {
  bool any = false;
  for (int i = 0; i < island->nodes && step->laws > 0 && !any; i++) {
    any = s2_step_lawful(step, island->node[i]);
  }
  return any;
}

// ---- The start of a piece -----------------------------------------------------------------------

bool s2_laws_set_out(S2Step *step, const S2Island *island, const S2LawFrame *frame) {
  if (step->laws == 0 || (island != NULL && !s2_island_lawful(step, island))) {
    return true;
  }
  int32_t *slots = S2_TAKE(step->arena, int32_t, step->laws);
  int count = laws_of(step, island, true, slots);
  bool noted = step->world->notes != NULL;
  S2LawAnswer *answers = noted ? S2_TAKE_ZEROED(step->arena, S2LawAnswer, count) : NULL;
  View view = view_at(step, island, frame, step->q0, step->v0, 0);
  double *law = S2_TAKE(step->arena, double, 3 * count);
  for (int i = 0; i < count; i++) {
    if (!laws_ask(&view, slots[i], law + 3 * i, noted ? &answers[i] : NULL)) {
      return false;
    }
  }
  // The force on a body is the constant force plus the force of its law.
  S2LawsAct act = {.answers = answers, .count = count, .since = view.since};
  s2_note_laws(step, island, S2_ACT_LAWS, &act);
  for (int i = 0; i < count; i++) {
    for (int c = 0; c < 3; c++) {
      int at = 3 * slots[i] + c;
      step->law[at] = law[3 * i + c];
      step->force[at] = step->held[at] + step->law[at];
    }
  }
  return true;
}

bool s2_laws_begin(S2Step *step) {
  const S2World *world = step->world;
  int n = world->order.count;
  step->laws = 0;
  if (world->callbacks.force == NULL) {
    return true;
  }
  for (int i = 0; i < n; i++) {
    step->laws += s2_step_lawful(step, world->order.at[i]);
  }
  if (step->laws == 0) {
    return true;
  }
  // List the bodies with laws, in the order of creation.
  step->lawful = S2_TAKE(step->arena, int32_t, step->laws);
  step->laws = 0;
  for (int i = 0; i < n; i++) {
    if (s2_step_lawful(step, world->order.at[i])) {
      step->lawful[step->laws++] = world->order.at[i];
    }
  }
  int numbers = 3 * world->bodies.count;
  step->held = s2_arena_copy(step->arena, step->force, numbers);
  step->law = S2_TAKE_ZEROED(step->arena, double, numbers);
  bool going = s2_laws_set_out(step, NULL, NULL);
  step->law_begin = s2_arena_copy(step->arena, step->law, numbers);
  return going;
}

void s2_laws_back_to_begin(S2Step *step) {
  for (int i = 0; i < 3 * step->laws; i++) {
    int at = 3 * step->lawful[i / 3] + i % 3;
    step->law[at] = step->law_begin[at];
    step->force[at] = step->held[at] + step->law[at];
  }
}

// ---- The end of a piece -------------------------------------------------------------------------

typedef struct Agreeing { // iteration state of a body with a law
  int32_t slot;
  bool given_up, sloped, rough;
  double u[3], c[3], mass[3]; // the equation v = u + c (L - L0)
  double law[3];              // last value of the law
  double off[3];              // error u + c (L - L0) - v of the equation
  double most, before, best;  // relative errors: current, previous, smallest
  int stalled;                // number of evaluations since the smallest error
  double slope[9]; // derivative of the law with respect to the body's velocity, if `sloped`
} Agreeing;

static void agreeing_look(const View *view, Agreeing *body) {
  double off = 0, size = 0;
  for (int k = 0; k < 3; k++) {
    int at = 3 * body->slot + k;
    double v = view->v[at], law0 = view->step->law[at], c = body->c[k];
    double parts = fabs(body->u[k]) + fabs(v) + c * (fabs(body->law[k]) + fabs(law0));
    body->off[k] = body->u[k] + c * (body->law[k] - law0) - v;
    off += body->mass[k] * body->off[k] * body->off[k];
    size += body->mass[k] * parts * parts;
  }
  body->before = body->most;
  body->most = size > 0 ? sqrt(off / size) : 0;
  body->stalled = body->most < body->best ? 0 : body->stalled + 1;
  body->best = fmin(body->best, body->most);
  // If the error stops decreasing, it is either small enough or the iteration does not converge.
  bool stalled = body->stalled >= STALLED;
  body->given_up = stalled && body->most > AGREED;
  body->rough |= stalled && !body->given_up;
}

// Computes the slope by finite differences in the velocity of the body. Returns false if aborted.
static bool agreeing_find_slope(const View *view, Agreeing *body) {
  double *v = view->v + 3 * body->slot;
  for (int j = 0; j < 3; j++) {
    double size = fabs(v[j]) + fabs(body->off[j]), was = v[j], law[3];
    volatile double moved = was + DIFFERENCE * (size > 0 ? size : 1);
    v[j] = moved;
    bool going = laws_ask(view, body->slot, law, NULL);
    v[j] = was;
    if (!going) {
      return false;
    }
    for (int k = 0; k < 3; k++) {
      body->slope[3 * k + j] = (law[k] - body->law[k]) / (moved - was);
    }
  }
  body->sloped = true;
  return true;
}

// Solves the 3 x 3 system by elimination with partial pivoting.
void s2_laws_solve(const double c[3], const double d[9], bool transposed, double x[3]) {
  double a[3][4];
  for (int i = 0; i < 3; i++) {
    for (int j = 0; j < 3; j++) {
      double cd = transposed ? c[j] * d[3 * j + i] : c[i] * d[3 * i + j];
      a[i][j] = (i == j) - cd;
    }
    a[i][3] = x[i];
  }
  // Use Gauss-Jordan elimination with row pivoting.
  for (int k = 0; k < 3; k++) {
    int pivot = k;
    for (int i = k + 1; i < 3; i++) {
      pivot = fabs(a[i][k]) > fabs(a[pivot][k]) ? i : pivot;
    }
    if (a[pivot][k] == 0) {
      return;
    }
    for (int j = 0; j < 4; j++) {
      double swap = a[k][j];
      a[k][j] = a[pivot][j];
      a[pivot][j] = swap;
    }
    for (int i = 0; i < 3; i++) {
      double factor = i == k ? 0 : a[i][k] / a[k][k];
      for (int j = k; j < 4; j++) {
        a[i][j] -= factor * a[k][j];
      }
    }
  }
  for (int k = 0; k < 3; k++) {
    x[k] = a[k][3] / a[k][k];
  }
}

static void agreeing_move(const View *view, Agreeing *body) {
  double *v = view->v + 3 * body->slot;
  if (body->given_up) { // the law keeps its initial value over the piece
    memcpy(v, body->u, sizeof body->u);
    return;
  }
  if (body->sloped) {
    s2_laws_solve(body->c, body->slope, false, body->off);
  }
  for (int k = 0; k < 3; k++) {
    double law0 = view->step->law[3 * body->slot + k];
    v[k] = body->sloped ? v[k] + body->off[k] : body->u[k] + body->c[k] * (body->law[k] - law0);
  }
}

// Evaluates the laws until the velocities of all bodies agree with them. Returns false if aborted.
static bool laws_agree(const View *view, Agreeing *bodies, int count, S2LawAnswer *answers) {
  bool all = false;
  for (int pass = 0; pass < PASSES && !all; pass++) {
    for (int i = 0; i < count; i++) {
      S2LawAnswer *answer = answers == NULL ? NULL : &answers[i];
      if (!bodies[i].given_up && !laws_ask(view, bodies[i].slot, bodies[i].law, answer)) {
        return false;
      }
    }
    // Update the errors, and check if all velocities and laws agree.
    all = true;
    for (int i = 0; i < count; i++) {
      if (!bodies[i].given_up) {
        agreeing_look(view, &bodies[i]);
        all &= bodies[i].most <= ROUNDING || bodies[i].rough;
      }
    }
    for (int i = 0; i < count && !all; i++) {
      Agreeing *body = &bodies[i];
      // If fixed-point iteration is slow, use Newton's method with finite differences.
      bool slow = pass > 0 && !body->given_up && body->most > SLOW * body->before;
      if (slow && !body->sloped && !agreeing_find_slope(view, body)) {
        return false;
      }
    }
    for (int i = 0; i < count && !all; i++) {
      if (bodies[i].most > ROUNDING) {
        agreeing_move(view, &bodies[i]);
      }
    }
  }
  for (int i = 0; i < count; i++) {
    bodies[i].given_up |= bodies[i].most > AGREED;
  }
  return true;
}

bool s2_laws_arrive(S2Step *step, const S2Island *island, const S2LawFrame *frame, bool *changed) {
  *changed = false;
  if (step->laws == 0) {
    return true;
  }
  int32_t *slots = S2_TAKE(step->arena, int32_t, step->laws);
  int count = laws_of(step, island, false, slots);
  if (count == 0 || step->h == 0) {
    return true;
  }
  bool noted = step->world->notes != NULL;
  S2LawsAct act = {.count = count, .part = 2 * (1 - step->share)};
  act.answers = noted ? S2_TAKE_ZEROED(step->arena, S2LawAnswer, count) : NULL;
  View view = view_at(step, island, frame, step->q1, step->v2, act.part);
  act.since = view.since;
  // Find the velocities that agree with the laws at the end of the piece.
  Agreeing *bodies = S2_TAKE_ZEROED(step->arena, Agreeing, count);
  for (int i = 0; i < count; i++) {
    bodies[i].slot = slots[i];
    bodies[i].best = INFINITY;
    memcpy(bodies[i].u, step->v2 + 3 * slots[i], sizeof bodies[i].u);
    for (int k = 0; k < 3; k++) {
      bodies[i].mass[k] = step->mass[3 * slots[i] + k];
      bodies[i].c[k] = step->h / 2 / bodies[i].mass[k];
    }
  }
  if (!laws_agree(&view, bodies, count, act.answers)) {
    return false;
  }
  for (int i = 0; i < count && noted; i++) {
    act.answers[i].held = bodies[i].given_up;
    for (int k = 0; k < 3; k++) {
      act.answers[i].change[k] = bodies[i].law[k] - step->law[3 * slots[i] + k];
    }
  }
  // Store these velocities in the step.
  s2_note_laws(step, island, S2_ACT_LAWS_END, &act);
  for (int i = 0; i < count; i++) {
    for (int k = 0; k < 3 && !bodies[i].given_up; k++) {
      int at = 3 * slots[i] + k;
      double change = bodies[i].law[k] - step->law[at];
      *changed |= change != 0;
      step->v2[at] = bodies[i].u[k] + bodies[i].c[k] * change;
      if (island != NULL) {
        step->v1[at] = step->v2[at];
        step->force[at] = step->held[at] + (step->law[at] + bodies[i].law[k]) / 2;
      }
    }
    if (island != NULL) {
      s2_step_free_body(step, slots[i]);
    }
  }
  return true;
}
