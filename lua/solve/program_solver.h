// Solvers that a script has given to sim.solver.
#ifndef S2_LUA_PROGRAM_SOLVER_H
#define S2_LUA_PROGRAM_SOLVER_H

#include "lua/world/binding.h"

// The number of the solver with this name, from 1 on; 0: there is none.
int s2_lua_program_solver(lua_State *L, const char *name);
void s2_lua_push_program_solver(lua_State *L, int number); // its name
void s2_lua_list_program_solvers(lua_State *L, int count);
void s2_lua_open_program_solvers(lua_State *L); // sim.solver, into the table on the top
bool s2_lua_engine_solve(void *user, S2World *world, S2ProgramCall *call); // S2Callbacks.solve

#endif
