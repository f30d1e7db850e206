import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { KubernetesError, resourceTypes } from '@osm-ts/kubernetes'

import type { FakeCluster } from '../../test/fake-cluster.js'
import { LeaderDuty } from '../../test/leader-duty.js'
import type { MemoryApi } from '../../test/memory-api.js'
import { RoleBindings } from './role-bindings.js'

const { RoleBinding } = resourceTypes
const name = 'osm-osm-bootstrap-secrets'

describe('RoleBindings', () => {
  let duty: LeaderDuty
  let api: MemoryApi
  let cluster: FakeCluster
  /** Namespaces that need the role. Absent: all of the mesh. */
  let asked: ReadonlySet<string> | undefined
  let listeners: (() => void)[]

  const binding = (namespace: string) =>
    api.find(RoleBinding, { namespace, name }) as
      | { readonly roleRef: { readonly name: string }; readonly subjects?: readonly { readonly name: string }[] }
      | undefined
  const until = (condition: () => boolean): Promise<void> => duty.until(condition)

  beforeEach(() => {
    duty = new LeaderDuty()
    ;({ api, cluster } = duty)
    cluster.join('shop')
    asked = undefined
    listeners = []
    const accounts = ['osm-controller', 'osm-injector']
    const namespaces = (): ReadonlySet<string> => asked ?? new Set(cluster.view.namespaces().map((it) => it.namespace))
    const subscribe = (listener: () => void) => {
      listeners.push(listener)
      return () => {
        listeners = listeners.filter((it) => it !== listener)
      }
    }
    const role = { name, accounts, namespaces }
    duty.start(new RoleBindings({ ...duty.options, osmNamespace: 'osm-system', role, subscribe }))
  })

  afterEach(async () => {
    await duty.stop()
    expect(cluster.listeners).toBe(0)
    expect(listeners).toEqual([])
  })

  it('come and go with namespaces, and are written once', async () => {
    await until(() => binding('shop') !== undefined)
    expect(binding('shop')).toMatchObject({
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name },
      subjects: [
        { kind: 'ServiceAccount', name: 'osm-controller', namespace: 'osm-system' },
        { kind: 'ServiceAccount', name: 'osm-injector', namespace: 'osm-system' },
      ],
    })
    cluster.join('late')
    await until(() => binding('late') !== undefined)
    cluster.leave('shop')
    await until(() => binding('shop') === undefined)
    expect(api.calls.filter((call) => call.startsWith('create'))).toHaveLength(2)
  })

  it('are written when an upgrade has given back the right to write them', async () => {
    await until(() => binding('shop') !== undefined)
    api.faults.set(
      'create rolebindings',
      new KubernetesError('OSM_KUBERNETES_FORBIDDEN', 'no', { status: 403, reason: 'Forbidden' }),
    )
    cluster.join('late')
    await until(() => api.calls.filter((call) => call === 'create rolebindings').length > 2)
    expect(binding('late')).toBeUndefined()
    expect(binding('shop')).toBeDefined()
    api.faults.clear()
    await until(() => binding('late') !== undefined)
  })

  it('are restored, and never widened by somebody else', async () => {
    await until(() => binding('shop') !== undefined)
    api.drop(RoleBinding, { namespace: 'shop', name })
    await until(() => binding('shop') !== undefined)
    const right = api.find(RoleBinding, { namespace: 'shop', name })
    if (right === undefined) throw new Error('no binding')
    api.put(RoleBinding, { ...right, subjects: [{ kind: 'Group', name: 'system:authenticated' }] })
    await until(() => binding('shop')?.subjects?.length === 2)
    api.put(RoleBinding, { ...right, roleRef: { kind: 'ClusterRole', name: 'cluster-admin' } })
    await until(() => binding('shop')?.roleRef.name === name)
  })

  it('are only where they are needed, and never outside the mesh', async () => {
    asked = new Set(['shop', 'stranger'])
    await until(() => binding('shop') !== undefined)
    cluster.join('bank')
    asked = new Set(['bank', 'stranger'])
    for (const listener of listeners) listener()
    await until(() => binding('bank') !== undefined && binding('shop') === undefined)
    expect(binding('stranger')).toBeUndefined()
  })

  it('are removed where a namespace left while no one led', async () => {
    api.put(RoleBinding, { metadata: { namespace: 'gone', name, labels: {} }, roleRef: { name } })
    await until(() => binding('gone') === undefined)
  })
})
