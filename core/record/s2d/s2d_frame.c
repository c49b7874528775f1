#include "record/s2d/s2d_frame.h"

#include "base/number.h"
#include "record/s2d/s2d_body.h"

#include <math.h>

enum {
  PASSED_OVER = 64, // maximum number of old contacts to search for the next match
  PLACE = 4,        // number of values of a contact before its impulses
};
// A frame with larger multiples stores plain numbers, because multiples of the grain would not save
// space.
#define LARGEST       0x1p40
#define LARGEST_SMALL 0x1p30 // of contacts
#define RATIO_BITS                                                                                 \
  42 // low bits of a double that are dropped from impulses. 10 bits below the leading bit remain
#define NORMAL_GRAIN   0x1p-13
#define NORMAL_QUARTER (1 << 15)
#define ANGLE_GRAIN    0x1p-20 // rad, m
#define SPEED_GRAIN    0x1p-20 // rad/s, m/s.
// Gaps, and distances between the anchors of a joint, are rounded to this fraction of the grain.
#define GAP_PART 0x1p-6

void s2_s2d_past_free(S2S2dPast *past) {
  s2_array_free(past->bodies);
  s2_array_free(past->contacts);
  s2_array_free(past->contacts_next);
  s2_array_free(past->joints);
  s2_array_free(past->channels);
  s2_array_free(past->channel_length);
  *past = (S2S2dPast){0};
}

// ---- Rounding ---------------------------------------------------------------------------------

// `per` is the number of grains in one unit. It is exact, because grains are powers of two.
static bool to_grains(double value, double per, int64_t *grains) {
  double count = value * per;
  *grains = fabs(count) < LARGEST ? (int64_t)(count < 0 ? count - 0.5 : count + 0.5) : 0;
  return fabs(count) < LARGEST;
}

// Codes numbers of any size with about three digits. Numbers below the grain become 0. The code is
// the upper bits of the number divided by the grain, minus the upper bits of 1.
static bool to_ratio(double value, double per, int64_t *ratio) {
  static const int64_t one = INT64_C(1023) << (52 - RATIO_BITS);
  double size = fabs(value) * per;
  int64_t bits =
      (int64_t)((s2_s2d_bits_of(size) + (UINT64_C(1) << (RATIO_BITS - 1))) >> RATIO_BITS);
  int64_t above = size >= 1 && size < 0x1p1000 ? bits - one + 1 : 0;
  *ratio = value < 0 ? -above : above;
  return size < 0x1p1000;
}

static double of_ratio(int64_t ratio, double grain) {
  if (ratio == 0) {
    return 0;
  }
  // Compute modulo 2^64, because a damaged file may contain any number.
  uint64_t above = (ratio < 0 ? 0 - (uint64_t)ratio : (uint64_t)ratio) - 1;
  double size =
      s2_s2d_double_of((above + (UINT64_C(1023) << (52 - RATIO_BITS))) << RATIO_BITS) * grain;
  return ratio < 0 ? -size : size;
}

// Codes a direction as the nearest coordinate half axis and the component perpendicular to it.
static bool to_normal(S2Vec2 normal, int64_t *code) {
  double x = normal.x, y = normal.y;
  int64_t quarter = fabs(x) >= fabs(y) ? (x > 0 ? 0 : 2) : (y > 0 ? 1 : 3);
  double minor = quarter == 0 ? y : quarter == 1 ? -x : quarter == 2 ? -y : x;
  int64_t grains = 0;
  bool unit = fabs(x * x + y * y - 1) < 1e-6 && to_grains(minor, 1 / NORMAL_GRAIN, &grains);
  *code = quarter * NORMAL_QUARTER + grains;
  return unit;
}

static S2Vec2 of_normal(int64_t code) {
  uint64_t moved = (uint64_t)code + NORMAL_QUARTER / 2;
  double minor = ((double)(moved % NORMAL_QUARTER) - 0.5 * NORMAL_QUARTER) * NORMAL_GRAIN;
  double major = sqrt(fmax(0, 1 - minor * minor));
  switch (moved / NORMAL_QUARTER % 4) {
  case 0:
    return s2_vec2(major, minor);
  case 1:
    return s2_vec2(-minor, major);
  case 2:
    return s2_vec2(-major, -minor);
  default:
    return s2_vec2(minor, -major);
  }
}

