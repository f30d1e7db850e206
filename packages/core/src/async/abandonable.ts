/** Work that its caller may stop waiting for. */
export interface Abandonable<T> {
  readonly done: Promise<T>
  /** Rejects with the reason at once, whether or not the work heeds its signal; what it may still give is dropped. */
  abandon(reason: Error): void
}

/** Starts work that can be given up. */
export function abandonable<T>(work: (signal: AbortSignal) => Promise<T>): Abandonable<T> {
  const controller = new AbortController()
  let fail: (reason: Error) => void = () => undefined
  const done = new Promise<T>((resolve, reject) => {
    fail = reject
    work(controller.signal).then(resolve, reject)
  })
  return {
    done,
    abandon: (reason) => {
      fail(reason)
      controller.abort(reason)
    },
  }
}
