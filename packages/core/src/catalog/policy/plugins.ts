import {
  compareBy,
  compareText,
  PLUGIN_TYPE,
  type ExtensionPart,
  type JsonValue,
  type PluginValue,
} from '@osm-ts/driver-api'

import type { PluginChainName } from '../../config/index.js'
import { selectsLabels, type KindMap } from '../../spec/index.js'
import { deepEqual, defineQuery, textKey, type QueryContext } from '../incremental/index.js'
import type { CatalogState } from '../inputs/catalog-state.js'
import { nameInputs, objectInputs, settingInputs } from '../inputs/inputs.js'
import { nameKey, sortedUnique } from './keys.js'
import { keepPart, makePart, samePart, type PolicyPart } from './policy-part.js'
import { objectRefOf } from './problems.js'

type Context = QueryContext<CatalogState>
type Instance = KindMap['WorkloadInstance']

/** A plugin in some chains of sidecars of a class. */
interface PlacedPlugin {
  readonly plugin: string
  /** Sorted. */
  readonly chains: readonly PluginChainName[]
  readonly class: string
}

/** Configurations of a plugin by service, sorted; of several for one service the first by namespace and name holds. */
const configsOfPlugin = defineQuery<CatalogState, string, PluginValue['configs']>({
  name: 'configs-of-plugin',
  keyOf: textKey,
  equal: deepEqual,
  compute: (context, plugin) => {
    const configs = new Map<string, JsonValue>()
    for (const name of context.get(nameInputs.PluginConfig, '')) {
      const spec = context.get(objectInputs.PluginConfig, name)?.spec
      if (spec?.plugin !== plugin) continue
      for (const service of spec.destinationRefs.map(nameKey))
        if (!configs.has(service)) configs.set(service, spec.config)
    }
    return [...configs]
      .map(([service, config]) => ({ service, config }))
      .sort((a, b) => compareText(a.service, b.service))
  },
})

const pluginPart = defineQuery<CatalogState, PlacedPlugin, PolicyPart<ExtensionPart> | undefined>({
  name: 'plugin-part',
  keyOf: ({ plugin, chains, class: sidecar }) => `${plugin}|${chains.join(',')}|${sidecar}`,
  equal: samePart,
  whenEqual: keepPart,
  compute: (context, { plugin, chains, class: sidecar }) => {
    const name = { namespace: '', name: plugin }
    const spec = context.get(objectInputs.Plugin, name)?.spec
    if (spec === undefined) return undefined
    const value = {
      plugin,
      priority: spec.priority ?? 0,
      chains,
      script: spec.pipyscript,
      configs: context.get(configsOfPlugin, plugin),
    } satisfies PluginValue
    return makePart<ExtensionPart>(
      {
        kind: 'extension',
        id: `plugin/${plugin}`,
        class: sidecar,
        type: PLUGIN_TYPE,
        value: { ...value, configs: value.configs.map((each) => ({ ...each })) },
      },
      { origins: { '': [{ object: objectRefOf('Plugin', name) }] } },
    )
  },
})

/** Plugins of a workload: those with the higher priority first, of equal ones the first by name. Plugins that do not exist are left out. */
export function pluginParts(context: Context, instance: Instance): readonly PolicyPart<ExtensionPart>[] {
  if (!context.get(settingInputs.plugins, '')) return []
  const chains = new Map<string, PluginChainName[]>()
  for (const name of context.get(nameInputs.PluginChain, '')) {
    const spec = context.get(objectInputs.PluginChain, name)?.spec
    if (spec === undefined || !isSelected(context, instance, spec.selectors)) continue
    for (const chain of spec.chains)
      for (const plugin of chain.plugins) chains.set(plugin, [...(chains.get(plugin) ?? []), chain.name])
  }
  const sidecar = instance.spec.sidecarClass.toLowerCase()
  return [...chains]
    .map(([plugin, names]) => context.get(pluginPart, { plugin, chains: sortedUnique(names), class: sidecar }))
    .filter((part) => part !== undefined)
    .sort(
      compareBy(
        (a, b) => priorityOf(b) - priorityOf(a),
        (a, b) => compareText(a.part.id, b.part.id),
      ),
    )
}

function priorityOf({ part }: PolicyPart<ExtensionPart>): number {
  return (part.value as unknown as PluginValue).priority
}

function isSelected(
  context: Context,
  { metadata }: Instance,
  { podSelector = {}, namespaceSelector }: KindMap['PluginChain']['spec']['selectors'],
): boolean {
  if (!selectsLabels(podSelector, metadata.labels)) return false
  if (namespaceSelector === undefined) return true
  const namespace = context.get(objectInputs.Namespace, { namespace: '', name: metadata.namespace })
  return selectsLabels(namespaceSelector, namespace?.metadata.labels ?? {})
}
