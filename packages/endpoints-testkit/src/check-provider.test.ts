import { describe, expect, it } from '@jest/globals'
import {
  ENDPOINTS_CONTRACT_VERSION,
  type EndpointsPlugin,
  type Instance,
  type ProviderContext,
  type ServiceInstances,
} from '@osm-ts/endpoints-api'

import { checkProvider } from './check-provider.js'
import type { ProviderSubject } from './checks.js'
import { customResource } from './recording-host.js'

const secret = 'right-secret'
const source = { isBroken: false, listeners: new Set<() => void>() }
const outage: ProviderSubject['outage'] = {
  begin: async () => setBroken(true),
  end: async () => setBroken(false),
}
const machine: Instance = { id: 'rack-7', addresses: ['192.0.2.7'], ready: true, serviceAccount: 'store', sidecar: {} }

function setBroken(isBroken: boolean): void {
  source.isBroken = isBroken
  for (const listener of source.listeners) listener()
}

/** Announces one machine for the Service of each object, in the namespace of the object. */
function announce({ resources, publish, report, reportStatus }: ProviderContext, told: Set<string>): void {
  const objects = resources.list()
  publish({
    services: objects.map(({ namespace, spec }): ServiceInstances => ({
      service: { namespace, name: spec.service as string },
      instances: [machine],
      ...(source.isBroken && { stale: 'the source is unavailable' }),
    })),
  })
  if (!source.isBroken) report({ state: 'ok' })
  const names = objects.map(({ name }) => name)
  for (const { kind, namespace, name, generation } of objects) {
    told.add(name)
    const condition = { type: 'Resolved', status: 'True', reason: 'Resolved', message: '' } as const
    reportStatus({ kind, namespace, name }, { observedGeneration: generation, instances: 1, conditions: [condition] })
  }
  for (const name of told)
    if (!names.includes(name)) reportStatus({ kind: 'AcmeResource', namespace: 'shop', name }, undefined)
}

const good: EndpointsPlugin = {
  name: 'acme',
  contractVersion: ENDPOINTS_CONTRACT_VERSION,
  resourceKinds: [
    {
      group: 'acme.example.com',
      version: 'v1',
      kind: 'AcmeResource',
      plural: 'acmeresources',
      specSchema: { type: 'object', required: ['service'], properties: { service: { type: 'string' } } },
    },
  ],
  settingsSchema: { type: 'object', required: ['region'], properties: { region: { type: 'string' } } },
  async start(context) {
    const told = new Set<string>()
    const tell = (): void => announce(context, told)
    const leave = context.resources.subscribe(tell)
    source.listeners.add(tell)
    tell()
    const stopped = new Promise<void>((resolve) =>
      context.signal.addEventListener(
        'abort',
        () => {
          leave()
          source.listeners.delete(tell)
          resolve()
        },
        { once: true },
      ),
    )
    return { stopped }
  },
}

const subject = (plugin: EndpointsPlugin): ProviderSubject => ({
  plugin,
  settings: { region: 'west' },
  objects: [customResource('AcmeResource', 'one', { service: 'store' })],
  outage,
  // It does everything at once, or never.
  timeoutMs: 500,
  secrets: [secret],
})

/** The provider with another start, which may change what its context does. */
function changed(change: (context: ProviderContext) => Partial<ProviderContext>): EndpointsPlugin {
  return { ...good, start: async (context) => good.start({ ...context, ...change(context) }) }
}

/** Ids of the checks that fail. */
async function failures(plugin: EndpointsPlugin): Promise<readonly string[]> {
  const results = await checkProvider(subject(plugin))
  return results.filter(({ outcome }) => outcome === 'failed').map(({ id }) => id)
}

const publishing = (change: (services: readonly ServiceInstances[]) => readonly ServiceInstances[]): EndpointsPlugin =>
  changed(({ publish }) => ({ publish: ({ services }) => publish({ services: change(services) }) }))

describe('checkProvider', () => {
  it('finds nothing wrong with a provider that conforms, and says what it has not checked', async () => {
    await expect(failures(good)).resolves.toEqual([])
    // Without objects it has nothing to find either.
    const bare = { plugin: { ...good, resourceKinds: [] }, settings: { region: 'west' }, timeoutMs: 100 }
    const results = await checkProvider(bare)
    const skipped = results.filter(({ outcome }) => outcome === 'not made').map(({ id }) => id)
    expect(skipped).toEqual(['answer.namespaces', 'status.form', 'objects.removed', 'outage.keeps'])
  })

  it.each<readonly [string, readonly string[], EndpointsPlugin]>([
    ['has an invalid name', ['declaration.form'], { ...good, name: 'Acme' }],
    ['has a schema that does not compile', ['declaration.form'], { ...good, settingsSchema: { type: 'thing' } }],
    [
      'publishes no IP address',
      ['answer.form'],
      publishing((all) => all.map((each) => ({ ...each, instances: [{ ...machine, addresses: ['rack-7'] }] }))),
    ],
    [
      'publishes one id twice',
      ['answer.form'],
      publishing((all) => all.map((each) => ({ ...each, instances: [machine, machine] }))),
    ],
    [
      'publishes a Service of another namespace',
      ['answer.namespaces'],
      publishing((all) => all.map((each) => ({ ...each, service: { namespace: 'other', name: 'store' } }))),
    ],
    [
      'publishes less while its source is unavailable',
      ['outage.keeps'],
      publishing((all) => (source.isBroken ? [] : all)),
    ],
    [
      'speaks of another generation',
      ['status.form'],
      changed(({ reportStatus }) => ({
        reportStatus: (ref, status) => reportStatus(ref, status && { ...status, observedGeneration: 7 }),
      })),
    ],
    [
      'logs its secret',
      ['secrets.hidden'],
      changed(({ publish, log }) => ({
        publish: (answer) => {
          log.info('asking', { secret })
          publish(answer)
        },
      })),
    ],
    [
      'speaks after its end',
      ['stop.silent'],
      changed(({ resources, report }) => {
        resources.subscribe(() => report({ state: 'ok' }))
        return {}
      }),
    ],
    [
      'keeps what it knows in its module',
      ['answer.repeatable'],
      (() => {
        let starts = 0
        return changed(({ publish }) => {
          const id = `rack-${(starts += 1)}`
          return {
            publish: ({ services }) =>
              publish({ services: services.map((each) => ({ ...each, instances: [{ ...machine, id }] })) }),
          }
        })
      })(),
    ],
  ])('finds a provider that %s', async (_what, expected, plugin) => {
    await expect(failures(plugin)).resolves.toEqual(expect.arrayContaining([...expected]))
  })

  it('finds a provider that throws, and one that never ends', async () => {
    const throwing = { ...good, start: () => Promise.reject(new Error('no region')) }
    const results = await checkProvider(subject(throwing))
    expect(results.find(({ id }) => id === 'answer.form')).toMatchObject({ outcome: 'failed', faults: ['no region'] })
    const endless: EndpointsPlugin = { ...good, start: async () => ({ stopped: new Promise(() => undefined) }) }
    const onlyEnd = { plugin: endless, settings: {} }
    const { providerChecks } = await import('./checks.js')
    const check = providerChecks.find(({ id }) => id === 'stop.ends')
    await expect(check?.faults(onlyEnd)).resolves.toEqual(['stopped did not resolve within 5 s'])
  })
})
