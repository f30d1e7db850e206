/** True for a header name by RFC 9110. Pseudo-headers are none. */
export function isHeaderName(name: string): boolean {
  return /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/.test(name)
}

/** True for a header that may be added to an answer: one line, and not one that proxies keep for themselves. */
export function isAnswerHeader(name: string, value: string): boolean {
  return isHeaderName(name) && name.toLowerCase() !== 'host' && !/[\r\n\0]/.test(value)
}
