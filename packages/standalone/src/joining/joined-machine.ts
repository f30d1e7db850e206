import { hostname } from 'node:os'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { randomUUID, X509Certificate } from 'node:crypto'

import { Deadline, type MachineReport, REPORT_PERIOD_MS, type ServiceNames, systemClock } from '@osm-ts/core'
import { isOsmError, type SidecarPatch } from '@osm-ts/driver-api'
import { errorMessage } from '@osm-ts/driver-api/toolkit'

import { isAborted } from '../process/kept-running.js'
import { MARK, type ProcessRegistry } from '../process/process-registry.js'
import { rotateCertificate } from '../workload/certificate-rotation.js'
import { requestLocally } from '../workload/explicit-instance-placement.js'
import { listeningPorts } from '../workload/listening.js'
import {
  replaceCertificateFiles,
  writeSidecarFiles,
  type FileMaterial,
  type ReferenceValues,
} from '../workload/sidecar-files.js'
import { SidecarRunner } from '../workload/sidecar-runner.js'
import type { ControlPlaneClient, MachineCredential } from './control-plane-client.js'
import type { MachinePlace } from './machine-place.js'
import { newKey, type MachineState, type Membership } from './machine-state.js'

/** Something that happened to a machine. */
export type JoinEvent =
  /** It has a certificate: a new one, or the one that it had. */
  | { readonly type: 'joined'; readonly name: string; readonly identity: string; readonly isNew: boolean }
  | {
      readonly type: 'sidecar'
      readonly state: 'started' | 'ready' | 'exited'
      readonly pid?: number
      readonly detail?: string
    }
  /** The control plane knows whether it is ready; these variables tell a workload how to reach others. */
  | { readonly type: 'reported'; readonly ready: boolean; readonly variables: Readonly<Record<string, string>> }
  | { readonly type: 'renewed' }
  | { readonly type: 'problem'; readonly message: string }

/** A machine that has its certificate and the patch of its sidecar. */
export interface JoinedMachineOptions {
  readonly membership: Membership
  readonly credential: MachineCredential
  readonly state: MachineState
  readonly place: MachinePlace
  readonly client: ControlPlaneClient
  readonly patch: SidecarPatch
  readonly binary: string
  readonly processes: ProcessRegistry
  readonly environment: Readonly<Record<string, string>>
  readonly maxDrainMs: number
  readonly onEvent: (event: JoinEvent) => void
}

/** How often it is looked whether the workload listens. Milliseconds. */
const LOOK_MS = 100
const GRACE_MS = 3_000
/** The control plane is told of the end of a machine for this long. */
const FAREWELL_MS = 3_000

/** The sidecar of a machine: its process, its certificate, and word of it to the control plane. */
export class JoinedMachine {
  readonly #options: JoinedMachineOptions
  readonly #runner: SidecarRunner
  readonly #run = randomUUID()
  readonly #runBefore: string | undefined
  #credential: MachineCredential
  #isSidecarReady = false

