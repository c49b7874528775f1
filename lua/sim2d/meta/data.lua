---@meta _
-- sim.data: arrays to and from files.

---@class sim2d.Data
local Data = {}

---What a file of arrays holds: an array (also flags, as 0 and 1), a list or lists of texts, a single value.
---@alias sim2d.DataValue sim2d.Array|number[]|number[][]|string[]|boolean[]|number|string|boolean

---Writes arrays by name, or (.csv, .npy) one array. The suffix picks the format: .csv, .npy, .npz, .h5.
---@param path string
---@param values table<string, sim2d.DataValue>|sim2d.Array|number[]|number[][]
---@param options? { columns?: string[], units?: table<string, string> } which, in this order; default: all, sorted
---@return true? done
---@return string? message
function Data.save(path, values, options) end

---@class sim2d.LoadOptions
---@field columns? string[] names of the columns of a .csv file, in place of its header
---@field ragged? boolean rows of a .csv file may differ in length: a list of arrays
---@field separator? string one character, " " for any blanks; default: as the file looks
---@field decimal? "."|"," the decimal point; default: as the file looks
---@field skip? integer lines that are left out at the start
---@field fill? boolean cells that rows lack at their ends are nan
---@field texts? string[] names of columns that stay texts

---@class sim2d.AboutData
---@field names string[] of the arrays, in the order of the file
---@field units table<string, string>
---@field run table<string, string> of a recording: sim2d (its version), build, script, seed ...

---Reads a file: arrays by name; of .npy and of .csv without a header, one array.
---@param path string
---@param options? sim2d.LoadOptions
---@return table<string, sim2d.DataValue>|sim2d.Array|sim2d.Array[]? data
---@return sim2d.AboutData|string about or the message
function Data.load(path, options) end

---A recording that is read: `sim.read_recording(path)`
---@class sim2d.ReadRecording
---@field path string
---@field count integer frames; also #recording
---@field complete boolean it was closed as it should be
---@field version integer of the format
---@field run sim2d.RecordedRun
---@field settings table<string, any> of the world, in the first frame: dt, gravity, solver ...
---@field times sim2d.Array s, of the frames
---@field channels { name: string, unit: string }[]
---@field plots { name: string, svg: string }[] of the script
local ReadRecording = {}

---Where a recording comes from. What made it tells only what it knows.
---@class sim2d.RecordedRun
---@field sim2d? string its version
---@field build? string
---@field seed? integer
---@field script? string
---@field recording? integer which of the run
---@field every? integer steps a frame
---@field words string[] of the command line
---@field options table<string, string> of the script, as they were given there

---@class sim2d.RecordedBody
---@field name string
---@field type "dynamic" | "static" | "kinematic"
---@field serial integer never used twice in a world
---@field angle number rad
---@field x number m
---@field y number
---@field omega number rad/s
---@field vx number m/s
---@field vy number
---@field mass number
---@field inertia number
---@field sensor boolean
---@field enabled boolean

---@class sim2d.RecordedContact
---@field a sim2d.RecordedBody
---@field b sim2d.RecordedBody
---@field point number[]
---@field normal number[] from b to a
---@field gap number
---@field normal_impulse number N s
---@field tangent_impulse number
---@field sliding boolean

---@class sim2d.RecordedJoint
---@field name string
---@field type string
---@field serial integer
---@field a? sim2d.RecordedBody nil: the world
---@field b? sim2d.RecordedBody
---@field anchor_a number[] m
---@field anchor_b number[]
---@field impulse number[] N s
---@field angle number
---@field speed number
---@field enabled boolean

---Lists find named items by name, too: `frame.bodies.ball.y`.
---@class sim2d.RecordedFrame
---@field time number s
---@field step integer
---@field hash string of the state
---@field energy { kinetic: number, potential: number, total: number }
---@field momentum { angular: number, x: number, y: number }
---@field residual number
---@field iterations number
---@field bodies sim2d.RecordedBody[]
---@field contacts sim2d.RecordedContact[]
---@field joints sim2d.RecordedJoint[]
---@field channels { name: string, unit: string, value: number }[]
---@field annotations { type: "line"|"arrow"|"point"|"text", from: sim2d.Vector?, to: sim2d.Vector, text: string, color: integer, size: number, letters: number }[] what the script drew
---@field settings table<string, any> of the world

---Frame `index`, from 1.
---@param index integer
---@return sim2d.RecordedFrame?
---@return string? message
function ReadRecording:frame(index) end

---All frames: `for i, frame in recording:frames() do`
---@return fun(state: any, i: integer): integer?, sim2d.RecordedFrame?
---@return nil
---@return integer
function ReadRecording:frames() end

---A number over all frames: "time", "energy.total", "residual", a channel, "ball.x", "motor.angle" ...; nan in
---frames that do not have it.
---@param name string
---@return sim2d.Array?
---@return string? message
function ReadRecording:column(name) end

---The last frame that is not later than `time`; 1 if all are, nil when there are none.
---@param time number s
---@return integer?
function ReadRecording:find(time) end

---@return true
function ReadRecording:close() end
