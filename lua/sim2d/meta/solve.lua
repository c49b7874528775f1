---@meta _
-- `sim.lcp`, `sim.mlcp`, `sim.contact`, `sim.kkt`, `sim.qp`, `sim.lp` and `sim.ncp`: separate
-- problems, outside worlds. In gradient calls their data may be tracked; then their results are tracked, too.

---Linear complementarity problems: z >= 0, w = M z + q >= 0, z'w = 0.
---@class sim2d.Lcp
local Lcp = {}

---@alias sim2d.LcpSolver "auto"|"lemke"|"bpp"|"enumerate"|"pgs"|"newton"|"pdipm"

---@class sim2d.LcpOptions
---@field solver? sim2d.LcpSolver
---@field tolerance? number bound of max |min(z, w)| / max(1, max |q|); default 1e-9
---@field max_iterations? integer of each method that is tried
---@field omega? number over-relaxation of "pgs", below 2; default 1
---@field history? boolean fills info.history
---@field kappa? number above 0: find the point with z_i w_i = kappa, which is smooth in M and q ("auto", "pdipm")

---@class sim2d.LcpInfo
---@field status "solved"|"ray"|"infeasible"|"max_iterations"|"singular"|"unsupported"
---@field solver sim2d.LcpSolver the solver that found the answer
---@field iterations integer
---@field residual number max |min(z, w)|; with kappa, max |z w - kappa|
---@field time number s
---@field kappa? number kappa of the call
---@field ray? number[] ray on which Lemke's method went to infinity
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
---@field regular boolean false: there is no derivative, and the numbers are the least-norm answer

---Returns the derivatives of a loss with respect to M and q, from its derivative with respect to z at a solution. Give
---the kappa of the solve.
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

---Reads a .lcp file. It returns M and q, or nil and a message.
---@param path string
---@return number[][]? M
---@return number[]|string q
function Lcp.read(path) end

---Writes a .lcp file. It returns true, or nil and a message.
---@param path string
---@param M number[][]
---@param q number[]
---@return true?
---@return string? message
function Lcp.write(path, M, q) end

---Mixed linear complementarity problems: A u + C v + a = 0, w = D u + B v + b >= 0, v >= 0, v'w = 0.
---@class sim2d.Mlcp
local Mlcp = {}

---Absent blocks have no rows or columns.
---@class sim2d.MlcpDef
---@field A? number[][]
---@field B? number[][]
---@field C? number[][]
---@field D? number[][]
---@field a? number[]
---@field b? number[]
---@field lo? number[] lower bounds of v, where w >= 0; -math.huge: no bound. Default: 0
---@field hi? number[] upper bounds of v, where w <= 0; math.huge: no bound. Default: no bound
---@field tolerance? number bound of the residual / max(1, max |a|, max |b|); default 1e-9
---@field max_iterations? integer of the interior-point method; default 100
---@field history? boolean fills info.history
---@field kappa? number above 0: find the point of the central path v_i w_i = kappa, which is smooth in all data

---@class sim2d.MlcpInfo
---@field status "solved"|"ray"|"infeasible"|"max_iterations"|"singular"|"unsupported"
---@field iterations integer
---@field residual number max |A u + C v + a| and |min(v, w)|, or |v - clip(v - w, lo, hi)|
---@field r_vio number max |A u + C v + a|
---@field b_vio number max |v w|; with kappa, max |v w - kappa|
---@field time number s
---@field kappa? number kappa of the call
---@field w? number[] if solved
---@field certificate? { a: number[], b: number[] } if infeasible
---@field history? { residual: number, step: number, mu: number }[]

---Returns u, v and info. If the problem is not solved, it returns nil, a status and info.
---@param def sim2d.MlcpDef
---@return number[]? u
---@return number[]|string v
---@return sim2d.MlcpInfo info
function Mlcp.solve(def) end

---Derivatives with respect to the blocks that the problem has.
---@class sim2d.MlcpGradient
---@field A? number[][]
---@field B? number[][]
---@field C? number[][]
---@field D? number[][]
---@field a? number[]
---@field b? number[]
---@field lo? number[]
---@field hi? number[]
---@field regular boolean false: there is no derivative, and the numbers are the least-norm answer

---Returns the derivatives of a loss with respect to the data, from its derivatives with respect to u and v. u, v and
---info are results of the solve.
---@param def sim2d.MlcpDef
---@param u number[]
---@param v number[]
---@param info sim2d.MlcpInfo
---@param dl { u?: number[], v?: number[] }
---@return sim2d.MlcpGradient
function Mlcp.vjp(def, u, v, info, dl) end

---Step problems that `--dump-problems` has written.
---@class sim2d.ProblemLibrary
local ProblemLibrary = {}

---@class sim2d.ProblemOptions
---@field solver? sim2d.Solver default "auto"
---@field tolerance? number bound of the scaled residual; default 1e-9
---@field max_iterations? integer limit of the interior-point method, default 100; the limits of other methods are proportional to it
---@field omega? number over-relaxation of "pgs" and "si", below 2; default 1
---@field history? boolean fills info.history

