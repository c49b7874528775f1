---@meta _
-- Arrays: lists and matrices of numbers.

---What array functions take: an array, a number, a list or a matrix as a table, a vector.
---@alias sim2d.Numbers sim2d.Array|number|number[]|number[][]|sim2d.Vector

---A list (`{n}`) or matrix (`{rows, columns}`) of numbers, row by row. `a[i]` is number i of a
---list, or a copy of row i of a matrix; `a[{i, j}]` a number of a matrix. Operators work element by
---element; an axis of length 1, or a missing first one, is repeated.
---@class sim2d.Array
---@field [integer] number|sim2d.Array
---@field shape integer[]
---@field size integer how many numbers
---@field x number of lists of two (x, y) and three (a, x, y)
---@field y number
---@field a number
---@field angular number lists of three: `a` under its name in momenta
---@field va number of lists of three: the same under the names of velocities
---@field vx number
---@field vy number
---@operator add(sim2d.Numbers): sim2d.Array
---@operator sub(sim2d.Numbers): sim2d.Array
---@operator mul(sim2d.Numbers): sim2d.Array
---@operator div(sim2d.Numbers): sim2d.Array
---@operator pow(sim2d.Numbers): sim2d.Array
---@operator unm: sim2d.Array
---@operator len: integer
local Array = {}

---Sum of all numbers, or along an axis: 1 over the rows, 2 over the columns.
---@param axis? 1|2
---@return number|sim2d.Array
function Array:sum(axis) end

---@param axis? 1|2
---@return number|sim2d.Array
function Array:mean(axis) end

---@param axis? 1|2
---@return number|sim2d.Array
function Array:max(axis) end

---@param axis? 1|2
---@return number|sim2d.Array
function Array:min(axis) end

---Square root of the sum of squares.
---@return number
function Array:norm() end

---Matrix product. A list on the left is a row, on the right a column; two lists give a number.
---@param b sim2d.Numbers
---@return sim2d.Array|number
function Array:mm(b) end

---Scalar product of two lists.
---@param b sim2d.Numbers
---@return number
function Array:dot(b) end

---The transpose.
---@return sim2d.Array
function Array:t() end

---The same numbers in another shape: a length, or rows and columns.
---@param rows integer|integer[]
---@param columns? integer
---@return sim2d.Array
function Array:reshape(rows, columns) end

---Row i of a matrix.
---@param i integer
---@return sim2d.Array
function Array:row(i) end

---Column j of a matrix.
---@param j integer
---@return sim2d.Array
function Array:column(j) end

---@return sim2d.Array
function Array:diagonal() end

---Numbers first to last; of a matrix rows, and columns. nil: all.
---@param rows? integer[]
---@param columns? integer[]
---@return sim2d.Array
function Array:slice(rows, columns) end

---@return sim2d.Array
function Array:copy() end

---The plain array of a tracked one.
---@return sim2d.Array
function Array:value() end

---A table of numbers, or of rows.
---@return number[]|number[][]
function Array:table() end

---1 where a number is below the other, else 0.
---@param b sim2d.Numbers
---@return sim2d.Array
function Array:lt(b) end

---@param b sim2d.Numbers
---@return sim2d.Array
function Array:le(b) end

---@param b sim2d.Numbers
---@return sim2d.Array
function Array:gt(b) end

---@param b sim2d.Numbers
---@return sim2d.Array
function Array:ge(b) end

---@param b sim2d.Numbers
---@return sim2d.Array
function Array:eq(b) end

---Of the same shape, and each number within the tolerance (0) of the other.
---@param b sim2d.Numbers
---@param tolerance? number
---@return boolean
function Array:equals(b, tolerance) end

-- ---- sim ----------------------------------------------------------------------------------------

---Linear algebra. What cannot be computed (a singular matrix) returns nil and the reason.
---@class sim2d.Linalg
local Linalg = {}

---X of A X = B, for a list or a matrix B.
---@param a sim2d.Numbers
---@param b sim2d.Numbers
---@return sim2d.Array? x
---@return string? message
function Linalg.solve(a, b) end

