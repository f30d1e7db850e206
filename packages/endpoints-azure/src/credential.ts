import { readFile } from 'node:fs/promises'

import {
  ClientCertificateCredential,
  ClientSecretCredential,
  ManagedIdentityCredential,
  WorkloadIdentityCredential,
  type AccessToken,
  type TokenCredential,
} from '@azure/identity'

import type { CloudEndpoints, CredentialSettings } from './settings.js'

type Options = ConstructorParameters<typeof ClientSecretCredential>[3]

/**
 * The credential that settings describe.
 *
 * @param ca - further certificate authorities in PEM
 */
export function openCredential(
  settings: CredentialSettings,
  { authority, isKnown }: CloudEndpoints,
  ca: string | undefined,
): TokenCredential {
  const options = {
    authorityHost: authority,
    disableInstanceDiscovery: !isKnown,
    retryOptions: { maxRetries: 0 },
    ...(ca === undefined ? {} : { tlsOptions: { ca } }),
  }
  switch (settings.type) {
    case 'managedIdentity':
      return settings.clientId === undefined
        ? new ManagedIdentityCredential({ retryOptions: { maxRetries: 2 } })
        : new ManagedIdentityCredential(settings.clientId, { retryOptions: { maxRetries: 2 } })
    case 'workloadIdentity': {
      const { tenantId, clientId, tokenFile } = settings
      return new WorkloadIdentityCredential({ ...options, tenantId, clientId, tokenFilePath: tokenFile })
    }
    case 'servicePrincipal': {
      const { tenantId, clientId, certificateFile, clientSecretFile = '' } = settings
      if (certificateFile !== undefined) {
        return new ClientCertificateCredential(tenantId, clientId, certificateFile, options)
      }
      return new SecretFileCredential(tenantId, clientId, clientSecretFile, options)
    }
  }
}

/** A client secret in a file that may be replaced while the provider runs. */
class SecretFileCredential implements TokenCredential {
  readonly #open: (secret: string) => TokenCredential
  readonly #file: string
  #current: { readonly secret: string; readonly credential: TokenCredential } | undefined

  constructor(tenantId: string, clientId: string, file: string, options: Options) {
    this.#open = (secret) => new ClientSecretCredential(tenantId, clientId, secret, options)
    this.#file = file
  }

  async getToken(...args: Parameters<TokenCredential['getToken']>): Promise<AccessToken | null> {
    const secret = (await readFile(this.#file, 'utf8')).trim()
    if (this.#current?.secret !== secret) this.#current = { secret, credential: this.#open(secret) }
    return this.#current.credential.getToken(...args)
  }
}
