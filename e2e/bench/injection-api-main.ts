import { resourceTypes } from '@osm-ts/core'

import { FakeApiServer } from '../../packages/core/test/kubernetes/fake-api-server.js'
import { BENCH_NAMESPACE, meshConfigSpec } from './injection-pods.js'

// An API server for the injector under test, in a process of its own: it takes no time from the injector, and every Secret is a request over a socket.
// It prints its address, answers `requests` with how many Secrets it has stored, and ends with its standard input.

const server = await FakeApiServer.start()
server.put(resourceTypes.Namespace, {
  name: BENCH_NAMESPACE,
  labels: { 'openservicemesh.io/monitored-by': 'osm' },
  annotations: { 'openservicemesh.io/sidecar-injection': 'enabled' },
})
server.put(resourceTypes.MeshConfig, { name: 'osm-mesh-config', namespace: 'osm-system' }, { spec: meshConfigSpec })
console.log(server.url)
process.stdin.resume().on('end', () => {
  void server.close()
})