// Contact points are relative to the centre of the moving body.
static S2Vec2 contact_origin(const S2Moment *moment, int32_t a, int32_t b) {
  const S2MomentBody *body = &moment->bodies.at[moment->bodies.at[a].type == S2_DYNAMIC ? a : b];
  return s2_vec2(body->q[1], body->q[2]);
}

static bool contact_values(const S2S2dPast *past, const S2Moment *moment,
                           const S2MomentContact *contact, int32_t value[S2_S2D_CONTACT_VALUES]) {
  double per = 1 / past->grain, per_impulse = 1 / past->impulse_grain;
  int64_t wide[S2_S2D_CONTACT_VALUES];
  S2Vec2 offset = s2_sub(contact->point, contact_origin(moment, contact->a, contact->b));
  bool fits = to_grains(offset.x, per, &wide[0]);
  fits = to_grains(offset.y, per, &wide[1]) && fits;
  fits = to_normal(contact->normal, &wide[2]) && fits;
  fits = to_grains(contact->gap, per * (1 / GAP_PART), &wide[3]) && fits;
  fits = to_ratio(contact->normal_impulse, per_impulse, &wide[4]) && fits;
  fits = to_ratio(contact->tangent_impulse, per_impulse, &wide[5]) && fits;
  for (int k = 0; k < S2_S2D_CONTACT_VALUES; k++) {
    fits = fits && fabs((double)wide[k]) < LARGEST_SMALL;
    value[k] = (int32_t)wide[k];
  }
  return fits;
}

static S2MomentContact frame_contact_of(const S2S2dPast *past, const S2Moment *moment,
                                        const S2S2dContactPast *from) {
  S2Vec2 offset =
      s2_vec2((double)from->value[0] * past->grain, (double)from->value[1] * past->grain);
  return (S2MomentContact){
      .a = from->a,
      .b = from->b,
      .feature = from->feature,
      .sliding = from->sliding,
      .point = s2_add(contact_origin(moment, from->a, from->b), offset),
      .normal = of_normal(from->value[2]),
      .gap = (double)from->value[3] * (past->grain * GAP_PART),
      .normal_impulse = of_ratio(from->value[4], past->impulse_grain),
      .tangent_impulse = of_ratio(from->value[5], past->impulse_grain),
  };
}

static S2Vec2 joint_origin(const S2Moment *moment, int32_t body) {
  const double *q = body < 0 ? NULL : moment->bodies.at[body].q;
  return q == NULL ? s2_vec2(0, 0) : s2_vec2(q[1], q[2]);
}

static bool joint_values(const S2S2dPast *past, const S2Moment *moment, const S2MomentJoint *joint,
                         int64_t value[S2_S2D_JOINT_VALUES]) {
  double per = 1 / past->grain, per_impulse = 1 / past->impulse_grain;
  S2Vec2 arm = s2_sub(joint->anchor_a, joint_origin(moment, joint->a));
  S2Vec2 apart = s2_sub(joint->anchor_b, joint->anchor_a);
  bool fits = to_grains(arm.x, per, &value[0]);
  fits = to_grains(arm.y, per, &value[1]) && fits;
  fits = to_grains(apart.x, per * (1 / GAP_PART), &value[2]) && fits;
  fits = to_grains(apart.y, per * (1 / GAP_PART), &value[3]) && fits;
  fits = to_ratio(joint->impulse.x, per_impulse, &value[4]) && fits;
  fits = to_ratio(joint->impulse.y, per_impulse, &value[5]) && fits;
  fits = to_grains(joint->angle, 1 / ANGLE_GRAIN, &value[6]) && fits;
  return to_ratio(joint->speed, 1 / SPEED_GRAIN, &value[7]) && fits;
}

