/** As many characters of a proxy's words as are kept. */
export const MAX_SHOWN_WORDS = 2048

/** To the frame that ends the key. Hyphens that begin another key end none: a proxy may have cut the first one off. */
const PEM = /-----BEGIN [^-]*-----[\s\S]*?(?:-----END [^-]*-----(?!BEGIN )|$)/g

/** A proxy's words, fit to be logged and reported: without what looks like key material, and not longer than {@link MAX_SHOWN_WORDS}. */
export function shownWords(words: string): string {
  return words.slice(0, MAX_SHOWN_WORDS).replace(PEM, '[redacted]')
}
