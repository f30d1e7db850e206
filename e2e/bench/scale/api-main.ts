import { resourceTypes } from '@osm-ts/kubernetes'

import { FakeApiServer } from '@osm-ts/kubernetes/testing'
import { smiVersions } from '@osm-ts/controller/testing'
import type { ApiCommand, ApiReport } from './api.js'
import type { MeshObject } from './mesh.js'

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

function put({ kind, metadata, rest }: MeshObject): void {
  server.put(resourceTypes[kind], metadata, rest)
}

/** Stores objects at a rate, some of them in each of its steps of ten milliseconds. */
async function stream(objects: readonly MeshObject[], perSecond: number): Promise<void> {
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
      for (const { kind, metadata } of command.objects)
        server.remove(resourceTypes[kind], { namespace: metadata.namespace ?? '', name: metadata.name })
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
