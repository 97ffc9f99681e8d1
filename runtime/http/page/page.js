// The page: the address says which turn is shown, the service says what is in it, and nothing else is remembered.
//
// `#turn=ID` shows a turn and the thread it belongs to; `#thread=ID` begins a turn there; `#` begins a thread.
// `token=` beside it, or as `?token=`, is sent to the service.

import { TurnFold, TurnReader } from "./reader.js";
import { Service } from "./service.js";
import { make, stateOf, TurnView } from "./view.js";

/** @typedef {import("./reader.js").Turn} Turn */
/** @typedef {import("./service.js").ListedTurn} ListedTurn */
/** @typedef {{view: TurnView, reader: TurnReader | null, turn: Turn}} Shown */

const LIST_EVERY = 4000; // ms between looks at the list while the page is seen
const NEAR = 80; // px from the end within which a reader wants to stay at the end
const EARLIER = 20; // turns of a thread that are shown above

/** @template {HTMLElement} T @param {string} id @returns {T} */
const get = (id) => /** @type {T} */ (document.getElementById(id));
const ui = {
  side: get("side"), menu: get("menu"), veil: get("veil"), turns: get("turns"), more: get("more"), noTurns: get("no-turns"),
  fresh: /** @type {HTMLAnchorElement} */ (get("new")), title: get("title"), model: get("model"), link: get("link"), scroll: get("scroll"),
  thread: get("thread"), empty: get("empty"), trouble: get("trouble"), composer: get("composer"), latest: get("latest"), status: get("status"),
  prompt: /** @type {HTMLTextAreaElement} */ (get("prompt")), send: /** @type {HTMLButtonElement} */ (get("send")),
  stop: /** @type {HTMLButtonElement} */ (get("stop")), shortcuts: /** @type {HTMLDialogElement} */ (get("shortcuts")),
};

/** What the address says. */
function place() {
  const hash = new URLSearchParams(location.hash.slice(1));
  const query = new URLSearchParams(location.search);
  /** @param {string} name */
  const read = (name) => hash.get(name) ?? query.get(name);
  return { turn: read("turn"), thread: read("thread"), token: read("token") };
}

/** The address of another place; a token goes with it. @param {Record<string, string>} where */
function addressOf(where) {
  const token = new URLSearchParams(location.hash.slice(1)).get("token");
  return `#${new URLSearchParams(token ? { ...where, token } : where)}`;
}

const service = new Service(place().token);

// ---- The conversation: the turns of one thread, oldest first --------------------------------------------------

/** @type {Map<string, Shown>} */
const shown = new Map();
/** @type {string | null} */
let threadId = null;
let follows = true; // whether the end is kept in sight

function go() {
  const { turn, thread, token } = place();
  service.token = token;
  openSide(false);
  complain("");
  if (turn === null) {
    clear();
    threadId = thread;
    ui.prompt.focus({ preventScroll: true });
  } else if (!shown.has(turn)) {
    clear();
    follow(turn);
  }
  ui.empty.hidden = turn !== null;
  refresh();
  void list();
}

function clear() {
  for (const { reader } of shown.values()) reader?.stop();
  shown.clear();
  ui.thread.replaceChildren();
  threadId = null;
  follows = true;
}

/** Read a turn from the service and show it, below those that are shown. @param {string} turnId */
function follow(turnId) {
  const view = new TurnView(turnId);
  const reader = new TurnReader(turnId, { token: service.token });
  /** @type {Shown} */
  const entry = { view, reader, turn: reader.turn };
  shown.set(turnId, entry);
  ui.thread.append(view.element);
  let drawn = 0;
  reader.onChange = () => {
    if (drawn || shown.get(turnId) !== entry) return;
    drawn = soon(() => {
      drawn = 0;
      if (shown.get(turnId) === entry) draw(turnId, entry);
    });
  };
}

/** Once before the next picture; where none is drawn, soon all the same. @param {() => void} work @returns {number} */
function soon(work) {
  return document.hidden ? window.setTimeout(work, 100) : requestAnimationFrame(work);
}