---Returns impulses, velocities and info. If the problem is not solved, it returns nil, a status and info; if the file
---cannot be read, nil and a message.
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

---A problem has either W, q, mu or M, H, q, bias, mu.
---@class sim2d.ContactProblem
---@field W? sim2d.Matrix Delassus matrix
---@field M? sim2d.Matrix
---@field H? sim2d.Matrix
---@field q number[] velocities without impulses; with M: momentum
---@field bias? number[] velocities, only with M
---@field mu number[]|number friction coefficients
---@field solver? string a solver of worlds; default "auto"
---@field tolerance? number bound of the scaled residual; default 1e-9
---@field max_iterations? integer limit of the interior-point method, default 50; the limits of other methods are proportional to it
---@field r0? number[] initial impulses
---@field omega? number over-relaxation of "pgs" and "si", below 2; default 1
---@field history? boolean fills info.history
---@field kappa? number m^2/s^2, above 0: find a point of the central path, which is smooth in all data ("auto", "pdipm")

---@class sim2d.ContactInfo
---@field status "solved"|"ray"|"infeasible"|"max_iterations"|"singular"|"unsupported"
---@field solver string the solver that found the answer
---@field iterations integer
---@field residual number scaled residual
---@field complementarity number max |min(r_n, u_n)|
---@field cone number largest distance of tangential impulses from Coulomb's law
---@field time number s
---@field v? number[] with M, if solved
---@field kappa? number kappa of the call
---@field z? number[] with kappa, if solved: the complementary pairs, four numbers for each contact
---@field history? { residual: number, step: number, mu: number }[]

---Returns impulses, velocities and info. If the problem is not solved, it returns nil, a status and info.
---@param problem sim2d.ContactProblem
---@return number[]? r
---@return number[]|string u
---@return sim2d.ContactInfo info
function ContactLibrary.solve(problem) end

---Derivatives with respect to the data that the problem has, in their shapes.
---@class sim2d.ContactGradient
---@field W? sim2d.Matrix
---@field M? sim2d.Matrix the part below the diagonal counts for both halves; the part above is 0
---@field H? sim2d.Matrix
---@field q number[]
---@field bias? number[]
---@field mu number[]|number
---@field regular boolean false: there is no derivative
---@field why? string the reason, if regular is false

---Returns the derivatives of a loss with respect to the data, from its derivatives with respect to r, u and v. r, u and
---info are results of the solve.
---@param problem sim2d.ContactProblem
---@param r number[]
---@param u number[]
---@param info sim2d.ContactInfo
---@param dl { r?: number[], u?: number[], v?: number[] }
---@return sim2d.ContactGradient
function ContactLibrary.vjp(problem, r, u, info, dl) end

---Reads a file of a contact problem. It returns the problem, or nil and a message.
---@param path string
---@return sim2d.ContactProblem?
---@return string? message
function ContactLibrary.read(path) end

---Writes a problem to a file. It returns true, or nil and a message.
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
---@field tolerance? number bound of the residual; default 1e-9
---@field max_iterations? integer passes of refinement, or steps of "cg" and "minres"
---@field history? boolean fills info.history

---@class sim2d.KktInfo
---@field status "solved"|"infeasible"|"max_iterations"|"singular"|"unsupported"
---@field solver sim2d.KktSolver
---@field iterations integer
---@field residual number relative to the largest |c_i / W_ii| and |b_k|
---@field time number s
---@field certificate? number[] if infeasible: y with J'y = 0, C y = 0, b'y > 0
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
---@field P? number[][] positive semidefinite; default: none, a linear program
---@field q number[]
---@field A? number[][]
---@field b? number[]
---@field G? number[][]
---@field h? number[] math.huge: no condition
---@field tolerance? number bound of the residual; default 1e-9
---@field max_iterations? integer default 100
---@field history? boolean fills info.history
---@field kappa? number above 0: find the point of the central path z_i (h - G x)_i = kappa

---@class sim2d.QpInfo
---@field status "solved"|"infeasible"|"max_iterations"|"singular"|"unsupported"
---@field iterations integer
---@field residual number the largest of primal, dual and complementarity
---@field primal number violation of a constraint, relative to max(1, its right side)
---@field dual number violation of P x + q + A'y + G'z = 0, relative to max(1, max |q|)
---@field complementarity number |min(z, h - G x)| of a row, relative to max(1, |h|); with kappa, |z (h - G x) - kappa|
---@field r_vio number the larger of primal and dual
---@field b_vio number complementarity
---@field time number s
---@field kappa? number kappa of the call
---@field objective? number if solved
---@field y? number[] multipliers of A x = b, if solved
---@field z? number[] multipliers of G x <= h, if solved
---@field unbounded? boolean if infeasible: the objective decreases without bound
---@field direction? number[] direction in which it decreases
---@field certificate? { y: number[], z: number[] } proof, if infeasible and not unbounded
---@field history? { residual: number, step: number, mu: number }[]

