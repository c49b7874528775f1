// Scenes as pixels, and PNG files of them. Built without cairo, all fail with S2_IO.
#ifndef S2_CAIRO_H
#define S2_CAIRO_H

#include "record/draw/scene.h"
#include "record/s2d/output.h"

// Is cairo there? The error says what to do.
S2Status s2_cairo_available(void);

// A canvas that is drawn on again and again.
typedef struct S2Canvas S2Canvas;

S2Status s2_canvas_create(int width, int height, S2Canvas **canvas);
void s2_canvas_destroy(S2Canvas *canvas); // safe on NULL

// Replaces what is on the canvas, whose size is that of the scene's view.
S2Status s2_canvas_draw(S2Canvas *canvas, const S2Scene *scene);

// Four bytes a pixel, rows from top to bottom without gaps: 0xffRRGGBB as a uint32_t.
const unsigned char *s2_canvas_pixels(S2Canvas *canvas);

S2Status s2_png_write(S2Output *output, const S2Scene *scene);

#endif
