import { afterAll, beforeAll, describe, expect } from '@jest/globals'
import { appPod } from '../support/app-pod.js'
import { denied, works } from '../support/expectations.js'
import { clusterTest } from '../support/failure-report.js'
import { underLoad } from '../support/load.js'
import { Mesh } from '../support/mesh.js'
import { SharedCluster } from '../support/shared-cluster.js'
import { anyHttp, trafficTarget } from '../support/smi.js'
import { type RunningPod, sidecarOf, type TestNamespace } from '../support/test-namespace.js'
import { tlsSecret } from '../support/tls-secret.js'
import { deployment, server } from '../support/workloads.js'
import { waitUntil } from '../wait-until.js'

const setUpTimeoutMs = 540_000
const testTimeoutMs = 400_000
const limitMs = 120_000
const outageMs = 60_000
/** What the API server says while no one answers its webhook. */
const noInjector = /failed calling webhook "osm-inject\.k8s\.io": .*osm-injector/
const url = 'http://server.plane-shop:8080/'

let cluster: SharedCluster
let mesh: Mesh
let shop: TestNamespace
let outside: TestNamespace

const test = (name: string, run: () => Promise<void>): void => clusterTest(name, () => cluster, run, testTimeoutMs)
const signal = new AbortController().signal

const until = <T>(what: string, ask: () => Promise<T | undefined>): Promise<T> =>
  waitUntil(what, ask, { timeoutMs: limitMs, signal })
const rollout = async (deploymentName: string): Promise<void> => {
  const args = ['rollout', 'status', `deploy/${deploymentName}`, '-n', mesh.namespace, '--timeout=240s']
  await cluster.kubectl.run(args, { timeoutMs: testTimeoutMs })
}
const planePods = async (app: string): Promise<readonly RunningPod[]> => {
  const args = ['pods', '-n', mesh.namespace, '-l', `app=${app}`]
  return (await cluster.kubectl.get<{ readonly items: readonly RunningPod[] }>(args)).items
}

beforeAll(async () => {
  cluster = SharedCluster.open()
  const values = {
    enablePermissiveTrafficPolicy: true,
    enableReconciler: true,
    // Proxies hear of pods that end from the other one while one is killed.
    osmController: { replicaCount: 2 },
  }
  mesh = await Mesh.install(cluster, { name: 'plane', values })
  ;[shop, outside] = await Promise.all([
    mesh.createNamespace('plane-shop'),
    mesh.createOutsideNamespace('plane-outside'),
  ])
  const { image } = shop
  await Promise.all([
    shop.run(
      deployment({ name: 'client', namespace: shop.name, image }),
      server({ name: 'server', namespace: shop.name, image, ports: { 8080: 'http' }, replicas: 3, linger: 5 }),
    ),
    outside.run(deployment({ name: 'stranger', namespace: outside.name, image })),
  ])
}, setUpTimeoutMs)

afterAll(async () => {
  await mesh.uninstall()
}, setUpTimeoutMs)

describe('controller_restart: proxies go on by what they have', () => {
  test('no request is lost while the controller restarts', async () => {
    const client = shop.caller('deploy/client')
    await works(client, url)
    const { calls, lost } = await underLoad(client, url, async () => {
      await cluster.kubectl.run(['rollout', 'restart', 'deploy/osm-controller', '-n', mesh.namespace])
      await rollout('osm-controller')
    })
    expect(lost).toEqual([])
    expect(calls).toBeGreaterThan(100)
  })

  test('nor while controller and injector are killed again and again, and the pods they look after are replaced', async () => {
    const client = shop.caller('deploy/client')
    await works(client, url)
    const before = (await shop.pods('server')).map(({ metadata }) => metadata.name)
    const { lost } = await underLoad(client, url, async () => {
      await cluster.kubectl.run(['rollout', 'restart', 'deploy/server', '-n', shop.name])
      for (let round = 0; round < 3; round += 1) {
        for (const app of ['osm-controller', 'osm-injector']) {
          const [victim] = await planePods(app)
          const kill = ['delete', 'pod', victim!.metadata.name, '-n', mesh.namespace, '--grace-period=0', '--force']
          await cluster.kubectl.run(kill, { timeoutMs: testTimeoutMs })
        }
        await rollout('osm-injector')
        await rollout('osm-controller')
      }
      await shop.rollout('Deployment', 'server')
    })
    expect(lost).toEqual([])
    const after = (await shop.pods('server')).filter(({ metadata }) => !before.includes(metadata.name))
    expect(after.map((pod) => sidecarOf(pod)?.name)).toEqual(['sidecar', 'sidecar', 'sidecar'])
  })
})

