// Renders scenes as pixels, and writes PNG files.
#ifndef S2_PIXELS_H
#define S2_PIXELS_H

#include "record/draw/canvas.h"
#include "record/draw/scene.h"

// Opens a canvas of the size of a scene's view, for repeated drawing.
S2Status s2_pixels_open(S2Canvas **canvas, const S2SceneView *view);

// Replaces the contents of the canvas by the scene.
S2Status s2_pixels_draw(S2Canvas *canvas, const S2Scene *scene);

S2Status s2_png_write(S2Output *output, const S2Scene *scene);

#endif
