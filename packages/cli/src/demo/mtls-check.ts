import type { ProxyPolicy } from '@osm-ts/driver-api/policy'
import type { ProxyStatus } from '@osm-ts/core'

import type { SeenCertificate } from '../live/live-view.js'
import { partOf } from '../proxy/find-parts.js'
import { probeAnonymous, probePlaintext, type AnonymousOutcome, type PlaintextOutcome } from './probe-port.js'

/** What a sidecar's certificate says, compared with who the workload is. */
export interface IdentityResult {
  readonly instance: string
  readonly expected: string
  /** URIs of the certificate that the sidecar holds, or shows where it does not tell. */
  readonly uris: readonly string[]
  readonly ok: boolean
}

/** What strangers get from one served port. */
export interface HandshakeResult {
  readonly instance: string
  readonly service: string
  readonly address: string
  readonly plaintext: PlaintextOutcome
  readonly withoutCertificate: AnonymousOutcome['outcome']
  readonly serverUris: readonly string[]
  readonly signedByMesh: boolean
  readonly protocol: string | undefined
  readonly ok: boolean
}

/** The proof of mutual TLS. */
export interface MtlsResult {
  readonly ok: boolean
  readonly identities: readonly IdentityResult[]
  readonly handshakes: readonly HandshakeResult[]
  readonly failures: readonly string[]
}

/** A proxy and the policy that it applied. */
export interface ProxyWithPolicy {
  readonly status: ProxyStatus
  readonly policy: ProxyPolicy
}

/**
 * Compares identities and knocks at every served port, with plaintext and without a certificate.
 *
 * @param silent - names of proxies that need not tell which certificate they hold: what they show at their ports counts, and of a workload that
 * serves nothing, nothing is said
 */
export async function checkMtls(
  proxies: readonly ProxyWithPolicy[],
  certificates: ReadonlyMap<string, SeenCertificate>,
  silent: ReadonlySet<string>,
  signal: AbortSignal,
): Promise<MtlsResult> {
  const handshakes = (await Promise.all(proxies.map(({ status, policy }) => knock(status, policy, signal)))).flat()
  const identities = proxies.flatMap(({ status, policy }) => {
    const told = certificates.get(status.name)
    if (told !== undefined || !silent.has(status.name)) return [checkIdentity(status, policy, told)]
    const shown = handshakes.filter(({ instance }) => instance === status.name)
    const uris = [...new Set(shown.flatMap(({ serverUris }) => serverUris))]
    return shown.length === 0 ? [] : [checkIdentity(status, policy, { uris })]
  })
  const failures = [
    ...identities
      .filter(({ ok }) => !ok)
      .map(
        ({ instance, expected, uris }) =>
          `${instance}: its certificate should have ${expected}; it has ${uris.join(', ') || 'no URI'}`,
      ),
    ...handshakes.flatMap((result) => handshakeFailures(result)),
    ...(handshakes.length === 0 ? ['no served port was found to connect to'] : []),
  ]
  return { ok: failures.length === 0, identities, handshakes, failures }
}

function checkIdentity(
  { name, identity }: ProxyStatus,
  policy: ProxyPolicy,
  certificate: SeenCertificate | undefined,
): IdentityResult {
  const expected = spiffeId(identity, trustDomainOf(policy))
  const uris = certificate?.uris ?? []
  return { instance: name, expected, uris, ok: uris.length === 1 && uris[0] === expected }
}

/** Spelled out here rather than read from the policy: both would be wrong together. */
function spiffeId(identity: string, trustDomain: string): string {
  const dot = identity.lastIndexOf('.')
  return `spiffe://${trustDomain}/${identity.slice(0, dot)}/${identity.slice(dot + 1)}`
}

function trustDomainOf(policy: ProxyPolicy): string {
  return partOf(policy, 'trust', policy.proxy.trust)?.trustDomain ?? ''
}

async function knock(
  status: ProxyStatus,
  policy: ProxyPolicy,
  signal: AbortSignal,
): Promise<readonly HandshakeResult[]> {
  const { proxy } = policy
  const roots = partOf(policy, 'trust', proxy.trust)?.roots ?? []
  const expected = spiffeId(status.identity, trustDomainOf(policy))
  return Promise.all(
    proxy.inbound.map(async ({ part, id, listen }): Promise<HandshakeResult> => {
      const served = partOf(policy, 'inbound', part)
      // In transparent mode the kernel leads every connection to the workload's port to its sidecar.
      const { address, port } = listen ?? { address: proxy.addresses[0] ?? '', port: served?.targetPort ?? 0 }
      const target = { address, port, serverName: served?.serverNames[0] ?? '', roots }
      const plaintext = await probePlaintext(target, signal)
      const { outcome, ...peer } = await probeAnonymous(target, signal)
      const ok =
        plaintext === 'refused' &&
        outcome === 'refused' &&
        peer.signedByMesh &&
        peer.serverUris.length === 1 &&
        peer.serverUris[0] === expected
      return {
        instance: status.name,
        service: id,
        address: `${address}:${port}`,
        plaintext,
        withoutCertificate: outcome,
        ...peer,
        ok,
      }
    }),
  )
}

function handshakeFailures(result: HandshakeResult): readonly string[] {
  if (result.ok) return []
  const { instance, service, address, plaintext, withoutCertificate, serverUris, signedByMesh } = result
  const place = `${instance}, ${service} at ${address}`
  return [
    ...(plaintext === 'refused' ? [] : [`${place}: plaintext should be refused; got ${plaintext}`]),
    ...(withoutCertificate === 'refused'
      ? []
      : [`${place}: a client without a certificate should be refused; it was accepted`]),
    ...(signedByMesh ? [] : [`${place}: the presented certificate should be signed by the root of the mesh`]),
    ...(plaintext === 'refused' && withoutCertificate === 'refused' && signedByMesh
      ? [
          `${place}: the presented certificate has ${serverUris.join(', ') || 'no URI'}, which is not the identity of the workload`,
        ]
      : []),
  ]
}
