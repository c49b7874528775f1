// The player: a picture of a recording at one time, and everything around it. main.js documents the
// interface for live.js.
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

const BACKGROUND_WORK = 5; // ms that a picture may spend on the plots' data
// ms between the panel's numbers while time passes: as fast as they can be read
const PANEL_INTERVAL = 90;
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
  if (location.protocol === "about:") return "sim2d"; // within a notebook, the page has no address
  const file = location.pathname.replace(/^.*\//, "").replace(/\.html?$/i, "");
  try {
    return decodeURIComponent(file) || "sim2d";
  } catch {
    return file;
  }
}

// The frame on which a page opens: the last one in which contacts have impulses; if there is none,
// the last one. Looks at so many frames from the end.
const LOOK_BACK = 600;

export function tellingFrame(recording) {
  const last = recording.frameCount - 1;
  for (let i = last; i >= 0 && i > last - LOOK_BACK; i--) {
    if (recording.frame(i)?.contacts.some((contact) => contact.normalImpulse > 0)) return i;
  }
  return Math.max(last, 0);
}

class Player {
  constructor(root, recording, { live = false } = {}) {
    Object.assign(this, { root, recording, live, pointer: null, transport: null });
    this.darkQuery = matchMedia("(prefers-color-scheme: dark)");
    this.view = new View();
    // Pages open with impulses, which are useful in a frame that stands still.
    this.overlays = Object.fromEntries(OVERLAYS.map(({ key, on }) => [key, on]));
    if (!live) this.overlays.normals = this.overlays.friction = true;
    this.drawHooks = [];
    this.keyHooks = [];
    this.stats = { draws: 0, total: 0, worst: 0 };
    this.state = {
      index: 0,
      clock: 0,
      playing: false,
      opened: false,
      speed: 1,
      selection: null,
      follow: null,
      followed: null,
      dark: this.darkQuery.matches,
      moved: false,
      edge: live,
      dirty: true,
      frame: null,
      lost: 0,
      away: [],
    };
    Object.assign(this, { clock: null, series: null, decimals: 3, sizedAt: "", box: null });
    Object.assign(this, { area: null, corners: null, plotsDue: 0, plotsAt: -Infinity, panelAt: -Infinity, panelStale: false });
    this.before = performance.now();
    // The page, the actions of the reader, and the recording.
    this.makePanel();
    this.makeStage();
    this.listen();
    this.inspect = this.makeInspect();
    this.resize();
    this.begin(recording);
    this.setDark(this.state.dark);
    this.showPanel(innerWidth >= 900);
    this.tellOfRecording();
    requestAnimationFrame((now) => this.tick(now));
  }

  // ---- Elements -------------------------------------------------------------------------------

  makePanel() {
    const { state } = this;
    this.bar = createTransport({
      toggle: () => this.toggle(),
      step: (n) => this.step(n),
      reset: () => this.transport?.reset?.(),
      seek: (i) => this.seek(i),
      setSpeed: (value) => this.setSpeed(value),
    });
    // The contents of the panel.
    this.inspector = createInspector({
      onFollow: () => this.follow(state.selection),
      onClear: () => this.select(null),
    });
    this.overlayPanel = createOverlays(this.overlays, () => this.redraw());
    this.plots = createPlots({ theme: themeOf(state.dark), onSeek: (at) => this.seekClock(at) });
    this.figures = createFigures();
    this.about = createAbout();
    this.help = createHelp();
    // The panel, from the top.
    this.sections = h("div", { class: "sections" });
    this.panel = h(
      "aside",
      { class: "panel", id: "panel", "aria-label": "Panel" },
      this.sections,
      h("section", {}, h("h2", {}, "Selected"), this.inspector.element),
      h("section", {}, h("h2", {}, "Show"), this.overlayPanel.element),
      this.figures.element,
      h("section", {}, h("h2", {}, "Plots"), this.plots.element),
      h("section", {}, h("h2", {}, "Run"), this.about.element),
    );
  }

