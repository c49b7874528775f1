#include "record/draw/cairo.h"

#ifndef S2_HAVE_CAIRO

S2Status s2_cairo_available(void) {
  return s2_error(S2_IO, "this sim2d was built without cairo, which draws .png, .gif and "
                         ".mp4: install libcairo2-dev and build again, or write .svg");
}
S2Status s2_canvas_create(int width, int height, S2Canvas **canvas) {
  (void)width, (void)height;
  *canvas = NULL;
  return s2_cairo_available();
}
void s2_canvas_destroy(S2Canvas *canvas) {
  (void)canvas;
}
S2Status s2_canvas_draw(S2Canvas *canvas, const S2Scene *scene) {
  (void)canvas, (void)scene;
  return s2_cairo_available();
}
const unsigned char *s2_canvas_pixels(S2Canvas *canvas) {
  (void)canvas;
  return NULL;
}
S2Status s2_png_write(S2Output *output, const S2Scene *scene) {
  (void)output, (void)scene;
  return s2_cairo_available();
}

#else

#include "base/memory.h"
#include "base/text.h"

#include <cairo/cairo.h>
#include <math.h>
#include <string.h>

struct S2Canvas {
  cairo_surface_t *surface;
  cairo_t *context;
  S2_ARRAY(char) text; // scratch
};

S2Status s2_cairo_available(void) {
  return s2_ok();
}

static S2Status checked(cairo_status_t status) {
  if (status == CAIRO_STATUS_SUCCESS) {
    return s2_ok();
  }
  return s2_error(S2_IO, "cairo cannot draw the picture: %s", cairo_status_to_string(status));
}

// ---- Primitives -------------------------------------------------------------------------------

static void set_color(cairo_t *context, uint32_t color) {
  cairo_set_source_rgba(context, (color >> 24 & 0xff) / 255.0, (color >> 16 & 0xff) / 255.0,
                        (color >> 8 & 0xff) / 255.0, (color & 0xff) / 255.0);
}

static void stroke(cairo_t *context, const S2Paint *paint) {
  if ((paint->stroke & 0xff) == 0 || paint->width <= 0) {
    cairo_new_path(context);
    return;
  }
  set_color(context, paint->stroke);
  cairo_set_line_width(context, paint->width);
  cairo_set_dash(context, &paint->dash, paint->dash > 0 ? 1 : 0, 0);
  cairo_stroke(context);
}

// Fill and stroke of the current path, which is used up. `halo`: the stroke lies behind.
static void paint_path(cairo_t *context, const S2Paint *paint, bool halo) {
  for (int pass = 0; pass < 2; pass++) {
    cairo_path_t *path = pass == 0 ? cairo_copy_path(context) : NULL;
    if ((pass == 0) == halo) {
      stroke(context, paint);
    } else if ((paint->fill & 0xff) != 0) {
      set_color(context, paint->fill);
      cairo_fill(context);
    } else {
      cairo_new_path(context);
    }
    if (path != NULL) {
      cairo_append_path(context, path);
      cairo_path_destroy(path);
    }
  }
}

static void circle(cairo_t *context, S2Vec2 centre, double radius) {
  cairo_new_sub_path(context);
  cairo_arc(context, centre.x, centre.y, radius, 0, 2 * acos(-1));
}

static void line_to(cairo_t *context, S2Vec2 pixel) {
  cairo_line_to(context, pixel.x, pixel.y);
}

// The core's edges moved outwards, joined by arcs around the corners.
static void outline_path(cairo_t *context, const S2Scene *scene, const S2Primitive *primitive) {
  const S2SceneView *view = &scene->view;
  const S2Vec2 *core = scene->points.at + primitive->first;
  double radius = primitive->size * view->scale;
  if (primitive->count == 1) {
    circle(context, s2_view_pixel(view, core[0]), radius);
    return;
  }
  for (int i = 0; i < primitive->count; i++) {
    S2Vec2 at = s2_view_pixel(view, core[i]);
    if (radius == 0) {
      line_to(context, at);
      continue;
    }
    S2Vec2 before = s2_view_pixel(view, core[i > 0 ? i - 1 : primitive->count - 1]);
    S2Vec2 after = s2_view_pixel(view, core[i + 1 < primitive->count ? i + 1 : 0]);
    // Outwards is to the left of the way: y points down here.
    S2Vec2 start = s2_left(s2_sub(at, before)), end = s2_left(s2_sub(after, at));
    double turn = atan2(s2_cross(start, end), s2_dot(start, end)), half = acos(-1);
    turn = turn > 0.5 * half ? -half : fmin(turn, 0); // rounding must not make a full circle
    double angle = atan2(start.y, start.x);
    cairo_arc_negative(context, at.x, at.y, radius, angle, angle + turn);
  }
  cairo_close_path(context);
}

static void line_path(cairo_t *context, const S2Scene *scene, const S2Primitive *primitive) {
  for (int i = 0; i < primitive->count; i++) {
    line_to(context, s2_view_pixel(&scene->view, scene->points.at[primitive->first + i]));
  }
}

