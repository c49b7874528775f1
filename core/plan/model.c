#include "plan/model.h"

#include "base/memory.h"
#include "diff/linear/linearize.h"
#include "dynamics/control/control.h"
#include "dynamics/program/program.h"

#include "linalg/dense.h"

#include <math.h>
#include <string.h>

// Maximum number of threads that share a trajectory. Each of them needs a copy of the world, and
// trajectories have tens of knots.
enum { SHARES = 16 };

typedef struct Waypoint { // the world at a knot of the last trajectory
  unsigned char *image;
  size_t room, size;
} Waypoint;

// The parts of a trajectory that threads linearise: one part for each thread.
typedef struct Shares {
  int count;                                  // 1: none
  Waypoint waypoint[S2_MODEL_TRIALS][SHARES]; // of each trial, at the first knot of each part
  int chosen;                                 // trial that is the last trajectory
  double *u;                                  // knots x m: the commands of the last trajectory
  bool known;                                 // true if the waypoints belong to u
  S2Model *model[SHARES];                     // of each thread; the first one is the model itself
  uint64_t changes[SHARES];                   // change count of each copied world
  uint64_t original[SHARES]; // change count of the model's world when the copy was made
} Shares;

struct S2Model {
  S2ModelDef def;
  S2Arena arena, scratch; // `scratch` is only used during a call
  S2Reduction reduction;
  S2Linearizer *linearizer;
  S2Input *inputs;      // m inputs, one per actuator
  S2Output *outputs;    // outputs that the caller requests
  S2Output *states;     // outputs that read the coordinates of the reduced state
  unsigned char *start; // image of the world at the start of trajectories
  size_t room, size;    // capacity and size of the image
  uint64_t changes;     // the world's change count when the image was written
  int n, m, p;
  Shares shares;
};

static S2Status model_read_inputs(S2Model *model) {
  const S2World *world = model->def.world;
  model->m = s2_world_actuator_count(world);
  model->inputs = S2_TAKE_ZEROED(&model->arena, S2Input, model->m + 1);
  for (int i = 0; i < model->m; i++) {
    S2_TRY(s2_actuator_input(world, i, &model->inputs[i]));
  }
  return s2_ok();
}

static void model_keep_outputs(S2Model *model) {
  const S2ModelDef *def = &model->def;
  model->outputs = S2_TAKE(&model->arena, S2Output, def->output_count + 1);
  for (int i = 0; i < def->output_count; i++) {
    model->outputs[i] = def->outputs[i];
  }
  model->states = S2_TAKE_ZEROED(&model->arena, S2Output, model->reduction.m + 1);
  for (int i = 0; i < model->reduction.m; i++) {
    model->states[i].of = model->reduction.coordinate[i];
  }
  model->n = 2 * model->reduction.m;
  model->p = 2 * def->output_count + def->extra_count;
}

// Returns true if steps call functions of the program, which only the calling thread may call.
static bool model_calls(const S2Model *model) {
  const S2World *world = model->def.world;
  const S2Callbacks *call = &world->callbacks;
  bool calls = model->def.extra_count > 0 || call->filter != NULL || call->pre_solve != NULL;
  for (int i = 0; i < world->order.count; i++) {
    const S2Body *body = &world->bodies.at[world->order.at[i]];
    calls |= body->has_law || body->has_motion;
  }
  for (int i = 0; i < world->joint_order.count; i++) {
    const S2Joint *joint = &world->joints.at[world->joint_order.at[i]];
    calls |= joint->has_law || joint->driven || joint->type == S2_CONSTRAINT;
  }
  return calls;
}

static void model_open_shares(S2Model *model) {
  Shares *shares = &model->shares;
  int threads = model->def.workers == NULL ? 1 : s2_workers_count(model->def.workers);
  shares->count = threads < SHARES ? threads : SHARES;
  shares->count = shares->count < model->def.knots ? shares->count : 1;
  shares->u = S2_TAKE(&model->arena, double, model->def.knots * model->m + 1);
  shares->model[0] = model;
}

