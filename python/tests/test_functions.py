"""Functions of Python that the engine calls: errors, Ctrl-C, nested calls, lifetimes, gradients."""

import functools
import gc
import os
import signal
import subprocess
import sys
import threading
import time
import weakref

import numpy as np
import pytest

import sim2d


def ball_in_space(**settings):
    world = sim2d.World(dt=0.01, gravity=(0, 0), **settings)
    return world, world.circle(name="ball", radius=0.5, mass=2)


def test_force_laws():
    world, ball = ball_in_space()
    ball.position = (1, 0)
    ball.force_law(lambda body, t, dt: (0, -8 * body.x, 0))  # torque, fx, fy
    world.run(duration=np.pi / 2)  # half a period
    state = sim2d.run("""
      local world = require "sim2d".world { dt = 0.01, gravity = { 0, 0 } }
      local ball = world:circle { name = "ball", radius = 0.5, mass = 2, position = { 1, 0 } }
      ball:force_law(function(body) return 0, -8 * body.x, 0 end)
      world:run { duration = math.pi / 2 }
      return world:state()""")
    assert (world.state == state).all() and ball.x == pytest.approx(-1, abs=1e-3)


def test_results_of_the_wrong_type_have_the_line_of_the_function():
    world, ball = ball_in_space()

    def law(body, t, dt):
        return np.zeros(3)

    ball.force_law(law)
    with pytest.raises(sim2d.Error, match=rf"test_functions\.py:{law.__code__.co_firstlineno}: a force law must return torque"):
        world.step()
    world, ball = ball_in_space()
    ball.force_law(functools.partial(law))  # callable objects have no line
    with pytest.raises(sim2d.Error, match=r"^\(partial\):1: a force law must return torque"):
        world.step()
    world.before_step(lambda w, t, dt: {1, 2})
    with pytest.raises(TypeError, match="a set cannot be sent"):
        world.step()


class Law:
    __hash__ = None  # as for a dataclass

    def __eq__(self, other):
        return True

    def __init__(self, force):
        self.force = force

    def __call__(self, body, t, dt):
        return 0, self.force, 0


def test_callable_objects_without_hash():
    world, ball = ball_in_space()
    ball.force_law(Law(1))
    ball.force_law(Law(3))
    world.step()
    assert ball.vx == pytest.approx(2 * 0.01)


CAUGHT = """
local world = require "sim2d".world {}
world:circle { radius = 1 }
world.bodies[1].data = { try = function(f, message) pcall(f) if message then error(message, 0) end return 3 end }
return world"""


def test_exceptions_that_a_script_catches():
    world = sim2d.World(CAUGHT, code=True)
    attempt = world.bodies[0].data["try"]
    assert attempt(lambda: 1 / 0) == 3
    with pytest.raises(sim2d.Error, match="^other$") as caught:
        attempt(lambda: 1 / 0, "other")  # not the ZeroDivisionError
    assert isinstance(caught.value.__context__, ZeroDivisionError)
    with pytest.raises(sim2d.Error, match="did you mean 'radius'"):
        world.circle(radios=1)


class BadText(Exception):
    def __str__(self):
        raise ValueError("no text")


@pytest.mark.parametrize("error", [KeyError("k\u00e9y\0"), StopIteration(), BadText(), SystemExit(3), MemoryError()])
def test_exceptions_arrive_unchanged(error):
    world, ball = ball_in_space()

    def fail(w, t, dt):
        raise error

    handle = world.before_step(fail)
    with pytest.raises(type(error)) as caught:
        world.step()
    assert caught.value is error and world.time == 0
    handle.remove()
    world.step()
    assert world.time == 0.01


def test_nothing_is_closed_within_a_call():
    world, _ = ball_in_space()
    handle = world.before_step(lambda w, t, dt: w.close())
    with pytest.raises(sim2d.Error, match="closed by a function that it calls; close it after the step"):
        world.step()
    handle.remove()
    world.before_step(lambda w, t, dt: w.step())
    with pytest.raises(sim2d.Error, match="cannot be called from inside a step"):
        world.step()


