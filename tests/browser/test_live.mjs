// The live viewer's server, commands and --watch, from outside: real processes, real sockets, no
// browser.
import test from "node:test";
import assert from "node:assert/strict";
import { connect, createServer } from "node:net";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync, renameSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { client, get, refusal, sim2d as start, sleep, until } from "./live_client.mjs";

// Those that a failed test leaves behind would be waited for.
const runs = [];
function sim2d(...how) {
  runs.push(start(...how));
  return runs.at(-1);
}

const probe = sim2d(["--view", "-e", "os.exit(0)"]);
await probe.ended();
if (probe.err.includes("built without the live viewer")) {
  console.log(`SKIPPED: ${probe.err.trim()}`);
  process.exit(77);
}

const folder = mkdtempSync(join(tmpdir(), "sim2d-live-"));
test.after(() => {
  runs.forEach((run) => run.child.kill("SIGKILL"));
  rmSync(folder, { recursive: true });
});

let scripts = 0;
function script(text) {
  const path = join(folder, `script-${++scripts}.lua`);
  writeFileSync(path, text);
  return path;
}

const BOX = `
local sim = require "sim2d"
local world = sim.world {}
world:box { name = "floor", type = "static", position = { 0, -0.5 }, size = { 40, 1 } }
local box = world:box { name = "box", position = { 0, 0.5 }, size = { 1, 1 }, friction = 0.4 }
`;
const LONG = "world:run { duration = 1000, progress = false }\n";

// Runs the test with the program and a first client; both are gone afterwards, and Ctrl-C ended it.
function live(name, text, body, args = []) {
  test(name, { timeout: 60000 }, async () => {
    const run = sim2d(["--view", ...args, script(text)]);
    try {
      const address = await run.address();
      const page = await client(address);
      await page.until("there is a frame", (seen) => seen.frame && seen.state);
      await body({ run, address, page });
      page.close();
      await run.quit();
    } finally {
      run.child.kill("SIGKILL");
    }
  });
}

const grab = (page, name, x, y) => {
  const [slot, serial] = page.scene.ids[page.scene.names.indexOf(name)];
  page.send(`grab ${slot} ${serial} 0 0 ${x} ${y}`);
};

// ---- Who may come in ----------------------------------------------------------------------------

live("only who knows the address comes in", BOX + LONG, async ({ address }) => {
  const page = await get(address);
  assert.equal(page.status, 200);
  assert.match(page.text, /<html/);
  assert.match(page.headers["content-security-policy"], /default-src 'none'/);
  assert.equal(address.hostname, "127.0.0.1");
  assert.match(address.search, /^\?token=[0-9a-f]{32}$/);
  const wrong = `?token=${"0".repeat(32)}`;
  assert.equal((await get(address, { path: "/" })).status, 403);
  assert.equal((await get(address, { path: `/${wrong}` })).status, 403);
  assert.equal((await get(address, { path: `/${address.search}0` })).status, 403);
  assert.equal((await get(address, { path: "/%2e%2e/etc/passwd" })).status, 403);
  assert.equal((await get(address, { path: `/etc/passwd${address.search}` })).status, 404);
  // A name of somebody else's that leads here, and a page of somebody else's.
  const rebound = { Host: `evil.example:${address.port}` };
  const foreign = { Origin: "http://evil.example" };
  assert.equal((await get(address, { headers: rebound })).status, 403);
  assert.equal((await get(address, { headers: foreign })).status, 403);
  assert.equal(await refusal(address, { path: "/live" }), 403);
  assert.equal(await refusal(address, { path: `/live${wrong}` }), 403);
  assert.equal(await refusal(address, { headers: rebound }), 403);
  assert.equal(await refusal(address, { headers: foreign }), 403);
  assert.equal(await refusal(address, { headers: { Origin: "null" } }), 403);
  assert.equal(await refusal(address, { headers: { Origin: address.origin } }), 101);
});

live("more clients than places are refused, and places become free", BOX + LONG, async ({ address }) => {
  const others = [];
  for (let i = 0; i < 7; i++) others.push(await client(address));
  assert.equal(await refusal(address), 503);
  others.forEach((other) => other.close());
  await until("a place is free", async () => (await refusal(address)) === 101);
});

