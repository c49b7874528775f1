// A sheet of pixels to draw on, with cairo. Positions are in units right of and below the upper
// left corner, `scale` pixels each. Colours are 0xRRGGBBAA, where alpha 0 means that nothing is
// drawn.
#ifndef S2_CANVAS_H
#define S2_CANVAS_H

#include "base/status.h"
#include "record/draw/scene.h"
#include "record/s2d/output.h"

typedef struct S2Canvas S2Canvas;

typedef enum S2CanvasLook {
  S2_CANVAS_PLOT,    // butt line ends; the position and width of glyphs do not depend on the scale
  S2_CANVAS_PICTURE, // round line ends; glyphs are aligned to pixels
} S2CanvasLook;

typedef struct S2CanvasPaint {
  uint32_t fill, stroke;
  double width;       // width of the stroke
  const double *dash; // lengths of dashes and gaps; borrowed
  int dash_count;     // number of dashes and gaps; 0: a solid line
  bool behind;        // whether the stroke is drawn before the fill, so that it is under it
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

// Whether cairo is available. The message of S2_UNAVAILABLE explains how to install it.
S2Status s2_canvas_available(void);

// Creates a canvas. Returns S2_INVALID if the size is out of range.
S2Status s2_canvas_open(S2Canvas **canvas, S2CanvasLook look, double width, double height,
                        double scale);
void s2_canvas_free(S2Canvas *canvas); // `canvas` may be NULL

void s2_canvas_clear(S2Canvas *canvas, uint32_t color);

// Clips later drawing to a rectangle; `unclip` ends that.
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

// Call this after drawing; it reports failures.
S2Status s2_canvas_finish(S2Canvas *canvas);
// Four bytes per pixel, rows from top to bottom without gaps: 0xffRRGGBB as a uint32_t.
const unsigned char *s2_canvas_pixels(S2Canvas *canvas);
S2Status s2_canvas_png(S2Canvas *canvas, S2Output *output);
S2Status s2_canvas_save(S2Canvas *canvas, const char *path); // as PNG

#endif
