/** What is used of Node's `v8` module, which an entry file hands over. */
export interface HeapFlags {
  setFlagsFromString(flags: string): void
}

/**
 * By how many percent the heap may grow after a collection before the next one. Left alone, V8 lets a small heap grow to four times its size: what strangers
 * send to a webhook would stay in memory long after it was answered.
 */
const GROWTH_PERCENT = 50

/** Has V8 collect what is no longer used before a heap has grown by half. Each collection takes time that is linear in what is alive. */
export function boundHeapGrowth(v8: HeapFlags): void {
  v8.setFlagsFromString(`--heap-growing-percent=${GROWTH_PERCENT}`)
}
