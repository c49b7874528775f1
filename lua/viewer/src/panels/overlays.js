// The overlays on top of the bodies: a list of switches, each with its mark.
import { h } from "../dom.js";

export const OVERLAYS = [
  { key: "contacts", label: "Contact points", on: true },
  { key: "normals", label: "Normal impulses", on: false },
  { key: "friction", label: "Friction impulses", on: false },
  { key: "velocities", label: "Velocities", on: false },
  { key: "centres", label: "Centres of mass", on: false },
  { key: "joints", label: "Joints and their errors", on: true },
  { key: "names", label: "Names", on: false },
  { key: "trails", label: "Trails", on: false },
];

const MARKS = {
  contacts: '<circle cx="15" cy="8" r="3.2" fill="var(--ink)"/>',
  normals:
    '<path d="M5 8h12" stroke="var(--normal)" stroke-width="2.2"/><path d="M16 3.8 25 8l-9 4.2z" fill="var(--normal)"/>',
  friction:
    '<path d="M1 8h7" stroke="var(--sticking)" stroke-width="2"/><path d="M7 4.4 14 8l-7 3.6z" fill="var(--sticking)"/>' +
    '<path d="M17 8h12" stroke="var(--sliding)" stroke-width="2" stroke-dasharray="3 2"/><path d="m23 4 6 4-6 4" fill="none" stroke="var(--sliding)" stroke-width="2"/>',
  velocities:
    '<path d="M5 8h12" stroke="var(--velocity)" stroke-width="2.2"/><path d="M16 3.8 25 8l-9 4.2z" fill="var(--velocity)"/>',
  centres:
    '<circle cx="15" cy="8" r="5" fill="var(--surface)" stroke="var(--ink)" stroke-width="1.2"/><path d="M15 8V3a5 5 0 0 1 5 5zM15 8v5a5 5 0 0 1-5-5z" fill="var(--ink)"/>',
  joints:
    '<path d="M4 8h22" stroke="var(--ink)" stroke-width="1.4"/><circle cx="15" cy="8" r="4" fill="var(--surface)" stroke="var(--ink)" stroke-width="1.5"/>',
  names:
    '<text x="15" y="12" text-anchor="middle" font-size="12" font-weight="600" fill="var(--ink)">ab</text>',
  trails:
    '<path d="M3 12C8 1 12 1 15 8s8 5 12-3" fill="none" stroke="var(--accent)" stroke-width="1.8"/>',
};

export function createOverlays(overlays, onChange) {
  const boxes = {};
  const rows = OVERLAYS.map(({ key, label }, k) => {
    const box = h("input", {
      type: "checkbox",
      "data-overlay": key,
      checked: overlays[key],
      onchange: () => {
        overlays[key] = box.checked;
        onChange();
      },
    });
    boxes[key] = box;
    const mark = h("span", { class: "mark", "aria-hidden": "true" });
    mark.innerHTML = `<svg viewBox="0 0 30 16" width="30" height="16">${MARKS[key]}</svg>`;
    return h(
      "label",
      { class: "switch", title: `Key ${k + 1}` },
      box,
      h("span", { class: "knob" }),
      h("span", { class: "label" }, label),
      mark,
    );
  });
  return {
    element: h(
      "div",
      { class: "overlays", role: "group", "aria-label": "Shown on top of the bodies" },
      ...rows,
    ),
    set(key, on) {
      boxes[key].checked = overlays[key] = on;
      onChange();
    },
  };
}
