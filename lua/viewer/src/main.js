// The page of the player and the live viewer.
//
//   page.js      the recording that is embedded in the page, if any
//   s2d.js       Recording: bytes to frames, no DOM
//   player.js    createPlayer(root, recording): all that is seen, and the boundary to live.js
//   live.js      connectLive(player): feeds the player from a running program and takes its controls
//   draw/        the picture of a frame, what is at a place of it, and the view of the world
//   panels/      everything around the picture: bar, switches, plots, numbers, controls, keys
//
// What live.js has of a player:
//   recording, arrived()       push bytes into the recording, then say so; the newest frame is shown
//                              while the reader has not gone back (`edge`)
//   replace(recording)         starts anew with another recording
//   frame, view, redraw()      what is shown, where, and show it again
//   pointer = { down(world, hit, event) -> true to take the gesture, move(world), up(world) }
//   transport = { toggle(), step(n), reset(), setSpeed(x), playing }   what the buttons do instead
//   showReset()                shows the button that resets
//   showArea([x, y, x, y])     the part of the world that fits are to show; null: what suits the run
//   section(title)             an element of the side panel for more controls
//   showPlots([[name, svg], ...])  those of the script
//   notice(text, kind)         a line of text to the reader; kind "info", "error"; "" removes it
//   onDraw(fn(ctx, view, frame)), onKey(fn(event) -> true when taken)
import "./style.css";
import { createPlayer } from "./player.js";
import { connectLive } from "./live.js";
import { embeddedBlocks, readBlocks } from "./page.js";
import { Recording } from "./s2d.js";

function start() {
  const recording = new Recording();
  const blocks = embeddedBlocks();
  const live = blocks.length === 0 && location.protocol.startsWith("http");
  readBlocks(recording, blocks);
  const player = createPlayer(document.getElementById("app"), recording, { live });
  window.sim2d = player.inspect;
  if (live) connectLive(player);
}

// The data come after this script: wait for the end of the file.
if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", start);
else start();
