import { describe, expect, it } from '@jest/globals'
import { type InjectorContext, type SidecarPatch, sidecarPatchSchema } from '@osm-ts/driver-api'
import { schemaIssues } from '@osm-ts/driver-api/toolkit'
import { injectorContext as context, resolveValue as resolve } from '@osm-ts/driver-testkit'

import { createPatch } from './patch.js'

const patch = createPatch()
const { configurator } = context()

function fileText({ files }: SidecarPatch, path: string): unknown {
  const content = files.find((file) => file.path === path)?.content
  if (content === undefined || !('text' in content)) throw new Error(`${path} is not a text file`)
  return JSON.parse(resolve(content.text))
}

const explicit = {
  interceptionMode: 'none',
  listen: { outboundHttp: { address: '127.0.0.1', port: 15201 }, admin: { address: '127.0.0.1', port: 15200 } },
} as const

describe('patch', () => {
  it('returns what the contract describes, in both modes', async () => {
    for (const given of [context(), context(explicit)]) {
      expect(schemaIssues(sidecarPatchSchema, await patch(given))).toEqual([])
    }
  })

  it('starts Envoy as OSM does', async () => {
    const { sidecar } = await patch(context())
    expect(sidecar.binary).toBe('envoy')
    expect(sidecar.args.map(resolve).join(' ')).toBe(
      '--log-level error --config-path /etc/sidecar/bootstrap.yaml --service-cluster books.v2.shop ' +
        '--disable-hot-restart --concurrency 2 --drain-time-s 10',
    )
    expect(sidecar.env.map(({ name, value }) => `${name}=${resolve(value)}`)).toEqual([
      'POD_UID=<uid>',
      'POD_NAME=<instance>',
      'POD_NAMESPACE=<namespace>',
      'POD_IP=<address>',
      'SERVICE_ACCOUNT=<serviceAccount>',
    ])
    expect(sidecar.ports).toEqual([
      { name: 'proxy-admin', port: 15000, protocol: 'TCP' },
      { name: 'proxy-inbound', port: 15003, protocol: 'TCP' },
      { name: 'proxy-metrics', port: 15010, protocol: 'TCP' },
    ])
  })

  it('follows its own configuration', async () => {
    const given = context({ driverConfig: { xds: 'sotw', concurrency: 4, drainSeconds: 7 } })
    const made = await patch(given)
    expect(made.sidecar.args.map(resolve).join(' ')).toContain('--concurrency 4 --drain-time-s 7')
    expect(made.drain?.maxMs).toBe(12_000)
    expect(fileText(made, 'bootstrap.yaml')).toMatchObject({ dynamicResources: { adsConfig: { apiType: 'GRPC' } } })
  })

  it('reaches a Workload API by its socket, where there is one', async () => {
    const socketPath = '/run/osm/workload-api/spire-agent.sock'
    const clustersOf = async (given: InjectorContext) => {
      const bootstrap = fileText(await patch(given), 'bootstrap.yaml') as {
        readonly staticResources: { readonly clusters: readonly { readonly name: string }[] }
      }
      return bootstrap.staticResources.clusters
    }
    const cluster = (await clustersOf(context({ workloadApi: { socketPath } }))).find(
      ({ name }) => name === 'workload-api',
    )
    const address = { pipe: { path: socketPath } }
    expect(cluster).toMatchObject({
      loadAssignment: { endpoints: [{ lbEndpoints: [{ endpoint: { address } }] }] },
    })
    expect(cluster).not.toHaveProperty('transportSocket')
    expect((await clustersOf(context())).map(({ name }) => name)).not.toContain('workload-api')
  })

  it('writes for each what it would write for it alone, whatever it wrote before', async () => {
    const xds: InjectorContext = context({ driverConfig: { xds: 'sotw' } })
    const other =
      'c0ffee00-0000-4000-8000-000000000002.sidecar.$&.shop.cluster.local' as InjectorContext['proxyCommonName']
    const all = [
      context(),
      context({ proxyCommonName: other, proxyUUID: other.slice(0, 36) as InjectorContext['proxyUUID'] }),
      xds,
      context(),
      context(explicit),
    ]
    for (const given of all) expect(await patch(given)).toEqual(await createPatch()(given))
    expect(fileText(await patch(all[1] ?? xds), 'bootstrap.yaml')).toMatchObject({ node: { id: other } })
  })

  it('keeps key material out of what it writes itself', async () => {
    const { files } = await patch(context())
    expect(files.map(({ path, content }) => `${path} ${'from' in content ? content.from : 'text'}`)).toEqual([
      'bootstrap.yaml text',
      'tls_certificate_sds_secret.yaml text',
      'validation_context_sds_secret.yaml text',
      'cacert.pem trustBundle',
      'sds_cert.pem bootstrap.chain',
      'sds_key.pem bootstrap.key',
    ])
  })

  it('points to the control plane and checks who answers', async () => {
    const bootstrap = fileText(await patch(context()), 'bootstrap.yaml')
    expect(bootstrap).toMatchObject({
      node: { id: 'c0ffee00-0000-4000-8000-000000000001.sidecar.books.v2.shop.cluster.local' },
      admin: { address: { socketAddress: { address: '127.0.0.1', portValue: 15000 } } },
      dynamicResources: {
        adsConfig: { apiType: 'DELTA_GRPC', setNodeOnFirstMessageOnly: true },
        cdsConfig: { ads: {}, initialFetchTimeout: '0s' },
        ldsConfig: { ads: {}, initialFetchTimeout: '0s' },
      },
      staticResources: {
        clusters: [
          {
            name: 'osm-controller',
            type: 'STRICT_DNS',
            transportSocket: {
              typedConfig: {
                sni: 'ads.osm-system.cluster.local',
                commonTlsContext: {
                  tlsParams: {
                    tlsMinimumProtocolVersion: 'TLSv1_2',
                    tlsMaximumProtocolVersion: 'TLSv1_3',
                    cipherSuites: ['ECDHE-ECDSA-AES128-GCM-SHA256'],
                    ecdhCurves: ['P-256'],
                  },
                  combinedValidationContext: {
                    defaultValidationContext: {
                      matchTypedSubjectAltNames: [
                        { sanType: 'DNS', matcher: { exact: 'ads.osm-system.cluster.local' } },
                      ],
                    },
                  },
                },
              },
            },
          },
          { name: 'sidecar-ready' },
        ],
      },
    })
    expect(fileText(await patch(context()), 'tls_certificate_sds_secret.yaml')).toMatchObject({
      resources: [{ name: 'tls_sds', tlsCertificate: { privateKey: { filename: '/etc/sidecar/sds_key.pem' } } }],
    })
  })

  it('has header fields that repeat be one value to rules', async () => {
    expect(fileText(await patch(context()), 'bootstrap.yaml')).toMatchObject({
      layeredRuntime: {
        layers: [
          {
            staticLayer: {
              'envoy.reloadable_features.match_headers_individually': false,
              'envoy.reloadable_features.rbac_match_headers_individually': false,
            },
          },
        ],
      },
    })
  })

  it('keeps statistics that dashboards read, and leaves out those that nothing reads', async () => {
    const bootstrap = fileText(await patch(context()), 'bootstrap.yaml') as {
      readonly statsConfig: {
        readonly statsMatcher: {
          readonly exclusionList: { readonly patterns: readonly { readonly safeRegex: { readonly regex: string } }[] }
        }
      }
    }
    // Nothing in these patterns means something else to RE2.
    const patterns = bootstrap.statsConfig.statsMatcher.exclusionList.patterns.map(
      ({ safeRegex }) => new RegExp(`^(?:${safeRegex.regex})$`),
    )
    const kept = (name: string): boolean => !patterns.some((pattern) => pattern.test(name))
    const cluster = 'cluster.shop/books|8080'
    expect(
      [
        `${cluster}.upstream_rq_retry`,
        `${cluster}.upstream_cx_overflow`,
        `${cluster}.ssl.fail_verify_san`,
        `${cluster}.circuit_breakers.default.cx_open`,
        `${cluster}.membership_healthy`,
        'cluster_manager.cds.update_rejected',
        'listener_manager.lds.update_success',
        'server.live',
      ].filter(kept),
    ).toHaveLength(8)
    expect(
      [
        `${cluster}.lb_zone_cross_zone`,
        `${cluster}.circuit_breakers.high.cx_open`,
        `${cluster}.ssl.ocsp_staple_failed`,
        `${cluster}.update_success`,
      ].filter(kept),
    ).toEqual([])
  })

  it('reaches a control plane by IP address without DNS', async () => {
    const controlPlane = { address: '127.0.0.1', port: 15128, serverName: 'ads' }
    const bootstrap = fileText(await patch(context({ controlPlane })), 'bootstrap.yaml')
    expect(bootstrap).toMatchObject({ staticResources: { clusters: [{ type: 'STATIC' }, {}] } })
  })

  it('lets a kubelet ask whether it is ready, of the administration interface only that, and only where one asks', async () => {
    const given = await patch(context())
    expect(given.ready.http).toEqual({ port: 15904, path: '/osm-sidecar-ready', status: 200 })
    expect(given.interception?.excludedInboundPorts).toContain(15904)
    const { staticResources } = fileText(given, 'bootstrap.yaml') as {
      readonly staticResources: { readonly listeners: readonly unknown[] }
    }
    expect(JSON.stringify(staticResources.listeners)).toContain(
      '"routes":[{"match":{"path":"/osm-sidecar-ready"},"route":{"cluster":"sidecar-ready","prefixRewrite":"/ready","timeout":"1s"}}]',
    )
    const alone = await patch(context(explicit))
    expect(alone.ready.http).toEqual({ port: 15200, path: '/ready', status: 200 })
    expect(fileText(alone, 'bootstrap.yaml')).not.toHaveProperty('staticResources.listeners')
  })

  it('answers on both address families where there are two', async () => {
    const inbound = { address: '::', port: 15003 }
    const bootstrap = fileText(await patch(context({ listen: { ...context().listen, inbound } })), 'bootstrap.yaml')
    expect(bootstrap).toMatchObject({
      staticResources: {
        listeners: [{ address: { socketAddress: { address: '::', portValue: 15904, ipv4Compat: true } } }],
      },
    })
  })

  it('keeps the way to the control plane open when the mesh allows no TLS version', async () => {
    const closed = { ...configurator, sidecar: { ...configurator.sidecar, tlsMaxProtocolVersion: 'TLSv1_1' as const } }
    const bootstrap = JSON.stringify(fileText(await patch(context({ configurator: closed })), 'bootstrap.yaml'))
    expect(bootstrap).toContain('"tlsMaximumProtocolVersion":"TLSv1_3"')
  })

  it('requests interception where connections are redirected, and only there', async () => {
    expect((await patch(context())).interception).toEqual({
      inboundPort: 15003,
      outboundPort: 15001,
      proxyUid: 1500,
      excludedInboundPorts: [15010, 15901, 15902, 15903, 15904],
      ipv6: true,
    })
    const made = await patch(context(explicit))
    expect(made.interception).toBeUndefined()
    expect(made.metrics).toBeUndefined()
    expect(made.sidecar.args.map(resolve).join(' ')).toContain('--concurrency 1')
  })

  it.each([
    ['another operating system', { podOS: 'windows' }],
    ['redirection on darwin', { podOS: 'darwin', interceptionMode: 'iptables' }],
    ['a proxy without administration', { listen: {} }],
    ['interception without addresses', { listen: { admin: { address: '127.0.0.1', port: 15000 } } }],
    ['a name of another trust domain', { configurator: { ...configurator, trustDomain: 'other.example' } }],
  ] as const)('refuses %s', async (_, changes) => {
    await expect(patch(context(changes))).rejects.toMatchObject({ code: 'OSM_DRIVER_PATCH' })
  })
})
