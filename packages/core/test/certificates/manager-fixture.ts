import { expect } from '@jest/globals'
import type { ProxyCommonName } from '@osm-ts/driver-api'

import type { CertificateAnnouncement } from '../../src/certificates/certificate-manager.js'
import { defaultCertificateSettings, type CertificateSettings } from '../../src/certificates/certificate-settings.js'
import {
  certificateRef,
  type CertificateRef,
  type ProxySubject,
  type ServiceSubject,
} from '../../src/certificates/certificate-subject.js'
import { MeshCertificateManager } from '../../src/certificates/mesh-certificate-manager.js'
import { parseMeshDomains } from '../../src/identity/mesh-domains.js'
import { newProxyUUID, parseProxyCommonName, proxyCommonName } from '../../src/identity/proxy-identity.js'
import { ProxyRegistry, type ProxyCertificateState } from '../../src/proxies/proxy-registry.js'
import { proxyKey } from '../../src/identity/proxy-key.js'
import { FakeClock, settled } from './fake-clock.js'
import { FakeProvider } from './fake-provider.js'

export const SECOND = 1_000
export const HOUR = 3_600_000
export const DAY = 24 * HOUR
export const domains = parseMeshDomains({ trustDomain: 'cluster.local', clusterDomain: 'cluster.local' })

/** A manager whose time, chance and provider are in the hands of the test. */
export class ManagerFixture {
  readonly clock = new FakeClock()
  readonly provider = new FakeProvider(this.clock)
  readonly closing = new AbortController()
  readonly #running: Promise<void>[] = []
  settings: CertificateSettings = defaultCertificateSettings
  random: () => number = () => 0.5
  readonly proxies = new ProxyRegistry()
  readonly manager = new MeshCertificateManager({
    proxies: this.proxies,
    provider: this.provider,
    domains,
    settings: () => this.settings,
    clock: this.clock,
    random: () => this.random(),
    signal: this.closing.signal,
  })

  /** Where the certificate of a proxy stands. */
  stateOf(commonName: ProxyCommonName): ProxyCertificateState | undefined {
    return this.proxies.state(proxyKey(parseProxyCommonName(commonName, domains.trustDomain)))
  }

  /** Starts rotation. */
  run(): void {
    this.#running.push(this.manager.run(this.closing.signal))
  }

  /** Returns what has been announced since the last time it was called. */
  listen(): () => Promise<readonly CertificateAnnouncement[]> {
    const heard: CertificateAnnouncement[] = []
    const subscription = this.manager.subscribe(this.closing.signal)
    const hear = async (): Promise<void> => {
      for await (const announcement of subscription) heard.push(announcement)
    }
    this.#running.push(hear())
    return async () => {
      await settled()
      return heard.splice(0)
    }
  }

  /** Ends everything, and makes sure that nothing is left behind. */
  async close(): Promise<void> {
    this.closing.abort()
    await this.provider.letGo()
    await Promise.all(this.#running)
    expect(this.clock.pending).toBe(0)
  }
}

export function service(name: string, ...services: readonly string[]): ServiceSubject {
  return {
    kind: 'service',
    serviceAccount: { namespace: 'default', name },
    services: services.map((each) => ({ namespace: 'default', name: each })),
  }
}

export function refOf(subject: ServiceSubject): Extract<CertificateRef, { kind: 'service' }> {
  return certificateRef<'service'>(subject, domains)
}

export function newProxy(): ProxySubject & { readonly commonName: ProxyCommonName } {
  const subject = { kind: 'proxy', uuid: newProxyUUID(), serviceAccount: { namespace: 'default', name: 'a' } } as const
  return { ...subject, commonName: proxyCommonName(subject, domains.trustDomain) }
}
