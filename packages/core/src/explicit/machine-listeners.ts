import type { SocketAddress } from '@osm-ts/driver-api/policy'

import { allocationKey } from '../endpoints/index.js'
import { OWN_LISTENERS } from '../machines/index.js'
import type { Snapshot } from '../snapshot/index.js'
import type { WorkloadInstanceSpec, WorkloadPort } from '../spec/index.js'
import { inboundKeys, openedKeys, servedPorts } from './served-ports.js'
import { inListenerOrder, portsOfVariables, type TcpServicePort, tcpServicePorts } from './tcp-service-ports.js'

/** What the listeners of a machine's sidecar depend on. */
export interface ListeningMachine {
  readonly namespace: string
  /** Labels by which Services select the machine. */
  readonly labels: Readonly<Record<string, string>>
  /** Where callers connect. */
  readonly address: string
  readonly ports: readonly WorkloadPort[]
  /** Present: the kernel redirects connections to the sidecar, which needs no listeners of its own choice. */
  readonly mode?: 'transparent'
  /** Ports that the sidecar may listen on. */
  readonly listeners: { readonly first: number; readonly last: number }
}

/** Ports of the listeners of a machine's sidecar, by purpose. Kept, so that a listener does not move while it is used. */
export type MachineClaims = Readonly<Record<string, number>>

/** The listeners of a machine's sidecar, at one moment. */
export interface MachineListeners {
  readonly claims: MachineClaims
  /** Absent where connections are redirected. */
  readonly allocations?: NonNullable<WorkloadInstanceSpec['allocations']>
  /** How the workload is told to reach others. */
  readonly variables: Readonly<Record<string, string>>
  /** Purposes for which no port is left. */
  readonly missing: readonly string[]
  /** Variables that several Services of other namespaces would have, so that they are not set. */
  readonly withheld: readonly string[]
}

const LOOPBACK = '127.0.0.1'

/**
 * Chooses the listeners of a machine's sidecar: for callers at the address of the machine, for its own workload on its loopback.
 *
 * @param before - claims so far
 */
export function machineListeners(
  machine: ListeningMachine,
  snapshot: Snapshot,
  before: MachineClaims,
): MachineListeners {
  const { namespace, labels, address, listeners } = machine
  if (machine.mode === 'transparent') return { claims: {}, variables: {}, missing: [], withheld: [] }
  const ports = machine.ports.map((port) => ({ localPort: port.port, ...port }))
  const servedByMachine = servedPorts(snapshot, { metadata: { namespace, labels } }, ports)
  const served = inboundKeys(servedByMachine)
  const opened = openedKeys(snapshot, servedByMachine)
  const tcp = (key: string): string => `tcp ${key}`
  const hasListener = ({ service, port }: TcpServicePort): boolean =>
    Object.hasOwn(before, tcp(allocationKey(service, port)))
  const tcpPorts = tcpServicePorts(snapshot.list('Service'))
  const { ports: named, clashes } = portsOfVariables(tcpPorts, namespace, hasListener)
  const called = inListenerOrder(named, namespace, hasListener)
    .map(({ service, port, variable }) => ({ key: allocationKey(service, port), variable }))
    .filter(({ key }) => !served.has(key))
  const inbound = (key: string): string => `inbound ${key}`
  const ingress = (key: string): string => `ingress ${key}`
  const wanted = [
    ...new Set([...[...served.values()].map(inbound), ...opened.map(ingress), ...called.map(({ key }) => tcp(key))]),
  ]
  const { claims, missing } = claim(wanted, before, { first: listeners.first + OWN_LISTENERS, last: listeners.last })
  const at = (host: string, purpose: string): SocketAddress | undefined => {
    const port = claims.get(purpose)
    return port === undefined ? undefined : { address: host, port }
  }
  const own = (index: number): SocketAddress => ({ address: LOOPBACK, port: listeners.first + index })
  const proxy = `http://${LOOPBACK}:${listeners.first}`
  return {
    claims: Object.fromEntries(claims),
    missing,
    withheld: [...new Set(clashes.flatMap(({ port, holder }) => (holder === undefined ? [port.variable] : [])))],
    allocations: {
      inbound: present([...served].map(([key, first]) => [key, at(address, inbound(first))])),
      ...(opened.length > 0 && { ingress: present(opened.map((key) => [key, at(address, ingress(key))])) }),
      outboundHttp: own(0),
      outboundTcp: present(called.map(({ key }) => [key, at(LOOPBACK, tcp(key))])),
      metrics: own(1),
      admin: own(2),
    },
    variables: {
      HTTP_PROXY: proxy,
      http_proxy: proxy,
      ...Object.fromEntries(
        called.flatMap(({ key, variable }) => {
          const port = claims.get(tcp(key))
          return port === undefined ? [] : [[variable, `${LOOPBACK}:${port}`]]
        }),
      ),
    },
  }
}

/**
 * Ports that are no longer wanted are free for others. Where there are too few, the first purposes get them: a listener may lose its port to one for callers, or
 * for a service of the own namespace.
 */
function claim(
  wanted: readonly string[],
  before: MachineClaims,
  { first, last }: ListeningMachine['listeners'],
): { readonly claims: ReadonlyMap<string, number>; readonly missing: readonly string[] } {
  const claims = new Map<string, number>()
  const taken = new Set<number>()
  const take = (purpose: string, port: number): void => {
    claims.set(purpose, port)
    taken.add(port)
  }
  const known = new Map(Object.entries(before))
  const count = Math.max(0, last - first + 1)
  const within = wanted.slice(0, count)
  for (const purpose of within) {
    const port = known.get(purpose)
    if (port !== undefined && port >= first && port <= last && !taken.has(port)) take(purpose, port)
  }
  let next = first
  for (const purpose of within) {
    if (claims.has(purpose)) continue
    while (taken.has(next)) next += 1
    take(purpose, next)
  }
  return { claims, missing: wanted.slice(count) }
}

function present(
  entries: readonly (readonly [string, SocketAddress | undefined])[],
): Readonly<Record<string, SocketAddress>> {
  return Object.fromEntries(
    entries.filter((entry): entry is readonly [string, SocketAddress] => entry[1] !== undefined),
  )
}
