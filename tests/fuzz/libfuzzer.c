// Runs one target under clang's libFuzzer; S2_FUZZ_TARGET is its name.
#include "targets.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
  static const S2FuzzTarget *target;
  if (target == NULL) {
    target = s2_fuzz_target(S2_FUZZ_TARGET);
    atexit(s2_fuzz_end);
  }
  (void)target->run(bytes, size);
  return 0;
}
