// The episodes of a batch: resets, and the parts of a step that concern one world.
#include "batch/episode.h"

#include "base/memory.h"
#include "dynamics/control/control.h"

#include <math.h>
#include <string.h>

// ---- Resets -----------------------------------------------------------------------------------

S2Status s2_draw(const S2Draw *draw, int count, S2World *world, S2Rng *rng) {
  double drawn = 0;
  for (int i = 0; i < count; i++) {
    const S2Draw *at = &draw[i];
    // The sums are those of sim.random, so functions and declarations give the same bits.
    if (!at->again && at->kind == S2_DRAW_UNIFORM) {
      double u = s2_rng_uniform(rng);
      drawn = (1 - u) * at->a + u * at->b;
    } else if (!at->again) {
      drawn = at->kind == S2_DRAW_NORMAL ? at->a + at->b * s2_rng_normal(rng) : at->a;
    }
    double now = 0, value = at->add == 0 ? drawn : at->add + drawn;
    if (at->relative) {
      S2_TRY(s2_reading_get(world, &at->of, NULL, &now));
      value = now + value;
    }
    S2_TRY(s2_reading_set(world, &at->of, value));
  }
  return s2_ok();
}

S2Status s2_batch_rewind(S2Batch *batch, int world) {
  S2BatchWorld *at = &batch->world[world];
  S2_TRY(s2_world_image_return(at->world, at->image, at->size, at->changes));
  at->changes = s2_world_changes(at->world);
  at->revision = s2_world_revision(at->world);
  return s2_ok();
}

void s2_episode_starts(S2BatchWorld *at) {
  size_t size = s2_world_image_size(at->world);
  if (at->image == NULL || at->size != size) {
    s2_memory_free(at->image);
    at->image = s2_memory_take(size);
    at->size = size;
  }
  s2_world_image_write(at->world, at->image);
  at->changes = s2_world_changes(at->world);
  at->revision = s2_world_revision(at->world);
  at->controls = s2_world_actuator_count(at->world);
  at->observed = s2_world_observation_size(at->world);
}

bool s2_batch_unchanged(const S2Batch *batch, int world) {
  const S2BatchWorld *at = &batch->world[world];
  return at->revision == s2_world_revision(at->world) &&
         at->controls == s2_world_actuator_count(at->world) &&
         at->observed == s2_world_observation_size(at->world);
}

void s2_batch_set_world(S2Batch *batch, int world, S2World *with, const S2Judge *judge, int draws,
                        const S2Draw *draw) {
  S2BatchWorld *at = &batch->world[world];
  at->world = with;
  at->judge = judge;
  at->draws = draws;
  at->draw = draw;
  s2_episode_starts(at);
}

static S2Status episode_restart(S2Batch *batch, int i) {
  S2BatchWorld *at = &batch->world[i];
  at->place.steps = 0;
  at->place.ended = false;
  if ((at->own & S2_OWN_RESET) != 0) {
    S2_TRY(batch->def.program.reset(batch->def.program.user, i));
  } else {
    S2_TRY(s2_batch_rewind(batch, i));
  }
  S2_TRY(s2_draw(at->draw, at->draws, at->world, &at->place.rng));
  s2_world_renew_noise(at->world, &at->place.rng);
  return s2_ok();
}

// Initial commands are 0.
static void episode_forget_commands(S2Batch *batch, int i) {
  for (int c = 0; c < batch->controls; c++) {
    batch->last[(size_t)i * (size_t)batch->controls + (size_t)c] = 0;
  }
}

double *s2_episode_row(const S2Batch *batch, double *observations, int i) {
  return observations + (size_t)i * (size_t)batch->observed;
}

static void episode_row_nan(const S2Batch *batch, double *row) {
  for (int k = 0; k < batch->observed; k++) {
    row[k] = NAN;
  }
}

static S2Status episode_see(const S2Batch *batch, int i, double *row) {
  const S2BatchWorld *at = &batch->world[i];
  if ((at->own & S2_OWN_OBSERVE) != 0) {
    return batch->def.program.observe(batch->def.program.user, i, row);
  }
  // The caller may have declared more observations since the start of the batch.
  int size = s2_world_observation_size(at->world);
  return size == batch->observed
             ? s2_world_observe(at->world, row)
             : s2_error(S2_INVALID, "it observes %d numbers, not %d", size, batch->observed);
}

