import { Listeners, onAbort } from '@osm-ts/driver-api/toolkit'
import type { CustomResource, ResourceKind, ResourceRef } from '@osm-ts/endpoints-api'

import type { ObjectOrigin, Problem } from '../../problem.js'
import { sameValue } from '../../spec/content.js'
import { allKinds, isKind, kindDefinitions } from '../../spec/schema/kinds.js'
import { isPlainObject } from '../../spec/shape.js'
import type { EndpointsErrorCode } from '../error-codes.js'
import type { OpenedResources, ResourceStore, StoredResource } from './resource-store.js'
import { compileSchema } from './schema-faults.js'

/** Kinds of one provider. */
const MAX_KINDS = 8
/** Characters of the spec of an object as JSON. */
const MAX_SPEC = 65_536
/** Objects of a provider in one namespace, so that a tenant cannot displace those of others. */
const MAX_PER_NAMESPACE = 200
const MAX_IN_ALL = 10_000
/** Characters of the specs of all objects as JSON: they are sent to the process of the provider as a whole. */
const MAX_CHARACTERS = 8 << 20
/** Changes are collected for this time, in milliseconds. */
const COLLECT_MS = 250

/** What a {@link ProviderResources} is made of. */
export interface ProviderResourcesOptions {
  readonly kinds: readonly ResourceKind[]
  readonly store: ResourceStore
  readonly setTimer: (callback: () => void, delayMs: number) => () => void
  readonly signal: AbortSignal
}

/** An object that does not reach the provider, and why. */
export interface RefusedResource {
  readonly resource: StoredResource
  readonly code: EndpointsErrorCode
  readonly message: string
  /** True: the last valid version of the object stays in force. */
  readonly hasPrevious: boolean
}

interface Checked {
  readonly accepted: readonly CustomResource[]
  readonly refused: readonly RefusedResource[]
}

/**
 * The objects of the kinds of one provider, checked by its schemas and bounded. An object that becomes invalid keeps its last valid version in force; one beyond a
 * bound is left out, the first of every namespace before the second of any.
 */
export class ProviderResources {
  readonly kinds: readonly ResourceKind[]
  readonly #opened: OpenedResources
  readonly #changes = new Listeners()
  readonly #validators: ReadonlyMap<string, ReturnType<typeof compileSchema>>
  #valid: ReadonlyMap<string, CustomResource> = new Map()
  #origins: ReadonlyMap<string, ObjectOrigin> = new Map()
  #checked: Checked = { accepted: [], refused: [] }

  /** Opens the objects. @throws RangeError naming a kind that a provider must not own */
  static async open({ kinds, store, setTimer, signal }: ProviderResourcesOptions): Promise<ProviderResources> {
    const fault = kindsFault(kinds)
    if (fault !== undefined) throw new RangeError(fault)
    const resources = new ProviderResources(kinds, await store.open(kinds, signal))
    resources.#check()
    resources.#follow(setTimer, signal)
    return resources
  }

  private constructor(kinds: readonly ResourceKind[], opened: OpenedResources) {
    this.kinds = kinds
    this.#opened = opened
    this.#validators = new Map(kinds.map(({ kind, specSchema }) => [kind, compileSchema(specSchema)]))
  }

  /** The objects that the provider gets, sorted by kind, namespace and name. */
  list(): readonly CustomResource[] {
    return this.#checked.accepted
  }

  /** The objects that it does not get as they are written. */
  refused(): readonly RefusedResource[] {
    return this.#checked.refused
  }

  /** Calls the listener after every change, a few times a second at most. The result ends it. */
  subscribe(listener: () => void): () => void {
    return this.#changes.add(listener)
  }

  /** Where an object is written down. */
  originOf(ref: ResourceRef): ObjectOrigin | undefined {
    return this.#origins.get(resourceKey(ref))
  }

