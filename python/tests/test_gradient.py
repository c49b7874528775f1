"""Gradients of scripts, by NumPy, PyTorch and JAX."""

import numpy as np
import pytest

import sim2d

# Three motions with contact: a ball that bounces, a box that slides, two balls that meet.
BOUNCE = """
local sim = require "sim2d"
return function(v)
  local world = sim.world { dt = 0.01, stepping = "event" }
  world:box { size = { 100, 1 }, position = { 0, -0.5 }, type = "static" }
  local ball = world:circle { radius = 0.2, position = { 0, 1 }, restitution = 0.7, friction = 0.2 }
  ball.vx, ball.vy = v[1], v[2]
  world:step(90)
  return { ball.x, ball.y, ball.angle }
end"""
SLIDE = """
local sim = require "sim2d"
return function(v, mu)
  local world = sim.world { dt = 0.01 }
  local floor = world:box { size = { 100, 1 }, position = { 0, -0.5 }, type = "static", friction = 1 }
  local box = world:box { size = { 0.6, 0.3 }, position = { 0, 0.15 } }
  box.friction = mu
  box.vx = v[1]
  world:step(60)
  return { box.x, box.vx }
end"""
MEET = """
local sim = require "sim2d"
return function(v)
  local world = sim.world { dt = 0.01, gravity = { 0, 0 }, stepping = "event" }
  local a = world:circle { radius = 0.5, restitution = 0.9 }
  local b = world:circle { radius = 0.5, position = { 2, 0.3 }, restitution = 0.9 }
  a.vx, a.vy = v[1], v[2]
  world:step(100)
  return { a.x, a.y, b.x, b.y }
end"""
CASES = {"bounce": (BOUNCE, [np.array([1.0, 0.5])]), "slide": (SLIDE, [np.array([2.0]), np.array(0.3)]),
         "meet": (MEET, [np.array([3.0, 0.2])])}


def differences(loss, weights, arrays, step=1e-6):
    out = []
    for k, array in enumerate(arrays):
        gradient = np.zeros(array.shape)
        for i in np.ndindex(array.shape):
            ends = []
            for sign in (1, -1):
                moved = [a.copy() for a in arrays]
                moved[k][i] += sign * step
                ends.append(weights @ loss(*moved))
            gradient[i] = (ends[0] - ends[1]) / (2 * step)
        out.append(gradient)
    return out


@pytest.mark.parametrize("name", CASES)
def test_vjp_against_differences(name):
    text, arrays = CASES[name]
    with sim2d.Loss(text, code=True) as loss:
        value = loss(*arrays)
        weights = np.linspace(1, -0.5, len(value))
        for ours, theirs in zip(loss.vjp(weights, *arrays), differences(loss, weights, arrays)):
            assert np.allclose(ours, theirs, rtol=1e-6, atol=1e-7)


def test_value_and_gradient():
    loss = sim2d.Loss("return function(x, k) return k * (x[1] ^ 2 + x[2]) end", code=True)
    value, (by_x, by_k) = loss.value_and_grad(np.array([3.0, 1.0]), 2.0)
    assert value == 20 and by_x.tolist() == [12, 2] and by_k == 10
    assert loss.value_and_grad(np.array([3.0, 1.0]), 2.0, by=[1]) == (20, (10,))
    for bad in ([], [2], [-1], ["x"]):
        with pytest.raises(ValueError, match="numbers of arrays, from 0 to 1, expected"):
            loss.value_and_grad(np.array([3.0, 1.0]), 2.0, by=bad)
    table = "return { one = function(x) return x[1] end, two = function(x) return 2 * x[1] end }"
    assert sim2d.Loss(table, code=True, function="two")(np.array([4.0])) == 8


CART = """
local sim = require "sim2d"
local world = sim.world { dt = 0.05, gravity = { 0, 0 } }
local cart = world:box { name = "cart", size = { 1, 1 }, mass = 2 }
world:actuator { "push", body = cart, kind = "force", direction = { 1, 0 }, range = { -8, 8 } }
return world"""
TERMS = [{"of": "cart", "field": "x", "goal": 1, "terminal": 10}, {"of": "controls", "weight": 1e-3}]


