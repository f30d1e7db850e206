import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'

import { fakeContext } from '../../test/fake-context.js'
import { runCli } from '../run-cli.js'

const mesh = `apiVersion: v1
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
spec: { selector: { app: store }, ports: [{ port: 80, targetPort: 8080 }, { name: tcp-db, port: 3306 }] }
---
apiVersion: standalone.openservicemesh.io/v1alpha1
kind: Workload
metadata: { name: store-1, namespace: shop, labels: { app: store } }
spec: { serviceAccountName: store, command: [store], ports: [{ port: 8080 }] }
---
apiVersion: v1
kind: Service
metadata: { name: gateway, namespace: edge }
spec: { selector: { app: gateway }, ports: [{ port: 80 }] }
---
apiVersion: specs.smi-spec.io/v1alpha4
kind: HTTPRouteGroup
metadata: { name: reading, namespace: shop }
spec:
  matches:
    - { name: books, pathRegex: /books, methods: [GET], headers: [{ x-user: 'r.*' }] }
`
const egress = `apiVersion: policy.openservicemesh.io/v1alpha1
kind: Egress
metadata: { name: catalogue, namespace: shop }
spec:
  sources: [{ kind: ServiceAccount, name: buyer, namespace: shop }]
  hosts: [catalogue.example.com]
  ports: [{ number: 80, protocol: http }]
  matches: [{ apiGroup: specs.smi-spec.io/v1alpha4, kind: HTTPRouteGroup, name: reading }]
---
apiVersion: policy.openservicemesh.io/v1alpha1
kind: Egress
metadata: { name: pay, namespace: shop }
spec:
  sources: [{ kind: ServiceAccount, name: buyer, namespace: shop }]
  hosts: [pay.example.com]
  ports: [{ number: 443, protocol: https }]
---
apiVersion: policy.openservicemesh.io/v1alpha1
kind: Egress
metadata: { name: database, namespace: shop }
spec:
  sources: [{ kind: ServiceAccount, name: buyer, namespace: shop }]
  ipAddresses: [198.51.100.0/24, '2001:db8::/32']
  ports: [{ number: 3306, protocol: tcp-server-first }]
`
const ingress = `apiVersion: policy.openservicemesh.io/v1alpha1
kind: IngressBackend
metadata: { name: store, namespace: shop }
spec:
  backends:
    - { name: store, port: { number: 8080, protocol: https }, tls: { skipClientCertValidation: false, sniHosts: [store.example.com] } }
  sources:
    - { kind: Service, name: gateway, namespace: edge }
    - { kind: AuthenticatedPrincipal, name: gateway.example.com }
---
apiVersion: policy.openservicemesh.io/v1alpha1
kind: AccessControl
metadata: { name: office, namespace: shop }
spec:
  backends: [{ name: store, port: { number: 8080, protocol: http } }]
  sources: [{ kind: IPRange, name: 203.0.113.0/24 }]
`

const inside = `apiVersion: v1
kind: Service
metadata: { name: named, namespace: shop }
spec: { selector: { app: named }, ports: [{ port: 80, targetPort: web, appProtocol: http }] }
---
apiVersion: v1
kind: ServiceAccount
metadata: { name: named, namespace: shop }
---
apiVersion: standalone.openservicemesh.io/v1alpha1
kind: Workload
metadata: { name: named-1, namespace: shop, labels: { app: named } }
spec: { serviceAccountName: named, command: [named], ports: [{ name: web, port: 8081 }] }
---
apiVersion: access.smi-spec.io/v1alpha3
kind: TrafficTarget
metadata: { name: reads, namespace: shop }
spec:
  destination: { kind: ServiceAccount, name: named }
  sources: [{ kind: ServiceAccount, name: buyer }]
  rules: [{ kind: HTTPRouteGroup, name: reading, matches: [books] }]
`

const tlsRoute = `apiVersion: v1
kind: Service
metadata: { name: secured, namespace: shop }
spec: { selector: { app: named }, ports: [{ name: https-web, port: 443, targetPort: 8443 }] }
---
apiVersion: gateway.networking.k8s.io/v1
kind: TLSRoute
metadata: { name: secured, namespace: shop }
spec:
  parentRefs: [{ group: '', kind: Service, name: secured }]
  hostnames: ['*.example.com']
  rules: [{ backendRefs: [{ name: secured, port: 443 }] }]
---
apiVersion: specs.smi-spec.io/v1alpha4
kind: TCPRoute
metadata: { name: any, namespace: shop }
spec: {}
---
apiVersion: access.smi-spec.io/v1alpha3
kind: TrafficTarget
metadata: { name: connects, namespace: shop }
spec:
  destination: { kind: ServiceAccount, name: named }
  sources: [{ kind: ServiceAccount, name: buyer }]
  rules: [{ kind: TCPRoute, name: any }]
`

