-- sim.is_main: true in the file that runs as the script, so that scenes can return a builder and also run by
-- themselves.
return function(sim)
  function sim.is_main()
    local script = arg and arg[0]
    return script ~= nil and debug.getinfo(2, "S").source == "@" .. script
  end
end
