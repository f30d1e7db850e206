import { InvalidArgumentError, Option, type Command } from 'commander'

import type { AddOnName } from '../dashboard/forward-add-on.js'
import { clusterFlagsOf, usesCluster } from '../kubernetes/cluster-options.js'
import { openCluster } from '../kubernetes/open-cluster.js'
import { type CommandHost, exitCodes } from './cli-command.js'
import { meshSourceHelpByCluster, meshSourceOf, type MeshSourceFlags, stateOption } from './mesh-source.js'

interface DashboardFlags extends MeshSourceFlags {
  readonly localPort: number
  readonly openBrowser: boolean
  readonly prometheusUrl?: URL
  readonly grafana?: true
  readonly prometheus?: true
  readonly jaeger?: true
}

/** What is open until its signal aborts. */
interface Served {
  readonly url: string
  readonly closed: Promise<void>
}

const DEFAULT_PORT = 3000

/** `osm dashboard` */
export function addDashboard(parent: Command, host: CommandHost): void {
  const { context, config, onExit } = host
  usesCluster(parent.command('dashboard', { hidden: config.kind === 'managed' }))
    .description('serve a dashboard of the mesh: topology, decisions, proxies, pushes and problems')
    .addOption(stateOption())
    .addOption(
      new Option('-p, --local-port <port>', 'port on the loopback interface; 0 selects a free port')
        .argParser(portOf)
        .default(DEFAULT_PORT),
    )
    .addOption(
      new Option('-b, --open-browser [boolean]', 'open the page in a browser').argParser(booleanOf).default(true),
    )
    .addOption(
      new Option('--prometheus-url <url>', 'read traffic from this Prometheus; it must have the rules of the chart')
        .argParser(urlOf)
        .conflicts(['grafana', 'prometheus', 'jaeger']),
    )
    .addOption(addOnOption('grafana'))
    .addOption(addOnOption('prometheus'))
    .addOption(addOnOption('jaeger'))
    .addHelpText(
      'after',
      `
The page is served on 127.0.0.1 until Ctrl-C, at a random path that is printed. It loads nothing from other hosts and changes nothing in the mesh.
In a cluster, the command reads the controller through a port-forward, which requires permission to get and create pods/portforward.
Traffic is read from the sidecars of up to 200 proxies, or from Prometheus with --prometheus-url.
With --grafana, --prometheus or --jaeger, the command forwards the port to that add-on of the chart instead. Every user of this machine
can then access it.
${meshSourceHelpByCluster}

Examples:
  osm dashboard
  osm dashboard --local-port 0 --open-browser=false
  osm dashboard --prometheus-url http://127.0.0.1:9090
  osm dashboard --grafana`,
    )
    .action(async (flags: DashboardFlags, command: Command) => {
      const { openBrowser } = await import('../dashboard/open-browser.js')
      const { url, closed } = await open(host, flags, command)
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

/** The page, or what the options name in its place. */
async function open(host: CommandHost, flags: DashboardFlags, command: Command): Promise<Served> {
  const { addOnNames, forwardAddOn } = await import('../dashboard/forward-add-on.js')
  const addOn = addOnNames.find((name) => flags[name])
  if (addOn !== undefined) {
    if (flags.state !== undefined)
      command.error(`error: --${addOn} opens an add-on in a cluster and cannot be combined with --state`)
    return forwardAddOn(await openCluster(host, clusterFlagsOf(command)), addOn, flags.localPort)
  }
  const { startDashboard } = await import('../dashboard/start-dashboard.js')
  const source = await meshSourceOf(host, flags, command)
  const { prometheusUrl: prometheus, localPort: port } = flags
  return startDashboard(host.context, source, {
    port,
    ...(prometheus !== undefined && { prometheus }),
    signal: host.context.signal,
  })
}

function addOnOption(name: AddOnName): Option {
  const others = (['grafana', 'prometheus', 'jaeger'] as const).filter((other) => other !== name)
  return new Option(`--${name}`, `open the ${name} of the chart in a cluster`).conflicts([...others])
}

function urlOf(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined
  // Command lines are visible to every user of the machine.
  if (url !== undefined && /^https?:$/.test(url.protocol) && url.username === '' && url.password === '') return url
  throw new InvalidArgumentError('It must be an http or https URL without a user or password.')
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
