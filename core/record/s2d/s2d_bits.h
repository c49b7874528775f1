// The bit stream of compact frames (docs/replay-format.md). The same functions write and read. When
// writing, a function does not change its variable. When reading, it sets the variable. So the same
// code predicts the next frame on both sides.
#ifndef S2_S2D_BITS_H
#define S2_S2D_BITS_H

#include "record/s2d/s2d.h"

#include <stdbool.h>

typedef struct S2S2dBits {
  bool writing;
  bool bad;          // set when reading if the bits are invalid
  unsigned char *at; // must have space for all bits when writing. Not changed when reading
  size_t size;       // size in bytes, or the number of bytes written so far
  size_t next;       // the next byte to fetch when reading
  uint64_t held;     // bits that have been fetched, lowest first
  int holds;
} S2S2dBits;

static inline S2S2dBits s2_s2d_bits_reading(const unsigned char *at, size_t size) {
  // NOLINTNEXTLINE(performance-no-int-to-ptr): this memory is never written
  return (S2S2dBits){.at = (unsigned char *)(uintptr_t)at, .size = size};
}

static inline void s2_s2d_put(S2S2dBits *bits, uint32_t value, int count) {
  bits->held |= (uint64_t)value << bits->holds;
  bits->holds += count;
  if (bits->holds >= 32) {
    s2_s2d_set32(bits->at + bits->size, (uint32_t)bits->held);
    bits->size += 4;
    bits->held >>= 32;
    bits->holds -= 32;
  }
}

static inline void s2_s2d_finish(S2S2dBits *bits) {
  for (; bits->holds > 0; bits->holds -= 8) {
    bits->at[bits->size++] = (unsigned char)bits->held;
    bits->held >>= 8;
  }
}

// Fetches bytes until at least 32 bits are available. After the end, fetches zeros and still
// advances `next`.
static inline void s2_s2d_fill(S2S2dBits *bits) {
  if (bits->holds >= 32) {
    return;
  }
  uint32_t word = 0;
  if (bits->next + 4 <= bits->size) {
    word = s2_s2d_get32(bits->at + bits->next);
  } else {
    for (size_t i = 0; i < 4 && bits->next + i < bits->size; i++) {
      word |= (uint32_t)bits->at[bits->next + i] << (8 * i);
    }
  }
  bits->held |= (uint64_t)word << bits->holds;
  bits->next += 4;
  bits->holds += 32;
}

static inline uint32_t s2_s2d_take(S2S2dBits *bits, int count) {
  s2_s2d_fill(bits);
  uint32_t value = (uint32_t)(bits->held & ((UINT64_C(1) << count) - 1));
  bits->held >>= count;
  bits->holds -= count;
  return value;
}

// Returns the number of unread bits, negative if too many bits were read.
static inline int64_t s2_s2d_left(const S2S2dBits *bits) {
  return 8 * ((int64_t)bits->size - (int64_t)bits->next) + bits->holds;
}

// Codes `count` bits, at most 32.
static inline void s2_s2d_code_bits(S2S2dBits *bits, uint32_t *value, int count) {
  if (bits->writing) {
    s2_s2d_put(bits, *value, count);
  } else {
    *value = s2_s2d_take(bits, count);
  }
}

static inline void s2_s2d_code_flag(S2S2dBits *bits, bool *flag) {
  uint32_t value = bits->writing && *flag;
  s2_s2d_code_bits(bits, &value, 1);
  *flag = value != 0;
}

static inline void s2_s2d_code_word(S2S2dBits *bits, uint64_t *value) {
  uint32_t low = (uint32_t)*value, high = (uint32_t)(*value >> 32);
  s2_s2d_code_bits(bits, &low, 32);
  s2_s2d_code_bits(bits, &high, 32);
  *value = (uint64_t)high << 32 | low;
}

static inline uint64_t s2_s2d_zigzag(int64_t value) {
  return (uint64_t)value << 1 ^ (value < 0 ? UINT64_MAX : 0);
}

static inline int64_t s2_s2d_unzigzag(uint64_t value) {
  return (int64_t)(value >> 1 ^ ((value & 1) != 0 ? UINT64_MAX : 0));
}

static inline int s2_s2d_length(uint64_t value) {
  return value == 0 ? 0 : 64 - __builtin_clzll(value);
}

