// SHA-256 (FIPS 180-4). It identifies a file by its contents and detects deliberate changes.
#ifndef S2_SHA256_H
#define S2_SHA256_H

#include <stddef.h>
#include <stdint.h>

enum { S2_SHA256_SIZE = 65 }; // bytes of the hash as text: 64 hexadecimal digits and a final 0.

// Initialise this structure with zeros.
typedef struct S2Sha256 {
  uint32_t state[8]; // xored with the initial state
  unsigned char block[64];
  uint64_t bytes;
} S2Sha256;

void s2_sha256_add(S2Sha256 *hash, const void *bytes, size_t size);
void s2_sha256_end(S2Sha256 *hash, char text[S2_SHA256_SIZE]);

#endif
