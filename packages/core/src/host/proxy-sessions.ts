import { randomUUID } from 'node:crypto'

import { type Eviction, OsmError, type ProxyRef } from '@osm-ts/driver-api'

import type { CertificateManager } from '../certificates/certificate-manager.js'
import type { PeerVerifier, VerifiedPeer } from '../certificates/verify.js'
import type { TrustDomain } from '../identity/mesh-domains.js'
import { proxyKey, type ProxyKey } from '../identity/proxy-key.js'
import { principalOf, serviceIdentity } from '../identity/service-identity.js'
import type { InstanceProvider, ProxyCatalog, ProxyInstance } from './policy-provider.js'

/** What {@link ProxySessions} needs. */
export interface ProxySessionsOptions {
  readonly instances: InstanceProvider
  readonly catalog: Omit<ProxyCatalog, 'expectProxy' | 'releasePolicy'>
  readonly certificates: Pick<CertificateManager, 'claimProxyCertificate'>
  /** A verifier of client certificates of the control-plane root, created again when the roots change. */
  readonly verifier: () => PeerVerifier
  readonly trustDomain: TrustDomain
  /** Connections accepted at most over all classes; 0 means unlimited. */
  readonly connectionCap: () => number
  readonly now: () => number
  readonly onEvict: (eviction: Eviction, proxyClass: string) => void
  /** Called once for every session that ends, evicted or not. */
  readonly onEnd: (proxy: ProxyRef) => void
}

/**
 * Who is connected: at most one session for each proxy.
 *
 * A proxy is anyone who holds its certificate; nothing that a peer says counts beside it. It has a session only while a workload of the namespace and account
 * in the certificate has the uuid in it.
 */
export class ProxySessions {
  readonly #options: ProxySessionsOptions
  #rejectedByCap = 0

  constructor(options: ProxySessionsOptions) {
    this.#options = options
  }

  /** Sessions now. */
  get size(): number {
    return this.#options.catalog.proxies.size
  }

  /** Connections that the cap refused since the start. */
  get rejectedByCap(): number {
    return this.#rejectedByCap
  }

  get(proxy: ProxyKey): ProxyRef | undefined {
    return this.#options.catalog.proxies.get(proxy)?.session
  }

  find(session: string): ProxyRef | undefined {
    return this.#options.catalog.proxies.find(session)
  }

  list(): readonly ProxyRef[] {
    return this.#options.catalog.proxies.connected()
  }

  /**
   * Starts a session for the holder of a certificate, in place of an older one of the same proxy.
   *
   * @param peer - DER of the leaf that TLS has verified
   * @param driverClass - class of the driver that asks
   * @throws OsmError `OSM_PROXY_UNAUTHENTICATED`, `OSM_PROXY_UNKNOWN`, `OSM_PROXY_WRONG_CLASS`, `OSM_PROXY_EVICTED`
   */
  authenticate(peer: Uint8Array, driverClass: string): ProxyRef {
    const verified = this.#verify(peer)
    const instance = this.#instanceOf(verified, driverClass)
    const key = proxyKey(verified)
    this.#checkCap(key)
    this.#claim(verified)
    this.evict(key, 'superseded')
    const proxy: ProxyRef = Object.freeze({
      uuid: instance.uuid,
      identity: serviceIdentity(instance.serviceAccount),
      principal: principalOf(instance.serviceAccount, this.#options.trustDomain),
      namespace: instance.serviceAccount.namespace,
      class: instance.class,
      commonName: verified.commonName,
      session: randomUUID(),
    })
    this.#options.catalog.registerProxy(proxy)
    return proxy
  }

  /** Ends a session that its driver reports as closed. Unknown sessions are ended already. */
  disconnected(session: string): void {
    const proxy = this.find(session)
    if (proxy !== undefined) this.#end(proxy)
  }

  /** Cuts a proxy off, if it is connected. */
  evict(key: ProxyKey, reason: Eviction['reason']): void {
    const proxy = this.get(key)
    if (proxy === undefined) return
    this.#end(proxy)
    this.#options.onEvict({ uuid: proxy.uuid, session: proxy.session, reason }, proxy.class)
  }

  #end(proxy: ProxyRef): void {
    this.#options.catalog.unregisterProxy(proxy)
    this.#options.onEnd(proxy)
  }

  #verify(peer: Uint8Array): Extract<VerifiedPeer, { kind: 'proxy' }> {
    let verified: VerifiedPeer
    try {
      verified = this.#options.verifier().verify(peer, this.#options.now())
    } catch (cause) {
      throw unauthenticated(
        cause instanceof Error ? cause.message : 'the certificate of the peer cannot be verified',
        cause,
      )
    }
    if (verified.kind !== 'proxy')
      throw unauthenticated('the peer holds a certificate of the control plane, but not that of a proxy')
    return verified
  }

  #instanceOf(verified: Extract<VerifiedPeer, { kind: 'proxy' }>, driverClass: string): ProxyInstance {
    const { uuid, serviceAccount } = verified
    const instance = this.#options.instances.instance(proxyKey(verified))
    if (instance === undefined) {
      throw new OsmError(
        'OSM_PROXY_UNKNOWN',
        `no workload of ${serviceIdentity(serviceAccount)} has the proxy ${uuid}; it may have ended, run under another account, or not have been seen by this controller yet`,
        { details: { uuid } },
      )
    }
    if (instance.class.toLowerCase() !== driverClass.toLowerCase()) {
      throw new OsmError('OSM_PROXY_WRONG_CLASS', `proxy ${uuid} is of class ${instance.class}, not ${driverClass}`, {
        details: { uuid, class: instance.class, asked: driverClass },
      })
    }
    return instance
  }

  #checkCap(proxy: ProxyKey): void {
    const cap = this.#options.connectionCap()
    if (cap === 0 || this.get(proxy) !== undefined || this.size < cap) return
    this.#rejectedByCap += 1
    throw new OsmError(
      'OSM_PROXY_EVICTED',
      `${cap} proxies are connected, as many as sidecar.maxDataPlaneConnections allows`,
      { details: { cap } },
    )
  }

  #claim(verified: Extract<VerifiedPeer, { kind: 'proxy' }>): void {
    try {
      this.#options.certificates.claimProxyCertificate(verified.commonName)
    } catch (cause) {
      throw unauthenticated(cause instanceof Error ? cause.message : 'the proxy certificate cannot be claimed', cause)
    }
  }
}

function unauthenticated(message: string, cause?: unknown): OsmError {
  return new OsmError('OSM_PROXY_UNAUTHENTICATED', message, { cause })
}
