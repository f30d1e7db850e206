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
]