void s2_episode_reset(S2Batch *batch, int i) {
  episode_forget_commands(batch, i);
  S2Status status = episode_restart(batch, i);
  if (status.code != S2_OK) {
    s2_episode_note(&batch->world[i], status);
  }
}

void s2_episode_note(S2BatchWorld *at, S2Status status) {
  if (at->failure.code == S2_OK) {
    at->failure = status;
  }
}

void s2_episode_observe(S2Batch *batch, int i, double *row) {
  S2Status status = episode_see(batch, i, row);
  if (status.code != S2_OK) {
    s2_episode_note(&batch->world[i], status);
    episode_row_nan(batch, row);
  }
}

void s2_episode_renew(S2Batch *batch, int i, bool threaded) {
  S2BatchWorld *at = &batch->world[i];
  if (threaded && (at->own & (S2_OWN_RESET | S2_OWN_OBSERVE)) != 0) {
    at->left = S2_LEFT_RESET;
    return;
  }
  episode_forget_commands(batch, i);
  S2Status status = episode_restart(batch, i);
  if (status.code != S2_OK) {
    s2_episode_note(at, status);
    at->place.ended = batch->def.autoreset == S2_RESET_NEXT_STEP; // the next step tries the reset
                                                                  // again
  }
  s2_episode_observe(batch, i, s2_episode_row(batch, batch->result->observations, i));
}

// ---- One world's part of a step ----------------------------------------------------------------

static double *episode_commands(const S2Batch *batch, int i) {
  return batch->last + (size_t)i * (size_t)batch->controls;
}

static void episode_clip(const S2Batch *batch, int i) {
  const S2World *world = batch->world[i].world;
  double *commands = episode_commands(batch, i);
  for (int c = 0; c < batch->controls && c < s2_world_actuator_count(world); c++) {
    double lo, hi;
    s2_actuator_range(world, c, &lo, &hi);
    commands[c] = commands[c] < lo ? lo : commands[c] > hi ? hi : commands[c];
  }
}

void s2_episode_open(S2Batch *batch, int i) {
  S2BatchWorld *at = &batch->world[i];
  const S2BatchProgram *program = &batch->def.program;
  at->own = program->own != NULL ? program->own(program->user, i) : 0;
  at->left = S2_LEFT_NOTHING;
  at->failure.code = S2_OK;
}

// Records the statistics of the world's steps in this call. Call it with `begin` before the steps,
// and without it after them.
static void episode_tell(S2Batch *batch, int i, bool begin) {
  S2BatchWorld *at = &batch->world[i];
  S2BatchResult *result = batch->result;
  if (result->unsolved == NULL || at->failure.code != S2_OK) {
    return;
  }
  const S2WorldStats *stats = s2_world_stats(at->world);
  if (begin) {
    at->unsolved = stats->unsolved;
    at->mode_changes = stats->mode_changes;
  } else {
    result->unsolved[i] = (double)(stats->unsolved - at->unsolved);
    result->mode_changes[i] = (double)(stats->mode_changes - at->mode_changes);
  }
}

bool s2_episode_begin(S2Batch *batch, int i, bool threaded) {
  S2BatchWorld *at = &batch->world[i];
  batch->result->rewards[i] = 0;
  batch->result->terminated[i] = batch->result->truncated[i] = 0;
  if (batch->result->unsolved != NULL) {
    batch->result->unsolved[i] = batch->result->mode_changes[i] = 0;
  }
  if (batch->def.autoreset == S2_RESET_NEXT_STEP && at->place.ended) {
    s2_episode_renew(batch, i, threaded);
    return false;
  }
  // Clip the commands, because the judge of a period sees the applied values.
  S2Status status = s2_ok();
  if (batch->def.worth == S2_WORTH_PERIODS && (at->own & S2_OWN_STEP) == 0) {
    episode_clip(batch, i);
  }
  if (batch->commanded && batch->controls > 0) {
    status = (at->own & S2_OWN_STEP) != 0
                 ? batch->def.program.act(batch->def.program.user, i, episode_commands(batch, i))
                 : s2_world_act(at->world, episode_commands(batch, i), batch->controls, NULL);
  }
  if (status.code != S2_OK) {
    s2_episode_note(at, status);
  }
  episode_tell(batch, i, true);
  return true;
}

