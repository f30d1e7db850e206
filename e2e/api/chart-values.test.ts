import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from '@jest/globals'
import { createEnvoyDriver } from '@osm-ts/driver-envoy'
import { createPipyDriver } from '@osm-ts/driver-pipy'
import { readChartValues, type ChartValue } from '../../tools/chart/values.mjs'
import { valuesFile } from './chart/cases.js'
import { containerOf, find, podOf, title } from './chart/manifest.js'
import { chartFolder, helm, render, template } from './chart/render.js'
import { withoutEffect } from './chart/value-effects.js'

interface MeshConfig {
  readonly sidecar: Readonly<Record<string, unknown>> & { readonly sidecarDrivers: readonly object[] }
  readonly traffic: Readonly<Record<string, unknown>>
  readonly observability: Readonly<Record<string, unknown>>
  readonly featureFlags: Readonly<Record<string, unknown>>
  readonly [section: string]: unknown
}

function presetOf(manifests: ReturnType<typeof render>): MeshConfig {
  const { data } = find(manifests, 'ConfigMap', 'preset-mesh-config')
  return JSON.parse(data?.['preset-mesh-config.json'] ?? '') as MeshConfig
}

const driver = (sidecarName: string, proxyServerPort?: number) => ({
  sidecarName,
  ...(proxyServerPort === undefined ? {} : { proxyServerPort }),
})

const acme = { name: 'acme', path: '/drivers/acme', integrity: `sha512-${'A'.repeat(86)}==` }

const vault = (values: object) => ({ osm: { certificateProvider: { kind: 'vault' }, vault: values } })
const fluentBit = (settings: object) => ({ osm: { enableFluentbit: true, fluentBit: settings } })
const certManager = (values: object) => ({
  osm: { certificateProvider: { kind: 'cert-manager' }, certmanager: values },
})

