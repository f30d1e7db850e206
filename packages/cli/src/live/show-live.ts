import { setTimeout as sleep } from 'node:timers/promises'

import { wantsColor, type CliContext } from '../cli-context.js'
import type { MeshObserver } from './mesh-observer.js'
import { renderLines, renderLive } from './render-live.js'
import { Screen } from './screen.js'

const drawMs = 250
const linesMs = 5000

/**
 * Shows the view until the signal aborts: redrawn in place on a terminal, told in lines every few seconds elsewhere. A terminal keeps the last
 * picture.
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
  while (!signal.aborted) {
    await pause(linesMs, signal)
    stdout.write(
      renderLines(observer.view())
        .map((line) => `${line}\n`)
        .join(''),
    )
  }
}

async function pause(milliseconds: number, signal: AbortSignal): Promise<void> {
  // Rejects when the signal aborts; the loops above then end by their condition.
  await sleep(milliseconds, undefined, { signal }).catch(() => undefined)
}
