import { type FlagValues, parseFlags, processFlags, programFlags } from '@osm-ts/program'

const port = (value: number, meaning: string) =>
  ({ kind: 'number', min: 0, max: 65535, default: value, meaning }) as const

/** Flags of osm-dashboard. */
export const dashboardFlags = {
  ...processFlags,
  'mesh-name': programFlags['mesh-name'],
  'osm-namespace': programFlags['osm-namespace'],
  'osm-version': programFlags['osm-version'],
  'osm-config-name': programFlags['osm-config-name'],
  'bind-address': programFlags['bind-address'],
  'trust-domain': programFlags['trust-domain'],
  'cluster-domain': programFlags['cluster-domain'],
  'page-port': port(8443, 'port of the page'),
  'health-port': port(9091, 'port of the health, version and metrics server'),
  'controller-port': port(9098, 'port of osm-controller for debug pages'),
  'controller-token-file': {
    kind: 'text',
    default: '/var/run/secrets/osm/controller/token',
    meaning: 'file with the service account token of osm-dashboard for osm-controller',
  },
  'validator-webhook-config': {
    kind: 'text',
    form: 'dns-subdomain',
    meaning: 'ValidatingWebhookConfiguration of the mesh; it contains the roots of the control plane',
  },
  audience: {
    kind: 'text',
    form: 'dns-subdomain',
    default: '',
    meaning: 'required audience of tokens of readers. Empty: the audience of the API server',
  },
  'prometheus-url': {
    kind: 'text',
    default: '',
    meaning: 'URL of a Prometheus with the rules of the chart, to read traffic from. Empty: no traffic is shown',
  },
} as const

/** Values of {@link dashboardFlags}. */
export type DashboardFlags = FlagValues<typeof dashboardFlags>

/** @throws OsmError with code `OSM_PROGRAM_FLAG` */
export function parseDashboardFlags(argv: readonly string[]): DashboardFlags {
  return parseFlags(argv, dashboardFlags)
}
