-- joint.speed = x in gradient calls sets the velocities of the bodies on one side of the joint. The method is the same
-- as in core/dynamics/joints/coordinate_speed.c, but it sets fields on the tape.
return function(_, host)
  -- `bodies`: the moved bodies; `of_a`: they are on the side of the joint's body a
  host.speed_by_hand(function(joint, speed, bodies, of_a)
    local own = speed - joint.speed
    if not of_a then own = -own end
    -- the bodies turn around a point, or move along a direction
    local kind = joint.type
    local turns, at = kind == "hinge" or kind == "wheel", nil
    if turns then
      at = of_a and kind == "hinge" and joint.anchor_b or joint.anchor_a
    elseif kind == "slider" then
      at = joint.axis
    else
      local a, b = joint.anchor_a, joint.anchor_b
      local dx, dy = a[1] - b[1], a[2] - b[2]
      local length = (dx * dx + dy * dy) ^ 0.5
      at = { dx / length, dy / length }
    end
    for _, body in ipairs(bodies) do
      local v = body.velocity
      if turns then
        local p = body.position
        body.angular_velocity = body.angular_velocity + own
        body.velocity = { v[1] - own * (p[2] - at[2]), v[2] + own * (p[1] - at[1]) }
      else
        body.velocity = { v[1] + own * at[1], v[2] + own * at[2] }
      end
    end
  end)
end
