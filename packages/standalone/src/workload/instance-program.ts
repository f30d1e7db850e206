import { MARK } from '../process/process-registry.js'
import type { DesiredInstance } from './desired-instances.js'
import type { InstanceProblems } from './instance-problems.js'
import type { InstanceServices } from './instance-services.js'
import { ProgramRunner, type ProgramListener } from './program-runner.js'
import { parseReportedRequest } from './reported-request.js'
import type { InstancePlacement, SiteView } from './instance-placement.js'
import { portVariables } from './variables.js'

/** A program that ends this often in a row is a problem, not bad luck. */
const FAILURES_TOLD = 3

/** What the program of an instance is made from. */
export interface InstanceProgramOptions {
  readonly desired: DesiredInstance
  readonly placement: InstancePlacement
  readonly services: InstanceServices
  readonly problems: InstanceProblems
  /** What the program can be told at this moment. */
  readonly view: () => SiteView
  readonly restartPolicy: () => 'Always' | 'OnFailure' | 'Never'
  /** Told whenever something here has changed. */
  readonly onChange: () => void
}

/** The program of one instance: its environment, its process, and what it says. */
export class InstanceProgram {
  readonly #options: InstanceProgramOptions
  readonly #runner: ProgramRunner
  #isListening = false
  #isEnding = false
  #isCompleted = false
  #detail = ''
  #given: Readonly<Record<string, string>> = {}

  constructor(options: InstanceProgramOptions) {
    this.#options = options
    this.#runner = new ProgramRunner({
      program: options.desired.program,
      placement: options.placement,
      environment: () => this.#environment(),
      restartPolicy: options.restartPolicy,
      processes: options.services.processes,
      listener: this.#listener(),
      random: options.services.random,
    })
  }

  get pid(): number | undefined {
    return this.#runner.pid
  }

  /** True while it takes traffic, as far as can be told. */
  get isListening(): boolean {
    return this.#isListening
  }

  /** True when it has ended by itself and is not to be started again. */
  get isCompleted(): boolean {
    return this.#isCompleted
  }

  /** How it ended last, or why it does not start. */
  get detail(): string {
    return this.#detail
  }

  /** What it was told about listening and reaching others when it was started last. */
  get given(): Readonly<Record<string, string>> {
    return this.#given
  }

  /** Resolves when it has ended for good. */
  run(): Promise<void> {
    return this.#runner.run()
  }

  /** Asks it to end; ends it by force after `graceMs`. */
  async end(graceMs: number): Promise<void> {
    this.#isEnding = true
    await this.#runner.end(graceMs)
  }

  #listener(): ProgramListener {
    const { desired, services, problems, onChange } = this.#options
    const { emit } = services
    const { name: instance, namespace } = desired
    return {
      onStarted: () => {
        this.#detail = ''
        emit({ type: 'workload', instance, namespace, state: 'started' })
      },
      onListening: () => {
        this.#isListening = true
        onChange()
      },
      onSteady: () => problems.clear('program'),
      onEnded: ({ detail, error, failures, isFinal }) => {
        this.#isListening = false
        this.#isCompleted = isFinal && !this.#isEnding
        this.#detail = detail
        emit({ type: 'workload', instance, namespace, state: error === undefined ? 'exited' : 'failed', detail })
        if (error !== undefined) problems.failed('program', error, 'OSM_STANDALONE_COMMAND')
        else if (failures >= FAILURES_TOLD) problems.report('program', 'OSM_STANDALONE_EXITED', `${instance} ${detail}`)
        onChange()
      },
      onLine: (stream, line) => {
        const request = stream === 'stdout' ? parseReportedRequest(line, desired) : undefined
        emit(
          request === undefined ? { type: 'output', instance, namespace, stream, line } : { type: 'request', request },
        )
      },
    }
  }

  #environment(): Readonly<Record<string, string>> {
    const { placement, services, desired, view } = this.#options
    this.#given = { HOST: placement.host, ...portVariables(placement.ports), ...view().variables }
    const written = desired.workload.spec.env.map(({ name, value }) => [name, value] as const)
    // As a pod has it.
    const own = { HOSTNAME: desired.name }
    return {
      ...services.environment,
      ...own,
      ...this.#given,
      ...Object.fromEntries(written),
      [MARK]: services.paths.folder,
    }
  }
}
