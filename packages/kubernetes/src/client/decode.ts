import type { KubernetesMetadata, KubernetesObject, ListPage, ResourceType, WatchEvent } from '../api.js'
import { KubernetesError } from '../kubernetes-error.js'
import { apiVersionOf } from '../resource-types.js'
import { watchError } from './status-error.js'

/** A list as the API server sends it: its items lack `apiVersion` and `kind`. */
interface RawList {
  readonly metadata?: { readonly resourceVersion?: string; readonly continue?: string }
  readonly items?: readonly RawObject[] | null
}

interface RawObject {
  readonly metadata?: KubernetesMetadata
  readonly [field: string]: unknown
}

/** Parses what the API server sent; the text itself gets into no error, because it may be a Secret. */
export function parseJson(text: string, what: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw unexpected(what, 'not JSON')
  }
}

export function asListPage(body: unknown, type: ResourceType, what: string): ListPage {
  const { metadata, items } = asRecord(body, what) as RawList
  if (metadata?.resourceVersion === undefined || !(Array.isArray(items) || items === null)) {
    throw unexpected(what, 'not a list')
  }
  return {
    resourceVersion: metadata.resourceVersion,
    ...(metadata.continue === undefined || metadata.continue === '' ? {} : { continue: metadata.continue }),
    items: (items ?? []).map((item) => ofType(type, asObject(item, what))),
  }
}

/** The object under its own kind: items of lists come without one, and mere metadata under that of metadata. */
export function ofType(type: ResourceType, object: KubernetesObject): KubernetesObject {
  return { ...object, apiVersion: apiVersionOf(type), kind: type.kind }
}

export function asObject(body: unknown, what: string): KubernetesObject {
  const object = asRecord(body, what) as RawObject
  if (typeof object.metadata !== 'object') throw unexpected(what, 'not an object with metadata')
  return object as KubernetesObject // fields of metadata are as the API server's own schema says
}

export function asWatchEvent(body: unknown, what: string): WatchEvent {
  const { type, object } = asRecord(body, what) as { readonly type?: unknown; readonly object?: unknown }
  switch (type) {
    case 'ADDED':
    case 'MODIFIED':
    case 'DELETED':
      return { type, object: asObject(object, what) }
    case 'BOOKMARK': {
      const { resourceVersion } = asObject(object, what).metadata
      if (resourceVersion === undefined) throw unexpected(what, 'a bookmark without a resource version')
      return { type, resourceVersion }
    }
    case 'ERROR':
      throw watchError(what, object)
    default:
      throw unexpected(what, 'not a watch event')
  }
}

function asRecord(value: unknown, what: string): Readonly<Record<string, unknown>> {
  if (typeof value === 'object' && value !== null) return value as Readonly<Record<string, unknown>>
  throw unexpected(what, 'not an object')
}

function unexpected(what: string, found: string): KubernetesError {
  return new KubernetesError('OSM_KUBERNETES_RESPONSE', `${what}: the answer is ${found}`, { reason: 'Malformed' })
}
