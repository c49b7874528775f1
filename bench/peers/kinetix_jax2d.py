"""Replays plans for levels of Kinetix in Jax2D, the engine of Kinetix, and judges them by Kinetix's rule.

    pip install jax==0.10.2 jax2d==1.0.2
    python bench/peers/kinetix_jax2d.py build/kinetix plans.json

`bench/lua/kinetix.lua --plans plans.json` writes `plans.json`. For each level, it has the actions of all decisions,
with four motor bindings and two thruster bindings. The engines agree on a level if its plan also solves it in Jax2D.
"""

import argparse
import json
import pathlib

import jax
import jax.numpy as jnp
import numpy as np
from jax2d.engine import PhysicsEngine, calculate_collision_matrix, create_empty_sim
from jax2d.sim_state import SimParams, StaticSimParams

DECISIONS, SKIP = 256, 2
GREEN_BLUE, GREEN_RED = 2, 3  # products of the roles of two shapes


def number(value):
    """Lists are stored as objects with the keys "0", "1" ..."""
    if isinstance(value, dict):
        return np.array([number(value[str(i)]) for i in range(len(value))])
    return value


def filled(target, entries):
    """A record of arrays, in which row i has the numbers of entry i."""
    rows = {}
    for name in target.__dataclass_fields__:
        column = np.stack([np.asarray(number(entry[name])) for entry in entries])
        rows[name] = jnp.asarray(column, dtype=getattr(target, name).dtype)
    return target.replace(**rows)


class Level:
    def __init__(self, path):
        data = json.loads(path.read_text())
        state, static = data["env_state"], data["static_env_params"]
        keys = ("num_polygons", "num_circles", "num_joints", "num_thrusters", "max_polygon_vertices",
                "num_solver_iterations", "solver_batch_size", "do_warm_starting", "num_static_fixated_polys")
        self.static = StaticSimParams(**{key: static[key] for key in keys})
        sim = create_empty_sim(self.static)
        sim = sim.replace(**{kind: filled(getattr(sim, kind), state[kind])
                             for kind in ("polygon", "circle", "joint", "thruster")},
                          gravity=jnp.asarray(number(state["gravity"]), jnp.float32))
        self.start = sim.replace(collision_matrix=calculate_collision_matrix(self.static, sim.joint))
        self.roles = [jnp.array([s["role"] * s["active"] for s in state[kind]]) for kind in ("polygon", "circle")]
        self.motors = np.array([joint["motor_binding"] for joint in state["joint"]])
        self.thrusters = np.array([thruster["thruster_binding"] for thruster in state["thruster"]])

    def actions(self, plan):
        """One row for each step, with the numbers of all joints and thrusters. After its end, a plan is at rest."""
        held = np.zeros((DECISIONS, 6), np.float32)
        held[: len(plan)] = plan[:DECISIONS]
        # Unused entries of the files may have bindings that do not exist.
        motors, thrusters = np.minimum(self.motors, 3), np.minimum(self.thrusters, 1)
        rows = np.concatenate([held[:, :4][:, motors], held[:, 4:][:, thrusters]], axis=1)
        return jnp.asarray(np.repeat(rows, SKIP, axis=0))


def runner(static):
    engine, settings = PhysicsEngine(static), SimParams()

    @jax.jit
    def run(start, actions, polygons, circles):
        pairs = ((engine.poly_poly_pairs, polygons, polygons), (engine.circle_poly_pairs, circles, polygons),
                 (engine.circle_circle_pairs, circles, circles))

        def touching(manifolds, product):
            return sum(((a[pair[:, 0]] * b[pair[:, 1]] == product) & manifold.active).sum()
                       for manifold, (pair, a, b) in zip(manifolds, pairs))

        def step(sim, action):
            sim, manifolds = engine.step(sim, settings, action)
            bad, good = touching(manifolds, GREEN_RED) > 0, touching(manifolds, GREEN_BLUE) > 0
            return sim, jnp.where(bad, -1, jnp.where(good, 1, 0))

        return jax.lax.scan(step, start, actions)[1]

    return run


def verdict(signs):
    ended = np.nonzero(signs)[0]
    return ("solved" if signs[ended[0]] > 0 else "failed") if len(ended) else "out of time"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("levels", type=pathlib.Path)
    parser.add_argument("plans", type=pathlib.Path)
    options = parser.parse_args()
    plans = json.loads(options.plans.read_text())
    runners, solved, other = {}, {}, []
    for name, plan in plans.items():
        level = Level(options.levels / f"{name}.json")
        if level.static not in runners:
            runners[level.static] = runner(level.static)
        end = verdict(np.asarray(runners[level.static](level.start, level.actions(plan), *level.roles)))
        print(f"{name:32} {end}", flush=True)
        solved.setdefault(name[0], []).append(end == "solved")
        if end != "solved":
            other.append(name)
    for size, ends in solved.items():
        print(f"{size}: {sum(ends)} of {len(ends)} plans solve their level in Jax2D")
    print("not:", ", ".join(other) or "none")


if __name__ == "__main__":
    main()
