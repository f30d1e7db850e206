import { Type } from '@sinclair/typebox'

import { oneOf, portNumber, portOrName, struct, type Spec } from './common.js'

const seconds = (description: string) => Type.Optional(Type.Integer({ minimum: 0, description }))

const ProbeSchema = struct(
  {
    httpGet: Type.Optional(
      struct(
        {
          path: Type.Optional(Type.String({ description: 'Path that is asked for; / when absent.' })),
          port: portOrName('Port of the application.'),
          scheme: Type.Optional(oneOf(['HTTP', 'HTTPS'], 'Scheme; HTTP when absent.')),
          httpHeaders: Type.Optional(
            Type.Array(
              struct(
                {
                  name: Type.String({ minLength: 1, description: 'Header name.' }),
                  value: Type.String({ description: 'Header value.' }),
                },
                'A header.',
              ),
              { description: 'Headers of the request.' },
            ),
          ),
        },
        'Asks by HTTP.',
      ),
    ),
    tcpSocket: Type.Optional(struct({ port: portOrName('Port of the application.') }, 'Opens a connection.')),
    grpc: Type.Optional(
      struct(
        {
          port: portNumber('Port of the application.'),
          service: Type.Optional(Type.String({ description: 'Service of the gRPC health protocol.' })),
        },
        'Asks by the gRPC health protocol.',
      ),
    ),
    exec: Type.Optional(
      struct({ command: Type.Array(Type.String(), { description: 'Command and arguments.' }) }, 'Runs a command.'),
    ),
    initialDelaySeconds: seconds('Pause before the first probe.'),
    periodSeconds: seconds('Pause between probes; 10 when absent.'),
    timeoutSeconds: seconds('Time to answer; 1 when absent.'),
    successThreshold: seconds('Successes in a row that count as success; 1 when absent.'),
    failureThreshold: seconds('Failures in a row that count as failure; 3 when absent.'),
  },
  'A health probe.',
)
/** A health probe of an application, as the user wrote it. */
export type Probe = Spec<typeof ProbeSchema>

/** The three probes of an application. */
export const ProbesSchema = struct(
  {
    liveness: Type.Optional(ProbeSchema),
    readiness: Type.Optional(ProbeSchema),
    startup: Type.Optional(ProbeSchema),
  },
  'Health probes of the application.',
)
/** The three probes of an application. */
export type Probes = Spec<typeof ProbesSchema>