describe('debug_server: MeshConfig switches the debug server of the controller', () => {
  test('on and off, twice, while it runs', async () => {
    const stranger = outside.caller('deploy/stranger')
    const [controller] = await planePods('osm-controller')
    const index = `http://${controller!.status.podIP}:9092/debug`
    for (const isOn of [true, false, true, false]) {
      await mesh.patchMeshConfig({ observability: { enableDebugServer: isOn } })
      await (isOn ? works : denied)(stranger, index)
    }
  })
})

describe('ignore_namespace: a namespace that is to be ignored', () => {
  test('gets no sidecars, although it is enrolled', async () => {
    const ignored = await mesh.createNamespace('plane-ignored')
    await expect(mesh.osm('namespace', 'ignore', ignored.name)).resolves.toMatchObject({ code: 0 })
    await ignored.run(deployment({ name: 'plain', namespace: ignored.name, image: ignored.image }))
    const [pod] = await ignored.pods('plain')
    expect(pod!.spec.containers.map(({ name }) => name)).toEqual(['app'])
    expect(pod!.spec.initContainers).toBeUndefined()
  })
})

describe('proxy_resource_limits: resources of sidecars', () => {
  const resources = { limits: { cpu: '500m', memory: '256Mi' }, requests: { cpu: '10m', memory: '64Mi' } }
  const ofNewPod = async (name: string): Promise<unknown> => {
    await shop.run(deployment({ name, namespace: shop.name, image: shop.image }))
    const [pod] = await shop.pods(name)
    return sidecarOf(pod!)?.resources
  }

  test('are none by default, and those of MeshConfig in pods that come later', async () => {
    await expect(ofNewPod('unlimited')).resolves.toEqual({})
    await mesh.patchMeshConfig({ sidecar: { resources } })
    await expect(ofNewPod('limited')).resolves.toEqual(resources)
    await mesh.patchMeshConfig({ sidecar: { resources: null } })
  })
})

describe('garbage_collector: bootstrap Secrets', () => {
  interface Secret {
    readonly metadata: {
      readonly name: string
      readonly ownerReferences?: readonly { readonly kind: string; readonly uid: string }[]
    }
  }
  const bootstrapSecrets = async (namespace: TestNamespace): Promise<readonly Secret[]> => {
    const { items } = await cluster.kubectl.get<{ readonly items: readonly Secret[] }>([
      'secrets',
      '-n',
      namespace.name,
    ])
    return items.filter(({ metadata }) => metadata.name.startsWith('sidecar-bootstrap-config-'))
  }

  test('belong to their pods, and go with them', async () => {
    const short = await mesh.createNamespace('plane-short')
    await short.run(deployment({ name: 'lived', namespace: short.name, image: short.image, replicas: 2 }))
    const pods = (await short.pods('lived')).map(({ metadata }) => metadata.uid)
    const owners = await until('owners of both Secrets', async () => {
      const found = (await bootstrapSecrets(short)).flatMap(({ metadata }) => metadata.ownerReferences ?? [])
      return found.length === 2 ? found : undefined
    })
    expect(owners.map(({ kind }) => kind)).toEqual(['Pod', 'Pod'])
    expect(owners.map(({ uid }) => uid).sort()).toEqual([...pods].sort())
    await cluster.kubectl.run(['scale', 'deploy/lived', '-n', short.name, '--replicas=0'])
    await until('the end of both Secrets', async () =>
      (await bootstrapSecrets(short)).length === 0 ? true : undefined,
    )
  })
})

