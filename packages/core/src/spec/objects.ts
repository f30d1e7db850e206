import type { Branded } from '@osm-ts/driver-api'
import type { JsonValue } from '@osm-ts/driver-api/policy'

import type { ObjectOrigin, ObjectRef } from '../problem.js'
import { isKind, kindDefinitions, type Kind, type KindSpecs } from './schema/kinds.js'

/** Metadata of an object, as far as the mesh reads it. `namespace` is empty for cluster-scoped kinds. */
export interface ObjectMetadata {
  readonly name: string
  readonly namespace: string
  readonly labels: Readonly<Record<string, string>>
  readonly annotations: Readonly<Record<string, string>>
  /** Counts changes of the spec; only the API server sets it. */
  readonly generation?: number
  /** When the object was created, RFC 3339. Of kinds whose older objects come first. */
  readonly createdAt?: string
}

/** An object of one kind. */
export interface MeshObjectOf<K extends Kind> {
  /** The version of the table of kinds, whichever one was written. */
  readonly apiVersion: string
  readonly kind: K
  readonly metadata: ObjectMetadata
  readonly spec: KindSpecs[K]
  readonly status?: Readonly<Record<string, JsonValue>>
  readonly origin: ObjectOrigin
}

/** A checked, frozen object of the mesh specification. Without a type argument: a union that `kind` tells apart. */
export type MeshObject<K extends Kind = Kind> = K extends Kind ? MeshObjectOf<K> : never

/** From kind to object type. */
export type KindMap = { readonly [K in Kind]: MeshObjectOf<K> }

/** `<Kind>/<namespace>/<name>`; cluster-scoped kinds have an empty namespace. */
export type ObjectKey = Branded<string, 'ObjectKey'>

/** The key of an object that may or may not exist. */
export function makeObjectKey(kind: Kind, namespace: string, name: string): ObjectKey {
  return `${kind}/${namespace}/${name}` as ObjectKey
}

/** The key of an object. */
export function objectKey(object: MeshObject): ObjectKey {
  return makeObjectKey(object.kind, object.metadata.namespace, object.metadata.name)
}

/** The parts of a key, or undefined if the text is none. */
export function parseObjectKey(text: string): (ObjectRef & { readonly kind: Kind }) | undefined {
  const parts = text.split('/')
  const [kind, namespace, name] = parts
  if (parts.length !== 3 || kind === undefined || namespace === undefined || !name || !isKind(kind)) return undefined
  if ((kindDefinitions[kind].scope === 'Cluster') !== (namespace === '')) return undefined
  return { kind, namespace, name }
}

/** How problems name an object. */
export function objectRef(object: MeshObject): ObjectRef {
  return { kind: object.kind, namespace: object.metadata.namespace, name: object.metadata.name }
}

/** Kinds of the Gateway API that say where requests to a Service go. */
export type RequestRouteKind = 'HTTPRoute' | 'GRPCRoute'

/** Kinds of the Gateway API that say where connections to a Service go. */
export type ConnectionRouteKind = 'GatewayTCPRoute' | 'TLSRoute'

/** Kinds of routes of the Gateway API. */
export type GatewayRouteKind = RequestRouteKind | ConnectionRouteKind

const gatewayRouteKinds: readonly string[] = Object.freeze(['HTTPRoute', 'GRPCRoute', 'GatewayTCPRoute', 'TLSRoute'])

/** True for kinds of routes of the Gateway API. */
export function isGatewayRouteKind(kind: string): kind is GatewayRouteKind {
  return gatewayRouteKinds.includes(kind)
}

/** Narrows an object to a route of the Gateway API. */
export function isGatewayRoute(object: MeshObject): object is MeshObject<GatewayRouteKind> {
  return isGatewayRouteKind(object.kind)
}

/** Narrows an object to a kind. */
export function isOfKind<K extends Kind>(object: MeshObject, kind: K): object is MeshObject<K> {
  return object.kind === kind
}