static void arrow_path(cairo_t *context, const S2Scene *scene, const S2Primitive *primitive) {
  S2Vec2 corners[S2_ARROW_CORNERS];
  s2_scene_arrow_corners(scene, primitive, corners);
  for (int i = 0; i < S2_ARROW_CORNERS; i++) {
    line_to(context, corners[i]);
  }
  cairo_close_path(context);
}

// The text as UTF-8, or cairo would refuse it and everything after.
static const char *clean(S2Canvas *canvas, const char *text) {
  canvas->text.count = 0;
  while (*text != '\0') {
    s2_array_reserve(canvas->text, canvas->text.count + S2_TEXT_PIECE);
    canvas->text.count +=
        (int)s2_text_next(S2_TEXT_CLEAN, &text, canvas->text.at + canvas->text.count);
  }
  s2_array_reserve(canvas->text, canvas->text.count + 1);
  canvas->text.at[canvas->text.count] = '\0';
  return canvas->text.at;
}

static void text_path(S2Canvas *canvas, const S2Scene *scene, const S2Primitive *primitive) {
  cairo_t *context = canvas->context;
  S2Vec2 at = s2_view_pixel(&scene->view, scene->points.at[primitive->first]);
  const char *text = clean(canvas, scene->text.at + primitive->text);
  cairo_set_font_size(context, primitive->size);
  cairo_text_extents_t extents;
  cairo_text_extents(context, text, &extents);
  double before = primitive->align == S2_TEXT_LEFT     ? 0
                  : primitive->align == S2_TEXT_CENTRE ? 0.5 * extents.x_advance
                                                       : extents.x_advance;
  cairo_move_to(context, at.x + primitive->offset.x - before, at.y - primitive->offset.y);
  cairo_text_path(context, text);
}

static void draw_primitive(S2Canvas *canvas, const S2Scene *scene, const S2Primitive *primitive) {
  cairo_t *context = canvas->context;
  cairo_new_path(context);
  switch (primitive->type) {
  case S2_PRIMITIVE_OUTLINE:
    outline_path(context, scene, primitive);
    break;
  case S2_PRIMITIVE_LINE:
    line_path(context, scene, primitive);
    stroke(context, &primitive->paint);
    return;
  case S2_PRIMITIVE_DOT:
    circle(context, s2_view_pixel(&scene->view, scene->points.at[primitive->first]),
           primitive->size);
    break;
  case S2_PRIMITIVE_ARROW:
    arrow_path(context, scene, primitive);
    break;
  case S2_PRIMITIVE_TEXT:
    text_path(canvas, scene, primitive);
    break;
  }
  bool halo = primitive->type == S2_PRIMITIVE_ARROW || primitive->type == S2_PRIMITIVE_TEXT;
  paint_path(context, &primitive->paint, halo);
}

// ---- The canvas -------------------------------------------------------------------------------

S2Status s2_canvas_create(int width, int height, S2Canvas **canvas) {
  S2Canvas *made = s2_memory_take_zeroed(sizeof *made);
  made->surface = cairo_image_surface_create(CAIRO_FORMAT_RGB24, width, height);
  made->context = cairo_create(made->surface);
  cairo_set_line_join(made->context, CAIRO_LINE_JOIN_ROUND);
  cairo_set_line_cap(made->context, CAIRO_LINE_CAP_ROUND);
  cairo_select_font_face(made->context, "Helvetica", CAIRO_FONT_SLANT_NORMAL,
                         CAIRO_FONT_WEIGHT_NORMAL);
  S2Status status = checked(cairo_status(made->context));
  if (status.code != S2_OK) {
    s2_canvas_destroy(made);
    made = NULL;
  }
  *canvas = made;
  return status;
}

void s2_canvas_destroy(S2Canvas *canvas) {
  if (canvas != NULL) {
    cairo_destroy(canvas->context);
    cairo_surface_destroy(canvas->surface);
    s2_array_free(canvas->text);
    s2_memory_free(canvas);
  }
}

S2Status s2_canvas_draw(S2Canvas *canvas, const S2Scene *scene) {
  set_color(canvas->context, scene->background | 0xff);
  cairo_paint(canvas->context);
  for (int i = 0; i < scene->primitives.count; i++) {
    draw_primitive(canvas, scene, &scene->primitives.at[i]);
  }
  cairo_surface_flush(canvas->surface);
  return checked(cairo_status(canvas->context));
}

const unsigned char *s2_canvas_pixels(S2Canvas *canvas) {
  return cairo_image_surface_get_data(canvas->surface);
}

static cairo_status_t write_bytes(void *output, const unsigned char *bytes, unsigned size) {
  s2_output_bytes(output, bytes, size); // remembers failures
  return CAIRO_STATUS_SUCCESS;
}

S2Status s2_png_write(S2Output *output, const S2Scene *scene) {
  S2Canvas *canvas = NULL;
  S2_TRY(s2_canvas_create(scene->view.width, scene->view.height, &canvas));
  S2Status status = s2_canvas_draw(canvas, scene);
  if (status.code == S2_OK) {
    status = checked(cairo_surface_write_to_png_stream(canvas->surface, write_bytes, output));
  }
  s2_canvas_destroy(canvas);
  return status;
}

#endif
