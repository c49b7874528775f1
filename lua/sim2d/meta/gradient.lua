---@meta _
-- Gradients: tracked numbers, the functions that take them, and derivatives of functions.

---A number that takes part in a gradient. You can use it in arithmetic and with `<` and `<=`, also together with plain
---numbers. `x == 1` is always false, because Lua compares types first. `math.sin` and similar functions do not accept
---it.
---@class sim2d.Tracked
---@operator add(sim2d.Number): sim2d.Tracked
---@operator sub(sim2d.Number): sim2d.Tracked
---@operator mul(sim2d.Number): sim2d.Tracked
---@operator div(sim2d.Number): sim2d.Tracked
---@operator mod(sim2d.Number): sim2d.Tracked
---@operator idiv(sim2d.Number): sim2d.Tracked
---@operator pow(sim2d.Number): sim2d.Tracked
---@operator unm: sim2d.Tracked
local Tracked = {}

---Returns the plain number. It can also be called after the gradient call.
---@return number
function Tracked:value() end

---@alias sim2d.Number number|sim2d.Tracked
---Parameters of a gradient: a number, an array, a vector, or nested tables of these. Other values in the tables are passed
---on unchanged.
---@alias sim2d.Parameters number|sim2d.Array|sim2d.Vector|table

---@class sim2d
local sim = {}

---Returns f(p, ...), then its gradient in the shape of p, and then the other results of f.
---@param f fun(p, ...): sim2d.Number, ...
---@param p sim2d.Parameters
---@param ... any passed to f
---@return number value
---@return any gradient
---@return any ...
function sim.value_and_grad(f, p, ...) end

---Returns the gradient of f at p, then the value and the other results of f. If you omit p, it returns the gradient
---function of f.
---@param f fun(p, ...): sim2d.Number, ...
---@param p? sim2d.Parameters
---@param ... any passed to f
---@return any gradient
---@return number value
---@return any ...
---@overload fun(f: fun(p, ...): sim2d.Number): fun(p: sim2d.Parameters, ...): any, number
function sim.grad(f, p, ...) end

---Returns the Jacobian of f at x, with a row for each output, and the value f(x). The Jacobian is an array if x or f(x)
---is an array.
---@param f fun(x): sim2d.Number|sim2d.Number[]|sim2d.Array
---@param x number|number[]|sim2d.Array
---@return number[][]|sim2d.Array jacobian
---@return number|number[]|sim2d.Array value
function sim.jacobian(f, x) end

---Returns the product of the Hessian of f at p and the direction d. It uses finite differences of exact gradients, with
---a relative error of about 1e-11.
---@param f fun(p): sim2d.Number
---@param p sim2d.Parameters
---@param d sim2d.Parameters in the shape of p
---@return any product in the shape of p
function sim.hvp(f, p, d) end

---Compares the gradient of f at p with finite differences of f, and prints a table. It also prints a message if both
---derivatives ignore the times of impacts.
---@param f fun(p): sim2d.Number
---@param p sim2d.Parameters
---@param options? { step?: number, print?: boolean }
---@return number error largest relative error
---@return string[] flags of the gradient, as in `sim.tape_stats()`
function sim.check_grad(f, p, options) end

---Returns the plain value of a tracked value, or a table with the plain values. No derivative passes through it.
---@generic T
---@param x T
---@return T
function sim.stop_gradient(x) end

---Makes a function with a derivative that you define. `forward` gets plain values. It returns one value y, and any
---values that `backward` needs later. `backward(dl_dy, y, arguments ..., kept ...)` returns dl/d(argument) for each
---argument.
---@param def { forward: (fun(...): number|sim2d.Array, ...), backward: (fun(...): ...) }
---@return fun(...): sim2d.Number|sim2d.Array
function sim.custom(def) end

---Makes worlds store a snapshot every n steps, instead of a record of each step. This takes less memory and more time.
---If you omit n, worlds store records again.
---@param n? integer
---@return integer? before the previous value
function sim.checkpoint(n) end

---Returns statistics of the tape that is being recorded, or of the last tape. `reason` is the reason why every
---derivative is 0, or nil if any derivative is not 0.
---@return { nodes: integer, bytes: integer, peak_bytes: integer, flags: string[], reason?: string }
function sim.tape_stats() end

---@param x sim2d.Number|sim2d.Array
function sim.sin(x) end

---@param x sim2d.Number|sim2d.Array
function sim.cos(x) end

---@param x sim2d.Number|sim2d.Array
function sim.tan(x) end

---@param x sim2d.Number|sim2d.Array
function sim.asin(x) end

---@param x sim2d.Number|sim2d.Array
function sim.acos(x) end

---@param y sim2d.Number|sim2d.Array
---@param x? sim2d.Number|sim2d.Array
function sim.atan(y, x) end

---@param y sim2d.Number|sim2d.Array
---@param x sim2d.Number|sim2d.Array
function sim.atan2(y, x) end

---@param x sim2d.Number|sim2d.Array
function sim.sinh(x) end

---@param x sim2d.Number|sim2d.Array
function sim.cosh(x) end

---@param x sim2d.Number|sim2d.Array
function sim.tanh(x) end

---@param x sim2d.Number|sim2d.Array
function sim.exp(x) end

---@param x sim2d.Number|sim2d.Array
---@param base? sim2d.Number
function sim.log(x, base) end

---@param x sim2d.Number|sim2d.Array
function sim.sqrt(x) end

---@param x sim2d.Number|sim2d.Array
---@param y sim2d.Number|sim2d.Array
function sim.pow(x, y) end

---@param x sim2d.Number|sim2d.Array
function sim.abs(x) end

---Returns the largest of its arguments, or the largest number of an array.
---@param x sim2d.Number|sim2d.Array
---@param ... sim2d.Number|sim2d.Array
function sim.max(x, ...) end

---Returns the smallest of its arguments, or the smallest number of an array.
---@param x sim2d.Number|sim2d.Array
---@param ... sim2d.Number|sim2d.Array
function sim.min(x, ...) end

---Returns x clamped to the range from lo to hi.
---@param x sim2d.Number|sim2d.Array
---@param lo sim2d.Number|sim2d.Array
---@param hi sim2d.Number|sim2d.Array
function sim.clamp(x, lo, hi) end

---Returns the sign of x: -1, 0 or 1. The result is a plain number, because its derivative is 0.
---@param x sim2d.Number|sim2d.Array
function sim.sign(x) end

---Returns the largest integer that is not above x. The result is a plain number, because its derivative is 0.
---@param x sim2d.Number|sim2d.Array
function sim.floor(x) end
