import { copyFile, mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from '@jest/globals'
import { root } from '../lib/paths.mjs'
import { run } from '../lib/process.mjs'

describe('npm install at the root', () => {
  it('fails at once, installs nothing and says what to run', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'osm-npm-install-'))
    try {
      for (const name of ['package.json', '.npmrc']) await copyFile(join(root, name), join(folder, name))
      // Programs that npm starts silently would make this one silent as well.
      const { code, stderr } = await run('npm', ['install', '--loglevel=error'], { cwd: folder })
      expect(code).not.toBe(0)
      expect(stderr).toContain('npm install does not work here. Run "npm run build"')
      expect((await readdir(folder)).sort()).toEqual(['.npmrc', 'package.json'])
    } finally {
      await rm(folder, { recursive: true, force: true })
    }
  })
})
