---@meta _
-- sim.batch and sim.rollout: functions for many worlds at once.

---A term of a cost: a norm of (field - goal) / scale.
---@class sim2d.BatchTerm
---@field of string|sim2d.Body|sim2d.Joint a body or joint, its name, or "controls"
---@field field? string|integer|(string|integer)[] one or several fields; for "controls" the numbers of the commands, by default all
---@field at? number[] m, a point fixed to the body, relative to its centre of mass: `field` is "x", "y" or "position" of this point
---@field goal? number|number[] default 0
---@field scale? number|number[] divides the residuals; default 1
---@field weight? number weight of the integral over time; default 1, or 0 if only `terminal` is given
---@field terminal? number weight in the last state; default 0
---@field norm? "quadratic"|"smooth_abs"|"huber"|"l2"|"power"|"linear" default "quadratic"
---@field p? number parameter of the norm
---@field wrap? boolean true: residuals are angles and are wrapped to -pi .. pi

---Bounds of a field. The episode ends when the field leaves them.
---@class sim2d.EpisodeBound
---@field of string|sim2d.Body|sim2d.Joint
---@field field string|string[]
---@field at? number[] m, a point of the body, as in a term of a cost
---@field lo? number
---@field hi? number

---A parameter that differs from world to world.
---@class sim2d.BatchParameter
---@field of string|sim2d.Body|sim2d.Joint
---@field field string|string[]
---@field values? sim2d.Array|number[]|number initial values, one for each world
---@field uniform? number[] {lo, hi} of a uniform distribution, from which each reset draws a value
---@field normal? number[] {mean, deviation} of a normal distribution, from which each reset draws a value
---@field constant? number a value that each reset sets
---@field add? number added to the drawn number; default 0
---@field relative? boolean true: adds to the present value

---@class sim2d.BatchOptions
---@field threads? integer number of threads; default: the number of cores that the process may use
---@field seed? integer seed of the random numbers; default: the seed of the command line
---@field autoreset? "next_step"|"same_step"|"disabled" default "next_step"
---@field max_steps? integer largest number of calls of `step` in an episode
---@field cost? sim2d.BatchTerm[] the reward is the negative of this cost
---@field terminated? sim2d.EpisodeBound[]
---@field parameters? sim2d.BatchParameter[]
---@field failures? "raise"|"keep" default "raise"
---@field reuse? boolean true: each call of `step` overwrites the same arrays; default false

---@class sim2d.RolloutOptions
---@field cost? sim2d.BatchTerm[]|fun(world: sim2d.World, controls: number[]): number
---@field threads? integer number of threads; default: the number of cores that the process may use
---@field period? number s, duration of a knot, a whole number of steps; default dt
---@field states? boolean true: also returns the states; default false
---@field failures? "raise"|"keep" default "raise"

---@class sim2d.BatchSnapshot

---@class sim2d.Batch
---@field time sim2d.Array s, time of each world
---@field count integer number of worlds; also `#batch`
---@field threads integer
---@field controls integer number of commands of a world
---@field observed integer length of the observation of a world
---@field failures table<integer, string> messages of the last call, keyed by the index of the world
---@field unsolved integer number of steps so far whose residual exceeded the tolerance
---@field final_observations sim2d.Array? with `autoreset = "same_step"`: the last observations of the episodes that ended
---@field [integer] sim2d.World
local Batch = {}

---Steps all worlds.
---@param actions? sim2d.Array|number[]|number[][] worlds x controls; nil: the last actions are kept
---@param steps? integer number of steps of each world; default 1
---@return sim2d.Array observations worlds x observed
---@return sim2d.Array rewards
---@return sim2d.Array terminated 1 if the episode has terminated, else 0
---@return sim2d.Array truncated 1 if the episode was truncated, else 0
function Batch:step(actions, steps) end

---Starts new episodes in all worlds, or in the worlds that the mask selects. If you give a seed, the random draws
---restart from it.
---@param options? { seed?: integer, mask?: boolean[]|number[]|sim2d.Array }
---@return sim2d.Array observations
function Batch:reset(options) end

---Returns the present observations.
---@return sim2d.Array observations
function Batch:observe() end

---Reads a field of all worlds.
---@param of string|sim2d.Body|sim2d.Joint
---@param field string|string[]
---@return sim2d.Array values one number for each world, or an array of worlds x numbers
function Batch:get(of, field) end

---Sets a field of all worlds. A single number applies to all worlds.
---@param of string|sim2d.Body|sim2d.Joint
---@param field string|string[]
---@param values number|number[]|number[][]|sim2d.Array
function Batch:set(of, field, values) end

---Copies the whole batch.
---@return sim2d.BatchSnapshot
function Batch:snapshot() end

---Restores a snapshot.
---@param snapshot sim2d.BatchSnapshot a snapshot of this batch
function Batch:restore(snapshot) end

---Closes the batch and its worlds.
function Batch:close() end
