import { createHash } from 'node:crypto'

import { PLUGIN_TYPE, type PluginValue, type PolicyReader, type ProxyPart } from '@osm-ts/driver-api/policy'

import type { Plugin } from '../config/types.js'
import { guardedScript } from '../plugins/guarded-script.js'

/** User scripts of a proxy, in the order in which they are called. One that can't go out is refused, and refuses what would have come to it. */
export function pluginsOf({ extensions }: ProxyPart, reader: PolicyReader): readonly Plugin[] {
  return extensions.flatMap((hash) => {
    const part = reader.part(hash, 'extension')
    if (part.type !== PLUGIN_TYPE) return []
    const { plugin, chains, script, configs } = part.value as unknown as PluginValue
    const guarded = guardedScript(script)
    const isRefused = 'fault' in guarded
    if (isRefused) reader.refuse({ kind: 'extension', id: part.id, hash }, '/value/script', guarded.fault)
    return [
      {
        name: plugin,
        // A script is loaded once by its path.
        path: `/plugins/${plugin}.${createHash('sha256').update(script).digest('base64url').slice(0, 22)}.js`,
        chains,
        ...(isRefused ? {} : { script: guarded.text }),
        configs: Object.fromEntries(configs.map(({ service, config }) => [service, config])),
      },
    ]
  })
}
