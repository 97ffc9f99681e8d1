// The page: the address says which turn is shown, the service says what is in it, and nothing else is remembered.
//
// `#turn=ID` shows a turn and the thread it belongs to; `#thread=ID` begins a turn there; `#` begins a thread.
// `token=` beside it, or as `?token=`, is sent to the service.

import { Conversation, titleOf } from "./conversation.js";
import { TurnList } from "./list.js";
import { Service } from "./service.js";
import { stateOf } from "./view.js";

const LIST_EVERY = 4000; // ms between looks at the list while the page is seen
const NEAR = 80; // px from the end within which a reader wants to stay at the end

/** @template {HTMLElement} T @param {string} id @returns {T} */
const get = (id) => /** @type {T} */ (document.getElementById(id));
const ui = {
  menu: get("menu"), fresh: get("new"), title: get("title"), model: get("model"), link: get("link"), scroll: get("scroll"),
  thread: get("thread"), empty: get("empty"), trouble: get("trouble"), latest: get("latest"), status: get("status"),
  composer: /** @type {HTMLFormElement} */ (get("composer")), prompt: /** @type {HTMLTextAreaElement} */ (get("prompt")),
  send: /** @type {HTMLButtonElement} */ (get("send")), stop: /** @type {HTMLButtonElement} */ (get("stop")),
  shortcuts: /** @type {HTMLDialogElement} */ (get("shortcuts")),
};

/** What the address says. */
function place() {
  const hash = new URLSearchParams(location.hash.slice(1));
  const query = new URLSearchParams(location.search);
  const read = (/** @type {string} */ name) => hash.get(name) ?? query.get(name);
  return { turn: read("turn"), thread: read("thread"), token: read("token") };
}

/** The address of another place; a token goes with it. @param {Record<string, string>} where */
function addressOf(where) {
  const token = new URLSearchParams(location.hash.slice(1)).get("token");
  return `#${new URLSearchParams(token ? { ...where, token } : where)}`;
}

const service = new Service(place().token);
const conversation = new Conversation(service, ui.thread);
const list = new TurnList(
  service,
  { list: get("turns"), more: get("more"), none: get("no-turns") },
  {
    nameOf: ({ turnId }) => titleOf(conversation.shown.get(turnId)?.turn) || turnId,
    hrefOf: ({ turnId }) => addressOf({ turn: turnId }),
    current: () => place().turn,
  },
);
let follows = true; // whether the end is kept in sight

/** Be where the address says. */
function go() {
  const { turn, thread, token } = place();
  service.token = token;
  openSide(false);
  complain("");
  if (turn === null) {
    conversation.clear(thread);
    ui.prompt.focus({ preventScroll: true });
  } else if (!conversation.shown.has(turn)) {
    conversation.clear(null);
    conversation.follow(turn);
    follows = true;
  }
  ui.empty.hidden = turn !== null;
  refresh();
  void look();
}

/** Look at the list; follow what was begun elsewhere in the thread that is shown, and what could not be told before. */
async function look() {
  conversation.catchUp();
  for (const { turnId, threadId, state } of (await list.look()).toReversed()) {
    const isLive = state === "running" || state === "waiting";
    if (isLive && threadId && threadId === conversation.threadId) conversation.follow(turnId);
  }
}

/** Bring everything around the turns up to date. */
function refresh() {
  const entry = conversation.shown.get(place().turn ?? "");
  const connection = entry?.reader?.connection ?? "";
  write(ui.title, titleOf(entry?.turn) || (entry ? "Turn" : "New conversation"));
  write(ui.model, entry?.turn.started?.modelId ?? "");
  write(ui.link, connection === "ended" && entry ? stateOf(entry.turn) : connection === "waiting" ? "reconnecting" : connection);
  ui.link.dataset.connection = connection;
  ui.stop.hidden = conversation.running().length === 0;
  if (connection === "refused") complain(entry?.reader?.error?.message ?? "refused");
  document.title = entry ? `${entry.turn.terminal ? "" : "● "}${ui.title.textContent} – turnwire` : "turnwire";
  if (follows) toEnd();
}

