import { Type } from '@sinclair/typebox'

import { freeObject, labelSelector, oneOf, struct, typedReferences, type Spec } from './common.js'

/** Names of the chains that a plugin can be put into. */
export const pluginChainNames = ['inbound-tcp', 'inbound-http', 'outbound-tcp', 'outbound-http'] as const

/** plugin.flomesh.io Plugin, cluster-scoped. */
export const PluginSpecSchema = struct(
  {
    priority: Type.Optional(
      Type.Number({ minimum: 0, description: 'Position in the chain; higher priorities run first.' }),
    ),
    pipyscript: Type.String({ description: 'The script.' }),
    matches: Type.Optional(typedReferences('Accepted for compatibility; ignored.')),
  },
  'A script for sidecars that support scripts.',
)
/** Spec of a Plugin. */
export type PluginSpec = Spec<typeof PluginSpecSchema>

/** plugin.flomesh.io PluginChain. */
export const PluginChainSpecSchema = struct(
  {
    chains: Type.Array(
      struct(
        {
          name: oneOf(pluginChainNames, 'Chain of the plugins.'),
          plugins: Type.Array(Type.String({ minLength: 1 }), { description: 'Names of plugins.' }),
        },
        'Plugins for one chain.',
      ),
      { description: 'Plugins by chain.' },
    ),
    selectors: struct(
      {
        podSelector: Type.Optional(labelSelector('Workloads that run the plugins. Defaults to all workloads.')),
        namespaceSelector: Type.Optional(
          labelSelector('Namespaces of the selected workloads. Defaults to all namespaces.'),
        ),
      },
      'Workloads that run the plugins.',
    ),
    matches: Type.Optional(typedReferences('Accepted for compatibility; ignored.')),
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
      { description: 'Services for which the configuration applies.' },
    ),
    config: freeObject('Configuration of the plugin.'),
    matches: Type.Optional(typedReferences('Accepted for compatibility; ignored.')),
  },
  'Configuration of a plugin for some services.',
)
/** Spec of a PluginConfig. */
export type PluginConfigSpec = Spec<typeof PluginConfigSpecSchema>