def test_worlds_in_functions_of_other_worlds():
    world, ball = ball_in_space()
    other, pebble = ball_in_space()
    pebble.vx = 1

    def follow(w, t, dt):
        other.step()
        ball.vx = pebble.x

    world.before_step(follow)
    world.step(10)
    assert other.time == pytest.approx(0.1) and ball.vx == pebble.x == pytest.approx(0.1)


def test_calls_within_calls_end():
    world, _ = ball_in_space()

    def again(x):
        return world.sim.optimize.minimize(again, [0.0])[1] + 0 * x[0]

    with pytest.raises((sim2d.Error, RecursionError)):
        again([0.0])
    world.step()


def test_threads_take_turns():
    world, ball = ball_in_space()
    counts = [0]

    def count(w, t, dt):
        counts[0] += 1

    world.before_step(count)
    failed = []

    def work():
        try:
            for _ in range(50):
                world.step()
                assert world.bodies[0] is ball and len(world.bodies) == 1
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed and counts == [200] and world.time == pytest.approx(2)


def test_unused_functions_are_released():
    world, ball = ball_in_space()
    seen = []

    def make(i):
        class Mark:
            pass

        mark = Mark()
        seen.append(weakref.ref(mark))
        return lambda w, t, dt: mark

    kept = make(0)
    world.before_step(lambda w, t, dt: kept(w, t, dt) and None)
    for i in range(500):
        handle = world.before_step(make(i))
        handle.remove()
        if i % 10 == 0:
            world.step()
    gc.collect()
    alive = sum(mark() is not None for mark in seen)
    assert seen[0]() is not None and alive < 150
    world.step()


def test_snapshots_are_released_within_calls():
    # a finaliser may run between a call and the reading of its results
    world, _ = ball_in_space()
    for _ in range(200):
        cycle = [world.snapshot()]
        cycle.append(cycle)
    del cycle
    gc.collect()
    assert len(world._bridge.released) >= 200
    world.step()
    assert len(world._bridge.released) == 0


CTRL_C = {
    "steps": lambda: ball_in_space()[0].step(10**9),
    "run": lambda: ball_in_space()[0].run(duration=1e9),
    "lua": lambda: sim2d.run("while true do pcall(function() while true do end end) end"),
    "coroutine": lambda: sim2d.run("""
      local world = require "sim2d".world {}
      world:circle { radius = 1 }
      world:start(function() while true do end end)
      world:step()"""),
    "function": lambda: waiting(time.sleep),
    "other world": lambda: waiting(lambda s: ball_in_space()[0].step(10**9)),
    "caught in the function": lambda: waiting(caught),
}


def waiting(function):
    world, _ = ball_in_space()
    world.before_step(lambda w, t, dt: function(0.001))
    world.step(10**9)


def caught(seconds):
    try:
        time.sleep(seconds)
    except KeyboardInterrupt:
        pass


