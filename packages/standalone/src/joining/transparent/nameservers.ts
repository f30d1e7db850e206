import { readFileSync } from 'node:fs'
import { isIP } from 'node:net'

/** Files with the nameservers of a machine: of the C library, and of systemd-resolved, which answers for it at a loopback address. */
export const RESOLVER_FILES = ['/etc/resolv.conf', '/run/systemd/resolve/resolv.conf'] as const

/** Addresses of the nameservers in these files. A file that is missing has none. */
export function nameserversIn(files: readonly string[]): readonly string[] {
  const addresses = files.flatMap((file) =>
    tryRead(file)
      .split('\n')
      .flatMap((line) => /^\s*nameserver\s+([0-9A-Fa-f:.]+)\s*$/.exec(line)?.[1] ?? []),
  )
  return [...new Set(addresses)].filter((address) => isIP(address) !== 0)
}

function tryRead(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return ''
  }
}
