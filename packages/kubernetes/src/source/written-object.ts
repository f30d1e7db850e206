import {
  type Kind,
  makeObjectKey,
  type MeshObject,
  type ObjectDecoder,
  type ObjectKey,
  type Problem,
  sameContent,
  sameValue,
  topologyAnnotations,
} from '@osm-ts/core'
import type { KubernetesObject, ResourceType } from '../api.js'
import { apiVersionOf } from '../resource-types.js'

/** An object of the mesh specification as the API server holds it. */
export interface WrittenObject {
  readonly key: ObjectKey
  readonly kind: Kind
  readonly namespace: string
  /** Absent if what is written can't be used. */
  readonly object: MeshObject | undefined
  readonly problems: readonly Problem[]
  /** Of kinds with a status of ours: what the writer of statuses compares with. */
  readonly facts: ObjectFacts | undefined
}

/** What the API server says about an object, beside what a user wrote. */
export interface ObjectFacts {
  readonly uid: string
  readonly generation: number | undefined
  readonly status: unknown
}

/** How {@link readObject} reads. */
export interface ReadOptions {
  readonly decoder: ObjectDecoder
  readonly kind: Kind
  /** As which the API server was asked for it. */
  readonly type: ResourceType
  /** True keeps labels, of kinds that are selected by them. */
  readonly labels: boolean
  readonly facts: boolean
}

/** Annotations that the mesh reads, with those of Kubernetes. Others change often and mean nothing to it. */
const annotationOfOurs = /^([a-z0-9-]+\.)*(openservicemesh|flomesh)\.io\//
const annotationsOfKubernetes: ReadonlySet<string> = new Set(topologyAnnotations)

/** Checks an object and keeps what the mesh reads of it. Never throws for bad input. */
export function readObject(raw: KubernetesObject, { decoder, kind, type, labels, facts }: ReadOptions): WrittenObject {
  const { metadata, status, ...rest } = raw
  const origin = { kind: 'api', resourceVersion: metadata.resourceVersion ?? '' } as const
  const written = {
    ...rest,
    // Items of a list need not say what they are.
    apiVersion: apiVersionOf(type),
    kind: type.kind,
    metadata: {
      name: metadata.name,
      ...(metadata.namespace === undefined ? {} : { namespace: metadata.namespace }),
      ...(labels && metadata.labels !== undefined ? { labels: metadata.labels } : {}),
      ...(metadata.annotations === undefined ? {} : { annotations: readOf(metadata.annotations) }),
      ...(metadata.generation === undefined ? {} : { generation: metadata.generation }),
      ...(metadata.creationTimestamp === undefined ? {} : { creationTimestamp: metadata.creationTimestamp }),
    },
  }
  const { object, problems } = decoder.decode(written, {
    origin,
    defaultNamespace: '',
    locate: () => origin,
    sourceText: () => undefined,
  })
  const namespace = metadata.namespace ?? ''
  return {
    key: makeObjectKey(kind, namespace, metadata.name),
    kind,
    namespace,
    object,
    problems,
    facts: facts ? { uid: metadata.uid ?? '', generation: metadata.generation, status } : undefined,
  }
}

/** True if no one could tell the two apart: what changed is where and when they were written. */
export function sameWritten(a: WrittenObject, b: WrittenObject): boolean {
  return sameObject(a.object, b.object) && sameProblems(a.problems, b.problems) && sameValue(a.facts, b.facts)
}

/** True if two lists name the same problems, wherever the objects were written down at the time. */
export function sameProblems(a: readonly Problem[], b: readonly Problem[]): boolean {
  return a === b || sameValue(a.map(withoutOrigin), b.map(withoutOrigin))
}

function sameObject(a: MeshObject | undefined, b: MeshObject | undefined): boolean {
  return a === b || (a !== undefined && b !== undefined && sameContent(a, b))
}

function withoutOrigin({ origin: _origin, ...problem }: Problem): Omit<Problem, 'origin'> {
  return problem
}

function readOf(annotations: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  const isRead = (name: string): boolean => annotationOfOurs.test(name) || annotationsOfKubernetes.has(name)
  return Object.fromEntries(Object.entries(annotations).filter(([name]) => isRead(name)))
}
