import { afterEach, beforeEach, describe, expect, test } from '@jest/globals'
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { billOfMaterials, debianComponents, installedComponents, npmComponent } from './bill-of-materials.mjs'

describe('bill of materials', () => {
  test('refuses a package whose licence does not allow to bundle it, and one without a licence', () => {
    expect(npmComponent('@a/c', '1.0.0', '(MIT OR GPL-3.0-only)').purl).toBe('pkg:npm/%40a/c@1.0.0')
    expect(() => npmComponent('b', '2.0.0', 'GPL-3.0-only')).toThrow('b@2.0.0: licence GPL-3.0-only')
    expect(() => npmComponent('b', '2.0.0', 'MIT AND GPL-3.0-only')).toThrow('licence MIT AND GPL-3.0-only')
    expect(() => npmComponent('b', '2.0.0', undefined)).toThrow('licence not given')
  })

  test('lists the Debian packages whose records are in an image', () => {
    const status = Buffer.from('Package: libc6\nArchitecture: amd64\nVersion: 2.36-9+deb12u10\n')
    const entries = [
      { path: 'usr/bin/x', content: status },
      { path: 'var/lib/dpkg/status.d/libc6', content: status },
    ]
    expect(debianComponents(entries).map(({ purl }) => purl)).toEqual([
      'pkg:deb/debian/libc6@2.36-9%2Bdeb12u10?arch=amd64',
    ])
  })

  test('lists a component once that is found twice, and does not depend on the order', () => {
    const [a, b] = [npmComponent('a', '1.0.0', 'MIT'), npmComponent('b', '1.0.0', 'ISC')]
    const made = billOfMaterials(a, [a, b], '2026-01-01T00:00:00Z')
    expect(billOfMaterials(a, [b, a, b], '2026-01-01T00:00:00Z')).toBe(made)
    expect(JSON.parse(made)).toMatchObject({
      bomFormat: 'CycloneDX',
      specVersion: '1.6',
      metadata: { component: { name: 'a' } },
      components: [{ name: 'a', licenses: [{ expression: 'MIT' }] }, { name: 'b' }],
    })
  })

  describe('of a package whose dependencies npm installs', () => {
    let base: string
    beforeEach(() => {
      base = mkdtempSync(join(tmpdir(), 'osm-sbom-'))
    })
    afterEach(() => rmSync(base, { recursive: true }))

    const write = (folder: string, manifest: object) => {
      mkdirSync(join(base, folder), { recursive: true })
      writeFileSync(join(base, folder, 'package.json'), JSON.stringify({ license: 'MIT', ...manifest }))
    }
    const link = (from: string, to: string) => {
      mkdirSync(join(base, from, '..'), { recursive: true })
      symlinkSync(join(base, to), join(base, from))
    }

    test('lists direct and indirect dependencies once, through symbolic links', () => {
      write('package', { dependencies: { a: '^1.0.0', '@s/b': '^2.0.0' }, devDependencies: { unused: '1.0.0' } })
      write('store/a/node_modules/a', { version: '1.2.3', dependencies: { '@s/b': '^2.0.0' } })
      write('store/b/node_modules/@s/b', { version: '2.0.1', dependencies: { a: '^1.0.0' } })
      link('package/node_modules/a', 'store/a/node_modules/a')
      link('package/node_modules/@s/b', 'store/b/node_modules/@s/b')
      link('store/a/node_modules/@s/b', 'store/b/node_modules/@s/b')
      link('store/b/node_modules/a', 'store/a/node_modules/a')
      const found = installedComponents(join(base, 'package')).map(({ purl }) => purl)
      expect(found.sort()).toEqual(['pkg:npm/%40s/b@2.0.1', 'pkg:npm/a@1.2.3'])
    })

    test('refuses a dependency that is not installed, unless it is optional', () => {
      write('package', { optionalDependencies: { absent: '1.0.0' } })
      expect(installedComponents(join(base, 'package'))).toEqual([])
      write('package', { dependencies: { absent: '1.0.0' } })
      expect(() => installedComponents(join(base, 'package'))).toThrow('depends on absent, which is not installed')
    })

    test('refuses an indirect dependency whose licence is not accepted', () => {
      write('package', { dependencies: { a: '1.0.0' } })
      write('package/node_modules/a', { version: '1.0.0', dependencies: { c: '3.0.0' } })
      write('package/node_modules/c', { version: '3.0.0', license: 'GPL-3.0-only' })
      expect(() => installedComponents(join(base, 'package'))).toThrow('c@3.0.0: licence GPL-3.0-only')
    })
  })
})
