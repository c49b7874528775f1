"""The same actions in gym-pusht and in the task push_t: the distance of the two T's. python bench/push_t.py [episodes]

pip install gym-pusht, and sim2d with gymnasium. The actions lead the disc to places near the T's, like those of a person.
"""

import sys

import numpy as np
from gym_pusht.envs.pusht import PushTEnv

import sim2d


def compare(seed, steps, ours, theirs):
    rng = np.random.default_rng(seed)
    seen, _ = begin(seed, ours, theirs)
    told, crept, moved = [], [0.0, 0.0], [0.0, 0.0]
    for k in range(steps):
        if k % 5 == 0:
            target = np.clip(seen[2:4] + rng.uniform(-120, 120, 2), 20, 490)
        before = seen, theirs.get_obs()
        seen = ours.step(target)[0]
        theirs.step(target)
        other = theirs.get_obs()
        told.append((np.hypot(*(seen[2:4] - other[2:4])), abs((seen[4] - other[4] + np.pi) % (2 * np.pi) - np.pi),
                     distance(seen), distance(other)))
        for i, (a, b) in enumerate(((before[0], seen), (before[1], other))):
            motion = np.hypot(*(b[2:4] - a[2:4]))
            free = min(distance(a), distance(b)) > 40  # farther than a step moves: nothing touched
            crept[i] += motion if free else 0
            moved[i] += motion
        if np.hypot(*(seen[2:4] - 256)) > 220:
            break
    return np.array(told), crept, moved


def begin(seed, ours, theirs):
    """Both at the same start; their reset places the origin, then turns about the centre of mass, which does not move."""
    seen, _ = ours.reset(seed=seed)
    centre = seen[2:4] + 45 * np.array([-np.sin(seen[4]), np.cos(seen[4])])
    return seen, theirs.reset(options={"reset_to_state": [*seen[:2], centre[0], centre[1] - 45, seen[4]]})[0]


def solve_theirs(seed, ours, theirs):
    """Does the task's planner, whose model is sim2d, solve gym-pusht's own world?"""
    _, seen = begin(seed, ours, theirs)
    for _ in range(300):
        seen, _, over, _, _ = theirs.step(ours.baseline(seen))
        if over:
            return True
    return False


def distance(seen):
    """Distance of the disc from the T, px; negative where they overlap."""
    c, s = np.cos(seen[4]), np.sin(seen[4])
    d = seen[:2] - seen[2:4]
    p = np.array([c * d[0] + s * d[1], -s * d[0] + c * d[1]])
    best = np.inf
    for x0, y0, x1, y1 in ((-60, 0, 60, 30), (-15, 30, 15, 120)):
        out = np.maximum(np.maximum([x0, y0] - p, p - [x1, y1]), 0)
        inside = max(x0 - p[0], p[0] - x1, y0 - p[1], p[1] - y1)
        best = min(best, np.hypot(*out) if inside > 0 else inside)
    return best - 15


def main(episodes=50, steps=60):
    ours, theirs = sim2d.make("push_t"), PushTEnv(obs_type="state")
    all_told, crept, moved = [], np.zeros(2), np.zeros(2)
    for seed in range(episodes):
        told, c, m = compare(seed, steps, ours, theirs)
        all_told.append(told)
        crept += c
        moved += m
    for k in (1, 5, 10, 20, 40):
        rows = np.array([told[k - 1] for told in all_told if len(told) >= k])
        print(f"after {k:2d} actions ({len(rows)} episodes): apart by {np.median(rows[:, 0]):.2f} px (median; 90 % below "
              f"{np.quantile(rows[:, 0], 0.9):.1f}), {np.degrees(np.median(rows[:, 1])):.2f} degrees")
    depth = np.concatenate([told[:, 2:] for told in all_told])
    print(f"deepest overlap of disc and T, px: ours {max(0, -depth[:, 0].min()):.2g}, theirs {max(0, -depth[:, 1].min()):.2g}")
    print(f"motion of the T without a disc within 40 px: ours {crept[0]:.2g} of {moved[0]:.0f} px, theirs {crept[1]:.2g} of {moved[1]:.0f} px")
    solved = sum(solve_theirs(seed, ours, theirs) for seed in range(episodes))
    print(f"the task's planner in gym-pusht: {solved} of {episodes} solved")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:2]))
