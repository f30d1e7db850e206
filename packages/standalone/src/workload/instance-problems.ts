import { makeObjectKey, objectRef, type Problem } from '@osm-ts/core'
import { isOsmError } from '@osm-ts/driver-api'
import { errorMessage } from '@osm-ts/driver-api/toolkit'

import type { StandaloneErrorCode } from '../errors.js'
import type { DesiredInstance } from './desired-instances.js'
import type { InstanceServices } from './instance-services.js'

/** The field of a Workload that an error is about. */
const fieldOfCode: Readonly<Record<string, string>> = {
  OSM_STANDALONE_COMMAND: 'spec.command',
  OSM_STANDALONE_WORKING_DIR: 'spec.workingDir',
  OSM_STANDALONE_PORT_TAKEN: 'spec.ports',
  OSM_STANDALONE_PORTS: 'spec.ports',
  OSM_STANDALONE_BINARY: 'spec.sidecarClass',
  OSM_STANDALONE_PATCH: 'spec.sidecarClass',
  OSM_DRIVER_UNKNOWN: 'spec.sidecarClass',
}

/** What can be wrong with one instance, by where it happens. Each finding replaces the one before at its place. */
export class InstanceProblems {
  readonly #desired: DesiredInstance
  readonly #services: Pick<InstanceServices, 'problems' | 'locate'>

  constructor(desired: DesiredInstance, services: Pick<InstanceServices, 'problems' | 'locate'>) {
    this.#desired = desired
    this.#services = services
  }

  /** Something failed. */
  failed(place: string, error: unknown, fallback: StandaloneErrorCode): void {
    const message = errorMessage(error)
    this.report(place, isOsmError(error) ? error.code : fallback, message)
  }

  /** Something is wrong. */
  report(place: string, code: string, message: string): void {
    const { workload, name } = this.#desired
    const field = fieldOfCode[code]
    const object = objectRef(workload)
    const key = makeObjectKey('Workload', object.namespace, object.name)
    const origin = (field !== undefined && this.#services.locate(key, field)) || workload.origin
    // Replicas fail alike: what is the same for all of them is said once.
    const text =
      workload.spec.replicas > 1 && !message.includes(name) && field === undefined ? `${name}: ${message}` : message
    const problem: Problem = {
      code,
      severity: 'error',
      message: text,
      object,
      origin,
      ...(field !== undefined && { field }),
    }
    this.#services.problems.set(this.#finder(place), [problem])
  }

  /** Problems that are worded already. */
  set(place: string, problems: readonly Problem[]): void {
    this.#services.problems.set(this.#finder(place), problems)
  }

  /** All is well at these places. */
  clear(...places: readonly string[]): void {
    for (const place of places) this.#services.problems.set(this.#finder(place), [])
  }

  #finder(place: string): string {
    return `${this.#desired.key} ${place}`
  }
}
