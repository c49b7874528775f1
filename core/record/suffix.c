#include "record/suffix.h"

#include "record/s2d/output.h"

#include <string.h>
#include <strings.h>

S2Status s2_suffix_find(const char *path, const char *const *known, int count, int *index) {
  const char *suffix = s2_path_suffix(path);
  for (int i = 0; i < count; i++) {
    if (strcasecmp(suffix, known[i]) == 0) {
      *index = i;
      return s2_ok();
    }
  }
  char list[80] = "";
  for (int i = 0; i < count; i++) {
    strncat(list, i == 0 ? "" : ", ", sizeof list - 1 - strlen(list));
    strncat(list, known[i], sizeof list - 1 - strlen(list));
  }
  if (suffix[0] == '\0') {
    return s2_error(S2_INVALID, "'%s' has no suffix, so its format is unknown (known: %s)",
                    s2_path_tail(path), list);
  }
  return s2_error(S2_INVALID, "'%s' has an unknown suffix '%.16s' (known: %s)", s2_path_tail(path),
                  suffix, list);
}