// Each of them, sent by anybody, ended the program when errors were answered on a thread with too
// small a stack.
live("refused handshakes and broken frames end nothing but themselves", BOX + LONG, async ({ address, page }) => {
  const key = "Sec-WebSocket-Key", version = "Sec-WebSocket-Version";
  const evil = { Host: "evil.example", Origin: "http://evil.example" };
  const live = `/live${address.search}`;
  for (const [path, headers, status] of [
    ["/", evil, 403], ["/other", {}, 403], ["/live", { [version]: 12 }, 403], ["/live", { [key]: "" }, 403],
    ["/live", { [key]: "A".repeat(3000) }, 403], [`/other${address.search}`, {}, 404],
    [live, { [version]: 12 }, 426], [live, { [key]: "" }, 400], [live, { [key]: "A".repeat(3000) }, 400],
    ["/live", { Cookie: "x".repeat(20000) }, 431],
  ]) assert.equal(await refusal(address, { path, headers }), status);
  for (const length of [[0, 0, 0, 0, 0x80, 0, 0, 0], [0, 0, 0, 1, 0, 0, 0, 0], Array(8).fill(0xff)]) {
    const other = await client(address);
    other.raw(Buffer.from([0x81, 0xff, ...length, 1, 2, 3, 4]));
    await other.until("it is closed", (seen) => seen.closed);
  }
  for (const bytes of [[0x81], [0x81, 0x87, 0, 0, 0, 0]]) { // and goes away
    const other = await client(address);
    other.raw(Buffer.from(bytes));
    other.close();
  }
  const { step } = page.frame;
  await page.until("it goes on", (seen) => seen.frame.step > step + 10);
  await until("all places are free", async () => (await refusal(address, { path: live })) === 101);
});

live("who says nothing does not keep the page from loading", BOX + LONG, async ({ address, page }) => {
  const silent = [];
  for (let i = 0; i < 378; i++) {
    const one = connect(Number(address.port), address.hostname).on("error", () => {});
    await once(one, "connect");
    silent.push(one);
  }
  assert.equal((await get(address)).status, 200);
  assert.equal(page.closed, false);
  silent.forEach((one) => one.destroy());
});

// ---- Commands -----------------------------------------------------------------------------------

live("pause, step, pace, resume", BOX + LONG, async ({ page }) => {
  page.send("pause");
  await page.until("it pauses", (seen) => seen.state.paused);
  await sleep(100); // what was under way
  const { step } = page.frame;
  await sleep(300);
  assert.equal(page.frame.step, step);
  page.send("step 1");
  await page.until("it steps once", (seen) => seen.frame.step === step + 1);
  page.send("step 10");
  await page.until("it steps ten times", (seen) => seen.frame.step === step + 11);
  await sleep(200);
  assert.equal(page.frame.step, step + 11);
  page.send("pace 0"); // 1000 s of this would take minutes in real time
  page.send("resume");
  await page.until("it runs", (seen) => !seen.state.paused && seen.state.pace === 0 && seen.frame.time > 100);
});

live("dragging moves a body, and letting go leaves nothing behind", BOX + LONG, async ({ page }) => {
  page.send("pace 0");
  grab(page, "box", 2, 4);
  await page.until("the box is lifted", (seen) => Math.abs(page.body("box").y - 4) < 0.1);
  assert.equal(page.frame.joints, 1);
  page.send("move 3 2");
  await page.until("it follows", () => Math.hypot(page.body("box").x - 3, page.body("box").y - 2) < 0.1);
  page.send("drop");
  await page.until("it falls", (seen) => seen.frame.joints === 0 && page.body("box").y < 0.6);
  grab(page, "floor", 0, 5); // what does not move stays
  page.send("drop");
  page.send("grab 999 999 0 0 0 0");
  page.send("drop");
  const { step } = page.frame;
  await page.until("it goes on", (seen) => seen.frame.step > step + 100 && seen.frame.joints === 0);
});

live("a client that leaves lets go", BOX + LONG, async ({ page, address }) => {
  const other = await client(address);
  await other.until("there is a frame", (seen) => seen.frame);
  grab(other, "box", 0, 5);
  await page.until("the box is held", (seen) => seen.frame.joints === 1);
  other.close();
  await page.until("the box is free", (seen) => seen.frame.joints === 0);
});

