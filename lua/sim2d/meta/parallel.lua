---@meta _
-- sim.parallel: runs many jobs on all cores.

---@class sim2d.ParallelOptions
---@field threads? integer number of threads of each process; default: the number of cores that it may use, or 1 under mpirun
---@field seed? integer seed from which the seeds of `sim.random` in the jobs are derived, together with the index of the job; default: the seed of the command line
---@field common? any third argument of each job; each thread receives it once
---@field time_limit? number s, time limit of a job
---@field journal? string file that stores the results. An interrupted run continues from this file
---@field failures? "raise"|"keep" "raise" (default): a failed job raises an error; "keep": the second result lists it
---@field each? fun(result: any, job: integer) function called with each result, in the order of the items; `map` then stores no results
---@field record? string folder for recordings: the first world of job 7 is recorded as folder/000007.s2d
---@field progress? boolean shows a progress bar on a terminal; default true

---@class sim2d.JobFailure
---@field job integer
---@field message string error message with a traceback

---@class sim2d.Parallel
local Parallel = {}

---Returns `{ f(items[1], 1, common), f(items[2], 2, common), ... }`. The calls run in threads with separate Lua states.
---Except for `sim`, the function must not use local variables that are defined outside it. `{"module", "name"}` stands
---for a function of a module.
---@param f fun(item: any, job: integer, common: any): any|{ [1]: string, [2]: string }
---@param items any[]|integer a list, or the number of jobs
---@param options? sim2d.ParallelOptions
---@return any[] results in the order of the items
---@return sim2d.JobFailure[] failures
function Parallel.map(f, items, options) end

---Returns the number of processes that mpirun or srun started together. Without them it is 1.
---@return integer
function Parallel.machines() end

---Returns the number of threads that a call uses by default.
---@return integer
function Parallel.threads() end

---`run` returns named numbers, booleans or texts, or a single number, which is named `value`.
---@class sim2d.SweepDef
---@field run fun(p: table<string, any>, job: integer, common: any): any|{ [1]: string, [2]: string }
---@field grid? table<string, any[]|sim2d.Array> every combination of these values
---@field list? table<string, any>[] list of points, in place of `grid`
---@field random? table<string, table> samples, in place of `grid`: {lo, hi}, {normal = {mean, deviation}}, {log = {lo, hi}}, {choice = list}
---@field count? integer number of samples of `random`
---@field order? string[] order of the parameters; default: alphabetical. The last parameter changes fastest
---@field repeats? integer number of runs of each point, with different seeds; default 1
---@field failures? "raise"|"keep" default "keep": failed runs become rows without outputs
---@field threads? integer this key and the following ones are as in `sim.parallel.map`
---@field seed? integer
---@field common? any
---@field time_limit? number s
---@field journal? string
---@field record? string
---@field progress? boolean

---@class sim2d.Sweep
---@field rows table<string, any>[] a row for each run
---@field columns string[] job, parameters, repeat, outputs, failed
---@field parameters string[] names of the parameters
---@field outputs string[] names of the outputs
---@field failures sim2d.JobFailure[]
local Sweep = {}

---Runs a function over many values of its parameters.
---@param def sim2d.SweepDef
---@return sim2d.Sweep
function sim.sweep(def) end

---Returns a column as an array or as a list of texts. In an array, booleans are 0 and 1, and failed runs are nan.
---@param name string
---@return sim2d.Array|string[]
function Sweep:column(name) end

---Writes all rows to a file (.csv, .npz or .h5).
---@param path string
---@return true? success
---@return string? message
function Sweep:save(path) end

---Prints a summary of each output over all runs. If you give names of columns, it prints the means of the outputs for
---each combination of values in these columns.
---@param ... string
---@return sim2d.Table
function Sweep:summary(...) end

---Plots means over `x`, with a curve for each value of `by`. Bars show the standard deviation of the repeats (for
---booleans: of their mean). `def` may also have the keys of `sim.plot`.
---@param def { x: string, y: string, by?: string, title?: string }
---@return sim2d.Plot
function Sweep:plot(def) end

---Writes a picture (.svg or .html) of the means of `value` over two parameters. If the sweep has the option `record`,
---each pixel of the .html page opens its run in the player.
---@param def { x: string, y: string, value: string, path: string, title?: string }
---@return true? success
---@return string? message
function Sweep:map(def) end
