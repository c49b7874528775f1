// Reads .s2d recordings of version 6 (docs/replay-format.md), in a browser or in node. Takes the
// bytes in pieces of any size and keeps them; frames are decoded on request. The bytes are not
// trusted: invalid data end the recording.

const FILE_HEADER = 16;
const CHUNK_HEADER = 16;
const MAGIC = [0x73, 0x69, 0x6d, 0x32, 0x64, 0x0d, 0x0a, 0x1a];
const [SCENE, FRAME, END, RUN, CHANNELS, PLOT, ANNOTATIONS] = [1, 2, 3, 4, 5, 7, 8];
const ANNOTATION_TYPES = ["line", "arrow", "point", "text"];
const KEPT_FRAMES = 256; // decoded ones, at most those between two key frames

const BODY_TYPES = ["dynamic", "static", "kinematic"];
const JOINT_TYPES = ["hinge", "weld", "slider", "distance", "spring", "rope", "gear", "lock",
  "mouse", "wheel", "constraint", "ground_friction", "pulley"];
const GAP_PART = 2 ** -6;
const ANGLE_GRAIN = 2 ** -20;
const SPEED_GRAIN = 2 ** -20;
const NORMAL_GRAIN = 2 ** -13;
const NORMAL_QUARTER = 2 ** 15;
const PLACE = 4; // values of a contact before its impulses
const SUMS = 5; // numbers of a frame's head that are sums over bodies
const LONGEST_SHORT = 2 ** 40; // whole number of a short speed
const FARTHEST_EXPONENT = 1000; // of a short speed

// Doubles and their bits: low word first, as on all machines that run browsers.
const double = new Float64Array(1);
const words = new Uint32Array(double.buffer);

class Damaged extends Error {}

// ---- Bits ---------------------------------------------------------------------------------------

// The bit stream of a frame. Numbers of more than 32 bits are read as `low` and `high`.
class Bits {
  constructor(bytes, at, size) {
    this.bytes = bytes; // with 8 bytes more than any chunk needs
    this.start = at;
    this.bit = 0;
    this.count = 8 * size;
    this.low = 0;
    this.high = 0;
  }

  take(count) {
    if (count === 0) return 0;
    const { bytes, bit } = this;
    const at = this.start + (bit >>> 3), shift = bit & 7;
    let word = (bytes[at] | bytes[at + 1] << 8 | bytes[at + 2] << 16 | bytes[at + 3] << 24) >>> shift;
    if (shift > 0 && count + shift > 32) word |= bytes[at + 4] << (32 - shift);
    this.bit = bit + count;
    return count === 32 ? word >>> 0 : (word & ((1 << count) - 1)) >>> 0;
  }

  flag() {
    const { bit } = this;
    this.bit = bit + 1;
    return (this.bytes[this.start + (bit >>> 3)] >>> (bit & 7) & 1) === 1;
  }

  word() {
    this.low = this.take(32);
    this.high = this.take(32);
  }

  // A number whose length differs a little from that of the last one in its place, lengths[k].
  near(lengths, k) {
    let zeros = 0;
    while (!this.flag()) {
      if (++zeros > 7) throw new Damaged("a length");
    }
    const change = (this.take(zeros) | 1 << zeros) - 1;
    const n = lengths[k] + ((change >>> 1) ^ -(change & 1));
    if (n < 0 || n > 64 || this.bit > this.count) throw new Damaged("a length");
    lengths[k] = n;
    if (n > 33) {
      this.low = this.take(32);
      this.high = (this.take(n - 33) | 1 << (n - 33)) >>> 0;
    } else if (n === 33) {
      this.low = this.take(32);
      this.high = 1;
    } else {
      this.low = n === 0 ? 0 : (this.take(n - 1) | 1 << (n - 1)) >>> 0;
      this.high = 0;
    }
  }

