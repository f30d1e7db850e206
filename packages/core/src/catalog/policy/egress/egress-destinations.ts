import type { MeshService } from '@osm-ts/driver-api'

import { canonicalCidr, isAddress, isCidr } from '../../../spec/addresses.js'
import { ANY_HOST, parseEgressHost, opensHttpsByAddress, type EgressHost } from '../../../spec/egress-host.js'
import type { KindMap } from '../../../spec/index.js'
import { embeddedIpv4, parseIpRange } from '../../../spec/ip-range.js'
import type { QueryContext } from '../../incremental/index.js'
import type { CatalogState } from '../../inputs/catalog-state.js'
import { indexInputs, servicesInNamespace, settingInputs } from '../../inputs/inputs.js'
import { ownedAddresses, withInstances } from '../problems/claims.js'
import { podAddressOwners } from '../problems/pod-addresses.js'
import { meshServiceCalled } from '../routing/host-names.js'
import { nameKey } from '../parts/keys.js'
import type { ProblemList } from '../problems/problems.js'
import { serviceModel } from '../upstreams/services.js'

const protocols = ['http', 'https', 'tcp', 'tcp-server-first'] as const

/** A protocol of an Egress. */
export type EgressProtocol = (typeof protocols)[number]

/** Stands for every host or every address in {@link EgressDestination.target}. */
export const ANYWHERE = ANY_HOST

/** One destination that an Egress opens. */
export interface EgressDestination {
  readonly protocol: EgressProtocol
  readonly port: number
  /** `http` and `https`: a host, `*.<domain>` or {@link ANYWHERE}. Others: a range in canonical form, or {@link ANYWHERE}. */
  readonly target: string
  /** Path of the port inside the object. */
  readonly field: string
  /** Path of the host or range inside the object; that of the port where none is named. */
  readonly targetField: string
}

type Context = QueryContext<CatalogState>
type Egress = KindMap['Egress']

interface Named<T> {
  readonly value: T
  readonly field: string
}

/** Destinations that an Egress opens, in the order of the object. What can't be told apart or belongs to the mesh is left out, never widened. */
export function egressDestinations(
  context: Context,
  { spec }: Egress,
  problems: ProblemList,
): readonly EgressDestination[] {
  const hosts = hostsOf(context, spec, problems)
  const ranges = rangesOf(spec, problems)
  return spec.ports.flatMap(({ number: port, protocol: written }, index): readonly EgressDestination[] => {
    const field = `spec.ports[${index}]`
    const said = protocols.find((known) => known === written.toLowerCase())
    // As OSM's guide opens the API server.
    const protocol = said === 'https' && opensHttpsByAddress(spec) ? 'tcp' : said
    if (protocol === undefined) {
      const message = `must be one of ${protocols.join(', ')}, not ${JSON.stringify(written)}; the port is not opened`
      problems.error('OSM_SPEC_PROTOCOL', `${field}.protocol`, message)
      return []
    }
    const found =
      protocol === 'http'
        ? freeHosts(context, hosts, port, problems)
        : protocol === 'https'
          ? serverNames(hosts, port, problems)
          : freeRanges(context, rangesFor(ranges, { spec, field, protocol }, problems), port, problems)
    return found.map((target) => ({ protocol, port, target: target.value, field, targetField: target.field }))
  })
}

/** The largest number of destinations that an Egress can open, computed without creating them. */
export function countDestinations({ hosts = [], ipAddresses = [], ports }: Egress['spec']): number {
  return ports.length * Math.max(1, hosts.length, ipAddresses.length)
}

function hostsOf(context: Context, spec: Egress['spec'], problems: ProblemList): readonly Named<EgressHost>[] {
  return (spec.hosts ?? []).flatMap((written, index): readonly Named<EgressHost>[] => {
    const field = `spec.hosts[${index}]`
    const value = parseEgressHost(written)
    if (value === undefined) {
      const message = `${JSON.stringify(written)} is not a host name; remove scheme, port and path`
      problems.error('OSM_SPEC_HOST', field, message)
      return []
    }
    const owner = ownerOf(context, value)
    if (owner === undefined) return [{ value, field }]
    problems.error('OSM_POLICY_EGRESS_MESH', field, owner)
    return []
  })
}

/** Why a host is left out: it is a name of the mesh. Short names are left to those who know them. */
function ownerOf(context: Context, { kind, name, text }: EgressHost): string | undefined {
  if (kind === 'any') return undefined
  if (kind === 'domain') {
    const owner = ownerOfDomain(context, name)
    return owner && nameOf(text, owner)
  }
  const owner = meshServiceCalled(context, name, '')
  return owner && nameOfTheMesh(text, owner)
}

/** Says that a host is the name of a service. */
export function nameOfTheMesh(host: string, owner: MeshService): string {
  return nameOf(host, `Service ${nameKey(owner)}`)
}

function nameOf(host: string, owner: string): string {
  return `${host} is the name of ${owner}, which is reached by policies of the mesh only`
}

