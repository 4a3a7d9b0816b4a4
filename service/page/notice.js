/** What went wrong, above everything. */

const notice = document.querySelector("#notice");

/** Do something, and say so if it cannot be done; whether it could. */
export async function attempt(work) {
  notice.hidden = true;
  try {
    await work();
    return true;
  } catch (error) {
    if (error.name !== "AbortError") {
      notice.textContent = error.code === "unauthenticated" ? "This service wants a key that it knows." : error.message;
      notice.hidden = false;
    }
    return false;
  }
}
