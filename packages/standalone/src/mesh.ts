import { rmSync } from 'node:fs'

import {
  compareProblems,
  FileCaStore,
  MeshCertificateManager,
  MeshConfigurator,
  DriverRegistry,
  defaultCertificateSettings,
  SnapshotFeed,
  standalonePreset,
  systemClock,
  tcpServicePorts,
  TresorProvider,
  YamlFolderSource,
} from '@osm-ts/core'
import { OsmError, type Driver } from '@osm-ts/driver-api'
import { errorMessage, Listeners } from '@osm-ts/driver-api/toolkit'

import { AddressedSource } from './addresses/addressed-source.js'
import { ControllerProcess } from './controller/controller-process.js'
import { askForCallers, untilCallersKnow } from './controller/callers-know.js'
import { followControllerProblems } from './controller/controller-problems.js'
import type { StandaloneErrorCode } from './errors.js'
import { configEnvironment, controllerServerName, MESH_NAME, meshDomains, OSM_NAMESPACE } from './mesh-constants.js'
import { loadMeshDrivers } from './loaded-drivers.js'
import type { Placement } from './placement.js'
import type { PortAllocator } from './ports/port-allocator.js'
import { ProblemSet } from './problem-set.js'
import type { ProcessRegistry } from './process/process-registry.js'
import { clearRun, type StatePaths } from './state/state-folder.js'
import { writeFileAtomic } from './state/write-file.js'
import type { MeshFile, MeshOptions, RunningMesh } from './types.js'
import { InstanceSet } from './workload/instance-set.js'
import { inheritedEnvironment, withoutClashes } from './workload/variables.js'

/** What a mesh is made from. */
export interface MeshParts {
  readonly options: MeshOptions
  readonly paths: StatePaths
  readonly ports: PortAllocator
  readonly processes: ProcessRegistry
  readonly placement: Placement
  readonly drivers: readonly Driver[]
}

interface ControllerPorts {
  readonly debug: number
  readonly health: number
  readonly proxy: Readonly<Record<string, number>>
  /** Absent if no machine may join. */
  readonly machines?: number
}

/** Purpose of the port that machines join by. */
const MACHINES = 'machines'

/** A mesh that runs: its folder, its controller, and its instances. */
export class Mesh implements RunningMesh {
  readonly stateFolder: string
  readonly #parts: MeshParts
  readonly #scope = new AbortController()
  readonly #processes: ProcessRegistry
  readonly #problems: ProblemSet
  readonly #waiting = new Listeners()
  readonly #loops: Promise<void>[] = []
  #instances: InstanceSet | undefined
  #controller: ControllerProcess | undefined
  #machinesUrl: string | undefined
  #isReviewDue = false
  #stopping: Promise<void> | undefined

  constructor(parts: MeshParts) {
    const { options, paths } = parts
    this.#parts = parts
    this.stateFolder = paths.folder
    this.#processes = parts.processes
    this.#problems = new ProblemSet((problems) => options.onEvent({ type: 'problems', problems }))
  }

  readonly controllerUrl = (): string | undefined => this.#controller?.ready?.debugUrl

  readonly controllerPid = (): number | undefined => this.#controller?.pid

  readonly machinesUrl = (): string | undefined => this.#machinesUrl

