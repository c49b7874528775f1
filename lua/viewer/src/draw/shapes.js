// Outlines of shapes: a convex polygon grown by a radius.

// Adds the outline to a path (a canvas context or Path2D); `at` holds x, y of the vertices,
// counter-clockwise where y points upwards.
export function addOutline(path, at, radius) {
  const n = at.length / 2;
  if (n === 1) {
    path.moveTo(at[0] + radius, at[1]);
    path.arc(at[0], at[1], radius, 0, 2 * Math.PI);
    return;
  }
  if (!(radius > 0)) {
    path.moveTo(at[0], at[1]);
    for (let i = 1; i < n; i++) path.lineTo(at[2 * i], at[2 * i + 1]);
    path.closePath();
    return;
  }
  const normal = (i) => {
    const j = (i + 1) % n;
    return Math.atan2(at[2 * i] - at[2 * j], at[2 * j + 1] - at[2 * i + 1]);
  };
  for (let i = 0; i < n; i++) {
    const from = normal((i + n - 1) % n);
    let turn = (normal(i) - from) % (2 * Math.PI);
    if (turn < 0) turn += 2 * Math.PI;
    if (turn > 2 * Math.PI - 1e-6) turn = 0; // edges in line, by rounding
    const x = at[2 * i],
      y = at[2 * i + 1];
    if (i === 0) path.moveTo(x + radius * Math.cos(from), y + radius * Math.sin(from));
    path.arc(x, y, radius, from, from + turn);
  }
  path.closePath();
}

// Corners of a convex polygon whose edges are moved outwards by `by` (inwards: below 0); null if
// the result is no such polygon, or has corners far away.
export function moved(at, by) {
  const n = at.length / 2,
    corners = [];
  if (n < 3) return null;
  const edge = (i) => {
    const j = (i + 1) % n;
    const x = at[2 * j] - at[2 * i],
      y = at[2 * j + 1] - at[2 * i + 1],
      length = Math.hypot(x, y);
    return [x / length, y / length];
  };
  let [px, py] = edge(n - 1);
  for (let i = 0; i < n; i++) {
    const [ex, ey] = edge(i);
    const turn = px * ey - py * ex, // sine of the angle between the edges
      along = px * ex + py * ey;
    if (!(turn > 0.1) && !(along > 0.9)) return null; // sharp, or impossible in a polygon
    // The corner moves along the mean of the normals.
    const shift = by / (1 + along);
    if (!(1 + along > 0.4)) return null;
    corners.push(at[2 * i] + shift * (py + ey), at[2 * i + 1] - shift * (px + ex));
    [px, py] = [ex, ey];
  }
  for (let i = 0; i < n; i++) {
    const j = (i + 1) % n;
    const [ex, ey] = edge(i);
    // An edge that is reversed: the polygon is thinner than the shift.
    if (
      !(
        (corners[2 * j] - corners[2 * i]) * ex + (corners[2 * j + 1] - corners[2 * i + 1]) * ey >
        0
      )
    )
      return null;
  }
  return corners;
}

// The two outlines between which a line around the shape lies; null if they do not exist.
export function rimsOf(shape, width) {
  const { vertices, radius } = shape,
    half = 0.5 * width;
  const outer = new Path2D(),
    inner = new Path2D();
  if (radius > half) {
    addOutline(outer, vertices, radius + half);
    addOutline(inner, vertices, radius - half);
    return { outer, inner };
  }
  const out = radius > 0 ? null : moved(vertices, half),
    into = out && moved(vertices, -half);
  if (!into) return null;
  addOutline(outer, out, 0);
  addOutline(inner, into, 0);
  return { outer, inner };
}

export function shapeContains(shape, x, y, tolerance = 0) {
  const at = shape.vertices,
    n = at.length / 2;
  let inside = n > 2,
    nearest = Infinity;
  for (let i = 0; i < n; i++) {
    const j = (i + 1) % n,
      ex = at[2 * j] - at[2 * i],
      ey = at[2 * j + 1] - at[2 * i + 1];
    const ox = x - at[2 * i],
      oy = y - at[2 * i + 1],
      length2 = ex * ex + ey * ey;
    inside = inside && ex * oy - ey * ox >= 0;
    const along = length2 > 0 ? Math.min(Math.max((ex * ox + ey * oy) / length2, 0), 1) : 0;
    nearest = Math.min(nearest, Math.hypot(ox - along * ex, oy - along * ey));
  }
  return inside || nearest <= shape.radius + tolerance;
}

// The distance of the farthest point of a body from its centre of mass.
export function reachOf(body) {
  let reach = 0;
  for (const { vertices, radius } of body.shapes) {
    for (let i = 0; i < vertices.length; i += 2) {
      reach = Math.max(reach, Math.hypot(vertices[i], vertices[i + 1]) + radius);
    }
  }
  return reach;
}

// Length of the mark along the body's x axis that shows its angle; 0: none.
export function markOf(body) {
  let best = 0,
    disc = false;
  for (const shape of body.shapes) {
    if (!shapeContains(shape, 0, 0)) continue;
    let lo = 0,
      hi = reachOf({ shapes: [shape] });
    for (let k = 0; k < 24; k++) {
      const middle = 0.5 * (lo + hi);
      if (shapeContains(shape, middle, 0)) lo = middle;
      else hi = middle;
    }
    if (lo > best) {
      best = lo;
      disc = shape.vertices.length === 2;
    }
  }
  return disc ? best : 0.55 * best;
}

// A convex polygon clipped to a box (Sutherland and Hodgman): canvases draw in single precision,
// which is too coarse for landscapes of a million pixels.
export function clipped(at, lo, hi) {
  let points = at;
  for (const [axis, limit, sign] of [
    [0, lo, 1],
    [0, hi, -1],
    [1, lo, 1],
    [1, hi, -1],
  ]) {
    // the part on the inner side of one edge of the box
    const bound = limit[axis],
      result = [],
      n = points.length / 2;
    for (let i = 0; i < n; i++) {
      const j = (i + 1) % n;
      const a = sign * (points[2 * i + axis] - bound),
        b = sign * (points[2 * j + axis] - bound);
      if (a >= 0) result.push(points[2 * i], points[2 * i + 1]);
      // where an edge of the polygon crosses it
      if (a < 0 !== b < 0) {
        const part = a / (a - b);
        result.push(
          points[2 * i] + part * (points[2 * j] - points[2 * i]),
          points[2 * i + 1] + part * (points[2 * j + 1] - points[2 * i + 1]),
        );
      }
    }
    points = result;
  }
  return points;
}
