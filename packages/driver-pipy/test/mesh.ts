import { createHash, randomUUID } from 'node:crypto'

import type { Credential } from '@osm-ts/driver-api'
import { canonicalJson, hashPart, type Part, type PartHash, type ProxyPart } from '@osm-ts/driver-api/policy'
import { FakeHost } from '@osm-ts/driver-testkit'

import { Codebase } from '../src/codebase/codebase.js'
import type { EncodedDocument } from '../src/config/document.js'
import { byKey, credentialKey } from '../src/config/further-credentials.js'
import type { DocumentMaker } from '../src/document.js'

/** Makes documents that say literally what the policy of a test says. `{ needs: 'a' }` is what is in Secret `shop/a`. */
export const literalDocuments: DocumentMaker = ({ extensions: [hash = '' as PartHash] }, parts) => {
  const part = parts(hash)
  const says = part.kind === 'extension' ? part.value : undefined
  if (says === 'untranslatable') throw new Error('that cannot be said')
  const encode = (content: Readonly<Record<string, unknown>>): EncodedDocument => {
    const revision = createHash('sha256').update(canonicalJson(content)).digest('base64url').slice(0, 32)
    return { revision, body: canonicalJson({ ...content, revision }) }
  }
  const ref = { kind: part.kind, id: part.id, hash }
  const name = (says as { readonly needs?: string } | undefined)?.needs
  const secret = { kind: 'secret', namespace: 'shop', name: name ?? '' } as const
  const needs =
    name === undefined ? [] : [{ key: credentialKey(secret), ref: secret, users: [{ ref, pointer: '/value' }] }]
  return {
    needs,
    refusals: says === 'too much' ? [{ ref, pointer: '/value', message: 'Pipy cannot' }] : [],
    plain: () => encode({ says }),
    with: ({ chain, privateKey }, further) =>
      encode({ says, credentials: { chain, key: privateKey, further: byKey(needs, further) } }),
  }
}

/** A codebase with that in its files. */
export function codebaseOf(text: string): Codebase {
  const files = ['/main.js', '/lib/a.js', '/lib/b.js'].map((path) => [
    path,
    `// ${path}\nexport const text = '${text}'\n`,
  ])
  return new Codebase(new Map(files as [string, string][])) // pairs by construction
}

/** A host of the driver. */
export class PipyHost extends FakeHost {
  constructor() {
    super('pipy')
  }

  /** A proxy that has a policy. */
  admitted(
    identity = 'bookbuyer.default',
    says: unknown = 'hello',
  ): { readonly uuid: string; readonly commonName: string; readonly credential: Credential } {
    const uuid = randomUUID()
    const { commonName, credential } = this.admit(uuid, identity)
    this.say(uuid, says)
    return { uuid, commonName, credential }
  }

  /** Gives a proxy a policy that says that. */
  say(uuid: string, says: unknown, changes: Partial<ProxyPart> = {}): number {
    const part = { kind: 'extension', id: `says ${String(says)}`, class: 'pipy', type: 'test', value: says } as Part
    return this.publishPolicy(uuid, { extensions: [hashPart(part)], ...changes }, [part])
  }
}