  readonly instances: RunningMesh['instances'] = () => (this.#instances?.list() ?? []).map((it) => it.describe())

  readonly ready = (timeoutMs: number): Promise<void> =>
    new Promise((resolve, reject) => {
      const settle = (outcome: () => void): void => {
        clearTimeout(timer)
        unsubscribe()
        outcome()
      }
      const look = (): void => {
        if (this.#stopping !== undefined) settle(() => reject(stopped()))
        else if (this.#missing().length === 0) settle(resolve)
      }
      const timer = setTimeout(() => {
        const message = `the mesh is not ready after ${timeoutMs / 1000} s: ${this.#missing().join('; ')}`
        settle(() => reject(meshError('OSM_STANDALONE_NOT_READY', message)))
      }, timeoutMs)
      const unsubscribe = this.#waiting.add(look)
      look()
    })

  readonly stop = (): Promise<void> => {
    this.#stopping ??= this.#stop()
    return this.#stopping
  }

  /** Reads the folder, starts the controller, and sets out to start the instances. */
  async start(): Promise<void> {
    const { options, paths, placement } = this.#parts
    const source = new YamlFolderSource({
      folder: options.folder,
      // The controller tells which of them no provider reads.
      holdsOtherKinds: (options.endpointsProviders ?? []).length > 0,
    })
    const feed = new SnapshotFeed([new AddressedSource(source, placement.addresses)])
    await this.#step(`Reading ${options.folder}`, () => feed.start(this.#scope.signal))
    this.#loops.push(source.finished())
    const configurator = this.#configurator(feed)
    const certificates = await this.#step('Opening the certificate authority', () =>
      this.#openCertificates(configurator),
    )
    const ports = await this.#claimControllerPorts()
    const registry = this.#registry()
    if ((options.driverPackages ?? []).length > 0) {
      const drivers = { mesh: options, registry, problems: this.#problems, paths, signal: this.#scope.signal }
      this.#loops.push((await this.#step('Loading drivers', () => loadMeshDrivers(drivers))).stopped)
    }
    this.#assertRuns()
    const instances = new InstanceSet({
      paths,
      processes: this.#processes,
      certificates,
      registry,
      configurator,
      domains: meshDomains(),
      problems: this.#problems,
      emit: options.onEvent,
      onChange: () => this.#changed(feed),
      sidecarBinaries: options.sidecarBinaries,
      ...(options.maxDrainMs !== undefined && { maxDrainMs: options.maxDrainMs }),
      ...(options.workloadApiSocket !== undefined && { workloadApiSocket: options.workloadApiSocket }),
      untilCallersKnow: (uuid, signal) =>
        untilCallersKnow(uuid, (asking) => askForCallers(this.controllerUrl(), asking), signal),
      environment: inheritedEnvironment(options.environment),
      controlPlanePort: (sidecarClass) => ports.proxy[sidecarClass],
      placeInstance: (desired, snapshot) => placement.placeInstance(desired, snapshot, configurator.current()),
      locate: (key, field) => feed.locate(key, field),
      clock: systemClock,
      random: Math.random,
    })
    this.#instances = instances
    await this.#step('Starting the controller', () => this.#startController(ports))
    this.#assertRuns()
    this.#follow(source, feed, configurator, instances)
  }

  /** It may be stopped while it starts. */
  #assertRuns(): void {
    if (this.#stopping !== undefined) throw stopped()
  }

  #follow(source: YamlFolderSource, feed: SnapshotFeed, configurator: MeshConfigurator, instances: InstanceSet): void {
    const { placement } = this.#parts
    const signal = this.#scope.signal
    const look = (): void => {
      const snapshot = feed.current()
      if (snapshot === undefined || signal.aborted) return
      this.#problems.set('addresses', placement.assign(snapshot))
      this.#problems.set('folder', [...feed.problems(), ...configurator.problems()])
      this.#problems.set('variables', withoutClashes(tcpServicePorts(snapshot.list('Service'))).problems)
      instances.reconcile(feed.current() ?? snapshot)
    }
    const ends = [source.subscribe(look), configurator.subscribe(look)]
    signal.addEventListener('abort', () => ends.forEach((end) => end()), { once: true })
    look()
    this.#loops.push(
      followControllerProblems(this.controllerUrl, (problems) => this.#problems.set('controller', problems), signal),
    )
  }

  #configurator(feed: SnapshotFeed): MeshConfigurator {
    const configurator = new MeshConfigurator({
      meshName: MESH_NAME,
      osmNamespace: OSM_NAMESPACE,
      domains: meshDomains(),
      environment: configEnvironment(this.#parts.options.environment),
      preset: standalonePreset,
      anyNamespace: true,
      current: () => feed.current(),
      subscribe: feed.subscribe.bind(feed),
      locate: (key, field) => feed.locate(key, field),
    })
    const end = configurator.start()
    this.#scope.signal.addEventListener('abort', end, { once: true })
    return configurator
  }

  async #openCertificates(configurator: MeshConfigurator): Promise<MeshCertificateManager> {
    const provider = await TresorProvider.open({
      store: new FileCaStore(this.#parts.paths.ca),
      clock: systemClock,
      rootKey: { algorithm: 'ECDSA' },
    })
    return new MeshCertificateManager({
      provider,
      settings: () => ({ ...defaultCertificateSettings, key: configurator.current().certificate.key }),
      domains: meshDomains(),
      clock: systemClock,
      random: Math.random,
      signal: this.#scope.signal,
    })
  }

  #registry(): DriverRegistry {
    const registry = new DriverRegistry()
    for (const driver of this.#parts.drivers) registry.register(driver)
    return registry
  }

  /** Chosen once and kept: sidecars look for the controller where it was. */
  async #claimControllerPorts(): Promise<ControllerPorts> {
    const { drivers, options } = this.#parts
    const classes = [...drivers, ...(options.driverPackages ?? [])].map(({ name }) => name.toLowerCase())
    const joining = options.machineAddress === undefined ? [] : [MACHINES]
    const purposes = ['debug', 'health', ...classes.map((name) => `proxies of class ${name}`), ...joining]
    const claims = await this.#parts.ports.claim('controller', purposes)
    const machines = claims.get(MACHINES)
    const ports = [...claims.values()]
    const [debug = 0, health = 0, ...proxy] = ports
    return {
      debug,
      health,
      proxy: Object.fromEntries(classes.map((name, index) => [name, proxy[index] ?? 0])),
      ...(machines !== undefined && { machines }),
    }
  }

  /** Resolves when it is ready or has failed for the first time: what it lacks may still come. */
  #startController(ports: ControllerPorts): Promise<void> {
    const { options, paths, placement } = this.#parts
    const { machineAddress: address } = options
    const machines =
      address === undefined || ports.machines === undefined
        ? undefined
        : { address, port: ports.machines, tokens: paths.joinTokens, folder: paths.machines }
    this.#machinesUrl = machines && `https://${addressInUrl(machines.address)}:${machines.port}`
    return new Promise((resolve) => {
      const controller = new ControllerProcess({
        program: options.controllerProgram,
        interpreter: process.execPath,
        config: {
          folder: options.folder,
          instances: paths.instances,
          ca: paths.ca,
          environment: configEnvironment(options.environment),
          proxyServer: { address: placement.controllerAddress, ports: ports.proxy },
          serverNames: {
            dnsNames: [controllerServerName(meshDomains())],
            ipAddresses: [...new Set(['127.0.0.1', placement.controllerAddress])],
          },
          ports: { debug: ports.debug, health: ports.health },
          driverPackages: options.driverPackages ?? [],
          endpointsProviders: options.endpointsProviders ?? [],
          ...(options.workloadApiSocket !== undefined && { workloadApiSocket: options.workloadApiSocket }),
          ...(machines !== undefined && { machines }),
          endpointsFile: paths.endpoints,
        },
        addresses: placement.addresses,
        paths,
        processes: this.#processes,
        environment: inheritedEnvironment(options.environment),
        emit: options.onEvent,
        random: Math.random,
        onReady: ({ debugUrl }) => {
          this.#problems.set('controller process', [])
          this.#writeMeshFile(debugUrl)
          this.#notify()
          resolve()
        },
        onFailure: (message) => {
          this.#problems.set('controller process', [{ code: 'OSM_STANDALONE_CONTROLLER', severity: 'error', message }])
          this.#notify()
          resolve()
        },
      })
      this.#controller = controller
      this.#loops.push(controller.run())
      this.#scope.signal.addEventListener('abort', () => resolve(), { once: true })
    })
  }

