// A sheet of pixels to draw on, by cairo. Places are in units right of and below the upper left
// corner, `scale` pixels each; colours are 0xRRGGBBAA, alpha 0: none.
#ifndef S2_CANVAS_H
#define S2_CANVAS_H

#include "base/status.h"
#include "record/draw/scene.h"
#include "record/s2d/output.h"

typedef struct S2Canvas S2Canvas;

typedef enum S2CanvasLook {
  S2_CANVAS_PLOT,    // lines end where they end; glyphs keep their place and width at any scale
  S2_CANVAS_PICTURE, // lines have round ends; glyphs keep to pixels
} S2CanvasLook;

typedef struct S2CanvasPaint {
  uint32_t fill, stroke;
  double width;       // of the stroke
  const double *dash; // lengths of dashes and gaps; borrowed
  int dash_count;     // 0: a solid line
  bool behind;        // the stroke lies behind the fill
} S2CanvasPaint;

typedef struct S2CanvasText {
  double x, y;    // of the baseline
  double degrees; // turned by, clockwise
  double size;
  bool bold;
  S2TextAlign align;
  uint32_t fill, halo; // the halo lies behind
  double halo_width;
} S2CanvasText;

// Is cairo there? S2_UNAVAILABLE says what to do.
S2Status s2_canvas_available(void);

// S2_INVALID for a size that does not fit.
S2Status s2_canvas_open(S2Canvas **canvas, S2CanvasLook look, double width, double height,
                        double scale);
void s2_canvas_free(S2Canvas *canvas); // NULL is fine

void s2_canvas_clear(S2Canvas *canvas, uint32_t color);

// What is drawn from now on stays inside; `unclip` ends that.
void s2_canvas_clip(S2Canvas *canvas, double x, double y, double width, double height);
void s2_canvas_unclip(S2Canvas *canvas);

// These add to a path; `paint` draws it and begins an empty one.
void s2_canvas_line(S2Canvas *canvas, const double *xy, int points, bool closed);
void s2_canvas_disc(S2Canvas *canvas, double x, double y, double radius);
// A disc whose outline has an end, where its stroke has other pixels.
void s2_canvas_circle(S2Canvas *canvas, double x, double y, double radius);
void s2_canvas_to(S2Canvas *canvas, double x, double y);
void s2_canvas_arc(S2Canvas *canvas, double x, double y, double radius, double angle, double turn);
void s2_canvas_close(S2Canvas *canvas);
void s2_canvas_paint(S2Canvas *canvas, const S2CanvasPaint *paint);

void s2_canvas_text(S2Canvas *canvas, const S2CanvasText *how, const char *text); // any bytes

// All is drawn: has something failed?
S2Status s2_canvas_finish(S2Canvas *canvas);
// Four bytes a pixel, rows from top to bottom without gaps: 0xffRRGGBB as a uint32_t.
const unsigned char *s2_canvas_pixels(S2Canvas *canvas);
S2Status s2_canvas_png(S2Canvas *canvas, S2Output *output);
S2Status s2_canvas_save(S2Canvas *canvas, const char *path); // as PNG

#endif
