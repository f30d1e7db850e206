import { describe, expect, it } from '@jest/globals'
import { checkInterception } from './check-interception.js'
import { InterceptionError, interceptionErrorCodes } from './errors.js'
import { interceptionRules } from './interception-rules.js'
import { listLimits, type InterceptionOptions } from './options.js'
import { formatRuleSpec, type FamilyRules } from './rule.js'

function lines(rules: FamilyRules, chain: string): readonly string[] {
  return rules.tables.flatMap((table) => table.rules.filter((rule) => rule.chain === chain).map(formatRuleSpec))
}

describe('interceptionRules', () => {
  it('sends inbound connections to 15003, all but the ports that the sidecar serves itself', () => {
    expect(lines(interceptionRules().ipv4, 'OSM_PROXY_INBOUND')).toEqual([
      '-p tcp -m multiport --dports 15010,15901,15902,15903,15904 -j RETURN',
      '-p tcp -j OSM_PROXY_IN_REDIRECT',
    ])
    expect(lines(interceptionRules().ipv4, 'OSM_PROXY_IN_REDIRECT')).toEqual(['-p tcp -j REDIRECT --to-ports 15003'])
  })

  it('lets the administration port through before any rule that diverts, on loopback only', () => {
    const [first, ...others] = lines(
      interceptionRules({ localProxyMode: 'PodIP', podAddresses: ['10.0.0.9'] }).ipv4,
      'OSM_PROXY_OUTBOUND',
    )
    expect(first).toBe('-o lo -p tcp -m tcp --dport 15000 -j RETURN')
    expect(others.filter((line) => line.includes('15000'))).toEqual([])
  })

  it('treats IPv6 as it treats IPv4', () => {
    const { ipv4, ipv6 } = interceptionRules()
    const translated = lines(ipv4, 'OSM_PROXY_OUTBOUND').map((line) => line.replace('127.0.0.1/32', '::1/128'))
    expect(lines(ipv6, 'OSM_PROXY_OUTBOUND')).toEqual(translated)
    expect(lines(ipv6, 'OSM_PROXY_INBOUND')).toEqual(lines(ipv4, 'OSM_PROXY_INBOUND'))
  })

  it('puts each range into the list of its family', () => {
    const { ipv4, ipv6 } = interceptionRules({ outboundIpRangeExclusions: ['10.0.0.0/8', 'fd00::/8'] })
    expect(lines(ipv4, 'OSM_PROXY_OUTBOUND')).toContain('-d 10.0.0.0/8 -p tcp -j RETURN')
    expect(lines(ipv6, 'OSM_PROXY_OUTBOUND')).toContain('-d fd00::/8 -p tcp -j RETURN')
    expect(lines(ipv4, 'OSM_PROXY_OUTBOUND').join()).not.toContain('fd00')
    expect(lines(ipv6, 'OSM_PROXY_OUTBOUND').join()).not.toContain('10.0.0.0')
  })

  it('captures listed destinations only, once one is listed; exclusions still come first', () => {
    const rules = interceptionRules({
      outboundIpRangeInclusions: ['10.0.0.0/8'],
      outboundIpRangeExclusions: ['10.1.0.0/16'],
      nameservers: ['10.96.0.10'],
    })
    expect(lines(rules.ipv4, 'OSM_PROXY_OUTBOUND').slice(-4)).toEqual([
      '-d 10.1.0.0/16 -p tcp -j RETURN',
      '-d 10.96.0.10/32 -p tcp -m tcp --dport 53 -j RETURN',
      '-d 10.0.0.0/8 -p tcp -j OSM_PROXY_OUT_REDIRECT',
      '-p tcp -j RETURN',
    ])
    expect(lines(rules.ipv6, 'OSM_PROXY_OUTBOUND').at(-1)).toBe('-p tcp -j RETURN')
  })

  it('lets DNS over TCP through to the nameservers, and no other port and no other server', () => {
    const { ipv4, ipv6 } = interceptionRules({ nameservers: ['fd00::a', '10.96.0.10', '10.96.0.10'], ipv6: 'refuse' })
    const dns = (text: string): boolean => text.includes('--dport 53')
    expect(lines(ipv4, 'OSM_PROXY_OUTBOUND').filter(dns)).toEqual([
      '-d 10.96.0.10/32 -p tcp -m tcp --dport 53 -j RETURN',
    ])
    expect(lines(ipv6, 'OSM_PROXY_OUTBOUND').filter(dns)).toEqual(['-d fd00::a/128 -p tcp -m tcp --dport 53 -j RETURN'])
  })

  it('splits long port lists at what one rule may hold', () => {
    const outboundPortExclusions = Array.from({ length: 31 }, (_, index) => index + 1)
    const sizes = lines(interceptionRules({ outboundPortExclusions }).ipv4, 'OSM_PROXY_OUTBOUND')
      .filter((line) => line.includes('--dports'))
      .map((line) => line.split(',').length)
    expect(sizes).toEqual([15, 15, 1])
  })

  it('refuses instead of redirecting where IPv6 is not spoken', () => {
    const { ipv4, ipv6 } = interceptionRules({ ipv6: 'refuse' })
    expect(ipv4.tables.map(({ name }) => name)).toEqual(['nat'])
    expect(ipv6.tables.map(({ name }) => name)).toEqual(['filter'])
    expect(lines(ipv6, 'OSM_PROXY_REFUSE')).toEqual(['-p tcp -j REJECT --reject-with tcp-reset'])
  })
})

