/** As many characters of a proxy's words as are kept. */
export const MAX_SHOWN_WORDS = 2048

/** To the frame that ends the key. Hyphens that begin another key end none: a proxy may have cut the first one off. */
const PEM = /-----BEGIN [^-]*-----[\s\S]*?(?:-----END [^-]*-----(?!BEGIN )|$)/g

/** Characters that steer a terminal, hide text or change its order. */
const STEERING = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu

/** A line of text that users or proxies wrote, fit to be printed by whatever program: characters that would steer a terminal are dots. */
export function printable(text: string): string {
  return text.replace(STEERING, '·')
}

/** A proxy's words, fit to be logged and reported: without what looks like key material, and not longer than {@link MAX_SHOWN_WORDS}. */
export function shownWords(words: string): string {
  return words.slice(0, MAX_SHOWN_WORDS).replace(PEM, '[redacted]')
}