const CONTROLS = BOX + `
local push = sim.slider { name = "push", min = 0, max = 20, value = 1, unit = "N",
  on_change = function(value) print("pushed", value) io.stdout:flush() end }
sim.button { name = "kick", on_press = function() box.velocity = { 0, 20 } end }
sim.button { name = "fail", on_press = function() error "oh no" end }
sim.watch("height", function() return box.y end, "m")
sim.watch("bad", function() return box.nonsense end)
world:before_step(function()
  if sim.key "left" then box.x = -7 end
  box.color = ("#%02x0000"):format(math.floor(push.value))
end)
` + LONG;

const TUNED = BOX + `
local cost = sim.control.cost { { "height", of = box, field = "y", weight = 2 } }
local motor = world:actuator { "push", body = box, kind = "force", direction = { 1, 0 } }
local law = sim.control.pid { kp = 3, measure = function() return -1 end }
world:control(law, { cost = cost })
sim.control.tune(law, { name = "push" })
sim.control.tune(cost, { on_change = function(name, value) print(name, value) io.stdout:flush() end })
` + LONG;

live("gains and weights are tuned while a law runs", TUNED, async ({ page, run }) => {
  await page.until("there are sliders", (seen) => seen.controls?.sliders.length === 5);
  assert.deepEqual(page.controls.sliders.map((slider) => slider.name), ["push kp", "push ki", "push kd", "height", "controls"]);
  assert.deepEqual(page.controls.watches.map((watch) => watch.name), ["u.push", "cost.height"]);
  await page.until("values come", (seen) => seen.values?.values[0] === 3);
  assert.ok(Math.abs(page.values.values[1] - 0.25) < 1e-6);
  page.send("set 1 7.5");
  await page.until("the gain acts", (seen) => seen.values.values[0] === 7.5);
  page.send("set 4 8");
  await run.says("height\t8.0");
  await page.until("the weight counts", (seen) => Math.abs(seen.values.values[1] - 1) < 1e-6);
});

live("sliders, buttons, keys, watched values", CONTROLS, async ({ page, address, run }) => {
  await page.until("there are controls", (seen) => seen.controls?.keys.includes("left"));
  assert.deepEqual(page.controls.sliders, [{ type: "slider", name: "push", min: 0, max: 20, value: 1,
    default: 1, unit: "N" }]);
  assert.deepEqual(page.controls.buttons.map((button) => button.name), ["kick", "fail"]);
  assert.deepEqual(page.controls.watches.map((watch) => [watch.name, watch.unit]),
    [["height", "m"], ["bad", ""]]);
  await page.until("values come", (seen) => seen.values);
  assert.ok(Math.abs(page.values.values[0] - 0.5) < 1e-6);
  assert.equal(page.values.values[1], null);
  assert.equal((run.err.match(/nonsense/g) ?? []).length, 1); // told once
  page.send("set 1 12.5");
  await page.until("the slider moved", (seen) => seen.controls.sliders[0].value === 12.5);
  await run.says("pushed\t12.5");
  page.send("set 1 99"); // a slider does not leave its range
  await page.until("the slider moved", (seen) => seen.controls.sliders[0].value === 20);
  page.send("press 1");
  await page.until("it jumps", () => page.body("box").y > 3);
  page.send("press 2");
  await page.until("the error is shown", (seen) => seen.notice?.text.includes("oh no"));
  assert.match(page.notice.text, /script-\d+\.lua:\d+: oh no\nstack traceback:/);
  page.send("key 1 left");
  await page.until("the key acts", () => Math.abs(page.body("box").x + 7) < 0.1);
  for (const text of ["set 9 1", "set 1 nan", "set 1", "set", "press 0", "press x", "key 1 unasked",
    "key 2 left", "option x 1", "pace -1", "pace x", "step 0", "step 1e99", "grab", "grab 1 2 3",
    "grab nan 1 1 1 1 1", "move", "world 77", "world x", "nonsense", "   ", "\u00e9"]) page.send(text);
  const { step } = page.frame;
  await page.until("it goes on", (seen) => seen.frame.step > step + 60);
  assert.equal(page.closed, false);
});

