import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import type { ProxyStatus } from '@osm-ts/core'
import { resourceTypes } from '@osm-ts/kubernetes'
import { eventually } from '@osm-ts/driver-api/toolkit'

import type { InsideAnswer } from '../../dataplane/support/inside.js'
import { PipyCluster } from './cluster.js'

const signal = AbortSignal.timeout(400_000)
const shop = 'shop'

const plugin = (name: string, script: string): string =>
  JSON.stringify({
    apiVersion: 'plugin.flomesh.io/v1alpha1',
    kind: 'Plugin',
    metadata: { name },
    spec: { priority: 10, pipyscript: script },
  })

/** The plugin of that name alone, for the server's requests. */
const chain = (name: string): string =>
  JSON.stringify({
    apiVersion: 'plugin.flomesh.io/v1alpha1',
    kind: 'PluginChain',
    metadata: { name: 'rules', namespace: shop },
    spec: {
      chains: [{ name: 'inbound-http', plugins: [name] }],
      selectors: { podSelector: { matchLabels: { app: 'server' } } },
    },
  })

const config = (name: string, answer: number): string =>
  JSON.stringify({
    apiVersion: 'plugin.flomesh.io/v1alpha1',
    kind: 'PluginConfig',
    metadata: { name: 'rules', namespace: shop },
    spec: {
      plugin: name,
      destinationRefs: [{ kind: 'Service', name: 'server', namespace: shop }],
      config: { answer },
    },
  })

interface PluginEvent {
  readonly involvedObject?: { readonly kind?: string; readonly name?: string }
  readonly reason?: string
  readonly message?: string
}

describe('plugins of a cluster, in real sidecars', () => {
  let cluster: PipyCluster
  let service = ''

  beforeAll(async () => {
    cluster = await PipyCluster.open(signal)
    await cluster.namespace(shop)
    const address = await cluster.pod(shop, 'server')
    await cluster.pod(shop, 'client')
    await cluster.objects.service(shop, 'server', [{ name: 'server', address }])
    const found = await cluster.server.client.api.get(
      resourceTypes.Service,
      { namespace: shop, name: 'server' },
      signal,
    )
    service = (found?.spec as { readonly clusterIP: string }).clusterIP
    cluster.route('client', service)
    await answers('/', 200)
  })
  afterAll(async () => {
    await cluster.stop()
  })

  const ask = (path: string): Promise<InsideAnswer> =>
    cluster.ask('client', { kind: 'http', dial: service, port: 80, host: 'server.shop', path })
  const answers = (path: string, status: number): Promise<unknown> =>
    eventually(
      () => ask(path),
      (answer) => answer.status === status,
      { everyMs: 250, what: `status ${status} of ${path}` },
    )
  /** The server's row of `osm proxy status`. */
  const row = async (): Promise<ProxyStatus | undefined> =>
    (await cluster.controller.debugJson<{ readonly proxies: readonly ProxyStatus[] }>('/debug/status')).proxies.find(
      ({ name }) => name === `${shop}/server`,
    )
  const condition = (code: string): Promise<string> =>
    eventually(
      async () => (await row())?.conditions.find((each) => each.code === code)?.message ?? '',
      (message) => message !== '',
      { what: code },
    )
  /** What an event says of a Plugin, which is of no namespace, and so of no mesh alone: nothing is written into it. */
  const refusal = async (name: string): Promise<string> => {
    const told = async (): Promise<PluginEvent | undefined> => {
      const { items } = await cluster.server.client.api.list(resourceTypes.Event, { namespace: 'default' }, signal)
      return (items as readonly PluginEvent[]).find(
        ({ involvedObject, reason }) =>
          involvedObject?.kind === 'Plugin' && involvedObject.name === name && reason === 'Refused',
      )
    }
    const what = `an event about ${name}`
    const found = await eventually(told, (event) => event !== undefined, { everyMs: 250, what })
    return found?.message ?? ''
  }

  it('are called as soon as they are applied, with the configuration for the service', async () => {
    await cluster.objects.apply(
      plugin('rules', `export function request(r, config) { if (r.path === '/tea') return { status: config.answer } }`),
    )
    await cluster.objects.apply(config('rules', 418))
    await cluster.objects.apply(chain('rules'))
    await answers('/tea', 418)
    expect((await ask('/')).status).toBe(200)
    await cluster.objects.apply(config('rules', 451))
    await answers('/tea', 451)
    await eventually(row, (status) => status?.state === 'applied')
  })

  it('that throw cost one request, and the operator sees it', async () => {
    await cluster.objects.apply(
      plugin('throws', `export function request(r) { if (r.path === '/bad') throw new Error('not today') }`),
    )
    await cluster.objects.apply(chain('throws'))
    await answers('/bad', 500)
    expect((await ask('/')).status).toBe(200)
    expect(await condition('OSM_PIPY_PLUGIN_FAILED')).toMatch(/^throws has failed \d+ times, last by: not today$/)
    expect(await cluster.controller.metric('osm_pipy_plugin_fault_count')).toBeGreaterThan(0)
  })

  it('that cannot be loaded refuse what comes to them, and an event says so', async () => {
    await cluster.objects.apply(plugin('broken', `throw new Error('while it is loaded')`))
    await cluster.objects.apply(chain('broken'))
    await answers('/', 500)
    expect(await condition('OSM_PIPY_PLUGIN_NOT_LOADED')).toContain('broken cannot be loaded')
    expect(await refusal('broken')).toContain('the sidecar of shop/server refuses it: cannot be loaded')
    expect((await row())?.state).toBe('rejected')
  })

  it('that Pipy does not read never get to it, and an event says so', async () => {
    await cluster.objects.apply(plugin('endless', 'export function request() { while (true) {} }'))
    await cluster.objects.apply(chain('endless'))
    expect(await condition('OSM_PIPY_PLUGIN_REFUSED')).toBe('endless line 1: Pipy does not read WhileStatement')
    expect(await refusal('endless')).toContain('Pipy does not read WhileStatement')
    await answers('/', 500)
  })

  it('are gone with their chain', async () => {
    await cluster.objects.remove('PluginChain', shop, 'rules')
    await answers('/', 200)
    await eventually(row, (status) => status?.state === 'applied' && status.conditions.length === 0, {
      what: 'a proxy in order',
    })
  })
})
