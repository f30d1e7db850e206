import type { KindMap, MeshObject } from '../../src/spec/index.js'
import { instancesOf } from './mesh-fixture.js'

/** How large a mesh is. */
export interface MeshSize {
  readonly services: number
  readonly namespaces: number
  /** Services that each workload may call under SMI policy. */
  readonly reach: number
  readonly replicas?: number
}

const origin = { kind: 'file', file: 'large.yaml', line: 1, column: 1 } as const
const nameOf = (index: number): string => `s${String(index).padStart(4, '0')}`

/**
 * A mesh of many services in a ring, each with an account and workloads of its own: workloads of service `i` may call services `i + 1` to `i + reach`.
 */
export function largeMesh({ services, namespaces, reach, replicas = 1 }: MeshSize): readonly MeshObject[] {
  const namespaceOf = (index: number): string => `n${index % namespaces}`
  return Array.from({ length: services }, (_, index) => index).flatMap((index): readonly MeshObject[] => {
    const [name, namespace] = [nameOf(index), namespaceOf(index)]
    const metadata = { name, namespace, labels: { app: name }, annotations: {} }
    const service: KindMap['Service'] = {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { ...metadata, labels: {} },
      spec: {
        clusterIP: `10.96.${Math.floor(index / 250)}.${(index % 250) + 1}`,
        selector: { app: name },
        ports: [{ name: 'http', port: 80, targetPort: 8080, protocol: 'TCP' }],
      },
      origin,
    }
    const workload: KindMap['Workload'] = {
      apiVersion: 'standalone.openservicemesh.io/v1alpha1',
      kind: 'Workload',
      metadata,
      spec: {
        serviceAccountName: name,
        replicas,
        ports: [{ port: 8080 }],
        env: [],
        restartPolicy: 'Always',
        sidecar: true,
      },
      origin,
    }
    const callers = Array.from({ length: reach }, (_unused, step) => (index - step - 1 + services) % services)
    const target: KindMap['TrafficTarget'] = {
      apiVersion: 'access.smi-spec.io/v1alpha3',
      kind: 'TrafficTarget',
      metadata: { ...metadata, labels: {} },
      spec: {
        destination: { kind: 'ServiceAccount', name, namespace },
        rules: [{ kind: 'HTTPRouteGroup', name: 'routes' }],
        sources: callers.map((caller) => ({
          kind: 'ServiceAccount',
          name: nameOf(caller),
          namespace: namespaceOf(caller),
        })),
      },
      origin,
    }
    const routes: KindMap['HTTPRouteGroup'] = {
      apiVersion: 'specs.smi-spec.io/v1alpha4',
      kind: 'HTTPRouteGroup',
      metadata: { ...metadata, name: 'routes', labels: {} },
      spec: { matches: [{ name: 'read', pathRegex: '/api/.*', methods: ['GET'] }] },
      origin,
    }
    return [service, workload, target, ...(index < namespaces ? [routes] : []), ...instancesOf(workload, index)]
  })
}
