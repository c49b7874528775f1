// Reader of .s2d recordings (docs/replay-format.md, version 3); no DOM. Bytes are kept as they came
// and decoded on demand; the contents are not trusted.

const MAGIC = [0x73, 0x69, 0x6d, 0x32, 0x64, 0x0d, 0x0a, 0x1a];
const VERSION = 3;
const FILE_HEADER = 16,
  CHUNK_HEADER = 16;
const SCENE_HEADER = 136,
  BODY = 88,
  SHAPE = 48,
  VERTEX = 16,
  JOINT = 72;
const FRAME_HEADER = 40,
  BODY_STATE = 48,
  CONTACT = 72,
  JOINT_STATE = 64;
const NAME = 48;

const BODY_TYPES = ["dynamic", "static", "kinematic"];
const JOINT_TYPES = [
  "hinge",
  "weld",
  "slider",
  "distance",
  "spring",
  "rope",
  "gear",
  "lock",
  "mouse",
  "wheel",
  "constraint",
  "ground friction",
];

class Reader {
  constructor(bytes) {
    this.view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.bytes = bytes;
    this.at = 0;
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
  pair() {
    return [this.f64(), this.f64()];
  }
  name() {
    const raw = this.bytes.subarray(this.at, this.at + NAME);
    this.at += NAME;
    const end = raw.indexOf(0);
    return new TextDecoder().decode(raw.subarray(0, end < 0 ? NAME : end));
  }
}

// FNV-1a, 64 bits, in four limbs of 16: products stay exact in doubles.
function checksum(pieces) {
  let a = 0x2325,
    b = 0x8422,
    c = 0x9ce4,
    d = 0xcbf2; // lowest first
  for (const bytes of pieces) {
    for (let i = 0; i < bytes.length; i++) {
      a ^= bytes[i];
      // times 0x100000001b3
      const a1 = a * 0x1b3,
        b1 = b * 0x1b3 + (a1 >>> 16);
      const c1 = c * 0x1b3 + a * 0x100 + (b1 >>> 16);
      const d1 = d * 0x1b3 + b * 0x100 + (c1 >>> 16);
      a = a1 & 0xffff;
      b = b1 & 0xffff;
      c = c1 & 0xffff;
      d = d1 & 0xffff;
    }
  }
  return [((b << 16) | a) >>> 0, ((d << 16) | c) >>> 0];
}

function readScene(bytes) {
  if (bytes.length < SCENE_HEADER) return null;
  const reader = new Reader(bytes);
  const settings = { dt: reader.f64(), gravity: reader.pair() };
  reader.at = SCENE_HEADER - 16;
  const [bodies, shapes, vertices, joints] = [
    reader.u32(),
    reader.u32(),
    reader.u32(),
    reader.u32(),
  ];
  if (
    SCENE_HEADER + BODY * bodies + SHAPE * shapes + VERTEX * vertices + JOINT * joints !==
    bytes.length
  ) {
    return null;
  }
  const scene = { settings, bodies: [], joints: [] };
  const counts = [];
  for (let i = 0; i < bodies; i++) {
    const [index, serial, type, flags, color, count] = Array.from({ length: 6 }, () =>
      reader.u32(),
    );
    counts.push(count);
    scene.bodies.push({
      index,
      serial,
      type: BODY_TYPES[type],
      sensor: (flags & 1) !== 0,
      enabled: (flags & 2) !== 0,
      color,
      mass: reader.f64(),
      inertia: reader.f64(),
      name: reader.name(),
      shapes: [],
    });
    if (type >= BODY_TYPES.length) return null;
  }
  const all = [];
  for (let i = 0; i < shapes; i++) {
    const count = reader.u32();
    reader.at += 4;
    all.push({ radius: reader.f64(), count });
    reader.at += 32;
  }
  let left = vertices;
  for (const shape of all) {
    if (shape.count === 0 || shape.count > left) return null;
    left -= shape.count;
    shape.vertices = new Float64Array(2 * shape.count);
    for (let k = 0; k < 2 * shape.count; k++) shape.vertices[k] = reader.f64();
  }
  let taken = 0;
  for (let i = 0; i < bodies; i++) {
    if (counts[i] > all.length - taken) return null;
    scene.bodies[i].shapes = all.slice(taken, (taken += counts[i]));
  }
  if (left !== 0 || taken !== all.length) return null;
  for (let i = 0; i < joints; i++) {
    const joint = { index: reader.u32(), serial: reader.u32(), type: JOINT_TYPES[reader.u32()] };
    const flags = reader.u32();
    Object.assign(joint, {
      enabled: (flags & 1) !== 0,
      collide: (flags & 2) !== 0,
      compliant: (flags & 4) !== 0,
      a: reader.i32(),
      b: reader.i32(),
      name: reader.name(),
    });
    if (
      joint.type === undefined ||
      joint.a < -1 ||
      joint.a >= bodies ||
      joint.b < -1 ||
      joint.b >= bodies
    ) {
      return null;
    }
    scene.joints.push(joint);
  }
  return scene;
}

// Counts of a frame, or null when it does not fit its scene.
function frameFits(bytes, scene) {
  if (bytes.length < FRAME_HEADER) return false;
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const bodies = view.getUint32(24, true),
    contacts = view.getUint32(28, true),
    joints = view.getUint32(32, true);
  if (
    bodies !== scene.bodies.length ||
    joints !== scene.joints.length ||
    FRAME_HEADER + BODY_STATE * bodies + CONTACT * contacts + JOINT_STATE * joints !== bytes.length
  ) {
    return false;
  }
  for (let i = 0, at = FRAME_HEADER + BODY_STATE * bodies; i < contacts; i++, at += CONTACT) {
    if (view.getUint32(at, true) >= bodies || view.getUint32(at + 4, true) >= bodies) return false;
  }
  return true;
}

export class Recording {
  constructor() {
    this.run = {}; // version 3 does not tell
    this.scenes = [];
    this.channels = []; // { name, unit }
    this.complete = false; // closed as it should be
    this.problem = ""; // why reading ended early
    this.frames = []; // { bytes, scene }
    this.times = [];
    this.rest = new Uint8Array(0);
    this.started = false;
  }

