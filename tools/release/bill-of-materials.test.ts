import { describe, expect, test } from '@jest/globals'
import {
  billOfMaterials,
  debianComponents,
  npmComponent,
  packageName,
  packagesInSources,
} from './bill-of-materials.mjs'

describe('bill of materials', () => {
  test('lists each bundled package once, whatever folder its map is relative to', () => {
    const sources = [
      '../src/main.ts',
      '../../node_modules/.pnpm/b@2.0.0/node_modules/b/x.js',
      '../../core/node_modules/.pnpm/@a+c@1.0.0_d@3.0.0/node_modules/@a/c/y.js',
      '../../node_modules/.pnpm/b@2.0.0/node_modules/b/z.js',
    ]
    expect(packagesInSources(sources)).toEqual(['@a+c@1.0.0_d@3.0.0', 'b@2.0.0'])
  })

  test('reads the name of a package from its folder', () => {
    expect(packageName('@a+c@1.0.0_d@3.0.0')).toBe('@a/c')
    expect(packageName('b@2.0.0')).toBe('b')
    expect(() => packageName('b')).toThrow('expected <name>@<version>')
  })

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

  test('does not depend on the order in which components are found', () => {
    const [a, b] = [npmComponent('a', '1.0.0', 'MIT'), npmComponent('b', '1.0.0', 'ISC')]
    const made = billOfMaterials(a, [a, b], '2026-01-01T00:00:00Z')
    expect(billOfMaterials(a, [b, a], '2026-01-01T00:00:00Z')).toBe(made)
    expect(JSON.parse(made)).toMatchObject({
      bomFormat: 'CycloneDX',
      specVersion: '1.6',
      metadata: { component: { name: 'a' } },
      components: [{ name: 'a', licenses: [{ expression: 'MIT' }] }, { name: 'b' }],
    })
  })
})