  // The same, unfolded (0, -1, 1, -2, ...), as a number: exact up to 2^53, which is more than any
  // count or number of grains.
  small(lengths, k) {
    this.near(lengths, k);
    if (this.high === 0) return (this.low & 1) === 0 ? this.low >>> 1 : -(this.low >>> 1) - 1;
    if (this.high > 0x3fffff) throw new Damaged("a number");
    const value = Math.floor((this.high * 2 ** 32 + this.low) / 2);
    return (this.low & 1) === 0 ? value : -value - 1;
  }

  // A small number, usually 0.
  change() {
    let zeros = 0;
    while (!this.flag()) {
      if (++zeros > 15) throw new Damaged("a change");
    }
    const number = (this.take(zeros) | 1 << zeros) - 1;
    return (number >>> 1) ^ -(number & 1);
  }

  count_(lengths, k) {
    this.near(lengths, k);
    return this.high * 2 ** 32 + this.low;
  }

  plain() {
    words[0] = this.take(32);
    words[1] = this.take(32);
    return double[0];
  }

  // The double at this distance from the guess, where both are integers in the order of the
  // doubles.
  double(guess, lengths, k) {
    this.near(lengths, k);
    if (lengths[k] === 0) return guess;
    const odd = -(this.low & 1);
    const low = ((this.low >>> 1 | this.high << 31) ^ odd) >>> 0, high = (this.high >>> 1 ^ odd) >>> 0;
    double[0] = guess;
    const negative = words[1] >>> 31 === 1;
    const rankLow = negative ? ~words[0] >>> 0 : words[0];
    const rankHigh = negative ? ~words[1] >>> 0 : (words[1] ^ 0x80000000) >>> 0;
    const sum = rankLow + low;
    const newHigh = (rankHigh + high + (sum > 0xffffffff ? 1 : 0)) >>> 0;
    const positive = newHigh >>> 31 === 1;
    words[0] = positive ? sum >>> 0 : ~sum >>> 0;
    words[1] = positive ? (newHigh ^ 0x80000000) >>> 0 : ~newHigh >>> 0;
    return double[0];
  }
}

function sameBits(a, b) {
  return Object.is(a, b);
}

// FNV-1a over words of 8 bytes, each mixed; continues from `hash` = [low, high].
function hashWords(hash, bytes, at, size) {
  let [low, high] = hash;
  for (let i = 0; i < size; i += 8) {
    let a = 0, b = 0;
    for (let k = 0; k < 4 && i + k < size; k++) a |= bytes[at + i + k] << (8 * k);
    for (let k = 4; k < 8 && i + k < size; k++) b |= bytes[at + i + k] << (8 * k - 32);
    low = (low ^ a) >>> 0;
    high = (high ^ b) >>> 0;
    // times 2^40 + 0x1b3
    const product = low * 0x1b3;
    high = (Math.imul(high, 0x1b3) + Math.floor(product / 2 ** 32) + (low << 8)) >>> 0;
    low = (product ^ high) >>> 0;
  }
  hash[0] = low;
  hash[1] = high;
}

// ---- Rounded numbers ----------------------------------------------------------------------------

function ofRatio(ratio, grain) {
  if (ratio === 0) return 0;
  const above = Math.abs(ratio) - 1 + 1023 * 1024;
  words[0] = 0;
  words[1] = (above * 1024) >>> 0;
  return ratio < 0 ? -(double[0] * grain) : double[0] * grain;
}

function ofNormal(code) {
  const moved = code + NORMAL_QUARTER / 2;
  const quarter = Math.floor(moved / NORMAL_QUARTER);
  const minor = (moved - quarter * NORMAL_QUARTER - NORMAL_QUARTER / 2) * NORMAL_GRAIN;
  const major = Math.sqrt(Math.max(0, 1 - minor * minor));
  switch (((quarter % 4) + 4) % 4) {
    case 0: return [major, minor];
    case 1: return [-minor, major];
    case 2: return [-major, -minor];
    default: return [minor, -major];
  }
}

function powerOfTwo(exponent) {
  words[0] = 0;
  words[1] = (1023 + exponent) << 20;
  return double[0];
}

