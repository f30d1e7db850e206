import type { Readable } from 'node:stream'

import { KubernetesError } from '../kubernetes-error.js'

const NEWLINE = 0x0a

/** Reads a whole body, up to `maxBytes`. */
export async function readBody(body: Readable, maxBytes: number, what: string): Promise<Buffer> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of body as AsyncIterable<Buffer>) {
    size += chunk.length
    if (size > maxBytes) throw tooLarge(what, maxBytes)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks, size)
}

/** Lines of a body as they arrive, each up to `maxBytes`. What is after the last newline is a cut line and is dropped. */
export async function* readLines(body: Readable, maxBytes: number, what: string): AsyncGenerator<string, void> {
  let parts: Buffer[] = []
  let size = 0
  for await (const chunk of body as AsyncIterable<Buffer>) {
    let from = 0
    for (let end = chunk.indexOf(NEWLINE); end >= 0; end = chunk.indexOf(NEWLINE, from)) {
      // Most lines come in one piece, and need no copy.
      const line =
        parts.length === 0
          ? chunk.toString('utf8', from, end)
          : Buffer.concat([...parts, chunk.subarray(from, end)]).toString('utf8')
      if (parts.length > 0) parts = []
      size = 0
      from = end + 1
      if (line.length > 0) yield line
    }
    if (from === chunk.length) continue
    parts.push(chunk.subarray(from))
    size += chunk.length - from
    if (size > maxBytes) throw tooLarge(what, maxBytes)
  }
}

/** The error for an answer that is larger than what is accepted. */
export function tooLarge(what: string, maxBytes: number): KubernetesError {
  return new KubernetesError('OSM_KUBERNETES_RESPONSE', `${what}: the answer has more than ${maxBytes} bytes`, {
    reason: TOO_LARGE,
  })
}

/** Reason on the error for an answer that is larger than what is accepted. */
export const TOO_LARGE = 'ResponseTooLarge'
