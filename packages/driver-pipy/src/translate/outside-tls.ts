import type { CredentialRef, PartRef, PolicyReader, UpstreamTls } from '@osm-ts/driver-api/policy'
import { ipOctets } from '@osm-ts/driver-api/toolkit'

import type { OutsideTls } from '../config/upstream-types.js'
import type { CredentialNeeds } from './credential-needs.js'

type Origination = Extract<UpstreamTls, { readonly mode: 'originate' }>

/** Where an origination stands, and who notes what is said of it. */
interface Place {
  readonly reader: PolicyReader
  readonly needs: CredentialNeeds
  readonly ref: PartRef
}

/** TLS towards a server outside the mesh; undefined, and refused, if it names a credential that no one hands out. */
export function outsideTls(origination: Origination, place: Place): OutsideTls | undefined {
  const { serverName, subjectAltNames, credential, roots } = origination
  if (credential?.kind === 'egress' || roots?.kind === 'egress') {
    place.reader.refuse(
      place.ref,
      '/tls',
      'class pipy knows certificates of Secrets and its own; requests are answered 503',
    )
    return undefined
  }
  const expected = (subjectAltNames.length > 0 ? subjectAltNames : [serverName]).map((name) => name.toLowerCase())
  return {
    // Addresses are not server names (RFC 6066, section 3).
    ...(ipOctets(serverName) === undefined ? { serverName } : {}),
    names: expected.filter((name) => ipOctets(name) === undefined).sort(),
    addresses: expected.flatMap((name) => ipOctets(name)?.toString('hex') ?? []).sort(),
    ...(credential === undefined ? {} : { shows: materialOf(credential, 'own', place) }),
    roots: roots === undefined ? 'system' : materialOf(roots, 'mesh', place),
  }
}

function materialOf<Own extends string>(
  credential: Exclude<CredentialRef, { readonly kind: 'egress' }>,
  own: Own,
  { needs, ref }: Place,
): Own | { readonly credential: string } {
  return credential.kind === 'service' ? own : { credential: needs.add(credential, ref, '/tls') }
}
