-- Scenes with contacts that turn, slide and open, and some without, whose exact motion is known: a closed form, or an
-- ordinary differential equation that Runge and Kutta's method solves to 1e-10 or better.
local sim = require "sim2d"
local scenes = {}
local G = 9.81
-- y of y' = f(y) at t.
local function rk4(f, y, t, n)
  n = n or 2000
  local h = t / n
  for _ = 1, n do
    local a = f(y); local function at(k, s) local z = {}; for i = 1, #y do z[i] = y[i] + s * k[i] end return z end
    local b = f(at(a, h/2)); local c = f(at(b, h/2)); local d = f(at(c, h))
    for i = 1, #y do y[i] = y[i] + h/6*(a[i] + 2*b[i] + 2*c[i] + d[i]) end
  end
  return y
end
local S = {}
-- `s`: settings of the world.
local function world(n, s, extra)
  local d = { dt = 1 / n }
  for k, v in pairs(s) do d[k] = v end
  for k, v in pairs(extra or {}) do d[k] = v end
  return sim.world(d)
end
-- A force at a point of the body that turns with it: a law, as a force that is constant over a step would be of first
-- order.
local function push(b, fx, fy, at)
  b:force_law(function(q)
    local c, sn = math.cos(q.angle), math.sin(q.angle)
    local x, y = c * at[1] - sn * at[2], sn * at[1] + c * at[2]
    return x * fy - y * fx, fx, fy
  end)
end
-- block w x h on a corner; tilt th about the corner
local function pivot(w, h, m)
  local r, al = math.sqrt(w*w + h*h)/2, math.atan(w, h)
  return r, al, m*(w*w + h*h)/12 + m*r*r
end
S.tipping = function(n, s)
  if not n then
    local r, al, I = pivot(0.6, 1, 1)
    -- corner at right; centre from corner at angle: (-0.3,0.5) rotated by -th; force 3.2 at top centre
    local y = rk4(function(y)
      local c, sn = math.cos(y[1]), math.sin(y[1])
      local cx, cy = -0.3*c + 0.5*sn, 0.3*sn + 0.5*c
      local ty = 0.3*sn + 1.0*c
      return { y[2], (3.2*ty + G*cx)/I }
    end, {0, 0}, 1)
    return y[1]
  end
  local w = world(n, s)
  w:box { type = "static", position = { 0, -0.5 }, size = { 20, 1 }, friction = 5 }
  local b = w:box { size = { 0.6, 1 }, mass = 1, position = { 0, 0.5 }, friction = 5 }
  push(b, 3.2, 0, { 0, 0.5 })
  w:run { steps = n, progress = false }
  return -b.angle
end
local function incline(over, T)
  return function(n, s)
    local a = math.atan(0.6) + math.rad(over)
    if not n then
      local r, al, I = pivot(0.6, 1, 1)
      local y = rk4(function(y) return { y[2], G*r*math.sin(a - math.atan(0.6) + y[1])/I } end, {0,0}, T)
      return y[1]
    end
    local w = world(n, s, { gravity = { G*math.sin(a), -G*math.cos(a) } })
    w:box { type = "static", position = { 0, -0.5 }, size = { 20, 1 }, friction = 5 }
    local b = w:box { size = { 0.6, 1 }, mass = 1, position = { 0, 0.5 }, friction = 5 }
    w:run { steps = math.floor(n*T+0.5), progress = false }
    return -b.angle
  end
end
S.incline05 = incline(0.5, 1)
S.incline2 = incline(2, 0.5)
S.plank = function(n, s)
  if not n then
    -- plank 2 x 0.1, pivots about lower left corner; force up at right end middle
    local I = (4 + 0.01)/12 + 1 + 0.0025
    local y = rk4(function(y)
      local c, sn = math.cos(y[1]), math.sin(y[1])
      local cx = 1*c - 0.05*sn
      local ex = 2*c - 0.05*sn
      return { y[2], (5.0*ex - G*cx)/I }
    end, {0,0}, 0.5)
    return y[1]
  end
  local w = world(n, s)
  w:box { type = "static", position = { 0, -0.5 }, size = { 20, 1 }, friction = 1 }
  local b = w:box { size = { 2, 0.1 }, mass = 1, position = { 0, 0.05 }, friction = 1 }
  push(b, 0, 5.0, { 1, 0 })
  w:run { steps = n/2, progress = false }
  return b.angle
