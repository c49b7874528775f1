-- sim.parallel: computes a function of each item of a list on all cores, or with mpirun on all machines. Threads,
-- packing and the file of the journal are in C (lua/parallel). This file distributes the jobs.

local AHEAD = 4 -- queued jobs per thread, enough for jobs that take a millisecond
local WAIT = 0.2 -- time between two checks while no job finishes, s

-- Records of a journal that contain no result: the job was handed out, or it failed.
local BEGUN, FAILED = "", "!"

local OPTIONS = { "threads", "seed", "common", "time_limit", "journal", "failures", "each", "progress",
  "record" }

return function(sim, host)
  local C = host.parallel
  local inside = false -- true in the Lua state of a job

  -- ---- The function of the jobs -----------------------------------------------------------------

  -- Reads the upvalues that have to be sent with a function. The library and the globals exist in the other state.
  local function read_upvalues(f, what)
    local upvalues = {}
    for i = 1, math.huge do
      local name, value = debug.getupvalue(f, i)
      if name == nil then return upvalues end
      if rawequal(value, sim) then
        upvalues[i] = "sim"
      elseif rawequal(value, _G) then
        upvalues[i] = "_G"
      elseif rawequal(value, host) then -- a function of the library
        upvalues[i] = "host"
      else
        host.fail("bad argument #1 to '%s' (the function uses the outer local variable '%s' (a %s), which is not sent to the jobs: "
          .. "define it inside the function, or send it as `common` or in the items)",
          what, name, type(value))
      end
    end
  end

  local function read_function(f, what)
    if type(f) == "table" and type(f[1]) == "string" and type(f[2]) == "string" and #f == 2 then
      return { module = f[1], name = f[2] }
    elseif type(f) ~= "function" then
      host.fail("bad argument #1 to '%s' (a function or {\"module\", \"function\"} expected, got %s)", what,
        host.describe(f))
    elseif debug.getinfo(f, "S").what == "C" then
      host.fail("bad argument #1 to '%s' (a function written in Lua expected; wrap this one: "
        .. "function(item) return f(item) end)", what)
    end
    return { upvalues = read_upvalues(f, what), code = string.dump(f) }
  end

  -- Runs in the state of a thread: makes the function of a program and sets its globals.
  local function load_function(program)
    if program.module then
      local module = require(program.module)
      local f = type(module) == "table" and module[program.name]
      if type(f) ~= "function" then
        error(("the module '%s' has no function '%s'"):format(program.module, program.name), 0)
      end
      return f
    end
    local f = assert(load(program.code, "job", "b"))
    local globals
    for i, kind in pairs(program.upvalues) do
      if kind == "sim" then
        debug.setupvalue(f, i, sim)
      elseif kind == "host" then
        debug.setupvalue(f, i, host)
      else
        globals = i
      end
    end
    return f, globals
  end

  -- For functions that are sent inside an item: packs one, and makes it in a job with globals that are its own.
  host.pack_function = read_function
  function host.load_function(program)
    local f, globals = load_function(program)
    if globals then debug.setupvalue(f, globals, setmetatable({}, { __index = _G })) end
    return f
  end

  -- Applies time limits to coroutines of coroutine.wrap, as job_state.c does to coroutines of coroutine.resume.
  local function watch_wrap()
    local create, resume = coroutine.create, coroutine.resume
    local function check(ok, ...)
      if not ok then error((...), 0) end
      return ...
    end
    function coroutine.wrap(f)
      local co = create(f)
      return function(...) return check(resume(co, ...)) end
    end
  end

  C.job_entry(function(program)
    inside = true
    watch_wrap()
    package.path, package.cpath = program.path, program.cpath
    if program.script then C.job_script(program.script) end
    local f, globals = load_function(program)
    local seed, common, folder = program.seed, program.common, program.record
    local outside = { __index = _G }
    return function(job, item)
      -- globals that a job sets are local to the job: the next job in this thread does not see them
      if globals then debug.setupvalue(f, globals, setmetatable({}, outside)) end
      C.job_begin(seed, job, folder and ("%s/%06d.s2d"):format(folder, job) or nil)
      return (f(item, job, common))
    end
  end)

  -- ---- Options ----------------------------------------------------------------------------------

  local function check_option(what, name, good, expected, value)
    if value ~= nil and not good then
      host.fail("%s: %s: %s expected, got %s", what, name, expected, host.describe(value))
    end
  end

  local function read_options(options, what)
    if type(options or {}) ~= "table" then
      host.fail("bad argument #3 to '%s' (a table of options expected, got %s)", what, host.describe(options))
    end
    -- check for misspelt names before checking values
    local o = {}
    for _, name in ipairs(host.sorted_keys(options or {})) do
      local nearest = type(name) == "string" and host.nearest(name, OPTIONS) or nil
      o[name] = options[name]
      local known = false
      for _, other in ipairs(OPTIONS) do known = known or other == name end
      if not known then
        host.fail("%s: there is no option '%s'%s", what, tostring(name),
          nearest and ("; did you mean '%s'?"):format(nearest) or "")
      end
    end
    local whole = host.whole
    check_option(what, "threads", whole(o.threads) and o.threads >= 1 and o.threads <= 1024,
      "an integer from 1 to 1024", o.threads)
    check_option(what, "seed", whole(o.seed), "an integer", o.seed)
    check_option(what, "time_limit", type(o.time_limit) == "number" and o.time_limit > 0, "seconds, more than 0,",
      o.time_limit)
    check_option(what, "journal", type(o.journal) == "string" and o.journal ~= "", "the name of a file", o.journal)
    check_option(what, "record", type(o.record) == "string" and o.record ~= "", "the name of a folder", o.record)
    check_option(what, "failures", o.failures == "raise" or o.failures == "keep", "'raise' or 'keep'", o.failures)
    check_option(what, "progress", type(o.progress) == "boolean", "true or false", o.progress)
    if o.each ~= nil then host.check_function(what .. ": each", 1, o.each) end
    return o
  end

  -- Converts an array to a list of its numbers, or of its rows as arrays.
  function host.array_items(array)
    if not array.shape[2] then return array:table() end
    local rows = {}
    for i = 1, #array do rows[i] = array:row(i) end
    return rows
  end

  -- `items` is a list, an array, or the number of jobs. Returns the number of items and a function that packs an item.
  local function read_items(items, what)
    if host.whole(items) and items >= 0 then
      return math.tointeger(items), function(i) return C.pack(i, "item") end
    elseif getmetatable(items) == "Array" then
      items = host.array_items(items)
    elseif type(items) ~= "table" or getmetatable(items) ~= nil then
      host.fail("bad argument #2 to '%s' (a list of items or a number of jobs expected, got %s)", what,
        host.describe(items))
    end
    for key in pairs(items) do
      if math.type(key) ~= "integer" or key < 1 or key > #items then
        host.fail("bad argument #2 to '%s' (a list of items expected, but the table has the key %s besides its %d items)", what,
          host.describe(key), #items)
      end
    end
    return #items, function(i)
      local good, packed = pcall(C.pack, items[i], "its item")
      if not good then host.fail("%s: job %d: %s", what, i, packed) end
      return packed
    end
  end

  -- ---- Journal ----------------------------------------------------------------------------------

  local PARTS = { "function", "common", "seed", "jobs", "items" }

  -- A value that identifies these jobs.
  local function describe_jobs(program, n, pack, counted)
    local items = ""
    for i = 1, counted and 0 or n do items = C.hash(items .. pack(i)) end
    return {
      ["function"] = C.hash(C.pack({ program.code, program.module, program.name }, "function")),
      common = C.hash(C.pack(program.common, "common")),
      seed = program.seed,
      jobs = n,
      items = items,
    }
  end

  -- Calls take(job, packed result) for each result in the journal. Returns the journal, and the jobs that an earlier
  -- run had handed out when it ended.
  local function open_journal(path, jobs, what, take)
    if not path then return nil, {} end
    local journal, message = C.journal(path)
    if not journal then host.fail("%s: %s", what, message) end
    local job, bytes = journal:next()
    if job == nil then
      journal:add(0, C.pack(jobs, "head"))
      return journal, {}
    end
    -- the header must belong to the present jobs
    local before = job == 0 and C.unpack(bytes) or {}
    for _, part in ipairs(PARTS) do
      if before[part] ~= jobs[part] then
        journal:close()
        local differ = part == "jobs" and ("jobs differ (%s there, %s here)"):format(before[part], jobs[part])
          or part == "items" and "items differ" or part == "common" and "common value differs" or part .. " differs"
        host.fail("%s: the journal '%s' belongs to other jobs: the %s; remove it, or name another", what, path, differ)
      end
    end
    local begun = {}
    for job, bytes in journal.next, journal do
      begun[job] = bytes == BEGUN or nil
      if bytes ~= BEGUN and bytes ~= FAILED then take(job, bytes) end
    end
    return journal, begun
  end

  -- Warns about jobs that were running when the previous run ended, because one of them may have ended the whole
  -- process.
  local function say_begun(path, begun, done, n)
    local jobs = host.sorted_keys(begun)
    if #jobs == 0 then return end
    local more = #jobs > 10 and " ..." or ""
    io.stderr:write(("sim2d: the journal '%s' has %d of %d jobs; the previous run ended while these jobs ran: %s%s\n")
      :format(path, done, n, table.concat(jobs, " ", 1, math.min(#jobs, 10)), more))
  end

  -- ---- Jobs -------------------------------------------------------------------------------------

  -- The state of one call.
  local Work = {}
  Work.__index = Work

  -- Passes results on in the order of the items, regardless of the order in which they arrive.
  function Work:take(job, packed)
    self.done = self.done + 1
    self.state[job] = "done"
    if not self.each then
      self.results[job] = C.unpack(packed)
      return
    end
    self.held[job] = packed
    self:pass_on()
  end

  function Work:pass_on()
    while self.state[self.passed + 1] == "done" or self.state[self.passed + 1] == "failed" do
      local job = self.passed + 1
      local packed = self.held[job]
      self.held[job], self.passed = nil, job
      if packed then self.each(C.unpack(packed), job) end
    end
  end

  function Work:fail(job, message)
    self.done = self.done + 1
    self.state[job] = "failed"
    self.failures[#self.failures + 1] = { job = job, message = message }
    if self.each then self:pass_on() end
  end

  -- Returns the next unfinished job, or nil. It also returns nil after a failure that will be raised. Jobs are handed
  -- out in order, so the failure with the lowest number is known by then. This failure is the same in every run.
  function Work:next()
    if #self.failures > 0 and not self.keep then return nil end
    repeat
      self.last = self.last + 1
    until self.state[self.last] == nil
    return self.last <= self.n and self.last or nil
  end

  local function run_jobs(work, pool, most, journal, pack, bar)
    local out, before = 0, work.done
    while true do
      -- hand out enough jobs to keep all threads busy
      while out < most do
        local job = work:next()
        if job == nil then break end
        if journal then journal:add(job, BEGUN) end
        pool:submit(job, pack(job))
        out = out + 1
      end
      if out == 0 then return end
      local job, good, bytes = pool:collect(WAIT)
      if job == nil and good ~= nil then
        host.fail("%s: the jobs cannot start: %s", work.what, (good:gsub("^%[sim2d%]:%d+: ", "")))
      elseif job then
        out = out - 1
        if good then
          if journal then journal:add(job, bytes) end
          work:take(job, bytes)
        else
          if journal then journal:add(job, FAILED) end
          work:fail(job, bytes)
        end
      end
      if bar then bar:update(work.done - before) end
    end
  end

  local function make_program(f, options, what)
    local program = read_function(f, what)
    program.path, program.cpath = package.path, package.cpath
    program.seed = options.seed or C.seed()
    program.common, program.record = options.common, options.record
    program.script = type(arg) == "table" and type(arg[0]) == "string" and arg[0]:match "[^/]*$" or nil
    local good, packed = pcall(C.pack, program, "common")
    if not good then host.fail("%s: %s", what, (packed:gsub("^common%.common", "common"))) end
    return program, packed
  end

  local function first_failure(failures)
    table.sort(failures, function(a, b) return a.job < b.job end)
    return failures[1]
  end

  -- Returns results and failures, for sim.parallel.map and sim.sweep.
  function host.run_parallel(f, items, options, what)
    if inside then
      host.fail("%s: a job cannot start further jobs: put all items into the list of the outer call", what)
    end
    local o = read_options(options, what)
    local program, packed = make_program(f, o, what)
    local n, pack = read_items(items, what)
    local work = setmetatable({ what = what, n = n, done = 0, last = 0, passed = 0, state = {}, results = {}, held = {},
      failures = {}, each = o.each, keep = o.failures == "keep" }, Work)
    -- results of an earlier run
    local journal <close>, begun = open_journal(o.journal,
      o.journal and describe_jobs(program, n, pack, host.whole(items)), what,
      function(job, bytes) if work.state[job] == nil then work:take(job, bytes) end end)
    if o.progress ~= false then say_begun(o.journal, begun, work.done, n) end
    if o.record then
      local made, message = C.make_folder(o.record)
      if not made then host.fail("%s: record: %s", what, message) end
    end
    if work.done < n then
      local threads = math.min(o.threads or C.threads(), n - work.done)
      local bar <close> = o.progress ~= false and select(4, host.progress(n - work.done)) or nil
      local pool <close> = C.pool(packed, threads, o.time_limit or math.huge)
      run_jobs(work, pool, threads * C.machines() * (1 + AHEAD), journal, pack, bar)
    end
    -- failures
    local first = first_failure(work.failures)
    if first and not work.keep then
      host.fail("%s: job %d of %d failed: %s", what, first.job, n, first.message)
    end
    return work.results, work.failures
  end

  local names = {}
  sim.parallel = setmetatable({}, {
    __index = function(_, key)
      local value = names[key]
      if value == nil then
        local nearest = type(key) == "string" and host.nearest(key, { "map", "machines", "threads" })
        host.fail("sim.parallel has no field '%s'%s", tostring(key),
          nearest and ("; did you mean '%s'?"):format(nearest) or "")
      end
      return value
    end,
  })

  -- sim.parallel.map(f, items [, options]) returns {f(items[1], 1, common), f(items[2], 2, common), ...} and a list of
  -- the jobs that failed. See docs/parallel.md.
  function names.map(f, items, options)
    return host.run_parallel(f, items, options, "sim.parallel.map")
  end

  -- The number of processes that mpirun or srun started together, or 1 without them.
  function names.machines() return C.machines() end

  -- The default number of threads for a call.
  function names.threads() return C.threads() end
end
