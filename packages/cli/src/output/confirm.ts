import { createInterface } from 'node:readline'

import type { CliContext } from '../cli-context.js'
import { cliError } from '../errors.js'

const tries = 3

/** Somebody at a terminal who is asked questions. */
export interface Questions {
  /**
   * Requests y or n. Three other answers count as n.
   *
   * @throws OsmError `OSM_CLI_UNCONFIRMED` when the input ends before there is an answer
   */
  confirm(question: string): Promise<boolean>
  /** Releases the input. */
  close(): void
}

/**
 * Opens the input for questions. There is one for all questions of a command, because what was typed ahead is kept in it.
 *
 * @throws OsmError `OSM_CLI_UNCONFIRMED` if the user cannot be asked
 */
export function openQuestions({ stdin, stdout, signal }: Pick<CliContext, 'stdin' | 'stdout' | 'signal'>): Questions {
  const input = stdin()
  if (!input.isTTY) throw nobodyThere('standard input is not a terminal, so the command cannot ask for confirmation')
  const reader = createInterface({ input, terminal: false, signal })
  const lines = reader[Symbol.asyncIterator]()
  const confirm = async (question: string): Promise<boolean> => {
    for (let left = tries; left > 0; left--) {
      stdout.write(`${question} [y/n]: `)
      const line: IteratorResult<string, undefined> = await lines.next()
      signal.throwIfAborted()
      if (line.done === true) throw nobodyThere('standard input ended before there was an answer')
      const answer = line.value.trim().toLowerCase()
      if (answer === 'y' || answer === 'yes') return true
      if (answer === 'n' || answer === 'no') return false
      stdout.write(`${left > 1 ? 'Answer y or n.' : 'Assuming n.'}\n`)
    }
    return false
  }
  return { confirm, close: () => reader.close() }
}

function nobodyThere(message: string): Error {
  return cliError('OSM_CLI_UNCONFIRMED', message, 'skip the confirmation with --force')
}
