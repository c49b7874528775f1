---@meta sim2d
-- What editors with the Lua language server know about sim2d. Never loaded by a program; a test
-- compares it with what the library really offers. Units are SI, angles are in rad and
-- counter-clockwise, y points up.

---Two numbers; also read as `.x` and `.y`.
---@alias sim2d.XY number[]|{ x: number, y: number }|sim2d.Vector

---A vector the engine returned: read-only, with + - * / and #. To change the field it came from,
---assign a whole vector to that.
---@class sim2d.Vector
---@field [integer] number
---@field x number
---@field y number
---@operator add(sim2d.XY): sim2d.Vector
---@operator sub(sim2d.XY): sim2d.Vector
---@operator mul(number): sim2d.Vector
---@operator div(number): sim2d.Vector
---@operator unm: sim2d.Vector
---@operator len: integer

---{angular, x, y}
---@class sim2d.Momentum: sim2d.Vector
---@field angular number

---@alias sim2d.Solver "auto"|"closed"|"pdipm"|"lemke"|"newton"|"al"|"ncp"|"nsgs"|"pgs"|"si"|"nncg"|"pcg"
---@alias sim2d.BodyType "dynamic"|"static"|"kinematic"
---@alias sim2d.Combine "geometric"|"average"|"multiply"|"min"|"max"

-- ---- sim ----------------------------------------------------------------------------------------

---@class sim2d
---@field version string
---@field random sim2d.Random
---@field ncp sim2d.Ncp
---@field lcp sim2d.Lcp
---@field kkt sim2d.Kkt
---@field mlcp sim2d.Mlcp
---@field contact sim2d.ContactLibrary
---@field problem sim2d.ProblemLibrary
---@field qp sim2d.Qp
---@field lp sim2d.Lp
local sim = {}

---Creates a world.
---@param def? sim2d.WorldDef
---@return sim2d.World
function sim.world(def) end

---The solvers, each with its name and a line about it.
---@return { name: string, summary: string }[]
function sim.solvers() end

---Is the file that asks the script being run (and not required by another)?
---@return boolean
function sim.is_main() end

---Seconds of a clock that never goes back; where it starts is arbitrary.
---@return number
function sim.clock() end

---Inside a coroutine started by `world:start`: waits for simulated time, in s.
---@param seconds number
function sim.wait(seconds) end

---Declares options and reads them from the command line: `sim.options{ mu = {0.5, "friction"} }`
---takes `--mu 0.3`, `--mu=0.3` after the script. Types follow the defaults. What is read is taken
---out of the global `arg`. `--help` prints the options and exits.
---@param declared table<string, number|boolean|string|{ [1]: number|boolean|string, [2]: string? }>
---@return table<string, any> values
function sim.options(declared) end

---Prints rows as an aligned table. Rows are lists, or have names as keys.
---@param def { columns?: (string|{ [1]: string, format: string? })[], [integer]: table }
function sim.table(def) end

---`for i in sim.progress(n) do ... end` counts from 1 to n and shows a bar on a terminal.
---@param n integer
---@return sim2d.Progress
function sim.progress(n) end

---@class sim2d.Progress
---@overload fun(): integer?
local Progress = {}

---@param done number of the n
function Progress:update(done) end

---Clears the bar.
function Progress:done() end

---Linear complementarity problems: z >= 0, w = M z + q >= 0, z'w = 0.
---@class sim2d.Lcp
local Lcp = {}

---@alias sim2d.LcpSolver "auto"|"lemke"|"bpp"|"enumerate"|"pgs"|"newton"|"pdipm"

---@class sim2d.LcpOptions
---@field solver? sim2d.LcpSolver
---@field tolerance? number of max |min(z, w)| / max(1, max |q|); 1e-9
---@field max_iterations? integer of each method tried
---@field omega? number over-relaxation of "pgs", below 2; 1
---@field history? boolean fills info.history
---@field kappa? number above 0: the point with z_i w_i = kappa, smooth in M and q ("auto", "pdipm")

---@class sim2d.LcpInfo
---@field status "solved"|"ray"|"infeasible"|"max_iterations"|"singular"|"unsupported"
---@field solver sim2d.LcpSolver whose answer this is
---@field iterations integer
---@field residual number max |min(z, w)|, with kappa max |z w - kappa|
---@field time number s
---@field kappa? number as asked for
---@field ray? number[] along which Lemke's method went off to infinity
---@field history? { residual: number, step: number, mu: number }[]

---Gives z, w and info, or nil, a status and info when the problem is not solved.
---@param M number[][]|sim2d.SparseMatrix
---@param q number[]
---@param options? sim2d.LcpOptions
---@return number[]? z
---@return number[]|string w
---@return sim2d.LcpInfo info
function Lcp.solve(M, q, options) end

---@class sim2d.LcpGradient
---@field M number[][]
---@field q number[]
---@field regular boolean false: there is no such derivative, the numbers are the least-norm answer

---How a loss follows M and q, from how it follows z at a solution. With the kappa of the solve.
---@param M number[][]
---@param q number[]
---@param z number[]
---@param dl_dz number[]
---@param options? { kappa?: number }
---@return sim2d.LcpGradient
function Lcp.vjp(M, q, z, dl_dz, options) end