S2Status s2_model_open(const S2ModelDef *def, S2Model **out) {
  S2Model *model = s2_memory_take_zeroed(sizeof *model);
  s2_dense_single_threaded();
  model->def = *def;
  s2_arena_init(&model->arena);
  s2_arena_init(&model->scratch);
  model->linearizer = s2_linearizer_new();
  S2Status status = s2_reduction_choose(def->world, def->coordinates, def->coordinate_count,
                                        &model->arena, &model->reduction);
  if (status.code == S2_OK) {
    status = model_read_inputs(model);
  }
  if (status.code != S2_OK) {
    s2_model_close(model);
    return status;
  }
  model_keep_outputs(model);
  model_open_shares(model);
  s2_model_start(model);
  *out = model;
  return status;
}

void s2_model_close(S2Model *model) {
  if (model != NULL) {
    for (int i = 0; i < SHARES; i++) {
      for (int k = 0; k < S2_MODEL_TRIALS; k++) {
        s2_memory_free(model->shares.waypoint[k][i].image);
      }
      if (i > 0 && model->shares.model[i] != NULL) {
        S2World *copy = model->shares.model[i]->def.world;
        s2_model_close(model->shares.model[i]);
        s2_world_destroy(copy);
      }
    }
    s2_linearizer_free(model->linearizer);
    s2_memory_free(model->start);
    s2_arena_free(&model->arena);
    s2_arena_free(&model->scratch);
    s2_memory_free(model);
  }
}

int s2_model_states(const S2Model *model) {
  return model->n;
}

int s2_model_inputs(const S2Model *model) {
  return model->m;
}

int s2_model_outputs(const S2Model *model) {
  return model->p;
}

const S2Coordinate *s2_model_coordinates(const S2Model *model) {
  return model->reduction.coordinate;
}

double s2_model_period(const S2Model *model) {
  return model->def.steps * s2_world_settings(model->def.world)->dt;
}

void s2_model_range(const S2Model *model, double *lo, double *hi) {
  for (int i = 0; i < model->m; i++) {
    s2_actuator_range(model->def.world, i, &lo[i], &hi[i]);
  }
}

void s2_model_start(S2Model *model) {
  model->size = s2_world_image_size(model->def.world);
  if (model->size > model->room) {
    model->start = s2_memory_grow(model->start, model->size);
    model->room = model->size;
  }
  s2_world_image_write(model->def.world, model->start);
  s2_program_hasten(model->def.world);
  model->changes = model->def.world->changes;
}

S2Status s2_model_rewind(S2Model *model) {
  s2_arena_reset(&model->scratch);
  return s2_world_image_return(model->def.world, model->start, model->size, model->changes);
}

// out (r x c) = x (r x s) y (s x c)
static void model_product(int r, int s, int c, const double *x, const double *y, double *out) {
  memset(out, 0, sizeof(double) * (size_t)(r * c));
  for (int i = 0; i < r; i++) {
    for (int k = 0; k < s; k++) {
      for (int j = 0; j < c; j++) {
        out[i * c + j] += x[i * s + k] * y[k * c + j];
      }
    }
  }
}

// Reads the present state and outputs of the world. Removes the part of the velocities that
// violates the joints, unless `raw` is set. Also computes the derivatives dy if dy is not NULL,
// always for velocities that satisfy the joints.
static S2Status model_look(S2Model *model, bool raw, double *x, double *y, double *dy) {
  const S2ModelDef *def = &model->def;
  S2Arena *arena = &model->scratch;
  int n = model->n, states = 2 * model->reduction.n, extra = def->extra_count;
  double *dstate = dy == NULL ? NULL : S2_TAKE_ZEROED(arena, double, extra *states + 1);
  double *lift = dy == NULL ? NULL : S2_TAKE(arena, double, states *n + 1);
  if (dy != NULL) {
    S2_TRY(s2_reduction_settle_and_lift(def->world, &model->reduction, arena, lift));
  } else if (!raw) {
    S2_TRY(s2_reduction_settle(def->world, &model->reduction, arena));
  }
  S2_TRY(s2_outputs_read(def->world, model->states, model->reduction.m, arena, x));
  S2_TRY(s2_outputs_read(def->world, model->outputs, def->output_count, arena, y));
  if (extra > 0 && !def->extra(def->user, def->world, y + 2 * def->output_count, dstate)) {
    return s2_error(S2_ABORTED, "a residual function of the script raised an error");
  }
  // Derivatives of outputs with respect to the state.
  if (dy != NULL) {
    S2_TRY(s2_outputs_slope(def->world, model->outputs, def->output_count, &model->reduction, lift,
                            arena, dy));
    model_product(extra, states, n, dstate, lift, dy + 2 * def->output_count * n);
  }
  for (int i = 0; i < n + model->p; i++) {
    if (!isfinite(i < n ? x[i] : y[i - n])) {
      return s2_error(S2_INVALID, "a state or residual of the trajectory is not finite");
    }
  }
  return s2_ok();
}

