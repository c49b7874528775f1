---@meta _
-- sim.optimize: minima of functions, fits.

---@class sim2d.Optimize
local Optimize = {}

---@class sim2d.FitOptions
---@field max_iterations? integer default 1000; for nelder-mead, 400 for each parameter; for nlopt, 1000 evaluations for each parameter; for cmaes, 1000 times the square root of the number of parameters; for least_squares, 200
---@field tolerance? number default 1e-8
---@field lower? number|table bound: one number for all, or in the shape of the parameters (parts may be missing)
---@field upper? number|table bound, in the same forms
---@field callback? fun(p, value: number, entry: sim2d.OptimizeEntry): boolean? called after each iteration; if it returns true, the search stops
---@field history? boolean fills info.history
---@field loss? "l2"|"huber"|"cauchy" of least_squares: cost of a residual; default "l2"
---@field scale? number of least_squares: size beyond which residuals count less with "huber" and "cauchy"; default 1
---@field journal? string file of all evaluations, from which the same call continues after an interruption

---@class sim2d.MinimizeOptions: sim2d.FitOptions
---@field method? "lbfgs"|"adam"|"sgd"|"rmsprop"|"nelder-mead"|"nlopt"|"cmaes"
---@field algorithm? string of nlopt; default "bobyqa"
---@field gradient? boolean true: f returns its gradient as the second result, in the shape of p
---@field memory? integer of lbfgs: number of steps in memory; default 30
---@field learning_rate? number|(fun(iteration: integer): number) of adam, sgd, rmsprop; default 0.01
---@field clip? number of adam, sgd, rmsprop: largest norm of the gradient
---@field keep? "best"|"last" of adam, sgd, rmsprop: the point that is returned
---@field beta1? number of adam; default 0.9
---@field beta2? number of adam; default 0.999
---@field epsilon? number of adam and rmsprop; default 1e-8
---@field momentum? number of sgd and rmsprop; default 0
---@field nesterov? boolean of sgd
---@field decay? number of rmsprop; default 0.99
---@field initial_step? number|table of nelder-mead: edge of the first simplex; of nlopt: first step
---@field restarts? integer of nelder-mead: new simplexes at the best point, default 2; of cmaes: runs with twice the population, default 0
---@field sigma? number|table of cmaes: initial standard deviation; default 0.3
---@field population? integer of cmaes
---@field seed? integer of cmaes and nlopt
---@field target? number of cmaes: the search ends at a value as small as this

---@class sim2d.OptimizeEntry
---@field iteration integer
---@field evaluations integer so far
---@field value number
---@field gradient_norm? number
---@field step number length of the step; of nelder-mead: size of the simplex

---@class sim2d.OptimizeInfo
---@field status "converged"|"stalled"|"max_iterations"|"stopped"
---@field message string reason of the end
---@field iterations integer
---@field evaluations integer calls of the function
---@field gradient_norm? number largest derivative, ignoring derivatives that point beyond an active bound
---@field history? sim2d.OptimizeEntry[]

---@class sim2d.FitInfo: sim2d.OptimizeInfo
---@field residual_norm number
---@field residuals sim2d.Array
---@field covariance? sim2d.Array covariance of the parameters in the order of their sorted names
---@field deviation? any standard errors, in the shape of the parameters

---Searches for parameters that minimise f. It starts at p0 and uses exact gradients (except with methods that need none).
---@param f fun(p): sim2d.Number
---@param p0 sim2d.Parameters
---@param options? sim2d.MinimizeOptions
---@return any p in the shape of p0
---@return number value
---@return sim2d.OptimizeInfo info
function Optimize.minimize(f, p0, options) end

---Searches for parameters that minimise the sum of the squares of r(p) (Levenberg-Marquardt method).
---@param r fun(p): sim2d.Number|sim2d.Number[]|sim2d.Array
---@param p0 sim2d.Parameters
---@param options? sim2d.FitOptions
---@return any p in the shape of p0
---@return number value the sum of squares
---@return sim2d.FitInfo info
function Optimize.least_squares(r, p0, options) end

---@class sim2d
---@field optimize sim2d.Optimize
