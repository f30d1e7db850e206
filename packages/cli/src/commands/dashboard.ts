import { InvalidArgumentError, Option, type Command } from 'commander'

import { exitCodes } from '../exit-code.js'
import { usesCluster } from '../kubernetes/cluster-options.js'
import type { CommandHost } from './cli-command.js'
import { meshSourceHelp, meshSourceOf, type MeshSourceFlags } from './mesh-source.js'
import { stateOption } from './state-option.js'

interface DashboardFlags extends MeshSourceFlags {
  readonly localPort: number
  readonly openBrowser: boolean
}

const DEFAULT_PORT = 3000

/** `osm dashboard` */
export function addDashboard(parent: Command, host: CommandHost): void {
  const { context, config, onExit } = host
  usesCluster(parent.command('dashboard', { hidden: config.kind === 'managed' }))
    .description('serve a page that shows the mesh: topology, decisions, proxies, pushes and problems')
    .addOption(stateOption())
    .addOption(
      new Option('-p, --local-port <port>', 'port of the loopback interface; 0 lets the system choose')
        .argParser(portOf)
        .default(DEFAULT_PORT),
    )
    .addOption(
      new Option('-b, --open-browser [boolean]', 'open the page in a browser').argParser(booleanOf).default(true),
    )
    .addHelpText(
      'after',
      `
The page is served on 127.0.0.1 until Ctrl-C, below a random path that is printed. It loads nothing from other hosts and changes nothing in the mesh.
In a cluster, the controller is read by port-forward, which requires permission to get and create pods/portforward.
${meshSourceHelp}

Examples:
  osm dashboard
  osm dashboard --local-port 0 --open-browser=false`,
    )
    .action(async (flags: DashboardFlags, command: Command) => {
      const { startDashboard } = await import('../dashboard/start-dashboard.js')
      const { openBrowser } = await import('../dashboard/open-browser.js')
      const source = await meshSourceOf(host, flags, command)
      const { url, closed } = await startDashboard(context, source, { port: flags.localPort, signal: context.signal })
      context.stdout.write(`${url}\n`)
      const forget = flags.openBrowser ? await openBrowser(url, context.variables) : undefined
      try {
        await closed
      } finally {
        await forget?.()
      }
      onExit(exitCodes.ok)
    })
}

function portOf(text: string): number {
  const port = Number(text)
  if (/^\d{1,5}$/.test(text) && port <= 65_535) return port
  throw new InvalidArgumentError('It must be a port from 0 to 65535.')
}

function booleanOf(text: string): boolean {
  if (text === 'true' || text === 'false') return text === 'true'
  throw new InvalidArgumentError('It must be true or false.')
}
