// The data of a recording as functions of time, collected frame by frame in small pieces of work,
// so that a long recording can be played at once.

const MOST_SAMPLES = 20000,
  MOST_TRAIL_POINTS = 3e6;

// Energies and momenta of a frame; values that the recording does not contain are computed.
export function measure(frame) {
  const { scene, q, v } = frame,
    [gx, gy] = scene.settings.gravity;
  if (Number.isFinite(frame.energy?.kinetic)) {
    const [angular, px, py] = frame.momentum;
    return { ...frame.energy, px, py, angular };
  }
  const sum = { kinetic: 0, potential: 0, px: 0, py: 0, angular: 0 };
  scene.bodies.forEach(({ type, enabled, mass, inertia }, i) => {
    if (type !== "dynamic" || !enabled) return;
    const x = q[3 * i + 1],
      y = q[3 * i + 2],
      w = v[3 * i],
      vx = v[3 * i + 1],
      vy = v[3 * i + 2];
    const spin = Number.isFinite(inertia) ? inertia * w : 0;
    sum.angular += spin;
    sum.kinetic += 0.5 * spin * w;
    if (!Number.isFinite(mass)) return;
    sum.kinetic += 0.5 * mass * (vx * vx + vy * vy);
    sum.potential -= mass * (gx * x + gy * y);
    sum.px += mass * vx;
    sum.py += mass * vy;
    sum.angular += mass * (x * vy - y * vx);
  });
  return sum;
}

// Times that never decrease, even if a script sets back its world's clock.
export class Clock {
  constructor(recording) {
    this.recording = recording;
    this.at = [];
  }
  update() {
    const { recording, at } = this;
    for (let i = at.length; i < recording.frameCount; i++) {
      const now = recording.time(i);
      if (i === 0) {
        at.push(Number.isFinite(now) ? now : 0);
        continue;
      }
      const passed = now - recording.time(i - 1);
      at.push(at[i - 1] + (passed >= 0 && passed < Infinity ? passed : 0));
    }
  }
  get start() {
    return this.at[0] ?? 0;
  }
  get end() {
    return this.at[this.at.length - 1] ?? 0;
  }
  // The last frame that is not after `clock`.
  frameAt(clock) {
    let lo = 0,
      hi = this.at.length - 1;
    while (lo < hi) {
      const middle = (lo + hi + 1) >> 1;
      if (this.at[middle] <= clock) lo = middle;
      else hi = middle - 1;
    }
    return lo;
  }
}

// The median of the values that are not almost 0.
function typical(values) {
  const least = 0.01 * values.reduce((a, b) => Math.max(a, b), 0);
  const kept = values.filter((value) => value > least).sort((a, b) => a - b);
  return kept[kept.length >> 1] ?? 0;
}

export class Series {
  constructor(recording, clock) {
    this.recording = recording;
    // A second reader of the same bytes: it does not move the player's position.
    this.reader = Object.create(recording, {
      past: { value: null, writable: true },
      next: { value: 0, writable: true },
      kept: { value: new Map(), writable: true },
    });
    this.channels = []; // { name, unit } of all scenes
    this.clock = clock;
    this.next = 0; // frame
    this.time = [];
    this.columns = {
      kinetic: [],
      potential: [],
      total: [],
      px: [],
      py: [],
      angular: [],
      residual: [],
      iterations: [],
      channels: [],
    };
    this.trails = new Map(); // serial -> { clock, x, y }
    this.trailPoints = 0;
    this.impulses = []; // the largest of each frame that has any
    this.speeds = [];
    this.hasResidual = false;
    this.knew = 0; // number of samples in the references
    this.reference = { impulse: 0, speed: 0 };
  }

  get done() {
    return this.next >= this.recording.frameCount;
  }

  // Works for about `budget` ms; returns true if there are new data.
  work(budget) {
    if (this.done) return false;
    const until = performance.now() + budget;
    while (!this.done && performance.now() < until) {
      this.#sample(this.next);
      const stride = Math.max(1, Math.ceil(this.recording.frameCount / MOST_SAMPLES));
      const last = this.recording.frameCount - 1;
      this.next = this.next < last ? Math.min(this.next + stride, last) : last + 1;
    }
    return true;
  }

  #sample(i) {
    const frame = this.reader.frame(i);
    if (frame === null) return; // damaged within
    const sums = measure(frame);
    const { columns } = this;
    this.time.push(this.clock.at[i]);
    for (const name of ["kinetic", "potential", "px", "py", "angular"]) {
      columns[name].push(sums[name]);
    }
    columns.total.push(sums.kinetic + sums.potential);
    columns.residual.push(frame.residual ?? NaN);
    columns.iterations.push(frame.iterations ?? NaN);
    this.hasResidual ||= Number.isFinite(frame.residual);
    this.#channels(frame);
    this.#references(frame);
    this.#trail(frame, this.clock.at[i]);
  }

  // Scenes may have different channels: a column for each name, with gaps.
  #channels(frame) {
    const { channels } = this.columns;
    const own = frame.scene.channels ?? [];
    const present = own.length > 0 ? own : this.recording.channels;
    for (const column of channels) column.push(NaN);
    present.forEach(({ name, unit }, k) => {
      let c = this.channels.findIndex((known) => known.name === name && known.unit === unit);
      if (c < 0) {
        c = this.channels.push({ name, unit }) - 1;
        channels.push(new Array(this.time.length).fill(NaN));
      }
      channels[c][this.time.length - 1] = frame.channels?.[k] ?? NaN;
    });
  }

  #references(frame) {
    let impulse = 0,
      speed = 0;
    for (const { normalImpulse, tangentImpulse } of frame.contacts) {
      const size = Math.hypot(normalImpulse, tangentImpulse);
      if (size > impulse && size < Infinity) impulse = size;
    }
    for (let k = 0; k < frame.v.length; k += 3) {
      const size = Math.hypot(frame.v[k + 1], frame.v[k + 2]);
      if (size > speed && size < Infinity) speed = size;
    }
    if (impulse > 0) this.impulses.push(impulse);
    if (speed > 0) this.speeds.push(speed);
  }

  #trail(frame, clock) {
    const expected = this.recording.frameCount * frame.scene.bodies.length;
    const stride = Math.max(1, Math.ceil(expected / MOST_TRAIL_POINTS));
    if ((this.time.length - 1) % stride !== 0) return;
    frame.scene.bodies.forEach((body, b) => {
      if (body.type === "static") return;
      let trail = this.trails.get(body.serial);
      if (trail === undefined) this.trails.set(body.serial, (trail = { clock: [], x: [], y: [] }));
      trail.clock.push(clock);
      trail.x.push(frame.q[3 * b + 1]);
      trail.y.push(frame.q[3 * b + 2]);
    });
  }

  // The impulse and the speed whose arrows have the length of the key, 0 where there is none:
  // typical values of the run, so that arrows can be compared from frame to frame and an impact
  // does not shrink all others. Values below those of a fall of a thousandth of a step count as
  // rest.
  get references() {
    // Sorting takes time: it is repeated after a third more samples, and at the end.
    const known = this.time.length;
    if (known !== this.knew && (this.done || known > 1.3 * this.knew)) {
      this.knew = known;
      const { dt, gravity } = this.recording.scenes[0]?.settings ?? { dt: 0, gravity: [0, 0] };
      const rest = 1e-3 * dt * Math.hypot(...gravity);
      this.reference = {
        impulse: typical(this.impulses),
        speed: typical(this.speeds.filter((speed) => speed > rest)),
      };
    }
    return this.reference;
  }
}
