import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'

import { fakeContext, typedInput } from '../../test/fake-context.js'
import { runCli } from '../run-cli.js'
import type { BlastRadius } from '../diff/blast-radius.js'

const mesh = `apiVersion: config.openservicemesh.io/v1alpha2
kind: MeshConfig
metadata: { name: osm-mesh-config, namespace: osm-system }
spec: { traffic: { enablePermissiveTrafficPolicyMode: false } }
---
apiVersion: v1
kind: ServiceAccount
metadata: { name: buyer, namespace: shop }
---
apiVersion: v1
kind: ServiceAccount
metadata: { name: store, namespace: shop }
---
apiVersion: v1
kind: Service
metadata: { name: store, namespace: shop }
spec: { selector: { app: store }, ports: [{ port: 80, targetPort: 8080 }] }
---
apiVersion: v1
kind: Service
metadata: { name: store-v2, namespace: shop }
spec: { selector: { app: store, version: v2 }, ports: [{ port: 80, targetPort: 8080 }] }
---
apiVersion: standalone.openservicemesh.io/v1alpha1
kind: Workload
metadata: { name: store-1, namespace: shop, labels: { app: store } }
spec: { serviceAccountName: store, command: [store], ports: [{ port: 8080 }] }
---
apiVersion: standalone.openservicemesh.io/v1alpha1
kind: Workload
metadata: { name: store-2, namespace: shop, labels: { app: store, version: v2 } }
spec: { serviceAccountName: store, command: [store], ports: [{ port: 8080 }] }
---
apiVersion: standalone.openservicemesh.io/v1alpha1
kind: Workload
metadata: { name: buyer-1, namespace: shop }
spec: { serviceAccountName: buyer, command: [buyer] }
---
apiVersion: standalone.openservicemesh.io/v1alpha1
kind: Workload
metadata: { name: other, namespace: bank }
spec: { serviceAccountName: other, command: [other] }
---
apiVersion: specs.smi-spec.io/v1alpha4
kind: HTTPRouteGroup
metadata: { name: reading, namespace: shop }
spec: { matches: [{ name: books, pathRegex: /books, methods: [GET] }] }
`
const target = `apiVersion: access.smi-spec.io/v1alpha3
kind: TrafficTarget
metadata: { name: store, namespace: shop }
spec:
  destination: { kind: ServiceAccount, name: store, namespace: shop }
  sources: [{ kind: ServiceAccount, name: buyer, namespace: shop }]
  rules: [{ kind: HTTPRouteGroup, name: reading, matches: [books] }]
`
const split = `apiVersion: split.smi-spec.io/v1alpha2
kind: TrafficSplit
metadata: { name: store, namespace: shop }
spec: { service: store, backends: [{ service: store-v2, weight: 100 }] }
`

