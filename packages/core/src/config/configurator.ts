import type { Configurator, MeshConfigView } from '@osm-ts/driver-api'
import { Latest, Listeners } from '@osm-ts/driver-api/toolkit'

import type { MeshDomains } from '../identity/index.js'
import { formatObjectRef, type ObjectOrigin, type Problem } from '../problem.js'
import type { Snapshot, SnapshotUpdate } from '../snapshot/snapshot.js'
import { sameValue } from '../spec/content.js'
import { objectKey, objectRef, type KindMap, type ObjectKey } from '../spec/objects.js'
import type { ConfigErrorCode } from './error-codes.js'
import { meshConfigView } from './mesh-config-view.js'
import type { MeshConfig } from './mesh-config.js'
import { resolveMeshConfig, type ResolveOptions } from './resolve-mesh-config.js'
import { pinRestartOnly, type PinnedConfig, type RestartOnlyChange } from './restart-only.js'

/** What a configurator reads, and by which names. */
export interface ConfiguratorOptions extends Omit<ResolveOptions, 'clusterDomain'> {
  readonly meshName: string
  readonly domains: MeshDomains
  /** Name of the MeshConfig; osm-mesh-config when absent. */
  readonly configName?: string
  /**
   * True: where the namespace of the control plane holds no MeshConfig, the first one of any namespace counts. For
   * folders.
   */
  readonly anyNamespace?: boolean
  /**
   * What holds where there is no MeshConfig, or one that says nothing: the defaults, or `last`: what held before. For API
   * servers, where deleting an object takes one word.
   */
  readonly whenAbsent?: 'defaults' | 'last'
  /** True: settings that only a restart can change stay as they were in the first MeshConfig. */
  readonly pinsRestartOnly?: boolean
  /** The newest snapshot, or undefined before the first. */
  readonly current: () => Snapshot | undefined
  readonly subscribe: (listener: (update: SnapshotUpdate) => void) => () => void
  /** Where an object or a field of it is written down. */
  readonly locate?: (key: ObjectKey, field?: string) => ObjectOrigin | undefined
}

/** A change of the configuration. */
export interface ConfigChange {
  readonly before: MeshConfig
  readonly after: MeshConfig
}

/** The configuration in force. Follows the MeshConfig; listeners hear of changes in value only. */
export class MeshConfigurator {
  readonly #options: ConfiguratorOptions
  readonly #listeners = new Listeners<ConfigChange>()
  readonly #readListeners = new Listeners()
  #config: MeshConfig
  #problems: readonly Problem[] = []
  #object: KindMap['MeshConfig'] | undefined
  /** The first configuration that somebody wrote. */
  #started: MeshConfig | undefined

  constructor(options: ConfiguratorOptions) {
    this.#options = options
    const snapshot = options.current()
    const chosen = snapshot && this.#choose(snapshot)
    if (options.whenAbsent !== 'last' || saysSomething(chosen)) this.#object = chosen
    this.#config = this.#resolve(snapshot)
  }

