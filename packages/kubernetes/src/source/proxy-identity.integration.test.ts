import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { proxyKeyOfInstance, type Snapshot, SnapshotBuilder } from '@osm-ts/core'

import { bootstrapVolume, ClusterFixture, RunningSource, uuid } from '../../test/cluster-fixture.js'
import { FakeApiServer } from '../../test/fake-api-server.js'

const bindings = [
  { container: 'x', probe: 'liveness', port: 15901, path: '', target: { type: 'tcp', port: 8080 }, timeoutMs: 1000 },
]

describe('a pod of a namespace that sorts first, with the label of the sidecar of another namespace', () => {
  let server: FakeApiServer
  let cluster: ClusterFixture
  let running: RunningSource

  beforeEach(async () => {
    server = await FakeApiServer.start()
    cluster = new ClusterFixture(server)
    for (const namespace of ['aaa', 'victim']) cluster.namespace(namespace, 'osm')
    cluster.account('victim', 'bank')
    cluster.account('aaa', 'mallory')
    cluster.pod('victim', 'bank-0', { uuid: uuid(1), labels: { app: 'bank' }, account: 'bank', ips: ['10.1.0.1'] })
  })

  afterEach(async () => {
    await running.stop()
    await server.close()
  })

  const read = async (): Promise<Snapshot> => {
    running = await RunningSource.create(server)
    await running.start()
    const builder = new SnapshotBuilder(['kubernetes'])
    builder.apply([{ source: 'kubernetes', upserts: running.source.objects(), deletes: [] }])
    return builder.snapshot
  }

  const spoof = (spec: Readonly<Record<string, unknown>>): void => {
    cluster.pod('aaa', 'spoof', {
      uuid: uuid(1),
      account: 'mallory',
      ips: ['10.1.0.66'],
      spec,
      annotations: {
        'openservicemesh.io/sidecar-injection': 'disabled',
        'openservicemesh.io/probe-bindings': JSON.stringify(bindings),
      },
    })
  }

  it('has no sidecar, and is told so, where the label is all that it has of one', async () => {
    spoof({ volumes: [] })
    const snapshot = await read()
    expect(snapshot.list('WorkloadInstance').map(({ metadata }) => metadata.name)).toEqual(['bank-0'])
    expect(running.source.problems()).toMatchObject([
      {
        code: 'OSM_SOURCE_POD',
        object: { kind: 'Pod', namespace: 'aaa', name: 'spoof' },
        field: 'metadata.labels[osm-proxy-uuid]',
      },
    ])
  })

  it('has its own proxy account, and never that of the other, where its owner made a Secret of that name', async () => {
    spoof({ volumes: [bootstrapVolume(uuid(1))] })
    const snapshot = await read()
    const [victim] = snapshot.byNamespace('WorkloadInstance', 'victim')
    const [attacker] = snapshot.byNamespace('WorkloadInstance', 'aaa')
    if (victim === undefined || attacker === undefined) throw new Error('a pod is no instance')
    expect(snapshot.instanceOfProxy(proxyKeyOfInstance(victim))).toBe(victim)
    expect(snapshot.instanceOfProxy(proxyKeyOfInstance(attacker))).toBe(attacker)
    expect(attacker.spec.serviceAccountName).toBe('mallory')
  })
})
