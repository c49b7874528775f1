#include "record/draw/svg.h"

#include "base/text.h"

enum { DECIMALS = 2 }; // decimals of a pixel, finer than screens and printers can show

// ---- Numbers, colours, text -------------------------------------------------------------------

static void put_number(S2Output *output, double value) {
  char text[S2_NUMBER_SIZE];
  s2_number_short(text, value, DECIMALS);
  s2_output_text(output, text);
}

static void put_attribute(S2Output *output, const char *name, double value) {
  s2_output_format(output, " %s=\"", name);
  put_number(output, value);
  s2_output_text(output, "\"");
}

static void put_point(S2Output *output, const char *before, S2Vec2 pixel) {
  s2_output_text(output, before);
  put_number(output, pixel.x);
  s2_output_text(output, " ");
  put_number(output, pixel.y);
}

static void put_color(S2Output *output, const char *name, uint32_t color) {
  unsigned rgb = (unsigned)(color >> 8), alpha = (unsigned)(color & 0xff);
  if (alpha == 0) {
    s2_output_format(output, " %s=\"none\"", name);
    return;
  }
  s2_output_format(output, " %s=\"#%06x\"", name, rgb);
  if (alpha < 255) {
    s2_output_format(output, " %s-opacity=\"", name);
    put_number(output, alpha / 255.0);
    s2_output_text(output, "\"");
  }
}

static void svg_put_text(S2Output *output, const char *text) {
  while (*text != '\0') {
    char piece[S2_TEXT_PIECE];
    s2_output_bytes(output, piece, s2_text_next(S2_TEXT_XML, &text, piece));
  }
}

// ---- Primitives -------------------------------------------------------------------------------

static bool same_paint(const S2Primitive *a, const S2Primitive *b) {
  return a->type == b->type && a->paint.fill == b->paint.fill &&
         a->paint.stroke == b->paint.stroke && a->paint.width == b->paint.width &&
         a->paint.dash == b->paint.dash;
}

static void put_paint(S2Output *output, const S2Primitive *primitive) {
  const S2Paint *paint = &primitive->paint;
  put_color(output, "fill", primitive->type == S2_PRIMITIVE_LINE ? 0 : paint->fill);
  if ((paint->stroke & 0xff) == 0 || paint->width <= 0) {
    return;
  }
  put_color(output, "stroke", paint->stroke);
  put_attribute(output, "stroke-width", paint->width);
  if (paint->dash > 0) {
    put_attribute(output, "stroke-dasharray", paint->dash);
  }
  if (primitive->type == S2_PRIMITIVE_ARROW || primitive->type == S2_PRIMITIVE_TEXT) {
    s2_output_text(output, " paint-order=\"stroke\"");
  }
}

static void put_outline(S2Output *output, const S2Scene *scene, const S2Primitive *primitive) {
  const S2SceneView *view = &scene->view;
  const S2Vec2 *core = scene->points.at + primitive->first;
  double radius = primitive->size;
  // A core of one point becomes a circle.
  if (primitive->count == 1) {
    S2Vec2 centre = s2_view_pixel(view, core[0]);
    s2_output_text(output, "<circle");
    put_attribute(output, "cx", centre.x);
    put_attribute(output, "cy", centre.y);
    put_attribute(output, "r", radius * view->scale);
    return;
  }
  s2_output_text(output, "<path d=\"");
  for (int i = 0; i < primitive->count; i++) {
    S2Vec2 from = core[i], to = core[i + 1 < primitive->count ? i + 1 : 0];
    if (radius == 0) {
      put_point(output, i == 0 ? "M" : "L", s2_view_pixel(view, from));
      continue;
    }
    // Move the edges outwards, and join them by arcs around the corners.
    S2Vec2 edge = s2_sub(to, from);
    double length = s2_length(edge);
    S2Vec2 out = length > 0 ? s2_scale(radius / length, s2_right(edge)) : s2_vec2(0, 0);
    put_point(output, i == 0 ? "M" : "L", s2_view_pixel(view, s2_add(from, out)));
    put_point(output, "L", s2_view_pixel(view, s2_add(to, out)));
    S2Vec2 after = core[(i + 2) % primitive->count];
    S2Vec2 turn = s2_sub(after, to);
    double next_length = s2_length(turn);
    S2Vec2 next = next_length > 0 ? s2_scale(radius / next_length, s2_right(turn)) : out;
    put_point(output, "A", s2_vec2(radius * view->scale, radius * view->scale));
    put_point(output, " 0 0 0 ", s2_view_pixel(view, s2_add(to, next)));
  }
  s2_output_text(output, "Z\"");
}

