// Finds the object at a place of the screen, and a selected object in a frame.
import { finitePose, preparedScene } from "./bodies.js";
import { shapeContains } from "./shapes.js";

// Selections identify objects by properties that stay the same from frame to frame.
export const same = (a, b) =>
  a === b ||
  (a !== null &&
    b !== null &&
    a.kind === b.kind &&
    a.serial === b.serial &&
    a.a === b.a &&
    a.b === b.b &&
    a.feature === b.feature);

export function pick(view, frame, screen, overlays, reach) {
  const away = (p) => {
    const [x, y] = view.toScreen(p);
    return Math.hypot(x - screen[0], y - screen[1]);
  };
  let best = null,
    nearest = reach;
  const offer = (distance, make) => {
    if (distance < nearest) {
      nearest = distance;
      best = make();
    }
  };
  const { scene } = frame;
  if (overlays.contacts || overlays.normals || overlays.friction) {
    for (const contact of frame.contacts) {
      offer(away(contact.point), () => ({
        kind: "contact",
        a: scene.bodies[contact.a].serial,
        b: scene.bodies[contact.b].serial,
        feature: contact.feature,
      }));
    }
  }
  if (overlays.joints) {
    frame.joints.forEach((joint, j) => {
      offer(Math.min(away(joint.anchorA), away(joint.anchorB)), () => ({
        kind: "joint",
        serial: scene.joints[j].serial,
      }));
    });
  }
  return best ?? pickBody(view, frame, screen, reach);
}

export function pickBody(view, frame, screen, reach) {
  const world = view.toWorld(screen),
    { order } = preparedScene(frame.scene);
  for (const tolerance of [0, (0.6 * reach) / view.scale]) {
    // an object that is hit precedes one that is near
    for (let k = order.length - 1; k >= 0; k--) {
      const { body, index } = order[k],
        q = frame.q;
      if (!finitePose(q, index)) continue;
      const dx = world[0] - q[3 * index + 1],
        dy = world[1] - q[3 * index + 2];
      const c = Math.cos(q[3 * index]),
        s = Math.sin(q[3 * index]);
      const x = c * dx + s * dy,
        y = c * dy - s * dx;
      if (body.shapes.some((shape) => shapeContains(shape, x, y, tolerance))) {
        return { kind: "body", serial: body.serial };
      }
    }
  }
  return null;
}

// Position of the selected object in the tables of a frame; -1: it does not exist now.
export function find(frame, selection) {
  const { scene } = frame;
  if (selection.kind === "body") return preparedScene(scene).bySerial.get(selection.serial) ?? -1;
  if (selection.kind === "joint")
    return scene.joints.findIndex((joint) => joint.serial === selection.serial);
  return frame.contacts.findIndex(
    (contact) =>
      contact.feature === selection.feature &&
      scene.bodies[contact.a].serial === selection.a &&
      scene.bodies[contact.b].serial === selection.b,
  );
}
