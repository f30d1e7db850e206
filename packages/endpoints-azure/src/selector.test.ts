import { describe, expect, it } from '@jest/globals'
import type { JsonObject } from '@osm-ts/endpoints-api'

import { customResource } from '@osm-ts/endpoints-testkit'
import { parseResourceId, selectorsOf } from './selector.js'
import type { AllowedSubscription } from './settings.js'

const id = '11111111-2222-4333-8444-555555555555'
const other = '99999999-2222-4333-8444-555555555555'
const machine = `/subscriptions/${id}/resourceGroups/Mesh-RG/providers/Microsoft.Compute/virtualMachines/VM-1`

function select(
  resources: readonly JsonObject[],
  allowed: readonly AllowedSubscription[] = [{ id }],
): ReturnType<typeof selectorsOf> {
  return selectorsOf(customResource('AzureResource', 'web', { service: 'web', resources }), allowed)
}

describe('selectors of an AzureResource', () => {
  it('are the same machine in any case, and with the prefix of early designs', () => {
    const [first, second] = select([{ uri: machine }, { uri: `/resource${machine.toUpperCase()}` }])
    expect(first).toMatchObject({ scope: id, value: { kind: 'machine', group: 'mesh-rg', name: 'vm-1' } })
    expect(second).toMatchObject({ key: first !== undefined && 'key' in first ? first.key : '' })
  })

  it.each([
    `/subscriptions/${id}/resourceGroups/g/providers/Microsoft.Storage/storageAccounts/x`,
    `/subscriptions/${id}/resourceGroups/g/providers/Microsoft.Compute/virtualMachines/a/extensions/b`,
    `/subscriptions/${id}/resourceGroups/../providers/Microsoft.Compute/virtualMachines/..%2f`,
    `/subscriptions/${id}/resourceGroups/g/providers/Microsoft.Compute/virtualMachines/..`,
    'vm-1',
  ])('refuse %s', (uri) => {
    expect(select([{ uri }])).toEqual([
      {
        field: 'spec.resources[0]',
        code: 'InvalidSelector',
        message: expect.stringContaining('expected /subscriptions/<id>/resourceGroups/<name>'),
      },
    ])
  })

  it('refuse another subscription than those configured', () => {
    expect(select([{ uri: machine.replace(id, other) }, { tags: { app: 'web' }, subscription: other }])).toEqual(
      [0, 1].map((index) => ({
        field: `spec.resources[${index}]`,
        code: 'NotAllowed',
        message: `subscription ${other} is not one of those configured for the provider`,
      })),
    )
  })

  it('refuse a subscription of other namespaces', () => {
    const [refused] = select([{ uri: machine }], [{ id, namespaces: ['bank'] }])
    expect(refused).toMatchObject({ code: 'NotAllowed', message: expect.stringContaining('namespace shop') })
    expect(select([{ uri: machine }], [{ id, namespaces: ['shop'] }])[0]).toHaveProperty('key')
  })

  it('refuse resource groups other than those configured, and tags of a whole subscription then', () => {
    const allowed = [{ id, resourceGroups: ['Other'] }]
    const [byUri, byTags, right] = select(
      [{ uri: machine }, { tags: { app: 'web' } }, { tags: { app: 'web' }, resourceGroup: 'oTHER' }],
      allowed,
    )
    expect(byUri).toMatchObject({ code: 'NotAllowed' })
    expect(byTags).toMatchObject({ message: `resourceGroup is required for subscription ${id}` })
    expect(right).toMatchObject({ value: { group: 'other' } })
  })

  it('need a subscription for tags where several are configured', () => {
    expect(select([{ tags: { app: 'web' } }], [{ id }, { id: other }])[0]).toMatchObject({
      code: 'InvalidSelector',
      message: 'subscription is required, because several are configured',
    })
  })

  it.each(['..', 'a/b', 'a?b', ''])('refuse resource group %j', (resourceGroup) => {
    expect(select([{ tags: { app: 'web' }, resourceGroup }])[0]).toMatchObject({
      code: 'InvalidSelector',
      message: 'resourceGroup is not the name of a resource group',
    })
  })

  it('have equal keys for equal tags in another order', () => {
    const [first, second] = select([{ tags: { a: '1', b: '2' } }, { tags: { b: '2', a: '1' } }])
    expect(first).toHaveProperty('key', second !== undefined && 'key' in second ? second.key : '')
  })
})

describe('parseResourceId', () => {
  it('takes no more and no fewer parts than an ID in a resource group has', () => {
    expect(parseResourceId(machine)).toEqual({
      subscription: id,
      group: 'mesh-rg',
      type: 'microsoft.compute/virtualmachines',
      name: 'vm-1',
    })
    expect(parseResourceId(`/subscriptions/${id}`)).toBeUndefined()
  })
})
