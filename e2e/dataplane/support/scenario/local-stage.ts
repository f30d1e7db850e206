import { fileURLToPath } from 'node:url'

import type { Driver } from '@osm-ts/driver-api'
import { createEnvoyDriver } from '@osm-ts/driver-envoy'
import { type LocalMode, LocalStage } from '@osm-ts/driver-testkit'

import { startTestMesh } from '../mesh.js'

const actor = fileURLToPath(new URL('../../../dist/scenario-actor.mjs', import.meta.url))
const FILE = 'scenario.yaml'

/** The stage of scenarios on a mesh that runs in the process of the tests. */
export function localStage(mode: LocalMode, driver: Driver = createEnvoyDriver()): LocalStage {
  return new LocalStage({ mode, driver, actor, startMesh })
}

async function startMesh(
  ...[documents, mode, sidecarClass]: Parameters<ConstructorParameters<typeof LocalStage>[0]['startMesh']>
) {
  const mesh = await startTestMesh({ [FILE]: documents }, mode, undefined, sidecarClass)
  return {
    stateFolder: mesh.stateFolder,
    write: (changed: readonly string[]) => mesh.write(FILE, ...changed),
    debug: mesh.debug,
    stop: mesh.stop,
  }
}
