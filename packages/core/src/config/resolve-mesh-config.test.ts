import { describe, expect, it } from '@jest/globals'

import { ObjectDecoder, readObjects, type KindMap } from '../spec/index.js'
import { standalonePreset, type ConfigEnvironment, type MeshConfig } from './mesh-config.js'
import { resolveMeshConfig } from './resolve-mesh-config.js'
import { allowedClasses, driverConfig, initContainerImage, proxyServerPort, sidecarImage } from './sidecar-images.js'
import { withoutSecrets } from './mesh-config-view.js'

const decoder = new ObjectDecoder()
const head = 'apiVersion: config.openservicemesh.io/v1alpha2\nkind: MeshConfig\nmetadata: { name: osm-mesh-config }\n'

function resolve(
  spec: string,
  environment: ConfigEnvironment = {},
): { config: MeshConfig; problems: readonly string[] } {
  const { objects, problems: faults } = readObjects(`${head}spec: ${spec}`, { decoder })
  expect(faults).toEqual([])
  const object = objects[0] as unknown as KindMap['MeshConfig']
  const { config, problems } = resolveMeshConfig(
    object.spec,
    { osmNamespace: 'osm-system', clusterDomain: 'example.local', environment },
    { object: undefined, locate: () => undefined },
  )
  return {
    config,
    problems: problems.map(({ severity, code, field, message }) => `${severity} ${code} ${field ?? ''}: ${message}`),
  }
}

const clean = (spec: string): MeshConfig => {
  const { config, problems } = resolve(spec)
  expect(problems).toEqual([])
  return config
}

