import type { JsonValue } from '@osm-ts/driver-api/policy'

import type { LocalMode } from '../../scenarios/format.js'
import { LocalScenarioRunner, type LocalScenarioRunnerOptions } from '../../scenarios/local/local-scenario-runner.js'
import { ProgramMesh, type ProgramMeshOptions } from '../../scenarios/local/program-mesh.js'
import { scenariosOf } from '../../scenarios/read-scenario.js'
import type { Check } from '../check.js'
import { faultChecks } from './fault-checks.js'
import { scenarioChecks } from './scenario-checks.js'

/** What {@link Level1} is made of. */
export interface Level1Options extends Pick<LocalScenarioRunnerOptions, 'driver' | 'actor'> {
  /** `sidecarDrivers[].config` that the driver is tried with. */
  readonly config: JsonValue
  /** How connections get into the sidecars; `transparent` takes root on Linux. */
  readonly mode: LocalMode
  /** How meshes are run. */
  readonly mesh: Omit<ProgramMeshOptions, 'sidecarClass' | 'mode'>
}

/**
 * Level 1 of the conformance suite: the driver's real proxy as a process, in meshes of this machine that the program `osm` runs. The checks belong together: they are made
 * for one run, one after the other.
 */
export class Level1 {
  readonly checks: readonly Check[]
  readonly #runner: LocalScenarioRunner

  constructor({ driver, actor, config, mode, mesh }: Level1Options) {
    let running: ProgramMesh | undefined
    const isEmpty = typeof config === 'object' && config !== null && Object.keys(config).length === 0
    this.#runner = new LocalScenarioRunner({
      mode,
      driver,
      ...(actor !== undefined && { actor }),
      ...(!isEmpty && { meshSpec: { sidecar: { sidecarDrivers: [{ sidecarName: driver.name, config }] } } }),
      startMesh: async (documents, meshMode, sidecarClass) => {
        running = await ProgramMesh.start({ ...mesh, mode: meshMode, sidecarClass }, documents)
        return running
      },
    })
    const theMesh = (): ProgramMesh => {
      if (running === undefined) throw new Error('no mesh runs')
      return running
    }
    this.checks = [
      ...scenarioChecks(scenariosOf(mode), this.#runner),
      ...faultChecks({ runner: this.#runner, mesh: theMesh }),
    ]
  }

  /** Ends the mesh. */
  close(): Promise<void> {
    return this.#runner.stop()
  }
}
