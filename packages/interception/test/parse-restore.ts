import type { Match, Rule, RuleTable, Target } from '../src/rule.js'

/**
 * Reads restore input back into tables, knowing nothing of how it was written.
 *
 * It accepts only the words that our rules may consist of and throws on anything else: what got through from an option into the text
 * other than as the argument that it is shows up here.
 */
export function parseRestore(text: string): readonly RuleTable[] {
  if (!text.endsWith('COMMIT\n')) throw new Error('the last line is not COMMIT')
  const blocks = text.split('COMMIT\n').slice(0, -1)
  return blocks.map((block) => {
    const lines = block.split('\n').slice(0, -1)
    const name = lines[0]
    if (name !== '*nat' && name !== '*filter') throw new Error(`not a table of ours: ${String(name)}`)
    const rest = lines.slice(1)
    const chains = rest
      .filter((line) => line.startsWith(':'))
      .map((line) => matchOrThrow(/^:(OSM_PROXY_[A-Z_]+) - \[0:0\]$/, line))
    const rules = rest.filter((line) => line.startsWith('-A ')).map((line) => parseRule(line.slice(3).split(' ')))
    const hooks = rest.filter((line) => line.startsWith('-I ')).map((line) => parseHook(line.slice(3).split(' ')))
    if (chains.length + rules.length + hooks.length !== rest.length)
      throw new Error(`a line that is none of ours in ${block}`)
    return { name: name === '*nat' ? 'nat' : 'filter', chains, rules, hooks }
  })
}

function parseHook([chain = '', position = '', ...spec]: readonly string[]): Rule {
  matchOrThrow(/^([12])$/, position)
  matchOrThrow(/^(PREROUTING|OUTPUT|INPUT)$/, chain)
  return parseRule([chain, ...spec])
}

function parseRule([chain = '', ...words]: readonly string[]): Rule {
  matchOrThrow(/^([A-Z_]+)$/, chain)
  const reader = new WordReader(words)
  const matches: Match[] = []
  let protocol: Rule['protocol'] | undefined
  let target: Target | undefined
  while (!reader.atEnd) {
    const except = reader.skip('!')
    const word = reader.next()
    if (word === '-d')
      matches.push({ kind: 'destination', range: reader.take(/^([0-9a-f.:]+\/\d{1,3})$/), ...(except && { except }) })
    else if (word === '-i' || word === '-o') {
      matches.push({ kind: word === '-i' ? 'inInterface' : 'outInterface', name: reader.take(/^([\w.][\w.-]{0,14})$/) })
    } else if (word === '-p') protocol = reader.take(/^(tcp|udp)$/) === 'tcp' ? 'tcp' : 'udp'
    else if (word === '-m') matches.push(parseExtension(reader))
    else if (word === '-j') target = parseTarget(reader)
    else throw new Error(`unexpected ${word} in ${words.join(' ')}`)
  }
  if (protocol === undefined || target === undefined) throw new Error(`no protocol or no target in ${words.join(' ')}`)
  return { chain, protocol, matches, target }
}

function parseExtension(reader: WordReader): Match {
  const name = reader.next()
  const except = reader.skip('!')
  const option = reader.next()
  if (name === 'owner' && option === '--uid-owner')
    return { kind: 'owner', uid: reader.takeNumber(), ...(except && { except }) }
  if (name === 'multiport' && option === '--dports') {
    return {
      kind: 'destinationPorts',
      ports: reader
        .take(/^(\d+(?:,\d+){0,14})$/)
        .split(',')
        .map(Number),
    }
  }
  if ((name === 'tcp' || name === 'udp') && option === '--dport')
    return { kind: 'destinationPort', port: reader.takeNumber() }
  if (name === 'conntrack' && option === '--ctstate') {
    reader.take(/^(RELATED,ESTABLISHED)$/)
    return { kind: 'established' }
  }
  throw new Error(`unexpected match ${name} ${option}`)
}

function parseTarget(reader: WordReader): Target {
  const name = reader.next()
  if (name === 'RETURN') return { kind: 'return' }
  if (name === 'REDIRECT' && reader.next() === '--to-ports') return { kind: 'redirect', port: reader.takeNumber() }
  if (name === 'REJECT' && reader.next() === '--reject-with' && reader.next() === 'tcp-reset') return { kind: 'reject' }
  if (name === 'DNAT' && reader.next() === '--to-destination') {
    const [, address = '', port] = /^([0-9.]+|[0-9a-f:]+)(?::(\d+))?$/.exec(reader.next()) ?? []
    return { kind: 'dnat', to: { kind: 'address', address, ...(port !== undefined && { port: Number(port) }) } }
  }
  return { kind: 'jump', chain: matchOrThrow(/^(OSM_PROXY_[A-Z_]+)$/, name) }
}

class WordReader {
  readonly #words: readonly string[]
  #at = 0

  constructor(words: readonly string[]) {
    this.#words = words
  }

  get atEnd(): boolean {
    return this.#at === this.#words.length
  }

  next(): string {
    const word = this.#words[this.#at]
    if (word === undefined) throw new Error(`ends too early: ${this.#words.join(' ')}`)
    this.#at += 1
    return word
  }

  skip(word: string): boolean {
    if (this.#words[this.#at] !== word) return false
    this.#at += 1
    return true
  }

  take(grammar: RegExp): string {
    return matchOrThrow(grammar, this.next())
  }

  takeNumber(): number {
    return Number(this.take(/^(\d+)$/))
  }
}

function matchOrThrow(grammar: RegExp, text: string): string {
  const found = grammar.exec(text)?.[1]
  if (found === undefined) throw new Error(`${JSON.stringify(text)} does not match ${String(grammar)}`)
  return found
}
