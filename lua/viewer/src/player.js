// The player: a picture of a recording at one time, and everything around it. The boundary to live.js
// is written down in main.js.
import { createAbout } from "./panels/about.js";
import { attachCamera } from "./draw/camera.js";
import { bodyName, h, iconButton } from "./dom.js";
import { createFigures } from "./panels/figures.js";
import { createHelp } from "./panels/help.js";
import { createInspector } from "./panels/inspector.js";
import { listenForKeys } from "./panels/keyboard.js";
import { OVERLAYS, createOverlays } from "./panels/overlays.js";
import { themeOf } from "./draw/palette.js";
import { find, same } from "./draw/pick.js";
import { drawPicture } from "./draw/picture.js";
import { createPlots } from "./panels/plots.js";
import { Clock, Series } from "./series.js";
import { SPEEDS, createTransport } from "./panels/transport.js";
import { View, runBox } from "./draw/view.js";

const BACKGROUND_WORK = 5; // ms a picture may spend on the plots' data
const PANEL_INTERVAL = 90; // ms between the panel's numbers while time passes: nobody reads faster
const PLOT_INTERVAL = 300; // ms between redraws of plots that still grow

// Digits after the point of a time, so that neighbouring frames differ.
function decimalsFor(recording) {
  const dt =
    recording.frameCount > 1
      ? recording.time(1) - recording.time(0)
      : recording.scenes[0]?.settings.dt;
  return dt > 0 && dt < 1 ? Math.min(Math.max(3, Math.ceil(-Math.log10(dt))), 9) : 3;
}

