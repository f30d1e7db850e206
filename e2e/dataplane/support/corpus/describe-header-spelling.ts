import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { eventually } from '@osm-ts/driver-api/toolkit'

import { startTestMesh, type TestMesh } from '../mesh.js'
import { clientAndStore } from '../store.js'
import { throughProxy } from '../traffic.js'
import { meshConfig, routeGroup, trafficTarget } from '../yaml.js'

/** Orders of a client to Envoy: other timeouts, retries and hedging than policy has, and another path and name in logs and spans. */
const orders = {
  'x-envoy-upstream-rq-timeout-ms': '20',
  'x-envoy-upstream-rq-per-try-timeout-ms': '10',
  'x-envoy-upstream-alt-response': '1',
  'x-envoy-retry-on': '5xx,4xx,retriable-status-codes',
  'x-envoy-retriable-status-codes': '418',
  'x-envoy-max-retries': '5',
  'x-envoy-hedge-on-per-try-timeout': 'true',
  'x-envoy-expected-rq-timeout-ms': '20',
  'x-envoy-original-path': '/public',
  'x-envoy-decorator-operation': 'forged',
  'x-envoy-force-trace': '1',
  'x-envoy-internal': 'true',
  'x-envoy-ip-tags': 'office',
  X_Envoy_Max_Retries: '5',
}

const sent = {
  ...orders,
  'x-user-role': 'reader',
  x_user_role: 'admin',
  'X-User_Role': 'admin',
  'x_user-role': 'admin',
  x_app_id: 'shop',
  'x-app-id': 'other',
  x_trace_id: '1',
  'x-forwarded-client-cert': 'URI=admin',
  x_forwarded_client_cert: 'URI=admin',
  'X_Forwarded-Client-Cert': 'URI=admin',
  serviceidentity: 'admin',
}

const config = (keepUnderscoreHeaders: boolean): string =>
  meshConfig({ traffic: { enablePermissiveTrafficPolicyMode: false, enableEgress: false, keepUnderscoreHeaders } })

/** Spellings of header names, through sidecars of a class. */
export function describeHeaderSpelling(sidecarClass: string): void {
  describe(`spellings of header names on real sidecars of class ${sidecarClass}`, () => {
    let mesh: TestMesh

    const call = (headers: Readonly<Record<string, string>>) =>
      throughProxy(mesh.proxyOf('shop/client'), 'http://store.shop:8080/role', { headers })

    /** Headers as the store gets them, those alone that the test sends. */
    async function received(): Promise<Readonly<Record<string, string>>> {
      const answer = await call(sent)
      expect(answer).toMatchObject({ status: 200 })
      const { headers } = JSON.parse(answer.body) as { readonly headers: Readonly<Record<string, string>> }
      const names = new Set(Object.keys(sent).map((name) => name.toLowerCase()))
      return Object.fromEntries(Object.entries(headers).filter(([name]) => names.has(name)))
    }

    beforeAll(async () => {
      mesh = await startTestMesh(
        {
          'config.yaml': [config(false)],
          'workloads.yaml': clientAndStore,
          'policy.yaml': [
            routeGroup('shop/store', [
              {
                name: 'role',
                pathRegex: '/role',
                methods: ['GET'],
                headers: [{ 'x-user-role': 'reader' }, { x_app_id: 'shop' }],
              },
              { name: 'plain', pathRegex: '/plain' },
              { name: 'ordered', pathRegex: '/ordered', headers: [{ 'x-envoy-max-retries': '5' }] },
            ]),
            trafficTarget('shop/store', {
              to: 'shop/store',
              from: ['shop/client'],
              rules: [{ kind: 'HTTPRouteGroup', name: 'store', matches: ['role', 'plain', 'ordered'] }],
            }),
          ],
        },
        { sidecarClass },
      )
    })
    afterAll(async () => {
      await mesh.stop()
    })

    it('a rule looks at the spelling that it names and at no other', async () => {
      await expect(call({ x_user_role: 'reader', x_app_id: 'shop' })).resolves.toMatchObject({ status: 403 })
      await expect(call({ 'x-user-role': 'reader', 'x-app-id': 'shop' })).resolves.toMatchObject({ status: 403 })
    })

    it('no order of a client to a proxy comes in, or changes the timeouts and retries that policy has', async () => {
      const ask = async (path: string): Promise<{ readonly status: number; readonly served: number }> => {
        const { status, body } = await throughProxy(mesh.proxyOf('shop/client'), `http://store.shop:8080${path}`, {
          headers: orders,
        })
        return { status, served: body.startsWith('{') ? (JSON.parse(body) as { readonly served: number }).served : 0 }
      }
      const { served } = await ask('/plain')
      expect(await ask('/plain?delay=300')).toEqual({ status: 200, served: served + 1 })
      expect(await ask('/plain?status=418')).toEqual({ status: 418, served: served + 2 })
      expect(await ask('/ordered')).toEqual({ status: 403, served: 0 })
    })

    it('other spellings of headers that a rule names, and all of those for identities, never reach the workload', async () => {
      expect(await received()).toEqual({ 'x-user-role': 'reader', x_app_id: 'shop', x_trace_id: '1' })
    })

    it('keepUnderscoreHeaders lets other spellings through, but none of those for identities', async () => {
      await mesh.write('config.yaml', config(true))
      const all = {
        'x-user-role': 'reader',
        x_user_role: 'admin',
        'x-user_role': 'admin',
        'x_user-role': 'admin',
        x_app_id: 'shop',
        'x-app-id': 'other',
        x_trace_id: '1',
      }
      await eventually(received, (headers) => Object.keys(headers).length >= Object.keys(all).length)
      expect(await received()).toEqual(all)
    })
  })
}
