/** Whether a host is the one named, or below it where the name starts with `*.`. Both are in lower case. */
export function isHostOf(named: string, host: string): boolean {
  if (named === host) return true
  return named.startsWith('*.') && host.endsWith(named.slice(1)) && host.length > named.length - 1
}
