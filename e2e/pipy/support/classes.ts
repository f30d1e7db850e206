import { withSpec } from '../../dataplane/support/yaml.js'

/** Classes of a mesh that has both. */
export const classes = ['envoy', 'pipy'] as const
export type SidecarClass = (typeof classes)[number]

/** A workload whose sidecar is of a class that the mesh does not have by default. */
export const classed = (sidecarClass: SidecarClass, document: string): string => withSpec(document, { sidecarClass })