static S2Status model_read(S2Model *model, bool raw, double *x, double *y, double *dy) {
  S2ArenaMark mark = s2_arena_mark(&model->scratch);
  double *v = s2_reduction_keep(model->def.world, &model->scratch);
  S2Status status = model_look(model, raw, x, y, dy);
  s2_reduction_restore(model->def.world, v);
  s2_arena_rewind(&model->scratch, mark);
  return status;
}

// Adds feedback to the command u at a knot, and clips u to the ranges of the actuators.
static void model_feed_back(const S2Model *model, const S2Feedback *feedback, double step, int knot,
                            const double *x, double *u) {
  int n = model->n, m = model->m;
  for (int i = 0; i < m; i++) {
    const double *row = feedback->gain + (knot * m + i) * n;
    double lo, hi, sum = u[i] + (step == 0 ? 0 : step * feedback->k[knot * m + i]);
    for (int c = 0; c < n; c++) {
      sum += row[c] * (x[c] - feedback->x[knot * n + c]);
    }
    s2_actuator_range(model->def.world, i, &lo, &hi);
    u[i] = sum < lo ? lo : sum > hi ? hi : sum;
  }
}

// Returns the first knot of a part of the trajectory.
static int share_start(const S2Model *model, int part) {
  return part * model->def.knots / model->shares.count;
}

// Keeps the world `of` if a part of the trajectory begins at this knot.
static void share_keep(S2Model *model, const S2Model *of, int trial, int knot) {
  Shares *shares = &model->shares;
  for (int i = 1; i < shares->count; i++) {
    Waypoint *at = &shares->waypoint[trial][i];
    if (share_start(model, i) == knot) {
      at->size = s2_world_image_size(of->def.world);
      if (at->size > at->room) {
        at->image = s2_memory_grow(at->image, at->size);
        at->room = at->size;
      }
      s2_world_image_write(of->def.world, at->image);
    }
  }
}

typedef struct Search { // trials that run at the same time
  S2Model *model;
  const S2Feedback *feedback;
  bool raw;
  S2ModelEnd *end;
  void *user;
  S2ModelTrial *trials;
} Search;

// Runs a trial on the model `of`, which is at the start of the trajectories.
static S2Status model_run_trial(const Search *search, S2Model *of, int k) {
  S2Model *model = search->model;
  S2World *world = of->def.world;
  S2ModelTrial *trial = &search->trials[k];
  int n = model->n, m = model->m, p = model->p;
  S2_TRY(model_read(of, search->raw, trial->x, trial->y, NULL));
  for (int knot = 0; knot < model->def.knots; knot++) {
    double *u = trial->u + knot * m, *y = trial->y + (knot + 1) * p;
    share_keep(model, of, k, knot);
    if (search->feedback != NULL) {
      model_feed_back(of, search->feedback, trial->step, knot, trial->x + knot * n, u);
    }
    S2_TRY(s2_world_act(world, u, m, NULL));
    for (int step = 0; step < model->def.steps; step++) {
      S2_TRY(s2_world_step(world));
    }
    s2_arena_reset(&of->scratch);
    S2_TRY(model_read(of, search->raw, trial->x + (knot + 1) * n, y, NULL));
    // A trajectory that ends early is not good.
    if (search->end != NULL && search->end(search->user, trial, y, u)) {
      return s2_ok();
    }
  }
  trial->good = true;
  return s2_ok();
}

