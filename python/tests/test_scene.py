"""Worlds that are built in Python: the same bits and messages as in Lua."""

import gc
import pathlib
import re
import subprocess
import sys

import numpy as np
import pytest

import sim2d

ROOT = pathlib.Path(__file__).parents[2]

LUA = """
local sim = require "sim2d"
local world = sim.world { dt = 1 / 120, gravity = { 0, -9.8 } }
world:box { name = "floor", size = { 20, 1 }, position = { 0, -1.5 }, type = "static", friction = 0.4 }
local cart = world:box { name = "cart", size = { 0.4, 0.2 }, mass = 1, mask = 0 }
local pole = world:box { name = "pole", size = { 0.05, 1 }, mass = 0.1, position = { 0, 0.5 }, angle = 0.1, mask = 0 }
local rail = world:slider { cart, name = "rail", axis = { 1, 0 }, anchor = { 0, 0 } }
world:hinge { cart, pole, name = "hinge", anchor = { 0, 0 }, limits = { -1, 1 } }
world:actuator { "push", joint = rail, kind = "force", range = { -3, 3 } }
world:polygon { name = "stone", vertices = { { 0, 0 }, { 0.5, 0 }, { 0.2, 0.4 } }, position = { 2, 0 }, restitution = 0.3 }
world:segment { name = "slope", from = { -5, -1 }, to = { -4, 0 }, type = "static" }
world:circle { name = "ball", radius = 0.2, position = { -4.5, 2 }, restitution = 0.5 }
world:before_step(function(w, t) cart:apply_force { math.sin(t), 0 } end)
local touches = 0
world:on("touch_begin", function(event) touches = touches + event.a.mass end)
world:act { 0.5 }
world:step(150)
world.bodies.ball.vx = 0.25
world.gravity = { 0.1, -9.8 }
world:run { duration = 1 }
return world:state(), touches, rail.translation, world:energy().total
"""


def scene():
    world = sim2d.World(dt=1 / 120, gravity=(0, -9.8))
    world.box(name="floor", size=(20, 1), position=(0, -1.5), type="static", friction=0.4)
    cart = world.box(name="cart", size=[0.4, 0.2], mass=1, mask=0)
    pole = world.box(name="pole", size=np.array([0.05, 1]), mass=0.1, position=(0, 0.5), angle=0.1, mask=0)
    rail = world.slider(cart, name="rail", axis=(1, 0), anchor=(0, 0))
    world.hinge(cart, pole, name="hinge", anchor=(0, 0), limits=(-1, 1))
    world.actuator("push", joint=rail, kind="force", range=(-3, 3))
    world.polygon(name="stone", vertices=np.array([(0, 0), (0.5, 0), (0.2, 0.4)]), position=(2, 0), restitution=0.3)
    world.segment(name="slope", from_=(-5, -1), to=(-4, 0), type="static")
    world.circle(name="ball", radius=0.2, position=(-4.5, 2), restitution=0.5)
    return world


def test_same_bits_as_in_lua():
    world = scene()
    cart, rail = world.bodies["cart"], world.joints["rail"]
    world.before_step(lambda w, t, dt: cart.apply_force((np.sin(t), 0)))
    touches = 0.0

    def touched(event):
        nonlocal touches
        touches += event.a.mass

    world.on("touch_begin", touched)
    world.act([0.5])
    world.step(150)
    world.bodies["ball"].vx = 0.25
    world.gravity = (0.1, -9.8)
    world.run(duration=1)
    state, expected, translation, energy = sim2d.run(LUA)
    assert (world.state == state).all() and touches == expected > 0
    assert rail.translation == translation and world.energy().total == energy


def test_fields_are_attributes():
    world = scene()
    cart, rail = world.bodies[1], world.joints["rail"]
    assert isinstance(cart, sim2d.Object) and cart.name == "cart" and cart.mass == 1
    cart.position = (0.25, 0)
    assert cart.x == 0.25 and cart.position.tolist() == [0.25, 0] and rail.translation == 0.25
    cart.data = {"list": [1, 2, {"deep": True}]}
    assert cart.data == {"list": [1, 2, {"deep": True}]}
    assert world.dt == 1 / 120 and world.solver == "auto"
    world.tolerance = 1e-8
    assert world.tolerance == 1e-8 and world.time == 0
    with pytest.raises(AttributeError):
        world.time = 3
    assert repr(cart) == "<Body 'cart'>" and "6 bodies" in repr(world)
    assert hasattr(cart, "x") and not hasattr(cart, "_repr_png_") and not hasattr(cart, "wieght")
    assert not hasattr(world, "__array__")


