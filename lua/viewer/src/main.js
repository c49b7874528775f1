// The page of the player and the live viewer.
//
//   page.js      the recording that is embedded in the page, if any
//   s2d.js       Recording: bytes to frames, no DOM
//   player.js    createPlayer(root, recording): all visible elements, and the interface for live.js
//   live.js      connectLive(player): feeds the player from a running program, takes its controls
//   draw/        the picture of a frame, the objects at a place of it, and the view of the world
//   panels/      everything around the picture: bar, switches, plots, numbers, controls, keys
//
// The interface of a player for live.js:
//   recording, arrived()       push bytes into the recording, then call arrived(); the newest
//                              frame is shown while the reader has not gone back (`edge`)
//   replace(recording)         restarts with another recording
//   frame, view, redraw()      the frame, the view of the world, and a request to draw again
//   pointer = { down(world, hit, event) -> true to take the gesture, move(world), up(world) }
//   transport = { toggle(), step(n), reset(), setSpeed(x), playing }   actions of the buttons
//   showReset()                shows the button that resets
//   showArea([x, y, x, y])     the part of the world for fits; null: a part that suits the run
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
