import type { EncodedResource, TranslatedType } from '../../src/resources/types.js'
import type { Push } from '../../src/server/state/push.js'
import { textOf } from './resources.js'

/** How the model words a refusal. */
export type RefusalStyle = 'named' | 'unnamed'

interface Copy {
  readonly content: string
  readonly version: string
}

const isBad = (content: string) => content.includes('bad')

/** What extensions are named by in contents that refer to them; other names are those of clusters or routes. */
const EXTENSION_PREFIX = 'x'

/** Names that a content refers to: `@a,b` at its end. */
export const referencesOf = (content: string): readonly string[] => {
  const list = content.split('@')[1] ?? ''
  return list === '' ? [] : list.split(',')
}

/**
 * What Envoy does with the resources that it is sent, as far as a control plane can tell: it requests the endpoints of each cluster, the extensions of each
 * listener, and the routes of both, uses a changed cluster only when its endpoints have come again, applies the good part of a refused response, and
 * keeps the rest.
 */
export class ModelProxy {
  readonly has: Readonly<Record<TranslatedType, Map<string, Copy>>> = {
    cluster: new Map(),
    endpoints: new Map(),
    listener: new Map(),
    extension: new Map(),
    route: new Map(),
  }
  /** Clusters that changed and whose endpoints have not come since; their last version is in use, if there is one. */
  readonly cold = new Set<string>()
  /** Clusters that never had endpoints: requests to them fail. */
  readonly unusable = new Set<string>()
  readonly #style: RefusalStyle

  constructor(style: RefusalStyle) {
    this.#style = style
  }

  /** Names that it asks for; undefined stands for everything. */
  wants(type: TranslatedType): readonly string[] | undefined {
    switch (type) {
      case 'cluster':
      case 'listener':
        return undefined
      case 'endpoints':
        return [...this.has.cluster.keys()].sort()
      case 'extension':
        return this.#namedByListeners.filter((name) => name.startsWith(EXTENSION_PREFIX))
      case 'route': {
        const extensions = [...this.has.extension].flatMap(([name, { content }]) =>
          this.#namedByListeners.includes(name) ? referencesOf(content) : [],
        )
        const own = this.#namedByListeners.filter((name) => !name.startsWith(EXTENSION_PREFIX))
        return [...new Set([...own, ...extensions])].sort()
      }
    }
  }

  get #namedByListeners(): readonly string[] {
    return [...new Set([...this.has.listener.values()].flatMap(({ content }) => referencesOf(content)))].sort()
  }

  /**
   * @param fullState - what is not in the response is gone
   * @returns the words of the refusal, or undefined
   */
  apply(type: TranslatedType, push: Push, fullState: boolean): string | undefined {
    const bad = push.resources.filter((resource) => isBad(textOf(resource))).map(({ name }) => name)
    const list = type === 'cluster' || type === 'listener'
    if (bad.length > 0 && list && this.#style === 'unnamed') return 'Proto constraint validation failed'
    if (fullState) {
      const kept = new Set(push.resources.map(({ name }) => name))
      for (const name of [...this.has[type].keys()]) if (!kept.has(name)) this.#remove(type, name)
    }
    for (const name of push.removed) if (list || type === 'extension') this.#remove(type, name)
    for (const resource of push.resources) {
      if (!isBad(textOf(resource))) this.#set(type, resource)
      else if (!list) break
    }
    this.#giveUp()
    if (bad.length === 0) return undefined
    if (this.#style === 'unnamed') return 'something is wrong'
    return list
      ? `Error adding/updating ${type}(s) ${bad.map((name) => `${name}: no good`).join(', ')}`
      : `${bad[0] ?? ''}: no good`
  }

  #set(type: TranslatedType, resource: EncodedResource): void {
    const copy = { content: textOf(resource), version: resource.version }
    if (type === 'cluster' && this.has.cluster.get(resource.name)?.version !== copy.version)
      this.cold.add(resource.name)
    if (type === 'cluster' && !this.has.cluster.has(resource.name)) this.unusable.add(resource.name)
    if (type === 'endpoints') {
      if (!this.has.cluster.has(resource.name)) return
      this.cold.delete(resource.name)
      this.unusable.delete(resource.name)
    }
    if ((type === 'route' || type === 'extension') && this.wants(type)?.includes(resource.name) !== true) return
    this.has[type].set(resource.name, copy)
  }

  #remove(type: TranslatedType, name: string): void {
    // A filter chain without its extension closes each connection.
    if (type === 'extension' && this.has.extension.has(name) && this.wants('extension')?.includes(name) === true)
      throw new Error(`extension ${name} is in use and was removed`)
    this.has[type].delete(name)
    if (type !== 'cluster') return
    this.cold.delete(name)
    this.unusable.delete(name)
  }

  /** Drops what nothing refers to any more. */
  #giveUp(): void {
    for (const type of ['endpoints', 'extension', 'route'] as const) {
      const wanted = new Set(this.wants(type))
      for (const name of [...this.has[type].keys()]) if (!wanted.has(name)) this.has[type].delete(name)
    }
  }
}