/** @param {string} turnId @param {Shown} entry */
function draw(turnId, entry) {
  const before = entry.turn;
  entry.turn = /** @type {TurnReader} */ (entry.reader).turn;
  entry.view.show(entry.turn);
  announce(before, entry.turn);
  const known = entry.turn.started?.threadId ?? entry.turn.items[0]?.threadId;
  const isOver = entry.turn.terminal !== null && before.terminal === null;
  if (known && (threadId !== known || isOver)) {
    threadId = known;
    void showThread(known, turnId);
  }
  if (isOver) void list();
  refresh();
  if (follows) toEnd();
}

/** Show the other turns of the thread around the one that was asked for. @param {string} thread @param {string} turnId */
async function showThread(thread, turnId) {
  const { turns, pending } = await service.thread(thread, EARLIER).catch(() => ({ turns: [], pending: [] }));
  if (threadId !== thread || !shown.has(turnId)) return;
  const anchor = /** @type {Shown} */ (shown.get(turnId)).view.element;
  let isEarlier = true;
  for (const { turnId: id, outputs } of turns) {
    if (id === turnId) isEarlier = false;
    if (shown.has(id)) continue;
    const fold = new TurnFold();
    for (const output of outputs) fold.push(output);
    if (fold.terminal === null) {
      follow(id);
      continue;
    }
    const view = new TurnView(id);
    view.show(fold.turn());
    shown.set(id, { view, reader: null, turn: fold.turn() });
    if (isEarlier) anchor.before(view.element);
    else ui.thread.append(view.element);
  }
  ask(pending);
  if (follows) toEnd();
}

/** Ask the user what the thread waits for, beside the calls. @param {import("./service.js").PendingCall[]} pending */
function ask(pending) {
  const waiting = new Map(pending.filter((call) => call.kind === "approval").map((call) => [call.toolCallId, call.approvalId ?? ""]));
  for (const { view } of shown.values()) {
    view.ask(waiting, async (approvalId, approved) => {
      if (threadId === null) return;
      try {
        const { turnId } = await service.answer(threadId, approvalId, approved);
        ask([]);
        follows = true;
        follow(turnId);
        location.hash = addressOf({ turn: turnId });
      } catch (exc) {
        complain(/** @type {Error} */ (exc).message);
      }
    });
  }
  if (waiting.size > 0) ui.status.textContent = "A tool waits for your word";
}

/** The turns that still run, newest last. */
function running() {
  return [...shown].filter(([, { turn, reader }]) => turn.terminal === null && reader && reader.connection !== "refused");
}

/** Bring everything around the turns up to date. */
function refresh() {
  const entry = shown.get(place().turn ?? "");
  const turn = entry?.turn;
  ui.title.textContent = titleOf(turn) || (entry ? "Turn" : "New conversation");
  ui.model.textContent = turn?.started?.modelId ?? "";
  ui.stop.hidden = running().length === 0;
  const connection = entry?.reader?.connection ?? "";
  if (ui.link.dataset.connection !== connection) ui.link.dataset.connection = connection;
  const word = wordFor(connection, turn);
  if (ui.link.textContent !== word) ui.link.textContent = word;
  if (connection === "refused") complain(entry?.reader?.error?.message ?? "refused");
  document.title = turn ? `${turn.terminal ? "" : "● "}${ui.title.textContent} – turnwire` : "turnwire";
}

/** @param {Turn} [turn] */
function titleOf(turn) {
  const asked = turn?.items.find((item) => item.type === "message" && item.origin === "user");
  return asked?.content.trim().split("\n")[0].slice(0, 120) ?? "";
}

/** @param {string} connection @param {Turn} [turn] */
function wordFor(connection, turn) {
  if (connection === "waiting") return "reconnecting";
  if (connection === "live") return "live";
  return connection === "ended" && turn ? stateOf(turn) : connection;
}

// ---- What is said aloud: what happened, not every word of it --------------------------------------------------

