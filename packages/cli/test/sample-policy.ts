import type { Principal, ProxyUUID, ServiceIdentity, SpiffeId } from '@osm-ts/driver-api'
import type { PartHash, ProxyPolicy } from '@osm-ts/driver-api/policy'

const hash = (name: string): PartHash => name.padEnd(32, '_') as PartHash
const service = { namespace: 'bookstore', name: 'bookstore-v2' }

/** A policy of bookstore-v2 with what summaries tell of: it is called by bookbuyer, and calls a split service. */
export function samplePolicy(): ProxyPolicy {
  return {
    policyVersion: 1,
    version: hash('version'),
    proxy: {
      kind: 'proxy',
      id: 'uuid-of-bookstore-v2-0' as ProxyUUID,
      identity: 'bookstore.bookstore' as ServiceIdentity,
      principal: 'bookstore.bookstore.cluster.local' as Principal,
      spiffeId: 'spiffe://cluster.local/bookstore/bookstore' as SpiffeId,
      class: 'envoy',
      mode: 'explicit',
      namespace: 'bookstore',
      workload: { kind: 'Workload', name: 'bookstore-v2', instance: 'bookstore-v2-0' },
      locality: { region: '', zone: '', subZone: '' },
      cluster: '',
      ipFamilies: ['IPv4'],
      addresses: ['127.0.0.1'],
      listen: { admin: { address: '127.0.0.1', port: 15000 } },
      probes: [],
      inbound: [
        {
          part: hash('inbound'),
          id: 'bookstore/bookstore-v2|14001',
          listen: { address: '127.0.0.1', port: 20001 },
          local: { address: '127.0.0.1', port: 14001 },
        },
      ],
      ingress: [],
      outboundBindings: [],
      trust: hash('trust'),
      mesh: hash('mesh'),
      outbound: hash('outbound-set'),
      extensions: [],
    },
    parts: {
      [hash('trust')]: {
        kind: 'trust',
        id: 'trust',
        trustDomain: 'cluster.local',
        roots: [],
        minVersion: 'TLSv1_2',
        maxVersion: 'TLSv1_3',
        cipherSuites: [],
        ecdhCurves: [],
        alpn: 'osm',
      },
      [hash('buyers')]: {
        kind: 'principals',
        id: 'buyers',
        match: 'list',
        principals: ['bookbuyer.bookbuyer.cluster.local' as Principal],
      },
      [hash('inbound')]: {
        kind: 'inbound',
        id: 'bookstore/bookstore-v2|14001',
        service,
        port: 14001,
        targetPort: 14001,
        protocol: 'http',
        serverNames: ['bookstore-v2.bookstore.svc.cluster.local'],
        rules: {
          kind: 'http',
          hosts: ['bookstore-v2.bookstore'],
          allow: [
            { match: { path: { type: 'regex', value: '/buy-a-book/new' }, methods: ['GET'] }, allow: hash('buyers') },
          ],
          routeLimits: [],
        },
      },
      [hash('outbound-set')]: {
        kind: 'set',
        id: 'outbound/bookstore',
        of: 'outbound',
        members: [{ id: 'bookstore/bookstore|14001', hash: hash('outbound') }],
        sets: [],
      },
      [hash('outbound')]: {
        kind: 'outbound',
        id: 'bookstore/bookstore|14001',
        service: { namespace: 'bookstore', name: 'bookstore' },
        port: 14001,
        protocol: 'http',
        addresses: [],
        hosts: ['bookstore.bookstore'],
        shortHost: 'bookstore',
        rules: {
          kind: 'http',
          routes: [
            {
              match: {},
              targets: [
                { upstream: 'bookstore/bookstore-v1|14001', weight: 75 },
                { upstream: 'bookstore/bookstore-v2|14001', weight: 25 },
              ],
              timeoutMs: 0,
            },
          ],
        },
      },
    },
  }
}
