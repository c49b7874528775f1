---@meta _
-- sim.optimize: minimisation of functions, and fits.

---@class sim2d.Optimize
local Optimize = {}

---@class sim2d.FitOptions
---@field max_iterations? integer default 1000. "nelder-mead": 400 for each parameter. "nlopt": 1000 evaluations for each parameter. "cmaes": 1000 times the square root of the number of parameters. `least_squares`: 200
---@field tolerance? number default 1e-8
---@field lower? number|table lower bound: one number for all parameters, or a value in the shape of the parameters, of which parts may be missing
---@field upper? number|table upper bound, in the same forms
---@field callback? fun(p, value: number, entry: sim2d.OptimizeEntry): boolean? called after each iteration; if it returns true, the search stops
---@field history? boolean true: fills `info.history`
---@field loss? "l2"|"huber"|"cauchy" for least_squares: loss function of a residual; default "l2"
---@field scale? number for least_squares: size of a residual beyond which "huber" and "cauchy" reduce its weight; default 1
---@field journal? string file for all evaluations. After an interruption, the same call continues from this file

---@class sim2d.MinimizeOptions: sim2d.FitOptions
---@field method? "lbfgs"|"adam"|"sgd"|"rmsprop"|"nelder-mead"|"nlopt"|"cmaes"
---@field algorithm? string algorithm of NLopt; default "bobyqa"
---@field gradient? boolean true: the second result of f is its gradient, in the shape of p
---@field memory? integer for lbfgs: number of stored steps; default 30
---@field learning_rate? number|(fun(iteration: integer): number) for adam, sgd and rmsprop; default 0.01
---@field clip? number for adam, sgd and rmsprop: largest norm of the gradient, which is scaled down if it is larger
---@field keep? "best"|"last" for adam, sgd and rmsprop: the point that is returned
---@field beta1? number for adam; default 0.9
---@field beta2? number for adam; default 0.999
---@field epsilon? number for adam and rmsprop; default 1e-8
---@field momentum? number for sgd and rmsprop; default 0
---@field nesterov? boolean for sgd: true selects Nesterov's momentum
---@field decay? number for rmsprop; default 0.99
---@field initial_step? number|table for nelder-mead: edge length of the first simplex; for nlopt: first step
---@field restarts? integer for nelder-mead: number of new simplexes at the best point, default 2; for cmaes: number of further runs, each with twice the population of the previous run, default 0
---@field sigma? number|table for cmaes: initial standard deviation; default 0.3
---@field population? integer for cmaes: size of the population
---@field seed? integer for cmaes and nlopt: seed of the random numbers
---@field target? number for cmaes: the search ends when the value is at most this

---@class sim2d.OptimizeEntry
---@field iteration integer
---@field evaluations integer number of evaluations so far
---@field value number
---@field gradient_norm? number
---@field step number length of the step; for nelder-mead: size of the simplex

---@class sim2d.OptimizeInfo
---@field status "converged"|"stalled"|"max_iterations"|"stopped"
---@field message string reason why the search ended
---@field iterations integer
---@field evaluations integer number of calls of the function
---@field gradient_norm? number largest derivative, ignoring derivatives that point beyond an active bound
---@field history? sim2d.OptimizeEntry[]

---@class sim2d.FitInfo: sim2d.OptimizeInfo
---@field residual_norm number
---@field residuals sim2d.Array
---@field covariance? sim2d.Array covariance of the parameters, which are sorted by name
---@field deviation? any standard errors, in the shape of the parameters

---Searches for parameters that minimise f. The search starts at p0. It uses exact gradients, unless the method needs
---none.
---@param f fun(p): sim2d.Number
---@param p0 sim2d.Parameters
---@param options? sim2d.MinimizeOptions
---@return any p best parameters, in the shape of p0
---@return number value
---@return sim2d.OptimizeInfo info
function Optimize.minimize(f, p0, options) end

---Searches for parameters that minimise the sum of the squares of r(p), with the Levenberg-Marquardt method.
---@param r fun(p): sim2d.Number|sim2d.Number[]|sim2d.Array
---@param p0 sim2d.Parameters
---@param options? sim2d.FitOptions
---@return any p best parameters, in the shape of p0
---@return number value the sum of squares
---@return sim2d.FitInfo info
function Optimize.least_squares(r, p0, options) end

---@class sim2d
---@field optimize sim2d.Optimize
