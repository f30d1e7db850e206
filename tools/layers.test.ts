import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { describe, expect, it } from '@jest/globals'
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
  const args = ['--config', join(root, '.dependency-cruiser.mjs'), '--output-type', 'json', 'packages']
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
  it('let a program name its drivers in builtins.ts, and a driver import the contract', async () => {
    const broken = await brokenRules({
      'packages/driver-api/src/index.ts': nothing,
      'packages/core/src/index.ts': importing('../../driver-api/src/index.js'),
      'packages/driver-envoy/src/index.ts': importing('../../driver-api/src/index.js'),
      'packages/controller/src/builtins.ts': importing('../../driver-envoy/src/index.js'),
    })
    expect(broken).toEqual([])
  })

  it('let tests of a program use its drivers, and nothing else beside', async () => {
    const broken = await brokenRules({
      'packages/core/src/index.ts': nothing,
      'packages/driver-envoy/src/index.ts': nothing,
      'packages/bootstrap/src/index.ts': nothing,
      'packages/injector/src/inject.test.ts': importing('../../driver-envoy/src/index.js'),
      'packages/injector/test/fixture.ts': importing('../../core/src/index.js'),
      'packages/injector/test/other.ts': importing('../../bootstrap/src/index.js'),
    })
    expect(broken).toEqual(['program-tests injector/test/other.ts'])
  })

  it('stop each import that the table does not list', async () => {
    const broken = await brokenRules({
      'packages/driver-api/src/index.ts': importing('../../core/src/index.js'),
      'packages/core/src/index.ts': nothing,
      'packages/core/src/knows-a-driver.ts': importing('../../driver-envoy/src/index.js'),
      'packages/driver-envoy/src/index.ts': nothing,
      'packages/driver-envoy/src/knows-the-mesh.ts': importing('../../core/src/index.js'),
      'packages/controller/src/main.ts': importing('../../driver-envoy/src/index.js'),
      'packages/controller/src/builtins.ts': importing('../../interception/src/index.js'),
      'packages/interception/src/index.ts': nothing,
      'packages/novelty/src/index.ts': importing('../../core/src/index.js'),
    })
    expect(broken).toEqual([
      'builtins-drivers controller/src/builtins.ts',
      'layer-controller controller/src/main.ts',
      'layer-core core/src/knows-a-driver.ts',
      'layer-driver-api driver-api/src/index.ts',
      'layer-driver-envoy driver-envoy/src/knows-the-mesh.ts',
      'unlisted-package novelty/src/index.ts',
    ])
  })

  it('stop imports past an index, circles, and imports that lead nowhere', async () => {
    const broken = await brokenRules({
      'packages/driver-api/src/inner.ts': nothing,
      'packages/core/src/deep.ts': importing('../../driver-api/src/inner.js'),
      'packages/core/src/a.ts': `import './b.js'\n`,
      'packages/core/src/b.ts': `import './a.js'\n`,
      'packages/core/src/lost.ts': `import './gone.js'\n`,
    })
    expect(broken).toEqual(['circular core/src/a.ts', 'deep-import core/src/deep.ts', 'unresolvable core/src/lost.ts'])
  })

  it('keep drivers free of Kubernetes and leaf packages free of dependencies', async () => {
    const library = { 'node_modules/@kubernetes/x/index.js': 'exports.nothing = 0\n', 'node_modules/y/index.js': '' }
    const broken = await brokenRules({
      ...library,
      'packages/driver-envoy/src/index.ts': importing('@kubernetes/x'),
      'packages/interception/src/index.ts': `import 'y'\n`,
    })
    expect(broken).toEqual([
      'kubernetes-in-driver driver-envoy/src/index.ts',
      'outside-interception interception/src/index.ts',
    ])
  })
})