static void joint_set(const S2S2dPast *past, const S2Moment *moment, const int64_t *value,
                      S2MomentJoint *joint) {
  double fine = past->grain * GAP_PART;
  S2Vec2 arm = s2_vec2((double)value[0] * past->grain, (double)value[1] * past->grain);
  joint->anchor_a = s2_add(joint_origin(moment, joint->a), arm);
  joint->anchor_b =
      s2_add(joint->anchor_a, s2_vec2((double)value[2] * fine, (double)value[3] * fine));
  joint->impulse =
      s2_vec2(of_ratio(value[4], past->impulse_grain), of_ratio(value[5], past->impulse_grain));
  joint->angle = (double)value[6] * ANGLE_GRAIN;
  joint->speed = of_ratio(value[7], SPEED_GRAIN);
}

// ---- Parts of a frame -------------------------------------------------------------------------

static void start_again(S2S2dPast *past, const S2Moment *moment) {
  // Reset the predictions. Numbers are relative to 0 and take all their bits.
  past->any = false;
  past->time = 0;
  past->step = 0;
  memset(past->head, 0, sizeof past->head);
  memset(past->sums, 0, sizeof past->sums);
  memset(past->head_length, 62, sizeof past->head_length);
  past->step_length = past->count_length = 0;
  past->time_length = 62;
  memset(past->run_length, 0, sizeof past->run_length);
  memset(past->key_length, 0, sizeof past->key_length);
  memset(past->fresh_length, 0, sizeof past->fresh_length);
  // The scene determines the lengths of all lists except contacts.
  past->contacts.count = past->contacts_next.count = 0;
  s2_array_reserve(past->contacts, moment->contacts.count);
  s2_array_reserve(past->bodies, moment->bodies.count);
  s2_array_reserve(past->joints, moment->joints.count);
  s2_array_reserve(past->channels, moment->channels.count);
  s2_array_reserve(past->channel_length, moment->channels.count);
  past->bodies.count = moment->bodies.count;
  past->joints.count = moment->joints.count;
  past->channels.count = past->channel_length.count = moment->channels.count;
  for (int i = 0; i < past->channels.count; i++) {
    past->channels.at[i] = 0;
    past->channel_length.at[i] = 62;
  }
  for (int i = 0; i < past->joints.count; i++) {
    past->joints.at[i] = (S2S2dJointPast){0};
  }
}

static void code_start(S2S2dBits *bits, S2S2dPast *past, S2Moment *moment) {
  uint64_t steps = s2_s2d_zigzag((int64_t)(moment->step - past->step));
  s2_s2d_code_near(bits, &steps, &past->step_length);
  moment->step = past->step + (uint64_t)s2_s2d_unzigzag(steps);
  double guess = past->any ? past->time + moment->settings.dt : 0;
  s2_s2d_code_double(bits, &moment->time, guess, &past->time_length);
  s2_s2d_code_word(bits, &moment->hash);
}

// Computes energies and momentum from the bodies of a frame. The rounding is the same as in
// s2_world_energy and s2_world_momentum.
static void add_up(const S2Moment *moment, double sums[S2_S2D_SUMS]) {
  S2Vec2 gravity = moment->settings.gravity;
  double kinetic = 0, potential = 0, angular = 0, x = 0, y = 0;
  for (int i = 0; i < moment->bodies.count; i++) {
    const S2MomentBody *body = &moment->bodies.at[i];
    if (body->type == S2_DYNAMIC && body->enabled) {
      const double *q = body->q, *v = body->v;
      kinetic += 0.5 * (body->inertia * v[0] * v[0] + body->mass * (v[1] * v[1] + v[2] * v[2]));
      potential -= body->mass * (gravity.x * q[1] + gravity.y * q[2]);
      angular += body->inertia * v[0] + body->mass * (q[1] * v[2] - q[2] * v[1]);
      x += body->mass * v[1];
      y += body->mass * v[2];
    }
  }
  const double all[S2_S2D_SUMS] = {kinetic, potential, angular, x, y};
  memcpy(sums, all, sizeof all);
}

// Predicts a sum over bodies. This is the computed sum if it was correct in the last frame,
// otherwise the last value plus the change of the computed sum.
static double guess_head(const S2S2dPast *past, int i, const double *sums) {
  if (i >= S2_S2D_SUMS) {
    return past->head[i]; // cppcheck-suppress arrayIndexOutOfBoundsCond ; i < S2_S2D_HEAD_VALUES
  }
  double guess = s2_same_bits(&past->head[i], &past->sums[i], 1)
                     ? sums[i]
                     : past->head[i] + (sums[i] - past->sums[i]);
  return isnan(guess) ? past->head[i] : guess;
}

