// Formulas as Lua objects (core/diff/formula/formula.h). The library passes them to functions of a
// script that state a problem, and the script combines them like numbers.
#ifndef S2_LUA_FORMULA_H
#define S2_LUA_FORMULA_H

#include "diff/formula/formula.h"
#include "diff/tape/array.h"

#include <lauxlib.h>
#include <lua.h>
#include <stdbool.h>

void s2_lua_open_formula(lua_State *L); // creates the metatables

// Pushes a graph that is freed with its last formula. s2_lua_formula_graph reads it again.
S2FormulaGraph *s2_lua_formula_graph_push(lua_State *L);
S2FormulaGraph *s2_lua_formula_graph(lua_State *L, int index);
// Pushes a formula of the graph at `graph`.
void s2_lua_formula_push(lua_State *L, int graph, S2Formula f);
// Reads a number or a formula of this graph. Returns false for any other value.
bool s2_lua_formula_get(lua_State *L, int index, S2FormulaGraph *graph, S2Formula *f);

// Apply functions of sim to argument 1 (and 2). They return false if no argument is a formula, and
// raise an error for functions without a derivative everywhere.
bool s2_lua_formula_unary(lua_State *L, S2ArrayUnary op);
bool s2_lua_formula_binary(lua_State *L, S2ArrayBinary op);
// Raises an error if the argument is a formula, for functions with kinks such as sim.max.
void s2_lua_formula_refuse(lua_State *L, int argument);

#endif
