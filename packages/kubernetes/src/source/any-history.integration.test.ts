import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import type { MeshService } from '@osm-ts/driver-api'
import { until } from '@osm-ts/driver-api/toolkit'
import { KubernetesEndpointsProvider } from '../endpoints/kubernetes-endpoints-provider.js'

import { ClusterFixture, RunningSource, uuid } from '../../test/cluster-fixture.js'
import { FakeApiServer } from '../../test/fake-api-server.js'
import { resourceTypes } from '../resource-types.js'

/** Something that happens to a cluster. */
type Step =
  | { readonly kind: 'enrol'; readonly namespace: string; readonly mesh: string | undefined }
  | { readonly kind: 'service' | 'target' | 'account'; readonly namespace: string; readonly name: string }
  | {
      readonly kind: 'pod'
      readonly namespace: string
      readonly name: string
      readonly label: string
      readonly meshed: boolean
    }
  | { readonly kind: 'slice'; readonly namespace: string; readonly name: string; readonly pods: readonly string[] }
  | { readonly kind: 'remove'; readonly namespace: string; readonly name: string; readonly of: Removable }
  | { readonly kind: 'cut' | 'compact' | 'pause' }

const removable = ['Namespace', 'Service', 'TrafficTarget', 'ServiceAccount', 'Pod', 'EndpointSlice'] as const
type Removable = (typeof removable)[number]

const namespace = fc.constantFrom('a', 'b', 'c')
const name = fc.constantFrom('x', 'y', 'z')
const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({
    kind: fc.constant('enrol' as const),
    namespace,
    mesh: fc.constantFrom('osm', 'osm', 'other', undefined),
  }),
  fc.record({ kind: fc.constantFrom('service' as const, 'target' as const, 'account' as const), namespace, name }),
  fc.record({ kind: fc.constant('pod' as const), namespace, name, label: name, meshed: fc.boolean() }),
  fc.record({ kind: fc.constant('slice' as const), namespace, name, pods: fc.uniqueArray(name) }),
  fc.record({ kind: fc.constant('remove' as const), namespace, name, of: fc.constantFrom(...removable) }),
  fc.record({ kind: fc.constantFrom('cut' as const, 'compact' as const, 'pause' as const) }),
)

async function happen(cluster: ClusterFixture, step: Step): Promise<void> {
  const { server } = cluster
  const number = (one: string): number => 'abcxyz'.indexOf(one) + 1
  switch (step.kind) {
    case 'enrol':
      cluster.namespace(step.namespace, step.mesh)
      return
    case 'service':
      cluster.service(step.namespace, step.name)
      return
    case 'account':
      cluster.account(step.namespace, step.name)
      return
    case 'target':
      cluster.custom('TrafficTarget', step.namespace, step.name, {
        destination: { kind: 'ServiceAccount', name: step.name, namespace: step.namespace },
        rules: [{ kind: 'TCPRoute', name: 'route' }],
        sources: [{ kind: 'ServiceAccount', name: 'client', namespace: step.namespace }],
      })
      return
    case 'pod': {
      const id = number(step.namespace) * 10 + number(step.name)
      const ips = [`10.0.0.${String(id)}`]
      cluster.pod(step.namespace, step.name, {
        labels: { app: step.label },
        ips,
        ...(step.meshed ? { uuid: uuid(id) } : {}),
      })
      return
    }
    case 'slice':
      cluster.slice(
        step.namespace,
        step.name,
        step.pods.map((pod) => ({
          addresses: [`10.0.0.${String(number(step.namespace) * 10 + number(pod))}`],
          targetRef: { kind: 'Pod', name: pod },
        })),
      )
      return
    case 'remove': {
      const { of } = step
      const named = of === 'EndpointSlice' ? `${step.name}-a` : step.name
      if (of === 'Namespace') server.remove(resourceTypes.Namespace, { namespace: '', name: step.namespace })
      else server.remove(resourceTypes[of], { namespace: step.namespace, name: named })
      return
    }
    case 'cut':
      server.cut()
      return
    case 'compact':
      server.objects.compact()
      return
    case 'pause':
      await new Promise((resolve) => setTimeout(resolve, 2))
  }
}

const names = ['a', 'b', 'c'].flatMap((inside) => ['x', 'y', 'z'].map((one) => ({ namespace: inside, name: one })))

/** A source and its endpoints as the catalog uses them: what is not announced is not asked again. */
class Follower {
  readonly running: RunningSource
  readonly #provider: KubernetesEndpointsProvider
  readonly #ofServices = new Map<string, string>()
  readonly #ofAccounts = new Map<string, string>()

  private constructor(running: RunningSource) {
    this.running = running
    this.#provider = new KubernetesEndpointsProvider({
      cluster: running.source,
      current: () => undefined,
      subscribe: () => () => undefined,
    })
  }

  static async start(server: FakeApiServer): Promise<Follower> {
    const follower = new Follower(await RunningSource.create(server))
    await follower.running.start()
    follower.#ask(names, names)
    follower.#provider.announcements(({ services, accounts }) => follower.#ask(services, accounts))
    return follower
  }

  /** All that is known, as text. */
  sayings(): string {
    const objects = this.running.source
      .objects()
      .map(({ kind, metadata, spec }) => JSON.stringify({ kind, metadata, spec }))
    return [...objects.sort(), ...[...this.#ofServices].sort(), ...[...this.#ofAccounts].sort()].join('\n')
  }

  #ask(services: readonly MeshService[], accounts: readonly MeshService[]): void {
    for (const service of services) {
      const answers = [
        this.#provider.listEndpointsForService(service),
        this.#provider.listIdentitiesForService(service),
      ]
      this.#ofServices.set(`${service.namespace}/${service.name}`, JSON.stringify(answers))
    }
    for (const account of accounts) {
      const answers = [this.#provider.listServicesForIdentity(account)]
      this.#ofAccounts.set(`${account.namespace}/${account.name}`, JSON.stringify(answers))
    }
  }
}

describe('a source that has lived through any history', () => {
  it('says what one says that has just read the cluster', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 10, maxLength: 60 }), async (history) => {
        const server = await FakeApiServer.start()
        const cluster = new ClusterFixture(server)
        cluster.namespace('a', 'osm')
        const old = await Follower.start(server)
        for (const one of history) await happen(cluster, one)
        const fresh = await Follower.start(server)
        await until(() => old.sayings() === fresh.sayings(), 'both say the same', { timeoutMs: 10_000 }).catch(
          () => undefined,
        )
        const said = [old.sayings(), fresh.sayings()]
        await Promise.all([old.running.stop(), fresh.running.stop()])
        await server.close()
        expect(said[0]).toBe(said[1])
      }),
      { numRuns: 12, endOnFailure: true },
    )
  })
})
