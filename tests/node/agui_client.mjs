// What the official AG-UI client makes of our events: many streams in, one verdict per stream out.
//
// In:  JSON lines {"name": ..., "events": [...], "messages": [...] (what the client knew before; optional)}
// Out: JSON lines {"name": ..., "error": null | {"at": index, "message": ...}, "warnings": [...], "messages": [...]}
//
// The events take the client's own way: enforce (schemas; what the protocol does not know is stripped with a
// warning), expand chunks, verify (the grammar), apply (the messages a user interface would show).
import { createInterface } from "node:readline";
import { defaultApplyEvents, enforceEvents, transformChunks, verifyEvents } from "@ag-ui/client";
import { from, lastValueFrom, tap } from "rxjs";

let warnings = [];
console.warn = (...words) => warnings.push(words.join(" "));

async function judge({ name, events, messages = [] }) {
  warnings = [];
  let at = -1;
  let known = messages;
  let error = null;
  const input = { threadId: "thread", runId: "run", messages, state: {}, tools: [], context: [] };
  const stream = from(events).pipe(
    tap(() => (at += 1)),
    enforceEvents(),
    transformChunks(),
    verifyEvents(),
  );
  const mutations = defaultApplyEvents(input, stream, { messages }, []).pipe(
    tap((mutation) => (known = mutation.messages ?? known)),
  );
  try {
    await lastValueFrom(mutations, { defaultValue: null });
  } catch (exc) {
    error = { at, message: String(exc?.message ?? exc) };
  }
  return { name, error, warnings, messages: known };
}

for await (const line of createInterface({ input: process.stdin, crlfDelay: Infinity })) {
  if (line.trim()) process.stdout.write(JSON.stringify(await judge(JSON.parse(line))) + "\n");
}