  makeStage() {
    const { root } = this;
    // The picture, and its description.
    this.canvas = h("canvas", {
      class: "picture",
      tabindex: "0",
      role: "img",
      "aria-label": "Picture of the simulation",
    });
    this.title = h("h1");
    this.facts = h("p", { class: "facts" });
    this.noticeLine = h("div", { class: "notice", role: "status", hidden: true });
    // Buttons.
    this.themeButton = iconButton("moon", "Dark", () => this.setDark(!this.state.dark));
    this.panelButton = iconButton("panel", "Panel", () => this.togglePanel(), {
      "aria-expanded": "false",
      "aria-controls": "panel",
    });
    this.big = iconButton("play", "Play", () => this.toggle(), { class: "icon-button big-play" });
    // All together.
    this.stage = h(
      "main",
      { class: "stage" },
      this.canvas,
      h("header", { class: "title" }, this.title, this.facts),
      h(
        "div",
        { class: "tools" },
        iconButton("fit", "Fit all", () => this.fit()),
        this.themeButton,
        iconButton("help", "Keys", () => this.help.toggle()),
        this.panelButton,
      ),
      this.noticeLine,
      this.big,
    );
    root.replaceChildren(
      this.stage,
      this.panel,
      this.bar.element,
      this.help.element,
      this.figures.dialog,
    );
    root.classList.add("player");
  }

  // ---- Time -----------------------------------------------------------------------------------

  get count() {
    return this.recording.frameCount;
  }

  get playing() {
    return this.transport?.playing ?? this.state.playing;
  }

  get frame() {
    return this.state.frame;
  }

  get edge() {
    return this.state.edge;
  }

  show(index) {
    const { state } = this;
    state.index = Math.min(Math.max(index, 0), Math.max(this.count - 1, 0));
    state.frame = this.count > 0 ? this.recording.frame(state.index) : null;
    this.trackFollowed();
    state.dirty = true;
  }

  seek(index) {
    const { state } = this;
    this.show(index);
    this.big.hidden = true;
    state.opened = false;
    state.clock = this.clock.at[state.index] ?? 0;
    state.edge = this.live && state.index >= this.count - 1;
  }

  seekClock(at) {
    this.seek(this.clock.frameAt(at));
  }

  // A page plays from the beginning at first, and again once it is at the end.
  setPlaying(on) {
    const { state } = this;
    state.playing = on && this.count > 1;
    const anew = state.opened || state.index >= this.count - 1;
    if (state.playing && anew && !this.live) this.seek(0);
    this.big.hidden = true;
    state.dirty = true;
  }

  toggle() {
    if (this.transport?.toggle) this.transport.toggle();
    else this.setPlaying(!this.state.playing);
    this.redraw();
  }

  step(n) {
    const { state } = this;
    if (this.transport?.step && state.edge && n > 0) {
      this.transport.step(n);
      return;
    }
    state.playing = false;
    this.seek(state.index + n);
  }

  setSpeed(value) {
    this.state.speed = value;
    this.transport?.setSpeed?.(value);
  }

  changeSpeed(by) {
    const nearest = SPEEDS.findIndex((speed) => speed >= this.state.speed);
    const from = nearest < 0 ? SPEEDS.length - 1 : nearest;
    this.bar.showSpeed(SPEEDS[Math.min(Math.max(from + by, 0), SPEEDS.length - 1)]);
    this.setSpeed(Number(this.bar.speed.value));
  }

  advance(passed) {
    const { state, clock } = this;
    if (!state.playing || this.live) return;
    state.clock += passed * state.speed;
    const index = clock.frameAt(state.clock);
    if (index !== state.index) this.show(index);
    if (state.clock >= clock.end) {
      state.clock = clock.end;
      state.playing = false;
      state.dirty = true;
    }
  }

  // ---- View -----------------------------------------------------------------------------------

  fit() {
    this.box = this.area ?? runBox(this.recording);
    this.view.fit(this.box);
    this.state.moved = false;
    this.state.follow = null;
    this.redraw();
  }

  resize() {
    const { view, canvas } = this;
    const { width, height } = this.stage.getBoundingClientRect();
    const ratio = Math.min(devicePixelRatio || 1, 2.5);
    const size = `${width} ${height} ${ratio}`;
    if (size === this.sizedAt || width === 0) return;
    this.sizedAt = size;
    view.width = width;
    view.height = height;
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
    if (!this.state.moved && this.box) view.fit(this.box);
    this.redraw();
    this.plotsDue = 0;
  }