static void code_head(S2S2dBits *bits, S2S2dPast *past, S2Moment *moment) {
  double *const heads[S2_S2D_HEAD_VALUES] = {
      &moment->kinetic,     &moment->potential, &moment->momentum[0], &moment->momentum[1],
      &moment->momentum[2], &moment->residual,  &moment->iterations,
  };
  double sums[S2_S2D_SUMS] = {0};
  add_up(moment, sums);
  for (int i = 0; i < S2_S2D_HEAD_VALUES; i++) {
    s2_s2d_code_double(bits, heads[i], guess_head(past, i, sums), &past->head_length[i]);
    past->head[i] = *heads[i];
  }
  memcpy(past->sums, sums, sizeof sums);
  for (int i = 0; i < past->channels.count; i++) {
    double *value = &moment->channels.at[i].value;
    s2_s2d_code_double(bits, value, past->channels.at[i], &past->channel_length.at[i]);
    past->channels.at[i] = *value;
  }
}

static void code_joint_values(S2S2dBits *bits, int64_t *values, const int64_t *guess,
                              uint8_t *length) {
  for (int k = 0; k < S2_S2D_JOINT_VALUES; k++) {
    uint64_t miss = s2_s2d_zigzag((int64_t)((uint64_t)values[k] - (uint64_t)guess[k]));
    s2_s2d_code_near(bits, &miss, &length[k]);
    values[k] = (int64_t)((uint64_t)guess[k] + (uint64_t)s2_s2d_unzigzag(miss));
  }
}

// Codes the values of a contact from `first` on.
static void code_contact_values(S2S2dBits *bits, int32_t *values, const int32_t *guess,
                                uint8_t *length, int first) {
  for (int k = first; k < S2_S2D_CONTACT_VALUES; k++) {
    uint64_t miss = s2_s2d_zigzag((int64_t)values[k] - guess[k]);
    s2_s2d_code_near(bits, &miss, &length[k]);
    values[k] = (int32_t)((uint32_t)guess[k] + (uint32_t)s2_s2d_unzigzag(miss));
  }
}

static bool same_contact(const S2MomentContact *a, const S2S2dContactPast *b) {
  return a->a == b->a && a->b == b->b && a->feature == b->feature;
}

// Codes a contact that was also in the last frame. When writing, the caller must have set `next`.
// When reading, sets `next` and `contact`.
static void code_kept_contact(S2S2dBits *bits, const S2S2dPast *past, const S2Moment *moment,
                              const S2S2dContactPast *old, S2S2dContactPast *next,
                              S2MomentContact *contact) {
  bool same = bits->writing && next->sliding == old->sliding &&
              memcmp(next->value, old->value, sizeof next->value) == 0;
  s2_s2d_code_flag(bits, &same);
  if (!bits->writing) {
    *next = *old;
  }
  memcpy(next->length, old->length, sizeof next->length);
  if (!same) {
    s2_s2d_code_flag(bits, &next->sliding);
    bool pushed = bits->writing && memcmp(next->value, old->value, PLACE * sizeof(int32_t)) == 0;
    s2_s2d_code_flag(bits, &pushed);
    code_contact_values(bits, next->value, old->value, next->length, pushed ? PLACE : 0);
  }
  if (!bits->writing) {
    *contact = frame_contact_of(past, moment, next);
  }
}

static bool in_range(int64_t body, int count) {
  return body >= 0 && body < count;
}

