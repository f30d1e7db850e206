import { Type } from '@sinclair/typebox'

import { oneOf, portNumber, portOrName, struct, type Spec } from './common.js'

const seconds = (description: string) => Type.Optional(Type.Integer({ minimum: 0, description }))

const ProbeSchema = struct(
  {
    httpGet: Type.Optional(
      struct(
        {
          path: Type.Optional(Type.String({ description: 'Path of the request. Defaults to /.' })),
          port: portOrName('Port of the application.'),
          scheme: Type.Optional(oneOf(['HTTP', 'HTTPS'], 'Scheme. Defaults to HTTP.')),
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
        'Probes over HTTP.',
      ),
    ),
    tcpSocket: Type.Optional(
      struct({ port: portOrName('Port of the application.') }, 'Probes by opening a TCP connection.'),
    ),
    grpc: Type.Optional(
      struct(
        {
          port: portNumber('Port of the application.'),
          service: Type.Optional(Type.String({ description: 'Service of the gRPC health protocol.' })),
        },
        'Probes with the gRPC health protocol.',
      ),
    ),
    exec: Type.Optional(
      struct({ command: Type.Array(Type.String(), { description: 'Command and arguments.' }) }, 'Runs a command.'),
    ),
    initialDelaySeconds: seconds('Delay before the first probe.'),
    periodSeconds: seconds('Interval of probes. Defaults to 10.'),
    timeoutSeconds: seconds('Timeout. Defaults to 1.'),
    successThreshold: seconds('Number of consecutive successes until the probe succeeds. Defaults to 1.'),
    failureThreshold: seconds('Number of consecutive failures until the probe fails. Defaults to 3.'),
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
