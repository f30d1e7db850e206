import type { KubernetesObject } from '../src/api.js'

export type Predicate = (object: KubernetesObject) => boolean

/** What a label selector in a query asks for. */
export function labelPredicate(selector: string | null): Predicate {
  const terms = splitTerms(selector ?? '').map(labelTerm)
  return (object) => terms.every((term) => term(object.metadata.labels ?? {}))
}

/** What a field selector in a query asks for; absent fields are empty. */
export function fieldPredicate(selector: string | null): Predicate {
  const terms = splitTerms(selector ?? '').map((term) => {
    const [, path, operator, value] = /^([^!=]+)(!=|==|=)(.*)$/.exec(term) ?? []
    if (path === undefined) throw new Error(`unknown field selector ${term}`)
    return (object: KubernetesObject) => (operator === '!=') !== (fieldOf(object, path) === value)
  })
  return (object) => terms.every((term) => term(object))
}

function labelTerm(term: string): (labels: Readonly<Record<string, string>>) => boolean {
  const [, setKey, setOperator, list] = /^(\S+) (in|notin) \(([^)]*)\)$/.exec(term) ?? []
  if (setKey !== undefined) {
    const values = (list ?? '').split(',').map((value) => value.trim())
    return (labels) => (setOperator === 'notin') !== values.includes(labels[setKey] ?? '\0')
  }
  const [, key, operator, value] = /^([^!=]+)(!=|==|=)(.*)$/.exec(term) ?? []
  if (key !== undefined) return (labels) => (operator === '!=') !== (labels[key] === value)
  return term.startsWith('!') ? (labels) => !(term.slice(1) in labels) : (labels) => term in labels
}

/** Splits at commas outside of parentheses. */
function splitTerms(selector: string): string[] {
  const terms = selector.split(/,(?![^(]*\))/).map((term) => term.trim())
  return terms.filter((term) => term !== '')
}

function fieldOf(object: KubernetesObject, path: string): string {
  let value: unknown = object
  for (const name of path.split('.')) {
    value = typeof value === 'object' && value !== null ? (value as Record<string, unknown>)[name] : undefined
  }
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean' ? String(value) : ''
}
