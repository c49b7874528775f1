---@meta
-- sim.control: laws, costs, planners; world:control, world:dynamics, world:lcs.

---A law: called with the world and the time it gives u, as world:act takes it. Functions are laws, too.
---@class sim2d.Law
---@overload fun(world: sim2d.World, t: number): table
---@field state fun(self: sim2d.Law): table its memory
---@field set_state fun(self: sim2d.Law, state: table)
---@field reset fun(self: sim2d.Law)
---@field copy fun(self: sim2d.Law): sim2d.Law with a memory of its own

---@class sim2d.PidDef
---@field kp? number
---@field ki? number
---@field kd? number
---@field setpoint? number|fun(t: number): number
---@field measure? string|fun(world: sim2d.World): number the name of an observation, or a function
---@field filter? number s, time constant of the derivative
---@field range? number[] {lo, hi}
---@field anti_windup? "clamp"|"back"
---@field actuator? string|sim2d.Actuator

---A term of a cost: a norm of field - goal.
---@class sim2d.CostTerm
---@field name? string may stand first
---@field of? sim2d.Body|sim2d.Joint
---@field field? string|string[]
---@field at? number[] a point of the body, in its frame
---@field residual? fun(world: sim2d.World): number|number[] in place of `of` and `field`
---@field goal? number|number[]
---@field weight? number 1/s; 1
---@field norm? "quadratic"|"l2"|"smooth_abs"|"huber"|"power"
---@field p? number of the norm
---@field wrap? boolean residuals are angles: to -pi .. pi

---@class sim2d.PlanDef
---@field cost sim2d.Cost|table
---@field horizon number s
---@field period? number s between commands; the world's dt
---@field method? "ilqr"|"gradient"|"sampling"|"cem"|"mppi"|"cmaes"|"mixed"
---@field goal? table[] { of =, field =, value = } that hold at the end
---@field u0? any commands to begin with
---@field x0? number[] a state to begin in, as world:state()
---@field iterations? integer
---@field budget? number s; what was done in time is part of recordings
---@field tolerance? number
---@field violation? number
---@field coordinates? table[] joints and bodies of the reduced state
---@field model? sim2d.World another world in place of a clone
---@field knots? integer of the spline that sampling methods choose
---@field spline? "zero"|"linear"|"cubic"
---@field samples? integer
---@field elites? integer of cem
---@field noise? number|number[] first deviations
---@field temperature? number of mppi
---@field seed? integer
---@field starts? integer searches from changes of u0 at random; the best is taken
---@field gradient? "exact"|"smooth"
---@field smoothing? number
---@field show? table of planners: { body or { body, {x, y} }, ..., rollouts = 10 }

---@class sim2d.Plan
---@field u sim2d.Array periods x actuators
---@field x sim2d.Array (periods + 1) x states
---@field K? sim2d.Array[] gains, one a period
---@field cost number
---@field violation number of goals
---@field iterations integer
---@field evaluations integer trajectories looked at
---@field status "converged"|"stuck"|"out of iterations"|"out of time"
---@field unmet string[] names of terms and goals that a stuck plan leaves
---@field message? string why it is stuck
---@field flags string[] what its derivatives met
---@field start integer which of the starts was the best
---@field law fun(self: sim2d.Plan, options?: table): sim2d.Law
local Plan = {}

---@class sim2d.Cost
local Cost = {}

---What each term costs a second now, by name; `controls` for u or for the commands that act.
---@param world sim2d.World
---@param u? table|number
---@return table<string, number>
function Cost:parts(world, u) end

---@return string[]
function Cost:names() end

---Planners have it from their next plan on.
---@param name string of a term, or "controls"
---@param weight? number|number[] a list of controls, one an actuator
---@param terminal? number
function Cost:set_weight(name, weight, terminal) end

---@class sim2d.Panel
---@field w number[] rad/s
---@field magnitude number[] of the open loop
---@field phase number[] degrees
---@field gain_margin number
---@field gain_reduction number
---@field phase_margin number degrees
---@field w_gain? number
---@field w_phase? number
---@field poles number[][] {re, im}
---@field open_poles number[][]
---@field stable boolean
---@field t number[] s
---@field y number[]
---@field overshoot? number
---@field settled? number s
---@field closed_poles fun(factor: number): number[][]
---@field plot sim2d.Plot

