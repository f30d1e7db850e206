import { account, meshConfig, routeGroup, service, trafficTarget, workload } from '../dataplane/support/yaml.js'
import { type Address, LOOPBACK } from './plain-processes.js'
import { type MeshPrograms, RealMesh } from './real-mesh.js'

/** Name of the server as clients call it. */
export const AUTHORITY = 'server.bench:8080'

/** Starts a mesh of a client and a server that it may read from, under SMI policy. */
export function startOneServerMesh(
  programs: MeshPrograms & { readonly idle: string; readonly server: string },
): Promise<RealMesh> {
  return RealMesh.of(programs, {
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

/** Where the server's program itself listens: in explicit mode its own port can be reached on the machine. */
export function applicationOf(mesh: RealMesh): Address {
  const port = mesh.mesh.instances().find(({ workload: name }) => name === 'server')?.environment.PORT
  if (port === undefined) throw new Error('the server was given no PORT')
  return { host: LOOPBACK, port: Number(port) }
}
