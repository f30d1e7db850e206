import { isOsmError } from '@osm-ts/driver-api'
import { runTool } from './run-tool.js'

const programs: readonly { readonly file: string; readonly package: string; readonly args?: readonly string[] }[] = [
  { file: 'ip', package: 'iproute2', args: ['-V'] },
  { file: 'iptables-restore', package: 'iptables' },
  { file: 'ip6tables-restore', package: 'iptables' },
  { file: 'setpriv', package: 'util-linux' },
  { file: 'sysctl', package: 'procps' },
]

/** What keeps this process from running transparent mode, one sentence each; empty when nothing does. */
export async function transparentModeObstacles(signal: AbortSignal): Promise<readonly string[]> {
  if (process.platform !== 'linux') return [`network namespaces need Linux, and this is ${process.platform}`]
  const root = process.getuid?.() === 0 ? [] : ['changing the network takes root']
  const missing = await Promise.all(
    programs.map(async ({ file, package: name, args = ['--version'] }) => {
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
