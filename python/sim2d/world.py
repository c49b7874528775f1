"""Worlds, built in Python or by Lua scripts."""

from __future__ import annotations

import os
from typing import Any, Mapping, Sequence

import numpy as np

from . import _html
from ._bridge import Bridge, Error, source_of
from ._objects import Object, classes, received, sent


def run(script: str | os.PathLike[str], *arguments: Any, code: bool | None = None) -> Any:
    """Runs a Lua program and returns its results: numbers, texts, lists, dicts, NumPy arrays; several values as a tuple.

    script: the text of a program, or a file: a name that ends with .lua, or a path object. `code` overrides this rule.
    arguments: the values of `...` in the program.

    >>> sim2d.run("local a, b = ... return a + b", 1, 2)
    3
    """
    if code is None:
        code = isinstance(script, str) and not script.endswith(".lua")
    bridge = Bridge()
    try:
        return bridge.call("run", source_of(script, code), None, *arguments)
    finally:
        bridge.close()


class Snapshot:
    """A saved state of a world; `World.restore` returns to it."""

    def __init__(self, world: "World", number: int):
        self._world, self._number = world, number

    def __del__(self) -> None:
        self._world._bridge.released.append((self._number, 1))


class Recording(Object):
    """A recording of a world (`World.record`), which ends with `close`, or with its world. `path`: its file. Notebooks show it."""

    _path: str | None = None

    @property
    def path(self) -> str | None:
        return self._path

    def _repr_html_(self) -> str | None:
        return _html.of_file(self._path)


