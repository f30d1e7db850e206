/** A request as the fake API server has seen it. */
export interface SeenRequest {
  readonly method: string
  readonly path: string
  readonly query: Readonly<Record<string, string>>
  readonly userAgent: string
  /** The form that the client requested. */
  readonly accept: string
}

/** What happens to a request instead of being answered. */
export type FaultAction =
  /** An answer that is not a success. */
  | {
      readonly kind: 'status'
      readonly status: number
      readonly reason: string
      readonly message?: string
      readonly retryAfter?: number
    }
  /** The socket is cut before any answer. */
  | { readonly kind: 'cut' }
  /** The socket is cut in the middle of the answer. */
  | { readonly kind: 'cut-body' }
  /** The answer is something else. */
  | { readonly kind: 'garbage'; readonly text: string }
  /** The answer comes when the test says so. */
  | { readonly kind: 'hold'; readonly until: Promise<void> }
  /** No answer ever. */
  | { readonly kind: 'hang' }

/** A fault and the requests that it befalls. */
export interface Fault {
  readonly action: FaultAction
  readonly when?: (request: SeenRequest) => boolean
  /** Requests that it befalls; absent: one. */
  readonly times?: number
}

/** Faults that are still to happen. */
export class FakeFaults {
  #pending: { readonly fault: Fault; left: number }[] = []

  add(fault: Fault): void {
    this.#pending.push({ fault, left: fault.times ?? 1 })
  }

  clear(): void {
    this.#pending = []
  }

  /** The fault that befalls a request. */
  take(request: SeenRequest): FaultAction | undefined {
    const hit = this.#pending.find(({ fault, left }) => left > 0 && (fault.when?.(request) ?? true))
    if (hit === undefined) return undefined
    hit.left -= 1
    this.#pending = this.#pending.filter(({ left }) => left > 0)
    return hit.fault.action
  }
}

export const isWatch = (request: SeenRequest): boolean => request.query.watch === 'true'
export const isList = (request: SeenRequest): boolean => request.method === 'GET' && !isWatch(request)
