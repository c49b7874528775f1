// The definitions that the writer and reader of binary recordings share (docs/replay-format.md,
// format version 6). A file is a header followed by a sequence of chunks. A chunk is complete if
// its checksum is correct.
#ifndef S2_S2D_H
#define S2_S2D_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

// The magic number contains line ends and a Ctrl-Z, so that a transfer that converts text damages
// it.
#define S2_S2D_MAGIC "sim2d\r\n\x1a"

enum {
  S2_S2D_VERSION = 6,
  // bytes
  S2_S2D_FILE_HEADER = 16,
  S2_S2D_CHUNK_HEADER = 16,
  S2_S2D_SCENE_HEADER = 152,
  S2_S2D_BODY = 88,
  S2_S2D_SHAPE = 48,
  S2_S2D_VERTEX = 16,
  S2_S2D_JOINT = 72,
  S2_S2D_CHANNEL = 64,
  S2_S2D_INDEX_HEADER = 16,
  S2_S2D_INDEX_SCENE = 16,
  S2_S2D_INDEX_FRAME = 16,
};

typedef enum S2S2dChunk {
  S2_S2D_SCENE = 1,
  S2_S2D_FRAME = 2,
  S2_S2D_END = 3,
  S2_S2D_RUN = 4,
  S2_S2D_CHANNELS = 5,
  S2_S2D_INDEX = 6,
  S2_S2D_PLOT = 7,
  S2_S2D_ANNOTATIONS = 8, // annotations of the preceding frame
  S2_S2D_DECISIONS = 9,   // clock-dependent decisions
} S2S2dChunk;

enum {
  S2_S2D_PARTIAL = 1,
  S2_S2D_STRICT = 2,
  S2_S2D_MIDPOINT = 4, // written only by earlier versions
  S2_S2D_SMOOTH = 8,
  S2_S2D_AUDIT = 16,
  S2_S2D_RATTLE = 32
};                                              // flags of the settings
enum { S2_S2D_SENSOR = 1, S2_S2D_ENABLED = 2 }; // flags of a body
enum { S2_S2D_PREVIOUS = 1, S2_S2D_NEXT = 2 };  // flags of a shape
enum { S2_S2D_JOINT_ENABLED = 1, S2_S2D_COLLIDE = 2, S2_S2D_COMPLIANT = 4, S2_S2D_WAYS = 256 };

// Bytes under construction. A structure of zeros contains none.
typedef struct S2S2dBytes {
  unsigned char *at;
  size_t size, capacity;
} S2S2dBytes;

void s2_s2d_bytes_free(S2S2dBytes *bytes);

// ---- Little-endian numbers on any machine -----------------------------------------------------

static inline uint32_t s2_s2d_get32(const unsigned char *at) {
  return (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

static inline uint64_t s2_s2d_get64(const unsigned char *at) {
  return (uint64_t)s2_s2d_get32(at) | (uint64_t)s2_s2d_get32(at + 4) << 32;
}

static inline double s2_s2d_get_double(const unsigned char *at) {
  uint64_t bits = s2_s2d_get64(at);
  double value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

static inline void s2_s2d_set32(unsigned char *at, uint32_t value) {
  for (int i = 0; i < 4; i++) {
    at[i] = (unsigned char)(value >> (8 * i));
  }
}

static inline void s2_s2d_set64(unsigned char *at, uint64_t value) {
  for (int i = 0; i < 8; i++) {
    at[i] = (unsigned char)(value >> (8 * i));
  }
}

// ---- Checksums ---------------------------------------------------------------------------------

// Computes a 64-bit FNV-1a hash (Fowler, Noll and Vo) of a chunk's kind, size and contents. It
// processes 8-byte words in little-endian order, and pads the last word with zeros. After each
// word, the upper half of the hash is added to the lower half.
#define S2_S2D_HASH_START 0xcbf29ce484222325u
static inline uint64_t s2_s2d_hash(uint64_t hash, const unsigned char *bytes, size_t size) {
  for (; size >= 8; bytes += 8, size -= 8) {
    hash = (hash ^ s2_s2d_get64(bytes)) * 0x100000001b3u;
    hash ^= hash >> 32;
  }
  uint64_t word = 0;
  for (size_t i = 0; i < size; i++) {
    word |= (uint64_t)bytes[i] << (8 * i);
  }
  if (size > 0) {
    hash = (hash ^ word) * 0x100000001b3u;
    hash ^= hash >> 32;
  }
  return hash;
}

#endif
