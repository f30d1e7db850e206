import type { MeshPart, PartRef, PolicyReader, ProxyPart } from '@osm-ts/driver-api/policy'

import type { PipyConfig } from '../config/types.js'
import { hostText } from './address.js'
import type { CredentialNeeds } from './credential-needs.js'

/** Where records of requests go; nowhere, and that is refused, if what is to be shown there is no value of a header. */
export function remoteLogOf(
  { remoteLogging, meshName }: MeshPart,
  { addresses, mesh }: ProxyPart,
  reader: PolicyReader,
  needs: CredentialNeeds,
): Pick<PipyConfig, 'remoteLog'> {
  if (remoteLogging === undefined) return {}
  const { host, port, endpoint, level, sampledFraction, authorization } = remoteLogging
  const ref: PartRef = { kind: 'mesh', id: 'mesh', hash: mesh }
  const pointer = '/remoteLogging/authorization'
  if (authorization !== undefined && authorization.kind !== 'egress') {
    reader.refuse(ref, pointer, 'a certificate is the value of no header; requests are not recorded')
    return {}
  }
  return {
    remoteLog: {
      address: hostText(host, port),
      path: endpoint,
      level,
      fraction: sampledFraction,
      ...(authorization === undefined ? {} : { authorization: needs.add(authorization, ref, pointer) }),
      meshName,
      workloadAddress: addresses[0] ?? '',
    },
  }
}

/** Where spans go. The host reports those that are for another kind of collector than Zipkin's; none is sent then. */
export function tracingOf({ tracing }: MeshPart): Pick<PipyConfig, 'tracing'> {
  if (tracing?.provider !== 'zipkin') return {}
  const { host, port, endpoint, sampledFraction } = tracing
  return { tracing: { address: hostText(host, port), path: endpoint, fraction: sampledFraction } }
}