void s2_model_choose(S2Model *model, const S2ModelTrial *trial, int k) {
  memcpy(model->shares.u, trial->u, sizeof(double) * (size_t)(model->def.knots * model->m));
  model->shares.chosen = k;
  model->shares.known = true;
}

S2Status s2_model_run(S2Model *model, double *u, const S2Feedback *feedback, bool raw, double *x,
                      double *y) {
  S2ModelTrial trial = {.step = 0};
  trial.u = u;
  trial.x = x;
  trial.y = y;
  Search search = {.model = model, .feedback = feedback, .raw = raw, .trials = &trial};
  model->shares.known = false;
  S2_TRY(s2_model_rewind(model));
  S2_TRY(model_run_trial(&search, model, 0));
  s2_model_choose(model, &trial, 0);
  return s2_ok();
}

// ---- With derivatives -------------------------------------------------------------------------

// Computes the matrices a and b of a knot.
static S2Status model_step_slopes(S2Model *model, double *a, double *b, unsigned *flags) {
  int n = model->n, m = model->m;
  S2ArenaMark mark = s2_arena_mark(&model->scratch);
  S2Linear linear;
  S2_TRY(s2_linearizer_steps(model->linearizer, model->def.world, model->inputs, m,
                             &model->reduction, model->def.steps, &model->scratch, &linear));
  *flags |= linear.flags;
  memcpy(a, linear.a, sizeof(double) * (size_t)(n * n));
  memcpy(b, linear.b, sizeof(double) * (size_t)(n * m));
  s2_arena_rewind(&model->scratch, mark);
  return s2_ok();
}

// Linearises the knots `from` to `to` - 1, from the present state of the world.
static S2Status model_linearize_part(S2Model *model, int from, int to, const double *u, double *x,
                                     double *y, S2ModelSlope *slope) {
  int n = model->n, m = model->m, p = model->p;
  for (int knot = from; knot < to; knot++) {
    S2_TRY(s2_world_act(model->def.world, u + knot * m, m, NULL));
    S2_TRY(
        model_step_slopes(model, slope->a + knot * n * n, slope->b + knot * n * m, &slope->flags));
    s2_arena_reset(&model->scratch);
    S2_TRY(model_read(model, false, x + (knot + 1) * n, y + (knot + 1) * p,
                      slope->dy + (knot + 1) * p * n));
  }
  return s2_ok();
}

// ---- In threads -------------------------------------------------------------------------------

typedef struct Sharing {
  S2Model *model;
  const double *u;
  double *x, *y;
  S2ModelSlope slope[SHARES]; // of each part, in the same arrays
  S2Status status[SHARES];
} Sharing;

// Makes a model that steps a copy of the world and shares all descriptions.
static S2Status share_new_copy(const S2Model *model, S2Model **out) {
  S2World *world;
  S2_TRY(s2_world_clone(model->def.world, &world));
  S2Model *copy = s2_memory_take_zeroed(sizeof *copy);
  copy->def = model->def;
  copy->def.world = world;
  copy->def.workers = NULL;
  s2_arena_init(&copy->arena);
  s2_arena_init(&copy->scratch);
  copy->linearizer = s2_linearizer_new();
  copy->reduction = model->reduction;
  copy->inputs = model->inputs;
  copy->outputs = model->outputs;
  copy->states = model->states;
  copy->n = model->n;
  copy->m = model->m;
  copy->p = model->p;
  *out = copy;
  return s2_ok();
}

// Makes the models of the other threads. Returns false if there is no memory for them.
static bool share_copies(S2Model *model) {
  Shares *shares = &model->shares;
  bool good = true;
  for (int i = 1; i < shares->count && good; i++) {
    if (shares->model[i] == NULL) {
      good = share_new_copy(model, &shares->model[i]).code == S2_OK;
      shares->original[i] = model->def.world->changes - 1; // not the count of any image
    }
  }
  return good;
}

// Puts the world of a thread into the state of a waypoint.
static S2Status share_go_to(S2Model *model, int worker, const Waypoint *at) {
  Shares *shares = &model->shares;
  if (worker == 0) {
    return s2_world_image_return(model->def.world, at->image, at->size, model->changes);
  }
  // The program of a copy stays valid if the definition has not changed since its last image.
  S2World *world = shares->model[worker]->def.world;
  bool same = shares->original[worker] == model->changes;
  uint64_t changes = same ? shares->changes[worker] : world->changes - 1;
  S2_TRY(s2_world_image_return(world, at->image, at->size, changes));
  shares->original[worker] = model->changes;
  shares->changes[worker] = world->changes;
  return s2_ok();
}

