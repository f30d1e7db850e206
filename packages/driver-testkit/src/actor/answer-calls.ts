import { createInterface } from 'node:readline'
import type { Readable, Writable } from 'node:stream'
import { Connections, perform } from './connections.js'
import type { Answered, Asked } from './protocol.js'

/** Makes the calls that come as lines of JSON, as many at a time as come, and answers each by a line; ends with its input. */
export async function answerCalls(input: Readable, output: Writable): Promise<void> {
  const connections = new Connections()
  const running = new Set<Promise<void>>()
  for await (const line of createInterface({ input })) {
    const { id, call } = JSON.parse(line) as Asked
    const answering = perform(call, connections).then((answer) => {
      const answered: Answered = { id, answer }
      output.write(`${JSON.stringify(answered)}\n`)
      running.delete(answering)
    })
    running.add(answering)
  }
  await Promise.all(running)
  connections.close()
}
