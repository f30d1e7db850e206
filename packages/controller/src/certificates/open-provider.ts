import { readFile } from 'node:fs/promises'

import {
  CaMaterial,
  type CaStore,
  type CertificateErrorCode,
  certificateNames,
  type CertificateProvider,
  type Clock,
  haveCommonKey,
  type MeshDomains,
  pemCertificates,
  type ProcessLogger,
  type Random,
  type RemoteAuthority,
  RemoteProvider,
  TresorProvider,
} from '@osm-ts/core'
import { OsmError } from '@osm-ts/driver-api'
import { untilAborted } from '@osm-ts/driver-api/toolkit'
import { CertManagerAuthority, type KubernetesApi } from '@osm-ts/kubernetes'
import type { VaultAuth, VaultSettings } from '@osm-ts/vault'

import type { CertManagerSpec, ProviderChoice } from './provider-choice.js'

/** A key of a Secret in the namespace of the control plane. */
export interface SecretKey {
  readonly name: string
  readonly key: string
}

/** What opening a provider takes. */
export interface ProviderOptions {
  /** Signs for the control plane always, and for workloads where that is chosen. */
  readonly builtIn: CertificateProvider
  readonly osmNamespace: string
  readonly domains: MeshDomains
  /** The cluster in which cert-manager is asked; absent where there is none. */
  readonly cluster?: { readonly api: KubernetesApi; readonly meshName: string; readonly serviceAccount: string }
  /** Reads a key of a Secret in the namespace of the control plane; undefined if it is not there. Secret. */
  readonly readSecret: (key: SecretKey) => Promise<string | undefined>
  readonly clock: Clock
  readonly random: Random
  readonly logger: ProcessLogger
}

/** Key of a Secret with roots. */
const ROOTS_KEY = 'ca.crt'
/** Key of a Secret with the private key of a root. */
const ROOT_KEY = 'private.key'
const SERVICE_ACCOUNT_TOKEN = '/var/run/secrets/kubernetes.io/serviceaccount/token'

/** A provider of workload certificates that was opened. */
export interface OpenedWorkloads {
  readonly provider: CertificateProvider
  /** Resolves when it has ended with the signal. */
  readonly stopped: Promise<void>
}

/**
 * Opens a provider of workload certificates. Waits until it answers, or the signal aborts.
 *
 * @throws OsmError with code `OSM_CERT_PROVIDER_SETTINGS`
 */
export async function openWorkloads(
  choice: ProviderChoice,
  options: ProviderOptions,
  signal: AbortSignal,
): Promise<OpenedWorkloads> {
  switch (choice.kind) {
    case 'tresor':
      if (choice.secretRef !== undefined) return openRoot(options, choice.secretRef, signal)
      return { provider: options.builtIn, stopped: Promise.resolve() }
    case 'vault':
      return openVault(options, await vaultSettings(choice, options), signal)
    case 'cert-manager':
      return openCertManager(options, choice.certManager, signal)
  }
}

/** The built-in authority with another root, which somebody has put into a Secret. */
async function openRoot(
  { builtIn, osmNamespace, readSecret, clock }: ProviderOptions,
  { name, namespace }: { readonly name: string; readonly namespace: string },
  signal: AbortSignal,
): Promise<OpenedWorkloads> {
  const secret = `${namespace}/${name}`
  if (namespace !== osmNamespace)
    throw invalid(`Secret ${secret} with a root must be in namespace ${osmNamespace}, that of the control plane`)
  const read = async (key: string): Promise<string> => {
    const text = await readSecret({ name, key })
    if (text !== undefined) return text
    throw invalid(`Secret ${secret} with key ${key} for the built-in authority is missing`)
  }
  const origin = { certificate: `Secret ${secret}, key ${ROOTS_KEY}`, privateKey: `Secret ${secret}, key ${ROOT_KEY}` }
  const store: CaStore = {
    load: async () => new CaMaterial(await read(ROOTS_KEY), await read(ROOT_KEY), origin),
    create: async () => {
      throw invalid(`Secret ${secret} for the built-in authority is missing`)
    },
  }
  const rootKey = { algorithm: 'ECDSA' } as const
  const provider = await TresorProvider.open({ store, clock, rootKey, authorities: ['workload'] })
  if (haveCommonKey(builtIn.trustBundle('control-plane'), provider.trustBundle('workload')))
    throw new OsmError<CertificateErrorCode>(
      'OSM_CERT_CA_SHARED',
      `Secret ${secret} has the key of the control plane's root: a workload could pass for the control plane; take another root`,
    )
  const stopped = untilAborted(signal).then(() => provider.close())
  return { provider, stopped }
}

async function openVault(
  options: ProviderOptions,
  settings: VaultSettings,
  signal: AbortSignal,
): Promise<OpenedWorkloads> {
  // Loaded only where it is used.
  const { VaultAuthority } = await import('@osm-ts/vault')
  const remote = new VaultAuthority(settings, options.clock)
  if (settings.origin.startsWith('http:'))
    options.logger.warn({ vault: settings.origin }, 'Vault is asked without TLS: its token can be read on the way')
  try {
    const workload = await openRemote(options, remote, signal)
    const follow = async (): Promise<void> => {
      await workload.run(signal)
      await remote.close()
    }
    return { provider: workload, stopped: follow() }
  } catch (error) {
    await remote.close()
    throw error
  }
}

