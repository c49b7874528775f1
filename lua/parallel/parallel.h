// C functions for lua/sim2d/parallel.
#ifndef S2_PARALLEL_H
#define S2_PARALLEL_H

#include <lua.h>

// Pushes a table of functions:
//   job_entry, job_begin, job_script   see job_state.h
//   pack(value, what) -> text   s2_pack_value; raises its complaint, without a position
//   unpack(text) -> value
//   hash(text) -> text          SHA-256
//   threads() -> integer        cores that this process may use; under mpirun 1
//   machines() -> integer       processes that mpirun started together
//   seed() -> integer           seed of the command
//   generator(seed) -> Random
//   array(list) -> Array        of numbers, nan included
//   base64(text) -> text
//   make_folder(path)           creates it if necessary; true, or nil and the reason
//   page() -> text              the player page without a recording, or nil and the reason
//   pool(program, threads, time_limit) -> pool
//     pool:submit(job, item)    a packed item
//     pool:collect(timeout) -> job, good, result or message, seconds; nil: no job is finished;
//                             nil, message: the jobs cannot start
//     pool:close()
//   journal(path) -> journal, or nil and a message
//     journal:next() -> job, bytes; nil, number of lost bytes
//     journal:add(job, bytes), journal:close()
void s2_parallel_push(lua_State *L);

#endif
