import { existsSync, readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from '@jest/globals'
import { root } from '../lib/paths.mjs'
import { programs } from '../programs.mjs'
import { programsOf } from './assemble.mjs'
import { nonroot } from './base-files.mjs'
import { nodePath, programFolder, programImages, programPath, sidecarInitImage } from './definitions.mjs'
import { sourcesOf } from './program-image.mjs'

/** Arguments of the last instruction of a kind. */
function instruction(name: string, kind: string): string | undefined {
  const lines = readFileSync(join(root, 'images', name, 'Dockerfile'), 'utf8').split('\n')
  return lines.findLast((line) => line.startsWith(`${kind} `))?.slice(kind.length + 1)
}

function dockerignore(name: string): string {
  return readFileSync(join(root, 'images', name, 'Dockerfile.dockerignore'), 'utf8')
}

describe('images', () => {
  it('has a folder for each image, and no other', () => {
    const folders = readdirSync(join(root, 'images')).filter((name) =>
      existsSync(join(root, 'images', name, 'Dockerfile')),
    )
    expect(folders).toEqual([...programImages, sidecarInitImage].map(({ name }) => name).sort())
  })

  it('bundles everything that is in an image before it is assembled', () => {
    expect(programsOf(['osm-injector'])).toEqual(['osm-injector', 'osm-driver-host'])
    const bundles = programsOf(programImages.map(({ name }) => name)).map((name) => programs[name]?.bundle)
    expect(new Set(bundles)).toEqual(
      new Set(programImages.flatMap(({ bundle, companions = [] }) => [bundle, ...companions])),
    )
  })

  it.each(programImages)(
    '$name is the same by Dockerfile as by npm run images',
    ({ name, bundle, page, ports, companions = [] }) => {
      expect(instruction(name, 'USER')).toBe(nonroot)
      expect(instruction(name, 'ENTRYPOINT')).toBe(`["${nodePath}", "${programPath(name)}"]`)
      const sources = sourcesOf({ bundle, companions })
      expect(instruction(name, 'COPY')).toBe(`--chmod=555 ${sources.join(' ')} ${programFolder}/`)
      expect(instruction(name, 'EXPOSE') ?? '').toBe(ports.join(' '))
      const copied = page === undefined ? sources : [...sources, page]
      expect(dockerignore(name)).toBe(`*\n${copied.map((path) => `!${path}\n`).join('')}`)
      const folder = readFileSync(join(root, 'images', name, 'Dockerfile'), 'utf8').match(/^COPY .*dashboard-page$/m)
      expect(folder?.[0]).toBe(page && `COPY --chmod=555 ${page} ${programFolder}/dashboard-page`)
    },
  )
})
