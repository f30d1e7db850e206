/** A promise with the functions that settle it. */
export interface Deferred<T> {
  /** Pending until `resolve` or `reject` is called. */
  readonly promise: Promise<T>
  /** Fulfils the promise. */
  readonly resolve: (value: T) => void
  /** Rejects the promise. */
  readonly reject: (reason: unknown) => void
}

/**
 * Makes a promise that other code settles, such as a listener or a later call.
 *
 * The first call of `resolve` or `reject` decides; later calls have no effect. Handle a rejection of the promise: Node.js ends
 * a program that leaves one unhandled. Node.js 20 has no `Promise.withResolvers`.
 */
export function deferred<T>(): Deferred<T> {
  let resolve: Deferred<T>['resolve'] = () => undefined
  let reject: Deferred<T>['reject'] = () => undefined
  const promise = new Promise<T>((onValue, onReason) => {
    resolve = onValue
    reject = onReason
  })
  return { promise, resolve, reject }
}
