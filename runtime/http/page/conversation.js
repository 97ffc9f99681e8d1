// The turns of one thread on the page, oldest first. What is not over is read; what is over stands as it was given.

import { mayPass, RefusedError, TurnFold, TurnReader } from "./reader.js";
import { HOME } from "./service.js";
import { stateOf, TurnView } from "./view.js";

/** @typedef {import("./reader.js").Turn} Turn */
/** @typedef {import("./service.js").PendingCall} PendingCall */
/** @typedef {{view: TurnView, reader: TurnReader | null, turn: Turn}} Shown */

const EARLIER = 20; // turns of a thread that are shown

export class Conversation {
  /** @param {import("./service.js").Service} service @param {HTMLElement} element */
  constructor(service, element) {
    /** @private */
    this.service = service;
    /** @private */
    this.element = element;
    /** @type {Map<string, Shown>} */
    this.shown = new Map();
    /** The thread that the turns belong to, as soon as it is known. @type {string | null} */
    this.threadId = null;
    /** The turn around which the thread was to be shown when the service was away. @private @type {string | null} */
    this.missed = null;
    /** Called when something on the page has changed. */
    this.onDraw = () => {};
    /** Called with what happened, in words for those who do not see it. @type {(words: string) => void} */
    this.onNews = () => {};
    /** Called when a turn has ended. */
    this.onEnd = () => {};
    /** Called when the user has answered a question; says whether the answer got through. @type {(approvalId: string, approved: boolean) => Promise<boolean>} */
    this.onAnswer = async () => false;
  }

  /** Show nothing, in this thread. @param {string | null} threadId */
  clear(threadId) {
    for (const { reader } of this.shown.values()) reader?.stop();
    this.shown.clear();
    this.element.replaceChildren();
    this.threadId = threadId;
    this.missed = null;
  }

  /** Read a turn from the service and show it, below those that are shown. @param {string} turnId */
  follow(turnId) {
    if (this.shown.has(turnId)) return;
    const view = new TurnView(turnId);
    const reader = new TurnReader(turnId, { url: HOME, token: this.service.token });
    /** @type {Shown} */
    const entry = { view, reader, turn: reader.turn };
    this.shown.set(turnId, entry);
    this.element.append(view.element);
    let isDue = false;
    reader.onChange = () => {
      if (isDue) return;
      isDue = true;
      soon(() => {
        isDue = false;
        if (this.shown.get(turnId) === entry) this.draw(turnId, entry, reader.turn);
      });
    };
  }

  /** The turns that still run, newest last. @returns {string[]} */
  running() {
    const isRunning = (/** @type {Shown} */ { turn, reader }) => turn.terminal === null && reader && reader.connection !== "refused";
    return [...this.shown].filter(([, entry]) => isRunning(entry)).map(([turnId]) => turnId);
  }

  /** Try lost connections again now. */
  wake() {
    for (const { reader } of this.shown.values()) reader?.wake();
  }

  /** Ask again for the thread if it could not be told when it was asked for. */
  catchUp() {
    const turnId = this.missed;
    this.missed = null; // until that fails too
    if (turnId !== null && this.threadId !== null) void this.showThread(this.threadId, turnId);
  }

  /** @private @param {string} turnId @param {Shown} entry @param {Turn} turn */
  draw(turnId, entry, turn) {
    const before = entry.turn;
    entry.turn = turn;
    entry.view.show(turn);
    const news = newsOf(before, turn);
    if (news) this.onNews(news);
    const known = turn.started?.threadId ?? turn.items[0]?.threadId;
    const isOver = turn.terminal !== null && before.terminal === null;
    if (known && (this.threadId !== known || isOver)) {
      this.threadId = known;
      void this.showThread(known, turnId);
    }
    if (isOver) this.onEnd();
    this.onDraw();
  }

  /** Show the other turns of the thread around one of them, and what the thread waits for. @private @param {string} threadId @param {string} turnId */
  async showThread(threadId, turnId) {
    const thread = await this.service.thread(threadId, EARLIER).catch((exc) => /** @type {Error} */ (exc));
    const anchor = this.shown.get(turnId)?.view.element;
    if (this.threadId !== threadId || !anchor) return; // the user has gone elsewhere
    if (thread instanceof Error) {
      if (!(thread instanceof RefusedError) || mayPass(thread.status)) this.missed = turnId;
      return;
    }
    const { turns, pending } = thread;
    let isEarlier = true;
    for (const { turnId: id, outputs } of turns) {
      if (id === turnId) isEarlier = false;
      if (this.shown.has(id)) continue;
      const fold = new TurnFold();
      for (const output of outputs) fold.push(output);
      if (fold.terminal === null) this.follow(id);
      else this.place(id, fold.turn());
      const placed = this.shown.get(id)?.view.element;
      if (isEarlier && placed) anchor.before(placed);
    }
    this.ask(pending);
    this.onDraw();
  }

  /** Show a turn that is over. @private @param {string} turnId @param {Turn} turn */
  place(turnId, turn) {
    const view = new TurnView(turnId);
    view.show(turn);
    this.shown.set(turnId, { view, reader: null, turn });
    this.element.append(view.element);
  }

  /** Ask the user what the thread waits for, beside the calls, and nothing else. @param {PendingCall[]} pending */
  ask(pending) {
    const approvals = pending.filter((call) => call.kind === "approval");
    const waiting = new Map(approvals.map((call) => [call.toolCallId, call.approvalId ?? ""]));
    for (const { view } of this.shown.values()) view.ask(waiting, (id, approved) => this.onAnswer(id, approved));
    if (waiting.size > 0) this.onNews("A tool waits for your word");
  }
}

/** What was asked in a turn, in one line; "" if that is not known. @param {Turn} [turn] */
export function titleOf(turn) {
  const asked = turn?.items.find((item) => item.type === "message" && item.origin === "user");
  return asked?.content.trim().split("\n")[0].slice(0, 120) ?? "";
}

/** Say what happened between two states: not every word, but what begins and how it ends. @param {Turn} before @param {Turn} turn */
function newsOf(before, turn) {
  const seen = new Set(before.items.map((item) => item.itemId));
  const fresh = turn.items.filter((item) => !seen.has(item.itemId)).at(-1);
  if (turn.terminal && !before.terminal) {
    const text = turn.items.filter((item) => item.type === "message" && item.origin === "agent").at(-1)?.content ?? "";
    return stateOf(turn) === "complete" ? `Answer: ${text}` : `The turn ended: ${stateOf(turn)}`;
  }
  if (fresh?.type === "thinking") return "Thinking";
  if (fresh?.type === "tool_call") return `Calls ${fresh.toolName}`;
  return fresh?.origin === "agent" ? "Answering" : "";
}

/** Once before the next picture; where none is drawn, soon all the same. @param {() => void} work */
function soon(work) {
  if (document.hidden) setTimeout(work, 100);
  else requestAnimationFrame(work);
}
