import type { Push } from '../state/push.js'
import type { ResponseFrame, Variant } from './response-frame.js'
import { frameResponse } from './response-frame.js'

/** Bytes that are kept for the next stream that is sent the same. */
const MAX_KEPT_BYTES = 16 * 1024 * 1024
/** What is larger is not kept: a few of them would push out everything else. */
const MAX_ENTRY_BYTES = MAX_KEPT_BYTES / 4

interface Kept {
  readonly push: Push
  readonly frame: ResponseFrame
  /** What is held for it: its own, and the resources that others are compared with, which no one else may need any more. */
  readonly bytes: number
}

/**
 * Frames that many streams share. When a policy changes that many proxies see, they are all sent the same within moments; it is put together once.
 *
 * Two pushes are the same only if they hold the very same resource objects in the same order: nothing that differs between proxies can be forgotten
 * in a key. Secrets are never kept.
 */
export class PreparedResponses {
  readonly #maxBytes: number
  readonly #kept = new Map<string, Kept>()
  /** The last one. A change reaches many streams one after the other, which then need no key. */
  #last: { readonly variant: Variant; readonly kept: Kept } | undefined
  #bytes = 0

  constructor(maxBytes: number = MAX_KEPT_BYTES) {
    this.#maxBytes = maxBytes
  }

  /** Bytes that are held now. */
  get bytes(): number {
    return this.#bytes
  }

  frame(variant: Variant, push: Push): ResponseFrame {
    if (push.type === 'secret') return frameResponse(variant, push)
    const last = this.#last
    if (last?.variant === variant && isSame(last.kept.push, push)) return last.kept.frame
    // Only narrows the search; what decides is the comparison.
    const key = `${variant} ${push.type} ${push.version} ${push.label} ${push.resources.length} ${push.removed.length}`
    const kept = this.#kept.get(key)
    if (kept !== undefined && isSame(kept.push, push)) {
      this.#last = { variant, kept }
      return kept.frame
    }
    const frame = frameResponse(variant, push)
    const resources = push.resources.reduce((sum, { value }) => sum + value.length, 0)
    this.#keep(variant, key, { push, frame, bytes: frame.bytes.length + resources })
    return frame
  }

  #keep(variant: Variant, key: string, kept: Kept): void {
    this.#drop(key)
    if (kept.bytes > Math.min(MAX_ENTRY_BYTES, this.#maxBytes)) return
    this.#kept.set(key, kept)
    this.#last = { variant, kept }
    this.#bytes += kept.bytes
    for (const oldest of this.#kept.keys()) {
      if (this.#bytes <= this.#maxBytes) break
      this.#drop(oldest)
    }
  }

  #drop(key: string): void {
    const kept = this.#kept.get(key)
    if (kept === undefined) return
    this.#bytes -= kept.bytes
    this.#kept.delete(key)
    if (this.#last?.kept === kept) this.#last = undefined
  }
}

function isSame(a: Push, b: Push): boolean {
  return (
    a.type === b.type &&
    a.version === b.version &&
    a.label === b.label &&
    a.resources.length === b.resources.length &&
    a.resources.every((resource, index) => resource === b.resources[index]) &&
    a.removed.length === b.removed.length &&
    a.removed.every((name, index) => name === b.removed[index])
  )
}
