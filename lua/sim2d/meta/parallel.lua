---@meta _
-- sim.parallel: many jobs on all cores.

---@class sim2d.ParallelOptions
---@field threads? integer threads of each process; default: as many as the cores that it may use, or 1 under mpirun
---@field seed? integer seed of `sim.random` in jobs, together with the number of the job; default: the seed of the command
---@field common? any third argument of each job; it is sent once to each thread
---@field time_limit? number s, the longest time of a job
---@field journal? string file that keeps the results; an interrupted run continues from it
---@field failures? "raise"|"keep" a failed job raises an error (default), or is listed
---@field each? fun(result: any, job: integer) called for each result, in the order of the items; `map` then keeps no results
---@field record? string folder: the first world of job 7 is recorded as folder/000007.s2d
---@field progress? boolean shows a progress bar on a terminal; default true

---@class sim2d.JobFailure
---@field job integer
---@field message string message with its traceback

---@class sim2d.Parallel
local Parallel = {}

---Returns `{ f(items[1], 1, common), f(items[2], 2, common), ... }`. The calls run in threads with separate Lua states.
---The function must not use local variables from outside it, except `sim`. `{"module", "name"}` stands for a function
---of a module.
---@param f fun(item: any, job: integer, common: any): any|{ [1]: string, [2]: string }
---@param items any[]|integer a list, or the number of jobs
---@param options? sim2d.ParallelOptions
---@return any[] results in the order of the items
---@return sim2d.JobFailure[] failures
function Parallel.map(f, items, options) end

---Returns the number of processes that mpirun or srun started together, or 1.
---@return integer
function Parallel.machines() end

---Returns the default number of threads of a call.
---@return integer
function Parallel.threads() end

---`run` returns named numbers, booleans or texts, or a single number, which is named `value`.
---@class sim2d.SweepDef
---@field run fun(p: table<string, any>, job: integer, common: any): any|{ [1]: string, [2]: string }
---@field grid? table<string, any[]|sim2d.Array> every combination of these values
---@field list? table<string, any>[] the points themselves, in place of `grid`
---@field random? table<string, table> samples, in place of `grid`: {lo, hi}, {normal = {mean, deviation}}, {log = {lo, hi}}, {choice = list}
---@field count? integer number of samples of `random`
---@field order? string[] order of the parameters; default: alphabetical. The last one changes fastest
---@field repeats? integer runs of each point, with different seeds; default 1
---@field failures? "raise"|"keep" default: failed runs are rows without outputs
---@field threads? integer this key and the following ones are as in `sim.parallel.map`
---@field seed? integer
---@field common? any
---@field time_limit? number s
---@field journal? string
---@field record? string
---@field progress? boolean

---@class sim2d.Sweep
---@field rows table<string, any>[] one for each run
---@field columns string[] job, parameters, repeat, outputs, failed
---@field parameters string[] names of the parameters
---@field outputs string[] names of the outputs
---@field failures sim2d.JobFailure[]
local Sweep = {}

---Runs a function over many values of its parameters.
---@param def sim2d.SweepDef
---@return sim2d.Sweep
function sim.sweep(def) end

---Returns a column: an array with booleans as 0 and 1, and nan for failed runs; or a list of texts.
---@param name string
---@return sim2d.Array|string[]
function Sweep:column(name) end

---Writes all rows (.csv, .npz, .h5).
---@param path string
---@return true? success
---@return string? message
function Sweep:save(path) end

---Prints a line for each output, over all runs. If you give names of columns, it prints a line for each combination of
---values in these columns, with the means of the outputs.
---@param ... string
---@return sim2d.Table
function Sweep:summary(...) end

---Plots means over `x`, one curve for each value of `by`. Bars show the standard deviation of the repeats (for
---booleans: of their mean). `def` may also have the keys of `sim.plot`.
---@param def { x: string, y: string, by?: string, title?: string }
---@return sim2d.Plot
function Sweep:plot(def) end

---Writes a picture of the means of `value` over two parameters: .svg, or .html. If the sweep has `record`, the pixels of the
---.html page open their runs in the player.
---@param def { x: string, y: string, value: string, path: string, title?: string }
---@return true? success
---@return string? message
function Sweep:map(def) end
