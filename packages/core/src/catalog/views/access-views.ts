import type { MeshService, ServiceAccountRef } from '@osm-ts/driver-api'

import type { PolicyComputation } from '../policy-computation.js'
import type { TrafficPolicy, TrafficResource } from '../catalog-types.js'
import { destinationsFrom, grantsTo, type TargetGrants } from '../policy/access/grants.js'
import { nameKey, sameName, uniqueNames } from '../policy/parts/keys.js'
import { objectRefOf } from '../policy/problems/problems.js'
import { usableAccounts } from '../policy/upstreams/services.js'

/** Who may call whom, by account and by service. In permissive mode everybody may call everybody. */
export class AccessViews {
  readonly #computation: PolicyComputation

  constructor(computation: PolicyComputation) {
    this.#computation = computation
  }

  /** Accounts that may call workloads of an account; sorted. */
  inboundAccounts(account: ServiceAccountRef): readonly ServiceAccountRef[] {
    if (this.#permissive) return this.#knownAccounts()
    return uniqueNames(this.#grantsTo(account).flatMap(({ sources }) => sources))
  }

  /** Accounts that an account may call; sorted. */
  outboundAccounts(account: ServiceAccountRef): readonly ServiceAccountRef[] {
    if (this.#permissive) return this.#knownAccounts()
    return this.#computation.read(destinationsFrom, account) ?? []
  }

  /** Accounts that run the workloads of a service; sorted. */
  accountsOf(service: MeshService): readonly ServiceAccountRef[] {
    return this.#computation.read(usableAccounts, service) ?? []
  }

  /** Services that an account is behind; sorted. */
  servicesOf(account: ServiceAccountRef): readonly MeshService[] {
    const { endpoints, snapshot } = this.#computation.state ?? {}
    const services = endpoints?.listServicesForIdentity(account).items ?? []
    return services.filter(({ namespace, name }) => snapshot?.get('Service', namespace, name) !== undefined)
  }

  /** Services whose workloads may call a service; sorted. */
  inboundServices(service: MeshService): readonly MeshService[] {
    const callers = this.accountsOf(service).flatMap((account) => this.inboundAccounts(account))
    return uniqueNames(callers.flatMap((account) => this.servicesOf(account)))
  }

  /** Traffic that TrafficTargets allow from or to workloads of a service. None in permissive mode, where they are not read. */
  trafficPolicies(service: MeshService): readonly TrafficPolicy[] {
    if (this.#permissive) return []
    const own = this.accountsOf(service)
    const inbound = own.flatMap((account) => this.#policiesTo(account))
    const called = uniqueNames(own.flatMap((account) => this.outboundAccounts(account)))
    const outbound = called
      .flatMap((account) => this.#policiesTo(account))
      .filter(({ source }) => own.some((account) => sameName(account, source.account)))
    const byText = new Map([...inbound, ...outbound].map((policy) => [policyKey(policy), policy]))
    return [...byText].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, policy]) => policy)
  }

  #policiesTo(account: ServiceAccountRef): readonly TrafficPolicy[] {
    const destination = this.#resource(account)
    return this.#grantsTo(account).flatMap((granted) =>
      granted.sources.map((source) => ({
        target: objectRefOf('TrafficTarget', granted.target),
        source: this.#resource(source),
        destination,
        httpRoutes: granted.grants.flatMap((grant) => (grant.kind === 'http' ? [grant.match] : [])),
        tcpPorts: tcpPorts(granted),
      })),
    )
  }

  #resource(account: ServiceAccountRef): TrafficResource {
    return { account, services: this.servicesOf(account) }
  }

  #grantsTo(account: ServiceAccountRef): readonly TargetGrants[] {
    return this.#computation.read(grantsTo, account) ?? []
  }

  #knownAccounts(): readonly ServiceAccountRef[] {
    const { snapshot } = this.#computation
    const members = [...snapshot.list('Workload'), ...snapshot.list('WorkloadInstance')]
    return uniqueNames(
      members.map(({ metadata: { namespace }, spec }) => ({ namespace, name: spec.serviceAccountName })),
    )
  }

  get #permissive(): boolean {
    return this.#computation.state?.settings.permissive ?? false
  }
}

function tcpPorts({ grants }: TargetGrants): TrafficPolicy['tcpPorts'] {
  const tcp = grants.filter(({ kind }) => kind === 'tcp')
  if (tcp.some(({ ports }) => ports === undefined)) return '*'
  return [...new Set(tcp.flatMap(({ ports = [] }) => ports))].sort((a, b) => a - b)
}

function policyKey({ target, source, destination }: TrafficPolicy): string {
  return [nameKey(target), nameKey(source.account), nameKey(destination.account)].join(' ')
}
