import { limits } from './limits.js'

const PEM = /-----BEGIN [^-]*-----[\s\S]*?(?:-----END [^-]*-----|$)/g

/** A worker's words, fit to be shown: without what looks like key material, and not longer than they should be. */
export function redact(words: string): string {
  return words.slice(0, limits.maxErrorLength).replace(PEM, '[redacted]')
}