def test_objects_keep_their_identity():
    world = scene()
    cart, rail = world.bodies["cart"], world.joints["rail"]
    assert world.bodies[1] is cart and rail.a is cart and cart.world is world and world.bodies[-1].name == "ball"
    assert [body.name for body in world.bodies] == world.names and cart in world.bodies and "pole" in world.bodies
    with pytest.raises(IndexError, match="from 0 to 5"):
        world.bodies[7]
    with pytest.raises(sim2d.Error, match="no body is named 'cat'; did you mean 'cart'"):
        world.bodies["cat"]
    assert "cat" not in world.bodies
    number = cart._number
    del cart, rail
    gc.collect()
    assert world.bodies["cart"].name == "cart"
    gc.collect()
    assert world.bodies["cart"]._number != number  # the first reference was released
    world.bodies["ball"].destroy()
    assert world.names[-1] == "slope" and len(world) == 5


def test_queries_and_lists():
    world = scene()
    hit = world.raycast((3, 2), (3, -5))
    assert hit.body is world.bodies["floor"] and hit["point"].tolist() == [3, -1] and hit.normal.tolist() == [0, 1]
    with pytest.raises(AttributeError, match="no entry 'pint', only"):
        hit.pint
    assert world.raycast((30, 2), (30, -5)) is None
    assert {body.name for body in world.query_aabb((-1, -1), (1, 1))} >= {"cart", "pole"}
    world.observe("cart", of=world.bodies["cart"], field=["x", "vx"])
    assert world.observe().tolist() == [0, 0]


def test_snapshots_and_clones():
    world = scene()
    world.step(10)
    before, snapshot = world.state, world.snapshot()
    world.step(100)
    after = world.state
    world.restore(snapshot)
    assert (world.state == before).all()
    copy = world.clone()
    assert isinstance(copy, sim2d.World) and copy is not world and (copy.state == before).all()
    copy.step(100)
    assert (copy.state == after).all() and (world.state == before).all()
    copy.close()
    with pytest.raises(sim2d.Error, match="closed"):
        copy.step()
    world.step(100)
    assert (world.state == after).all()


def test_the_library_of_a_world():
    world = sim2d.World(dt=0.01, gravity=(0, 0))
    cart = world.box(size=(1, 1), mass=1, mask=0)
    rail = world.slider(cart, axis=(1, 0), anchor=(0, 0))
    world.actuator("push", joint=rail, kind="force", range=(-5, 5))
    law = world.sim.control.lqr(world, coordinates=[rail], Q=[1, 1], R=0.1)
    assert np.asarray(law.K).shape == (1, 2) and (np.asarray(law.K) > 0).all()
    batch = world.sim.batch(world, 3)
    assert len(batch) == 3
    assert world.sim.exp(0) == 1


def line():
    return sys._getframe(1).f_lineno


BAD = [
    (lambda w: w.box(sise=(1, 1)), "'box' (unknown key 'sise'; did you mean 'size'?)"),
    (lambda w: w.box(size=(1, -1)), "'box' (key 'size': two positive numbers expected, got {1, -1})"),
    (lambda w: w.box(), "'box' (key 'size' is missing)"),
    (lambda w: w.hinge(w.bodies[0]), "'hinge' (key 'anchor' is missing)"),
    (lambda w: w.actuator("a", kind="force", direktion=(1, 0)), "unknown key 'direktion'; did you mean 'direction'?"),
    (lambda w: w.bodies[0].wieght, "Body has no field 'wieght'"),
    (lambda w: setattr(w.bodies[0], "mss", 1), "Body has no field 'mss'; did you mean 'mass'?"),
    (lambda w: setattr(w.bodies[0], "mass", -1), "mass"),
    (lambda w: w.bx(size=(1, 1)), "World has no field 'bx'; did you mean 'box'?"),
    (lambda w: w.raycast((0, 0)), "'raycast' ({x, y} expected, got no value)"),
    (lambda w: w.on("tuch", print), "'on'"),
    (lambda w: w.run(duration=-1), "duration"),
    (lambda w: w.draw("state.svg", widht=3), "unknown key 'widht'; did you mean 'width'?"),
    (lambda w: w.record("run.avi"), "unknown suffix '.avi'"),
    (lambda w: w.act([1, 2]), "one per actuator"),
]


@pytest.mark.parametrize("do, message", BAD, ids=[message for _, message in BAD])
def test_messages_have_the_key_and_the_line_of_python(do, message):
    world = sim2d.World()
    world.circle(radius=1)
    with pytest.raises(sim2d.Error) as caught:
        do(world)
    where, _, text = str(caught.value).partition(": ")
    assert re.fullmatch(rf".*test_scene\.py:{do.__code__.co_firstlineno}", where), str(caught.value)
    assert message in text
    assert f"test_scene.py:{do.__code__.co_firstlineno}: in" in caught.value.traceback