end
local LR, LL = 0.05, 2
local function ladder(T)
return function(n, s)
  local th0 = math.rad(60)
  local I
  do local w = sim.world{}; local b = w:capsule{length=LL, radius=LR, mass=1}; I = b.inertia end
  if not n then
    -- th: angle with floor; centre x = L/2 cos th (+r), y = L/2 sin th (+r). foot at right.
    local l = LL/2
    local h, y, t = 1e-3, {th0, 0}, 0
    local f = function(y) return { y[2], -G*l*math.cos(y[1])/(l*l + I) } end
    local left = false
    -- wall force = m x'' ; x = l cos th ; x'' = -l(cos w^2 + sin a)
    local function step(f, y, h)
      local function at(k, s) local z = {}; for i = 1, #y do z[i] = y[i] + s * k[i] end return z end
      local a = f(y); local b = f(at(a, h/2)); local c = f(at(b, h/2)); local d = f(at(c, h))
      local z = {}
      for i = 1, #y do z[i] = y[i] + h/6*(a[i] + 2*b[i] + 2*c[i] + d[i]) end
      return z
    end
    local function N(y) return -l*(math.cos(y[1])*y[2]^2 + math.sin(y[1])*f(y)[2]) end
    while N(y) > 0 and t < T do
      local z = step(f, y, h)
      if N(z) < 0 then
        local lo, hi = 0, h
        for _ = 1, 60 do local m = (lo+hi)/2; if N(step(f, y, m)) > 0 then lo = m else hi = m end end
        y = step(f, y, lo); t = t + lo; break
      end
      y = z; t = t + h
    end
    local x, vx = l*math.cos(y[1]) + LR, -l*math.sin(y[1])*y[2]
    -- after: foot on floor, free x: y = l sin th: (I + l^2 cos^2) a = -G l cos + l^2 sin cos w^2
    local f2 = function(y) local c, sn = math.cos(y[1]), math.sin(y[1])
      return { y[2], (-G*l*c + l*l*sn*c*y[2]^2)/(I + l*l*c*c) } end
    local rest = T - t
    if rest > 1e-9 then y = rk4(f2, y, rest) end
    return { x + vx*rest, y[1] }
  end
  local w = world(n, s)
  w:box { type = "static", position = { 0, -0.5 }, size = { 20, 1 }, friction = 0 }
  w:box { type = "static", position = { -0.5, 4 }, size = { 1, 10 }, friction = 0 }
  local b = w:capsule { length = LL, radius = LR, mass = 1, friction = 0, angle = -th0,
    position = { LR + LL/2*math.cos(th0), LR + LL/2*math.sin(th0) } }
  w:run { steps = math.floor(n*T+0.5), progress = false }
  return { b.x, -b.angle }
