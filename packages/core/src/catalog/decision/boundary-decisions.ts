import type { MeshService } from '@osm-ts/driver-api'

import { resolveTargetPort } from '../../endpoints/index.js'
import { isKind, makeObjectKey } from '../../spec/index.js'
import { canonicalHost } from '../../spec/names.js'
import { defineQuery } from '../incremental/index.js'
import type { CatalogState } from '../inputs/catalog-state.js'
import type { PolicyComputation } from '../policy-computation.js'
import { accessAnalysis, accessKinds, type AccessBackend } from '../policy/ingress/access-objects.js'
import { egressPlan } from '../policy/egress/egress-plan.js'
import { meshServiceCalled } from '../policy/routing/host-names.js'
import { openedPort } from '../policy/ingress/ingress.js'
import { nameKey } from '../policy/parts/keys.js'
import type { SourceRef } from '../policy/parts/policy-part.js'
import { translateMatch } from '../policy/routing/route-match.js'
import { calledService, serviceModel } from '../policy/upstreams/services.js'
import type { BoundaryDecision, BoundaryRule } from './boundary.js'
import { decideEgress, type EgressQuestion } from './decide-egress.js'
import { decideIngress, type OutsideCaller } from './decide-ingress.js'
import type { DecisionContext } from './access-decision.js'
import { lowerHeaderNames, matchesRoute, type MatchableRequest } from './match-route.js'
import { requestPath } from './request-path.js'

/** May this caller from outside reach that service of the mesh? */
export interface IngressQuestion {
  readonly caller: OutsideCaller
  readonly to: MeshService
  /** Port of the service. */
  readonly port: number
  /** The path is that of the request, with its query. */
  readonly request: { readonly method: string; readonly path: string; readonly headers: MatchableRequest['headers'] }
}

interface HostReader {
  readonly host: string
  /** Namespace of those who call the host. */
  readonly readers: string
}

const serviceByHost = defineQuery<CatalogState, HostReader, MeshService | undefined>({
  name: 'service-by-host',
  keyOf: ({ host, readers }) => `${readers}/${host}`,
  equal: (a, b) => a?.namespace === b?.namespace && a?.name === b?.name,
  compute: (context, { host, readers }) => meshServiceCalled(context, host, readers),
})

/** What the policies of sidecars let out of the mesh and into it. The policies themselves are asked, not the objects. */
export class BoundaryDecisions {
  readonly #computation: PolicyComputation
  readonly #context: DecisionContext

  constructor(computation: PolicyComputation, context: DecisionContext) {
    this.#computation = computation
    this.#context = context
  }

  /** The service that a host name stands for where callers of the namespace request it; undefined for hosts outside the mesh. */
  serviceCalled(host: string, namespace: string): MeshService | undefined {
    const service = this.#computation.read(serviceByHost, { host: canonicalHost(host), readers: namespace })
    return service && calledService(service).parent
  }

