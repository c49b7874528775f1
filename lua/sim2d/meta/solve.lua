---@meta _
-- `sim.lcp`, `sim.mlcp`, `sim.contact`, `sim.kkt`, `sim.qp`, `sim.lp` and `sim.ncp` solve separate problems outside
-- worlds. In gradient calls their data may be tracked. Their results are then tracked as well.

---Linear complementarity problems: z >= 0, w = M z + q >= 0, z'w = 0.
---@class sim2d.Lcp
local Lcp = {}

---@alias sim2d.LcpSolver "auto"|"lemke"|"bpp"|"enumerate"|"pgs"|"newton"|"pdipm"

---@class sim2d.LcpOptions
---@field solver? sim2d.LcpSolver
---@field tolerance? number upper bound of max |min(z, w)| / max(1, max |q|); default 1e-9
---@field max_iterations? integer largest number of iterations of each method that is tried
---@field omega? number relaxation factor of "pgs", below 2; default 1
---@field history? boolean true: fills `info.history`
---@field kappa? number above 0: finds the point with z_i w_i = kappa, which is a smooth function of M and q ("auto" and "pdipm" only)

---@class sim2d.LcpInfo
---@field status "solved"|"ray"|"infeasible"|"max_iterations"|"singular"|"unsupported"
---@field solver sim2d.LcpSolver solver that found the solution
---@field iterations integer
---@field residual number max |min(z, w)|, or max |z w - kappa| with kappa
---@field time number s
---@field kappa? number kappa given in the call
---@field ray? number[] ray along which Lemke's method went to infinity
---@field history? { residual: number, step: number, mu: number }[]

---Returns z, w and info. If the problem is not solved, it returns nil, a status and info.
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
---@field regular boolean false: there is no derivative, and the numbers are the least-norm solution

---Returns the derivatives of a loss with respect to M and q, given its derivative with respect to z at a solution. Pass
---the kappa that you used in the solve.
---@param M number[][]
---@param q number[]
---@param z number[]
---@param dl_dz number[]
---@param options? { kappa?: number }
---@return sim2d.LcpGradient
function Lcp.vjp(M, q, z, dl_dz, options) end

---Returns the solvers, each with its name and a summary.
---@return { name: sim2d.LcpSolver, summary: string }[]
function Lcp.solvers() end

---Reads a .lcp file. Returns M and q, or nil and a message.
---@param path string
---@return number[][]? M
---@return number[]|string q
function Lcp.read(path) end

---Writes a .lcp file. Returns true, or nil and a message.
---@param path string
---@param M number[][]
---@param q number[]
---@return true?
---@return string? message
function Lcp.write(path, M, q) end

---Mixed linear complementarity problems: A u + C v + a = 0, w = D u + B v + b >= 0, v >= 0, v'w = 0.
---@class sim2d.Mlcp
local Mlcp = {}

---A block that you omit has no rows or no columns.
---@class sim2d.MlcpDef
---@field A? number[][]
---@field B? number[][]
---@field C? number[][]
---@field D? number[][]
---@field a? number[]
---@field b? number[]
---@field lo? number[] lower bounds of v, at which w >= 0. -math.huge means no bound. Default: 0
---@field hi? number[] upper bounds of v, at which w <= 0. math.huge means no bound. Default: no bound
---@field tolerance? number upper bound of the residual / max(1, max |a|, max |b|); default 1e-9
---@field max_iterations? integer largest number of iterations of the interior-point method; default 100
---@field history? boolean true: fills `info.history`
---@field kappa? number above 0: finds the point of the central path with v_i w_i = kappa, which is a smooth function of all data

---@class sim2d.MlcpInfo
---@field status "solved"|"ray"|"infeasible"|"max_iterations"|"singular"|"unsupported"
---@field iterations integer
---@field residual number maximum of |A u + C v + a| and |v - clip(v - w, lo, hi)|, which is |min(v, w)| for the default bounds
---@field r_vio number max |A u + C v + a|
---@field b_vio number max |v w|, or max |v w - kappa| with kappa
---@field time number s
---@field kappa? number kappa given in the call
---@field w? number[] w at the solution, if solved
---@field certificate? { a: number[], b: number[] } proof, if the problem is infeasible
---@field history? { residual: number, step: number, mu: number }[]

---Returns u, v and info. If the problem is not solved, it returns nil, a status and info.
---@param def sim2d.MlcpDef
---@return number[]? u
---@return number[]|string v
---@return sim2d.MlcpInfo info
function Mlcp.solve(def) end

