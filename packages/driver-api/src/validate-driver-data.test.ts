import { describe, expect, it } from '@jest/globals'

import type { SidecarPatch } from './sidecar-patch.js'
import {
  validateApplyReport,
  validateHealthProbes,
  validateProxyObservation,
  validateSidecarPatch,
} from './validate-driver-data.js'

const hash = 'h'.repeat(32)

const patch: SidecarPatch = {
  sidecar: {
    image: 'envoyproxy/envoy:v1.40.0',
    binary: 'envoy',
    initWrapper: ['/sbin/init', '--'],
    args: [
      '--config-path',
      [{ ref: 'file', path: 'bootstrap.json' }],
      ['--id=', { ref: 'workload', field: 'instance' }],
    ],
    env: [{ name: 'POD_IP', value: [{ ref: 'workload', field: 'address' }] }],
    ports: [{ name: 'proxy-inbound', port: 15003, protocol: 'TCP' }],
    resources: { limits: { cpu: '1.5', memory: '64Mi' }, requests: { cpu: '100m', memory: '1e6' } },
    security: { runAsUser: 1500, readOnlyRootFilesystem: true },
  },
  files: [
    { path: 'bootstrap.json', content: { text: ['{"key": "', { ref: 'file', path: 'tls.key' }, '"}'] } },
    { path: 'tls.key', content: { from: 'bootstrap.key' } },
  ],
  ready: { http: { port: 15021, path: '/ready', status: 200 }, periodMs: 500 },
  drain: { action: { kind: 'http', method: 'POST', port: 15000, path: '/drain' }, minMs: 0, maxMs: 30_000 },
  quit: { kind: 'signal', signal: 'SIGTERM' },
  metrics: { port: 15010, path: '/stats/prometheus' },
  admin: { port: 15000 },
  interception: { inboundPort: 15003, outboundPort: 15001, proxyUid: 1500, excludedInboundPorts: [15010], ipv6: true },
  annotations: { 'envoy.sidecar.openservicemesh.io/a': 'b' },
  initContainers: [{ name: 'envoy-a', image: 'b', command: ['c'], env: [] }],
  volumes: [{ name: 'envoy-tmp', mountPath: '/tmp', sizeLimit: '16Mi' }],
}

function sidecar(change: object): unknown {
  return { ...patch, sidecar: { ...patch.sidecar, ...change } }
}

describe('validateSidecarPatch', () => {
  it('accepts a patch, and its form on a wire', () => {
    expect(validateSidecarPatch(patch)).toEqual([])
    expect(validateSidecarPatch(JSON.parse(JSON.stringify(patch)))).toEqual([])
  })

  it.each<[string, unknown, readonly string[]]>([
    ['nothing', undefined, ['']],
    ['root', sidecar({ security: { runAsUser: 0, readOnlyRootFilesystem: true } }), ['/sidecar/security/runAsUser']],
    [
      'privileges',
      sidecar({ security: { ...patch.sidecar.security, privileged: true } }),
      ['/sidecar/security/privileged'],
    ],
    ['an unknown fact', sidecar({ args: [[{ ref: 'workload', field: 'password' }]] }), ['/sidecar/args/0/0/field']],
    [
      'a long port name',
      sidecar({ ports: [{ name: 'a'.repeat(16), port: 1, protocol: 'TCP' }] }),
      ['/sidecar/ports/0/name'],
    ],
    ['an empty init wrapper', sidecar({ initWrapper: [] }), ['/sidecar/initWrapper']],
    ['an invalid amount', sidecar({ resources: { limits: { cpu: 'much' } } }), ['/sidecar/resources/limits/cpu']],
    ['a path outside', { ...patch, files: [{ path: '../key', content: { text: '' } }] }, ['/files/0/path']],
    [
      'key material of the driver',
      { ...patch, files: [{ path: 'a', content: { from: 'root.key' } }] },
      ['/files/0/content/from'],
    ],
    ['a signal that only stops', { ...patch, quit: { kind: 'signal', signal: 'SIGSTOP' } }, ['/quit/signal']],
    ['an action of no kind', { ...patch, quit: { kind: 'pray' } }, ['/quit/kind']],
  ])('refuses %s', (_what, value, expected) => {
    expect(validateSidecarPatch(value).map(({ pointer }) => pointer)).toEqual(expected)
  })
})

describe('validateApplyReport', () => {
  const report = {
    session: 's',
    revision: 3,
    complete: false,
    parts: [{ hash, id: 'a', state: 'rejected', message: 'no', element: '/rules' }],
  }

  it('accepts a report', () => {
    expect(validateApplyReport(report)).toEqual([])
  })

  it.each<[string, object, readonly string[]]>([
    ['a state that only the host gives', { state: 'stale' }, ['/parts/0/state']],
    ['a long message', { message: 'x'.repeat(4097) }, ['/parts/0/message']],
    ['an element that is not a pointer', { element: 'rules' }, ['/parts/0/element']],
    ['an invalid hash', { hash: 'abc' }, ['/parts/0/hash']],
  ])('refuses %s', (_what, change, expected) => {
    const value = { ...report, parts: report.parts.map((part) => ({ ...part, ...change })) }
    expect(validateApplyReport(value).map(({ pointer }) => pointer)).toEqual(expected)
  })
})

describe('validateHealthProbes', () => {
  const probe = { path: '/health', port: 9091, http: true, timeoutMs: 1000, tcpSocket: false }

  it.each([
    ['none at all', {}],
    ['an HTTP probe', { liveness: probe }],
    ['a TCP probe', { readiness: { ...probe, http: false, tcpSocket: true, path: '' } }],
  ])('accepts %s', (_what, value) => {
    expect(validateHealthProbes(value)).toEqual([])
  })

  it.each<[string, object, readonly string[]]>([
    ['both ways at once', { tcpSocket: true }, ['/startup']],
    ['no way', { http: false }, ['/startup']],
    ['no path', { path: '' }, ['/startup/path']],
    ['no port', { port: 0 }, ['/startup/port']],
    ['a timeout of zero', { timeoutMs: 0 }, ['/startup/timeoutMs']],
  ])('refuses %s', (_what, change, expected) => {
    expect(validateHealthProbes({ startup: { ...probe, ...change } }).map(({ pointer }) => pointer)).toEqual(expected)
  })
})

describe('validateProxyObservation', () => {
  const condition = { code: 'OSM_X_Y', message: 'is wrong' }

  it('accepts conditions of a session, and a peer that was refused', () => {
    expect(validateProxyObservation({ session: 's', conditions: [condition] })).toEqual([])
    expect(validateProxyObservation({ refused: { ...condition, address: '10.0.0.1' } })).toEqual([])
  })

  it.each([
    ['a text in place of a code', { session: 's', conditions: [{ ...condition, code: 'is wrong' }] }],
    ['words without end', { session: 's', conditions: [{ ...condition, message: 'x'.repeat(5000) }] }],
    ['a uuid in place of a whole name', { refused: { ...condition, address: '10.0.0.1', uuid: 'me' } }],
    ['an empty name', { refused: { ...condition, address: '10.0.0.1', commonName: '' } }],
    ['both', { session: 's', conditions: [], refused: { ...condition, address: '10.0.0.1' } }],
  ])('refuses %s', (_what, value) => {
    expect(validateProxyObservation(value)).not.toEqual([])
  })
})