class World(Object):
    """A world, in its own Lua state.

    Without a script, the world is empty. Keyword arguments are the keys of `sim.world`, and methods as `box` and `hinge` add
    bodies and joints. All fields and methods of docs/reference/world.md are available; see docs/python.md.

    >>> world = sim2d.World(dt=1 / 120)
    >>> cart = world.box(size=(0.4, 0.2), mass=1)
    >>> rail = world.slider(cart, axis=(1, 0), anchor=(0, 0))
    >>> world.step()
    >>> cart.x

    script: a file's name, or with code=True the text of a program. It returns a world, a function that builds one, a table
        with a function `build`, or a task (`sim.env`); or it makes a world and returns nothing.
    builder: the name of another function of that table, or of a global function.
    parameters: given to the script (as `...`) and to the builder.

    >>> with sim2d.World("scenes/contacts/bouncing_balls.lua") as world:
    ...     world.step(100)
    ...     world.positions
    """

    _owner = True  # of its Lua state

    def __init__(self, script: str | os.PathLike[str] | None = None, *, code: bool = False, builder: str | None = None,
                 parameters: Mapping[str, Any] | None = None, **settings: Any):
        if script is None and (code or builder is not None or parameters is not None):
            raise TypeError("World: code, builder and parameters need a script")
        if script is not None and settings:
            raise TypeError(f"World: '{next(iter(settings))}' is for worlds without a script; assign it afterwards: world.{next(iter(settings))} = ...")
        source = source_of(script, code) if script is not None else ""
        bridge = Bridge()
        try:
            if script is None:
                number = bridge.ask("make", sent(bridge, settings, True) or {})
            else:
                number = bridge.ask("world", source, None, builder, dict(parameters or {}))
        except BaseException:
            bridge.close()
            raise
        super().__init__(bridge, number, "World")
        self._held = 0  # Lua keeps it as long as the state is open
        bridge.objects[number] = self

    @classmethod
    def _shared(cls, bridge: Bridge, number: int, kind: str) -> "World":
        """A further world in a Lua state, for example a clone."""
        world = cls.__new__(cls)
        Object.__init__(world, bridge, number, kind)
        world._owner = False
        return world

    @property
    def sim(self) -> Object:
        """The Lua library in the state of this world: `world.sim.control.lqr(world, Q=..., R=...)`."""
        return received(self._bridge, self._bridge.call("library"))

    # ---- Life ----

    @property
    def closed(self) -> bool:
        return self._bridge.closed

    def close(self) -> None:
        """Frees the world and its Lua state. Afterwards everything except `closed` raises an error."""
        if self._owner:
            self._bridge.close()
        else:
            self._apply("close", (), {})

    def __enter__(self) -> "World":
        return self

    def __exit__(self, *exc: Any) -> None:
        self.close()

    def __repr__(self) -> str:
        try:
            return f"<sim2d.World of {len(self)} bodies at {self.time:g} s>"
        except Error:
            return "<sim2d.World, closed>"

    def _repr_html_(self) -> str | None:
        return None if self.closed else _html.of_drawing(self.draw)

    # ---- Time ----

    def step(self, n: int = 1) -> None:
        """Steps n times. Raises `Error` if a callback raises an error or a step is impossible."""
        if isinstance(n, bool) or int(n) != n or n < 1:
            raise ValueError(f"a number of steps of at least 1 expected, got {n!r}")
        self._bridge.ask("call", self._number, "step", int(n))

    @property
    def time(self) -> float:
        """Simulated time, s"""
        return self._bridge.ask("get", self._number, "time")

    # ---- State ----

    @property
    def state(self) -> np.ndarray:
        """The state as in `world:state()`: a list of numbers, which may be assigned."""
        return np.asarray(self._bridge.ask("state", self._number))

    @state.setter
    def state(self, numbers: Any) -> None:
        numbers = _finite(numbers, "state")
        self._bridge.ask("set_state", self._number, numbers)

    def snapshot(self) -> Snapshot:
        """The present state, for `restore`. It includes the data that solvers keep, so that later steps give the same bits."""
        return Snapshot(self, self._bridge.ask("snapshot", self._number))

    def restore(self, snapshot: Snapshot) -> None:
        if snapshot._world is not self:
            raise ValueError("a snapshot of this world expected, got one of another world")
        self._bridge.ask("restore", self._number, snapshot._number)

    # ---- Bodies, joints, contacts ----

    def __len__(self) -> int:
        return len(self.names)

    @property
    def names(self) -> list[str]:
        """The names of the bodies, in the order of their creation; "" for a body without a name."""
        return self._bridge.ask("names", self._number, "bodies")

    @property
    def joint_names(self) -> list[str]:
        return self._bridge.ask("names", self._number, "joints")

    def _numbers(self, *fields: str) -> np.ndarray:
        numbers = self._bridge.ask("numbers", self._number, *fields)
        return np.zeros((0, 3)) if numbers is None else numbers.reshape(-1, 3)

    @property
    def positions(self) -> np.ndarray:
        """[bodies, 3]: x and y in m, the angle in rad; a copy."""
        return self._numbers("x", "y", "angle")

    @property
    def velocities(self) -> np.ndarray:
        """[bodies, 3]: vx and vy in m/s, the angular velocity in rad/s; a copy."""
        return self._numbers("vx", "vy", "omega")

    def body(self, which: int | str, field: str) -> Any:
        """A field of a body, by its name or its number (from 0), as in docs/reference/bodies.md: "mass", "x", "vx" ..."""
        return received(self._bridge, self._bridge.ask("field", self._number, "bodies", which, field))

    def set_body(self, which: int | str, field: str, value: Any) -> None:
        self._bridge.ask("set_field", self._number, "bodies", which, field, value)

    def joint(self, which: int | str, field: str) -> Any:
        """A field of a joint: "angle", "speed", "translation" ..."""
        return received(self._bridge, self._bridge.ask("field", self._number, "joints", which, field))

    def set_joint(self, which: int | str, field: str, value: Any) -> None:
        self._bridge.ask("set_field", self._number, "joints", which, field, value)

    def contacts(self) -> list[dict[str, Any]]:
        """The contacts: a, b (numbers of bodies from 0), point, normal (from b to a), gap (m), normal_impulse, tangent_impulse
        (N s, on a), sliding."""
        return self._bridge.ask("contacts", self._number) or []

    def residuals(self) -> dict[str, Any]:
        """scaled: the residual of the last step; unsolved: the number of unsolved steps so far; steps: of all steps so far."""
        return self._bridge.ask("residuals", self._number)

    # ---- Control ----

    def act(self, commands: Sequence[float] | Mapping[str, float]) -> None:
        """Sets a command for each actuator: a list in their order, or a dict by name. Commands hold until the next call."""
        given = dict(commands) if isinstance(commands, Mapping) else _finite(commands, "commands").tolist()
        self._bridge.ask("call", self._number, "act", given)

    def observe(self, *names: str, **keys: Any) -> Any:
        """The observations, an array; with arguments, declares an observation: `world.observe("cart", of=cart, field="x")`."""
        if names or keys:
            return self._apply("observe", names, keys)
        return np.asarray(self._bridge.ask("observation", self._number), dtype=float)

    def rollout(self, controls: Any, cost: Sequence[Mapping[str, Any]], *, period: float | None = None, gradient: bool = False,
                states: bool = False, threads: int | None = None) -> Any:
        """The costs of n sequences of commands, each from the present state on. They run in threads; the world is unchanged.

        controls: [n, knots, actuators]. cost: terms as for `sim.rollout`, with the names of bodies and joints:
            [{"of": "cart", "field": "x", "goal": 1, "terminal": 10}, {"of": "controls", "weight": 1e-3}]. period: s for
            which a knot is held, default dt.
        Returns costs [n]; with gradient=True costs and their gradients, in the shape of the controls; with states=True costs
        and states [n, knots, numbers of `state`]."""
        given = np.asarray(controls, dtype=np.float64)
        if given.ndim != 3 or given.size == 0:
            raise ValueError(f"controls: an array [n, knots, actuators] expected, got one of shape {given.shape}")
        if gradient and states:
            raise ValueError("rollout: gradient or states, not both")
        n, knots, _ = given.shape
        options = {"cost": [dict(term) for term in cost], "period": period, "states": states or None, "threads": threads}
        costs, ends, slope = self._bridge.ask("rollout", self._number, given.reshape(n, -1), options, gradient)
        if gradient:
            return costs, slope.reshape(given.shape)
        return (costs, ends.reshape(n, knots, -1)) if states else costs

    def draw(self, path: str | os.PathLike[str], **options: Any) -> None:
        """Draws a picture, .svg or .png; options as for `world:draw`."""
        self._bridge.ask("draw", self._number, str(path), sent(self._bridge, options, True) or None)

    def record(self, path: str | os.PathLike[str], **options: Any) -> Recording:
        """Records the world from now on; the suffix of the path selects the format (.html: a page that plays the run). options as
        for `world:record`. The recording ends with its `close`, with the world, or at the end of a `with` block."""
        recording = self._apply("record", (str(path),), options)
        recording._path = str(path)
        return recording

    def __reduce__(self):
        raise TypeError("a World cannot be pickled; make another one from its script, and assign `state`")


def _finite(numbers: Any, what: str) -> np.ndarray:
    try:
        array = np.asarray(numbers, dtype=np.float64)
    except (TypeError, ValueError):
        raise TypeError(f"{what}: numbers expected, got {numbers!r}") from None
    if array.ndim != 1:
        raise ValueError(f"{what}: a list of numbers expected, got an array of shape {array.shape}")
    if not np.isfinite(array).all():
        raise ValueError(f"{what}: number {int(np.argmin(np.isfinite(array)))} is {array[~np.isfinite(array)][0]}")
    return array


classes["World"] = World._shared
classes["Recording"] = Recording