  zoom(factor) {
    this.view.zoomAt([this.view.width / 2, this.view.height / 2], factor);
    this.state.moved = true;
    this.redraw();
  }

  positionOf(selection) {
    const { frame } = this.state;
    const i = frame && selection ? find(frame, selection) : -1;
    if (i < 0) return null;
    const at = [frame.q[3 * i + 1], frame.q[3 * i + 2]];
    return Number.isFinite(at[0]) && Number.isFinite(at[1]) ? at : null;
  }

  // The view moves with the body; the reader chooses its place in the view.
  trackFollowed() {
    const { state, view } = this;
    if (!state.follow) return;
    const at = this.positionOf(state.follow);
    if (at && state.followed) {
      view.x += at[0] - state.followed[0];
      view.y += at[1] - state.followed[1];
    }
    state.followed = at ?? state.followed;
  }

  follow(selection) {
    const { state, view } = this;
    if (!selection || selection.kind !== "body" || same(state.follow, selection)) {
      state.follow = null;
    } else {
      state.follow = selection;
      state.followed = this.positionOf(selection);
      if (state.followed && this.area) view.x = state.followed[0] + (this.area.lo[0] + this.area.hi[0]) / 2;
      else if (state.followed) [view.x, view.y] = state.followed;
      state.moved = true;
    }
    state.dirty = true;
  }

  // The part of the world that the script wants to show, [x, y, x, y]; null: a part that suits the
  // run. With a followed body its x counts from there.
  showArea(corners) {
    const text = JSON.stringify(corners);
    if (text === JSON.stringify(this.corners ?? null)) return;
    this.corners = corners;
    this.area = corners && { lo: corners.slice(0, 2), hi: corners.slice(2) };
    if (!this.state.moved) this.fit();
  }

  // As the script or the command requests; the reader may undo it.
  followBody(serial) {
    const selection = { kind: "body", serial };
    if (serial > 0 && !same(this.state.follow, selection)) this.follow(selection);
  }

  select(selection) {
    this.state.selection = selection;
    this.big.hidden ||= selection !== null;
    this.redraw();
  }

  // ---- Drawing --------------------------------------------------------------------------------

  redraw() {
    this.state.dirty = true;
  }

  draw() {
    const { view, canvas, state } = this;
    const ctx = canvas.getContext("2d", { alpha: false });
    const { lost, away } = drawPicture(ctx, canvas.width / view.width, {
      view,
      overlays: this.overlays,
      series: this.series,
      theme: themeOf(state.dark),
      frame: state.frame,
      selection: state.selection,
      now: this.clock.at[state.index],
      hooks: this.drawHooks,
    });
    Object.assign(state, { lost, away });
  }

  describe() {
    const { frame, lost, follow } = this.state;
    const name = titleOf(this.recording);
    if (this.title.textContent !== name) this.title.textContent = document.title = name;
    if (!frame) {
      this.facts.textContent = "";
      return;
    }
    const bodies = frame.scene.bodies.length,
      parts = [`${bodies} ${bodies === 1 ? "body" : "bodies"}`];
    parts.push(`${frame.contacts.length} ${frame.contacts.length === 1 ? "contact" : "contacts"}`);
    if (lost > 0) parts.push(`${lost} without a finite position`);
    if (follow) {
      const i = find(frame, follow);
      parts.push(`following ${i < 0 ? "what is gone" : bodyName(frame.scene.bodies[i])}`);
    }
    this.facts.textContent = parts.join(" · ");
  }

  // ---- The loop -------------------------------------------------------------------------------

  get hasPanel() {
    return this.root.classList.contains("with-panel");
  }

