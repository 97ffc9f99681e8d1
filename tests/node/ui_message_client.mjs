// What the AI SDK makes of our chunks: many streams in, one verdict per stream out.
//
// In:  JSON lines {"name": ..., "chunks": [...]}
// Out: JSON lines {"name": ..., "refused": [{"at": index, "message": ...}], "errors": [...], "message": {...}}
//
// `refused`: chunks that the package's own schema does not take. `errors`: what its reader complained of, a chunk of type
// error included. `message`: the last state that it gave.
import { createInterface } from "node:readline";
import { readUIMessageStream, uiMessageChunkSchema } from "ai";

const schema = uiMessageChunkSchema();

async function judge({ name, chunks }) {
  const refused = [];
  for (const [at, chunk] of chunks.entries()) {
    const verdict = await schema.validate(chunk);
    if (!verdict.success) refused.push({ at, message: String(verdict.error) });
  }
  const errors = [];
  const stream = new ReadableStream({
    start(controller) {
      for (const chunk of chunks) controller.enqueue(chunk);
      controller.close();
    },
  });
  let message = null;
  const onError = (error) => errors.push(String(error?.message ?? error));
  for await (const state of readUIMessageStream({ stream, onError })) message = state;
  return { name, refused, errors, message };
}

for await (const line of createInterface({ input: process.stdin, crlfDelay: Infinity })) {
  if (line.trim()) process.stdout.write(JSON.stringify(await judge(JSON.parse(line))) + "\n");
}
