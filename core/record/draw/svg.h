// Scenes as SVG 1.1.
#ifndef S2_SVG_H
#define S2_SVG_H

#include "record/draw/scene.h"
#include "record/s2d/output.h"

// Always well-formed XML: text is escaped, bytes that are no UTF-8 become U+FFFD, and all numbers
// are finite.
void s2_svg_write(S2Output *output, const S2Scene *scene);

#endif
