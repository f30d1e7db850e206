import { REMOTE_LOGGING_CREDENTIAL } from '../catalog/inputs/catalog-settings.js'
import type { MeshConfigurator } from '../config/configurator.js'
import type { HeaderValues } from './secret-credentials.js'

/** Values of headers that the MeshConfig has. */
export function configuredHeaders(configurator: Pick<MeshConfigurator, 'current' | 'subscribe'>): HeaderValues {
  return {
    value: (name) => {
      const { remoteLogging } = configurator.current().observability
      if (name !== REMOTE_LOGGING_CREDENTIAL || remoteLogging === undefined) return undefined
      return remoteLogging.authorization === '' ? undefined : remoteLogging.authorization
    },
    subscribe: (listener) => configurator.subscribe(listener),
  }
}