  gather(now) {
    const { series, overlays, state, clock } = this;
    const fresh = series.work(state.playing ? BACKGROUND_WORK : 3 * BACKGROUND_WORK);
    if (fresh && (overlays.trails || overlays.normals || overlays.friction || overlays.velocities))
      state.dirty = true;
    const whole = series.done && this.recording.complete; // no more data will come
    if (fresh) this.plotsDue = whole ? now : Math.min(this.plotsDue, this.plotsAt + PLOT_INTERVAL);
    if (this.count === 0 || now < this.plotsDue || !this.hasPanel) return;
    this.plotsAt = now;
    this.plotsDue = series.done ? Infinity : now + PLOT_INTERVAL;
    this.plots.update(series, series.channels);
    // Plots know their scales when this picture is finished.
    requestAnimationFrame(() => this.plots.present(clock.at[state.index] ?? 0));
  }

  drawTimed() {
    const { stats } = this;
    const start = performance.now();
    this.draw();
    const took = performance.now() - start;
    stats.draws++;
    stats.total += took;
    stats.worst = Math.max(stats.worst, took);
  }

  tick(now) {
    const { state } = this;
    // a page that was hidden does not jump ahead
    this.advance(Math.min(Math.max(now - this.before, 0), 250) / 1000);
    this.before = now;
    this.resize();
    this.gather(now);
    // the picture, when something has changed
    if (state.dirty) {
      state.dirty = false;
      this.drawTimed();
      this.describe();
      this.bar.update({
        index: state.index,
        frameCount: this.count,
        time: state.frame?.time,
        end: this.recording.time(this.count - 1),
        playing: this.playing,
        decimals: this.decimals,
      });
      this.panelStale = true;
    }
    // numbers and plots less often while it plays: they take longer than the picture
    if (this.panelStale && (!this.playing || now - this.panelAt >= PANEL_INTERVAL)) {
      this.panelStale = false;
      this.panelAt = now;
      if (this.hasPanel) {
        this.inspector.update(state.frame, state.selection, same(state.follow, state.selection));
        this.plots.present(this.clock.at[state.index] ?? 0);
      }
    }
    requestAnimationFrame((then) => this.tick(then));
  }

  // ---- Appearance -----------------------------------------------------------------------------

  setDark(dark) {
    const { themeButton } = this;
    this.state.dark = dark;
    document.documentElement.dataset.theme = dark ? "dark" : "light";
    const label = dark ? "Light" : "Dark";
    themeButton.replaceChildren(iconButton(dark ? "sun" : "moon", label).firstChild);
    themeButton.setAttribute("aria-label", label);
    themeButton.title = label;
    this.plots.setTheme(themeOf(dark));
    this.redraw();
  }

  showPanel(on) {
    this.root.classList.toggle("with-panel", on);
    this.panel.inert = !on;
    this.panelButton.setAttribute("aria-expanded", String(on));
    this.plotsDue = 0;
    this.redraw();
  }

  togglePanel() {
    this.showPanel(!this.hasPanel);
  }

  notice(text, kind = "info") {
    this.noticeLine.hidden = !text;
    this.noticeLine.textContent = text;
    this.noticeLine.dataset.kind = kind;
  }

  tellOfRecording() {
    const { problem, complete } = this.recording;
    if (problem) {
      const text = `The recording is damaged (${problem}); what comes before that is shown.`;
      this.notice(text, "error");
    } else if (!this.live && this.count === 0) {
      this.notice("Nothing was recorded.");
    } else if (!this.live && !complete) {
      this.notice(`The run was cut short; this is what it left: ${this.count} frames.`);
    }
  }

  // ---- Actions of the reader ------------------------------------------------------------------

