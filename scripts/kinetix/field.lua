-- Lengths of the shortest paths of a point of a level to a fixed shape, around all other fixed shapes, on a grid.
--
-- The shaped cost of the search uses these lengths, because the straight distance leads into dead ends of a maze. The
-- paths keep a clearance from plain and red shapes.
local sim = require "sim2d"

local field = {}

local SIZE, SPACING = 5, 0.1 -- m, a room of Kinetix is a square with this side; spacing of the grid
local COUNT = math.floor(SIZE / SPACING + 0.5)
local NEIGHBOURS = { { 1, 0 }, { -1, 0 }, { 0, 1 }, { 0, -1 }, { 1, 1 }, { 1, -1 }, { -1, 1 }, { -1, -1 } }

-- Returns the distance in m of a point to a shape of `level.shapes`, 0 inside.
function field.distance(shape, x, y)
  local dx, dy = x - shape.position[1], y - shape.position[2]
  if shape.radius then return math.max(0, math.sqrt(dx * dx + dy * dy) - shape.radius) end
  local c, s = math.cos(shape.angle), math.sin(shape.angle)
  dx, dy = c * dx + s * dy, c * dy - s * dx
  local least, left, right = math.huge, true, true
  local from = shape.vertices[#shape.vertices]
  for _, to in ipairs(shape.vertices) do
    local ex, ey, px, py = to[1] - from[1], to[2] - from[2], dx - from[1], dy - from[2]
    local side = ex * py - ey * px
    left, right = left and side >= 0, right and side <= 0
    local t = math.min(1, math.max(0, (px * ex + py * ey) / math.max(ex * ex + ey * ey, 1e-12)))
    local qx, qy = px - t * ex, py - t * ey
    least = math.min(least, qx * qx + qy * qy)
    from = to
  end
  return (left or right) and 0 or math.sqrt(least)
end

local function centre(i, j)
  return (i - 0.5) * SPACING, (j - 0.5) * SPACING
end

-- Marks the cells that the point may not enter.
local function blocked(level, target, clearance)
  local cells = {}
  for i = 1, COUNT do
    for j = 1, COUNT do
      local x, y = centre(i, j)
      for k, shape in ipairs(level.shapes) do
        if shape.fixed and k ~= target and shape.role ~= "blue" and field.distance(shape, x, y) < clearance then
          cells[i * (COUNT + 2) + j] = true
          break
        end
      end
    end
  end
  return cells
end

-- Relaxes the lengths of all neighbours of a list of cells. Returns the cells that became nearer.
local function spread(lengths, front, closed)
  local list, listed = {}, {}
  for _, key in ipairs(front) do
    local i, j = key // (COUNT + 2), key % (COUNT + 2)
    for n, step in ipairs(NEIGHBOURS) do
      local a, b = i + step[1], j + step[2]
      local other = a * (COUNT + 2) + b
      local length = lengths[key] + SPACING * (n <= 4 and 1 or math.sqrt(2))
      local inside = a >= 1 and a <= COUNT and b >= 1 and b <= COUNT
      if inside and not closed[other] and length < (lengths[other] or math.huge) - 1e-12 then
        lengths[other] = length
        if not listed[other] then listed[other], list[#list + 1] = true, other end
      end
    end
  end
  return list
end

-- Returns a function of a point that gives the length in m of its shortest path to the shape `target`, or nil if the
-- grid has no path. `clearance` is in m.
function field.of(level, target, clearance)
  local closed, lengths, front = blocked(level, target, clearance), {}, {}
  for i = 1, COUNT do
    for j = 1, COUNT do
      local x, y = centre(i, j)
      local key, gap = i * (COUNT + 2) + j, field.distance(level.shapes[target], x, y)
      if gap < SPACING and not closed[key] then lengths[key], front[#front + 1] = gap, key end
    end
  end
  while #front > 0 do front = spread(lengths, front, closed) end
  return function(x, y)
    local i = math.min(COUNT, math.max(1, math.floor(x / SPACING) + 1))
    local j = math.min(COUNT, math.max(1, math.floor(y / SPACING) + 1))
    return lengths[i * (COUNT + 2) + j]
  end
end

if not sim.is_main() then return field end

local exp = sim.experiment "Shortest paths around a wall"
local wall = { fixed = true, role = "plain", position = { 2.5, 2 }, angle = 0,
  vertices = { { -0.1, -2 }, { 0.1, -2 }, { 0.1, 2 }, { -0.1, 2 } } }
local goal = { fixed = true, role = "blue", position = { 4, 1 }, angle = 0, radius = 0.2 }
local length = field.of({ shapes = { wall, goal } }, 2, 0.05)
exp:equal("distance to a wall", 0.4, field.distance(wall, 2, 1), 1e-12)
exp:equal("distance to a disc", 0.8, field.distance(goal, 3, 1), 1e-12)
exp:equal("on the side of the goal", 0.8, length(3, 1), 0.1)
-- From (1, 1) the path leads over the upper end of the wall, at y = 4, and turns by multiples of 45 degrees.
exp:equal("over the wall", 6 + 2.7 * (math.sqrt(2) - 1) + 0.3 - 0.2, length(1, 1), 0.1)
exp:finish()