---Derivatives with respect to the blocks of the problem.
---@class sim2d.MlcpGradient
---@field A? number[][]
---@field B? number[][]
---@field C? number[][]
---@field D? number[][]
---@field a? number[]
---@field b? number[]
---@field lo? number[]
---@field hi? number[]
---@field regular boolean false: there is no derivative, and the numbers are the least-norm solution

---Returns the derivatives of a loss with respect to the data, given its derivatives with respect to u and v. The
---arguments u, v and info are the results of the solve.
---@param def sim2d.MlcpDef
---@param u number[]
---@param v number[]
---@param info sim2d.MlcpInfo
---@param dl { u?: number[], v?: number[] }
---@return sim2d.MlcpGradient
function Mlcp.vjp(def, u, v, info, dl) end

---Step problems written by `--dump-problems`.
---@class sim2d.ProblemLibrary
local ProblemLibrary = {}

---@class sim2d.ProblemOptions
---@field solver? sim2d.Solver default "auto"
---@field tolerance? number upper bound of the scaled residual; default 1e-9
---@field max_iterations? integer iteration limit of the interior-point method, default 100. The limits of other methods are proportional to it
---@field omega? number relaxation factor of "pgs" and "si", below 2; default 1
---@field history? boolean true: fills `info.history`

---Returns impulses, velocities and info. If the problem is not solved, it returns nil, a status and info. If the file
---cannot be read, it returns nil and a message.
---@param path string
---@param options? sim2d.ProblemOptions
---@return number[]? lambda
---@return number[]|string v
---@return table? info
function ProblemLibrary.solve(path, options) end

---Frictional contact problems given as matrices: u = W r + q, or M v = H r + q and u = H'v + bias.
---@class sim2d.ContactLibrary
local ContactLibrary = {}

---@alias sim2d.SparseMatrix { rows: integer, columns: integer, i: integer[], j: integer[], v: number[] }
---@alias sim2d.Matrix number[][]|number[]|sim2d.SparseMatrix rows, the diagonal, or v[k] at (i[k], j[k])

---A problem has either W, q and mu, or M, H, q, bias and mu.
---@class sim2d.ContactProblem
---@field W? sim2d.Matrix Delassus matrix
---@field M? sim2d.Matrix
---@field H? sim2d.Matrix
---@field q number[] velocities without impulses, or the momentum if M is given
---@field bias? number[] velocities, only with M
---@field mu number[]|number friction coefficients
---@field solver? string name of a solver for worlds; default "auto"
---@field tolerance? number upper bound of the scaled residual; default 1e-9
---@field max_iterations? integer iteration limit of the interior-point method, default 50. The limits of other methods are proportional to it
---@field r0? number[] initial impulses
---@field omega? number relaxation factor of "pgs" and "si", below 2; default 1
---@field history? boolean true: fills `info.history`
---@field kappa? number m^2/s^2, above 0: finds a point of the central path, which is a smooth function of all data ("auto" and "pdipm" only)

---@class sim2d.ContactInfo
---@field status "solved"|"ray"|"infeasible"|"max_iterations"|"singular"|"unsupported"
---@field solver string solver that found the solution
---@field iterations integer
---@field residual number scaled residual
---@field complementarity number max |min(r_n, u_n)|
---@field cone number largest deviation of the tangential impulses from Coulomb's law
---@field time number s
---@field v? number[] velocities, if M is given and the problem is solved
---@field kappa? number kappa given in the call
---@field z? number[] complementary pairs, four numbers for each contact, if kappa is given and the problem is solved
---@field history? { residual: number, step: number, mu: number }[]

---Returns impulses, velocities and info. If the problem is not solved, it returns nil, a status and info.
---@param problem sim2d.ContactProblem
---@return number[]? r
---@return number[]|string u
---@return sim2d.ContactInfo info
function ContactLibrary.solve(problem) end

---Derivatives with respect to the data of the problem, in the same shapes.
---@class sim2d.ContactGradient
---@field W? sim2d.Matrix
---@field M? sim2d.Matrix lower triangle of a symmetric matrix; each number counts for both halves, and the upper part is 0
---@field H? sim2d.Matrix
---@field q number[]
---@field bias? number[]
---@field mu number[]|number
---@field regular boolean false: there is no derivative
---@field why? string the reason, if `regular` is false

---Returns the derivatives of a loss with respect to the data, given its derivatives with respect to r, u and v. The
---arguments r, u and info are results of the solve.
---@param problem sim2d.ContactProblem
---@param r number[]
---@param u number[]
---@param info sim2d.ContactInfo
---@param dl { r?: number[], u?: number[], v?: number[] }
---@return sim2d.ContactGradient
function ContactLibrary.vjp(problem, r, u, info, dl) end

