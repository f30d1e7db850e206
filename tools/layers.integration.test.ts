import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { beforeAll, describe, expect, it } from '@jest/globals'
import { temporaryFolders } from './testing/temporary-folder.js'

const root = join(import.meta.dirname, '..')
const folder = temporaryFolders()

interface Cruise {
  readonly summary: {
    readonly violations: readonly { readonly from: string; readonly rule: { readonly name: string } }[]
  }
}

/** The rules that a tree of packages breaks, each with the file that does. */
async function brokenRules(files: Readonly<Record<string, string>>): Promise<string[]> {
  const args = ['--config', join(root, '.dependency-cruiser.mjs'), '--output-type', 'json', 'packages', 'e2e']
  const output = await new Promise<string>((settle) => {
    const options = { cwd: folder(files), encoding: 'utf8', maxBuffer: 1 << 24 } as const
    // The exit code is the number of violations, which the output holds too.
    execFile(join(root, 'node_modules/.bin/depcruise'), args, options, (_error, stdout) => settle(stdout))
  })
  const { summary } = JSON.parse(output) as Cruise
  return summary.violations.map(({ from, rule }) => `${rule.name} ${from.replace('packages/', '')}`).sort()
}

const nothing = 'export const nothing = 0\n'
const importing = (path: string) => `export { nothing } from '${path}'\n`

describe('the layers', () => {
  it('let a program name its drivers in builtins.ts, its tests use them, a driver import the contract, and e2e what is for tests', async () => {
    const broken = await brokenRules({
      'packages/driver-api/src/index.ts': nothing,
      'packages/core/src/index.ts': importing('../../driver-api/src/index.js'),
      'packages/driver-envoy/src/index.ts': importing('../../driver-api/src/index.js'),
      'packages/controller/src/builtins.ts': importing('../../driver-envoy/src/index.js'),
      'packages/injector/src/inject.test.ts': importing('../../driver-envoy/src/index.js'),
      'packages/injector/test/fixture.ts': importing('../../core/src/index.js'),
      'packages/core/test/index.ts': importing('../src/index.js'),
      'e2e/whole.test.ts': `${importing('../packages/injector/src/index.js')}${importing('../packages/core/test/index.js')}`,
      'packages/injector/src/index.ts': nothing,
    })
    expect(broken).toEqual([])
  })

  describe('stop', () => {
    let broken: readonly string[]

    // One tree for all: starting the program takes longer than looking at it.
    beforeAll(async () => {
      broken = await brokenRules({
        'packages/driver-api/src/index.ts': nothing,
        'packages/driver-api/src/inner.ts': nothing,
        'packages/driver-api/src/knows-core.ts': importing('../../core/src/index.js'),
        'packages/core/src/index.ts': nothing,
        'packages/core/src/knows-a-driver.ts': importing('../../driver-envoy/src/index.js'),
        'packages/core/src/deep.ts': importing('../../driver-api/src/inner.js'),
        'packages/core/src/knows-kubernetes.ts': importing('../../kubernetes/src/index.js'),
        'packages/core/src/speaks-to-an-api-server.ts': importing('@kubernetes/x'),
        'packages/core/src/serves.ts': `import 'fastify'\n`,
        'packages/core/src/listens.ts': `import 'node:http'\n`,
        'packages/core/test/fixture.ts': nothing,
        'packages/kubernetes/src/index.ts': nothing,
        'packages/kubernetes/src/inner.test.ts': importing('../../core/src/deep.js'),
        'packages/kubernetes/src/fixture.test.ts': importing('../../core/test/fixture.js'),
        'packages/kubernetes/src/fixture.ts': importing('../../core/test/fixture.js'),
        'packages/core/test/index.ts': nothing,
        'packages/kubernetes/test/uses-the-entry-of-e2e.ts': importing('../../core/test/index.js'),
        'e2e/whole.test.ts': importing('../packages/core/src/deep.js'),
        'packages/kubernetes/src/knows-programs.ts': importing('../../program/src/index.js'),
        'packages/program/src/index.ts': nothing,
        'packages/core/src/a.ts': `import './b.js'\n`,
        'packages/core/src/b.ts': `import './a.js'\n`,
        'packages/core/src/lost.ts': `import './gone.js'\n`,
        'packages/driver-envoy/src/index.ts': nothing,
        'packages/driver-envoy/src/knows-the-mesh.ts': importing('../../core/src/index.js'),
        'packages/driver-envoy/src/knows-kubernetes.ts': importing('@kubernetes/x'),
        'packages/controller/src/main.ts': importing('../../driver-envoy/src/index.js'),
        'packages/controller/src/builtins.ts': importing('../../interception/src/index.js'),
        'packages/interception/src/index.ts': nothing,
        'packages/interception/src/uses-a-library.ts': `import 'y'\n`,
        'packages/bootstrap/src/index.ts': nothing,
        'packages/injector/test/other.ts': importing('../../bootstrap/src/index.js'),
        'packages/novelty/src/index.ts': importing('../../core/src/index.js'),
        'node_modules/@kubernetes/x/index.js': 'exports.nothing = 0\n',
        'node_modules/fastify/index.js': '',
        'node_modules/y/index.js': '',
      })
    })

    it.each([
      ['a driver in core', 'layer-core core/src/knows-a-driver.ts'],
      ['Kubernetes in core', 'layer-core core/src/knows-kubernetes.ts'],
      ['a library for Kubernetes in core', 'core-alone core/src/speaks-to-an-api-server.ts'],
      ['a library for HTTP servers in core', 'core-alone core/src/serves.ts'],
      ['the HTTP server of Node in core', 'core-alone core/src/listens.ts'],
      ['programs in what speaks to an API server', 'layer-kubernetes kubernetes/src/knows-programs.ts'],
      ['tests past an index', 'core-fixtures kubernetes/src/inner.test.ts'],
      ['fixtures outside of tests', 'deep-import kubernetes/src/fixture.ts'],
      ['what is for e2e in tests of a package', 'test-entry-points kubernetes/test/uses-the-entry-of-e2e.ts'],
      ['tests of whole programs past an index', 'e2e-entry-points e2e/whole.test.ts'],
      ['core in the contract', 'layer-driver-api driver-api/src/knows-core.ts'],
      ['core in a driver', 'layer-driver-envoy driver-envoy/src/knows-the-mesh.ts'],
      ['a driver in a program outside of builtins.ts', 'layer-controller controller/src/main.ts'],
      ['something else in builtins.ts', 'builtins-drivers controller/src/builtins.ts'],
      ['something else in the tests of a program', 'program-tests injector/test/other.ts'],
      ['a package that the table does not list', 'unlisted-package novelty/src/index.ts'],
      ['imports past an index', 'deep-import core/src/deep.ts'],
      ['circles', 'circular core/src/a.ts'],
      ['imports that lead nowhere', 'unresolvable core/src/lost.ts'],
      ['Kubernetes in a driver', 'kubernetes-in-driver driver-envoy/src/knows-kubernetes.ts'],
      ['dependencies of a leaf package', 'outside-interception interception/src/uses-a-library.ts'],
    ])('%s', (_what, rule) => {
      expect(broken).toContain(rule)
    })

    it('nothing beside', () => {
      expect(broken).toHaveLength(21)
    })
  })
})
