import { readFile } from 'node:fs/promises'

import { isDeepStrictEqual } from 'node:util'
import { expect, it } from '@jest/globals'
import { eventually } from '@osm-ts/driver-api/toolkit'

import { describeContinuity } from './support/describe-continuity.js'
import { programs } from './support/mesh.js'
import { type Answer, load, throughProxy } from './support/traffic.js'
import { account, document, routeGroup, service, trafficTarget, workload } from './support/yaml.js'

describeContinuity('envoy', (meshOf) => {
  it('keeps private keys out of every debug page and log', async () => {
    const mesh = meshOf()
    const pages = (await mesh.debug('/debug')).split('\n').filter((path) => path.startsWith('/debug/'))
    expect(pages.length).toBeGreaterThan(5)
    const { uuid } = mesh.instance('shop/store-v1')
    const key =
      (await readFile(`${mesh.stateFolder}/ca/workload/key.pem`, 'utf8').catch(() => '')).split('\n')[1] ??
      'PRIVATE KEY'
    for (const page of pages) {
      const text = await mesh.debug(`${page}?uuid=${uuid}&cfg=true`).catch((error: unknown) => String(error))
      expect(text).not.toContain('PRIVATE KEY')
      expect(text).not.toContain(key)
    }
    const lines = mesh.events.flatMap((event) =>
      event.type === 'output' ? [event.line] : 'detail' in event ? [event.detail ?? ''] : [],
    )
    expect(lines.filter((line) => line.includes('PRIVATE KEY'))).toEqual([])
  })
  it('answers 500 to the share of a backend for as long as its grant is withdrawn, and disturbs nothing else', async () => {
    const mesh = meshOf()
    const ask = (service: string): Promise<Answer> =>
      throughProxy(mesh.proxyOf('shop/client'), `http://${service}.shop:8080/books/1`)
    const askOften = async (): Promise<readonly string[]> => {
      const answers: string[] = []
      for (let count = 0; count < 40; count += 1) {
        const { status, server } = await ask('store-v2')
        answers.push(status === 200 ? (server ?? '') : String(status))
      }
      return [...new Set(answers)].sort()
    }
    // Chance leaves one of two equal shares out of 40 requests once in 10^12 times.
    const settles = (expected: readonly string[]) =>
      eventually(askOften, (answers) => isDeepStrictEqual(answers, expected), { what: expected.join(' and ') })
    await mesh.write('depot.yaml', ...depot)
    await mesh.write('grant.yaml', grant)
    await mesh.write('shared.yaml', sharedRoute)
    await settles(['spare', 'store-v2'])
    const others = load(() => ask('store'), 2)
    const shared = load(() => ask('store-v2'), 2)
    await mesh.apply('grant.yaml')
    await settles(['500', 'store-v2'])
    await mesh.apply('grant.yaml', grant)
    await settles(['spare', 'store-v2'])
    const failures = await shared(50)
    expect([...new Set(failures.map(({ status }) => status))]).toEqual([500])
    const disturbed = await others(50)
    expect(disturbed).toEqual([])
  }, 120_000)
})

/** A server in another namespace, which the client of the shop may call. */
const depot = [
  account('depot/spare'),
  workload('depot/spare', { program: programs.http, port: 8080, app: 'spare' }),
  service('depot/spare', 'spare', 8080),
  routeGroup('depot/spare', [{ name: 'read', pathRegex: '/books/.*', methods: ['GET'] }]),
  trafficTarget('depot/spare', {
    to: 'depot/spare',
    from: ['shop/client'],
    rules: [{ kind: 'HTTPRouteGroup', name: 'spare', matches: ['read'] }],
  }),
]
const [grant, sharedRoute] = [
  document('gateway.networking.k8s.io/v1', 'ReferenceGrant', 'depot/shop', {
    spec: {
      from: [{ group: 'gateway.networking.k8s.io', kind: 'HTTPRoute', namespace: 'shop' }],
      to: [{ group: '', kind: 'Service', name: 'spare' }],
    },
  }),
  document('gateway.networking.k8s.io/v1', 'HTTPRoute', 'shop/shared', {
    spec: {
      parentRefs: [{ group: '', kind: 'Service', name: 'store-v2', port: 8080 }],
      rules: [
        {
          backendRefs: [
            { name: 'store-v2', port: 8080 },
            { name: 'spare', namespace: 'depot', port: 8080 },
          ],
        },
      ],
    },
  }),
]
