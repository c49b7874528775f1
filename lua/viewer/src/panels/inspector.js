// The numbers of the selected object.
import { bodyName, h, jointName, number, pair, quantity } from "../dom.js";
import { find } from "../draw/pick.js";

const DEGREES = 180 / Math.PI;

function bodyRows(frame, i) {
  const body = frame.scene.bodies[i],
    [angle, x, y] = frame.q.subarray(3 * i, 3 * i + 3);
  const [omega, vx, vy] = frame.v.subarray(3 * i, 3 * i + 3),
    [gx, gy] = frame.scene.settings.gravity;
  const rows = [
    [
      "kind",
      body.sensor ? `${body.type}, sensor` : body.enabled ? body.type : `${body.type}, disabled`,
    ],
  ];
  if (Number.isFinite(body.mass)) rows.push(["mass", quantity(body.mass, "kg")]);
  if (Number.isFinite(body.inertia)) rows.push(["inertia", quantity(body.inertia, "kg m²")]);
  rows.push(
    ["position", pair([x, y], "m")],
    ["angle", `${number(angle)} rad`],
    ["", `${number(angle * DEGREES)}°`],
  );
  // energies of bodies that move and have a mass only
  if (body.type === "static") return rows;
  rows.push(
    ["velocity", pair([vx, vy], "m/s")],
    ["speed", quantity(Math.hypot(vx, vy), "m/s")],
    ["spin", quantity(omega, "rad/s")],
  );
  if (body.type === "dynamic" && Number.isFinite(body.mass)) {
    const spin = Number.isFinite(body.inertia) ? body.inertia * omega * omega : 0;
    rows.push(
      ["kinetic", quantity(0.5 * (body.mass * (vx * vx + vy * vy) + spin), "J")],
      ["potential", quantity(-body.mass * (gx * x + gy * y), "J")],
    );
  }
  rows.push(["contacts", String(frame.contacts.filter((c) => c.a === i || c.b === i).length)]);
  return rows;
}

function contactRows(frame, i) {
  const contact = frame.contacts[i],
    { dt } = frame.scene.settings;
  const state = !(contact.normalImpulse > 0)
    ? "carries nothing"
    : contact.sliding
      ? "slides"
      : "sticks";
  return [
    ["state", state],
    ["point", pair(contact.point, "m")],
    ["normal", pair(contact.normal)],
    ["gap", quantity(contact.gap, "m")],
    ["normal impulse", quantity(contact.normalImpulse, "N s")],
    ["friction impulse", quantity(contact.tangentImpulse, "N s")],
    ["mean force", pair([contact.normalImpulse / dt, contact.tangentImpulse / dt], "N")],
    [
      "ratio",
      contact.normalImpulse > 0
        ? number(Math.abs(contact.tangentImpulse) / contact.normalImpulse)
        : "–",
    ],
  ];
}

function jointRows(frame, i) {
  const joint = frame.scene.joints[i],
    state = frame.joints[i];
  const apart = Math.hypot(
    state.anchorA[0] - state.anchorB[0],
    state.anchorA[1] - state.anchorB[1],
  );
  const rows = [
    ["kind", joint.enabled ? joint.type : `${joint.type}, disabled`],
    [
      "between",
      `${bodyName(frame.scene.bodies[joint.a])}, ${bodyName(frame.scene.bodies[joint.b])}`,
    ],
    ["anchor", pair(state.anchorA, "m")],
  ];
  const pinned = (joint.type === "hinge" || joint.type === "weld") && !joint.compliant;
  rows.push([pinned ? "error" : "anchors apart", quantity(apart, "m")]);
  rows.push(
    ["impulse", pair(state.impulse, "N s")],
    ["mean force", quantity(Math.hypot(...state.impulse) / frame.scene.settings.dt, "N")],
    ["angle", quantity(state.angle, "rad")],
    ["turning", quantity(state.speed, "rad/s")],
  );
  return rows;
}

function describe(frame, selection) {
  const i = find(frame, selection),
    { bodies, joints } = frame.scene;
  if (selection.kind === "body") {
    return i < 0 ? [`body ${selection.serial}`, null] : [bodyName(bodies[i]), bodyRows(frame, i)];
  }
  if (selection.kind === "joint") {
    return i < 0
      ? [`joint ${selection.serial}`, null]
      : [jointName(joints[i]), jointRows(frame, i)];
  }
  const names = [selection.a, selection.b].map((serial) =>
    bodyName(bodies.find((body) => body.serial === serial) ?? { name: "", serial }),
  );
  return [names.join(" on "), i < 0 ? null : contactRows(frame, i)];
}

export function createInspector({ onFollow, onClear }) {
  const title = h("h3", { class: "selected-name" });
  const table = h("dl", { class: "numbers" });
  const hint = h("p", { class: "hint" });
  const follow = h(
    "button",
    { type: "button", class: "text-button", "aria-pressed": "false", onclick: onFollow },
    "Follow",
  );
  const clear = h("button", { type: "button", class: "text-button", onclick: onClear }, "Deselect");
  const tools = h("div", { class: "row" }, follow, clear);
  const element = h("div", { class: "inspector" }, title, table, hint, tools);
  let cells = [],
    labels = "";
  return {
    element,
    update(frame, selection, followed) {
      tools.hidden = title.hidden = selection === null;
      if (selection === null || frame === null) {
        table.hidden = true;
        hint.hidden = false;
        hint.textContent = "Select a body, a contact or a joint in the picture to see its numbers.";
        return;
      }
      const [name, rows] = describe(frame, selection);
      title.textContent = name;
      follow.hidden = selection.kind !== "body" || rows === null || rows[0][1].startsWith("static");
      follow.setAttribute("aria-pressed", String(followed));
      follow.textContent = followed ? "Following" : "Follow";
      table.hidden = rows === null;
      hint.hidden = rows !== null;
      hint.textContent = selection.kind === "contact" ? "Not touching now." : "Not there now.";
      if (rows === null) return;
      const fresh = rows.map((row) => row[0]).join("|");
      if (fresh !== labels) {
        // elements are made once; later only their text changes
        labels = fresh;
        cells = rows.map(() => h("dd"));
        table.replaceChildren(...rows.flatMap((row, k) => [h("dt", {}, row[0]), cells[k]]));
      }
      rows.forEach((row, k) => {
        if (cells[k].textContent !== row[1]) cells[k].textContent = row[1];
      });
    },
  };
}