static void code_fresh_contact(S2S2dBits *bits, S2S2dPast *past, const S2Moment *moment,
                               int32_t *last, S2S2dContactPast *next, S2MomentContact *contact) {
  static const int32_t zeros[S2_S2D_CONTACT_VALUES] = {0};
  // Codes the bodies and the feature relative to the previous contact, because neighbours in the
  // list are similar.
  uint64_t keys[3] = {0};
  if (bits->writing) {
    keys[0] = s2_s2d_zigzag((int64_t)contact->a - *last);
    keys[1] = s2_s2d_zigzag((int64_t)contact->b - contact->a);
    keys[2] = contact->feature;
  } else {
    *next = (S2S2dContactPast){0};
  }
  for (int k = 0; k < 3; k++) {
    s2_s2d_code_near(bits, &keys[k], &past->key_length[k]);
  }
  // A new contact has no previous values.
  s2_s2d_code_flag(bits, &next->sliding);
  code_contact_values(bits, next->value, zeros, past->fresh_length, 0);
  memcpy(next->length, past->fresh_length, sizeof next->length);
  // A damaged file may contain any number, so compute sums modulo 2^64 and check them.
  int64_t a = (int64_t)((uint64_t)s2_s2d_unzigzag(keys[0]) + (uint64_t)*last);
  int64_t b = (int64_t)((uint64_t)s2_s2d_unzigzag(keys[1]) + (uint64_t)a);
  if (!in_range(a, moment->bodies.count) || !in_range(b, moment->bodies.count) ||
      keys[2] > UINT32_MAX) {
    bits->bad = true;
    return;
  }
  next->a = *last = (int32_t)a;
  next->b = (int32_t)b;
  next->feature = (uint32_t)keys[2];
  if (!bits->writing) {
    *contact = frame_contact_of(past, moment, next);
  }
}

// Counts the next continuing contacts, then the ended contacts and the new contacts that follow.
static void find_runs(const S2S2dPast *past, const S2Moment *moment, int at, int old,
                      uint64_t runs[3]) {
  // Count the contacts that are the same in both lists.
  int count = moment->contacts.count, olds = past->contacts.count;
  int stays = 0;
  while (at + stays < count && old + stays < olds &&
         same_contact(&moment->contacts.at[at + stays], &past->contacts.at[old + stays])) {
    stays++;
  }
  at += stays;
  old += stays;
  // Find the next contact that is in both lists. The contacts before it have ended or are new.
  int fresh = 0, gone = 0;
  for (bool found = false; !found && at + fresh < count; fresh += !found) {
    for (gone = 0; !found && gone < PASSED_OVER && old + gone < olds; gone += !found) {
      found = same_contact(&moment->contacts.at[at + fresh], &past->contacts.at[old + gone]);
    }
    gone = found ? gone : 0;
  }
  runs[0] = (uint64_t)stays;
  runs[1] = (uint64_t)gone;
  runs[2] = (uint64_t)fresh;
}

static void code_contacts(S2S2dBits *bits, S2S2dPast *past, S2Moment *moment) {
  int count = moment->contacts.count, at = 0, old = 0;
  int32_t last = 0;
  s2_array_reserve(past->contacts_next, count);
  past->contacts_next.count = count;
  // Code runs of continuing, ended and new contacts.
  while (at < count && !bits->bad) {
    uint64_t runs[3] = {0};
    if (bits->writing) {
      find_runs(past, moment, at, old, runs);
    }
    s2_s2d_code_near(bits, &runs[0], &past->run_length[0]);
    if (runs[0] > (uint64_t)(count - at) || runs[0] > (uint64_t)(past->contacts.count - old)) {
      bits->bad = true;
      break;
    }
    // Code the continuing contacts relative to their old values.
    for (uint64_t i = 0; i < runs[0]; i++, at++, old++) {
      code_kept_contact(bits, past, moment, &past->contacts.at[old], &past->contacts_next.at[at],
                        &moment->contacts.at[at]);
    }
    if (at == count) {
      break;
    }
    // Then code the ended and new contacts. Reject two empty runs, which would cause an endless
    // loop.
    s2_s2d_code_near(bits, &runs[1], &past->run_length[1]);
    s2_s2d_code_near(bits, &runs[2], &past->run_length[2]);
    if (runs[1] > (uint64_t)(past->contacts.count - old) || runs[2] > (uint64_t)(count - at) ||
        (runs[1] == 0 && runs[2] == 0)) {
      bits->bad = true;
      break;
    }
    old += (int)runs[1];
    for (uint64_t i = 0; i < runs[2] && !bits->bad; i++, at++) {
      code_fresh_contact(bits, past, moment, &last, &past->contacts_next.at[at],
                         &moment->contacts.at[at]);
    }
  }
}

