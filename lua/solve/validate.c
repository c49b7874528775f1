#include "lua/solve/validate.h"

#include "base/memory.h"
#include "base/number.h"
#include "base/text.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct S2Validator {
  S2Replay *replay;
  int recording; // index (from 1) of the recording to compare
  uint64_t next; // index of the next frame to compare
  bool ended, differs, failed;
  char message[S2_MESSAGE_SIZE]; // the difference
  S2Moment moment;
  S2Decisions decisions; // clock decisions of the recorded run
};

S2Validator *s2_validator_new(S2Replay *replay) {
  S2Validator *validator = s2_memory_take_zeroed(sizeof *validator);
  const char *recording = s2_run_get(s2_replay_run(replay), "recording", 0);
  validator->replay = replay;
  validator->recording = recording == NULL ? 1 : atoi(recording);
  s2_replay_decisions(replay, &validator->decisions);
  return validator;
}

void s2_validator_free(S2Validator *validator) {
  if (validator != NULL) {
    s2_moment_free(&validator->moment);
    s2_array_free(validator->decisions);
    s2_memory_free(validator);
  }
}

bool s2_validator_wants(const S2Validator *validator, int recording) {
  return validator->recording == recording;
}

bool s2_validator_decision(const S2Validator *validator, int number, uint32_t *decision) {
  if (number >= validator->decisions.count) {
    return false;
  }
  *decision = validator->decisions.at[number];
  return true;
}

static void describe_body(const S2MomentBody *body, int at, char *text, size_t size) {
  if (body->name[0] != '\0') {
    char name[S2_NAME_SIZE + 16]; // sufficient unless many characters are escaped
    s2_text_escape(name, sizeof name, body->name);
    snprintf(text, size, "'%s'", name);
  } else {
    snprintf(text, size, "%d", at + 1);
  }
}

// Describes the first difference between the new frame and the recorded frame.
static void find_difference(S2Validator *validator, const S2Moment *was) {
  const S2Moment *is = &validator->moment;
  char *text = validator->message;
  int used = snprintf(text, S2_MESSAGE_SIZE,
                      "frame %" PRIu64 " (step %" PRIu64 ", t = %.9g s): ", validator->next,
                      was->step, was->time);
  char *rest = text + used;
  size_t left = S2_MESSAGE_SIZE - (size_t)used;
  // Report a different time, a different number of bodies, or the first body with a different
  // state.
  if (is->step != was->step || is->time != was->time) {
    snprintf(rest, left, "the new run is at step %" PRIu64 ", t = %.9g s", is->step, is->time);
    return;
  }
  if (is->bodies.count != was->bodies.count) {
    snprintf(rest, left, "there are %d bodies, but %d were recorded", is->bodies.count,
             was->bodies.count);
    return;
  }
  static const char *const names[6] = {"angle", "x", "y", "omega", "vx", "vy"};
  for (int i = 0; i < is->bodies.count; i++) {
    const S2MomentBody *a = &is->bodies.at[i], *b = &was->bodies.at[i];
    for (int k = 0; k < 6; k++) {
      double now = k < 3 ? a->q[k] : a->v[k - 3], then = k < 3 ? b->q[k] : b->v[k - 3];
      if (!s2_same_bits(&now, &then, 1)) {
        char name[S2_NAME_SIZE + 18];
        describe_body(b, i, name, sizeof name);
        snprintf(rest, left, "%s of body %s is %.17g, but %.17g was recorded", names[k], name, now,
                 then);
        return;
      }
    }
  }
  snprintf(rest, left, "the states have different hashes");
}

S2Status s2_validator_frame(S2Validator *validator, S2World *world) {
  if (validator->ended) {
    return s2_ok();
  }
  uint64_t count = s2_replay_frame_count(validator->replay);
  // A run that is longer than the recording differs, unless the recording was cut short.
  if (validator->next >= count) {
    validator->ended = true;
    if (s2_replay_complete(validator->replay)) {
      validator->differs = true;
      snprintf(validator->message, sizeof validator->message,
               "the recording ends after %" PRIu64 " frames, but the new run continues", count);
    }
    return s2_error(S2_INVALID, "the recording that is validated ends here");
  }
  const S2Moment *was = NULL;
  // Compare the hashes first, and search for the difference only if they differ.
  S2_TRY(s2_moment_capture(&validator->moment, world));
  S2_TRY(s2_replay_frame(validator->replay, validator->next, &was));
  if (was->hash != validator->moment.hash || was->step != validator->moment.step) {
    find_difference(validator, was);
    validator->ended = validator->differs = true;
    return s2_error(S2_INVALID, "not as recorded: %s", validator->message);
  }
  validator->next++;
  return s2_ok();
}

bool s2_validator_ended(const S2Validator *validator) {
  return validator->ended;
}

void s2_validator_fail(S2Validator *validator) {
  validator->failed = true;
}

bool s2_validator_report(const S2Validator *validator, const char *path) {
  uint64_t count = s2_replay_frame_count(validator->replay);
  fflush(stdout);
  if (validator->differs) {
    printf("%s: differs\n  %s\n", path, validator->message);
    return false;
  }
  if (validator->failed) {
    printf("%s: differs\n  the new run ended with an error; %" PRIu64 " of %" PRIu64
           " frames agree\n",
           path, validator->next, count);
    return false;
  }
  if (validator->next < count || count == 0) {
    printf("%s: differs\n  the recording has %" PRIu64 " frames, but the new run made %" PRIu64
           "\n",
           path, count, validator->next);
    return false;
  }
  printf("%s: the new run took the same path, bit for bit (%" PRIu64 " frames)\n", path, count);
  return true;
}
