import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'

import { collectLocal } from './collect.js'
import { ReportArchive } from './report-archive.js'

describe('collectLocal', () => {
  let root: string
  beforeAll(() => {
    root = mkdtempSync(join(tmpdir(), 'osm-collect-'))
    mkdirSync(join(root, 'mesh'))
    mkdirSync(join(root, 'state/logs'), { recursive: true })
    const files = {
      'mesh/plain.yaml': '# kept as it is\nkind: Service\n',
      'mesh/secret.yaml': 'kind: Service\n---\nkind: Secret\nmetadata: { name: a }\nstringData: { key: planted }\n',
      'mesh/escaped.yaml': 'kind: "S\\u0065cret"\nstringData: { key: planted }\n',
      'mesh/broken.yaml': 'kind: Secret\nstringData: { key: planted\n',
      'mesh/notes.txt': 'planted',
      'state/logs/store.log': 'started\nAuthorization: Bearer planted\n',
    }
    for (const [name, text] of Object.entries(files)) writeFileSync(join(root, name), text)
  })
  afterAll(() => rmSync(root, { recursive: true, force: true }))

  it('takes the folder and the logs of a mesh, without data of Secrets and without what may hold it', async () => {
    const archive = new ReportArchive((value) => JSON.stringify(value))
    await collectLocal(archive, {
      folder: join(root, 'mesh'),
      stateFolder: join(root, 'state'),
      mode: 'explicit',
      controllerUrl: 'http://127.0.0.1:1',
    })
    const texts = new Map(archive.entries.map(({ path, text, note }) => [path, text ?? note]))
    expect([...texts.keys()]).toEqual([
      'mesh/files.txt',
      'mesh/broken.yaml',
      'mesh/escaped.yaml',
      'mesh/plain.yaml',
      'mesh/secret.yaml',
      'logs/files.txt',
      'logs/store.log',
    ])
    expect(texts.get('mesh/plain.yaml')).toBe('# kept as it is\nkind: Service\n')
    expect(texts.get('mesh/secret.yaml')).toContain('name: a')
    expect(texts.get('mesh/broken.yaml')).toMatch(/^left out/)
    expect(texts.get('logs/store.log')).toBe('started\nAuthorization: [removed]\n')
    expect(JSON.stringify(archive.entries)).not.toContain('planted')
  })
})
