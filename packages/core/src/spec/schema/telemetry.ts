import { Type } from '@sinclair/typebox'

import { duration, portNumber, struct, textMap, type Spec } from './common.js'

/** policy.openservicemesh.io Telemetry. */
export const TelemetrySpecSchema = struct(
  {
    selector: Type.Optional(textMap('Labels of the workloads it is for; all of the namespace when absent.')),
    accessLog: Type.Optional(
      struct(
        {
          format: Type.Optional(
            Type.String({ minLength: 1, description: 'Line, or JSON object, in the notation of format strings.' }),
          ),
          openTelemetry: Type.Optional(
            struct(
              {
                extensionService: struct(
                  {
                    namespace: Type.String({ minLength: 1, description: 'Namespace of the ExtensionService.' }),
                    name: Type.String({ minLength: 1, description: 'Name of the ExtensionService.' }),
                  },
                  'The collector.',
                ),
                attributes: Type.Optional(textMap('Attributes that every record gets.')),
              },
              'Sends the log to an OpenTelemetry collector as well.',
            ),
          ),
        },
        'The access log.',
      ),
    ),
  },
  'Telemetry of some workloads.',
)
/** Spec of a Telemetry. */
export type TelemetrySpec = Spec<typeof TelemetrySpecSchema>

/** config.openservicemesh.io ExtensionService. */
export const ExtensionServiceSpecSchema = struct(
  {
    host: Type.String({ minLength: 1, description: 'Host of the service.' }),
    port: portNumber('Port of the service.'),
    protocol: Type.Optional(Type.String({ description: 'Protocol of the service.' })),
    connectTimeout: Type.Optional(duration('Time for a connection to come about.')),
  },
  'A service outside the mesh that sidecars use.',
)
/** Spec of an ExtensionService. */
export type ExtensionServiceSpec = Spec<typeof ExtensionServiceSpecSchema>
