import { execFile } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'

import { scaffold } from './scaffold.js'

const packages = join(import.meta.dirname, '../..')
const compiler = join(packages, '../node_modules/typescript-native/bin/tsc')
const MINUTE_MS = 60_000

interface Outcome {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

const run = async (cwd: string, ...args: readonly string[]): Promise<Outcome> =>
  new Promise((resolve) => {
    const child = execFile(process.execPath, args, { cwd, encoding: 'utf8' }, (_error, stdout, stderr) =>
      resolve({ code: child.exitCode ?? 1, stdout, stderr }),
    )
  })

describe('the package of a new driver', () => {
  let base = ''
  beforeAll(async () => {
    base = mkdtempSync(join(tmpdir(), 'create-driver-'))
    const projects = ['create-driver', 'driver-testkit'].map((name) => join(packages, name, 'tsconfig.build.json'))
    expect(await run(packages, compiler, '-b', '--pretty', 'false', ...projects)).toMatchObject({ code: 0 })
  }, 4 * MINUTE_MS)
  afterAll(() => rmSync(base, { recursive: true, force: true }))

  it(
    'passes level 0 from the first minute, and is small',
    async () => {
      const made = await run(base, join(packages, 'create-driver/dist/create-driver-main.js'), 'driver-toy')
      expect(made).toMatchObject({ code: 0, stderr: '' })
      const folder = join(base, 'driver-toy')
      mkdirSync(join(folder, 'node_modules/@osm-ts'), { recursive: true })
      for (const name of ['driver-api', 'driver-testkit'])
        symlinkSync(join(packages, name), join(folder, 'node_modules/@osm-ts', name))
      symlinkSync(join(packages, '../node_modules/@types'), join(folder, 'node_modules/@types'))
      expect(await run(folder, compiler, '-p', '.', '--pretty', 'false')).toEqual({ code: 0, stdout: '', stderr: '' })
      const kit = join(folder, 'node_modules/@osm-ts/driver-testkit/dist/conformance-main.js')
      const { code, stdout } = await run(folder, kit, '--driver', '.', '--report', 'conformance')
      expect(stdout).toMatch(/ 0 failed, /)
      expect(stdout).toContain('driver-toy 0.1.0, class toy, level 0')
      expect(code).toBe(0)
      expect(existsSync(join(folder, 'conformance/conformance.html'))).toBe(true)
      const lines = ['driver', 'patch', 'policy-server'].map(
        (name) =>
          readFileSync(join(folder, `src/${name}.ts`), 'utf8')
            .trimEnd()
            .split('\n').length,
      )
      expect(lines.reduce((sum, count) => sum + count)).toBeLessThan(200)
    },
    2 * MINUTE_MS,
  )

  it('is written under the name of its class, with a page, a CI file and a fragment for the chart', () => {
    const paths = scaffold({ folder: join(base, 'elsewhere'), sidecarClass: 'toy' })
    expect(paths).toEqual([
      '.github/workflows/conformance.yaml',
      'README.md',
      'chart/values.yaml',
      'docs/toy.md',
      '.gitignore',
      'package.json',
      'src/driver.ts',
      'src/patch.ts',
      'src/policy-server.ts',
      'tsconfig.json',
    ])
    for (const path of paths) expect(readFileSync(join(base, 'elsewhere', path), 'utf8')).not.toContain('mysidecar')
  })

  it('asks for the versions of the kit that there are, and for those of other packages that the kit is built with', () => {
    const { dependencies, devDependencies } = JSON.parse(
      readFileSync(join(packages, 'create-driver/template/package.json'), 'utf8'),
    ) as Readonly<Record<'dependencies' | 'devDependencies', Readonly<Record<string, string>>>>
    const catalog = readFileSync(join(packages, '../pnpm-workspace.yaml'), 'utf8')
    for (const [name, version] of Object.entries({ ...dependencies, ...devDependencies })) {
      if (!name.startsWith('@osm-ts/')) {
        expect(catalog).toMatch(new RegExp(`^  '?${name}'?: ${version}$`, 'm'))
        continue
      }
      const manifest = readFileSync(join(packages, name.replace('@osm-ts/', ''), 'package.json'), 'utf8')
      expect(JSON.parse(manifest)).toMatchObject({ name, version })
    }
  })

  it.each([
    ['a folder that holds something', () => ({ folder: packages, sidecarClass: 'toy' }), 'is not empty'],
    [
      'a class that is not a DNS label',
      () => ({ folder: join(base, 'My_Driver') }),
      '"My_Driver" cannot be a sidecar class',
    ],
  ])('is not written into %s', (_what, options, words) => {
    expect(() => scaffold(options())).toThrow(words)
    expect(existsSync(join(base, 'My_Driver'))).toBe(false)
  })
})
