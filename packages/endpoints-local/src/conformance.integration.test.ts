import { mkdtemp, rename, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { checkProvider } from '@osm-ts/endpoints-testkit'

import { fileProvider } from './file-provider.js'

const services = 'services: [{ service: { namespace: shop, name: store }, instances: [{ addresses: [192.0.2.7] }] }]'

describe('the file provider', () => {
  let folder: string

  const write = async (text: string): Promise<void> => {
    await writeFile(join(folder, 'new'), text)
    await rename(join(folder, 'new'), join(folder, 'instances.yaml'))
  }

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'osm-file-provider-'))
    await write(services)
  })
  afterEach(() => rm(folder, { recursive: true }))

  it('conforms to the contract of endpoints providers', async () => {
    const results = await checkProvider({
      plugin: fileProvider,
      settings: { path: join(folder, 'instances.yaml') },
      outage: { begin: () => write('services: 5'), end: () => write(services) },
    })
    const others = results.filter(({ outcome }) => outcome !== 'passed')
    expect(others.map(({ id, outcome }) => `${id} ${outcome}`)).toEqual([
      'answer.namespaces not made',
      'status.form not made',
      'objects.removed not made',
    ])
  })
})
