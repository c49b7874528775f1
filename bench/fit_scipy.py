#!/usr/bin/env python3
"""The result of SciPy's least_squares for the logs that scripts/real_cube/fit_slides.lua has fitted.

    sim2d scripts/real_cube/fit_slides.lua --data slides.csv --json fit.json
    python3 bench/fit_scipy.py fit.json

Two models: the steps of the world, v+ = max(0, v - mu g h - d v+ h), x+ = x + h (v + v+)/2, with what is
seen between two steps on the line between both; and the motion itself, v' = -mu g - d v.
Needs NumPy and SciPy.
"""
import json
import sys
import time

import numpy as np
from scipy.optimize import least_squares

LOSSES = {"l2": "linear", "huber": "huber", "cauchy": "cauchy"}


def stepped(mu, drag, x0, v0, t, fit):
    """Positions at the times t by the steps of the world."""
    h = fit["dt"]
    steps = int(np.ceil(t[-1] / h)) + 1
    x, v, places = x0, v0, [x0]
    for _ in range(steps):
        before = v
        v = max(0.0, (v - mu * fit["g"] * h) / (1 + drag * h))
        x += h * (before + v) / 2
        places.append(x)
    return np.interp(t / h, np.arange(steps + 1), places)


def exact(mu, drag, x0, v0, t, fit):
    """Positions at the times t of the motion until it stops."""
    a = mu * fit["g"]
    if drag < 1e-9:
        s = np.minimum(t, v0 / a)
        return x0 + v0 * s - a * s * s / 2
    s = np.minimum(t, np.log1p(drag * v0 / a) / drag)
    return x0 + (v0 + a / drag) * -np.expm1(-drag * s) / drag - a * s / drag


def solve(model, fit):
    """mu, drag, root of the mean loss (m), seconds."""
    tosses = [(np.array(toss["t"]), np.array(toss["x"])) for toss in fit["tosses"]]

    def residuals(p):
        return np.concatenate([model(p[0], p[1], p[2 + 2 * i], p[3 + 2 * i], t, fit) - x
                               for i, (t, x) in enumerate(tosses)])

    count = sum(len(t) for t, _ in tosses)
    start = [0.3, 0.1]
    for _, x in tosses:
        start += [x[0], 0.6]
    lower = np.full(len(start), -np.inf)
    lower[:2] = 0
    begin = time.process_time()
    found = least_squares(residuals, start, jac="3-point", bounds=(lower, np.inf), x_scale="jac", loss=LOSSES[fit["loss"]],
                          f_scale=fit["scale"], xtol=1e-15, ftol=1e-15, gtol=1e-15, max_nfev=200)
    return found.x[0], found.x[1], np.sqrt(2 * found.cost / count), time.process_time() - begin


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        fit = json.load(file)
    rows = [("sim.fit", fit["mu"], fit["drag"], fit["rms"], None)]
    for name, model in (("SciPy, the same steps", stepped), ("SciPy, the motion", exact)):
        rows.append((name, *solve(model, fit)))
    for name, mu, drag, rms, seconds in rows:
        off = max(abs(mu / fit["mu"] - 1), abs(drag / fit["drag"] - 1))
        print(f"{name:24s} mu {mu:.9f}  drag {drag:.9f}  rms {1000 * rms:.6f} mm  off by {off:.1e}"
              + (f"  {seconds:.1f} s" if seconds is not None else ""))


if __name__ == "__main__":
    main()
