import { describe, expect, it } from '@jest/globals'

import { listedProviders } from './provider-list.js'

const integrity = `sha512-${Buffer.alloc(64, 7).toString('base64')}`
const good = { name: 'azure', path: '/providers/azure', integrity }
const list = (...providers: readonly unknown[]) => JSON.stringify({ providers })

describe('listedProviders', () => {
  it('reads packages and built-in providers from the flag, else from the variable', async () => {
    const file = { name: 'file', settings: { path: '/run/instances.yaml' } }
    await expect(listedProviders(list(good, file), { OSM_ENDPOINTS_PROVIDERS: list() })).resolves.toEqual([
      {
        name: 'azure',
        package: { path: good.path, integrity },
        settings: {},
        variables: [],
        heapMb: 256,
        residentMb: 512,
      },
      { ...file, variables: [], heapMb: 256, residentMb: 512 },
    ])
    await expect(listedProviders('', { OSM_ENDPOINTS_PROVIDERS: list(file) })).resolves.toHaveLength(1)
    await expect(listedProviders('', {})).resolves.toEqual([])
  })

  it.each([
    ['{', 'of --endpoints-providers cannot be read as JSON'],
    ['/nowhere/list.json', '/nowhere/list.json cannot be read'],
    ['{}', 'must have a list of providers'],
    [list(good, good), 'names provider azure twice'],
    [list('azure'), 'providers[0] must be an object'],
    [list({ ...good, name: 'Azure' }), 'providers[0].name must be a DNS label'],
    [
      list({ ...good, name: 'kubernetes' }),
      'providers[0].name must be a DNS label in lower case other than kubernetes',
    ],
    [list({ ...good, integrity: 'sha512-x' }), 'providers[0].integrity must be sha512-'],
    [list({ ...good, path: 'azure' }), 'providers[0].path must be an absolute path'],
    [list({ name: 'azure' }), 'providers[0].path must be the folder of a package; without one there are dns, file'],
    [list({ name: 'file', integrity }), 'providers[0].integrity is for packages'],
    [list({ ...good, settings: [] }), 'providers[0].settings must be an object'],
    [list({ ...good, variables: ['A=B'] }), 'providers[0].variables must be a list of names'],
    [list({ ...good, heapMb: 1 }), 'providers[0].heapMb must be a number of MiB from 16'],
    [list({ ...good, image: 'x' }), 'providers[0].image is not known'],
    [list(...Array.from({ length: 33 }, () => good)), 'has 33 providers; at most 32 are accepted'],
  ])('refuses %s', async (text, words) => {
    await expect(listedProviders(text, {})).rejects.toMatchObject({
      code: 'OSM_ENDPOINTS_LIST',
      message: expect.stringContaining(words) as unknown,
    })
  })
})
