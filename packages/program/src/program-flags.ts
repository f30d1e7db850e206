import { OsmError } from '@osm-ts/driver-api'
import { parseMeshDomains } from '@osm-ts/core'

import type { ProgramErrorCode } from './error-codes.js'
import type { FlagDefinitions, FlagValues } from './flag-definitions.js'
import { parseFlags } from './parse-flags.js'

/** Flags that every program of the control plane has, those that need no mesh included. */
export const processFlags = {
  verbosity: {
    kind: 'choice',
    values: ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'panic', 'disabled'],
    default: 'info',
    meaning: 'lowest level of log entries',
  },
  kubeconfig: {
    kind: 'text',
    default: '',
    meaning: 'kubeconfig for the API server. Empty: the service account of the pod',
  },
} as const satisfies FlagDefinitions

/** Flags of osm-controller, osm-injector and osm-bootstrap, with OSM's names and defaults. */
export const programFlags = {
  ...processFlags,
  'mesh-name': { kind: 'text', form: 'dns-label', meaning: 'name of the mesh' },
  'osm-namespace': { kind: 'text', form: 'dns-label', meaning: 'namespace of the control plane' },
  'osm-version': { kind: 'text', default: '', meaning: 'version of the control plane, for labels of objects' },
  'osm-config-name': {
    kind: 'text',
    form: 'dns-subdomain',
    default: 'osm-mesh-config',
    meaning: 'name of the MeshConfig',
  },
  'bind-address': {
    kind: 'text',
    default: '',
    meaning: 'address that servers listen on. Empty: all addresses',
  },
  'certificate-manager': {
    kind: 'choice',
    values: ['tresor', 'vault', 'cert-manager'],
    default: 'tresor',
    meaning: 'certificate provider',
  },
  'ca-bundle-secret-name': {
    kind: 'text',
    form: 'dns-subdomain',
    default: 'osm-ca-bundle',
    meaning: 'Secret with the root for workloads; the Secret for the control plane has the suffix -control-plane',
  },
  'trust-domain': {
    kind: 'text',
    form: 'dns-domain',
    default: 'cluster.local',
    meaning: 'trust domain: the suffix of identities',
  },
  'cluster-domain': {
    kind: 'text',
    form: 'dns-domain',
    default: 'cluster.local',
    meaning: "DNS domain of the cluster's Services",
  },
  'enable-mesh-root-certificate': {
    kind: 'switch',
    default: false,
    meaning: 'read the certificate provider from a MeshRootCertificate',
  },
  'enable-reconciler': {
    kind: 'switch',
    default: false,
    meaning: 'restore CRDs and webhook configurations that were changed or deleted',
  },
  'vault-protocol': { kind: 'choice', values: ['http', 'https'], default: 'http', meaning: 'protocol of Vault' },
  'vault-host': { kind: 'text', default: '', meaning: 'host of Vault' },
  'vault-port': { kind: 'number', min: 1, max: 65535, default: 8200, meaning: 'port of Vault' },
  'vault-role': { kind: 'text', default: 'openservicemesh', meaning: 'role of the PKI secrets engine in Vault' },
  'vault-token': { kind: 'text', default: '', secret: true, meaning: 'token for Vault' },
  'vault-token-secret-name': {
    kind: 'text',
    default: '',
    meaning: 'Secret with the token for Vault, or with the secret id of AppRole',
  },
  'vault-token-secret-key': { kind: 'text', default: '', meaning: 'key in that Secret' },
  'vault-mount': { kind: 'text', default: 'pki', meaning: 'path of the PKI secrets engine in Vault' },
  'vault-namespace': { kind: 'text', default: '', meaning: 'namespace of Vault Enterprise' },
  'vault-ca-file': {
    kind: 'text',
    default: '',
    meaning: "file with the roots of Vault's own certificate. Empty: the roots of the system",
  },
  'vault-auth': {
    kind: 'choice',
    values: ['token', 'tokenFile', 'kubernetes', 'appRole'],
    default: 'token',
    meaning: 'auth method of Vault',
  },
  'vault-auth-mount': {
    kind: 'text',
    default: '',
    meaning: 'path of the auth method in Vault. Empty: kubernetes or approle',
  },
  'vault-auth-role': {
    kind: 'text',
    default: '',
    meaning: 'role of the Kubernetes auth method, or role id of AppRole',
  },
  'vault-token-file': {
    kind: 'text',
    default: '',
    meaning:
      'file with the token for Vault; with the Kubernetes auth method, file with the token of the service account',
  },
  'cert-manager-issuer-name': { kind: 'text', default: 'osm-ca', meaning: 'issuer of cert-manager' },
  'cert-manager-issuer-kind': { kind: 'text', default: 'Issuer', meaning: 'kind of that issuer' },
  'cert-manager-issuer-group': { kind: 'text', default: 'cert-manager.io', meaning: 'group of that issuer' },
  'cert-manager-ca-secret-name': {
    kind: 'text',
    default: '',
    meaning: 'Secret with the accepted roots of the issuer in ca.crt. Empty: the roots that the issuer reports',
  },
} as const satisfies FlagDefinitions

