-- `for i in sim.progress(n) do ... end` counts to n and shows a bar on stderr if stderr is a terminal. Another form is:
-- local bar = sim.progress(n); bar:update(i); bar:done().
return function(sim, host)
  sim.progress = host.progress
end
