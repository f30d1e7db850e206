/** True for the address of a peer on this machine, a port-forward included. */
export function isLoopback(address: string | undefined): boolean {
  return address === '::1' || (address?.startsWith('127.') ?? false) || (address?.startsWith('::ffff:127.') ?? false)
}
