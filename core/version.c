#include "sim2d.h"

const char *s2_version(void) {
  return S2_VERSION;
}