function titleOf(recording) {
  const { script, recording: world } = recording.run;
  if (script) return script.replace(/^.*[/\\]/, "") + (world > 1 ? `, world ${world}` : "");
  const file = location.pathname.replace(/^.*\//, "").replace(/\.html?$/i, "");
  try {
    return decodeURIComponent(file) || "sim2d";
  } catch {
    return file;
  }
}

export function createPlayer(root, recording_, { live = false } = {}) {
  const darkQuery = matchMedia("(prefers-color-scheme: dark)");
  const view = new View();
  const overlays = Object.fromEntries(OVERLAYS.map(({ key, on }) => [key, on]));
  const drawHooks = [],
    keyHooks = [];
  const player = { recording: recording_, pointer: null, transport: null };
  const state = {
    index: 0,
    clock: 0,
    playing: false,
    speed: 1,
    selection: null,
    follow: null,
    followed: null,
    dark: darkQuery.matches,
    moved: false,
    edge: live,
    dirty: true,
    frame: null,
    lost: 0,
  };
  let clock,
    series,
    decimals = 3,
    sizedAt = "",
    plotsDue = 0,
    plotsAt = -Infinity,
    panelAt = -Infinity,
    panelStale = false,
    box = null;

  // ---- Elements -------------------------------------------------------------------------------

  const canvas = h("canvas", {
    class: "picture",
    tabindex: "0",
    role: "img",
    "aria-label": "Picture of the simulation",
  });
  const title = h("h1"),
    facts = h("p", { class: "facts" });
  const notice = h("div", { class: "notice", role: "status", hidden: true });
  const bar = createTransport({
    toggle: () => toggle(),
    step: (n) => step(n),
    reset: () => player.transport?.reset?.(),
    seek: (i) => seek(i),
    setSpeed: (value) => {
      state.speed = value;
      player.transport?.setSpeed?.(value);
    },
  });
  const inspector = createInspector({
    onFollow: () => follow(state.selection),
    onClear: () => select(null),
  });
  const overlayPanel = createOverlays(overlays, () => {
    state.dirty = true;
  });
  const plots = createPlots({ theme: themeOf(state.dark), onSeek: (at) => seekClock(at) });
  const figures = createFigures();
  const about = createAbout();
  const help = createHelp();
  const themeButton = iconButton("moon", "Dark", () => setDark(!state.dark));
  const panelButton = iconButton(
    "panel",
    "Panel",
    () => showPanel(!root.classList.contains("with-panel")),
    { "aria-expanded": "false", "aria-controls": "panel" },
  );
  const big = iconButton("play", "Play", () => toggle(), { class: "icon-button big-play" });
  const sections = h("div", { class: "sections" });
  const panel = h(
    "aside",
    { class: "panel", id: "panel", "aria-label": "Panel" },
    sections,
    h("section", {}, h("h2", {}, "Selected"), inspector.element),
    h("section", {}, h("h2", {}, "Show"), overlayPanel.element),
    figures.element,
    h("section", {}, h("h2", {}, "Plots"), plots.element),
    h("section", {}, h("h2", {}, "Run"), about.element),
  );
  const stage = h(
    "main",
    { class: "stage" },
    canvas,
    h("header", { class: "title" }, title, facts),
    h(
      "div",
      { class: "tools" },
      iconButton("fit", "Fit all", () => fit()),
      themeButton,
      iconButton("help", "Keys", () => help.toggle()),
      panelButton,
    ),
    notice,
    big,
  );
  root.replaceChildren(stage, panel, bar.element, help.element, figures.dialog);
  root.classList.add("player");

  // ---- Time -----------------------------------------------------------------------------------

  const count = () => player.recording.frameCount;
  const playing = () => player.transport?.playing ?? state.playing;

  function show(index) {
    state.index = Math.min(Math.max(index, 0), Math.max(count() - 1, 0));
    state.frame = count() > 0 ? player.recording.frame(state.index) : null;
    trackFollowed();
    state.dirty = true;
  }

  function seek(index) {
    show(index);
    big.hidden = true;
    state.clock = clock.at[state.index] ?? 0;
    state.edge = live && state.index >= count() - 1;
  }

  const seekClock = (at) => seek(clock.frameAt(at));

  function setPlaying(on) {
    state.playing = on && count() > 1;
    if (state.playing && state.index >= count() - 1 && !live) seek(0);
    big.hidden = true;
    state.dirty = true;
  }

  function toggle() {
    if (player.transport?.toggle) player.transport.toggle();
    else setPlaying(!state.playing);
    state.dirty = true;
  }

  function step(n) {
    if (player.transport?.step && state.edge && n > 0) {
      player.transport.step(n);
      return;
    }
    state.playing = false;
    seek(state.index + n);
  }

  function advance(passed) {
    if (!state.playing || live) return;
    state.clock += passed * state.speed;
    const index = clock.frameAt(state.clock);
    if (index !== state.index) show(index);
    if (state.clock >= clock.end) {
      state.clock = clock.end;
      state.playing = false;
      state.dirty = true;
    }
  }

  // ---- View -----------------------------------------------------------------------------------

  function fit() {
    box = runBox(player.recording);
    view.fit(box);
    state.moved = false;
    state.follow = null;
    state.dirty = true;
  }

  function resize() {
    const { width, height } = stage.getBoundingClientRect();
    const ratio = Math.min(devicePixelRatio || 1, 2.5);
    const size = `${width} ${height} ${ratio}`;
    if (size === sizedAt || width === 0) return;
    sizedAt = size;
    view.width = width;
    view.height = height;
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
    if (!state.moved && box) view.fit(box);
    state.dirty = true;
    plotsDue = 0;
  }

  function positionOf(selection) {
    const i = state.frame && selection ? find(state.frame, selection) : -1;
    if (i < 0) return null;
    const at = [state.frame.q[3 * i + 1], state.frame.q[3 * i + 2]];
    return Number.isFinite(at[0]) && Number.isFinite(at[1]) ? at : null;
  }

  // The view moves with the body; where in the view it is stays the reader's choice.
  function trackFollowed() {
    if (!state.follow) return;
    const at = positionOf(state.follow);
    if (at && state.followed) {
      view.x += at[0] - state.followed[0];
      view.y += at[1] - state.followed[1];
    }
    state.followed = at ?? state.followed;
  }

  function follow(selection) {
    if (!selection || selection.kind !== "body" || same(state.follow, selection)) {
      state.follow = null;
    } else {
      state.follow = selection;
      state.followed = positionOf(selection);
      if (state.followed) [view.x, view.y] = state.followed;
      state.moved = true;
    }
    state.dirty = true;
  }

  function select(selection) {
    state.selection = selection;
    big.hidden ||= selection !== null;
    state.dirty = true;
  }

  // ---- Drawing --------------------------------------------------------------------------------

  function draw() {
    const ratio = canvas.width / view.width;
    state.lost = drawPicture(canvas.getContext("2d", { alpha: false }), ratio, {
      view,
      overlays,
      series,
      theme: themeOf(state.dark),
      frame: state.frame,
      selection: state.selection,
      now: clock.at[state.index],
      hooks: drawHooks,
    });
  }

  function describe() {
    const { frame } = state;
    const name = titleOf(player.recording);
    if (title.textContent !== name) title.textContent = document.title = name;
    if (!frame) {
      facts.textContent = "";
      return;
    }
    const bodies = frame.scene.bodies.length,
      parts = [`${bodies} ${bodies === 1 ? "body" : "bodies"}`];
    parts.push(`${frame.contacts.length} ${frame.contacts.length === 1 ? "contact" : "contacts"}`);
    if (state.lost > 0) parts.push(`${state.lost} without a finite position`);
    if (state.follow) {
      const i = find(frame, state.follow);
      parts.push(`following ${i < 0 ? "what is gone" : bodyName(frame.scene.bodies[i])}`);
    }
    facts.textContent = parts.join(" · ");
  }

  // ---- The loop -------------------------------------------------------------------------------

  const stats = { draws: 0, total: 0, worst: 0 };

  function gather(now) {
    const fresh = series.work(state.playing ? BACKGROUND_WORK : 3 * BACKGROUND_WORK);
    if (fresh && (overlays.trails || overlays.normals || overlays.friction || overlays.velocities))
      state.dirty = true;
    const whole = series.done && player.recording.complete; // nothing more will come
    if (fresh) plotsDue = whole ? now : Math.min(plotsDue, plotsAt + PLOT_INTERVAL);
    if (count() === 0 || now < plotsDue || !root.classList.contains("with-panel")) return;
    plotsAt = now;
    plotsDue = series.done ? Infinity : now + PLOT_INTERVAL;
    plots.update(series, series.channels);
    // Plots know their scales when this picture is over.
    requestAnimationFrame(() => plots.present(clock.at[state.index] ?? 0));
  }

  let before = performance.now();
  function tick(now) {
    // a page that was hidden does not jump ahead
    advance(Math.min(Math.max(now - before, 0), 250) / 1000);
    before = now;
    resize();
    gather(now);
    // the picture, when something has changed
    if (state.dirty) {
      state.dirty = false;
      const start = performance.now();
      draw();
      const took = performance.now() - start;
      stats.draws++;
      stats.total += took;
      stats.worst = Math.max(stats.worst, took);
      describe();
      bar.update({
        index: state.index,
        frameCount: count(),
        time: state.frame?.time,
        end: player.recording.time(count() - 1),
        playing: playing(),
        decimals,
      });
      panelStale = true;
    }
    // numbers and plots less often while it plays: they take longer than the picture
    if (panelStale && (!playing() || now - panelAt >= PANEL_INTERVAL)) {
      panelStale = false;
      panelAt = now;
      if (root.classList.contains("with-panel")) {
        inspector.update(state.frame, state.selection, same(state.follow, state.selection));
        plots.present(clock.at[state.index] ?? 0);
      }
    }
    requestAnimationFrame(tick);
  }

  // ---- Appearance -----------------------------------------------------------------------------

  function setDark(dark) {
    state.dark = dark;
    document.documentElement.dataset.theme = dark ? "dark" : "light";
    const label = dark ? "Light" : "Dark";
    themeButton.replaceChildren(iconButton(dark ? "sun" : "moon", label).firstChild);
    themeButton.setAttribute("aria-label", label);
    themeButton.title = label;
    plots.setTheme(themeOf(dark));
    state.dirty = true;
  }

  function showPanel(on) {
    root.classList.toggle("with-panel", on);
    panel.inert = !on;
    panelButton.setAttribute("aria-expanded", String(on));
    plotsDue = 0;
    state.dirty = true;
  }

  function tell(text, kind = "info") {
    notice.hidden = !text;
    notice.textContent = text;
    notice.dataset.kind = kind;
  }

  // ---- Keys -----------------------------------------------------------------------------------

  const zoom = (factor) => {
    view.zoomAt([view.width / 2, view.height / 2], factor);
    state.moved = true;
    state.dirty = true;
  };
  const changeSpeed = (by) => {
    const at = Math.min(Math.max(SPEEDS.indexOf(state.speed) + by, 0), SPEEDS.length - 1);
    state.speed = SPEEDS[at];
    bar.speed.value = String(state.speed);
    player.transport?.setSpeed?.(state.speed);
  };
  const keys = {
    " ": () => toggle(),
    ArrowRight: (e) => step(e.shiftKey ? 10 : 1),
    ArrowLeft: (e) => step(e.shiftKey ? -10 : -1),
    Home: () => seek(0),
    End: () => seek(count() - 1),
    "+": () => zoom(1.25),
    "=": () => zoom(1.25),
    "-": () => zoom(0.8),
    f: () => (state.selection?.kind === "body" ? follow(state.selection) : fit()),
    0: () => fit(),
    "[": () => changeSpeed(-1),
    "]": () => changeSpeed(1),
    d: () => setDark(!state.dark),
    p: () => showPanel(!root.classList.contains("with-panel")),
    "?": () => help.toggle(),
    Escape: () => {
      if (help.open) help.toggle();
      else if (figures.dialog.open) figures.dialog.close();
      else select(null);
    },
  };
  listenForKeys(keys, keyHooks, (n) => {
    const overlay = OVERLAYS[n - 1]?.key;
    if (overlay) overlayPanel.set(overlay, !overlays[overlay]);
  });

  // ---- Boundary -------------------------------------------------------------------------------

  function begin(recording) {
    player.recording = recording;
    clock = new Clock(recording);
    clock.update();
    series = new Series(recording, clock);
    plots.reset();
    about.update(recording);
    if (!live) figures.update(recording.plots);
    plotsDue = 0;
    decimals = decimalsFor(recording);
    Object.assign(state, {
      index: 0,
      clock: clock.start,
      playing: false,
      selection: null,
      follow: null,
      edge: live,
    });
    show(0);
    fit();
    big.hidden = live || count() < 2;
  }

  Object.assign(player, {
    replace(recording) {
      begin(recording);
    },
    arrived() {
      const first = state.frame === null;
      clock.update();
      decimals = decimalsFor(player.recording);
      if (state.edge || first) show(count() - 1);
      state.clock = clock.at[state.index] ?? 0;
      if (first) {
        fit();
        about.update(player.recording);
      }
      state.dirty = true;
    },
    section(name) {
      const content = h("div");
      sections.append(h("section", {}, h("h2", {}, name), content));
      // A phone shows the picture first.
      if (!root.classList.contains("with-panel") && innerWidth >= 760) showPanel(true);
      return content;
    },
    showPlots: (pairs) => figures.update(pairs),
    notice: tell,
    onDraw: (hook) => drawHooks.push(hook),
    onKey: (hook) => keyHooks.push(hook),
    redraw() {
      state.dirty = true;
    },
    view,
    showReset() {
      bar.reset.hidden = false;
    },
  });
  Object.defineProperties(player, {
    frame: { get: () => state.frame },
    edge: { get: () => state.edge },
  });

  // What tests and curious readers look at.
  player.inspect = {
    player,
    view,
    stats,
    overlays,
    get frameCount() {
      return count();
    },
    get index() {
      return state.index;
    },
    get frame() {
      return state.frame;
    },
    get time() {
      return state.frame?.time;
    },
    get playing() {
      return playing();
    },
    get selection() {
      return state.selection;
    },
    get following() {
      return state.follow;
    },
    get ready() {
      const plotted = count() === 0 || plotsDue === Infinity || !root.classList.contains("with-panel");
      return series.done && !state.dirty && plotted;
    },
    get series() {
      return series;
    },
    toScreen: (p) => view.toScreen(p),
    toWorld: (p) => view.toWorld(p),
    seek,
    select,
    draw,
    // Where the bodies are drawn.
    poses() {
      const { scene, q } = state.frame;
      return scene.bodies.map((body, i) => ({
        serial: body.serial,
        name: body.name,
        angle: q[3 * i],
        x: q[3 * i + 1],
        y: q[3 * i + 2],
        screen: view.toScreen([q[3 * i + 1], q[3 * i + 2]]),
      }));
    },
  };

  attachCamera(canvas, view, {
    frame: () => state.frame,
    overlays,
    hooks: player,
    onSelect: select,
    onFollow: (hit) => {
      select(hit);
      follow(hit);
    },
    onView: () => {
      state.moved = true;
      state.dirty = true;
    },
  });
  darkQuery.addEventListener("change", (event) => setDark(event.matches));
  resize();
  begin(player.recording);
  setDark(state.dark);
  showPanel(innerWidth >= 900);
  const { problem } = player.recording;
  if (problem)
    tell(`The recording is damaged (${problem}); what comes before that is shown.`, "error");
  else if (!live && count() === 0) tell("Nothing was recorded.");
  else if (!live && !player.recording.complete)
    tell(`The run was cut short; this is what it left: ${count()} frames.`);
  requestAnimationFrame(tick);
  return player;
}
