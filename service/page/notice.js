/** A notice at the top of the page, which says what went wrong. */

const notice = document.querySelector("#notice");

/** Do something, and show a notice if it fails. Returns whether it succeeded. */
export async function attempt(work) {
  notice.hidden = true;
  try {
    await work();
    return true;
  } catch (error) {
    if (error.name !== "AbortError") {
      notice.textContent = error.code === "unauthenticated" ? "This service requires a valid API key." : error.message;
      notice.hidden = false;
    }
    return false;
  }
}
