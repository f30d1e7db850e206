import type { Readable } from 'node:stream'
import { StringDecoder } from 'node:string_decoder'

/** Longer lines are cut into pieces, so that a program without line ends can't fill the memory. */
const MAX_LINE = 64 * 1024

/** Calls back with every line of a stream, the last one too if no line end follows it. */
export function readLines(stream: Readable, onLine: (line: string) => void): void {
  const decoder = new StringDecoder('utf8')
  let rest = ''
  const take = (text: string): void => {
    const lines = (rest + text).split('\n')
    rest = lines.pop() ?? ''
    for (const line of lines) onLine(line.endsWith('\r') ? line.slice(0, -1) : line)
    while (rest.length > MAX_LINE) {
      onLine(rest.slice(0, MAX_LINE))
      rest = rest.slice(MAX_LINE)
    }
  }
  stream.on('data', (chunk: Buffer) => take(decoder.write(chunk)))
  // What broke the stream shows in how the process ends.
  stream.on('error', () => undefined)
  stream.once('close', () => {
    take(decoder.end())
    if (rest !== '') onLine(rest)
    rest = ''
  })
}