// A number as an integer multiple of 2^exponent; 0 if it is too large.
function asShort(number, exponent) {
  const whole = number * powerOfTwo(-exponent);
  if (!(whole > -LONGEST_SHORT && whole < LONGEST_SHORT)) return 0;
  return Math.trunc(whole < 0 ? whole - 0.5 : whole + 0.5);
}

// ---- Scenes -------------------------------------------------------------------------------------

class Cursor {
  constructor(bytes, at, size) {
    this.view = new DataView(bytes.buffer, bytes.byteOffset + at, size);
    this.at = 0;
    this.size = size;
  }

  u32() {
    this.at += 4;
    return this.view.getUint32(this.at - 4, true);
  }

  i32() {
    this.at += 4;
    return this.view.getInt32(this.at - 4, true);
  }

  f64() {
    this.at += 8;
    return this.view.getFloat64(this.at - 8, true);
  }

  text(size) {
    const bytes = new Uint8Array(this.view.buffer, this.view.byteOffset + this.at, size);
    this.at += size;
    const end = bytes.indexOf(0);
    return new TextDecoder().decode(end < 0 ? bytes : bytes.subarray(0, end));
  }
}

function readSettings(cursor) {
  const settings = { dt: cursor.f64(), gravity: [cursor.f64(), cursor.f64()],
    tolerance: cursor.f64(), contactMargin: cursor.f64() };
  for (const name of ["solver", "contact", "stepping", "stabilization", "combineFriction",
    "combineRestitution", "maxIterations", "flags"]) settings[name] = cursor.u32();
  settings.alpha = cursor.f64();
  settings.beta = cursor.f64();
  for (const name of ["formulation", "elasticity", "geometricStiffness", "restitutionModel",
    "linearSolver", "substeps"]) settings[name] = cursor.u32();
  settings.smoothing = cursor.f64();
  return settings;
}

function readShape(cursor) {
  const count = cursor.u32(), flags = cursor.u32(), radius = cursor.f64();
  const ends = [cursor.f64(), cursor.f64(), cursor.f64(), cursor.f64()];
  return { count, radius, vertices: null, previous: (flags & 1) !== 0 ? ends.slice(0, 2) : null,
    next: (flags & 2) !== 0 ? ends.slice(2) : null };
}

function readScene(cursor) {
  if (cursor.size < 152) throw new Damaged("a scene");
  const scene = { settings: readSettings(cursor), grain: cursor.f64(), impulseGrain: cursor.f64(),
    bodies: [], joints: [], channels: [] };
  const [bodies, shapes, vertices, joints] = [cursor.u32(), cursor.u32(), cursor.u32(), cursor.u32()];
  if (152 + 88 * bodies + 48 * shapes + 16 * vertices + 72 * joints > cursor.size ||
      !(scene.grain > 0) || !(scene.impulseGrain > 0)) {
    throw new Damaged("a scene");
  }
  // Bodies have a number of shapes, shapes a number of vertices: their sums are the totals.
  const shapeCounts = [];
  for (let i = 0; i < bodies; i++) {
    const body = { index: cursor.u32(), serial: cursor.u32(), type: BODY_TYPES[cursor.u32()] };
    const flags = cursor.u32();
    body.sensor = (flags & 1) !== 0;
    body.enabled = (flags & 2) !== 0;
    body.color = cursor.u32();
    shapeCounts.push(cursor.u32());
    body.mass = cursor.f64();
    body.inertia = cursor.f64();
    body.name = cursor.text(48);
    body.shapes = [];
    scene.bodies.push(body);
  }
  const all = Array.from({ length: shapes }, () => readShape(cursor));
  let taken = 0;
  for (const shape of all) {
    taken += shape.count;
    if (shape.count === 0 || taken > vertices) throw new Damaged("a shape");
    shape.vertices = Float64Array.from({ length: 2 * shape.count }, () => cursor.f64());
  }
  let next = 0;
  scene.bodies.forEach((body, i) => {
    body.shapes = all.slice(next, next + shapeCounts[i]);
    next += shapeCounts[i];
  });
  if (taken !== vertices || next !== shapes || scene.bodies.some((body) => !body.type)) {
    throw new Damaged("a scene");
  }
  // Joints by the positions of their bodies; -1: the world.
  for (let i = 0; i < joints; i++) {
    const joint = { index: cursor.u32(), serial: cursor.u32(), type: JOINT_TYPES[cursor.u32()] };
    const flags = cursor.u32();
    joint.enabled = (flags & 1) !== 0;
    joint.collide = (flags & 2) !== 0;
    joint.compliant = (flags & 4) !== 0;
    joint.way = Array(flags >>> 8);
    joint.a = cursor.i32();
    joint.b = cursor.i32();
    joint.name = cursor.text(48);
    if (!joint.type || joint.a < -1 || joint.a >= bodies || joint.b < -1 || joint.b >= bodies) {
      throw new Damaged("a joint");
    }
    scene.joints.push(joint);
  }
  // Points over which joints run are the remaining ones.
  const ways = scene.joints.reduce((sum, joint) => sum + joint.way.length, 0);
  if (152 + 88 * bodies + 48 * shapes + 16 * (vertices + ways) + 72 * joints !== cursor.size) {
    throw new Damaged("a scene");
  }
  for (const joint of scene.joints) {
    joint.way = Array.from(joint.way, () => [cursor.f64(), cursor.f64()]);
  }
  return scene;
}

