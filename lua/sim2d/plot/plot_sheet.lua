-- A plot as a list of drawing commands, with two outputs: SVG, and a canvas of pixels.

local FAMILY = "Helvetica, Arial, sans-serif"
local ALIGN = { left = 0, center = 1, right = 2 }
local ANCHOR = { center = ' text-anchor="middle"', right = ' text-anchor="end"' }

-- ---- The list ------------------------------------------------------------------------------------

local Sheet = {}
Sheet.__index = Sheet

-- `paint` has fill, stroke (0xRRGGBBAA), width and dash (a list)
function Sheet:path(runs, paint, closed)
  self[#self + 1] = { kind = "path", runs = runs, paint = paint, closed = closed }
end

function Sheet:line(x1, y1, x2, y2, paint)
  self:path({ { x1, y1, x2, y2 } }, paint)
end

function Sheet:rect(left, top, right, bottom, paint)
  self:path({ { left, top, right, top, right, bottom, left, bottom } }, paint, true)
end

-- Draws a disc around each point of {x, y, x, y, ...}.
function Sheet:discs(at, radius, paint)
  self[#self + 1] = { kind = "discs", at = at, radius = radius, paint = paint }
end

-- `how` has size, bold, align, turn (degrees), fill and halo
function Sheet:text(x, y, words, how)
  if words ~= "" then
    self[#self + 1] = { kind = "text", x = x, y = y, words = words, how = how }
  end
end

function Sheet:clip(box) self[#self + 1] = { kind = "clip", box = box } end

function Sheet:unclip() self[#self + 1] = { kind = "unclip" } end

-- ---- SVG -----------------------------------------------------------------------------------------

local function escaped(text)
  return (text:gsub("[&<>\"]", { ["&"] = "&amp;", ["<"] = "&lt;", [">"] = "&gt;", ['"'] = "&quot;" }))
end

local function number(value)
  -- use a decimal point in any locale
  local text = ("%.2f"):format(value):gsub(",", "."):gsub("0+$", ""):gsub("%.$", "")
  return text == "-0" and "0" or text
end

local function color(name, value)
  if value & 0xff == 0 then return (' %s="none"'):format(name) end
  local text = (' %s="#%06x"'):format(name, value >> 8)
  if value & 0xff == 0xff then return text end
  return text .. (' %s-opacity="%s"'):format(name, number((value & 0xff) / 255))
end

local function painted(paint)
  local text = color("fill", paint.fill or 0)
  if (paint.stroke or 0) & 0xff ~= 0 then
    text = text .. color("stroke", paint.stroke) .. (' stroke-width="%s"'):format(number(paint.width or 1))
    if paint.dash then text = text .. (' stroke-dasharray="%s"'):format(table.concat(paint.dash, " ")) end
  end
  return text
end

local svg = {}

function svg.path(out, item)
  local path = {}
  for _, run in ipairs(item.runs) do
    for i = 1, #run, 2 do
      path[#path + 1] = (i == 1 and "M" or "L") .. number(run[i]) .. " " .. number(run[i + 1])
    end
    if item.closed then path[#path + 1] = "Z" end
  end
  if #path > 0 then out[#out + 1] = ('<path d="%s"%s/>'):format(table.concat(path), painted(item.paint)) end
end

function svg.discs(out, item)
  out[#out + 1] = ("<g%s>"):format(painted(item.paint))
  for i = 1, #item.at, 2 do
    out[#out + 1] = ('<circle cx="%s" cy="%s" r="%s"/>'):format(number(item.at[i]), number(item.at[i + 1]),
      number(item.radius))
  end
  out[#out + 1] = "</g>"
end

function svg.text(out, item)
  local how = item.how
  local turn = how.turn and (' transform="rotate(%s %s %s)"'):format(number(how.turn), number(item.x), number(item.y))
  local halo = how.halo and color("stroke", how.halo)
    .. ' stroke-width="4" stroke-linejoin="round" paint-order="stroke"'
  out[#out + 1] = ('<text x="%s" y="%s" font-size="%s"%s%s%s%s%s>%s</text>'):format(number(item.x), number(item.y),
    number(how.size), how.bold and ' font-weight="bold"' or "", ANCHOR[how.align] or "", turn or "",
    color("fill", how.fill), halo or "", escaped(item.words))
end

function svg.clip(out, item, clips)
  local box = item.box
  out[#out + 1] = ('<clipPath id="box%d"><rect x="%s" y="%s" width="%s" height="%s"/></clipPath>\n'
    .. '<g clip-path="url(#box%d)" stroke-linejoin="round">'):format(clips, number(box.left), number(box.top),
    number(box.right - box.left), number(box.bottom - box.top), clips)
end

function svg.unclip(out) out[#out + 1] = "</g>" end

function Sheet:svg()
  local size = ('width="%s" height="%s" viewBox="0 0 %s %s"'):format(number(self.width), number(self.height),
    number(self.width), number(self.height))
  local out = { ('<svg xmlns="http://www.w3.org/2000/svg" %s font-family="%s">'):format(size, FAMILY) }
  local clips = 0
  for _, item in ipairs(self) do
    if item.kind == "clip" then clips = clips + 1 end
    svg[item.kind](out, item, clips)
  end
  out[#out + 1] = "</svg>\n"
  return table.concat(out, "\n")
end

-- ---- Pixels --------------------------------------------------------------------------------------

local pixels = {}

local function paint_with(canvas, paint)
  canvas:paint(paint.fill or 0, paint.stroke or 0, paint.width or 1, paint.dash)
end

function pixels.path(canvas, item)
  for _, run in ipairs(item.runs) do canvas:line(run, item.closed) end
  paint_with(canvas, item.paint)
end

function pixels.discs(canvas, item)
  for i = 1, #item.at, 2 do
    canvas:disc(item.at[i], item.at[i + 1], item.radius)
    paint_with(canvas, item.paint)
  end
end

function pixels.text(canvas, item)
  local how = item.how
  canvas:text(item.words, item.x, item.y, how.turn or 0, how.size, how.bold, ALIGN[how.align or "left"], how.fill,
    how.halo or 0, 4)
end

function pixels.clip(canvas, item)
  local box = item.box
  canvas:clip(box.left, box.top, box.right - box.left, box.bottom - box.top)
end

function pixels.unclip(canvas) canvas:unclip() end

return function(_, host)
  local parts = host.plot_parts

  function parts.sheet(width, height, paper)
    local sheet = setmetatable({ width = width, height = height }, Sheet)
    sheet:rect(0, 0, width, height, { fill = paper })
    return sheet
  end

  -- Returns true, or nil and a message.
  function Sheet:save_png(path, scale)
    local canvas, message = host.canvas(self.width, self.height, scale)
    if not canvas then return nil, message end
    for _, item in ipairs(self) do pixels[item.kind](canvas, item) end
    return canvas:save(path)
  end
end
