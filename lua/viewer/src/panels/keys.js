// Keys and gamepads for scripts that ask for them (sim.key). Only keys a script has asked for are taken
// from the player.

const NAMES = { " ": "space", arrowleft: "left", arrowright: "right", arrowup: "up", arrowdown: "down",
  enter: "enter", escape: "escape", control: "ctrl" };

// Buttons of the standard gamepad, in its order.
const PAD = ["pad_a", "pad_b", "pad_x", "pad_y", "pad_lb", "pad_rb", "pad_lt", "pad_rt", "pad_select", "pad_start",
  "pad_ls", "pad_rs", "pad_up", "pad_down", "pad_left", "pad_right"];
const TILT = 0.5; // of the left stick, from which it counts as a press of the cross

const nameOf = (event) => {
  const key = event.key.toLowerCase();
  return NAMES[key] ?? key;
};

function pressedOnPads() {
  const pressed = new Set();
  for (const pad of navigator.getGamepads?.() ?? []) {
    if (!pad) continue;
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
  let asked = new Set();
  const down = new Set();

  function set(name, on) {
    if (down.has(name) === on) return;
    if (on) down.add(name);
    else down.delete(name);
    send(`key ${on ? 1 : 0} ${name}`);
  }
  const releaseAll = () => [...down].forEach((name) => set(name, false));

  player.onKey((event) => {
    const name = nameOf(event);
    if (!asked.has(name) || event.ctrlKey || event.metaKey || event.altKey) return false;
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
    requestAnimationFrame(poll);
  }
  poll();
  return {
    ask(names) { asked = new Set(names); },
    forget() { down.clear(); },
  };
}