function readRun(cursor) {
  const run = { entries: [], words: [] };
  for (let n = cursor.u32(); n > 0; n--) {
    const key = cursor.text(cursor.u32()), value = cursor.text(cursor.u32());
    run.entries.push([key, value]);
    if (key === "word") run.words.push(value);
    else run[key] = value;
  }
  return run;
}

function readChannels(cursor) {
  const count = cursor.u32();
  if (cursor.size !== 4 + 64 * count) throw new Damaged("channels");
  return Array.from({ length: count }, () => ({ name: cursor.text(48), unit: cursor.text(16) }));
}

// ---- Frames -------------------------------------------------------------------------------------

// The data of former frames that the next one needs. Only moves forwards.
class Past {
  constructor(scene) {
    this.scene = scene;
    const n = scene.bodies.length;
    this.moving = scene.bodies.map((body) => body.type === "dynamic");
    this.counted = scene.bodies.map((body) => body.type === "dynamic" && body.enabled);
    this.q = new Float64Array(3 * n);
    this.v = new Float64Array(3 * n);
    this.second = new Float64Array(3 * n); // v of the frame before, and of the one before that
    this.third = new Float64Array(3 * n);
    this.guess = new Float64Array(3);
    this.lengths = new Uint8Array(6 * n);
    this.shorts = new Uint8Array(3 * n); // lengths of short speeds, and their exponents
    this.exponents = new Int16Array(3 * n);
    this.guesses = new Uint8Array(n);
    this.any = false;
  }

  startAgain() {
    const { channels, joints } = this.scene;
    this.time = 0;
    this.step = 0;
    this.head = new Float64Array(7);
    this.sums = new Float64Array(SUMS);
    this.headLengths = new Uint8Array(7).fill(62);
    this.channels = new Float64Array(channels.length);
    this.channelLengths = new Uint8Array(channels.length).fill(62);
    this.other = new Uint8Array([0, 62, 0]); // lengths of step, time and number of contacts
    this.runs = new Uint8Array(3);
    this.keys = new Uint8Array(3);
    this.fresh = new Uint8Array(6);
    this.contacts = []; // { a, b, feature, sliding, value, lengths }
    this.joints = joints.map(() => ({ value: new Float64Array(8), lengths: new Uint8Array(8) }));
    for (let i = 0; i < this.lengths.length; i++) this.lengths[i] = i % 6 < 3 ? 32 : 48;
    this.shorts.fill(0);
    this.exponents.fill(0);
    this.guesses.fill(0);
  }

