import type { InterceptionErrorCode, InterceptionProblem } from './errors.js'
import { addressFamily, parseIpRange, type IpFamily, type IpRange } from './ip-range.js'
import { listLimits, type DnsCapture, type InterceptionSettings } from './options.js'

// No leading hyphen: it would read as an option. No `+`: to iptables it means "every interface that begins so".
const interfaceGrammar = /^(?!\.{1,2}$)[A-Za-z0-9_.][A-Za-z0-9_.-]{0,14}$/
/** Of users and of groups. */
const maxId = 0xfffffffe

/**
 * Checks one option after the other and gathers what is wrong. Every method gives its value back, in canonical form where it has one.
 *
 * The types of the options are not trusted: they come from annotations and YAML, and end in rules that run as root.
 */
export class OptionChecker {
  readonly #problems: InterceptionProblem[] = []

  get problems(): readonly InterceptionProblem[] {
    return this.#problems
  }

  port(field: string, value: number): number {
    if (!Number.isInteger(value) || value < 1 || value > 65535) {
      this.#report(
        'OSM_INTERCEPTION_PORT',
        field,
        `${shown(value)} is not a port; write a whole number from 1 to 65535`,
      )
    }
    return value
  }

  ports(field: string, values: readonly number[] = []): readonly number[] {
    const ports = this.#list(field, values, listLimits.ports).map((value, index) =>
      this.port(`${field}[${String(index)}]`, value),
    )
    return [...new Set(ports)].sort((a, b) => a - b)
  }

  /** Root is refused: half of what runs in containers runs as root, and would bypass the sidecar. */
  uid(field: string, value: number): number {
    return this.#id(field, value, 'the uid of a sidecar')
  }

  /** The group of root is refused for the same reason. */
  gid(field: string, value: number): number {
    return this.#id(field, value, 'a gid that bypasses the sidecar')
  }

  ranges(field: string, values: readonly string[] = []): readonly IpRange[] {
    const byText = new Map<string, IpRange>()
    this.#list(field, values, listLimits.ranges).forEach((value, index) => {
      const range = parseIpRange(value)
      if (range !== undefined) byText.set(range.text, range)
      else {
        const message = `${shown(value)} is not an address range; write one such as 10.0.0.0/8, 192.0.2.7/32 or fd00::/8`
        this.#report('OSM_INTERCEPTION_RANGE', `${field}[${String(index)}]`, message)
      }
    })
    return [...byText.values()].sort(compareRanges)
  }

  interfaces(field: string, values: readonly string[] = []): readonly string[] {
    const names = this.#list(field, values, listLimits.interfaces)
    names.forEach((name, index) => {
      if (typeof name === 'string' && interfaceGrammar.test(name)) return
      const message = `${shown(name)} is not an interface name; write 1 to 15 letters, digits, dots, underscores or inner hyphens`
      this.#report('OSM_INTERCEPTION_INTERFACE', `${field}[${String(index)}]`, message)
    })
    return [...new Set(names)].sort()
  }

  podAddresses(field: string, values: readonly string[] | undefined): NonNullable<InterceptionSettings['podAddress']> {
    if (values === undefined) return 'waiting'
    const byFamily: { [family in IpFamily]?: string } = {}
    if (values.length === 0)
      this.#report('OSM_INTERCEPTION_ADDRESS', field, 'is empty; localProxyMode PodIP needs the address of the pod')
    values.forEach((address, index) => {
      const family = addressFamily(address)
      if (family !== undefined && byFamily[family] === undefined) byFamily[family] = address
      else {
        const reason =
          family === undefined ? 'is not an IP address' : `is a second ${family} address; one of each family is used`
        this.#report('OSM_INTERCEPTION_ADDRESS', `${field}[${String(index)}]`, `${shown(address)} ${reason}`)
      }
    })
    return byFamily
  }

  nameservers(field: string, values: readonly string[]): readonly string[] {
    const addresses = this.#list(field, values, listLimits.nameservers)
    addresses.forEach((address, index) => {
      if (addressFamily(address) !== undefined) return
      const message = `${shown(address)} is not an IP address such as 10.96.0.10 or fd00::a`
      this.#report('OSM_INTERCEPTION_ADDRESS', `${field}[${String(index)}]`, message)
    })
    return [...new Set(addresses)].sort()
  }

  dnsCapture(field: string, value: DnsCapture): DnsCapture {
    if (addressFamily(value.nameserver) !== 'ipv4') {
      const message = `${shown(value.nameserver)} is not an IPv4 address such as 127.0.0.153`
      this.#report('OSM_INTERCEPTION_ADDRESS', `${field}.nameserver`, message)
    }
    return { nameserver: value.nameserver, port: this.port(`${field}.port`, value.port) }
  }

  distinctPorts(settings: InterceptionSettings): void {
    const roles = ['inboundListenerPort', 'outboundListenerPort', 'adminPort'] as const
    roles.forEach((role, index) => {
      const twin = roles.slice(0, index).find((earlier) => settings[earlier] === settings[role])
      if (twin === undefined) return
      const message = `${String(settings[role])} is the ${twin} too; each listener of the sidecar needs a port of its own`
      this.#report('OSM_INTERCEPTION_PORT', role, message)
    })
  }

  #id(field: string, value: number, what: string): number {
    if (!Number.isInteger(value) || value < 1 || value > maxId) {
      const message = `${shown(value)} can't be ${what}; write a whole number from 1 to ${String(maxId)}`
      this.#report('OSM_INTERCEPTION_UID', field, message)
    }
    return value
  }

  #list<T>(field: string, values: readonly T[], limit: number): readonly T[] {
    if (values.length <= limit) return values
    const message = `holds ${String(values.length)} entries; at most ${String(limit)} fit, so merge neighbouring entries`
    this.#report('OSM_INTERCEPTION_LIST', field, message)
    return []
  }

  #report(code: InterceptionErrorCode, field: string, message: string): void {
    this.#problems.push({ code, field, message })
  }
}

function compareRanges(a: IpRange, b: IpRange): number {
  if (a.family !== b.family) return a.family < b.family ? -1 : 1
  if (a.network !== b.network) return a.network < b.network ? -1 : 1
  return a.prefix - b.prefix
}

/** Values of users stand quoted and cut in messages: a message is one line, whatever was written. */
function shown(value: unknown): string {
  const text = typeof value === 'string' ? JSON.stringify(value) : String(value)
  return text.length > 64 ? `${text.slice(0, 63)}…` : text
}
