/** True for a header name by RFC 9110. Pseudo-headers are none. */
export function isHeaderName(name: string): boolean {
  return /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/.test(name)
}

/** True for a name that requests can be matched by: a header name, or a pseudo-header. Sidecars refuse routes with any other. */
export function isMatchedHeaderName(name: string): boolean {
  return isHeaderName(name.startsWith(':') ? name.slice(1) : name)
}

/** Headers that are added to an answer at most: Envoy refuses the eleventh. */
export const MAX_ANSWER_HEADERS = 10
/** Bytes of the name or of the value of one: Envoy refuses longer ones. */
export const MAX_ANSWER_HEADER_BYTES = 16_384

/** True for a header that may be added to an answer: one line of bounded length, and not one that proxies keep for themselves. */
export function isAnswerHeader(name: string, value: string): boolean {
  return (
    isHeaderName(name) &&
    name.toLowerCase() !== 'host' &&
    !/[\r\n\0]/.test(value) &&
    [name, value].every((text) => Buffer.byteLength(text) <= MAX_ANSWER_HEADER_BYTES)
  )
}