---@return { name: sim2d.LcpSolver, summary: string }[]
function Lcp.solvers() end

---Reads a .lcp file: M and q, or nil and a message.
---@param path string
---@return number[][]? M
---@return number[]|string q
function Lcp.read(path) end

---Writes a .lcp file: true, or nil and a message.
---@param path string
---@param M number[][]
---@param q number[]
---@return true?
---@return string? message
function Lcp.write(path, M, q) end

---Mixed linear complementarity problems: A u + C v + a = 0, w = D u + B v + b >= 0, v >= 0, v'w = 0.
---@class sim2d.Mlcp
local Mlcp = {}

---What is absent has no rows or columns.
---@class sim2d.MlcpDef
---@field A? number[][]
---@field B? number[][]
---@field C? number[][]
---@field D? number[][]
---@field a? number[]
---@field b? number[]
---@field lo? number[] lo <= v, where w >= 0; -math.huge: none. Absent: 0
---@field hi? number[] v <= hi, where w <= 0; math.huge: none. Absent: none
---@field tolerance? number of the residual / max(1, max |a|, max |b|); 1e-9
---@field max_iterations? integer of the interior point; 100
---@field history? boolean fills info.history
---@field kappa? number above 0: the point of the central path v_i w_i = kappa, smooth in all data

---@class sim2d.MlcpInfo
---@field status "solved"|"ray"|"infeasible"|"max_iterations"|"singular"|"unsupported"
---@field iterations integer
---@field residual number max |A u + C v + a| and |min(v, w)|, or |v - clip(v - w, lo, hi)|
---@field r_vio number max |A u + C v + a|
---@field b_vio number max |v w|, with kappa |v w - kappa|
---@field time number s
---@field kappa? number as asked for
---@field w? number[] when solved
---@field certificate? { a: number[], b: number[] } when infeasible
---@field history? { residual: number, step: number, mu: number }[]

---Gives u, v and info, or nil, a status and info when the problem is not solved.
---@param def sim2d.MlcpDef
---@return number[]? u
---@return number[]|string v
---@return sim2d.MlcpInfo info
function Mlcp.solve(def) end

---@class sim2d.MlcpGradient what the problem has of these
---@field A? number[][]
---@field B? number[][]
---@field C? number[][]
---@field D? number[][]
---@field a? number[]
---@field b? number[]
---@field lo? number[]
---@field hi? number[]
---@field regular boolean false: there is no such derivative, the numbers are the least-norm answer

---How a loss follows the data, from how it follows u and v; u, v and info as the solve gave them.
---@param def sim2d.MlcpDef
---@param u number[]
---@param v number[]
---@param info sim2d.MlcpInfo
---@param dl { u?: number[], v?: number[] }
---@return sim2d.MlcpGradient
function Mlcp.vjp(def, u, v, info, dl) end

---Step problems that --dump-problems has written.
---@class sim2d.ProblemLibrary
local ProblemLibrary = {}

---@class sim2d.ProblemOptions
---@field solver? sim2d.Solver "auto"
---@field tolerance? number of the scaled residual; 1e-9
---@field max_iterations? integer of the interior point, others scale from it; 100
---@field omega? number over-relaxation of "pgs" and "si", below 2; 1
---@field history? boolean fills info.history

---Gives impulses, velocities and info, or nil, a status and info, or nil and a message.
---@param path string
---@param options? sim2d.ProblemOptions
---@return number[]? lambda
---@return number[]|string v
---@return table? info
function ProblemLibrary.solve(path, options) end

---Frictional contact given as matrices: u = W r + q, or M v = H r + q and u = H'v + bias.
---@class sim2d.ContactLibrary
local ContactLibrary = {}

---@alias sim2d.SparseMatrix { rows: integer, columns: integer, i: integer[], j: integer[], v: number[] }
---@alias sim2d.Matrix number[][]|number[]|sim2d.SparseMatrix rows, the diagonal, or v[k] at (i[k], j[k])

---Either W, q, mu or M, H, q, bias, mu.
---@class sim2d.ContactProblem
---@field W? sim2d.Matrix Delassus matrix
---@field M? sim2d.Matrix
---@field H? sim2d.Matrix
---@field q number[] velocities without impulses; with M: momentum
---@field bias? number[] velocities, with M only
---@field mu number[]|number friction coefficients
---@field solver? string as of worlds; "auto"
---@field tolerance? number of the scaled residual; 1e-9
---@field max_iterations? integer of the interior point, others scale from it; 50
---@field r0? number[] impulses to start from
---@field omega? number over-relaxation of "pgs" and "si", below 2; 1
---@field history? boolean fills info.history

---@class sim2d.ContactInfo
---@field status "solved"|"ray"|"infeasible"|"max_iterations"|"singular"|"unsupported"
---@field solver string whose answer this is
---@field iterations integer
---@field residual number scaled
---@field complementarity number max |min(r_n, u_n)|
---@field cone number by how much tangential impulses miss Coulomb's law
---@field time number s
---@field v? number[] with M, when solved
---@field history? { residual: number, step: number, mu: number }[]

