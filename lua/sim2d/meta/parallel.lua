---@meta _
-- sim.parallel: many jobs on all cores.

---@class sim2d.ParallelOptions
---@field threads? integer of each process; default: the cores it may use, under mpirun 1
---@field seed? integer of sim.random in jobs, with the job's number; default: that of the command
---@field common? any the third argument of each job; sent once a thread
---@field time_limit? number s a job
---@field journal? string file that keeps what is done; a run that was ended goes on from it
---@field failures? "raise"|"keep" a failed job raises an error (default), or is listed
---@field each? fun(result: any, job: integer) called in the order of the items; results are not kept then
---@field record? string folder: the first world of job 7 is recorded as folder/000007.s2d
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

---How many processes mpirun or srun started together; 1 without.
---@return integer
function Parallel.machines() end

---How many threads a call has unless it says otherwise.
---@return integer
function Parallel.threads() end

---`run` returns named numbers, booleans or texts, or one number, which is `value`.
---@class sim2d.SweepDef
---@field run fun(p: table<string, any>, job: integer, common: any): any|{ [1]: string, [2]: string }
---@field grid? table<string, any[]|sim2d.Array> every combination
---@field list? table<string, any>[] or the points themselves
---@field random? table<string, table> or samples: {lo, hi}, {normal = {mean, deviation}}, {log = {lo, hi}}, {choice = list}
---@field count? integer samples of `random`
---@field order? string[] of the parameters; default: by the alphabet. The last changes fastest
---@field repeats? integer runs of each point, with seeds of their own, default 1
---@field failures? "raise"|"keep" default: failed runs are rows without outputs
---@field threads? integer these as in sim.parallel.map
---@field seed? integer
---@field common? any
---@field time_limit? number s
---@field journal? string
---@field record? string
---@field progress? boolean

---@class sim2d.Sweep
---@field rows table<string, any>[] a run each
---@field columns string[] job, parameters, repeat, outputs, failed
---@field parameters string[]
---@field outputs string[]
---@field failures sim2d.JobFailure[]
local Sweep = {}

---A function over many values of its parameters.
---@param def sim2d.SweepDef
---@return sim2d.Sweep
function sim.sweep(def) end

---An array, booleans as 0 and 1, nan where a run failed; of texts a list.
---@param name string
---@return sim2d.Array|string[]
function Sweep:column(name) end

---Writes all rows (.csv, .npz, .h5).
---@param path string
---@return true? done
---@return string? message
function Sweep:save(path) end

---Prints a line for each output, over all runs; with names of columns a line for each combination of their
---values, with means of the outputs.
---@param ... string
---@return sim2d.Table
function Sweep:summary(...) end

---Means over `x`, with the deviation of repeats (of booleans: of their mean) as bars, a curve for each value of `by`; other keys are sim.plot's.
---@param def { x: string, y: string, by?: string, title?: string }
---@return sim2d.Plot
function Sweep:plot(def) end

---Writes a picture of the means of `value` over two parameters: .svg, or .html, whose pixels open their runs in the
---player where the sweep has `record`.
---@param def { x: string, y: string, value: string, path: string, title?: string }
---@return true? done
---@return string? message
function Sweep:map(def) end
