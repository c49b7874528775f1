// The live viewer: feeds a player from the program that runs. Not there yet.

export function connectLive(player) {
  player.notice("The live viewer is not available yet.", "error");
}
