import { describe, expect, it } from '@jest/globals'
import { meshNames, parseNamespace, workloadNamespace } from './mesh-names.js'

const owner = { pid: 4194303, started: 1023 }

describe('mesh names', () => {
  it('fit into the 15 characters of an interface name, for the largest numbers there are', () => {
    expect(meshNames(owner, 35).hostLink).toMatch(/^osm-[0-9a-z]{7}-z$/)
    expect(meshNames(owner, 35).hostLink.length).toBeLessThanOrEqual(15)
  })

  it('read back from the names of namespaces', () => {
    const names = meshNames(owner, 7)
    expect(parseNamespace(names.switchNamespace)).toEqual({ owner, names, isSwitch: true })
    expect(parseNamespace(workloadNamespace(names, 'bookstore.bookstore-v1-0'))).toEqual({
      owner,
      names,
      isSwitch: false,
    })
  })

  it.each([
    '',
    'osm-ts-',
    'osm-ts-abc',
    'cni-1234',
    'osm-ts-abc00-0 ',
    'osm-ts-abc00-00',
    'osm-abc00-0',
    'osm-ts-0zz-0',
  ])('leave %j alone', (name) => {
    expect(parseNamespace(name)).toBeUndefined()
  })
})
