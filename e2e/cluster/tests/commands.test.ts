import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'

import { askSecurely } from '../../api/support/ask-securely.js'
import { servedDashboard, type OsmProgram } from '../../api/support/osm-program.js'
import { appPod } from '../support/app-pod.js'
import { LocalPort } from '../support/local-port.js'
import { Mesh } from '../support/mesh.js'
import { SharedCluster } from '../support/shared-cluster.js'

const meshName = 'commands'
const shop = 'commands-shop'
const timeoutMs = 540_000

interface Check {
  readonly status: string
  readonly nested: readonly Check[]
}

let cluster: SharedCluster
let mesh: Mesh
let osm: OsmProgram

const account = (name: string): object => ({
  apiVersion: 'v1',
  kind: 'ServiceAccount',
  metadata: { name, namespace: shop },
})
const pod = (name: string, ports: Readonly<Record<number, string>> = {}): object => {
  const made = appPod({ name, namespace: shop, image: cluster.image('test-app'), ports }) as { readonly spec: object }
  return { ...made, spec: { ...made.spec, serviceAccountName: name } }
}

/** Commands that look into pods, on real ones: what stands between is a real kubelet, and the sidecar is a real Envoy. */
describe('osm on a real cluster', () => {
  beforeAll(async () => {
    cluster = SharedCluster.open()
    mesh = await Mesh.install(cluster, {
      name: meshName,
      values: { enableDebugServer: true, dashboard: { enable: true } },
    })
    osm = (...args) => mesh.osm(...args, '--osm-namespace', mesh.namespace)
    await mesh.createNamespace(shop)
    await cluster.kubectl.apply({
      apiVersion: 'v1',
      kind: 'List',
      items: [
        account('client'),
        account('server'),
        pod('client'),
        pod('server', { 8080: 'http' }),
        {
          apiVersion: 'v1',
          kind: 'Service',
          metadata: { name: 'server', namespace: shop },
          spec: { selector: { app: 'server' }, ports: [{ name: 'http', port: 80, targetPort: 8080 }] },
        },
        {
          apiVersion: 'specs.smi-spec.io/v1alpha4',
          kind: 'HTTPRouteGroup',
          metadata: { name: 'books', namespace: shop },
          spec: { matches: [{ name: 'all', pathRegex: '/books.*', methods: ['GET'] }] },
        },
        {
          apiVersion: 'access.smi-spec.io/v1alpha3',
          kind: 'TrafficTarget',
          metadata: { name: 'client-to-server', namespace: shop },
          spec: {
            destination: { kind: 'ServiceAccount', name: 'server', namespace: shop },
            rules: [{ kind: 'HTTPRouteGroup', name: 'books' }],
            sources: [{ kind: 'ServiceAccount', name: 'client', namespace: shop }],
          },
        },
      ],
    })
    await cluster.kubectl.run(['wait', 'pod', '--all', '-n', shop, '--for=condition=Ready', '--timeout=90s'])
  }, timeoutMs)

  afterAll(async () => {
    await mesh.uninstall()
  }, timeoutMs)

  it('finds the control plane well, by the probes of all its programs', async () => {
    const { code, stdout } = await osm('verify', 'control-plane-health', '-o', 'json')
    const { status, nested } = JSON.parse(stdout) as Check
    expect({ code, status }).toEqual({ code: 0, status: 'Success' })
    // Each program has a pod that is ready, alive, and says that it is ready.
    expect(nested.map((program) => program.nested.length)).toEqual([3, 3, 3])
  })

  it('verifies a call that policy allows, and tells one that it does not', async () => {
    const verify = async (from: string, to: string) => {
      const pods = ['--from-pod', `${shop}/${from}`, '--to-pod', `${shop}/${to}`, '--to-service', 'server']
      const { code, stdout } = await osm('verify', 'connectivity', ...pods, '-o', 'json')
      return { code, status: (JSON.parse(stdout) as Check).status }
    }
    await expect(verify('client', 'server')).resolves.toEqual({ code: 0, status: 'Success' })
    await expect(verify('server', 'client')).resolves.toEqual({ code: 1, status: 'Failure' })
  })

  it('names the TrafficTarget that decides', async () => {
    const { code, stdout } = await osm('policy', 'check-pods', `${shop}/client`, `${shop}/server`)
    expect(code).toBe(0)
    expect(stdout).toContain(`via SMI TrafficTarget [${shop}/client-to-server]`)
  })

  it('shows what each proxy has applied, and pages of a real Envoy', async () => {
    const { code, stdout } = await osm('proxy', 'status', '-n', shop, '-o', 'json')
    const { proxies } = JSON.parse(stdout) as {
      readonly proxies: readonly { readonly name: string; readonly state: string }[]
    }
    expect({ code, statuses: proxies.map(({ name, state }) => [name, state]) }).toEqual({
      code: 0,
      statuses: [
        [`${shop}/client`, 'applied'],
        [`${shop}/server`, 'applied'],
      ],
    })
    await expect(osm('proxy', 'get', 'ready', 'server', '-n', shop)).resolves.toEqual({
      code: 0,
      stdout: 'LIVE\n',
      stderr: '',
    })
    // Large, so that it comes in many pieces.
    const dump = await osm('proxy', 'get', 'config_dump', 'server', '-n', shop)
    expect(JSON.parse(dump.stdout)).toHaveProperty('configs')
    expect(dump.stdout.length).toBeGreaterThan(20_000)
  })

  it('serves the page to a browser by port-forward', async () => {
    const page = await servedDashboard({ kubeconfig: cluster.kubeconfig }, '--osm-namespace', mesh.namespace)
    try {
      await expect(fetch(new URL('/', page.url)).then(({ status }) => status)).resolves.toBe(404)
      const signal = AbortSignal.timeout(timeoutMs)
      const events = await fetch(new URL('api/events', page.url), { signal })
      let text = ''
      for await (const piece of events.body ?? []) {
        text += Buffer.from(piece).toString()
        if (text.includes('event: problems') && text.includes(`${shop}/client`)) break
      }
      expect(text).toContain(`control plane in namespace ${mesh.namespace}`)
      expect(text).toContain('client-to-server')
      expect(text).not.toContain('does not answer')
    } finally {
      await page.stop()
    }
  })

  it('serves the page in the cluster to a permitted account', async () => {
    const { kubectl } = cluster
    const inSystem = ['--namespace', mesh.namespace]
    for (const name of ['reader', 'stranger']) await kubectl.run(['create', 'serviceaccount', name, ...inSystem])
    const subject = `--serviceaccount=${mesh.namespace}:reader`
    await kubectl.run(['create', 'rolebinding', 'reader', '--role=osm-dashboard-viewer', subject, ...inSystem])
    const tokenOf = async (name: string) =>
      (await kubectl.run(['create', 'token', name, '--audience=osm-dashboard', ...inSystem])).trim()
    const webhooks = ['get', 'validatingwebhookconfiguration', `osm-validator-mesh-${meshName}`]
    const bundle = await kubectl.run([...webhooks, '-o', 'jsonpath={.webhooks[0].clientConfig.caBundle}'])
    const roots = Buffer.from(bundle, 'base64').toString('utf8')
    const port = await LocalPort.toPod(cluster, mesh.namespace, 'service/osm-dashboard', 443)
    try {
      const ask = (token?: string, until?: string) =>
        askSecurely(`${port.url.replace('http:', 'https:')}/api/events`, {
          roots,
          serverName: `osm-dashboard.${mesh.namespace}.svc`,
          signal: AbortSignal.timeout(timeoutMs),
          ...(token !== undefined && { token }),
          ...(until !== undefined && { until }),
        })
      await expect(ask()).resolves.toMatchObject({ status: 401 })
      await expect(ask(await tokenOf('stranger'))).resolves.toMatchObject({ status: 403 })
      const { status, text } = await ask(await tokenOf('reader'), 'event: problems')
      expect(status).toBe(200)
      expect(text).toContain('client-to-server')
      expect(text).not.toContain('does not answer')
    } finally {
      port.close()
    }
  })
})
