/* Questions before a change, and notes after it. */

import { h } from "./dom.js";
import { post } from "./api.js";

export function confirmed(title, text, undo, action) {
  const dialog = document.getElementById("confirm");
  document.getElementById("confirm-title").textContent = title;
  document.getElementById("confirm-text").textContent = text;
  document.getElementById("confirm-undo").textContent = undo;
  document.getElementById("confirm-yes").textContent = action;
  dialog.returnValue = "no";
  dialog.showModal();
  return new Promise((resolve) => {
    dialog.addEventListener("close", () => resolve(dialog.returnValue === "yes"), { once: true });
  });
}

export function note(text, state) {
  const element = h("div", { class: `note ${state || ""}` }, text);
  document.getElementById("notes").append(element);
  setTimeout(() => element.remove(), state === "bad" ? 12000 : 7000);
}

export function failed(error) {
  if (error.name === "AbortError") return;
  note(error.remedy ? `${error.message}. Try: ${error.remedy}` : error.message, "bad");
}

/* Ask, change, say what came of it and how to undo it. Returns whether something was changed. */
export async function change(question, path, body, method) {
  if (!(await confirmed(question.title, question.text, question.undo, question.action))) return false;
  try {
    const done = await post(path, body, method);
    note(done.undo ? `${done.said}. To undo: ${done.undo}.` : done.said);
    return true;
  } catch (error) {
    failed(error);
    return false;
  }
}
