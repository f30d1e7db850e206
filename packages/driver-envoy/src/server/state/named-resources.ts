import type { EncodedResource } from '../../resources/types.js'

/** Envoy introduces the refusals of clusters and listeners by this; then each follows as `<name>: <reason>`. */
const LIST_HEAD = /Error adding\/updating (?:cluster|listener)\(s\) /

/**
 * Finds the resources that a refusal names.
 *
 * Envoy lists refused clusters and listeners by name, and applies the rest. Other refusals quote a name somewhere, or none at all; then nothing is
 * returned and the caller has to find out by sending less.
 */
export function resourcesNamedBy(message: string, resources: readonly EncodedResource[]): readonly string[] {
  const names = resources.map(({ name }) => name).filter((name) => name !== '')
  const head = LIST_HEAD.exec(message)
  if (head !== null) {
    const listed = listedNames(message.slice(head.index + head[0].length), new Set(names))
    if (listed.length > 0) return listed
  }
  return mentionedNames(message, names)
}

/** Names that stand where an entry of the list begins. Names may hold colons and spaces, so each is looked for as it is. */
function listedNames(list: string, names: ReadonlySet<string>): readonly string[] {
  const found = new Set<string>()
  for (const start of entryStarts(list)) {
    // The longest one: `a:80` begins with `a`.
    let longest = ''
    for (let end = list.indexOf(': ', start); end !== -1; end = list.indexOf(': ', end + 1)) {
      const candidate = list.slice(start, end)
      if (names.has(candidate)) longest = candidate
      if (candidate.includes(', ') || candidate.includes('\n')) break
    }
    if (longest !== '') found.add(longest)
  }
  return [...found]
}

/** Entries of clusters are separated by `, `, those of listeners by line breaks; both also occur inside of reasons. */
function entryStarts(list: string): readonly number[] {
  return [0, ...[...list.matchAll(/, |\n/g)].map((match) => match.index + match[0].length)]
}

/** Names that occur as whole words. A name inside of a longer one that also occurs there does not count. */
function mentionedNames(message: string, names: readonly string[]): readonly string[] {
  const taken: { readonly start: number; readonly end: number }[] = []
  const found: string[] = []
  for (const name of [...names].sort((a, b) => b.length - a.length)) {
    for (let start = message.indexOf(name); start !== -1; start = message.indexOf(name, start + 1)) {
      const end = start + name.length
      if (continuesName(message[start - 1]) || continuesName(message[end])) continue
      if (taken.some((other) => start < other.end && end > other.start)) continue
      taken.push({ start, end })
      found.push(name)
      break
    }
  }
  return found
}

function continuesName(character: string | undefined): boolean {
  return character !== undefined && /[\w|/-]/.test(character)
}
