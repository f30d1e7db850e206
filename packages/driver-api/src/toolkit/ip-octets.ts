import { isIPv4, isIPv6 } from 'node:net'

/**
 * The octets of an IP address, or undefined if the text is not an address. Zones have no
 * place there.
 */
export function ipOctets(text: string): Buffer | undefined {
  if (isIPv4(text)) return Buffer.from(text.split('.').map(Number))
  if (!isIPv6(text) || text.includes('%')) return undefined
  const [head = '', tail] = text.split('::')
  const before = groups(head)
  const after = groups(tail ?? '')
  const zeros = tail === undefined ? 0 : 8 - before.length - after.length
  const all = [...before, ...new Array<number>(zeros).fill(0), ...after]
  return Buffer.from(all.flatMap((group) => [group >> 8, group & 0xff]))
}

/** 16-bit groups of one side of `::`; an IPv4 address at the end is two of them. */
function groups(text: string): readonly number[] {
  if (text === '') return []
  return text.split(':').flatMap((group) => {
    if (!group.includes('.')) return [Number.parseInt(group, 16)]
    const [a = 0, b = 0, c = 0, d = 0] = group.split('.').map(Number)
    return [(a << 8) | b, (c << 8) | d]
  })
}