---Gives impulses, velocities and info, or nil, a status and info when the problem is not solved.
---@param problem sim2d.ContactProblem
---@return number[]? r
---@return number[]|string u
---@return sim2d.ContactInfo info
function ContactLibrary.solve(problem) end

---Reads a file of a contact problem, or gives nil and a message.
---@param path string
---@return sim2d.ContactProblem?
---@return string? message
function ContactLibrary.read(path) end

---Writes a problem to a file: true, or nil and a message.
---@param path string
---@param problem sim2d.ContactProblem
---@return true?
---@return string? message
function ContactLibrary.write(path, problem) end

---Linear systems of bilateral rows: W v - J' lambda = c, J v + C lambda + b = 0.
---@class sim2d.Kkt
local Kkt = {}

---@alias sim2d.KktSolver "ldl"|"schur"|"cg"|"minres"

---@class sim2d.KktDef
---@field W sim2d.Matrix symmetric positive definite
---@field J? sim2d.Matrix
---@field C? number[] the diagonal, >= 0; absent: 0
---@field c number[]
---@field b? number[]
---@field solver? sim2d.KktSolver "ldl"
---@field tolerance? number of the residual; 1e-9
---@field max_iterations? integer passes of refinement, or steps of "cg" and "minres"
---@field history? boolean fills info.history

---@class sim2d.KktInfo
---@field status "solved"|"infeasible"|"max_iterations"|"singular"|"unsupported"
---@field solver sim2d.KktSolver
---@field iterations integer
---@field residual number in parts of the largest |c_i / W_ii| and |b_k|
---@field time number s
---@field certificate? number[] when infeasible: y with J'y = 0, C y = 0, b'y > 0
---@field history? { residual: number, step: number, mu: number }[]

---Gives v, lambda and info, or nil, a status and info when the system is not solved.
---@param def sim2d.KktDef
---@return number[]? v
---@return number[]|string lambda
---@return sim2d.KktInfo info
function Kkt.solve(def) end

---@return { name: sim2d.KktSolver, summary: string }[]
function Kkt.solvers() end

---Convex quadratic programs: min 1/2 x'P x + q'x with A x = b, G x <= h.
---@class sim2d.Qp
local Qp = {}

---@class sim2d.QpDef
---@field P? number[][] positive semidefinite; absent: a linear program
---@field q number[]
---@field A? number[][]
---@field b? number[]
---@field G? number[][]
---@field h? number[] math.huge: no condition
---@field tolerance? number of the residual; 1e-9
---@field max_iterations? integer 100
---@field history? boolean fills info.history
---@field kappa? number above 0: the point of the central path z_i (h - G x)_i = kappa

---@class sim2d.QpInfo
---@field status "solved"|"infeasible"|"max_iterations"|"singular"|"unsupported"
---@field iterations integer
---@field residual number the largest of primal, dual and complementarity
---@field primal number violation of a constraint, in parts of max(1, its right side)
---@field dual number violation of P x + q + A'y + G'z = 0, in parts of max(1, max |q|)
---@field complementarity number |min(z, h - G x)| of a row, in parts of max(1, |h|); with kappa
---|z (h - G x) - kappa|
---@field r_vio number the larger of primal and dual
---@field b_vio number complementarity
---@field time number s
---@field kappa? number as asked for
---@field objective? number when solved
---@field y? number[] multipliers of A x = b, when solved
---@field z? number[] multipliers of G x <= h, when solved
---@field unbounded? boolean when infeasible: no best point, because the objective falls for ever
---@field direction? number[] along which it does
---@field certificate? { y: number[], z: number[] } when infeasible and not unbounded
---@field history? { residual: number, step: number, mu: number }[]

---Gives x and info, or nil, a status and info when the program is not solved.
---@param def sim2d.QpDef
---@return number[]? x
---@return sim2d.QpInfo|string info
---@return sim2d.QpInfo? info
function Qp.solve(def) end

---@class sim2d.QpGradient what the program has of these
---@field P? number[][] symmetric, as only P + P' counts
---@field q number[]
---@field A? number[][]
---@field b? number[]
---@field G? number[][]
---@field h? number[]
---@field regular boolean false: there is no such derivative, the numbers are the least-norm answer

---How a loss follows the data, from how it follows x and the multipliers; x, info: of the solve.
---@param def sim2d.QpDef
---@param x number[]
---@param info sim2d.QpInfo
---@param dl { x?: number[], y?: number[], z?: number[] }
---@return sim2d.QpGradient
function Qp.vjp(def, x, info, dl) end

---Linear programs: min c'x with A_ub x <= b_ub, A_eq x = b_eq, lo <= x <= hi.
---@class sim2d.Lp
local Lp = {}

---@class sim2d.LpDef
---@field c number[]
---@field A_ub? number[][]
---@field b_ub? number[]
---@field A_eq? number[][]
---@field b_eq? number[]
---@field bounds? number[][] {lo, hi} for each x, infinite or nil: none; without `bounds` all x >= 0
---@field tolerance? number of the residual; 1e-9
---@field max_iterations? integer 100
---@field history? boolean fills info.history
---@field kappa? number above 0: the point of the central path, multipliers times slacks = kappa