describe('health_probe: probes of a kubelet reach workloads behind sidecars', () => {
  const port = 8080
  const quick = { periodSeconds: 1, failureThreshold: 60 }
  const probed = (name: string, probe: object): Readonly<Record<string, unknown>> => ({
    readinessProbe: { ...probe, ...quick },
    startupProbe: { ...probe, ...quick },
    livenessProbe: { ...probe, periodSeconds: 5 },
    env: [{ name: 'NAME', value: name }],
  })

  test('by HTTP, by HTTPS and by TCP, for readiness, liveness and start', async () => {
    await shop.apply(tlsSecret(shop.name, 'probed', 'probed'))
    const run = (name: string, app: string, probe: object): Promise<void> =>
      shop.run(
        deployment({
          name,
          namespace: shop.name,
          image: shop.image,
          ports: { [port]: app },
          ...(app === 'https' && { certificate: 'probed' }),
          container: probed(name, probe),
        }),
      )
    // A Deployment is rolled out once its pods are ready.
    await Promise.all([
      run('by-http', 'http', { httpGet: { path: '/', port } }),
      run('by-https', 'https', { httpGet: { path: '/', port, scheme: 'HTTPS' } }),
      run('by-tcp', 'tcp', { tcpSocket: { port } }),
    ])
  })

  test('and a port that no one serves never makes a pod ready', async () => {
    const nobody = { readinessProbe: { tcpSocket: { port: 8081 }, periodSeconds: 1 } }
    const { image, name: namespace } = shop
    await shop.apply(deployment({ name: 'wrong', namespace, image, ports: { [port]: 'http' }, container: nobody }))
    // The kubelet has asked more than once by then, and the sidecar itself is ready.
    await until('a failed probe of the workload', async () => {
      const events = ['events', '-n', namespace, '--field-selector', 'reason=Unhealthy']
      const { items } = await cluster.kubectl.get<{ readonly items: readonly ProbeEvent[] }>(events)
      const failed = items.find(
        ({ involvedObject: { name, fieldPath }, count = 0 }) =>
          name.startsWith('wrong-') && fieldPath === 'spec.containers{app}' && count >= 3,
      )
      return failed
    })
    const [pod] = await shop.pods('wrong')
    expect(pod!.status.conditions?.find(({ type }) => type === 'Ready')?.status).toBe('False')
    await shop.remove({ apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name: 'wrong', namespace } })
  })
})

interface ProbeEvent {
  readonly involvedObject: { readonly name: string; readonly fieldPath?: string }
  readonly count?: number
}

describe('reconciler: what the mesh needs in the cluster', () => {
  interface Webhooks {
    readonly metadata: { readonly name: string; readonly uid: string }
    readonly webhooks: readonly { readonly rules: unknown; readonly failurePolicy: string }[]
  }
  const configurations = async (kind: string): Promise<readonly Webhooks[]> => {
    const args = [kind, '-l', `app.kubernetes.io/instance=${mesh.name}`]
    return (await cluster.kubectl.get<{ readonly items: readonly Webhooks[] }>(args)).items
  }

  test('webhook configurations return as they were, altered or deleted', async () => {
    for (const kind of ['mutatingwebhookconfigurations', 'validatingwebhookconfigurations']) {
      const [before] = await configurations(kind)
      const { name, uid } = before!.metadata
      const patch = JSON.stringify([{ op: 'replace', path: '/webhooks/0/rules', value: [] }])
      await cluster.kubectl.run(['patch', kind, name, '--type=json', '-p', patch])
      const isRestored = ({ webhooks }: Webhooks): boolean =>
        JSON.stringify(webhooks[0]?.rules) === JSON.stringify(before!.webhooks[0]?.rules)
      await until(`rules of ${kind}`, async () => (await configurations(kind)).find(isRestored))
      await cluster.kubectl.run(['delete', kind, name])
      const again = await until(`another ${kind}`, async () =>
        (await configurations(kind)).find((found) => found.metadata.uid !== uid && isRestored(found)),
      )
      expect(again.metadata.name).toBe(name)
    }
  })

  test('definitions of kinds too', async () => {
    const definition = ['crd', 'meshconfigs.config.openservicemesh.io']
    interface Definition {
      readonly spec: { readonly names: { readonly shortNames?: readonly string[] } }
    }
    const shortNames = async (): Promise<readonly string[]> =>
      (await cluster.kubectl.get<Definition>(definition)).spec.names.shortNames ?? []
    const before = await shortNames()
    const patch = JSON.stringify({ spec: { names: { shortNames: ['altered'] } } })
    await cluster.kubectl.run(['patch', ...definition, '--type=merge', '-p', patch])
    await until('the previous short names', async () =>
      JSON.stringify(await shortNames()) === JSON.stringify(before) ? true : undefined,
    )
  })
})

