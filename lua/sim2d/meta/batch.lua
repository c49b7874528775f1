---@meta _
-- sim.batch and sim.rollout: many worlds at once.

---A term of a cost: a norm of field - goal.
---@class sim2d.BatchTerm
---@field of string|sim2d.Body|sim2d.Joint a body or joint, its name, or "controls"
---@field field? string|integer|(string|integer)[] which fields; for controls which of them, default all
---@field goal? number|number[] default 0
---@field weight? number weight of the sum over time, default 1; 0 if only `terminal` is given
---@field terminal? number weight of the last state, default 0
---@field norm? "quadratic"|"smooth_abs"|"huber"|"l2"|"power"|"linear"
---@field p? number parameter of the norm
---@field wrap? boolean residuals are angles, which are taken to -pi .. pi

---An episode ends beyond it.
---@class sim2d.EpisodeBound
---@field of string|sim2d.Body|sim2d.Joint
---@field field string|string[]
---@field lo? number
---@field hi? number

---@class sim2d.BatchParameter
---@field of string|sim2d.Body|sim2d.Joint
---@field field string|string[]
---@field values? sim2d.Array|number[]|number a number for each world, which it begins with
---@field uniform? number[] {lo, hi}: drawn at each reset
---@field normal? number[] {mean, deviation}

---@class sim2d.BatchOptions
---@field threads? integer default: the cores this process may use
---@field seed? integer default: that of the command
---@field autoreset? "next_step"|"same_step"|"disabled" default "next_step"
---@field max_steps? integer calls of step an episode has
---@field cost? sim2d.BatchTerm[] the reward is minus this cost
---@field terminated? sim2d.EpisodeBound[]
---@field parameters? sim2d.BatchParameter[]
---@field failures? "raise"|"keep" default "raise"
---@field reuse? boolean step fills the same arrays again

---@class sim2d.RolloutOptions
---@field cost? sim2d.BatchTerm[]|fun(world: sim2d.World, controls: number[]): number
---@field threads? integer
---@field period? number s that a knot holds, default dt
---@field states? boolean
---@field failures? "raise"|"keep" default "raise"

---@class sim2d.BatchSnapshot

---@class sim2d.Batch
---@field time sim2d.Array s, of each world
---@field count integer worlds, as #batch
---@field threads integer
---@field controls integer commands of a world
---@field observed integer numbers a world is observed by
---@field failures table<integer, string> of the last call
---@field unsolved integer steps so far that missed their tolerance
---@field final_observations sim2d.Array? with "same_step": what was seen last where an episode ended
---@field [integer] sim2d.World
local Batch = {}

---@param actions? sim2d.Array|number[]|number[][] worlds x controls; nil: the last ones hold
---@param steps? integer default 1
---@return sim2d.Array observations worlds x observed
---@return sim2d.Array rewards
---@return sim2d.Array terminated 1 or 0
---@return sim2d.Array truncated 1 or 0
function Batch:step(actions, steps) end

---Worlds begin again.
---@param options? { seed?: integer, mask?: boolean[]|number[]|sim2d.Array }
---@return sim2d.Array observations
function Batch:reset(options) end

---@return sim2d.Array observations as they are
function Batch:observe() end

---A field of all worlds: worlds, or worlds x numbers.
---@param of string|sim2d.Body|sim2d.Joint
---@param field string|string[]
---@return sim2d.Array
function Batch:get(of, field) end

---@param of string|sim2d.Body|sim2d.Joint
---@param field string|string[]
---@param values number|number[]|number[][]|sim2d.Array
function Batch:set(of, field, values) end

---@return sim2d.BatchSnapshot
function Batch:snapshot() end

---@param snapshot sim2d.BatchSnapshot of this batch
function Batch:restore(snapshot) end

---Ends it and its worlds.
function Batch:close() end
