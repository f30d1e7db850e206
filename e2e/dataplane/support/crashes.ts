import { appendFileSync } from 'node:fs'

/** Notes a sidecar that a signal has ended and no test. The tier of class pipy says at its end how many there were, and fails. */
export function noteCrash(what: string): void {
  const file = process.env.OSM_CRASH_FILE
  if (file !== undefined) appendFileSync(file, `${what}\n`)
}