---Reads a contact problem from a file. Returns the problem, or nil and a message.
---@param path string
---@return sim2d.ContactProblem?
---@return string? message
function ContactLibrary.read(path) end

---Writes a problem to a file. Returns true, or nil and a message.
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
---@field C? number[] diagonal, >= 0; default: 0
---@field c number[]
---@field b? number[]
---@field solver? sim2d.KktSolver default "ldl"
---@field tolerance? number upper bound of the residual; default 1e-9
---@field max_iterations? integer largest number of refinement passes, or of steps of "cg" and "minres"
---@field history? boolean true: fills `info.history`

---@class sim2d.KktInfo
---@field status "solved"|"infeasible"|"max_iterations"|"singular"|"unsupported"
---@field solver sim2d.KktSolver
---@field iterations integer
---@field residual number residual relative to the largest |c_i / W_ii| and |b_k|
---@field time number s
---@field certificate? number[] proof, if the system is infeasible: y with J'y = 0, C y = 0 and b'y > 0
---@field history? { residual: number, step: number, mu: number }[]

---Returns v, lambda and info. If the system is not solved, it returns nil, a status and info.
---@param def sim2d.KktDef
---@return number[]? v
---@return number[]|string lambda
---@return sim2d.KktInfo info
function Kkt.solve(def) end

---Returns the solvers, each with its name and a summary.
---@return { name: sim2d.KktSolver, summary: string }[]
function Kkt.solvers() end

---Convex quadratic programs: min 1/2 x'P x + q'x with A x = b, G x <= h.
---@class sim2d.Qp
local Qp = {}

---@class sim2d.QpDef
---@field P? number[][] positive semidefinite matrix; without it the problem is a linear program
---@field q number[]
---@field A? number[][]
---@field b? number[]
---@field G? number[][]
---@field h? number[] upper bounds; math.huge means no bound
---@field tolerance? number upper bound of the residual; default 1e-9
---@field max_iterations? integer default 100
---@field history? boolean true: fills `info.history`
---@field kappa? number above 0: finds the point of the central path with z_i (h - G x)_i = kappa

---@class sim2d.QpInfo
---@field status "solved"|"infeasible"|"max_iterations"|"singular"|"unsupported"
---@field iterations integer
---@field residual number largest of `primal`, `dual` and `complementarity`
---@field primal number largest violation of a constraint, relative to max(1, |right side|)
---@field dual number largest violation of P x + q + A'y + G'z = 0, relative to max(1, max |q|)
---@field complementarity number largest |min(z, h - G x)| of a row, relative to max(1, |h|), or largest |z (h - G x) - kappa| with kappa
---@field r_vio number larger of `primal` and `dual`
---@field b_vio number complementarity
---@field time number s
---@field kappa? number kappa given in the call
---@field objective? number value of the objective, if solved
---@field y? number[] multipliers of A x = b, if solved
---@field z? number[] multipliers of G x <= h, if solved
---@field unbounded? boolean true if the status is "infeasible" because the objective decreases without bound
---@field direction? number[] direction in which the objective decreases without bound
---@field certificate? { y: number[], z: number[] } proof, if infeasible and not unbounded
---@field history? { residual: number, step: number, mu: number }[]

---Returns x and info. If the program is not solved, it returns nil, a status and info.
---@param def sim2d.QpDef
---@return number[]? x
---@return sim2d.QpInfo|string info
---@return sim2d.QpInfo? info
function Qp.solve(def) end

---Derivatives with respect to the data of the program.
---@class sim2d.QpGradient
---@field P? number[][] derivative as a symmetric matrix, because only P + P' matters
---@field q number[]
---@field A? number[][]
---@field b? number[]
---@field G? number[][]
---@field h? number[]
---@field regular boolean false: there is no derivative, and the numbers are the least-norm solution

---Returns the derivatives of a loss with respect to the data, given its derivatives with respect to x and the
---multipliers. The arguments x and info are results of the solve.
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
---@field bounds? number[][] {lo, hi} for each x. An infinite number or nil means no bound. Default: all x >= 0
---@field tolerance? number upper bound of the residual; default 1e-9
---@field max_iterations? integer default 100
---@field history? boolean true: fills `info.history`
---@field kappa? number above 0: finds the point of the central path, where each multiplier times its slack equals kappa

