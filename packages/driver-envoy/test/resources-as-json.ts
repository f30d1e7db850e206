import type { JsonValue } from '@bufbuild/protobuf'

import { messageRegistry } from '../src/resources/message-registry.js'
import { resourceJson } from '../src/resources/resource-json.js'
import type { ProxyResources, TranslatedType } from '../src/resources/types.js'

/** All resources of a proxy as canonical protobuf JSON, by type and name. */
export function resourcesAsJson({
  types,
  callers,
}: ProxyResources): Readonly<Record<TranslatedType | 'callers', Readonly<Record<string, JsonValue>>>> {
  const registry = messageRegistry()
  const print = (type: TranslatedType | 'callers'): Readonly<Record<string, JsonValue>> =>
    Object.fromEntries(
      [...(type === 'callers' ? callers : types[type])].map((resource) => [
        resource.name,
        resourceJson(type, resource, registry),
      ]),
    )
  return {
    cluster: print('cluster'),
    endpoints: print('endpoints'),
    listener: print('listener'),
    extension: print('extension'),
    route: print('route'),
    callers: print('callers'),
  }
}
