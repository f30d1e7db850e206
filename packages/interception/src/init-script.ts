import type { IpFamily } from './ip-range.js'
import { chainLines, hookLines } from './render-restore.js'
import {
  formatRuleSpec,
  nameserverPlaceholder,
  ownChainPrefix,
  podAddressPlaceholder,
  type FamilyRules,
  type InterceptionRules,
  type RuleTable,
} from './rule.js'

const programs = { ipv4: 'iptables', ipv6: 'ip6tables' } as const

/**
 * A POSIX shell script that applies the rules from inside the network namespace of a pod, for an init container that has the iptables
 * programs and nothing else. It may run any number of times; see {@link renderRestore} for the reasoning.
 *
 * - Every family is one restore call; the first failure ends the script with a non-zero status, and with it the pod.
 * - A kernel without IPv6 has nothing to intercept there, and no tables to hold rules.
 * - Rules that wait for the address of the pod take it from `POD_IPS` (comma list) or `POD_IP`; a family without an address gets none.
 * - Rules for nameservers of the pod are made for the first three of each family in /etc/resolv.conf: a resolver asks no more.
 *
 * The text holds numbers, ranges and names that passed {@link checkInterception} only; none of their grammars has a character that a
 * shell reads as anything but itself.
 */
export function renderInitScript(rules: InterceptionRules): string {
  return `set -euf
pod_ipv4=
pod_ipv6=
for address in $(printf '%s' "\${POD_IPS:-\${POD_IP:-}}" | tr ',' ' '); do
  case $address in
    *[!0-9A-Fa-f:.]*) echo "osm-init: POD_IPS or POD_IP holds something that is not an address" >&2; exit 64 ;;
    *:*) pod_ipv6=$address ;;
    *) pod_ipv4=$address ;;
  esac
done
nameservers() { [ ! -r /etc/resolv.conf ] || sed -n "s/^[[:space:]]*nameserver[[:space:]]\\{1,\\}\\($1\\)[[:space:]]*$/\\1/p" /etc/resolv.conf | sed 3q; }
dns_ipv4=$(nameservers '[0-9]\\{1,3\\}\\.[0-9]\\{1,3\\}\\.[0-9]\\{1,3\\}\\.[0-9]\\{1,3\\}')
dns_ipv6=$(nameservers '[0-9A-Fa-f]*:[0-9A-Fa-f:.]*')
hooks_to_delete() { sed -n 's/^-A \\([A-Z][A-Z]* .*-j ${ownChainPrefix}[A-Z_]*\\)$/-D \\1/p'; }
${familySteps(rules.ipv4)}if [ -e /proc/net/if_inet6 ]; then
${familySteps(rules.ipv6)}fi
`
}

function familySteps(rules: FamilyRules): string {
  const program = programs[rules.family]
  const listings = rules.tables.map((table) => `${table.name}_now=$(${program}-save -t ${table.name})\n`)
  const tables = rules.tables.map((table) => tableSteps(table, rules.family))
  return `${listings.join('')}{\n${tables.join('')}} | ${program}-restore --noflush\n`
}

function tableSteps(table: RuleTable, family: IpFamily): string {
  const podAddressVariable = `pod_${family}`
  const head = [`*${table.name}`, ...chainLines(table.chains)]
  const rules = table.rules.map((rule) => `-A ${rule.chain} ${formatRuleSpec(rule)}`)
  // `+` prints the rest of the expression only where the variable is set, here to nothing but itself.
  const bound = rules.map((rule) =>
    rule.includes(nameserverPlaceholder)
      ? `$(for server in $dns_${family}; do echo "${rule.replace(nameserverPlaceholder, '$server')}"; done)`
      : rule.includes(podAddressPlaceholder)
        ? `\${${podAddressVariable}:+${rule.replace(podAddressPlaceholder, `$${podAddressVariable}`)}}`
        : rule,
  )
  return `cat <<END
${head.join('\n')}
END
printf '%s\\n' "$${table.name}_now" | hooks_to_delete
cat <<END
${[...bound, ...hookLines(table.hooks), 'COMMIT'].join('\n')}
END
`
}
