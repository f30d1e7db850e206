import { Type } from '@sinclair/typebox'

import { duration, portNumber, struct, textMap, type Spec } from './common.js'

/** policy.openservicemesh.io Telemetry. */
export const TelemetrySpecSchema = struct(
  {
    selector: Type.Optional(textMap('Labels of the selected workloads. Defaults to all workloads of the namespace.')),
    accessLog: Type.Optional(
      struct(
        {
          format: Type.Optional(Type.String({ minLength: 1, description: 'Line or JSON object with format strings.' })),
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
                attributes: Type.Optional(textMap('Attributes of every record.')),
              },
              'Also sends the log to an OpenTelemetry collector.',
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
    connectTimeout: Type.Optional(duration('Connect timeout.')),
  },
  'A service outside the mesh that sidecars use.',
)
/** Spec of an ExtensionService. */
export type ExtensionServiceSpec = Spec<typeof ExtensionServiceSpecSchema>
