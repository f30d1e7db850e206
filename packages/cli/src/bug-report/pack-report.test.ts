import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'

import { packReport } from './pack-report.js'

describe('packReport', () => {
  let folder: string
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'osm-pack-'))
  })
  afterEach(() => rmSync(folder, { recursive: true }))

  const pod = 'namespaces/shop/pods/store-5d8f7c9b4d-abcde/commands'
  const longest = `namespaces/${'n'.repeat(63)}/pods/${'p'.repeat(253)}/commands`
  const files = [
    { path: 'index.html', text: '<!doctype html>' },
    ...[pod, longest].flatMap((path) =>
      ['certs', 'clusters', 'config_dump'].map((page) => ({
        path: `${path}/osm_proxy_get_${page}.txt`,
        text: `${page} é\n`,
      })),
    ),
    { path: 'empty.txt', text: '' },
  ]

  it.each(['osm-bug-report-20261129T163845Z.tar.gz', 'osm-bug-report-20261129T163845Z.tgz', 'report.tar'])(
    'writes each file under its own path into %s, however long it is, for the user alone',
    async (name) => {
      writeFileSync(join(folder, name), await packReport(files, name))
      execFileSync('tar', ['-xf', name], { cwd: folder })
      const [root = ''] = name.split('.')
      for (const { path, text } of files) {
        const found = join(folder, root, path)
        expect([path, readFileSync(found, 'utf8')]).toEqual([path, text])
        expect(statSync(found).mode & 0o077).toBe(0)
      }
    },
  )
})
