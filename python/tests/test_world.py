"""Worlds of scripts: the same bits as the command's, and all memory is freed."""

import os
import resource
import subprocess
import sys
import threading

import numpy as np
import pytest

import sim2d

BALL = """
local sim = require "sim2d"
local function build(p)
  local world = sim.world { dt = 0.01 }
  world:box { name = "floor", size = { 20, 1 }, position = { 0, -0.5 }, type = "static" }
  local ball = world:circle { name = "ball", radius = 0.5, position = { 0, p.height or 2 }, velocity = { 1, 0 }, restitution = 0.5 }
  world:box { size = { 1, 1 }, position = { 4, 0.5 }, friction = 0.4 }
  world:actuator { "wind", body = ball, kind = "force", direction = { 1, 0 }, range = { -2, 2 } }
  world:observe { "ball", of = ball, field = { "x", "y" } }
  return world
end
"""


@pytest.fixture
def world():
    with sim2d.World(BALL + "return build", code=True, parameters={"height": 3}) as made:
        yield made


def test_run_gives_values_back():
    assert sim2d.run("return 1, 2.5, 'a', true, nil, { 1, { x = 'é' } }") == (1, 2.5, "a", True, None, [1, {"x": "é"}])
    assert sim2d.run("local a, b = ... return a .. b", "x", 3) == "x3"
    assert sim2d.run("return ...", [1, [2, {"k": None, "j": 4}]]) == [1, [2, {"j": 4}]]
    assert sim2d.run("return\n") is None
    given = np.array([[1.0, 2.0], [3.0, 1e-300]])
    assert (sim2d.run("local a = ... return a:t()", given) == given.T).all()
    assert sim2d.run("return math.mininteger, -0.0, 1 / 0")[2] == float("inf")


def test_errors_have_the_line_and_the_way_there():
    with pytest.raises(sim2d.Error, match=r"\(python\):2: attempt to index a nil value") as caught:
        sim2d.run("local x\nreturn x.y")
    assert ":2:" in caught.value.traceback
    with pytest.raises(sim2d.Error, match="did you mean 'radius'"):
        sim2d.run("return require 'sim2d'.world {}:circle { radus = 1 }")
    with pytest.raises(sim2d.Error, match="cannot end Python"):
        sim2d.run("os.exit(3)")
    with pytest.raises(sim2d.Error, match="cannot be sent"):
        sim2d.run("return print")
    with pytest.raises(sim2d.Error, match="near"):
        sim2d.run("return = 1")


def test_what_scripts_print_comes_in_time(capfd):
    sim2d.run("print 'from Lua'")
    assert capfd.readouterr().out == "from Lua\n"


def test_what_cannot_be_sent():
    with pytest.raises(TypeError, match="set cannot be sent"):
        sim2d.run("return ...", {1, 2})
    with pytest.raises(OverflowError):
        sim2d.run("return ...", 2**63)
    with pytest.raises(TypeError, match="cannot be a key"):
        sim2d.run("return ...", {(1, 2): 3})
    with pytest.raises(TypeError, match="one or two axes"):
        sim2d.run("return ...", np.zeros((2, 2, 2)))
    loop: list = []
    loop.append(loop)
    with pytest.raises(ValueError, match="contain itself"):
        sim2d.run("return ...", loop)


def test_state_fields_and_contacts(world):
    assert world.names == ["floor", "ball", ""] and len(world) == 3
    assert world.positions.shape == (3, 3) and world.positions[1].tolist() == [0, 3, 0]
    world.step(200)
    assert world.time == pytest.approx(2)
    touching = {(c["a"], c["b"]) for c in world.contacts()}
    assert (0, 2) in touching or (2, 0) in touching
    assert world.residuals()["scaled"] <= 1e-9 and world.residuals()["steps"] == 200
    assert world.body("ball", "mass") == world.body(1, "mass") > 0
    world.set_body("ball", "vx", -3.0)
    assert world.velocities[1, 0] == -3
    assert world.observe().tolist() == world.positions[1, :2].tolist()
    state = world.state
    world.state = state
    assert (world.state == state).all()


def test_actuators_by_order_and_name(world):
    other = sim2d.World(BALL + "return build", code=True, parameters={"height": 3})
    world.act([1.5])
    other.act({"wind": 1.5})
    world.step(50)
    other.step(50)
    assert (world.state == other.state).all()
    assert world.velocities[1, 0] > 1


def test_snapshots_repeat_the_bits(world):
    world.step(40)
    snapshot = world.snapshot()
    world.step(100)
    first = world.state
    world.restore(snapshot)
    assert world.time == pytest.approx(0.4)
    world.step(100)
    assert (world.state == first).all()
    other = sim2d.World(BALL + "return build", code=True)
    with pytest.raises(ValueError, match="of another"):
        other.restore(snapshot)


