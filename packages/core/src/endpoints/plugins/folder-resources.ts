import { onAbort } from '@osm-ts/driver-api/toolkit'
import type { ResourceKind } from '@osm-ts/endpoints-api'

import type { Problem } from '../../problem.js'
import type { YamlFolderSource } from '../../spec/yaml-folder.js'
import type { OpenedResources, ResourceStore, StoredResource } from './resource-store.js'

type Folder = Pick<YamlFolderSource, 'others' | 'onOthers'>

/** Objects of providers' kinds that are written down in a folder of YAML files. */
export class FolderResources implements ResourceStore {
  readonly #folder: Folder
  /** Kinds that providers have claimed, as `<group>/<version>/<kind>`; of each how many times. */
  readonly #claimed = new Map<string, number>()

  /** @param folder - outlives this */
  constructor(folder: Folder) {
    this.#folder = folder
  }

  async open(kinds: readonly ResourceKind[], signal: AbortSignal): Promise<OpenedResources> {
    for (const kind of kinds) this.#claim(kind, 1)
    onAbort(signal, () => kinds.forEach((kind) => this.#claim(kind, -1)))
    return {
      list: () => this.#folder.others().flatMap((other) => storedAs(kinds, other)),
      subscribe: (listener) => this.#folder.onOthers(listener),
    }
  }

  /** Objects that no provider reads. Before providers have declared their kinds that is every one. */
  problems(): readonly Problem[] {
    return this.#folder
      .others()
      .filter((other) => (this.#claimed.get(keyOf(other)) ?? 0) === 0)
      .map(({ group, version, kind, namespace, name, origin }): Problem => {
        const message = `kind ${kind} of ${group}/${version} is of no endpoints provider that runs; load the one that owns it, or remove the object`
        return { code: 'OSM_SPEC_KIND', severity: 'warning', message, object: { kind, namespace, name }, origin }
      })
  }

  #claim(kind: ResourceKind, by: 1 | -1): void {
    const key = keyOf(kind)
    this.#claimed.set(key, (this.#claimed.get(key) ?? 0) + by)
  }
}

function storedAs(
  kinds: readonly ResourceKind[],
  other: ReturnType<Folder['others']>[number],
): readonly StoredResource[] {
  const { group, version, kind, namespace, name, labels, spec, origin } = other
  const isOurs = kinds.some((it) => it.group === group && it.version === version && it.kind === kind)
  // A folder does not count changes.
  return isOurs ? [{ group, kind, namespace, name, labels, generation: 1, spec, origin }] : []
}

function keyOf({ group, version, kind }: Pick<ResourceKind, 'group' | 'version' | 'kind'>): string {
  return `${group}/${version}/${kind}`
}