static void put_line(S2Output *output, const S2Scene *scene, const S2Primitive *primitive) {
  s2_output_text(output, "<path d=\"");
  for (int i = 0; i < primitive->count; i++) {
    put_point(output, i == 0 ? "M" : "L",
              s2_view_pixel(&scene->view, scene->points.at[primitive->first + i]));
  }
  s2_output_text(output, "\"");
}

static void svg_put_arrow(S2Output *output, const S2Scene *scene, const S2Primitive *primitive) {
  S2Vec2 corners[S2_ARROW_CORNERS];
  s2_scene_arrow_corners(scene, primitive, corners);
  s2_output_text(output, "<path d=\"");
  for (int i = 0; i < S2_ARROW_CORNERS; i++) {
    put_point(output, i == 0 ? "M" : "L", corners[i]);
  }
  s2_output_text(output, "Z\"");
}

// If `painted` is set, the element has its own colours instead of those of its group.
static void put_primitive(S2Output *output, const S2Scene *scene, const S2Primitive *primitive,
                          bool painted) {
  S2Vec2 at = s2_view_pixel(&scene->view, scene->points.at[primitive->first]);
  // Write the element and its geometry.
  switch (primitive->type) {
  case S2_PRIMITIVE_OUTLINE:
    put_outline(output, scene, primitive);
    break;
  case S2_PRIMITIVE_LINE:
    put_line(output, scene, primitive);
    break;
  case S2_PRIMITIVE_DOT:
    s2_output_text(output, "<circle");
    put_attribute(output, "cx", at.x);
    put_attribute(output, "cy", at.y);
    put_attribute(output, "r", primitive->size);
    break;
  case S2_PRIMITIVE_ARROW:
    svg_put_arrow(output, scene, primitive);
    break;
  case S2_PRIMITIVE_TEXT:
    s2_output_text(output, "<text");
    put_attribute(output, "x", at.x + primitive->offset.x);
    put_attribute(output, "y", at.y - primitive->offset.y);
    put_attribute(output, "font-size", primitive->size);
    if (primitive->align != S2_TEXT_LEFT) {
      s2_output_format(output, " text-anchor=\"%s\"",
                       primitive->align == S2_TEXT_CENTRE ? "middle" : "end");
    }
    break;
  }
  // Write the paint, unless the group defines it. Then write the contents of a text.
  if (painted) {
    put_paint(output, primitive);
  }
  if (primitive->type == S2_PRIMITIVE_TEXT) {
    s2_output_text(output, ">");
    svg_put_text(output, scene->text.at + primitive->text);
    s2_output_text(output, "</text>\n");
  } else {
    s2_output_text(output, "/>\n");
  }
}

void s2_svg_write(S2Output *output, const S2Scene *scene) {
  int width = scene->view.width, height = scene->view.height;
  s2_output_format(output,
                   "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" "
                   "viewBox=\"0 0 %d %d\"\n"
                   " font-family=\"Helvetica, Arial, sans-serif\" stroke-linejoin=\"round\" "
                   "stroke-linecap=\"round\">\n",
                   width, height, width, height);
  s2_output_format(output, "<rect width=\"%d\" height=\"%d\"", width, height);
  put_color(output, "fill", scene->background);
  s2_output_text(output, "/>\n");
  // Consecutive primitives with the same paint share one group.
  for (int i = 0; i < scene->primitives.count;) {
    const S2Primitive *first = &scene->primitives.at[i];
    int end = i + 1;
    while (end < scene->primitives.count && same_paint(first, &scene->primitives.at[end])) {
      end++;
    }
    bool group = end - i > 1;
    if (group) {
      s2_output_text(output, "<g");
      put_paint(output, first);
      s2_output_text(output, ">\n");
    }
    for (; i < end; i++) {
      put_primitive(output, scene, &scene->primitives.at[i], !group);
    }
    if (group) {
      s2_output_text(output, "</g>\n");
    }
  }
  s2_output_text(output, "</svg>\n");
}
