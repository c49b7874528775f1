---@meta
-- sim.control (laws, costs and planners), world:control, world:dynamics and world:lcs.

---A law is a function `law(world, t)`, or an object that can be called in the same form. It returns commands in the
---form that `world:act` accepts.
---@class sim2d.Law
---@overload fun(world: sim2d.World, t: number): table
---@field state fun(self: sim2d.Law): table returns the memory of the law
---@field set_state fun(self: sim2d.Law, state: table) sets the memory
---@field reset fun(self: sim2d.Law) clears the memory
---@field copy fun(self: sim2d.Law): sim2d.Law returns the same law with a separate memory

---The gains of a PID law.
---@class sim2d.PidDef
---@field kp? number proportional gain
---@field ki? number integral gain
---@field kd? number derivative gain
---@field setpoint? number|fun(t: number): number
---@field measure? string|fun(world: sim2d.World): number name of an observation, or a function
---@field filter? number s, time constant of the low pass of the derivative
---@field range? number[] {lo, hi} of the command
---@field anti_windup? "clamp"|"back" treatment of the integral if `range` clips the command: the integral stops ("clamp") or is reduced by the excess ("back")
---@field actuator? string|sim2d.Actuator

---A term of a cost: a norm of field - goal.
---@class sim2d.CostTerm
---@field name? string name; may be given as the first entry, without a key
---@field of? sim2d.Body|sim2d.Joint
---@field field? string|string[]
---@field at? number[] m, a point in the body's frame
---@field residual? fun(world: sim2d.World): number|number[] function that replaces `of` and `field`
---@field goal? number|number[] default 0
---@field weight? number 1/s, default 1
---@field norm? "quadratic"|"l2"|"smooth_abs"|"huber"|"power"|"linear" default "quadratic"
---@field p? number parameter of the norm
---@field wrap? boolean true: residuals are angles and are wrapped to -pi .. pi

---The task of a plan and the settings of its search.
---@class sim2d.PlanDef
---@field cost sim2d.Cost|table
---@field horizon number s
---@field period? number s, time between commands; default: dt of the world
---@field method? "ilqr"|"gradient"|"sampling"|"cem"|"mppi"|"cmaes"|"mixed"
---@field goal? table[] for "ilqr": conditions at the end, a list of { of =, field =, value = }
---@field u0? any commands at the start of the search: one number, a number for each actuator, or all commands
---@field x0? number[] initial state, as from `world:state()`; default: the state of the world
---@field iterations? integer largest number of iterations
---@field budget? number s, limit of the computing time. Recordings store how many iterations the budget allowed
---@field tolerance? number relative change of the cost below which the search has converged; default 1e-5
---@field violation? number largest permitted violation of the goals; default 1e-6
---@field coordinates? table[] joints and bodies of the reduced state
---@field model? sim2d.World world to use as the model in place of a clone
---@field knots? integer number of knots of the spline that sampling methods optimise; default 10
---@field spline? "zero"|"linear"|"cubic" default "linear"
---@field samples? integer number of samples per iteration; default 40
---@field elites? integer number of samples that "cem" keeps; default: a fifth of the samples
---@field noise? number|number[] initial standard deviations of the samples; default: a quarter of each actuator's range
---@field temperature? number temperature of "mppi", relative to the spread of the costs; default 0.1
---@field seed? integer seed of the sampling; default: drawn from `sim.random`
---@field starts? integer number of searches from random changes of u0; the best plan is returned
---@field soften? number[] m/N, compliances of all contacts in the searches before the last one
---@field threads? integer number of threads; default: all processors
---@field gradient? "exact"|"smooth" kind of contact derivatives
---@field smoothing? number kappa of smooth derivatives; default 1e-3
---@field show? table for planners: the points whose planned paths are drawn, as { body or { body, {x, y} }, ..., rollouts = 10 }

---A plan: the commands that a search found, and the trajectory that they cause.
---@class sim2d.Plan
---@field u sim2d.Array commands, periods x actuators
---@field x sim2d.Array states, (periods + 1) x numbers of a state
---@field K? sim2d.Array[] gains, one for each period; nil for sampling methods
---@field cost number
---@field violation number largest violation of a goal
---@field iterations integer
---@field evaluations integer number of trajectories that were evaluated
---@field threads? integer number of threads that shared the last iteration of ilqr
---@field status "converged"|"stuck"|"out of iterations"|"out of time"
---@field unmet string[] names of terms and goals that a stuck plan does not meet
---@field message? string reason why the plan is stuck
---@field flags string[] flags of the plan's derivatives
---@field start integer index of the best start
---@field law fun(self: sim2d.Plan, options?: table): sim2d.Law returns a law that follows the plan
local Plan = {}

