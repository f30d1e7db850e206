import { canonicalJson, hashPart } from '../canonical.js'
import type { IssueList } from '../issues.js'
import { compareText, firstUnsorted } from '../order.js'
import type { Part, PartHash } from '../parts.js'
import type { ProxyPolicy } from '../policy.js'
import { partReferences } from '../references.js'

/** Checks that the document is self-contained: hashes match, references resolve to the right kind, and every part is referenced. */
export function checkGraph(policy: ProxyPolicy, issues: IssueList): void {
  const { proxy, parts } = policy
  checkHash(proxy, policy.version, issues.below('version'), 'is not the hash of the proxy part')
  const keys = Object.keys(parts)
  const unsorted = firstUnsorted(keys, compareText)
  if (unsorted >= 0) issues.below('parts').add(`/${String(keys[unsorted])}`, 'keys must be sorted')
  for (const [hash, part] of Object.entries(parts)) {
    checkHash(part, hash, issues.below('parts', hash), 'has a key that is not its hash')
    checkSecrets(part, issues.below('parts', hash))
  }
  checkSecrets(proxy, issues.below('proxy'))
  const reached = new Set<string>()
  const visit = (part: Part, pointer: IssueList): void => {
    for (const reference of partReferences(part)) {
      const target = Object.hasOwn(parts, reference.hash) ? parts[reference.hash] : undefined
      if (target === undefined) {
        pointer.add(reference.pointer, `no part has the hash ${reference.hash}`)
        continue
      }
      const at = pointer.at(reference.pointer)
      at.expect(target.kind === reference.kind, '', `must be a part of kind ${reference.kind}, not ${target.kind}`)
      at.expect(reference.id === undefined || target.id === reference.id, '', `must name the part's id, ${target.id}`)
      if (target.kind === 'set' && reference.of !== undefined) {
        at.expect(target.of === reference.of, '', `must be a set of ${reference.of}, not of ${target.of}`)
      }
      if (reached.has(reference.hash)) continue
      reached.add(reference.hash)
      visit(target, issues.below('parts', reference.hash))
    }
  }
  visit(proxy, issues.below('proxy'))
  for (const hash of keys) {
    if (!reached.has(hash)) issues.below('parts', hash).add('', 'nothing refers to this part')
  }
  checkSets(policy, issues)
  proxy.extensions.forEach((hash, index) => {
    const part = Object.hasOwn(parts, hash) ? parts[hash] : undefined
    const foreign = part?.kind === 'extension' && part.class !== proxy.class
    issues.expect(!foreign, `/proxy/extensions/${index}`, `must be of the proxy's class, ${proxy.class}`)
  })
}

function checkHash(part: Part, hash: string, issues: IssueList, message: string): void {
  try {
    issues.expect(hashPart(part) === hash, '', message)
  } catch (error) {
    // Not JSON, or nested too deep: both are faults of the document.
    if (!(error instanceof TypeError || error instanceof RangeError)) throw error
    issues.add('', `has no hash: ${error.message}`)
  }
}

const privateKey = /-----BEGIN [A-Z ]*PRIVATE KEY-----/

function checkSecrets(part: Part, issues: IssueList): void {
  let text: string
  try {
    text = canonicalJson(part)
  } catch {
    // Reported as a part without a hash.
    return
  }
  issues.expect(!privateKey.test(text), '', 'must not hold a private key; credentials are references')
}

/** No id occurs twice in what one reference of the proxy part reaches, and short names are a matter of outbound sets. */
function checkSets({ proxy, parts }: ProxyPolicy, issues: IssueList): void {
  for (const name of ['outbound', 'upstreams', 'endpoints', 'egress'] as const) {
    const owners = new Map<string, string>()
    const visited = new Set<PartHash>()
    const visit = (hash: PartHash, from: IssueList): void => {
      const set = Object.hasOwn(parts, hash) ? parts[hash] : undefined
      if (set?.kind !== 'set') return
      from.expect(!visited.has(hash), '', `set ${set.id} is reached twice, and with it all its members`)
      if (visited.has(hash)) return
      visited.add(hash)
      const at = issues.below('parts', hash)
      set.members.forEach(({ id }, index) => {
        const owner = owners.get(id)
        at.expect(owner === undefined, `/members/${index}`, `${id} is a member of set ${String(owner)} already`)
        owners.set(id, set.id)
      })
      set.sets.forEach((inner, index) => {
        const fits = inner.shortNames === undefined || set.of === 'outbound'
        at.expect(fits, `/sets/${index}/shortNames`, 'is for sets of outbound parts')
        visit(inner.hash, at.below('sets', index))
      })
    }
    const root = proxy[name]
    if (root !== undefined) visit(root, issues.below('proxy', name))
  }
}
