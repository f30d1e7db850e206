/**
 * Pushes images to an OCI registry, and reads them back, by the distribution API: three requests that do not justify a client to install.
 */
import { createHash } from 'node:crypto'
import { untar } from './untar.mjs'

const timeoutMilliseconds = 120_000

/** @typedef {{ readonly digest: string, readonly mediaType: string }} Descriptor */
/**
 * A manifest, which has a config and layers, or an index, which has manifests.
 * @typedef {{ readonly config?: Descriptor, readonly layers?: readonly Descriptor[], readonly manifests?: readonly Descriptor[] }} Content
 */

/**
 * @param {string} base URL of the registry, without a slash at its end
 * @param {Buffer} archive of one image, as `npm run images` writes it
 * @returns {Promise<void>}
 */
export async function pushArchive(base, archive) {
  const files = new Map(untar(archive).map(({ path, content }) => [path, Buffer.from(content)]))
  /** @type {{ manifests: readonly { digest: string, mediaType: string, annotations: Record<string, string> }[] }} */
  const index = JSON.parse(String(files.get('index.json')))
  const [entry] = index.manifests
  if (entry === undefined) throw new Error('the archive has no image')
  const name = entry.annotations['io.containerd.image.name'] ?? ''
  const { repository, tag } = splitName(name)
  /** @type {Content} */
  const content = JSON.parse(String(blob(files, entry.digest)))
  for (const part of content.manifests ?? []) await pushManifest(base, repository, part.digest, part, files)
  await pushManifest(base, repository, tag, entry, files)
}

/**
 * @param {string} base
 * @param {string} repository
 * @param {string} name tag or digest
 * @param {{ readonly digest: string, readonly mediaType: string }} entry
 * @param {ReadonlyMap<string, Buffer>} files
 */
async function pushManifest(base, repository, name, { digest: own, mediaType }, files) {
  const manifest = blob(files, own)
  /** @type {Content} */
  const { config, layers = [] } = JSON.parse(String(manifest))
  for (const { digest } of config === undefined ? [] : [config, ...layers]) {
    const found = await ask(`${base}/v2/${repository}/blobs/${digest}`, { method: 'HEAD' }, [200, 404])
    if (found.status === 200) continue
    const started = await ask(`${base}/v2/${repository}/blobs/uploads/`, { method: 'POST' }, [202])
    const location = new URL(started.headers.get('location') ?? '', base)
    location.searchParams.set('digest', digest)
    const headers = { 'content-type': 'application/octet-stream' }
    await ask(location.href, { method: 'PUT', headers, body: new Uint8Array(blob(files, digest)) }, [201])
  }
  const headers = { 'content-type': mediaType }
  const url = `${base}/v2/${repository}/manifests/${name}`
  await ask(url, { method: 'PUT', headers, body: new Uint8Array(manifest) }, [201])
}

/**
 * @param {ReadonlyMap<string, Buffer>} files
 * @param {string} digest
 */
function blob(files, digest) {
  const found = files.get(`blobs/${digest.replace(':', '/')}`)
  if (found === undefined) throw new Error(`the archive has no blob ${digest}`)
  return found
}

/**
 * Reads an image with all of its blobs, for each of its architectures, and checks each against its digest.
 * @param {string} base
 * @param {string} reference `registry/repository@digest`
 * @returns {Promise<number>} bytes of its blobs
 */
export async function pullImage(base, reference) {
  const [name = '', digest = ''] = reference.split('@')
  const repository = name.slice(name.indexOf('/') + 1)
  const accept = ['index', 'manifest'].map((kind) => `application/vnd.oci.image.${kind}.v1+json`).join(', ')
  const manifest = await read(`${base}/v2/${repository}/manifests/${digest}`, digest, { accept })
  /** @type {Content} */
  const { config, layers = [], manifests = [] } = JSON.parse(String(manifest))
  let size = 0
  for (const part of manifests) size += await pullImage(base, `${name}@${part.digest}`)
  for (const blob of config === undefined ? [] : [config, ...layers])
    size += (await read(`${base}/v2/${repository}/blobs/${blob.digest}`, blob.digest)).length
  return size
}

/**
 * @param {string} base
 * @param {string} repository
 * @param {string} tag
 * @returns {Promise<string>} the digest that the tag stands for
 */
export async function digestOfTag(base, repository, tag) {
  const headers = { accept: 'application/vnd.oci.image.manifest.v1+json' }
  const answer = await ask(`${base}/v2/${repository}/manifests/${tag}`, { method: 'HEAD', headers }, [200])
  return answer.headers.get('docker-content-digest') ?? ''
}

/**
 * @param {string} url
 * @param {string} digest
 * @param {Record<string, string>} [headers]
 */
async function read(url, digest, headers = {}) {
  const bytes = Buffer.from(await (await ask(url, { headers }, [200])).arrayBuffer())
  const found = `sha256:${createHash('sha256').update(bytes).digest('hex')}`
  if (found !== digest) throw new Error(`${url}: expected ${digest}, got ${found}`)
  return bytes
}

/**
 * @param {string} url
 * @param {RequestInit} options
 * @param {readonly number[]} expected
 */
async function ask(url, options, expected) {
  const answer = await fetch(url, { ...options, signal: AbortSignal.timeout(timeoutMilliseconds) })
  if (expected.includes(answer.status)) return answer
  throw new Error(
    `${options.method ?? 'GET'} ${url}: expected ${expected.join(' or ')}, got ${answer.status} ${await answer.text()}`,
  )
}

/** @param {string} name */
function splitName(name) {
  const path = name.slice(name.indexOf('/') + 1)
  const colon = path.lastIndexOf(':')
  return { repository: path.slice(0, colon), tag: path.slice(colon + 1) }
}