---The number of an unknown in a stage function. It has no value, because the function is recorded once for all stages
---and points. It supports + - * / ^ with numbers and formulas, and `sim.sin`, `cos`, `tan`, `sinh`, `cosh`, `tanh`,
---`atan`, `exp`, `log`, `sqrt` and `pow`. Comparisons raise an error.
---@class sim2d.Formula
---@operator add(sim2d.Formula|number): sim2d.Formula
---@operator sub(sim2d.Formula|number): sim2d.Formula
---@operator mul(sim2d.Formula|number): sim2d.Formula
---@operator div(sim2d.Formula|number): sim2d.Formula
---@operator pow(sim2d.Formula|number): sim2d.Formula
---@operator unm: sim2d.Formula

---A motion to be found with contacts as unknowns, and the settings of the search.
---@class sim2d.ContactPlanDef
---@field method "contact"
---@field unknowns string[] names of the unknowns of a stage
---@field stages integer number of stages, at least 2
---@field stage fun(s: table<string, sim2d.Formula>, n?: table<string, sim2d.Formula>): table returns { cost = formula, equal = list, positive = list, products = list of pairs } for a stage s and the next stage n, which is nil in the last stage
---@field start? table<string, number> values of unknowns in the first stage
---@field goal? table[] goals in the last stage, a list of { of = name, value =, weight =, within = }
---@field guess? sim2d.ContactPlan|table<string, number|number[]> first point: a plan, or a number or list for each unknown; default 0
---@field smoothing? number|number[] first relaxation of products and weight of the barrier; a list is tried in turn until a search converges; default { 1, 0.1, 100, 1e4 }
---@field curvature? boolean whether second derivatives of `equal` are used; default: first false, then true
---@field iterations? integer largest number of iterations of each search; default 500
---@field violation? number largest permitted violation, in the units of the formulas; default 1e-6
---@field tolerance? number expected decrease of the cost, relative to 1 + |cost|, below which a search has converged; default 1e-3
---@field budget? number s, limit of the computing time

---A motion that a search with `method = "contact"` found.
---@class sim2d.ContactPlan
---@field method "contact"
---@field unknowns string[]
---@field x sim2d.Array stages x unknowns
---@field stages table<string, number>[] unknowns of each stage by name
---@field cost number
---@field status "converged"|"stuck"|"out of iterations"|"out of time"
---@field unmet string[] conditions and goals that are not met
---@field message? string reason why the plan has not converged
---@field violation number largest violation of a condition
---@field residuals { equal: number, positive: number, product: number, goal: number } largest violations by kind, and the largest distance from a goal
---@field iterations integer of all searches
---@field attempts integer number of searches
---@field smoothing number first relaxation of the search that found the plan
---@field curvature boolean whether that search used second derivatives of `equal`
---@field time number s

---@class sim2d.Cost
local Cost = {}

---Returns the present cost per second of each term, keyed by name. `controls` is the cost of u, or of the current
---commands.
---@param world sim2d.World
---@param u? table|number
---@return table<string, number>
function Cost:parts(world, u) end

---Returns the names of the terms, in order.
---@return string[]
function Cost:names() end

---Changes weights of a term. Planners use the new weights from their next plan on.
---@param name string name of a term, or "controls"
---@param weight? number|number[] weight over time; for "controls" it may be a list with a weight for each actuator
---@param terminal? number weight in the last state
function Cost:set_weight(name, weight, terminal) end

---@class sim2d.Panel
---@field w number[] rad/s, frequencies
---@field magnitude number[] magnitude of the open loop
---@field phase number[] degrees, phase of the open loop
---@field gain_margin number smallest factor above 1 at which the open loop passes through -1
---@field gain_reduction number largest factor below 1 at which the open loop passes through -1
---@field phase_margin number degrees
---@field w_gain? number rad/s, frequency of the gain margin
---@field w_phase? number rad/s, frequency of the phase margin
---@field poles number[][] {re, im} of the closed loop
---@field open_poles number[][] {re, im} of the open loop
---@field stable boolean
---@field t number[] s, times of the step response
---@field y number[] step response
---@field overshoot? number
---@field settled? number s, time after which the response stays within 2 %
---@field closed_poles fun(factor: number): number[][] returns the poles of the closed loop if the gain is multiplied by a factor
---@field plot sim2d.Plot

