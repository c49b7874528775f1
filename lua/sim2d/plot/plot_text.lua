-- Texts and numbers of plots: widths, line breaks, number formats.

-- Widths of the letters from ' ' to '~' in hundredths of the font size, plain and bold. They are the widths of DejaVu
-- Sans, one of the widest fonts, so that no text is cut off with another font. They are constants, so the layout is the
-- same on every machine.
local PLAIN = "3240468464957827393950843236323464646464646464646464343484848453996869707763587775303066568675"
  .. "796079696361736899696169393439845050616355636235636328285828976361636341523963598259595264346484"
local BOLD = "3546528470998731464652843842383770707070707070707070404084848458997776738368688284373777649984"
  .. "857385777268817799777273463746845050677259726844727134346734997169727249604871659265655871377184"
local NARROW, USUAL, WIDE = 0.45, 0.7, 1 -- widths of other characters: superscripts, Greek, Chinese
local STRETCH = 2 ^ 53 -- integers up to this are exact

local SUPERSCRIPTS = { ["-"] = "⁻", ["0"] = "⁰", ["1"] = "¹", ["2"] = "²", ["3"] = "³", ["4"] = "⁴",
  ["5"] = "⁵", ["6"] = "⁶", ["7"] = "⁷", ["8"] = "⁸", ["9"] = "⁹" }
local MINUS = "−"

local function letter_width(code, widths)
  if code >= 32 and code < 127 then
    return tonumber(widths:sub(2 * code - 63, 2 * code - 62)) / 100
  elseif code >= 0x300 and code < 0x370 then
    return 0 -- accents are drawn on the previous letter
  elseif code == 0xb2 or code == 0xb3 or code == 0xb9 or code >= 0x2070 and code < 0x20a0 then
    return NARROW
  elseif code >= 0x1100 then
    return code >= 0x2010 and code < 0x2070 and code ~= 0x2014 and code ~= 0x2026 and 0.6 or WIDE
  end
  return USUAL
end

return function(_, host)
  local parts = host.plot_parts

  -- Keeps only valid UTF-8. Anything else becomes a replacement character.
  function parts.clean(text)
    text = tostring(text):gsub("[%z\1-\8\11-\31\127]", "\u{fffd}"):gsub("[\t\n]", " ")
    local clean, at = {}, 1
    while at <= #text do
      local length, bad = utf8.len(text, at)
      local last = length and #text or bad - 1
      clean[#clean + 1] = text:sub(at, last)
      if not length then clean[#clean + 1] = "\u{fffd}" end
      at = (length and last or bad) + 1
    end
    return (table.concat(clean):gsub("\u{fffe}", "\u{fffd}"):gsub("\u{ffff}", "\u{fffd}"))
  end

  function parts.width(words, size, bold)
    local width = 0
    for _, code in utf8.codes(words) do
      width = width + letter_width(code, bold and BOLD or PLAIN)
    end
    return width * size
  end

  -- Returns as many letters as fit, with an ellipsis if some are omitted.
  function parts.fit(words, size, bold, room)
    room = room + 0.1 -- px; sums of widths have rounding errors
    if parts.width(words, size, bold) <= room then return words end
    local best = "…"
    for at in utf8.codes(words) do
      local cut = words:sub(1, at - 1):gsub("%s+$", "") .. "…"
      if parts.width(cut, size, bold) > room then break end
      best = cut
    end
    return best
  end

  -- Like fit, with the ellipsis in the middle, because names often differ at their ends.
  function parts.fit_ends(words, size, room, bold)
    room = room + 0.1
    if parts.width(words, size, bold) <= room then return words end
    local count, best = utf8.len(words), "…"
    for kept = 2, count - 1 do
      local front, back = (kept + 1) // 2, kept // 2
      local cut = words:sub(1, utf8.offset(words, front + 1) - 1):gsub("%s+$", "") .. "…"
        .. words:sub(utf8.offset(words, -back)):gsub("^%s+", "")
      if parts.width(cut, size, bold) > room then break end
      best = cut
    end
    return best
  end

  -- Breaks a text into at most `most` lines that are not wider than `room`.
  function parts.wrap(words, size, bold, room, most)
    local lines, line = {}, nil
    for word in words:gmatch "%S+" do
      local longer = line and line .. " " .. word or word
      if line and #lines < most - 1 and parts.width(longer, size, bold) > room then
        lines[#lines + 1] = line
        line = word
      else
        line = longer
      end
    end
    lines[#lines + 1] = line
    for i, text in ipairs(lines) do lines[i] = parts.fit(text, size, bold, room) end
    return lines
  end

  function parts.power(exponent)
    return "10" .. ("%d"):format(exponent):gsub(".", SUPERSCRIPTS)
  end

  -- Formats a number with `decimals` decimals and a proper minus sign.
  function parts.fixed(value, decimals)
    local text = ("%." .. math.max(0, math.min(decimals, 20)) .. "f"):format(value)
    if not text:find "[1-9]" then text = text:gsub("^%-", "") end
    return (text:gsub("^%-", MINUS))
  end

  -- Formats a single number with at most `digits` digits.
  function parts.plain(value, digits)
    if value == math.floor(value) and math.abs(value) < STRETCH and math.abs(value) < 10 ^ digits then
      return (("%.0f"):format(value):gsub("^%-", MINUS))
    end
    local text = ("%." .. digits .. "g"):format(value)
    local front, exponent = text:match "^(.-)e(.+)$"
    if not front then return (text:gsub("^%-", MINUS)) end
    local power = parts.power(math.tointeger(tonumber(exponent)))
    if front == "1" then return power end
    return (front:gsub("^%-", MINUS)) .. "·" .. power
  end
end