  read(bits) {
    const key = bits.flag();
    if (!key && !this.any) throw new Damaged("a frame without its key frame");
    this.any = false; // until all of it has been read
    if (key) this.startAgain();
    const frame = { time: 0, step: 0, scene: this.scene, hash: "", q: null, v: null, contacts: [],
      joints: [], energy: null, momentum: null, residual: 0, iterations: 0, channels: null };
    const oldStep = this.step, oldTime = this.time, { dt } = this.scene.settings;
    frame.step = oldStep + bits.small(this.other, 0);
    frame.time = bits.double(key ? 0 : oldTime + dt, this.other, 1);
    bits.word();
    frame.hash = bits.high.toString(16).padStart(8, "0") + bits.low.toString(16).padStart(8, "0");
    this.readBodies(bits, key, frame.step === oldStep + 1 ? dt : frame.time - oldTime);
    frame.q = this.q.slice();
    frame.v = this.v.slice();
    this.readHead(bits, frame);
    const plain = bits.flag();
    const count = this.contacts.length + bits.small(this.other, 2);
    if (count < 0 || count > this.contacts.length + (bits.count - bits.bit) / 8) {
      throw new Damaged("a number of contacts");
    }
    if (plain) {
      this.readPlain(bits, count, frame);
    } else {
      this.readContacts(bits, count, frame);
      this.readJoints(bits, frame);
    }
    const left = bits.count - bits.bit;
    if (left < 0 || left >= 8) throw new Damaged("a frame of another size");
    this.time = frame.time;
    this.step = frame.step;
    this.any = true;
    return frame;
  }

  // Energies and momentum as far as bodies determine them, in the order and with the rounding of
  // the engine.
  addUp() {
    const { q, v, counted, scene } = this;
    const [gx, gy] = scene.settings.gravity;
    let kinetic = 0, potential = 0, angular = 0, x = 0, y = 0;
    scene.bodies.forEach(({ mass, inertia }, i) => {
      if (!counted[i]) return;
      const k = 3 * i, vx = v[k + 1], vy = v[k + 2];
      kinetic += 0.5 * (inertia * v[k] * v[k] + mass * (vx * vx + vy * vy));
      potential -= mass * (gx * q[k + 1] + gy * q[k + 2]);
      angular += inertia * v[k] + mass * (q[k + 1] * vy - q[k + 2] * vx);
      x += mass * vx;
      y += mass * vy;
    });
    return [kinetic, potential, angular, x, y];
  }

  readHead(bits, frame) {
    const sums = this.addUp();
    for (let i = 0; i < 7; i++) {
      const old = this.head[i];
      let guess = old;
      if (i < SUMS) guess = sameBits(old, this.sums[i]) ? sums[i] : old + (sums[i] - this.sums[i]);
      this.head[i] = bits.double(Number.isNaN(guess) ? old : guess, this.headLengths, i);
    }
    this.sums.set(sums);
    frame.energy = { kinetic: this.head[0], potential: this.head[1] };
    frame.momentum = [this.head[2], this.head[3], this.head[4]];
    frame.residual = this.head[5];
    frame.iterations = this.head[6];
    for (let i = 0; i < this.channels.length; i++) {
      this.channels[i] = bits.double(this.channels[i], this.channelLengths, i);
    }
    frame.channels = this.channels.slice();
  }

  readBodies(bits, key, h) {
    const { q, v, second, third } = this;
    const n = q.length / 3;
    if (key) {
      for (let i = 0; i < 3 * n; i += 3) {
        for (let k = i; k < i + 3; k++) q[k] = bits.plain();
        for (let k = i; k < i + 3; k++) v[k] = second[k] = third[k] = bits.plain();
      }
      return;
    }
    const mean = bits.flag();
    for (let i = 0; i < n; i++) this.readBody(bits, i, h, mean);
  }

  guessSpeed(how, at) {
    if (how === 0) return this.v[at];
    if (how === 1) return 2 * this.v[at] - this.second[at];
    return how === 2 ? this.second[at] : this.third[at];
  }

