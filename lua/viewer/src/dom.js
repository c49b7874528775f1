// Small helpers for elements and text.

export function h(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value !== undefined) element.setAttribute(name, value);
  }
  element.append(...children);
  return element;
}

// Icons are strokes in a square of 24.
const ICONS = {
  play: '<path d="M7 4.5v15l12.5-7.5z" fill="currentColor"/>',
  pause: '<path d="M8.5 5v14M15.5 5v14" stroke-width="3.2"/>',
  back: '<path d="M16 5.5v13L7.5 12zM5.5 5v14" fill="currentColor"/>',
  forward: '<path d="M8 5.5v13l8.5-6.5zM18.5 5v14" fill="currentColor"/>',
  fit: '<path d="M4 9V4h5M15 4h5v5M20 15v5h-5M9 20H4v-5"/>',
  sun: '<circle cx="12" cy="12" r="4"/><path d="M12 2.5v2M12 19.5v2M2.5 12h2M19.5 12h2M5.3 5.3l1.4 1.4M17.3 17.3l1.4 1.4M5.3 18.7l1.4-1.4M17.3 6.7l1.4-1.4"/>',
  moon: '<path d="M19.5 14.5A8 8 0 0 1 9.5 4.5a8 8 0 1 0 10 10z"/>',
  panel: '<path d="M4 5h16v14H4zM14.5 5v14"/>',
  help: '<path d="M8.8 9a3.2 3.2 0 1 1 4.6 2.9c-1 .5-1.4 1.1-1.4 2.3M12 18v.2"/>',
  close: '<path d="M6 6l12 12M18 6L6 18"/>',
  reset: '<path d="M5 5v5h5M5.6 9.6A7.3 7.3 0 1 1 4.8 14"/>',
};

export function icon(name) {
  const holder = document.createElement("span");
  holder.className = "icon";
  holder.innerHTML =
    `<svg viewBox="0 0 24 24" width="20" height="20" fill="none" stroke="currentColor" ` +
    `stroke-width="1.8" stroke-linejoin="round" stroke-linecap="round" aria-hidden="true">${ICONS[name]}</svg>`;
  return holder;
}

export function iconButton(name, label, onclick, attributes = {}) {
  return h(
    "button",
    {
      type: "button",
      class: "icon-button",
      "aria-label": label,
      title: label,
      onclick,
      ...attributes,
    },
    icon(name),
  );
}

export const superscript = (integer) =>
  String(integer).replace(/[-\d]/g, (c) => "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"["-0123456789".indexOf(c)]);

// Four significant digits with a true minus sign; very large and small ones with a power of ten.
export function number(value, digits = 4) {
  if (!Number.isFinite(value)) return Number.isNaN(value) ? "not a number" : value > 0 ? "∞" : "−∞";
  if (value === 0) return "0";
  const size = Math.abs(value);
  let text;
  if (size >= 1e6 || size < 1e-4) {
    const [mantissa, exponent] = value.toExponential(digits - 2).split("e");
    text = `${mantissa}·10${superscript(Number(exponent))}`;
  } else {
    text = value.toFixed(Math.max(0, Math.min(6, digits - 1 - Math.floor(Math.log10(size)))));
  }
  return text.replace("-", "−");
}

export const quantity = (value, unit) =>
  Number.isFinite(value) && unit ? `${number(value)} ${unit}` : number(value);
export const pair = ([x, y], unit) => `${number(x)}, ${number(y)}${unit ? ` ${unit}` : ""}`;

export const bodyName = (body) =>
  body === undefined ? "the world" : body.name || `body ${body.serial}`;
export const jointName = (joint) => joint.name || `${joint.type} ${joint.serial}`;