describe('osm policy can, inside the mesh', () => {
  const folder = mkdtempSync(join(tmpdir(), 'osm-policy-can-'))

  beforeAll(() => {
    writeFileSync(join(folder, 'mesh.yaml'), mesh)
    writeFileSync(join(folder, 'inside.yaml'), inside)
  })
  afterAll(() => {
    rmSync(folder, { recursive: true })
  })

  async function can(...args: readonly string[]): Promise<{ code: number; lines: readonly string[] }> {
    const { context, stdout } = fakeContext({ cwd: folder })
    const code = await runCli(['policy', 'can', ...args, '-f', '.'], context)
    return { code, lines: stdout.text.split('\n') }
  }

  it('follows a named target port although no workload runs', async () => {
    expect(await can('shop/buyer', 'shop/named', 'GET', '/books', '-H', 'x-user: rita')).toEqual({
      code: 0,
      lines: [
        'ALLOWED',
        '  ✓ shop/named, served by shop/named',
        '      TrafficTarget shop/reads spec.rules[0]  inside.yaml:21:11',
        '      HTTPRouteGroup shop/reading match books  mesh.yaml:29:7',
        '',
      ],
    })
  })

  it('takes the server name of a TLS connection for TLSRoutes', async () => {
    writeFileSync(join(folder, 'tls-route.yaml'), tlsRoute)
    const to = async (...args: readonly string[]) => {
      const { code, lines } = await can('shop/buyer', 'shop/secured', ...args)
      return [code, lines.slice(0, 2).join('\n')]
    }
    expect(await to('--sni', 'store.example.com')).toEqual([0, 'ALLOWED\n  ✓ shop/secured, served by shop/named'])
    const [code, words] = await to('--sni', 'example.com')
    expect([code, words]).toEqual([
      1,
      expect.stringContaining('no TLSRoute of the port has the server name example.com'),
    ])
    expect((await to())[0]).toBe(1)
    rmSync(join(folder, 'tls-route.yaml'))
  })

  it('says what a rule lacks for the request, and whom it does not name', async () => {
    expect((await can('shop/buyer', 'shop/named', 'POST', '/books')).lines).toContain(
      '      TrafficTarget shop/reads, spec.rules[0]: match books: the method must be GET, header x-user must match r.*',
    )
    expect((await can('shop/store', 'shop/named', 'GET', '/books')).lines).toContain(
      '      TrafficTarget shop/reads does not name shop/store as a source',
    )
  })
})

