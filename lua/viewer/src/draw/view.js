// The camera: the part of the world on the screen. World: m, y upwards; screen: CSS pixels, y
// downwards. fittedBox chooses this part as core/record/draw/view.c does.

const SMALLEST_SCALE = 1e-9,
  LARGEST_SCALE = 1e9; // pixels a metre
const FARTHEST = 1e15; // m

export class View {
  constructor() {
    this.x = 0; // world point in the middle
    this.y = 0;
    this.scale = 50;
    this.width = 1;
    this.height = 1;
  }

  toScreen([x, y]) {
    return [
      (x - this.x) * this.scale + this.width / 2,
      this.height / 2 - (y - this.y) * this.scale,
    ];
  }

  toWorld([px, py]) {
    return [
      this.x + (px - this.width / 2) / this.scale,
      this.y + (this.height / 2 - py) / this.scale,
    ];
  }

  zoomAt(screen, factor) {
    const fixed = this.toWorld(screen);
    this.scale = Math.min(Math.max(this.scale * factor, SMALLEST_SCALE), LARGEST_SCALE);
    const now = this.toWorld(screen);
    this.x += fixed[0] - now[0];
    this.y += fixed[1] - now[1];
  }

  panBy(dx, dy) {
    this.x -= dx / this.scale;
    this.y += dy / this.scale;
  }

  fit(box) {
    const margin = Math.min(28, 0.06 * Math.min(this.width, this.height));
    const w = Math.max(this.width - 2 * margin, 1),
      h = Math.max(this.height - 2 * margin, 1);
    this.x = box.lo[0] + 0.5 * (box.hi[0] - box.lo[0]);
    this.y = box.lo[1] + 0.5 * (box.hi[1] - box.lo[1]);
    const scale = Math.min(w / (box.hi[0] - box.lo[0]), h / (box.hi[1] - box.lo[1]));
    this.scale = Math.min(Math.max(scale, SMALLEST_SCALE), LARGEST_SCALE);
  }
}

// ---- Boxes ------------------------------------------------------------------------------------

const emptyBox = () => ({ lo: [Infinity, Infinity], hi: [-Infinity, -Infinity] });
const isEmpty = (box) => !(box.lo[0] <= box.hi[0]);
const grown = (box, by) => ({
  lo: [box.lo[0] - by, box.lo[1] - by],
  hi: [box.hi[0] + by, box.hi[1] + by],
});
const middleOf = (box) => [0.5 * (box.lo[0] + box.hi[0]), 0.5 * (box.lo[1] + box.hi[1])];
const extentOf = (box) => Math.max(box.hi[0] - box.lo[0], box.hi[1] - box.lo[1]);

export function boxUnion(a, b) {
  return {
    lo: [Math.min(a.lo[0], b.lo[0]), Math.min(a.lo[1], b.lo[1])],
    hi: [Math.max(a.hi[0], b.hi[0]), Math.max(a.hi[1], b.hi[1])],
  };
}

function intersection(a, b) {
  return {
    lo: [Math.max(a.lo[0], b.lo[0]), Math.max(a.lo[1], b.lo[1])],
    hi: [Math.min(a.hi[0], b.hi[0]), Math.min(a.hi[1], b.hi[1])],
  };
}

function shapeBox(shape, angle, x, y) {
  const c = Math.cos(angle),
    s = Math.sin(angle),
    box = emptyBox(),
    at = shape.vertices;
  for (let i = 0; i < at.length; i += 2) {
    const px = x + c * at[i] - s * at[i + 1],
      py = y + s * at[i] + c * at[i + 1];
    if (!(Math.abs(px) < FARTHEST && Math.abs(py) < FARTHEST)) return emptyBox();
    box.lo[0] = Math.min(box.lo[0], px);
    box.lo[1] = Math.min(box.lo[1], py);
    box.hi[0] = Math.max(box.hi[0], px);
    box.hi[1] = Math.max(box.hi[1], py);
  }
  return shape.radius < FARTHEST ? grown(box, shape.radius) : emptyBox();
}

function bodyBox(frame, i) {
  const q = frame.q;
  return frame.scene.bodies[i].shapes.reduce(
    (box, shape) => boxUnion(box, shapeBox(shape, q[3 * i], q[3 * i + 1], q[3 * i + 2])),
    emptyBox(),
  );
}

const moves = (body) => body.type !== "static" && body.enabled;

function median(values) {
  return values.slice().sort((a, b) => a - b)[values.length >> 1];
}