static void share_work(void *user, int worker, int part) {
  Sharing *sharing = user;
  S2Model *model = sharing->model, *of = model->shares.model[worker];
  bool last = part + 1 == model->shares.count;
  int from = share_start(model, part), to = last ? model->def.knots : share_start(model, part + 1);
  const Waypoint start = {model->start, model->room, model->size};
  const Waypoint *at = part == 0 ? &start : &model->shares.waypoint[model->shares.chosen][part];
  S2Status *status = &sharing->status[part];
  s2_arena_reset(&of->scratch);
  *status = share_go_to(model, worker, at);
  if (status->code == S2_OK && part == 0) {
    *status = model_read(of, false, sharing->x, sharing->y, sharing->slope[0].dy);
  }
  if (status->code == S2_OK) {
    *status = model_linearize_part(of, from, to, sharing->u, sharing->x, sharing->y,
                                   &sharing->slope[part]);
  }
}

// Linearises the last trajectory in threads. Returns false, and does nothing, if that is not
// possible.
static bool model_share(S2Model *model, const double *u, double *x, double *y, S2ModelSlope *slope,
                        S2Status *status) {
  const Shares *shares = &model->shares;
  size_t bytes = sizeof(double) * (size_t)(model->def.knots * model->m);
  if (!shares->known || memcmp(shares->u, u, bytes) != 0 || s2_model_threads(model) == 1) {
    return false;
  }
  Sharing sharing = {.model = model, .u = u};
  sharing.x = x;
  sharing.y = y;
  for (int i = 0; i < shares->count; i++) {
    sharing.slope[i] = *slope;
  }
  s2_workers_run(model->def.workers, shares->count, share_work, &sharing);
  // Report the first error along the trajectory.
  *status = s2_ok();
  for (int i = 0; i < shares->count && status->code == S2_OK; i++) {
    *status = sharing.status[i];
    slope->flags |= sharing.slope[i].flags;
  }
  return true;
}

S2Status s2_model_linearize(S2Model *model, const double *u, double *x, double *y,
                            S2ModelSlope *slope) {
  S2Status status;
  slope->flags = 0;
  if (model_share(model, u, x, y, slope, &status)) {
    return status;
  }
  S2_TRY(s2_model_rewind(model));
  S2_TRY(model_read(model, false, x, y, slope->dy));
  return model_linearize_part(model, 0, model->def.knots, u, x, y, slope);
}

int s2_model_threads(S2Model *model) {
  bool good = model->shares.count > 1 && model->changes == model->def.world->changes &&
              !model_calls(model) && share_copies(model);
  return good ? model->shares.count : 1;
}

int s2_model_trials(S2Model *model) {
  int threads = s2_model_threads(model);
  return threads < S2_MODEL_TRIALS ? threads : S2_MODEL_TRIALS;
}

static void try_work(void *user, int worker, int k) {
  const Search *search = user;
  S2Model *model = search->model, *of = model->shares.model[worker];
  const Waypoint start = {model->start, model->room, model->size};
  s2_arena_reset(&of->scratch);
  S2Status status = share_go_to(model, worker, &start);
  if (status.code == S2_OK) {
    (void)model_run_trial(search, of, k); // a trial that fails is not good
  }
}

void s2_model_try(S2Model *model, const S2Feedback *feedback, S2ModelEnd *end, void *user,
                  S2ModelTrial *trials, int count) {
  Search search = {.model = model, .feedback = feedback, .end = end, .user = user};
  search.trials = trials;
  model->shares.known = false;
  for (int k = 0; k < count; k++) {
    trials[k].sum = 0;
    trials[k].good = false;
  }
  if (count > 1) {
    s2_workers_run(model->def.workers, count, try_work, &search);
  } else if (s2_model_rewind(model).code == S2_OK) {
    (void)model_run_trial(&search, model, 0);
  }
}