  egress(question: EgressQuestion): BoundaryDecision {
    const { namespace, name } = question.from
    if (!this.#context.isUsable(question.from)) return denied(`${namespace}/${name} cannot have a certificate`)
    const { destinations = [] } = this.#computation.read(egressPlan, question.from) ?? {}
    const egressEnabled = this.#computation.state?.settings.mesh.egressEnabled ?? false
    const { allowed, reason, by } = decideEgress({ destinations, egressEnabled }, question)
    return { allowed, reasons: [reason], by: by.map((source) => this.#located(source)) }
  }

  ingress({ caller, to, port, request: asked }: IngressQuestion): BoundaryDecision {
    const service = `Service ${nameKey(to)}`
    const targetPorts = this.#targetPorts(to, port)
    if (targetPorts === undefined) return denied(`there is no port ${port} of ${service}`)
    const path = requestPath(asked.path, this.#context.escapedSlashes)
    if (!path.ok) return denied(`the path is refused: ${path.reason}`)
    if (targetPorts.length === 0 || !this.#context.accountsOf(to).some(this.#context.isUsable))
      return denied(`${service} has no endpoints`)
    if (this.#context.allowsPlaintext(to.namespace))
      return { allowed: true, reasons: [`plaintextNamespaces names ${to.namespace}`], by: [] }
    const request: MatchableRequest = {
      path: path.path,
      readings: path.readings,
      method: asked.method,
      headers: lowerHeaderNames(asked.headers),
    }
    const addresses = this.#addressesOf(caller)
    const verdicts = targetPorts.map((targetPort) => {
      const groups = this.#computation.read(openedPort, { ...to, port, targetPort })?.groups ?? []
      const backends = this.#backendsOf(to, targetPort)
      if (groups.length > 0 || backends.length > 0)
        return decideIngress({ groups, backends }, { ...caller, addresses }, request)
      const where = `port ${targetPort} of the workloads behind ${service}`
      return denied(`no IngressBackend and no AccessControl names ${where}`)
    })
    const allowed = verdicts.every((verdict) => verdict.allowed)
    const depends = !allowed && verdicts.some((verdict) => verdict.allowed)
    const by = verdicts.flatMap((verdict) => verdict.by).filter((source) => this.#concerns(source, request))
    return {
      allowed,
      reasons: [
        ...(depends ? ['it depends on the selected workload'] : []),
        ...new Set(verdicts.flatMap(({ reasons }) => reasons)),
      ],
      by: by.map((source) => this.#located(source)),
    }
  }

  /** Undefined without the port. */
  #targetPorts(service: MeshService, port: number): readonly number[] | undefined {
    const model = this.#computation.read(serviceModel, service)?.ports.find((each) => each.port === port)
    if (model === undefined) return undefined
    if (typeof model.target === 'number') return [model.target]
    const { snapshot } = this.#context
    const object = snapshot.get('Service', service.namespace, service.name)
    const servicePort = object?.spec.ports.find((each) => each.port === port)
    if (object === undefined || servicePort === undefined) return []
    const members = [...snapshot.instancesOf(object), ...snapshot.workloadsOf(object)]
    const found = members.flatMap(({ spec }) => resolveTargetPort(servicePort, spec.ports) ?? [])
    return [...new Set(found)].sort((a, b) => a - b)
  }

  /** Addresses that the caller may have, at least one of them; undefined stands for any address. */
  #addressesOf({ address, service }: OutsideCaller): readonly (string | undefined)[] {
    if (address !== undefined) return [address]
    const known = service && this.#computation.state?.endpoints.listEndpointsForService(service).items
    const own = (known ?? []).filter(({ cluster }) => cluster === '').map((endpoint) => endpoint.address)
    return own.length === 0 ? [undefined] : own
  }

  /** Of each kind the first object that has the port. */
  #backendsOf(service: MeshService, targetPort: number): readonly AccessBackend[] {
    return accessKinds.flatMap((kind) => {
      const index = kind === 'IngressBackend' ? 'ingressByService' : 'accessByService'
      const names = this.#computation.state?.indexes.find(index, nameKey(service)) ?? []
      const backends = names.flatMap(
        (name) => this.#computation.read(accessAnalysis, { kind, ...name })?.backends ?? [],
      )
      return backends.find((backend) => backend.service === service.name && backend.targetPort === targetPort) ?? []
    })
  }

  /** False for a match of an HTTPRouteGroup that does not let in the request. */
  #concerns({ object: { kind, namespace, name }, field }: SourceRef, request: MatchableRequest): boolean {
    if (kind !== 'HTTPRouteGroup') return true
    const matches = this.#context.snapshot.get('HTTPRouteGroup', namespace, name)?.spec.matches ?? []
    const match = matches.find((_, index) => field === `spec.matches[${index}]`)
    const translated = match && translateMatch(match)
    return translated?.ok === true && matchesRoute(translated.match, request)
  }

  #located({ object, field = '' }: SourceRef): BoundaryRule {
    const { kind, namespace, name } = object
    const key = isKind(kind) ? makeObjectKey(kind, namespace, name) : undefined
    const origin = key && (this.#context.locate(key, field) ?? this.#context.snapshot.getByKey(key)?.origin)
    return { object, field, ...(origin !== undefined && { origin }) }
  }
}

function denied(reason: string): BoundaryDecision & { readonly by: readonly [] } {
  return { allowed: false, reasons: [reason], by: [] }
}
