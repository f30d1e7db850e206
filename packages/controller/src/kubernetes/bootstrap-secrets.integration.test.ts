import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { KubernetesError, resourceTypes } from '@osm-ts/kubernetes'

import type { FakeCluster } from '../../test/fake-cluster.js'
import { LeaderDuty } from '../../test/leader-duty.js'
import type { MemoryApi } from '../../test/memory-api.js'
import { BootstrapSecrets } from './bootstrap-secrets.js'

const { Secret, Pod } = resourceTypes
const namespace = 'shop'

describe('BootstrapSecrets', () => {
  let duty: LeaderDuty
  let api: MemoryApi
  let cluster: FakeCluster
  let now: number
  let reconciler: BootstrapSecrets

  const secretName = (uuid: string) => ({ namespace, name: `sidecar-bootstrap-config-${uuid}` })
  const putSecret = (uuid: string, mesh = 'osm', more: object = {}) =>
    api.put(Secret, {
      metadata: {
        ...secretName(uuid),
        labels: { 'osm-proxy-uuid': uuid, 'app.kubernetes.io/instance': mesh },
        ...more,
      },
    })
  const putPod = (uuid: string, name = uuid) =>
    api.put(Pod, { metadata: { namespace, name, labels: { 'osm-proxy-uuid': uuid } } })
  const owners = (uuid: string) => api.find(Secret, secretName(uuid))?.metadata.ownerReferences?.map(({ uid }) => uid)
  const sweeps = (): number => api.calls.filter((call) => call === 'list secrets').length
  const start = (): void => duty.start(reconciler)
  const stop = (): Promise<void> => duty.stop()
  const until = (condition: () => boolean): Promise<void> => duty.until(condition)

  beforeEach(() => {
    duty = new LeaderDuty()
    ;({ api, cluster } = duty)
    now = 0
    reconciler = bootstrapSecretsOf(20)
    cluster.join(namespace)
  })

  const bootstrapSecretsOf = (sweepMs: number): BootstrapSecrets =>
    new BootstrapSecrets({ ...duty.options, graceMs: 300_000, sweepMs, monotonic: () => now })

  afterEach(stop)

  it('asks for the pod and the Secret that an event is about, and never for what Secrets hold', async () => {
    reconciler = bootstrapSecretsOf(600_000)
    putSecret('other')
    putPod('other')
    start()
    await until(() => owners('other') !== undefined)
    const seen = sweeps()
    putSecret('foreign', 'another')
    putPod('foreign')
    cluster.pod(namespace, 'foreign')
    // Owned by no one: its pod may be still to come.
    putSecret('untied')
    cluster.pod(namespace, 'untied', true)
    putSecret('a')
    const { metadata } = putPod('a')
    cluster.pod(namespace, 'a')
    await until(() => owners('a') !== undefined)
    expect(owners('a')).toEqual([metadata.uid])
    api.drop(Pod, { namespace, name: 'a' })
    cluster.pod(namespace, 'a', true)
    await until(() => api.find(Secret, secretName('a')) === undefined)
    expect(sweeps()).toBe(seen)
    expect(owners('foreign')).toBeUndefined()
    expect(api.find(Secret, secretName('untied'))).toBeDefined()
    expect([...api.readWhole]).toEqual([])
  })

  it('looks at the whole namespace when a pod has gone of which it does not know the sidecar', async () => {
    reconciler = bootstrapSecretsOf(600_000)
    putSecret('a')
    putPod('a')
    start()
    await until(() => owners('a') !== undefined)
    api.drop(Pod, { namespace, name: 'a' })
    cluster.neverRan(namespace, 'a')
    await until(() => api.find(Secret, secretName('a')) === undefined)
  })

  it('removes the Secret of a pod whose name has come again', async () => {
    reconciler = bootstrapSecretsOf(600_000)
    putSecret('old')
    putPod('old', 'db-0')
    start()
    await until(() => owners('old') !== undefined)
    api.drop(Pod, { namespace, name: 'db-0' })
    putSecret('new')
    const { metadata } = putPod('new', 'db-0')
    cluster.pod(namespace, 'old', true, 'db-0')
    await until(() => api.find(Secret, secretName('old')) === undefined)
    expect(owners('new')).toEqual([metadata.uid])
  })

  it('ties Secrets to their pods, once', async () => {
    putSecret('a')
    const { metadata } = putPod('a')
    start()
    await until(() => owners('a') !== undefined)
    expect(owners('a')).toEqual([metadata.uid])
    const seen = sweeps()
    await until(() => sweeps() > seen + 2)
    expect(api.calls.filter((call) => call === 'patch secrets')).toHaveLength(1)
  })

  it('waits for the pod of a Secret by its own clock, whatever the time of creation says', async () => {
    putSecret('late', 'osm', { creationTimestamp: '2001-01-01T00:00:00Z' })
    start()
    await until(() => sweeps() > 2)
    now = 299_000
    const seen = sweeps()
    await until(() => sweeps() > seen + 1)
    expect(api.find(Secret, secretName('late'))).toBeDefined()
    now = 300_001
    await until(() => api.find(Secret, secretName('late')) === undefined)
  })

  it('begins to wait again when another replica leads', async () => {
    putSecret('late')
    start()
    await until(() => sweeps() > 1)
    await stop()
    now = 1_000_000
    start()
    const seen = sweeps()
    await until(() => sweeps() > seen + 2)
    expect(api.find(Secret, secretName('late'))).toBeDefined()
  })

  it('removes a Secret whose pod has gone at once, and leaves those of other meshes alone', async () => {
    putSecret('foreign', 'another')
    putSecret('a')
    putPod('a')
    start()
    await until(() => owners('a') !== undefined)
    api.drop(Pod, { namespace, name: 'a' })
    await until(() => api.find(Secret, secretName('a')) === undefined)
    now = 10_000_000
    const seen = sweeps()
    await until(() => sweeps() > seen + 1)
    expect(api.find(Secret, secretName('foreign'))).toBeDefined()
  })

  it.each<[string, () => void, () => void]>([
    ['others have deleted', () => void putSecret('another'), () => undefined],
    ['others have deleted as the last ones', () => undefined, () => undefined],
    [
      'lay in a namespace that has left',
      () => {
        cluster.leave(namespace)
        cluster.join('other')
      },
      () => cluster.join(namespace),
    ],
  ])('keeps nothing of Secrets that %s', async (_what, meanwhile, again) => {
    const nextSweeps = async (): Promise<void> => {
      const seen = sweeps()
      await until(() => sweeps() > seen + 2)
    }
    putSecret('a', 'osm', { uid: 'u' })
    start()
    await nextSweeps()
    meanwhile()
    api.drop(Secret, secretName('a'))
    // Long enough for the change of a namespace to be looked at.
    const left = sweeps()
    await until(() => sweeps() > left + 50)
    now = 400_000
    // Uids never come again; one that does here shows whether it was kept.
    putSecret('a', 'osm', { uid: 'u' })
    putSecret('after')
    putPod('after')
    again()
    await until(() => owners('after') !== undefined)
    expect(api.find(Secret, secretName('a'))).toBeDefined()
  })

  it('gives a Secret its time although a request for another one fails', async () => {
    putSecret('a')
    putPod('a')
    putSecret('late')
    api.faults.set('patch secrets', new KubernetesError('OSM_KUBERNETES_UNREACHABLE', 'no'))
    start()
    await until(() => api.calls.includes('patch secrets'))
    now = 300_001
    api.faults.clear()
    await until(() => api.find(Secret, secretName('late')) === undefined)
  })

  it('takes a new owner for a pod that came again under the same sidecar', async () => {
    putSecret('a')
    putPod('a', 'first')
    start()
    await until(() => owners('a')?.length === 1)
    api.drop(Pod, { namespace, name: 'first' })
    const again = putPod('a', 'second')
    // Between the two no one has looked, or the Secret went with its pod: both are right.
    await until(() => owners('a') === undefined || owners('a')?.[0] === again.metadata.uid)
  })

  it('tries again where the role is not bound yet', async () => {
    putSecret('a')
    putPod('a')
    api.faults.set(
      'list secrets',
      new KubernetesError('OSM_KUBERNETES_FORBIDDEN', 'no', { status: 403, reason: 'Forbidden' }),
    )
    start()
    await until(() => sweeps() > 0)
    api.faults.clear()
    await until(() => owners('a') !== undefined)
  })

  it('deletes nothing while an upgrade takes its rights away, and goes on when they are bound again', async () => {
    putSecret('a')
    putPod('a')
    start()
    await until(() => owners('a') !== undefined)
    const forbidden = new KubernetesError('OSM_KUBERNETES_FORBIDDEN', 'no', { status: 403, reason: 'Forbidden' })
    for (const call of ['list secrets', 'get secrets', 'patch secrets', 'delete secrets'])
      api.faults.set(call, forbidden)
    api.drop(Pod, { namespace, name: 'a' })
    const seen = sweeps()
    await until(() => sweeps() > seen + 2)
    expect(api.find(Secret, secretName('a'))).toBeDefined()
    api.faults.clear()
    await until(() => api.find(Secret, secretName('a')) === undefined)
  })

  it('leaves namespaces alone that have left the mesh', async () => {
    start()
    await until(() => sweeps() > 0)
    cluster.leave(namespace)
    putSecret('a')
    putPod('a')
    // Another namespace is looked after meanwhile, again and again.
    cluster.join('other')
    const seen = sweeps()
    await until(() => sweeps() > seen + 3)
    expect(owners('a')).toBeUndefined()
    await stop()
    expect(cluster.listeners).toBe(0)
  })
})
