// The C functions that modules written in Lua need and scripts do not.
#ifndef S2_HOST_H
#define S2_HOST_H

#include <lua.h>

// Pushes a table of them:
//   nearest(word, names) -> the nearest of a list of names, or nil (s2_text_nearest)
//   canvas(width, height, scale), color(text): see canvas.h
//   progress(n)          -> a bar for n items: bar:update(i), bar:done(), `for i in bar do`
//   plots_wanted()       -> does the run have a page or a viewer that shows plots?
//   plot_show(name, svg) -> the same, and shows it there
//   plot_record(recording, name, svg), recording_methods(): table of methods, to add to
//   fan_options, fan     -> the two halves of world:raycast_fan
//   tracked_solvers      -> table to fill: library -> solve of problems with tracked numbers
//   control              -> see lua/world/control.c
//   batch                -> see lua/batch/batch.h
//   parallel             -> see lua/parallel/parallel.h
//   value_and_grad(f, p) -> as sim.value_and_grad; what is not finite does not raise (a loss that
//   is
//                           not has the gradient nil)
void s2_host_push(lua_State *L);

#endif