def test_worlds_that_are_refused():
    with pytest.raises(sim2d.Error, match=rf"test_scene\.py:{line() + 1}: .*unknown key 'dT'; did you mean 'dt'"):
        sim2d.World(dT=1)
    with pytest.raises(TypeError, match="'dt' is for worlds without a script"):
        sim2d.World("return nil", code=True, dt=1)
    with pytest.raises(TypeError, match="need a script"):
        sim2d.World(parameters={})
    with pytest.raises(TypeError, match="set cannot be sent"):
        sim2d.World().box(size={1, 2})
    world, other = sim2d.World(), sim2d.World()
    ball = world.circle(radius=1)
    with pytest.raises(sim2d.Error, match="belongs to another world"):
        other.hinge(ball, anchor=(0, 0))
    world.close()
    with pytest.raises(sim2d.Error, match="closed"):
        ball.x
    assert repr(ball) == "<Body, closed>"


def test_errors_of_functions_arrive_as_they_are():
    world = sim2d.World()
    world.circle(radius=1)
    handle = world.before_step(lambda w, t, dt: {}["key"])
    with pytest.raises(KeyError, match="key"):
        world.step()
    assert world.time == 0  # undone
    handle.remove()
    world.step()
    # a call within a function, whose message has the line of the function
    handle = world.after_step(lambda w, t, dt: w.box(sise=1))
    with pytest.raises(sim2d.Error, match=rf"test_scene\.py:{line() - 1}: .*did you mean 'size'"):
        world.step()
    handle.remove()
    world.after_step(lambda w, t, dt: w.close())
    with pytest.raises(sim2d.Error, match="closed by a function"):
        world.step()


def test_functions_that_decide():
    world = sim2d.World(dt=0.01)
    world.box(name="floor", size=(20, 1), position=(0, -0.5), type="static")
    ghost = world.circle(name="ghost", radius=0.5, position=(0, 1))
    ball = world.circle(name="ball", radius=0.5, position=(3, 1))
    world.filter(lambda a, b: a is not ghost and b is not ghost)
    seen = []
    world.pre_solve(lambda contact: seen.append((contact.a.name, contact.b.name)))
    world.every(0.25, lambda w, t: seen.append(t))
    world.run(duration=1)
    assert ghost.y < -2 and ball.y == pytest.approx(0.5, abs=1e-6)
    assert ("ball", "floor") in seen or ("floor", "ball") in seen
    assert [t for t in seen if isinstance(t, float)] == pytest.approx([0.25, 0.5, 0.75, 1])


def test_recordings(tmp_path):
    world = scene()
    with world.record(tmp_path / "run.csv", every=2) as recording:
        world.step(4)
    world.step(4)
    assert recording.path == str(tmp_path / "run.csv") and recording._repr_html_() is None
    rows = (tmp_path / "run.csv").read_text().splitlines()
    assert len({row.split(",")[0] for row in rows[1:]}) == 3
    with world.record(tmp_path / "run.svg") as recording:
        world.step()
    assert recording._repr_html_().startswith("<svg")


def test_notebooks_show_worlds():
    world = scene()
    first = world._repr_html_()
    world.step(50)
    assert first.startswith("<svg") and first.rstrip().endswith("</svg>") and world._repr_html_() != first
    assert sim2d.World()._repr_html_().startswith("<svg")  # without bodies, too
    tall = sim2d.World()
    tall.box(size=(1, 10))
    width, height = re.search(r'width="(\d+)" height="(\d+)"', tall._repr_html_()).groups()
    assert f"width:{int(width) * 480 / int(height):.0f}px;max-width:100%;height:auto" in tall._repr_html_()


def test_the_example_balances(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "python/examples")
    import scene as example

    count, angle = example.main(tmp_path / "scene.s2d", duration=1.6)
    assert count == 3 and 0.01 < angle < 0.4  # the balls turn the plank, but not to its stop
    assert sim2d.run("return require 'sim2d'.read_recording(...).count", str(tmp_path / "scene.s2d")) == 193
    monkeypatch.setattr(example, "STIFFNESS", 0.0)
    monkeypatch.setattr(example, "DAMPING", 0.0)
    assert example.main(duration=1.6)[1] > 2 * angle


def test_methods_with_a_table_are_those_of_the_reference():
    meta = ROOT / "lua/sim2d/meta/world.lua"
    text = (ROOT / "python/src/bridge.lua").read_text()
    listed = set(re.search(r"for name in \(\[\[([^\]]*)\]\]", text)[1].split())
    documented = set(re.findall(r"^function World:(\w+)\((?:def|annotation)\)", meta.read_text(), re.M)) - {"clone"}
    assert listed == documented


def test_nothing_is_left_behind():
    import resource

    def use():
        world = scene()
        world.on("touch_begin", lambda event: world.time)  # a cycle through Lua
        world.step(3)

    for _ in range(30):
        use()
    gc.collect()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for _ in range(200):
        use()
    gc.collect()
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 50000  # kB; a state alone has 1500
