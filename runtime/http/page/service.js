// What the page asks of the service, apart from reading a turn (reader.js): lists, prompts, stops, answers.

import { RefusedError } from "./reader.js";

/** @typedef {import("./reader.js").Output} Output */
/** @typedef {{turnId: string, threadId?: string, state?: string, announcedAt?: number}} ListedTurn */
/** @typedef {{turns: ListedTurn[], before: string | null}} TurnPage */
/** @typedef {{approvalId: string, toolCallId: string, toolName: string, input: unknown}} PendingApproval */

export class Service {
  /** @param {string | null} token */
  constructor(token) {
    this.token = token;
  }

  /** List turns, newest first. @param {string | null} [before] @returns {Promise<TurnPage>} */
  turns(before = null) {
    return this.ask("GET", `/xapi/turns?limit=30${before ? `&before=${encodeURIComponent(before)}` : ""}`);
  }

  /** Give the turns of a thread with their outputs, oldest first. @param {string} threadId @returns {Promise<{turns: {turnId: string, outputs: Output[]}[]}>} */
  thread(threadId) {
    return this.ask("GET", `/xapi/threads/${encodeURIComponent(threadId)}`);
  }

  /** Begin a turn. @param {string} threadId @param {string} prompt @returns {Promise<{turnId: string}>} */
  start(threadId, prompt) {
    return this.ask("POST", `/xapi/threads/${encodeURIComponent(threadId)}/turns`, { prompt });
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
    const response = await fetch(path, { method, headers, cache: "no-store", body: body === undefined ? null : JSON.stringify(body) });
    const said = await response.json().catch(() => ({}));
    if (response.ok) return said;
    throw new RefusedError(said.error?.message ?? `the service answered ${response.status}`, response.status, said.error?.code);
  }
}
