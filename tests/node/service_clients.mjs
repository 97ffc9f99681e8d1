// Clients that we did not write, against a running service: one job in, what the client ended up with out.
//
// In:  one line of JSON {"client": "eventsource" | "agui" | "chat" | "reconnect", "url": ..., ...}
// Out: one line of JSON; an "up" line before it where the client is to be watched while it works
import { createInterface } from "node:readline";

const say = (document) => process.stdout.write(JSON.stringify(document) + "\n");

// EventSource, with its connection cut after every k-th event, in the middle of the next one.
async function eventsource({ url, every }) {
  const { EventSource } = await import("eventsource");
  const events = [];
  const asked = [];
  const source = new EventSource(url, { fetch: (address, init) => cutting(address, init, every, asked) });
  source.onmessage = ({ data, lastEventId }) => events.push({ id: lastEventId, data });
  const failures = [];
  await new Promise((resolve) => {
    source.onerror = (error) => {
      failures.push(error.code ?? null);
      if (source.readyState === EventSource.CLOSED) resolve();
    };
  });
  return { events, asked, failures };
}

async function cutting(address, init, every, asked) {
  asked.push(new Headers(init.headers).get("last-event-id"));
  const abort = new AbortController();
  const answer = await fetch(address, { ...init, signal: abort.signal });
  if (!every || answer.status !== 200) return answer;
  const reader = answer.body.getReader();
  let seen = 0;
  const body = new ReadableStream({
    async pull(controller) {
      if (seen === every) return controller.error(new TypeError("cut")); // now that the last piece was taken
      const { done, value } = await reader.read();
      if (done) return controller.close();
      const text = new TextDecoder("latin1").decode(value);
      let end = 0;
      for (const block of text.matchAll(/[^]*?\n\n/g)) {
        end = block.index + block[0].length;
        seen += block[0].includes("data: ") ? 1 : 0;
        if (seen === every) {
          // The service asks for a second of patience, and we have less; then comes a piece of the next event.
          const piece = value.slice(end, Math.min(value.length, end + 9));
          controller.enqueue(Buffer.concat([value.slice(0, end), Buffer.from("retry: 1\n\n"), piece]));
          return abort.abort();
        }
      }
      controller.enqueue(value);
    },
  });
  return new Response(body, { status: answer.status, headers: answer.headers });
}

async function agui({ url, runId, threadId, prompt, tools }) {
  const { HttpAgent } = await import("@ag-ui/client");
  const warnings = [];
  console.warn = (...words) => warnings.push(words.join(" "));
  const agent = new HttpAgent({ url: `${url}/agui`, threadId });
  agent.addMessage({ id: `${runId}-u`, role: "user", content: prompt });
  const events = [];
  const seen = { error: null, outcome: null, pending: null };
  const subscriber = {
    onEvent: ({ event }) => {
      events.push(event.type);
      if (events.length === 2) say({ up: runId });
    },
    onRunErrorEvent: ({ event }) => void (seen.error = { code: event.code, message: event.message }),
    onRunFinishedEvent: ({ outcome, pendingToolCallIds }) => void Object.assign(seen, { outcome, pending: pendingToolCallIds ?? null }),
  };
  let failure = null;
  try {
    await agent.runAgent({ runId, tools: tools ?? [] }, subscriber);
  } catch (exc) {
    failure = String(exc?.message ?? exc);
  }
  return { ...seen, failure, events, warnings, messages: agent.messages };
}

async function chat({ url, id, prompt, messages, reconnect }) {
  const { DefaultChatTransport, readUIMessageStream } = await import("ai");
  const transport = new DefaultChatTransport({ api: `${url}/api/chat` });
  const said = messages ?? [{ id: `${id}-u`, role: "user", parts: [{ type: "text", text: prompt }] }];
  const stream = reconnect
    ? await transport.reconnectToStream({ chatId: id })
    : await transport.sendMessages({ chatId: id, messages: said, trigger: "submit-message", abortSignal: undefined });
  if (stream === null) return { message: null, errors: [], chunks: null };
  const [ours, theirs] = stream.tee();
  const chunks = [];
  const watching = (async () => {
    for await (const chunk of ours) {
      chunks.push(chunk);
      if (chunks.length === 3) say({ up: chunks[0].messageId });
    }
  })();
  const errors = [];
  let message = null;
  const onError = (error) => errors.push(String(error?.message ?? error));
  for await (const state of readUIMessageStream({ stream: theirs, onError })) message = state;
  await watching;
  return { message, errors, chunks: chunks.map((chunk) => chunk.type) };
}

const clients = { eventsource, agui, chat };
for await (const line of createInterface({ input: process.stdin, crlfDelay: Infinity })) {
  if (!line.trim()) continue;
  const job = JSON.parse(line);
  say({ done: await clients[job.client](job) });
}
process.exit(0); // connections that are kept alive would keep us
