// C functions that the library's Lua modules use and scripts cannot reach.
#ifndef S2_HOST_H
#define S2_HOST_H

#include <lua.h>

// Pushes a table of these functions:
//   nearest(word, names) -> the nearest of a list of names, or nil (s2_text_nearest)
//   canvas(width, height, scale), color(text): see canvas.h
//   progress(n)          -> a bar for n items: bar:update(i), bar:done(), `for i in bar do`
//   plots_wanted()       -> true if the run has a page or a viewer that shows plots
//   plot_show(name, svg) -> shows the plot there; returns the same as plots_wanted()
//   plot_record(recording, name, svg), recording_methods(): table of methods, to add to
//   fan_options, fan     -> the two parts of world:raycast_fan
//   tracked_solvers      -> the table of solvers for tracked numbers, by library: filled by Lua
//   control              -> see lua/world/control.c
//   batch                -> see lua/batch/batch.h
//   parallel             -> see lua/parallel/parallel.h
//   value_and_grad(f, p) -> like sim.value_and_grad, but values that are not finite do not raise
//                           (if the loss is not finite, the gradient is nil)
void s2_host_push(lua_State *L);

#endif