describe('resolveMeshConfig', () => {
  it('has a default for everything', () => {
    expect(clean('{}')).toEqual({
      clusterSet: {},
      sidecar: {
        enablePrivilegedInitContainer: false,
        logLevel: 'error',
        maxDataPlaneConnections: 0,
        sidecarClass: 'pipy',
        images: { sidecarImage: '', sidecarWindowsImage: '', initContainerImage: '' },
        envoyImages: { sidecarImage: '', sidecarWindowsImage: '' },
        drivers: [],
        resources: { limits: {}, requests: {} },
        configResyncIntervalMs: 0,
        sidecarTimeoutMs: undefined,
        tlsMinProtocolVersion: 'TLSv1_2',
        tlsMaxProtocolVersion: 'TLSv1_3',
        cipherSuites: [],
        ecdhCurves: [],
        localProxyMode: 'Localhost',
        localDNSProxy: { enable: false, upstreams: [] },
      },
      traffic: {
        interceptionMode: 'iptables',
        enableEgress: false,
        outboundIPRangeExclusionList: [],
        outboundIPRangeInclusionList: [],
        outboundPortExclusionList: [],
        inboundPortExclusionList: [],
        networkInterfaceExclusionList: [],
        http1PerRequestLoadBalancing: false,
        http2PerRequestLoadBalancing: true,
        enablePermissiveTrafficPolicyMode: false,
        inboundExternalAuthorization: undefined,
        crossNamespace: {
          egress: false,
          egressGateway: false,
          accessCert: false,
          pluginConfig: false,
          pluginChain: false,
        },
        escapedSlashes: 'Reject',
        keepUnderscoreHeaders: false,
        plaintextNamespaces: [],
        policyWithdrawalTimeoutMs: 30_000,
        tcpIdleTimeoutMs: undefined,
        streamIdleTimeoutMs: undefined,
      },
      observability: { osmLogLevel: 'info', enableDebugServer: false, tracing: undefined, remoteLogging: undefined },
      certificate: {
        serviceCertValidityMs: 86_400_000,
        key: { algorithm: 'ECDSA' },
        serviceCertificates: 'shared',
        ingressGateway: undefined,
      },
      featureFlags: {
        enableWASMStats: false,
        enableEgressPolicy: false,
        enableMulticlusterMode: false,
        enableSnapshotCacheMode: false,
        enableAsyncProxyServiceMapping: false,
        enableIngressBackendPolicy: false,
        enableAccessControlPolicy: false,
        enableAccessCertPolicy: false,
        enableSidecarActiveHealthChecks: false,
        enableEnvoyActiveHealthChecks: false,
        enableRetryPolicy: false,
        enablePluginPolicy: false,
      },
      pluginChains: { 'inbound-tcp': [], 'inbound-http': [], 'outbound-tcp': [], 'outbound-http': [] },
    })
  })

  it('takes over what is written', () => {
    const config = clean(`{
      clusterSet: { properties: [{ name: region, value: eu }] },
      sidecar: { logLevel: warn, sidecarTimeout: 5, configResyncInterval: 2m, localDNSProxy: { enable: true, primaryUpstreamDNSServerIPAddr: 10.0.0.1 }, tlsMinProtocolVersion: TLSv1_3, resources: { limits: { cpu: 1 } } },
      traffic: { policyWithdrawalTimeout: 5s, tcpIdleTimeout: 2h, streamIdleTimeout: 0s, crossNamespace: { egress: true, pluginChain: true }, http2PerRequestLoadBalancing: false, inboundExternalAuthorization: { enable: true, address: authz, port: 9191 } },
      observability: { osmLogLevel: WARN, tracing: { enable: true }, remoteLogging: { enable: true, address: log, port: 1, sampledFraction: "0.25", authorization: hunter2 } },
      certificate: { serviceCertValidityDuration: 1h, keyAlgorithm: RSA, certKeyBitSize: 4096, serviceCertificates: perProxy, ingressGateway: { subjectAltNames: [a], validityDuration: 48h, secret: { name: s, namespace: n } } },
      featureFlags: { enableEnvoyActiveHealthChecks: true },
      pluginChains: { inbound-tcp: [{ plugin: p, priority: 1 }] }
    }`)
    expect(config).toMatchObject({
      clusterSet: { region: 'eu' },
      sidecar: {
        logLevel: 'warning',
        sidecarTimeoutMs: 5000,
        configResyncIntervalMs: 120_000,
        localDNSProxy: { enable: true, upstreams: ['10.0.0.1'] },
        tlsMinProtocolVersion: 'TLSv1_3',
        resources: { limits: { cpu: '1' }, requests: {} },
      },
      traffic: {
        crossNamespace: {
          egress: true,
          egressGateway: false,
          accessCert: false,
          pluginConfig: false,
          pluginChain: true,
        },
        policyWithdrawalTimeoutMs: 5000,
        tcpIdleTimeoutMs: 7_200_000,
        streamIdleTimeoutMs: 0,
        http2PerRequestLoadBalancing: false,
        inboundExternalAuthorization: {
          host: 'authz',
          port: 9191,
          statPrefix: 'inboundExtAuthz',
          timeoutMs: 1000,
          failureModeAllow: false,
        },
      },
      observability: {
        osmLogLevel: 'warn',
        tracing: {
          provider: 'zipkin',
          host: 'jaeger.osm-system.svc.example.local',
          port: 9411,
          endpoint: '/api/v2/spans',
          sampledFraction: 1,
        },
        remoteLogging: { host: 'log', port: 1, level: 0, sampledFraction: 0.25 },
      },
      certificate: {
        serviceCertValidityMs: 3_600_000,
        key: { algorithm: 'RSA', bits: 4096 },
        serviceCertificates: 'perProxy',
        ingressGateway: { subjectAltNames: ['a'], validityMs: 172_800_000, secret: { name: 's', namespace: 'n' } },
      },
      featureFlags: { enableSidecarActiveHealthChecks: true, enableEnvoyActiveHealthChecks: true },
      pluginChains: { 'inbound-tcp': [{ plugin: 'p', priority: 1, disable: false }] },
    })
    expect(withoutSecrets(config).observability.remoteLogging?.authorization).toBe('[redacted]')
    expect(JSON.stringify(withoutSecrets(config))).not.toContain('hunter2')
  })

  it.each<[string, string, string, unknown]>([
    [
      'certificate: { serviceCertValidityDuration: 1day }',
      'error OSM_CONFIG_DURATION spec.certificate.serviceCertValidityDuration: "1day" is not a duration such as 90s or 1h30m; 24h0m0s applies',
      'certificate.serviceCertValidityMs',
      86_400_000,
    ],
    [
      'certificate: { serviceCertValidityDuration: -1h }',
      'is less than 1s; 24h0m0s applies',
      'certificate.serviceCertValidityMs',
      86_400_000,
    ],
    [
      'certificate: { keyAlgorithm: RSA, certKeyBitSize: 1024 }',
      'error OSM_CONFIG_KEY_SIZE spec.certificate.certKeyBitSize: must be from 2048 to 4096, not 1024; 2048 applies',
      'certificate.key.bits',
      2048,
    ],
    [
      'certificate: { keyAlgorithm: RSA, certKeyBitSize: 8192 }',
      'not 8192; 2048 applies',
      'certificate.key.bits',
      2048,
    ],
    [
      'sidecar: { sidecarTimeout: 0 }',
      'warning OSM_CONFIG_DURATION spec.sidecar.sidecarTimeout: 0 has no effect: traffic.tcpIdleTimeout and traffic.streamIdleTimeout apply, or else 1h and 5m',
      'sidecar.sidecarTimeoutMs',
      undefined,
    ],
    [
      'sidecar: { tlsMinProtocolVersion: TLSv1_0 }',
      'warning OSM_CONFIG_TLS spec.sidecar.tlsMinProtocolVersion: TLSv1_0 is too old; TLSv1_2 applies',
      'sidecar.tlsMinProtocolVersion',
      'TLSv1_2',
    ],
    [
      'sidecar: { tlsMaxProtocolVersion: TLSv1_1 }',
      'error OSM_CONFIG_TLS spec.sidecar.tlsMaxProtocolVersion: TLSv1_1 is below the minimum TLSv1_2',
      'sidecar.tlsMaxProtocolVersion',
      'TLSv1_1',
    ],
    [
      'sidecar: { tlsMinProtocolVersion: TLSv1_3, tlsMaxProtocolVersion: TLSv1_2 }',
      'refuse all traffic',
      'sidecar.tlsMaxProtocolVersion',
      'TLSv1_2',
    ],
    [
      'sidecar: { tlsMaxProtocolVersion: TLSv1_2, ecdhCurves: [P-384, X25519] }',
      'error OSM_CONFIG_TLS spec.sidecar.ecdhCurves: with TLS 1.2 at most, sidecars would refuse all traffic between them; the list is left out. It needs P-256, the curve of the certificates of sidecars, or allow TLS 1.3',
      'sidecar.ecdhCurves.length',
      0,
    ],
    [
      'sidecar: { tlsMaxProtocolVersion: TLSv1_2, cipherSuites: [ECDHE-RSA-AES128-GCM-SHA256, AES128-SHA] }',
      'error OSM_CONFIG_TLS spec.sidecar.cipherSuites: with TLS 1.2 at most',
      'sidecar.cipherSuites.length',
      0,
    ],
    [
      'certificate: { keyAlgorithm: RSA }, sidecar: { tlsMaxProtocolVersion: TLSv1_2, cipherSuites: ["[ECDHE-ECDSA-AES128-SHA|ECDHE-ECDSA-AES256-SHA]"] }',
      'It needs a suite for the RSA certificates of sidecars',
      'sidecar.cipherSuites.length',
      0,
    ],
    [
      'certificate: { keyAlgorithm: RSA }, sidecar: { tlsMaxProtocolVersion: TLSv1_2, ecdhCurves: [X25519MLKEM768] }',
      'error OSM_CONFIG_TLS spec.sidecar.ecdhCurves',
      'sidecar.ecdhCurves.length',
      0,
    ],
    [
      'sidecar: { configResyncInterval: 5s }',
      'warning OSM_CONFIG_DURATION spec.sidecar.configResyncInterval: must be 0s (off) or at least 30s; 30s applies',
      'sidecar.configResyncIntervalMs',
      30_000,
    ],
    ['sidecar: { configResyncInterval: soon }', '0s applies', 'sidecar.configResyncIntervalMs', 0],
    ['sidecar: { sidecarClass: "a b" }', 'error OSM_CONFIG_CLASS', 'sidecar.sidecarClass', 'pipy'],
    [
      'sidecar: { sidecarDrivers: [{ sidecarName: envoy, sidecarDisabledMTLS: true }] }',
      'warning OSM_CONFIG_MTLS spec.sidecar.sidecarDrivers[0].sidecarDisabledMTLS',
      'sidecar.drivers.0.name',
      'envoy',
    ],
    [
      'sidecar: { sidecarDrivers: [{ sidecarName: "../x" }] }',
      'error OSM_CONFIG_DRIVER spec.sidecar.sidecarDrivers[0].sidecarName',
      'sidecar.drivers.length',
      0,
    ],
    [
      'sidecar: { sidecarDrivers: [{ sidecarName: a, proxyServerPort: 1 }, { sidecarName: A, proxyServerPort: 2 }] }',
      'a has an earlier entry, which takes precedence',
      'sidecar.drivers.0.proxyServerPort',
      1,
    ],
    [
      'traffic: { outboundIPRangeExclusionList: [10.0.0.0/8, 10.0.0.0/40] }',
      'error OSM_CONFIG_ADDRESS spec.traffic.outboundIPRangeExclusionList[1]: "10.0.0.0/40" is not an address range such as 10.0.0.0/8; it is ignored',
      'traffic.outboundIPRangeExclusionList.length',
      1,
    ],
    [
      'sidecar: { cipherSuites: [ECDHE-RSA-AES128-GCM-SHA256, ECDHE-RSA-AES128-GCM-SHA265] }',
      'error OSM_CONFIG_TLS_NAME spec.sidecar.cipherSuites[1]: "ECDHE-RSA-AES128-GCM-SHA265" is not known and left out; did you mean "ECDHE-RSA-AES128-GCM-SHA256"?',
      'sidecar.cipherSuites.length',
      1,
    ],
    [
      'sidecar: { cipherSuites: ["[AES128-SHA|AES256-SHA]", "[AES128-SHA|none]"] }',
      'error OSM_CONFIG_TLS_NAME spec.sidecar.cipherSuites[1]: "none" is not known',
      'sidecar.cipherSuites.length',
      1,
    ],
    [
      'sidecar: { ecdhCurves: [P-256, secp256r1] }',
      'error OSM_CONFIG_TLS_NAME spec.sidecar.ecdhCurves[1]: "secp256r1" is not known',
      'sidecar.ecdhCurves.length',
      1,
    ],
    [
      'traffic: { networkInterfaceExclusionList: [eth0, "-j ACCEPT"] }',
      'error OSM_CONFIG_ADDRESS spec.traffic.networkInterfaceExclusionList[1]',
      'traffic.networkInterfaceExclusionList.length',
      1,
    ],
    ['traffic: { tcpIdleTimeout: never }', '0s applies', 'traffic.tcpIdleTimeoutMs', 0],
    ['traffic: { policyWithdrawalTimeout: never }', '30s applies', 'traffic.policyWithdrawalTimeoutMs', 30_000],
    [
      'traffic: { plaintextNamespaces: [shop] }',
      'has no effect while enablePermissiveTrafficPolicyMode is false',
      'traffic.plaintextNamespaces.length',
      0,
    ],
    [
      'repoServer: { ipaddr: 10.0.0.1, codebase: "" }',
      'warning OSM_CONFIG_NOT_READ spec.repoServer.ipaddr: is not read and has no effect: the repo of class pipy',
      'traffic.enableEgress',
      false,
    ],
    [
      'repoServer: { ipaddr: 127.0.0.1, codebase: edge }',
      'warning OSM_CONFIG_NOT_READ spec.repoServer.codebase: is not read',
      'traffic.enableEgress',
      false,
    ],
    [
      'featureFlags: { enableMulticlusterMode: true }',
      'warning OSM_CONFIG_NOT_READ spec.featureFlags.enableMulticlusterMode: is not read',
      'featureFlags.enableMulticlusterMode',
      true,
    ],
    ['traffic: { useHTTPSIngress: true }', 'warning OSM_CONFIG_NOT_READ', 'traffic.enableEgress', false],
    [
      'observability: { osmLogLevel: debugg }',
      'did you mean "debug"? Info applies',
      'observability.osmLogLevel',
      'info',
    ],
    [
      'observability: { tracing: { enable: true, sampledFraction: "1.5" } }',
      'error OSM_CONFIG_FRACTION spec.observability.tracing.sampledFraction: must be a number from 0 to 1, not "1.5"; 1 applies',
      'observability.tracing.sampledFraction',
      1,
    ],
    [
      'observability: { tracing: { enable: true, sampledFraction: half } }',
      '1 applies',
      'observability.tracing.sampledFraction',
      1,
    ],
    [
      'observability: { remoteLogging: { enable: true, address: log } }',
      'error OSM_CONFIG_COLLECTOR',
      'observability.remoteLogging',
      undefined,
    ],
    [
      'observability: { tracing: { enable: true, address: "http://jaeger:9411" } }',
      'error OSM_CONFIG_COLLECTOR spec.observability.tracing.address: must be a host name or an IP address',
      'observability.tracing',
      undefined,
    ],
    [
      'observability: { tracing: { enable: true, address: "jaeger:4000", port: 9411 } }',
      'warning OSM_CONFIG_COLLECTOR spec.observability.tracing.port: is 9411, but the address names port 4000, which takes precedence',
      'observability.tracing.port',
      4000,
    ],
  ])('makes the best of %s', (spec, problem, path, value) => {
    const { config, problems } = resolve(`{ ${spec} }`)
    expect(problems).toEqual([expect.stringContaining(problem)])
    expect(
      path.split('.').reduce<unknown>((at, name) => (at as Record<string, unknown> | undefined)?.[name], config),
    ).toBe(value)
  })

  it('reads the port of a collector from its address, as in values of OSM', () => {
    const { config, problems } = resolve(
      '{ observability: { tracing: { enable: true, address: "jaeger.tracing:9000" }, remoteLogging: { enable: true, address: "[fd00::1]:80" } } }',
    )
    expect(problems).toEqual([])
    expect(config.observability.tracing).toMatchObject({ host: 'jaeger.tracing', port: 9000 })
    expect(config.observability.remoteLogging).toMatchObject({ host: 'fd00::1', port: 80 })
  })

  it('denies requests when external authorization is on but no one can be asked', () => {
    const { config, problems } = resolve(
      '{ traffic: { inboundExternalAuthorization: { enable: true, address: authz, failureModeAllow: true } } }',
    )
    expect(problems).toEqual([expect.stringContaining('OSM_CONFIG_EXTERNAL_AUTHORIZATION')])
    expect(config.traffic.inboundExternalAuthorization).toMatchObject({
      host: 'unconfigured.invalid',
      failureModeAllow: false,
    })
  })

  it('reads the port of external authorization from its address', () => {
    const { config, problems } = resolve(
      '{ traffic: { inboundExternalAuthorization: { enable: true, address: "authz:9000" } } }',
    )
    expect(problems).toEqual([])
    expect(config.traffic.inboundExternalAuthorization).toMatchObject({ host: 'authz', port: 9000 })
  })

  it('takes auto for whatever the mesh allows', () => {
    expect(
      clean('{ sidecar: { tlsMinProtocolVersion: TLS_AUTO, tlsMaxProtocolVersion: TLS_AUTO } }').sidecar,
    ).toMatchObject({
      tlsMinProtocolVersion: 'TLSv1_2',
      tlsMaxProtocolVersion: 'TLSv1_3',
    })
  })

  it.each([
    ['{ sidecar: { ecdhCurves: [P-384], cipherSuites: [ECDHE-RSA-AES128-SHA] } }', ['P-384'], 1],
    ['{ sidecar: { tlsMaxProtocolVersion: TLSv1_2, ecdhCurves: [P-384, P-256] } }', ['P-384', 'P-256'], 0],
    [
      '{ sidecar: { tlsMaxProtocolVersion: TLSv1_2, cipherSuites: ["[ECDHE-RSA-AES128-SHA|ECDHE-ECDSA-AES128-SHA]"] } }',
      [],
      1,
    ],
    [
      '{ certificate: { keyAlgorithm: RSA }, sidecar: { tlsMaxProtocolVersion: TLSv1_2, ecdhCurves: [X25519], cipherSuites: [AES128-SHA] } }',
      ['X25519'],
      1,
    ],
  ])('takes lists of TLS by which sidecars can agree: %s', (spec, curves, suites) => {
    const { sidecar } = clean(spec)
    expect([sidecar.ecdhCurves, sidecar.cipherSuites.length]).toEqual([curves, suites])
  })

  it('takes a number that only looks like a size for a mistake even while ECDSA holds', () => {
    expect(resolve('{ certificate: { certKeyBitSize: 100 } }')).toMatchObject({
      config: { certificate: { key: { algorithm: 'ECDSA' } } },
      problems: [expect.stringContaining('OSM_CONFIG_KEY_SIZE')],
    })
  })

  it('lays what is written over a preset, member by member', () => {
    const origin = { object: undefined, locate: () => undefined }
    const options = { osmNamespace: 'o', clusterDomain: 'c', environment: {}, preset: standalonePreset }
    const { config } = resolveMeshConfig(
      { featureFlags: { enableRetryPolicy: false }, traffic: { enableEgress: true } },
      options,
      origin,
    )
    expect(config.featureFlags).toMatchObject({
      enableRetryPolicy: false,
      enableEgressPolicy: true,
      enablePluginPolicy: false,
    })
    expect(config.traffic.enableEgress).toBe(true)
    const { config: alone } = resolveMeshConfig(undefined, options, origin)
    expect(alone.featureFlags).toMatchObject({ enableRetryPolicy: true })
    expect(alone.traffic).toMatchObject({ enableEgress: false, enablePermissiveTrafficPolicyMode: false })
  })

  it('is frozen', () => {
    const config = clean('{ sidecar: { sidecarDrivers: [{ sidecarName: a, config: { b: [1] } }] } }')
    expect([config, config.sidecar, config.sidecar.drivers, config.sidecar.drivers[0]].every(Object.isFrozen)).toBe(
      true,
    )
  })
})

