import {
  compareBy,
  compareText,
  PLUGIN_TYPE,
  type ExtensionPart,
  type JsonValue,
  type PluginValue,
} from '@osm-ts/driver-api/policy'

import type { PluginChainName } from '../../../config/index.js'
import { selectsLabels, type KindMap } from '../../../spec/index.js'
import { deepEqual, defineQuery, type QueryContext } from '../../incremental/index.js'
import type { CatalogState } from '../../inputs/catalog-state.js'
import { grantsInNamespace, nameInputs, objectInputs, settingInputs } from '../../inputs/inputs.js'
import { concernsAll, inPrecedence, mayConcern } from '../access/consent.js'
import { nameKey, sortedUnique, type NamespacedName } from '../parts/keys.js'
import { keepPart, makePart, samePart, type PolicyPart } from '../parts/policy-part.js'
import { objectRefOf } from '../problems/problems.js'

type Context = QueryContext<CatalogState>
type Instance = KindMap['WorkloadInstance']

/** A plugin for sidecars of a namespace. */
interface PluginOfNamespace {
  readonly plugin: string
  readonly namespace: string
}

/** A plugin in some chains of sidecars of a class. */
interface PlacedPlugin extends PluginOfNamespace {
  /** Sorted. */
  readonly chains: readonly PluginChainName[]
  readonly class: string
}

/**
 * Configurations of a plugin by service, sorted, as sidecars of a namespace get them: what the namespace has itself, for any service, and what others have
 * for services of the namespace and may. Configurations hold secrets, so no one gets those of other namespaces. Of several for one service the first holds,
 * in their precedence.
 */
const configsOfPlugin = defineQuery<CatalogState, PluginOfNamespace, PluginValue['configs']>({
  name: 'configs-of-plugin',
  keyOf: ({ plugin, namespace }) => `${plugin}|${namespace}`,
  equal: deepEqual,
  compute: (context, { plugin, namespace }) => {
    const configs = new Map<string, JsonValue>()
    const isOpen =
      context.get(grantsInNamespace.ReferenceGrant, namespace).length > 0 ||
      context.get(settingInputs.crossNamespace, '').pluginConfig
    const osmNamespace = context.get(settingInputs.osmNamespace, '')
    const candidates = context
      .get(nameInputs.PluginConfig, '')
      .filter((name) => isOpen || name.namespace === namespace || name.namespace === osmNamespace)
    for (const name of inPrecedence(context, namespace, candidates)) {
      const spec = context.get(objectInputs.PluginConfig, name)?.spec
      if (spec?.plugin !== plugin) continue
      const concerned = spec.destinationRefs.filter(
        (service) => name.namespace === namespace || mayConfigure(context, name, service, namespace),
      )
      for (const service of concerned.map(nameKey)) if (!configs.has(service)) configs.set(service, spec.config)
    }
    return [...configs]
      .map(([service, config]) => ({ service, config }))
      .sort((a, b) => compareText(a.service, b.service))
  },
})

/** True if the object of another namespace may configure a plugin for a service of the readers' namespace. */
function mayConfigure(context: Context, object: NamespacedName, service: NamespacedName, readers: string): boolean {
  if (service.namespace !== readers) return false
  const { namespace, name } = service
  const from = { kind: 'PluginConfig', namespace: object.namespace } as const
  return mayConcern(context, { from, to: { kind: 'Service', namespace, name } })
}

const pluginPart = defineQuery<CatalogState, PlacedPlugin, PolicyPart<ExtensionPart> | undefined>({
  name: 'plugin-part',
  keyOf: ({ plugin, namespace, chains, class: sidecar }) => `${plugin}|${namespace}|${chains.join(',')}|${sidecar}`,
  equal: samePart,
  whenEqual: keepPart,
  compute: (context, { plugin, namespace, chains, class: sidecar }) => {
    const name = { namespace: '', name: plugin }
    const spec = context.get(objectInputs.Plugin, name)?.spec
    if (spec === undefined) return undefined
    const value = {
      plugin,
      priority: spec.priority ?? 0,
      chains,
      script: spec.pipyscript,
      configs: context.get(configsOfPlugin, { plugin, namespace }),
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
  const { namespace } = instance.metadata
  const chains = new Map<string, PluginChainName[]>()
  for (const name of context.get(nameInputs.PluginChain, '')) {
    // Filtered first: chains of other namespaces must not slow down this computation, however many there are.
    if (!mayChain(context, name, namespace)) continue
    const spec = context.get(objectInputs.PluginChain, name)?.spec
    if (spec === undefined) continue
    if (!isSelected(context, instance, spec.selectors)) continue
    for (const chain of spec.chains)
      for (const plugin of chain.plugins) chains.set(plugin, [...(chains.get(plugin) ?? []), chain.name])
  }
  const sidecar = instance.spec.sidecarClass.toLowerCase()
  return [...chains]
    .map(([plugin, names]) =>
      context.get(pluginPart, { plugin, namespace, chains: sortedUnique(names), class: sidecar }),
    )
    .filter((part) => part !== undefined)
    .sort(
      compareBy(
        (a, b) => priorityOf(b) - priorityOf(a),
        (a, b) => compareText(a.part.id, b.part.id),
      ),
    )
}

/** A PluginChain is for workloads of its own namespace, whatever its selectors, unless it is one of the mesh. */
function mayChain(context: Context, chain: NamespacedName, namespace: string): boolean {
  return chain.namespace === namespace || concernsAll(context, 'PluginChain', chain.namespace)
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