  constructor(options: JoinedMachineOptions) {
    this.#options = options
    this.#credential = options.credential
    this.#runBefore = options.state.lastRun
    const { patch, binary, state, place, processes, environment, maxDrainMs, onEvent } = options
    writeSidecarFiles(patch, place.home, this.#material())
    this.#runner = new SidecarRunner({
      patch,
      binary,
      values: this.#values(),
      placement: { request: requestLocally, sidecar: (argv) => place.sidecar(argv) },
      environment: { ...(environment.PATH !== undefined && { PATH: environment.PATH }), [MARK]: state.folder },
      logPath: state.log,
      processes,
      maxDrainMs,
      random: Math.random,
      listener: {
        onStarted: (pid) => onEvent({ type: 'sidecar', state: 'started', pid }),
        onReady: () => {
          this.#isSidecarReady = true
          onEvent({ type: 'sidecar', state: 'ready' })
        },
        onLate: () =>
          onEvent({ type: 'problem', message: `the sidecar runs, but has not become ready; see ${state.log}` }),
        onExited: (detail) => {
          this.#isSidecarReady = false
          onEvent({ type: 'sidecar', state: 'exited', detail })
        },
      },
    })
  }

  /**
   * Runs until the signal aborts, then takes the machine out of service and ends the sidecar.
   *
   * @throws OsmError with code `OSM_MACHINE_UNKNOWN` if the control plane does not know the machine any more
   */
  async run(signal: AbortSignal): Promise<void> {
    const removed = new AbortController()
    const ending = AbortSignal.any([signal, removed.signal])
    let failure: Error | undefined
    const reporting = this.#report(ending).catch((error: unknown) => {
      failure = error instanceof Error ? error : new Error(errorMessage(error))
      removed.abort()
    })
    const rotating = this.#rotate(ending)
    const running = this.#runner.run()
    await new Promise<void>((resolve) => {
      if (ending.aborted) resolve()
      else ending.addEventListener('abort', () => resolve(), { once: true })
    })
    await reporting
    await rotating
    if (failure === undefined) await this.#leaveService()
    await this.#runner.end(GRACE_MS)
    await running
    rmSync(this.#options.place.home.folder, { recursive: true, force: true })
    if (failure !== undefined) throw failure
  }

  /** Callers turn elsewhere before the sidecar ends. */
  async #leaveService(): Promise<void> {
    const { client, patch, maxDrainMs } = this.#options
    const limit = new Deadline(new AbortController().signal, FAREWELL_MS)
    try {
      await client.report(this.#state(false), this.#credential, limit.signal)
    } catch {
      // It is missed there before long.
    } finally {
      limit.release()
    }
    const whole = new Deadline(new AbortController().signal, Math.min(patch.drain?.maxMs ?? 0, maxDrainMs))
    try {
      await this.#runner.drain(whole.signal)
    } finally {
      whole.release()
    }
  }

  async #report(signal: AbortSignal): Promise<void> {
    const { client, state, onEvent } = this.#options
    let told: { readonly ready: boolean; readonly at: number } | undefined
    let variables = ''
    let isLost = false
    while (!signal.aborted) {
      const ready = this.#isReady()
      if (told === undefined || told.ready !== ready || performance.now() - told.at >= REPORT_PERIOD_MS) {
        try {
          const { variables: given, names } = await client.report(this.#state(ready), this.#credential, signal)
          if (told === undefined) state.lastRun = this.#run
          if (names !== undefined) this.#takeNames(names)
          const text = JSON.stringify(given)
          if (told?.ready !== ready || text !== variables) onEvent({ type: 'reported', ready, variables: given })
          variables = text
          told = { ready, at: performance.now() }
          isLost = false
        } catch (error) {
          if (isAborted(signal)) return
          if (isOsmError(error) && error.code === 'OSM_MACHINE_UNKNOWN') throw error
          if (!isLost) onEvent({ type: 'problem', message: errorMessage(error) })
          isLost = true
          await pause(1_000, undefined, { signal }).catch(() => undefined)
        }
      }
      await pause(LOOK_MS, undefined, { signal }).catch(() => undefined)
    }
  }

  #takeNames(names: ServiceNames): void {
    const { place, onEvent } = this.#options
    try {
      place.setNames(names)
    } catch (error) {
      const message = `the names of Services cannot be written, so that programs do not find them: ${errorMessage(error)}`
      onEvent({ type: 'problem', message })
    }
  }

  /** By its run the control plane tells this process from one of a copied state folder. */
  #state(ready: boolean): MachineReport {
    const { namesDigest: names } = this.#options.place
    return {
      ready,
      run: this.#run,
      ...(this.#runBefore !== undefined && { after: this.#runBefore }),
      ...(names !== undefined && { names }),
    }
  }

  /** True while the sidecar carries traffic and the workload would take it. */
  #isReady(): boolean {
    if (!this.#isSidecarReady) return false
    const { ports } = this.#options.membership
    const open = ports.length === 0 ? undefined : listeningPorts(process.pid)
    return open === undefined || ports.every(({ localPort }) => open.has(localPort))
  }

  async #rotate(signal: AbortSignal): Promise<void> {
    const { client, onEvent, patch, place, state } = this.#options
    await rotateCertificate(
      {
        certificate: validityOf(this.#credential),
        issue: async () => {
          const { key, csr } = await newKey()
          const credential = { ...(await client.renew(csr, this.#credential, signal)), key }
          this.#credential = credential
          return validityOf(credential)
        },
        install: () => {
          state.saveCredential(this.#credential)
          replaceCertificateFiles(patch, place.home, this.#material())
          onEvent({ type: 'renewed' })
        },
        onFailure: (error) =>
          onEvent({ type: 'problem', message: `the certificate was not renewed: ${errorMessage(error)}` }),
        clock: systemClock,
        random: Math.random,
      },
      signal,
    )
  }

  #material(): FileMaterial {
    const { chain, key, trustBundle } = this.#credential
    return { certificate: { chain, privateKey: () => key }, trustBundle, values: this.#values() }
  }

  #values(): ReferenceValues {
    const { membership, place } = this.#options
    const { address, name, namespace, serviceAccount, uuid } = membership
    return {
      file: (path) => join(place.home.folder, path),
      workload: { address, instance: name, namespace, serviceAccount, uid: uuid, node: hostname() },
    }
  }
}

function validityOf({ chain }: MachineCredential): { readonly notBefore: number; readonly expiration: number } {
  const { validFrom, validTo } = new X509Certificate(chain)
  return { notBefore: Date.parse(validFrom), expiration: Date.parse(validTo) }
}