describe('class and images', () => {
  const drivers =
    'sidecarDrivers: [{ sidecarName: Pipy, sidecarImage: pipy:d, proxyServerPort: 6060 }, { sidecarName: envoy, sidecarImage: envoy:d, sidecarWindowsImage: envoy:w, initContainerImage: init:d, config: { a: 1 } }]'
  const environment = {
    OSM_DEFAULT_SIDECAR_CLASS: 'Envoy',
    OSM_DEFAULT_SIDECAR_IMAGE: 'envoy:e',
    OSM_DEFAULT_SIDECAR_WINDOWS_IMAGE: 'envoy:we',
    OSM_DEFAULT_INIT_CONTAINER_IMAGE: 'init:e',
  }

  it('takes the class from the object, then the environment, then pipy; in lower case', () => {
    expect(resolve('{ sidecar: { sidecarClass: HAProxy } }', environment).config.sidecar.sidecarClass).toBe('haproxy')
    expect(resolve('{}', environment).config.sidecar.sidecarClass).toBe('envoy')
    expect(clean('{}').sidecar.sidecarClass).toBe('pipy')
  })

  it('prefers the image at the top, then the driver entry, then the environment, for the default class', () => {
    const image = (spec: string): string =>
      sidecarImage(resolve(spec, environment).config, 'ENVOY', 'linux', environment)
    expect(image(`{ sidecar: { sidecarImage: top, ${drivers} } }`)).toBe('top')
    expect(image(`{ sidecar: { ${drivers} } }`)).toBe('envoy:d')
    expect(image('{}')).toBe('envoy:e')
  })

  it('never gives another class the images of the default class', () => {
    const config = resolve(
      `{ sidecar: { sidecarImage: top, initContainerImage: init:top, ${drivers} } }`,
      environment,
    ).config
    expect(sidecarImage(config, 'pipy', 'linux', environment)).toBe('pipy:d')
    expect(sidecarImage(config, 'other', 'linux', environment)).toBe('')
    expect(initContainerImage(config, 'envoy', environment)).toBe('init:top')
    expect(initContainerImage(config, 'pipy', environment)).toBe('init:e')
  })

  it('reads images for Windows, and the names of OSM for class envoy', () => {
    const config = resolve(`{ sidecar: { sidecarClass: pipy, envoyImage: envoy:osm, ${drivers} } }`, environment).config
    expect(sidecarImage(config, 'envoy', 'linux', environment)).toBe('envoy:osm')
    expect(sidecarImage(config, 'envoy', 'windows', environment)).toBe('envoy:w')
    expect(sidecarImage(config, 'pipy', 'linux', environment)).toBe('pipy:d')
    expect(sidecarImage(config, 'pipy', 'windows', environment)).toBe('envoy:we')
  })

  it('knows ports, settings and allowed classes', () => {
    const config = resolve(`{ sidecar: { sidecarClass: haproxy, ${drivers} } }`).config
    expect([proxyServerPort(config, 'pipy'), proxyServerPort(config, 'envoy'), proxyServerPort(config, 'x')]).toEqual([
      6060, 15128, 15128,
    ])
    expect([driverConfig(config, 'envoy'), driverConfig(config, 'x')]).toEqual([{ a: 1 }, {}])
    expect(allowedClasses(config)).toEqual(['envoy', 'haproxy', 'pipy'])
  })

  it('reads nothing of a repo that the environment names, as osm-edge does', () => {
    const known = { OSM_DEFAULT_SIDECAR_CLASS: 'envoy' }
    const more = { ...known, OSM_REPO_SERVER_IPADDR: '10.0.0.2', OSM_REPO_SERVER_CODEBASE: '/c' }
    expect(resolve('{}', more)).toEqual(resolve('{}', known))
  })
})
