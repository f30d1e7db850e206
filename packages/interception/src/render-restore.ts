import { InterceptionError } from './errors.js'
import { formatRuleSpec, type FamilyRules, type Rule, type RuleTable, ownChainPrefix } from './rule.js'

/** What of ours one kernel table already holds. */
interface InstalledTable {
  readonly name: RuleTable['name']
  readonly chains: readonly string[]
  /** Rules of the kernel's chains that jump into ours, each as the kernel lists it, without the leading `-A`. */
  readonly hooks: readonly string[]
}

/**
 * The input of one `iptables-restore --noflush` or `ip6tables-restore --noflush` that brings the kernel to these rules, whatever of ours
 * it holds already.
 *
 * Our own chains are easy: naming a chain in the input empties it. The jumps into them are in PREROUTING and OUTPUT, where others may
 * have rules too, so those chains can't be emptied; and the input has no conditions, so a fixed text changes the number of jumps by a
 * fixed amount: none leads both from no jump to one and from one jump to one. The text therefore depends on what is there: it deletes
 * exactly the jumps that the listing shows, then inserts ours at the top. A restore call is one kernel transaction per table, so the
 * workload never runs without rules in between; if somebody removed a listed jump meanwhile, the delete fails, nothing is changed, and
 * the caller lists and tries again.
 *
 * @param rules - the rules of one family
 * @param saved - what `iptables-save` or `ip6tables-save` of that family lists; empty for a network namespace that is new
 */
export function renderRestore(rules: FamilyRules, saved = ''): string {
  const installed = parseInstalled(saved)
  const wanted = rules.tables.map((table) =>
    renderTable(
      table,
      installed.find(({ name }) => name === table.name),
    ),
  )
  const stale = installed.filter(({ name }) => !rules.tables.some((table) => table.name === name))
  return [
    ...wanted,
    ...stale.map((table) => renderTable({ name: table.name, chains: [], rules: [], hooks: [] }, table)),
  ].join('')
}

function renderTable(table: RuleTable, installed: InstalledTable | undefined): string {
  const leftover = installed?.chains.filter((name) => !table.chains.includes(name)) ?? []
  const lines = [
    `*${table.name}`,
    ...chainLines([...table.chains, ...leftover]),
    ...(installed?.hooks ?? []).map((hook) => `-D ${hook}`),
    ...ruleLines(table.rules),
    ...hookLines(table.hooks),
    ...leftover.map((name) => `-X ${name}`),
    'COMMIT',
  ]
  return `${lines.join('\n')}\n`
}

/** Declares chains; a chain that exists is emptied. */
export function chainLines(chains: readonly string[]): readonly string[] {
  return chains.map((name) => `:${name} - [0:0]`)
}

function ruleLines(rules: readonly Rule[]): readonly string[] {
  // Nameservers that no one has named are none.
  const told = rules.filter(({ matches }) => !matches.some(({ kind }) => kind === 'nameserver'))
  return told.map((rule) => {
    if (rule.target.kind === 'dnat' && rule.target.to.kind === 'podAddress') {
      const message = 'is needed here; only the init script can wait for the address of the pod'
      throw new InterceptionError({ code: 'OSM_INTERCEPTION_UNBOUND', field: 'podAddresses', message })
    }
    return `-A ${rule.chain} ${formatRuleSpec(rule)}`
  })
}

/** Inserts the jumps at the top of their chains: no rule of others may accept a connection before ours see it. */
export function hookLines(hooks: readonly Rule[]): readonly string[] {
  return hooks.map((hook, index) => {
    const position = 1 + hooks.slice(0, index).filter(({ chain }) => chain === hook.chain).length
    return `-I ${hook.chain} ${String(position)} ${formatRuleSpec(hook)}`
  })
}

/** Finds our chains and the jumps into them in the output of `iptables-save` or `ip6tables-save`. */
function parseInstalled(saved: string): readonly InstalledTable[] {
  const tables: { name: string; chains: string[]; hooks: string[] }[] = []
  for (const line of saved.split('\n')) {
    const table = tables.at(-1)
    if (line.startsWith('*')) tables.push({ name: line.slice(1).trim(), chains: [], hooks: [] })
    else if (table !== undefined && line.startsWith(`:${ownChainPrefix}`))
      table.chains.push(line.slice(1).split(' ')[0] ?? '')
    else if (table !== undefined && isHook(line)) table.hooks.push(line.slice('-A '.length))
  }
  return tables.filter(isOursToHold).filter((table) => table.chains.length > 0)
}

function isHook(line: string): boolean {
  const words = line.split(' ')
  const target = words[words.lastIndexOf('-j') + 1] ?? ''
  return (
    words[0] === '-A' && !(words[1] ?? ownChainPrefix).startsWith(ownChainPrefix) && target.startsWith(ownChainPrefix)
  )
}

function isOursToHold(table: {
  name: string
  chains: string[]
  hooks: string[]
}): table is InstalledTable & typeof table {
  return table.name === 'nat' || table.name === 'filter'
}
