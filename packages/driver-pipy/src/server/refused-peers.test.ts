import type { TLSSocket } from 'node:tls'

import { describe, expect, it } from '@jest/globals'
import type { ProxyObservation } from '@osm-ts/driver-api'

import { RefusedPeers } from './refused-peers.js'

const foreign = Object.assign(new Error('error:0D0C5006:asn1 encoding routines:ASN1_item_verify:EVP lib'), {
  code: 'ERR_OSSL_ASN1_EVP_LIB',
})
const closed = Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' })

describe('RefusedPeers', () => {
  it.each([
    ['by its date alone', 'CERT_HAS_EXPIRED', closed, 'the certificate has expired'],
    ['by its signature', null, foreign, 'the certificate is not of this control plane (CERT_SIGNATURE_FAILURE)'],
    [
      'by its signature, also when its date was looked at after it',
      'CERT_HAS_EXPIRED',
      foreign,
      'the certificate is not of this control plane (CERT_SIGNATURE_FAILURE)',
    ],
    [
      'by another verdict',
      'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
      closed,
      'the certificate is not of this control plane (UNABLE_TO_VERIFY_LEAF_SIGNATURE)',
    ],
  ])('tells of a certificate that is refused %s', (_what, authorizationError, error, message) => {
    const seen: ProxyObservation[] = []
    const logger = { debug: () => undefined, info: () => undefined, warn: () => undefined, error: () => undefined }
    const proxies = {
      observe: (observation: ProxyObservation) => {
        seen.push(observation)
        return Promise.resolve()
      },
    }
    const peers = new RefusedPeers(proxies, logger, () => 0)
    peers.shake(error, { authorizationError, remoteAddress: '10.0.0.1' } as unknown as TLSSocket)
    expect(seen).toEqual([{ refused: expect.objectContaining({ address: '10.0.0.1', message }) }])
  })
})
