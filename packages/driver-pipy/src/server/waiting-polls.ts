/**
 * Which revision is in force behind each poll that waits. A worker has one at a time; its connections say nothing, because it may use another one for each.
 */
export class WaitingPolls {
  readonly #revisions = new Map<object, string>()

  get size(): number {
    return this.#revisions.size
  }

  /**
   * A poll has come from a worker that has that revision.
   *
   * @returns to be called when it is answered
   */
  add(revision: string): () => void {
    const poll = {}
    this.#revisions.set(poll, revision)
    return () => this.#revisions.delete(poll)
  }

  /** True if so many workers wait with that revision, and none with another one. */
  allHave(revision: string, workers: number): boolean {
    return this.size >= workers && [...this.#revisions.values()].every((has) => has === revision)
  }
}
