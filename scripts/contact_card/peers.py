"""The scenes of card.lua in engines that this Python has: prints "engine<TAB>scene<TAB>number"."""
import math
import time

G = 9.81
TURN = 4.0  # s, of one turn of gravity


class Pymunk:
    """Chipmunk with the defaults of pymunk (10 iterations), 1/120 s."""

    dt = 1 / 120

    def __init__(self):
        import pymunk

        self.lib = pymunk
        self.name = f"pymunk {pymunk.version}, 1/120 s"
        self.space = pymunk.Space()
        self.space.gravity = (0, -G)
        self.pushed = []

    def _add(self, shape_of, x, y, mass, moment, mu, collide=True):
        lib = self.lib
        body = lib.Body(mass, moment) if mass else lib.Body(body_type=lib.Body.STATIC)
        body.position = (x, y)
        shape = shape_of(body)
        shape.friction = mu
        if not collide:
            shape.filter = lib.ShapeFilter(mask=0)
        self.space.add(body, shape)
        return body

    def box(self, x, y, w, h, mass=0, mu=0.5, rail=False, collide=True):
        lib = self.lib
        moment = math.inf if rail else lib.moment_for_box(mass, (w, h)) if mass else 0
        body = self._add(lambda b: lib.Poly.create_box(b, (w, h)), x, y, mass, moment, mu, collide)
        if rail:
            groove = lib.GrooveJoint(self.space.static_body, body, (x - 1, y), (x + 1, y), (0, 0))
            self.space.add(groove)
        return body

    def disc(self, x, y, r, mass, mu):
        moment = self.lib.moment_for_circle(mass, 0, r)
        return self._add(lambda b: self.lib.Circle(b, r), x, y, mass, moment, mu)

    def hinge(self, a, b, x, y):
        self.space.add(self.lib.PivotJoint(a, b, (x, y)))

    def push(self, body, fx):
        self.pushed.append((body, fx))

    def launch(self, body, vx):
        body.velocity = (vx, 0)

    def turn_gravity(self, gx, gy):
        self.space.gravity = (gx, gy)

    def step(self):
        for body, fx in self.pushed:
            body.force = (fx, 0)
        self.space.step(self.dt)

    def y(self, body):
        return body.position.y

    def kinetic(self, body):
        return (body.mass * body.velocity.length**2 + body.moment * body.angular_velocity**2) / 2

    def time_steps(self, count):
        step, dt = self.space.step, self.dt
        start = time.perf_counter()
        for _ in range(count):
            step(dt)
        return (time.perf_counter() - start) / count


class MuJoCo:
    """MuJoCo with its default step of 2 ms and its default cones; joints keep each body in the plane."""

    dt = 0.002
    option = ""
    label = "pyramidal"

    def __init__(self):
        import mujoco

        self.lib = mujoco
        self.name = f"MuJoCo {mujoco.__version__}, {self.label}, 2 ms"
        self.bodies = []
        self.pushed = []
        self.model = None

    def _add(self, geom, x, y, mass, mu, rail, collide):
        index = len(self.bodies) + 1
        touch = "" if collide else ' contype="0" conaffinity="0"'
        geom = f'<geom {geom} mass="{mass}" friction="{mu} 0.005 0.0001"{touch}/>'
        joints = '<joint type="slide" axis="1 0 0"/>' if mass else ""
        if mass and not rail:
            joints += '<joint type="slide" axis="0 0 1"/><joint type="hinge" axis="0 1 0"/>'
        self.bodies.append([x, y, geom, joints, None])
        return index

    def box(self, x, y, w, h, mass=0, mu=0.5, rail=False, collide=True):
        depth = w / 2 if mass else 0.5
        return self._add(f'type="box" size="{w / 2} {depth} {h / 2}"', x, y, mass, mu, rail, collide)

    def disc(self, x, y, r, mass, mu):
        geom = f'type="capsule" size="{r}" fromto="0 -0.02 0 0 0.02 0"'
        return self._add(geom, x, y, mass, mu, False, True)

    def hinge(self, a, b, x, y):
        px, py = x - self.bodies[b - 1][0], y - self.bodies[b - 1][1]
        self.bodies[b - 1][3] = f'<joint type="hinge" axis="0 1 0" pos="{px} 0 {py}"/>'
        self.bodies[b - 1][4] = a

    def push(self, body, fx):
        self.pushed.append((body, fx))

    def launch(self, body, vx):
        self.data.qvel[self.model.body_dofadr[self._id(body)]] = vx

    def _tree(self, index, x0, y0):
        x, y, geom, joints, _ = self.bodies[index]
        inner = "".join(self._tree(i, x, y) for i, body in enumerate(self.bodies) if body[4] == index + 1)
        return f'<body name="b{index + 1}" pos="{x - x0} 0 {y - y0}">{joints}{geom}{inner}</body>'

    def _compile(self):
        if self.model is None:
            option = f'<option timestep="{self.dt}" gravity="0 0 {-G}" {self.option}/>'
            roots = "".join(self._tree(i, 0, 0) for i, body in enumerate(self.bodies) if body[4] is None)
            xml = f"<mujoco>{option}<worldbody>{roots}</worldbody></mujoco>"
            self.model = self.lib.MjModel.from_xml_string(xml)
            self.data = self.lib.MjData(self.model)
            for body, fx in self.pushed:
                self.data.xfrc_applied[self._id(body), 0] = fx
            self.lib.mj_forward(self.model, self.data)

    def _id(self, body):
        return self.lib.mj_name2id(self.model, self.lib.mjtObj.mjOBJ_BODY, f"b{body}")

    def turn_gravity(self, gx, gy):
        self._compile()
        self.model.opt.gravity[:] = (gx, 0, gy)

    def step(self):
        self._compile()
        self.lib.mj_step(self.model, self.data)

    def y(self, body):
        self._compile()
        self.lib.mj_kinematics(self.model, self.data)  # a step leaves positions of its start
        self.lib.mj_comPos(self.model, self.data)
        return self.data.xipos[self._id(body), 2]

    def kinetic(self, body):
        self.lib.mj_forward(self.model, self.data)
        self.lib.mj_energyVel(self.model, self.data)
        return self.data.energy[1] / 2  # energy[1] is the sum of both links, and the scene adds this value twice

    def time_steps(self, count):
        start = time.perf_counter()
        self.lib.mj_step(self.model, self.data, nstep=count)
        return (time.perf_counter() - start) / count


