-- Scenes return a builder and also run by themselves: is the file that asks the script being run?
return function(sim)
  function sim.is_main()
    local script = arg and arg[0]
    return script ~= nil and debug.getinfo(2, "S").source == "@" .. script
  end
end
