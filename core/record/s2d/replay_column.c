#include "record/s2d/replay_column.h"

#include "base/text.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

typedef enum OfMoment {
  TIME,
  STEP,
  RESIDUAL,
  ITERATIONS,
  CONTACTS,
  KINETIC,
  POTENTIAL,
  TOTAL,
  SPIN,
  MOMENTUM_X,
  MOMENTUM_Y,
  OF_MOMENT
} OfMoment;

static const char *const of_moment[OF_MOMENT] = {
    [TIME] = "time",
    [STEP] = "step",
    [RESIDUAL] = "residual",
    [ITERATIONS] = "iterations",
    [CONTACTS] = "contacts",
    [KINETIC] = "energy.kinetic",
    [POTENTIAL] = "energy.potential",
    [TOTAL] = "energy.total",
    [SPIN] = "momentum.angular",
    [MOMENTUM_X] = "momentum.x",
    [MOMENTUM_Y] = "momentum.y",
};

enum { OF_BODY = 6, OF_JOINT = 4 };
static const char *const of_body[OF_BODY] = {"angle", "x", "y", "omega", "vx", "vy"};
static const char *const of_joint[OF_JOINT] = {"angle", "speed", "impulse_x", "impulse_y"};

typedef struct Wanted {
  const char *name, *field; // the whole name, and the part after its last dot or NULL
  size_t owner;             // number of letters before the dot
  int moment, body, joint;  // indices in the lists above, or -1
  int at;                   // position of the item in the previous frame
} Wanted;

static int replay_find(const char *const *names, int count, const char *name) {
  for (int i = 0; name != NULL && i < count; i++) {
    if (strcmp(names[i], name) == 0) {
      return i;
    }
  }
  return -1;
}

static bool is_owner(const Wanted *wanted, const char *name) {
  return strncmp(name, wanted->name, wanted->owner) == 0 && name[wanted->owner] == '\0';
}

static double read_moment(const S2Moment *moment, OfMoment number) {
  // Spin and the two components of momentum are consecutive, as in S2Moment.
  switch (number) {
  case TIME:
    return moment->time;
  case STEP:
    return (double)moment->step;
  case RESIDUAL:
    return moment->residual;
  case ITERATIONS:
    return moment->iterations;
  case CONTACTS:
    return moment->contacts.count;
  case KINETIC:
    return moment->kinetic;
  case POTENTIAL:
    return moment->potential;
  case TOTAL:
    return moment->kinetic + moment->potential;
  case SPIN:
  case MOMENTUM_X:
  case MOMENTUM_Y:
    return moment->momentum[number - SPIN];
  case OF_MOMENT:
    break;
  }
  return (double)NAN;
}

// Searches `list` for the requested item. Tries its position in the previous frame first.
#define LOCATE(list, matches)                                                                      \
  bool found = wanted->at < (list).count && (matches((list).at[wanted->at].name));                 \
  for (int i = 0; !found && i < (list).count; i++) {                                               \
    if (matches((list).at[i].name)) {                                                              \
      wanted->at = i;                                                                              \
      found = true;                                                                                \
    }                                                                                              \
  }

static bool read_channel(Wanted *wanted, const S2Moment *moment, double *value) {
#define IS_NAME(of) (strcmp(of, wanted->name) == 0)
  LOCATE(moment->channels, IS_NAME)
#undef IS_NAME
  if (found) {
    *value = moment->channels.at[wanted->at].value;
  }
  return found;
}

#define IS_OWNER(of) is_owner(wanted, of)

static bool replay_read_body(Wanted *wanted, const S2Moment *moment, double *value) {
  LOCATE(moment->bodies, IS_OWNER)
  if (found) {
    const S2MomentBody *body = &moment->bodies.at[wanted->at];
    *value = wanted->body < 3 ? body->q[wanted->body] : body->v[wanted->body - 3];
  }
  return found;
}

static bool replay_read_joint(Wanted *wanted, const S2Moment *moment, double *value) {
  LOCATE(moment->joints, IS_OWNER)
  if (found) {
    const S2MomentJoint *joint = &moment->joints.at[wanted->at];
    const double values[OF_JOINT] = {joint->angle, joint->speed, joint->impulse.x,
                                     joint->impulse.y};
    *value = values[wanted->joint];
  }
  return found;
}

static bool read_value(Wanted *wanted, const S2Moment *moment, double *value) {
  if (wanted->moment >= 0) {
    *value = read_moment(moment, (OfMoment)wanted->moment);
    return true;
  }
  return read_channel(wanted, moment, value) ||
         (wanted->body >= 0 && replay_read_body(wanted, moment, value)) ||
         (wanted->joint >= 0 && replay_read_joint(wanted, moment, value));
}

// Returns an error for an unknown name. The message suggests the nearest name or lists all names.
static S2Status replay_no_column(const Wanted *wanted) {
  const char *nearest = s2_text_nearest(wanted->name, of_moment, OF_MOMENT);
  if (nearest != NULL) {
    return s2_error(S2_INVALID, "the recording has no column '%.60s'; did you mean '%s'?",
                    wanted->name, nearest);
  }
  if (wanted->field != NULL && wanted->body < 0 && wanted->joint < 0) {
    return s2_error(S2_INVALID,
                    "the recording has no column '%.60s': the columns of a body are angle, x, y, "
                    "omega, vx, vy, those of a joint angle, speed, impulse_x, impulse_y",
                    wanted->name);
  }
  return s2_error(S2_INVALID,
                  "the recording has no column '%.60s': no channel, body or joint has this name",
                  wanted->name);
}

S2Status s2_replay_column(S2Replay *replay, const char *name, double *values) {
  Wanted wanted = {.name = name, .moment = replay_find(of_moment, OF_MOMENT, name)};
  const char *dot = strrchr(name, '.');
  wanted.field = dot == NULL ? NULL : dot + 1;
  wanted.owner = dot == NULL ? 0 : (size_t)(dot - name);
  wanted.body = replay_find(of_body, OF_BODY, wanted.field);
  wanted.joint = replay_find(of_joint, OF_JOINT, wanted.field);
  bool any = wanted.moment >= 0;
  for (uint64_t i = 0; i < s2_replay_frame_count(replay); i++) {
    const S2Moment *moment = NULL;
    S2_TRY(s2_replay_frame(replay, i, &moment));
    values[i] = (double)NAN;
    any |= read_value(&wanted, moment, &values[i]);
  }
  return any ? s2_ok() : replay_no_column(&wanted);
}