def test_rollouts():
    world = sim2d.World(CART, code=True)
    plans = np.array([[4, 4, 0, -4, -4], [4, 2, 0, -2, -4], [8, 0, 0, 0, -8]], dtype=float)[:, :, None]
    costs, states = world.rollout(plans, TERMS, period=0.2, states=True)
    assert states.shape == (3, 5, 6) and world.time == 0
    # the same by steps
    world.act([4.0])
    world.step(4)
    assert (world.state == states[0, 0]).all()
    world = sim2d.World(CART, code=True)
    again, slope = world.rollout(plans, TERMS, period=0.2, gradient=True, threads=2)
    assert (again == costs).all() and slope.shape == plans.shape
    moved = np.repeat(plans[:1], 2, axis=0)
    moved[:, 1, 0] += [1e-5, -1e-5]
    ends = world.rollout(moved, TERMS, period=0.2)
    assert slope[0, 1, 0] == pytest.approx((ends[0] - ends[1]) / 2e-5, rel=1e-6)
    for _ in range(100):
        _, slope = world.rollout(plans, TERMS, period=0.2, gradient=True)
        plans -= 0.2 * slope
    assert (world.rollout(plans, TERMS, period=0.2) < 0.5 * costs).all()
    with pytest.raises(ValueError, match=r"\[n, knots, actuators\] expected"):
        world.rollout(plans[0], TERMS)
    with pytest.raises(sim2d.Error, match="'wagon'"):
        world.rollout(plans, [{"of": "wagon", "field": "x"}])
    with pytest.raises(ValueError, match="not both"):
        world.rollout(plans, TERMS, gradient=True, states=True)


def test_bad_input():
    with pytest.raises(sim2d.Error, match="must return a function"):
        sim2d.Loss("return 3", code=True)
    with pytest.raises(sim2d.Error, match="returned a nil|returned a table|function"):
        sim2d.Loss("return {}", code=True, function="none")
    loss = sim2d.Loss("return function(x) return x.y.z end", code=True)
    with pytest.raises(sim2d.Error, match=":1:") as caught:
        loss.value_and_grad(np.ones(2))
    assert caught.value.traceback
    with pytest.raises(TypeError, match="numbers expected"):
        loss(np.array(["a"]))
    with pytest.raises(TypeError, match="at least one array expected"):
        loss()
    with pytest.raises(TypeError, match="one or two axes"):
        loss(np.zeros((2, 2, 2)))
    loss.close()
    with pytest.raises(sim2d.Error, match="closed"):
        loss(np.ones(2))


@pytest.mark.parametrize("name", CASES)
def test_torch_gradcheck(name):
    torch = pytest.importorskip("torch")
    import sim2d.torch

    text, arrays = CASES[name]
    call = sim2d.torch.function(sim2d.Loss(text, code=True))
    tensors = [torch.tensor(a, dtype=torch.float64, requires_grad=True) for a in arrays]
    assert torch.autograd.gradcheck(call, tensors, eps=1e-6, atol=1e-6, rtol=1e-6)


def test_torch_beside_a_network():
    torch = pytest.importorskip("torch")
    import sim2d.torch

    throw = sim2d.torch.function(sim2d.Loss(BOUNCE, code=True))
    torch.manual_seed(0)
    network = torch.nn.Linear(3, 2)
    throw(network(torch.ones(3))).sum().backward()
    assert torch.isfinite(network.weight.grad).all() and network.weight.grad.abs().sum() > 0
    # no derivative by arrays that need none: math.sin would raise
    mixed = sim2d.torch.function(sim2d.Loss("return function(x, y) return x[1] * math.sin(y[1]) end", code=True))
    x = torch.tensor([2.0], requires_grad=True)
    mixed(x, torch.tensor([0.5])).backward()
    assert x.grad.item() == pytest.approx(np.sin(0.5))
    with pytest.raises(TypeError, match="sim2d.Loss expected"):
        sim2d.torch.function(print)
    with pytest.raises(TypeError, match="tensors expected"):
        throw(np.ones(2))


@pytest.mark.parametrize("name", CASES)
def test_jax(name):
    jax = pytest.importorskip("jax")
    import sim2d.jax

    with jax.experimental.enable_x64() if hasattr(jax.experimental, "enable_x64") else jax.enable_x64(True):
        text, arrays = CASES[name]
        loss = sim2d.Loss(text, code=True)
        count = len(loss(*arrays))
        weights = np.linspace(1, -0.5, count)
        call = sim2d.jax.function(loss, count)
        gradients = jax.jit(jax.grad(lambda p: weights @ call(*p)))(tuple(arrays))
        for ours, theirs in zip(gradients, loss.vjp(weights, *arrays)):
            assert np.allclose(ours, theirs, rtol=1e-12)
