import type { Explanation } from '../types.js'

/** What differs through the mesh, and why. */
export const grpcExplanations: readonly Explanation[] = [
  {
    id: 'added',
    what: 'servers see the metadata `x-request-id` and `x-forwarded-proto`',
    reason: 'traces and logs of sidecars need them',
    switch: 'none',
    explains: ({ exchange, path, beside }) =>
      exchange === 'unary' && beside === undefined && /^metadata\.(x-request-id|x-forwarded-proto)(\.|$)/.test(path),
  },
  {
    id: 'cancelled',
    what: 'in class `pipy`, a server is notified of a cancelled call only when the other calls on its connection have ended',
    reason: 'Pipy cannot end a single call of a connection',
    switch: 'sidecar class `envoy`',
    explains: ({ exchange, path, through }, _, sidecarClass) =>
      sidecarClass === 'pipy' && exchange === 'cancellation' && path === 'endedAtServer' && through === false,
    varies: (sidecarClass) => sidecarClass === 'pipy',
  },
]
