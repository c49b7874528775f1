// A sheet of pixels to draw on, for pictures that are not of worlds. Places are in units right of
// and below the upper left corner, `scale` pixels each; colours are 0xRRGGBBAA, alpha 0: none.
#ifndef S2_CANVAS_H
#define S2_CANVAS_H

#include "base/status.h"

#include <stdint.h>

typedef struct S2Canvas S2Canvas;

typedef enum S2CanvasAlign { S2_CANVAS_LEFT, S2_CANVAS_CENTRE, S2_CANVAS_RIGHT } S2CanvasAlign;

typedef struct S2CanvasPaint {
  uint32_t fill, stroke;
  double width;       // of the stroke
  const double *dash; // lengths of dashes and gaps; borrowed
  int dash_count;     // 0: a solid line
} S2CanvasPaint;

typedef struct S2CanvasText {
  double x, y;    // of the baseline
  double degrees; // turned by, clockwise
  double size;
  bool bold;
  S2CanvasAlign align;
  uint32_t fill, halo; // the halo lies behind
  double halo_width;
} S2CanvasText;

// S2_UNAVAILABLE where the program was built without cairo, S2_INVALID for a size that does not
// fit.
S2Status s2_canvas_open(S2Canvas **canvas, double width, double height, double scale);
void s2_canvas_free(S2Canvas *canvas); // NULL is fine

// What is drawn from now on stays inside; `unclip` ends that.
void s2_canvas_clip(S2Canvas *canvas, double x, double y, double width, double height);
void s2_canvas_unclip(S2Canvas *canvas);

// The first two add to a path, `paint` draws it and begins an empty one.
void s2_canvas_line(S2Canvas *canvas, const double *xy, int points, bool closed);
void s2_canvas_disc(S2Canvas *canvas, double x, double y, double radius);
void s2_canvas_paint(S2Canvas *canvas, const S2CanvasPaint *paint);

void s2_canvas_text(S2Canvas *canvas, const S2CanvasText *how, const char *text); // UTF-8

// Writes a PNG.
S2Status s2_canvas_save(S2Canvas *canvas, const char *path);

#endif
