#include "build_id.h" // generated
#include "sim2d.h"

#if defined __clang__
#define COMPILER "clang " __clang_version__
#elif defined __GNUC__
#define COMPILER "gcc " __VERSION__
#else
#define COMPILER "unknown compiler"
#endif

const char *s2_version(void) {
  return S2_VERSION;
}

const char *s2_build(void) {
  return sizeof S2_COMMIT > 1 ? S2_COMMIT " " COMPILER : COMPILER;
}
