import { cliError } from '../errors.js'

/** Questions that may wait while another one is answered. */
const MAX_WAITING = 8

/** Answers one question after the other: each computes a whole mesh. */
export class QuestionQueue {
  #last: Promise<unknown> = Promise.resolve()
  #waiting = 0

  /** @throws OsmError `OSM_CLI_DASHBOARD_BUSY` if too many questions wait */
  async ask<T>(answer: () => Promise<T>): Promise<T> {
    if (this.#waiting >= MAX_WAITING)
      throw cliError('OSM_CLI_DASHBOARD_BUSY', `${MAX_WAITING} questions wait for an answer`, 'ask again later')
    this.#waiting += 1
    const done = this.#last.then(answer)
    this.#last = done.catch(() => undefined)
    try {
      return await done
    } finally {
      this.#waiting -= 1
    }
  }
}
