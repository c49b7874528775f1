// The live viewer: passes data of the program that serves the page to a player, and sends the
// actions of the reader. Messages: core/view/server.h; texts of commands: lua/record/live.c and
// lua/sim2d/live.lua.
import "./live.css";
import { createControls } from "./panels/controls.js";
import { createKeys } from "./panels/keys.js";
import { h } from "./dom.js";
import { find } from "./draw/pick.js";
import { Recording } from "./s2d.js";

const MOST_BYTES = 3e8; // of frames kept for going back
const PATIENCE = 60; // ms for which a frame waits for the values that belong to it
const RETRY = 1000, RETRIES = 10; // ms between attempts to reconnect

// All frames since the start of the script, with its watched values as channels.
class LiveRecording extends Recording {
  constructor(script, watches) {
    super();
    this.run.script = script;
    this.channels = this.plotted = watches.map(({ name, unit }) => ({ name, unit }));
    this.watched = new Map(); // frame -> list
    this.taken = 0; // bytes
  }
  push(bytes) {
    this.channels = []; // the bytes contain none
    super.push(bytes);
    this.channels = this.plotted;
    this.taken += bytes.length;
  }
  frame(i) {
    const frame = super.frame(i), values = this.watched.get(i);
    if (values) frame.channels = values;
    return frame;
  }
}

