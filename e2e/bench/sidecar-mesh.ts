import { startTestMesh, type TestMesh } from '../dataplane/support/mesh.js'
import { account, meshConfig, routeGroup, service, trafficTarget, workload } from '../dataplane/support/yaml.js'
import { type Address, LOOPBACK } from './plain-processes.js'

/** Where the programs of a mesh are. */
export interface MeshPrograms {
  readonly envoy: string
  /** Class of the sidecars; Envoy where nothing is said. */
  readonly sidecarClass?: string
  readonly controllerProgram: string
}

/** Name of the server as clients call it. */
export const AUTHORITY = 'server.bench:8080'

/** Starts a mesh with real sidecars, in explicit mode, and waits until it is at rest. */
export function startSidecarMesh(
  { envoy, sidecarClass, controllerProgram }: MeshPrograms,
  files: Readonly<Record<string, readonly string[]>>,
): Promise<TestMesh> {
  return startTestMesh(files, { sidecarClass, envoy, controllerProgram })
}

/** Starts a mesh of a client and a server that it may read from, under SMI policy. */
export function startOneServerMesh(
  programs: MeshPrograms & { readonly idle: string; readonly server: string },
): Promise<TestMesh> {
  return startSidecarMesh(programs, {
    'mesh.yaml': [
      meshConfig({ traffic: { enablePermissiveTrafficPolicyMode: false, enableEgress: false } }),
      account('bench/client'),
      workload('bench/client', { program: programs.idle }),
      account('bench/server'),
      workload('bench/server', { program: programs.server, port: 8080 }),
      service('bench/server', 'server', 8080, { protocol: 'http' }),
      routeGroup('bench/server', [{ name: 'read', pathRegex: '/books/.*', methods: ['GET'] }]),
      trafficTarget('bench/server', {
        to: 'bench/server',
        from: ['bench/client'],
        rules: [{ kind: 'HTTPRouteGroup', name: 'server' }],
      }),
    ],
  })
}

/** Address of the forward proxy of a workload's sidecar. */
export function proxyAddress(mesh: TestMesh, workload: string): Address {
  const { hostname, port } = new URL(mesh.proxyOf(workload))
  return { host: hostname, port: Number(port) }
}

/** Where the server's program itself listens: in explicit mode its own port can be reached on the machine. */
export function applicationOf(mesh: TestMesh): Address {
  const port = mesh.instance('bench/server').environment.PORT
  if (port === undefined) throw new Error('the server was given no PORT')
  return { host: LOOPBACK, port: Number(port) }
}
