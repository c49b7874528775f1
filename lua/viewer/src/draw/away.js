// Arrows at the edge of the picture to bodies that have left it.
import { bodyName } from "../dom.js";
import { finitePose } from "./bodies.js";
import { drawArrow, lengthText } from "./marks.js";

const MOST = 6; // bodies with a name; if there are more, the nearest
const INSET = 16; // px from the edge to the tip
const LENGTH = 22; // px of an arrow
const FOOT = 64; // px at the bottom, reserved for scale and key

// Moving bodies that are out of sight: direction from the middle, and distance beyond the edge
// (px).
function strays(view, frame) {
  const list = [];
  frame.scene.bodies.forEach((body, i) => {
    if (body.type === "static" || !body.enabled || !finitePose(frame.q, i)) return;
    const [x, y] = view.toScreen([frame.q[3 * i + 1], frame.q[3 * i + 2]]);
    // An edge of a large body may still be visible.
    const reach = body.shapes.reduce((most, { vertices, radius }) => {
      let far = 0;
      for (let k = 0; k < vertices.length; k += 2) far = Math.max(far, Math.hypot(vertices[k], vertices[k + 1]));
      return Math.max(most, far + radius);
    }, 0) * view.scale;
    const dx = Math.max(-x, x - view.width), dy = Math.max(-y, y - view.height);
    const beyond = Math.max(dx, dy);
    if (beyond > reach) list.push({ body, x, y, beyond: Math.hypot(Math.max(dx, 0), Math.max(dy, 0)) });
  });
  return list.sort((a, b) => a.beyond - b.beyond);
}

// Returns the bodies that are out of sight, the nearest first: name and place on the screen (px).
export function drawAway(ctx, view, frame, theme) {
  const list = strays(view, frame);
  const middle = [view.width / 2, view.height / 2];
  const room = [middle[0] - INSET, middle[1] - INSET];
  ctx.font = "500 12px system-ui, sans-serif";
  ctx.textBaseline = "middle";
  ctx.textAlign = "center";
  ctx.lineJoin = "round";
  const taken = [];
  list.slice(0, MOST).forEach(({ body, x, y, beyond }, k) => {
    const dx = x - middle[0], dy = y - middle[1], far = Math.hypot(dx, dy);
    const part = Math.min(room[0] / Math.max(Math.abs(dx), 1e-9), room[1] / Math.max(Math.abs(dy), 1e-9));
    const tip = [middle[0] + part * dx, Math.min(middle[1] + part * dy, view.height - FOOT)];
    const to = [(LENGTH * dx) / far, (LENGTH * dy) / far];
    drawArrow(ctx, [tip[0] - to[0], tip[1] - to[1]], to, theme.accent, theme.halo, "solid", 2.4);
    // Texts after the arrow, unless they would overlap others.
    const more = k === MOST - 1 && list.length > MOST ? ` and ${list.length - MOST} more` : "";
    const text = `${bodyName(body)}, ${lengthText(roundOf(beyond / view.scale))} off${more}`;
    const half = 0.5 * ctx.measureText(text).width + 4;
    const back = LENGTH + (half * Math.abs(dx) + 10 * Math.abs(dy)) / far + 4;
    const at = [
      Math.min(Math.max(tip[0] - (back * dx) / far, half + 4), view.width - half - 4),
      tip[1] - (back * dy) / far,
    ];
    if (taken.some((t) => Math.abs(t[0] - at[0]) < t[2] + half && Math.abs(t[1] - at[1]) < 15)) return;
    taken.push([...at, half]);
    ctx.lineWidth = 3.4;
    ctx.strokeStyle = theme.halo;
    ctx.strokeText(text, ...at);
    ctx.fillStyle = theme.ink;
    ctx.fillText(text, ...at);
  });
  return list.map(({ body, x, y }) => ({ name: bodyName(body), x, y }));
}

// Rounded to two digits.
function roundOf(length) {
  const unit = 10 ** (Math.floor(Math.log10(length)) - 1);
  return length > 0 ? Math.round(length / unit) * unit : 0;
}
