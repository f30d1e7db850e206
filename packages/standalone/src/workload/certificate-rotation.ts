import type { Certificate, Clock, ProxyCertificate, Random } from '@osm-ts/core'

import { isAborted } from '../process/kept-running.js'

/** Timers of the platform count in 31 bits of milliseconds; certificates of sidecars live for years. */
const LONGEST_TIMER_MS = 24 * 3_600_000
const RETRY_MS = 60_000

/** When a certificate is valid. */
type Validity = Pick<Certificate, 'notBefore' | 'expiration'>

/** What rotation needs. */
export interface RotationOptions<C extends Validity = ProxyCertificate> {
  readonly certificate: C
  readonly issue: () => Promise<C>
  /** Puts a new certificate in place of the old one. */
  readonly install: (certificate: C) => void
  /** Told when no new certificate was to be had. It is tried again. */
  readonly onFailure: (error: unknown) => void
  readonly clock: Clock
  readonly random: Random
}

/** Replaces a certificate between half and three quarters of its life, again and again until the signal aborts. */
export async function rotateCertificate<C extends Validity>(
  options: RotationOptions<C>,
  signal: AbortSignal,
): Promise<void> {
  const { issue, install, onFailure, clock, random } = options
  let certificate = options.certificate
  let due = dueTime(certificate, random)
  while (!signal.aborted) {
    const now = clock.now()
    if (now < due) {
      await sleep(Math.min(due - now, LONGEST_TIMER_MS), clock, signal)
      continue
    }
    try {
      certificate = await issue()
      install(certificate)
      due = dueTime(certificate, random)
    } catch (error) {
      // The end of the mesh is no failure.
      if (!isAborted(signal)) onFailure(error)
      due = clock.now() + RETRY_MS
    }
  }
}

function dueTime({ notBefore, expiration }: Validity, random: Random): number {
  return notBefore + (expiration - notBefore) * (0.5 + 0.25 * random())
}

function sleep(delayMs: number, clock: Clock, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      cancel()
      signal.removeEventListener('abort', done)
      resolve()
    }
    const cancel = clock.setTimer(done, delayMs)
    signal.addEventListener('abort', done, { once: true })
  })
}
