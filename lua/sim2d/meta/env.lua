---@meta _
-- sim.env: tasks.

---@class sim2d.Env
---@field name string
---@field world sim2d.World of the present episode
---@field parameters table<string, number> of the present episode
---@field action_space { low?: number[], high?: number[], n?: integer, names: string[] }
---@field observation_space { low: number[], high: number[] }
---@field period number s
---@field max_steps integer
---@field keys table<string, any> what keys do in the live viewer
---@field about_baseline? string
local Env = {}

---A new episode.
---@param options? { seed?: integer, parameters?: table, randomise?: boolean }
---@return number[] observation, { parameters: table } info
function Env:reset(options) end

---Holds the commands for a period.
---@param action any a list of commands, a number, or the number of an action
---@return number[] observation, number reward, boolean terminated, boolean truncated, table info
function Env:step(action) end

---Returns of episodes by a law, default: the baseline.
---@param options? { law?: function, episodes?: integer, seed?: integer, randomise?: boolean }
---@return number mean, number[] returns, number steps, { residual: number, unsolved: integer, mode_changes: integer, terminated: boolean[] } told of all steps
function Env:evaluate(options) end

---A picture of the world as it is.
---@param path string
---@param options? table
function Env:render(path, options) end

---In the live viewer: episodes by the baseline or a person, until Ctrl-C or for so many. False without a viewer.
---@param options? { episodes?: integer }
---@return boolean played
function Env:play(options) end

---Plays in the live viewer; without one, some episodes of the baseline, told on standard output.
---@param options? { episodes?: integer }
---@return number? mean
function Env:show(options) end

---What sim.env takes.
---@class sim2d.EnvDefinition
---@field world fun(parameters: table<string, number>, random: sim2d.Random): sim2d.World
---@field reward number|sim2d.EnvReward|sim2d.Cost|fun(world: sim2d.World, u: number[], env: sim2d.Env): number
---@field terminated? sim2d.EpisodeBound[]|fun(world: sim2d.World, env: sim2d.Env): boolean
---@field reset? sim2d.EnvDraw[]|fun(world: sim2d.World, random: sim2d.Random, parameters: table<string, number>)
---@field period? number s that a command is held; default dt
---@field max_steps? integer default 1000
---@field parameters? table<string, number|number[]> { usual, lo, hi }
---@field actions? number[][] commands of each action by number
---@field low? number|number[] of what is observed
---@field high? number|number[]
---@field baseline? fun(env: sim2d.Env): function
---@field passed? number the return from which a law has solved it
---@field name? string
---@field doc? string

---Terms of a cost that is taken from the constant.
---@class sim2d.EnvReward
---@field constant? number default 0
---@field [integer] sim2d.BatchTerm|sim2d.CostTerm

---A number that an episode starts with.
---@class sim2d.EnvDraw
---@field of string
---@field field string|string[]
---@field uniform? number[] {lo, hi}
---@field normal? number[] {mean, deviation}

---Many environments of one task. Arrays are filled again by the next call; those of observations hold one environment's numbers
---after the other's.
---@class sim2d.EnvVector
---@field count integer
---@field observed integer numbers an environment is observed by
---@field observations sim2d.Array
---@field final_observations sim2d.Array what was observed last by those whose episode has ended, in their places
---@field unsolved sim2d.Array how many steps of the last call missed their tolerance
---@field mode_changes sim2d.Array how often a contact point came to stick, to slip or to part in the last call
---@field final table<integer, number[]> what was observed last by those whose episode ended with the last step
---@field envs sim2d.Env[]
local EnvVector = {}

---New episodes, of all or those of the mask: the i-th with seed + i - 1, or seeds[i].
---@param options? { seed?: integer, seeds?: table<integer, integer>, mask?: table<integer, boolean> }
---@return sim2d.Array observations
function EnvVector:reset(options) end

---An action for each; worlds are stepped by threads.
---@param actions any[]|sim2d.Array
---@return sim2d.Array observations, sim2d.Array rewards, sim2d.Array terminated, sim2d.Array truncated
function EnvVector:step(actions) end

---@class sim2d.EnvLibrary
---@overload fun(def: sim2d.EnvDefinition): sim2d.Env
local EnvLibrary = {}

---Raises what is wrong with a task; returns the steps it took to see.
---@param env sim2d.Env
---@return integer
function EnvLibrary.check(env) end

---@param task sim2d.Env
---@param options { count: integer, threads?: integer, autoreset?: "next_step"|"same_step"|"disabled", randomise?: boolean }
---@return sim2d.EnvVector
function EnvLibrary.vector(task, options) end

---1 where x is within bounds, less beyond, `value` at the margin.
---@param x sim2d.Number
---@param bounds? number[]
---@param margin? number
---@param shape? string
---@param value? number
---@return sim2d.Number
function EnvLibrary.tolerance(x, bounds, margin, shape, value) end

---@class sim2d
---@field env sim2d.EnvLibrary
