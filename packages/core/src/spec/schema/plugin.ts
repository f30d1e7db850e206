import { Type } from '@sinclair/typebox'

import { freeObject, labelSelector, oneOf, struct, typedReferences, type Spec } from './common.js'

/** Names of the chains that a plugin can be put into. */
export const pluginChainNames = ['inbound-tcp', 'inbound-http', 'outbound-tcp', 'outbound-http'] as const

/** plugin.flomesh.io Plugin, cluster-scoped. */
export const PluginSpecSchema = struct(
  {
    priority: Type.Optional(Type.Number({ minimum: 0, description: 'Place in the chain; higher comes first.' })),
    pipyscript: Type.String({ description: 'The script.' }),
    matches: Type.Optional(typedReferences('Accepted for compatibility; not read.')),
  },
  'A script for sidecars that run scripts.',
)
/** Spec of a Plugin. */
export type PluginSpec = Spec<typeof PluginSpecSchema>

/** plugin.flomesh.io PluginChain. */
export const PluginChainSpecSchema = struct(
  {
    chains: Type.Array(
      struct(
        {
          name: oneOf(pluginChainNames, 'Chain that the plugins join.'),
          plugins: Type.Array(Type.String({ minLength: 1 }), { description: 'Names of plugins.' }),
        },
        'Plugins for one chain.',
      ),
      { description: 'Plugins by chain.' },
    ),
    selectors: struct(
      {
        podSelector: Type.Optional(labelSelector('Workloads that get the plugins; all when absent.')),
        namespaceSelector: Type.Optional(labelSelector('Namespaces whose workloads get the plugins; all when absent.')),
      },
      'Who gets the plugins.',
    ),
    matches: Type.Optional(typedReferences('Accepted for compatibility; not read.')),
  },
  'Puts plugins into the chains of selected workloads.',
)
/** Spec of a PluginChain. */
export type PluginChainSpec = Spec<typeof PluginChainSpecSchema>

/** plugin.flomesh.io PluginConfig. */
export const PluginConfigSpecSchema = struct(
  {
    plugin: Type.String({ minLength: 1, description: 'Name of the plugin.' }),
    destinationRefs: Type.Array(
      struct(
        {
          kind: oneOf(['Service'], 'Kind of the destination.'),
          name: Type.String({ minLength: 1, description: 'Name of the service.' }),
          namespace: Type.String({ minLength: 1, description: 'Namespace of the service.' }),
        },
        'A destination.',
      ),
      { description: 'Services that the configuration is for.' },
    ),
    config: freeObject('What the plugin reads.'),
    matches: Type.Optional(typedReferences('Accepted for compatibility; not read.')),
  },
  'Configuration of a plugin for some services.',
)
/** Spec of a PluginConfig. */
export type PluginConfigSpec = Spec<typeof PluginConfigSpecSchema>
