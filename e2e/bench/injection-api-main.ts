import type { IncomingMessage, ServerResponse } from 'node:http'
import { json } from 'node:stream/consumers'

import { type KubernetesManifest, resourceTypes } from '@osm-ts/kubernetes'

import { FakeApiServer } from '@osm-ts/kubernetes/testing'
import { BENCH_NAMESPACE, meshConfigSpec } from './injection-pods.js'

// An API server for the injector under test, in its own process: it takes no time from the injector, and every Secret is a request over a socket.
// It prints its address, and ends with its standard input.

const SECRETS = `/api/v1/namespaces/${BENCH_NAMESPACE}/secrets`

const server = await FakeApiServer.start()
server.put(resourceTypes.Namespace, {
  name: BENCH_NAMESPACE,
  labels: { 'openservicemesh.io/monitored-by': 'osm' },
  annotations: { 'openservicemesh.io/sidecar-injection': 'enabled' },
})
server.put(resourceTypes.MeshConfig, { name: 'osm-mesh-config', namespace: 'osm-system' }, { spec: meshConfigSpec })

// Secrets of pods are read, answered and forgotten. No one requests them, tens of thousands of them would make this process pause for its own heap in the middle of
// reviews, and whatever else it did would count as the injector's time.
let created = 0
server.takeFirst = (request, response) => {
  if (request.method !== 'POST' || request.url?.split('?')[0] !== SECRETS) return false
  void takeSecret(request, response)
  return true
}

async function takeSecret(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { kind, metadata } = (await json(request)) as KubernetesManifest
  if (kind !== 'Secret') {
    response.writeHead(400).end()
    return
  }
  created += 1
  const stored = { ...metadata, uid: `secret-${created}`, resourceVersion: String(created) }
  const answer = JSON.stringify({ apiVersion: 'meta.k8s.io/v1', kind: 'PartialObjectMetadata', metadata: stored })
  response.writeHead(201, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(answer) })
  response.end(answer)
}

console.log(server.url)
process.stdin.resume().on('end', () => void server.close())
