import { programs } from './mesh.js'
import { withSpec, workload } from './yaml.js'

/** What a workload belongs to. */
interface Membership {
  readonly account: string
  readonly app: string
}

/** A workload with a sidecar that answers by its own name over HTTP and over TCP. */
export function httpAndTcpWorkload(
  id: `${string}/${string}`,
  membership: Membership,
  { http, tcp }: { readonly http: number; readonly tcp: number },
): string {
  return withSpec(workload(id, { program: programs.httpAndTcp, ...membership }), {
    ports: [{ port: http }, { port: tcp }],
    env: [
      { name: 'NAME', value: id.split('/')[1] },
      { name: 'PORT_HTTP', value: String(http) },
      { name: 'PORT_TCP', value: String(tcp) },
    ],
  })
}

/** A workload without a sidecar that the mesh does not run, at an address. */
export function workloadAt(
  address: string,
  id: `${string}/${string}`,
  membership: Membership,
  ports: readonly number[],
): string {
  return withSpec(workload(id, { program: programs.idle, ...membership, sidecar: false }), {
    address,
    command: undefined,
    env: undefined,
    replicas: undefined,
    ports: ports.map((port) => ({ port })),
  })
}
