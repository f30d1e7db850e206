import { parseDuration, formatDuration } from '../../packages/core/src/config/duration.js'
import {
  parseClusterDomain,
  parseMeshDomains,
  parseProxyCommonName,
  parseProxyUUID,
  parsePrincipal,
  parseServerName,
  parseServiceIdentity,
  parseSpiffeId,
  principalOf,
  proxyCommonName,
  serverNameOf,
  serviceIdentity,
  spiffeIdOf,
} from '../../packages/core/src/identity/index.js'
import { canonicalCidr, isCidr } from '../../packages/core/src/spec/addresses.js'
import { parseEgressHost } from '../../packages/core/src/spec/egress-host.js'
import { formatFieldPath, parseFieldPath } from '../../packages/core/src/spec/field-path.js'
import { coversRange, parseIpRange } from '../../packages/core/src/spec/ip-range.js'
import { serviceHostName, serviceOfHost, splitApexName } from '../../packages/core/src/spec/service-names.js'
import { parseIpRange as parseInterceptedRange } from '../../packages/interception/src/ip-range.js'
import { isHostOf } from '../../packages/oracle/src/mesh-names.js'
import { formatIpv4Range, parseIpv4Range } from '../../packages/standalone/src/netns/ipv4-range.js'
import { type FuzzTarget, hasCode, invariant, outcomeOf, textOf } from '../fuzz-target.js'

const domains = parseMeshDomains({ trustDomain: 'mesh.example', clusterDomain: 'cluster.local' })
const isIdentityError = hasCode('OSM_IDENTITY_')
const domainWords = [
  '.mesh.example',
  '.cluster.local',
  '.svc',
  'spiffe://mesh.example/',
  '.sidecar.',
  'xn--',
  '*.',
  'svc.cluster.local',
]

/** Parses, and prints what came of it: a text that is accepted is exactly the one that is printed. */
function roundTrip<T>(text: string, parse: (text: string) => T, print: (value: T) => string): unknown {
  return outcomeOf(() => {
    const value = parse(text)
    invariant(print(value) === text, `${JSON.stringify(text)} reads as another text`)
    return value
  }, isIdentityError)
}

