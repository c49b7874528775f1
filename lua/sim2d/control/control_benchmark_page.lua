-- The page that sim.control.benchmark writes: for each task, the table of its rows and a plot of the returns.

local WIDTH, HEIGHT = 480, 260 -- size of a plot, px

return function(sim, host)
  -- The return of each episode over the number of its method, and the return at which an episode is solved.
  local function plot_of(task, rows)
    local xs, ys = {}, {}
    for m, row in ipairs(rows) do
      for _, value in ipairs(row.returns) do xs[#xs + 1], ys[#ys + 1] = m, value end
    end
    if #xs == 0 then return "" end
    local plot = { width = WIDTH, height = HEIGHT, x = "method", y = "return", { xs, ys, kind = "scatter" } }
    if task.passed then plot[2] = { y = task.passed, label = "solved" } end
    return sim.plot(plot):svg()
  end

  -- The cells of a row with its number instead of the task.
  local function table_of(rows)
    local head, cells = table.move(host.benchmark_head, 1, #host.benchmark_head, 1, {}), {}
    head[1] = ""
    for m, row in ipairs(rows) do
      cells[m] = host.benchmark_cells(row)
      cells[m][1] = tostring(m)
    end
    return host.page_table(head, cells)
  end

  function host.benchmark_page(rows, call)
    local parts = { "<h1>Benchmark of control</h1>", ("<p>Episodes of each task and method: %d. An episode is solved if its "
      .. "return reaches the line in the plot. On tasks without a line, it is solved if it ends before its last step.</p>"):format(call.seeds) }
    for t, task in ipairs(call.tasks) do
      local of = table.move(rows, (t - 1) * #call.methods + 1, t * #call.methods, 1, {})
      parts[#parts + 1] = ("<h2>%s</h2>"):format(host.page_text(task.name))
      parts[#parts + 1] = table_of(of)
      parts[#parts + 1] = plot_of(task, of)
    end
    return host.page("Benchmark of control", table.unpack(parts))
  end
end