def test_builders(tmp_path):
    script = tmp_path / "scene.lua"
    script.write_text(BALL + "function tall() return build { height = 7 } end\nreturn { build = build, tall = tall }")
    assert sim2d.World(script, parameters={"height": 5}).positions[1, 1] == 5
    assert sim2d.World(script, builder="tall").positions[1, 1] == 7
    with pytest.raises(sim2d.Error, match="no table with a function 'small'"):
        sim2d.World(script, builder="small")
    with pytest.raises(FileNotFoundError, match="no script"):
        sim2d.World(tmp_path / "none.lua")
    with pytest.raises(sim2d.Error, match="returned a number"):
        sim2d.World("return 1", code=True)
    left = "local sim = require 'sim2d' local w = sim.world {} w:circle { radius = 1 } w:step(10)"
    assert sim2d.World(left, code=True).time > 0


def test_a_picture(world, tmp_path):
    world.draw(tmp_path / "ball.svg")
    assert "<svg" in (tmp_path / "ball.svg").read_text()


@pytest.mark.skipif("SIM2D_COMMAND" not in os.environ, reason="SIM2D_COMMAND, the command, is not given")
def test_same_bits_as_the_command(tmp_path):
    script = tmp_path / "fall.lua"
    script.write_text(BALL + """
      local world = build { height = 2.5 }
      world:step(300)
      local all, texts = world:state(), {}
      for i = 1, #all do texts[i] = ("%a"):format(all[i]) end
      if sim.is_main() then print(table.concat(texts, " ")) end
      return world""")
    told = subprocess.run([os.environ["SIM2D_COMMAND"], str(script)], check=True, capture_output=True, text=True)
    expected = [float.fromhex(text) for text in told.stdout.split()]
    assert sim2d.World(script).state.tolist() == expected


def test_closed_worlds(world):
    world.close()
    assert world.closed and "closed" in repr(world)
    for use in (world.step, lambda: world.state, lambda: world.positions, world.snapshot, lambda: world.act([0])):
        with pytest.raises(sim2d.Error, match="closed"):
            use()
    world.close()


def test_numbers_that_are_none(world):
    for bad in (0, -1, 1.5, True):
        with pytest.raises(ValueError, match="number of steps"):
            world.step(bad)
    with pytest.raises(ValueError, match="number 0 is nan"):
        world.act([float("nan")])
    with pytest.raises(TypeError, match="numbers expected"):
        world.act(["a"])
    with pytest.raises(ValueError, match="shape"):
        world.state = np.zeros((2, 2))
    with pytest.raises(sim2d.Error):
        world.state = np.zeros(2)
    with pytest.raises(sim2d.Error, match="one per actuator, got 2"):
        world.act([1, 2])
    with pytest.raises(sim2d.Error, match="no body 7"):
        world.body(7, "x")
    with pytest.raises(sim2d.Error, match="has no field 'wieght'"):
        world.body("ball", "wieght")


def test_threads_have_worlds_of_their_own():
    ends: dict = {}

    def fall(height):
        with sim2d.World(BALL + "return build", code=True, parameters={"height": height}) as own:
            for _ in range(100):
                own.step(2)
            ends[height] = own.state

    threads = [threading.Thread(target=fall, args=(h,)) for h in (2, 3, 4, 5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for height, state in ends.items():
        with sim2d.World(BALL + "return build", code=True, parameters={"height": height}) as alone:
            alone.step(200)
            assert (alone.state == state).all()


def test_one_world_from_many_threads(world):
    threads = [threading.Thread(target=lambda: [world.step() for _ in range(50)]) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert world.time == pytest.approx(2)


# In a separate process: a fork is not safe with the threads of libraries that other tests have loaded.
FORK = f"""
import os, sim2d
build = {BALL + "return build"!r}
world = sim2d.World(build, code=True)
child = os.fork()
if child == 0:
    try:
        world.step()
        print("stepped", flush=True)
    except sim2d.Error as error:
        print(error, flush=True)
    with sim2d.World(build, code=True) as own:
        own.step()
    print("own world stepped", flush=True)
    os._exit(0)
os.waitpid(child, 0)
world.step()
print(world.time == world.dt)
"""


def test_forked_processes_are_told():
    done = subprocess.run([sys.executable, "-c", FORK], capture_output=True, text=True, timeout=60)
    told, own, parent = done.stdout.splitlines()
    assert "before this process was forked" in told and own == "own world stepped" and parent == "True"


def test_pickling_is_refused(world):
    import pickle

    for thing in (world, sim2d.Loss("return function(x) return x end", code=True)):
        with pytest.raises(TypeError, match="cannot be pickled"):
            pickle.dumps(thing)
    error = pickle.loads(pickle.dumps(sim2d.Error("a", "b")))
    assert str(error) == "a" and error.traceback == "b"


def test_nothing_is_left_behind():
    def use():
        with sim2d.World(BALL + "return build", code=True) as own:
            own.step(3)
        with pytest.raises(sim2d.Error):
            sim2d.World("error 'no'", code=True)

    for _ in range(30):
        use()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for _ in range(300):
        use()
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 8000  # kB; a state alone has 1500
