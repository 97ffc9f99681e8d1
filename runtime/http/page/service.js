// What the page asks of the service, apart from reading a turn (reader.js): lists, prompts, stops, answers.

import { RefusedError } from "./reader.js";

/** Where the service is: one above this file, also where a host has mounted it somewhere below its own root. */
export const HOME = new URL("..", import.meta.url).pathname.replace(/\/$/, "");

/** @typedef {import("./reader.js").Output} Output */
/** @typedef {{turnId: string, threadId?: string, state?: string, announcedAt?: number}} ListedTurn */
/** @typedef {{turns: ListedTurn[], before: string | null}} TurnPage */
/** @typedef {{kind: string, toolCallId: string, toolName: string, approvalId?: string}} PendingCall */
/** @typedef {{turns: {turnId: string, outputs: Output[]}[], pending: PendingCall[]}} Thread */

export class Service {
  /** @param {string | null} token */
  constructor(token) {
    this.token = token;
  }

  /** List turns, newest first. @param {string | null} [before] @returns {Promise<TurnPage>} */
  turns(before = null) {
    return this.ask("GET", `/xapi/turns?limit=30${before ? `&before=${encodeURIComponent(before)}` : ""}`);
  }

  /** Give the newest turns of a thread with their outputs, oldest first, and what it waits for. @param {string} threadId @param {number} limit @returns {Promise<Thread>} */
  thread(threadId, limit) {
    return this.ask("GET", `/xapi/threads/${encodeURIComponent(threadId)}?limit=${limit}`);
  }

  /** Begin a turn. @param {string} threadId @param {string} message @returns {Promise<{turnId: string}>} */
  start(threadId, message) {
    return this.ask("POST", `/xapi/threads/${encodeURIComponent(threadId)}/turns`, { message });
  }

  /** Say whether a tool may run; a turn begins with that. @param {string} threadId @param {string} approvalId @param {boolean} approved @returns {Promise<{turnId: string}>} */
  answer(threadId, approvalId, approved) {
    return this.ask("POST", `/xapi/threads/${encodeURIComponent(threadId)}/turns`, { answers: [{ approvalId, approved }] });
  }

  /** End a turn. @param {string} turnId */
  stop(turnId) {
    return this.ask("POST", `/xapi/turns/${encodeURIComponent(turnId)}/stop`, {});
  }

  /** @private @param {string} method @param {string} path @param {unknown} [body] @returns {Promise<any>} */
  async ask(method, path, body) {
    /** @type {Record<string, string>} */
    const headers = { Accept: "application/json" };
    if (this.token) headers.Authorization = `Bearer ${this.token}`;
    if (body !== undefined) headers["Content-Type"] = "application/json";
    const response = await fetch(HOME + path, { method, headers, cache: "no-store", body: body === undefined ? null : JSON.stringify(body) });
    const said = await response.json().catch(() => ({}));
    if (response.ok) return said;
    throw new RefusedError(said.error?.message ?? `the service answered ${response.status}`, response.status, said.error?.code);
  }
}
