// Does the reader of the pages (lua/viewer/src/s2d.js) read what `sim2d inspect` reads, bit for bit?
//   node s2d_reader.mjs SIM2D SOURCE
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { pathToFileURL } from "node:url";

const [sim2d, source] = process.argv.slice(2);
const { Recording } = await import(pathToFileURL(join(source, "lua/viewer/src/s2d.js")));
const directory = mkdtempSync(join(tmpdir(), "sim2d-reader-"));
let failures = 0, annotated = 0;

function check(condition, ...message) {
  if (!condition) {
    failures += 1;
    if (failures < 20) console.log("not ok", ...message);
  }
}

function command(...words) {
  const result = spawnSync(sim2d, words, { encoding: "utf8", maxBuffer: 1 << 28 });
  if (result.status !== 0) throw new Error(`sim2d ${words.join(" ")}: ${result.stderr}`);
  return result.stdout;
}

// JSON has null for what is no finite number.
function same(name, got, wanted) {
  if (wanted === null) return check(!Number.isFinite(got), name, got, "is not null");
  if (typeof wanted === "object" && wanted.length !== undefined) {
    check(got.length === wanted.length, name, "has", got.length, "not", wanted.length);
    return wanted.forEach((item, k) => same(`${name}[${k}]`, got[k], item));
  }
  check(Object.is(got, wanted) || (got === 0 && wanted === 0), name, got, "is not", wanted);
}

function compareFrame(got, wanted, scene, index) {
  const at = (name) => `frame ${index}: ${name}`;
  same(at("step"), got.step, wanted.step);
  same(at("time"), got.time, wanted.time);
  same(at("hash"), got.hash, wanted.hash);
  same(at("kinetic"), got.energy.kinetic, wanted.kinetic);
  same(at("potential"), got.energy.potential, wanted.potential);
  same(at("momentum"), got.momentum, wanted.momentum);
  same(at("residual"), got.residual, wanted.residual);
  same(at("iterations"), got.iterations, wanted.iterations);
  same(at("bodies"), scene.bodies.map((body) => body.name), wanted.bodies.map((body) => body.name));
  same(at("q"), got.q, wanted.bodies.flatMap((body) => body.q));
  same(at("v"), got.v, wanted.bodies.flatMap((body) => body.v));
  const names = { point: "point", normal: "normal", gap: "gap", normalImpulse: "normal_impulse",
    tangentImpulse: "tangent_impulse", sliding: "sliding", a: "a", b: "b" };
  check(got.contacts.length === wanted.contacts.length, at("contacts"));
  wanted.contacts.forEach((contact, k) => {
    for (const [mine, theirs] of Object.entries(names)) {
      same(at(`contact ${k} ${mine}`), got.contacts[k][mine], contact[theirs]);
    }
  });
  check(got.annotations.length === wanted.annotations.length, at("annotations"));
  wanted.annotations.forEach((item, k) => {
    for (const key of ["type", "color", "text", "from", "to", "size", "letters"]) {
      check(JSON.stringify(got.annotations[k][key]) === JSON.stringify(item[key]), at(`annotation ${k} ${key}`));
    }
  });
  annotated += wanted.annotations.length;
  const joint = { anchorA: "anchor_a", anchorB: "anchor_b", impulse: "impulse", angle: "angle",
    speed: "speed" };
  check(got.joints.length === wanted.joints.length, at("joints"));
  wanted.joints.forEach((item, k) => {
    for (const [mine, theirs] of Object.entries(joint)) {
      same(at(`joint ${k} ${mine}`), got.joints[k][mine], item[theirs]);
    }
  });
}

function readInPieces(bytes, piece) {
  const recording = new Recording();
  for (let i = 0; i < bytes.length; i += piece) recording.push(bytes.subarray(i, i + piece));
  return recording;
}

function compareScene(name) {
  const path = join(directory, `${basename(name)}.s2d`);
  command("--quiet", "--record", path, join(source, "scenes", `${name}.lua`));
  const bytes = readFileSync(path);
  const summary = JSON.parse(command("inspect", "--json", path));
  const recording = readInPieces(bytes, 9973);
  check(recording.complete && recording.problem === "", name, "complete", recording.problem);
  same("frames", recording.frameCount, summary.frames);
  same("run", recording.run.entries.flat(), summary.run.flat());
  const last = summary.frames - 1;
  const picked = [0, 1, 2, 31, 32, 33, 64, last >> 1, last - 1, last, 5, 40];
  for (const i of picked.filter((index) => index >= 0 && index <= last)) {
    const wanted = JSON.parse(command("inspect", "--json", path, "--frame", String(i)));
    const frame = recording.frame(i);
    same(`time(${i})`, recording.time(i), wanted.time);
    compareFrame(frame, wanted, frame.scene, i);
  }
  check(recording.frame(-1) === null && recording.frame(last + 1) === null, name, "no such frame");
  return bytes;
}

// Cut anywhere, bent anywhere: no exception, and frames that are there can be read.
function abuse(bytes) {
  const whole = readInPieces(bytes, 1 << 20).frameCount;
  for (let i = 0; i < 200; i++) {
    const cut = readInPieces(bytes.subarray(0, Math.floor(bytes.length * i / 200)), 1 << 20);
    check(!cut.complete && cut.frameCount <= whole, "cut", i);
    if (cut.frameCount > 0) check(cut.frame(cut.frameCount - 1) !== null, "last frame of a cut", i);
  }
  let random = 1;
  const next = (n) => (random = (Math.imul(random, 1103515245) + 12345) >>> 0) % n;
  for (let i = 0; i < 100; i++) {
    const bent = Uint8Array.from(bytes);
    bent[16 + next(bytes.length - 16)] ^= 1 + next(255);
    const read = readInPieces(bent, 1 << 20);
    check(!read.complete && read.frameCount <= whole, "a bent byte", i);
  }
}

// Frames whose contents lie although their checksum fits.
function lie(bytes, times) {
  let random = 7;
  const next = (n) => (random = (Math.imul(random, 1103515245) + 12345) >>> 0) % n;
  for (let i = 0; i < times; i++) {
    const recording = readInPieces(bytes, 1 << 20);
    const frame = next(recording.frameCount);
    recording.bytes[recording.offsets[frame] + next(recording.sizes[frame])] ^= 1 << next(8);
    for (let k = Math.max(0, frame - 2); k < Math.min(recording.frameCount, frame + 3); k++) {
      recording.frame(k); // something or null, and no exception
    }
  }
}

try {
  const bytes = compareScene("contacts/newtons_cradle");
  for (const name of ["contacts/disc_pile", "contacts/galton", "joints/rope_bridge", "joints/breaking_joint",
                      "machines/car"]) {
    compareScene(name);
  }
  const drawn = compareScene("machines/lidar");
  check(annotated > 0, "no annotation was compared");
  lie(drawn, 30); // a long file, read again each time: for the annotations, which the other has not
  abuse(bytes);
  lie(bytes, 300);
} finally {
  rmSync(directory, { recursive: true });
}
console.log(failures === 0 ? "ok" : `${failures} failures`);
process.exit(failures === 0 ? 0 : 1);