end
end
S.ladder06 = ladder(0.55)
S.ladder04 = ladder(0.4)
-- box ladder
S.rocking = function(n, s)
  local r, al, I = pivot(0.6, 1, 1)
  local th0, T = 0.2, 0.5
  if not n then
    local f = function(y) return { y[2], -G*r*math.sin(al - y[1])/I } end
    local h, t, y = 1e-3, 0, {th0, 0}
    local function step(y, h) return rk4(f, {y[1], y[2]}, h, 1) end
    while t < T - 1e-12 do
      local hh = math.min(h, T - t)
      local z = step(y, hh)
      if z[1] < 0 then
        local lo, hi = 0, hh
        for _ = 1, 60 do local m = (lo+hi)/2; if step(y, m)[1] > 0 then lo = m else hi = m end end
        y = step(y, lo); t = t + lo
        -- inelastic: new corner. angular momentum about new corner: I w' = (Ic + m r^2 cos 2al) w
        local k = ((0.36+1)/12 + r*r*math.cos(2*al))/I
        y = { 0, -y[2]*k }   -- mirrored: tilt to the other side
      else y = z; t = t + hh end
    end
    return y[1]
  end
  local w = world(n, s)
  w:box { type = "static", position = { 0, -0.5 }, size = { 20, 1 }, friction = 5 }
  -- tilted to the right about right lower corner (angle -th0)
  local c, sn = math.cos(th0), math.sin(th0)
  local b = w:box { size = { 0.6, 1 }, mass = 1, friction = 5, angle = -th0,
    position = { 0.3 - 0.3*c + 0.5*sn, 0.3*sn + 0.5*c } }
  w:run { steps = math.floor(n*T+0.5), progress = false }
  return math.abs(b.angle)
end
S.rolling = function(n, s)
  local v, om, mu, R = 3, 20, 0.2, 0.3
  if not n then
    -- backspin: slip speed v + R om (om>0 is ccw = backspin for motion +x): u = v + R*om
    local u = v + R*om; local ts = u/(3*mu*G)
    local T = 3
    return v*ts - mu*G*ts^2/2 + (v - mu*G*ts)*(T - ts)
  end
  local w = world(n, s)
  w:box { type = "static", position = { 0, -0.5 }, size = { 60, 1 }, friction = mu }
  local b = w:circle { radius = R, mass = 1, position = { 0, R }, velocity = { v, 0 }, angular_velocity = om, friction = mu }
  w:run { steps = 3*n, progress = false }
  return b.x
end
S.rolldown = function(n, s)
  local a, T = math.rad(20), 1
  if not n then return G*math.sin(a)*T*T/3 end
  local w = world(n, s, { gravity = { G*math.sin(a), -G*math.cos(a) } })
  w:box { type = "static", position = { 0, -0.5 }, size = { 60, 1 }, friction = 0.5 }
  local b = w:circle { radius = 0.3, mass = 1, position = { 0, 0.3 }, friction = 0.5 }
  w:run { steps = n*T, progress = false }
  return b.x
end
S.sliding = function(n, s)
  local v, mu = 3, 0.3
  if not n then return v*v/(2*mu*G) end
  local w = world(n, s)
  w:box { type = "static", position = { 0, -0.5 }, size = { 60, 1 }, friction = mu }
  local b = w:box { size = { 0.4, 0.2 }, mass = 1, position = { 0, 0.1 }, velocity = { v, 0 }, friction = mu }
  w:run { steps = 2*n, progress = false }
  return b.x
end

