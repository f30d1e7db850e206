import { atOnce, type Steps } from '../async/index.js'
import type { FieldPath } from './field-path.js'
import { isOfKind, type MeshObject } from './objects.js'
import { patternFacts } from './pattern.js'
import type { Kind } from './schema/kinds.js'

/** Sums over expressions: what they cost those who read them, and sidecars that run them. */
export interface ExpressionSums {
  readonly count: number
  /** Characters. */
  readonly textLength: number
  /** Instructions, as `measureRegex` counts them. */
  readonly programSize: number
}

/** What one object may have of expressions. An object beyond it is not taken. */
export const objectExpressionBounds: ExpressionSums = Object.freeze({
  count: 1_000,
  textLength: 128 * 1024,
  programSize: 100_000,
})
/** What the objects of one namespace may have together. Those beyond it, by kind and name, have no effect. */
export const namespaceExpressionBounds: ExpressionSums = Object.freeze({
  count: 20_000,
  textLength: 256 * 1024,
  programSize: 1_000_000,
})

/** Kinds that have expressions. */
export const expressionKinds: readonly Kind[] = Object.freeze([
  'GRPCRoute',
  'HTTPRoute',
  'HTTPRouteGroup',
  'UpstreamTrafficSetting',
])

/** An expression of a user, and where in its object it stands. */
export interface Expression {
  readonly path: FieldPath
  readonly pattern: string
}

/** All expressions of an object whose spec has the form of its kind. */
export function expressionsOf(object: Pick<MeshObject, 'kind' | 'spec'>): readonly Expression[] {
  // The checks look at the kind alone, and the spec is that of the kind.
  const whole = object as MeshObject
  if (isOfKind(whole, 'GRPCRoute')) return callExpressions(whole.spec)
  if (isOfKind(whole, 'HTTPRoute')) return gatewayExpressions(whole.spec)
  if (isOfKind(whole, 'HTTPRouteGroup')) return routeExpressions(whole.spec)
  if (isOfKind(whole, 'UpstreamTrafficSetting')) return settingExpressions(whole.spec)
  return []
}

/** Number and length of expressions: all that can be told of them without reading them. */
export function countExpressions(expressions: readonly Expression[]): ExpressionSums {
  let textLength = 0
  for (const { pattern } of expressions) textLength += pattern.length
  return { count: expressions.length, textLength, programSize: 0 }
}

/** Sums the expressions of an object. */
export function sumExpressions(expressions: readonly Expression[]): ExpressionSums {
  return atOnce(sumExpressionsInSteps(expressions))
}

/** The same, an expression in each step. */
export function* sumExpressionsInSteps(expressions: readonly Expression[]): Steps<ExpressionSums> {
  const sums = countExpressions(expressions)
  let programSize = 0
  // Reading them all would cost what the bounds are there to spare.
  if (exceeded(sums, objectExpressionBounds) !== undefined) return sums
  for (const { pattern } of expressions) {
    const facts = patternFacts(pattern)
    if (facts.valid) programSize += facts.programSize
    yield
  }
  return { ...sums, programSize }
}

/** The sums of both. */
export function addExpressions(a: ExpressionSums, b: ExpressionSums): ExpressionSums {
  return {
    count: a.count + b.count,
    textLength: a.textLength + b.textLength,
    programSize: a.programSize + b.programSize,
  }
}

/** Says which bound the sums exceed: `have 1200 instructions …`. Undefined if none. */
export function exceeded(sums: ExpressionSums, bounds: ExpressionSums): string | undefined {
  if (sums.count > bounds.count) return `${sums.count} expressions; at most ${bounds.count} are taken`
  if (sums.textLength > bounds.textLength)
    return `expressions of ${sums.textLength} characters together; at most ${bounds.textLength} are taken`
  if (sums.programSize > bounds.programSize)
    return `expressions whose programs have up to ${sums.programSize} instructions together; at most ${bounds.programSize} are taken`
  return undefined
}

function routeExpressions({ matches }: MeshObject<'HTTPRouteGroup'>['spec']): readonly Expression[] {
  const found: Expression[] = []
  for (const [index, { pathRegex, headers = [] }] of matches.entries()) {
    const at = ['spec', 'matches', index]
    if (pathRegex !== undefined) found.push({ path: [...at, 'pathRegex'], pattern: pathRegex })
    for (const [position, header] of headers.entries())
      for (const [name, pattern] of Object.entries(header))
        found.push({ path: [...at, 'headers', position, name], pattern })
  }
  return found
}

function gatewayExpressions({ rules }: MeshObject<'HTTPRoute'>['spec']): readonly Expression[] {
  const found: Expression[] = []
  for (const [index, { matches = [] }] of rules.entries())
    for (const [place, { path, headers = [], queryParams = [] }] of matches.entries()) {
      const at = ['spec', 'rules', index, 'matches', place]
      if (path?.type === 'RegularExpression') found.push({ path: [...at, 'path', 'value'], pattern: path.value })
      found.push(
        ...valueExpressions(headers, [...at, 'headers']),
        ...valueExpressions(queryParams, [...at, 'queryParams']),
      )
    }
  return found
}

function callExpressions({ rules }: MeshObject<'GRPCRoute'>['spec']): readonly Expression[] {
  const found: Expression[] = []
  for (const [index, { matches = [] }] of rules.entries())
    for (const [place, { method: { type, service = '', method = '' } = {}, headers = [] }] of matches.entries()) {
      const at = ['spec', 'rules', index, 'matches', place]
      if (type === 'RegularExpression')
        for (const [name, pattern] of Object.entries({ service, method }))
          if (pattern !== '') found.push({ path: [...at, 'method', name], pattern })
      found.push(...valueExpressions(headers, [...at, 'headers']))
    }
  return found
}

type ValueMatches = NonNullable<
  NonNullable<MeshObject<'GRPCRoute'>['spec']['rules'][number]['matches']>[number]['headers']
>

function valueExpressions(list: ValueMatches, at: FieldPath): readonly Expression[] {
  return [...list.entries()].flatMap(([position, { type, value }]) =>
    type === 'RegularExpression' ? [{ path: [...at, position, 'value'], pattern: value }] : [],
  )
}

type Setting = MeshObject<'UpstreamTrafficSetting'>['spec']
type Descriptors = NonNullable<NonNullable<NonNullable<Setting['rateLimit']>['global']>['http']>['descriptors']

function settingExpressions({ rateLimit, httpRoutes = [] }: Setting): readonly Expression[] {
  const found = headerExpressions(rateLimit?.global?.http?.descriptors, [
    'spec',
    'rateLimit',
    'global',
    'http',
    'descriptors',
  ])
  for (const [index, { path, rateLimit: limits }] of httpRoutes.entries()) {
    const at = ['spec', 'httpRoutes', index]
    found.push({ path: [...at, 'path'], pattern: path })
    for (const expression of headerExpressions(limits?.global?.descriptors, [
      ...at,
      'rateLimit',
      'global',
      'descriptors',
    ]))
      found.push(expression)
  }
  return found
}

function headerExpressions(descriptors: Descriptors | undefined, at: FieldPath): Expression[] {
  const found: Expression[] = []
  for (const [descriptor, { entries }] of (descriptors ?? []).entries())
    for (const [entry, { headerValueMatch }] of entries.entries())
      for (const [header, { regex }] of (headerValueMatch?.headers ?? []).entries())
        if (regex !== undefined)
          found.push({
            path: [...at, descriptor, 'entries', entry, 'headerValueMatch', 'headers', header, 'regex'],
            pattern: regex,
          })
  return found
}
