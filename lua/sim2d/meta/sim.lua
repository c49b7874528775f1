---@meta sim2d
-- Annotations of `sim` for editors with the Lua language server. The other files of this folder describe
-- worlds, bodies and the solvers of separate problems. Programs never load these files; a test compares
-- them with the library. Units are SI. Angles are in rad and counter-clockwise. y points up.

---Two numbers, which are also available as `.x` and `.y`.
---@alias sim2d.XY number[]|{ x: number, y: number }|sim2d.Vector

---A vector that the engine returned. It is read-only and supports + - * / and #. To change the field from which you
---read it, assign a whole vector.
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
local Vector = {}

---Returns the length.
---@return number
function Vector:norm() end

---Returns the scalar product.
---@param other sim2d.XY
---@return number
function Vector:dot(other) end

---{angular, x, y}
---@class sim2d.Momentum: sim2d.Vector
---@field angular number

---@alias sim2d.Solver "auto"|"closed"|"pdipm"|"lemke"|"newton"|"al"|"ncp"|"nsgs"|"pgs"|"si"|"nncg"|"pcg"|"linear"|"active"
---@alias sim2d.BodyType "dynamic"|"static"|"kinematic"
---@alias sim2d.Combine "geometric"|"average"|"multiply"|"min"|"max"

-- ---- sim ----------------------------------------------------------------------------------------

---@class sim2d
---@field version string
---@field random sim2d.Random
---@field plot sim2d.PlotLibrary
---@field ncp sim2d.Ncp
---@field lcp sim2d.Lcp
---@field kkt sim2d.Kkt
---@field mlcp sim2d.Mlcp
---@field contact sim2d.ContactLibrary
---@field problem sim2d.ProblemLibrary
---@field qp sim2d.Qp
---@field lp sim2d.Lp
---@field data sim2d.Data
---@field parallel sim2d.Parallel
local sim = {}

---Makes many worlds. Several threads step them without Lua.
---@param builder sim2d.World|fun(i: integer, random: sim2d.Random): sim2d.World a function that makes world i, or a world to clone
---@param n integer number of worlds
---@param options? sim2d.BatchOptions
---@return sim2d.Batch
function sim.batch(builder, n, options) end

---Computes the costs of many sequences of controls. Each sequence starts from the present state of the world.
---@param world sim2d.World the call does not change it
---@param controls sim2d.Array|sim2d.Array[] sequences x (knots * actuators), or a list of knots x actuators
---@param options? sim2d.RolloutOptions
---@return sim2d.Array costs
---@return sim2d.Array? states sequences x (knots * numbers of a state), the states after each knot
---@return integer failed number of sequences that failed
function sim.rollout(world, controls, options) end

---Makes a world.
---@param def? sim2d.WorldDef
---@return sim2d.World
function sim.world(def) end

---Returns the solvers, each with its name and a summary.
---@return { name: string, summary: string }[]
function sim.solvers() end

---Returns the open worlds, oldest first. It includes worlds in local variables of the script.
---@return sim2d.World[]
function sim.worlds() end

---Registers a solver that you define. A world uses it if its `solver` is this name.
---@param name string
---@param fn fun(problem: sim2d.SolverProblem): (number[]?, integer?) returns the impulses (one for each row) or nil, and the number of iterations
function sim.solver(name, fn) end

---Tests whether the calling file is the running script, and not a module that another file required.
---@return boolean
function sim.is_main() end

---Returns the time of a clock that never runs backwards. Its start is arbitrary.
---@return number time s
function sim.clock() end

---Waits for a simulated time. You can call it only in a coroutine that `world:start` started.
---@param seconds number s
function sim.wait(seconds) end

---Declares options and reads them from the command line: `sim.options{ mu = {0.5, "friction"} }` reads `--mu 0.3` or
---`--mu=0.3` after the script. Each value has the type of its default. The call removes the words that it reads from
---the global `arg`. `--help` prints the options and exits.
---@param declared table<string, number|boolean|string|{ [1]: number|boolean|string, [2]: string? }>
---@return table<string, any> values
function sim.options(declared) end

---Prints rows as an aligned table. Rows are lists, or tables keyed by column name.
---@param def { columns?: (string|{ [1]: string, format: string? })[], [integer]: table }
---@return sim2d.Table
function sim.table(def) end