async function openCertManager(
  options: ProviderOptions,
  { issuerName: name, issuerKind: kind, issuerGroup: group, ca }: CertManagerSpec,
  signal: AbortSignal,
): Promise<OpenedWorkloads> {
  const { cluster, osmNamespace, domains, readSecret, clock, random, logger } = options
  if (cluster === undefined)
    throw invalid('spec.provider.certManager needs a Kubernetes cluster; use tresor or vault in a standalone mesh')
  const secret = ca?.secretRef
  if (secret !== undefined && secret.namespace !== osmNamespace)
    throw invalid(
      `Secret ${secret.namespace}/${secret.name} with the roots of the issuer must be in namespace ${osmNamespace}, that of the control plane`,
    )
  const serviceAccount = { namespace: osmNamespace, name: cluster.serviceAccount }
  const remote = new CertManagerAuthority({
    ...cluster,
    namespace: osmNamespace,
    issuer: { name, kind, group },
    ...(secret === undefined
      ? {}
      : {
          roots: async () => {
            const text = await readSecret({ name: secret.name, key: ROOTS_KEY })
            if (text !== undefined) return text
            throw invalid(`Secret ${osmNamespace}/${secret.name} with key ${ROOTS_KEY} for cert-manager is missing`)
          },
        }),
    probe: certificateNames({ kind: 'service', serviceAccount, services: [] }, domains),
    clock,
    random,
    logger: logger.child('cert-manager'),
  })
  const following = remote.run(signal)
  const workload = await openRemote(options, remote, signal)
  const follow = async (): Promise<void> => {
    await Promise.all([workload.run(signal), following])
  }
  return { provider: workload, stopped: follow() }
}

function openRemote(
  { builtIn, clock, random, logger }: ProviderOptions,
  remote: RemoteAuthority,
  signal: AbortSignal,
): Promise<RemoteProvider> {
  const options = {
    remote,
    authority: 'workload',
    otherRoots: () => builtIn.trustBundle('control-plane'),
    clock,
    random,
    logger: logger.child('certificate-provider'),
  } as const
  return RemoteProvider.open(options, signal)
}

async function vaultSettings(
  { vault, caFile, token }: Extract<ProviderChoice, { kind: 'vault' }>,
  options: ProviderOptions,
): Promise<VaultSettings> {
  const { protocol, host, port, mount = 'pki', role, namespace, caBundle } = vault
  const origin = URL.canParse(`${protocol}://${host}:${port}`) ? new URL(`${protocol}://${host}:${port}`) : undefined
  // A host that ends early takes the port with it.
  if (origin === undefined || origin.href !== `${origin.origin}/`)
    throw invalid(`the host ${JSON.stringify(host)} of Vault is not a host name or address`)
  for (const path of [mount, role, vault.auth?.mount ?? ''])
    if (!/^[\w./-]*$/.test(path) || path.split('/').some((segment) => /^\.+$/.test(segment)))
      throw invalid(`${JSON.stringify(path)} is not a path or role of Vault`)
  if (!/^[\x21-\x7e]*$/.test(namespace ?? ''))
    throw invalid(
      `${JSON.stringify(namespace)} is not a namespace of Vault: only visible ASCII characters are accepted`,
    )
  const ca = caBundle ?? (caFile === undefined ? undefined : await readRoots(caFile))
  if (ca !== undefined && pemCertificates(ca).length === 0)
    throw invalid(
      `${caBundle === undefined ? `the file ${caFile}` : 'spec.provider.vault.caBundle'} contains no certificate in PEM`,
    )
  return {
    origin: origin.origin,
    mount,
    role,
    ...(namespace === undefined ? {} : { namespace }),
    ...(ca === undefined ? {} : { ca }),
    auth: authOf(vault, token, options),
  }
}

function authOf(
  { auth, token: reference }: Extract<ProviderChoice, { kind: 'vault' }>['vault'],
  token: string | undefined,
  { osmNamespace, readSecret }: ProviderOptions,
): VaultAuth {
  const secret = async (): Promise<string> => {
    if (reference === undefined) return token ?? ''
    const { name, namespace, key } = reference.secretKeyRef
    if (namespace !== osmNamespace)
      throw invalid(
        `Secret ${namespace}/${name} for Vault must be in namespace ${osmNamespace}, that of the control plane`,
      )
    const text = await readSecret({ name, key })
    if (text === undefined) throw invalid(`Secret ${namespace}/${name} with key ${key} for Vault is missing`)
    return text
  }
  const { kind = 'token', mount, role = '', tokenFile } = auth ?? {}
  switch (kind) {
    case 'token':
      return { kind, token: secret }
    case 'tokenFile':
      return { kind, path: tokenFile ?? '' }
    case 'kubernetes':
      return { kind, mount: mount ?? 'kubernetes', role, tokenPath: tokenFile ?? SERVICE_ACCOUNT_TOKEN }
    case 'appRole':
      return { kind, mount: mount ?? 'approle', roleId: role, secretId: secret }
  }
}

async function readRoots(path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8')
  } catch (error) {
    throw invalid(`the file ${path} with the roots of Vault cannot be read: ${(error as Error).message}`) // of node:fs
  }
}

function invalid(message: string): OsmError {
  return new OsmError<CertificateErrorCode>('OSM_CERT_PROVIDER_SETTINGS', message)
}
