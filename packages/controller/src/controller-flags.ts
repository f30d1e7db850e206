import { OsmError } from '@osm-ts/driver-api'
import {
  driverFlags,
  type FlagDefinitions,
  type FlagValues,
  parseProgramFlags,
  type ProgramErrorCode,
  programFlags,
} from '@osm-ts/program'

const port = (value: number, meaning: string) =>
  ({ kind: 'number', min: 0, max: 65535, default: value, meaning }) as const

/** Flags of osm-controller beside those of every program. */
const ownFlags = {
  ...driverFlags,
  'osm-service-account': {
    kind: 'text',
    form: 'dns-subdomain',
    default: 'osm-controller',
    meaning: 'service account that the controller runs under',
  },
  'injector-service-account': {
    kind: 'text',
    form: 'dns-subdomain',
    default: 'osm-injector',
    meaning: 'service account of the injector, which writes the Secrets of sidecars',
  },
  'validator-webhook-config': {
    kind: 'text',
    form: 'dns-subdomain',
    default: '',
    meaning: 'not used; accepted for compatibility with OSM: osm-bootstrap manages the ValidatingWebhookConfiguration',
  },
  'validate-traffic-target': {
    kind: 'switch',
    default: true,
    meaning: 'reject TrafficTargets in another namespace than their destination',
  },
  'webhook-client-ca': {
    kind: 'text',
    default: '',
    meaning:
      'file with a CA; clients of the webhook must present a certificate that it issued. Empty: no client certificate is required',
  },
  'endpoints-providers': {
    kind: 'text',
    default: '',
    meaning: 'endpoints providers to run: a JSON list, or a file with one. Empty: the value of OSM_ENDPOINTS_PROVIDERS',
  },
  'refused-endpoints': {
    kind: 'text',
    default: '',
    meaning:
      'comma-separated CIDRs that endpoints providers must not announce, such as the service range of the cluster',
  },
  'health-port': port(9091, 'port of the health, version and metrics server'),
  'debug-port': port(9092, 'port of the debug server'),
  'webhook-port': port(9093, 'port of the validating webhook'),
  'replica-port': port(9094, 'port on which the leader receives reports of the other replicas'),
  'machine-port': port(0, 'port for machines that join the mesh; 0 disables it'),
  'pages-port': port(0, 'port from which osm-dashboard reads debug pages; 0 disables it'),
  'dashboard-service-account': {
    kind: 'text',
    form: 'dns-label',
    default: 'osm-dashboard',
    meaning: 'service account of osm-dashboard in the namespace of the control plane',
  },
  'proxy-identity': {
    kind: 'choice',
    values: ['secret', 'podCertificate'],
    default: 'secret',
    meaning:
      'source of sidecar keys. podCertificate: sign PodCertificateRequests of kubelets; secret: the injector generates the keys',
  },
  'workload-api-socket': {
    kind: 'text',
    default: '',
    meaning: 'Unix socket of a SPIFFE Workload API; sidecars trust its roots. Empty: none',
  },
  'bootstrap-secret-grace': {
    kind: 'number',
    min: 1,
    max: 86_400,
    default: 300,
    meaning: 'seconds after which the Secret of a sidecar is removed if its pod does not exist',
  },
} as const satisfies FlagDefinitions

/** Flags of osm-controller. */
export const controllerFlags = { ...programFlags, ...ownFlags } as const

/** Values of {@link controllerFlags}. */
export type ControllerFlags = FlagValues<typeof controllerFlags>

/** @throws OsmError as `parseProgramFlags` does */
export function parseControllerFlags(argv: readonly string[]): ControllerFlags {
  const flags = parseProgramFlags(argv, ownFlags)
  if (flags.certificateManager === 'vault' && flags.vaultHost === '')
    throw new OsmError<ProgramErrorCode>(
      'OSM_PROGRAM_CERTIFICATE_MANAGER',
      '--certificate-manager=vault needs --vault-host',
    )
  return flags
}
