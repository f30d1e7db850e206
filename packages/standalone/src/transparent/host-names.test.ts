import { readObjects, type KindMap } from '@osm-ts/core'
import { describe, expect, it } from '@jest/globals'

import { hostEntries, type NamedInstance } from './host-names.js'

function service(namespace: string, name: string, spec: object = {}): KindMap['Service'] {
  const text = JSON.stringify({ apiVersion: 'v1', kind: 'Service', metadata: { namespace, name }, spec })
  const [object] = readObjects(text).objects
  if (object?.kind !== 'Service') throw new Error('expected a Service')
  return object
}

const clusterDomain = 'cluster.local'
const addresses = { 'shop/web': '10.190.0.1', 'bank/web': '10.190.0.2' }

describe('hostEntries', () => {
  it('knows every alias of a service, the short one in its own namespace only', () => {
    const services = [service('shop', 'web'), service('bank', 'web')]
    const full = (namespace: string): readonly string[] => [
      `web.${namespace}.svc.cluster.local`,
      `web.${namespace}.svc.cluster`,
      `web.${namespace}.svc`,
      `web.${namespace}`,
    ]
    expect(hostEntries('shop', { services, addresses, instances: [], clusterDomain })).toEqual([
      { address: '10.190.0.1', names: [...full('shop'), 'web'] },
      { address: '10.190.0.2', names: full('bank') },
    ])
  })

  it('leads from a headless service to its instances, and from their names to each', () => {
    const headless = service('shop', 'db', { clusterIP: 'None', selector: { app: 'db' } })
    const instance = (name: string, app: string, address: string, namespace = 'shop'): NamedInstance => ({
      namespace,
      name,
      labels: { app },
      address,
    })
    const instances = [
      instance('db-0', 'db', '10.189.0.2'),
      instance('web-0', 'web', '10.189.0.3'),
      instance('db-0', 'db', '10.189.0.4', 'bank'),
    ]
    const entries = hostEntries('bank', { services: [headless], addresses: {}, instances, clusterDomain })
    expect(entries.map(({ address, names }) => [address, names.at(-1)])).toEqual([
      ['10.189.0.2', 'db.shop'],
      ['10.189.0.2', 'db-0.db.shop'],
    ])
  })

  it('knows nothing of services without an address', () => {
    const services = [service('shop', 'new'), service('shop', 'alias', { type: 'ExternalName', externalName: 'x' })]
    expect(
      hostEntries('shop', { services, addresses: { 'shop/alias': '10.190.0.9' }, instances: [], clusterDomain }),
    ).toEqual([])
  })
})
