/** The clipboard, which a page has only if it came by TLS or from this machine. */

export const hasClipboard = Boolean(navigator.clipboard);

/** Copy a text, and say so. */
export async function copy(text, state) {
  await navigator.clipboard.writeText(text);
  state.textContent = "Copied.";
}
