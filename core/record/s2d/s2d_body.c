#include "record/s2d/s2d_body.h"

#include "base/number.h"

enum {
  FIRST_Q = 32, // initial bit lengths of the prediction errors of poses and velocities
  FIRST_V = 48,
  VOTES = 64,               // number of bodies that are used to detect the integration rule
  GUESSES = 4,              // S2S2dGuess
  FARTHEST_EXPONENT = 1000, // limit for short speeds. 2^1000 and its inverse are finite
  // A speed keeps its previous exponent if the resulting integer has fewer trailing zeros than
  // this.
  ZEROS_KEPT = 6,
};
#define LONGEST_SHORT 0x1p40 // a short speed is at most this integer times 2^exponent

static void code_first_body(S2S2dBits *bits, S2S2dBodyPast *past, S2MomentBody *body) {
  *past = (S2S2dBodyPast){.guess = S2_S2D_AS_LAST};
  for (int k = 0; k < 6; k++) {
    double *value = k < 3 ? &body->q[k] : &body->v[k - 3];
    uint64_t word = s2_s2d_bits_of(*value);
    s2_s2d_code_word(bits, &word);
    *value = s2_s2d_double_of(word);
    past->length[k] = k < 3 ? FIRST_Q : FIRST_V;
  }
  memcpy(past->q, body->q, sizeof past->q);
  for (int i = 0; i < 3; i++) {
    memcpy(past->v[i], body->v, sizeof past->v[i]);
  }
}

static void guess_v(const S2S2dBodyPast *past, int how, double guess[3]) {
  for (int k = 0; k < 3; k++) {
    guess[k] = how == S2_S2D_AS_LAST    ? past->v[0][k]
               : how == S2_S2D_STRAIGHT ? 2 * past->v[0][k] - past->v[1][k]
                                        : past->v[how - 1][k];
  }
}

// Predicts the pose of a body after the time h. Assumes that it moved with its new velocity or, if
// `mean` is set, with the mean of its old and new velocities.
static void guess_q(const S2S2dBodyPast *past, const double *v, double h, bool mean,
                    double guess[3]) {
  for (int k = 0; k < 3; k++) {
    guess[k] = past->q[k] + h * (mean ? 0.5 * (past->v[0][k] + v[k]) : v[k]);
  }
}

static int body_cost(const double *value, const double *guess) {
  int bits = 0;
  for (int k = 0; k < 3; k++) {
    bits += s2_s2d_length(s2_s2d_miss(value[k], guess[k]));
  }
  return bits;
}

static uint8_t best_guess(const S2S2dBodyPast *past, const double *v) {
  int bits[GUESSES] = {0}, best = S2_S2D_AS_LAST;
  for (int k = 0; k < 3; k++) {
    double last = past->v[0][k], second = past->v[1][k], third = past->v[2][k];
    const double guesses[GUESSES] = {last, 2 * last - second, second, third};
    for (int how = 0; how < GUESSES; how++) {
      bits[how] += s2_s2d_length(s2_s2d_miss(v[k], guesses[how]));
    }
  }
  for (int how = 1; how < GUESSES; how++) {
    best = bits[how] < bits[best] ? how : best;
  }
  return (uint8_t)best;
}

// ---- Speeds that are short numbers ------------------------------------------------------------

// The forces on a body at rest cancel except for rounding errors. The remaining speed has only a
// few significant bits, because its lowest bit is that of the forces.

static double power_of_two(int exponent) {
  return s2_s2d_double_of((uint64_t)(1023 + exponent) << 52);
}

static double round_away(double number) {
  return (double)(int64_t)(number < 0 ? number - 0.5 : number + 0.5);
}

// Returns the prediction as an integer multiple of 2^exponent, or 0 if it is too large.
static double short_guess(double guess, int exponent) {
  double number = guess * power_of_two(-exponent);
  return number > -LONGEST_SHORT && number < LONGEST_SHORT ? round_away(number) : 0;
}

// Returns true if the speed is a short number, and computes its exponent.
static bool is_short(double value, int last, int *exponent) {
  uint64_t bits = s2_s2d_bits_of(value);
  *exponent = last;
  if (value == 0) {
    return bits == 0; // not -0
  }
  uint64_t mantissa = (bits & ((UINT64_C(1) << 52) - 1)) | UINT64_C(1) << 52;
  int zeros = __builtin_ctzll(mantissa);
  int field = (int)(bits >> 52 & 2047), lowest = field - 1075 + zeros;
  if (lowest < last || lowest >= last + ZEROS_KEPT) {
    *exponent = lowest;
  }
  int length = 53 - zeros + lowest - *exponent;
  return length <= 40 && field < 2047 && *exponent >= -FARTHEST_EXPONENT &&
         *exponent <= FARTHEST_EXPONENT;
}

