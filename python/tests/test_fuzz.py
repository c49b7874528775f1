"""Any input gives an exception or a result, and never ends the interpreter."""

import numpy as np
import pytest

import sim2d

hypothesis = pytest.importorskip("hypothesis")
from hypothesis import given, settings, strategies as st  # noqa: E402

from sim2d._pack import pack, unpack  # noqa: E402

plain = st.one_of(st.none(), st.booleans(), st.integers(-(2**63), 2**63 - 1), st.floats(allow_nan=False), st.text())
keys = st.one_of(st.text(), st.integers(-(2**63), 2**63 - 1))
values = st.recursive(plain, lambda v: st.one_of(st.lists(v, max_size=5), st.dictionaries(keys, v, max_size=5)), max_leaves=20)
anything = st.one_of(values, st.binary(), st.complex_numbers(), st.tuples(plain), st.sets(st.integers()), st.just(print))
# the same examples in every run, without a time limit for each
few = settings(max_examples=150, deadline=None, derandomize=True, database=None,
               suppress_health_check=[hypothesis.HealthCheck.too_slow])


def arrives(value, through_lua=False):
    """The value after the transfer: no keys without values, an empty table is a list, and so are keys 1 .. n."""
    if isinstance(value, list):
        return [arrives(v, through_lua) for v in value]
    if not isinstance(value, dict):
        return value
    kept = {k: arrives(v, through_lua) for k, v in value.items() if v is not None}
    listed = through_lua and all(i + 1 in kept for i in range(len(kept)))
    return [kept[i + 1] for i in range(len(kept))] if listed or not kept else kept


@given(values)
@few
def test_values_arrive(value):
    assert unpack(pack(value)) == arrives(value)


STATE = sim2d.World("local sim = require 'sim2d' local w = sim.world {} w:circle { radius = 1 } return w", code=True)


@given(st.dictionaries(st.text(), st.one_of(plain, st.lists(st.integers(-9, 9))), max_size=6))
@few
def test_through_lua(value):
    assert sim2d.run("return ...", {"inside": value}, code=True) == {"inside": arrives(value, True)}


@given(st.sampled_from(["step", "act", "body", "set_body", "joint", "set_state", "draw", "restore"]), anything, anything)
@few
def test_worlds(what, one, two):
    calls = {"step": lambda: STATE.step(one),
             "act": lambda: STATE.act(one), "body": lambda: STATE.body(one, two),
             "set_body": lambda: STATE.set_body(one, two, one), "joint": lambda: STATE.joint(one, two),
             "set_state": lambda: setattr(STATE, "state", one), "draw": lambda: STATE.draw("/nowhere/at/all.svg"),
             "restore": lambda: STATE.restore(one)}
    if what == "step" and isinstance(one, (int, float)) and not isinstance(one, bool) and one > 100:
        return  # would take too long
    try:
        calls[what]()
    except (sim2d.Error, TypeError, ValueError, OverflowError, AttributeError):
        pass
    assert STATE.time >= 0


@given(st.lists(anything, min_size=1, max_size=3))
@few
def test_actions(actions):
    pytest.importorskip("gymnasium")
    env = sim2d.make("cart_pole")
    env.reset(seed=1)
    for action in actions:
        try:
            env.step(action)
        except (sim2d.Error, TypeError, ValueError, OverflowError):
            pass
    assert env.reset(seed=1)[0].shape == (4,)
    env.close()


@given(st.text(max_size=60))
@few
def test_programs(text):
    try:
        sim2d.run(text, code=True)
    except (sim2d.Error, ValueError, TypeError, UnicodeError):
        pass


@given(st.binary(max_size=200))
@few
def test_bytes_of_a_call(data):
    """The C side reads the bytes of Python, and checks all of them."""
    from sim2d import _bridge

    state = STATE._bridge._state
    code = _bridge._library.s2_bridge_call(state, b"get", data, len(data), 0)
    assert code in (0, 1)
    code = _bridge._library.s2_bridge_exchange(state, 3, _bridge.ffi.NULL, 0, _bridge.ffi.NULL, 0, 0)
    assert code == 1
