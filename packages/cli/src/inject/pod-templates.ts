import { isObject, type JsonObject, withMembers } from '@osm-ts/injector'

/** A pod that an object makes, and what becomes of the object when the pod is another one. */
export interface PodTemplate {
  /** Kind and name of the object, for people. */
  readonly title: string
  readonly namespace: string
  /** The pod as a controller would create it. */
  readonly pod: JsonObject
  /** JSON pointer of the template in the object; empty for a pod itself. */
  readonly at: string
  /** The template as it is in the object. */
  readonly template: JsonObject
  /** The template that makes this pod. */
  readonly templateOf: (pod: JsonObject) => JsonObject
  /** The object with another template. */
  readonly withTemplate: (template: JsonObject) => JsonObject
}

/** Where kinds of Kubernetes have the template of their pods. A malformed one is still one: the injector says what is wrong with it. */
const OWN_PLACES: ReadonlyMap<string, readonly string[]> = new Map([
  ['v1 Pod', []],
  ['v1 PodTemplate', ['template']],
  ['v1 ReplicationController', ['spec', 'template']],
  ['apps/v1 Deployment', ['spec', 'template']],
  ['apps/v1 StatefulSet', ['spec', 'template']],
  ['apps/v1 DaemonSet', ['spec', 'template']],
  ['apps/v1 ReplicaSet', ['spec', 'template']],
  ['batch/v1 Job', ['spec', 'template']],
  ['batch/v1 CronJob', ['spec', 'jobTemplate', 'spec', 'template']],
])

/** Where other kinds have it, such as those of Argo Rollouts, Knative and OpenShift. The kind does not matter, the shape does. */
const PLACES: readonly (readonly string[])[] = [
  ['spec', 'template'],
  ['template'],
  ['spec', 'jobTemplate', 'spec', 'template'],
]

/** How deep pods are looked for in objects that have none at a known place. */
const MAX_DEPTH = 8

/**
 * The pod template of an object; undefined if it has none.
 *
 * @param given - where the template is; undefined looks at the known places
 */
export function podTemplate(
  object: JsonObject,
  defaultNamespace: string,
  given?: readonly string[],
): PodTemplate | undefined {
  const path = ownPlace(object) ?? placesOf(given).find((place) => isTemplate(memberAt(object, place)))
  const written = path === undefined ? undefined : memberAt(object, path)
  if (path === undefined || written === undefined) return undefined
  const template = isOfKnative(object) ? withContainerNames(written) : written
  const { kind, namespace, name } = nameOf(object, defaultNamespace)
  const own = isObject(template.metadata) ? template.metadata : {}
  const isPod = path.length === 0
  return {
    title: `${kind} ${namespace}/${name}`,
    namespace,
    pod: isPod
      ? object
      : { apiVersion: 'v1', kind: 'Pod', ...template, metadata: { ...own, namespace, generateName: `${name}-` } },
    at: path.map((member) => `/${member}`).join(''),
    template,
    templateOf: (pod) => (isPod ? pod : templateFrom(pod, template, own)),
    withTemplate: (next) => replaceAt(object, path, next),
  }
}

/** What the controller adds is taken away again. */
function templateFrom(pod: JsonObject, template: JsonObject, own: JsonObject): JsonObject {
  const metadata = isObject(pod.metadata) ? pod.metadata : {}
  const { namespace, generateName } = own
  return withMembers(template, {
    metadata: withMembers(metadata, { namespace, generateName }),
    ...(pod.spec === undefined ? {} : { spec: pod.spec }),
  })
}

/** Kind, namespace and name of an object, for people. */
export function titleOf(object: JsonObject, defaultNamespace: string): string {
  const { kind, namespace, name } = nameOf(object, defaultNamespace)
  return `${kind} ${namespace}/${name}`
}

/** Where an object without a known template seems to have one, such as `spec.podSpecs.template`; undefined if nowhere. */
export function likelyTemplate(object: JsonObject): string | undefined {
  return search(object, [])?.join('.')
}

function search(value: JsonObject, path: readonly string[]): readonly string[] | undefined {
  if (isTemplate(value)) return path
  if (path.length >= MAX_DEPTH) return undefined
  for (const [name, member] of Object.entries(value)) {
    const found = isObject(member) ? search(member, [...path, name]) : undefined
    if (found !== undefined) return found
  }
  return undefined
}

function isOfKnative({ apiVersion }: JsonObject): boolean {
  return typeof apiVersion === 'string' && apiVersion.startsWith('serving.knative.dev/')
}

/** Knative names containers without a name, and no other kind may have one: `user-container`, with a number where there are several. */
function withContainerNames(template: JsonObject): JsonObject {
  const { spec } = template
  if (!isObject(spec) || !Array.isArray(spec.containers)) return template
  const written: readonly JsonObject[string][] = spec.containers
  const { length } = written
  const containers = written.map((container, index) =>
    isObject(container) && (container.name === undefined || container.name === '')
      ? { ...container, name: length === 1 ? 'user-container' : `user-container-${index}` }
      : container,
  )
  return { ...template, spec: { ...spec, containers } }
}

function ownPlace({ apiVersion, kind }: JsonObject): readonly string[] | undefined {
  return typeof apiVersion === 'string' && typeof kind === 'string'
    ? OWN_PLACES.get(`${apiVersion} ${kind}`)
    : undefined
}

function placesOf(given: readonly string[] | undefined): readonly (readonly string[])[] {
  return given === undefined ? PLACES : [given, ...PLACES]
}

function isTemplate(value: JsonObject | undefined): boolean {
  return isObject(value?.spec) && Array.isArray(value.spec.containers)
}

function nameOf(
  object: JsonObject,
  defaultNamespace: string,
): { readonly kind: string; readonly namespace: string; readonly name: string } {
  const metadata = isObject(object.metadata) ? object.metadata : {}
  return {
    kind: typeof object.kind === 'string' ? object.kind : '',
    namespace: typeof metadata.namespace === 'string' ? metadata.namespace : defaultNamespace,
    name: typeof metadata.name === 'string' ? metadata.name : '',
  }
}

function memberAt(object: JsonObject, path: readonly string[]): JsonObject | undefined {
  return path.reduce<JsonObject | undefined>((inner, member) => {
    const next = inner !== undefined && Object.hasOwn(inner, member) ? inner[member] : undefined
    return isObject(next) ? next : undefined
  }, object)
}

function replaceAt(object: JsonObject, [member, ...rest]: readonly string[], next: JsonObject): JsonObject {
  if (member === undefined) return next
  const inner = object[member]
  return { ...object, [member]: isObject(inner) ? replaceAt(inner, rest, next) : next }
}