/** Names below the domain of the cluster are those of services: all of them, or those of a namespace of the mesh. */
function ownerOfDomain(context: Context, domain: string): string | undefined {
  const services = `svc.${context.get(settingInputs.domains, '').clusterDomain}`
  if (services === domain || services.endsWith(`.${domain}`)) return 'every Service of the mesh'
  if (!domain.endsWith(`.${services}`)) return undefined
  const namespace =
    domain
      .slice(0, -services.length - 1)
      .split('.')
      .at(-1) ?? ''
  const isServed = context
    .get(servicesInNamespace, namespace)
    .some((service) => context.get(serviceModel, service) !== undefined)
  return isServed ? `the Services of namespace ${namespace}` : undefined
}

/** Servers are requested by name; an address is none (RFC 6066, section 3). */
function serverNames(
  hosts: readonly Named<EgressHost>[],
  port: number,
  problems: ProblemList,
): readonly Named<string>[] {
  return hosts.flatMap(({ value: { text, name }, field }): readonly Named<string>[] => {
    if (!/^[\d.]+$|:/.test(name)) return [{ value: text, field }]
    const message = `${name} is an address, and https is told by server names; open port ${port} as tcp with spec.ipAddresses`
    problems.error('OSM_POLICY_EGRESS_HOST', field, message)
    return []
  })
}

function rangesOf({ ipAddresses = [] }: Egress['spec'], problems: ProblemList): readonly Named<string>[] {
  return ipAddresses.flatMap((range, index) => {
    const field = `spec.ipAddresses[${index}]`
    if (isCidr(range)) return [{ value: canonicalCidr(range), field }]
    problems.error('OSM_SPEC_ADDRESS', field, `${JSON.stringify(range)} is not an address range such as 10.0.0.0/8`)
    return []
  })
}

interface PlainPort {
  readonly spec: Egress['spec']
  readonly field: string
  readonly protocol: EgressProtocol
}

/** An Egress without ranges opens its port to every address, but not one that names hosts, which bytes alone can't be told by. */
function rangesFor(
  ranges: readonly Named<string>[],
  { spec, field, protocol }: PlainPort,
  problems: ProblemList,
): readonly Named<string>[] {
  if ((spec.ipAddresses ?? []).length > 0) return ranges
  if ((spec.hosts ?? []).length === 0) return [{ value: ANYWHERE, field }]
  const message = `${protocol} has no host names, so that spec.hosts can't limit it; name the addresses in spec.ipAddresses, or leave hosts to an Egress of their own`
  problems.error('OSM_POLICY_EGRESS_HOST', `${field}.protocol`, message)
  return []
}

/** Without addresses that a service of the mesh has on the port. */
function freeHosts(
  context: Context,
  hosts: readonly Named<EgressHost>[],
  port: number,
  problems: ProblemList,
): readonly Named<string>[] {
  const named = hosts.map(({ value, field }) => ({ value: value.text, field, address: addressOf(value) }))
  if (named.every(({ address }) => address === undefined)) return named
  const owners = addressesOnPort(context, port)
  return named.filter(({ field, address }) => {
    const ranges = address === undefined ? [] : [address, ...embedded(address)].map(singleRange)
    return ranges.every((range) => isFree({ value: range, field }, owners, port, problems))
  })
}

function addressOf({ kind, name }: EgressHost): string | undefined {
  return kind === 'named' && isAddress(name) ? name : undefined
}

/** The IPv4 address that an IPv6 address stands for. */
function embedded(address: string): readonly string[] {
  const range = parseIpRange(address)
  const ipv4 = range === undefined ? undefined : embeddedIpv4(range)
  return ipv4 === undefined ? [] : [ipv4]
}

function singleRange(address: string): string {
  return canonicalCidr(`${address}/${address.includes(':') ? 128 : 32}`)
}

/** Without single addresses that a service of the mesh has on the port. Wider ranges never reach one: the single address is the closer match. */
function freeRanges(
  context: Context,
  ranges: readonly Named<string>[],
  port: number,
  problems: ProblemList,
): readonly Named<string>[] {
  const isSingle = ({ value }: Named<string>): boolean => value.endsWith(value.includes(':') ? '/128' : '/32')
  if (!ranges.some(isSingle)) return ranges
  const owners = addressesOnPort(context, port)
  return ranges.filter((range) => !isSingle(range) || isFree(range, owners, port, problems))
}

function isFree(
  { value, field }: Named<string>,
  owners: ReadonlyMap<string, MeshService>,
  port: number,
  problems: ProblemList,
): boolean {
  const owner = owners.get(value)
  if (owner === undefined) return true
  const message = `port ${port} of this address is Service ${nameKey(owner)}, which is reached by policies of the mesh only`
  problems.error('OSM_POLICY_EGRESS_MESH', field, message)
  return false
}

function addressesOnPort(context: Context, port: number): ReadonlyMap<string, MeshService> {
  const services = context.get(indexInputs.servicesByPort, String(port)).flatMap((name) => withInstances(context, name))
  const owned = services.map((service) => [service, ownedAddresses(context, service, port)] as const)
  const pods = context.get(podAddressOwners, port).map(({ service, addresses }) => [service, addresses] as const)
  return new Map(
    [...owned, ...pods].flatMap(([service, addresses]) =>
      addresses.map((address): [string, MeshService] => [singleRange(address), service]),
    ),
  )
}
