import { OsmError } from '@osm-ts/driver-api'
import {
  driverFlags,
  type FlagDefinitions,
  type FlagValues,
  parseProgramFlags,
  type ProgramErrorCode,
  programFlags,
} from '@osm-ts/program'

import type { WorkloadApi } from './sidecar/workload-api.js'

/** Flags of osm-injector beside those of every program. */
const ownFlags = {
  ...driverFlags,
  'webhook-config-name': {
    kind: 'text',
    form: 'dns-subdomain',
    default: '',
    meaning: 'not used; accepted for compatibility with OSM: osm-bootstrap manages the MutatingWebhookConfiguration',
  },
  'webhook-timeout': {
    kind: 'number',
    min: 1,
    max: 30,
    default: 20,
    meaning: 'timeout of the API server for the webhook, in seconds',
  },
  'osm-container-pull-policy': {
    kind: 'choice',
    values: ['', 'Always', 'IfNotPresent', 'Never'],
    default: 'IfNotPresent',
    meaning: 'image pull policy of sidecars',
  },
  'native-sidecar': {
    kind: 'choice',
    values: ['auto', 'on', 'off'],
    default: 'auto',
    meaning: 'inject native sidecars (restartable init containers); auto: if the API server is 1.32 or newer',
  },
  'proxy-identity': {
    kind: 'choice',
    values: ['secret', 'podCertificate'],
    default: 'secret',
    meaning:
      'source of sidecar keys. secret: the injector writes each key into a Secret; podCertificate: the kubelet generates them',
  },
  'workload-identity': {
    kind: 'choice',
    values: ['mesh', 'spire'],
    default: 'mesh',
    meaning: 'source of service certificates of sidecars; annotations override it',
  },
  'workload-api-csi-driver': {
    kind: 'text',
    form: 'dns-subdomain',
    default: '',
    meaning: 'CSI driver that mounts the socket of the SPIFFE Workload API, such as csi.spiffe.io',
  },
  'workload-api-host-path': {
    kind: 'text',
    default: '',
    meaning: 'folder on the nodes with that socket, if no CSI driver mounts it',
  },
  'workload-api-socket-name': {
    kind: 'text',
    default: 'spire-agent.sock',
    meaning: 'file name of that socket',
  },
  'secret-rate': {
    kind: 'number',
    min: 0,
    max: 100_000,
    default: 200,
    meaning: 'maximum number of sidecar Secrets written per second, with a burst of ten seconds; 0: no limit',
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
      'file with a CA; clients of the webhook must present a certificate that it issued. Empty: no client certificate is required',
  },
  'webhook-port': { kind: 'number', min: 0, max: 65535, default: 9090, meaning: 'port of the webhook' },
  'health-port': {
    kind: 'number',
    min: 0,
    max: 65535,
    default: 9091,
    meaning: 'port of the health, version and metrics server',
  },
} as const satisfies FlagDefinitions

/** Flags of osm-injector. */
export const injectorFlags = { ...programFlags, ...ownFlags } as const

/** Values of {@link injectorFlags}. */
export type InjectorFlags = FlagValues<typeof injectorFlags>

const SOCKET_NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$/

/** @throws OsmError as `parseProgramFlags` does, or for flags that contradict each other */
export function parseInjectorFlags(argv: readonly string[]): InjectorFlags {
  const flags = parseProgramFlags(argv, ownFlags)
  const { workloadIdentity, workloadApiCsiDriver: driver, workloadApiHostPath: path, workloadApiSocketName } = flags
  if (driver !== '' && path !== '')
    throw wrongFlag('--workload-api-csi-driver and --workload-api-host-path exclude each other')
  if (workloadIdentity === 'spire' && driver === '' && path === '')
    throw wrongFlag('--workload-identity=spire needs --workload-api-csi-driver or --workload-api-host-path')
  if (path !== '' && (!path.startsWith('/') || path.split('/').includes('..')))
    throw wrongFlag(`--workload-api-host-path: must be an absolute path without "..", got ${JSON.stringify(path)}`)
  if (!SOCKET_NAME.test(workloadApiSocketName))
    throw wrongFlag(
      `--workload-api-socket-name: must be a file name of letters, digits, ".", "_" and "-", got ${JSON.stringify(workloadApiSocketName)}`,
    )
  return flags
}

/** The Workload API that flags describe. */
export function workloadApiOf(flags: InjectorFlags): WorkloadApi | undefined {
  const { workloadIdentity, workloadApiCsiDriver: driver, workloadApiHostPath: path, workloadApiSocketName } = flags
  if (driver === '' && path === '') return undefined
  return {
    source: driver === '' ? { kind: 'hostPath', path } : { kind: 'csi', driver },
    socketName: workloadApiSocketName,
    isDefault: workloadIdentity === 'spire',
  }
}

function wrongFlag(message: string): OsmError<ProgramErrorCode> {
  return new OsmError('OSM_PROGRAM_FLAG', message)
}