describe('values that say something wrong', () => {
  it.each<[string, object, string]>([
    ['an invalid log level', { controllerLogLevel: 'loud' }, "'/osm/controllerLogLevel': value must be one of"],
    ['an invalid sidecar log level', { sidecarLogLevel: 'loud' }, "'/osm/sidecarLogLevel': value must be one of"],
    [
      'text for a number',
      { osmController: { replicaCount: 'two' } },
      "'/osm/osmController/replicaCount': got string, want",
    ],
    ['text for a switch', { enableEgress: 'yes' }, "'/osm/enableEgress': got string, want boolean"],
    ['a key that does not exist', { enableEgres: true }, "additional properties 'enableEgres' not allowed"],
    ['a key that does not exist, deeper', { image: { tagg: 'x' } }, "additional properties 'tagg' not allowed"],
    ['a port out of range', { tracing: { port: 70000 } }, "'/osm/tracing/port'"],
    ['an excluded port out of range', { inboundPortExclusionList: [0] }, "'/osm/inboundPortExclusionList/0'"],
    [
      'an address without a range',
      { outboundIPRangeExclusionList: ['10.0.0.1'] },
      "'/osm/outboundIPRangeExclusionList/0'",
    ],
    ['an invalid duration', { configResyncInterval: 'often' }, "'/osm/configResyncInterval'"],
    [
      'a key that is too short',
      { certificateProvider: { certKeyBitSize: 1024 } },
      "'/osm/certificateProvider/certKeyBitSize'",
    ],
    ['a provider that does not exist', { certificateProvider: { kind: 'kms' } }, "'/osm/certificateProvider/kind'"],
    ['a mesh name that is not a label', { meshName: 'My Mesh' }, "'/osm/meshName'"],
    ['a class name that is not a label', { sidecarClass: 'Envoy!' }, "'/osm/sidecarClass'"],
    ['a driver without a name', { sidecarDrivers: [{ proxyServerPort: 1 }] }, "missing property 'sidecarName'"],
    [
      'a package without its digest',
      { driverPackages: [{ name: 'acme', path: '/drivers/acme' }] },
      "missing property 'integrity'",
    ],
    ['a package by a relative path', { driverPackages: [{ ...acme, path: 'acme' }] }, "'/osm/driverPackages/0/path'"],
    ['an endpoints provider without a name', { endpointsProviders: [{ settings: {} }] }, "missing property 'name'"],
    ['no driver at all', { sidecarDrivers: [] }, "'/osm/sidecarDrivers': minItems"],
    ['a share above one', { tracing: { sampledFraction: 2 } }, "'/osm/tracing/sampledFraction'"],
    ['an invalid digest', { image: { digest: { osmController: 'latest' } } }, "'/osm/image/digest/osmController'"],
    [
      'an invalid amount',
      { injector: { resource: { limits: { cpu: 'much' } } } },
      "'/osm/injector/resource/limits/cpu'",
    ],
    [
      'a timeout that the API server refuses',
      { injector: { webhookTimeoutSeconds: 31 } },
      "'/osm/injector/webhookTimeoutSeconds'",
    ],
  ])('%s is refused by the schema', (_name, osm, message) => {
    const { code, stderr } = template({ osm })
    expect([code, stderr]).toEqual([1, expect.stringContaining(message)])
  })

  it.each<[string, Readonly<Record<string, unknown>>, string]>([
    [
      'a class that has no entry',
      { osm: { sidecarClass: 'other' } },
      'osm.sidecarClass is "other", but osm.sidecarDrivers has no entry',
    ],
    [
      'a class twice',
      { osm: { sidecarDrivers: [driver('envoy'), driver('envoy', 1)] } },
      'two entries with sidecarName "envoy"',
    ],
    [
      'two classes on one port',
      { osm: { sidecarDrivers: [driver('envoy'), driver('other', 15128)] } },
      'envoy and other both have proxyServerPort 15128',
    ],
    [
      'a class on a port of the controller',
      { osm: { sidecarDrivers: [driver('envoy', 9093)] } },
      'which the controller needs for itself',
    ],
    [
      'a package of a built-in class',
      { osm: { driverPackages: [{ ...acme, name: 'envoy' }] } },
      'osm.driverPackages: class envoy has a driver already',
    ],
    ['two packages of one class', { osm: { driverPackages: [acme, acme] } }, 'class acme has a driver already'],
    [
      'a package in two places',
      { osm: { driverPackages: [{ ...acme, imageVolume: { reference: 'acme:1' } }] } },
      'the entry of class acme has path and imageVolume; it needs one of',
    ],
    [
      'a package in no place',
      { osm: { driverPackages: [{ name: 'acme', integrity: acme.integrity }] } },
      'the entry of class acme has none',
    ],
    [
      'two endpoints providers of one name',
      { osm: { endpointsProviders: [{ name: 'dns' }, { name: 'dns' }] } },
      'two entries named dns',
    ],
    [
      'an endpoints provider in no place',
      { osm: { endpointsProviders: [{ name: 'azure', integrity: acme.integrity }] } },
      'the entry azure has none; it needs one of path and imageVolume',
    ],
    [
      'an endpoints provider without its digest',
      { osm: { endpointsProviders: [{ name: 'azure', path: '/azure' }] } },
      'the entry azure has no integrity',
    ],
    [
      'a built-in endpoints provider by a path',
      { osm: { endpointsProviders: [{ name: 'file', path: '/file' }] } },
      'file is built in',
    ],
    ['Vault without host', vault({}), 'which needs osm.vault.host'],
    ['Vault without login', vault({ host: 'vault' }), 'needs osm.vault.secret.name and osm.vault.secret.key'],
    ['Vault with half a Secret', vault({ host: 'vault', secret: { name: 'a' } }), 'needs osm.vault.secret.name'],
    [
      'Vault with two tokens',
      vault({ host: 'vault', token: 'a', secret: { name: 'a', key: 'b' } }),
      'osm.vault has token and secret.name',
    ],
    ['a login without role', vault({ host: 'vault', auth: { kind: 'kubernetes' } }), 'needs osm.vault.auth.role'],
    ['a token file without path', vault({ host: 'vault', auth: { kind: 'tokenFile' } }), 'osm.vault.auth.tokenFile'],
    ['cert-manager without issuer', certManager({ issuerName: '' }), 'which needs osm.certmanager.issuerName'],
    ['a kind that cert-manager lacks', certManager({ issuerKind: 'Step' }), 'osm.certmanager.issuerKind is "Step"'],
    ['eBPF', { osm: { trafficInterceptionMode: 'ebpf' } }, 'osm.trafficInterceptionMode is ebpf'],
    ['Grafana without Prometheus', { osm: { deployGrafana: true } }, 'osm.deployPrometheus is not'],
    [
      'images of dashboards',
      { osm: { grafana: { enableRemoteRendering: true } } },
      'osm.grafana.enableRemoteRendering is true',
    ],
    [
      'Azure without a workspace',
      fluentBit({ outputPlugin: 'azure', primaryKey: 'a' }),
      'needs osm.fluentBit.workspaceId',
    ],
    ['Azure without a key', fluentBit({ outputPlugin: 'azure', workspaceId: 'a' }), 'needs osm.fluentBit.primaryKey'],
    ['a proxy without a URL', fluentBit({ enableProxySupport: true }), 'needs osm.fluentBit.httpProxy or'],
    [
      'a setting of an output that adds a section',
      fluentBit({ outputSettings: { Host: 'logs.example\n[INPUT]' } }),
      "'/osm/fluentBit/outputSettings/Host'",
    ],
    ['a repo of its own', { osm: { repoServer: { standalone: true } } }, 'osm.repoServer.standalone is true'],
    ['Contour', { contour: { enabled: true } }, 'contour.enabled is true'],
    ['Flomesh’s gateway', { fsm: { enabled: true } }, 'fsm.enabled is true'],
    [
      'a memory limit of OSM for the injector',
      { osm: { injector: { resource: { limits: { memory: '64M' } } } } },
      'osm.injector.resource.limits.memory is 64M: the program is a Node.js program and needs 160M',
    ],
    [
      'a memory limit of OSM for the bootstrap, written in other units',
      { osm: { osmBootstrap: { resource: { limits: { memory: '115000Ki' } } } } },
      'osm.osmBootstrap.resource.limits.memory is 115000Ki',
    ],
    [
      'a memory limit that keeps the controller from starting',
      { osm: { osmController: { resource: { limits: { memory: 128000000 } } } } },
      'osm.osmController.resource.limits.memory is',
    ],
    [
      'the sidecar image of OSM 1.2.4',
      { osm: { sidecarImage: 'envoyproxy/envoy-distroless:v1.22.2' } },
      'osm.sidecarImage is "envoyproxy/envoy-distroless:v1.22.2": class envoy needs version 1.37',
    ],
    [
      'an old image of a class that is not the default',
      {
        osm: { sidecarDrivers: [driver('envoy'), { ...driver('pipy', 6060), sidecarImage: 'flomesh/pipy:0.90.3-38' }] },
      },
      'osm.sidecarDrivers[1].sidecarImage is "flomesh/pipy:0.90.3-38": class pipy needs version 1.5',
    ],
    [
      'an old image in a registry with a port, with its digest',
      { osm: { sidecarImage: `registry.example:5000/envoy:v1.36.9@sha256:${'a'.repeat(64)}` } },
      'class envoy needs version 1.37',
    ],
    ['values of OSM before 0.11', { OpenServiceMesh: { meshName: 'osm' } }, 'write them under osm, as in osm.meshName'],
    [
      'plaintext between sidecars',
      { osm: { sidecarDisabledMTLS: true } },
      'traffic between sidecars is always mutual TLS',
    ],
    [
      'a switch for SPIFFE',
      { osm: { featureFlags: { enableSPIFFE: true } } },
      'certificates hold a SPIFFE ID in any case',
    ],
    [
      'an address of a collector that is a URL',
      { osm: { tracing: { address: 'http://jaeger:9411' } } },
      'osm.tracing.address is "http://jaeger:9411": it is a host name or an IP address',
    ],
    ['images of OSM', { osm: { image: { registry: 'openservicemesh' } } }, 'Upgrade with --reset-then-reuse-values'],
  ])('%s is refused with what to do', (_name, values, message) => {
    const { code, stderr } = template(values)
    expect([code, stderr]).toEqual([1, expect.stringContaining(message)])
  })
})