---@class sim2d.LpInfo: sim2d.QpInfo
---@field lower? number[] multipliers of the lower bounds, when solved
---@field upper? number[] multipliers of the upper bounds, when solved

---Gives x and info, or nil, a status and info when the program is not solved.
---@param def sim2d.LpDef
---@return number[]? x
---@return sim2d.LpInfo|string info
---@return sim2d.LpInfo? info
function Lp.solve(def) end

---@class sim2d.LpGradient what the program has of these
---@field c number[]
---@field A_ub? number[][]
---@field b_ub? number[]
---@field A_eq? number[][]
---@field b_eq? number[]
---@field bounds? number[][] dl/dlo and dl/dhi of each x
---@field regular boolean false: there is no such derivative, the numbers are the least-norm answer

---How a loss follows the data, from how it follows x and the multipliers; x, info: of the solve.
---@param def sim2d.LpDef
---@param x number[]
---@param info sim2d.LpInfo
---@param dl { x?: number[], y?: number[], z?: number[], lower?: number[], upper?: number[] }
---@return sim2d.LpGradient
function Lp.vjp(def, x, info, dl) end

---Nonlinear complementarity problems over cones: c(x, y, z; theta) = 0, y o z = kappa e, y and z in
---nonnegative numbers and second-order cones.
---@class sim2d.Ncp
local Ncp = {}

---@alias sim2d.NcpFunction fun(x: number[], y: number[], z: number[], theta: number[]): table

---@class sim2d.NcpOptions
---@field r_tol? number on r_vio; 1e-8
---@field b_tol? number on b_vio; 1e-8
---@field kappa? number the final kappa; 0. Above 0 solutions vary smoothly with theta
---@field max_iter? integer 50
---@field ls_scale? number of a refused step; 0.5
---@field max_ls? integer steps tried; 25
---@field undercut? number kappa is not aimed below b_tol / undercut; 5, math.huge: no such floor
---@field no_progress_max? integer steps in excess without progress before undercut grows; 3
---@field no_progress_undercut? number factor of undercut then; 10
---@field reg? number added to y and z in a matrix that shows no way; 1e-10

---@class sim2d.NcpDef
---@field residual sim2d.NcpFunction returns c, a list: dimensions of x + size of the cones
---@field jacobian? sim2d.NcpFunction returns dc/d(x, y, z), rows of numbers; else differences
---@field theta_jacobian? sim2d.NcpFunction returns dc/dtheta; else differences
---@field cones? { orthant?: integer, soc?: integer[] } y and z: numbers >= 0, then cones by size
---@field rotations? integer[] where in x each planar rotation (cos, sin) begins
---@field quaternions? integer[] where in x each unit quaternion (w, x, y, z) begins
---@field x0? number[] start; its length is that of x
---@field theta? number[]
---@field options? sim2d.NcpOptions
---@field history? boolean fills info.history
---@field dw_dtheta? boolean fills info.dw_dtheta
---@field dl_dw? { x?: number[], y?: number[], z?: number[] } fills info.dl_dtheta

---@class sim2d.NcpInfo
---@field status "solved"|"max_iterations"|"singular"
---@field iterations integer
---@field residual number the larger of r_vio and b_vio
---@field r_vio number max |c|
---@field b_vio number max |y o z - kappa e|
---@field time number s
---@field history? { residual: number, step: number, mu: number }[]
---@field dw_dtheta? number[][] rows for x, y, z; nil where there is no derivative
---@field dl_dtheta? number[] dl_dw times dw_dtheta; nil likewise
---@field x? number[] the last point of a problem that was not solved
---@field y? number[]
---@field z? number[]

---Gives x, y, z and info, or nil, a status and info when the problem is not solved.
---@param def sim2d.NcpDef
---@return number[]? x
---@return number[]|string y
---@return number[]|sim2d.NcpInfo z
---@return sim2d.NcpInfo? info
function Ncp.solve(def) end

---Random numbers, the same on every machine for the same seed (`--seed`).
---`sim.random` itself takes a dot as well: `sim.random.uniform()`.
---@class sim2d.Random
local Random = {}

---Uniform in [lo, hi), by default [0, 1).
---@param lo? number
---@param hi? number
---@return number
function Random:uniform(lo, hi) end

---@param mean? number
---@param deviation? number
---@return number
function Random:normal(mean, deviation) end

---An integer from lo to hi, both included.
---@param lo integer with one argument: the upper end, from 1
---@param hi? integer
---@return integer
function Random:integer(lo, hi) end

---@generic T
---@param list T[]
---@return T
function Random:choice(list) end

---Shuffles a list in place and returns it.
---@generic T
---@param list T[]
---@return T[]
function Random:shuffle(list) end

---An independent generator.
---@return sim2d.Random
function Random:split() end

---Starts again from a seed.
---@param seed integer
function Random:seed(seed) end

-- ---- World --------------------------------------------------------------------------------------