---The shortest X that minimises |A X - B|, and the rank of A.
---@param a sim2d.Numbers
---@param b sim2d.Numbers
---@return sim2d.Array? x
---@return integer|string rank or the message
function Linalg.lstsq(a, b) end

---The inverse of a square matrix.
---@param a sim2d.Numbers
---@return sim2d.Array? inverse
---@return string? message
function Linalg.inv(a) end

---The determinant of a square matrix.
---@param a sim2d.Numbers
---@return number
function Linalg.det(a) end

---Square root of the sum of squares.
---@param a sim2d.Numbers
---@return number
function Linalg.norm(a) end

---Lower L with L L' = (A + A') / 2.
---@param a sim2d.Numbers
---@return sim2d.Array? L
---@return string? message
function Linalg.cholesky(a) end

---Q with orthonormal columns and upper R, its diagonal not below 0; A = Q R.
---@param a sim2d.Numbers
---@return sim2d.Array? Q
---@return sim2d.Array|string R
function Linalg.qr(a) end

---A = U diag(s) V', s from the largest.
---@param a sim2d.Numbers
---@return sim2d.Array? U
---@return sim2d.Array|string s
---@return sim2d.Array? V
function Linalg.svd(a) end

---Eigenvalues from the smallest and unit eigenvectors as columns. Complex pairs: real parts, the
---real and the imaginary part of the vector in two columns, and the imaginary parts of the values.
---@param a sim2d.Numbers
---@return sim2d.Array? values
---@return sim2d.Array|string vectors
---@return sim2d.Array? imaginary
function Linalg.eig(a) end

---The gain of the regulator u = -K x that makes the sum of x'Q x + u'R u least for x+ = A x + B u, and that
---sum from x as x'P x. Weights: matrix, list of the diagonal, or one number for all.
---@param a sim2d.Numbers
---@param b sim2d.Numbers
---@param q sim2d.Numbers|number
---@param r sim2d.Numbers|number
---@return sim2d.Array? K
---@return sim2d.Array|string P or the message
function Linalg.lqr(a, b, q, r) end

---The matrix exponential.
---@param a sim2d.Numbers
---@return sim2d.Array? exponential
---@return string? message
function Linalg.expm(a) end

---@class sim2d
---@field linalg sim2d.Linalg
local sim = {}

---An array of a list `{1, 2}` or a matrix `{{1, 2}, {3, 4}}`, whose rows may be arrays; a copy of
---an array. With a shape: the numbers in that shape.
---@param numbers sim2d.Numbers
---@param rows? integer|integer[]
---@param columns? integer
---@return sim2d.Array
function sim.array(numbers, rows, columns) end

---@param rows integer|integer[] a length, or rows and columns
---@param columns? integer
---@return sim2d.Array
function sim.zeros(rows, columns) end

---@param rows integer|integer[]
---@param columns? integer
---@return sim2d.Array
function sim.ones(rows, columns) end

---@param n integer
---@return sim2d.Array
function sim.eye(n) end

---Normal random numbers of `sim.random`, or of the generator given last.
---@param rows integer|integer[]
---@param columns? integer|sim2d.Random
---@param generator? sim2d.Random
---@return sim2d.Array
function sim.randn(rows, columns, generator) end

---n numbers from a to b, both included.
---@param a number
---@param b number
---@param n integer
---@return sim2d.Array
function sim.linspace(a, b, n) end

---Lists one behind the other; matrices below (axis 1) or beside one another (axis 2).
---@param parts sim2d.Numbers[]
---@param axis? 1|2
---@return sim2d.Array
function sim.concat(parts, axis) end

---Lists as the rows (axis 1) or columns (axis 2) of a matrix.
---@param parts sim2d.Numbers[]
---@param axis? 1|2
---@return sim2d.Array
function sim.stack(parts, axis) end

---@param a sim2d.Numbers
---@param axis? 1|2
---@return number|sim2d.Array
function sim.sum(a, axis) end

---@param a sim2d.Numbers
---@param axis? 1|2
---@return number|sim2d.Array
function sim.mean(a, axis) end

---The larger of each number and 0.
---@generic T: number|sim2d.Array
---@param a T
---@return T
function sim.relu(a) end
