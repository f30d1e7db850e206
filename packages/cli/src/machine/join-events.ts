import type { JoinEvent } from '@osm-ts/standalone'

import type { CliContext } from '../cli-context.js'
import { toJsonLine } from '../output/format.js'
import { plainLine } from '../output/style.js'

/** Writes what happens to a machine: variables for its programs to standard output, everything else to standard error. */
export function writeJoinEvent(
  { stdout, stderr }: Pick<CliContext, 'stdout' | 'stderr'>,
  event: JoinEvent,
  asJson: boolean,
): void {
  if (asJson) {
    stdout.write(toJsonLine(event))
    return
  }
  switch (event.type) {
    case 'joined':
      stderr.write(`${event.isNew ? 'Joined' : 'Back'} as ${event.name}, identity ${event.identity}\n`)
      return
    case 'sidecar':
      stderr.write(
        `The sidecar ${event.state === 'exited' ? plainLine(event.detail ?? 'ended') : `is ${event.state}`}\n`,
      )
      return
    case 'reported':
      stderr.write(
        event.ready
          ? 'Ready: callers reach this machine\n'
          : 'Not ready yet: the sidecar starts, or the workload does not listen\n',
      )
      for (const [name, value] of Object.entries(event.variables)) stdout.write(`${plainLine(`${name}=${value}`)}\n`)
      return
    case 'renewed':
      stderr.write('The certificate was renewed\n')
      return
    case 'problem':
      stderr.write(`${plainLine(event.message)}\n`)
  }
}