@pytest.mark.skipif(sys.platform == "win32", reason="needs signals")
@pytest.mark.parametrize("name", CTRL_C)
def test_ctrl_c_ends_a_call(name):
    timer = threading.Timer(0.2, lambda: os.kill(os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        CTRL_C[name]()
    timer.join()
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    world, ball = ball_in_space()
    world.step(3)
    assert world.time == pytest.approx(0.03)


@pytest.mark.skipif(sys.platform == "win32", reason="needs signals")
def test_handlers_of_the_program_stay():
    world, _ = ball_in_space()
    seen = []
    before = signal.signal(signal.SIGINT, lambda number, frame: seen.append(number))
    try:
        world.before_step(lambda w, t, dt: os.kill(os.getpid(), signal.SIGINT) if t < 0.015 else None)
        world.step(10)  # it is not interrupted
    finally:
        signal.signal(signal.SIGINT, before)
    assert seen == [signal.SIGINT] * 2 and world.time == pytest.approx(0.1)


def test_forks():
    if not hasattr(os, "fork"):
        pytest.skip("needs fork")
    code = """
import os, sim2d, sys, tempfile, threading
world = sim2d.World()
world.circle(radius=1, name="ball")
path = os.path.join(tempfile.mkdtemp(), "run.s2d")
recording = world.record(path)
world.step(3)
held = threading.Event(); held_on = threading.Event()
def hold():
    with world._bridge.lock:
        held.set(); held_on.wait()
threading.Thread(target=hold, daemon=True).start()
held.wait()
child = os.fork()
if child == 0:
    try:
        world.step()
    except sim2d.Error as error:
        print("forked" in str(error), flush=True)
    other = sim2d.World(); other.circle(radius=1); other.step()
    del world, recording, other
    sys.exit(0)
held_on.set()
assert os.waitpid(child, 0)[1] == 0
world.step(3)
recording.close()
print(sim2d.run("return require 'sim2d'.read_recording(...).count", path))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.stdout == "True\n7\n", done.stderr


LUA_THROW = """
local sim = require "sim2d"
return sim.value_and_grad(function(v)
  local world = sim.world { dt = 0.01, stepping = "event" }
  world:box { size = { 20, 1 }, position = { 0, -0.5 }, type = "static" }
  local ball = world:circle { radius = 0.2, position = { 0, 1 }, restitution = 0.8 }
  ball.vx, ball.vy = v[1], v[2]
  world:step(100)
  return 1 + 2 * (ball.x - 3) ^ 2 - ball.y / 4
end, { 1.0, 0.5 })"""


def test_gradients_of_functions():
    sim = sim2d.World().sim

    def throw(v):
        world = sim.world(dt=0.01, stepping="event")
        world.box(size=(20, 1), position=(0, -0.5), type="static")
        ball = world.circle(radius=0.2, position=(0, 1), restitution=0.8)
        ball.vx, ball.vy = v[0], v[1]
        world.step(100)
        assert ball.x < 3 and not ball.x >= np.float64(3)
        return 1 + np.float64(2) * (ball.x - 3) ** 2 - ball.y / 4

    value, gradient = sim.value_and_grad(throw, [1.0, 0.5])
    expected = sim2d.run(LUA_THROW)
    assert value == expected[0] and gradient == expected[1]
    assert abs(gradient[0]) > 1 and abs(gradient[1]) > 0.01
    world, ball = ball_in_space()
    with pytest.raises(sim2d.Error, match=r"test_functions\.py:\d+: attempt to perform arithmetic on a Body value$"):
        ball + 1


def test_functions_of_the_library():
    world, ball = ball_in_space()
    sim = world.sim
    best, value, report = sim.optimize.minimize(lambda x: (x[0] - 1) ** 2 + x[1] ** 2, [0.0, 2.0])
    assert best == pytest.approx([1, 0], abs=1e-5) and report["status"] == "converged"
    with pytest.raises(sim2d.Error, match=r"test_functions\.py:\d+: .*'a_function_of_Python'.*is not sent to the jobs"):
        sim.parallel.map(lambda i: i, [1, 2])
    for bad in (ball, sim.parallel):
        with pytest.raises(sim2d.Error, match=r"test_functions\.py:\d+: a (Body|table) cannot be called, only its methods"):
            bad(1)
    ball.destroy()
    assert repr(ball) == "<Body 'ball' (destroyed)>"


def test_names_of_files_that_are_no_unicode():
    name = os.fsdecode(b"caf\xe9.lua")
    assert sim2d.run("return ...", name) == name
    with pytest.raises(sim2d.Error) as caught:
        exec(compile("sim2d.World(dT=1)", name, "exec"), {"sim2d": sim2d, "__name__": None})
    assert "did you mean 'dt'" in str(caught.value)
