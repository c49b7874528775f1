---@meta _
-- sim.batch and sim.rollout: many worlds at once.

---A term of a cost: a norm of field - goal.
---@class sim2d.BatchTerm
---@field of string|sim2d.Body|sim2d.Joint a body or joint, its name, or "controls"
---@field field? string|integer|(string|integer)[] one or several fields; of "controls": which of them, default all
---@field goal? number|number[] default 0
---@field weight? number weight of the sum over time, default 1; 0 if only `terminal` is given
---@field terminal? number weight of the last state, default 0
---@field norm? "quadratic"|"smooth_abs"|"huber"|"l2"|"power"|"linear" default "quadratic"
---@field p? number parameter of the norm
---@field wrap? boolean residuals are angles, wrapped to -pi .. pi

---A bound on a field. The episode ends when the field leaves it.
---@class sim2d.EpisodeBound
---@field of string|sim2d.Body|sim2d.Joint
---@field field string|string[]
---@field lo? number
---@field hi? number

---A parameter that differs from world to world.
---@class sim2d.BatchParameter
---@field of string|sim2d.Body|sim2d.Joint
---@field field string|string[]
---@field values? sim2d.Array|number[]|number initial values, a number for each world
---@field uniform? number[] {lo, hi}, drawn at each reset
---@field normal? number[] {mean, deviation}, drawn at each reset

---@class sim2d.BatchOptions
---@field threads? integer default: as many as the cores that this process may use
---@field seed? integer default: the seed of the command
---@field autoreset? "next_step"|"same_step"|"disabled" default "next_step"
---@field max_steps? integer number of calls of `step` in an episode
---@field cost? sim2d.BatchTerm[] the reward is minus this cost
---@field terminated? sim2d.EpisodeBound[]
---@field parameters? sim2d.BatchParameter[]
---@field failures? "raise"|"keep" default "raise"
---@field reuse? boolean true: `step` fills the same arrays again; default false

---@class sim2d.RolloutOptions
---@field cost? sim2d.BatchTerm[]|fun(world: sim2d.World, controls: number[]): number
---@field threads? integer default: as many as the cores that this process may use
---@field period? number s, duration of a knot, in whole steps; default dt
---@field states? boolean true: also returns the states; default false
---@field failures? "raise"|"keep" default "raise"

---@class sim2d.BatchSnapshot

---@class sim2d.Batch
---@field time sim2d.Array s, of each world
---@field count integer number of worlds; also `#batch`
---@field threads integer
---@field controls integer number of commands of a world
---@field observed integer length of the observation of a world
---@field failures table<integer, string> messages of the last call, keyed by the number of the world
---@field unsolved integer number of steps so far that missed their tolerance
---@field final_observations sim2d.Array? with "same_step": last observations of the episodes that ended
---@field [integer] sim2d.World
local Batch = {}

---Steps all worlds.
---@param actions? sim2d.Array|number[]|number[][] worlds x controls; nil: the last actions hold
---@param steps? integer steps of each world, default 1
---@return sim2d.Array observations worlds x observed
---@return sim2d.Array rewards
---@return sim2d.Array terminated 1 or 0
---@return sim2d.Array truncated 1 or 0
function Batch:step(actions, steps) end

---Starts new episodes in all worlds, or in the worlds that the mask selects. A seed also restarts the random draws.
---@param options? { seed?: integer, mask?: boolean[]|number[]|sim2d.Array }
---@return sim2d.Array observations
function Batch:reset(options) end

---Returns the present observations.
---@return sim2d.Array observations
function Batch:observe() end

---Reads a field of all worlds.
---@param of string|sim2d.Body|sim2d.Joint
---@param field string|string[]
---@return sim2d.Array values one for each world, or worlds x numbers
function Batch:get(of, field) end

---Sets a field of all worlds. A single number applies to all of them.
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