---@class sim2d.LpInfo: sim2d.QpInfo
---@field lower? number[] multipliers of the lower bounds, if solved
---@field upper? number[] multipliers of the upper bounds, if solved

---Returns x and info. If the program is not solved, it returns nil, a status and info.
---@param def sim2d.LpDef
---@return number[]? x
---@return sim2d.LpInfo|string info
---@return sim2d.LpInfo? info
function Lp.solve(def) end

---Derivatives with respect to the data of the program.
---@class sim2d.LpGradient
---@field c number[]
---@field A_ub? number[][]
---@field b_ub? number[]
---@field A_eq? number[][]
---@field b_eq? number[]
---@field bounds? number[][] dl/dlo and dl/dhi of each x
---@field regular boolean false: there is no derivative, and the numbers are the least-norm solution

---Returns the derivatives of a loss with respect to the data, given its derivatives with respect to x and the
---multipliers. The arguments x and info are results of the solve.
---@param def sim2d.LpDef
---@param x number[]
---@param info sim2d.LpInfo
---@param dl { x?: number[], y?: number[], z?: number[], lower?: number[], upper?: number[] }
---@return sim2d.LpGradient
function Lp.vjp(def, x, info, dl) end

---Nonlinear complementarity problems over cones: c(x, y, z; theta) = 0, y o z = kappa e, where y and z consist of
---nonnegative numbers and of vectors in second-order cones.
---@class sim2d.Ncp
local Ncp = {}

---@alias sim2d.NcpFunction fun(x: number[], y: number[], z: number[], theta: number[]): table

---@class sim2d.NcpOptions
---@field r_tol? number upper bound of `r_vio`; default 1e-8
---@field b_tol? number upper bound of `b_vio`; default 1e-8
---@field kappa? number final kappa; default 0. If it is above 0, solutions vary smoothly with theta
---@field max_iter? integer default 50
---@field ls_scale? number factor by which a rejected step is shortened; default 0.5
---@field max_ls? integer number of steps that the line search tries; default 25
---@field undercut? number with kappa = 0, the target for kappa stays at or above b_tol / undercut; default 5. math.huge removes this lower bound
---@field no_progress_max? integer `undercut` is increased when the steps without progress outnumber the other steps by this number; default 3
---@field no_progress_undercut? number factor by which `undercut` is increased; default 10
---@field reg? number value added to y and z if the matrix yields no direction; default 1e-10
---@field corrector? boolean corrects the direction for terms that the affine direction neglects; default true
---@field centering? number fraction of the mean product that the step aims at, 0 to 1; default: computed from the affine direction

---@class sim2d.NcpDef
---@field residual sim2d.NcpFunction returns c, a list with a number for each dimension of x and for each entry of y
---@field jacobian? sim2d.NcpFunction returns dc/d(x, y, z) as rows of numbers; default: finite differences
---@field theta_jacobian? sim2d.NcpFunction returns dc/dtheta; default: finite differences
---@field cones? { orthant?: integer, soc?: integer[] } structure of y and z: the number of nonnegative numbers, then the sizes of the second-order cones
---@field rotations? integer[] indices in x at which a planar rotation (cos, sin) begins
---@field quaternions? integer[] indices in x at which a unit quaternion (w, x, y, z) begins
---@field x0? number[] initial x, which also determines the length of x
---@field theta? number[]
---@field options? sim2d.NcpOptions
---@field history? boolean true: fills `info.history`
---@field dw_dtheta? boolean true: fills `info.dw_dtheta`
---@field dl_dw? { x?: number[], y?: number[], z?: number[] } derivatives of a loss; fills `info.dl_dtheta`

---@class sim2d.NcpInfo
---@field status "solved"|"max_iterations"|"singular"
---@field iterations integer
---@field residual number larger of `r_vio` and `b_vio`
---@field r_vio number max |c|
---@field b_vio number max |y o z - kappa e|
---@field time number s
---@field history? { residual: number, step: number, mu: number }[]
---@field dw_dtheta? number[][] rows for x, y, z; nil if there is no derivative
---@field dl_dtheta? number[] dl_dw times dw_dtheta; nil if there is no derivative
---@field x? number[] last point of a problem that was not solved
---@field y? number[] y at the last point
---@field z? number[] z at the last point

---Returns x, y, z and info. If the problem is not solved, it returns nil, a status and info.
---@param def sim2d.NcpDef
---@return number[]? x
---@return number[]|string y
---@return number[]|sim2d.NcpInfo z
---@return sim2d.NcpInfo? info
function Ncp.solve(def) end
