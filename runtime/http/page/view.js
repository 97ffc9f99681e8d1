// Shows a turn: one element per item, bound to its newest state. Shows any state after any other, so it keeps nothing
// of the turn itself; what is remembered is which element shows which item.

import { isOpen } from "./reader.js";
import { Prose } from "./prose.js";

/** @typedef {import("./reader.js").Item} Item */
/** @typedef {import("./reader.js").Turn} Turn */
/** @typedef {{element: HTMLElement, show: (item: Item, open: boolean) => void}} ItemView */

/** Make an element. @param {string} tag @param {string} [className] @param {string} [text] */
export function make(tag, className = "", text = "") {
  const element = document.createElement(tag);
  element.className = className;
  element.textContent = text;
  return element;
}

/** One turn on the page. */
export class TurnView {
  /** @param {string} turnId */
  constructor(turnId) {
    this.element = make("section", "turn");
    this.element.dataset.turn = turnId;
    this.end = make("footer", "end");
    this.element.append(this.end);
    /** @private @type {Map<string, ItemView>} */
    this.views = new Map();
  }

  /** Show this state of the turn. @param {Turn} turn */
  show(turn) {
    const known = new Set(turn.items.map((item) => item.itemId));
    for (const [itemId, view] of this.views) {
      if (known.has(itemId)) continue;
      view.element.remove(); // the log lost it, and tells the turn again
      this.views.delete(itemId);
    }
    for (const item of turn.items) {
      let view = this.views.get(item.itemId);
      if (!view || view.element.dataset.type !== item.type) {
        view?.element.remove();
        view = MAKERS[item.type]();
        view.element.dataset.type = item.type;
        view.element.dataset.item = item.itemId;
        this.views.set(item.itemId, view);
        this.end.before(view.element);
      }
      view.element.dataset.status = item.status;
      view.element.classList.toggle("open", isOpen(item, turn));
      view.show(item, isOpen(item, turn));
    }
    this.element.dataset.state = stateOf(turn);
    this.element.setAttribute("aria-busy", String(turn.terminal === null));
    showEnd(this.end, turn);
  }

  /** Ask beside calls whether their tools may run, and nowhere else. @param {Map<string, string>} waiting approval ids by call id @param {(approvalId: string, yes: boolean) => Promise<boolean>} answer */
  ask(waiting, answer) {
    for (const { element } of this.views.values()) {
      const approvalId = waiting.get(element.dataset.call ?? "");
      const box = element.querySelector(".approval");
      if (approvalId === undefined) box?.remove();
      else if (!box) {
        element.append(question((yes) => answer(approvalId, yes)));
        const state = element.querySelector(".state");
        if (state) state.textContent = "waits for you";
      }
    }
  }
}

/** In one word: running, complete, aborted or error. @param {Turn} turn */
export function stateOf(turn) {
  if (turn.terminal === null) return "running";
  return turn.terminal.type === "turn_error" ? "error" : turn.terminal.status;
}

/** @param {HTMLElement} end @param {Turn} turn */
function showEnd(end, { terminal }) {
  const words = [];
  if (terminal?.type === "turn_error") words.push(`${terminal.error.code}: ${terminal.error.message}`);
  else if (terminal && terminal.status !== "complete") words.push(terminal.status === "aborted" ? "Stopped" : "Ended with an error");
  if (terminal?.type === "turn_complete" && terminal.usage) {
    const { promptTokens, completionTokens, totalTokens } = terminal.usage;
    words.push(`${count(totalTokens)} tokens`, `${count(promptTokens)} in, ${count(completionTokens)} out`);
  }
  const text = words.join(" · ");
  if (end.textContent !== text) end.textContent = text;
}

/** @param {number} number */
function count(number) {
  return number.toLocaleString("en");
}

const MAKERS = { message: makeMessage, thinking: makeThinking, tool_call: makeToolCall };

