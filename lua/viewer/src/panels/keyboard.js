// Keys for the whole page, where they do not belong to the control that has the focus.

// Does it go into a text or a number?
export function isTyped({ target: { tagName, type } }) {
  return tagName === "TEXTAREA" || (tagName === "INPUT" && type !== "range" && type !== "checkbox");
}

function belongsToControl(event) {
  const { tagName, type } = event.target;
  if (tagName === "SELECT" || isTyped(event)) return true;
  return event.key === " " && (tagName === "BUTTON" || type === "checkbox");
}

// `keys`: name of a key -> what it does; `hooks` come first and tell whether they took the event;
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