describe('images of sidecars', () => {
  it.each([
    'envoyproxy/envoy:distroless-v1.37.0',
    'registry.example:5000/envoy:v1.40',
    'envoy:v2.0.1',
    `envoy@sha256:${'1.2'.replace('.', 'a').padEnd(64, '0')}`,
    'registry.example:1.22/envoy:latest',
  ])('are taken where their tag does not say that they are too old: %s', (sidecarImage) => {
    expect(template({ osm: { sidecarImage } })).toMatchObject({ code: 0 })
  })

  it('have the oldest version that the driver of each class declares', () => {
    const text = readFileSync(join(chartFolder, 'templates/_minimums.tpl'), 'utf8')
    const table = /define "osm.oldestSidecars" -}}\n([^{]*)/.exec(text)?.[1]
    const declared = [createEnvoyDriver(), createPipyDriver()].map(
      ({ name, oldestProxyVersion = '' }) => `${name}: '${oldestProxyVersion}'\n`,
    )
    expect(table).toBe(declared.join(''))
  })
})

describe('driver packages', () => {
  const inImage = { name: 'acme', integrity: acme.integrity, imageVolume: { reference: 'acme:1', folder: 'driver' } }
  const templateFor = (version: string) =>
    helm(['template', 'osm', chartFolder, '--kube-version', version], { osm: { driverPackages: [inImage] } })

  it('in an image are mounted from it where the cluster can, and refused with what to do where it cannot', () => {
    const { code, stdout } = templateFor('1.31.0')
    expect([code, stdout.match(/^ +image:\n +reference: "acme:1"$/gm)?.length]).toEqual([0, 2])
    expect(stdout).toContain(String.raw`\"path\":\"/osm-drivers/acme/driver\"`)
    const old = templateFor('1.30.9')
    expect([old.code, old.stderr]).toEqual([1, expect.stringContaining('came with 1.31; use initContainer, or path')])
  })
})