// Codes a speed. Uses a short number if that takes fewer bits.
static void code_speed(S2S2dBits *bits, S2S2dBodyPast *past, int k, double *value, double guess) {
  int exponent = 0;
  double number = 0;
  bool brief = bits->writing && is_short(*value, past->exponent[k], &exponent);
  uint64_t miss = 0;
  if (brief) {
    number = *value * power_of_two(-exponent);
    miss = s2_s2d_zigzag((int64_t)(number - short_guess(guess, exponent)));
    brief = s2_s2d_small_cost(exponent - past->exponent[k]) + s2_s2d_length(miss) <
            s2_s2d_length(s2_s2d_miss(*value, guess));
  }
  s2_s2d_code_flag(bits, &brief);
  if (!brief) {
    s2_s2d_code_double(bits, value, guess, &past->length[3 + k]);
    return;
  }
  // Code the change of the exponent, then the prediction error of the integer.
  int32_t change = exponent - past->exponent[k];
  s2_s2d_code_small(bits, &change);
  exponent = past->exponent[k] + change;
  if (exponent < -FARTHEST_EXPONENT || exponent > FARTHEST_EXPONENT) {
    bits->bad = true;
    return;
  }
  past->exponent[k] = (int16_t)exponent;
  s2_s2d_code_near(bits, &miss, &past->short_length[k]);
  if (!bits->writing) {
    number = (double)s2_s2d_unzigzag(miss) + short_guess(guess, exponent);
    *value = number * power_of_two(exponent);
  }
}

// ---- A body -----------------------------------------------------------------------------------

static void code_place(S2S2dBits *bits, S2S2dBodyPast *past, double *q, const double *moved) {
  bool hit = bits->writing && s2_same_bits(q, moved, 3);
  bool still = bits->writing && !hit && body_cost(q, past->q) < body_cost(q, moved);
  s2_s2d_code_flag(bits, &hit);
  if (hit) {
    memcpy(q, moved, 3 * sizeof *q);
    return;
  }
  s2_s2d_code_flag(bits, &still);
  for (int k = 0; k < 3; k++) {
    s2_s2d_code_double_or_hit(bits, &q[k], still ? past->q[k] : moved[k], &past->length[k]);
  }
}

static void code_missed(S2S2dBits *bits, S2S2dBodyPast *past, S2MomentBody *body, double h,
                        bool mean) {
  uint32_t how = bits->writing ? best_guess(past, body->v) : 0;
  double guess[3], moved[3];
  s2_s2d_code_bits(bits, &how, 2);
  past->guess = (uint8_t)how;
  guess_v(past, past->guess, guess);
  for (int k = 0; k < 3; k++) {
    code_speed(bits, past, k, &body->v[k], guess[k]);
  }
  guess_q(past, body->v, h, mean, moved);
  code_place(bits, past, body->q, moved);
}

static void code_body(S2S2dBits *bits, S2S2dBodyPast *past, S2MomentBody *body, double h,
                      bool mean) {
  double guess[3], moved[3];
  guess_v(past, past->guess, guess);
  guess_q(past, guess, h, mean, moved);
  bool as_guessed =
      bits->writing && s2_same_bits(body->v, guess, 3) && s2_same_bits(body->q, moved, 3);
  s2_s2d_code_flag(bits, &as_guessed);
  if (as_guessed) {
    memcpy(body->v, guess, sizeof guess);
    memcpy(body->q, moved, sizeof moved);
  } else {
    code_missed(bits, past, body, h, mean);
  }
  memcpy(past->v[2], past->v[1], sizeof past->v[2]);
  memcpy(past->v[1], past->v[0], sizeof past->v[1]);
  memcpy(past->v[0], body->v, sizeof past->v[0]);
  memcpy(past->q, body->q, sizeof past->q);
}

// A few bodies are enough, because the same integration rule moves all bodies.
static bool vote_for_mean(const S2S2dPast *past, const S2Moment *moment, double h) {
  int better = 0, votes = 0;
  for (int i = 0; i < past->bodies.count && votes < VOTES; i++) {
    const S2MomentBody *body = &moment->bodies.at[i];
    double ends[3], means[3];
    guess_q(&past->bodies.at[i], body->v, h, false, ends);
    if (!s2_same_bits(body->q, ends, 3)) {
      guess_q(&past->bodies.at[i], body->v, h, true, means);
      votes++;
      better += body_cost(body->q, means) < body_cost(body->q, ends) ? 1 : -1;
    }
  }
  return better > 0;
}

void s2_s2d_code_bodies(S2S2dBits *bits, S2S2dPast *past, S2Moment *moment, double h) {
  if (!past->any) {
    for (int i = 0; i < past->bodies.count; i++) {
      code_first_body(bits, &past->bodies.at[i], &moment->bodies.at[i]);
    }
    return;
  }
  bool mean = bits->writing && vote_for_mean(past, moment, h);
  s2_s2d_code_flag(bits, &mean);
  for (int i = 0; i < past->bodies.count; i++) {
    code_body(bits, &past->bodies.at[i], &moment->bodies.at[i], h, mean);
  }
}
