// Reads a turn of a turnwire service: connects, folds, comes back after a lost connection, and knows when it is over.
//
// One file, no dependencies, for browsers and for Node 20 and newer: copy it. What arrives is always the whole state of
// one item, so the fold is a map from item id to its newest state. Nothing else has to be remembered.
//
//   const reader = new TurnReader("turn-1", { url: "https://example.org" });
//   reader.onChange = (turn) => render(turn.items);
//   const turn = await reader.done;      // or: for await (const turn of readTurn("turn-1", options)) render(turn.items);

/**
 * @typedef {"create" | "update" | "complete" | "error"} ItemStatus
 * create: first sight; update: replace the content; complete: final; error: failed, the content is what there was.
 */
/**
 * @typedef {object} Item The whole state of one message, thought or tool call.
 * @property {"message" | "thinking" | "tool_call"} type
 * @property {string} turnId
 * @property {string} threadId
 * @property {string} itemId
 * @property {ItemStatus} status
 * @property {string} content
 * @property {"user" | "agent" | "system"} [origin] of a message
 * @property {string} [providerId] of a thought
 * @property {string} [toolName] of a tool call, as all that follow
 * @property {Record<string, unknown>} [toolArguments]
 * @property {string} [callId]
 * @property {unknown} [toolOutput] an object, an array or a text
 * @property {boolean} [success]
 * @property {string} [errorCode]
 * @property {string} [errorMessage]
 */
/**
 * @typedef {{promptTokens: number, completionTokens: number, totalTokens: number}} Usage
 * @typedef {{type: "turn_started", turnId: string, threadId: string, modelId?: string, providerId?: string}} TurnStarted
 * @typedef {{type: "turn_complete", turnId: string, threadId: string, status: "complete" | "error" | "aborted", usage?: Usage}} TurnComplete
 * @typedef {{type: "turn_error", turnId: string, threadId: string, error: {code: string, message: string}}} TurnError
 * @typedef {Item | TurnStarted | TurnComplete | TurnError} Output
 */
/**
 * @typedef {object} Turn All that a reader knows. A new object after every change; the items are shared.
 * @property {TurnStarted | null} started
 * @property {readonly Item[]} items the newest state of each, in order of first sight
 * @property {TurnComplete | TurnError | null} terminal
 */
/**
 * @typedef {"connecting" | "live" | "waiting" | "ended" | "stopped" | "refused"} Connection
 * waiting: the connection was lost and the next try is due later; refused: trying again is of no use, see `error`.
 */
/**
 * @typedef {object} ReaderOptions
 * @property {string} [url] where the service is; default: where the page came from
 * @property {string | null} [token] sent as `Authorization: Bearer`
 * @property {string | null} [from] resume behind this entry id; what came before it is then not in the fold
 * @property {typeof fetch} [fetch] another `fetch`
 * @property {number} [firstDelay] ms before the first new try (500); it doubles with each in a row
 * @property {number} [longestDelay] ms (15000)
 * @property {number} [silence] ms: a connection that says nothing for so long is given up (45000; the service says
 *   something every 15 s)
 * @property {() => number} [random] for the jitter; default Math.random
 */

/** A service that refused for good: trying again would not help. */
export class RefusedError extends Error {
  /** @param {string} message @param {number} status @param {string} [code] */
  constructor(message, status, code = "") {
    super(message);
    this.name = "RefusedError";
    this.status = status;
    this.code = code;
  }
}

/** Folds outputs: the newest state of each item, in order of first sight. The first terminal wins. */
export class TurnFold {
  constructor() {
    /** @type {Map<string, Item>} */
    this.byId = new Map();
    /** @type {TurnStarted | null} */
    this.started = null;
    /** @type {TurnComplete | TurnError | null} */
    this.terminal = null;
  }

  /** Take one output in. What is of a type that nobody knew when this was written, or an item without id or text, is passed over. @param {Output} output */
  push(output) {
    switch (output.type) {
      case "message":
      case "thinking":
      case "tool_call":
        if (typeof output.itemId === "string" && typeof output.content === "string") this.byId.set(output.itemId, output);
        break;
      case "turn_started":
        this.started ??= output;
        break;
      case "turn_complete":
      case "turn_error":
        this.terminal ??= output;
        break;
    }
  }

  /** Give what is known. @returns {Turn} */
  turn() {
    return { started: this.started, items: [...this.byId.values()], terminal: this.terminal };
  }
}

/** Is this item still going on? A terminal ends every item that is open. @param {Item} item @param {Turn} turn */
export function isOpen(item, turn) {
  return turn.terminal === null && item.status !== "complete" && item.status !== "error";
}

/**
 * Cuts a body of server-sent events, which comes in pieces that may end anywhere, into events.
 * @typedef {{id: string | null, event: string, data: string, retry: number | null}} SseEvent
 */
export class SseParser {
  constructor() {
    /** A line that has not ended yet, in the pieces that it came in. @private @type {string[]} */
    this.rest = [];
    /** @private */
    this.begun = blank();
  }