---@class sim2d.Basin
---@field after number[][] s, a row for each y; nan where it does not settle
---@field xs number[]
---@field ys number[]
---@field settled integer
---@field starts integer
---@field share number
---@field sweep sim2d.Sweep
---@field plot sim2d.Plot

---@class sim2d.ControlLibrary
local ControlLibrary = {}

---@param def sim2d.PidDef
---@return sim2d.Law
function ControlLibrary.pid(def) end

---u = u0 - K (x - x0) of matrices, or of a world about its present state.
---@param A any or a world
---@param B any or { coordinates =, inputs =, Q =, R =, N =, period =, horizon =, Qf = }
---@return sim2d.Law law with K, P, poles, x0, u0
function ControlLibrary.lqr(A, B, Q, R, N, options) end

---K with which A - B K has these poles.
---@return sim2d.Array
function ControlLibrary.place(A, B, poles) end

---The steady filter of x+ = A x + B u + w, y = C x + v: predict(u), correct(y), update(y, u); L, P, x.
function ControlLibrary.kalman(A, C, W, V, B) end

---@param law sim2d.Law
---@param time_constant number s
---@return sim2d.Law
function ControlLibrary.low_pass(law, time_constant) end

---@param law sim2d.Law
---@param rate number a second
---@return sim2d.Law
function ControlLibrary.rate_limit(law, rate) end

---@param def { points: any[], times: number[], kind?: "linear"|"cubic"|"minimum_jerk" }
function ControlLibrary.reference(def) end

---@param def { coordinates: table[], reference: table, kp?: number, kd?: number }
---@return sim2d.Law
function ControlLibrary.computed_torque(def) end

---@param def table terms, controls =, terminal =
---@return sim2d.Cost
function ControlLibrary.cost(def) end

---@param world sim2d.World
---@param def sim2d.PlanDef
---@return sim2d.Plan
function ControlLibrary.trajectory(world, def) end

---Follows a plan by the gains of its own linear regulator.
---@param world sim2d.World in the state the plan begins in
---@param plan sim2d.Plan
---@param def { Q?: any, R?: any, Qf?: any }
---@return sim2d.Law
function ControlLibrary.tvlqr(world, plan, def) end

---A law that plans again at each call.
---@param world sim2d.World
---@param def sim2d.PlanDef
---@return sim2d.Law
function ControlLibrary.planner(world, def) end

---A slider of the live viewer for each gain or weight.
---@param object sim2d.Law|sim2d.Cost
---@param def? { name?: string, range?: table<string, number[]>, on_change?: fun(name: string, value: number) }
---@return table<string, sim2d.SliderControl>
function ControlLibrary.tune(object, def) end

---The loop of a law and a linear model: Bode, margins, step response, poles.
---@param law any a pid, an lqr, or gains
---@param model? sim2d.World|{ A: any, B: any, C?: any, dt?: number }
---@param def? { path?: string, title?: string, output?: any, input?: integer, coordinates?: table[], period?: number, duration?: number, range?: number[] }
---@return sim2d.Panel? panel, string? message
function ControlLibrary.panel(law, model, def) end

---Steps the world until it has been at rest for `hold`; after how long that was, s, or nan.
---@param world sim2d.World
---@param at_rest fun(world: sim2d.World): boolean
---@param def { duration: number, hold?: number }
---@return number
function ControlLibrary.settling(world, at_rest, def) end

---From which starts it comes to rest.
---@param def { run: function, x: table, y: table, title?: string, common?: any, threads?: integer, seed?: integer, journal?: string, progress?: boolean, time_limit?: number, failures?: string }
---@return sim2d.Basin
function ControlLibrary.basin(def) end

---@class sim2d.Fit
---@field parameters table<string, number>
---@field deviation table<string, number> standard errors, of what is determined
---@field confidence95 table<string, number[]> { low, high }
---@field bias table<string, number>
---@field delays table<string, number> s
---@field correlation sim2d.Array
---@field undetermined string[][] names that the data see together only, or not at all
---@field train number rms of the residuals, in deviations
---@field test? number the same after the split
---@field missing table<string, integer> samples that were left out, by column
---@field held table<string, integer> commands that are missing, where the last one holds
---@field repeated integer rows that have the time of the row before
---@field windows? table[] t, rows and what is free, of each window
---@field scale? number of the loss, in deviations
---@field status string
---@field message string
---@field iterations integer
---@field rollouts integer

