import { describe, expect, it } from '@jest/globals'
import { formatProbeBindings, ProbeBindingsReader } from '@osm-ts/kubernetes'
import fc from 'fast-check'

import { podOf, readPod } from '../../test/fixture.js'
import type { JsonObject } from '../json/json.js'
import { type Pod, PodReader } from '../pod/pod.js'
import { restoreProbes } from './restore-probes.js'
import { rewriteProbes } from './rewrite-probes.js'

const containersOf = (pod: JsonObject): readonly JsonObject[] =>
  (pod.spec as { containers: readonly JsonObject[] }).containers

describe('rewriteProbes', () => {
  it.each<[string, JsonObject, JsonObject, JsonObject]>([
    [
      'HTTP',
      {
        httpGet: { port: 8080, path: '/alive?x=1', httpHeaders: [{ name: 'Host', value: 'a' }], unknown: 1 },
        periodSeconds: 7,
        timeoutSeconds: 3,
      },
      {
        httpGet: { port: 15901, path: '/osm-liveness-probe', httpHeaders: [{ name: 'Host', value: 'a' }], unknown: 1 },
        periodSeconds: 7,
        timeoutSeconds: 3,
      },
      { type: 'http', port: 8080, path: '/alive?x=1' },
    ],
    [
      'HTTP by name of a port, without a path',
      { httpGet: { port: 'web' } },
      { httpGet: { port: 15901, path: '/osm-liveness-probe' } },
      { type: 'http', port: 8081, path: '/' },
    ],
    [
      'HTTP by a number as text',
      { httpGet: { port: '81', path: 'x' } },
      { httpGet: { port: 15901, path: '/osm-liveness-probe' } },
      { type: 'http', port: 81, path: '/x' },
    ],
    [
      'HTTPS',
      { httpGet: { port: 8443, path: '/', scheme: 'HTTPS' } },
      { httpGet: { port: 15901, path: '/osm-liveness-probe', scheme: 'HTTP' } },
      { type: 'https', port: 8443, path: '/' },
    ],
    [
      'TCP',
      { initialDelaySeconds: 3, tcpSocket: { port: 3306 } },
      { initialDelaySeconds: 3, httpGet: { path: '/osm-liveness-probe', port: 15901, scheme: 'HTTP' } },
      { type: 'tcp', port: 3306 },
    ],
    [
      'gRPC',
      { grpc: { port: 9000, service: 'app' } },
      { grpc: { port: 15901, service: 'app' } },
      { type: 'grpc', port: 9000, service: 'app' },
    ],
  ])('sends a probe over %s to the sidecar', (_what, probe, expected, target) => {
    const pod = podOf({ ports: [{ name: 'web', containerPort: 8081 }], livenessProbe: probe })
    const rewritten = rewriteProbes(readPod(pod), [])
    expect(containersOf(rewritten.pod)[0]?.livenessProbe).toEqual(expected)
    const [binding] = rewritten.bindings
    expect(binding).toMatchObject({ container: 'app', probe: 'liveness', port: 15901, target })
    expect(binding?.timeoutMs).toBe(probe.timeoutSeconds === undefined ? 1000 : 3000)
    expect(new ProbeBindingsReader().read(formatProbeBindings(rewritten.bindings))).toEqual({
      bindings: rewritten.bindings,
    })
  })

  it('tells the probes of all containers apart, native sidecars among them', () => {
    const probe = { tcpSocket: { port: 80 } }
    const pod = podOf(
      { livenessProbe: probe, readinessProbe: probe, startupProbe: probe },
      {
        spec: {
          initContainers: [{ name: 'proxy', restartPolicy: 'Always', readinessProbe: probe }],
          containers: [
            { name: 'app', livenessProbe: probe, readinessProbe: probe, startupProbe: probe },
            { name: 'b', readinessProbe: probe },
          ],
        },
      },
    )
    expect(
      rewriteProbes(readPod(pod), []).bindings.map(({ container, port, path }) => `${container} ${port} ${path}`),
    ).toEqual([
      'proxy 15902 /osm-readiness-probe',
      'app 15901 /osm-liveness-probe',
      'app 15902 /osm-readiness-probe/app',
      'app 15903 /osm-startup-probe',
      'b 15902 /osm-readiness-probe/b',
    ])
  })

  it('gives each gRPC port of the workload one of its own, and refuses more than there are', () => {
    const grpc = (port: number): JsonObject => ({ grpc: { port } })
    const container = (name: string, port: number): JsonObject => ({
      name,
      livenessProbe: grpc(port),
      readinessProbe: grpc(port),
    })
    const pod = (ports: readonly number[]): Pod =>
      readPod({ spec: { containers: ports.map((port, index) => container(`c${index}`, port)) } })
    const { bindings, pod: rewritten } = rewriteProbes(pod([7000, 7001, 7002]), [])
    expect(bindings.map(({ port, target }) => `${port} ${target.port}`)).toEqual([
      '15901 7000',
      '15902 7001',
      '15903 7002',
    ])
    expect(containersOf(rewritten)[1]).toMatchObject({ livenessProbe: grpc(15902), readinessProbe: grpc(15902) })
    expect(() => rewriteProbes(pod([7000, 7001, 7002, 7003]), [])).toThrow(/gRPC probes of more than 3 ports/)
  })

  it.each<[string, JsonObject, string]>([
    ['a command', { exec: { command: ['true'] } }, 'it runs in the container'],
    ['another host', { httpGet: { host: 'example.org', port: 80 } }, 'it goes to host "example.org"'],
    ['another host by TCP', { tcpSocket: { host: '127.0.0.1', port: 80 } }, 'it goes to host'],
    ['an unknown port', { httpGet: { port: 'nowhere' } }, 'its port "nowhere" is not a port of the container'],
    ['an excluded port', { httpGet: { port: 9100 } }, 'port 9100 is excluded'],
    ['a port of the sidecar', { httpGet: { port: 15000 } }, 'port 15000 is one of the sidecar'],
  ])('leaves %s alone and says why', (_what, readinessProbe, note) => {
    const pod = readPod(podOf({ readinessProbe }))
    const rewritten = rewriteProbes(pod, [9100])
    expect(rewritten.pod).toBe(pod)
    expect(rewritten.notes).toEqual([expect.stringContaining(`readiness probe of container app stays: ${note}`)])
  })

  it('can be taken back: what a kubelet would ask is what it asked', () => {
    const port = fc.oneof(fc.integer({ min: 1, max: 14_999 }), fc.constantFrom('web', '8080'))
    const handler = fc.oneof(
      fc.record({
        httpGet: fc.record({
          port,
          path: fc.constantFrom('/', '/a?b=c', '/ü'),
          scheme: fc.constantFrom('HTTP', 'HTTPS'),
        }),
      }),
      fc.record({ tcpSocket: fc.record({ port }) }),
      fc.record({ grpc: fc.record({ port: fc.constantFrom(1, 2, 3), service: fc.string() }) }),
      fc.constant({ exec: { command: ['true'] } }),
    )
    const probe = fc
      .tuple(handler, fc.record({ periodSeconds: fc.nat(), timeoutSeconds: fc.integer({ min: 1, max: 9 }) }))
      .map(([a, b]) => ({ ...b, ...a }))
    const container = fc.record(
      { livenessProbe: probe, readinessProbe: probe, startupProbe: probe },
      { requiredKeys: [] },
    )
    const pods = fc.array(container, { minLength: 1, maxLength: 4 }).map((containers) => ({
      spec: {
        containers: containers.map((probes, index) => ({
          name: `c${index}`,
          ports: [{ name: 'web', containerPort: 8000 + index }],
          ...probes,
        })),
      },
    }))
    const reader = new PodReader()
    fc.assert(
      fc.property(pods, (pod) => {
        const once = rewriteProbes(reader.read(pod), [])
        const again = rewriteProbes(restoreProbes(once.pod, once.bindings), [])
        expect(again.pod).toEqual(once.pod)
        expect(again.bindings).toEqual(once.bindings)
      }),
    )
  })
})
