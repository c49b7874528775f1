---@meta sim2d
-- Annotations of `sim` for editors with the Lua language server. The other files of this folder describe
-- worlds, bodies and the solvers of separate problems. Programs never load these files; a test compares
-- them with the library. Units are SI, angles are in rad and counter-clockwise, y points up.

---Two numbers; also read as `.x` and `.y`.
---@alias sim2d.XY number[]|{ x: number, y: number }|sim2d.Vector

---A vector that the engine returned: read-only, with + - * / and #. To change the field it came from, assign a whole vector.
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

---Makes many worlds, which are stepped in several threads without Lua.
---@param builder sim2d.World|fun(i: integer, random: sim2d.Random): sim2d.World a function that makes world i, or a world to clone
---@param n integer number of worlds
---@param options? sim2d.BatchOptions
---@return sim2d.Batch
function sim.batch(builder, n, options) end

---Computes the cost of each of many sequences of controls, from the present state of the world.
---@param world sim2d.World the call does not change it
---@param controls sim2d.Array|sim2d.Array[] sequences x (knots * actuators), or a list of knots x actuators
---@param options? sim2d.RolloutOptions
---@return sim2d.Array costs
---@return sim2d.Array? states sequences x (knots * numbers of a state), after each knot
---@return integer failed number of sequences that failed
function sim.rollout(world, controls, options) end

---Makes a world.
---@param def? sim2d.WorldDef
---@return sim2d.World
function sim.world(def) end

---Returns the solvers, each with its name and a summary.
---@return { name: string, summary: string }[]
function sim.solvers() end

---Returns the open worlds, oldest first, also those in local variables of the script.
---@return sim2d.World[]
function sim.worlds() end

---Registers a solver that you define. Worlds use it if their `solver` is this name.
---@param name string
---@param fn fun(problem: sim2d.SolverProblem): (number[]?, integer?) returns the impulses, one for each row, or nil; and the number of iterations
function sim.solver(name, fn) end

---Tests whether the calling file is the running script, and not a module that another file required.
---@return boolean
function sim.is_main() end

---Returns the time of a clock that never runs backwards. Its start is arbitrary.
---@return number time s
function sim.clock() end

---Waits for simulated time, inside a coroutine that `world:start` started.
---@param seconds number s
function sim.wait(seconds) end

---Declares options and reads them from the command line: `sim.options{ mu = {0.5, "friction"} }` reads `--mu 0.3` or
---`--mu=0.3` after the script. Each value has the type of its default. Words that were read are removed from the global
---`arg`. `--help` prints the options and exits.
---@param declared table<string, number|boolean|string|{ [1]: number|boolean|string, [2]: string? }>
---@return table<string, any> values
function sim.options(declared) end

---Prints rows as an aligned table. Rows are lists, or tables keyed by column name.
---@param def { columns?: (string|{ [1]: string, format: string? })[], [integer]: table }
---@return sim2d.Table
function sim.table(def) end

---@class sim2d.Table
local Table = {}

---Writes the columns with all digits (.csv, .npz, .h5).
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

---Expects equal texts or booleans, or numbers that differ by at most a tolerance.
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

---Draws the plot, writes it to the file of `--out` and shows it in a player.
---@param plot sim2d.Plot
function Experiment:figure(plot) end

---Prints the table, and raises an error if a value is not as expected.
function Experiment:finish() end

---@class sim2d.PlotAxis
---@field label? string "time, s"
---@field unit? string written after the label
---@field log? boolean
---@field range? number[] {lo, hi}

---@alias sim2d.PlotNumbers number[]|sim2d.Array
---@alias sim2d.PlotFunction fun(x: number): number