// Finds bodies that are far from most others.
function crowdOf(boxes) {
  if (boxes.length < 5) return () => true;
  const middles = boxes.map(middleOf);
  const x = median(middles.map((m) => m[0])),
    y = median(middles.map((m) => m[1]));
  const away = (m) => Math.hypot(m[0] - x, m[1] - y);
  const radius = 12 * median(boxes.map((box, i) => away(middles[i]) + extentOf(box)));
  const strays = middles.filter((m) => away(m) > radius).length;
  return strays > boxes.length / 4 ? () => true : (m) => away(m) <= radius;
}

// Adds static bodies, as far as they are near; if none is, the nearest point within reach.
function withContext(frame, core, size) {
  const whole = extentOf(core),
    margin = Math.max(0.12 * whole, 1.2 * size);
  const near = grown(core, margin),
    middle = middleOf(core);
  let all = grown(core, 0.05 * whole),
    nearest = middle,
    distance = 2 * whole,
    alone = true;
  frame.scene.bodies.forEach((body, i) => {
    if (moves(body)) return;
    for (const shape of body.shapes) {
      const box = shapeBox(shape, frame.q[3 * i], frame.q[3 * i + 1], frame.q[3 * i + 2]);
      const common = intersection(box, near);
      if (common.lo[0] <= common.hi[0] && common.lo[1] <= common.hi[1]) {
        all = boxUnion(all, common);
        alone = false;
      } else if (!isEmpty(box)) {
        const point = [0, 1].map((k) => Math.min(Math.max(middle[k], box.lo[k]), box.hi[k]));
        const away = Math.hypot(point[0] - middle[0], point[1] - middle[1]);
        if (away < distance) {
          distance = away;
          nearest = point;
        }
      }
    }
  });
  return alone ? boxUnion(all, grown({ lo: nearest, hi: nearest }, 0.25 * margin)) : all;
}

// The box of the moving bodies of a frame, or null; its context is added.
function movingBox(frame) {
  const boxes = [];
  frame.scene.bodies.forEach((body, i) => {
    const box = moves(body) ? bodyBox(frame, i) : emptyBox();
    if (!isEmpty(box)) boxes.push(box);
  });
  const near = crowdOf(boxes),
    kept = boxes.filter((box) => near(middleOf(box)));
  if (kept.length === 0) return null;
  let all = kept.reduce(boxUnion);
  // Joints count by an anchor and the points over which they run.
  frame.joints.forEach((joint, j) => {
    for (const at of [joint.anchorA, ...frame.scene.joints[j].way]) {
      if (Math.abs(at[0]) < FARTHEST && Math.abs(at[1]) < FARTHEST && near(at)) {
        all = boxUnion(all, { lo: at, hi: at });
      }
    }
  });
  return withContext(frame, all, kept.reduce((sum, box) => sum + extentOf(box), 0) / kept.length);
}

export function fittedBox(frame) {
  let box = frame && movingBox(frame);
  if (!box) {
    box = emptyBox();
    for (let i = 0; frame && i < frame.scene.bodies.length; i++)
      box = boxUnion(box, bodyBox(frame, i));
    box = isEmpty(box) ? { lo: [0, 0], hi: [0, 0] } : grown(box, 0.05 * extentOf(box));
  }
  // dots and texts of the script; its lines and arrows may lead out of the picture
  for (const { type, to } of frame?.annotations ?? []) {
    if (type === "point" || type === "text") box = boxUnion(box, { lo: to, hi: to });
  }
  return extentOf(box) > 0 ? box : grown(box, 1);
}

// Mean extent of the moving bodies.
function meanSize(frame) {
  const sizes = frame.scene.bodies
    .map((body, i) => (moves(body) ? extentOf(bodyBox(frame, i)) : -1))
    .filter((size) => size >= 0 && size < Infinity);
  return sizes.reduce((sum, size) => sum + size, 0) / Math.max(sizes.length, 1);
}

// A view for the whole run: it includes all positions of moving bodies, unless they move so far
// that they would be too small; then only those at the beginning.
export function runBox(recording) {
  const SAMPLES = 24;
  // a box up to this factor larger than at the beginning is used for bodies of any size
  const FARTHER = 2.5;
  const SPECK = 150; // bodies side by side across the picture
  const count = recording.frameCount;
  if (count === 0) return fittedBox(null);
  const frame = recording.frame(0);
  const first = fittedBox(frame);
  if (frame === null) return first;
  let all = first;
  for (let k = 1; k <= SAMPLES && count > 1; k++) {
    const later = recording.frame(Math.round((k * (count - 1)) / SAMPLES));
    if (later !== null) all = boxUnion(all, fittedBox(later));
  }
  const limit = Math.max(FARTHER * extentOf(first), SPECK * meanSize(frame));
  return extentOf(all) <= limit ? all : first;
}
