import type { Check } from './check.js'

/** Without its driver the class of the mesh has no control plane: no pod would start, and running sidecars would be left alone. */
export const classHasDriver: Check = {
  name: 'driver of the sidecar class',
  run: ({ sidecarClass, availableClasses }) => {
    if (sidecarClass === undefined || availableClasses.includes(sidecarClass.toLowerCase())) return Promise.resolve([])
    const what = `sidecar class ${JSON.stringify(sidecarClass)} has no driver in this version`
    return Promise.resolve([{ what, advice: `set osm.sidecarClass to one of: ${availableClasses.join(', ')}` }])
  },
}