  /** Take a piece of text; gives the events that it completes. @param {string} text @returns {SseEvent[]} */
  push(text) {
    const events = [];
    // A carriage return at the very end may be half of a line end: it waits for what comes.
    const piece = this.rest.at(-1) === "\r" ? this.rest.pop() + text : text;
    let from = 0;
    for (const end of piece.matchAll(/\r\n|\n|\r(?!$)/g)) {
      const event = this.line(this.rest.join("") + piece.slice(from, end.index));
      if (event) events.push(event);
      this.rest = [];
      from = end.index + end[0].length;
    }
    // What has been looked at is not looked at again: a line of megabytes costs as much as it is long.
    const open = piece.endsWith("\r") ? piece.slice(from, -1) : piece.slice(from);
    if (open) this.rest.push(open);
    if (piece.endsWith("\r")) this.rest.push("\r");
    return events;
  }

  /** @private @param {string} line @returns {SseEvent | null} */
  line(line) {
    const begun = this.begun;
    if (line === "") {
      this.begun = blank();
      const { id, event, data, retry } = begun;
      if (data.length === 0 && retry === null && event === "") return null;
      return { id, event: event || "message", data: data.join("\n"), retry };
    }
    const colon = line.indexOf(":");
    const field = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? "" : line.slice(colon + (line[colon + 1] === " " ? 2 : 1));
    if (field === "data") begun.data.push(value);
    else if (field === "event") begun.event = value;
    else if (field === "id" && !value.includes("\0")) begun.id = value;
    else if (field === "retry" && /^\d+$/.test(value)) begun.retry = Number(value);
    return null;
  }
}

/** @returns {{id: string | null, event: string, data: string[], retry: number | null}} */
function blank() {
  return { id: null, event: "", data: [], retry: null };
}

/** Does entry id `a`, such as "1-7", stand before `b`? Both halves are whole numbers of up to 64 bits. @param {string} a @param {string} b */
export function isBefore(a, b) {
  const [a1, a2] = a.split("-").map(BigInt);
  const [b1, b2] = b.split("-").map(BigInt);
  return a1 < b1 || (a1 === b1 && a2 < b2);
}

const ENTRY_ID = /^\d+-\d+$/;
const REWOUND = "rewound";
const PASSING = new Set([408, 425, 429]); // like 5xx: it may well be better later

/** Is a refusal with this status of the kind that may well be gone later? @param {number} status */
export function mayPass(status) {
  return status >= 500 || PASSING.has(status);
}

/** Follows one turn until its terminal, over as many connections as it takes. */
export class TurnReader {
  /** Begins at once. @param {string} turnId @param {ReaderOptions} [options] */
  constructor(turnId, options = {}) {
    this.turnId = turnId;
    /** @private */
    this.options = {
      url: "", token: null, from: null, firstDelay: 500, longestDelay: 15_000, silence: 45_000, random: Math.random,
      fetch: globalThis.fetch.bind(globalThis), ...options,
    };
    /** The last entry that was read. To go on from here another time: `new TurnReader(id, {from: cursor})`. @type {string | null} */
    this.cursor = this.options.from;
    /** @type {Connection} */
    this.connection = "connecting";
    /** Why the last connection was lost or refused. @type {Error | null} */
    this.error = null;
    /** Called after every change of the turn or of the connection. @type {(turn: Turn, reader: TurnReader) => void} */
    this.onChange = () => {};
    /** @private */
    this.fold = new TurnFold();
    /** @private */
    this.stopped = false;
    /** Ends the connection there is. @private */
    this.hangUp = new AbortController();
    /** The service said that there is nothing more to read. @private */
    this.isOver = false;
    /** @private @type {() => void} */
    this.wakeUp = () => {};
    /** How many tries in a row brought nothing. @private */
    this.failures = 0;
    /** Resolves to the turn at its terminal, or as it stands when stopped. Rejects with RefusedError. @type {Promise<Turn>} */
    this.done = Promise.resolve().then(() => this.run());
    this.done.catch(() => {}); // whoever only listens to onChange is not to be told of an unhandled rejection
  }

  /** What is known of the turn. */
  get turn() {
    return this.fold.turn();
  }

  /** Stop reading. Twice is fine. */
  stop() {
    this.stopped = true;
    this.hangUp.abort();
    this.wakeUp();
  }

  /** Try again now instead of later: the network is back, or the page is looked at again. */
  wake() {
    this.wakeUp();
  }

  /** @private */
  async run() {
    while (!this.stopped) {
      try {
        await this.connect();
        if (this.fold.terminal || this.isOver) break;
        this.error = new Error("the stream ended before the turn did");
      } catch (exc) {
        this.error = /** @type {Error} */ (exc);
        if (exc instanceof RefusedError) {
          this.tell("refused");
          throw exc;
        }
      }
      if (!this.stopped) await this.pause();
    }
    this.tell(this.fold.terminal || this.isOver ? "ended" : "stopped");
    return this.turn;
  }

