"""2D rigid bodies with hard contact: worlds, tasks, gradients.

    import sim2d
    world = sim2d.World(dt=1 / 120)             # a world; world.box(size=(1, 1)) adds a body
    world = sim2d.World("my_scene.lua")         # a world that a script builds
    env = sim2d.make("cart_pole")               # gymnasium.Env; also gymnasium.make("sim2d/cart_pole-v0")
    envs = sim2d.make_vec("cart_pole", 64)      # gymnasium.vector.VectorEnv
    loss = sim2d.Loss("throw.lua")              # value and gradient of a script's function
    sim2d.run("return 1 + 1")

docs/python.md has examples.
"""

from typing import Any

from ._bridge import Error, version as __version__
from .gradient import Loss
from ._tasks import tasks
from ._objects import FieldError, Object
from .world import Recording, Snapshot, World, run
from . import gym as _gym

__all__ = ["Error", "FieldError", "Loss", "Object", "Recording", "Snapshot", "World", "make", "make_vec", "run", "tasks",
           "__version__"]

_gym.register_when_imported()


def __getattr__(name: str) -> Any:
    # gymnasium is an extra: it is imported when it is needed
    if name in ("make", "make_vec", "Env", "VectorEnv"):
        try:
            from . import environment, vector
        except ModuleNotFoundError as error:
            if error.name != "gymnasium":
                raise
            raise ModuleNotFoundError(f"sim2d.{name} needs gymnasium: pip install 'sim2d[gymnasium]'", name=error.name) from None

        return {"make": environment.make, "Env": environment.Env, "make_vec": vector.make_vec,
                "VectorEnv": vector.VectorEnv}[name]
    raise AttributeError(f"module 'sim2d' has no attribute '{name}'")
