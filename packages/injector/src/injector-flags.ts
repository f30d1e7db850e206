import { driverFlags, type FlagDefinitions, type FlagValues, parseProgramFlags, programFlags } from '@osm-ts/program'

/** Flags of osm-injector beside those of every program. */
const ownFlags = {
  ...driverFlags,
  'webhook-config-name': {
    kind: 'text',
    form: 'dns-subdomain',
    default: '',
    meaning: 'name of the MutatingWebhookConfiguration, which osm-bootstrap writes; not read here',
  },
  'webhook-timeout': {
    kind: 'number',
    min: 1,
    max: 30,
    default: 20,
    meaning: 'seconds that the API server waits at most',
  },
  'osm-container-pull-policy': {
    kind: 'choice',
    values: ['', 'Always', 'IfNotPresent', 'Never'],
    default: 'IfNotPresent',
    meaning: 'when images of sidecars are pulled',
  },
  'native-sidecar': {
    kind: 'choice',
    values: ['auto', 'on', 'off'],
    default: 'auto',
    meaning: 'inject native sidecars (restartable init containers); auto: where the API server is 1.32 or newer',
  },
  'proxy-identity': {
    kind: 'choice',
    values: ['secret', 'podCertificate'],
    default: 'secret',
    meaning: 'who makes the key of a sidecar: the injector, which writes it into a Secret, or the kubelet of its pod',
  },
  'secret-rate': {
    kind: 'number',
    min: 0,
    max: 100_000,
    default: 200,
    meaning: 'Secrets of sidecars written a second at most, ten seconds of which may come at once; 0: any number',
  },
  'namespace-secret-rate': {
    kind: 'number',
    min: 0,
    max: 100_000,
    default: 100,
    meaning: 'the same for each namespace',
  },
  'webhook-client-ca': {
    kind: 'text',
    default: '',
    meaning:
      'file with a CA: clients of the webhook have to present a certificate of it; by default no client certificate is required',
  },
  'webhook-port': { kind: 'number', min: 0, max: 65535, default: 9090, meaning: 'port of the webhook' },
  'health-port': { kind: 'number', min: 0, max: 65535, default: 9091, meaning: 'port of health, version and metrics' },
} as const satisfies FlagDefinitions

/** Flags of osm-injector. */
export const injectorFlags = { ...programFlags, ...ownFlags } as const

/** Values of {@link injectorFlags}. */
export type InjectorFlags = FlagValues<typeof injectorFlags>

/** @throws OsmError as `parseProgramFlags` does */
export function parseInjectorFlags(argv: readonly string[]): InjectorFlags {
  return parseProgramFlags(argv, ownFlags)
}
