// UTF-8 and code points.
#ifndef S2_UNICODE_H
#define S2_UNICODE_H

#include <stdint.h>

enum { S2_UTF8_MOST = 4 }; // bytes of one code point

// Takes one code point off the front of a text that ends with 0; bytes that are no UTF-8 give
// U+FFFD, one each.
static inline uint32_t s2_utf8_next(const char **at) {
  const unsigned char *bytes = (const unsigned char *)*at;
  static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
  int length = bytes[0] < 0x80             ? 1
               : (bytes[0] & 0xe0) == 0xc0 ? 2
               : (bytes[0] & 0xf0) == 0xe0 ? 3
               : (bytes[0] & 0xf8) == 0xf0 ? 4
                                           : 0;
  uint32_t code = length == 1 ? bytes[0] : length == 0 ? 0 : bytes[0] & (0x7fu >> length);
  for (int i = 1; i < length; i++) {
    if ((bytes[i] & 0xc0) != 0x80) {
      length = 0;
      break;
    }
    code = code << 6 | (bytes[i] & 0x3fu);
  }
  if (length == 0 || code < least[length] || code > 0x10ffff || (code >= 0xd800 && code < 0xe000)) {
    *at += 1;
    return 0xfffd;
  }
  *at += length;
  return code;
}

// Writes one code point, U+FFFD for what is none; returns how many bytes.
static inline int s2_utf8_put(char bytes[S2_UTF8_MOST], uint32_t code) {
  if (code > 0x10ffff || (code >= 0xd800 && code < 0xe000)) {
    code = 0xfffd;
  }
  if (code < 0x80) {
    bytes[0] = (char)code;
    return 1;
  }
  int length = code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
  for (int i = length - 1; i > 0; i--) {
    bytes[i] = (char)(0x80u | (code & 0x3fu));
    code >>= 6;
  }
  bytes[0] = (char)(((0xf00u >> length) & 0xffu) | code);
  return length;
}

#endif