  #writeMeshFile(controllerUrl: string): void {
    const { options, paths } = this.#parts
    const { folder, mode } = options
    const machinesUrl = this.#machinesUrl
    const content: MeshFile = { pid: process.pid, folder, mode, controllerUrl, ...(machinesUrl && { machinesUrl }) }
    writeFileAtomic(paths.meshFile, `${JSON.stringify(content)}\n`)
  }

  #missing(): readonly string[] {
    const controller = this.controllerUrl() === undefined ? ['the controller does not run'] : []
    const instances = (this.#instances?.list() ?? []).flatMap(({ desired, phase, detail }) => {
      if (phase === 'runs' || phase === 'is done') return []
      return `${desired.key} ${phase}${detail === '' ? '' : ` (${detail})`}`
    })
    return [...controller, ...instances]
  }

  /** Many instances change at once when a mesh starts: they are checked together. */
  #changed(feed: SnapshotFeed): void {
    if (this.#isReviewDue) return
    this.#isReviewDue = true
    setImmediate(() => {
      this.#isReviewDue = false
      const snapshot = feed.current()
      if (snapshot !== undefined)
        this.#problems.set('told', [...(this.#instances?.missingVariables(snapshot) ?? [])].sort(compareProblems))
      this.#notify()
    })
  }

  #notify(): void {
    this.#waiting.notify()
  }

  async #step<T>(step: string, action: () => Promise<T>): Promise<T> {
    const { onEvent } = this.#parts.options
    const began = performance.now()
    const ms = (): number => Math.round(performance.now() - began)
    onEvent({ type: 'progress', step, state: 'started' })
    try {
      const result = await action()
      onEvent({ type: 'progress', step, state: 'done', ms: ms() })
      return result
    } catch (error) {
      const detail = errorMessage(error)
      onEvent({ type: 'progress', step, state: 'failed', detail, ms: ms() })
      throw error
    }
  }

  async #stop(): Promise<void> {
    const { paths, placement } = this.#parts
    this.#problems.close()
    this.#notify()
    await this.#instances?.stop()
    await this.#controller?.end()
    this.#scope.abort()
    await Promise.allSettled(this.#loops)
    clearRun(paths)
    rmSync(paths.processes, { force: true })
    await placement.destroy()
  }
}

function addressInUrl(address: string): string {
  return address.includes(':') ? `[${address}]` : address
}

function stopped(): OsmError<StandaloneErrorCode> {
  return meshError('OSM_STANDALONE_STOPPED', 'the mesh was stopped')
}

function meshError(code: StandaloneErrorCode, message: string): OsmError<StandaloneErrorCode> {
  return new OsmError(code, message)
}