describe('Fluent Bit beside the controller', () => {
  const secretOf = (settings: object): Readonly<Record<string, string>> => {
    const { data = {} } = find(render(fluentBit(settings)), 'Secret', 'osm-fluent-bit')
    return Object.fromEntries(
      Object.entries(data).map(([key, value]) => [key, Buffer.from(value, 'base64').toString('utf8')]),
    )
  }

  it('reads the logs of its pod and of no other, without capabilities', () => {
    const pod = podOf(find(render(fluentBit({})), 'Deployment', 'osm-controller'))
    const forwarder = pod?.containers.find(({ name }) => name === 'fluentbit-logger')
    expect(forwarder).toMatchObject({
      image: 'fluent/fluent-bit:5.1.1',
      securityContext: {
        allowPrivilegeEscalation: false,
        readOnlyRootFilesystem: true,
        capabilities: { drop: ['ALL'] },
      },
    })
    expect(forwarder?.volumeMounts).toContainEqual({
      name: 'pod-logs',
      mountPath: '/var/log/osm',
      subPathExpr: '$(CONTROLLER_POD_NAMESPACE)_$(CONTROLLER_POD_NAME)_$(CONTROLLER_POD_UID)',
      readOnly: true,
    })
  })

  it('adds the name of the pod to each record, and writes records to its output by default', () => {
    const { 'fluent-bit.conf': configuration = '', ...others } = secretOf({})
    expect(configuration).toContain('Record controller_pod_name ${CONTROLLER_POD_NAME}')
    expect(configuration).toMatch(/\[OUTPUT\]\n +Name {2}stdout\n +Match \*$/)
    expect(Object.keys(others)).toEqual(['parsers.conf'])
  })

  it('keeps the key of a workspace and the URL of a proxy in the Secret', () => {
    const settings = { outputPlugin: 'azure', workspaceId: 'a', primaryKey: 'planted-key', enableProxySupport: true }
    const proxied = { ...settings, httpProxy: 'http://user:planted-password@proxy.example' }
    expect(secretOf(proxied)).toMatchObject({
      'fluent-bit.conf': expect.stringContaining('Shared_Key  ${AZURE_PRIMARY_KEY}'),
      AZURE_PRIMARY_KEY: 'planted-key',
      HTTP_PROXY: proxied.httpProxy,
    })
    const others = render(fluentBit(proxied)).filter(({ kind }) => kind !== 'Secret')
    expect(JSON.stringify(others)).not.toContain('planted')
  })

  it('passes further settings on to its output', () => {
    const { 'fluent-bit.conf': configuration } = secretOf({
      outputPlugin: 'http',
      outputSettings: { Host: 'logs.example', Format: 'json' },
    })
    expect(configuration).toMatch(/Name {2}http\n +Match \*\n +Format json\n +Host logs\.example$/)
  })
})