describe('init_controller: MeshConfig after an installation', () => {
  test('has the values of the chart, and the defaults of OSM for the rest', async () => {
    const config = await cluster.kubectl.get(['meshconfig', 'osm-mesh-config', '-n', mesh.namespace])
    expect(config).toMatchObject({
      spec: {
        certificate: { serviceCertValidityDuration: '24h', certKeyBitSize: 2048 },
        featureFlags: { enableIngressBackendPolicy: true, enableEgressPolicy: true },
        observability: { osmLogLevel: 'info', tracing: { enable: false } },
        sidecar: { configResyncInterval: '90s', enablePrivilegedInitContainer: false, logLevel: 'error' },
        traffic: { enableEgress: false, enablePermissiveTrafficPolicyMode: true, outboundPortExclusionList: [] },
      },
    })
  })
})

describe('validate_smi_traffic_target: a TrafficTarget for another namespace', () => {
  const misplaced = (namespace: string): readonly object[] => [
    anyHttp(namespace),
    trafficTarget({
      namespace,
      destination: { namespace: 'elsewhere', name: 'server' },
      sources: [{ namespace, name: 'client' }],
    }),
  ]

  test('is refused in namespaces of the mesh, and nowhere else', async () => {
    await expect(shop.apply(misplaced(shop.name))).rejects.toThrow(/elsewhere/)
    await outside.apply(misplaced(outside.name))
    await outside.remove(misplaced(outside.name))
  })
})

describe('an injector that is down for a minute', () => {
  const scale = (replicas: number): Promise<string> =>
    cluster.kubectl.run(['scale', 'deploy/osm-injector', '-n', mesh.namespace, `--replicas=${replicas}`])
  /** Makes a pod in each namespace, waits until they are ready and takes them away. */
  const comeAndGo = async (name: string, namespaces: readonly string[]): Promise<void> => {
    await Promise.all(
      namespaces.map(async (namespace) => {
        await cluster.kubectl.apply(appPod({ name, namespace, image: shop.image }))
        await cluster.kubectl.run(['wait', `pod/${name}`, '-n', namespace, '--for=condition=Ready', '--timeout=60s'])
        await cluster.kubectl.run(['delete', 'pod', name, '-n', namespace, '--wait=false'])
      }),
    )
  }
  /** Why no pod came of something that makes pods. */
  const refusals = async (): Promise<readonly string[]> => {
    const events = ['events', '-n', shop.name, '--field-selector', 'reason=FailedCreate']
    const { items } = await cluster.kubectl.get<{ readonly items: readonly Refusal[] }>(events)
    return items
      .filter(({ involvedObject }) => involvedObject.name.startsWith('patient-'))
      .map(({ message }) => message)
  }

  test('keeps pods of the mesh out and all others in, and pods come with sidecars once it is back', async () => {
    const { image, name: namespace } = shop
    await scale(0)
    await until('the end of the injector', async () =>
      (await planePods('osm-injector')).length === 0 ? true : undefined,
    )
    const back = performance.now() + outageMs
    const { lost } = await underLoad(shop.caller('deploy/client'), url, async () => {
      await shop.apply(deployment({ name: 'patient', namespace, image, replicas: 2 }))
      let round = 0
      do {
        round += 1
        await comeAndGo(`unconcerned-${round}`, ['kube-system', outside.name])
        const refused = await cluster.kubectl.try(['apply', '-f', '-'], {
          input: JSON.stringify(appPod({ name: 'impatient', namespace, image })),
        })
        expect(refused).toMatchObject({ code: 1, stderr: expect.stringMatching(noInjector) })
      } while (performance.now() < back)
      expect(round).toBeGreaterThan(3)
    })
    expect(lost).toEqual([])
    // The ReplicaSet says why it has no pods.
    await expect(refusals()).resolves.toContainEqual(expect.stringMatching(noInjector))
    await expect(shop.pods('patient')).resolves.toEqual([])
    await scale(1)
    await rollout('osm-injector')
    // By itself: it has waited longer and longer, but for no longer than the injector was away.
    await shop.rollout('Deployment', 'patient')
    const pods = await shop.pods('patient')
    expect(pods.map((pod) => sidecarOf(pod)?.name)).toEqual(['sidecar', 'sidecar'])
    const caller = shop.caller('deploy/patient')
    await works(caller, url)
  })
})

interface Refusal {
  readonly involvedObject: { readonly name: string }
  readonly message: string
}