  readSpeed(bits, i, k, guess) {
    const at = 3 * i + k;
    if (!bits.flag()) return bits.double(guess, this.lengths, 6 * i + 3 + k);
    const exponent = this.exponents[at] + bits.change();
    if (Math.abs(exponent) > FARTHEST_EXPONENT) throw new Damaged("a speed");
    this.exponents[at] = exponent;
    const number = bits.small(this.shorts, at) + asShort(guess, exponent);
    return number * powerOfTwo(exponent);
  }

  readBody(bits, i, h, mean) {
    const { q, v, second, third, lengths, guess } = this;
    const guessed = bits.flag();
    if (!guessed) this.guesses[i] = bits.take(2);
    for (let k = 0; k < 3; k++) {
      guess[k] = this.guessSpeed(this.guesses[i], 3 * i + k);
      if (!guessed) guess[k] = this.readSpeed(bits, i, k, guess[k]);
    }
    const hit = guessed || bits.flag(), still = !hit && bits.flag();
    for (let k = 0; k < 3; k++) {
      const at = 3 * i + k, old = v[at];
      const moved = q[at] + h * (mean ? 0.5 * (old + guess[k]) : guess[k]);
      if (hit) q[at] = moved;
      else if (bits.flag()) q[at] = bits.double(still ? q[at] : moved, lengths, 6 * i + k);
      else if (!still) q[at] = moved;
      third[at] = second[at];
      second[at] = old;
      v[at] = guess[k];
    }
  }

  contactOf(from) {
    const { value } = from;
    const body = 3 * (this.moving[from.a] ? from.a : from.b);
    const { grain, impulseGrain } = this.scene;
    return { a: from.a, b: from.b,
      point: [this.q[body + 1] + value[0] * grain, this.q[body + 2] + value[1] * grain],
      normal: ofNormal(value[2]), gap: value[3] * (grain * GAP_PART),
      normalImpulse: ofRatio(value[4], impulseGrain),
      tangentImpulse: ofRatio(value[5], impulseGrain), sliding: from.sliding,
      feature: from.feature };
  }

  keptContact(bits, old) {
    if (bits.flag()) return old;
    const next = { a: old.a, b: old.b, feature: old.feature, sliding: bits.flag(),
      value: old.value.slice(), lengths: old.lengths };
    for (let k = bits.flag() ? PLACE : 0; k < 6; k++) next.value[k] += bits.small(next.lengths, k);
    return next;
  }

  freshContact(bits, last) {
    const n = this.scene.bodies.length;
    const a = last + bits.small(this.keys, 0), b = a + bits.small(this.keys, 1);
    const next = { a, b, feature: bits.count_(this.keys, 2), sliding: bits.flag(),
      value: new Float64Array(6), lengths: null };
    for (let k = 0; k < 6; k++) next.value[k] = bits.small(this.fresh, k);
    next.lengths = this.fresh.slice();
    if (!(a >= 0 && a < n && b >= 0 && b < n && next.feature < 2 ** 32)) {
      throw new Damaged("a contact");
    }
    return next;
  }

  readContacts(bits, count, frame) {
    const next = [];
    let old = 0, last = 0;
    while (next.length < count) {
      const stay = bits.count_(this.runs, 0);
      if (stay > count - next.length || stay > this.contacts.length - old) {
        throw new Damaged("contacts");
      }
      for (let i = 0; i < stay; i++) next.push(this.keptContact(bits, this.contacts[old++]));
      if (next.length === count) break;
      const gone = bits.count_(this.runs, 1), fresh = bits.count_(this.runs, 2);
      if (gone > this.contacts.length - old || fresh > count - next.length || gone + fresh === 0) {
        throw new Damaged("contacts");
      }
      old += gone;
      for (let i = 0; i < fresh; i++) {
        const contact = this.freshContact(bits, last);
        last = contact.a;
        next.push(contact);
      }
    }
    this.contacts = next;
    frame.contacts = next.map((contact) => this.contactOf(contact));
  }

