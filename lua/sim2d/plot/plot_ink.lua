-- Records in small cells which area of a plot is drawn on, so that legends and labels can use free areas.

local CELL = 4 -- px

local Ink = {}
Ink.__index = Ink

function Ink:mark(x, y)
  local column, row = (x - self.left) // CELL, (y - self.top) // CELL
  if column >= 0 and column < self.columns and row >= 0 and row < self.rows then
    self[math.tointeger(row * self.columns + column)] = true
  end
end

function Ink:line(run)
  for i = 1, #run - 3, 2 do
    local x1, y1, x2, y2 = run[i], run[i + 1], run[i + 2], run[i + 3]
    local pieces = math.ceil(math.max(math.abs(x2 - x1), math.abs(y2 - y1)) / CELL)
    for k = 0, pieces do
      local part = pieces == 0 and 0 or k / pieces
      self:mark(x1 + part * (x2 - x1), y1 + part * (y2 - y1))
    end
  end
end

function Ink:rect(left, top, right, bottom)
  for y = math.max(top, self.top), math.min(bottom, self.bottom), CELL do
    for x = math.max(left, self.left), math.min(right, self.right), CELL do self:mark(x, y) end
    self:mark(right, y)
  end
  self:mark(left, bottom)
  self:mark(right, bottom)
end

-- Returns the number of cells in a rectangle that are drawn on. Cells outside the box count as drawn on.
function Ink:covered(left, top, right, bottom)
  local count = 0
  for row = (top - self.top) // CELL, (bottom - self.top) // CELL do
    for column = (left - self.left) // CELL, (right - self.left) // CELL do
      local inside = column >= 0 and column < self.columns and row >= 0 and row < self.rows
      if not inside or self[math.tointeger(row * self.columns + column)] then count = count + 1 end
    end
  end
  return count
end

return function(_, host)
  function host.plot_parts.ink(box)
    return setmetatable({ left = box.left, top = box.top, right = box.right, bottom = box.bottom,
      columns = math.ceil((box.right - box.left) / CELL), rows = math.ceil((box.bottom - box.top) / CELL) }, Ink)
  end
end
