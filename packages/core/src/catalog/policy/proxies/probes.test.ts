import { describe, expect, it } from '@jest/globals'

import type { KindMap } from '../../../spec/index.js'
import { probeBindings, probeProblems } from './probes.js'

type Spec = KindMap['WorkloadInstance']['spec']

function instance(spec: Partial<Spec>): KindMap['WorkloadInstance'] {
  return {
    apiVersion: 'standalone.openservicemesh.io/v1alpha1',
    kind: 'WorkloadInstance',
    metadata: { name: 'bank-0', namespace: 'shop', labels: {}, annotations: {} },
    spec: {
      uuid: 'c0ffee00-0000-4000-8000-000000000001',
      workload: 'bank',
      serviceAccountName: 'bank',
      sidecarClass: 'envoy',
      mode: 'transparent',
      addresses: ['10.0.0.1'],
      ports: [{ name: 'web', port: 80, localPort: 8080 }],
      ready: true,
      createdAt: '2026-01-01T00:00:00Z',
      ...spec,
    },
    origin: { kind: 'file', file: 'runtime.yaml', line: 1, column: 1 },
  }
}

describe('probes of a workload that the sidecar answers', () => {
  it('are answered at a path each, as an injector has them, and never by a connection that is passed on past mutual TLS', () => {
    const probes = {
      liveness: { grpc: { port: 9000, service: 'app' } },
      readiness: { httpGet: { port: 'web', path: '/ready?deep=1', scheme: 'HTTPS' as const }, timeoutSeconds: 3 },
      startup: { tcpSocket: { port: 'web' } },
    }
    const common = { container: 'bank', timeoutMs: 1000 }
    expect(probeBindings(instance({ probes }), ['IPv4'])).toEqual([
      {
        ...common,
        probe: 'liveness',
        listen: { address: '0.0.0.0', port: 15901 },
        path: '/grpc.health.v1.Health/Check',
        target: { type: 'grpc', port: 9000, service: 'app' },
      },
      {
        ...common,
        probe: 'readiness',
        listen: { address: '0.0.0.0', port: 15902 },
        path: '/osm-readiness-probe',
        target: { type: 'https', port: 8080, path: '/ready?deep=1' },
        timeoutMs: 3000,
      },
      {
        ...common,
        probe: 'startup',
        listen: { address: '0.0.0.0', port: 15903 },
        path: '/osm-startup-probe',
        target: { type: 'tcp', port: 8080 },
      },
    ])
    expect(probeProblems(instance({ probes }))).toEqual([])
    expect(probeBindings(instance({ probes, mode: 'explicit' }), ['IPv4'])).toEqual([])
  })

  it.each([15000, 15001, 15003, 15010, 15901, 15904, 5300])(
    'are left out, and reported, where they aim at port %i of the sidecar',
    (port) => {
      const written = instance({ probes: { liveness: { tcpSocket: { port } }, readiness: { grpc: { port: 9000 } } } })
      expect(probeBindings(written, ['IPv4']).map(({ probe }) => probe)).toEqual(['readiness'])
      expect(probeProblems(written)).toMatchObject([
        { code: 'OSM_POLICY_PROBE', field: 'spec.probes.liveness', object: { namespace: 'shop', name: 'bank-0' } },
      ])
      const given = instance({
        probeBindings: [
          {
            container: 'app',
            probe: 'readiness',
            port: 15902,
            path: '/osm-readiness-probe',
            target: { type: 'http', port, path: '/' },
            timeoutMs: 1000,
          },
        ],
      })
      expect(probeBindings(given, ['IPv4'])).toEqual([])
      const [problem] = probeProblems(given)
      expect(problem?.field).toBe('spec.probeBindings[0].target.port')
      expect(problem?.message).toContain(`the readiness probe of container app asks port ${port}`)
    },
  )
})