/** Names, addresses, and other short texts. */
export const nameTargets: readonly FuzzTarget[] = [
  {
    name: 'identity',
    about:
      'Common names, SPIFFE IDs, principals and server names of peers: what is accepted prints as it was written, so that no two texts are one identity.',
    form: 'text',
    words: domainWords,
    run: (input) => {
      const text = textOf(input)
      const { trustDomain, clusterDomain } = domains
      const serverName = parseServerName(text, clusterDomain)
      if (serverName !== undefined)
        invariant(serverNameOf(serverName, clusterDomain) === text, 'a server name reads as another one')
      return [
        roundTrip(
          text,
          (it) => parseProxyCommonName(it, trustDomain),
          (it) => proxyCommonName(it, trustDomain),
        ),
        roundTrip(
          text,
          (it) => parsePrincipal(it, trustDomain),
          (it) => principalOf(it, trustDomain),
        ),
        roundTrip(
          text,
          (it) => parseSpiffeId(it, trustDomain),
          (it) => spiffeIdOf(it, trustDomain),
        ),
        roundTrip(text, parseServiceIdentity, serviceIdentity),
        roundTrip(text, parseProxyUUID, (it) => it),
        roundTrip(text, parseClusterDomain, (it) => it),
        outcomeOf(() => parseMeshDomains({ trustDomain: text, clusterDomain: 'cluster.local' }), isIdentityError),
        serverName,
      ]
    },
  },
  {
    name: 'egress-host',
    about: 'Hosts of Egresses: the canonical text reads as itself, and a domain is never a single label or an address.',
    form: 'text',
    words: ['*.', '*', '.', 'example.com', '[::1]', '127.0.0.1', '0x7f.1', '::ffff:1.2.3.4', 'xn--'],
    run: (input) => {
      const host = parseEgressHost(textOf(input))
      if (host === undefined) return undefined
      const again = parseEgressHost(host.text)
      invariant(
        again?.text === host.text && again.kind === host.kind && again.name === host.name,
        'the canonical host reads as another one',
      )
      invariant(host.text === host.text.toLowerCase(), 'a host in upper case')
      if (host.kind === 'domain') {
        invariant(isHostOf(host.text, `a.${host.name}`), 'a name below a domain is not of the domain')
        invariant(!isHostOf(host.text, host.name), 'a domain is below itself')
      }
      return host
    },
  },
  {
    name: 'service-host',
    about: 'Host names of services in requests and policies: a full name leads back to its service.',
    form: 'text',
    words: [...domainWords, 'books.shop', '.shop.svc.cluster.local', ':80'],
    run: (input) => {
      const text = textOf(input)
      const service = serviceOfHost(text, 'shop', 'cluster.local')
      if (service !== undefined) {
        const full = serviceHostName(service, 'cluster.local')
        const again = serviceOfHost(full, 'shop', 'cluster.local')
        invariant(again?.name === service.name && again.namespace === 'shop', 'a full name leads to another service')
        invariant(text.toLowerCase().startsWith(`${service.name}.shop`), 'a host of another service')
      }
      return { service, apex: splitApexName(text) }
    },
  },
  {
    name: 'address-range',
    about:
      'Address ranges of policies and annotations: three parsers give one canonical text, and a range covers itself.',
    form: 'text',
    words: ['/0', '/32', '/128', '::', '::ffff:', '255.255.255.255', 'fe80::1%eth0', '0.0.0.0', '1.2.3.4'],
    run: (input) => {
      const text = textOf(input)
      const range = parseIpRange(text)
      const intercepted = parseInterceptedRange(text)
      const isRange = isCidr(text)
      invariant((intercepted !== undefined) === isRange, 'the injector and the policies disagree about a range')
      if (range !== undefined) {
        invariant(coversRange(range, range), 'a range that does not cover itself')
        invariant(parseIpRange(range.text)?.text === range.text, 'the canonical range reads as another one')
      }
      if (isRange) {
        const canonical = canonicalCidr(text)
        invariant(
          intercepted !== undefined && canonicalCidr(intercepted.text) === canonical,
          'two canonical texts of one range',
        )
        invariant(range !== undefined && canonicalCidr(range.text) === canonical, 'two canonical texts of one range')
      }
      const ipv4 = parseIpv4Range(text)
      if (ipv4 !== undefined && isRange)
        invariant(formatIpv4Range(ipv4) === intercepted?.text, 'two texts of one IPv4 range')
      return { range: range?.text, intercepted: intercepted?.text, ipv4 }
    },
  },
  {
    name: 'duration',
    about: 'Durations of MeshConfig and policies: what is printed reads as the same time.',
    form: 'text',
    words: ['1h', '1.5s', '-2m', 'ms', 'us', 'ns', 'µs', '9223372036854775807ns'],
    run: (input) => {
      const milliseconds = parseDuration(textOf(input))
      if (milliseconds === undefined) return undefined
      invariant(
        Number.isSafeInteger(milliseconds) || Math.abs(milliseconds) <= 9.3e12,
        'a duration that is not a whole number',
      )
      const again = parseDuration(formatDuration(milliseconds))
      invariant(
        again === milliseconds,
        `${milliseconds} ms print as ${formatDuration(milliseconds)}, which reads as ${String(again)}`,
      )
      return milliseconds
    },
  },
  {
    name: 'field-path',
    about: 'Paths of fields in problems: never thrown for, and what is printed reads as the same path.',
    form: 'text',
    words: ['spec.', '["', '"]', '[0]', '\\u0000', '\\"'],
    run: (input) => {
      const path = parseFieldPath(textOf(input))
      const text = formatFieldPath(path)
      invariant(formatFieldPath(parseFieldPath(text)) === text, 'a path prints as another one')
      return path
    },
  },
]
