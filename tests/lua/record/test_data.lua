-- sim.data, recordings as arrays and tables, and how NumPy reads them.
local sim = require "sim2d"

local SIM2D = os.getenv "S2_SIM2D" or arg[-1]
local DATA = os.getenv "S2_TEST_DATA"

local FOLDER = os.tmpname()
os.remove(FOLDER)
assert(os.execute("mkdir " .. FOLDER))

local function path(name) return FOLDER .. "/" .. name end

local function write_file(name, text)
  local file <close> = assert(io.open(path(name), "w"))
  file:write(text)
end

local function read_file(name)
  local file <close> = assert(io.open(path(name)))
  return file:read "a"
end

-- A python3 that has NumPy.
local function find_python()
  for _, python in ipairs { "python3", "/usr/bin/python3" } do
    if os.execute(python .. " -c 'import numpy' >/dev/null 2>&1") then return python end
  end
end
local PYTHON = find_python()

-- Runs Python with NumPy as np in FOLDER; returns what it prints.
local function numpy(code)
  if not PYTHON then skip "python3 with numpy is missing" end
  write_file("code.py", "import numpy as np\n" .. code)
  local done = os.execute(("cd %s && %s code.py >out 2>err"):format(FOLDER, PYTHON))
  if not done then error(read_file "err") end
  return read_file "out"
end

local function has_hdf5()
  local saved, message = sim.data.save(path "probe.h5", { a = 1 })
  if not saved then skip(message) end
end

local function scene()
  local world = sim.world {}
  world:box { name = "floor", type = "static", position = { 0, -0.5 }, size = { 10, 1 } }
  local cart = world:box { name = "cart", size = { 1, 0.4 }, position = { 0, 0.2 }, velocity = { 0.3, 0 } }
  local pole = world:box { name = "pole", size = { 0.1, 1 }, position = { 0, 0.9 } }
  world:hinge { cart, pole, anchor = { 0, 0.4 }, name = "pivot" }
  return world
end

-- ---- Saving and loading ---------------------------------------------------------------------------

test("arrays, lists, texts, flags and single values are saved and loaded", function()
  local values = {
    list = { 1.5, 0 / 0, -1 / 0, 0.1 }, matrix = { { 1, 2, 3 }, { 4, 5, 6 } },
    array = sim.linspace(0, 1, 7), flags = { true, false }, texts = { "a", "", "µ\n\"x\"," },
    rows = { sim.array { 1, 2 }, { 3, 4 } }, whole = 7, half = 0.5, yes = true, word = "späť", none = {},
  }
  local function check(file)
    ok(sim.data.save(path(file), values, { units = { list = "m/s", whole = "kg" } }))
    local data, about = sim.data.load(path(file))
    ok(data, about)
    eq(data.list:table(), values.list)
    eq(data.matrix:table(), values.matrix)
    eq(data.array == values.array, true)
    eq(data.flags:table(), { 1, 0 })
    eq(data.texts, values.texts)
    eq(data.rows:table(), { { 1, 2 }, { 3, 4 } })
    eq({ data.whole, data.half, data.word, data.none.shape }, { 7, 0.5, "späť", { 0 } })
    eq(math.type(data.whole), "integer")
    eq(about.units, { list = "m/s", whole = "kg" })
    eq(about.run, {})
    eq(about.names, { "array", "flags", "half", "list", "matrix", "none", "rows", "texts", "whole", "word", "yes" })
    return data
  end
  eq(check("all.npz").yes, true)
  has_hdf5()
  eq(check("all.h5").yes, 1)
end)

