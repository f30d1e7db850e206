import { readFile } from 'node:fs/promises'

import {
  type CertificateErrorCode,
  type CertificateProvider,
  type Clock,
  type ProcessLogger,
  type Random,
  RemoteProvider,
  type SnapshotFeed,
  SplitProvider,
} from '@osm-ts/core'
import { OsmError } from '@osm-ts/driver-api'
import type { VaultAuth, VaultSettings } from '@osm-ts/vault'

import type { ProviderOpener } from '../options.js'
import type { ProviderChoice } from './provider-choice.js'

/** A key of a Secret in the namespace of the control plane. */
export interface SecretKey {
  readonly name: string
  readonly key: string
}

/** What {@link providerOpener} needs. */
export interface ProviderOptions {
  /** Signs for the control plane always, and for workloads where that is chosen. */
  readonly builtIn: CertificateProvider
  /** Asked once the mesh has been read. */
  readonly choose: (feed: SnapshotFeed) => ProviderChoice
  readonly osmNamespace: string
  /** Reads a key of a Secret in the namespace of the control plane; undefined if it is not there. Secret. */
  readonly readSecret: (key: SecretKey) => Promise<string | undefined>
  readonly clock: Clock
  readonly random: Random
  readonly logger: ProcessLogger
}

const SERVICE_ACCOUNT_TOKEN = '/var/run/secrets/kubernetes.io/serviceaccount/token'

/**
 * Opens the provider that was chosen for workloads. The built-in authority stays that of the control plane: proxy certificates live as long as pods do, which
 * other authorities do not grant, and they must not open anything but the control plane.
 */
export function providerOpener(options: ProviderOptions): ProviderOpener {
  return async (feed, signal) => {
    const choice = options.choose(feed)
    const { builtIn } = options
    return choice.kind === 'tresor'
      ? { provider: builtIn, stopped: Promise.resolve() }
      : openVault(options, await vaultSettings(choice, options), signal)
  }
}

async function openVault(
  { builtIn, clock, random, logger }: ProviderOptions,
  settings: VaultSettings,
  signal: AbortSignal,
): ReturnType<ProviderOpener> {
  // Loaded only where it is used.
  const { VaultAuthority } = await import('@osm-ts/vault')
  const remote = new VaultAuthority(settings, clock)
  if (settings.origin.startsWith('http:'))
    logger.warn({ vault: settings.origin }, 'Vault is asked without TLS: its token can be read on the way')
  try {
    const workload = await RemoteProvider.open(
      {
        remote,
        authority: 'workload',
        otherRoots: () => builtIn.trustBundle('control-plane'),
        clock,
        random,
        logger: logger.child('certificate-provider'),
      },
      signal,
    )
    const follow = async (): Promise<void> => {
      await workload.run(signal)
      await remote.close()
    }
    const provider = new SplitProvider({ 'control-plane': builtIn, workload })
    return { provider, stopped: follow() }
  } catch (error) {
    await remote.close()
    throw error
  }
}

async function vaultSettings(
  { vault, caFile, token }: Extract<ProviderChoice, { kind: 'vault' }>,
  options: ProviderOptions,
): Promise<VaultSettings> {
  const { protocol, host, port, mount = 'pki', role, namespace, caBundle } = vault
  const origin = URL.canParse(`${protocol}://${host}:${port}`) ? new URL(`${protocol}://${host}:${port}`) : undefined
  if (origin === undefined || origin.pathname !== '/' || origin.username !== '')
    throw invalid(`the host ${JSON.stringify(host)} of Vault is not a host name or address`)
  for (const path of [mount, role, vault.auth?.mount ?? ''])
    if (!/^[\w./-]*$/.test(path)) throw invalid(`${JSON.stringify(path)} is not a path or role of Vault`)
  const ca = caBundle ?? (caFile === undefined ? undefined : await readRoots(caFile))
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
