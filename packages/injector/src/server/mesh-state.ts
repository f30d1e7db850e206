import { type MeshConfig, type MeshConfigSpec, meshConfigView, ObjectDecoder, resolveMeshConfig } from '@osm-ts/core'
import {
  createInformer,
  type Informer,
  type InformerDependencies,
  type KubernetesObject,
  resourceTypes,
} from '@osm-ts/kubernetes'
import { OsmError, type Logger } from '@osm-ts/driver-api'
import { errorMessage } from '@osm-ts/driver-api/toolkit'

import type { InjectorErrorCode } from '../error-codes.js'
import type { InjectionSettings, NamespaceFacts } from '../inject/settings.js'

/** What a {@link MeshState} follows, and by which names. */
export interface MeshStateOptions extends InformerDependencies {
  /** Everything but what may change. */
  readonly base: Omit<InjectionSettings, 'config' | 'configView' | 'trustBundle'>
  /** Roots of the control plane now, PEM. */
  readonly trustBundle: () => readonly string[]
  /** Name of the MeshConfig, in the namespace of the control plane. */
  readonly configName: string
}

/** A MeshConfig as it was read. */
type ReadConfig = { readonly spec: MeshConfigSpec } | { readonly faults: readonly string[] }

/** Annotations and labels of namespaces that decide about injection; others change without a meaning for it. */
const OURS = /^openservicemesh\.io\//
const CONTROL_PLANE = 'control-plane'

/** The namespaces of the cluster and the MeshConfig, live. */
export class MeshState {
  readonly #options: MeshStateOptions
  readonly #namespaces: Informer<NamespaceFacts>
  readonly #configs: Informer<ReadConfig>
  #settings: InjectionSettings | undefined
  #synced = false

  constructor(options: MeshStateOptions) {
    const { base, configName } = options
    const decoder = new ObjectDecoder()
    this.#options = options
    this.#namespaces = createInformer({ ...options, type: resourceTypes.Namespace, project: namespaceFacts })
    this.#configs = createInformer({
      ...options,
      type: resourceTypes.MeshConfig,
      namespace: base.osmNamespace,
      fieldSelector: `metadata.name=${configName}`,
      project: (object) => readConfig(object, decoder),
    })
  }

  /** Starts to follow; resolves when everything was listed once. */
  async start(signal: AbortSignal): Promise<void> {
    this.#configs.subscribe(() => this.#read())
    await Promise.all([this.#namespaces.start(signal), this.#configs.start(signal)])
    this.#synced = true
    this.#read()
  }

  /** True when there is all that a decision needs. */
  get ready(): boolean {
    return this.#synced && this.#settings !== undefined
  }

  /** @throws OsmError `OSM_INJECT_NOT_READY` */
  settings(): InjectionSettings {
    if (this.#synced && this.#settings !== undefined) return this.#settings
    const { base, configName } = this.#options
    throw notReady(
      this.#synced
        ? `there is no usable MeshConfig ${base.osmNamespace}/${configName}; osm-bootstrap makes it`
        : 'namespaces and MeshConfig were not read yet',
    )
  }

  /** Has what is asked from now on hold the roots of now. */
  trustChanged(): void {
    if (this.#settings !== undefined) this.#settings = { ...this.#settings, trustBundle: this.#options.trustBundle() }
  }

  /** A namespace as the informer knows it, which may be a moment behind the API server. */
  knownNamespace(name: string): NamespaceFacts | undefined {
    return this.#namespaces.get({ namespace: '', name })
  }

  /**
   * A namespace as it is stored now.
   *
   * @throws OsmError `OSM_INJECT_NOT_READY`
   */
  async readNamespace(name: string, signal: AbortSignal): Promise<NamespaceFacts> {
    let object: KubernetesObject | undefined
    try {
      object = await this.#options.api.get(resourceTypes.Namespace, { namespace: '', name }, signal)
    } catch (error) {
      throw notReady(`namespace ${name} cannot be read: ${errorMessage(error)}`, error)
    }
    if (object === undefined) throw notReady(`namespace ${name} does not exist`)
    return namespaceFacts(object)
  }

  /** What is deleted or can't be used leaves what was in force: a mesh without configuration is no state to fall into. */
  #read(): void {
    if (!this.#synced) return
    const { base, logger, configName, trustBundle } = this.#options
    const name = `${base.osmNamespace}/${configName}`
    const read = this.#configs.get({ namespace: base.osmNamespace, name: configName })
    if (read === undefined) {
      logger.warn({ meshConfig: name }, 'the MeshConfig was deleted; its last settings stay in force')
    } else if ('faults' in read) {
      logger.error(
        { meshConfig: name, faults: read.faults },
        'the MeshConfig cannot be used; its last settings stay in force',
      )
    } else {
      this.#settings = { ...base, ...resolved(read.spec, base, logger), trustBundle: trustBundle() }
    }
  }
}

function resolved(
  spec: MeshConfigSpec,
  base: MeshStateOptions['base'],
  logger: Logger,
): Pick<InjectionSettings, 'config' | 'configView'> {
  const {
    config,
    problems,
  }: {
    readonly config: MeshConfig
    readonly problems: readonly { readonly message: string; readonly field?: string }[]
  } = resolveMeshConfig(
    spec,
    { osmNamespace: base.osmNamespace, clusterDomain: base.domains.clusterDomain, environment: base.environment },
    { object: undefined, locate: () => undefined },
  )
  for (const { field = '', message } of problems) logger.warn({ field }, message)
  return { config, configView: meshConfigView(config, base) }
}

function readConfig({ apiVersion: _version, ...object }: KubernetesObject, decoder: ObjectDecoder): ReadConfig {
  const { metadata, spec } = object
  const origin = { kind: 'api', resourceVersion: metadata.resourceVersion ?? '' } as const
  const written = {
    apiVersion: `${resourceTypes.MeshConfig.group}/${resourceTypes.MeshConfig.version}`,
    kind: 'MeshConfig',
    metadata: { name: metadata.name, namespace: metadata.namespace },
    spec,
  }
  const decoded = decoder.decode(written, {
    origin,
    defaultNamespace: metadata.namespace ?? '',
    locate: () => origin,
    sourceText: () => undefined,
  })
  if (decoded.object?.kind === 'MeshConfig') return { spec: decoded.object.spec }
  return { faults: decoded.problems.map(({ field = '', message }) => `${field}: ${message}`) }
}

function namespaceFacts({ metadata: { name, labels = {}, annotations = {} } }: KubernetesObject): NamespaceFacts {
  const ours = (texts: Readonly<Record<string, string>>): Readonly<Record<string, string>> =>
    Object.fromEntries(Object.entries(texts).filter(([key]) => OURS.test(key) || key === CONTROL_PLANE))
  return { name, labels: ours(labels), annotations: ours(annotations) }
}

function notReady(message: string, cause?: unknown): OsmError<InjectorErrorCode> {
  return new OsmError<InjectorErrorCode>('OSM_INJECT_NOT_READY', message, { cause })
}
