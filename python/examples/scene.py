"""A scene in Python: balls fall on a seesaw in a wind, and a function of Python pushes the seesaw back.

    python scene.py [FILE.html]     # records the run, if there is a file
"""

import sys

import sim2d

WIND, DRAG = 2.0, 0.3  # m/s, N s/m
STIFFNESS, DAMPING = 60.0, 6.0  # N m/rad, N m s/rad


def build():
    world = sim2d.World(dt=1 / 120)
    world.box(name="floor", size=(30, 0.2), position=(0, -1), type="static", friction=0.6)
    plank = world.box(name="plank", size=(3, 0.1), mass=4, friction=0.2)
    pivot = world.hinge(plank, name="pivot", anchor=(0, 0), limits=(-0.6, 0.6))
    world.actuator("turn", joint=pivot, kind="torque", range=(-40, 40))
    return world


def wind(ball, t, dt):
    """A force law: torque, fx, fy. The engine calls it several times in a step."""
    return 0, DRAG * (WIND - ball.vx), 0


def main(path=None, duration=4.0):
    """Returns the number of balls, and the largest angle of the plank."""
    world = build()
    pivot, balls, angles = world.joints["pivot"], [], []

    def drop(w, t):
        side = -1 if len(balls) % 2 else 1
        balls.append(w.circle(name=f"ball {len(balls)}", radius=0.12, mass=0.5, position=(0.6 * side, 1.5), restitution=0.3))
        balls[-1].force_law(wind)

    def balance(w, t, dt):
        angles.append(abs(pivot.angle))
        w.act([-STIFFNESS * pivot.angle - DAMPING * pivot.speed])

    world.every(0.5, drop)
    world.before_step(balance)
    if path is not None:
        world.record(path)
    world.run(duration=duration)
    world.close()  # ends the recording
    return len(balls), max(angles)


if __name__ == "__main__":
    count, angle = main(*sys.argv[1:2])
    print(f"{count} balls fell on the plank, which turned by at most {angle:.3f} rad")
