/** What is used of Node's `v8` module, which an entry file hands over. */
export interface HeapFlags {
  setFlagsFromString(flags: string): void
}

/**
 * Has V8 collect what is no longer used before a heap has grown by a share of its size. Left alone, V8 lets a small heap grow to four times its size: what
 * strangers send to a webhook would stay in memory long after it was answered.
 * @param percent - of the heap after a collection. Each collection takes time that is linear in what is alive: a program that keeps little in memory can afford a
 * small share
 */
export function boundHeapGrowth(v8: HeapFlags, percent: number): void {
  v8.setFlagsFromString(`--heap-growing-percent=${percent}`)
}