  readJoints(bits, frame) {
    const { grain, impulseGrain, joints } = this.scene;
    frame.joints = this.joints.map((joint, i) => {
      const { value, lengths } = joint;
      if (!bits.flag()) {
        for (let k = 0; k < 8; k++) value[k] += bits.small(lengths, k);
      }
      const { a } = joints[i];
      const x = (a < 0 ? 0 : this.q[3 * a + 1]) + value[0] * grain;
      const y = (a < 0 ? 0 : this.q[3 * a + 2]) + value[1] * grain;
      const fine = grain * GAP_PART;
      return { anchorA: [x, y], anchorB: [x + value[2] * fine, y + value[3] * fine],
        impulse: [ofRatio(value[4], impulseGrain), ofRatio(value[5], impulseGrain)],
        angle: value[6] * ANGLE_GRAIN, speed: ofRatio(value[7], SPEED_GRAIN) };
    });
  }

  readPlain(bits, count, frame) {
    const n = this.scene.bodies.length;
    for (let i = 0; i < count; i++) {
      const a = bits.take(32), b = bits.take(32), feature = bits.take(32), sliding = bits.flag();
      if (a >= n || b >= n || bits.bit > bits.count) throw new Damaged("a contact");
      frame.contacts.push({ a, b, point: [bits.plain(), bits.plain()],
        normal: [bits.plain(), bits.plain()], gap: bits.plain(), normalImpulse: bits.plain(),
        tangentImpulse: bits.plain(), sliding, feature });
    }
    for (const joint of this.joints) {
      frame.joints.push({ anchorA: [bits.plain(), bits.plain()],
        anchorB: [bits.plain(), bits.plain()], impulse: [bits.plain(), bits.plain()],
        angle: bits.plain(), speed: bits.plain() });
      joint.value.fill(0);
      joint.lengths.fill(0);
    }
    this.contacts = [];
  }
}

// Annotations of the script over a frame.
function readAnnotations(cursor) {
  const list = [];
  for (let i = cursor.u32(); i > 0; i--) {
    const type = ANNOTATION_TYPES[cursor.u32()], color = cursor.u32();
    const from = [cursor.f64(), cursor.f64()], to = [cursor.f64(), cursor.f64()];
    const size = cursor.f64(), letters = cursor.f64();
    list.push({ type, color, from, to, size, letters, text: cursor.text(cursor.u32()) });
  }
  return list;
}

// ---- The recording ------------------------------------------------------------------------------

export class Recording {
  constructor() {
    this.run = { entries: [], words: [] };
    this.scenes = [];
    this.complete = false; // closed properly
    this.problem = ""; // the reason of an early end
    this.bytes = new Uint8Array(1 << 16);
    this.size = 0; // bytes held
    this.read = 0; // of complete chunks
    this.plots = new Map(); // of the script: name -> SVG
    this.annotations = new Map(); // frame -> annotations of the script over it
    this.channels = [];
    this.scene = null; // the present one
    this.offsets = []; // of the frames' contents, their sizes and scenes, and frames since the key
    this.sizes = [];
    this.sceneOf = [];
    this.behind = [];
    this.times = [];
    this.past = null; // of frame `next` - 1
    this.next = 0;
    this.kept = new Map(); // decoded frames
    this.scan = null; // reads times ahead
  }

  get frameCount() {
    return this.offsets.length;
  }

  // Takes some bytes; complete chunks of them are read.
  push(piece) {
    if (this.problem !== "" || this.complete) return;
    if (this.size + piece.length + 8 > this.bytes.length) {
      const grown = new Uint8Array(2 * (this.size + piece.length) + 8);
      grown.set(this.bytes.subarray(0, this.size));
      this.bytes = grown;
    }
    this.bytes.set(piece, this.size);
    this.size += piece.length;
    this.bytes.fill(0, this.size, this.size + 8);
    try {
      if (this.read === 0 && this.size >= FILE_HEADER) this.readHeader();
      while (this.read > 0 && !this.complete && this.readChunk());
    } catch (error) {
      if (!(error instanceof Damaged) && !(error instanceof RangeError)) throw error;
      this.problem = error.message;
    }
  }

