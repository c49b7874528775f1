-- Reduces long lists of points to shorter ones that look the same.

local COLUMNS = 1200 -- columns across the range; no plot shows more
local MOST = 20000 -- largest number of points of a cloud, or of a curve that moves back and forth
local FEW = 2000 -- if there are fewer points, all are drawn

return function(_, host)
  local parts = host.plot_parts

  -- Positions of the visible points as lists {x, y, x, y, ...}. A new list begins after each gap.
  local function placed(plot, xs, ys)
    local runs, run, n = {}, nil, 0
    local ax, ay = plot.x, plot.y
    local shows, place = parts.shows, parts.place
    for i = 1, #xs do
      local x, y = xs[i], ys[i]
      if shows(ax, x) and shows(ay, y) then
        if not run then
          run, n = {}, 0
          runs[#runs + 1] = run
        end
        run[n + 1], run[n + 2] = place(ax, x), place(ay, y)
        n = n + 2
      else
        run = nil
      end
    end
    return runs
  end

  -- Keeps the first, lowest, highest and last of the consecutive points in a column, so that no peak is lost.
  local function thin_run(run, lo, width)
    local thin, n, i, count = {}, 0, 1, #run
    while i < count do
      local column = (run[i] - lo) // width
      local low, high, last = i, i, i
      local j = i + 2
      while j < count and (run[j] - lo) // width == column do
        if run[j + 1] < run[low + 1] then low = j end
        if run[j + 1] > run[high + 1] then high = j end
        last = j
        j = j + 2
      end
      local before = 0
      for _, k in ipairs { i, math.min(low, high), math.max(low, high), last } do
        if k > before then
          thin[n + 1], thin[n + 2] = run[k], run[k + 1]
          n, before = n + 2, k
        end
      end
      i = j
    end
    return thin
  end

  -- Removes points closer than `tolerance` to the line through their neighbours (Douglas-Peucker), without recursion,
  -- because a run has thousands of points.
  function parts.simplify(run, tolerance)
    local last = #run - 1
    local kept, stack = { [1] = true, [last] = true }, { { 1, last } }
    while #stack > 0 do
      local from, to = table.unpack(table.remove(stack))
      local x, y = run[from], run[from + 1]
      local dx, dy = run[to] - x, run[to + 1] - y
      local length = math.sqrt(dx * dx + dy * dy)
      local far, farthest = tolerance, nil
      for i = from + 2, to - 2, 2 do
        local u, v = run[i] - x, run[i + 1] - y
        -- Beyond an end of the line, the distance to that end counts.
        local part = length > 0 and math.max(0, math.min(1, (u * dx + v * dy) / (length * length))) or 0
        u, v = u - part * dx, v - part * dy
        local distance = math.sqrt(u * u + v * v)
        if distance > far then far, farthest = distance, i end
      end
      if farthest then
        kept[farthest] = true
        stack[#stack + 1], stack[#stack + 2] = { from, farthest }, { farthest, to }
      end
    end
    local out = {}
    for i = 1, last, 2 do
      if kept[i] then out[#out + 1], out[#out + 2] = run[i], run[i + 1] end
    end
    return out
  end

  local function every(run, step)
    local thin = {}
    for i = 1, #run - 1, 2 * step do
      thin[#thin + 1], thin[#thin + 2] = run[i], run[i + 1]
    end
    thin[#thin + 1], thin[#thin + 2] = run[#run - 1], run[#run]
    return thin
  end

  function parts.thin_line(plot, xs, ys)
    local runs = placed(plot, xs, ys)
    if #xs <= FEW then return runs end
    local width, total = (plot.x.hi - plot.x.lo) / COLUMNS, 0
    for i, run in ipairs(runs) do
      runs[i] = thin_run(run, plot.x.lo, width)
      total = total + #runs[i] // 2
    end
    if total > MOST then
      for i, run in ipairs(runs) do runs[i] = every(run, math.ceil(total / MOST)) end
    end
    return runs
  end

  -- Keeps one point per cell; the cells are as large as needed.
  function parts.thin_cloud(plot, xs, ys)
    local cloud = {}
    for _, run in ipairs(placed(plot, xs, ys)) do table.move(run, 1, #run, #cloud + 1, cloud) end
    if #cloud // 2 <= FEW then return cloud end
    local wide, high = plot.x.hi - plot.x.lo, plot.y.hi - plot.y.lo
    local cells = COLUMNS
    repeat
      local taken, thin, n = {}, {}, 0
      for i = 1, #cloud, 2 do
        local column, row = (cloud[i] - plot.x.lo) / wide * cells // 1, (cloud[i + 1] - plot.y.lo) / high * cells // 1
        local cell = column * 4096 + row
        if not taken[cell] then
          taken[cell] = true
          thin[n + 1], thin[n + 2] = cloud[i], cloud[i + 1]
          n = n + 2
        end
      end
      cloud, cells = thin, cells / 2
    until #cloud // 2 <= MOST
    return cloud
  end

  -- Returns a list of runs {low = {x, low, x, low, ...}, high = {x, high, x, high, ...}} of points at which both edges
  -- of the band are visible.
  function parts.thin_band(plot, xs, lows, highs)
    local runs, run, column = {}, nil, nil
    local width = #xs > FEW and (plot.x.hi - plot.x.lo) / COLUMNS or 0
    for i = 1, #xs do
      local x, low, high = xs[i], lows[i], highs[i]
      if parts.shows(plot.x, x) and parts.shows(plot.y, low) and parts.shows(plot.y, high) then
        x, low, high = parts.place(plot.x, x), parts.place(plot.y, low), parts.place(plot.y, high)
        if not run then
          run, column = { low = {}, high = {} }, nil
          runs[#runs + 1] = run
        end
        local here, n = width > 0 and (x - plot.x.lo) // width, #run.low
        if here and here == column then
          run.low[n], run.high[n] = math.min(run.low[n], low), math.max(run.high[n], high)
        else
          run.low[n + 1], run.low[n + 2] = x, low
          run.high[n + 1], run.high[n + 2] = x, high
        end
        column = here
      else
        run = nil
      end
    end
    return runs
  end
end
