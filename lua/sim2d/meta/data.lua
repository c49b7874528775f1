---@meta _
-- sim.data: reads and writes arrays in files.

---@class sim2d.Data
local Data = {}

---A value in a data file: an array (flags are stored as 0 and 1), a list of texts, nested lists of texts, or a single
---value.
---@alias sim2d.DataValue sim2d.Array|number[]|number[][]|string[]|boolean[]|number|string|boolean

---Writes named arrays, or one array without a name (.npy, .csv). The suffix selects the format: .csv, .npy, .npz or
---.h5.
---@param path string
---@param values table<string, sim2d.DataValue>|sim2d.Array|number[]|number[][]
---@param options? { columns?: string[], units?: table<string, string> } `columns` selects and orders the arrays; default: all arrays, sorted by name
---@return true? success
---@return string? message
function Data.save(path, values, options) end

---@class sim2d.LoadOptions
---@field columns? string[] names of the columns, in place of a header
---@field separator? string character between cells, " " for any white space; default: detected
---@field decimal? "."|"," decimal point; default: detected
---@field skip? integer number of lines to skip at the start; default 0
---@field fill? boolean true: missing cells at the ends of rows become nan
---@field texts? string[] names of columns that are read as texts
---@field ragged? boolean true: rows may differ in length, and the result is a list with an array for each row

---@class sim2d.AboutData
---@field names string[] names of the arrays, in the order of the file
---@field units table<string, string> units, keyed by name
---@field run table<string, string> origin of a recording: sim2d (its version), build, script, seed ...

---Reads a file. It returns a table of named arrays, or a single array for .npy files and for .csv files without a
---header.
---@param path string
---@param options? sim2d.LoadOptions
---@return table<string, sim2d.DataValue>|sim2d.Array|sim2d.Array[]? data
---@return sim2d.AboutData|string about description of the file, or the message if the file cannot be read
function Data.load(path, options) end

---A recording that `sim.read_recording` opened. Frames are numbered from 1. They are read when you ask for them.
---@class sim2d.ReadRecording
---@field path string
---@field count integer number of frames; also `#recording`
---@field complete boolean true if the recording was closed properly
---@field version integer version of the format
---@field run sim2d.RecordedRun origin of the recording
---@field settings table<string, any> settings of the world in the first frame, with the keys of `sim.world`
---@field times sim2d.Array s, times of the frames
---@field channels { name: string, unit: string }[] values recorded as channels
---@field plots { name: string, svg: string }[] plots of the script
local ReadRecording = {}

---Origin of a recording, as far as it is known.
---@class sim2d.RecordedRun
---@field sim2d? string version of sim2d
---@field build? string description of the build
---@field seed? integer
---@field script? string path of the script
---@field recording? integer number of the recording in the run
---@field every? integer steps per frame
---@field words string[] arguments of the command line
---@field options table<string, string> options of the script, as given on the command line

---@class sim2d.RecordedBody
---@field name string
---@field type "dynamic" | "static" | "kinematic"
---@field serial integer number that is never reused in a world
---@field angle number rad
---@field x number m
---@field y number m
---@field omega number rad/s
---@field vx number m/s
---@field vy number m/s
---@field mass number kg
---@field inertia number kg m^2
---@field sensor boolean
---@field enabled boolean

---@class sim2d.RecordedContact
---@field a sim2d.RecordedBody
---@field b sim2d.RecordedBody
---@field point number[] m
---@field normal number[] from b to a
---@field gap number m
---@field normal_impulse number N s
---@field tangent_impulse number N s
---@field sliding boolean

---@class sim2d.RecordedJoint
---@field name string
---@field type string
---@field serial integer number that is never reused in a world
---@field a? sim2d.RecordedBody nil: the world
---@field b? sim2d.RecordedBody nil: the world
---@field anchor_a number[] m
---@field anchor_b number[] m
---@field impulse number[] N s
---@field angle number rad
---@field speed number rad/s or m/s
---@field enabled boolean

---You can also index the lists by name: `frame.bodies.ball.y`.
---@class sim2d.RecordedFrame
---@field time number s
---@field step integer
---@field hash string hash of the state
---@field energy { kinetic: number, potential: number, total: number } J
---@field momentum { angular: number, x: number, y: number } N m s, N s
---@field residual number scaled residual of the step
---@field iterations number
---@field bodies sim2d.RecordedBody[]
---@field contacts sim2d.RecordedContact[]
---@field joints sim2d.RecordedJoint[]
---@field channels { name: string, unit: string, value: number }[]
---@field annotations { type: "line"|"arrow"|"point"|"text", from: sim2d.Vector?, to: sim2d.Vector, text: string, color: integer, size: number, letters: number }[] drawings of the script
---@field settings table<string, any> settings of the world

---Reads a frame. If the file is damaged at this frame, the call returns nil and a message.
---@param index integer from 1
---@return sim2d.RecordedFrame? frame
---@return string? message
function ReadRecording:frame(index) end

---Iterates over all frames: `for i, frame in recording:frames() do`.
---@return fun(state: any, i: integer): integer?, sim2d.RecordedFrame?
---@return nil
---@return integer
function ReadRecording:frames() end

---Reads one number from all frames. The array contains nan for frames without this number.
---@param name string
---@return sim2d.Array? numbers
---@return string? message
function ReadRecording:column(name) end

---Finds the last frame that is not later than a time. It returns 1 if all frames are later, and nil if there are no
---frames.
---@param time number s
---@return integer? index
function ReadRecording:find(time) end

---Closes the file. A `<close>` variable closes it at the end of its scope. The garbage collector also closes it.
---@return true
function ReadRecording:close() end