describe('osm policy can, over the edge of the mesh', () => {
  const folder = mkdtempSync(join(tmpdir(), 'osm-policy-can-'))
  const global = mkdtempSync(join(tmpdir(), 'osm-policy-can-'))

  beforeAll(() => {
    for (const [name, text] of Object.entries({ mesh, egress, ingress }))
      writeFileSync(join(folder, `${name}.yaml`), text)
    writeFileSync(
      join(global, 'mesh.yaml'),
      `${mesh}---\napiVersion: config.openservicemesh.io/v1alpha2\nkind: MeshConfig\nmetadata: { name: osm-mesh-config, namespace: osm-system }\nspec: { traffic: { enableEgress: true } }\n`,
    )
  })
  afterAll(() => {
    for (const each of [folder, global]) rmSync(each, { recursive: true })
  })

  async function can(...args: readonly string[]): Promise<{ code: number; stdout: string; stderr: string }> {
    return canIn(folder, ...args)
  }

  async function canIn(cwd: string, ...args: readonly string[]): ReturnType<typeof can> {
    const { context, stdout, stderr } = fakeContext({ cwd })
    const code = await runCli(['policy', 'can', ...args, '-f', '.'], context)
    return { code, stdout: stdout.text, stderr: stderr.text }
  }

  it('names what lets a request out, and where it is written down', async () => {
    const { code, stdout } = await can('shop/buyer', 'catalogue.example.com', 'GET', '/books', '-H', 'x-user: rita')
    expect(code).toBe(0)
    expect(stdout.split('\n')).toEqual([
      'ALLOWED',
      '  ✓ http to catalogue.example.com port 80',
      '      Egress shop/catalogue spec.hosts[0]  egress.yaml:6:11',
      '      HTTPRouteGroup shop/reading spec.matches[0]  mesh.yaml:29:7',
      '',
    ])
  })

  it('says of every way why it leads nowhere', async () => {
    const { code, stdout } = await can('shop/buyer', 'catalogue.example.com', 'GET', '/books')
    expect(code).toBe(1)
    expect(stdout.split('\n')).toEqual([
      'DENIED',
      '  ✗ http to catalogue.example.com port 80',
      '      Egress shop/catalogue names catalogue.example.com on port 80, and none of its matches lets the request out',
      '  ✗ tcp to catalogue.example.com port 80',
      '      nothing lets it out to catalogue.example.com on port 80, where the host selects requests',
      '',
    ])
  })

  it.each([
    ['https://pay.example.com', 0],
    ['pay.example.com:443', 0],
    ['http://pay.example.com:443', 1],
    ['https://pay.example.com:8443', 1],
    ['https://other.example.com', 1],
    ['198.51.100.7:3306', 0],
    ['tcp://198.51.100.7:3306', 0],
    ['http://198.51.100.7:3306', 1],
    ['198.51.101.7:3306', 1],
    ['[2001:db8::7]:3306', 0],
    ['2001:db9::7', 1],
  ])('answers for %s with %i', async (to, code) => {
    expect(await can('shop/buyer', to)).toMatchObject({ code, stderr: '' })
    // Nothing is open to anybody else.
    expect(await can('shop/store-1', to)).toMatchObject({ code: 1, stderr: '' })
  })

  it('knows global egress', async () => {
    for (const to of ['www.example.com', 'https://www.example.com', '198.51.100.7:22'])
      expect(await canIn(global, 'shop/buyer', to)).toMatchObject({
        code: 0,
        stdout: expect.stringContaining('global egress is on'),
      })
  })

  it('gives programs all of it', async () => {
    const { code, stdout } = await can('shop/buyer', '198.51.100.7:3306', '-o', 'json')
    expect(code).toBe(0)
    const denied = {
      way: 'http to 198.51.100.7 port 3306',
      allowed: false,
      reasons: ['nothing lets it out to 198.51.100.7 on port 3306'],
      rules: [],
    }
    expect(JSON.parse(stdout)).toMatchObject({
      allowed: true,
      reason: 'Egress shop/database lets it out to 198.51.100.7',
      ways: [
        denied,
        {
          way: 'tcp to 198.51.100.7 port 3306',
          allowed: true,
          rules: [
            {
              object: { kind: 'Egress', namespace: 'shop', name: 'database' },
              field: 'spec.ipAddresses[0]',
              origin: { kind: 'file', line: 23 },
            },
          ],
        },
      ],
    })
  })

  it.each(['store', 'store.shop', 'store.shop:80', 'http://store.shop.svc.cluster.local'])(
    'takes %s for the service of the mesh that it is',
    async (host) => {
      const { code, stdout } = await can('shop/buyer', host)
      expect(code).toBe(1)
      expect(stdout).toContain('shop/store, served by shop/store')
    },
  )

  it('answers for callers from outside by address, service and certificate', async () => {
    const certificate = ['--principal', 'gateway.example.com', '--sni', 'store.example.com']
    const fromGateway = await can('service:edge/gateway', 'shop/store', ...certificate)
    expect(fromGateway).toMatchObject({ code: 0, stderr: '' })
    expect(fromGateway.stdout.split('\n')).toEqual([
      'ALLOWED',
      '  ✓ shop/store port 80, from outside the mesh',
      '      IngressBackend shop/store spec.backends[0]  ingress.yaml:6:7',
      '',
    ])
    const fromOffice = await can('203.0.113.9', 'shop/store:80', 'GET', '/')
    expect(fromOffice).toMatchObject({ code: 0, stdout: expect.stringContaining('AccessControl shop/office') })
    for (const [caller, ...more] of [
      ['198.51.100.9'],
      ['service:edge/gateway'],
      ['service:edge/gateway', '--sni', 'store.example.com'],
      ['service:edge/gateway', '--principal', 'gateway.example.com'],
      ['principal:gateway.example.com', '--sni', 'store.example.com'],
    ])
      expect(await can(caller ?? '', 'shop/store', ...more)).toMatchObject({ code: 1, stderr: '' })
  })

  it('says what keeps a caller out', async () => {
    const { stdout } = await can('198.51.100.9', 'shop/store', 'GET', '/', '--principal', 'gateway.example.com')
    expect(stdout.split('\n')).toEqual([
      'DENIED',
      '  ✗ shop/store port 80, from outside the mesh',
      '      IngressBackend shop/store is not for callers from 198.51.100.9',
      '      AccessControl shop/office is not for callers from 198.51.100.9',
      '',
    ])
    expect((await can('203.0.113.9', 'shop/store', 'GET', '/..')).stdout).toContain('the path is refused')
    expect((await can('203.0.113.9', 'shop/none')).stdout).toContain('there is no Service shop/none')
    expect((await can('203.0.113.9', 'shop/store', '-o', 'json')).stdout).toContain('"allowed": true')
  })

  it('refuses invalid questions', async () => {
    for (const args of [
      ['shop/buyer', 'tcp://198.51.100.7'],
      ['shop/buyer', 'ftp://example.com'],
      ['shop/buyer', 'example.com:0'],
      ['shop/buyer', '[10.0.0.1]'],
      ['shop/buyer', 'a b'],
      ['shop/buyer', 'example.com', '--sni', 'x'],
      ['shop/buyer', 'shop/store', '--principal', 'x'],
      ['203.0.113.9', 'example.com'],
      ['service:gateway', 'shop/store'],
      ['principal:', 'shop/store'],
      ['203.0.113.9', 'shop/store', '--sni', 'not a name'],
    ]) {
      const { code, stderr } = await can(...args)
      expect([args, code]).toEqual([args, 2])
      expect(stderr).toContain('--help')
    }
    expect(await can('service:edge/none', 'shop/store')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('Services are edge/gateway'),
    })
    expect(await can('shop/absent', 'example.com')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('shop/buyer'),
    })
  })
})