-- Four capsules on hinges with damping, dropped: angles and positions after 0.15 s, when the lowest has landed. Its
-- reference is the same scene with steps of 1/7680 s.
S.hopper = function(n, s)
  if not n then return S.hopper(7680, { stepping = "event" }) end
  local lengths, masses, radii = { 0.4, 0.45, 0.5, 0.39 }, { 3.7, 4.1, 2.8, 5.2 }, { 0.05, 0.05, 0.04, 0.06 }
  local angles, drop = { math.pi/2 + 0.05, math.pi/2 - 0.25, math.pi/2 + 0.35, 0 }, 0.08
  local w = world(n, s)
  w:box { type = "static", position = { 0, -0.5 }, size = { 60, 1 }, friction = 0.9, category = 1 }
  local places, x, y = { [4] = { 0, drop } }, -0.13, drop
  for i = 3, 1, -1 do
    local dx, dy = lengths[i]*math.cos(angles[i]), lengths[i]*math.sin(angles[i])
    places[i] = { x + dx/2, y + dy/2 }
    x, y = x + dx, y + dy
  end
  local parts, out = {}, {}
  for i = 1, 4 do
    parts[i] = w:capsule { length = lengths[i], radius = radii[i], mass = masses[i], inertia = masses[i]*lengths[i]^2/12, angle = angles[i],
      position = places[i], friction = 0.9, category = 2, mask = 1 }
  end
  for i = 1, 3 do w:hinge { parts[i + 1], parts[i], anchor = parts[i]:world_point { -lengths[i]/2, 0 }, damping = 1 } end
  w:run { steps = math.floor(0.15*n + 0.5), progress = false }
  for _, b in ipairs(parts) do out[#out + 1], out[#out + 2], out[#out + 3] = b.angle, b.x, b.y end
  return out
end

-- ---- Without turning contacts -------------------------------------------------------------------

-- Two rods from the horizontal, their angles.
S.double_pendulum = function(n, s)
  local m, l, g, inertia = 1, 1, 10, (1 + 0.01) / 12
  if not n then
    local y = rk4(function(y)
      local c, sn = math.cos(y[1] - y[2]), math.sin(y[1] - y[2])
      local a, b, d = inertia + 1.25*m*l*l, 0.5*m*l*l*c, inertia + 0.25*m*l*l
      local p = -0.5*m*l*l*sn*y[4]^2 - 1.5*m*g*l*math.cos(y[1])
      local q = 0.5*m*l*l*sn*y[3]^2 - 0.5*m*g*l*math.cos(y[2])
      local det = a*d - b*b
      return { y[3], y[4], (d*p - b*q)/det, (a*q - b*p)/det }
    end, {0, 0, 0, 0}, 1)
    return { y[1], y[2] }
  end
  local w = world(n, s, { gravity = { 0, -g } })
  local a = w:box { size = { l, 0.1 }, mass = m, position = { 0.5*l, 0 }, mask = 0 }
  local b = w:box { size = { l, 0.1 }, mass = m, position = { 1.5*l, 0 }, mask = 0 }
  w:hinge { a, anchor = { 0, 0 } }
  w:hinge { b, a, anchor = { l, 0 } }
  w:run { steps = n, progress = false }
  return { a.angle, b.angle }
end
S.spring_law = function(n, s) -- k/m = 100 1/s^2
  if not n then return math.cos(10) end
  local w = world(n, s, { gravity = { 0, 0 } })
  local b = w:circle { radius = 0.1, mass = 1, position = { 1, 0 } }
  b:force_law(function(ball) return 0, -100*ball.x, 0 end)
  w:run { steps = n, progress = false }
  return b.x
end
S.viscous = function(n, s) -- 2 d at two points
  local v, d, T = 2, 4, 0.5
  if not n then return v/(2*d)*(1 - math.exp(-2*d*T)) end
  local w = world(n, s)
  w:box { type = "static", position = { 0, -0.5 }, size = { 20, 1 }, friction = 0 }
  local b = w:box { size = { 0.4, 0.02 }, mass = 1, position = { 0, 0.01 }, velocity = { v, 0 }, contact_viscosity = d, friction = 0 }
  w:run { steps = n*T, progress = false }
  return b.x
end
S.top_down = function(n, s)
  local v, mu = 2, 0.3
  if not n then return v*v/(2*mu*G) end
  local w = world(n, s, { gravity = { 0, 0 } })
  local b = w:circle { radius = 0.2, mass = 1, velocity = { v, 0 } }
  w:ground_friction { b, max_force = mu*G }
  w:run { steps = n, progress = false }
  return b.x
end

-- The scene's numbers after a run of `n` steps a second.
function scenes.run(name, n, settings) return S[name](n, settings) end

-- The largest error of a scene's numbers.
local exact_of = {}
function scenes.error(name, n, settings)
  exact_of[name] = exact_of[name] or S[name]()
  local exact, got = exact_of[name], S[name](n, settings)
  exact, got = type(exact) == "table" and exact or { exact }, type(got) == "table" and got or { got }
  local most = 0
  for i = 1, #exact do most = math.max(most, math.abs(got[i] - exact[i])) end
  return most
end

return scenes
