import { KubernetesError } from '@osm-ts/kubernetes'

/**
 * Does again what reads an object and writes it back, for as long as somebody else writes it between the two: a controller
 * its status, the API server the conditions of a definition.
 */
export async function untilNoConflict<T>(write: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await write()
    } catch (error) {
      if (!(error instanceof KubernetesError && error.conflict)) throw error
    }
  }
}
