import type { JsonValue } from '@bufbuild/protobuf'

import { messageRegistry } from '../src/resources/message-registry.js'
import { resourceJson } from '../src/resources/resource-json.js'
import type { ProxyResources, TranslatedType } from '../src/resources/types.js'

/** All resources of a proxy as canonical protobuf JSON, by type and name. */
export function resourcesAsJson(
  types: ProxyResources['types'],
): Readonly<Record<TranslatedType, Readonly<Record<string, JsonValue>>>> {
  const registry = messageRegistry()
  const print = (type: TranslatedType): Readonly<Record<string, JsonValue>> =>
    Object.fromEntries([...types[type]].map((resource) => [resource.name, resourceJson(type, resource, registry)]))
  return {
    cluster: print('cluster'),
    endpoints: print('endpoints'),
    listener: print('listener'),
    route: print('route'),
  }
}
