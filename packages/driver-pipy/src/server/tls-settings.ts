import { constants } from 'node:crypto'
import type { SecureContextOptions } from 'node:tls'

import type { Credential, TrustBundle } from '@osm-ts/driver-api'

/** What the server shows to workers, and verifies them against. */
export interface ServerTrust {
  readonly credential: Credential
  readonly clientRoots: TrustBundle
}

/**
 * Settings of TLS for new connections. Roots are named each time: a context that is replaced keeps none of the one before, and without any would trust
 * those that come with Node.js. No session is resumed: every connection proves again who it is, by the roots of its moment.
 */
export function tlsSettings({ credential, clientRoots }: ServerTrust): SecureContextOptions {
  return {
    cert: credential.chain,
    key: credential.privateKey,
    ca: [...clientRoots.certificates],
    minVersion: 'TLSv1.2',
    secureOptions: constants.SSL_OP_NO_TICKET,
  }
}