  readHeader() {
    if (MAGIC.some((byte, i) => this.bytes[i] !== byte)) throw new Damaged("no .s2d recording");
    const version = new DataView(this.bytes.buffer).getUint32(8, true);
    if (version !== 6) throw new Damaged(`format version ${version}; this reader knows 6`);
    this.read = FILE_HEADER;
  }

  readChunk() {
    const { bytes, read } = this;
    if (this.size - read < CHUNK_HEADER) return false;
    const view = new DataView(bytes.buffer, read, CHUNK_HEADER);
    const kind = view.getUint32(0, true), size = view.getUint32(4, true);
    if (this.size - read - CHUNK_HEADER < size) return false;
    const hash = [0x84222325, 0xcbf29ce4];
    hashWords(hash, bytes, read, 8);
    hashWords(hash, bytes, read + CHUNK_HEADER, size);
    if (hash[0] !== view.getUint32(8, true) || hash[1] !== view.getUint32(12, true)) {
      throw new Damaged("a chunk whose checksum is wrong");
    }
    this.takeChunk(kind, read + CHUNK_HEADER, size);
    this.read = read + CHUNK_HEADER + size;
    return true;
  }

  takeChunk(kind, at, size) {
    const cursor = new Cursor(this.bytes, at, size);
    if (kind === SCENE) {
      this.scene = readScene(cursor);
      this.scene.channels = this.channels;
      this.channels = [];
      this.scenes.push(this.scene);
    } else if (kind === FRAME) {
      this.takeFrame(at, size);
    } else if (kind === RUN) {
      this.run = readRun(cursor);
    } else if (kind === CHANNELS) {
      this.channels = readChannels(cursor);
    } else if (kind === PLOT) {
      this.plots.set(cursor.text(cursor.u32()), cursor.text(cursor.u32()));
    } else if (kind === ANNOTATIONS) {
      this.annotations.set(this.frameCount - 1, readAnnotations(cursor));
    } else if (kind === END) {
      this.complete = true;
    } // others: an index, which this reader does not use, or a chunk of a later version
  }

  // Only the time is read now; it is near the start.
  takeFrame(at, size) {
    const n = this.frameCount;
    const bits = new Bits(this.bytes, at, size), key = bits.flag();
    if (this.scene === null || (!key && (n === 0 || this.sceneOf[n - 1] !== this.scene))) {
      throw new Damaged("a frame without its key frame");
    }
    if (key) this.scan = { lengths: new Uint8Array([0, 62]), time: 0 };
    bits.small(this.scan.lengths, 0);
    const guess = key ? 0 : this.scan.time + this.scene.settings.dt;
    this.scan.time = bits.double(guess, this.scan.lengths, 1);
    this.offsets.push(at);
    this.sizes.push(size);
    this.sceneOf.push(this.scene);
    this.behind.push(key ? 0 : this.behind[n - 1] + 1);
    this.times.push(this.scan.time);
  }

  time(i) {
    return this.times[i];
  }

  // Frame i, from 0; null if it does not exist or cannot be read. Callers must not write to it.
  frame(i) {
    if (!(i >= 0 && i < this.frameCount)) return null;
    const kept = this.kept.get(i);
    if (kept !== undefined) return kept;
    const from = i - this.behind[i];
    if (this.past === null || this.past.scene !== this.sceneOf[i] || this.next <= from ||
        this.next > i) {
      this.past = new Past(this.sceneOf[i]);
      this.next = from;
    }
    try {
      while (this.next <= i) this.decodeNext();
    } catch (error) {
      if (!(error instanceof Damaged)) throw error;
      this.past = null;
      return null;
    }
    return this.kept.get(i);
  }

  decodeNext() {
    const bits = new Bits(this.bytes, this.offsets[this.next], this.sizes[this.next]);
    const frame = this.past.read(bits);
    frame.annotations = this.annotations.get(this.next) ?? [];
    this.kept.set(this.next, frame);
    if (this.kept.size > KEPT_FRAMES) this.kept.delete(this.kept.keys().next().value);
    this.next += 1;
  }
}