live("what is no command ends its connection, and nothing else", BOX + LONG, async ({ page, address }) => {
  const frame = (...bytes) => Buffer.from(bytes);
  const rude = [
    (c) => c.send("x".repeat(600)),
    (c) => c.send("pause\nresume"),
    (c) => c.raw(frame(0x82, 0x81, 0, 0, 0, 0, 1)), // binary
    (c) => c.raw(frame(0x88, 0x80, 0, 0, 0, 0)), // close
  ];
  for (const send of rude) {
    const other = await client(address);
    send(other);
    await other.until("it is closed", (seen) => seen.closed);
  }
  const { step } = page.frame;
  await page.until("it goes on", (seen) => seen.frame.step > step + 10);
});

// ---- Clients come and go ------------------------------------------------------------------------

live("who comes late sees the present; who leaves leaves the run going",
  BOX + 'world:run { duration = 3, progress = false } print "done" io.stdout:flush()', async ({ page, address, run }) => {
    await page.until("a second is over", (seen) => seen.frame.time > 1);
    const late = await client(address);
    await late.until("it sees", (seen) => seen.frame && seen.state && seen.controls);
    assert.ok(late.frame.time > 0.9);
    assert.deepEqual(late.scene.names, ["floor", "box"]);
    late.close();
    page.close();
    await run.says("done");
    await run.says("the script has ended");
    const last = await client(address);
    await last.until("it sees the end", (seen) => seen.frame && seen.state?.ended);
    assert.ok(Math.abs(last.frame.time - 3) < 1e-6);
    await run.quit();
    assert.equal(run.status, 0);
  });

const MANY = `
local sim = require "sim2d"
local world = sim.world { gravity = { 0, 0 } }
for i = 1, 500 do world:circle { radius = 0.1, position = { i, 0 }, velocity = { 0, 1 } } end
`;

live("a client that never reads costs nothing", MANY + LONG, async ({ page, address, run }) => {
  const memory = () => Number(readFileSync(`/proc/${run.child.pid}/status`, "utf8").match(/VmRSS:\s+(\d+)/)[1]);
  page.send("pace 0");
  await page.until("it runs", (seen) => seen.frames > 50);
  const before = memory();
  const stalled = [await client(address, { read: false }), await client(address, { read: false })];
  const from = page.frames;
  await page.until("many frames were made", (seen) => seen.frames > from + 300, 60000); // 24 kB each
  assert.ok(memory() < before + 4096, `${memory() - before} kB more`);
  stalled.forEach((one) => one.close());
  page.close();
  await run.quit(); // is not held up either
});

// ---- Runs ---------------------------------------------------------------------------------------

const OPTIONS = `
local sim = require "sim2d"
local opt = sim.options { height = { 2, "of the fall" }, fast = { false, "faster" }, name = { "ball", "a name" } }
local push = sim.slider { name = "push", max = 5 }
local world = sim.world {}
world:circle { name = opt.name, radius = 0.1, position = { 0, opt.height + push.value } }
pcall(world.run, world, { duration = 1000, progress = false }) -- does not stop a reset
pcall(world.run, world, { duration = 1000, progress = false })
`;

live("reset runs the script again; what was set in the page stays", OPTIONS, async ({ page, run }) => {
  await page.until("there are controls", (seen) => seen.controls);
  assert.deepEqual(page.controls.options.map(({ name, kind, value }) => [name, kind, value]),
    [["fast", "boolean", false], ["height", "number", 2], ["name", "string", "ball"]]);
  await page.until("it falls", (seen) => seen.frame.time > 0.3);
  page.send("pause");
  page.send("set 1 3");
  await page.until("the slider moved", (seen) => seen.controls.sliders[0].value === 3);
  page.send("reset");
  await page.until("it runs again", (seen) => seen.state.run === 2 && seen.frame.step === 0);
  assert.equal(page.body("ball").y, 5);
  assert.equal(page.state.paused, true);
  page.send("option height 7.5");
  await page.until("it runs again", (seen) => seen.state.run === 3 && seen.frame.step === 0 && page.body("ball")?.y === 10.5);
  page.send("option name a b");
  await page.until("it runs again", (seen) => seen.state.run === 4 && seen.scene.names[0] === "a b");
  page.send("option height tall"); // no number
  page.send("option nothing 1");
  page.send("step 1");
  await page.until("it steps", (seen) => seen.frame.step === 1);
  assert.equal(page.state.run, 4);
  assert.equal(run.err.match(/interrupted|again|traceback/), null);
});

