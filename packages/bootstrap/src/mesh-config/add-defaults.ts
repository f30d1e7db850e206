import { isJsonObject, type JsonObject, memberPath, namedEntries } from './keyed-lists.js'
import type { PresetFields } from './preset-fields.js'

/**
 * The spec of a user with what a preset has beyond it. A value that is there is never changed. A field that an earlier
 * preset had and the spec lacks was removed by the user, and everything below it with it.
 *
 * @param earlier - fields of the presets that were added before
 */
export function addDefaults(spec: JsonObject, preset: JsonObject, earlier: PresetFields): JsonObject {
  return addTo(spec, preset, earlier, '') as JsonObject // an object stays one
}

function addTo(value: unknown, preset: unknown, earlier: PresetFields, path: string): unknown {
  if (isJsonObject(value) && isJsonObject(preset)) {
    const added = Object.entries(preset).flatMap(([name, member]): [string, unknown][] => {
      const before = earlierOf(earlier, name)
      if (!Object.hasOwn(value, name)) return before === undefined ? [[name, member]] : []
      return [[name, addTo(value[name], member, before ?? true, memberPath(path, name))]]
    })
    return { ...value, ...Object.fromEntries(added) }
  }
  const entries = namedEntries(path, value)
  const presetEntries = namedEntries(path, preset)
  if (entries === undefined || presetEntries === undefined) return value
  const kept = [...entries].map(([name, entry]) => {
    const presetEntry = presetEntries.get(name)
    if (presetEntry === undefined) return entry
    return addTo(entry, presetEntry, earlierOf(earlier, name) ?? true, `${path}[]`)
  })
  const added = [...presetEntries].filter(([name]) => !entries.has(name) && earlierOf(earlier, name) === undefined)
  return [...kept, ...added.map(([, entry]) => entry)]
}

/** `true` says nothing about what is inside: nothing was known of members by then. */
function earlierOf(earlier: PresetFields, name: string): PresetFields | undefined {
  return earlier !== true && Object.hasOwn(earlier, name) ? earlier[name] : undefined
}
