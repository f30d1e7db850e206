/** As much of a proxy's words as a report carries. */
export const MAX_MESSAGE_LENGTH = 4096

/** To the frame that ends the key. Hyphens that begin another key end none: a proxy may have cut the first one off. */
const PEM = /-----BEGIN [^-]*-----[\s\S]*?(?:-----END [^-]*-----(?!BEGIN )|$)/g
/** Fields of Envoy's messages that carry bytes of certificates and keys, as text dumps print them. */
const INLINE =
  /\b(inline_?(?:string|bytes)|private_?key|password)(["']?\s*[:=]\s*)("(?:[^"\\]|\\.)*"?|'(?:[^'\\]|\\.)*'?)/gi

/**
 * A proxy's words, fit to be shown. A refusal may quote the refused resource, so whatever looks like key material is taken out before anything else.
 */
export function redact(message: string): string {
  return message.replace(PEM, '[redacted]').replace(INLINE, '$1$2[redacted]').slice(0, MAX_MESSAGE_LENGTH)
}