/** @param {Turn} before @param {Turn} turn */
function announce(before, turn) {
  const seen = new Set(before.items.map((item) => item.itemId));
  const fresh = turn.items.filter((item) => !seen.has(item.itemId)).at(-1);
  let words = "";
  if (turn.terminal && !before.terminal) {
    const text = turn.items.filter((item) => item.type === "message" && item.origin === "agent").at(-1)?.content ?? "";
    words = stateOf(turn) === "complete" ? `Answer: ${text}` : `The turn ended: ${stateOf(turn)}`;
  } else if (fresh?.type === "thinking") words = "Thinking";
  else if (fresh?.type === "tool_call") words = `Calls ${fresh.toolName}`;
  else if (fresh?.origin === "agent") words = "Answering";
  if (words) ui.status.textContent = words;
}

/** @param {string} problem */
function complain(problem) {
  ui.trouble.hidden = problem === "";
  ui.trouble.textContent = problem;
}

// ---- The list of turns ----------------------------------------------------------------------------------------

/** @type {ListedTurn[]} */
let older = []; // pages that were asked for by hand
/** @type {string | null} */
let cursor = null;
let listing = 0; // only the newest look counts

async function list() {
  const mine = ++listing;
  const page = await service.turns().catch(() => null);
  if (page === null || mine !== listing) return;
  if (older.length === 0) cursor = page.before;
  const newest = new Set(page.turns.map((turn) => turn.turnId));
  showList([...page.turns, ...older.filter((turn) => !newest.has(turn.turnId))]);
  for (const turn of page.turns.toReversed()) {
    const isOurs = turn.threadId !== undefined && turn.threadId === threadId && (turn.state === "running" || turn.state === "waiting");
    if (isOurs && !shown.has(turn.turnId)) follow(turn.turnId); // begun elsewhere, in the thread that is shown
  }
}

/** @param {ListedTurn[]} turns */
function showList(turns) {
  const current = place().turn;
  const words = JSON.stringify([turns.map((turn) => [turn, nameOf(turn)]), current]);
  ui.noTurns.hidden = turns.length > 0;
  ui.more.hidden = cursor === null;
  if (ui.turns.dataset.words === words) return;
  ui.turns.dataset.words = words;
  const focused = document.activeElement?.closest("#turns a")?.getAttribute("href");
  ui.turns.replaceChildren(...turns.map((turn) => listItem(turn, turn.turnId === current)));
  if (focused) /** @type {HTMLElement | null} */ (ui.turns.querySelector(`a[href="${CSS.escape(focused)}"]`))?.focus();
}

/** What was asked, where that is known; else the id. @param {ListedTurn} turn */
function nameOf(turn) {
  return titleOf(shown.get(turn.turnId)?.turn) || turn.turnId;
}

/** @param {ListedTurn} turn @param {boolean} isCurrent */
function listItem(turn, isCurrent) {
  const item = make("li");
  const link = /** @type {HTMLAnchorElement} */ (make("a"));
  link.href = addressOf({ turn: turn.turnId });
  link.dataset.state = turn.state ?? "";
  if (isCurrent) link.setAttribute("aria-current", "true");
  const dot = make("span", "dot");
  dot.title = turn.state ?? "";
  const when = turn.announcedAt === undefined ? "" : new Date(turn.announcedAt).toLocaleString([], { dateStyle: "short", timeStyle: "short" });
  link.append(dot, make("span", "name", nameOf(turn)), make("span", "when", `${when} · ${turn.state ?? ""}`));
  item.append(link);
  return item;
}

// ---- What the user does ---------------------------------------------------------------------------------------

ui.composer.addEventListener("submit", async (event) => {
  event.preventDefault();
  const prompt = ui.prompt.value.trim();
  if (!prompt || ui.send.disabled) return;
  ui.send.disabled = true;
  complain("");
  try {
    const thread = threadId ?? newId();
    const { turnId } = await service.start(thread, prompt);
    ui.prompt.value = "";
    size();
    follows = true;
    if (threadId !== null && shown.size > 0) follow(turnId); // below the turns that are there
    location.hash = addressOf({ turn: turnId });
  } catch (exc) {
    complain(/** @type {Error} */ (exc).message);
  } finally {
    ui.send.disabled = false;
    ui.prompt.focus({ preventScroll: true });
  }
});

