#include "record/picture.h"
#include "record/record.h"
#include "record/suffix.h"
#include "record/svg.h"

S2DrawOptions s2_draw_options(void) {
  return (S2DrawOptions){.width = 800, .contacts = true, .joints = true, .fit = true};
}

static S2Status draw(S2World *world, const char *path, const S2DrawOptions *options,
                     S2Moment *moment, S2Scene *scene) {
  S2_TRY(s2_moment_capture(moment, world));
  S2_TRY(s2_picture_build(scene, moment, options));
  S2Output output;
  S2_TRY(s2_output_open(&output, path));
  s2_svg_write(&output, scene);
  return s2_output_close(&output);
}

S2Status s2_world_draw(S2World *world, const char *path, const S2DrawOptions *options) {
  static const char *const suffixes[] = {".svg"};
  const S2DrawOptions defaults = s2_draw_options();
  int format = 0;
  S2_TRY(s2_suffix_find(path, suffixes, 1, &format));
  S2Moment moment = {0};
  S2Scene scene = {0};
  S2Status status = draw(world, path, options == NULL ? &defaults : options, &moment, &scene);
  s2_moment_free(&moment);
  s2_scene_free(&scene);
  return status;
}