// Codes a number that is usually 0 as the Elias gamma code of its zigzag value. The magnitude must
// not exceed 2^14.
static inline void s2_s2d_code_small(S2S2dBits *bits, int32_t *value) {
  if (bits->writing) {
    uint32_t number = (uint32_t)s2_s2d_zigzag(*value) + 1;
    int zeros = 31 - __builtin_clz(number);
    s2_s2d_put(bits, ((number ^ 1u << zeros) << 1 | 1u) << zeros, 2 * zeros + 1);
    return;
  }
  s2_s2d_fill(bits);
  int zeros = (bits->held & 0xffff) == 0 ? 16 : __builtin_ctzll(bits->held);
  if (zeros > 15) {
    zeros = 0;
    bits->bad = true;
  }
  s2_s2d_take(bits, zeros + 1);
  *value = (int32_t)s2_s2d_unzigzag((s2_s2d_take(bits, zeros) | 1u << zeros) - 1);
}

// Returns the number of bits that s2_s2d_code_small writes.
static inline int s2_s2d_small_cost(int value) {
  return 63 - 2 * __builtin_clz((uint32_t)s2_s2d_zigzag(value) + 1);
}

// Codes a number that has about as many bits as the previous one. `length` is the bit length of the
// previous number, and is updated.
static inline void s2_s2d_code_near(S2S2dBits *bits, uint64_t *value, uint8_t *length) {
  if (bits->writing) {
    // Code the change of the length as an Elias gamma code, then the bits below the leading bit.
    int n = s2_s2d_length(*value);
    uint32_t change = (uint32_t)s2_s2d_zigzag(n - *length) + 1;
    int zeros = 31 - __builtin_clz(change);
    s2_s2d_put(bits, ((change ^ 1u << zeros) << 1 | 1u) << zeros, 2 * zeros + 1);
    if (n > 33) {
      s2_s2d_put(bits, (uint32_t)*value, 32);
      s2_s2d_put(bits, (uint32_t)(*value >> 32) ^ 1u << (n - 33), n - 33);
    } else if (n > 1) {
      s2_s2d_put(bits, (uint32_t)(*value ^ UINT64_C(1) << (n - 1)), n - 1);
    }
    *length = (uint8_t)n;
    return;
  }
  // Read the code. The file is damaged if there are more leading zeros than any change needs.
  s2_s2d_fill(bits);
  int zeros = bits->held == 0 ? 64 : __builtin_ctzll(bits->held);
  if (zeros > 7) {
    zeros = 0;
    bits->bad = true;
  }
  s2_s2d_take(bits, zeros + 1);
  uint32_t change = (s2_s2d_take(bits, zeros) | 1u << zeros) - 1;
  int64_t n = *length + s2_s2d_unzigzag(change);
  if (n < 0 || n > 64) {
    bits->bad = true;
    n = 0;
  }
  uint64_t result = n == 0 ? 0 : UINT64_C(1) << (n - 1);
  if (n > 33) {
    result |= s2_s2d_take(bits, 32);
    result |= (uint64_t)s2_s2d_take(bits, (int)n - 33) << 32;
  } else if (n > 1) {
    result |= s2_s2d_take(bits, (int)n - 1);
  }
  *value = result;
  *length = (uint8_t)n;
}

static inline uint64_t s2_s2d_bits_of(double value) {
  uint64_t bits;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}

static inline double s2_s2d_double_of(uint64_t bits) {
  double value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

// Maps doubles to integers. Keeps their order, so that close doubles have close integers.
static inline uint64_t s2_s2d_rank(double value) {
  uint64_t bits = s2_s2d_bits_of(value);
  return bits ^ (bits >> 63 != 0 ? UINT64_MAX : UINT64_C(1) << 63);
}

static inline double s2_s2d_of_rank(uint64_t rank) {
  return s2_s2d_double_of(rank ^ (rank >> 63 != 0 ? UINT64_C(1) << 63 : UINT64_MAX));
}

static inline uint64_t s2_s2d_miss(double value, double guess) {
  return s2_s2d_zigzag((int64_t)(s2_s2d_rank(value) - s2_s2d_rank(guess)));
}

static inline void s2_s2d_code_double(S2S2dBits *bits, double *value, double guess,
                                      uint8_t *length) {
  uint64_t miss = bits->writing ? s2_s2d_miss(*value, guess) : 0;
  s2_s2d_code_near(bits, &miss, length);
  if (!bits->writing) {
    *value = s2_s2d_of_rank(s2_s2d_rank(guess) + (uint64_t)s2_s2d_unzigzag(miss));
  }
}

// Codes a value that is often predicted exactly. An exact prediction takes one bit and keeps
// `length`.
static inline void s2_s2d_code_double_or_hit(S2S2dBits *bits, double *value, double guess,
                                             uint8_t *length) {
  bool miss = bits->writing && s2_s2d_bits_of(*value) != s2_s2d_bits_of(guess);
  s2_s2d_code_flag(bits, &miss);
  if (miss) {
    s2_s2d_code_double(bits, value, guess, length);
  } else if (!bits->writing) {
    *value = guess;
  }
}

#endif
