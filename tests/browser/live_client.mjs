// A client of the live viewer without a browser: one that can be rude. Only what node brings along.
import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { connect } from "node:net";
import { request } from "node:http";
import { once } from "node:events";
import { Recording } from "../../lua/viewer/src/s2d.js";

const SIM2D = process.env.S2_SIM2D ?? "build/sim2d";

export const sleep = (ms) => new Promise((done) => setTimeout(done, ms));

// Waits until `value()` is truthy and returns that.
export async function until(what, value, ms = 20000) {
  const end = Date.now() + ms;
  for (;;) {
    const found = await value();
    if (found) return found;
    if (Date.now() > end) throw new Error(`waited in vain until ${what}`);
    await sleep(10);
  }
}

// ---- The program --------------------------------------------------------------------------------

// Runs `sim2d ...args`; .out and .err fill, .address() waits for what it prints.
export function sim2d(args, options = {}) {
  const child = spawn(options.command ?? SIM2D, args, { stdio: ["ignore", "pipe", "pipe"], ...options });
  const run = { child, out: "", err: "", status: undefined };
  child.stdout.on("data", (bytes) => (run.out += bytes));
  child.stderr.on("data", (bytes) => (run.err += bytes));
  child.on("close", (code, signal) => (run.status = code ?? signal)); // all it printed is here then
  run.ended = () => until("the program ends", () => run.status !== undefined).then(() => run.status);
  run.address = async () => {
    const found = await until("an address is printed", () => {
      if (run.status !== undefined) throw new Error(`sim2d ended (${run.status}): ${run.err}`);
      return run.err.match(/^viewer: (http:\S+)$/m);
    });
    return new URL(found[1]);
  };
  run.says = (text) => until(`it says ${text}`, () => (run.out + run.err).includes(text));
  run.quit = async () => {
    if (run.status === undefined) child.kill("SIGINT");
    return run.ended();
  };
  return run;
}

// Status and text of a GET.
export function get(address, { path, headers } = {}) {
  return new Promise((done, failed) => {
    const asked = request({ host: address.hostname, port: address.port, headers,
      path: path ?? address.pathname + address.search });
    asked.on("error", failed);
    asked.on("response", (response) => {
      let text = "";
      response.on("data", (bytes) => (text += bytes));
      response.on("end", () => done({ status: response.statusCode, headers: response.headers, text }));
    });
    asked.end();
  });
}

// ---- Websocket ----------------------------------------------------------------------------------

// Opens a websocket; { status } alone when it is refused.
async function upgrade(address, { headers = {}, path } = {}) {
  const socket = connect(Number(address.port), address.hostname);
  await once(socket, "connect");
  const all = { Host: address.host, Upgrade: "websocket", Connection: "Upgrade",
    "Sec-WebSocket-Version": 13, "Sec-WebSocket-Key": randomBytes(16).toString("base64"), ...headers };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`).join("");
  socket.write(`GET ${path ?? `/live${address.search}`} HTTP/1.1\r\n${lines}\r\n`);
  let head = Buffer.alloc(0);
  while (head.indexOf("\r\n\r\n") < 0) {
    const bytes = await Promise.race([once(socket, "data"), once(socket, "close").then(() => null)]);
    if (bytes === null) break;
    head = Buffer.concat([head, bytes[0]]);
  }
  const status = Number(head.toString("latin1").match(/^HTTP\/1\.1 (\d+)/)?.[1] ?? 0);
  if (status !== 101) {
    socket.destroy();
    return { status };
  }
  return { status, socket, rest: head.subarray(head.indexOf("\r\n\r\n") + 4) };
}

export const refusal = async (address, options) => {
  const { status, socket } = await upgrade(address, options);
  socket?.destroy();
  return status;
};

function masked(opcode, payload) {
  const mask = randomBytes(4);
  const length = payload.length < 126 ? Buffer.from([0x80 | payload.length])
    : Buffer.from([0x80 | 126, payload.length >> 8, payload.length & 255]);
  return Buffer.concat([Buffer.from([0x80 | opcode]), length, mask,
    Buffer.from(payload.map((byte, i) => byte ^ mask[i % 4]))]);
}

// The newest state, controls, values, notice; scene { names, ids } and frame { time, step, joints, bodies:
// [{ angle, x, y }] }; counts of messages.
export async function client(address, { read = true } = {}) {
  const { status, socket, rest } = await upgrade(address);
  if (status !== 101) throw new Error(`refused: ${status}`);
  const seen = { frames: 0, scenes: 0, closed: false, bytes: 0 };
  let buffer = rest;
  const message = (opcode, payload) => {
    if (opcode === 1) {
      const value = JSON.parse(payload.toString("utf8"));
      seen[value.type] = value;
    } else if (opcode === 2) {
      seen.bytes += payload.length;
      take(seen, payload);
    } else if (opcode === 8) {
      seen.goodbye = payload.readUInt16BE(0);
      socket.write(masked(8, payload));
    } else if (opcode === 9) {
      socket.write(masked(10, payload));
    }
  };
  const consume = () => {
    while (buffer.length >= 2) {
      let size = buffer[1] & 127, at = 2;
      if (size === 126) (size = buffer.readUInt16BE(2)), (at = 4);
      if (buffer[1] === 127) (size = Number(buffer.readBigUInt64BE(2))), (at = 10);
      if (buffer.length < at + size) return;
      message(buffer[0] & 15, buffer.subarray(at, at + size));
      buffer = buffer.subarray(at + size);
    }
  };
  socket.on("error", () => {});
  socket.on("close", () => (seen.closed = true));
  if (read) {
    socket.on("data", (bytes) => {
      buffer = Buffer.concat([buffer, bytes]);
      consume();
    });
    consume();
  } else {
    socket.pause();
  }
  return Object.assign(seen, {
    send: (text) => socket.write(masked(1, Buffer.from(text))),
    raw: (bytes) => socket.write(bytes),
    close: () => socket.destroy(),
    // x, y, angle of the body of this name in the newest frame
    body: (name) => seen.frame?.bodies[seen.scene.names.indexOf(name)],
    until: (what, value, ms) => until(what, () => value(seen), ms),
  });
}

// What clients need of the newest frame; the page's own reader reads it.
function take(seen, bytes) {
  const isScene = bytes.toString("latin1", 0, 5) === "sim2d";
  if (isScene) seen.recording = new Recording();
  const { recording } = seen;
  recording.push(new Uint8Array(bytes)); // a copy: it is kept
  if (isScene) {
    const { bodies } = recording.scenes[0];
    seen.scene = { names: bodies.map((body) => body.name), ids: bodies.map(({ index, serial }) => [index, serial]) };
    seen.scenes++;
    return;
  }
  const { time, step, q, joints } = recording.frame(recording.frameCount - 1);
  const bodies = seen.scene.ids.map((_, i) => ({ angle: q[3 * i], x: q[3 * i + 1], y: q[3 * i + 2] }));
  seen.frame = { time, step, joints: joints.length, bodies };
  seen.frames++;
}
