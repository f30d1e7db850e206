import { beforeAll, describe, expect, it } from '@jest/globals'
import type { Driver } from '@osm-ts/driver-api'
import { createEnvoyDriver } from '@osm-ts/driver-envoy'
import jsonPatchLibrary, { type Operation } from 'fast-json-patch'

import { annotated, namespaceOf, podOf, portsOf, requestOf, settingsOf } from '../../test/fixture.js'
import type { JsonObject } from '../json/json.js'
import { type InjectedPod, type InjectionPorts, injectPod } from './inject-pod.js'

const { applyPatch } = jsonPatchLibrary

describe('injectPod', () => {
  let ports: InjectionPorts

  beforeAll(async () => {
    ports = await portsOf()
  })

  async function injected(
    pod: JsonObject,
    settings = settingsOf(),
    namespace = namespaceOf(),
    using: InjectionPorts = ports,
  ): Promise<InjectedPod> {
    const result = await injectPod(requestOf(pod, namespace), settings, using)
    if (result.outcome !== 'injected') throw new Error(JSON.stringify(result))
    const patched = applyPatch(
      structuredClone(pod),
      structuredClone(result.operations) as Operation[],
      true,
    ).newDocument
    expect(patched).toEqual(result.pod)
    return result
  }

  const specOf = ({ pod }: InjectedPod): Record<string, JsonObject[]> =>
    pod.spec as unknown as Record<string, JsonObject[]>
  const named = (list: readonly JsonObject[] | undefined, name: string): JsonObject => {
    const item = list?.find((candidate) => candidate.name === name)
    if (item === undefined) throw new Error(`nothing is called ${name}`)
    return item
  }

  it('adds sidecar, init container, volume, label and class, and writes nothing else', async () => {
    const result = await injected(podOf())
    expect(result.operations.map(({ op, path }) => `${op} ${path}`)).toEqual([
      'add /metadata/labels',
      'add /metadata/annotations',
      'add /spec/containers/1',
      'add /spec/initContainers',
      'add /spec/volumes',
    ])
    expect(result.pod.metadata).toMatchObject({
      labels: { 'osm-proxy-uuid': result.uuid },
      annotations: { 'openservicemesh.io/sidecar-class': 'envoy' },
    })
    expect(specOf(result).volumes).toEqual([
      { name: 'sidecar-bootstrap-config-volume', secret: { secretName: `sidecar-bootstrap-config-${result.uuid}` } },
    ])
  })

  it('refuses an image of a proxy that is older than its driver declares', async () => {
    const settings = settingsOf({ sidecar: { sidecarImage: 'envoyproxy/envoy:v1.22.2' } })
    const result = await injectPod(requestOf(podOf(), namespaceOf()), settings, ports)
    expect(result).toMatchObject({
      outcome: 'refused',
      error: {
        code: 'OSM_INJECT_IMAGE',
        message: expect.stringContaining('class envoy needs version 1.37 or newer of its proxy'),
      },
    })
  })

  it('runs the sidecar with as little as it can do with', async () => {
    const sidecar = named(specOf(await injected(podOf())).containers, 'sidecar')
    expect(sidecar).toMatchObject({
      image: 'example/envoy:1',
      command: ['envoy'],
      imagePullPolicy: 'IfNotPresent',
      volumeMounts: [{ name: 'sidecar-bootstrap-config-volume', mountPath: '/etc/envoy', readOnly: true }],
      securityContext: {
        runAsUser: 1500,
        runAsNonRoot: true,
        privileged: false,
        allowPrivilegeEscalation: false,
        readOnlyRootFilesystem: true,
        capabilities: { drop: ['ALL'] },
        seccompProfile: { type: 'RuntimeDefault' },
      },
      readinessProbe: { httpGet: { port: 15904, path: '/osm-sidecar-ready' } },
    })
    expect(sidecar.args).toEqual(
      expect.arrayContaining(['--config-path', '/etc/envoy/bootstrap.yaml', '--service-cluster', 'books.shop']),
    )
    expect(sidecar.env).toContainEqual({ name: 'POD_IP', valueFrom: { fieldRef: { fieldPath: 'status.podIP' } } })
    expect(sidecar).not.toHaveProperty('resources')
    expect(sidecar).not.toHaveProperty('startupProbe')
    // Told to end together with the application, it continues for as long as that may take.
    expect(sidecar.lifecycle).toEqual({ preStop: { sleep: { seconds: 15 } } })
  })

  it('has connections redirected by the rules of the interception package', async () => {
    const result = await injected(
      annotated({
        'openservicemesh.io/outbound-ip-range-exclusion-list': 'fd00::/8, 10.0.0.0/8',
        'openservicemesh.io/inbound-port-exclusion-list': '9100',
        'openservicemesh.io/network-interface-exclusion-list': 'eth1',
      }),
      settingsOf({ traffic: { inboundPortExclusionList: [7070], outboundPortExclusionList: [6379] } }),
    )
    const init = named(specOf(result).initContainers, 'osm-init')
    expect(init).toMatchObject({
      image: 'example/init:1',
      command: ['/bin/sh'],
      securityContext: {
        runAsUser: 0,
        privileged: false,
        capabilities: { add: ['NET_ADMIN', 'NET_RAW'], drop: ['ALL'] },
      },
    })
    const script = String((init.args as string[])[1]).replaceAll('$$', '$')
    for (const part of [
      '-d 10.0.0.0/8',
      '-d fd00::/8',
      '--dports 7070,9100',
      '--dports 6379',
      '-i eth1',
      '--to-ports 15003',
    ])
      expect(script).toContain(part)
    expect(script).toContain('ip6tables-restore --noflush')
  })

  it('makes the init container privileged where MeshConfig says so', async () => {
    const result = await injected(podOf(), settingsOf({ sidecar: { enablePrivilegedInitContainer: true } }))
    expect(named(specOf(result).initContainers, 'osm-init').securityContext).toMatchObject({
      privileged: true,
      allowPrivilegeEscalation: true,
    })
  })

  it('redirects nothing with interception mode none, and leaves probes to the workload', async () => {
    const pod = podOf({ livenessProbe: { httpGet: { path: '/', port: 8080 } } })
    const result = await injected(pod, settingsOf({ traffic: { interceptionMode: 'none' } }))
    expect(specOf(result)).not.toHaveProperty('initContainers')
    expect(named(specOf(result).containers, 'app')).toEqual((pod.spec as Record<string, JsonObject[]>).containers?.[0])
  })

  it('puts a native sidecar and its redirection before the init containers of the workload', async () => {
    const pod = podOf({}, { spec: { initContainers: [{ name: 'migrate', image: 'example/migrate:1' }] } })
    const result = await injected(pod, settingsOf({}, { nativeSidecars: true }))
    const spec = specOf(result)
    expect(spec.initContainers?.map(({ name }) => name)).toEqual(['osm-init', 'sidecar', 'migrate'])
    expect(spec.containers?.map(({ name }) => name)).toEqual(['app'])
    expect(result.operations.map(({ op, path }) => `${op} ${path}`)).toEqual(
      expect.arrayContaining(['add /spec/initContainers/0', 'add /spec/initContainers/1']),
    )
    expect(named(spec.initContainers, 'sidecar')).toMatchObject({
      restartPolicy: 'Always',
      startupProbe: { httpGet: { port: 15904, path: '/osm-sidecar-ready' }, periodSeconds: 1, failureThreshold: 600 },
    })
    // The application has ended by then: what is on the way gets the shorter of the two times.
    expect(named(spec.initContainers, 'sidecar').lifecycle).toEqual({ preStop: { sleep: { seconds: 5 } } })
  })

  it('has a classic sidecar redirect connections after the init containers of the workload have run', async () => {
    const pod = podOf({}, { spec: { initContainers: [{ name: 'migrate', image: 'example/migrate:1' }] } })
    expect(specOf(await injected(pod)).initContainers?.map(({ name }) => name)).toEqual(['migrate', 'osm-init'])
  })

  it.each<[string, Parameters<typeof settingsOf>[1], number | undefined, unknown]>([
    ['a cluster whose hooks cannot wait', { sleepingHooks: false }, undefined, undefined],
    ['a pod that has less time', {}, 10, { preStop: { sleep: { seconds: 9 } } }],
    ['a pod that has no time', {}, 0, undefined],
  ])('waits before the end as long as it may: %s', async (_what, changes, grace, lifecycle) => {
    const spec = grace === undefined ? {} : { terminationGracePeriodSeconds: grace }
    const result = await injected(podOf({}, { spec }), settingsOf({}, changes))
    expect(named(specOf(result).containers, 'sidecar').lifecycle).toEqual(lifecycle)
  })

  it('runs the command by which a driver drains', async () => {
    const envoy = createEnvoyDriver()
    const driver: Driver = {
      ...envoy,
      patch: async (context) => ({
        ...(await envoy.patch(context)),
        drain: { action: { kind: 'command', command: ['drain', '$1'] }, minMs: 1, maxMs: 2 },
      }),
    }
    const result = await injected(podOf(), settingsOf({}, { drivers: [driver] }))
    expect(named(specOf(result).containers, 'sidecar').lifecycle).toEqual({
      preStop: { exec: { command: ['drain', '$$1'] } },
    })
  })

  it('puts what keeps a sidecar before its command line', async () => {
    const envoy = createEnvoyDriver()
    const driver: Driver = {
      ...envoy,
      patch: async (context) => {
        const patch = await envoy.patch(context)
        return {
          ...patch,
          sidecar: { ...patch.sidecar, initWrapper: ['/bin/sh', '-c', '"$@" & wait $!', 'init-wrapper'] },
        }
      },
    }
    const result = await injected(podOf(), settingsOf({}, { drivers: [driver] }))
    expect(named(specOf(result).containers, 'sidecar').command).toEqual([
      '/bin/sh',
      '-c',
      '"$$@" & wait $$!',
      'init-wrapper',
      'envoy',
    ])
  })

  it('merges resources: pod over namespace over MeshConfig, each amount by itself', async () => {
    const prefix = 'openservicemesh.io/sidecar-resource-'
    const namespace = namespaceOf({
      annotations: {
        'openservicemesh.io/sidecar-injection': 'yes',
        [`${prefix}limits-cpu`]: '500m',
        [`${prefix}limits-memory`]: '64Mi',
      },
    })
    const settings = settingsOf({
      sidecar: { resources: { limits: { cpu: '1', 'ephemeral-storage': '1Gi' }, requests: { cpu: '10m' } } },
    })
    const result = await injected(annotated({ [`${prefix}limits-memory`]: '128Mi' }), settings, namespace)
    expect(named(specOf(result).containers, 'sidecar').resources).toEqual({
      limits: { cpu: '500m', memory: '128Mi', 'ephemeral-storage': '1Gi' },
      requests: { cpu: '10m' },
    })
  })

  it('tells Prometheus where to scrape in namespaces that request it', async () => {
    const namespace = namespaceOf()
    const measured = {
      ...namespace,
      annotations: { ...namespace.annotations, 'openservicemesh.io/metrics': 'enabled' },
    }
    const scrape = {
      'prometheus.io/scrape': 'true',
      'prometheus.io/port': '15010',
      'prometheus.io/path': '/stats/prometheus',
    }
    expect((await injected(podOf(), settingsOf(), measured)).pod.metadata).toMatchObject({ annotations: scrape })
    expect(JSON.stringify((await injected(podOf())).pod)).not.toContain('prometheus.io')
  })

  it('chooses the class of pod, then namespace, then MeshConfig, and remembers it in the pod', async () => {
    const other = { ...createEnvoyDriver(), name: 'other' }
    const settings = settingsOf(
      {
        sidecar: {
          sidecarDrivers: [{ sidecarName: 'other', sidecarImage: 'example/other:1', initContainerImage: 'i:1' }],
        },
      },
      { drivers: [createEnvoyDriver(), other] },
    )
    const wanted = { 'openservicemesh.io/sidecar-class': 'Other' }
    const byNamespace = namespaceOf({ annotations: { ...namespaceOf().annotations, ...wanted } })
    expect((await injected(podOf(), settings)).sidecarClass).toBe('envoy')
    const result = await injected(podOf(), settings, byNamespace)
    expect(result.sidecarClass).toBe('other')
    expect(named(specOf(result).containers, 'sidecar')).toMatchObject({
      image: 'example/other:1',
      volumeMounts: [{ mountPath: '/etc/other' }],
    })
    const byPod = annotated({ 'openservicemesh.io/sidecar-class': 'envoy' })
    expect((await injected(byPod, settings, byNamespace)).sidecarClass).toBe('envoy')
  })

  it('gives Windows pods what Windows has', async () => {
    const anywhere = createEnvoyDriver()
    const driver = {
      ...anywhere,
      patch: (context: Parameters<typeof anywhere.patch>[0]) => anywhere.patch({ ...context, podOS: 'linux' }),
    }
    const pod = podOf({}, { spec: { nodeSelector: { 'kubernetes.io/os': 'windows' } } })
    const spec = specOf(await injected(pod, settingsOf({}, { drivers: [driver], nativeSidecars: true })))
    expect(spec).not.toHaveProperty('initContainers')
    expect(named(spec.containers, 'sidecar')).toMatchObject({
      image: 'example/envoy-windows:1',
      securityContext: { windowsOptions: { runAsUserName: 'EnvoyUser' } },
    })
    expect(named(spec.containers, 'sidecar').securityContext).toEqual({
      windowsOptions: { runAsUserName: 'EnvoyUser' },
    })
  })

  it('writes what the driver wants to a Secret, and the key nowhere else', async () => {
    const { secret, uuid, operations, notes } = await injected(podOf())
    expect(secret?.metadata).toMatchObject({ name: `sidecar-bootstrap-config-${uuid}`, namespace: 'shop' })
    const data = secret?.data as Record<string, string>
    const text = (name: string): string => Buffer.from(data[name] ?? '', 'base64').toString('utf8')
    expect(Object.keys(data)).toEqual([
      'bootstrap.yaml',
      'tls_certificate_sds_secret.yaml',
      'validation_context_sds_secret.yaml',
      'cacert.pem',
      'sds_cert.pem',
      'sds_key.pem',
    ])
    expect(text('sds_key.pem')).toContain('PRIVATE KEY')
    expect(text('cacert.pem')).toBe('root of the control plane\n')
    expect(JSON.parse(text('bootstrap.yaml'))).toMatchObject({
      node: { id: `${uuid}.sidecar.books.shop.cluster.local` },
    })
    expect(text('tls_certificate_sds_secret.yaml')).toContain('/etc/envoy/sds_key.pem')
    expect(JSON.stringify([operations, notes])).not.toContain('PRIVATE KEY')
  })

  it('writes the last root alone where a driver requests it', async () => {
    const envoy = createEnvoyDriver()
    const driver: Driver = {
      ...envoy,
      patch: async (context) => {
        const patch = await envoy.patch(context)
        return { ...patch, files: [...patch.files, { path: 'last.pem', content: { from: 'trustBundle.last' } }] }
      },
    }
    const { secret } = await injected(podOf(), settingsOf({}, { drivers: [driver], trustBundle: ['one\n', 'two\n'] }))
    const { 'cacert.pem': all = '', 'last.pem': last = '' } = secret?.data as Record<string, string>
    expect([all, last].map((text) => Buffer.from(text, 'base64').toString('utf8'))).toEqual(['one\ntwo\n', 'two\n'])
  })

  it('warns of lifecycle hooks that cannot come through, and leaves them alone', async () => {
    const lifecycle = {
      preStop: { httpGet: { path: '/bye', port: 'web' } },
      postStart: { exec: { command: ['true'] } },
    }
    const container = { lifecycle, ports: [{ name: 'web', containerPort: 8080 }] }
    const closed = await injected(podOf(container))
    expect(closed.warnings).toEqual([
      expect.stringMatching(/^container app: lifecycle.preStop.httpGet on port 8080 .*exec/),
    ])
    expect(named(specOf(closed).containers, 'app').lifecycle).toBe(lifecycle)
    const excluded = podOf(container, {
      metadata: { annotations: { 'openservicemesh.io/inbound-port-exclusion-list': '8080' } },
    })
    expect((await injected(excluded)).warnings).toEqual([])
  })

  it('warns of a pod that is to end and whose sidecar no one would end', async () => {
    const envoy = createEnvoyDriver()
    const features = envoy.capabilities.features.filter((feature) => feature !== 'workload-end')
    const drivers = [{ ...envoy, capabilities: { ...envoy.capabilities, features } }]
    const warningsOf = async (spec: JsonObject, changes: Parameters<typeof settingsOf>[1]) =>
      (await injected(podOf({}, { spec }), settingsOf({}, changes))).warnings
    await expect(warningsOf({ restartPolicy: 'Never' }, { drivers })).resolves.toEqual([
      expect.stringMatching(/^spec.restartPolicy Never: .* class envoy .*native sidecars/),
    ])
    await expect(warningsOf({ restartPolicy: 'Always' }, { drivers })).resolves.toEqual([])
    await expect(warningsOf({ restartPolicy: 'Never' }, { drivers, nativeSidecars: true })).resolves.toEqual([])
    await expect(warningsOf({ restartPolicy: 'Never' }, {})).resolves.toEqual([])
  })

  describe('of a pod that has been injected', () => {
    const probed = podOf({
      ports: [{ name: 'web', containerPort: 8080 }],
      livenessProbe: { httpGet: { path: '/alive', port: 'web' }, periodSeconds: 5 },
      readinessProbe: { tcpSocket: { port: 3306 } },
      startupProbe: { grpc: { port: 9000, service: 'app' } },
    })

    it.each([false, true])('changes nothing when it is shown again (native sidecars: %s)', async (nativeSidecars) => {
      const settings = settingsOf({}, { nativeSidecars })
      const first = await injected(probed, settings)
      const asked: string[] = []
      const again = await injected(first.pod, settings, namespaceOf(), {
        ...ports,
        reusableUuid: (namespace, uuid, digest) => {
          asked.push(`${namespace} ${uuid} ${digest}`)
          return Promise.resolve(first.uuid)
        },
      })
      expect(again.operations).toEqual([])
      expect(again.again).toBe(true)
      expect(asked).toEqual([
        `shop ${first.uuid} ${String(first.secret?.metadata.annotations?.['openservicemesh.io/admission'])}`,
      ])
    })

    it('keeps what others have added since, and sees to new containers', async () => {
      const settings = settingsOf({}, { nativeSidecars: true })
      const first = await injected(probed, settings)
      const pod = structuredClone(first.pod) as { spec: Record<string, Record<string, unknown>[]> }
      const sidecar = pod.spec.initContainers?.find(({ name }) => name === 'sidecar')
      Object.assign(sidecar ?? {}, { terminationMessagePath: '/dev/termination-log' })
      ;(sidecar?.volumeMounts as unknown[]).push({ name: 'token', mountPath: '/var/run/secrets' })
      pod.spec.containers?.unshift({ name: 'late', image: 'l:1', livenessProbe: { tcpSocket: { port: 7000 } } })
      const again = await injected(pod as unknown as JsonObject, settings, namespaceOf(), {
        ...ports,
        reusableUuid: () => Promise.resolve(first.uuid),
      })
      const paths = again.operations.map(({ op, path }) => `${op} ${path}`)
      expect(paths.filter((path) => path.includes('/initContainers/') && !path.includes('/ports'))).toEqual([])
      expect(named(specOf(again).containers, 'late').livenessProbe).toEqual({
        httpGet: { path: '/osm-liveness-probe', port: 15901, scheme: 'HTTP' },
      })
      expect(named(specOf(again).containers, 'app').livenessProbe).toMatchObject({
        httpGet: { path: '/osm-liveness-probe/app', port: 15901 },
      })
    })

    it('leaves the container of a user that is called sidecar what it is', async () => {
      const pod = podOf({ name: 'sidecar', ports: [{ containerPort: 15003, protocol: 'UDP' }] })
      for (const nativeSidecars of [true, false]) {
        const settings = settingsOf({}, { nativeSidecars })
        const first = await injected(pod, settings)
        const { containers = [], initContainers = [] } = specOf(first)
        expect(containers.map(({ name }) => name)).toEqual(nativeSidecars ? ['sidecar'] : ['sidecar', 'osm-sidecar'])
        expect(initContainers.map(({ name }) => name)).toEqual(
          nativeSidecars ? ['osm-init', 'osm-sidecar'] : ['osm-init'],
        )
        expect(named(containers, 'sidecar')).toEqual(named(specOf({ ...first, pod }).containers, 'sidecar'))
        const again = await injected(first.pod, settings, namespaceOf(), {
          ...ports,
          reusableUuid: () => Promise.resolve(first.uuid),
        })
        expect(again.operations).toEqual([])
        expect(specOf(await injected(first.pod, settings)).containers?.map(({ name }) => name)).toEqual(
          containers.map(({ name }) => name),
        )
      }
    })

    it('gives its sidecar another name if a container called sidecar has come since', async () => {
      const first = await injected(podOf())
      const spec = specOf(first)
      const pod = {
        ...first.pod,
        spec: { ...spec, containers: [...(spec.containers ?? []), { name: 'sidecar', image: 'u:1' }] },
      }
      const again = await injected(pod)
      expect(specOf(again).containers?.map(({ name, image }) => [name, image])).toEqual([
        ['app', 'example/app:1'],
        ['sidecar', 'u:1'],
        ['osm-sidecar', 'example/envoy:1'],
      ])
    })

    it('gives a copy its own sidecar', async () => {
      const first = await injected(probed)
      const { labels: _gone, ...metadata } = first.pod.metadata as JsonObject
      const copy = await injected({ ...first.pod, metadata: { ...metadata, name: 'books-debug' } })
      expect(copy.uuid).not.toBe(first.uuid)
      expect(copy.again).toBe(false)
      expect(specOf(copy).containers?.map(({ name }) => name)).toEqual(['app', 'sidecar'])
      expect(specOf(copy).initContainers?.map(({ name }) => name)).toEqual(['osm-init'])
      expect(specOf(copy).volumes).toEqual([
        { name: 'sidecar-bootstrap-config-volume', secret: { secretName: `sidecar-bootstrap-config-${copy.uuid}` } },
      ])
      expect(named(specOf(copy).containers, 'app')).toEqual(named(specOf(first).containers, 'app'))
      expect(copy.pod.metadata).toMatchObject({ labels: { 'osm-proxy-uuid': copy.uuid } })
      expect(copy.secret?.metadata.name).toContain(copy.uuid)
    })
  })

  it.each<[string, JsonObject, RegExp, Parameters<typeof settingsOf>[0]?]>([
    [
      'a container with the name that is kept for the sidecar',
      podOf({ name: 'osm-sidecar' }),
      /spec.containers\[0\].name osm-sidecar is what the mesh calls/,
    ],
    [
      'a container that would read the key of the sidecar',
      podOf({ name: 'sidecar', volumeMounts: [{ name: 'sidecar-bootstrap-config-volume', mountPath: '/key' }] }),
      /spec.containers\[0\].volumeMounts has sidecar-bootstrap-config-volume.*remove the mount/,
    ],
    [
      'a port of the sidecar',
      podOf({ ports: [{ containerPort: 8080 }, { containerPort: 15003 }] }),
      /container app: ports\[1\].containerPort 15003 is a port of the sidecar.*15000, 15001, 15003.*another port/,
    ],
    [
      'a port on which the sidecar answers probes, of an init container',
      podOf({}, { spec: { initContainers: [{ name: 'cache', ports: [{ containerPort: 15902, protocol: 'TCP' }] }] } }),
      /container cache: ports\[0\].containerPort 15902/,
    ],
    [
      'a container that runs as the sidecar does',
      podOf({ securityContext: { runAsUser: 1500 } }),
      /container app: securityContext.runAsUser 1500/,
    ],
    [
      'a pod that runs as the sidecar does',
      podOf({}, { spec: { securityContext: { runAsUser: 1500 } } }),
      /spec.securityContext.runAsUser 1500/,
    ],
    [
      'a class that no one allows',
      annotated({ 'openservicemesh.io/sidecar-class': 'pipy' }),
      /"pipy", which MeshConfig does not allow.*may be chosen: envoy/,
    ],
    [
      'a class without a driver',
      podOf(),
      /"pipy", for which no driver is loaded; may be chosen: none/,
      { sidecar: { sidecarClass: 'pipy' } },
    ],
    [
      'interception by eBPF',
      podOf(),
      /ebpf, for which there is no node agent/,
      { traffic: { interceptionMode: 'ebpf' } },
    ],
    [
      'no image',
      podOf(),
      /no image is known for sidecars of class envoy on linux; set spec.sidecar.sidecarImage/,
      { sidecar: { sidecarImage: '' } },
    ],
    ['no init image', podOf(), /no image is known for the init container/, { sidecar: { initContainerImage: '' } }],
    [
      'Windows with a class that does not run there',
      podOf({}, { spec: { os: { name: 'windows' } } }),
      /Envoy runs on linux/,
    ],
    ['something that is not a pod', { spec: { containers: 'none' } }, /spec.containers is not a list/],
    [
      'a volume that is taken',
      podOf({}, { spec: { initContainers: [{ name: 'osm-init' }] } }),
      /name osm-init is what the mesh calls/,
    ],
  ])('refuses %s and says what would be right', async (_what, pod, message, spec = {}) => {
    const result = await injectPod(requestOf(pod), settingsOf(spec), ports)
    expect(result).toMatchObject({ outcome: 'refused', error: { message: expect.stringMatching(message) } })
  })
})