class MuJoCoElliptic(MuJoCo):
    """MuJoCo with the options that its manual names against slip."""

    option = 'cone="elliptic" impratio="10"'
    label = "elliptic, impratio 10"


class Genesis(MuJoCo):
    """Genesis on the CPU with its default step of 10 ms and its default cones; bodies are those of MuJoCo."""

    dt = 0.01
    cone = "pyramidal"

    def __init__(self):
        import genesis as lib

        if not getattr(lib, "_initialized", False):
            lib.init(backend=lib.cpu, logging_level="error")
        self.lib = lib
        self.name = f"Genesis {lib.__version__}, {self.cone}, {round(self.dt * 1000)} ms"
        self.bodies = []
        self.pushed = []
        self.inertia = {}
        self.scene = None

    def box(self, x, y, w, h, mass=0, mu=0.5, rail=False, collide=True):
        index = super().box(x, y, w, h, mass, mu, rail, collide)
        self.inertia[index] = mass * (w * w + h * h) / 12
        return index

    def _compile(self):
        if self.scene is not None:
            return
        lib = self.lib
        options = lib.options.RigidOptions(friction_cone=lib.friction_cone[self.cone])
        steps = lib.options.SimOptions(dt=self.dt)
        self.scene = lib.Scene(sim_options=steps, rigid_options=options, show_viewer=False)
        self.links = {}
        for i, body in enumerate(self.bodies):
            if body[4] is None:
                xml = f"<mujoco><worldbody>{self._tree(i, 0, 0)}</worldbody></mujoco>"
                entity = self.scene.add_entity(lib.morphs.MJCF(file=xml, default_armature=None))
                self.links.update({link.name: link for link in entity.links})
        self.scene.build()
        self.turn_gravity(0, -G)

    def launch(self, body, vx):
        self._link(body).entity.set_dofs_velocity([vx, 0, 0])

    def _link(self, body):
        self._compile()
        return self.links[f"b{body}"]

    def turn_gravity(self, gx, gy):
        self._compile()
        self.scene.sim.set_gravity((gx, 0, gy))

    def step(self):
        self._compile()
        for body, fx in self.pushed:
            self._link(body).apply_external_wrench(force=(fx, 0, 0))
        self.scene.step(update_visualizer=False)

    def y(self, body):
        return float(self._link(body).get_pos()[2])

    def kinetic(self, body):
        link = self._link(body)
        vx, _, vy = (float(v) for v in link.get_vel())
        omega = float(link.get_ang()[1])
        return (float(link.get_mass()) * (vx**2 + vy**2) + self.inertia[body] * omega**2) / 2

    def time_steps(self, count):
        start = time.perf_counter()
        for _ in range(count):
            self.scene.step(update_visualizer=False)
        return (time.perf_counter() - start) / count


