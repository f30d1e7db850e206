/** Classes of a mesh that has both. */
export const classes = ['envoy', 'pipy'] as const
export type SidecarClass = (typeof classes)[number]

/** A workload whose sidecar is of a class that the mesh does not have by default. */
export function classed(sidecarClass: SidecarClass, document: string): string {
  const object = JSON.parse(document) as { readonly spec: object }
  return `${JSON.stringify({ ...object, spec: { ...object.spec, sidecarClass } })}\n`
}
