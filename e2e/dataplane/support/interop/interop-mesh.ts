import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { haproxyPackage } from '../haproxy-package.js'
import { programs, startTestMesh, type TestMesh } from '../mesh.js'
import {
  account,
  meshConfig,
  type Qualified,
  routeGroup,
  service,
  tcpRoute,
  trafficSplit,
  trafficTarget,
  withSpec,
  workload,
} from '../yaml.js'
import type { SidecarClass } from './sidecar-class.js'

export const NAMESPACE = 'matrix'

/** Ports of a server by what they are for. */
export const ports = { web: 8080, greeter: 9100, echo: 9000, side: 9001 } as const

/** Protocols of those ports. */
const protocols = { web: 'http', greeter: 'grpc', echo: 'tcp', side: 'tcp' } as const

/** Who is beside a sidecar: one whom servers let in, one whom they let in next door only, and a server. */
type Role = 'client' | 'thief' | 'server'

export const named = (role: Role | keyof typeof ports, sidecarClass: SidecarClass): Qualified =>
  `${NAMESPACE}/${role}-${sidecarClass}`

/** The service of a server's port as callers name it. */
export const hostOf = (port: keyof typeof ports, sidecarClass: SidecarClass): string =>
  `${port}-${sidecarClass}.${NAMESPACE}:${ports[port]}`

/** Out of 100, in meshes of two classes and of three. */
const weights: Readonly<Record<number, readonly number[]>> = { 2: [75, 25], 3: [30, 20, 50] }

/** Which share of requests for the split service each class serves, out of 100. */
export function splitOf(classes: readonly SidecarClass[]): ReadonlyMap<SidecarClass, number> {
  return new Map(classes.map((each, i) => [each, weights[classes.length]?.[i] ?? 0]))
}

/** Starts a mesh with a client, a thief and a server of each class. The vault is on a port of the loopback. */
export async function startInteropMesh(
  classes: readonly SidecarClass[],
  vaultPort: number,
): Promise<Pick<TestMesh, 'stop'> & { readonly mesh: TestMesh }> {
  const folder = await mkdtemp(join(tmpdir(), 'osm-interop-'))
  const clean = (): Promise<void> => rm(folder, { recursive: true, force: true })
  try {
    const mesh = await startTestMesh(
      {
        'config.yaml': [
          meshConfig({
            traffic: { enablePermissiveTrafficPolicyMode: false, enableEgress: false },
            sidecar: { sidecarClass: 'envoy', sidecarDrivers: classes.map((sidecarName) => ({ sidecarName })) },
          }),
        ],
        'workloads.yaml': [...classes.flatMap(workloadsOf), ...split(classes), ...vaultAt(vaultPort)],
        'policy.yaml': [...routes, ...classes.flatMap((each) => letIn(each, classes)), vaultPolicy(classes)],
      },
      { loaded: await haproxyPackage(folder) },
    )
    return {
      mesh,
      stop: async () => {
        await mesh.stop()
        await clean()
      },
    }
  } catch (error) {
    await clean()
    throw error
  }
}

function workloadsOf(own: SidecarClass): readonly string[] {
  const sidecarClass = own
  const server = workload(named('server', own), { program: programs.interop, labels: { part: 'server' } })
  const kinds = Object.keys(ports) as readonly (keyof typeof ports)[]
  return [
    ...(['client', 'thief', 'server'] as const).map((role) => account(named(role, own))),
    ...(['client', 'thief'] as const).map((role) =>
      withSpec(workload(named(role, own), { program: programs.idle }), { sidecarClass }),
    ),
    withSpec(server, { sidecarClass, ports: kinds.map((name) => ({ name, port: ports[name] })) }),
    ...kinds.map((kind) => service(named(kind, own), `server-${own}`, ports[kind], { protocol: protocols[kind] })),
  ]
}

const routes: readonly string[] = [
  routeGroup(`${NAMESPACE}/routes`, [
    { name: 'read', pathRegex: '/books/.*', methods: ['GET'] },
    { name: 'greet', pathRegex: '/Greet/.*', methods: ['POST'] },
    { name: 'wait', pathRegex: '/lobby', methods: ['GET'] },
  ]),
  tcpRoute(`${NAMESPACE}/echo`, [ports.echo]),
  tcpRoute(`${NAMESPACE}/side`, [ports.side]),
]

/** Who may what at a server. Thieves may enough to reach it: what it refuses them it refuses itself. */
function letIn(server: SidecarClass, clients: readonly SidecarClass[]): readonly string[] {
  const allow = (
    role: 'client' | 'thief',
    kind: 'HTTPRouteGroup' | 'TCPRoute',
    name: string,
    matches?: readonly string[],
  ): string =>
    trafficTarget(`${NAMESPACE}/${role}-${name}-${server}`, {
      to: named('server', server),
      from: clients.map((client) => named(role, client)),
      rules: [{ kind, name, ...(matches === undefined ? {} : { matches }) }],
    })
  // In one TrafficTarget a TCPRoute would say on which ports requests are let in.
  return [
    allow('client', 'HTTPRouteGroup', 'routes', ['read', 'greet']),
    allow('client', 'TCPRoute', 'echo'),
    allow('thief', 'HTTPRouteGroup', 'routes', ['wait']),
    allow('thief', 'TCPRoute', 'side'),
  ]
}

function split(classes: readonly SidecarClass[]): readonly string[] {
  const backends = [...splitOf(classes)].map(([each, weight]) => [`web-${each}`, weight] as const)
  return [
    service(`${NAMESPACE}/store`, { part: 'server' }, ports.web, { protocol: 'http' }),
    trafficSplit(`${NAMESPACE}/store`, 'store', Object.fromEntries(backends)),
  ]
}

/** A workload that the test itself plays, with whatever certificate it wants. */
function vaultAt(port: number): readonly string[] {
  return [
    account(`${NAMESPACE}/vault`),
    service(`${NAMESPACE}/vault`, 'vault', 8080, { protocol: 'http', targetPort: port }),
    `${JSON.stringify({
      apiVersion: 'standalone.openservicemesh.io/v1alpha1',
      kind: 'Workload',
      metadata: { name: 'vault', namespace: NAMESPACE, labels: { app: 'vault' } },
      spec: { serviceAccountName: 'vault', address: '127.0.0.1', ports: [{ name: 'main', port }] },
    })}\n`,
  ]
}

const vaultPolicy = (clients: readonly SidecarClass[]): string =>
  trafficTarget(`${NAMESPACE}/vault`, {
    to: `${NAMESPACE}/vault`,
    from: clients.map((client) => named('client', client)),
    rules: [{ kind: 'HTTPRouteGroup', name: 'routes', matches: ['read'] }],
  })
