import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { spawnSync } from 'node:child_process'
import { gunzipSync } from 'node:zlib'
import { describe, expect, it } from '@jest/globals'
import { temporaryFolders } from '../testing/temporary-folder.js'
import { file, joinImages, makeImage, makeLayer } from './oci-image.mjs'

const newFolder = temporaryFolders()

const make = (architecture = 'amd64') =>
  makeImage({
    name: 'localhost/osm-ts/toy:1',
    architecture,
    config: { User: '65532:65532', Entrypoint: ['/toy'] },
    layers: [makeLayer('the base', [file('etc/passwd', 'root')]), makeLayer('the toy', [file('toy', '#!', 0o555)])],
  })

function unpack(archive: Buffer): string {
  const folder = newFolder()
  expect(spawnSync('tar', ['-xf', '-', '-C', folder], { input: archive }).status).toBe(0)
  return folder
}

const digest = (bytes: Buffer): string => `sha256:${createHash('sha256').update(bytes).digest('hex')}`

describe('makeImage', () => {
  const image = make()
  const folder = unpack(image.archive)
  const json = (path: string) => JSON.parse(readFileSync(join(folder, path), 'utf8')) as Record<string, never>
  const blob = (text: string): Buffer => {
    const bytes = readFileSync(join(folder, 'blobs', ...text.split(':')))
    expect(digest(bytes)).toBe(text)
    return bytes
  }

  it('is an OCI layout whose digests and sizes hold', () => {
    expect(json('oci-layout')).toEqual({ imageLayoutVersion: '1.0.0' })
    const [entry] = json('index.json')['manifests'] as unknown as {
      digest: string
      size: number
      annotations: object
    }[]
    expect(entry).toMatchObject({
      digest: image.digest,
      annotations: { 'io.containerd.image.name': 'localhost/osm-ts/toy:1', 'org.opencontainers.image.ref.name': '1' },
    })
    const manifest = JSON.parse(blob(image.digest).toString()) as Manifest
    for (const { digest: name, size } of [manifest.config, ...manifest.layers]) expect(blob(name).length).toBe(size)
  })

  it('lists the digests of its uncompressed layers in its configuration', () => {
    const manifest = JSON.parse(blob(image.digest).toString()) as Manifest
    const config = JSON.parse(blob(manifest.config.digest).toString()) as { rootfs: { diff_ids: string[] } }
    expect(config).toMatchObject({
      architecture: 'amd64',
      os: 'linux',
      created: '1970-01-01T00:00:00Z',
      config: { User: '65532:65532', Entrypoint: ['/toy'] },
      history: [{ created_by: 'the base' }, { created_by: 'the toy' }],
    })
    expect(config.rootfs.diff_ids).toEqual(manifest.layers.map(({ digest: name }) => digest(gunzipSync(blob(name)))))
  })

  it('is a Docker archive of the same blobs', () => {
    const manifest = JSON.parse(blob(image.digest).toString()) as Manifest
    const path = ({ digest: name }: { digest: string }) => `blobs/${name.replace(':', '/')}`
    expect(json('manifest.json')).toEqual([
      { Config: path(manifest.config), RepoTags: ['localhost/osm-ts/toy:1'], Layers: manifest.layers.map(path) },
    ])
  })

  it('gives the same bytes again', () => {
    expect(make().archive.equals(image.archive)).toBe(true)
  })
})

describe('joinImages', () => {
  it('names the manifest of each architecture, and has the blobs of all', () => {
    const images = [make(), make('arm64')] as const
    const joined = joinImages([...images])
    const folder = unpack(joined.archive)
    const read = (name: string): Buffer => readFileSync(join(folder, name))
    const blob = (name: string): Buffer => read(`blobs/${name.replace(':', '/')}`)
    const entries = JSON.parse(read('index.json').toString()) as { manifests: unknown }
    expect(entries.manifests).toMatchObject([
      { digest: joined.digest, annotations: { 'io.containerd.image.name': 'localhost/osm-ts/toy:1' } },
    ])
    const index = JSON.parse(blob(joined.digest).toString()) as { manifests: readonly { digest: string }[] }
    expect(index.manifests).toMatchObject([
      { digest: images[0].digest, platform: { architecture: 'amd64', os: 'linux' } },
      { digest: images[1].digest, platform: { architecture: 'arm64', os: 'linux' } },
    ])
    for (const { digest: name } of index.manifests) {
      const { config, layers } = JSON.parse(blob(name).toString()) as Manifest
      for (const part of [config, ...layers]) expect(digest(blob(part.digest))).toBe(part.digest)
    }
  })
})

interface Manifest {
  readonly config: { readonly digest: string; readonly size: number }
  readonly layers: readonly { readonly digest: string; readonly size: number }[]
}