export function connectLive(player) {
  let socket = null, failures = 0, connected = false;
  let asked; // the serial of the body that the script wants to be followed
  let state = null, watches = [], error = "", run = 0, shown = null;
  let scene = null, held = null, timer = 0; // the present scene; a frame that waits for its values

  const send = (text) => {
    if (socket?.readyState === WebSocket.OPEN) socket.send(text);
  };
  const controls = createControls(player, send);
  const keys = createKeys(player, send);
  const pill = h("button", { type: "button", class: "to-now", hidden: true,
    onclick: () => player.inspect.seek(player.recording.frameCount - 1) }, "Back to now");
  document.querySelector(".stage").append(pill);
  document.querySelector(".player").classList.add("live");

  // ---- Incoming messages ----------------------------------------------------------------------

  // A new run, another world, other watched values, or too much data: the view does not change.
  function startAnew() {
    const { x, y, scale } = player.view, first = player.recording.frameCount === 0;
    player.replace(new LiveRecording(state?.script ?? "", watches));
    player.followBody(asked ?? 0);
    if (scene) player.recording.push(scene);
    if (!first) restore = { x, y, scale };
  }
  let restore = null;

  function release(values) {
    clearTimeout(timer);
    if (held === null) return;
    const bytes = held;
    held = null;
    const recording = player.recording;
    if (recording.taken > MOST_BYTES) startAnew();
    player.recording.push(bytes);
    const newest = player.recording.frameCount - 1;
    if (values && player.recording.time(newest) === values.time) {
      player.recording.watched.set(newest, Float64Array.from(values.values, (v) => v ?? NaN));
    }
    player.arrived();
    if (restore) {
      Object.assign(player.view, restore);
      player.redraw();
      restore = null;
    }
    if (player.recording.problem) say();
  }

  function binary(bytes) {
    release(null);
    const isScene = bytes[0] === 0x73 && bytes[1] === 0x69; // "si" of "sim2d"; chunks start with a small number
    if (isScene) {
      // The header belongs to the beginning of a recording only.
      scene = bytes;
      if (player.recording.frameCount === 0) startAnew();
      else player.recording.push(bytes.subarray(HEADER));
      return;
    }
    held = bytes;
    if (watches.length === 0) release(null);
    else timer = setTimeout(() => release(null), PATIENCE);
  }
  const HEADER = 16; // bytes of a file before its first chunk

  const texts = {
    state(message) {
      const anew = message.run !== run || (shown !== null && message.shown !== 0 && message.shown !== shown);
      state = message;
      run = message.run;
      if (message.shown !== 0) shown = message.shown;
      if (anew) {
        release(null);
        scene = null;
        startAnew();
      }
      player.showArea(message.view ?? null);
      if (message.follow !== asked) player.followBody(message.follow ?? 0);
      asked = message.follow;
      controls.showState(message);
      player.showReset();
      player.redraw();
    },
    controls(message) {
      keys.ask(message.keys, message.axes);
      controls.show(message, state);
      if (JSON.stringify(watches) !== JSON.stringify(message.watches)) {
        release(null);
        watches = message.watches;
        startAnew();
      }
    },
    values: (message) => release(message),
    plots: (message) => player.showPlots(message.plots.map(({ name, svg }) => [name, svg])),
    notice(message) { error = message.text; },
  };

  function receive({ data }) {
    if (typeof data !== "string") {
      binary(new Uint8Array(data));
      return;
    }
    const message = JSON.parse(data);
    texts[message.type]?.(message);
    say();
  }

  function say() {
    const { problem } = player.recording;
    if (!connected) {
      player.notice(failures > RETRIES ? "The program has ended. This is the last that was seen of it."
        : "The connection is lost …", "error");
    } else if (error || problem) {
      player.notice(error || problem, "error");
    } else {
      player.notice(state?.ended ? "The script has ended." : "");
    }
  }

  // ---- The connection -------------------------------------------------------------------------

  function open() {
    socket = new WebSocket(`ws://${location.host}/live${location.search}`);
    socket.binaryType = "arraybuffer";
    socket.onmessage = receive;
    socket.onopen = () => {
      if (failures > 0) run = 0; // frames sent meanwhile are missing
      connected = true;
      failures = 0;
      say();
    };
    socket.onclose = () => {
      connected = false;
      keys.forget();
      say();
      if (failures++ < RETRIES) setTimeout(open, RETRY);
      else player.redraw();
    };
  }

  // ---- Actions of the reader ------------------------------------------------------------------

  const running = () => connected && state !== null && !state.paused && !state.ended;
  player.transport = {
    get playing() { return running(); },
    toggle() {
      if (state?.ended) send("reset");
      else send(running() ? "pause" : "resume");
    },
    step: (n) => send(`step ${n}`),
    reset: () => send("reset"),
    setSpeed: (pace) => send(`pace ${pace}`),
  };

  // A pull on a body: the point where it is held (body frame) and the target of the pull.
  let hand = null;
  player.pointer = {
    down(world, hit) {
      if (hit?.kind !== "body" || !player.edge || !connected || state?.ended) return false;
      const { frame } = player, i = find(frame, hit), body = frame.scene.bodies[i];
      if (i < 0 || body.type !== "dynamic") return false;
      const [angle, x, y] = frame.q.subarray(3 * i, 3 * i + 3), c = Math.cos(angle), s = Math.sin(angle);
      const dx = world[0] - x, dy = world[1] - y;
      hand = { hit, body, local: [c * dx + s * dy, c * dy - s * dx], target: world, pulls: false };
      return true;
    },
    move(world) {
      if (!hand) return;
      hand.target = world;
      if (!hand.pulls) send(`grab ${hand.body.index} ${hand.body.serial} ${hand.local.join(" ")} ${world.join(" ")}`);
      else send(`move ${world.join(" ")}`);
      hand.pulls = true;
      player.redraw();
    },
    up() {
      if (hand?.pulls) send("drop");
      hand = null;
      player.redraw();
    },
  };
  player.onDraw((ctx, view, frame) => {
    pill.hidden = player.edge;
    const i = hand?.pulls ? find(frame, hand.hit) : -1;
    if (i < 0) return;
    const [angle, x, y] = frame.q.subarray(3 * i, 3 * i + 3), c = Math.cos(angle), s = Math.sin(angle);
    const [lx, ly] = hand.local;
    const from = view.toScreen([x + c * lx - s * ly, y + s * lx + c * ly]), to = view.toScreen(hand.target);
    const style = getComputedStyle(document.documentElement);
    ctx.lineCap = "round";
    for (const [color, width] of [[style.getPropertyValue("--background"), 5], [style.getPropertyValue("--accent"), 2.2]]) {
      ctx.strokeStyle = ctx.fillStyle = color;
      ctx.lineWidth = width;
      ctx.beginPath();
      ctx.moveTo(...from);
      ctx.lineTo(...to);
      ctx.stroke();
      ctx.beginPath();
      ctx.arc(...from, width + 1.5, 0, 2 * Math.PI);
      ctx.fill();
    }
  });
  document.querySelector(".notice").addEventListener("click", () => {
    error = "";
    say();
  });

  player.inspect.live = { get state() { return state; }, get connected() { return connected; }, send };
  open();
}