/** The flag of programs that have drivers. */
export const driverFlags = {
  'driver-packages': {
    kind: 'text',
    default: '',
    meaning:
      'drivers in addition to the built-in ones: a JSON list, or a file with one. Empty: the value of OSM_DRIVER_PACKAGES',
  },
} as const satisfies FlagDefinitions

/** Values of {@link programFlags}. */
export type ProgramFlags = FlagValues<typeof programFlags>

/**
 * Reads the flags that the programs have in common together with those of one program.
 *
 * @throws OsmError with code `OSM_PROGRAM_FLAG`, `OSM_PROGRAM_CERTIFICATE_MANAGER`, or one of `OSM_IDENTITY_*` if the two
 * domains cannot be beside each other
 */
export function parseProgramFlags<const Extra extends FlagDefinitions>(
  argv: readonly string[],
  extraOptions: Extra,
): ProgramFlags & FlagValues<Extra> {
  const extra = parseFlags(argv, { ...programFlags, ...extraOptions }) as ProgramFlags & FlagValues<Extra> // the union of both tables
  checkCertificateManager(extra)
  parseMeshDomains(extra)
  return extra
}

function checkCertificateManager(flags: ProgramFlags): void {
  const { certificateManager } = flags
  if (certificateManager === 'tresor') return
  const missing = certificateManager === 'vault' ? missingVaultFlag(flags) : missingIssuerFlag(flags)
  if (missing !== undefined)
    throw new OsmError<ProgramErrorCode>(
      'OSM_PROGRAM_CERTIFICATE_MANAGER',
      `--certificate-manager=${certificateManager} needs ${missing}`,
    )
}

function missingIssuerFlag({
  certManagerIssuerName: name,
  certManagerIssuerKind: kind,
  certManagerIssuerGroup: group,
}: ProgramFlags): string | undefined {
  if (name === '') return '--cert-manager-issuer-name'
  if (kind === '' || group === '') return '--cert-manager-issuer-kind and --cert-manager-issuer-group'
  return group === 'cert-manager.io' && !['Issuer', 'ClusterIssuer'].includes(kind)
    ? '--cert-manager-issuer-kind=Issuer or ClusterIssuer, or the --cert-manager-issuer-group of another kind'
    : undefined
}

/** Programs that do not ask Vault are given no login. */
function missingVaultFlag(flags: ProgramFlags): string | undefined {
  const { vaultHost, vaultToken, vaultTokenSecretName, vaultTokenSecretKey, vaultAuth, vaultAuthRole } = flags
  if (vaultHost === '') return undefined
  if ((vaultTokenSecretName === '') !== (vaultTokenSecretKey === ''))
    return '--vault-token-secret-name and --vault-token-secret-key together'
  const hasSecret = vaultToken !== '' || vaultTokenSecretName !== ''
  if (vaultToken !== '' && vaultTokenSecretName !== '')
    return 'either --vault-token or --vault-token-secret-name, not both'
  if ((vaultAuth === 'token' || vaultAuth === 'appRole') && !hasSecret)
    return `--vault-token-secret-name and --vault-token-secret-key, or --vault-token, for --vault-auth=${vaultAuth}`
  if ((vaultAuth === 'kubernetes' || vaultAuth === 'appRole') && vaultAuthRole === '')
    return `--vault-auth-role for --vault-auth=${vaultAuth}`
  return vaultAuth === 'tokenFile' && flags.vaultTokenFile === ''
    ? '--vault-token-file for --vault-auth=tokenFile'
    : undefined
}
