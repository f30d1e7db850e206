import { programs } from './mesh.js'
import { account, service, workload } from './yaml.js'

/** A client, and a store that answers it over HTTP. */
export const clientAndStore: readonly string[] = [
  account('shop/client'),
  workload('shop/client', { program: programs.idle }),
  account('shop/store'),
  workload('shop/store', { program: programs.http, port: 8080 }),
  service('shop/store', 'store', 8080),
]

/** A server that sends back what it gets over TCP. */
export const echo: readonly string[] = [
  account('shop/echo'),
  workload('shop/echo', { program: programs.tcp, port: 9000 }),
  service('shop/echo', 'echo', 9000, { protocol: 'tcp' }),
]
