#include "base/sha256.h"

#include <string.h>

enum { BLOCK = 64, ROUNDS = 64, WORDS = 8 };

// The first 32 bits of the fractional parts of the square roots and cube roots of the first primes.
static const uint32_t start[WORDS] = {
    0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19,
};
static const uint32_t constants[ROUNDS] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

static uint32_t sha256_turn(uint32_t x, int bits) {
  return x >> bits | x << (32 - bits);
}

static void take_block(S2Sha256 *hash) {
  uint32_t w[ROUNDS], s[WORDS];
  // The message schedule (FIPS 180-4, 6.2.2).
  for (int i = 0; i < 16; i++) {
    const unsigned char *at = hash->block + 4 * i;
    w[i] = (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | (uint32_t)at[3];
  }
  for (int i = 16; i < ROUNDS; i++) {
    uint32_t a = w[i - 15], b = w[i - 2];
    w[i] = w[i - 16] + w[i - 7] + (sha256_turn(a, 7) ^ sha256_turn(a, 18) ^ a >> 3) +
           (sha256_turn(b, 17) ^ sha256_turn(b, 19) ^ b >> 10);
  }
  // The state is stored xored with the initial state, so a new hash is all zeros.
  for (int i = 0; i < WORDS; i++) {
    s[i] = hash->state[i] ^ start[i];
  }
  // 64 rounds; s is a, b, ... h.
  for (int i = 0; i < ROUNDS; i++) {
    uint32_t one = s[7] + (sha256_turn(s[4], 6) ^ sha256_turn(s[4], 11) ^ sha256_turn(s[4], 25)) +
                   ((s[4] & s[5]) ^ (~s[4] & s[6])) + constants[i] + w[i];
    uint32_t two = (sha256_turn(s[0], 2) ^ sha256_turn(s[0], 13) ^ sha256_turn(s[0], 22)) +
                   ((s[0] & s[1]) ^ (s[0] & s[2]) ^ (s[1] & s[2]));
    memmove(s + 1, s, (WORDS - 1) * sizeof *s);
    s[0] = one + two;
    s[4] += one;
  }
  for (int i = 0; i < WORDS; i++) {
    hash->state[i] = ((hash->state[i] ^ start[i]) + s[i]) ^ start[i];
  }
}

void s2_sha256_add(S2Sha256 *hash, const void *bytes, size_t size) {
  const unsigned char *at = bytes;
  while (size > 0) {
    size_t used = (size_t)(hash->bytes % BLOCK), part = BLOCK - used < size ? BLOCK - used : size;
    memcpy(hash->block + used, at, part);
    at += part;
    size -= part;
    hash->bytes += part;
    if (hash->bytes % BLOCK == 0) {
      take_block(hash);
    }
  }
}

void s2_sha256_end(S2Sha256 *hash, char text[S2_SHA256_SIZE]) {
  static const unsigned char padding[BLOCK] = {0x80};
  uint64_t bits = 8 * hash->bytes;
  size_t used = (size_t)(hash->bytes % BLOCK), to = used < BLOCK - 8 ? BLOCK - 8 : 2 * BLOCK - 8;
  unsigned char length[8];
  for (int i = 0; i < 8; i++) {
    length[i] = (unsigned char)(bits >> (56 - 8 * i) & 0xff);
  }
  s2_sha256_add(hash, padding, to - used);
  s2_sha256_add(hash, length, sizeof length);
  for (int i = 0; i < WORDS; i++) {
    for (int k = 0; k < 8; k++) {
      text[8 * i + k] = "0123456789abcdef"[(hash->state[i] ^ start[i]) >> (28 - 4 * k) & 15];
    }
  }
  text[S2_SHA256_SIZE - 1] = '\0';
}