test("--watch with --view: the page sees the script that is saved", { timeout: 60000 }, async () => {
  const path = script(BOX + LONG);
  const run = sim2d(["--watch", "--view", path]);
  const address = await run.address();
  const page = await client(address);
  await page.until("there is a frame", (seen) => seen.frame);
  writeFileSync(path, BOX.replace('"box"', '"crate"') + LONG);
  await page.until("it sees the new one", (seen) => seen.scene.names[1] === "crate" && seen.state.run >= 2);
  writeFileSync(path, BOX + "world:nonsense()\n");
  await page.until("it sees the error", (seen) => seen.notice?.text.includes("nonsense"));
  await until("it is told", () => /nonsense/.test(run.err)); // by another way than the page is
  writeFileSync(path, "syntax error");
  await page.until("it sees the error", (seen) => seen.notice.text.includes("syntax error"));
  writeFileSync(`${path}.new`, BOX.replace('"box"', '"case"') + LONG);
  renameSync(`${path}.new`, path); // as editors do
  await page.until("it sees the mended one", (seen) => seen.scene.names[1] === "case" && seen.notice.text === "");
  assert.equal(page.closed, false);
  page.close();
  assert.equal(await run.quit(), 130);
});

test("--watch alone", { timeout: 60000 }, async () => {
  const path = script('print "one"');
  const run = sim2d(["--watch", path]);
  await run.says("one\n");
  await run.says("runs again when it is saved");
  writeFileSync(path, 'print "two" error "broken"');
  await run.says("two\n");
  await run.says("broken");
  writeFileSync(path, "local w = require 'sim2d'.world {} print 'three' io.stdout:flush() while true do w:step() end");
  await run.says("three\n");
  writeFileSync(path, 'print "four!"'); // ends what goes on for ever
  await run.says("four!\n");
  await until("it has ended a third time", () => run.err.match(/the script has ended/g)?.length === 3);
  assert.equal(await run.quit(), 0);
});

test("the end does not wait for those who look on", { timeout: 60000 }, async () => {
  const path = script(BOX + LONG), took = [];
  for (let i = 0; i < 3; i++) {
    const run = sim2d(["--view", path]), address = await run.address();
    const pages = await Promise.all([client(address), client(address), client(address)]);
    await Promise.all(pages.map((page) => page.until("there is a frame", (seen) => seen.frame)));
    const before = performance.now();
    await run.quit();
    took.push(performance.now() - before);
    await pages[0].until("it is closed", (seen) => seen.closed);
    assert.equal(pages[0].goodbye, 1001); // going away
  }
  assert.ok(Math.min(...took) < 1000, `${took.map(Math.round)} ms`);
});

test("--watch looks at what the script loads, too", { timeout: 60000 }, async () => {
  const module = join(folder, "watched_part.lua"), other = join(folder, "watched_other.lua");
  writeFileSync(module, 'return "first"');
  writeFileSync(other, "extra = 1");
  const path = script(`package.path = [[${folder}/?.lua]] print(require "watched_part", loadfile [[${other}]]) ` +
    `dofile [[${other}]] print("extra", extra)`);
  const run = sim2d(["--watch", path]);
  await run.says("first");
  await run.says("extra\t1\n");
  writeFileSync(module, "return syntax error");
  await run.says("watched_part.lua:1:");
  writeFileSync(module, 'return "second"');
  await run.says("second");
  writeFileSync(other, "extra = 22");
  await run.says("extra\t22\n");
  await until("it waits", () => run.err.match(/the script has ended/g)?.length === 4);
  assert.equal(await run.quit(), 0);
});

test("a script from stdin: reset restores the world", { timeout: 60000 }, async () => {
  const path = script(BOX + "box.velocity = { 5, 0 }\n" + LONG);
  const { openSync } = await import("node:fs");
  const run = sim2d(["--view", "-"], { stdio: [openSync(path), "pipe", "pipe"] });
  const page = await client(await run.address());
  await page.until("it slides", (seen) => seen.frame && seen.frame.time > 0.5);
  page.send("pause");
  page.send("reset");
  await page.until("it is back", (seen) => seen.frame.step === 0);
  assert.equal(page.body("box").x, 0);
  assert.equal(page.state.run, 1);
  page.close();
  await run.quit();
});