describe('osm diff', () => {
  let cwd: string
  beforeAll(() => {
    cwd = mkdtempSync(join(tmpdir(), 'osm-diff-'))
    for (const [name, text] of Object.entries({ target, split })) writeFileSync(join(cwd, `${name}.yaml`), text)
    for (const [name, text] of Object.entries({ closed: mesh, open: `${mesh}---\n${target}` })) {
      mkdirSync(join(cwd, name))
      writeFileSync(join(cwd, name, 'mesh.yaml'), text)
    }
  })
  afterAll(() => rmSync(cwd, { recursive: true, force: true }))

  async function diff(...args: readonly string[]): Promise<{ code: number; out: string; err: string }> {
    const { context, stdout, stderr } = fakeContext({ cwd, stdin: () => typedInput([target]) })
    const code = await runCli(['diff', ...args], context)
    return { code, out: stdout.text, err: stderr.text }
  }

  async function radius(...args: readonly string[]): Promise<BlastRadius> {
    return JSON.parse((await diff(...args, '-o', 'json')).out) as BlastRadius
  }

  it('shows who gains access, by which object, where calls go, and which proxies are reached', async () => {
    const { access, routes, proxies, findings } = await radius('--folder', 'closed', '-f', 'target.yaml')
    const call = { caller: 'shop/buyer', protocol: 'http', request: 'GET /books' }
    expect(access.lost).toEqual([])
    expect(access.gained).toEqual(
      ['shop/store-v2:80', 'shop/store:80'].map((destination) => ({
        ...call,
        destination,
        allowedBy: expect.arrayContaining([expect.stringMatching(/^TrafficTarget shop\/store/)]) as unknown,
      })),
    )
    expect(routes.map(({ caller, destination, before }) => [caller, destination, before])).toEqual([
      ['shop/buyer', 'shop/store-v2:80', undefined],
      ['shop/buyer', 'shop/store:80', undefined],
    ])
    expect(proxies).toEqual({ total: 4, changed: ['shop/buyer-1', 'shop/store-1', 'shop/store-2'] })
    expect(findings.new).toEqual([])
  })

  it('shows the same of a change that is given by standard input', async () => {
    const ofFile = await radius('--folder', 'closed', '-f', 'target.yaml')
    expect(await radius('--folder', 'closed', '-f', '-')).toEqual(ofFile)
  })

  it('shows who loses access when an object is deleted', async () => {
    const { access } = await radius('--folder', 'open', '--delete', 'TrafficTarget/shop/store')
    expect(access.gained).toEqual([])
    expect(access.lost.map(({ caller, destination }) => [caller, destination])).toEqual([
      ['shop/buyer', 'shop/store-v2:80'],
      ['shop/buyer', 'shop/store:80'],
    ])
    const { out } = await diff('--folder', 'open', '--delete', 'TrafficTarget/shop/store')
    expect(out).toMatch(/- +shop\/buyer +shop\/store:80 +GET \/books +denied/)
  })

  it('shows the shares of a split before and after', async () => {
    const { access, routes } = await radius('--folder', 'open', '-f', 'split.yaml')
    expect(access).toEqual({ gained: [], lost: [] })
    expect(routes).toContainEqual(
      expect.objectContaining({
        caller: 'shop/buyer',
        destination: 'shop/store:80',
        before: expect.stringContaining('shop/store:8080 100 %') as unknown,
        after: expect.stringContaining('shop/store-v2:8080 100 %') as unknown,
      }),
    )
  })

  it('replaces an object of the mesh by that of the file, and finds nothing in one that is the same', async () => {
    const { code, out } = await diff('--folder', 'open', '-f', 'target.yaml', '--exit-code')
    expect([code, out]).toEqual([0, 'The change has no effect.\n'])
    expect(await diff('--folder', 'closed', '-f', 'target.yaml', '--exit-code')).toMatchObject({ code: 1 })
  })

  it('ends with 1 if the change brings an error, and names the place', async () => {
    writeFileSync(join(cwd, 'bad.yaml'), split.replace('store-v2', 'nowhere'))
    const { code, out } = await diff('--folder', 'open', '-f', 'bad.yaml')
    expect(code).toBe(1)
    expect(out).toContain('NEW FINDINGS')
    expect(out).toMatch(/bad\.yaml:\d+:\d+: error OSM_SPEC_SPLIT_SERVICE/)
  })

  it('refuses a change of nothing, a missing file, and an object that does not exist', async () => {
    expect(await diff('--folder', 'open')).toMatchObject({
      code: 2,
      err: expect.stringContaining('nothing would change') as unknown,
    })
    expect(await diff('--folder', 'open', '-f', 'no.yaml')).toMatchObject({
      code: 1,
      err: expect.stringContaining('no.yaml cannot be read') as unknown,
    })
    expect(await diff('--folder', 'open', '--delete', 'TrafficTarget/shop/none')).toMatchObject({ code: 2 })
    expect(await diff('--folder', 'open', '--delete', 'Nonsense')).toMatchObject({ code: 2 })
  })
})
