import { setTimeout as sleep } from 'node:timers/promises'

import { wantsColor, type CliContext } from '../cli-context.js'
import { toText } from '../commands/cli-command.js'
import type { MeshObserver } from './mesh-observer.js'
import { ProblemLines } from './problem-lines.js'
import { renderLines, renderLive } from './render-live.js'
import { Screen } from './screen.js'

const drawMs = 250
/** Lines are printed after so many looks: every five seconds. */
const linesEvery = 20

/**
 * Shows the view until the signal aborts: redrawn in place on a terminal, told in lines elsewhere: traffic every few seconds, problems in full
 * when they appear. A terminal keeps the last picture.
 */
export async function showLive(
  { stdout, variables }: Pick<CliContext, 'stdout' | 'variables'>,
  observer: Pick<MeshObserver, 'view'>,
  signal: AbortSignal,
): Promise<void> {
  if (!stdout.isTTY) return tellLines(stdout, observer, signal)
  const screen = new Screen(stdout)
  const color = wantsColor(stdout, variables)
  const draw = (): readonly string[] => renderLive(observer.view(), { columns: screen.columns, color })
  try {
    while (!signal.aborted) {
      screen.draw(draw())
      await pause(drawMs, signal)
    }
  } finally {
    screen.close()
  }
  stdout.write(`${draw().join('\n')}\n`)
}

async function tellLines(
  stdout: NodeJS.WriteStream,
  observer: Pick<MeshObserver, 'view'>,
  signal: AbortSignal,
): Promise<void> {
  const problems = new ProblemLines()
  const write = (lines: readonly string[]): void => {
    stdout.write(toText(lines))
  }
  for (let look = 1; !signal.aborted; look += 1) {
    await pause(drawMs, signal)
    const view = observer.view()
    write(problems.next(view.problems))
    if (look % linesEvery === 0) write(renderLines(view))
  }
  // The last findings are printed, also by a mesh that ends at once.
  write(problems.next(observer.view().problems))
}

async function pause(milliseconds: number, signal: AbortSignal): Promise<void> {
  // Rejects when the signal aborts; the loops above then end by their condition.
  await sleep(milliseconds, undefined, { signal }).catch(() => undefined)
}