live("several worlds: one is shown, the page chooses", `
local sim = require "sim2d"
local a, b = sim.world {}, sim.world {}
a:circle { name = "first", radius = 1 }
b:circle { name = "second", radius = 1 }
while true do a:step() b:step() end`, async ({ page }) => {
  await page.until("both are there", (seen) => seen.state.worlds.length === 2);
  assert.deepEqual(page.scene.names, ["first"]);
  page.send(`world ${page.state.worlds[1]}`);
  await page.until("the other is shown", (seen) => seen.scene.names[0] === "second" && seen.frame);
  assert.equal(page.state.shown, page.state.worlds[1]);
});

// ---- world:view ---------------------------------------------------------------------------------

test("world:view", { timeout: 60000 }, async () => {
  const run = sim2d([script(BOX + `
local view <close> = assert(world:view { wait = true, pace = 0 })
assert(view.address == world:view().address)
print(view) io.stdout:flush()
world:run { duration = 20, progress = false }
print("closing") io.stdout:flush()
`)]);
  const address = await run.address();
  await run.says(`View (${address.href})`);
  await sleep(200);
  assert.ok(!run.out.includes("closing")); // it waits for us
  const page = await client(address);
  await run.says("closing");
  assert.equal(await run.ended(), 0);
  await page.until("it is closed", (seen) => seen.closed);
  assert.ok(page.frames >= 1);
});

test("a script that steps no world is not waited for", { timeout: 60000 }, async () => {
  const run = sim2d(["--view", join(folder, "missing.lua")]);
  assert.equal(await run.ended(), 2);
  assert.match(run.err, /cannot open/);
  const failing = sim2d(["--view", script("error 'at once'")]);
  assert.equal(await failing.ended(), 1);
  const done = sim2d(["--view", script("print 'done'")]);
  assert.equal(await done.ended(), 0);
});

test("the module in a stock Lua", { timeout: 60000, skip: !process.env.S2_STOCK_LUA }, async () => {
  const run = sim2d([script(BOX + "box.velocity = { 5, 0 }\nlocal view = world:view()\n" +
    "world:run { duration = 30, progress = false }\nview:close() print 'closed'")],
  { command: process.env.S2_STOCK_LUA });
  const page = await client(await run.address());
  await page.until("it slides", (seen) => seen.frame && seen.frame.time > 0.3);
  page.send("pause");
  page.send("reset");
  await page.until("it is back", (seen) => seen.frame.step === 0);
  assert.equal(page.body("box").x, 0);
  page.send("pace 0");
  page.send("resume");
  assert.equal(await run.ended(), 0);
  assert.equal(run.out, "closed\n");
});

test("a port that is taken", { timeout: 60000 }, async () => {
  const taken = createServer().listen(0, "127.0.0.1");
  await once(taken, "listening");
  const { port } = taken.address();
  const run = sim2d([`--view=${port}`, script(BOX)]);
  assert.equal(await run.ended(), 1);
  assert.match(run.err, /^sim2d: --view: the live viewer cannot listen on 127\.0\.0\.1:\d+/);
  const inside = sim2d([script(BOX + `print(world:view { port = ${port} })`)]);
  assert.equal(await inside.ended(), 0);
  assert.match(inside.out, /^nil\tthe live viewer cannot listen/);
  taken.close();
});

test("a run that is watched records the same bits", { timeout: 60000 }, async () => {
  const path = script(BOX + "box.velocity = { 3, 2 }\nworld:run { duration = 1 }\n");
  const plain = join(folder, "plain.csv"), watched = join(folder, "watched.csv");
  assert.equal(await sim2d(["--record", plain, path]).ended(), 0);
  const run = sim2d(["--view", "--record", watched, path]);
  const page = await client(await run.address());
  page.send("pause");
  page.send("step 5");
  page.send("resume");
  await run.says("the script has ended");
  assert.equal(await run.quit(), 0);
  assert.deepEqual(readFileSync(watched), readFileSync(plain));
});
