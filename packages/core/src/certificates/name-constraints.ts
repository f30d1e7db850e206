// eslint-disable-next-line @typescript-eslint/triple-slash-reference -- programs that compile this file from source need the declaration too
/// <reference path="./node-forge-asn1.d.ts" />
import type { X509Certificate } from 'node:crypto'

import { ipOctets } from '@osm-ts/driver-api/toolkit'
import asn1 from 'node-forge/lib/asn1.js'

import type { AlternativeNames } from './certificate-names.js'

const NAME_CONSTRAINTS = '2.5.29.30'
/** Tags of a GeneralName. */
const kinds = { 2: 'dns', 6: 'uris', 7: 'addresses' } as const
/** Tags of the two lists of an extension. */
const [PERMITTED, EXCLUDED] = [0, 1]

type Element = ReturnType<typeof asn1.create>
type Kind = (typeof kinds)[keyof typeof kinds]

/** What a CA may or must not sign. The base is as its bytes. */
interface Subtree {
  readonly kind: Kind
  readonly base: Buffer
}

/**
 * A name that a CA must not sign by its own name constraints (RFC 5280, 4.2.1.10): peers would refuse the certificate. Undefined if there is none.
 *
 * DNS names, URIs and addresses are compared, which are the names of certificates of the mesh.
 */
export function forbiddenName(authority: X509Certificate, names: AlternativeNames): string | undefined {
  const extension = constraintsOf(authority)
  if (extension === undefined) return undefined
  const [permitted, excluded] = [PERMITTED, EXCLUDED].map((list) => subtreesOf(extension, list))
  for (const kind of Object.values(kinds)) {
    const of = (subtrees: readonly Subtree[] = []) => subtrees.filter((each) => each.kind === kind)
    for (const name of names[kind]) {
      const isBelow = ({ base }: Subtree): boolean => matches[kind](name, base)
      if (of(excluded).some(isBelow)) return name
      if (of(permitted).length > 0 && !of(permitted).some(isBelow)) return name
    }
  }
  return undefined
}

const matches: Readonly<Record<Kind, (name: string, base: Buffer) => boolean>> = {
  dns: (name, base) => {
    const [host, suffix] = [name.toLowerCase(), base.toString('latin1').toLowerCase()]
    return suffix === '' || host === suffix || host.endsWith(suffix.startsWith('.') ? suffix : `.${suffix}`)
  },
  uris: (name, base) => {
    const [, authority = ''] = /^[^:]+:\/\/([^/]*)/.exec(name.toLowerCase()) ?? []
    const [host, suffix] = [authority.replace(/:\d*$/, ''), base.toString('latin1').toLowerCase()]
    return suffix.startsWith('.') ? host.endsWith(suffix) && host !== suffix : host === suffix
  },
  addresses: (name, base) => {
    const address = ipOctets(name)
    if (address === undefined || base.length !== 2 * address.length) return false
    const [network, mask] = [base.subarray(0, address.length), base.subarray(address.length)]
    return address.every((byte, index) => (byte & (mask[index] ?? 0)) === (network[index] ?? 0))
  },
}

/** The certificate is one that OpenSSL has parsed. */
function constraintsOf({ raw }: X509Certificate): Element | undefined {
  const body = children(children(asn1.fromDer(raw.toString('latin1')))[0])
  const wrapper = body.find(({ tagClass, type }) => tagClass === asn1.Class.CONTEXT_SPECIFIC && type === 3)
  const extension = children(children(wrapper)[0])
    .map(children)
    .find(([id]) => typeof id?.value === 'string' && asn1.derToOid(id.value) === NAME_CONSTRAINTS)
  const value = extension?.at(-1)?.value
  return typeof value === 'string' ? asn1.fromDer(value) : undefined
}

function subtreesOf(extension: Element, list: number | undefined): readonly Subtree[] {
  return children(children(extension).find(({ type }) => type === list)).flatMap((subtree) => {
    const [base] = children(subtree)
    const kind = kinds[base?.type as keyof typeof kinds] as Kind | undefined // other types have no entry
    return kind === undefined || typeof base?.value !== 'string'
      ? []
      : [{ kind, base: Buffer.from(base.value, 'latin1') }]
  })
}

function children(element: Element | undefined): readonly Element[] {
  return Array.isArray(element?.value) ? element.value : []
}
