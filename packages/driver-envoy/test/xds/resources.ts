import { encodedResource } from '../../src/resources/encoded-resource.js'
import { LayeredResourceSet, ResourceLayer } from '../../src/resources/layered-resource-set.js'
import type { EncodedResource, ProxyResources, ResourceSet, TranslatedType } from '../../src/resources/types.js'

/** Content by name. */
export type Contents = Readonly<Record<string, string>>

/** A resource whose bytes are the given text. Routes called `leading` go before listeners. */
export function resource(name: string, content: string): EncodedResource {
  const encoded = encodedResource(name, Buffer.from(content), [{ kind: 'upstream', id: name, hash: hashOf(content) }])
  return name === 'leading' ? { ...encoded, leads: true } : encoded
}

/** The hash of the part that a resource with that content is said to come from. */
function hashOf(content: string): EncodedResource['sources'][number]['hash'] {
  return `part-${content}` as EncodedResource['sources'][number]['hash']
}

export function setOf(contents: Contents): ResourceSet {
  return new LayeredResourceSet([
    new ResourceLayer(Object.entries(contents).map(([name, content]) => resource(name, content))),
  ])
}

/** What a proxy should have, as text by name and type. */
export type State = Readonly<Partial<Record<TranslatedType, Contents>>>

export function resourcesOf(state: State, revision = 1): ProxyResources {
  const endpoints = setOf(state.endpoints ?? {})
  return {
    revision,
    types: {
      cluster: setOf(state.cluster ?? {}),
      endpoints,
      listener: setOf(state.listener ?? {}),
      extension: setOf(state.extension ?? {}),
      route: setOf(state.route ?? {}),
    },
    endpoints: { current: endpoints },
    callers: [],
    credentials: [],
  }
}

export function textOf(resource: EncodedResource): string {
  return Buffer.from(resource.value).toString()
}