test("columns of a .csv file, in the order asked for", function()
  local values = { t = { 0, 0.1 }, x = sim.array { 1 / 3, 2 / 3 }, name = { "a b", "c,d" }, on = { true, false } }
  ok(sim.data.save(path "c.csv", values, { columns = { "t", "x", "name" }, units = { t = "s", x = "m" } }))
  eq(read_file "c.csv", "t [s],x [m],name\n0,0.33333333333333331,a b\n0.1,0.66666666666666663,\"c,d\"\n")
  local data, about = sim.data.load(path "c.csv")
  eq(data.x == values.x, true)
  eq(data.name, values.name)
  eq(about.names, { "t", "x", "name" })
  eq(about.units, { t = "s", x = "m" })
end)

test("one array: .npy, and .csv without a header", function()
  local matrix = { { 1, 2 }, { 3, 4 }, { 5, 6 } }
  for _, file in ipairs { "one.npy", "one.csv" } do
    ok(sim.data.save(path(file), matrix))
    eq(sim.data.load(path(file)):table(), matrix)
  end
  ok(sim.data.save(path "list.npy", sim.array { 1, 2, 3 }))
  eq(sim.data.load(path "list.npy"):table(), { 1, 2, 3 })
end)

test("files as measurements come", function()
  write_file("toss.csv", "# toss,t,x\n1,0,0.5\n1,0.1,\n2,0,1e-3\n")
  local data = sim.data.load(path "toss.csv", { columns = { "toss", "t", "x" } })
  eq(data.toss:table(), { 1, 1, 2 })
  eq(data.x:table(), { 0.5, 0 / 0, 1e-3 })
  write_file("rows.csv", "# toss, n, x...\n1,3,7,8,9\n2,1,7\n")
  local rows = sim.data.load(path "rows.csv", { ragged = true })
  eq({ #rows, rows[1]:table(), rows[2]:table() }, { 2, { 1, 3, 7, 8, 9 }, { 2, 1, 7 } })
  write_file("blanks.csv", "1  2\n3\t4\n")
  eq(sim.data.load(path "blanks.csv", { separator = " " }):table(), { { 1, 2 }, { 3, 4 } })
end)

test("tracked numbers are saved as plain ones", function()
  sim.grad(function(x)
    ok(sim.data.save(path "tracked.npz", { x = { x, 2 * x }, a = sim.array { x, 1 } * x, one = x }))
    return x
  end, 3)
  local data = sim.data.load(path "tracked.npz")
  eq({ data.x:table(), data.a:table(), data.one }, { { 3, 6 }, { 9, 3 }, 3 })
end)

test("errors of files give nil and a message", function()
  local function told(pattern, result, message)
    eq(result, nil)
    ok(message:find(pattern), message)
  end
  told("cannot write '/no/such/folder/a.npz': No such file", sim.data.save("/no/such/folder/a.npz", { a = 1 }))
  told("cannot read .*nothing.csv': No such file", sim.data.load(path "nothing.csv"))
  write_file("bad.npz", "not a zip")
  told("bad.npz': not an .npz file", sim.data.load(path "bad.npz"))
  write_file("bad.npy", "not an array")
  told("not in NumPy's format", sim.data.load(path "bad.npy"))
  write_file("bad.csv", "1,2\n3\n")
  told("line 2 has 1 cells, but line 1 has 2; .* ragged = true", sim.data.load(path "bad.csv"))
  told("2 columns, but the number of names is 1", (function()
    write_file("two.csv", "1,2\n")
    return sim.data.load(path "two.csv", { columns = { "x" } })
  end)())
  ok(sim.data.save(path "large.npz", { n = math.maxinteger }))
  eq(sim.data.load(path "large.npz").n, math.maxinteger)
  local full = path "full.npz"
  if os.execute("test -w /dev/full && ln -s /dev/full " .. full) then
    told("No space left", sim.data.save(full, { a = sim.zeros(100000) }))
  end
end)

test("a .h5 file does not depend on when it was written", function()
  has_hdf5()
  local function write()
    assert(sim.data.save(path "when.h5", { a = { 1, 2 }, ["group/b"] = { "x" } }))
    return read_file "when.h5"
  end
  local before = write()
  os.execute "sleep 1.1" -- HDF5 counts in seconds
  ok(write() == before)
end)

test("a damaged .h5 file is reported", function()
  has_hdf5()
  write_file("bad.h5", "\x89HDF\r\n\x1a\n and then nothing")
  local data, message = sim.data.load(path "bad.h5")
  eq(data, nil)
  ok(message:find "not an HDF5 file, or damaged", message)
end)

test("mistakes of the script raise", function()
  local save, load = sim.data.save, sim.data.load
  raises("argument #1 to 'save' %(path expected, got 3%)", save, 3, { a = 1 })
  raises("unknown suffix '.txt'", save, "x.txt", { a = 1 })
  raises("argument #1 to 'load' .*unknown suffix", load, "x.txt")
  raises("'a': %[2%]: number expected, got 'x'", save, "x.npz", { a = { 1, "x" } })
  raises("'a': %[2%]: string expected, got 1", save, "x.npz", { a = { "x", 1 } })
  raises("'a': %[2%]: a row of 2 numbers expected", save, "x.npz", { a = { { 1, 2 }, { 3 } } })
  raises("'a': an array, a list, a number or a text expected, got function", save, "x.npz", { a = print })
  raises("'a': an array, a list, a number or a text expected, got table", save, "x.npz", { a = { b = 1 } })
  raises("names as keys expected, got the key true", save, "x.npz", { [true] = 1 })
  raises("arrays by name: {name = array} expected", save, "x.npz", { 1, 2 })
  raises("one array without a name", save, "x.npy", { a = { 1 } })
  raises("'m' is a matrix", save, "x.csv", { m = { { 1 } } })
  raises("'b' has 1 rows and 'a' has 2", save, "x.csv", { a = { 1, 2 }, b = { 1 } })
  raises("key 'columns': there is no array 'c'", save, "x.csv", { a = { 1 } }, { columns = { "c" } })
  raises("key 'columns': 'a' comes twice", save, "x.csv", { a = { 1 } }, { columns = { "a", "a" } })
  raises("key 'units': there is no array 'c'", save, "x.csv", { a = { 1 } }, { units = { c = "m" } })
  raises("unknown key 'unit'", save, "x.csv", { a = { 1 } }, { unit = {} })
  raises("options apply only to .csv files", load, "x.npz", { ragged = true })
  raises("key 'separator': a single character", load, "x.csv", { separator = "--" })
  raises("have no columns", load, "x.csv", { ragged = true, columns = { "a" } })
  raises("sim.data has no field 'sav'; did you mean 'save'", function() return sim.data.sav end)
end)

test("tables of results are saved with all digits", function()
  local before = print
  print = function() end
  local results = sim.table {
    columns = { "mu", { "error [m]", format = "%.2f" }, "solver" },
    { 0.1, 1 / 3, "pgs" }, { 0.2, nil, "lemke" },
  }
  local bare = sim.table { { 1, 2 } }
  print = before
  ok(results:save(path "results.csv"))
  eq(read_file "results.csv", "mu,error [m],solver\n0.1,0.33333333333333331,pgs\n"
    .. "0.2,nan,lemke\n")
  eq(results:save "/no/such/folder/x.csv", nil)
  raises("columns have no names", function() bare:save "x.csv" end)
  raises("unknown suffix", function() results:save "x.tab" end)
end)

-- ---- NumPy ----------------------------------------------------------------------------------------

test("NumPy reads the saved files", function()
  ok(sim.data.save(path "ours.npz", {
    x = sim.array { 0.1, 1 / 3 }, m = { { 1, 2, 3 }, { 4, 5, 6 } }, flag = { true, false }, n = 3,
    text = { "µ", "long text" }, nothing = {},
  }, { units = { x = "m", m = "N m" } }))
  ok(sim.data.save(path "ours.npy", { { 1, 2 }, { 3, 4 } }))
  ok(sim.data.save(path "ours.csv", { t = { 0, 1 }, ["ball.x"] = { 0.1, 1 / 3 } },
    { columns = { "t", "ball.x" }, units = { t = "s", ["ball.x"] = "m" } }))
  eq(numpy [==[
d = np.load("ours.npz", allow_pickle=False)
for k in d.files: print(k, d[k].dtype, d[k].shape)
print(d["x"][1] == 1 / 3, d["x"].tolist(), d["text"].tolist(), d["n"], d["flag"].tolist(), dict(d["units"].tolist()))
a = np.load("ours.npy")
print(a.tolist(), a.flags["C_CONTIGUOUS"])
c = np.genfromtxt("ours.csv", delimiter=",", names=True, deletechars="")
print(c.dtype.names, c["ball.x_[m]"].tolist() == d["x"].tolist())
import zipfile
print(zipfile.ZipFile("ours.npz").testzip())
]==], [==[
flag bool (2,)
m float64 (2, 3)
n int64 ()
nothing float64 (0,)
text <U9 (2,)
x float64 (2,)
units <U3 (2, 2)
True [0.1, 0.3333333333333333] ['µ', 'long text'] 3 [True, False] {'m': 'N m', 'x': 'm'}
[[1.0, 2.0], [3.0, 4.0]] True
('t_[s]', 'ball.x_[m]') True
None
]==])
end)

test("files of NumPy are read", function()
  numpy [==[
rng = np.random.default_rng(1)
a = {"x": rng.normal(size=(5, 3)), "f": np.asfortranarray(rng.normal(size=(4, 2))).astype(">f8"),
     "s": np.array([0.5, 0.25], dtype="f4"), "i": np.array([[1, -2]], dtype=">i4"), "u": np.array([200], dtype="u1"),
     "b": np.array([[True, False]]), "t": np.array(["x", "åäö"]), "deep": np.arange(8.0).reshape(2, 2, 2)}
np.savez("stored.npz", **a)
np.savez_compressed("packed.npz", **a)
np.savetxt("x.csv", a["x"], delimiter=",")
np.save("x.npy", a["x"].T)
np.save("structured.npy", np.array([(1, 2.0)], dtype=[("a", "i4"), ("b", "f8")]))
np.save("complex.npy", np.array([1j]))
np.save("objects.npy", np.array([None, "x"], dtype=object), allow_pickle=True)
np.save("huge.npy", np.array([2**60]))
open("x.txt", "w").write("\n".join(" ".join(v.hex() for v in row) for row in a["x"]))
]==]
  local want = {}
  for line in io.lines(path "x.txt") do
    local row = {}
    for word in line:gmatch "%S+" do row[#row + 1] = tonumber(word) end
    want[#want + 1] = row
  end
  for _, file in ipairs { "stored.npz", "packed.npz" } do
    local data, message = sim.data.load(path(file))
    ok(data, message)
    eq(data.x:table(), want)
    eq(data.f.shape, { 4, 2 })
    eq({ data.s:table(), data.i:table(), data.u:table() }, { { 0.5, 0.25 }, { { 1, -2 } }, { 200 } })
    eq({ data.b:table(), data.t }, { { { 1, 0 } }, { "x", "åäö" } })
    eq(data.deep:table(), { { 0, 1, 2, 3 }, { 4, 5, 6, 7 } })
  end
  local written = sim.data.load(path "x.csv")
  eq(written:table(), want)
  eq(sim.data.load(path "x.npy"):t():table(), want)
  for file, why in pairs { structured = "structured .*it has fields", complex = "type '<c16'",
      objects = "not objects", huge = "beyond 2^53" } do
    local data, message = sim.data.load(path(file .. ".npy"))
    eq(data, nil)
    ok(message:find(why, 1, file == "huge") , message)
  end
end)

test("the files NumPy saved for the tests", function()
  local data, message = sim.data.load(DATA .. "/numpy.npz")
  ok(data, message)
  eq(data.fortran.shape, { 2, 12 })
  eq(data.texts, { "å∫c", "", "xyz 𝄞" })
end)

-- ---- Recordings -----------------------------------------------------------------------------------

test("NumPy reads a recorded run, with a body made later", function()
  local world = scene()
  local recording = ok(world:record(path "run.npz", { every = 2 }))
  world:at(0.05, function() world:circle { name = "späť", radius = 0.1, position = { 3, 1 } } end)
  world:step(20)
  local cart, pole = world.bodies.cart, world.bodies.pole
  eq(recording:close(), true)
  local said = numpy [==[
d = np.load("run.npz", allow_pickle=False)
q, v, t = d["q"], d["v"], d["time"]
print(q.shape, v.shape, q.dtype, d["name"].tolist(), d["serial"].dtype)
print(np.isnan(q[:, 3, :]).sum(axis=0).tolist(), np.isnan(q[:, :3]).any())
print(np.allclose(np.diff(t), 2 / 120))
print(d["energy"].shape, np.array_equal(d["energy"][:, :2].sum(axis=1), d["energy"][:, 2]))
print(d["contacts"].sum() == len(d["contact_frame"]), d["contact_sliding"].dtype, d["contact_bodies"].shape[1])
f = d["contact_frame"]
print(np.array_equal(np.bincount(f, minlength=len(t)), d["contacts"]))
print(dict(d["units"])["q"], dict(d["units"])["contact_impulse"], {"sim2d", "script", "seed"} <= set(dict(d["run"])))
print(float(q[-1, 1, 1]).hex(), float(v[-1, 2, 0]).hex())
]==]
  eq(said, "(11, 4, 3) (11, 4, 3) float64 ['floor', 'cart', 'pole', 'späť'] int64\n[4, 4, 4] False\nTrue\n"
    .. "(11, 3) True\nTrue bool 2\nTrue\nrad, m, m N s True\n"
    .. numpy(("print(float('%.17g').hex(), float('%.17g').hex())"):format(cart.x, pole.omega)))
end)

test("columns by name and by function, in every format", function()
  local function run(file)
    local world = scene()
    local recording, message = world:record(path(file), {
      every = 3,
      columns = { "cart.x", "pole.angle", "pole.omega", "pivot.angle", "energy.total", "residual", "contacts",
        power = function(w, t) return w.bodies.cart.vx * t end },
      units = { power = "W" },
    })
    if not recording then skip(message) end
    local want, steps = {}, 0
    world:after_step(function(w, t)
      steps = steps + 1
      if steps % 3 == 0 then
        want[#want + 1] = { t, w.bodies.cart.x, w.bodies.pole.omega, w:energy().total, w.bodies.cart.vx * t }
      end
    end)
    world:step(12)
    eq(recording:close(), true)
    local data, about = sim.data.load(path(file))
    eq(#data.time, 5)
    for i, row in ipairs(want) do
      eq({ data.time[i + 1], data["cart.x"][i + 1], data["pole.omega"][i + 1], data["energy.total"][i + 1],
        data.power[i + 1] }, row)
    end
    eq(about.names[1], "time")
    eq({ about.units.time, about.units["cart.x"], about.units["energy.total"], about.units.power,
      about.units.contacts }, { "s", "m", "J", "W", nil })
    return about
  end
  run "wide.csv"
  eq(read_file("wide.csv"):match "^[^\n]*", "time [s],cart.x [m],pole.angle [rad],pole.omega [rad/s],"
    .. "pivot.angle [rad],energy.total [J],residual,contacts,power [W]")
  eq(run("wide.npz").run.seed, "0")
  run "wide.h5"
end)

test("a watched value of the script is a column by its name, where it was requested", function()
  local world = scene()
  sim.watch("tilt of the pole", function(w) return math.deg(w.bodies.pole.angle) end, "deg")
  sim.watch("cart.x", function() return -1 end) -- the name still refers to the number of the world
  local recording = assert(world:record(path "watched.csv", {
    columns = { "cart.x", "tilt of the pole", "cart.vx", f = function() return 5 end } }))
  world:step(4)
  recording:close()
  local data, about = sim.data.load(path "watched.csv")
  eq(about.names, { "time", "cart.x", "tilt of the pole", "cart.vx", "f" })
  eq(about.units["tilt of the pole"], "deg")
  eq({ data["cart.x"][5], data["tilt of the pole"][5], data.f[5] },
    { world.bodies.cart.x, math.deg(world.bodies.pole.angle), 5 })
  raises("a world has no 'tilt'", function() world:record(path "w.csv", { columns = { "tilt" } }) end)
  sim.watch("no number", function() return "x" end)
  raises("watch 'no number': a number, true, false or nil expected as the value of its function, got 'x'",
    function() world:record(path "w.csv", { columns = { "no number" } }) end)
end)

test("mistakes in columns raise and leave no recording", function()
  local world = scene()
  local function wrong(pattern, columns, units)
    raises(pattern, function() world:record(path "wrong.csv", { columns = columns, units = units }) end)
  end
  wrong("key 'columns': column 'carl.x': no body or joint has the name 'carl'", { "carl.x" })
  wrong("a body has no 'vz'", { "cart.vz" })
  wrong("a joint has no 'sped'; did you mean 'speed'", { "pivot.sped" })
  wrong("did you mean 'energy.total'", { "energy.totl" })
  wrong("did you mean 'audit.jump'", { "audit.jumps" })
  wrong("there are two columns 'cart.x'", { "cart.x", "cart.x" })
  wrong("two columns 'time': the first column is always the time", { time = function() return 1 end })
  wrong("%[2%]: a name like \"cart.x\" expected, got 3", { "cart.x", 3 })
  wrong("names, such as \"cart.x\", and functions", { x = "cart.x" })
  wrong("key 'units': there is no column 'y'", { "cart.x" }, { y = "m" })
  wrong("a table expected", "cart.x")
  wrong("column 'f' of a recording: its function must return a number, got nil", { f = function() end })
  wrong("oops", { f = function() error "oops" end })
  raises("key 'units': requires `columns`", function() world:record(path "w.csv", { units = {} }) end)
  raises("unknown suffix '.s2d'", function() world:record(path "w.s2d", { columns = { "cart.x" } }) end)
  eq(world:record("/no/such/folder/x.csv", { columns = { "cart.x" } }), nil)
  world:step(2) -- recording has ended, so nothing raises
end)

test("a function may close its own recording, and the world continues", function()
  local world, recording, other = scene(), nil, nil
  recording = ok(world:record(path "self.csv", { columns = { f = function(_, t)
    if t > 0.02 then recording:close() end
    return t
  end } }))
  other = ok(world:record(path "other.csv", { columns = { "cart.x" } }))
  world:step(10)
  eq(other:close(), true)
  eq(#sim.data.load(path "self.csv").f, 3)
  eq(#sim.data.load(path "other.csv").time, 11)
end)

test("a recording started by a function begins once", function()
  local world, inner = scene(), nil
  ok(world:record(path "outer.csv", { columns = { f = function(_, t)
    if t > 0.01 and not inner then inner = ok(world:record(path "inner.csv", { columns = { "cart.x" } })) end
    return t
  end } }))
  world:step(4)
  eq(inner:close(), true)
  near(sim.data.load(path "inner.csv").time:table(), { 2 / 120, 3 / 120, 4 / 120 })
end)

test("columns in a gradient call hold plain numbers", function()
  local world = scene()
  local slope = sim.grad(function(v)
    world.bodies.cart.velocity = { v, 0 }
    local recording = ok(world:record(path "tracked.csv", { columns = { "cart.x", x = function(w)
      return w.bodies.cart.x
    end } }))
    world:step(3)
    eq(recording:close(), true)
    return world.bodies.cart.x
  end, 0.5)
  ok(slope > 0)
  local data = sim.data.load(path "tracked.csv")
  eq(data.x == data["cart.x"], true)
  ok(data.x[4] > data.x[1])
end)

test("a full disk is reported, and the world continues", function()
  local full = path "full.csv"
  if not os.execute("test -w /dev/full && ln -s /dev/full " .. full) then skip "there is no /dev/full" end
  local world = scene()
  for _, options in ipairs { {}, { columns = { "cart.x" } } } do
    local recording, message = world:record(full, options)
    eq(recording, nil)
    ok(message:find "No space left", message)
  end
  local arrays = path "full-run.npz"
  os.execute("ln -s /dev/full " .. arrays)
  local recording = ok(world:record(arrays))
  world:step(100)
  local done, message = recording:close()
  eq(done, nil)
  ok(message:find "No space left", message)
  near(world.time, 100 / 120)
end)

test("a body that is gone leaves nan", function()
  local world = scene()
  local recording = ok(world:record(path "gone.npz", { columns = { "pole.x" } }))
  world:step(2)
  world.bodies.pole:destroy()
  world:step(2)
  eq(recording:close(), true)
  local x = sim.data.load(path "gone.npz")["pole.x"]
  ok(x[3] == x[3] and x[4] ~= x[4] and x[5] ~= x[5])
end)

test("--record writes arrays, of each world and of a run that fails", function()
  write_file("script.lua", [[
local sim = require "sim2d"
for i = 1, 2 do
  local world = sim.world {}
  world:circle { name = "ball", radius = 1 }
  world:step(10 * i)
end
error "the end"
]])
  local command = ("cd %s && '%s' --seed 5 --record all.npz script.lua >out 2>err"):format(FOLDER, SIM2D)
  local _, _, status = os.execute(command)
  eq(status, 1)
  local data, about = sim.data.load(path "all.npz")
  eq(data.q.shape, { 11, 3 })
  eq({ about.run.script, about.run.seed, about.run.sim2d }, { "script.lua", "5", sim.version })
  eq(sim.data.load(path "all-2.npz").q.shape, { 21, 3 })
end)

test("recordings become arrays, and a validated run writes no columns", function()
  write_file("noise.lua", [[
local sim = require "sim2d"
local world = sim.world {}
world:circle { name = "ball", radius = 1 }
world:record("noise.csv", { columns = { noise = function(w)
  w.bodies.ball:apply_torque(sim.random.uniform())
  return 1
end } })
world:step(10)
]])
  local function command(words)
    return os.execute(("cd %s && '%s' %s >out 2>err"):format(FOLDER, SIM2D, words))
  end
  ok(command "--record noise.s2d --seed 3 noise.lua")
  eq(#sim.data.load(path "noise.csv").time, 11)
  os.remove(path "noise.csv")
  ok(command "replay --validate --run noise.s2d", read_file "err")
  eq(io.open(path "noise.csv"), nil)
  ok(command "replay noise.s2d noise.npz", read_file "err")
  local data, about = sim.data.load(path "noise.npz")
  eq(data.q.shape, { 11, 3 })
  eq(about.run.seed, "3")
  ok(data.energy[{ 11, 1 }] > 0)
end)

test("a killed run leaves whole rows of .csv", function()
  write_file("killed.lua", [[
local sim = require "sim2d"
local world = sim.world {}
world:circle { name = "ball", radius = 1 }
world:record("killed.csv")
world:record("killed-columns.csv", { columns = { "ball.y" } })
world:step(20)
io.popen("kill -KILL $PPID"):close()
while true do end
]])
  os.execute(("cd %s && '%s' killed.lua >out 2>err"):format(FOLDER, SIM2D))
  local long, wide = sim.data.load(path "killed.csv"), sim.data.load(path "killed-columns.csv")
  eq({ #long.time_s, #wide.time }, { 21, 21 })
  eq(long.y_m == wide["ball.y"], true)
end)

os.execute("rm -r " .. FOLDER)
