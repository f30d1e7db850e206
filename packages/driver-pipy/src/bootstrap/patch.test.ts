import { describe, expect, it } from '@jest/globals'
import { type InjectorContext, sidecarPatchSchema } from '@osm-ts/driver-api'
import { schemaIssues } from '@osm-ts/driver-api/toolkit'
import { injectorContext, resolveValue } from '@osm-ts/driver-testkit'

import { patch } from './patch.js'

const explicit = {
  interceptionMode: 'none',
  listen: { outboundHttp: { address: '127.0.0.1', port: 15201 }, admin: { address: '127.0.0.1', port: 15200 } },
} as const
const uuid = 'c0ffee00-0000-4000-8000-000000000001'

describe('patch', () => {
  it('returns what the contract describes, in both modes', async () => {
    for (const given of [injectorContext(), injectorContext(explicit)])
      expect(schemaIssues(sidecarPatchSchema, await patch(given))).toEqual([])
  })

  it('has Pipy run behind a shell that knows what SIGTERM means, and says nothing of its own to that', async () => {
    const { sidecar } = await patch(injectorContext())
    expect(sidecar.initWrapper?.slice(0, 2)).toEqual(['/bin/sh', '-c'])
    expect(sidecar.initWrapper).toEqual((await patch(injectorContext({ podNamespace: 'other' }))).sidecar.initWrapper)
  })

  it('starts Pipy with its own codebase over mutual TLS, and without its own administration port', async () => {
    const { sidecar } = await patch(injectorContext())
    expect(sidecar.binary).toBe('pipy')
    expect(sidecar.args.map(resolveValue)).toEqual([
      '--log-level=error',
      `--instance-uuid=${uuid}`,
      '--instance-name=<instance>',
      '--no-metrics',
      '--tls-cert=/etc/sidecar/sidecar.crt',
      '--tls-key=/etc/sidecar/sidecar.key',
      '--tls-trusted=/etc/sidecar/roots.crt',
      '--tls-trusted=/etc/sidecar/last-root.crt',
      `https://osm-controller.osm-system.svc.cluster.local:15128/repo/osm-edge-sidecar/${uuid}.sidecar.books.v2.shop/`,
    ])
  })

  it('tells its scripts where configuration is, and whom to take it from', async () => {
    const { sidecar, files } = await patch(injectorContext())
    expect(sidecar.env.slice(0, 6).map(({ name, value }) => `${name}=${resolveValue(value)}`)).toEqual([
      'OSM_PIPY_CHANNEL=osm-controller.osm-system.svc.cluster.local:15128',
      'OSM_PIPY_SERVER_NAME=ads.osm-system.cluster.local',
      'OSM_PIPY_CERTIFICATE=/etc/sidecar/sidecar.crt',
      'OSM_PIPY_KEY=/etc/sidecar/sidecar.key',
      'OSM_PIPY_ROOTS=/etc/sidecar/roots.crt',
      'OSM_PIPY_ADMIN=127.0.0.1:15000',
    ])
    expect(files.map(({ content }) => content)).toEqual([
      { from: 'bootstrap.chain' },
      { from: 'bootstrap.key' },
      { from: 'trustBundle' },
      { from: 'trustBundle.last' },
    ])
  })

  it('is ready with the first configuration, as seen from outside the pod or inside', async () => {
    expect((await patch(injectorContext())).ready.http).toEqual({ port: 15010, path: '/stats/prometheus', status: 200 })
    expect((await patch(injectorContext(explicit))).ready.http).toEqual({ port: 15200, path: '/ready', status: 200 })
  })

  it('has IPv6 closed, which Pipy does not redirect', async () => {
    expect((await patch(injectorContext())).interception).toMatchObject({ proxyUid: 1500, ipv6: false })
    expect((await patch(injectorContext(explicit))).interception).toBeUndefined()
  })

  it('reaches a control plane by its IPv6 address', async () => {
    const controlPlane = { address: 'fd00::1', port: 6060, serverName: 'ads' }
    const { sidecar } = await patch(injectorContext({ controlPlane }))
    expect(resolveValue(sidecar.args.at(-1) ?? '')).toMatch(/^https:\/\/\[fd00::1\]:6060\/repo\//)
  })

  it.each([
    ['another system', { podOS: 'windows' }, 'linux'],
    ['no administration address', { listen: {} }, 'administration'],
    ['no addresses for redirected connections', { listen: explicit.listen }, 'redirected'],
    [
      'no address for metrics',
      {
        listen: {
          admin: { address: '127.0.0.1', port: 1 },
          inbound: { address: '0.0.0.0', port: 2 },
          outbound: { address: '0.0.0.0', port: 3 },
        },
      },
      'metrics',
    ],
    [
      'the name of something else',
      { proxyCommonName: 'x.default.cluster.local' as InjectorContext['proxyCommonName'] },
      'name',
    ],
  ] as const)('refuses %s', async (_what, changes, words) => {
    await expect(patch(injectorContext(changes))).rejects.toMatchObject({
      code: 'OSM_DRIVER_PATCH',
      message: expect.stringContaining(words) as unknown,
    })
  })
})