  /** Starts to follow the snapshots. The result ends it. */
  start(): () => void {
    const end = this.#options.subscribe(({ snapshot, changed }) => {
      if (changed.some((key) => key.startsWith('MeshConfig/'))) this.#read(snapshot)
    })
    const snapshot = this.#options.current()
    if (snapshot !== undefined) this.#read(snapshot)
    return end
  }

  /** The configuration in force; defaults before there is a MeshConfig. */
  current(): MeshConfig {
    return this.#config
  }

  /** True once there has been a MeshConfig. */
  get present(): boolean {
    return this.#started !== undefined
  }

  /** The configuration that the process started with: restart-only settings are compared with it. Undefined before. */
  get started(): MeshConfig | undefined {
    return this.#started
  }

  /** The MeshConfig in force, as it is written; undefined while defaults hold. */
  get object(): KindMap['MeshConfig'] | undefined {
    return this.#object
  }

  /** What is wrong with the MeshConfig in force. */
  problems(): readonly Problem[] {
    return this.#problems
  }

  /** Calls the listener after every change in value. The result ends the subscription. */
  subscribe(listener: (change: ConfigChange) => void): () => void {
    return this.#listeners.add(listener)
  }

  /** Calls the listener whenever MeshConfig was read again, even if only its problems differ. The result ends it. */
  onRead(listener: () => void): () => void {
    return this.#readListeners.add(listener)
  }

  /** What drivers get to see. */
  view(): MeshConfigView {
    return meshConfigView(this.#config, this.#options)
  }

  /** The configuration as the driver contract has it. */
  forDrivers(): Configurator {
    return {
      current: () => Promise.resolve(this.view()),
      watch: (signal) => this.#watch(signal),
    }
  }

  async *#watch(signal: AbortSignal): AsyncIterable<MeshConfigView> {
    const latest = new Latest(this.view())
    const end = this.subscribe(() => {
      const view = this.view()
      if (!sameValue(view, latest.current)) latest.set(view)
    })
    try {
      yield* latest.watch(signal)
    } finally {
      end()
    }
  }

  #read(snapshot: Snapshot): void {
    const before = this.#config
    const chosen = this.#choose(snapshot)
    if (this.#options.whenAbsent !== 'last' || saysSomething(chosen)) this.#object = chosen
    const after = this.#resolve(snapshot)
    if (!sameValue(before, after)) {
      this.#config = after
      this.#listeners.notify({ before, after })
    }
    this.#readListeners.notify()
  }

  #choose(snapshot: Snapshot): KindMap['MeshConfig'] | undefined {
    const { osmNamespace, configName = 'osm-mesh-config', anyNamespace = false } = this.#options
    const [first] = anyNamespace ? snapshot.list('MeshConfig') : []
    return snapshot.get('MeshConfig', osmNamespace, configName) ?? first
  }

  #resolve(snapshot: Snapshot | undefined): MeshConfig {
    const object = this.#object
    const { osmNamespace, environment, preset, domains, locate } = this.#options
    const { config, problems } = resolveMeshConfig(
      object?.spec,
      { osmNamespace, clusterDomain: domains.clusterDomain, environment, ...(preset === undefined ? {} : { preset }) },
      {
        object: object && objectRef(object),
        locate: (field) => object && (locate?.(objectKey(object), field) ?? object.origin),
      },
    )
    if (object !== undefined) this.#started ??= config
    const started = this.#options.pinsRestartOnly === true ? this.#started : undefined
    const pinned: PinnedConfig = started === undefined ? { config, changes: [] } : pinRestartOnly(started, config)
    this.#problems = [
      ...problems,
      ...this.#waiting(pinned.changes),
      ...this.#absent(snapshot),
      ...this.#ignored(snapshot),
    ]
    return pinned.config
  }

  /** Settings that wait for a restart. */
  #waiting(changes: readonly RestartOnlyChange[]): readonly Problem[] {
    const object = this.#object
    if (object === undefined) return []
    return changes.map(({ field, holds }) => ({
      code: 'OSM_CONFIG_RESTART' satisfies ConfigErrorCode,
      severity: 'warning',
      message: `takes effect when the control plane is restarted; until then ${holds} applies`,
      object: objectRef(object),
      origin: this.#options.locate?.(objectKey(object), field) ?? object.origin,
      field,
    }))
  }

  /** The MeshConfig that should be there, if it is not or says nothing. */
  #absent(snapshot: Snapshot | undefined): readonly Problem[] {
    if (this.#options.whenAbsent !== 'last' || snapshot === undefined) return []
    const chosen = this.#choose(snapshot)
    if (saysSomething(chosen)) return []
    const { osmNamespace, configName = 'osm-mesh-config' } = this.#options
    const holds = this.present ? 'its last settings stay in force' : 'no proxy is served'
    return [
      {
        code: 'OSM_CONFIG_ABSENT' satisfies ConfigErrorCode,
        severity: 'error',
        message: `${chosen === undefined ? 'does not exist' : 'has an empty spec'}; until there is one again, ${holds}`,
        object: { kind: 'MeshConfig', namespace: osmNamespace, name: configName },
        ...(chosen === undefined ? {} : { origin: chosen.origin }),
      },
    ]
  }

  /** MeshConfigs that do not count. */
  #ignored(snapshot: Snapshot | undefined): readonly Problem[] {
    const chosen = snapshot && this.#choose(snapshot)
    const others = (snapshot?.list('MeshConfig') ?? []).filter((object) => object !== chosen)
    const code: ConfigErrorCode = 'OSM_CONFIG_SEVERAL'
    const { osmNamespace, configName = 'osm-mesh-config' } = this.#options
    const holds = chosen === undefined ? 'defaults apply' : `${formatObjectRef(objectRef(chosen))} applies`
    const expected = formatObjectRef({ kind: 'MeshConfig', namespace: osmNamespace, name: configName })
    return others.map((object) => ({
      code,
      severity: 'warning',
      message: `is not read: ${holds}; the configuration of this mesh is ${expected}`,
      object: objectRef(object),
      origin: this.#options.locate?.(objectKey(object)) ?? object.origin,
    }))
  }
}

function saysSomething(object: KindMap['MeshConfig'] | undefined): boolean {
  return object !== undefined && Object.keys(object.spec).length > 0
}
