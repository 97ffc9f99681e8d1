// The JavaScript reader against a server on loopback that does what servers do: answers, stops, loses, refuses.
import assert from "node:assert/strict";
import { createServer } from "node:http";
import { once } from "node:events";
import { after, test } from "node:test";
import { readFile } from "node:fs/promises";

// The file is called .js for browsers; older Nodes take that for CommonJS unless it comes without a name.
const source = await readFile(new URL("../../runtime/http/page/reader.js", import.meta.url), "base64");
const { isBefore, isOpen, readTurn, RefusedError, SseParser, TurnFold, TurnReader } = await import(`data:text/javascript;base64,${source}`);

const IDS = { turnId: "t", threadId: "th" };
const STARTED = { type: "turn_started", ...IDS };
const COMPLETE = { type: "turn_complete", ...IDS, status: "complete" };
const message = (content, status = "update", itemId = "m") => ({ type: "message", ...IDS, itemId, status, content, origin: "agent" });
const entry = (id, output) => `id: ${id}\ndata: ${JSON.stringify(output)}\n\n`;
const QUICK = { firstDelay: 1, longestDelay: 2 };
const servers = [];

after(() => servers.forEach((server) => (server.closeAllConnections(), server.close())));

/** Serves each request by the next of the answers; gives the address and what was asked. */
async function serve(...answers) {
  const asked = [];
  const server = createServer((request, response) => {
    asked.push({ url: request.url, headers: request.headers });
    answers[Math.min(asked.length, answers.length) - 1](response);
  });
  servers.push(server);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return { url: `http://127.0.0.1:${server.address().port}`, asked };
}

const stream = (...pieces) => (response) => {
  response.writeHead(200, { "Content-Type": "text/event-stream" });
  response.end(pieces.join(""));
};
const cut = (...pieces) => (response) => {
  response.writeHead(200, { "Content-Type": "text/event-stream" });
  response.write(pieces.join(""), () => response.destroy());
};
const hang = (...pieces) => (response) => {
  response.writeHead(200, { "Content-Type": "text/event-stream" });
  response.write(pieces.join("") || ": quiet\n\n");
};
const refuse = (status, code = "NO", words = "no") => (response) => {
  response.writeHead(status, { "Content-Type": "application/json" });
  response.end(JSON.stringify({ error: { code, message: words } }));
};

test("a body of events means the same however it is cut", () => {
  const body = 'retry: 7\n\nid: 1-1\r\nevent: x\r\ndata: a\r\ndata:b\r\n\r\n: quiet\n\nid: 1-2\rdata: {"é": "😀"}\r\rdata\n\n';
  const whole = new SseParser().push(body);
  assert.deepEqual(whole, [
    { id: null, event: "message", data: "", retry: 7 },
    { id: "1-1", event: "x", data: "a\nb", retry: null },
    { id: "1-2", event: "message", data: '{"é": "😀"}', retry: null },
    { id: null, event: "message", data: "", retry: null },
  ]);
  for (let at = 0; at <= body.length; at++) {
    const parser = new SseParser();
    assert.deepEqual([...parser.push(body.slice(0, at)), ...parser.push(body.slice(at))], whole, `cut at ${at}`);
  }
  const parser = new SseParser();
  assert.deepEqual([...body].flatMap((letter) => parser.push(letter)), whole);
});

test("the fold keeps the newest state of each item in order of first sight, and the first terminal", () => {
  const fold = new TurnFold();
  for (const output of [STARTED, message("a", "create", "x"), message("b", "create", "y"), message("aa", "complete", "x"), { type: "new" }]) fold.push(output);
  const open = fold.turn();
  assert.deepEqual(open.items.map((item) => [item.itemId, item.content]), [["x", "aa"], ["y", "b"]]);
  assert.deepEqual(open.items.map((item) => isOpen(item, open)), [false, true]);
  fold.push(COMPLETE);
  fold.push({ type: "turn_error", ...IDS, error: { code: "E", message: "" } });
  const over = fold.turn();
  assert.equal(over.terminal.type, "turn_complete");
  assert.deepEqual(over.items.map((item) => isOpen(item, over)), [false, false]);
});

test("entry ids are numbers, also past what a double holds", () => {
  assert.ok(isBefore("1-9", "1-10"));
  assert.ok(isBefore("9-1", "10-0"));
  assert.ok(isBefore("1-9007199254740992", "1-9007199254740993"));
  assert.ok(!isBefore("1-2", "1-2"));
});

test("a turn is read to its end", async () => {
  const { url, asked } = await serve(stream(entry("1-1", STARTED), entry("1-2", message("Hi", "complete")), entry("1-3", COMPLETE)));
  const reader = new TurnReader("a/b", { url, token: "secret" });
  const turn = await reader.done;
  assert.deepEqual(turn, { started: STARTED, items: [message("Hi", "complete")], terminal: COMPLETE });
  assert.equal(reader.connection, "ended");
  assert.equal(asked[0].url, "/xapi/turns/a%2Fb/stream");
  assert.equal(asked[0].headers.authorization, "Bearer secret");
  assert.equal(asked.length, 1);
});