describe('the comments on values', () => {
  it('say "Not used" of those that have no effect, and of no other', () => {
    const leavesOf = (value: ChartValue): readonly ChartValue[] =>
      value.children.length === 0 ? [value] : value.children.flatMap(leavesOf)
    const values = readChartValues(readFileSync(join(chartFolder, 'values.yaml'), 'utf8')).flatMap(leavesOf)
    const unused = values.filter(({ description }) => description.startsWith('Not used'))
    expect(unused.map(({ path }) => path).sort()).toEqual(Object.keys(withoutEffect).sort())
  })
})

describe('values of users', () => {
  it('of OSM reach the MeshConfig under its names', () => {
    const preset = presetOf(render(valuesFile('from-osm')))
    expect(preset).toMatchObject({
      sidecar: {
        sidecarClass: 'envoy',
        logLevel: 'debug',
        maxDataPlaneConnections: 100,
        configResyncInterval: '0s',
        localProxyMode: 'PodIP',
        enablePrivilegedInitContainer: true,
      },
      traffic: {
        enableEgress: false,
        enablePermissiveTrafficPolicyMode: false,
        outboundIPRangeExclusionList: ['10.0.0.0/8', 'fd00::/8'],
        outboundIPRangeInclusionList: ['192.168.0.0/16'],
        outboundPortExclusionList: [6379, 7070],
        inboundPortExclusionList: [9901],
        networkInterfaceExclusionList: ['net1'],
      },
      observability: { osmLogLevel: 'trace', enableDebugServer: true },
      certificate: { serviceCertValidityDuration: '1h', certKeyBitSize: 4096 },
      featureFlags: { enableRetryPolicy: true, enableSidecarActiveHealthChecks: true },
    })
    expect(preset.featureFlags).not.toHaveProperty('enableMeshRootCertificate')
  })

  it('of collectors may have the port in the address', () => {
    const manifests = render({
      osm: { tracing: { address: 'jaeger.tracing:4000' }, remoteLogging: { address: '[fd00::1]:80' } },
    })
    expect(presetOf(manifests).observability).toMatchObject({
      tracing: { address: 'jaeger.tracing', port: 4000 },
      remoteLogging: { address: 'fd00::1', port: 80 },
    })
  })

  it('of a collector of OTLP have its usual port and path, and those that are set, which the Jaeger of the chart gets too', () => {
    const otlp = (tracing: object): ReturnType<typeof render> =>
      render({ osm: { deployJaeger: true, tracing: { provider: 'opentelemetry', ...tracing } } })
    const usual = { provider: 'opentelemetry', port: 4318, endpoint: '/v1/traces' }
    expect(presetOf(otlp({})).observability).toMatchObject({ tracing: usual })
    expect(presetOf(otlp({ port: 4000, endpoint: '/otlp' })).observability).toMatchObject({
      tracing: { ...usual, port: 4000, endpoint: '/otlp' },
    })
    expect(JSON.stringify(otlp({}))).toContain('{"name":"COLLECTOR_OTLP_HTTP_HOST_PORT","value":":4318"}')
    expect(JSON.stringify(render({ osm: { deployJaeger: true } }))).not.toContain('OTLP')
  })

  it('of osm-edge reach the MeshConfig under its names', () => {
    expect(presetOf(render(valuesFile('from-osm-edge')))).toMatchObject({
      sidecar: {
        logLevel: 'off',
        sidecarTimeout: 120,
        localDNSProxy: { enable: true },
        sidecarDrivers: [
          { sidecarName: 'pipy', proxyServerPort: 6060 },
          { sidecarName: 'envoy', proxyServerPort: 15128 },
        ],
      },
      traffic: { http1PerRequestLoadBalancing: true },
      observability: { remoteLogging: { enable: true, level: 1, port: 8123, sampledFraction: '0.5' } },
      repoServer: { ipaddr: '127.0.0.1', codebase: 'edge' },
      featureFlags: { enablePluginPolicy: true, enableAccessControlPolicy: true },
      pluginChains: { 'inbound-tcp': [{ plugin: 'modules/inbound-tcp-default', priority: 100, disable: true }] },
    })
  })

  it('name images by tag, else by digest, else by the version of the chart', () => {
    const imageWith = (image: object): string =>
      containerOf(find(render({ osm: { image } }), 'Deployment', 'osm-controller')).image
    const digest = `sha256:${'a'.repeat(64)}`
    expect(imageWith({ tag: 'v9', digest: { osmController: digest } })).toBe('localhost/osm-ts/osm-controller:v9')
    expect(imageWith({ digest: { osmController: digest } })).toBe(`localhost/osm-ts/osm-controller@${digest}`)
    expect(imageWith({ registry: '' })).toMatch(/^osm-controller:\d+\.\d+\.\d+/)
  })

  it('leave the sidecar image of the default class to the chart, so that an upgrade brings a new one', () => {
    const manifests = render({ osm: { sidecarDrivers: [{ ...driver('envoy'), sidecarImage: 'envoy:new' }] } })
    expect(presetOf(manifests).sidecar).not.toHaveProperty('sidecarImage')
    expect(presetOf(manifests).sidecar.sidecarDrivers).toEqual([{ sidecarName: 'envoy', proxyServerPort: 15128 }])
    for (const name of ['osm-controller', 'osm-injector']) {
      expect(containerOf(find(manifests, 'Deployment', name)).env).toContainEqual({
        name: 'OSM_DEFAULT_SIDECAR_IMAGE',
        value: 'envoy:new',
      })
    }
  })

  it('give each class its own port', () => {
    const manifests = render({
      osm: { sidecarDrivers: [driver('envoy'), driver('pipy', 6060), driver('other', 7000)] },
    })
    expect(find(manifests, 'Service', 'osm-controller').spec?.ports).toEqual(
      expect.arrayContaining([
        { name: 'ads-port', port: 15128, targetPort: 15128 },
        { name: 'pipy-admin-port', port: 6060, targetPort: 6060 },
        { name: 'proxy-2', port: 7000, targetPort: 7000 },
      ]),
    )
  })

  it('never become anything but values, whatever is in them', () => {
    const hostile = 'x"\n  - name: evil\n{{ fail "templates" }}: \'"$(id)`id` # &anchor *alias %'
    const values = {
      osm: {
        osmController: { podLabels: { note: hostile }, affinity: { note: hostile } },
        controlPlaneTolerations: [{ key: hostile }],
        imagePullSecrets: [{ name: hostile }],
        priorityClassName: hostile,
        image: { tag: hostile, registry: hostile },
        sidecarImage: hostile,
        curlImage: hostile,
        tracing: { address: hostile, endpoint: hostile },
        remoteLogging: { authorization: hostile },
        networkInterfaceExclusionList: ['x"\n{{}}'],
        prometheus: { image: hostile, retention: { time: hostile } },
        deployPrometheus: true,
      },
    }
    const manifests = render(values)
    expect(manifests.map(title)).toEqual(render({ osm: { deployPrometheus: true } }).map(title))
    const controller = find(manifests, 'Deployment', 'osm-controller')
    expect(controller.spec).toMatchObject({
      template: {
        metadata: { labels: { app: 'osm-controller', note: hostile } },
        spec: {
          affinity: { note: hostile },
          tolerations: [{ key: hostile }],
          imagePullSecrets: [{ name: hostile }],
          priorityClassName: hostile,
        },
      },
    })
    expect(containerOf(controller)).toMatchObject({ image: `${hostile}/osm-controller:${hostile}` })
    expect(containerOf(controller).env).toContainEqual({ name: 'OSM_DEFAULT_SIDECAR_IMAGE', value: hostile })
    expect(presetOf(manifests)).toMatchObject({
      traffic: { networkInterfaceExclusionList: ['x"\n{{}}'] },
      observability: { tracing: { address: hostile, endpoint: hostile }, remoteLogging: { authorization: hostile } },
    })
    expect(containerOf(find(manifests, 'Deployment', 'osm-prometheus')).args).toContain(
      `--storage.tsdb.retention.time=${hostile}`,
    )
  })
})
