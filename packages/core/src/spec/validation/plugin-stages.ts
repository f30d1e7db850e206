import type { KindMap } from '../objects.js'
import { type PluginStageChain, pluginStages } from '../plugin-stages.js'
import { doubt, findings, type Finding } from './check.js'

/**
 * Stages of `pluginChains` that are others than osm-edge had them. The stages of a sidecar are fixed here: rules come before plugins, and no setting changes
 * that.
 */
export function checkPluginStages({ spec }: KindMap['MeshConfig']): readonly Finding[] {
  return Object.entries(spec.pluginChains ?? {}).flatMap(([chain, stages]) =>
    stages.flatMap(({ plugin, priority, disable = false }, index) => {
      const field = `spec.pluginChains.${chain}[${index}]`
      const usual = pluginStages[chain as PluginStageChain][plugin] // names of chains are those of the schema
      if (usual === undefined)
        return doubt(
          'OSM_SPEC_NO_EFFECT',
          `${field}.plugin`,
          `${plugin} is not a built-in stage of ${chain} and is not called; use a PluginChain to add scripts`,
        )
      return findings(
        disable && doubt('OSM_SPEC_NO_EFFECT', `${field}.disable`, `the stage ${plugin} cannot be left out`),
        priority !== usual &&
          doubt(
            'OSM_SPEC_NO_EFFECT',
            `${field}.priority`,
            `the position of ${plugin} is fixed; plugins run after the rules`,
          ),
      )
    }),
  )
}
