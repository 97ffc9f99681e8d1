// What the StreamProcessor of @tanstack/ai takes for the same events: cases on standard input, times on standard output.
// Started by conversation.py with the folder of the package as its argument; the package is not part of turnwire.
import { readFileSync } from 'node:fs'
import { pathToFileURL } from 'node:url'

const { StreamProcessor } = await import(pathToFileURL(`${process.argv[2]}/dist/esm/index.js`).href)

const NO_PARTIAL_ARGUMENTS = { parse: () => undefined }
const PATIENCE_MS = 5000 // a case that takes this long is not repeated: it is slow enough to be measured well

function run({ turns, partial }) {
  let changes = 0
  const events = { onMessagesChange: () => (changes += 1) }
  const options = partial ? { events } : { events, jsonParser: NO_PARTIAL_ARGUMENTS }
  const processor = new StreamProcessor(options)
  const began = process.cpuUsage()
  for (const { prompt, stream } of turns) {
    if (prompt) processor.addUserMessage(prompt)
    processor.prepareAssistantMessage()
    for (const event of stream) processor.processChunk(event)
    processor.finalizeStream()
  }
  const { user, system } = process.cpuUsage(began) // what its garbage collector's threads take is its cost too
  const milliseconds = (user + system) / 1000
  return { milliseconds, changes, messages: processor.getMessages() }
}

function measure({ repeats, ...work }) {
  let best = run(work)
  for (let spent = best.milliseconds, done = 1; done < repeats && spent < PATIENCE_MS; done += 1) {
    const again = run(work)
    spent += again.milliseconds
    if (again.milliseconds < best.milliseconds) best = again
  }
  const parts = best.messages.flatMap((message) => message.parts)
  return { milliseconds: best.milliseconds, changes: best.changes, parts: parts.length, messages: best.messages.length }
}

const cases = JSON.parse(readFileSync(0, 'utf8'))
process.stdout.write(JSON.stringify(cases.map(measure)))
