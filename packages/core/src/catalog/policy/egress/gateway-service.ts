import type { MeshService } from '@osm-ts/driver-api'
import type { EndpointsPart, UpstreamPart } from '@osm-ts/driver-api/policy'

import { EGRESS_GATEWAY_MODE, egressGatewayMode, type EgressGatewayMode } from '../../../spec/egress-gateway-mode.js'
import { deepEqual, defineQuery } from '../../incremental/index.js'
import type { CatalogState } from '../../inputs/catalog-state.js'
import { objectInputs } from '../../inputs/inputs.js'
import { nameKey, targetPortKey, type TargetPortRef } from '../parts/keys.js'
import { keepPart, makePart, samePart, type PolicyPart } from '../parts/policy-part.js'
import type { PolicyProblem } from '../problems/problems.js'
import { endpointsKey, type EndpointsRef } from '../upstreams/networks.js'
import { serviceModel } from '../upstreams/services.js'
import { endpointsFrame, endpointsPart, upstreamOfPort, upstreamPart } from '../upstreams/upstreams.js'

/** A service as an egress gateway. */
export interface GatewayService {
  /** Undefined: the mesh does not know it. */
  readonly mode: EgressGatewayMode | undefined
  /** Its upstream, or why it can't be used. */
  readonly upstream: TargetPortRef | Pick<PolicyProblem, 'code' | 'message'>
}

/**
 * A service as an egress gateway. Its port is the lowest one of protocol `tcp`: tunnels pass the sidecar of the gateway as they are, which lets in
 * whom TrafficTargets allow, and end at the program behind it.
 */
export const gatewayService = defineQuery<CatalogState, MeshService, GatewayService>({
  name: 'gateway-service',
  keyOf: nameKey,
  equal: deepEqual,
  compute: (context, service) => {
    const object = context.get(objectInputs.Service, service)
    const mode = object && egressGatewayMode(object)
    const named = `Service ${nameKey(service)}`
    const unusable = (message: string, code: PolicyProblem['code'] = 'OSM_POLICY_EGRESS_GATEWAY'): GatewayService => ({
      mode,
      upstream: { code, message },
    })
    if (object === undefined) return unusable(`there is no ${named}`, 'OSM_SPEC_REFERENCE')
    if (mode === undefined) {
      const written = JSON.stringify(object.metadata.annotations[EGRESS_GATEWAY_MODE])
      return unusable(`annotation ${EGRESS_GATEWAY_MODE} of ${named} must be http2tunnel or sock5, not ${written}`)
    }
    const port = context.get(serviceModel, service)?.ports.find(({ protocol }) => protocol === 'tcp')
    if (port === undefined)
      return unusable(`${named} has no port of protocol tcp for tunnels; set its appProtocol to tcp`)
    const upstream = context.get(upstreamOfPort, { ...service, port: port.port })
    return upstream === undefined
      ? unusable(`${named} has no workload of the mesh behind its port ${port.port}`)
      : { mode, upstream }
  },
})

/** What ids of the `upstream` and `endpoints` parts of gateways start with; those of services do not, since no namespace has such a name. */
export const GATEWAY_PREFIX = 'egress-gateway|'

/** Id of the `upstream` and `endpoints` parts of a gateway. The service itself has others, since clients speak to it in another way. */
export function gatewayUpstreamId(upstream: TargetPortRef): string {
  return `${GATEWAY_PREFIX}${targetPortKey(upstream)}`
}

/** The `upstream` part of a gateway: tunnels are streams of HTTP/2, inside the mutual TLS of the mesh. */
export const gatewayUpstreamPart = defineQuery<CatalogState, TargetPortRef, PolicyPart<UpstreamPart> | undefined>({
  name: 'gateway-upstream-part',
  keyOf: targetPortKey,
  equal: samePart,
  whenEqual: keepPart,
  compute: (context, key) => {
    const own = context.get(upstreamPart, key)
    if (own === undefined || own.part.tls.mode !== 'mesh') return undefined
    // Tunnels carry what may leave for gateways alone, so that they never go out in plaintext.
    const { plaintext: _, ...tls } = own.part.tls
    return makePart({ ...own.part, id: gatewayUpstreamId(key), protocol: 'http2', tls }, { origins: own.origins })
  },
})

/** What policies hold of the `endpoints` part of a gateway, as {@link endpointsFrame}. */
export const gatewayEndpointsFrame = defineQuery<CatalogState, EndpointsRef, PolicyPart<EndpointsPart> | undefined>({
  name: 'gateway-endpoints-frame',
  keyOf: endpointsKey,
  equal: samePart,
  whenEqual: keepPart,
  compute: (context, key) => {
    const own = context.get(endpointsFrame, key)
    return own && makePart({ ...own.part, id: gatewayUpstreamId(key) }, { origins: own.origins })
  },
})

/** The whole `endpoints` part of a gateway. */
export const gatewayEndpointsPart = defineQuery<CatalogState, EndpointsRef, PolicyPart<EndpointsPart> | undefined>({
  name: 'gateway-endpoints-part',
  keyOf: endpointsKey,
  equal: samePart,
  whenEqual: keepPart,
  compute: (context, key) => {
    const own = context.get(endpointsPart, key)
    const endpoints = own?.part.endpoints.filter(({ tls }) => tls?.mode !== 'none') ?? []
    return own && makePart({ ...own.part, id: gatewayUpstreamId(key), endpoints }, { origins: own.origins })
  },
})
