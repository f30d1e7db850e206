import { createHash } from 'node:crypto'
import { keptGzip } from './kept-gzip.mjs'
import { writeTar } from './tar.mjs'

/** @typedef {import('./tar.mjs').TarEntry} TarEntry */

/**
 * @typedef {object} Layer
 * @property {string} createdBy for the history
 * @property {string} diffId digest of the archive before compression
 * @property {Blob} blob
 */
/**
 * @typedef {object} Blob
 * @property {string} mediaType
 * @property {string} digest
 * @property {Buffer} bytes
 */
/**
 * @typedef {object} ImageDefinition
 * @property {string} name full, such as `registry/name:tag`
 * @property {string} architecture
 * @property {Readonly<Record<string, unknown>>} config of containers: user, entry point, environment, labels
 * @property {readonly Layer[]} layers
 * @property {string} [created] an RFC 3339 time; the first second of 1970 when left out
 */
/**
 * @typedef {object} Image
 * @property {string} name
 * @property {string} digest of the manifest: what a registry knows the image by
 * @property {Buffer} archive
 * @property {string} architecture
 * @property {Blob} config
 * @property {Blob} manifest
 * @property {readonly Blob[]} layers
 * @property {number} size of its blobs, as they travel
 */

/** Nothing in an image may depend on when it was made. */
const noTime = '1970-01-01T00:00:00Z'

/**
 * @param {string} createdBy
 * @param {readonly TarEntry[]} entries
 * @returns {Layer}
 */
export function makeLayer(createdBy, entries) {
  const archive = writeTar(entries)
  return {
    createdBy,
    diffId: digestOf(archive),
    blob: makeBlob('application/vnd.oci.image.layer.v1.tar+gzip', keptGzip(archive)),
  }
}

/**
 * Puts an image into one archive that is an OCI layout and a Docker archive at the same time, so that containerd, Docker, Podman
 * and the tools that push to registries take it.
 * @param {ImageDefinition} definition
 * @returns {Image}
 */
export function makeImage({ name, architecture, config, layers, created = noTime }) {
  const configBlob = jsonBlob('application/vnd.oci.image.config.v1+json', {
    architecture,
    config,
    created,
    history: layers.map(({ createdBy }) => ({ created, created_by: createdBy })),
    os: 'linux',
    rootfs: { type: 'layers', diff_ids: layers.map(({ diffId }) => diffId) },
  })
  const manifest = jsonBlob('application/vnd.oci.image.manifest.v1+json', {
    schemaVersion: 2,
    mediaType: 'application/vnd.oci.image.manifest.v1+json',
    config: descriptor(configBlob),
    layers: layers.map(({ blob }) => descriptor(blob)),
  })
  const layerBlobs = layers.map(({ blob }) => blob)
  const parts = { config: configBlob, manifest, layers: layerBlobs }
  const archive = archiveOf(name, { ...descriptor(manifest), platform: { architecture, os: 'linux' } }, [parts])
  const size = [configBlob, manifest, ...layerBlobs].reduce((sum, { bytes }) => sum + bytes.length, 0)
  return { name, digest: manifest.digest, archive, architecture, size, ...parts }
}

/**
 * One image for several architectures: a container runtime takes the part of its own.
 * @param {readonly [Image, ...Image[]]} images of the same name; the Docker archive has the first
 * @returns {Pick<Image, 'name' | 'digest' | 'archive' | 'size'>}
 */
export function joinImages(images) {
  const [{ name }] = images
  const index = jsonBlob('application/vnd.oci.image.index.v1+json', {
    schemaVersion: 2,
    mediaType: 'application/vnd.oci.image.index.v1+json',
    manifests: images.map(({ manifest, architecture }) => ({
      ...descriptor(manifest),
      platform: { architecture, os: 'linux' },
    })),
  })
  const size = images.reduce((sum, image) => sum + image.size, index.bytes.length)
  return { name, digest: index.digest, archive: archiveOf(name, descriptor(index), images, [index]), size }
}

/**
 * @param {string} name
 * @param {object} entry descriptor of what the name stands for
 * @param {readonly [Pick<Image, 'config' | 'manifest' | 'layers'>, ...Pick<Image, 'config' | 'manifest' | 'layers'>[]]} images
 * @param {readonly Blob[]} more
 */
function archiveOf(name, entry, images, more = []) {
  const index = {
    schemaVersion: 2,
    mediaType: 'application/vnd.oci.image.index.v1+json',
    manifests: [
      {
        ...entry,
        annotations: {
          'io.containerd.image.name': name,
          'org.opencontainers.image.ref.name': name.slice(name.lastIndexOf(':') + 1),
        },
      },
    ],
  }
  const [{ config, layers }] = images
  const dockerManifest = [{ Config: blobPath(config), RepoTags: [name], Layers: layers.map(blobPath) }]
  const blobs = images.flatMap((image) => [image.config, image.manifest, ...image.layers])
  const unique = new Map([...blobs, ...more].map((blob) => [blob.digest, blob]))
  return writeTar([
    file('oci-layout', JSON.stringify({ imageLayoutVersion: '1.0.0' })),
    file('index.json', JSON.stringify(index)),
    file('manifest.json', JSON.stringify(dockerManifest)),
    ...[...unique.values()].map((blob) => file(blobPath(blob), blob.bytes)),
  ])
}

/**
 * @param {string} path
 * @param {string | Uint8Array} content
 * @param {number} [mode]
 * @returns {TarEntry}
 */
export function file(path, content, mode = 0o644) {
  return { path, type: 'file', mode, content: typeof content === 'string' ? Buffer.from(content) : content }
}

/**
 * @param {string} mediaType
 * @param {unknown} value
 */
function jsonBlob(mediaType, value) {
  return makeBlob(mediaType, Buffer.from(JSON.stringify(value)))
}

/**
 * @param {string} mediaType
 * @param {Buffer} bytes
 * @returns {Blob}
 */
function makeBlob(mediaType, bytes) {
  return { mediaType, digest: digestOf(bytes), bytes }
}

/** @param {Blob} blob */
function descriptor({ mediaType, digest, bytes }) {
  return { mediaType, digest, size: bytes.length }
}

/** @param {Blob} blob */
function blobPath({ digest }) {
  return `blobs/${digest.replace(':', '/')}`
}

/** @param {Uint8Array} bytes */
function digestOf(bytes) {
  return `sha256:${createHash('sha256').update(bytes).digest('hex')}`
}
