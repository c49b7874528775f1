// Keys for the whole page, unless they belong to the control that has the focus.

// Is the target a field for text or a number?
export function isTyped({ target: { tagName, type } }) {
  return tagName === "TEXTAREA" || (tagName === "INPUT" && type !== "range" && type !== "checkbox");
}

function belongsToControl(event) {
  const { tagName, type } = event.target;
  if (tagName === "SELECT" || isTyped(event)) return true;
  return event.key === " " && (tagName === "BUTTON" || type === "checkbox");
}

// `keys`: name of a key -> action; `hooks` come first and return whether they took the event;
// `onDigit` gets 1 to 9.
export function listenForKeys(keys, hooks, onDigit) {
  addEventListener("keydown", (event) => {
    if (hooks.some((hook) => hook(event) === true)) {
      event.preventDefault();
      return;
    }
    const digit = /^[1-9]$/.test(event.key);
    if (event.ctrlKey || event.metaKey || event.altKey || belongsToControl(event)) return;
    if (!digit && !Object.hasOwn(keys, event.key)) return;
    event.preventDefault();
    if (digit) onDigit(Number(event.key));
    else keys[event.key](event);
  });
}