---@class sim2d.Basin
---@field after number[][] s, times to come to rest, with a row for each y; nan if the system did not come to rest
---@field xs number[]
---@field ys number[]
---@field settled integer number of starts from which the system came to rest
---@field starts integer number of starts
---@field share number settled / starts
---@field sweep sim2d.Sweep
---@field plot sim2d.Plot

---Keys of `sim.control.benchmark`.
---@class sim2d.BenchmarkDef
---@field tasks? string[] names of tasks in `folder`, or files (`.lua`) that return a result of `sim.env`; default: all tasks in `folder`
---@field methods? table names: `"baseline"`, `"zero"`, `"random"`, `"lqr"`, `"ilqr"`, `"mppi"`, `"cem"`, `"sampling"`, `"mixed"`, `"gradient"` (default: all of them), and own laws by name: `mine = function(world, env) return law end`
---@field seeds? integer number of episodes for each task and method, with the seeds 0, 1, ... (default 3)
---@field seconds? number s, limit of the wall time of an episode; an episode that exceeds it counts as not solved (default: none)
---@field threads? integer default: all cores
---@field planner? table keys of `sim.control.planner` that replace the defaults `horizon = 1`, `period = 0.05`, `samples = 20`, `u0 = 0.01`
---@field out? string name of a page to write, `.html`
---@field folder? string folder of the tasks (default `"scenes/tasks"`)
---@field print? boolean whether to print the table (default true)
---@field progress? boolean whether to show a progress bar on a terminal (default true)

---A row of `sim.control.benchmark`: the episodes of one task with one method. If the method does not apply, the row has
---only `task`, `method`, `seeds`, an empty list `returns` and `message`.
---@class sim2d.BenchmarkRow
---@field task string
---@field method string
---@field seeds integer number of episodes
---@field success? number share of solved episodes
---@field returns number[] returns of the completed episodes
---@field mean? number mean return of the completed episodes
---@field error? number standard error of the mean; nan for a single episode
---@field steps? number mean number of periods of the completed episodes
---@field residual? number largest residual at the end of a period
---@field unsolved? integer number of periods in which a step missed its tolerance
---@field world_seconds? number s, simulated time of all episodes
---@field wall_seconds? number s, wall time of all episodes
---@field speed? number `world_seconds / wall_seconds`
---@field replans? number plans per second of the law's own wall time, if the law plans
---@field cost? number mean cost of the plans
---@field message string the reason why the method does not apply or why episodes stopped, else ""

---@class sim2d.ControlLibrary
local ControlLibrary = {}

---Makes a PID law.
---@param def sim2d.PidDef
---@return sim2d.Law
function ControlLibrary.pid(def) end

---Makes a linear quadratic regulator, u = u0 - K (x - x0). It is computed from matrices, or from a world that is
---linearised about its present state.
---@param A any matrix, or a world
---@param B any matrix, or { coordinates =, inputs =, Q =, R =, N =, period =, horizon =, Qf = }
---@param Q? any weight of the state: a matrix, its diagonal, or a number
---@param R? any weight of the commands, in the same forms as Q
---@param N? any matrix of weights for products of state and commands
---@param options? table { horizon =, Qf =, measure =, period = }
---@return sim2d.Law law with the fields K, P, poles, x0, u0
function ControlLibrary.lqr(A, B, Q, R, N, options) end

---Returns gains K such that A - B K has the given poles.
---@param A any state matrix
---@param B any input matrix
---@param poles any[] numbers, and pairs {re, im} with their conjugates
---@return sim2d.Array
function ControlLibrary.place(A, B, poles) end

---Makes the steady-state Kalman filter of x+ = A x + B u + w, y = C x + v. The filter has the methods `predict(u)`,
---`correct(y)` and `update(y, u)`, and the fields `L`, `P` and `x`.
---@param A any state matrix
---@param C any measurement matrix
---@param W any covariance of the disturbance w
---@param V any covariance of the measurement noise v
---@param B? any input matrix
function ControlLibrary.kalman(A, C, W, V, B) end

---Filters the commands of another law with a low pass.
---@param law sim2d.Law
---@param time_constant number s
---@return sim2d.Law
function ControlLibrary.low_pass(law, time_constant) end

---Bounds the rate of change of another law's commands.
---@param law sim2d.Law
---@param rate number largest change per second
---@return sim2d.Law
function ControlLibrary.rate_limit(law, rate) end