static void code_joints(S2S2dBits *bits, S2S2dPast *past, S2Moment *moment) {
  for (int i = 0; i < moment->joints.count; i++) {
    S2S2dJointPast *old = &past->joints.at[i];
    S2S2dJointPast next = *old;
    bool same = false;
    if (bits->writing) {
      joint_values(past, moment, &moment->joints.at[i], next.value);
      same = memcmp(next.value, old->value, sizeof next.value) == 0;
    }
    s2_s2d_code_flag(bits, &same);
    if (!same) {
      code_joint_values(bits, next.value, old->value, next.length);
    }
    *old = next;
    if (!bits->writing) {
      joint_set(past, moment, next.value, &moment->joints.at[i]);
    }
  }
}

// ---- Plain numbers, for values that do not fit the grains ------------------------------------

// Rounds contacts and joints to multiples of the grains. Returns false if a number is too large.
static bool round_all(S2S2dPast *past, const S2Moment *moment) {
  int count = moment->contacts.count;
  bool fits = true;
  s2_array_reserve(past->contacts_next, count);
  for (int i = 0; i < count; i++) {
    const S2MomentContact *contact = &moment->contacts.at[i];
    S2S2dContactPast *next = &past->contacts_next.at[i];
    next->a = contact->a;
    next->b = contact->b;
    next->feature = contact->feature;
    next->sliding = contact->sliding;
    fits = contact_values(past, moment, contact, next->value) && fits;
  }
  int64_t value[S2_S2D_JOINT_VALUES];
  for (int i = 0; i < moment->joints.count; i++) {
    fits = joint_values(past, moment, &moment->joints.at[i], value) && fits;
  }
  return fits;
}

static void code_plain(S2S2dBits *bits, double *value) {
  uint64_t word = s2_s2d_bits_of(*value);
  s2_s2d_code_word(bits, &word);
  *value = s2_s2d_double_of(word);
}

static void code_plain_numbers(S2S2dBits *bits, S2S2dPast *past, S2Moment *moment) {
  // Code the bodies, feature, flag and numbers of contacts. Contacts of the next frame have no
  // predecessors.
  past->contacts_next.count = 0;
  for (int i = 0; i < moment->contacts.count; i++) {
    S2MomentContact *contact = &moment->contacts.at[i];
    if (!bits->writing) {
      *contact = (S2MomentContact){0};
    }
    uint32_t a = (uint32_t)contact->a, b = (uint32_t)contact->b;
    s2_s2d_code_bits(bits, &a, 32);
    s2_s2d_code_bits(bits, &b, 32);
    s2_s2d_code_bits(bits, &contact->feature, 32);
    s2_s2d_code_flag(bits, &contact->sliding);
    double *const values[] = {&contact->point.x,        &contact->point.y, &contact->normal.x,
                              &contact->normal.y,       &contact->gap,     &contact->normal_impulse,
                              &contact->tangent_impulse};
    for (size_t k = 0; k < sizeof values / sizeof values[0]; k++) {
      code_plain(bits, values[k]);
    }
    bits->bad =
        bits->bad || !in_range(a, moment->bodies.count) || !in_range(b, moment->bodies.count);
    contact->a = (int32_t)a;
    contact->b = (int32_t)b;
  }
  // Code the numbers of joints. The scene contains all other data.
  for (int i = 0; i < moment->joints.count; i++) {
    S2MomentJoint *joint = &moment->joints.at[i];
    double *const values[] = {&joint->anchor_a.x, &joint->anchor_a.y, &joint->anchor_b.x,
                              &joint->anchor_b.y, &joint->impulse.x,  &joint->impulse.y,
                              &joint->angle,      &joint->speed};
    for (size_t k = 0; k < sizeof values / sizeof values[0]; k++) {
      code_plain(bits, values[k]);
    }
    past->joints.at[i] = (S2S2dJointPast){0};
  }
}

// ---- A frame ----------------------------------------------------------------------------------