describe('checkInterception', () => {
  const wrong: readonly (readonly [string, InterceptionOptions, string, keyof typeof interceptionErrorCodes])[] = [
    ['port 0', { inboundPortExclusions: [80, 0] }, 'inboundPortExclusions[1]', 'OSM_INTERCEPTION_PORT'],
    ['port 65536', { outboundPortExclusions: [65536] }, 'outboundPortExclusions[0]', 'OSM_INTERCEPTION_PORT'],
    ['half a port', { adminPort: 1.5 }, 'adminPort', 'OSM_INTERCEPTION_PORT'],
    ['text for a port', { adminPort: '80 -j ACCEPT' as never }, 'adminPort', 'OSM_INTERCEPTION_PORT'],
    ['one port for two listeners', { inboundListenerPort: 15001 }, 'outboundListenerPort', 'OSM_INTERCEPTION_PORT'],
    ['root', { proxyUid: 0 }, 'proxyUid', 'OSM_INTERCEPTION_UID'],
    [
      'bare address',
      { outboundIpRangeExclusions: ['10.0.0.1'] },
      'outboundIpRangeExclusions[0]',
      'OSM_INTERCEPTION_RANGE',
    ],
    [
      'number for a range',
      { outboundIpRangeInclusions: [10 as never] },
      'outboundIpRangeInclusions[0]',
      'OSM_INTERCEPTION_RANGE',
    ],
    ['option as interface', { interfaceExclusions: ['-j'] }, 'interfaceExclusions[0]', 'OSM_INTERCEPTION_INTERFACE'],
    [
      'pattern of interfaces',
      { interfaceExclusions: ['eth+'] },
      'interfaceExclusions[0]',
      'OSM_INTERCEPTION_INTERFACE',
    ],
    [
      'long interface',
      { interfaceExclusions: ['a'.repeat(16)] },
      'interfaceExclusions[0]',
      'OSM_INTERCEPTION_INTERFACE',
    ],
    ['parent directory', { interfaceExclusions: ['..'] }, 'interfaceExclusions[0]', 'OSM_INTERCEPTION_INTERFACE'],
    ['new line', { interfaceExclusions: ['eth0\nCOMMIT'] }, 'interfaceExclusions[0]', 'OSM_INTERCEPTION_INTERFACE'],
    ['no pod address', { localProxyMode: 'PodIP', podAddresses: [] }, 'podAddresses', 'OSM_INTERCEPTION_ADDRESS'],
    [
      'two pod addresses',
      { localProxyMode: 'PodIP', podAddresses: ['10.0.0.1', '10.0.0.2'] },
      'podAddresses[1]',
      'OSM_INTERCEPTION_ADDRESS',
    ],
    [
      'zoned address',
      { localProxyMode: 'PodIP', podAddresses: ['fe80::1%eth0'] },
      'podAddresses[0]',
      'OSM_INTERCEPTION_ADDRESS',
    ],
    [
      'IPv6 nameserver',
      { dnsCapture: { nameserver: '::1', port: 53 } },
      'dnsCapture.nameserver',
      'OSM_INTERCEPTION_ADDRESS',
    ],
    ['DNS port', { dnsCapture: { nameserver: '127.0.0.153', port: -1 } }, 'dnsCapture.port', 'OSM_INTERCEPTION_PORT'],
    [
      'long list',
      { inboundPortExclusions: Array<number>(listLimits.ports + 1).fill(80) },
      'inboundPortExclusions',
      'OSM_INTERCEPTION_LIST',
    ],
  ]

  it.each(wrong)('reports %s', (_, options, field, code) => {
    const checked = checkInterception(options)
    expect(checked).toMatchObject({ ok: false, problems: [{ field, code }] })
  })

  it('covers every code that options can cause', () => {
    const unbound = 'OSM_INTERCEPTION_UNBOUND'
    expect(new Set([...wrong.map(([, , , code]) => code), unbound])).toEqual(
      new Set(Object.keys(interceptionErrorCodes)),
    )
  })

  it('reports everything at once, each on one line however it was written', () => {
    const options = { adminPort: 0, interfaceExclusions: ['a\nb'.repeat(100)], outboundIpRangeExclusions: ['x'] }
    expect(() => interceptionRules(options)).toThrow(InterceptionError)
    const checked = checkInterception(options)
    const problems = checked.ok ? [] : checked.problems
    expect(problems.map(({ field }) => field)).toEqual([
      'adminPort',
      'outboundIpRangeExclusions[0]',
      'interfaceExclusions[0]',
    ])
    for (const { message } of problems) expect(message).toMatch(/^[^\n]{1,200}$/)
  })

  it('sorts lists and drops duplicates, so that the order of writing changes nothing', () => {
    const one = interceptionRules({
      inboundPortExclusions: [9, 7, 9],
      outboundIpRangeExclusions: ['fd00::/8', '10.9.9.9/8', '10.0.0.0/8'],
    })
    const two = interceptionRules({
      inboundPortExclusions: [7, 9],
      outboundIpRangeExclusions: ['10.0.0.0/8', 'fd00::/8'],
    })
    expect(one).toEqual(two)
  })
})
