// The recording in the page: lines of base64 in data blocks at the end of the file. Each line is
// decoded separately; the last one of a killed run may be cut.

export function embeddedBlocks() {
  return Array.from(document.querySelectorAll('script[type="application/x-s2d"]'));
}

function decode(line) {
  const whole = line.slice(0, line.length - (line.length % 4));
  if (Uint8Array.fromBase64) return Uint8Array.fromBase64(whole);
  const text = atob(whole);
  const bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
  return bytes;
}

export function readBlocks(recording, blocks) {
  for (const block of blocks) {
    for (const line of block.textContent.split("\n")) {
      if (line.length < 4 || recording.problem) continue;
      try {
        recording.push(decode(line));
      } catch {
        // letters that are no base64
        recording.problem = "letters that are no base64";
      }
    }
    block.remove(); // its text is not needed any more
  }
}