---Settings of a world, which are fields of it too. Those with one value so far are there because
---more is to come.
---@class sim2d.WorldDef
---@field gravity? sim2d.XY m/s^2, default {0, -9.81}
---@field dt? number s, default 1/120
---@field solver? sim2d.Solver default "auto"
---@field contact? "coulomb"|"frictionless" default "coulomb"
---@field stepping? "speculative"|"bisect" default "speculative"
---@field stabilization? "projection"|"none" default "projection"
---@field tolerance? number of the scaled residual, default 1e-9
---@field max_iterations? integer default 100
---@field contact_margin? number m: bodies closer than this are reported as in contact
---@field restitution_model? "newton"
---@field post_stabilization? boolean false: the same as stabilization = "none"
---@field alpha? number 0 to 1: part of the forces taken at the end of the step, default 1
---@field beta? number 0 to 1: part of the velocity at the end of the step that moves bodies, default 1
---@field formulation? "velocity"|"acceleration"|"variation" default "velocity"
---@field elasticity? "compliance"|"stiffness" default "compliance"
---@field geometric_stiffness? "off"|"on"|"psd" default "off"
---@field gradient? "exact"
---@field smoothing? number
---@field substeps? 1
---@field nonlinear? false
---@field sleeping? false
---@field linear_solver? "auto"
---@field combine_friction? sim2d.Combine default "geometric"
---@field combine_restitution? sim2d.Combine default "average"

---@class sim2d.World: sim2d.WorldDef
---@field gravity sim2d.Vector
---@field time number s, read-only
---@field bodies table<integer|string, sim2d.Body> in creation order, and by name
---@field joints table<integer|string, sim2d.Joint> in creation order, and by name
local World = {}

---Keys all bodies share.
---@class sim2d.BodyDef
---@field position? sim2d.XY m
---@field angle? number
---@field velocity? sim2d.XY m/s, of the centre of mass
---@field angular_velocity? number rad/s
---@field mass? number kg
---@field density? number kg/m^2, default 1; used where there is no mass
---@field inertia? number kg m^2 about the centre of mass
---@field restitution? number default 0
---@field friction? number default 0.5
---@field linear_damping? number 1/s
---@field angular_damping? number 1/s
---@field gravity_scale? number default 1
---@field surface_speed? number m/s, of a conveyor belt
---@field type? sim2d.BodyType default "dynamic"
---@field name? string
---@field color? string "#rrggbb", "#rrggbbaa" or a name
---@field category? integer bits
---@field mask? integer bits of the categories it touches
---@field sensor? boolean reports contacts but does not push
---@field enabled? boolean
---@field data? any the script's own

---@class sim2d.CircleDef: sim2d.BodyDef
---@field radius number m

---@class sim2d.BoxDef: sim2d.BodyDef
---@field size sim2d.XY m, full width and height
---@field radius? number m, of rounded corners

---@class sim2d.PolygonDef: sim2d.BodyDef
---@field vertices sim2d.XY[] m; concave outlines are cut into convex pieces
---@field hull? boolean take the convex hull instead

---@class sim2d.CapsuleDef: sim2d.BodyDef
---@field length number m, between the centres of the caps, along the body's x axis
---@field radius number m

---@class sim2d.SegmentDef: sim2d.BodyDef
---@field from sim2d.XY m
---@field to sim2d.XY m

---@class sim2d.ChainDef: sim2d.BodyDef
---@field points sim2d.XY[] m
---@field loop? boolean

---@class sim2d.CompoundDef: sim2d.BodyDef
---@field shapes table[]

---@param def sim2d.CircleDef
---@return sim2d.Body
function World:circle(def) end

---@param def sim2d.BoxDef
---@return sim2d.Body
function World:box(def) end

---@param def sim2d.PolygonDef
---@return sim2d.Body
function World:polygon(def) end

---@param def sim2d.CapsuleDef
---@return sim2d.Body
function World:capsule(def) end

---A straight piece of static ground.
---@param def sim2d.SegmentDef
---@return sim2d.Body
function World:segment(def) end

---Static terrain along points, without collisions at the inner corners.
---@param def sim2d.ChainDef
---@return sim2d.Body
function World:chain(def) end

---One body of several shapes.
---@param def sim2d.CompoundDef
---@return sim2d.Body
function World:compound(def) end

---Keys all joints share.
---@class sim2d.JointDef
---@field collide? boolean do the two bodies still touch, default false
---@field break_force? number N: more than that over a step breaks it
---@field name? string

---Keys of joints between two bodies, one of which may be the world.
---@class sim2d.PairDef: sim2d.JointDef
---@field [1] sim2d.Body? nil: the world
---@field [2] sim2d.Body?
---@field a? sim2d.Body
---@field b? sim2d.Body

---Compliances or dampings: one number, one for lengths and one for angles, or a matrix.
---@alias sim2d.Weights number|{ linear?: number, angular?: number }|number[][]

---@class sim2d.HingeDef: sim2d.PairDef
---@field anchor sim2d.XY m, world coordinates
---@field limits? number[] {lo, hi}, rad or m
---@field friction? number N m or N, dry
---@field motor? { speed: number, max_torque?: number } rad/s, N m
---@field compliance? sim2d.Weights m/N, rad/(N m); default 0, rigid
---@field damping? sim2d.Weights N s/m, N m s/rad

---Two bodies turn about a common point.
---@param def sim2d.HingeDef
---@return sim2d.Joint
function World:hinge(def) end

