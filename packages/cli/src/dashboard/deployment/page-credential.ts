import { X509Certificate } from 'node:crypto'

import { type Clock, generateKeyPairFor, pause, writeKeyRequest } from '@osm-ts/core'
import type { Logger } from '@osm-ts/driver-api'
import { errorMessage } from '@osm-ts/driver-api/toolkit'

import type { ControllerPages } from './controller-pages.js'

/** A certificate and its key, PEM. */
export interface PageCredential {
  readonly cert: string
  /** Secret. */
  readonly key: string
}

/** What credentials are made by. */
export interface PageCredentialsOptions {
  readonly controllers: Pick<ControllerPages, 'sign' | 'roots'>
  readonly clock: Clock
  readonly logger: Logger
  readonly signal: AbortSignal
}

/** How often it is checked whether another one is due. */
const CHECK_MS = 60_000
/** After a failure. */
const RETRY_MS = 3_000

/**
 * Yields a credential of the page as soon as a controller signs one, and then each that replaces it: at half of its life, and when the roots change. Keys are
 * made here and stay here. Ends with the signal.
 */
export async function* pageCredentials({
  controllers,
  clock,
  logger,
  signal,
}: PageCredentialsOptions): AsyncGenerator<PageCredential, void, undefined> {
  let renewAt = -Infinity
  let knownRoots = ''
  while (!signal.aborted) {
    let made: PageCredential | undefined
    try {
      const roots = (await controllers.roots()).join('')
      if (clock.now() >= renewAt || roots !== knownRoots) {
        const pair = await generateKeyPairFor({ algorithm: 'ECDSA' })
        made = { cert: await controllers.sign(writeKeyRequest(pair)), key: pair.privateKey }
        const { validFrom, validTo } = new X509Certificate(made.cert)
        renewAt = (Date.parse(validFrom) + Date.parse(validTo)) / 2
        knownRoots = roots
      }
    } catch (error) {
      logger.warn({ reason: errorMessage(error) }, 'no certificate of the page was signed; it is tried again')
      await pause(clock, RETRY_MS, signal)
      continue
    }
    if (made !== undefined) yield made
    await pause(clock, CHECK_MS, signal)
  }
}
