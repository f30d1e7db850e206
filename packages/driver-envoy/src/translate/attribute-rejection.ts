import { type Part, type PartHash, type PartRef, pointerToken } from '@osm-ts/driver-api/policy'

import type { EncodedResource } from '../resources/types.js'
import { names } from './encoding/names.js'

/** A part that a refusal is about. */
export interface RejectedPart {
  readonly part: PartRef
  /** JSON pointer of the element in the part, where the proxy's words allow to tell. */
  readonly element?: string
}

/** Members of parts whose text Envoy may quote: what users write, and what only one part has. Others, such as `http`, are everyday words. */
const QUOTED = new Set([
  'addresses',
  'cipherSuites',
  'cidrs',
  'ecdhCurves',
  'host',
  'hosts',
  'name',
  'path',
  'retryOn',
  'serverName',
  'serverNames',
  'template',
  'value',
])

/**
 * Traces the refusal of a resource back to what it was made of: first by the longest text of a part that the message quotes, then by the name of a
 * filter chain. What nothing in the message points to may be at fault as a whole, so then all sources are returned.
 *
 * @param message - the proxy's words
 * @param resource - a resource that they are about
 * @param lookup - gives the part of a hash; undefined where it is not held any more
 */
export function attributeRejection(
  message: string,
  resource: EncodedResource,
  lookup: (hash: PartHash) => Part | undefined,
): readonly RejectedPart[] {
  const sources = resource.sources.map((ref) => ({ ref, part: lookup(ref.hash) }))
  const quotes = sources.flatMap(({ ref, part }) =>
    part === undefined
      ? []
      : quotedTexts(part)
          .filter(({ text }) => isQuoted(message, text))
          .map((quote) => ({ ref, ...quote })),
  )
  const longest = Math.max(...quotes.map(({ text }) => text.length))
  const best = quotes.filter(({ text }) => text.length === longest)
  if (best.length > 0) return firstOfEach(best.map(({ ref, pointer }) => ({ part: ref, element: pointer })))
  const named = sources.filter(({ part }) => part !== undefined && namesChain(message, part))
  return (named.length > 0 ? named : sources).map(({ ref }) => ({ part: ref }))
}

interface Quote {
  readonly text: string
  readonly pointer: string
}

function quotedTexts(part: Part): readonly Quote[] {
  const found: Quote[] = []
  const visit = (value: unknown, pointer: string, member: string): void => {
    if (typeof value === 'string') {
      if (QUOTED.has(member) && value !== '') found.push({ text: value, pointer })
    } else if (Array.isArray(value)) {
      value.forEach((item: unknown, index) => {
        visit(item, `${pointer}/${index}`, member)
      })
    } else if (typeof value === 'object' && value !== null) {
      for (const [name, item] of Object.entries(value)) visit(item, `${pointer}/${pointerToken(name)}`, name)
    }
  }
  // What the part is called says nothing about which of its elements is wrong.
  const { id: _id, kind: _kind, ...rest } = part
  visit('service' in rest ? { ...rest, service: undefined } : rest, '', '')
  return found
}

/** True if the text occurs by itself, not as a piece of a longer word. */
function isQuoted(message: string, text: string): boolean {
  for (let start = message.indexOf(text); start !== -1; start = message.indexOf(text, start + 1)) {
    if (!continuesWord(message[start - 1], text[0]) && !continuesWord(message[start + text.length], text.at(-1)))
      return true
  }
  return false
}

function continuesWord(neighbour: string | undefined, edge: string | undefined): boolean {
  const word = /[\w.-]/
  return neighbour !== undefined && edge !== undefined && word.test(neighbour) && word.test(edge)
}

function namesChain(message: string, part: Part): boolean {
  const chain =
    part.kind === 'inbound' ? names.inboundChain(part) : part.kind === 'outbound' ? names.outboundChain(part) : ''
  return chain !== '' && message.includes(`'${chain}'`)
}

/** One element for each part is enough to find the place. */
function firstOfEach(attributed: readonly RejectedPart[]): readonly RejectedPart[] {
  const byHash = new Map<PartHash, RejectedPart>()
  for (const entry of attributed) if (!byHash.has(entry.part.hash)) byHash.set(entry.part.hash, entry)
  return [...byHash.values()]
}