bool s2_episode_weigh(S2Batch *batch, int i, double before, S2Status status) {
  S2BatchWorld *at = &batch->world[i];
  double cost = 0;
  bool ended = false;
  if (status.code == S2_OK && batch->def.worth == S2_WORTH_PERIODS) {
    return true; // a period is judged only at its end
  }
  if (status.code == S2_OK) {
    status = s2_judge_running(at->judge, at->world, episode_commands(batch, i), &cost);
  }
  if (status.code == S2_OK) {
    status = s2_judge_ended(at->judge, at->world, episode_commands(batch, i), &ended);
  }
  if (status.code != S2_OK) {
    s2_episode_note(at, status);
    return false;
  }
  batch->result->rewards[i] -= (s2_world_time(at->world) - before) * cost;
  batch->result->terminated[i] = ended ? 1 : 0;
  return !ended;
}

bool s2_episode_advance(S2Batch *batch, int i) {
  S2BatchWorld *at = &batch->world[i];
  if (at->failure.code != S2_OK) {
    return false;
  }
  double before = s2_world_time(at->world);
  return s2_episode_weigh(batch, i, before, batch->def.program.step(batch->def.program.user, i));
}

// Lets the judge and the calling program compute the reward of a period. If the batch has copies,
// `row` already has the observation.
static void episode_weigh_period(S2Batch *batch, int i, const double *row) {
  S2BatchWorld *at = &batch->world[i];
  const S2BatchProgram *program = &batch->def.program;
  const double *commands = episode_commands(batch, i);
  double reward = 0;
  bool terminated = false;
  S2Status status = s2_judge_reward(at->judge, at->world, commands, batch->def.constant, &reward);
  if (status.code == S2_OK) {
    status = s2_judge_ended_seen(at->judge, at->world, commands, batch->seen, row, &terminated);
  }
  if (status.code == S2_OK && (at->own & S2_OWN_JUDGE) != 0) {
    status = program->judge(program->user, i, commands, &reward, &terminated);
  }
  if (status.code != S2_OK) {
    s2_episode_note(at, status);
    return;
  }
  batch->result->rewards[i] = reward;
  batch->result->terminated[i] = terminated ? 1 : 0;
}

void s2_episode_end(S2Batch *batch, int i, bool threaded) {
  S2BatchWorld *at = &batch->world[i];
  S2BatchResult *result = batch->result;
  double *row = s2_episode_row(batch, result->observations, i);
  bool periods = batch->def.worth == S2_WORTH_PERIODS;
  if (threaded && (at->own & (S2_OWN_JUDGE | S2_OWN_OBSERVE)) != 0) {
    at->left = S2_LEFT_END;
    return;
  }
  episode_tell(batch, i, false);
  if (batch->seen != NULL) {
    s2_episode_observe(batch, i, row);
  }
  if (periods && at->failure.code == S2_OK) {
    episode_weigh_period(batch, i, row);
  }
  if (batch->seen == NULL) {
    s2_episode_observe(batch, i, row);
  }
  bool failed = at->failure.code != S2_OK;
  at->place.steps++;
  bool over = batch->def.max_steps > 0 && at->place.steps >= batch->def.max_steps &&
              !(periods && result->terminated[i] != 0);
  result->truncated[i] = failed || over ? 1 : 0;
  bool ended = failed || over || result->terminated[i] != 0;
  // Add the terminal cost of the final state.
  double cost = 0;
  if (ended && !failed) {
    S2Status status = s2_judge_terminal(at->judge, at->world, episode_commands(batch, i), &cost);
    if (status.code != S2_OK) {
      s2_episode_note(at, status);
    }
  }
  result->rewards[i] = at->failure.code != S2_OK ? (double)NAN : result->rewards[i] - cost;
  at->place.ended = ended;
  if (!ended) {
    return;
  }
  if (result->final != NULL) {
    memcpy(s2_episode_row(batch, result->final, i), row, sizeof *row * (size_t)batch->observed);
  }
  if (batch->def.autoreset == S2_RESET_SAME_STEP) {
    s2_episode_renew(batch, i, threaded);
  }
}
