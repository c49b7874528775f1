#include "record/draw/canvas.h"

#include "base/memory.h"
#include "record/s2d/output.h"

#ifdef S2_HAVE_CAIRO

#include <cairo.h>
#include <math.h>

enum { MOST_PIXELS = 16384 }; // a side: cairo's numbers of pixels have 16 bits

struct S2Canvas {
  cairo_surface_t *surface;
  cairo_t *cairo;
};

S2Status s2_canvas_open(S2Canvas **canvas, double width, double height, double scale) {
  double across = ceil(width * scale), down = ceil(height * scale);
  if (!(across >= 1 && across <= MOST_PIXELS && down >= 1 && down <= MOST_PIXELS)) {
    return s2_error(S2_INVALID, "a picture of %g x %g pixels; 1 to %d a side are possible", across,
                    down, MOST_PIXELS);
  }
  cairo_surface_t *surface = cairo_image_surface_create(CAIRO_FORMAT_RGB24, (int)across, (int)down);
  cairo_t *cairo = cairo_create(surface);
  if (cairo_status(cairo) != CAIRO_STATUS_SUCCESS) {
    S2Status status = s2_error(S2_MEMORY, "a picture of %g x %g pixels: %s", across, down,
                               cairo_status_to_string(cairo_status(cairo)));
    cairo_destroy(cairo);
    cairo_surface_destroy(surface);
    return status;
  }
  cairo_scale(cairo, scale, scale);
  cairo_set_line_join(cairo, CAIRO_LINE_JOIN_ROUND);
  // Glyphs keep their place and width at any scale.
  cairo_font_options_t *options = cairo_font_options_create();
  cairo_font_options_set_hint_style(options, CAIRO_HINT_STYLE_NONE);
  cairo_font_options_set_hint_metrics(options, CAIRO_HINT_METRICS_OFF);
  cairo_font_options_set_antialias(options, CAIRO_ANTIALIAS_GRAY);
  cairo_set_font_options(cairo, options);
  cairo_font_options_destroy(options);
  *canvas = s2_memory_take(sizeof **canvas);
  **canvas = (S2Canvas){surface, cairo};
  return s2_ok();
}

void s2_canvas_free(S2Canvas *canvas) {
  if (canvas != NULL) {
    cairo_destroy(canvas->cairo);
    cairo_surface_destroy(canvas->surface);
    s2_memory_free(canvas);
  }
}

void s2_canvas_clip(S2Canvas *canvas, double x, double y, double width, double height) {
  cairo_new_path(canvas->cairo);
  cairo_rectangle(canvas->cairo, x, y, width, height);
  cairo_clip(canvas->cairo);
}

void s2_canvas_unclip(S2Canvas *canvas) {
  cairo_reset_clip(canvas->cairo);
}

void s2_canvas_line(S2Canvas *canvas, const double *xy, int points, bool closed) {
  for (int i = 0; i < points; i++) {
    if (i == 0) {
      cairo_move_to(canvas->cairo, xy[0], xy[1]);
    } else {
      cairo_line_to(canvas->cairo, xy[2 * i], xy[2 * i + 1]);
    }
  }
  if (closed) {
    cairo_close_path(canvas->cairo);
  }
}

void s2_canvas_disc(S2Canvas *canvas, double x, double y, double radius) {
  cairo_new_sub_path(canvas->cairo);
  cairo_arc(canvas->cairo, x, y, radius, 0, 2 * acos(-1));
  cairo_close_path(canvas->cairo);
}

static bool use(S2Canvas *canvas, uint32_t color) {
  cairo_set_source_rgba(canvas->cairo, (color >> 24) / 255.0, (color >> 16 & 0xff) / 255.0,
                        (color >> 8 & 0xff) / 255.0, (color & 0xff) / 255.0);
  return (color & 0xff) != 0;
}

void s2_canvas_paint(S2Canvas *canvas, const S2CanvasPaint *paint) {
  if (use(canvas, paint->fill)) {
    cairo_fill_preserve(canvas->cairo);
  }
  if (paint->width > 0 && use(canvas, paint->stroke)) {
    cairo_set_line_width(canvas->cairo, paint->width);
    cairo_set_dash(canvas->cairo, paint->dash, paint->dash_count, 0);
    cairo_stroke_preserve(canvas->cairo);
  }
  cairo_new_path(canvas->cairo);
}

