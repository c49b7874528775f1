#include "record/draw/picture.h"
#include "record/draw/pixels.h"
#include "record/draw/svg.h"
#include "record/record.h"
#include "record/suffix.h"

S2DrawOptions s2_draw_options(void) {
  return (S2DrawOptions){
      .width = 800, .contacts = true, .joints = true, .legend = true, .fit = true};
}

static S2Status draw(S2World *world, const char *path, bool png, const S2DrawOptions *options,
                     S2Moment *moment, S2Scene *scene) {
  if (png) {
    S2_TRY(s2_canvas_available());
  }
  // All steps that can fail come before the file is opened.
  S2_TRY(s2_moment_capture(moment, world));
  S2_TRY(s2_picture_build(scene, moment, options));
  S2Output output;
  S2_TRY(s2_output_open_whole(&output, path));
  S2Status drawn = s2_ok();
  if (png) {
    drawn = s2_png_write(&output, scene);
  } else {
    s2_svg_write(&output, scene);
  }
  if (drawn.code != S2_OK) {
    s2_output_abandon(&output);
    return drawn;
  }
  return s2_output_close(&output);
}

S2Status s2_world_draw(S2World *world, const char *path, const S2DrawOptions *options) {
  enum { SVG, PNG, FORMATS };
  static const char *const suffixes[FORMATS] = {[SVG] = ".svg", [PNG] = ".png"};
  S2DrawOptions used = options == NULL ? s2_draw_options() : *options;
  int format = SVG;
  S2_TRY(s2_suffix_find(path, suffixes, FORMATS, &format));
  S2Moment moment = {0};
  S2Scene scene = {0};
  S2Status status = draw(world, path, format == PNG, &used, &moment, &scene);
  s2_moment_free(&moment);
  s2_scene_free(&scene);
  return status;
}
