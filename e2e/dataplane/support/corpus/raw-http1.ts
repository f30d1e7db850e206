import type { Socket } from 'node:net'

const SILENCE_MS = 10_000

/** What returned over a connection until the other side ended it. */
export interface Http1Exchange {
  readonly text: string
  /** False: no one ended the connection. */
  readonly ended: boolean
}

/** Writes bytes and reads until the connection ends, or until what has come says that it will not. Never rejects. */
export function exchange(socket: Socket, bytes: string, isOver: (text: string) => boolean): Promise<Http1Exchange> {
  return new Promise((resolve) => {
    let text = ''
    const done = (ended: boolean): void => {
      clearTimeout(timer)
      socket.destroy()
      resolve({ text, ended })
    }
    const timer = setTimeout(() => done(false), SILENCE_MS)
    socket.on('data', (chunk: Buffer) => {
      text += chunk.toString('latin1')
      if (isOver(text)) done(true)
    })
    socket.on('error', () => undefined)
    socket.on('close', () => done(true))
    socket.write(Buffer.from(bytes, 'latin1'))
  })
}

/** What a server has seen, as it says itself. */
export interface Seen {
  readonly method: string
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
}

/** Everything in an exchange that a server said; of an answer that tells of other requests, what it says of its own. */
export function seenIn(text: string): readonly Seen[] {
  const found: Seen[] = []
  for (let at = text.indexOf('{"server"'); at !== -1; at = text.indexOf('{"server"', at + 1)) {
    const end = endOfObject(text, at)
    if (end !== undefined) found.push(JSON.parse(text.slice(at, end)) as Seen)
  }
  return found
}

/** The place behind a JSON object. */
function endOfObject(text: string, start: number): number | undefined {
  let depth = 0
  let isQuoted = false
  for (let at = start; at < text.length; at += 1) {
    const character = text[at]
    if (isQuoted) {
      if (character === '\\') at += 1
      else if (character === '"') isQuoted = false
      continue
    }
    if (character === '"') isQuoted = true
    if (character === '{') depth += 1
    if (character === '}') depth -= 1
    if (depth === 0) return at + 1
  }
  return undefined
}