void s2_canvas_text(S2Canvas *canvas, const S2CanvasText *how, const char *text) {
  cairo_t *cairo = canvas->cairo;
  cairo_save(cairo);
  cairo_translate(cairo, how->x, how->y);
  cairo_rotate(cairo, how->degrees / 180 * acos(-1));
  cairo_select_font_face(cairo, "sans-serif", CAIRO_FONT_SLANT_NORMAL,
                         how->bold ? CAIRO_FONT_WEIGHT_BOLD : CAIRO_FONT_WEIGHT_NORMAL);
  cairo_set_font_size(cairo, how->size);
  cairo_text_extents_t extents;
  cairo_text_extents(cairo, text, &extents);
  double back = how->align == S2_CANVAS_LEFT ? 0 : how->align == S2_CANVAS_CENTRE ? 0.5 : 1;
  cairo_move_to(cairo, -back * extents.x_advance, 0);
  cairo_text_path(cairo, text);
  const S2CanvasPaint halo = {.stroke = how->halo, .width = how->halo_width};
  if ((how->halo & 0xff) != 0 && how->halo_width > 0) {
    cairo_path_t *path = cairo_copy_path(cairo);
    s2_canvas_paint(canvas, &halo);
    cairo_append_path(cairo, path);
    cairo_path_destroy(path);
  }
  s2_canvas_paint(canvas, &(S2CanvasPaint){.fill = how->fill});
  cairo_restore(cairo);
}

static cairo_status_t put(void *output, const unsigned char *bytes, unsigned size) {
  s2_output_bytes(output, bytes, size);
  return CAIRO_STATUS_SUCCESS; // the output remembers what went wrong
}

S2Status s2_canvas_save(S2Canvas *canvas, const char *path) {
  S2Output output;
  S2_TRY(s2_output_open_whole(&output, path));
  cairo_surface_flush(canvas->surface);
  cairo_status_t drawn = cairo_status(canvas->cairo);
  if (drawn == CAIRO_STATUS_SUCCESS) {
    drawn = cairo_surface_write_to_png_stream(canvas->surface, put, &output);
  }
  if (drawn != CAIRO_STATUS_SUCCESS) {
    s2_output_abandon(&output);
    return s2_error(S2_IO, "cannot write '%s': %s", s2_path_tail(path),
                    cairo_status_to_string(drawn));
  }
  return s2_output_close(&output);
}

#else

S2Status s2_canvas_open(S2Canvas **canvas, double width, double height, double scale) {
  (void)canvas, (void)width, (void)height, (void)scale;
  return s2_error(S2_UNAVAILABLE, "this program was built without cairo, which .png needs; save as "
                                  ".svg, or install libcairo2-dev and build again");
}

// Nothing below is reached: there is no canvas.
void s2_canvas_free(S2Canvas *canvas) {
  (void)canvas;
}
void s2_canvas_clip(S2Canvas *canvas, double x, double y, double width, double height) {
  (void)canvas, (void)x, (void)y, (void)width, (void)height;
}
void s2_canvas_unclip(S2Canvas *canvas) {
  (void)canvas;
}
void s2_canvas_line(S2Canvas *canvas, const double *xy, int points, bool closed) {
  (void)canvas, (void)xy, (void)points, (void)closed;
}
void s2_canvas_disc(S2Canvas *canvas, double x, double y, double radius) {
  (void)canvas, (void)x, (void)y, (void)radius;
}
void s2_canvas_paint(S2Canvas *canvas, const S2CanvasPaint *paint) {
  (void)canvas, (void)paint;
}
void s2_canvas_text(S2Canvas *canvas, const S2CanvasText *how, const char *text) {
  (void)canvas, (void)how, (void)text;
}
S2Status s2_canvas_save(S2Canvas *canvas, const char *path) {
  (void)canvas, (void)path;
  return s2_error(S2_UNAVAILABLE, "no canvas");
}

#endif
