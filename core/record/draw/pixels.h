// Renders scenes as pixels, and writes PNG files.
#ifndef S2_PIXELS_H
#define S2_PIXELS_H

#include "record/draw/canvas.h"
#include "record/draw/scene.h"

// Opens a canvas with the size of a view. It can be used for many scenes.
S2Status s2_pixels_open(S2Canvas **canvas, const S2SceneView *view);

// Draws the scene over the whole canvas.
S2Status s2_pixels_draw(S2Canvas *canvas, const S2Scene *scene);

S2Status s2_png_write(S2Output *output, const S2Scene *scene);

#endif
