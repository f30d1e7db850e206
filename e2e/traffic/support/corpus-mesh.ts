import { spawn } from 'node:child_process'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'

import type { MeshEvent } from '@osm-ts/standalone'
import { eventually } from '@osm-ts/driver-api/toolkit'

import { run } from '../../dataplane/support/kernel.js'
import { programs, startTestMesh, type TestMesh } from '../../dataplane/support/mesh.js'
import {
  account,
  meshConfig,
  routeGroup,
  service,
  tcpRoute,
  trafficTarget,
  withSpec,
  workload,
} from '../../dataplane/support/yaml.js'
import type { Observations } from './compare.js'
import type { SidecarClass, TrafficClient, TrafficServer, TrafficTarget } from './types.js'

const NAMESPACE = 'corpus'
const runServers = fileURLToPath(new URL('../apps/run-servers.mjs', import.meta.url))

/** A client that takes longer hangs. */
const CLIENT_TIMEOUT_MS = 240_000

/**
 * What lets clients in: permissive mode; or SMI mode, with a rule that looks at the path of each request, and with
 * `traffic.escapedSlashes: Keep`.
 */
export type CorpusRules = 'permissive' | 'SMI'

/** Where a client runs. */
export type Place = 'beside' | 'through'

/**
 * A mesh of two workloads: one runs all servers, the other all clients.
 *
 * Clients reach the servers in two ways. `through` runs them in the namespace of the clients: their connections pass the sidecars of both
 * sides. `beside` runs the same clients in the namespace of the servers, where the addresses of the Services stand on the loopback
 * interface: the same names and URLs lead straight to the same servers, past every sidecar.
 */
export interface CorpusMesh {
  readonly run: (
    place: Place,
    client: TrafficClient,
    targets: readonly Omit<TrafficTarget, 'address' | 'host'>[],
  ) => Promise<Readonly<Record<string, Observations>>>
  /** What servers have said since one of them ended; undefined while all of them run. */
  readonly failure: () => string | undefined
  readonly stop: () => Promise<void>
}

export async function startCorpusMesh(
  servers: readonly TrafficServer[],
  sidecarClass: SidecarClass,
  rules: CorpusRules,
): Promise<CorpusMesh> {
  const commands = servers.map(({ name, argv, env = {} }) => ({ name, argv, env }))
  const mesh = await startTestMesh(
    {
      'config.yaml': [configOf(rules)],
      'corpus.yaml': [
        account(`${NAMESPACE}/clients`),
        workload(`${NAMESPACE}/clients`, { program: programs.idle }),
        account(`${NAMESPACE}/servers`),
        withSpec(
          workload(`${NAMESPACE}/servers`, { program: runServers, env: { SERVERS: JSON.stringify(commands) } }),
          {
            ports: servers.map(({ name, port }) => ({ name, port })),
          },
        ),
        routeGroup(`${NAMESPACE}/requests`, [{ name: 'any', pathRegex: '/.*', methods: ['*'] }]),
        tcpRoute(`${NAMESPACE}/connections`, []),
        trafficTarget(`${NAMESPACE}/servers`, {
          to: `${NAMESPACE}/servers`,
          from: [`${NAMESPACE}/clients`],
          rules: [
            { kind: 'HTTPRouteGroup', name: 'requests', matches: ['any'] },
            { kind: 'TCPRoute', name: 'connections' },
          ],
        }),
        ...servers.map(({ name, port, appProtocol }) =>
          service(`${NAMESPACE}/${name}`, 'servers', port, { protocol: appProtocol }),
        ),
      ],
    },
    { mode: 'transparent', sidecarClass },
  )
  const places = { through: namespaceOf(mesh, 'clients'), beside: namespaceOf(mesh, 'servers') }
  const hostOf = (name: string): string => `${name}.${NAMESPACE}`
  const addresses = new Map(servers.map(({ name }) => [name, addressOf(places.through, hostOf(name))]))
  for (const address of addresses.values())
    run('ip', ['-n', places.beside, 'address', 'add', `${address}/32`, 'dev', 'lo'])
  const listening = async (): Promise<readonly string[]> => {
    const lines = run('ip', ['netns', 'exec', places.beside, 'ss', '-ltnH']).split('\n')
    const ports = new Set(lines.map((line) => Number(/:(\d+) /.exec(line)?.[1])))
    return servers.filter(({ port }) => !ports.has(port)).map(({ name }) => name)
  }
  const failure = (): string | undefined => failureOf(mesh.events)
  try {
    // Those of a server that has ended never come.
    await eventually(listening, (missing) => missing.length === 0 || failure() !== undefined, {
      what: 'servers that listen',
    })
    if (failure() !== undefined) throw new Error(`a server has ended:\n${failure() ?? ''}`)
  } catch (error) {
    await mesh.stop()
    throw error
  }
  return {
    stop: mesh.stop,
    failure,
    run: async (place, client, targets) => {
      const input = targets.map((target) => ({
        ...target,
        host: hostOf(target.server),
        address: addresses.get(target.server) ?? '',
      }))
      const answer = await runInside(places[place], client, JSON.stringify({ targets: input }))
      return answer as Readonly<Record<string, Observations>>
    },
  }
}

function configOf(rules: CorpusRules): string {
  const isPermissive = rules === 'permissive'
  const escapedSlashes = isPermissive ? {} : { escapedSlashes: 'Keep' }
  return meshConfig({
    traffic: { enablePermissiveTrafficPolicyMode: isPermissive, enableEgress: false, ...escapedSlashes },
  })
}

function failureOf(events: readonly MeshEvent[]): string | undefined {
  const own = events.flatMap((event) =>
    (event.type === 'output' || event.type === 'workload') && event.instance.startsWith('servers') ? [event] : [],
  )
  const end = own.findIndex((event) => event.type === 'workload' && event.state !== 'started')
  if (end === -1) return undefined
  const said = own.slice(Math.max(0, end - 20), end + 10)
  return said
    .map((event) => (event.type === 'output' ? event.line : `${event.state}: ${event.detail ?? ''}`))
    .join('\n')
}

function namespaceOf(mesh: TestMesh, name: string): string {
  return run('ip', ['netns', 'identify', String(mesh.instance(`${NAMESPACE}/${name}`).pid)]).trim()
}

function addressOf(namespace: string, host: string): string {
  const [address = ''] = run('ip', ['netns', 'exec', namespace, 'getent', 'ahostsv4', host]).split(' ')
  return address
}

async function runInside(namespace: string, { name, argv, env }: TrafficClient, input: string): Promise<unknown> {
  const child = spawn('ip', ['netns', 'exec', namespace, ...argv], {
    env: { ...process.env, ...env },
    stdio: ['pipe', 'pipe', 'pipe'],
    timeout: CLIENT_TIMEOUT_MS,
    killSignal: 'SIGKILL',
  })
  child.stdin.on('error', () => undefined)
  child.stdin.end(input)
  const ended = new Promise<number | null>((resolve, reject) => {
    child.once('error', reject)
    child.once('close', resolve)
  })
  const [code, output, complaints] = await Promise.all([ended, text(child.stdout), text(child.stderr)])
  if (code !== 0) throw new Error(`${name} ended with ${String(code)}: ${complaints.slice(-4_000)}`)
  try {
    return JSON.parse(output)
  } catch {
    throw new Error(`${name} printed no JSON document: ${output.slice(0, 1_000)}\n${complaints.slice(-2_000)}`)
  }
}
