import { chmod, mkdtemp, rename, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { until } from '@osm-ts/driver-api/toolkit'

import { partnerCertificates, type TlsData } from '../../test/certificates/partner.js'
import { YamlFolderSource } from '../spec/yaml-folder.js'
import { FolderSecrets } from './folder-secrets.js'

const [first, second] = (await partnerCertificates('first', 'second')) as readonly [TlsData, TlsData]
const partner = { namespace: 'shop', name: 'partner' }
const service =
  'apiVersion: v1\nkind: Service\nmetadata: { name: store, namespace: shop }\nspec: { ports: [{ port: 80 }] }\n'

let folder: string
let stop: AbortController
let source: YamlFolderSource

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'folder-secrets-'))
  stop = new AbortController()
  source = new YamlFolderSource({ folder })
})

afterEach(async () => {
  stop.abort()
  await source.finished()
  await rm(folder, { recursive: true, force: true })
})

async function write(file: string, text: string, mode = 0o600): Promise<void> {
  const path = join(folder, `.${file}`)
  await writeFile(path, text, { mode })
  await chmod(path, mode)
  await rename(path, join(folder, file))
}

/** A Secret as JSON, which is YAML. */
function secret(data: Readonly<Record<string, string>>, stringData: Readonly<Record<string, string>> = {}): string {
  const encoded = Object.entries(data).map(([key, text]) => [key, Buffer.from(text).toString('base64')] as const)
  return `${JSON.stringify({ apiVersion: 'v1', kind: 'Secret', metadata: partner, data: Object.fromEntries(encoded), stringData })}\n`
}

async function follow(): Promise<{ readonly serial: () => string | undefined; readonly state: () => string }> {
  const secrets = new FolderSecrets(source, (error) => {
    throw error
  })
  await source.start(stop.signal)
  secrets.follow([partner])
  return {
    serial: () => secrets.credential(partner)?.serialNumber,
    state: () => JSON.stringify(secrets.states().get('shop/partner')),
  }
}

describe('Secrets of a folder', () => {
  it('are read beside objects, are not objects, and are followed as they change', async () => {
    await write('mesh.yaml', `${service}---\n${secret(first)}`)
    const { serial, state } = await follow()
    expect(source.problems()).toEqual([])
    expect(source.objects().map(({ kind }) => kind)).toEqual(['Service'])
    const before = serial()
    expect(before).toBeDefined()
    await write('mesh.yaml', `${service}---\n${secret({ 'ca.crt': first['ca.crt'] }, second)}`)
    await until(() => serial() !== before)
    expect(serial()).toBeDefined()
    await write('mesh.yaml', service)
    await until(() => serial() === undefined)
    expect(state()).toContain('is not written down in the folder')
    expect(JSON.stringify([...source.secrets().values()])).not.toContain('PRIVATE')
  })

  it('are not taken from files that others may read', async () => {
    await write('a.yaml', secret(first), 0o644)
    const { serial, state } = await follow()
    expect(state()).toContain('which is open to other users of the machine (mode 0644)')
    await chmod(join(folder, 'a.yaml'), 0o640)
    await until(() => serial() !== undefined)
    await chmod(join(folder, 'a.yaml'), 0o660)
    await until(() => serial() === undefined)
  })

  it('are kept while their file is not YAML, and not guessed at where they are written twice', async () => {
    await write('a.yaml', secret(first))
    const { serial, state } = await follow()
    const before = serial()
    await write('a.yaml', 'kind: {\n')
    await until(() => source.problems().length > 0)
    expect(serial()).toBe(before)
    await write('a.yaml', secret(first))
    await write('b.yaml', secret(second))
    await until(() => serial() === undefined)
    expect(state()).toMatch(/written down more than once: in .*a\.yaml and .*b\.yaml/)
  })
})
