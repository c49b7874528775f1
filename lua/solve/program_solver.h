// Solvers that scripts register with sim.solver.
#ifndef S2_LUA_PROGRAM_SOLVER_H
#define S2_LUA_PROGRAM_SOLVER_H

#include "lua/world/binding.h"

// Returns the number (from 1) of the solver with this name, or 0 if there is none.
int s2_lua_program_solver(lua_State *L, const char *name);
void s2_lua_push_program_solver(lua_State *L, int number); // pushes the name
void s2_lua_list_program_solvers(lua_State *L, int count);
void s2_lua_open_program_solvers(lua_State *L); // adds sim.solver to the table on top of the stack
bool s2_lua_engine_solve(void *user, S2World *world, S2ProgramCall *call); // S2Callbacks.solve

#endif