ui.stop.addEventListener("click", () => void stop());

async function stop() {
  const live = running().at(-1);
  if (!live) return;
  ui.stop.disabled = true;
  await service.stop(live[0]).catch((exc) => complain(exc.message));
  ui.stop.disabled = false;
}

ui.more.addEventListener("click", async () => {
  const page = await service.turns(cursor).catch((exc) => (complain(exc.message), null));
  if (page === null) return;
  older = [...older, ...page.turns];
  cursor = page.before;
  await list();
});

ui.prompt.addEventListener("input", size);
ui.prompt.addEventListener("keydown", (event) => {
  if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
    event.preventDefault();
    /** @type {HTMLFormElement} */ (ui.composer).requestSubmit();
  } else if (event.key === "Escape") {
    ui.prompt.blur();
    ui.scroll.focus({ preventScroll: true });
  }
});

/** Let the prompt be as high as its text, within bounds that the style sets. */
function size() {
  ui.prompt.rows = Math.min(8, Math.max(1, ui.prompt.value.split("\n").length));
}

/** @type {Record<string, () => void>} */
const KEYS = {
  "/": () => ui.prompt.focus(),
  "?": () => ui.shortcuts.showModal(),
  s: () => void stop(),
  n: () => (location.hash = addressOf({})),
  j: () => step(1),
  k: () => step(-1),
  t: () => {
    const thoughts = /** @type {NodeListOf<HTMLDetailsElement>} */ (ui.thread.querySelectorAll("details.thinking"));
    const open = [...thoughts].some((thought) => !thought.open);
    for (const thought of thoughts) thought.open = open;
  },
};

document.addEventListener("keydown", (event) => {
  const target = /** @type {HTMLElement} */ (event.target);
  if (event.ctrlKey || event.metaKey || event.altKey || target.closest("textarea, input, dialog")) return;
  const act = KEYS[event.key];
  if (!act) return;
  event.preventDefault();
  act();
});

/** Go down or up the list. @param {number} by */
function step(by) {
  const links = /** @type {HTMLAnchorElement[]} */ ([...ui.turns.querySelectorAll("a")]);
  const at = links.findIndex((link) => link.hasAttribute("aria-current"));
  links[at < 0 ? 0 : Math.min(links.length - 1, Math.max(0, at + by))]?.click();
}

get("help").addEventListener("click", () => ui.shortcuts.showModal());
get("skip").addEventListener("click", (event) => (event.preventDefault(), ui.prompt.focus()));
ui.fresh.addEventListener("click", (event) => {
  event.preventDefault();
  location.hash = addressOf({});
});
ui.menu.addEventListener("click", () => openSide(ui.menu.getAttribute("aria-expanded") === "false"));
ui.veil.addEventListener("click", () => openSide(false));

/** Where the page is narrow, the list of turns lies over it. @param {boolean} open */
function openSide(open) {
  document.body.classList.toggle("side-open", open);
  ui.menu.setAttribute("aria-expanded", String(open));
  if (open) ui.fresh.focus();
}

ui.scroll.addEventListener("scroll", () => {
  follows = ui.scroll.scrollHeight - ui.scroll.scrollTop - ui.scroll.clientHeight < NEAR;
  ui.latest.hidden = follows;
});
ui.latest.addEventListener("click", toEnd);

function toEnd() {
  follows = true;
  ui.latest.hidden = true;
  ui.scroll.scrollTop = ui.scroll.scrollHeight;
}

function newId() {
  const bytes = crypto.getRandomValues(new Uint8Array(12));
  return `thread-${[...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("")}`;
}

// ---- The world ------------------------------------------------------------------------------------------------

function wakeAll() {
  for (const { reader } of shown.values()) reader?.wake();
  void list();
}

window.addEventListener("hashchange", go);
window.addEventListener("online", wakeAll);
document.addEventListener("visibilitychange", () => document.hidden || wakeAll());
setInterval(() => document.hidden || void list(), LIST_EVERY);
go();
