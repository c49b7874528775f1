#include "record/draw/canvas.h"

#include "base/memory.h"
#include "base/text.h"

#ifdef S2_HAVE_CAIRO

#include <cairo.h>
#include <math.h>

enum { MOST_PIXELS = 16384 }; // pixels per side, because cairo stores pixel coordinates in 16 bits

struct S2Canvas {
  cairo_surface_t *surface;
  cairo_t *cairo;
  S2CanvasLook look;
  S2_ARRAY(char) text; // scratch
};

S2Status s2_canvas_available(void) {
  return s2_ok();
}

static S2Status canvas_checked(cairo_status_t status) {
  if (status == CAIRO_STATUS_SUCCESS) {
    return s2_ok();
  }
  return s2_error(S2_IO, "cairo cannot draw the picture: %s", cairo_status_to_string(status));
}

S2Status s2_canvas_open(S2Canvas **canvas, S2CanvasLook look, double width, double height,
                        double scale) {
  double across = ceil(width * scale), down = ceil(height * scale);
  if (!(across >= 1 && across <= MOST_PIXELS && down >= 1 && down <= MOST_PIXELS)) {
    return s2_error(S2_INVALID,
                    "a picture of %g x %g pixels: each side must be from 1 to %d pixels", across,
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
  // Apply the scale and the style of the canvas.
  cairo_scale(cairo, scale, scale);
  cairo_set_line_join(cairo, CAIRO_LINE_JOIN_ROUND);
  if (look == S2_CANVAS_PICTURE) {
    cairo_set_line_cap(cairo, CAIRO_LINE_CAP_ROUND);
  } else {
    cairo_font_options_t *options = cairo_font_options_create();
    cairo_font_options_set_hint_style(options, CAIRO_HINT_STYLE_NONE);
    cairo_font_options_set_hint_metrics(options, CAIRO_HINT_METRICS_OFF);
    cairo_font_options_set_antialias(options, CAIRO_ANTIALIAS_GRAY);
    cairo_set_font_options(cairo, options);
    cairo_font_options_destroy(options);
  }
  *canvas = s2_memory_take_zeroed(sizeof **canvas);
  (*canvas)->surface = surface;
  (*canvas)->cairo = cairo;
  (*canvas)->look = look;
  return s2_ok();
}

void s2_canvas_free(S2Canvas *canvas) {
  if (canvas != NULL) {
    cairo_destroy(canvas->cairo);
    cairo_surface_destroy(canvas->surface);
    s2_array_free(canvas->text);
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

// ---- Paths ------------------------------------------------------------------------------------

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

void s2_canvas_circle(S2Canvas *canvas, double x, double y, double radius) {
  cairo_new_sub_path(canvas->cairo);
  cairo_arc(canvas->cairo, x, y, radius, 0, 2 * acos(-1));
}

void s2_canvas_disc(S2Canvas *canvas, double x, double y, double radius) {
  s2_canvas_circle(canvas, x, y, radius);
  cairo_close_path(canvas->cairo);
}

void s2_canvas_to(S2Canvas *canvas, double x, double y) {
  cairo_line_to(canvas->cairo, x, y);
}

void s2_canvas_arc(S2Canvas *canvas, double x, double y, double radius, double angle, double turn) {
  cairo_arc_negative(canvas->cairo, x, y, radius, angle, angle + turn);
}

void s2_canvas_close(S2Canvas *canvas) {
  cairo_close_path(canvas->cairo);
}

// ---- Paint ------------------------------------------------------------------------------------

static bool canvas_use(S2Canvas *canvas, uint32_t color) {
  cairo_set_source_rgba(canvas->cairo, (color >> 24) / 255.0, (color >> 16 & 0xff) / 255.0,
                        (color >> 8 & 0xff) / 255.0, (color & 0xff) / 255.0);
  return (color & 0xff) != 0;
}

void s2_canvas_clear(S2Canvas *canvas, uint32_t color) {
  canvas_use(canvas, color | 0xff);
  cairo_paint(canvas->cairo);
}

static void canvas_stroke(S2Canvas *canvas, const S2CanvasPaint *paint) {
  if (paint->width > 0 && canvas_use(canvas, paint->stroke)) {
    cairo_set_line_width(canvas->cairo, paint->width);
    cairo_set_dash(canvas->cairo, paint->dash, paint->dash_count, 0);
    cairo_stroke_preserve(canvas->cairo);
  }
}

void s2_canvas_paint(S2Canvas *canvas, const S2CanvasPaint *paint) {
  if (paint->behind) {
    canvas_stroke(canvas, paint);
  }
  if (canvas_use(canvas, paint->fill)) {
    cairo_fill_preserve(canvas->cairo);
  }
  if (!paint->behind) {
    canvas_stroke(canvas, paint);
  }
  cairo_new_path(canvas->cairo);
}

// ---- Text -------------------------------------------------------------------------------------

// Converts the text to valid UTF-8. cairo stops drawing after invalid text.
static const char *canvas_clean(S2Canvas *canvas, const char *text) {
  canvas->text.count = 0;
  s2_array_reserve(canvas->text, 1);
  while (*text != '\0') {
    s2_array_reserve(canvas->text, canvas->text.count + S2_TEXT_PIECE);
    canvas->text.count +=
        (int)s2_text_next(S2_TEXT_CLEAN, &text, canvas->text.at + canvas->text.count);
  }
  canvas->text.at[canvas->text.count] = '\0';
  return canvas->text.at;
}

void s2_canvas_text(S2Canvas *canvas, const S2CanvasText *how, const char *text) {
  cairo_t *cairo = canvas->cairo;
  const char *clean = canvas_clean(canvas, text);
  cairo_save(cairo);
  cairo_new_path(cairo);
  cairo_translate(cairo, how->x, how->y);
  cairo_rotate(cairo, how->degrees / 180 * acos(-1));
  cairo_select_font_face(cairo, canvas->look == S2_CANVAS_PICTURE ? "Helvetica" : "sans-serif",
                         CAIRO_FONT_SLANT_NORMAL,
                         how->bold ? CAIRO_FONT_WEIGHT_BOLD : CAIRO_FONT_WEIGHT_NORMAL);
  cairo_set_font_size(cairo, how->size);
  // Move the start of the baseline back by half or all of the text's length, depending on the
  // alignment.
  cairo_text_extents_t extents;
  cairo_text_extents(cairo, clean, &extents);
  double back = how->align == S2_TEXT_LEFT ? 0 : how->align == S2_TEXT_CENTRE ? 0.5 : 1;
  cairo_move_to(cairo, -back * extents.x_advance, 0);
  cairo_text_path(cairo, clean);
  const S2CanvasPaint paint = {
      .fill = how->fill, .stroke = how->halo, .width = how->halo_width, .behind = true};
  s2_canvas_paint(canvas, &paint);
  cairo_restore(cairo);
}

// ---- The result -------------------------------------------------------------------------------

S2Status s2_canvas_finish(S2Canvas *canvas) {
  cairo_surface_flush(canvas->surface);
  return canvas_checked(cairo_status(canvas->cairo));
}

const unsigned char *s2_canvas_pixels(S2Canvas *canvas) {
  return cairo_image_surface_get_data(canvas->surface);
}

static cairo_status_t canvas_put(void *output, const unsigned char *bytes, unsigned size) {
  s2_output_bytes(output, bytes, size); // remembers failures
  return CAIRO_STATUS_SUCCESS;
}

S2Status s2_canvas_png(S2Canvas *canvas, S2Output *output) {
  S2_TRY(s2_canvas_finish(canvas));
  return canvas_checked(cairo_surface_write_to_png_stream(canvas->surface, canvas_put, output));
}

S2Status s2_canvas_save(S2Canvas *canvas, const char *path) {
  S2Output output;
  S2_TRY(s2_output_open_whole(&output, path));
  S2Status status = s2_canvas_png(canvas, &output);
  if (status.code != S2_OK) {
    s2_output_abandon(&output);
    return status;
  }
  return s2_output_close(&output);
}

#else

S2Status s2_canvas_available(void) {
  return s2_error(S2_UNAVAILABLE, "this sim2d was built without cairo, which draws .png, .gif and "
                                  ".mp4: install libcairo2-dev and build again, or write .svg");
}
S2Status s2_canvas_open(S2Canvas **canvas, S2CanvasLook look, double width, double height,
                        double scale) {
  (void)look, (void)width, (void)height, (void)scale;
  *canvas = NULL;
  return s2_canvas_available();
}

// The functions below are never called, because there is no canvas.
void s2_canvas_free(S2Canvas *canvas) {
  (void)canvas;
}
void s2_canvas_clear(S2Canvas *canvas, uint32_t color) {
  (void)canvas, (void)color;
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
void s2_canvas_circle(S2Canvas *canvas, double x, double y, double radius) {
  (void)canvas, (void)x, (void)y, (void)radius;
}
void s2_canvas_to(S2Canvas *canvas, double x, double y) {
  (void)canvas, (void)x, (void)y;
}
void s2_canvas_arc(S2Canvas *canvas, double x, double y, double radius, double angle, double turn) {
  (void)canvas, (void)x, (void)y, (void)radius, (void)angle, (void)turn;
}
void s2_canvas_close(S2Canvas *canvas) {
  (void)canvas;
}
void s2_canvas_paint(S2Canvas *canvas, const S2CanvasPaint *paint) {
  (void)canvas, (void)paint;
}
void s2_canvas_text(S2Canvas *canvas, const S2CanvasText *how, const char *text) {
  (void)canvas, (void)how, (void)text;
}
S2Status s2_canvas_finish(S2Canvas *canvas) {
  (void)canvas;
  return s2_canvas_available();
}
const unsigned char *s2_canvas_pixels(S2Canvas *canvas) {
  (void)canvas;
  return NULL;
}
S2Status s2_canvas_png(S2Canvas *canvas, S2Output *output) {
  (void)canvas, (void)output;
  return s2_canvas_available();
}
S2Status s2_canvas_save(S2Canvas *canvas, const char *path) {
  (void)canvas, (void)path;
  return s2_canvas_available();
}

#endif