  /** @private */
  async connect() {
    this.hangUp = new AbortController(); // before anybody is told: who is told may stop us
    const signal = this.hangUp.signal;
    this.tell("connecting");
    const giveUp = () => this.hangUp.abort(new Error(`nothing was heard for ${this.options.silence / 1000} s`));
    let timer = setTimeout(giveUp, this.options.silence);
    try {
      const response = await this.options.fetch(this.address(), { headers: this.headers(), signal, cache: "no-store" });
      this.isOver = response.status === 204; // we had resumed behind its end
      if (this.isOver) return;
      await refuse(response);
      this.tell("live");
      const parser = new SseParser();
      const decoder = new TextDecoder();
      const body = /** @type {ReadableStream<Uint8Array>} */ (response.body).getReader();
      for (;;) {
        const { done, value } = await body.read();
        if (done) return;
        clearTimeout(timer);
        timer = setTimeout(giveUp, this.options.silence);
        this.take(parser.push(decoder.decode(value, { stream: true })));
        if (this.fold.terminal) return void body.cancel().catch(() => {});
      }
    } finally {
      clearTimeout(timer);
    }
  }

  /** @private */
  address() {
    const from = this.cursor === null ? "" : `?from=${encodeURIComponent(this.cursor)}`;
    return `${this.options.url}/xapi/turns/${encodeURIComponent(this.turnId)}/stream${from}`;
  }

  /** @private @returns {Record<string, string>} */
  headers() {
    const token = this.options.token;
    return { Accept: "text/event-stream", ...(token ? { Authorization: `Bearer ${token}` } : {}) };
  }

  /** @private @param {SseEvent[]} events */
  take(events) {
    let changed = false;
    for (const { id, event, data, retry } of events) {
      if (retry !== null) this.options.firstDelay = Math.min(retry, this.options.longestDelay);
      const entry = id !== null && ENTRY_ID.test(id) ? id : null;
      if (event === REWOUND || (entry && this.cursor && isBefore(entry, this.cursor))) {
        // The log lost what we had read, and tells all of it again: so do we.
        this.fold = new TurnFold();
        this.cursor = null;
      }
      if (data !== "" && !(entry && entry === this.cursor)) {
        this.fold.push(parse(data));
        changed = true;
      }
      this.cursor = entry ?? this.cursor;
      this.failures = 0;
    }
    if (changed) this.notify();
  }

  /** @private */
  async pause() {
    this.tell("waiting");
    if (this.stopped) return; // by whoever was told just now
    const longest = Math.min(this.options.longestDelay, this.options.firstDelay * 2 ** this.failures);
    this.failures += 1;
    await new Promise((resolve) => {
      // Half of it is left to chance: a thousand readers that were cut off together do not come back together.
      const timer = setTimeout(resolve, longest * (0.5 + this.options.random() / 2));
      this.wakeUp = () => {
        clearTimeout(timer);
        resolve(undefined);
      };
    });
  }

  /** @private @param {Connection} connection */
  tell(connection) {
    this.connection = connection;
    if (connection === "live") this.error = null;
    this.notify();
  }

  /** Tell that something has changed. What a callback throws is its own and no lost connection: it is reported as any listener's. @private */
  notify() {
    try {
      this.onChange(this.turn, this);
    } catch (exc) {
      setTimeout(() => {
        throw exc;
      });
    }
  }
}

/**
 * Give the turn after every change, until its terminal. Changes that come while nobody looks are given as one.
 * @param {string} turnId
 * @param {ReaderOptions} [options]
 * @returns {AsyncGenerator<Turn, void, void>}
 */
export async function* readTurn(turnId, options = {}) {
  const reader = new TurnReader(turnId, options);
  /** @type {Turn | null} */
  let newest = null;
  let news = () => {};
  reader.onChange = (turn) => {
    newest = turn;
    news();
  };
  let over = false;
  const end = reader.done.finally(() => {
    over = true;
    news();
  });
  end.catch(() => {});
  try {
    while (!over || newest) {
      if (newest) {
        const turn = newest;
        newest = null;
        yield turn;
      } else {
        await new Promise((resolve) => (news = () => resolve(undefined)));
      }
    }
    await end;
  } finally {
    reader.stop();
  }
}

/** Reads an output. What is no JSON object was written by somebody else: it is passed over, like a type that nobody knows. @param {string} data @returns {Output} */
function parse(data) {
  try {
    return Object(JSON.parse(data));
  } catch {
    return Object({});
  }
}

/** Raises what the service says when it does not give a stream. @param {Response} response */
async function refuse(response) {
  if (response.ok && response.body) return;
  const { code, message } = await reason(response);
  if (mayPass(response.status) || response.ok) throw new Error(message);
  throw new RefusedError(message, response.status, code);
}

/** @param {Response} response @returns {Promise<{code: string, message: string}>} */
async function reason(response) {
  const fallback = { code: "", message: `the service answered ${response.status}` };
  try {
    const { error } = await response.json();
    return { code: String(error.code), message: String(error.message) };
  } catch {
    return fallback;
  }
}
