// Annotations: texts and marks that a script draws over the picture. The world only stores them.
// Steps, hashes and images do not use them.
#include "dynamics/world/world.h"

#include <string.h>

// Maximum number of annotations. Without this limit, a loop that annotates but never steps would
// fill the memory.
enum { ANNOTATIONS_MOST = 100000 };

const char *s2_annotation_type_name(S2AnnotationType type) {
  static const char *const names[] = {"line", "arrow", "point", "text"};
  return names[type];
}

// Removes the annotations that new ones replace. These have the name `name`. If `name` is NULL,
// they have no name and were made before the last step ended.
static void annotate_forget(S2World *world, const char *name) {
  int kept = 0;
  for (int i = 0; i < world->annotations.count; i++) {
    const S2Annotation *at = &world->annotations.at[i];
    bool old = name == NULL ? at->name[0] == '\0' && at->shown : strcmp(at->name, name) == 0;
    if (!old) {
      world->annotations.at[kept++] = *at;
    }
  }
  world->annotations.count = kept;
}

S2Status s2_world_annotate(S2World *world, const S2Annotation *annotations, int count) {
  S2_TRY(s2_world_idle(world));
  if (count == 0) {
    return s2_ok();
  }
  const char *name = annotations[0].name;
  annotate_forget(world, name[0] == '\0' ? NULL : name);
  if (count > ANNOTATIONS_MOST - world->annotations.count) {
    return s2_error(S2_INVALID,
                    "more than %d annotations: clear annotations with a name, or step the world "
                    "(steps remove annotations without a name)",
                    ANNOTATIONS_MOST);
  }
  for (int i = 0; i < count; i++) {
    S2Annotation *at = s2_array_append(world->annotations);
    *at = annotations[i];
    at->shown = false;
  }
  return s2_ok();
}

void s2_world_clear_annotations(S2World *world, const char *name) {
  if (name == NULL) {
    world->annotations.count = 0;
  } else {
    annotate_forget(world, name);
  }
}

const S2Annotation *s2_world_annotations(const S2World *world, int *count) {
  *count = world->annotations.count;
  return world->annotations.at;
}

void s2_annotations_begin_step(S2World *world) {
  if (world->annotations.count > 0) {
    annotate_forget(world, NULL);
  }
}

void s2_annotations_end_step(S2World *world) {
  for (int i = 0; i < world->annotations.count; i++) {
    world->annotations.at[i].shown = true;
  }
}
