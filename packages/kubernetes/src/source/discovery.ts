import type { KubernetesApi, ResourceType, Selection } from '../api.js'
import { isKubernetesError } from '../kubernetes-error.js'
import { inVersion } from '../resource-types.js'

/** As what a kind is served. */
export interface ServedKind {
  readonly type: ResourceType
  /** True if statuses of it can be written. */
  readonly hasStatus: boolean
  /** False: the API server serves the kind and does not list it yet. Whether it has a status is unknown until then. */
  readonly isListed: boolean
}

interface ApiGroup {
  readonly versions?: readonly { readonly version?: string }[]
}

interface ApiResourceList {
  readonly resources?: readonly { readonly name?: string }[]
}

/** Finds out which versions of kinds an API server serves. Questions that are asked at the same time are asked once. */
export class Discovery {
  readonly #api: KubernetesApi
  readonly #asked = new Map<string, Promise<unknown>>()

  constructor(api: KubernetesApi) {
    this.#api = api
  }

  /**
   * The first of the versions that is served, or undefined if none is.
   *
   * @param type - in the version that the mesh knows best
   * @param versions - all versions that are read, the best first
   * @param selection - the objects that may be requested
   * @throws KubernetesError if the API server does not say
   */
  async find(
    type: ResourceType,
    versions: readonly string[],
    selection: Selection,
    signal: AbortSignal,
  ): Promise<ServedKind | undefined> {
    const served = await this.#served(type, signal)
    const version = versions.find((candidate) => served.has(candidate))
    if (version !== undefined) {
      const names = served.get(version) ?? new Set()
      return { type: inVersion(type, version), hasStatus: names.has(`${type.plural}/status`), isListed: true }
    }
    // An API server that has just started serves custom kinds before it lists them. Asked for one that it does not serve
    // it says so only when it can know.
    try {
      await this.#api.list(type, { ...selection, limit: 1 }, signal)
      return { type, hasStatus: false, isListed: false }
    } catch (error) {
      if (isKubernetesError(error) && error.notFound) return undefined
      throw error
    }
  }

  /** Names of resources by version, of those versions of the group that serve the kind. */
  async #served(
    { group, plural }: ResourceType,
    signal: AbortSignal,
  ): Promise<ReadonlyMap<string, ReadonlySet<string>>> {
    const { versions = [] } = ((await this.#read(`/apis/${group}`, signal)) ?? {}) as ApiGroup
    const found = new Map<string, ReadonlySet<string>>()
    for (const { version } of versions) {
      if (version === undefined) continue
      const { resources = [] } = ((await this.#read(`/apis/${group}/${version}`, signal)) ?? {}) as ApiResourceList
      const names = new Set(resources.flatMap(({ name }) => name ?? []))
      if (names.has(plural)) found.set(version, names)
    }
    return found
  }

  #read(path: string, signal: AbortSignal): Promise<unknown> {
    const asked = this.#asked.get(path)
    if (asked !== undefined) return asked
    const answer = this.#api.read(path, signal).finally(() => this.#asked.delete(path))
    this.#asked.set(path, answer)
    return answer
  }
}
