import { Type, type Static } from '@sinclair/typebox'

const closed = { additionalProperties: false }
const port = Type.Integer({ minimum: 1, maximum: 65_535 })
const text = (maxLength: number) => Type.String({ minLength: 1, maxLength })

/** PKCS#10 in PEM, without names and extensions. */
const keyRequest = text(8_192)

/** Services whose names a machine is told at most: their answer has about a megabyte. */
export const MAX_NAMED_SERVICES = 10_000

const ServedPortSchema = Type.Object({ name: Type.Optional(text(15)), port, localPort: Type.Optional(port) }, closed)

/** What a machine sends to join: `POST /v1/machines`. */
export const JoinRequestSchema = Type.Object(
  {
    /**
     * A join token by its parts, a token of a service account that has the audience of {@link machineAudience}, or a document of Azure in base64, with the
     * certificates in PEM of those that have issued that of its signer.
     */
    proof: Type.Union([
      Type.Object({ kind: Type.Literal('token'), id: text(16), secret: text(43) }, closed),
      Type.Object({ kind: Type.Literal('serviceAccountToken'), token: text(8_192) }, closed),
      Type.Object(
        {
          kind: Type.Literal('azure'),
          document: text(12_000),
          issuers: Type.Array(text(4_096), { maxItems: 4 }),
          namespace: text(63),
          serviceAccount: text(253),
        },
        closed,
      ),
    ]),
    csr: keyRequest,
    /** DNS label, unique among workloads of the namespace. */
    name: text(63),
    /** Absent: that of MeshConfig. */
    sidecarClass: Type.Optional(text(63)),
    /** Where sidecars of callers connect. Absent: the address that the request comes from. */
    address: Type.Optional(text(45)),
    ports: Type.Array(ServedPortSchema, { maxItems: 64 }),
    /** The network that the machine is in, with the gateway by which callers outside reach it. Absent: the network of the mesh. */
    network: Type.Optional(
      Type.Object(
        {
          name: text(63),
          gateway: Type.Optional(Type.Object({ address: text(45), port: Type.Optional(port) }, closed)),
        },
        closed,
      ),
    ),
    /** Present: the kernel redirects connections of the machine to its sidecar. Absent: programs are told where their sidecar listens. */
    mode: Type.Optional(Type.Literal('transparent')),
    /** Ports from which listeners of the sidecar are chosen; the first three are forward proxy, metrics and administration. */
    listeners: Type.Object({ first: port, last: port }, closed),
  },
  closed,
)
/** What a machine sends to join. */
export type JoinRequest = Static<typeof JoinRequestSchema>

/** What a machine sends for another certificate: `POST /v1/machines/self/certificate`, with mutual TLS. */
export const RenewRequestSchema = Type.Object({ csr: keyRequest }, closed)

/** What a machine sends when its state changes, and every few seconds: `PUT /v1/machines/self`, with mutual TLS. */
export const MachineReportSchema = Type.Object(
  {
    ready: Type.Boolean(),
    /** Chosen at random by the process that reports. */
    run: Type.Optional(text(36)),
    /** The run before, of the same state folder: a copy of the folder continues the same run, which shows. */
    after: Type.Optional(text(36)),
    /** Digest of the names of Services that the machine has; empty if it has none. Absent: it does not want them. */
    names: Type.Optional(Type.String({ maxLength: 43 })),
  },
  closed,
)
/** What a machine reports. */
export type MachineReport = Static<typeof MachineReportSchema>

/** `GET /v1/trust`: before anything is trusted. */
export const TrustAnswerSchema = Type.Object({
  /** PEM; the machine trusts the one that its token names. */
  trustBundle: Type.Array(text(16_384), { minItems: 1, maxItems: 16 }),
  /** Milliseconds since 1970, for a better error where clocks differ. */
  now: Type.Number(),
})