---Returns x and info. If the program is not solved, it returns nil, a status and info.
---@param def sim2d.QpDef
---@return number[]? x
---@return sim2d.QpInfo|string info
---@return sim2d.QpInfo? info
function Qp.solve(def) end

---Derivatives with respect to the data that the program has.
---@class sim2d.QpGradient
---@field P? number[][] symmetric, because only P + P' matters
---@field q number[]
---@field A? number[][]
---@field b? number[]
---@field G? number[][]
---@field h? number[]
---@field regular boolean false: there is no derivative, and the numbers are the least-norm answer

---Returns the derivatives of a loss with respect to the data, from its derivatives with respect to x and the
---multipliers. x and info are results of the solve.
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
---@field bounds? number[][] {lo, hi} for each x; infinite or nil: no bound. Default: all x >= 0
---@field tolerance? number bound of the residual; default 1e-9
---@field max_iterations? integer default 100
---@field history? boolean fills info.history
---@field kappa? number above 0: find the point of the central path, multipliers times slacks = kappa

---@class sim2d.LpInfo: sim2d.QpInfo
---@field lower? number[] multipliers of the lower bounds, if solved
---@field upper? number[] multipliers of the upper bounds, if solved

---Returns x and info. If the program is not solved, it returns nil, a status and info.
---@param def sim2d.LpDef
---@return number[]? x
---@return sim2d.LpInfo|string info
---@return sim2d.LpInfo? info
function Lp.solve(def) end

---Derivatives with respect to the data that the program has.
---@class sim2d.LpGradient
---@field c number[]
---@field A_ub? number[][]
---@field b_ub? number[]
---@field A_eq? number[][]
---@field b_eq? number[]
---@field bounds? number[][] dl/dlo and dl/dhi of each x
---@field regular boolean false: there is no derivative, and the numbers are the least-norm answer

---Returns the derivatives of a loss with respect to the data, from its derivatives with respect to x and the
---multipliers. x and info are results of the solve.
---@param def sim2d.LpDef
---@param x number[]
---@param info sim2d.LpInfo
---@param dl { x?: number[], y?: number[], z?: number[], lower?: number[], upper?: number[] }
---@return sim2d.LpGradient
function Lp.vjp(def, x, info, dl) end

---Nonlinear complementarity problems over cones: c(x, y, z; theta) = 0, y o z = kappa e, where y and z consist of
---nonnegative numbers and vectors in second-order cones.
---@class sim2d.Ncp
local Ncp = {}

---@alias sim2d.NcpFunction fun(x: number[], y: number[], z: number[], theta: number[]): table

---@class sim2d.NcpOptions
---@field r_tol? number bound of r_vio; default 1e-8
---@field b_tol? number bound of b_vio; default 1e-8
---@field kappa? number the final kappa; default 0. Above 0, solutions vary smoothly with theta
---@field max_iter? integer default 50
---@field ls_scale? number factor by which a refused step is shortened; default 0.5
---@field max_ls? integer number of steps that the line search tries; default 25
---@field undercut? number with kappa = 0, the target for kappa stays at or above b_tol / undercut; default 5; math.huge: no such floor
---@field no_progress_max? integer undercut grows when steps without progress outnumber the others by this; default 3
---@field no_progress_undercut? number factor of this growth; default 10
---@field reg? number added to y and z if the matrix yields no direction; default 1e-10
---@field corrector? boolean corrects the direction for terms that the affine direction neglects; default true
---@field centering? number share of the mean product that the step aims at, 0 to 1; default: from the affine direction

---@class sim2d.NcpDef
---@field residual sim2d.NcpFunction returns c, a list with one number for each dimension of x and one for each entry of y
---@field jacobian? sim2d.NcpFunction returns dc/d(x, y, z), rows of numbers; default: differences
---@field theta_jacobian? sim2d.NcpFunction returns dc/dtheta; default: differences
---@field cones? { orthant?: integer, soc?: integer[] } of y and z: number of nonnegative numbers, then sizes of the cones
---@field rotations? integer[] places in x where a planar rotation (cos, sin) begins
---@field quaternions? integer[] places in x where a unit quaternion (w, x, y, z) begins
---@field x0? number[] initial x, which also gives its length
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
---@field dw_dtheta? number[][] rows for x, y, z; nil if there is no derivative
---@field dl_dtheta? number[] dl_dw times dw_dtheta; nil if there is no derivative
---@field x? number[] last point of a problem that was not solved
---@field y? number[] last y
---@field z? number[] last z

---Returns x, y, z and info. If the problem is not solved, it returns nil, a status and info.
---@param def sim2d.NcpDef
---@return number[]? x
---@return number[]|string y
---@return number[]|sim2d.NcpInfo z
---@return sim2d.NcpInfo? info
function Ncp.solve(def) end