---Parameters of a world from logs of its commands and observations.
---@param def { world: function, data: any, parameters: table, noise?: table, bias?: string[], delays?: table, start?: function, split?: number, report?: string, title?: string, max_iterations?: integer, tolerance?: number, callback?: function, loss?: "l2"|"huber"|"cauchy", scale?: number, windows?: number|table, time_unit?: string|number }
---@return sim2d.Fit
function sim.fit(def) end

---@class sim2d
---@field control sim2d.ControlLibrary

---@class sim2d.ControlHandle
---@field law sim2d.Law
---@field u table the last command
---@field remove fun(self: sim2d.ControlHandle)

---@class sim2d.World
local World = {}

---Runs a law before each step, or at its own period.
---@param law sim2d.Law|fun(world: sim2d.World, t: number): table
---@param options? { period?: number, delay?: number, log?: boolean, cost?: sim2d.Cost|table }
---@return sim2d.ControlHandle
function World:control(law, options) end

---M and bias of M a + bias = u for the next step.
---@param def? { coordinates?: table[] }
---@return sim2d.Array M, sim2d.Array bias
function World:dynamics(def) end

---The efforts, one an actuator, with which coordinates have these accelerations over the next step.
---@param def { acceleration: any, coordinates?: table[] }
---@return number[]
function World:inverse_dynamics(def) end

---@class sim2d.LcsOptions
---@field coordinates? "reduced"|(sim2d.Joint|sim2d.Body)[] default "reduced"
---@field inputs? (sim2d.Input|sim2d.Actuator)[] default: all actuators
---@field margin? number m: gaps up to here have rows, beside what may meet within the step
---@field impacts? boolean rows for the end of steps that something strikes in; default: as the step at hand has one

---@class sim2d.LcsContact
---@field a sim2d.Body
---@field b sim2d.Body
---@field point sim2d.Vector
---@field normal sim2d.Vector from b to a
---@field gap number m
---@field friction number
---@field rows table<string, integer> normal; with friction also tangent+, tangent-, slack
---@field impact? table<string, integer> the same of the impact

---@class sim2d.LcsJoint
---@field joint sim2d.Joint
---@field kind "limit_lo"|"limit_hi"|"motor"|"friction"
---@field gap? number to the limit, m or rad
---@field rows table<string, integer> row; of motors and friction also slack
---@field impact? table<string, integer> the same of the impact

---x+ = A x + B u + D lambda + d with 0 <= lambda, E x + F lambda + H u + c >= 0, one of both 0 in each row.
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
---@field u0 sim2d.Array the present commands; 0 of inputs that are no actuators
---@field lambda0 sim2d.Array of the step from there
---@field defect sim2d.Array of x+ there: what d has that no row brings
---@field difference sim2d.Array x+ of the world's own step from there, less x+ of the system
---@field motion_rows integer rows before those of the impact
---@field coordinates sim2d.Coordinate[]
---@field contacts sim2d.LcsContact[]
---@field joints sim2d.LcsJoint[]
local Lcs = {}

---x of the world it is of, or of a clone.
---@param world sim2d.World
---@return sim2d.Array x
function Lcs:read(world) end

---Impulses and slacks at x and u, by `sim.lcp.solve`; or nil and its status.
---@param x number[]|sim2d.Array
---@param u? number|number[]|sim2d.Array default u0
---@param options? sim2d.LcpOptions
---@return sim2d.Array? lambda
---@return string? status
function Lcs:solve(x, u, options) end

---The state after a step and lambda in it; or nil and why there is none.
---@param x number[]|sim2d.Array
---@param u? number|number[]|sim2d.Array default u0
---@param options? sim2d.LcpOptions
---@return sim2d.Array? after
---@return sim2d.Array|string lambda
function Lcs:step(x, u, options) end

---How x+ follows x and u while those rows press in which lambda is not 0.
---@param lambda number[]|sim2d.Array
---@return sim2d.Array A
---@return sim2d.Array B
function Lcs:linear(lambda) end

---The next step as a linear complementarity system about the present state, joints eliminated: contacts, friction,
---limits and bounded drives are its rows. The world stays as it is.
---@param options? sim2d.LcsOptions
---@return sim2d.Lcs
function World:lcs(options) end
