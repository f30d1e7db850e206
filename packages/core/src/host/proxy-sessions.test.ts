import { describe, expect, it } from '@jest/globals'
import type { Eviction, ProxyCommonName, ProxyUUID, ServiceAccountRef } from '@osm-ts/driver-api'

import type { PeerVerifier } from '../certificates/verify.js'
import { parseTrustDomain } from '../identity/mesh-domains.js'
import { parseProxyCommonName, proxyCommonName } from '../identity/proxy-identity.js'
import { proxyKey, type ProxyKey } from '../identity/proxy-key.js'
import { ProxyRegistry } from '../proxies/proxy-registry.js'
import type { ProxyInstance } from './policy-provider.js'
import { ProxySessions } from './proxy-sessions.js'

const trustDomain = parseTrustDomain('cluster.local')
const uuid = 'c0ffee00-0000-4000-8000-000000000001' as ProxyUUID
const bank = { namespace: 'victim', name: 'bank' }
const mallory = { namespace: 'aaa', name: 'mallory' }

/** Sessions of a host with some workloads. A peer shows the common name of its certificate as bytes. */
function host() {
  const instances = new Map<ProxyKey, ProxyInstance>()
  const evicted: Eviction[] = []
  const proxies = new ProxyRegistry()
  const sessions = new ProxySessions({
    instances: {
      instance: (proxy) => instances.get(proxy),
      instances: () => [...instances.values()],
      onPresent: () => () => undefined,
      onRemoved: () => () => undefined,
    },
    catalog: {
      proxies,
      registerProxy: (proxy) => {
        proxies.register(proxy)
      },
      unregisterProxy: (proxy) => {
        proxies.unregister(proxy)
      },
    },
    certificates: { claimProxyCertificate: () => undefined },
    verifier: () =>
      ({
        verify: (peer: Uint8Array) => {
          const commonName = Buffer.from(peer).toString() as ProxyCommonName
          return { kind: 'proxy', commonName, ...parseProxyCommonName(commonName, trustDomain) }
        },
      }) as unknown as PeerVerifier,
    trustDomain,
    connectionCap: () => 0,
    now: () => 0,
    onEvict: (eviction) => evicted.push(eviction),
    onEnd: () => undefined,
  })
  return {
    sessions,
    evicted,
    runs: (serviceAccount: ServiceAccountRef) => {
      const instance = {
        uuid,
        serviceAccount,
        class: 'envoy',
        name: `${serviceAccount.name}-0`,
        addresses: [],
        ready: true,
      }
      instances.set(proxyKey(instance), instance)
    },
    connect: (serviceAccount: ServiceAccountRef) =>
      sessions.authenticate(Buffer.from(proxyCommonName({ uuid, serviceAccount }, trustDomain)), 'envoy'),
  }
}

describe('sessions of proxies with one uuid', () => {
  it('belong to the workload of the namespace and account in the certificate, whatever other workloads carry the uuid', () => {
    const { sessions, evicted, runs, connect } = host()
    runs(mallory)
    runs(bank)
    const victim = connect(bank)
    const attacker = connect(mallory)
    expect([victim.identity, attacker.identity]).toEqual(['bank.victim', 'mallory.aaa'])
    expect(evicted).toEqual([])
    expect(sessions.get(proxyKey({ uuid, serviceAccount: bank }))?.session).toBe(victim.session)
    sessions.evict(proxyKey({ uuid, serviceAccount: mallory }), 'workload-deleted')
    expect(evicted).toEqual([{ uuid, session: attacker.session, reason: 'workload-deleted' }])
    expect(sessions.list().map(({ identity }) => identity)).toEqual(['bank.victim'])
  })

  it.each([
    ['another namespace', mallory],
    ['another account of the namespace', { namespace: 'victim', name: 'teller' }],
    ['an account of that name in another namespace', { namespace: 'aaa', name: 'bank' }],
  ])('are refused to a certificate of %s than that of the workload', (_, account) => {
    const { evicted, runs, connect } = host()
    runs(bank)
    const { session } = connect(bank)
    expect(() => connect(account)).toThrow(expect.objectContaining({ code: 'OSM_PROXY_UNKNOWN' }))
    expect(evicted.map((eviction) => eviction.session)).not.toContain(session)
  })
})