  /** What is wrong with the objects. */
  problems(): readonly Problem[] {
    return this.#checked.refused.map(({ resource, code, message, hasPrevious }): Problem => {
      const { kind, namespace, name, origin } = resource
      const effect = hasPrevious ? 'the last valid version stays in force' : 'the object is left out'
      return { code, severity: 'error', message: `${message}; ${effect}`, object: { kind, namespace, name }, origin }
    })
  }

  #follow(setTimer: ProviderResourcesOptions['setTimer'], signal: AbortSignal): void {
    let cancel: (() => void) | undefined
    const leave = this.#opened.subscribe(() => {
      cancel ??= setTimer(() => {
        cancel = undefined
        const before = this.#checked
        this.#check()
        if (!sameValue(before, this.#checked)) this.#changes.notify()
      }, COLLECT_MS)
    })
    onAbort(signal, () => {
      leave()
      cancel?.()
    })
  }

  #check(): void {
    const refused: RefusedResource[] = []
    const valid = new Map<string, CustomResource>()
    const origins = new Map<string, StoredResource>()
    for (const resource of this.#opened.list()) {
      const key = resourceKey(resource)
      origins.set(key, resource)
      const fault = this.#specFault(resource)
      const previous = fault === undefined ? undefined : this.#valid.get(key)
      if (fault !== undefined)
        refused.push({
          resource,
          code: 'OSM_ENDPOINTS_RESOURCE',
          message: fault,
          hasPrevious: previous !== undefined,
        })
      const used = fault === undefined ? customResource(resource) : previous
      if (used !== undefined) valid.set(key, used)
    }
    this.#valid = valid
    this.#origins = new Map([...origins].map(([key, { origin }]) => [key, origin]))
    const { within, beyond } = bounded([...valid].sort(([a], [b]) => (a < b ? -1 : 1)))
    for (const key of beyond) {
      const resource = origins.get(key)
      if (resource !== undefined)
        refused.push({
          resource,
          code: 'OSM_ENDPOINTS_BOUND',
          message: `a provider takes ${MAX_PER_NAMESPACE} objects of a namespace, and ${MAX_IN_ALL} objects with ${MAX_CHARACTERS} characters in all`,
          hasPrevious: false,
        })
    }
    this.#checked = { accepted: within, refused }
  }

  #specFault({ kind, spec }: StoredResource): string | undefined {
    if (!isPlainObject(spec)) return 'spec must be an object'
    const { length } = JSON.stringify(spec)
    if (length > MAX_SPEC) return `spec has ${length} characters as JSON; ${MAX_SPEC} are accepted`
    const faults = this.#validators.get(kind)?.(spec, 'spec') ?? []
    return faults.length === 0 ? undefined : faults.join('; ').slice(0, 1_024)
  }
}

/** Why a provider must not own kinds, with what would be right; undefined if it may. */
function kindsFault(kinds: readonly ResourceKind[]): string | undefined {
  if (kinds.length > MAX_KINDS) return `the provider has ${kinds.length} kinds; ${MAX_KINDS} are accepted`
  const meshGroups = new Set(allKinds().map((kind) => kindDefinitions[kind].apiVersion.split('/')[0] ?? ''))
  for (const [index, { group, version, kind, plural }] of kinds.entries()) {
    if (!/^[a-z0-9-]+(\.[a-z0-9-]+)+$/.test(group) || meshGroups.has(group) || /(^|\.)k8s\.io$/.test(group))
      return `kind ${kind} has the group ${group}; a group must be a DNS name of the provider's own`
    if (!/^v[0-9]+((alpha|beta)[0-9]+)?$/.test(version))
      return `kind ${kind} has the version ${version}, not one such as v1alpha1`
    if (!/^[A-Z][A-Za-z0-9]{0,62}$/.test(kind) || isKind(kind))
      return `${kind} is not a name that a provider's kind may have`
    if (!/^[a-z][a-z0-9]{0,62}$/.test(plural)) return `kind ${kind} has the plural ${plural}, not one in lower case`
    if (kinds.findIndex((it) => it.kind === kind) !== index) return `kind ${kind} is declared twice`
  }
  return undefined
}

/** The first objects of every namespace, as many as there may be. */
function bounded(sorted: readonly (readonly [string, CustomResource])[]): {
  readonly within: readonly CustomResource[]
  readonly beyond: readonly string[]
} {
  const counts = new Map<string, number>()
  const ranked = sorted.map(([key, resource]) => {
    const rank = counts.get(resource.namespace) ?? 0
    counts.set(resource.namespace, rank + 1)
    return { key, resource, rank }
  })
  let count = 0
  let characters = 0
  const within = new Set<string>()
  for (const { key, resource, rank } of ranked.toSorted((a, b) => a.rank - b.rank)) {
    const size = JSON.stringify(resource.spec).length
    if (rank >= MAX_PER_NAMESPACE || count >= MAX_IN_ALL || characters + size > MAX_CHARACTERS) continue
    count += 1
    characters += size
    within.add(key)
  }
  return {
    within: ranked.filter(({ key }) => within.has(key)).map(({ resource }) => resource),
    beyond: ranked.filter(({ key }) => !within.has(key)).map(({ key }) => key),
  }
}

function customResource({ kind, namespace, name, labels, generation, spec }: StoredResource): CustomResource {
  return { kind, namespace, name, labels, generation, spec: spec as CustomResource['spec'] } // valid for its schema
}

/** Key of an object among those of a provider. */
export function resourceKey({ kind, namespace, name }: ResourceRef): string {
  return `${kind}/${namespace}/${name}`
}