  listen() {
    const { state, help, figures, overlays } = this;
    const keys = {
      // time
      " ": () => this.toggle(),
      ArrowRight: (e) => this.step(e.shiftKey ? 10 : 1),
      ArrowLeft: (e) => this.step(e.shiftKey ? -10 : -1),
      Home: () => this.seek(0),
      End: () => this.seek(this.count - 1),
      // the view
      "+": () => this.zoom(1.25),
      "=": () => this.zoom(1.25),
      "-": () => this.zoom(0.8),
      f: () => (state.selection?.kind === "body" ? this.follow(state.selection) : this.fit()),
      0: () => this.fit(),
      // speed, appearance, panels
      "[": () => this.changeSpeed(-1),
      "]": () => this.changeSpeed(1),
      d: () => this.setDark(!state.dark),
      p: () => this.togglePanel(),
      "?": () => help.toggle(),
      Escape: () => {
        if (help.open) help.toggle();
        else if (figures.dialog.open) figures.dialog.close();
        else this.select(null);
      },
    };
    listenForKeys(keys, this.keyHooks, (n) => {
      const overlay = OVERLAYS[n - 1]?.key;
      if (overlay) this.overlayPanel.set(overlay, !overlays[overlay]);
    });
    // Dragging, zooming and clicking in the picture.
    attachCamera(this.canvas, this.view, {
      frame: () => state.frame,
      overlays,
      hooks: this,
      onSelect: (hit) => this.select(hit),
      onFollow: (hit) => {
        this.select(hit);
        this.follow(hit);
      },
      onView: () => {
        state.moved = true;
        state.dirty = true;
      },
    });
    this.darkQuery.addEventListener("change", (event) => this.setDark(event.matches));
  }

  // ---- Boundary -------------------------------------------------------------------------------

  begin(recording) {
    const { state, live, overlays } = this;
    this.recording = recording;
    this.clock = new Clock(recording);
    this.clock.update();
    this.series = new Series(recording, this.clock);
    this.plots.reset();
    this.about.update(recording);
    if (!live) this.figures.update(recording.plots);
    this.plotsDue = 0;
    this.decimals = decimalsFor(recording);
    Object.assign(state, { playing: false, selection: null, follow: null, edge: live });
    this.show(live ? 0 : tellingFrame(recording));
    state.clock = this.clock.at[state.index] ?? this.clock.start;
    state.opened = !live;
    this.fit();
    this.big.hidden = live || this.count < 2;
    // As the script or the command requests.
    const { view_follow: followed, view_trails: trails, view_speed: speed } = recording.run;
    if (followed !== undefined) this.followBody(Number(followed));
    if (trails === "all") this.overlayPanel.set("trails", true);
    if (speed > 0 && !live) {
      this.bar.showSpeed(Number(speed));
      this.setSpeed(Number(speed));
    }
  }

  replace(recording) {
    this.begin(recording);
  }

  arrived() {
    const { state } = this;
    const first = state.frame === null;
    this.clock.update();
    this.decimals = decimalsFor(this.recording);
    if (state.edge || first) this.show(this.count - 1);
    state.clock = this.clock.at[state.index] ?? 0;
    if (first) {
      const { follow } = state;
      this.fit();
      this.follow(follow);
      this.about.update(this.recording);
    }
    state.dirty = true;
  }

  section(name) {
    const content = h("div");
    this.sections.append(h("section", {}, h("h2", {}, name), content));
    // A phone shows the picture first.
    if (!this.hasPanel && innerWidth >= 760) this.showPanel(true);
    return content;
  }

  showPlots(pairs) {
    this.figures.update(pairs);
  }

  onDraw(hook) {
    this.drawHooks.push(hook);
  }

  onKey(hook) {
    this.keyHooks.push(hook);
  }

  showReset() {
    this.bar.reset.hidden = false;
  }

  // Data for tests and for debugging.
  makeInspect() {
    const player = this, { view, state, stats, overlays } = this;
    return {
      player,
      view,
      stats,
      overlays,
      get frameCount() { return player.count; },
      get index() { return state.index; },
      get frame() { return state.frame; },
      get time() { return state.frame?.time; },
      get playing() { return player.playing; },
      get selection() { return state.selection; },
      get following() { return state.follow; },
      get away() { return state.away; },
      get ready() {
        const plotted = player.count === 0 || player.plotsDue === Infinity || !player.hasPanel;
        return player.series.done && !state.dirty && plotted;
      },
      get series() { return player.series; },
      toScreen: (p) => view.toScreen(p),
      toWorld: (p) => view.toWorld(p),
      seek: (index) => player.seek(index),
      select: (selection) => player.select(selection),
      draw: () => player.draw(),
      // The poses at which bodies are drawn.
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
  }
}

export function createPlayer(root, recording, options) {
  return new Player(root, recording, options);
}