---@class sim2d.WeldDef: sim2d.PairDef
---@field anchor sim2d.XY m, world coordinates
---@field compliance? sim2d.Weights m/N, rad/(N m); default 0, rigid
---@field damping? sim2d.Weights N s/m, N m s/rad

---Two bodies move as one.
---@param def sim2d.WeldDef
---@return sim2d.Joint
function World:weld(def) end

---@class sim2d.SliderDef: sim2d.PairDef
---@field anchor sim2d.XY m, world coordinates
---@field axis sim2d.XY direction in world coordinates, fixed in b
---@field limits? number[] {lo, hi}, rad or m
---@field friction? number N m or N, dry
---@field motor? { speed: number, max_force?: number } m/s, N
---@field compliance? sim2d.Weights m/N, rad/(N m); default 0, rigid
---@field damping? sim2d.Weights N s/m, N m s/rad

---a moves along an axis of b and does not turn against it.
---@param def sim2d.SliderDef
---@return sim2d.Joint
function World:slider(def) end

---@class sim2d.WheelDef: sim2d.PairDef
---@field anchor sim2d.XY m, world coordinates
---@field axis sim2d.XY direction in world coordinates, fixed in b
---@field limits? number[] {lo, hi}, rad or m
---@field friction? number N m or N, dry
---@field motor? { speed: number, max_torque?: number } rad/s, N m
---@field stiffness number N/m
---@field damping? number N s/m

---a moves along an axis of b on a damped spring, and turns freely.
---@param def sim2d.WheelDef
---@return sim2d.Joint
function World:wheel(def) end

---@class sim2d.DistanceDef: sim2d.PairDef
---@field anchor_a? sim2d.XY m, world coordinates; the centre of mass
---@field anchor_b? sim2d.XY
---@field length? number m, default as now
---@field compliance? sim2d.Weights m/N, rad/(N m); default 0, rigid
---@field damping? sim2d.Weights N s/m, N m s/rad

---Two points stay as far apart as they are.
---@param def sim2d.DistanceDef
---@return sim2d.Joint
function World:distance(def) end

---@class sim2d.SpringDef: sim2d.PairDef
---@field anchor_a? sim2d.XY m, world coordinates; the centre of mass
---@field anchor_b? sim2d.XY
---@field rest_length? number m, default as now
---@field limits? number[] {lo, hi}, rad or m
---@field friction? number N m or N, dry
---@field motor? { speed: number, max_force?: number } m/s, N
---@field stiffness number N/m
---@field damping? number N s/m

---Two points pulled or pushed to a distance.
---@param def sim2d.SpringDef
---@return sim2d.Joint
function World:spring(def) end

---@class sim2d.RopeDef: sim2d.PairDef
---@field anchor_a? sim2d.XY m, world coordinates; the centre of mass
---@field anchor_b? sim2d.XY
---@field max_length? number m, default as now

---Two points are at most so far apart.
---@param def sim2d.RopeDef
---@return sim2d.Joint
function World:rope(def) end

---@class sim2d.GearDef: sim2d.JointDef
---@field [1] sim2d.Joint?
---@field [2] sim2d.Joint?
---@field joint_a? sim2d.Joint
---@field joint_b? sim2d.Joint
---@field ratio? number default 1
---@field compliance? sim2d.Weights m/N, rad/(N m); default 0, rigid
---@field damping? sim2d.Weights N s/m, N m s/rad

---Coordinate of joint_a + ratio * coordinate of joint_b stays.
---@param def sim2d.GearDef
---@return sim2d.Joint
function World:gear(def) end

---@class sim2d.LockDef: sim2d.JointDef
---@field [1] sim2d.Body?
---@field body? sim2d.Body
---@field x? boolean
---@field y? boolean
---@field angle? boolean
---@field velocity? sim2d.XY m/s
---@field angular_velocity? number rad/s
---@field compliance? sim2d.Weights m/N, rad/(N m); default 0, rigid
---@field damping? sim2d.Weights N s/m, N m s/rad

---Holds x, y or angle of a body where they are, or moves them.
---@param def sim2d.LockDef
---@return sim2d.Joint
function World:lock(def) end

---@class sim2d.MouseDef: sim2d.JointDef
---@field [1] sim2d.Body?
---@field body? sim2d.Body
---@field target sim2d.XY m, world coordinates
---@field anchor? sim2d.XY m, world coordinates; the centre of mass
---@field stiffness number N/m
---@field damping? number N s/m

---Pulls a point of a body to a target.
---@param def sim2d.MouseDef
---@return sim2d.Joint
function World:mouse(def) end

---Two bodies that never touch.
---@param a sim2d.Body
---@param b sim2d.Body
function World:no_contact(a, b) end

-- Running

---Advances by n steps, default 1.
---@param n? integer
function World:step(n) end

---@class sim2d.RunDef
---@field duration? number s
---@field steps? integer
---@field until_? fun(world: sim2d.World): boolean asked after each step; true ends the run
---@field progress? boolean a bar on a terminal

---Returns how many steps were made.
---@param def sim2d.RunDef
---@return integer
function World:run(def) end

