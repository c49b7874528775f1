// A canvas for drawing pixels with cairo. The origin is the upper left corner, and y points down. A
// unit is `scale` pixels. Colours are 0xRRGGBBAA. If alpha is 0, nothing is drawn.
#ifndef S2_CANVAS_H
#define S2_CANVAS_H

#include "base/status.h"
#include "record/draw/scene.h"
#include "record/s2d/output.h"

typedef struct S2Canvas S2Canvas;

typedef enum S2CanvasLook {
  S2_CANVAS_PLOT, // butt line ends, and glyphs that have the same position and width at any scale
  S2_CANVAS_PICTURE, // round line ends, and glyphs that are aligned to pixels
} S2CanvasLook;

typedef struct S2CanvasPaint {
  uint32_t fill, stroke;
  double width;       // width of the stroke
  const double *dash; // alternating lengths of dashes and gaps, borrowed
  int dash_count;     // number of dashes and gaps, or 0 for a solid line
  bool behind;        // draw the stroke behind the fill
} S2CanvasPaint;

typedef struct S2CanvasText {
  double x, y;    // start of the baseline
  double degrees; // rotation, clockwise
  double size;
  bool bold;
  S2TextAlign align;
  uint32_t fill, halo; // the halo is drawn behind the text
  double halo_width;
} S2CanvasText;

// Returns S2_UNAVAILABLE in a build without cairo. The message explains how to install it.
S2Status s2_canvas_available(void);

// Creates a canvas. Returns S2_INVALID if the size is out of range.
S2Status s2_canvas_open(S2Canvas **canvas, S2CanvasLook look, double width, double height,
                        double scale);
void s2_canvas_free(S2Canvas *canvas); // `canvas` may be NULL

void s2_canvas_clear(S2Canvas *canvas, uint32_t color);

// Clips all drawing to a rectangle, until `unclip` is called.
void s2_canvas_clip(S2Canvas *canvas, double x, double y, double width, double height);
void s2_canvas_unclip(S2Canvas *canvas);

// These functions add to the path. `paint` draws the path and begins a new one.
void s2_canvas_line(S2Canvas *canvas, const double *xy, int points, bool closed);
void s2_canvas_disc(S2Canvas *canvas, double x, double y, double radius);
// Adds a circle that is not closed. Its stroke starts and ends at (x + radius, y).
void s2_canvas_circle(S2Canvas *canvas, double x, double y, double radius);
void s2_canvas_to(S2Canvas *canvas, double x, double y);
void s2_canvas_arc(S2Canvas *canvas, double x, double y, double radius, double angle, double turn);
void s2_canvas_close(S2Canvas *canvas);
void s2_canvas_paint(S2Canvas *canvas, const S2CanvasPaint *paint);

void s2_canvas_text(S2Canvas *canvas, const S2CanvasText *how, const char *text); // `text` may
                                                                                  // contain any
                                                                                  // bytes.

// Call this after drawing. Reports failures.
S2Status s2_canvas_finish(S2Canvas *canvas);
// Returns the pixels as uint32_t 0xffRRGGBB, without padding. The first row is at the top.
const unsigned char *s2_canvas_pixels(S2Canvas *canvas);
S2Status s2_canvas_png(S2Canvas *canvas, S2Output *output);
S2Status s2_canvas_save(S2Canvas *canvas, const char *path); // as PNG

#endif