/** A certificate for a machine. */
export const CertificateAnswerSchema = Type.Object({
  /** PEM, leaf first. */
  chain: text(100_000),
  /** Roots of the control plane, PEM. */
  trustBundle: Type.Array(text(16_384), { minItems: 1, maxItems: 16 }),
})
/** A certificate for a machine. */
export type CertificateAnswer = Static<typeof CertificateAnswerSchema>

/** What a driver has to know to put its sidecar beside the workload. The contract of drivers has the meaning of each member. */
const SidecarSettingsSchema = Type.Object({
  meshName: Type.String(),
  osmNamespace: Type.String(),
  sidecarClass: text(63),
  configurator: Type.Unknown(),
  driverConfig: Type.Unknown(),
  sidecarImage: Type.String(),
  resources: Type.Unknown(),
  logLevel: Type.String(),
  /** Connections that bypass sidecars wherever they are redirected, by MeshConfig. */
  exclusions: Type.Optional(
    Type.Object({
      outboundPorts: Type.Array(port),
      outboundIpRanges: Type.Array(Type.String()),
      onlyOutboundIpRanges: Type.Array(Type.String()),
      inboundPorts: Type.Array(port),
      interfaces: Type.Array(Type.String()),
    }),
  ),
  /** Port of the proxy control plane, at the address of this server, and the name in its certificate. */
  controlPlane: Type.Object({ port, serverName: text(253) }),
})
/** What a driver has to know to put its sidecar beside the workload. */
export type SidecarSettings = Static<typeof SidecarSettingsSchema>

/** The answer to a {@link JoinRequest}. */
export const JoinAnswerSchema = Type.Composite([
  CertificateAnswerSchema,
  Type.Object({
    uuid: Type.String({ pattern: '^[0-9a-f-]{36}$' }),
    commonName: text(253),
    namespace: text(63),
    serviceAccount: text(253),
    labels: Type.Record(Type.String(), Type.String()),
    address: text(45),
    sidecar: SidecarSettingsSchema,
  }),
])
/** The answer to a {@link JoinRequest}. */
export type JoinAnswer = Static<typeof JoinAnswerSchema>

/** The Services that programs of a machine can call by name. */
export const ServiceNamesSchema = Type.Object({
  digest: Type.String({ minLength: 1, maxLength: 43 }),
  clusterDomain: text(253),
  services: Type.Array(
    Type.Object({ namespace: text(63), name: text(63), addresses: Type.Array(text(45), { minItems: 1, maxItems: 2 }) }),
    { maxItems: MAX_NAMED_SERVICES },
  ),
})
/** The Services that programs of a machine can call by name. */
export type ServiceNames = Static<typeof ServiceNamesSchema>

/** The answer to a report. */
export const ReportAnswerSchema = Type.Object({
  /** How the workload is told to reach others, by environment variable. */
  variables: Type.Record(Type.String(), Type.String()),
  /** Present if the machine wants names, and has others. */
  names: Type.Optional(ServiceNamesSchema),
})
/** The answer to a report. */
export type ReportAnswer = Static<typeof ReportAnswerSchema>

/** Listeners of a sidecar that every machine has: forward proxy, metrics and administration. They take the first ports of the range. */
export const OWN_LISTENERS = 3
/** Audience of tokens of service accounts by which machines join: no token that a pod has for another purpose is one. */
export function machineAudience(meshName: string): string {
  return `osm-machines.${meshName}`
}
/** First label of the name of the server that machines join by. No proxy has such a name. */
export const MACHINE_SERVER_NAME = 'osm-machines'
/** Paths of that server. */
export const machinePaths = {
  trust: '/v1/trust',
  join: '/v1/machines',
  self: '/v1/machines/self',
  certificate: '/v1/machines/self/certificate',
} as const
/** Milliseconds between two reports of a machine whose state does not change. */
export const REPORT_PERIOD_MS = 5_000
/** Milliseconds without a report after which a machine gets no traffic. */
export const REPORT_OVERDUE_MS = 20_000