---`for t in world:steps(2) do ... end`: one step each time round, for a duration in s.
---@param duration number
---@return fun(): number?
function World:steps(duration) end

---Called before each step, for controllers. An error undoes the step.
---@param fn fun(world: sim2d.World, t: number, dt: number)
---@return sim2d.Handle
function World:before_step(fn) end

---@param fn fun(world: sim2d.World, t: number, dt: number)
---@return sim2d.Handle
function World:after_step(fn) end

---Calls fn every `period` s of simulated time.
---@param period number
---@param fn fun(world: sim2d.World, t: number)
---@return sim2d.Handle
function World:every(period, fn) end

---Calls fn at a simulated time, in s.
---@param t number
---@param fn fun(world: sim2d.World, t: number)
---@return sim2d.Handle
function World:at(t, fn) end

---Runs fn as a coroutine on simulated time; `sim.wait(s)` inside it waits.
---@param fn fun(world: sim2d.World)
---@return sim2d.Handle
function World:start(fn) end

---@alias sim2d.EventName
---| "contact_begin"
---| "contact_end"
---| "contact_impulse"
---| "sensor_begin"
---| "sensor_end"
---| "joint_break"
---| "solver_warning"

---@class sim2d.Event
---@field type sim2d.EventName
---@field a? sim2d.Body
---@field b? sim2d.Body
---@field point? sim2d.Vector
---@field normal? sim2d.Vector from b to a
---@field normal_impulse? number N s
---@field tangent_impulse? number N s
---@field speed? number m/s, of approach before the step
---@field joint? sim2d.Joint that broke
---@field force? number N, that broke it
---@field message? string of a solver_warning

---@param event sim2d.EventName
---@param fn fun(event: sim2d.Event)
---@return sim2d.Handle
function World:on(event, fn) end

---May these two touch? Asked once when they first come close.
---@param fn fun(a: sim2d.Body, b: sim2d.Body): boolean
---@return sim2d.Handle
function World:filter(fn) end

---May change a contact before it is solved; the contact is valid during the call only.
---@param fn fun(contact: sim2d.PreContact)
---@return sim2d.Handle
function World:pre_solve(fn) end

---@class sim2d.PreContact
---@field a sim2d.Body
---@field b sim2d.Body
---@field point sim2d.Vector
---@field normal sim2d.Vector from b to a
---@field gap number m
---@field friction number
---@field restitution number
---@field surface_speed number m/s
---@field enabled boolean

---@class sim2d.Handle
local Handle = {}

---The function is not called any more.
function Handle:remove() end

-- Reading

---@class sim2d.Contact
---@field a sim2d.Body
---@field b sim2d.Body
---@field point sim2d.Vector
---@field normal sim2d.Vector from b to a
---@field gap number m
---@field normal_impulse number N s, on a
---@field tangent_impulse number N s, on a
---@field sliding boolean

---@return sim2d.Contact[]
function World:contacts() end

---@return { kinetic: number, potential: number, total: number } J
function World:energy() end

---About the origin.
---@return sim2d.Momentum
function World:momentum() end

---@class sim2d.Residuals
---@field dynamics number N s
---@field complementarity number
---@field cone number N s
---@field joint number m/s
---@field scaled number what `tolerance` is compared with
---@field joint_error number m
---@field penetration number m

---Of the last step, largest absolute values.
---@return sim2d.Residuals
function World:residuals() end

---Counts and times since the world was made.
---@return table<string, any>
function World:stats() end

---With n bodies that move, m joint rows and c contacts, R = m + 2c rows.
---@class sim2d.Problem
---@field bodies sim2d.Body[] body i has the columns 3i-2 .. 3i (angle, x, y)
---@field M number[][] 3n x 3n mass matrix
---@field rhs number[] 3n: momentum without impulses
---@field J number[][] R x 3n Jacobian: joints, then a normal and a tangent row for each contact
---@field C number[] R compliances
---@field bias number[] R
---@field lo number[] R: bounds of the impulses
---@field hi number[] R
---@field mu number[] c
---@field E number[][] 2c x c: which contact a direction of friction belongs to
---@field W number[][] R x R Delassus matrix
---@field q number[] R: row velocities without impulses
---@field joints integer m
---@field contacts integer c

---The problem the next step would solve, as plain tables.
---@return sim2d.Problem
function World:problem() end

---Of the dynamic bodies, three columns each, in the order of `state`.
---@return number[][]
function World:mass_matrix() end

---2 x 3: velocity of a point that moves with the body, from (va, vx, vy).
---@param body sim2d.Body
---@param point sim2d.XY world coordinates
---@return number[][]
function World:jacobian(body, point) end

---The nearest hit on the way, or nil.
---@param from sim2d.XY
---@param to sim2d.XY
---@return { body: sim2d.Body, point: sim2d.Vector, normal: sim2d.Vector, fraction: number }?
function World:raycast(from, to) end

---@param lo sim2d.XY
---@param hi sim2d.XY
---@return sim2d.Body[]
function World:query_aabb(lo, hi) end

---@param point sim2d.XY
---@return sim2d.Body[]
function World:query_point(point) end

---@class sim2d.Closest
---@field distance number m
---@field point_a sim2d.Vector
---@field point_b sim2d.Vector
---@field normal sim2d.Vector

