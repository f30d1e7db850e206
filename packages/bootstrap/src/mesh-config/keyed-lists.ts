/** Lists in the spec of a MeshConfig whose entries have names, and the member that is the name. */
const keys: Readonly<Record<string, string>> = {
  'clusterSet.properties': 'name',
  'sidecar.sidecarDrivers': 'sidecarName',
  'pluginChains.inbound-tcp': 'plugin',
  'pluginChains.inbound-http': 'plugin',
  'pluginChains.outbound-tcp': 'plugin',
  'pluginChains.outbound-http': 'plugin',
}

/** A JSON object. */
export type JsonObject = Readonly<Record<string, unknown>>

/** True for a JSON object, which arrays and null are not. */
export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** A list whose entries have names, by those names; undefined for any other value. */
export function namedEntries(path: string, value: unknown): ReadonlyMap<string, JsonObject> | undefined {
  const key = keys[path]
  if (key === undefined || !Array.isArray(value)) return undefined
  const entries = new Map<string, JsonObject>()
  for (const entry of value as readonly unknown[]) {
    if (!isJsonObject(entry)) return undefined
    const name = entry[key]
    if (typeof name !== 'string' || entries.has(name)) return undefined
    entries.set(name, entry)
  }
  return entries
}

/** Path of a member. */
export function memberPath(path: string, name: string): string {
  return path === '' ? name : `${path}.${name}`
}
