import type { IncomingMessage, ServerResponse } from 'node:http'
import { json } from 'node:stream/consumers'

import type { KubernetesManifest } from '@osm-ts/kubernetes'

import { FakeApiServer } from '@osm-ts/kubernetes/testing'
import { smiVersions } from '@osm-ts/controller/testing'
import type { ApiCommand, ApiReport } from './api.js'
import { typeOf } from '../kubernetes-cluster.js'

// The API server of a generated mesh, in its own process: what it does takes no time from the controller under test but that of the other core.
// It is told by its parent what to store. Times are those of the machine's monotonic clock, which is the same in every process.

const server = await FakeApiServer.start()
for (const version of new Set(Object.values(smiVersions))) {
  const kinds = Object.entries(smiVersions).filter(([, served]) => served === version)
  server.documents.set(`/apis/${version}`, { kind: 'APIResourceList', resources: kinds.map(([kind]) => ({ kind })) })
}

const report = (message: ApiReport): void => {
  // After the parent has hung up there is no one to tell.
  if (process.connected) process.send?.(message)
}

function put(object: KubernetesManifest): void {
  const { apiVersion: _version, kind: _kind, metadata, ...rest } = object
  server.put(typeOf(object), metadata, rest)
}

/** Stores objects at a rate, some of them in each of its steps of ten milliseconds. */
async function stream(objects: readonly KubernetesManifest[], perSecond: number): Promise<void> {
  const start = performance.now()
  for (let done = 0; done < objects.length;) {
    const due = Math.min(objects.length, Math.floor(((performance.now() - start) / 1000) * perSecond) + 1)
    for (; done < due; done += 1) {
      const object = objects[done]
      if (object !== undefined) put(object)
    }
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
}

/**
 * Secrets of pods are read, answered and forgotten. No one requests them, tens of thousands of them would make this process pause for its own heap in the
 * middle of reviews, and whatever else it did would count as the injector's time.
 */
function forgetSecrets(namespace: string): void {
  let created = 0
  const take = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
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
  server.takeFirst = (request, response) => {
    if (request.method !== 'POST' || request.url?.split('?')[0] !== `/api/v1/namespaces/${namespace}/secrets`)
      return false
    void take(request, response)
    return true
  }
}

async function obey(command: ApiCommand): Promise<void> {
  const at = process.hrtime.bigint().toString()
  switch (command.type) {
    case 'put':
      for (const object of command.objects) put(object)
      break
    case 'stream':
      await stream(command.objects, command.perSecond)
      break
    case 'remove':
      for (const object of command.objects)
        server.remove(typeOf(object), { namespace: object.metadata.namespace ?? '', name: object.metadata.name })
      break
    case 'forget-secrets':
      forgetSecrets(command.namespace)
      break
    case 'close':
      await server.close()
      process.disconnect()
      return
  }
  report({ type: 'done', id: command.id, at })
}

process.on('message', (command: ApiCommand) => void obey(command))
report({ type: 'listening', url: server.url })
// A parent that is killed says nothing.
process.once('disconnect', () => process.exit(0))
