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
---@field separator? string one character; default ","; " " for any blanks

---@class sim2d.AboutData
---@field names string[] of the arrays, in the order of the file
---@field units table<string, string>
---@field run table<string, string> of a recording: sim2d (its version), script, seed

---Reads a file: arrays by name; of .npy and of .csv without a header, one array.
---@param path string
---@param options? sim2d.LoadOptions
---@return table<string, sim2d.DataValue>|sim2d.Array|sim2d.Array[]? data
---@return sim2d.AboutData|string about or the message
function Data.load(path, options) end
