import { didYouMean, formatFieldPath, type ObjectOrigin, type ObjectRef, type Problem, switchWords } from '@osm-ts/core'
import { ownValue } from '@osm-ts/driver-api/toolkit'

import type { AnalyzeErrorCode } from './error-codes.js'

/** An object, as far as its labels and annotations are checked. */
export interface KeyedObject extends ObjectRef {
  readonly labels: Readonly<Record<string, string>>
  readonly annotations: Readonly<Record<string, string>>
}

/** How places of an object are found; undefined where nothing is known of them. */
export type LocateKey = (object: ObjectRef, field: string) => ObjectOrigin | undefined

type Role = 'label' | 'annotation'

const DOMAIN = 'openservicemesh.io'
const MONITORED_BY = `${DOMAIN}/monitored-by`
/** Kinds that a key is read of; `any` for what the mesh itself writes, and for what every object may have. */
type Kinds = readonly string[] | 'any'

const pods: Kinds = ['Namespace', 'Pod']
const resources = ['limits', 'requests'].flatMap((side) =>
  ['cpu', 'memory', 'storage', 'ephemeral-storage'].map((name) => `sidecar-resource-${side}-${name}`),
)
const exclusions = [
  'inbound-port-exclusion-list',
  'outbound-port-exclusion-list',
  'outbound-ip-range-exclusion-list',
  'outbound-ip-range-inclusion-list',
  'network-interface-exclusion-list',
]
const written = {
  label: ['certificate', 'join-token', 'machine-token-use', 'machine-uuid', 'outside-certificate', 'reconcile'],
  annotation: [
    'admission',
    'configuration',
    'expires-at',
    'issued-for',
    'leader-address',
    'machine',
    'machine-token-use',
    'preset-fields',
    'probe-bindings',
    'sidecar-class-before-migration',
    'suppress-findings',
    'trusted-since',
    'validity-ms',
  ],
} as const

/** Every key below the domain of the mesh, without the domain. */
export const meshKeys: Readonly<Record<Role, ReadonlyMap<string, Kinds>>> = {
  label: new Map<string, Kinds>([
    ['monitored-by', ['Namespace']],
    ['ignore', ['Namespace']],
    ...written.label.map((name) => [name, 'any'] as const),
  ]),
  annotation: new Map<string, Kinds>([
    ['sidecar-injection', pods],
    ['sidecar-class', pods],
    ['workload-identity', pods],
    ['metrics', ['Namespace']],
    ['egress-gateway-mode', ['Service']],
    ['pod-addresses', ['Namespace', 'Service']],
    ['machine-labels', ['ServiceAccount']],
    ['azure-machines', ['ServiceAccount']],
    ...exclusions.map((name) => [name, ['Pod', 'Workload']] as const),
    ...resources.map((name) => [name, pods] as const),
    ...written.annotation.map((name) => [name, 'any'] as const),
  ]),
}

/** Annotations that are on or off. */
const switches = ['sidecar-injection', 'metrics']

/** What is wrong with the labels and annotations of objects. */
export function findKeyProblems(objects: Iterable<KeyedObject>, locate: LocateKey): readonly Problem[] {
  const found: Problem[] = []
  for (const object of objects)
    for (const role of ['label', 'annotation'] as const)
      for (const [key, value] of Object.entries(role === 'label' ? object.labels : object.annotations)) {
        const fault = keyFault(object, role, key, value)
        if (fault !== undefined)
          found.push(problemOf(object, formatFieldPath(['metadata', `${role}s`, key]), fault, locate))
      }
  return found
}

interface Fault {
  readonly code: AnalyzeErrorCode
  readonly severity: Problem['severity']
  readonly message: string
}

