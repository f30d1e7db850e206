import { networkInterfaces } from 'node:os'

/** The address to listen on: all of the machine where none is given, IPv6 included if there is any. */
export function anyAddress(given: string): string {
  if (given !== '') return given
  const hasIpv6 = Object.values(networkInterfaces()).some((addresses = []) =>
    addresses.some(({ family }) => family === 'IPv6'),
  )
  return hasIpv6 ? '::' : '0.0.0.0'
}
