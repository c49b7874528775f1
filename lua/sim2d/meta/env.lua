---@meta _
-- sim.env: tasks.

---@class sim2d.Env
---@field name string
---@field world sim2d.World world of the present episode
---@field parameters table<string, number> parameters of the present episode
---@field action_space { low?: number[], high?: number[], n?: integer, names: string[] }
---@field observation_space { low: number[], high: number[] }
---@field period number s
---@field max_steps integer
---@field keys table<string, any> actions that keys trigger in the live viewer
---@field about_baseline? string
local Env = {}

---Starts a new episode.
---@param options? { seed?: integer, parameters?: table, randomise?: boolean }
---@return number[] observation, { parameters: table } info
function Env:reset(options) end

---Applies the commands for one period.
---@param action any a list of commands, a single command, or the index of an action
---@return number[] observation, number reward, boolean terminated, boolean truncated, table info
function Env:step(action) end

---Runs episodes with a law, and returns the sum of rewards of each episode. The default law is the baseline.
---@param options? { law?: function, episodes?: integer, seed?: integer, randomise?: boolean }
---@return number mean, number[] returns, number steps, { residual: number, unsolved: integer, mode_changes: integer, terminated: boolean[] } summary of all steps
function Env:evaluate(options) end

---Returns whether an episode is solved: its return is at least `passed`, or, if the task does not set `passed`, the
---episode has terminated.
---@param returned number sum of the rewards
---@param terminated boolean
---@return boolean solved
function Env:solved(returned, terminated) end

---Draws a picture of the world.
---@param path string
---@param options? table
function Env:render(path, options) end

---Records the episodes that follow in one file. The suffix of the path selects the format. If an episode is running, the
---recording begins with its present state, otherwise with the next reset. A call without a path ends the recording, and
---so does a call with another path.
---@param path? string
---@param options? sim2d.RecordOptions as for `world:record`, except for `columns`
---@return (sim2d.Recording|true)? recording
---@return string? message
function Env:record(path, options) end

---Opens the live viewer, which shows the episodes while the script steps the task.
---@param options? { pace?: number, port?: integer, wait?: boolean } as for `world:view`
---@return sim2d.View?
---@return string? message
function Env:live(options) end

---Runs episodes in the live viewer, controlled by the baseline or by a person. It runs a given number of episodes, or
---until Ctrl-C. It returns false if there is no viewer.
---@param options? { episodes?: integer }
---@return boolean played
function Env:play(options) end

---Plays the task in the live viewer. If there is no viewer, it runs some episodes with the baseline and prints their
---results.
---@param options? { episodes?: integer }
---@return number? mean
function Env:show(options) end

---Keys of `sim.env`.
---@class sim2d.EnvDefinition
---@field world fun(parameters: table<string, number>, random: sim2d.Random): sim2d.World
---@field reward number|sim2d.EnvReward|sim2d.Cost|fun(world: sim2d.World, u: number[], env: sim2d.Env): number
---@field terminated? sim2d.EpisodeBound[]|fun(world: sim2d.World, env: sim2d.Env): boolean
---@field reset? sim2d.EnvDraw[]|fun(world: sim2d.World, random: sim2d.Random, parameters: table<string, number>)
---@field period? number s, duration of a command; default dt
---@field max_steps? integer default 1000
---@field parameters? table<string, number|number[]> parameters by name: { default, lo, hi } or a number
---@field actions? number[][] commands of each action, if the actions are numbered
---@field low? number|number[] lower bounds of the observations
---@field high? number|number[] upper bounds of the observations
---@field baseline? fun(env: sim2d.Env): function
---@field passed? number the task counts as solved if the return is at least this value
---@field name? string
---@field doc? string

---Terms of a cost that is subtracted from the constant.
---@class sim2d.EnvReward
---@field constant? number default 0
---@field factors? sim2d.EnvFactor[] their product is added to the constant
---@field [integer] sim2d.BatchTerm|sim2d.CostTerm

---A factor of a reward: the value of `sim.env.tolerance` for a field.
---@class sim2d.EnvFactor
---@field of string
---@field field string|integer
---@field at? number[] m, a point of the body, as in a term of a cost
---@field bounds? number|number[] {lo, hi}
---@field margin? number
---@field shape? string
---@field value? number

---A number that is drawn at the start of an episode.
---@class sim2d.EnvDraw
---@field of string|string[] all objects of a list take the same random number
---@field field string|string[]
---@field uniform? number[] {lo, hi}
---@field normal? number[] {mean, deviation}
---@field constant? number
---@field add? number added to the drawn number; default 0
---@field relative? boolean true: adds to the present value

---Many environments of one task. Each call overwrites the arrays. An array of observations contains the numbers of all
---environments, one environment after another.
---@class sim2d.EnvVector
---@field count integer
---@field observed integer length of the observation of an environment
---@field observations sim2d.Array
---@field final_observations sim2d.Array last observations of the environments whose episode has ended, at the same positions as in the observations
---@field unsolved sim2d.Array number of steps in the last call whose residual exceeded the tolerance
---@field mode_changes sim2d.Array number of transitions of contact points between sticking, sliding and open in the last call
---@field final table<integer, number[]> last observations of environments whose episode ended with the last step
---@field envs sim2d.Env[]
local EnvVector = {}

---Starts new episodes in all environments, or in the environments that the mask selects. Environment i uses the seed
---`seed + i - 1`, or `seeds[i]`.
---@param options? { seed?: integer, seeds?: table<integer, integer>, mask?: table<integer, boolean> }
---@return sim2d.Array observations
function EnvVector:reset(options) end

---Takes an action in each environment. The worlds are stepped in several threads.
---@param actions any[]|sim2d.Array one action for each environment
---@return sim2d.Array observations, sim2d.Array rewards, sim2d.Array terminated, sim2d.Array truncated
function EnvVector:step(actions) end

---A step for programs in other languages, without arrays of Lua. Actions are numbers from 0, or commands. The results
---are observations, rewards, terminated, truncated, final observations, unsolved steps and changes of mode.
---@param actions lightuserdata address of the actions of all environments
---@param results lightuserdata address of memory for all results
function EnvVector:exchange(actions, results) end

---@class sim2d.EnvLibrary
---@overload fun(def: sim2d.EnvDefinition): sim2d.Env
local EnvLibrary = {}

---Checks a task, and raises an error if the task does not follow the interface.
---@param env sim2d.Env
---@return integer steps number of steps that the check made
function EnvLibrary.check(env) end

---Makes many environments of one task.
---@param task sim2d.Env
---@param options { count: integer, threads?: integer, autoreset?: "next_step"|"same_step"|"disabled", randomise?: boolean }
---@return sim2d.EnvVector
function EnvLibrary.vector(task, options) end

---Returns 1 if x is within the bounds. Outside, the result decreases with the distance from the bounds, and it is
---`value` at the distance `margin`.
---@param x sim2d.Number
---@param bounds? number[] {lo, hi}
---@param margin? number
---@param shape? string "gaussian", "linear", "quadratic", "cosine", "hyperbolic", "long_tail" or "reciprocal"
---@param value? number default 0.1
---@return sim2d.Number
function EnvLibrary.tolerance(x, bounds, margin, shape, value) end

---@class sim2d
---@field env sim2d.EnvLibrary
