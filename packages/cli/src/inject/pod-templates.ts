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
  /** The template as it stands in the object. */
  readonly template: JsonObject
  /** The template that makes this pod. */
  readonly templateOf: (pod: JsonObject) => JsonObject
  /** The object with another template. */
  readonly withTemplate: (template: JsonObject) => JsonObject
}

/** Where kinds have the template of their pods. */
const TEMPLATES: Readonly<Record<string, readonly string[]>> = {
  Pod: [],
  Deployment: ['spec', 'template'],
  StatefulSet: ['spec', 'template'],
  DaemonSet: ['spec', 'template'],
  ReplicaSet: ['spec', 'template'],
  ReplicationController: ['spec', 'template'],
  Job: ['spec', 'template'],
  CronJob: ['spec', 'jobTemplate', 'spec', 'template'],
}

/** The pod template of an object; undefined if it makes no pods. */
export function podTemplate(object: JsonObject, defaultNamespace: string): PodTemplate | undefined {
  const kind = typeof object.kind === 'string' ? object.kind : ''
  const path = Object.hasOwn(TEMPLATES, kind) ? TEMPLATES[kind] : undefined
  const template = path === undefined ? undefined : memberAt(object, path)
  if (path === undefined || template === undefined) return undefined
  const metadata = isObject(object.metadata) ? object.metadata : {}
  const name = typeof metadata.name === 'string' ? metadata.name : ''
  const namespace = typeof metadata.namespace === 'string' ? metadata.namespace : defaultNamespace
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

function memberAt(object: JsonObject, path: readonly string[]): JsonObject | undefined {
  return path.reduce<JsonObject | undefined>((inner, member) => {
    const next = inner?.[member]
    return isObject(next) ? next : undefined
  }, object)
}

function replaceAt(object: JsonObject, [member, ...rest]: readonly string[], next: JsonObject): JsonObject {
  if (member === undefined) return next
  const inner = object[member]
  return { ...object, [member]: isObject(inner) ? replaceAt(inner, rest, next) : next }
}
