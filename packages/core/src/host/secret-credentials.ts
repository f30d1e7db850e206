import { type Credential, type CredentialRef, OsmError, type ProxyRef } from '@osm-ts/driver-api'

import { Latest } from '../async/latest.js'
import type { PolicyPart } from '../catalog/policy/policy-part.js'
import type { SecretSource } from '../secrets/secret-source.js'
import type { PolicyProvider } from './policy-provider.js'

/** What {@link SecretCredentials} needs. */
export interface SecretCredentialsOptions {
  readonly policies: Pick<PolicyProvider, 'policyFor'>
  readonly secrets: SecretSource
}

type SecretRef = Extract<CredentialRef, { readonly kind: 'secret' }>

/** Client certificates of Secrets, for proxies whose policy names them and only for as long as it does. */
export class SecretCredentials {
  readonly #options: SecretCredentialsOptions

  constructor(options: SecretCredentialsOptions) {
    this.#options = options
  }

  /**
   * What stands in a Secret, then whatever replaces it. Ends when the policy names it no more.
   *
   * @throws OsmError with code `OSM_CREDENTIAL_DENIED`
   */
  watch(proxy: ProxyRef, ref: SecretRef, signal: AbortSignal): AsyncIterable<Credential> {
    if (!this.#isNamed(proxy, ref)) throw credentialDenied(proxy, ref)
    return this.#follow(proxy, ref, signal)
  }

  async *#follow(proxy: ProxyRef, ref: SecretRef, signal: AbortSignal): AsyncGenerator<Credential, void, undefined> {
    const { secrets } = this.#options
    const latest = new Latest(secrets.credential(ref))
    const leave = secrets.subscribe(() => latest.set(secrets.credential(ref)))
    let shown: Credential | undefined
    try {
      for await (const credential of latest.watch(signal)) {
        if (!this.#isNamed(proxy, ref)) return
        if (credential === undefined || credential === shown) continue
        shown = credential
        yield credential
      }
    } finally {
      leave()
    }
  }

  #isNamed({ uuid }: ProxyRef, ref: SecretRef): boolean {
    const policy = this.#options.policies.policyFor(uuid)
    return policy !== undefined && names(policy, ref, new Set())
  }
}

/** A driver asks for what stands in no policy of the proxy. */
export function credentialDenied(
  { uuid }: ProxyRef,
  ref: Exclude<CredentialRef, { readonly kind: 'service' }>,
): OsmError {
  const { kind, name } = ref
  return new OsmError('OSM_CREDENTIAL_DENIED', `the policy of proxy ${uuid} holds no reference to ${kind} ${name}`, {
    details: { uuid, kind, name },
  })
}

/** True if a part, or one that it refers to, names the Secret. */
function names({ hash, part, children }: PolicyPart, ref: SecretRef, seen: Set<string>): boolean {
  if (seen.has(hash)) return false
  seen.add(hash)
  if (part.kind === 'upstream' && part.tls.mode === 'originate')
    return [part.tls.credential, part.tls.roots].some((each) => isSame(each, ref))
  return children.some((child) => names(child, ref, seen))
}

function isSame(a: CredentialRef | undefined, b: SecretRef): boolean {
  return a?.kind === 'secret' && a.namespace === b.namespace && a.name === b.name
}
