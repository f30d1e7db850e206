import { readObjects, type MeshConfigSpec } from '@osm-ts/core'
import { isObject, type JsonObject, offlineInjector } from '@osm-ts/injector'

import { cliError } from '../errors.js'
import { injectObjects, type InjectedObject, type NamespaceTexts } from './inject-objects.js'
import { type InputContext, STANDARD_INPUT } from '../spec/input-files.js'
import { readKubernetesObjects } from './read-objects.js'

/** What `osm inject` is asked. */
export interface InjectQuestion {
  readonly filename: string
  readonly config?: string
  readonly namespace: string
  readonly meshName: string
  readonly osmNamespace: string
  readonly nativeSidecar: 'on' | 'off'
  /** Where pod templates are, as in `spec.template`; undefined for the known places only. */
  readonly templatePath?: string
  readonly input: InputContext
  readonly signal: AbortSignal
}

/** Defaults of the chart for an injector. */
export const injectionDefaults = {
  OSM_DEFAULT_SIDECAR_CLASS: 'envoy',
  OSM_DEFAULT_SIDECAR_IMAGE: 'envoyproxy/envoy:distroless-v1.40.0',
  OSM_DEFAULT_SIDECAR_WINDOWS_IMAGE: '',
  OSM_DEFAULT_INIT_CONTAINER_IMAGE: 'osm-sidecar-init',
}

/** Shows the objects of a file to the injector. */
export async function runInject(question: InjectQuestion): Promise<readonly InjectedObject[]> {
  const { filename, config, input, meshName, osmNamespace, signal } = question
  if (filename === STANDARD_INPUT && config === STANDARD_INPUT)
    throw cliError(
      'OSM_CLI_USAGE',
      '--filename and --config cannot both be -: standard input can be read only once',
      'put the MeshConfig and the Namespaces into a file',
    )
  const objects = await readKubernetesObjects(filename, input)
  const given = config === undefined ? [] : await readKubernetesObjects(config, input)
  const injector = await offlineInjector({
    meshName,
    osmNamespace,
    meshConfig: meshConfigOf(given, config ?? ''),
    environment: injectionDefaults,
    nativeSidecars: question.nativeSidecar === 'on',
  })
  const fault = injector.problems.find(({ severity }) => severity === 'error')
  if (fault !== undefined)
    throw cliError('OSM_CLI_INPUT', `MeshConfig: ${fault.field ?? ''}: ${fault.message}`, 'fix the MeshConfig')
  return injectObjects(objects, {
    injector,
    namespaces: namespacesOf(given),
    meshName,
    defaultNamespace: question.namespace,
    templatePath: question.templatePath?.split('.'),
    signal,
  })
}

function meshConfigOf(objects: readonly JsonObject[], file: string): MeshConfigSpec {
  const written = objects.find(({ kind }) => kind === 'MeshConfig')
  if (written === undefined) return {}
  // JSON is YAML, and this reader checks what it reads by the schema of the kind.
  const { objects: read, problems } = readObjects(JSON.stringify(written))
  const [found] = read
  if (found?.kind === 'MeshConfig') return found.spec
  const reasons = problems.map(({ field = '', message }) => `${field} ${message}`.trim()).join('; ')
  throw cliError('OSM_CLI_INPUT', `${file}: the MeshConfig is invalid: ${reasons}`, 'fix the MeshConfig')
}

function namespacesOf(objects: readonly JsonObject[]): NamespaceTexts {
  const texts = (value: unknown): Readonly<Record<string, string>> =>
    Object.fromEntries(
      Object.entries((value ?? {}) as Record<string, unknown>).map(([name, text]) => [name, String(text)]),
    )
  return new Map(
    objects.flatMap(({ kind, metadata }) => {
      if (kind !== 'Namespace' || !isObject(metadata) || typeof metadata.name !== 'string') return []
      return [[metadata.name, { labels: texts(metadata.labels), annotations: texts(metadata.annotations) }] as const]
    }),
  )
}
