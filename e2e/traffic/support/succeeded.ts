import type { Json } from './types.js'

/**
 * What an exchange has seen. Clients of gRPC and TCP tell of failures that servers mean; one that they do not expect is never right, even
 * if it is the same beside the mesh and through it.
 *
 * @throws if the exchange failed.
 */
export function succeeded(seen: Json): Json {
  if (typeof seen === 'object' && seen !== null && 'error' in seen && Object.keys(seen).length === 1)
    throw new Error(`an exchange failed: ${typeof seen.error === 'string' ? seen.error : JSON.stringify(seen.error)}`)
  return seen
}
