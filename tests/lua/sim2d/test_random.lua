-- sim.random: the same numbers on every machine.
local sim = require "sim2d"
local random = sim.random

test("seeds give the same numbers again", function()
  random.seed(1)
  local first = { random.uniform(), random.normal(), random.integer(1, 100) }
  random.seed(1)
  eq({ random.uniform(), random.normal(), random.integer(1, 100) }, first)
  random.seed(2)
  ok(random.uniform() ~= first[1])
end)

test("the generator is xoshiro256** seeded through splitmix64", function()
  random.seed(0)
  -- (rotl(s1 * 5, 7) * 9 >> 11) / 2^53 with s1 the second output of splitmix64 from 0
  local s1 = 0x6e789e6aa1b965f4
  local x = s1 * 5
  x = (x << 7 | x >> 57) * 9
  eq(random.uniform(), (x >> 11) / 2.0 ^ 53)
end)

test("dots and colons both work on sim.random", function()
  random.seed(3)
  local a = { random.uniform(2, 3), random.integer(6), random.normal(5, 0) }
  random:seed(3)
  eq({ random:uniform(2, 3), random:integer(6), random:normal(5, 0) }, a)
end)

test("ranges", function()
  random.seed(4)
  local seen = {}
  for _ = 1, 1000 do
    local u = random.uniform(-2, 3)
    ok(u >= -2 and u < 3)
    seen[random.integer(3, 5)] = true
  end
  eq(seen, { [3] = true, [4] = true, [5] = true })
  raises("bad argument #2 to 'uniform' %(a number not below 3 expected, got 2%)",
    random.uniform, 3, 2)
  raises("bad argument #1 to 'integer' %(there is no integer from 1 to 0%)", random.integer, 0)
  raises("bad argument #1 to 'integer' %(integer expected, got 1.5%)", random.integer, 1.5)
  raises("bad argument #2 to 'normal' %(non%-negative number expected, got %-1%)",
    random.normal, 0, -1)
end)

test("normal numbers have their moments", function()
  random.seed(5)
  local n, sum, square = 20000, 0, 0
  for _ = 1, n do
    local x = random.normal(1, 2)
    sum, square = sum + x, square + x * x
  end
  -- five standard errors
  near(sum / n, 1, 5 * 2 / math.sqrt(n))
  near(square / n - (sum / n) ^ 2, 4, 5 * 4 * math.sqrt(2 / n))
end)

test("choice and shuffle", function()
  random.seed(6)
  local list = { 1, 2, 3, 4, 5 }
  ok(rawequal(random.shuffle(list), list))
  local sum = 0
  for _, x in ipairs(list) do sum = sum + x end
  eq({ #list, sum }, { 5, 15 })
  local seen = {}
  for _ = 1, 200 do seen[random.choice { "a", "b" }] = true end
  eq(seen, { a = true, b = true })
  raises("bad argument #1 to 'choice' %(a list with at least one element expected%)", random.choice, {})
  raises("bad argument #1 to 'shuffle' %(list expected, got 3%)", random.shuffle, 3)
end)

test("splits are streams of their own", function()
  random.seed(7)
  local child = random.split()
  local after = random.uniform()
  random.seed(7)
  local again = random.split()
  for _ = 1, 10 do eq(again:uniform(), child:uniform()) end
  eq(random.uniform(), after) -- drawing from a child does not move the parent
  raises("Random expected, got 0", function() child.uniform(0, 1) end)
  raises("Random has no field 'unifrm'; did you mean 'uniform'%?", function() child:unifrm() end)
end)