class GenesisElliptic(Genesis):
    """Genesis with elliptic cones, by which it resolves contacts by Signorini's condition."""

    cone = "elliptic"


class GenesisShort(Genesis):
    """Genesis with the step of MuJoCo."""

    dt = 0.002


class GenesisEllipticShort(GenesisElliptic):
    """Genesis with elliptic cones and the step of MuJoCo."""

    dt = 0.002


def run(engine, seconds):
    for _ in range(round(seconds / engine.dt)):
        engine.step()


def creep(engine, body):
    run(engine, 1)
    before = engine.y(body)
    run(engine, 2)
    return abs(engine.y(body) - before) / 2


def pads(engine, width, mu, force, scale=1):
    w, h = 0.02 * scale, 0.1 * scale
    engine.box(-(width + w) / 2, 0, w, h, mu=mu)
    pad = engine.box((width + w) / 2, 0, w, h, mass=0.1, mu=mu, rail=True)
    engine.push(pad, -force)


def pinch(engine, radius=0.004):
    pads(engine, 2 * radius, 0.7, 30, radius / 0.004)
    return creep(engine, engine.disc(0, 0, radius, 0.045, 0.7))


def large(engine):
    return pinch(engine, 0.1)


def wall(engine):
    engine.box(-0.5, 0, 1, 10, mu=1)
    cube = engine.box(0.05, 0, 0.1, 0.1, mass=1, mu=1)
    engine.push(cube, -20)
    return creep(engine, cube)


def turn(engine):
    pads(engine, 0.02, 1, 10)
    bar = engine.box(0, 0, 0.02, 0.06, mass=0.063, mu=1)
    run(engine, 0.5)
    before, farthest, count = engine.y(bar), 0, round(TURN / engine.dt)
    for i in range(1, count + 1):
        angle = 2 * math.pi * i / count
        engine.turn_gravity(G * math.sin(angle), -G * math.cos(angle))
        engine.step()
        farthest = max(farthest, abs(engine.y(bar) - before))
    return farthest


def slide(engine):
    engine.box(0, -0.5, 40, 1, mu=0.5)
    cube = engine.box(0, 0.05, 0.1, 0.1, mass=1, mu=0.5)
    run(engine, 1)
    before, highest = engine.y(cube), 0
    engine.launch(cube, 6)
    for _ in range(round(2 / engine.dt)):
        engine.step()
        highest = max(highest, engine.y(cube) - before)
    return highest


def heavy(engine):
    engine.box(0, -0.5, 40, 1, mu=0.6)
    for i in range(10):
        top = engine.box(0, i + 0.5, 1, 1, mass=1000 if i == 9 else 1, mu=0.6)
    run(engine, 5)
    return abs(9.5 - engine.y(top))


def pendulum(engine):
    pin = engine.box(0, 0, 0.1, 0.1, collide=False)
    a = engine.box(0.5, 0, 1, 0.1, mass=1, collide=False)
    b = engine.box(1.5, 0, 1, 0.1, mass=1, collide=False)
    engine.hinge(pin, a, 0, 0)
    engine.hinge(a, b, 1, 0)
    worst = 0
    for _ in range(100):
        run(engine, 0.1)
        energy = sum(G * engine.y(link) + engine.kinetic(link) for link in (a, b))
        worst = max(worst, abs(energy))
    return worst / (2 * G)


def rest(engine):
    engine.box(0, -0.5, 40, 1, mu=0.5)
    engine.box(0, 0.05, 0.1, 0.1, mass=1, mu=0.5)
    run(engine, 2)
    return min(engine.time_steps(1000) for _ in range(5)) * 1e6


def main():
    missing = set()
    for engine in (Pymunk, MuJoCo, MuJoCoElliptic, Genesis, GenesisElliptic, GenesisShort, GenesisEllipticShort):
        try:
            engine()
        except ImportError as error:
            if str(error) not in missing:
                print(f"# {engine.__name__} is skipped: {error}")
            missing.add(str(error))
            continue
        for scene in (pinch, large, wall, turn, slide, heavy, pendulum, rest):
            made = engine()
            try:
                print(f"{made.name}\t{scene.__name__}\t{scene(made):.6g}", flush=True)
            except Exception as error:  # one engine's trouble is not the others'
                print(f"# {made.name}, {scene.__name__}: {error}")


main()
