---@meta _
-- Arrays: lists and matrices of numbers.

---Arguments of array functions: an array, a number, a list or a matrix as a table, or a vector.
---@alias sim2d.Numbers sim2d.Array|number|number[]|number[][]|sim2d.Vector

---A list (`{n}`) or matrix (`{rows, columns}`) of numbers, row by row. `a[i]` is number i of a list, or a copy of row i
---of a matrix. `a[{i, j}]` is an element of a matrix. Operators work element by element. An axis of length 1 is
---repeated as needed, and so is a missing first axis.
---@class sim2d.Array
---@field [integer] number|sim2d.Array
---@field shape integer[]
---@field size integer number of elements
---@field x number for lists of two (x, y) and of three (a, x, y)
---@field y number
---@field a number
---@field angular number for lists of three: an alias of `a`, used for momenta
---@field va number for lists of three: `va`, `vx` and `vy` are aliases of `a`, `x` and `y`, used for velocities
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

---Returns the sum of all numbers, or the sums along an axis. Axis 1 sums over the rows, axis 2 over the columns.
---@param axis? 1|2
---@return number|sim2d.Array
function Array:sum(axis) end

---Returns the mean of all numbers, or the means along an axis.
---@param axis? 1|2
---@return number|sim2d.Array
function Array:mean(axis) end

---Returns the largest number, or the largest numbers along an axis.
---@param axis? 1|2
---@return number|sim2d.Array
function Array:max(axis) end

---Returns the smallest number, or the smallest numbers along an axis.
---@param axis? 1|2
---@return number|sim2d.Array
function Array:min(axis) end

---Returns the square root of the sum of squares.
---@return number
function Array:norm() end

---Returns the matrix product. A list on the left counts as a row, and a list on the right as a column. The product of
---two lists is a number.
---@param b sim2d.Numbers
---@return sim2d.Array|number
function Array:mm(b) end

---Returns the scalar product of two lists.
---@param b sim2d.Numbers
---@return number
function Array:dot(b) end

---Returns the transpose.
---@return sim2d.Array
function Array:t() end

---Returns the same numbers in another shape, which is given as a length, or as rows and columns.
---@param rows integer|integer[]
---@param columns? integer
---@return sim2d.Array
function Array:reshape(rows, columns) end

---Returns row i of a matrix.
---@param i integer
---@return sim2d.Array
function Array:row(i) end

---Returns column j of a matrix.
---@param j integer
---@return sim2d.Array
function Array:column(j) end

---Returns the diagonal of a matrix.
---@return sim2d.Array
function Array:diagonal() end

---Returns part of an array: the numbers of a list from first to last, or some rows and columns of a matrix. nil selects
---all of them.
---@param rows? integer[]
---@param columns? integer[]
---@return sim2d.Array
function Array:slice(rows, columns) end

---Returns a copy.
---@return sim2d.Array
function Array:copy() end

---Returns the plain array of a tracked array.
---@return sim2d.Array
function Array:value() end

---Returns a table of numbers for a list, or a table of rows for a matrix.
---@return number[]|number[][]
function Array:table() end

---Returns 1 for each number that is below the corresponding number of b, else 0.
---@param b sim2d.Numbers
---@return sim2d.Array
function Array:lt(b) end

---Returns 1 for each number that is at most the corresponding number of b, else 0.
---@param b sim2d.Numbers
---@return sim2d.Array
function Array:le(b) end

---Returns 1 for each number that is above the corresponding number of b, else 0.
---@param b sim2d.Numbers
---@return sim2d.Array
function Array:gt(b) end

---Returns 1 for each number that is at least the corresponding number of b, else 0.
---@param b sim2d.Numbers
---@return sim2d.Array
function Array:ge(b) end

---Returns 1 for each number that equals the corresponding number of b, else 0.
---@param b sim2d.Numbers
---@return sim2d.Array
function Array:eq(b) end

---Tests whether two arrays have the same shape, and whether their numbers differ by at most a tolerance.
---@param b sim2d.Numbers
---@param tolerance? number largest difference, default 0
---@return boolean
function Array:equals(b, tolerance) end

-- ---- sim ----------------------------------------------------------------------------------------

---Linear algebra. If a function cannot compute its result, for example because a matrix is singular, it returns nil and
---the reason.
---@class sim2d.Linalg
local Linalg = {}

---Solves A X = B, for a list or a matrix B.
---@param a sim2d.Numbers
---@param b sim2d.Numbers
---@return sim2d.Array? x
---@return string? message
function Linalg.solve(a, b) end

