import { createInterface } from 'node:readline'
import { Readable } from 'node:stream'

// The floor of a follower of the API server: it watches, parses each line, and forgets it.

let lines = 0

async function read(url: string): Promise<void> {
  const list = (await (await fetch(url)).json()) as { readonly metadata: { readonly resourceVersion: string } }
  const response = await fetch(`${url}?watch=true&resourceVersion=${list.metadata.resourceVersion}`)
  if (response.body === null) throw new Error('the watch has no body')
  void follow(Readable.fromWeb(response.body))
}

async function follow(stream: Readable): Promise<void> {
  for await (const line of createInterface({ input: stream })) {
    JSON.parse(line)
    lines += 1
  }
}

process.on(
  'message',
  (command: { readonly type: 'read' | 'count' | 'close'; readonly id: number; readonly url: string }) => {
    switch (command.type) {
      case 'read':
        void read(command.url).then(() => process.send?.({ id: command.id }))
        break
      case 'count':
        process.send?.({ id: command.id, lines })
        break
      case 'close':
        process.exit(0)
    }
  },
)
// A parent that is killed says nothing.
process.once('disconnect', () => process.exit(0))
process.send?.({ type: 'started' })
