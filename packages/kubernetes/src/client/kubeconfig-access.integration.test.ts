import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { inspect } from 'node:util'

import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'

import { FakeApiServer } from '../../test/fake-api-server.js'
import { connectKubernetes } from '../connect.js'
import { KubernetesError } from '../kubernetes-error.js'
import { resourceTypes } from '../resource-types.js'

const { signal } = new AbortController()

let folder: string
let file: string
let server: FakeApiServer

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'osm-kubeconfig-'))
  file = join(folder, 'config')
  server = await FakeApiServer.start()
  server.token = 'first'
})

afterEach(async () => {
  await server.close()
  await rm(folder, { recursive: true })
})

describe('access by a kubeconfig', () => {
  it('sends the token of the user', async () => {
    await write({ token: 'first' })
    expect(await list()).toEqual([])
  })

  it('reads the file again when its token is refused', async () => {
    await write({ token: 'first' })
    const api = await connectKubernetes({ kubeconfig: file, userAgent: 'test' })
    await api.list(resourceTypes.Pod, {}, signal)
    server.token = 'second'
    await write({ token: 'second' })
    expect((await api.list(resourceTypes.Pod, {}, signal)).items).toEqual([])
  })

  it('asks an authentication plugin, again when its token is refused', async () => {
    const plugin = join(folder, 'plugin.cjs')
    await writeFile(
      plugin,
      `console.log(JSON.stringify({ status: { token: require('fs').readFileSync(process.argv[2], 'utf8') } }))`,
    )
    const token = join(folder, 'token')
    await writeFile(token, 'first')
    await write({ exec: { apiVersion: 'client.authentication.k8s.io/v1', command: 'node', args: [plugin, token] } })
    const api = await connectKubernetes({ kubeconfig: file, userAgent: 'test' })
    await api.list(resourceTypes.Pod, {}, signal)
    server.token = 'second'
    await writeFile(token, 'second')
    expect((await api.list(resourceTypes.Pod, {}, signal)).items).toEqual([])
  })

  it('does not repeat what an authentication plugin has printed', async () => {
    await write({ exec: { command: 'node', args: ['-e', 'console.error("the-token"); process.exit(1)'] } })
    const error = await failure(list())
    expect(error.code).toBe('OSM_KUBERNETES_CREDENTIALS')
    expect(inspect(error, { depth: 20 })).not.toContain('the-token')
    expect(error.message).toContain(file)
  })

  it.each([
    ['a file that is not there', undefined, 'ENOENT'],
    ['a file that is not a kubeconfig', 'token: {the-token', 'it is not a kubeconfig'],
    ['a file without a context', '{"clusters":[],"users":[],"contexts":[]}', 'has no current context'],
  ])('refuses %s', async (_, text, expected) => {
    if (text !== undefined) await writeFile(file, text)
    const error = await failure(list())
    expect(error.code).toBe('OSM_KUBERNETES_CONFIG')
    expect(error.message).toContain(expected)
    expect(inspect(error, { depth: 20 })).not.toContain('the-token')
  })

  it('sends no token without TLS unless the file says so', async () => {
    await write({ token: 'first' }, {})
    expect((await failure(list())).message).toContain('insecure-skip-tls-verify')
    expect(server.requests).toEqual([])
  })
})

async function list(): Promise<readonly unknown[]> {
  const api = await connectKubernetes({ kubeconfig: file, userAgent: 'test' })
  return (await api.list(resourceTypes.Pod, {}, signal)).items
}

async function failure(promise: Promise<unknown>): Promise<KubernetesError> {
  const error: unknown = await promise.catch((reason: unknown) => reason)
  expect(error).toBeInstanceOf(KubernetesError)
  return error as KubernetesError
}

/** JSON is YAML. */
async function write(user: object, cluster: object = { 'insecure-skip-tls-verify': true }): Promise<void> {
  const config = {
    'current-context': 'test',
    contexts: [{ name: 'test', context: { cluster: 'test', user: 'test' } }],
    clusters: [{ name: 'test', cluster: { server: server.url, ...cluster } }],
    users: [{ name: 'test', user }],
  }
  await writeFile(file, JSON.stringify(config))
}
