// What clients in Node of the TCP corpus have in common.
export { digest } from './exchanges.mjs'

export const LARGE_BYTES = 1024 * 1024
export const IDLE_MS = 2_000
export const large = 'x'.repeat(LARGE_BYTES)

/** Clients beside the mesh and through it use one server at the same time: what they make there has its own name. */
export const own = `node_${process.pid}_${Date.now()}`

export const failureOf = (promise, keyOf) =>
  promise.then(
    () => 'none',
    (error) => keyOf(error),
  )