---Returns the shortest X that minimises |A X - B|, and the rank of A.
---@param a sim2d.Numbers
---@param b sim2d.Numbers
---@return sim2d.Array? x
---@return integer|string rank the rank of A, or the message if there is no result
function Linalg.lstsq(a, b) end

---Returns the inverse of a square matrix.
---@param a sim2d.Numbers
---@return sim2d.Array? inverse
---@return string? message
function Linalg.inv(a) end

---Returns the determinant of a square matrix.
---@param a sim2d.Numbers
---@return number
function Linalg.det(a) end

---Returns the square root of the sum of squares.
---@param a sim2d.Numbers
---@return number
function Linalg.norm(a) end

---Returns the lower triangular L with L L' = (A + A') / 2.
---@param a sim2d.Numbers
---@return sim2d.Array? L
---@return string? message
function Linalg.cholesky(a) end

---Returns Q and R with A = Q R. Q has orthonormal columns. R is upper triangular, and its diagonal is not negative.
---@param a sim2d.Numbers
---@return sim2d.Array? Q
---@return sim2d.Array|string R
function Linalg.qr(a) end

---Returns U, s and V with A = U diag(s) V'. The numbers of s are in descending order.
---@param a sim2d.Numbers
---@return sim2d.Array? U
---@return sim2d.Array|string s
---@return sim2d.Array? V
function Linalg.svd(a) end

---Returns the eigenvalues in ascending order, and unit eigenvectors as columns. For a complex pair, `values` contains
---the real parts and `imaginary` the imaginary parts. Two columns contain the real and the imaginary part of the
---eigenvector.
---@param a sim2d.Numbers
---@return sim2d.Array? values
---@return sim2d.Array|string vectors
---@return sim2d.Array? imaginary
function Linalg.eig(a) end

---Returns the gain K of the regulator u = -K x that minimises the sum of x'Q x + u'R u for x+ = A x + B u. From the
---state x, the smallest sum is x'P x. A weight is a matrix, a list for the diagonal, or one number for all.
---@param a sim2d.Numbers
---@param b sim2d.Numbers
---@param q sim2d.Numbers|number
---@param r sim2d.Numbers|number
---@return sim2d.Array? K
---@return sim2d.Array|string P matrix of the smallest sum, or the message if there is no result
function Linalg.lqr(a, b, q, r) end

---Returns the matrix exponential.
---@param a sim2d.Numbers
---@return sim2d.Array? exponential
---@return string? message
function Linalg.expm(a) end

---@class sim2d
---@field linalg sim2d.Linalg
local sim = {}

---Makes an array from a list `{1, 2}` or a matrix `{{1, 2}, {3, 4}}`, or copies an array. Rows of a matrix may be
---arrays. If you give rows and columns, the result has that shape.
---@param numbers sim2d.Numbers
---@param rows? integer|integer[]
---@param columns? integer
---@return sim2d.Array
function sim.array(numbers, rows, columns) end

---Makes an array of zeros.
---@param rows integer|integer[] a length, or rows and columns
---@param columns? integer
---@return sim2d.Array
function sim.zeros(rows, columns) end

---Makes an array of ones.
---@param rows integer|integer[]
---@param columns? integer
---@return sim2d.Array
function sim.ones(rows, columns) end

---Makes an identity matrix.
---@param n integer
---@return sim2d.Array
function sim.eye(n) end

---Makes an array of normal random numbers from `sim.random`, or from a generator given as the last argument.
---@param rows integer|integer[]
---@param columns? integer|sim2d.Random
---@param generator? sim2d.Random
---@return sim2d.Array
function sim.randn(rows, columns, generator) end

---Makes a list of n numbers from a to b, both included.
---@param a number
---@param b number
---@param n integer
---@return sim2d.Array
function sim.linspace(a, b, n) end

---Joins lists into one list. Joins matrices vertically (axis 1) or side by side (axis 2).
---@param parts sim2d.Numbers[]
---@param axis? 1|2
---@return sim2d.Array
function sim.concat(parts, axis) end

---Makes a matrix from lists, which become its rows (axis 1) or its columns (axis 2).
---@param parts sim2d.Numbers[]
---@param axis? 1|2
---@return sim2d.Array
function sim.stack(parts, axis) end

---Returns the sum of all numbers, or the sums along an axis.
---@param a sim2d.Numbers
---@param axis? 1|2
---@return number|sim2d.Array
function sim.sum(a, axis) end

---Returns the mean of all numbers, or the means along an axis.
---@param a sim2d.Numbers
---@param axis? 1|2
---@return number|sim2d.Array
function sim.mean(a, axis) end

---Returns max(x, 0) for each number x.
---@generic T: number|sim2d.Array
---@param a T
---@return T
function sim.relu(a) end
