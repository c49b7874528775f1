---@meta _
-- Gradients: tracked numbers, the functions that take them, and what is made of functions.

---A number while a gradient is taken. All arithmetic and `<`, `<=` work on it, with plain numbers
---too; `x == 1` is always false (Lua compares types first). math.sin and its like do not take it.
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

---The plain number; also after the gradient call.
---@return number
function Tracked:value() end

---@alias sim2d.Number number|sim2d.Tracked
---What derivatives are taken with respect to: a number, an array, a vector, or tables of these in
---tables. Other values in the tables are passed on.
---@alias sim2d.Parameters number|sim2d.Array|sim2d.Vector|table

---@class sim2d
local sim = {}

---f(p, ...) and its gradient, in the shape of p; then what else f returned.
---@param f fun(p, ...): sim2d.Number, ...
---@param p sim2d.Parameters
---@param ... any passed to f
---@return number value
---@return any gradient
---@return any ...
function sim.value_and_grad(f, p, ...) end

---The gradient of f at p, then the value and what else f returned. Without p: the function that
---does that.
---@param f fun(p, ...): sim2d.Number, ...
---@param p? sim2d.Parameters
---@param ... any passed to f
---@return any gradient
---@return number value
---@return any ...
---@overload fun(f: fun(p, ...): sim2d.Number): fun(p: sim2d.Parameters, ...): any, number
function sim.grad(f, p, ...) end

---The derivatives of a list of numbers, a row an output; an array when x or f(x) is one. Then f(x).
---@param f fun(x): sim2d.Number|sim2d.Number[]|sim2d.Array
---@param x number|number[]|sim2d.Array
---@return number[][]|sim2d.Array
---@return number|number[]|sim2d.Array
function sim.jacobian(f, x) end

---The Hessian of f at p times d, by differences of exact gradients (relative error about 1e-11).
---@param f fun(p): sim2d.Number
---@param p sim2d.Parameters
---@param d sim2d.Parameters of p's shape
---@return any
function sim.hvp(f, p, d) end

---Compares the gradient of f at p with differences of f; prints a table, and a line where both of them
---know nothing of the times of impacts.
---@param f fun(p): sim2d.Number
---@param p sim2d.Parameters
---@param options? { step?: number, print?: boolean }
---@return number error the largest relative one
---@return string[] flags of the gradient, as sim.tape_stats() has them
function sim.check_grad(f, p, options) end

---The plain value of what is tracked, also in tables: derivatives end here.
---@generic T
---@param x T
---@return T
function sim.stop_gradient(x) end

---A function with a derivative of its own. `forward` gets plain values and returns one, and what it
---keeps for `backward(dl_dy, y, arguments ..., kept ...)`, which returns dl/d(argument) each.
---@param def { forward: (fun(...): number|sim2d.Array, ...), backward: (fun(...): ...) }
---@return fun(...): sim2d.Number|sim2d.Array
function sim.custom(def) end

---From now on worlds keep an image every n steps instead of what each step did: less memory, more
---time. Without n: no longer.
---@param n? integer
---@return integer? was
function sim.checkpoint(n) end

---Of the tape that records, or the last one. `reason`: why every derivative is 0; nil if one is not.
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

---The largest of its arguments, or of the numbers of one array.
---@param x sim2d.Number|sim2d.Array
---@param ... sim2d.Number|sim2d.Array
function sim.max(x, ...) end

---The smallest of its arguments, or of the numbers of one array.
---@param x sim2d.Number|sim2d.Array
---@param ... sim2d.Number|sim2d.Array
function sim.min(x, ...) end

---@param x sim2d.Number|sim2d.Array
---@param lo sim2d.Number|sim2d.Array
---@param hi sim2d.Number|sim2d.Array
function sim.clamp(x, lo, hi) end

---Minus one, 0 or 1: plain, for its derivative is zero.
---@param x sim2d.Number|sim2d.Array
function sim.sign(x) end

---Plain, for its derivative is zero.
---@param x sim2d.Number|sim2d.Array
function sim.floor(x) end