/** @returns {ItemView} */
function makeMessage() {
  const element = make("article", "item message");
  const who = make("h3", "unseen");
  const text = make("div", "text");
  const failure = make("p", "failure");
  element.append(who, text, failure);
  const prose = new Prose(text);
  return {
    element,
    show(item) {
      element.dataset.origin = item.origin;
      who.textContent = { user: "You", agent: "Agent", system: "System" }[item.origin ?? "agent"];
      prose.show(item.content);
      showFailure(failure, item);
    },
  };
}

/** @returns {ItemView} */
function makeThinking() {
  const element = /** @type {HTMLDetailsElement} */ (make("details", "item thinking"));
  const summary = make("summary");
  const label = make("span", "label", "Thinking");
  const text = make("div", "text");
  const failure = make("p", "failure");
  summary.append(label);
  element.append(summary, text, failure);
  const prose = new Prose(text);
  let touched = false; // whoever opened or closed it by hand wants it so
  summary.addEventListener("click", () => (touched = true));
  return {
    element,
    show(item, open) {
      prose.show(item.content);
      label.textContent = open ? "Thinking" : "Thought";
      if (!touched) element.open = open;
      showFailure(failure, item);
    },
  };
}

/** @returns {ItemView} */
function makeToolCall() {
  const element = make("article", "item tool");
  const head = make("h3", "head");
  const name = make("span", "name");
  const state = make("span", "state");
  const given = make("dl", "arguments");
  const failure = make("p", "failure");
  const output = /** @type {HTMLDetailsElement} */ (make("details", "output"));
  const result = make("pre");
  const summary = make("summary", "", "Output");
  output.append(summary, result);
  let touched = false;
  summary.addEventListener("click", () => (touched = true));
  head.append(name, state);
  element.append(head, given, output, failure);
  return {
    element,
    show(item, open) {
      element.dataset.call = item.callId;
      element.dataset.success = item.success === false || item.status === "error" ? "no" : "";
      name.textContent = item.toolName || "unknown tool";
      state.textContent = wordFor(item, open);
      showArguments(given, item);
      output.hidden = item.toolOutput === undefined;
      result.textContent = item.toolOutput === undefined ? "" : pretty(item.toolOutput);
      if (!touched) output.open = item.success === false; // what went wrong is worth a look
      showFailure(failure, item);
    },
  };
}

/** @param {Item} item @param {boolean} open */
function wordFor(item, open) {
  if (item.status === "error" || item.success === false) return "failed";
  if (item.status === "complete") return "done";
  return open ? "running" : "no output";
}

/** @param {HTMLElement} list @param {Item} item */
function showArguments(list, item) {
  const entries = Object.entries(item.toolArguments ?? {});
  if (entries.length === 0 && item.content) entries.push(["", item.content]); // free text: as the model wrote it
  const shown = JSON.stringify(entries);
  if (list.dataset.shown === shown) return;
  list.dataset.shown = shown;
  list.replaceChildren(
    ...entries.map(([key, value]) => {
      const row = make("div");
      row.append(make("dt", "", key), make("dd", "", pretty(value)));
      return row;
    }),
  );
}

/** @param {unknown} value */
function pretty(value) {
  if (typeof value === "string") return value;
  const short = JSON.stringify(value) ?? "";
  return short.length <= 60 ? short : JSON.stringify(value, null, 2);
}

/** @param {HTMLElement} element @param {Item} item */
function showFailure(element, item) {
  const words = [item.errorCode, item.errorMessage].filter(Boolean).join(": ");
  element.textContent = item.status === "error" ? words || "failed" : "";
  element.hidden = item.status !== "error";
}

/** Ask once: an answer that is on its way is not given again; one that did not get through may be. @param {(yes: boolean) => Promise<boolean>} answer */
function question(answer) {
  const box = make("div", "approval");
  const buttons = [make("button", "yes", "Allow"), make("button", "no", "Deny")];
  const enable = (/** @type {boolean} */ able) => {
    for (const button of buttons) /** @type {HTMLButtonElement} */ (button).disabled = !able;
  };
  for (const [place, button] of buttons.entries()) {
    button.addEventListener("click", async () => {
      enable(false);
      if (!(await answer(place === 0))) enable(true);
    });
  }
  box.append(make("p", "", "May this tool run?"), ...buttons);
  return box;
}