---Distance of two bodies, negative when they overlap, and the nearest points.
---@param a sim2d.Body
---@param b sim2d.Body
---@return sim2d.Closest
function World:closest(a, b) end

-- State

---a x y va vx vy of each dynamic body, in creation order.
---@return number[]
function World:state() end

---@param state number[]
function World:set_state(state) end

---Everything, bit for bit.
---@return sim2d.Snapshot
function World:snapshot() end

---Callbacks and timers stay as they are; a clone may take the snapshot of its original.
---@param snapshot sim2d.Snapshot
function World:restore(snapshot) end

---@class sim2d.Snapshot

---@param def? { callbacks?: boolean }
---@return sim2d.World
function World:clone(def) end

---Moves overlapping bodies apart; returns the largest overlap left, in m.
---@return number
function World:resolve_overlaps() end

---@class sim2d.DrawOptions
---@field width? integer pixels
---@field contacts? boolean
---@field joints? boolean
---@field names? boolean
---@field fit? boolean show all that moves; the default without lo and hi
---@field lo? sim2d.XY m, corners of the picture
---@field hi? sim2d.XY

---Draws the world as it is into a file (.svg).
---@param path string
---@param options? sim2d.DrawOptions
---@return true? success
---@return string? message
function World:draw(path, options) end

---Records from now on (.csv, .s2d, .svg: the last frame).
---@param path string
---@param options? { every?: integer }
---@return sim2d.Recording?
---@return string? message
function World:record(path, options) end

---@class sim2d.Recording
local Recording = {}

---@return true? success
---@return string? message
function Recording:close() end

---Closes recordings and frees the world.
function World:close() end

-- ---- Body ---------------------------------------------------------------------------------------

---@class sim2d.Body
---@field position sim2d.XY m, of the centre of mass
---@field angle number
---@field velocity sim2d.XY m/s
---@field angular_velocity number rad/s
---@field x number
---@field y number
---@field vx number
---@field vy number
---@field omega number
---@field q number[] {angle, x, y}
---@field v number[] {va, vx, vy}
---@field mass number kg
---@field inertia number kg m^2
---@field friction number
---@field restitution number
---@field linear_damping number 1/s
---@field angular_damping number 1/s
---@field gravity_scale number
---@field surface_speed number m/s
---@field name string
---@field type sim2d.BodyType
---@field color string
---@field enabled boolean
---@field awake boolean
---@field sensor boolean
---@field category integer
---@field mask integer
---@field data any
---@field world sim2d.World
---@field alive boolean false once it is destroyed; true again when a snapshot brings it back
local Body = {}

---Acts during the next step, N.
---@param force sim2d.XY
---@param where? { at: sim2d.XY }
function Body:apply_force(force, where) end

---@param torque number N m
function Body:apply_torque(torque) end

---Acts at once, N s.
---@param impulse sim2d.XY
---@param where? { at: sim2d.XY }
function Body:apply_impulse(impulse, where) end

---Called in every step; returns torque, fx, fy.
---@param fn fun(body: sim2d.Body, t: number, dt: number): number, number, number
---@return sim2d.Handle
function Body:force_law(fn) end

---From the body's coordinates to the world's.
---@param point sim2d.XY
---@return sim2d.Vector
function Body:world_point(point) end

---@param point sim2d.XY
---@return sim2d.Vector
function Body:local_point(point) end

---@return number J
function Body:kinetic_energy() end

---@return sim2d.Contact[]
function Body:contacts() end

---Its joints go with it.
function Body:destroy() end

-- ---- Joint --------------------------------------------------------------------------------------

---Fields that a type does not have are nil.
---@class sim2d.Joint
---@field a sim2d.Body?
---@field b sim2d.Body?
---@field joint_a sim2d.Joint? of a gear
---@field joint_b sim2d.Joint?
---@field name string
---@field type "hinge"|"weld"|"slider"|"wheel"|"distance"|"spring"|"rope"|"gear"|"lock"|"mouse"
---@field impulse sim2d.Vector N s, on a, of the last step
---@field force sim2d.Vector N
---@field torque number N m, on a about its anchor
---@field angle number of a against b, zero at creation
---@field translation number? m, along the axis
---@field length number? m, between the anchors; of a distance: settable
---@field speed number rad/s or m/s, of what the motor acts on
---@field limits number[]? {lo, hi}
---@field motor_speed number?
---@field motor_max number? N m or N
---@field friction number? N m or N
---@field compliance number?
---@field damping number?
---@field stiffness number? N/m
---@field rest_length number? m
---@field max_length number? m
---@field ratio number?
---@field break_force number N
---@field target sim2d.XY? m, of a mouse
---@field velocity sim2d.XY? m/s, of a lock
---@field angular_velocity number? rad/s, of a lock
---@field enabled boolean
---@field broken boolean
---@field collide boolean
---@field anchor_a sim2d.Vector m, world coordinates
---@field anchor_b sim2d.Vector
---@field axis sim2d.Vector? world coordinates
---@field error number m, of rigid rows and limits
---@field alive boolean false once it is destroyed
local Joint = {}

function Joint:destroy() end

return sim