  get frameCount() {
    return this.frames.length;
  }
  time(i) {
    return this.times[i];
  }

  // Any piece of the file; whole chunks are consumed, the rest is kept for the next piece.
  push(piece) {
    if (this.complete || this.problem) return;
    let bytes = piece;
    if (this.rest.length > 0) {
      bytes = new Uint8Array(this.rest.length + piece.length);
      bytes.set(this.rest);
      bytes.set(piece, this.rest.length);
    }
    let at = 0;
    if (!this.started) {
      if (bytes.length < FILE_HEADER) {
        this.rest = bytes;
        return;
      }
      const version = new DataView(bytes.buffer, bytes.byteOffset).getUint32(8, true);
      if (MAGIC.some((value, i) => bytes[i] !== value)) this.problem = "This is no .s2d recording.";
      else if (version !== VERSION) {
        this.problem = `The recording has format version ${version}; this page reads version ${VERSION}.`;
      }
      if (this.problem) return;
      this.started = true;
      at = FILE_HEADER;
    }
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    while (!this.complete && !this.problem && bytes.length - at >= CHUNK_HEADER) {
      const size = view.getUint32(at + 4, true);
      if (bytes.length - at - CHUNK_HEADER < size) break;
      this.#chunk(
        bytes.subarray(at, at + CHUNK_HEADER),
        bytes.subarray(at + CHUNK_HEADER, at + CHUNK_HEADER + size),
      );
      at += CHUNK_HEADER + size;
    }
    this.rest = bytes.slice(at);
  }

  #chunk(header, contents) {
    const view = new DataView(header.buffer, header.byteOffset, CHUNK_HEADER);
    const [low, high] = checksum([header.subarray(0, 8), contents]);
    if (low !== view.getUint32(8, true) || high !== view.getUint32(12, true)) {
      this.problem = "The recording is damaged; what comes before the damage is shown.";
      return;
    }
    const kind = view.getUint32(0, true);
    if (kind === 3) {
      this.complete = true;
    } else if (kind === 1) {
      const scene = readScene(contents);
      if (scene === null)
        this.problem = "The recording contradicts itself; what comes before that is shown.";
      else this.scenes.push(scene);
    } else if (kind === 2) {
      const scene = this.scenes[this.scenes.length - 1];
      if (scene === undefined || !frameFits(contents, scene)) {
        this.problem = "The recording contradicts itself; what comes before that is shown.";
        return;
      }
      this.frames.push({ bytes: contents, scene });
      this.times.push(new DataView(contents.buffer, contents.byteOffset).getFloat64(0, true));
    }
  }

  frame(i) {
    const { bytes, scene } = this.frames[i];
    const reader = new Reader(bytes);
    const frame = { time: reader.f64(), scene, step: reader.u32() + 4294967296 * reader.u32() };
    const hash = [reader.u32(), reader.u32()];
    frame.hash = hash
      .reverse()
      .map((part) => part.toString(16).padStart(8, "0"))
      .join("");
    const [bodies, contacts, joints] = [reader.u32(), reader.u32(), reader.u32()];
    reader.at = FRAME_HEADER;
    frame.q = new Float64Array(3 * bodies);
    frame.v = new Float64Array(3 * bodies);
    for (let b = 0; b < 3 * bodies; b += 3) {
      for (let k = 0; k < 3; k++) frame.q[b + k] = reader.f64();
      for (let k = 0; k < 3; k++) frame.v[b + k] = reader.f64();
    }
    frame.contacts = new Array(contacts);
    for (let c = 0; c < contacts; c++) {
      const a = reader.i32(),
        b = reader.i32(),
        feature = reader.u32(),
        sliding = (reader.u32() & 1) !== 0;
      frame.contacts[c] = {
        a,
        b,
        feature,
        sliding,
        point: reader.pair(),
        normal: reader.pair(),
        gap: reader.f64(),
        normalImpulse: reader.f64(),
        tangentImpulse: reader.f64(),
      };
    }
    frame.joints = new Array(joints);
    for (let j = 0; j < joints; j++) {
      frame.joints[j] = {
        anchorA: reader.pair(),
        anchorB: reader.pair(),
        impulse: reader.pair(),
        angle: reader.f64(),
        speed: reader.f64(),
      };
    }
    return frame;
  }
}
