import type { Codebase } from '../codebase/codebase.js'

/** Tells whether a worker has all of a codebase. */
export class DownloadTracker {
  /** What is yet to be fetched of the download under way, and when it was begun. */
  #download: { readonly missing: Set<string>; readonly at: number } | undefined
  #reported = ''
  #mismatchSince: number | undefined

  /** The worker has fetched the list of files: it will fetch them all, one after the other. */
  begin(codebase: Codebase, now: number): void {
    this.#download = { missing: new Set(codebase.paths), at: now }
  }

  /** The worker has all of a file. */
  fetched(path: string): void {
    this.#download?.missing.delete(path)
    if (this.#download?.missing.size === 0) this.#download = undefined
  }

  /** The worker has said which codebase it runs. Nothing, as long as that is its first. */
  report(version: string, codebase: Codebase, now: number): void {
    this.#reported = version
    if (version === '' || version === codebase.etag) this.#mismatchSince = undefined
    else this.#mismatchSince ??= now
  }

  /** ETag of the codebase that the worker runs, as it says. */
  get reported(): string {
    return this.#reported
  }

  /**
   * When the worker began to lack what it should have. A worker that has the list remembers its ETag before the files arrive, and never requests those
   * again that it did not get.
   */
  get incompleteSince(): number | undefined {
    const begun = this.#download?.at
    return begun === undefined ? this.#mismatchSince : Math.min(begun, this.#mismatchSince ?? begun)
  }
}