---@class sim2d.Table
local Table = {}

---Writes the columns with all digits to a file (.csv, .npz or .h5).
---@param path string
---@return true? success
---@return string? message
function Table:save(path) end

---Starts an experiment, which compares expected and obtained values. `options` are declared as for `sim.options`. The
---experiment adds the option `--out FILE` for the file of the figure. The values of all options are in `.options`.
---@param title string
---@param options? table
---@return sim2d.Experiment
function sim.experiment(title, options) end

---@class sim2d.Experiment
---@field options table<string, any>
local Experiment = {}

---Expects two texts or booleans to be equal, or two numbers to differ by at most a tolerance.
---@param what string name of the row
---@param expected number|string|boolean
---@param obtained number|string|boolean
---@param tolerance? number default 0
---@return boolean ok
function Experiment:equal(what, expected, obtained, tolerance) end

---Expects a number that is at most a bound.
---@param what string name of the row
---@param bound number
---@param obtained number
---@return boolean ok
function Experiment:below(what, bound, obtained) end

---Expects a number that is at least a bound.
---@param what string name of the row
---@param bound number
---@param obtained number
---@return boolean ok
function Experiment:above(what, bound, obtained) end

---Draws the plot, writes it to the file given by `--out` and shows it in a player.
---@param plot sim2d.Plot
function Experiment:figure(plot) end

---Prints the table, and raises an error if a value differs from the expected value.
function Experiment:finish() end

---@class sim2d.PlotAxis
---@field label? string "time, s"
---@field unit? string written after the label
---@field log? boolean
---@field range? number[] {lo, hi}

---@alias sim2d.PlotNumbers number[]|sim2d.Array
---@alias sim2d.PlotFunction fun(x: number): number

---A series of data, a line across the plot ({x = 3, label =} or {y = 3, label =}), or a note ({x =, y =, text =}).
---@class sim2d.PlotSeries
---@field [1]? sim2d.PlotNumbers|sim2d.PlotFunction|fun(x: number, y: number): number, number x values, samples, or a function; y values if there is no second list
---@field [2]? sim2d.PlotNumbers|number y values, or the start of a function's range
---@field [3]? number end of a function's range
---@field label? string
---@field kind? "line"|"scatter"|"steps"|"band"|"stack"|"histogram"|"phase"|"field"|"heat"|"contour"
---@field range? number[] for heat maps and contours: range { lo, hi } of the values
---@field levels? integer|number[] for contours: their approximate number, or a list of their values
---@field color? string
---@field dash? boolean
---@field marker? "circle"|"square"|"triangle"|"diamond"|"wedge"|"cross"
---@field error? number|sim2d.PlotNumbers|sim2d.PlotNumbers[] error bars: half of their length, or {below, above}
---@field error_x? number|sim2d.PlotNumbers|sim2d.PlotNumbers[]
---@field low? sim2d.PlotNumbers lower edge of a band
---@field high? sim2d.PlotNumbers
---@field bins? integer|sim2d.PlotNumbers for histograms: number of bins, or a list of their edges
---@field density? boolean true: scales the bars to a total area of 1 instead of counts
---@field from? number start of a function's range
---@field to? number
---@field points? integer number of points at which a function is evaluated; default 400, or 60 along each axis for heat maps and contours
---@field x? number
---@field y? number
---@field text? string

---@class sim2d.PlotDef
---@field title? string
---@field x? string|sim2d.PlotAxis
---@field y? string|sim2d.PlotAxis
---@field width? number px
---@field height? number px
---@field dark? boolean
---@field equal? boolean true: a unit has the same length on both axes
---@field legend? false|"direct"|"inside"|"above"|"below"|"right"
---@field [integer] sim2d.PlotSeries

---@class sim2d.PlotGridDef
---@field title? string
---@field columns? integer
---@field share_x? boolean
---@field share_y? boolean
---@field width? number px
---@field height? number px
---@field dark? boolean
---@field [integer] sim2d.Plot|sim2d.PlotDef

---@class sim2d.Plot
local Plot = {}

---Returns the plot as SVG text.
---@return string
function Plot:svg() end

---Writes the plot to a file that ends with .svg or .png.
---@param path string
---@param options? { scale: number? } number of pixels of a .png per px of the plot; default 2
---@return true? success
---@return string? message
function Plot:save(path, options) end

