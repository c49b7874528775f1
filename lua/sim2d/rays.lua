-- world:raycast_fan: casts many rays from one point in one call, like a lidar.
return function(sim, host)
  local methods = host.world_methods()
  local options_of, cast = host.fan_options, host.fan

  function methods.raycast_fan(world, from, options)
    local raycast_fan = options_of -- the name shown in messages
    local rays, x, y, range, angle, spread = raycast_fan(world, from, options)
    angle, spread = angle or 0, spread or 2 * math.pi
    -- Rays over a full turn end before the first ray. Rays over a smaller angle include both ends.
    local gaps = spread < 2 * math.pi and rays - 1 or rays
    local angles, ends = {}, {}
    for i = 1, rays do
      local a = rays > 1 and angle + spread * ((i - 1) / gaps - 0.5) or angle
      angles[i] = a
      ends[i] = { x + range * sim.cos(a), y + range * sim.sin(a) }
    end
    raycast_fan = cast
    local hits = raycast_fan(world, from, options, ends)
    local distances = {}
    for i = 1, rays do distances[i] = hits[i] and range * hits[i].fraction or range end
    return { angles = angles, distances = distances, hits = hits }
  end
end
