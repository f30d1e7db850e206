import { join } from 'node:path'

import { deferred } from '@osm-ts/driver-api/toolkit'

import { MARK } from '../process/process-registry.js'
import { rotateCertificate } from './certificate-rotation.js'
import type { DesiredInstance } from './desired-instances.js'
import type { InstanceProblems } from './instance-problems.js'
import type { InstanceServices } from './instance-services.js'
import { referenceValues, type PreparedSidecar } from './prepare-sidecar.js'
import { replaceCertificateFiles, writeSidecarFiles, type FileMaterial } from './sidecar-files.js'
import { SidecarRunner } from './sidecar-runner.js'
import type { InstancePlacement } from './instance-placement.js'

/** A sidecar that ends this often in a row is a problem, not bad luck. */
const FAILURES_TOLD = 2

/** What the sidecar of an instance is made from. */
export interface InstanceSidecarOptions {
  readonly desired: DesiredInstance
  readonly prepared: PreparedSidecar
  readonly placement: InstancePlacement
  readonly address: string
  readonly services: InstanceServices
  readonly problems: InstanceProblems
  /** Told whenever {@link InstanceSidecar.isReady} or the process changes. */
  readonly onChange: () => void
}

/** The sidecar of one instance: its files, its process, and the rotation of its certificate. */
export class InstanceSidecar {
  readonly #options: InstanceSidecarOptions
  readonly #runner: SidecarRunner
  readonly #ending = new AbortController()
  readonly #firstReady = deferred<undefined>()
  #isReady = false

  constructor(options: InstanceSidecarOptions) {
    this.#options = options
    const { desired, prepared, placement, services, problems } = options
    const { paths, processes, environment, emit, maxDrainMs } = services
    const { name: instance, namespace } = desired
    writeSidecarFiles(prepared.patch, placement.home, this.#material(prepared.certificate))
    this.#runner = new SidecarRunner({
      patch: prepared.patch,
      binary: prepared.binary,
      placement,
      values: this.#values(),
      environment: { ...(environment.PATH !== undefined && { PATH: environment.PATH }), [MARK]: paths.folder },
      logPath: join(paths.logs, `${namespace}.${instance}.sidecar.log`),
      processes,
      random: services.random,
      ...(maxDrainMs !== undefined && { maxDrainMs }),
      listener: {
        onStarted: (pid) => {
          emit({ type: 'sidecar', instance, namespace, state: 'started', pid })
          options.onChange()
        },
        onReady: () => {
          problems.clear('sidecar')
          this.#become(true)
          emit({ type: 'sidecar', instance, namespace, state: 'ready' })
          this.#firstReady.resolve(undefined)
        },
        onLate: () => {
          const message = `the sidecar of ${instance} runs, but has not become ready; see the log of the controller in ${paths.logs}`
          problems.report('sidecar', 'OSM_STANDALONE_SIDECAR', message)
        },
        onExited: (detail, failures) => {
          this.#become(false)
          emit({ type: 'sidecar', instance, namespace, state: 'exited', detail })
          if (failures >= FAILURES_TOLD && !this.#ending.signal.aborted)
            problems.report('sidecar', 'OSM_STANDALONE_SIDECAR', `the sidecar of ${instance} ${detail}`)
        },
      },
    })
  }

  /** True while it carries traffic. */
  get isReady(): boolean {
    return this.#isReady
  }

  get pid(): number | undefined {
    return this.#runner.pid
  }

  /** Resolves when the sidecar was ready for the first time, or when it has ended. */
  async untilReady(): Promise<void> {
    await Promise.race([this.#firstReady.promise, this.#ended()])
  }

  /** Runs it and keeps its certificate fresh. Resolves when it has ended for good. */
  async run(): Promise<void> {
    const rotating = this.#rotate()
    await this.#runner.run()
    this.#ending.abort()
    await rotating
  }

  /** Has it accept nothing new, and gives clients the time to learn of it; less if the signal aborts. */
  drain(signal: AbortSignal): Promise<void> {
    return this.#runner.drain(signal)
  }

  /** Ends it; by force after `graceMs`. */
  async end(graceMs: number): Promise<void> {
    this.#ending.abort()
    await this.#runner.end(graceMs)
  }

  #become(isReady: boolean): void {
    this.#isReady = isReady
    this.#options.onChange()
  }

  #ended(): Promise<void> {
    const { signal } = this.#ending
    if (signal.aborted) return Promise.resolve()
    return new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }))
  }

  #rotate(): Promise<void> {
    const { prepared, placement, services, problems } = this.#options
    return rotateCertificate(
      {
        certificate: prepared.certificate,
        issue: prepared.issue,
        install: (certificate) => {
          replaceCertificateFiles(prepared.patch, placement.home, this.#material(certificate))
          problems.clear('certificate')
        },
        onFailure: (error) => problems.failed('certificate', error, 'OSM_STANDALONE_SIDECAR'),
        clock: services.clock,
        random: services.random,
      },
      this.#ending.signal,
    ).catch((error: unknown) => problems.failed('certificate', error, 'OSM_STANDALONE_SIDECAR'))
  }

  #material(certificate: PreparedSidecar['certificate']): FileMaterial {
    const trustBundle = this.#options.services.certificates.trustBundle('control-plane')
    return { certificate, trustBundle, values: this.#values() }
  }

  #values(): FileMaterial['values'] {
    const { desired, prepared, address, placement } = this.#options
    return referenceValues(desired, { uuid: prepared.uuid, address, folder: placement.home.folder })
  }
}
