---@meta _
-- sim.parallel: many jobs on all cores.

---@class sim2d.ParallelOptions
---@field threads? integer default: the cores this process may use
---@field seed? integer of sim.random in jobs, with the job's number; default: that of the command
---@field common? any the third argument of each job; sent once a thread
---@field time_limit? number s a job
---@field journal? string file that keeps what is done; a run that was ended goes on from it
---@field failures? "raise"|"keep" a failed job raises an error (default), or is listed
---@field each? fun(result: any, job: integer) called in the order of the items; results are not kept then
---@field record? string folder (it exists): the first world of job 7 is recorded as folder/000007.s2d
---@field progress? boolean a bar on a terminal, default true

---@class sim2d.JobFailure
---@field job integer
---@field message string with its traceback

---@class sim2d.Parallel
local Parallel = {}

---`{ f(items[1], 1, common), f(items[2], 2, common), ... }`, computed by threads with a Lua state each. The
---function uses no locals of its surroundings but `sim`; `{"module", "name"}` stands for one of a module.
---@param f fun(item: any, job: integer, common: any): any|{ [1]: string, [2]: string }
---@param items any[]|integer a list, or how many jobs there are
---@param options? sim2d.ParallelOptions
---@return any[] results in the order of the items
---@return sim2d.JobFailure[] failures
function Parallel.map(f, items, options) end

---How many threads a call has unless it says otherwise.
---@return integer
function Parallel.threads() end