---Makes a reference r, a path through points. `r(t)` returns its value. `r:at(t)` returns its value, speed and
---acceleration.
---@param def { points: any[], times: number[], kind?: "linear"|"cubic"|"minimum_jerk" }
function ControlLibrary.reference(def) end

---Makes a law that follows a reference by computed torques.
---@param def { coordinates: table[], reference: table, kp?: number, kd?: number }
---@return sim2d.Law
function ControlLibrary.computed_torque(def) end

---Makes a cost.
---@param def table list of terms, with `controls` and `terminal` weights
---@return sim2d.Cost
function ControlLibrary.cost(def) end

---Searches for commands that minimise a cost, starting from the present state of the world. With one argument, a table
---with `method = "contact"`, searches for a motion with contacts as unknowns and returns a `sim2d.ContactPlan`.
---@param world sim2d.World
---@param def sim2d.PlanDef
---@return sim2d.Plan
---@overload fun(def: sim2d.ContactPlanDef): sim2d.ContactPlan
function ControlLibrary.trajectory(world, def) end

---Makes a law that follows a plan with the gains of a time-varying linear regulator.
---@param world sim2d.World a world in the initial state of the plan
---@param plan sim2d.Plan
---@param def { Q?: any, R?: any, Qf?: any }
---@return sim2d.Law
function ControlLibrary.tvlqr(world, plan, def) end

---Makes a law that plans again at each call.
---@param world sim2d.World
---@param def sim2d.PlanDef
---@return sim2d.Law
function ControlLibrary.planner(world, def) end

---Adds a slider to the live viewer for each gain of a law or weight of a cost.
---@param object sim2d.Law|sim2d.Cost
---@param def? { name?: string, range?: table<string, number[]>, on_change?: fun(name: string, value: number) }
---@return table<string, sim2d.SliderControl>
function ControlLibrary.tune(object, def) end

---Analyses the control loop of a law and a linear model. The result has the Bode plot, the stability margins, the step
---response and the poles.
---@param law any a PID law, an LQR law, or gains
---@param model? sim2d.World|{ A: any, B: any, C?: any, dt?: number }
---@param def? { path?: string, title?: string, output?: any, input?: integer, coordinates?: table[], period?: number, duration?: number, range?: number[] }
---@return sim2d.Panel? panel, string? message
function ControlLibrary.panel(law, model, def) end

---Steps the world until it has been at rest for `hold` seconds. Returns the time at which it came to rest, or nan if it
---did not.
---@param world sim2d.World
---@param at_rest fun(world: sim2d.World): boolean
---@param def { duration: number, hold?: number }
---@return number time s
function ControlLibrary.settling(world, at_rest, def) end

---Finds the starts from which a system comes to rest. It runs a sweep over two parameters.
---@param def { run: function, x: table, y: table, title?: string, common?: any, threads?: integer, seed?: integer, journal?: string, progress?: boolean, time_limit?: number, failures?: string }
---@return sim2d.Basin
function ControlLibrary.basin(def) end

---Runs methods (laws and planners) on tasks, prints a table, and returns its rows.
---@param def? sim2d.BenchmarkDef
---@return sim2d.BenchmarkRow[] rows ordered by task, then by method
function ControlLibrary.benchmark(def) end

---@class sim2d.Fit
---@field parameters table<string, number>
---@field deviation table<string, number> standard errors of the parameters that the data determine
---@field confidence95 table<string, number[]> { low, high } of the 95 % intervals
---@field bias table<string, number>
---@field delays table<string, number> s, fitted delays by actuator
---@field correlation sim2d.Array
---@field undetermined string[][] groups of parameters that the data determine only in combination, or not at all
---@field train number root mean square of the residuals in the fitted rows, in standard deviations
---@field test? number root mean square of the residuals after the split
---@field missing table<string, integer> number of missing samples, which were skipped, keyed by column
---@field held table<string, integer> number of missing commands, which were replaced by the last command
---@field repeated integer number of rows with the same time as the previous row
---@field windows? table[] time, rows and fitted free quantities of each window
---@field scale? number scale of the loss, in standard deviations
---@field status string
---@field message string
---@field iterations integer
---@field rollouts integer

---Fits the parameters of a world to logs of its commands and observations.
---@param def { world: function, data: any, parameters: table, noise?: table, bias?: string[], delays?: table, start?: function, split?: number, report?: string, title?: string, max_iterations?: integer, tolerance?: number, callback?: function, loss?: "l2"|"huber"|"cauchy", scale?: number, windows?: number|table, time_unit?: string|number }
---@return sim2d.Fit
function sim.fit(def) end

---@class sim2d
---@field control sim2d.ControlLibrary

