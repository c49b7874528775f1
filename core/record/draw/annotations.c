// Draws the script's texts and drawings over the picture (s2_world_annotate).
#include "record/draw/picture.h"

#define ANNOTATION_HALO 3.0 // pixels, width of the halo around letters

static void annotation_words(S2Picture *picture, const S2MomentAnnotation *of, uint32_t color) {
  // The text of an annotation is drawn beside its symbol. A text without a symbol is centred at its
  // position.
  bool alone = of->type == S2_ANNOTATION_TEXT;
  double unit = picture->unit, size = of->letters * unit;
  S2Vec2 offset = s2_vec2(alone ? 0 : 0.5 * size + of->size * unit, -0.35 * size);
  s2_scene_text(
      picture->scene, of->to, offset, size, alone ? S2_TEXT_CENTRE : S2_TEXT_LEFT, of->text,
      (S2Paint){.fill = color, .stroke = picture->theme->halo, .width = ANNOTATION_HALO * unit});
}

void s2_picture_annotations(S2Picture *picture) {
  const S2Theme *theme = picture->theme;
  for (int i = 0; i < picture->moment->annotations.count; i++) {
    const S2MomentAnnotation *of = &picture->moment->annotations.at[i];
    uint32_t color = of->color == 0 ? theme->ink : of->color;
    double size = of->size * picture->unit;
    // The lengths of arrows and lines are in world units, but their widths are in pixels.
    switch (of->type) {
    case S2_ANNOTATION_LINE:
      s2_scene_line(picture->scene, of->from, of->to, (S2Paint){.stroke = color, .width = size});
      break;
    case S2_ANNOTATION_ARROW:
      s2_scene_arrow(picture->scene, of->from,
                     s2_scale(picture->scene->view.scale, s2_sub(of->to, of->from)), size,
                     (S2Paint){.fill = color, .stroke = theme->halo, .width = picture->unit});
      break;
    case S2_ANNOTATION_POINT:
      s2_scene_dot(picture->scene, of->to, size, (S2Paint){.fill = color});
      break;
    case S2_ANNOTATION_TEXT:
      break;
    }
    if (of->text[0] != '\0') {
      annotation_words(picture, of, color);
    }
  }
}
