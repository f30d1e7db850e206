import type { Exchange } from '../types.js'

/** Messages that a client sends one after another, each when the last has returned. */
export interface WebSocketExchange extends Exchange {
  readonly path: string
  readonly send: readonly { readonly bytes: number; readonly binary?: boolean }[]
  readonly subprotocols?: readonly string[]
  /** Who closes the connection at the end, with a code and a reason. */
  readonly closes: 'client' | 'server'
}

const texts = Array.from({ length: 10 }, (_, i) => ({ bytes: i + 1 }))

/** What every client does with every server. */
export const webSocketExchanges: readonly WebSocketExchange[] = [
  { name: 'texts', path: '/ws', send: texts, closes: 'client' },
  {
    name: 'binary',
    path: '/ws',
    send: [
      { bytes: 1, binary: true },
      { bytes: 300_000, binary: true },
    ],
    closes: 'client',
  },
  { name: 'server closes', path: '/ws', send: texts.slice(0, 2), closes: 'server' },
  { name: 'subprotocol', path: '/ws', send: texts.slice(0, 1), subprotocols: ['chat'], closes: 'client' },
]