---@class sim2d.ControlHandle
---@field law sim2d.Law
---@field u table the last command
---@field remove fun(self: sim2d.ControlHandle) stops the law

---@class sim2d.World
local World = {}

---Runs a law before each step, or with a given period.
---@param law sim2d.Law|fun(world: sim2d.World, t: number): table
---@param options? { period?: number, delay?: number, log?: boolean, cost?: sim2d.Cost|table }
---@return sim2d.ControlHandle
function World:control(law, options) end

---Returns M and bias of the equation of motion M a + bias = u for the next step.
---@param def? { coordinates?: table[] }
---@return sim2d.Array M, sim2d.Array bias
function World:dynamics(def) end

---Returns the efforts that give the coordinates the desired accelerations over the next step.
---@param def { acceleration: any, coordinates?: table[] }
---@return number[] efforts one for each actuator
function World:inverse_dynamics(def) end

---@class sim2d.LcsOptions
---@field coordinates? "reduced"|(sim2d.Joint|sim2d.Body)[] default "reduced"
---@field inputs? (sim2d.Input|sim2d.Actuator)[] default: all actuators
---@field margin? number m; pairs with gaps up to this value get rows, in addition to the pairs that may touch within the step
---@field impacts? boolean true: rows for impacts at the end of the step; default: true if the present step has an impact

---@class sim2d.LcsContact
---@field a sim2d.Body
---@field b sim2d.Body
---@field point sim2d.Vector
---@field normal sim2d.Vector unit vector from `b` to `a`
---@field gap number m
---@field friction number
---@field rows table<string, integer> indices of the rows: `normal`, and with friction `tangent+`, `tangent-` and `slack`
---@field impact? table<string, integer> indices of the rows of the impact

---@class sim2d.LcsJoint
---@field joint sim2d.Joint
---@field kind "limit_lo"|"limit_hi"|"motor"|"friction"
---@field gap? number m or rad, distance to the limit
---@field rows table<string, integer> indices of the rows: `row`, and for motors and friction `slack`
---@field impact? table<string, integer> indices of the rows of the impact

---x+ = A x + B u + D lambda + d with lambda >= 0 and E x + F lambda + H u + c >= 0. In each row, lambda or the
---inequality's left side is 0.
---@class sim2d.Lcs
---@field A sim2d.Array
---@field B sim2d.Array
---@field D sim2d.Array
---@field d sim2d.Array
---@field E sim2d.Array
---@field F sim2d.Array
---@field H sim2d.Array
---@field c sim2d.Array
---@field x0 sim2d.Array the present state: values of the coordinates, then their speeds
---@field u0 sim2d.Array the present commands; 0 for inputs that are not actuators
---@field lambda0 sim2d.Array lambda of the step from x0 and u0
---@field defect sim2d.Array the part of d at x0 that is not caused by any row
---@field difference sim2d.Array x+ of the world's step from x0 and u0, minus x+ of this system
---@field motion_rows integer number of rows before the rows of the impact
---@field coordinates sim2d.Coordinate[]
---@field contacts sim2d.LcsContact[]
---@field joints sim2d.LcsJoint[]
local Lcs = {}

---Reads the state x of a world.
---@param world sim2d.World the world that the system describes, or a clone
---@return sim2d.Array x
function Lcs:read(world) end

---Solves for the impulses and slacks at x and u with `sim.lcp.solve`. If it finds no solution, it returns nil and the
---status.
---@param x number[]|sim2d.Array
---@param u? number|number[]|sim2d.Array default u0
---@param options? sim2d.LcpOptions
---@return sim2d.Array? lambda
---@return string? status
function Lcs:solve(x, u, options) end

---Returns the state after a step, and the lambda of the step. If it finds no solution, it returns nil and the status.
---@param x number[]|sim2d.Array
---@param u? number|number[]|sim2d.Array default u0
---@param options? sim2d.LcpOptions
---@return sim2d.Array? after
---@return sim2d.Array|string lambda
function Lcs:step(x, u, options) end

---Returns the derivatives of x+ with respect to x and u. The rows with nonzero lambda are treated as active.
---@param lambda number[]|sim2d.Array
---@return sim2d.Array A
---@return sim2d.Array B
function Lcs:linear(lambda) end

---Returns the next step as a linear complementarity system about the present state. Joints are eliminated. Contacts,
---friction, limits and bounded drives become rows. The world does not change.
---@param options? sim2d.LcsOptions
---@return sim2d.Lcs
function World:lcs(options) end