static void code_frame(S2S2dBits *bits, S2S2dPast *past, S2Moment *moment) {
  // A key frame does not depend on other frames, so it starts from zero.
  bool key = !past->any, plain = false;
  s2_s2d_code_flag(bits, &key);
  if (key) {
    start_again(past, moment);
  }
  // The frame must belong to this scene, and follow the frame before it.
  if (bits->bad || (!past->any && !key) || past->bodies.count != moment->bodies.count ||
      past->joints.count != moment->joints.count ||
      past->channels.count != moment->channels.count) {
    bits->bad = true;
    return;
  }
  // Code the time and the bodies, from which energies and momentum are predicted.
  uint64_t old_step = past->step;
  code_start(bits, past, moment);
  double h = moment->step == old_step + 1 ? moment->settings.dt : moment->time - past->time;
  s2_s2d_code_bodies(bits, past, moment, h);
  code_head(bits, past, moment);
  // Code contacts and joints as multiples of the grains if they all fit, otherwise as plain
  // numbers.
  if (bits->writing) {
    plain = !round_all(past, moment);
  }
  s2_s2d_code_flag(bits, &plain);
  // Code the number of contacts.
  uint64_t contacts = s2_s2d_zigzag((int64_t)moment->contacts.count - past->contacts.count);
  s2_s2d_code_near(bits, &contacts, &past->count_length);
  if (!bits->writing) {
    int64_t count = (int64_t)((uint64_t)past->contacts.count + (uint64_t)s2_s2d_unzigzag(contacts));
    // A contact takes at least one bit, and more than a byte if it is new. So the memory is limited
    // by the size of the file.
    int64_t most = past->contacts.count + s2_s2d_left(bits) / 8;
    if (count < 0 || count > most || count > INT32_MAX / 2) {
      bits->bad = true;
      return;
    }
    s2_array_reserve(moment->contacts, (int)count);
    moment->contacts.count = (int)count;
  }
  if (plain) {
    code_plain_numbers(bits, past, moment);
  } else {
    code_contacts(bits, past, moment);
    code_joints(bits, past, moment);
  }
  // Keep the new lists for the next frame. Reuse the old arrays.
  S2S2dContactPast *at = past->contacts.at;
  int capacity = past->contacts.capacity;
  past->contacts.at = past->contacts_next.at;
  past->contacts.count = past->contacts_next.count;
  past->contacts.capacity = past->contacts_next.capacity;
  past->contacts_next.at = at;
  past->contacts_next.capacity = capacity;
  past->time = moment->time;
  past->step = moment->step;
  past->any = true;
}

size_t s2_s2d_frame_room(const S2Moment *moment) {
  enum { HEAD = 256, CHANNEL = 10, BODY = 64, CONTACT = 136, JOINT = 88 };
  return HEAD + (size_t)CHANNEL * (size_t)moment->channels.count +
         (size_t)BODY * (size_t)moment->bodies.count +
         (size_t)CONTACT * (size_t)moment->contacts.count +
         (size_t)JOINT * (size_t)moment->joints.count;
}

// NOLINTNEXTLINE(readability-non-const-parameter): written through `bits`
size_t s2_s2d_frame_write(S2S2dPast *past, const S2Moment *moment, bool key, unsigned char *at) {
  S2S2dBits bits = {.writing = true, .at = at};
  past->any = past->any && !key;
  // This does not change the moment, because writing keeps the values of all variables.
  code_frame(&bits, past, (S2Moment *)(uintptr_t)moment); // NOLINT(performance-no-int-to-ptr)
  s2_s2d_finish(&bits);
  return bits.size;
}

bool s2_s2d_frame_is_key(const unsigned char *at, size_t size) {
  return size > 0 && (at[0] & 1) != 0;
}

bool s2_s2d_frame_read(S2S2dPast *past, const unsigned char *at, size_t size, S2Moment *moment) {
  S2S2dBits bits = s2_s2d_bits_reading(at, size);
  bool key = s2_s2d_frame_is_key(at, size);
  if (size == 0 || (!key && !past->any)) {
    return false;
  }
  past->any = past->any && !key;
  code_frame(&bits, past, moment);
  int64_t left = s2_s2d_left(&bits);
  bool ok = !bits.bad && left >= 0 && left < 8;
  past->any = past->any && ok;
  return ok;
}
