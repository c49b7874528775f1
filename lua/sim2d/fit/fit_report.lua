-- The page written by sim.fit: measurements, the fitted world's observations, and the uncertainty of the parameters.

local WIDTH, HEIGHT = 980, 260 -- size of the plot of one observation, px

return function(sim, host)
  local function curves(fit)
    local plots = { columns = 2, width = WIDTH, title = "Measured (crosses), fitted (lines); right: residuals" }
    local rows = 0
    for k, column in ipairs(fit.columns) do
      if column.seen then
        local both = { title = column.name, x = "t, s" }
        local rest = { title = column.name .. ", (fitted - measured) / sigma", x = "t, s", { y = 0 } }
        for _, log in ipairs(fit.logs) do
          if log.y[k] then
            local t, measured, at, fitted, left, left_at = {}, {}, {}, {}, {}, {}
            for row = 1, log.rows do
              local seen, shown = log.y[k][row], log.fitted[k][row] -- nan or nil if missing
              if seen == seen then t[#t + 1], measured[#measured + 1] = log.t[row], seen end
              if shown then at[#at + 1], fitted[#fitted + 1] = log.t[row], shown end
              if seen == seen and shown then
                left_at[#left_at + 1], left[#left + 1] = log.t[row], (shown - seen) / column.sigma
              end
            end
            both[#both + 1] = { t, measured, kind = "scatter", marker = "cross" }
            both[#both + 1] = { at, fitted, color = "#c8553d" }
            rest[#rest + 1] = { left_at, left }
            -- the rows from here on were not fitted, so they are predictions
            if log.cut < log.rows then
              both[#both + 1], rest[#rest + 1] = { x = log.t[log.cut] }, { x = log.t[log.cut] }
            end
          end
        end
        plots[#plots + 1], plots[#plots + 2], rows = both, rest, rows + 1
      end
    end
    plots.height = HEIGHT * rows + 40
    return sim.plot.grid(plots)
  end

  function host.fit_report(fit, result, told, def)
    local values, correlation, head = {}, {}, { "" }
    for i, row in ipairs(result.rows) do
      values[i] = { row.name, ("%.6g"):format(row.value), row.deviation and ("%.2g"):format(row.deviation) or "",
        row.deviation and ("%.6g to %.6g"):format(row.low, row.high) or row.held and "held by its bound" or "not determined",
        ("%.6g"):format(row.start) }
      head[i + 1] = row.name
      correlation[i] = { row.name }
      for k = 1, #result.rows do correlation[i][k + 1] = ("%.2f"):format(result.correlation[{ i, k }]) end
    end
    local facts = { { "search", result.status .. ": " .. result.message }, { "iterations, rollouts", ("%d, %d"):format(result.iterations,
      result.rollouts) }, { "residuals of the fitted rows, rms", ("%.4g"):format(result.train) },
      { "residuals beyond it, rms", result.test and ("%.4g"):format(result.test) or "all rows were fitted" } }
    for name, delay in pairs(result.delays) do facts[#facts + 1] = { "delay of " .. name, ("%g s"):format(delay) } end
    local notes = {}
    for i, text in ipairs(told) do notes[i] = ("<p><b>%s.</b></p>"):format(host.page_text(text)) end
    local title = def.title or "Fit"
    local page = host.page(title, ("<h1>%s</h1>"):format(host.page_text(title)),
      host.page_table({ "parameter", "value", "deviation", "95 % between", "start" }, values), host.page_table({ "", "" }, facts),
      table.concat(notes, "\n"), "<h2>Correlation</h2>", host.page_table(head, correlation), curves(fit):svg())
    local done, message = host.write_file(def.report, page)
    if not done then host.fail("sim.fit: '%s': %s", def.report, message) end
  end
end