function keyFault({ kind }: ObjectRef, role: Role, key: string, value: string): Fault | undefined {
  const slash = key.indexOf('/')
  if (slash < 0) return undefined
  const [domain, name] = [key.slice(0, slash), key.slice(slash + 1)]
  const other = role === 'label' ? 'annotation' : 'label'
  if (domain !== DOMAIN) return misspeltDomain(domain, name)
  const kinds = meshKeys[role].get(name)
  if (kinds === undefined && meshKeys[other].has(name))
    return misplaced(`has no effect as ${articled(role)}: the mesh reads it as ${articled(other)}`)
  if (kinds === undefined) {
    const full = [...meshKeys[role].keys()].map((each) => `${DOMAIN}/${each}`)
    return unknown(`the mesh reads no ${role} of this name${didYouMean(key, full)}`)
  }
  if (kinds !== 'any' && !kinds.includes(kind))
    return misplaced(`has no effect on a ${kind}: the mesh reads it of a ${kinds.join(' or ')}`)
  if (role === 'annotation' && switches.includes(name) && !switchWords.has(value.toLowerCase())) {
    const message = `must be one of ${[...switchWords.keys()].join(', ')}, not ${JSON.stringify(value)}; pods are refused until it is`
    return { code: 'OSM_ANALYZE_KEY_VALUE', severity: 'error', message }
  }
  return undefined
}

/** Another domain is the business of others, unless both parts of the key look like those of the mesh. */
function misspeltDomain(domain: string, name: string): Fault | undefined {
  const isOurs = meshKeys.label.has(name) || meshKeys.annotation.has(name)
  const meant = isOurs ? didYouMean(domain, [DOMAIN]) : ''
  return meant === '' ? undefined : unknown(`${domain} is not the domain of the mesh${meant}`)
}

function articled(role: Role): string {
  return role === 'label' ? 'a label' : 'an annotation'
}

function unknown(message: string): Fault {
  return { code: 'OSM_ANALYZE_KEY_UNKNOWN', severity: 'warning', message }
}

function misplaced(message: string): Fault {
  return { code: 'OSM_ANALYZE_KEY_MISPLACED', severity: 'warning', message }
}

function problemOf({ kind, namespace, name }: ObjectRef, field: string, fault: Fault, locate: LocateKey): Problem {
  const object = { kind, namespace, name }
  const origin = locate(object, field)
  return { ...fault, object, field, ...(origin !== undefined && { origin }) }
}

/** What namespaces of a cluster are checked against. */
export interface NamespaceRules {
  readonly meshName: string
  /** Names of all meshes of the cluster; undefined if they cannot be listed. */
  readonly meshNames: readonly string[] | undefined
}

/** What is wrong with how namespaces of a cluster take part in a mesh. */
export function findNamespaceProblems(
  namespaces: Iterable<KeyedObject>,
  { meshName, meshNames }: NamespaceRules,
  locate: LocateKey,
): readonly Problem[] {
  const found: Problem[] = []
  for (const namespace of namespaces) {
    const { labels, annotations } = namespace
    const label = ownValue(labels, MONITORED_BY)
    if (label === undefined || Object.hasOwn(labels, `${DOMAIN}/ignore`)) continue
    if (label !== meshName && meshNames?.includes(label) === false) {
      const message = `the cluster has no mesh ${JSON.stringify(label)}${didYouMean(label, meshNames)}`
      const fault = { code: 'OSM_ANALYZE_NAMESPACE_MESH', severity: 'warning', message } as const
      found.push(problemOf(namespace, formatFieldPath(['metadata', 'labels', MONITORED_BY]), fault, locate))
    }
    if (label === meshName && !Object.hasOwn(annotations, `${DOMAIN}/sidecar-injection`)) {
      const message = `the namespace is of mesh ${meshName}, but its pods get sidecars only where they are annotated themselves; set ${DOMAIN}/sidecar-injection to enabled, or to disabled if that is meant`
      const fault = { code: 'OSM_ANALYZE_NAMESPACE_INJECTION', severity: 'warning', message } as const
      found.push(problemOf(namespace, 'metadata.annotations', fault, locate))
    }
  }
  return found
}
