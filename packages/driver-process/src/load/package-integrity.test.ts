import { chmod, cp, mkdir, mkdtemp, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'

import { copyVerified, packageIntegrity } from './package-integrity.js'

let folder: string
let original: string

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'osm-package-'))
  original = join(folder, 'original')
  await mkdir(join(original, 'lib'), { recursive: true })
  await writeFile(join(original, 'package.json'), '{}')
  await writeFile(join(original, 'lib/a.js'), 'a')
  await symlink('lib/a.js', join(original, 'main.js'))
})
afterEach(() => rm(folder, { recursive: true }))

describe('packageIntegrity', () => {
  it('is the same for a copy, and another for anything that is changed, added, renamed or removed', async () => {
    const before = await packageIntegrity(original)
    expect(before).toMatch(/^sha512-[A-Za-z0-9+/]{86}==$/)
    const changes: Readonly<Record<string, (copy: string) => Promise<void>>> = {
      changed: (copy) => writeFile(join(copy, 'lib/a.js'), 'b'),
      added: (copy) => writeFile(join(copy, 'lib/b.js'), ''),
      removed: (copy) => rm(join(copy, 'package.json')),
      renamed: async (copy) => {
        await rm(join(copy, 'lib/a.js'))
        await writeFile(join(copy, 'lib/c.js'), 'a')
      },
      relinked: async (copy) => {
        await rm(join(copy, 'main.js'))
        await symlink('package.json', join(copy, 'main.js'))
      },
    }
    const digests = new Set([before])
    for (const [name, change] of Object.entries(changes)) {
      const copy = join(folder, name)
      await cp(original, copy, { recursive: true, verbatimSymlinks: true })
      expect(await packageIntegrity(copy)).toBe(before)
      await change(copy)
      digests.add(await packageIntegrity(copy))
    }
    expect(digests.size).toBe(1 + Object.keys(changes).length)
  })

  it('refuses links that lead out, and folders that are not there', async () => {
    for (const target of ['/etc/hostname', '../../x']) {
      await symlink(target, join(original, 'lib/out'))
      await expect(packageIntegrity(original)).rejects.toMatchObject({
        code: 'OSM_DRIVER_INTEGRITY',
        message: expect.stringContaining('a link lib/out that leads out of it') as unknown,
      })
      await rm(join(original, 'lib/out'))
    }
    await expect(packageIntegrity(join(folder, 'missing'))).rejects.toMatchObject({ code: 'OSM_DRIVER_INTEGRITY' })
  })
})

describe('copyVerified', () => {
  it('copies what has the digest, links included, and says both digests of what has not', async () => {
    const integrity = await packageIntegrity(original)
    const copy = join(folder, 'copy')
    await copyVerified(original, integrity, copy)
    expect(await packageIntegrity(copy)).toBe(integrity)
    expect(await readFile(join(copy, 'main.js'), 'utf8')).toBe('a')
    expect((await stat(join(copy, 'lib/a.js'))).mode & 0o111).toBe(0)
    await chmod(join(original, 'lib/a.js'), 0o755)
    const executable = join(folder, 'executable')
    await copyVerified(original, integrity, executable)
    expect((await stat(join(executable, 'lib/a.js'))).mode & 0o777).toBe(0o755)
    await writeFile(join(original, 'lib/a.js'), 'evil')
    const error: unknown = await copyVerified(original, integrity, join(folder, 'other')).catch(
      (caught: unknown) => caught,
    )
    expect(error).toMatchObject({ code: 'OSM_DRIVER_INTEGRITY' })
    expect(String(error)).toContain(integrity)
    expect(String(error)).toContain(await packageIntegrity(original))
  })
})