---Shows the plot in the page of `--record` and in the live viewer. Returns false if there is neither.
---@param name? string title of the plot
---@return boolean shown
function Plot:show(name) end

---Returns the plot drawn as text.
---@param options? { width: integer?, height: integer? } in characters, default 80 and 20
---@return string
function Plot:text(options) end

---Prints the plot as text.
---@param options? { width: integer?, height: integer? }
function Plot:print(options) end

---Plots of curves: `sim.plot{ title =, x =, y =, series... }`
---@class sim2d.PlotLibrary
---@overload fun(def: sim2d.PlotDef): sim2d.Plot
local PlotLibrary = {}

---Makes a grid of plots.
---@param def sim2d.PlotGridDef
---@return sim2d.Plot
function PlotLibrary.grid(def) end

---Counts from 1 to n in `for i in sim.progress(n) do ... end`, and shows a progress bar on a terminal.
---@param n integer
---@return sim2d.Progress
function sim.progress(n) end

---@class sim2d.Progress
---@overload fun(): integer?
local Progress = {}

---Sets the number of completed rounds.
---@param done number number of completed rounds
function Progress:update(done) end

---Removes the progress bar.
function Progress:done() end

---@class sim2d.SliderControl
---@field name string
---@field min number
---@field max number
---@field unit string
---@field value number settable, from min to max

---Adds a slider to the live viewer. If there is no viewer, the slider keeps its default.
---@param def { name: string, min?: number, max?: number, value?: number, unit?: string, on_change?: fun(value: number) }
---@return sim2d.SliderControl
function sim.slider(def) end

---@class sim2d.ChoiceControl
---@field name string
---@field values string[]
---@field value string settable, to one of the values

---Adds a choice of texts to the live viewer. `key` selects the next text. If there is no viewer, the choice keeps its
---default.
---@param def { name: string, values: string[], value?: string, key?: string, on_change?: fun(value: string) }
---@return sim2d.ChoiceControl
function sim.choice(def) end

---Adds a button to the live viewer. The key `key` also presses it.
---@param def { name: string, key?: string, on_press: fun() }
function sim.button(def) end

---Returns the position of an axis of a gamepad in the live viewer. It is from -1 to 1, and positive to the right and
---up. A trigger is from 0 to 1. Without a gamepad, the result is 0.
---@param name "left_x"|"left_y"|"right_x"|"right_y"|"lt"|"rt"
---@return number
function sim.axis(name) end

---Tests whether a key is held down in the live viewer, or was pressed since the last call. Names of keys are "a",
---"left", "space" and so on. Names of gamepad buttons are "pad_a", "pad_left" and so on.
---@param name string
---@return boolean
function sim.key(name) end

---Adds a value that the live viewer plots.
---@param name string
---@param f fun(world: sim2d.World): number
---@param unit? string
function sim.watch(name, f, unit) end

---Opens a .s2d file. The file may be truncated or still being written.
---@param path string
---@return sim2d.ReadRecording? recording
---@return string? message
function sim.read_recording(path) end

---Random numbers, which are the same on every machine for the same seed (`--seed`). `sim.random` itself can also be called
---with a dot: `sim.random.uniform()`.
---@class sim2d.Random
local Random = {}

---Returns a uniformly distributed number in [lo, hi).
---@param lo? number lower end; default 0
---@param hi? number upper end; default 1
---@return number
function Random:uniform(lo, hi) end

---Returns a normally distributed number.
---@param mean? number default 0
---@param deviation? number default 1
---@return number
function Random:normal(mean, deviation) end

---Returns an integer from lo to hi, both inclusive.
---@param lo integer lower end; if there is only one argument, it is the upper end, and the lower end is 1
---@param hi? integer
---@return integer
function Random:integer(lo, hi) end

---Returns a random item of a list.
---@generic T
---@param list T[]
---@return T
function Random:choice(list) end

---Shuffles a list in place and returns it.
---@generic T
---@param list T[]
---@return T[]
function Random:shuffle(list) end

---Returns an independent generator.
---@return sim2d.Random
function Random:split() end

---Restarts the generator from a seed.
---@param seed integer
function Random:seed(seed) end

return sim
