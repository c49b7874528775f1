// Renders scenes as SVG 1.1.
#ifndef S2_SVG_H
#define S2_SVG_H

#include "record/draw/scene.h"
#include "record/s2d/output.h"

// The result is always well-formed XML. Text is escaped, invalid UTF-8 is replaced with U+FFFD, and
// all numbers are finite.
void s2_svg_write(S2Output *output, const S2Scene *scene);

#endif