/** @param {HTMLElement} element @param {string} text */
function write(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

/** @param {string} problem */
function complain(problem) {
  ui.trouble.hidden = problem === "";
  write(ui.trouble, problem);
}

function toEnd() {
  follows = true;
  ui.latest.hidden = true;
  ui.scroll.scrollTop = ui.scroll.scrollHeight;
}

conversation.onDraw = refresh;
conversation.onEnd = () => void look();
conversation.onNews = (/** @type {string} */ words) => write(ui.status, words);
conversation.onAnswer = async (/** @type {string} */ approvalId, /** @type {boolean} */ approved) => {
  const ok = await begin(() => service.answer(conversation.threadId ?? "", approvalId, approved));
  if (ok) conversation.ask([]); // what still waits is asked again when the turn that goes on has ended
  return ok;
};

/** Begin a turn and go there: below the turns that are shown. @param {() => Promise<{turnId: string}>} start @returns {Promise<boolean>} */
async function begin(start) {
  complain("");
  const threadId = conversation.threadId;
  try {
    const { turnId } = await start();
    follows = true;
    if (threadId !== null && conversation.threadId === threadId) conversation.follow(turnId); // else we are elsewhere by now
    location.hash = addressOf({ turn: turnId });
    return true;
  } catch (exc) {
    complain(/** @type {Error} */ (exc).message);
    return false;
  }
}

ui.composer.addEventListener("submit", async (event) => {
  event.preventDefault();
  const prompt = ui.prompt.value.trim();
  if (!prompt || ui.send.disabled) return;
  ui.send.disabled = true;
  if (await begin(() => service.start(conversation.threadId ?? newId(), prompt))) ui.prompt.value = "";
  ui.send.disabled = false;
  size();
  ui.prompt.focus({ preventScroll: true });
});

async function stop() {
  const turnId = conversation.running().at(-1);
  if (turnId === undefined || ui.stop.disabled) return;
  ui.stop.disabled = true;
  await service.stop(turnId).catch((exc) => complain(exc.message));
  ui.stop.disabled = false;
}

/** Let the prompt be as high as its text, within bounds. */
function size() {
  ui.prompt.rows = Math.min(8, Math.max(1, ui.prompt.value.split("\n").length));
}

function newId() {
  const bytes = crypto.getRandomValues(new Uint8Array(12));
  return `thread-${[...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("")}`;
}

/** Where the page is narrow, the list of turns lies over it. @param {boolean} open */
function openSide(open) {
  document.body.classList.toggle("side-open", open);
  ui.menu.setAttribute("aria-expanded", String(open));
  if (open) ui.fresh.focus();
}

function toggleThoughts() {
  const thoughts = /** @type {NodeListOf<HTMLDetailsElement>} */ (ui.thread.querySelectorAll("details.thinking"));
  const open = [...thoughts].some((thought) => !thought.open);
  for (const thought of thoughts) thought.open = open;
}

function wakeAll() {
  if (document.hidden) return;
  conversation.wake();
  void look();
}

/** @type {Record<string, () => void>} */
const KEYS = {
  "/": () => ui.prompt.focus(),
  "?": () => ui.shortcuts.showModal(),
  s: () => void stop(),
  n: () => (location.hash = addressOf({})),
  j: () => list.step(1),
  k: () => list.step(-1),
  t: toggleThoughts,
};

document.addEventListener("keydown", (event) => {
  const target = /** @type {HTMLElement} */ (event.target);
  const act = KEYS[event.key];
  if (!act || event.ctrlKey || event.metaKey || event.altKey || target.closest("textarea, input, dialog")) return;
  event.preventDefault();
  act();
});
ui.prompt.addEventListener("keydown", (event) => {
  if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
    event.preventDefault();
    ui.composer.requestSubmit();
  } else if (event.key === "Escape") {
    ui.prompt.blur();
    ui.scroll.focus({ preventScroll: true });
  }
});
ui.prompt.addEventListener("input", size);
ui.stop.addEventListener("click", () => void stop());
ui.latest.addEventListener("click", toEnd);
ui.scroll.addEventListener("scroll", () => {
  follows = ui.scroll.scrollHeight - ui.scroll.scrollTop - ui.scroll.clientHeight < NEAR;
  ui.latest.hidden = follows;
});
ui.menu.addEventListener("click", () => openSide(ui.menu.getAttribute("aria-expanded") === "false"));
ui.fresh.addEventListener("click", (event) => (event.preventDefault(), KEYS.n()));
get("veil").addEventListener("click", () => openSide(false));
get("more").addEventListener("click", () => list.showOlder().catch((exc) => complain(exc.message)));
get("help").addEventListener("click", () => ui.shortcuts.showModal());
get("skip").addEventListener("click", (event) => (event.preventDefault(), ui.prompt.focus()));
window.addEventListener("hashchange", go);
window.addEventListener("online", wakeAll);
document.addEventListener("visibilitychange", wakeAll);
setInterval(() => document.hidden || void look(), LIST_EVERY);
go();
