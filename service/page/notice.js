/** One line for what went wrong, above everything. */

const line = document.querySelector("#notice");

/** Do something, and say so if it cannot be done; whether it could. */
export async function attempt(work) {
  line.hidden = true;
  try {
    await work();
    return true;
  } catch (error) {
    if (error.name !== "AbortError") {
      line.textContent = error.message;
      line.hidden = false;
    }
    return false;
  }
}
