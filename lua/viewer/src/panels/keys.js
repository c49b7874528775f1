// Keys and gamepads for scripts that use them (sim.key, sim.axis). Only keys that a script uses are
// taken from the player.
import { isTyped } from "./keyboard.js";

const NAMES = { " ": "space", arrowleft: "left", arrowright: "right", arrowup: "up", arrowdown: "down",
  enter: "enter", escape: "escape", control: "ctrl" };

// Buttons of the standard gamepad, in its order.
const PAD = ["pad_a", "pad_b", "pad_x", "pad_y", "pad_lb", "pad_rb", "pad_lt", "pad_rt", "pad_select", "pad_start",
  "pad_ls", "pad_rs", "pad_up", "pad_down", "pad_left", "pad_right"];
const TILT = 0.5; // of the left stick, from which it counts as a press of the cross

// The axes of a standard gamepad that a script may use by sim.axis: up and right are positive.
const STICK = { left_x: [0, 1], left_y: [1, -1], right_x: [2, 1], right_y: [3, -1] }; // axis, sign
const TRIGGER = { lt: 6, rt: 7 }; // button
const REST = 0.12; // part of a stick's range by which it may be off at rest
const DIGITS = 100; // steps of the range that are distinguished

const pads = () => [...(navigator.getGamepads?.() ?? [])].filter((pad) => pad !== null);

// Beyond its rest a stick begins at 0. If there are several gamepads, the one that is pushed
// farthest counts.
function wayOf(name) {
  let most = 0;
  for (const { axes, buttons } of pads()) {
    const [axis, sign] = STICK[name] ?? [];
    const raw = axis === undefined ? (buttons[TRIGGER[name]]?.value ?? 0) : sign * (axes[axis] ?? 0);
    const beyond = Math.max(0, Math.abs(raw) - REST) / (1 - REST);
    const way = Math.sign(raw) * Math.min(1, Math.round(beyond * DIGITS) / DIGITS);
    if (Math.abs(way) > Math.abs(most)) most = way;
  }
  return most;
}

const nameOf = (event) => {
  const key = event.key.toLowerCase();
  return NAMES[key] ?? key;
};

function pressedOnPads() {
  const pressed = new Set();
  for (const pad of pads()) {
    pad.buttons.forEach((button, i) => button.pressed && PAD[i] && pressed.add(PAD[i]));
    const [x = 0, y = 0] = pad.axes;
    if (x < -TILT) pressed.add("pad_left");
    if (x > TILT) pressed.add("pad_right");
    if (y < -TILT) pressed.add("pad_up");
    if (y > TILT) pressed.add("pad_down");
  }
  return pressed;
}

export function createKeys(player, send) {
  let asked = new Set(), axes = [];
  // the state that was sent: pressed keys, positions of axes
  const down = new Set(), ways = new Map();

  function set(name, on) {
    if (down.has(name) === on) return;
    if (on) down.add(name);
    else down.delete(name);
    send(`key ${on ? 1 : 0} ${name}`);
  }
  function tilt(name, way) {
    if ((ways.get(name) ?? 0) === way) return;
    ways.set(name, way);
    send(`axis ${name} ${way}`);
  }
  function releaseAll() {
    [...down].forEach((name) => set(name, false));
    axes.forEach((name) => tilt(name, 0));
  }

  player.onKey((event) => {
    const name = nameOf(event);
    if (!asked.has(name) || isTyped(event) || event.ctrlKey || event.metaKey || event.altKey) return false;
    event.preventDefault();
    set(name, true);
    return true;
  });
  addEventListener("keyup", (event) => set(nameOf(event), false));
  addEventListener("blur", releaseAll);
  document.addEventListener("visibilitychange", () => document.hidden && releaseAll());

  function poll() {
    const names = PAD.filter((name) => asked.has(name));
    if (names.length > 0) {
      const pressed = pressedOnPads();
      names.forEach((name) => set(name, pressed.has(name)));
    }
    axes.forEach((name) => tilt(name, wayOf(name)));
    requestAnimationFrame(poll);
  }
  poll();
  return {
    ask(names, ofPads) {
      asked = new Set(names);
      axes = ofPads;
    },
    forget() {
      down.clear();
      ways.clear();
    },
  };
}
