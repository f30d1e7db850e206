import { type Credential, OsmError, type ProxyRef } from '@osm-ts/driver-api'
import type { CredentialRef } from '@osm-ts/driver-api/policy'
import type { NamedCredentialRef } from '@osm-ts/driver-api/toolkit'
import { Latest } from '@osm-ts/driver-api/toolkit'

import type { PolicyPart } from '../catalog/policy/parts/policy-part.js'
import type { SecretSource } from '../secrets/secret-source.js'
import { proxyKeyOfRef } from '../identity/proxy-key.js'
import type { PolicyProvider } from './policy-provider.js'

/** RFC 3339. Headers do not expire. */
const NEVER = '9999-12-31T23:59:59Z'

/** Values of headers that sidecars show to servers outside the mesh. Secret. */
export interface HeaderValues {
  /** The value in force; undefined if there is none of that name. */
  value(name: string): string | undefined
  /** Calls the listener when any of them may have changed. The result ends it. */
  subscribe(listener: () => void): () => void
}

/** What {@link SecretCredentials} needs. */
export interface SecretCredentialsOptions {
  readonly policies: Pick<PolicyProvider, 'policyFor'>
  readonly secrets: SecretSource
  readonly headerValues: HeaderValues
}

/** Client certificates of Secrets and values of headers, for proxies whose policy names them and only for as long as it does. */
export class SecretCredentials {
  readonly #options: SecretCredentialsOptions

  constructor(options: SecretCredentialsOptions) {
    this.#options = options
  }

  /**
   * What is behind a reference, then whatever replaces it. Ends when the policy names it no more.
   *
   * @throws OsmError with code `OSM_CREDENTIAL_DENIED`
   */
  watch(proxy: ProxyRef, ref: NamedCredentialRef, signal: AbortSignal): AsyncIterable<Credential> {
    if (!this.#isNamed(proxy, ref)) throw credentialDenied(proxy, ref)
    return this.#follow(proxy, ref, signal)
  }

  async *#follow(
    proxy: ProxyRef,
    ref: NamedCredentialRef,
    signal: AbortSignal,
  ): AsyncGenerator<Credential, void, undefined> {
    const { secrets, headerValues } = this.#options
    const source = ref.kind === 'secret' ? secrets : headerValues
    const latest = new Latest(this.#read(ref))
    const leave = source.subscribe(() => latest.set(this.#read(ref)))
    let shown: Credential | undefined
    try {
      for await (const credential of latest.watch(signal)) {
        if (!this.#isNamed(proxy, ref)) return
        if (credential === undefined || isSame(credential, shown)) continue
        shown = credential
        yield credential
      }
    } finally {
      leave()
    }
  }

  #read(ref: NamedCredentialRef): Credential | undefined {
    const { secrets, headerValues } = this.#options
    if (ref.kind === 'secret') return secrets.credential(ref)
    const headerValue = headerValues.value(ref.name)
    return headerValue === undefined
      ? undefined
      : { chain: '', privateKey: '', expiry: NEVER, serialNumber: '', headerValue }
  }

  #isNamed(proxy: ProxyRef, ref: NamedCredentialRef): boolean {
    const policy = this.#options.policies.policyFor(proxyKeyOfRef(proxy))
    return policy !== undefined && names(policy, ref, new Set())
  }
}

/** A driver requests what is in no policy of the proxy. */
function credentialDenied({ uuid }: ProxyRef, ref: NamedCredentialRef): OsmError {
  const { kind, name } = ref
  return new OsmError('OSM_CREDENTIAL_DENIED', `the policy of proxy ${uuid} holds no reference to ${kind} ${name}`, {
    details: { uuid, kind, name },
  })
}

/** True if a part, or one that it refers to, has the reference. */
function names({ hash, part, children }: PolicyPart, ref: NamedCredentialRef, seen: Set<string>): boolean {
  if (seen.has(hash)) return false
  seen.add(hash)
  if (part.kind === 'upstream' && part.tls.mode === 'originate')
    return [part.tls.credential, part.tls.roots].some((each) => refersTo(each, ref))
  if (part.kind === 'mesh') return refersTo(part.remoteLogging?.authorization, ref)
  return children.some((child) => names(child, ref, seen))
}

function refersTo(a: CredentialRef | undefined, b: NamedCredentialRef): boolean {
  if (a?.kind !== b.kind) return false
  return a.name === b.name && (a.kind !== 'secret' || b.kind !== 'secret' || a.namespace === b.namespace)
}

function isSame(a: Credential, b: Credential | undefined): boolean {
  return a === b || (a.headerValue !== undefined && a.headerValue === b?.headerValue)
}
