import { isOsmError } from '@osm-ts/driver-api'
import { runTool } from './run-tool.js'

/** A program of the system. */
export interface SystemProgram {
  readonly file: string
  /** Debian package. */
  readonly package: string
  /** Arguments with which it ends at once. */
  readonly args?: readonly string[]
}

const programs: readonly SystemProgram[] = [
  { file: 'ip', package: 'iproute2', args: ['-V'] },
  { file: 'iptables-restore', package: 'iptables' },
  { file: 'ip6tables-restore', package: 'iptables' },
  { file: 'setpriv', package: 'util-linux' },
  { file: 'sysctl', package: 'procps' },
]

/** What keeps this process from running transparent mode, one sentence each; empty when nothing does. */
export async function transparentModeObstacles(signal: AbortSignal): Promise<readonly string[]> {
  return networkObstacles(programs, signal)
}

/** What keeps this process from changing the network of this machine by these programs, one sentence each. */
export async function networkObstacles(
  needed: readonly SystemProgram[],
  signal: AbortSignal,
): Promise<readonly string[]> {
  if (process.platform !== 'linux') return [`it needs Linux, and this is ${process.platform}`]
  const root = process.getuid?.() === 0 ? [] : ['changing the network takes root']
  const missing = await Promise.all(
    needed.map(async ({ file, package: name, args = ['--version'] }) => {
      try {
        await runTool(file, args, { signal })
        return []
      } catch (error) {
        return [
          isOsmError(error, 'OSM_NETNS_UNSUPPORTED')
            ? `${file} is missing (Debian package ${name})`
            : `${file} does not run here`,
        ]
      }
    }),
  )
  return [...root, ...missing.flat()]
}