test("a lost connection is resumed behind the last entry, however it was lost", async () => {
  const { url, asked } = await serve(
    cut(entry("1-1", STARTED), entry("1-2", message("H", "create")), "id: 1-3\ndata: {half"),
    refuse(503),
    stream(entry("1-3", message("He"))),
    stream(entry("1-4", message("Hey", "complete")), entry("1-5", COMPLETE)),
  );
  const seen = [];
  const reader = new TurnReader("t", { url, ...QUICK });
  reader.onChange = (turn, { connection }) => seen.push(connection);
  const turn = await reader.done;
  assert.deepEqual(turn.items, [message("Hey", "complete")]);
  assert.deepEqual(asked.map(({ url: path }) => path.split("?")[1]), [undefined, "from=1-2", "from=1-2", "from=1-3"]);
  assert.ok(seen.includes("waiting"));
  assert.equal(reader.error, null);
});

test("a server that is not there yet is waited for, ever longer", async () => {
  const delays = [];
  let calls = 0;
  const fake = async () => {
    if (++calls < 5) throw new TypeError("fetch failed");
    return new Response(entry("1-1", COMPLETE));
  };
  const reader = new TurnReader("t", { fetch: fake, firstDelay: 4, longestDelay: 16, random: () => (delays.push(reader.failures), 0) });
  await reader.done;
  assert.deepEqual(delays, [1, 2, 3, 4]);
});

test("when the log lost what was read, all of it is read again", async () => {
  for (const again of ["", "event: rewound\ndata: {\"type\":\"rewound\"}\n\n"]) {
    const { url } = await serve(
      cut(entry("1-1", STARTED), entry("1-2", message("lost", "create", "gone")), entry("1-3", message("H", "create"))),
      stream(again, entry("1-1", STARTED), entry("1-2", message("Hey", "complete")), entry("1-3", COMPLETE)),
    );
    const turn = await new TurnReader("t", { url, ...QUICK }).done;
    assert.deepEqual(turn.items, [message("Hey", "complete")]);
  }
});

test("an entry that is sent twice counts once", async () => {
  const { url } = await serve(cut(entry("1-1", STARTED), entry("1-2", message("Hi"))), stream(entry("1-2", message("other")), entry("1-3", COMPLETE)));
  assert.deepEqual((await new TurnReader("t", { url, ...QUICK }).done).items, [message("Hi")]);
});

test("a turn that was read to its end before has nothing more to say", async () => {
  const { url, asked } = await serve((response) => response.writeHead(204).end());
  const reader = new TurnReader("t", { url, from: "1-9" });
  assert.equal((await reader.done).terminal, null);
  assert.equal(reader.connection, "ended");
  assert.deepEqual(asked.map(({ url: path }) => path), ["/xapi/turns/t/stream?from=1-9"]);
});

test("a refusal is final and says why", async () => {
  for (const status of [401, 403, 404]) {
    const { url, asked } = await serve(refuse(status, "UNKNOWN_TURN", "turn t: not known"));
    const reader = new TurnReader("t", { url, ...QUICK });
    await assert.rejects(reader.done, (exc) => exc instanceof RefusedError && exc.status === status && exc.code === "UNKNOWN_TURN");
    assert.equal(reader.connection, "refused");
    assert.equal(asked.length, 1);
  }
});

test("a connection that says nothing is given up", async () => {
  const { url, asked } = await serve(hang(entry("1-1", STARTED)), stream(entry("1-2", COMPLETE)));
  const reader = new TurnReader("t", { url, ...QUICK, silence: 40 });
  await reader.done;
  assert.ok(asked.length >= 2);
});

test("stop ends it, connected or waiting, with what is known", async () => {
  const live = await serve(hang(entry("1-1", STARTED)));
  const reader = new TurnReader("t", { url: live.url });
  await new Promise((resolve) => (reader.onChange = (turn) => turn.started && resolve()));
  reader.stop();
  assert.deepEqual(await reader.done, { started: STARTED, items: [], terminal: null });
  assert.equal(reader.connection, "stopped");

  const down = await serve(refuse(503));
  const waiting = new TurnReader("t", { url: down.url, firstDelay: 1e6, longestDelay: 1e6 });
  await new Promise((resolve) => (waiting.onChange = (turn, { connection }) => connection === "waiting" && resolve()));
  waiting.stop();
  assert.equal((await waiting.done).terminal, null);
});

test("wake ends the wait", async () => {
  const { url, asked } = await serve(refuse(503), stream(entry("1-1", COMPLETE)));
  const reader = new TurnReader("t", { url, firstDelay: 1e6, longestDelay: 1e6 });
  await new Promise((resolve) => (reader.onChange = (turn, { connection }) => connection === "waiting" && setImmediate(resolve)));
  reader.wake();
  await reader.done;
  assert.equal(asked.length, 2);
});