---Data; or a line across the plot, {x = 3, label =} or {y = 3, label =}; or a note, {x =, y =, text =}.
---@class sim2d.PlotSeries
---@field [1]? sim2d.PlotNumbers|sim2d.PlotFunction|fun(x: number, y: number): number, number numbers on the x axis (on the y axis if there is no second list), samples, or a function
---@field [2]? sim2d.PlotNumbers|number numbers on the y axis, or the start of a function's range
---@field [3]? number the end of a function's range
---@field label? string
---@field kind? "line"|"scatter"|"steps"|"band"|"stack"|"histogram"|"phase"|"field"|"heat"|"contour"
---@field range? number[] of a heat map or contours: { lo, hi } of the values
---@field levels? integer|number[] of contours: their approximate number, or a list of values
---@field color? string
---@field dash? boolean
---@field marker? "circle"|"square"|"triangle"|"diamond"|"wedge"|"cross"
---@field error? number|sim2d.PlotNumbers|sim2d.PlotNumbers[] bars up and down: half their length, or {below, above}
---@field error_x? number|sim2d.PlotNumbers|sim2d.PlotNumbers[]
---@field low? sim2d.PlotNumbers of a band
---@field high? sim2d.PlotNumbers
---@field bins? integer|sim2d.PlotNumbers of a histogram: number of bins, or a list of their edges
---@field density? boolean scales the bars to a total area of 1, in place of counts
---@field from? number of a function
---@field to? number
---@field points? integer number of places at which a function is computed; default 400, for heat maps and contours 60 along each axis
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
---@field equal? boolean a unit has the same length on both axes
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

---Returns the picture as text.
---@return string
function Plot:svg() end

---Writes the plot to a file that ends with .svg or .png.
---@param path string
---@param options? { scale: number? } pixels of a .png for each px, default 2
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

---Pictures of curves: `sim.plot{ title =, x =, y =, series... }`
---@class sim2d.PlotLibrary
---@overload fun(def: sim2d.PlotDef): sim2d.Plot
local PlotLibrary = {}

---Makes a grid of plots.
---@param def sim2d.PlotGridDef
---@return sim2d.Plot
function PlotLibrary.grid(def) end

---Counts from 1 to n in `for i in sim.progress(n) do ... end`, and shows a bar on a terminal.
---@param n integer
---@return sim2d.Progress
function sim.progress(n) end

---@class sim2d.Progress
---@overload fun(): integer?
local Progress = {}

---Sets the progress.
---@param done number completed rounds, of n
function Progress:update(done) end

---Removes the bar.
function Progress:done() end

---@class sim2d.SliderControl
---@field name string
---@field min number
---@field max number
---@field unit string
---@field value number settable, from min to max

---Adds a slider to the live viewer. If there is no viewer, it keeps its default.
---@param def { name: string, min?: number, max?: number, value?: number, unit?: string, on_change?: fun(value: number) }
---@return sim2d.SliderControl
function sim.slider(def) end

---@class sim2d.ChoiceControl
---@field name string
---@field values string[]
---@field value string settable, to one of the values

---Adds a choice of texts to the live viewer. `key` selects the next text. If there is no viewer, it keeps its default.
---@param def { name: string, values: string[], value?: string, key?: string, on_change?: fun(value: string) }
---@return sim2d.ChoiceControl
function sim.choice(def) end

---Adds a button to the live viewer. `key` presses it, too.
---@param def { name: string, key?: string, on_press: fun() }
function sim.button(def) end

---Returns the position of an axis of a gamepad in the live viewer: -1 to 1, right and up positive; triggers 0 to 1. If
---there is no gamepad, it is 0.
---@param name "left_x"|"left_y"|"right_x"|"right_y"|"lt"|"rt"
---@return number
function sim.axis(name) end

---Tests whether a key is held down in the live viewer, or was pressed since the last call. Names are "a", "left",
---"space" ...; for gamepads "pad_a", "pad_left" ...
---@param name string
---@return boolean
function sim.key(name) end

---Adds a value that the live viewer plots.
---@param name string
---@param f fun(world: sim2d.World): number
---@param unit? string
function sim.watch(name, f, unit) end

---Opens a .s2d file, also one that was cut short or is still being written.
---@param path string
---@return sim2d.ReadRecording? recording
---@return string? message
function sim.read_recording(path) end

---Random numbers, which are the same on every machine for the same seed (`--seed`). `sim.random` itself can also be called
---with a dot: `sim.random.uniform()`.
---@class sim2d.Random
local Random = {}

---Returns a number with uniform distribution in [lo, hi).
---@param lo? number default 0
---@param hi? number default 1
---@return number
function Random:uniform(lo, hi) end

---Returns a number with normal distribution.
---@param mean? number default 0
---@param deviation? number default 1
---@return number
function Random:normal(mean, deviation) end

---Returns an integer from lo to hi, both included.
---@param lo integer the lower end; if it is the only argument, it is the upper end and the lower end is 1
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
