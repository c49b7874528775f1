// Sliders, choices, buttons and options of the script, and the choice of the world that is shown;
// by lil-gui.
import GUI from "lil-gui";

// The range of a number without a given one: around its present and its usual value.
function rangeOf({ value, default: usual }) {
  const size = Math.max(Math.abs(value), Math.abs(usual)) || 0.5;
  return [value < 0 || usual < 0 ? -2 * size : 0, 2 * size];
}

const FASTEST = "0";

export function createControls(player, send) {
  const parts = {}; // title -> { element, gui }
  let made = "", sliders = [], choices = [], worlds = "", updating = false;

  function part(title, wanted) {
    parts[title]?.gui.destroy();
    if (!wanted && !parts[title]) return null;
    parts[title] ??= { element: player.section(title) };
    const { element } = parts[title];
    element.parentElement.hidden = !wanted;
    parts[title].gui = new GUI({ container: element, autoPlace: false });
    parts[title].gui.title("");
    return parts[title].gui;
  }

  // The key with the same effect, if there is one.
  const titled = (name, key) => (key ? `${name} (${key})` : name);
  // Keys of the script go to it again, not to the control that was used last.
  const leave = () => document.activeElement?.blur();

  function makeControls({ sliders: declared, choices: offered, buttons }) {
    const gui = part("Controls", declared.length + offered.length + buttons.length > 0);
    sliders = [];
    choices = [];
    if (!gui) return;
    offered.forEach(({ name, key, values, value }, i) => {
      const holder = { value };
      const controller = gui.add(holder, "value", values).name(titled(name, key)).onChange((now) => {
        if (updating) return;
        send(`choose ${i + 1} ${values.indexOf(now) + 1}`);
        leave();
      });
      choices.push({ holder, controller });
    });
    declared.forEach(({ name, unit, min, max, value }, i) => {
      const holder = { value };
      const controller = gui.add(holder, "value", min, max).name(unit ? `${name} (${unit})` : name)
        .onChange((now) => updating || send(`set ${i + 1} ${now}`));
      sliders.push({ holder, controller });
    });
    buttons.forEach(({ name, key }, i) => {
      const press = () => {
        send(`press ${i + 1}`);
        if (key) leave();
      };
      gui.add({ press }, "press").name(titled(name, key));
    });
  }

  function makeOptions(options) {
    const gui = part("Options", options.length > 0);
    for (const option of gui ? options : []) {
      const holder = { value: option.value };
      const controller = option.kind === "number"
        ? gui.add(holder, "value", ...rangeOf(option), ...(option.integer ? [1] : [])) : gui.add(holder, "value");
      controller.name(option.name).onFinishChange((now) => {
        if (now !== option.value) send(`option ${option.name} ${now}`);
      });
      controller.domElement.title = option.help;
    }
  }

  const speed = document.querySelector(".speed");
  speed.append(new Option("fastest", FASTEST));

  return {
    show(message, state) {
      const fixed = ({ value, ...rest }) => rest;
      const shape = JSON.stringify([message.sliders.map(fixed), message.choices.map(fixed), message.buttons,
        message.options, state?.run]);
      if (shape !== made) {
        made = shape;
        makeControls(message);
        makeOptions(state?.reruns ? message.options : []);
      }
      updating = true; // a value that the script or another page has set
      message.sliders.forEach(({ value }, i) => {
        const { holder, controller } = sliders[i], { domElement } = controller;
        if (holder.value === value || domElement.contains(document.activeElement) && domElement.matches(":active")) return;
        holder.value = value;
        controller.updateDisplay();
      });
      message.choices.forEach(({ value }, i) => {
        choices[i].holder.value = value;
        choices[i].controller.updateDisplay();
      });
      updating = false;
    },
    showState({ worlds: list, shown, pace }) {
      const value = String(pace);
      if (![...speed.options].some((option) => option.value === value)) speed.append(new Option(`${pace}×`, value));
      if (speed.value !== value) speed.value = value;
      const now = JSON.stringify([list, shown]);
      if (now === worlds) return;
      worlds = now;
      const gui = part("World", list.length > 1);
      if (gui) {
        gui.add({ shown }, "shown", Object.fromEntries(list.map((n) => [`world ${n}`, n]))).name("shown")
          .onChange((n) => send(`world ${n}`));
      }
    },
  };
}
