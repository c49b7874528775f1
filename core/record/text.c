#include "record/text.h"

#include <stdbool.h>
#include <stdint.h>

int s2_text_utf8(const char *at) {
  const unsigned char *byte = (const unsigned char *)at;
  if (byte[0] < 0x80) {
    bool allowed = byte[0] >= 0x20 || byte[0] == '\t' || byte[0] == '\n' || byte[0] == '\r';
    return allowed && byte[0] != 0x7f ? 1 : 0;
  }
  int length = byte[0] >= 0xf0 ? 4 : byte[0] >= 0xe0 ? 3 : 2;
  uint32_t code = byte[0] & (0xffu >> (length + 1));
  for (int i = 1; i < length; i++) {
    if ((byte[i] & 0xc0) != 0x80) {
      return 0;
    }
    code = code << 6 | (byte[i] & 0x3f);
  }
  static const uint32_t least[5] = {[2] = 0x80, [3] = 0x800, [4] = 0x10000};
  bool surrogate = code >= 0xd800 && code <= 0xdfff;
  bool control = code < 0xa0, none = code == 0xfffe || code == 0xffff;
  bool bad = byte[0] < 0xc2 || byte[0] > 0xf4 || code < least[length] || code > 0x10ffff;
  return bad || surrogate || control || none ? 0 : length;
}