test("the service may say how long to wait", async () => {
  const { url } = await serve(cut("retry: 3\n\n", entry("1-1", STARTED)), stream(entry("1-2", COMPLETE)));
  const reader = new TurnReader("t", { url, firstDelay: 1e6, longestDelay: 1e6 });
  await reader.done;
  assert.equal(reader.options.firstDelay, 3);
});

test("readTurn gives states until the terminal, and lets go when it is left", async () => {
  const { url } = await serve(stream(entry("1-1", STARTED), entry("1-2", message("Hi", "complete")), entry("1-3", COMPLETE)));
  let last = null;
  for await (const turn of readTurn("t", { url })) last = turn;
  assert.equal(last.terminal.status, "complete");

  const live = await serve(hang(entry("1-1", STARTED)));
  for await (const turn of readTurn("t", { url: live.url })) if (turn.started) break;

  const refused = await serve(refuse(404));
  await assert.rejects(async () => {
    for await (const turn of readTurn("t", { url: refused.url })) assert.equal(turn.terminal, null);
  }, RefusedError);
});

test("letters that are cut in two are put together", async () => {
  const bytes = Buffer.from(entry("1-1", message("Grüße 😀", "complete")) + entry("1-2", COMPLETE));
  const parts = async function* () {
    for (const byte of bytes) yield new Uint8Array([byte]);
  };
  const reader = new TurnReader("t", { fetch: async () => new Response(ReadableStream.from(parts())) });
  assert.equal((await reader.done).items[0].content, "Grüße 😀");
});

test("a long line is looked at once, however many pieces it comes in", () => {
  const parser = new SseParser();
  const data = "x".repeat(2 ** 10);
  let looked = 0;
  const original = String.prototype.matchAll;
  String.prototype.matchAll = function (pattern) {
    looked += this.length;
    return original.call(this, pattern);
  };
  try {
    parser.push("data: ");
    for (let piece = 0; piece < 2 ** 10; piece++) assert.deepEqual(parser.push(data), []);
    const [event] = parser.push("\n\n");
    assert.equal(event.data.length, 2 ** 20);
  } finally {
    String.prototype.matchAll = original;
  }
  assert.ok(looked < 2 ** 20 + 100, `${looked} characters were looked at`);
});

test("what is no output is passed over, and the turn goes on behind it", async () => {
  for (const odd of ["half a {", "null", "7", '"turn_complete"', "[]"]) {
    const { url, asked } = await serve(stream(entry("1-1", STARTED), `id: 1-2\ndata: ${odd}\n\n`, entry("1-3", COMPLETE)));
    const reader = new TurnReader("t", { url, ...QUICK });
    assert.deepEqual(await reader.done, { started: STARTED, items: [], terminal: COMPLETE });
    assert.deepEqual([asked.length, reader.cursor], [1, "1-3"]);
  }
});

test("an item without an id or a text is no output", () => {
  const fold = new TurnFold();
  fold.push(message("Hi", "complete"));
  for (const type of ["message", "thinking", "tool_call"]) {
    for (const odd of [{}, { itemId: "x" }, { content: "x" }, { itemId: 7, content: "x" }, { itemId: "m", content: null }]) fold.push({ type, ...odd });
  }
  assert.deepEqual(fold.turn(), { started: null, items: [message("Hi", "complete")], terminal: null });
});

test("stop may be called by whoever is told, whatever is told", async () => {
  for (const moment of ["connecting", "live", "waiting"]) {
    const { url, asked } = await serve(moment === "waiting" ? refuse(503) : hang(entry("1-1", STARTED)));
    const reader = new TurnReader("t", { url, firstDelay: 1e6, longestDelay: 1e6 });
    reader.onChange = (turn, { connection }) => connection === moment && reader.stop();
    assert.equal((await reader.done).terminal, null, moment);
    assert.equal(reader.connection, "stopped");
    assert.ok(asked.length <= 1);
  }
});

test("a callback that throws is reported, and the turn is read on", async () => {
  const { url, asked } = await serve(stream(entry("1-1", STARTED), entry("1-2", message("Hi", "complete")), entry("1-3", COMPLETE)));
  const thrown = [];
  const listeners = process.listeners("uncaughtException");
  process.removeAllListeners("uncaughtException");
  process.on("uncaughtException", (exc) => thrown.push(exc.message));
  try {
    const reader = new TurnReader("t", { url, ...QUICK });
    reader.onChange = () => {
      throw new Error("of the page");
    };
    assert.deepEqual((await reader.done).terminal, COMPLETE);
    assert.deepEqual([asked.length, reader.error], [1, null]);
    await new Promise((resolve) => setTimeout(resolve, 5));
    assert.ok(thrown.length > 0 && thrown.every((words) => words === "of the page"));
  } finally {
    process.removeAllListeners("uncaughtException");
    listeners.forEach((listener) => process.on("uncaughtException", listener));
  }
});
