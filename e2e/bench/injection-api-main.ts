import { resourceTypes } from '@osm-ts/core'

import { FakeApiServer } from '../../packages/core/test/kubernetes/fake-api-server.js'
import { BENCH_NAMESPACE, meshConfigSpec } from './injection-pods.js'

// An API server for the injector under test, in a process of its own: it takes no time from the injector, and every Secret is a request over a socket.
// It prints its address, and ends with its standard input.

/** How often Secrets of pods are forgotten. Kept, tens of thousands of them would make this process pause for its own heap, in the middle of reviews. Not in step
 * with reviews at a fixed rate, and few at a time. */
const FORGET_EVERY_MS = 37

const server = await FakeApiServer.start()
server.put(resourceTypes.Namespace, {
  name: BENCH_NAMESPACE,
  labels: { 'openservicemesh.io/monitored-by': 'osm' },
  annotations: { 'openservicemesh.io/sidecar-injection': 'enabled' },
})
server.put(resourceTypes.MeshConfig, { name: 'osm-mesh-config', namespace: 'osm-system' }, { spec: meshConfigSpec })
console.log(server.url)
const forgetting = setInterval(() => {
  server.requests.length = 0
  for (const { metadata } of server.objects.list(resourceTypes.Secret)) {
    const { namespace = '', name } = metadata
    if (namespace === BENCH_NAMESPACE) server.remove(resourceTypes.Secret, { namespace, name })
  }
  server.objects.compact()
}, FORGET_EVERY_MS)
process.stdin.resume().on('end', () => {
  clearInterval(forgetting)
  void server.close()
})
