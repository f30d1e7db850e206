import { isIP } from 'node:net'

import type { IssueList } from '../issues.js'
import type { IngressPart, ProxyPart, SocketAddress } from '../parts.js'
import type { ProxyPolicy } from '../policy.js'
import type { PolicyView } from './policy-view.js'

/**
 * Checks that every selector of a listener, a served port or a destination has one owner. The host resolves overlaps, so that drivers need no precedence rules.
 */
export function checkOwners(policy: ProxyPolicy, view: PolicyView, issues: IssueList): void {
  checkListeners(policy, view, issues)
  checkServed(view, issues)
  checkCalled(view, issues)
}

/** Records owners and reports every second owner. */
class Owners {
  readonly #owners = new Map<string, string>()
  readonly #issues: IssueList

  constructor(issues: IssueList) {
    this.#issues = issues
  }

  claim(key: string, owner: string, pointer: string): void {
    const other = this.#owners.get(key)
    this.#issues.expect(other === undefined, pointer, `${key} belongs to ${String(other)} already`)
    if (other === undefined) this.#owners.set(key, owner)
  }
}

interface Listener {
  readonly socket: SocketAddress
  readonly name: string
  readonly pointer: string
  /** Listeners of equal groups may share an address: probes differ by their paths, callers from outside by source and SNI name. */
  readonly group?: string
}

function checkListeners({ proxy }: ProxyPolicy, view: PolicyView, issues: IssueList): void {
  const { dns, ...tcp } = proxy.listen
  const portOf = new Map(view.ingress.map(({ index, part }) => [index, `${serviceOf(part)}|${part.targetPort}`]))
  const listeners: readonly Listener[] = [
    ...Object.entries(tcp).map(([name, socket]: [string, SocketAddress]) => ({
      socket,
      name: `the ${name} listener`,
      pointer: `/proxy/listen/${name}`,
    })),
    ...proxy.ingress.flatMap(({ id, listen }, index) =>
      listen === undefined
        ? []
        : [
            {
              socket: listen,
              name: `ingress ${id}`,
              pointer: `/proxy/ingress/${index}/listen`,
              group: `ingress ${portOf.get(index) ?? id}`,
            },
          ],
    ),
    ...(['inbound', 'outboundBindings'] as const).flatMap((list) =>
      proxy[list].flatMap(({ id, listen }, index) =>
        listen === undefined
          ? []
          : [{ socket: listen, name: `${list} ${id}`, pointer: `/proxy/${list}/${index}/listen` }],
      ),
    ),
    ...proxy.probes.map(({ listen, container, probe }, index) => ({
      socket: listen,
      name: `the ${probe} probe of ${container}`,
      pointer: `/proxy/probes/${index}/listen`,
      group: 'probes',
    })),
  ]
  const byPort = new Map<number, Listener[]>()
  for (const listener of listeners) {
    const others = byPort.get(listener.socket.port) ?? []
    const clash = others.find((other) => clashes(listener, other))
    issues.expect(clash === undefined, listener.pointer, `the address belongs to ${String(clash?.name)} already`)
    byPort.set(listener.socket.port, [...others, listener])
  }
  const paths = new Owners(issues)
  proxy.probes.forEach(({ listen, container, probe, path }, index) => {
    const key = `${listen.address} ${listen.port} ${path}`
    paths.claim(key, `the ${probe} probe of ${container}`, `/proxy/probes/${index}/path`)
  })
  checkProbeTargets(proxy, issues)
}

/** A probe is answered without TLS: otherwise any client could reach the proxy's own ports, including its administration interface. */
function checkProbeTargets({ listen, probes }: ProxyPart, issues: IssueList): void {
  const listeners: readonly SocketAddress[] = Object.values(listen)
  const own = new Set([...listeners, ...probes.map((probe) => probe.listen)].map(({ port }) => port))
  probes.forEach(({ target }, index) => {
    const pointer = `/proxy/probes/${index}/target/port`
    issues.expect(!own.has(target.port), pointer, `${target.port} is a port of the proxy itself, not of the workload`)
  })
}

function clashes(a: Listener, b: Listener): boolean {
  if (a.group !== undefined && a.group === b.group && a.socket.address === b.socket.address) return false
  return (
    a.socket.address === b.socket.address ||
    covers(a.socket.address, b.socket.address) ||
    covers(b.socket.address, a.socket.address)
  )
}

/** `::` takes IPv4 connections as well. */
function covers(wildcard: string, address: string): boolean {
  return wildcard === '::' || (wildcard === '0.0.0.0' && isIP(address) === 4)
}

function checkServed(view: PolicyView, issues: IssueList): void {
  const serverNames = new Owners(issues)
  for (const { binding, index, part } of view.inbound) {
    const door = doorOf(binding.listen, part.targetPort)
    for (const name of part.serverNames) {
      serverNames.claim(`SNI ${name} ${door}`, `inbound ${part.id}`, `/proxy/inbound/${index}`)
    }
  }
  const callers = new Owners(issues)
  for (const { binding, index, part } of view.ingress) {
    const door = doorOf(binding.listen, part.targetPort)
    const names = part.tls === 'none' ? ['plaintext'] : part.serverNames.length === 0 ? ['any SNI'] : part.serverNames
    for (const source of part.sources) {
      for (const name of names) {
        callers.claim(`${source} with ${name} ${door}`, `ingress ${part.id}`, `/proxy/ingress/${index}`)
      }
    }
  }
}

function serviceOf({ service }: IngressPart): string {
  return `${service.namespace}/${service.name}`
}

function doorOf(listen: SocketAddress | undefined, targetPort: number): string {
  return listen === undefined ? `on port ${targetPort}` : `at ${listen.address} port ${listen.port}`
}

function checkCalled(view: PolicyView, issues: IssueList): void {
  const addresses = new Owners(issues)
  const hosts = new Owners(issues)
  const serverNames = new Owners(issues)
  const ranges = new Owners(issues)
  const serverFirst = new Map<number, string>()
  for (const { part, shortNames, pointer } of view.outbound) {
    const owner = `outbound ${part.id}`
    const on = `port ${part.port}`
    for (const address of part.addresses) addresses.claim(`${address} ${on}`, owner, `${pointer}/addresses`)
    for (const host of part.hosts) hosts.claim(`${host} ${on}`, owner, `${pointer}/hosts`)
    if (shortNames) hosts.claim(`${part.shortHost} ${on}`, owner, `${pointer}/shortHost`)
    if (part.protocol === 'tcp-server-first') serverFirst.set(part.port, owner)
  }
  for (const { part, pointer } of view.egress) {
    const owner = `egress ${part.id}`
    const on = `port ${part.port}`
    for (const host of part.hosts) hosts.claim(`${host} ${on}`, owner, `${pointer}/hosts`)
    for (const name of part.serverNames) serverNames.claim(`SNI ${name} ${on}`, owner, `${pointer}/serverNames`)
    if (part.protocol === 'tcp-server-first') serverFirst.set(part.port, owner)
    if (part.protocol !== 'tcp' && part.protocol !== 'tcp-server-first') continue
    const claimed = part.cidrs.length === 0 ? ['any address'] : part.cidrs
    for (const range of claimed) ranges.claim(`${range} ${on}`, owner, `${pointer}/cidrs`)
  }
  for (const { part, pointer } of view.egress) {
    const other = part.protocol === 'https' ? serverFirst.get(part.port) : undefined
    // SNI is known only after the client has sent data, but a server-first client waits.
    issues.expect(other === undefined, `${pointer}/port`, `${String(other)} is server-first on the same port`)
  }
}
