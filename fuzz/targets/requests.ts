import { RE2JS } from 're2js'

import { requestPath } from '../../packages/core/src/catalog/decision/request-path.js'
import { isHeaderName, isMatchedHeaderName } from '../../packages/core/src/spec/header-name.js'
import { readLogFormat } from '../../packages/core/src/spec/log-format.js'
import { selectsLabels } from '../../packages/core/src/spec/label-selector.js'
import {
  AMBIGUOUS_PATH,
  ESCAPED_SLASH,
  UTF8_PATH,
} from '../../packages/driver-envoy/src/translate/routing/path-rule.js'
import { readTarget } from '../../packages/oracle/src/request-target.js'
import { type FuzzTarget, invariant, isRecord, jsonOf, textOf } from '../fuzz-target.js'

// RE2JS knows no single byte; of what is compared below each character is one.
const compiled = (pattern: string): RE2JS => RE2JS.compile(pattern.replaceAll(String.raw`\C`, '(?s:.)'))
const ambiguous = compiled(AMBIGUOUS_PATH)
const escapedSlash = compiled(ESCAPED_SLASH)
const utf8 = RE2JS.compile(UTF8_PATH)

/** True if Envoy answers 400 by itself, or by the first routes of the mesh. */
function isRefusedByEnvoy(target: string, keeps: boolean): boolean {
  const [sent = ''] = target.split('?', 1)
  // Envoy merges slashes before it looks at routes, and leaves two where there is nothing else.
  const path = /^\/{2,}$/.test(sent) ? '//' : sent.replaceAll(/\/{2,}/g, '/')
  if (!keeps && escapedSlash.matches(path)) return true
  return !path.startsWith('/') || path.includes('#') || ambiguous.matches(path) || !utf8.matches(path)
}

/** What requests are matched by. */
export const requestTargets: readonly FuzzTarget[] = [
  {
    name: 'request-path',
    about:
      'Targets of requests: the rule of `osm policy can`, that of the oracle, and the expressions that Envoy is given refuse the same paths.',
    form: 'text',
    words: ['%2e', '%2F', '%5c', '%00', '..;a=b', '//', '?', '#', '\\', '%c3%a9', '%ff', '%3b', '/./'],
    run: (input) => {
      const target = textOf(input)
      return (['Reject', 'Keep'] as const).map((escapedSlashes) => {
        const keeps = escapedSlashes === 'Keep'
        const decided = requestPath(target, escapedSlashes)
        const judged = readTarget(target, keeps)
        const where = `${JSON.stringify(target)} with escapedSlashes: ${escapedSlashes}`
        // Servers refuse spaces, control characters and raw bytes before any rule is asked.
        const isSendable = /^[\x21-\x7e]*$/.test(target) && !target.includes('#')
        if (isSendable) {
          invariant(decided.ok === !judged.refused, `the rule and the oracle disagree about ${where}`)
          if (decided.ok && !judged.refused) {
            invariant(decided.path === judged.path, `two readings of ${where}`)
            invariant(
              JSON.stringify(decided.readings) === JSON.stringify(judged.readings),
              `other readings of ${where}`,
            )
          }
          invariant(
            isRefusedByEnvoy(target, keeps) === !decided.ok,
            `the rule and Envoy's routes disagree about ${where}`,
          )
        }
        if (decided.ok) {
          const again = requestPath(decided.path, escapedSlashes)
          invariant(again.ok && again.path === decided.path, 'the path that rules see is itself rewritten')
        }
        return { decided, judged }
      })
    },
  },
  {
    name: 'header-name',
    about: 'Names of headers in rules: no name with a character that ends a field is accepted.',
    form: 'text',
    words: [':path', ':', '__proto__', '\r\n', '\u0000', 'x-forwarded-client-cert'],
    run: (input) => {
      const name = textOf(input)
      if (isMatchedHeaderName(name)) invariant(!/[\s\0-\x20\x7f-\uffff]|.:/.test(name), 'a name that splits a header')
      return { header: isHeaderName(name), matched: isMatchedHeaderName(name) }
    },
  },
  {
    name: 'log-format',
    about: 'Formats of access logs: an accepted format holds known commands only, and JSON formats are JSON.',
    form: 'text',
    words: ['%REQ(', ')%', '%START_TIME%', '%%', '?:PATH', ':12', '{"a":"', '"}', '%TRAILER(x)%'],
    run: (input) => {
      const format = textOf(input)
      const read = readLogFormat(format)
      if (read.kind === 'json') JSON.parse(read.template)
      if (read.kind === 'fault') invariant(read.message.length > 0, 'a fault without a message')
      else invariant(read.template === format, 'the format is changed')
      return read
    },
  },
  {
    name: 'label-selector',
    about: 'Label selectors of policies and Services: a key that labels inherit selects nothing.',
    form: 'json',
    words: ['In', 'NotIn', 'Exists', 'DoesNotExist', 'app', '__proto__', 'constructor'],
    run: (input) => {
      const document = jsonOf(input)
      if (!isRecord(document) || !isTextRecord(document['labels']) || !isSelector(document['selector']))
        return undefined
      const { labels, selector } = document as {
        labels: Record<string, string>
        selector: Parameters<typeof selectsLabels>[0]
      }
      const selects = selectsLabels(selector, labels)
      const conditions = Object.entries(selector.matchLabels ?? {})
      if (selects)
        invariant(
          conditions.every(([key, value]) => Object.getOwnPropertyDescriptor(labels, key)?.value === value),
          'labels that lack a condition are selected',
        )
      invariant(selectsLabels({}, labels), 'a selector without conditions must select everything')
      return selects
    },
  },
]

function isTextRecord(value: unknown): boolean {
  return isRecord(value) && Object.values(value).every((member) => typeof member === 'string')
}

/** The schema of the kinds checks the form before a selector is used. */
function isSelector(value: unknown): boolean {
  if (!isRecord(value)) return false
  const { matchLabels = {}, matchExpressions = [] } = value
  const operators: readonly unknown[] = ['In', 'NotIn', 'Exists', 'DoesNotExist']
  return (
    isTextRecord(matchLabels) &&
    Array.isArray(matchExpressions) &&
    matchExpressions.every(
      (each: unknown) =>
        isRecord(each) &&
        typeof each['key'] === 'string' &&
        operators.includes(each['operator']) &&
        (each['values'] === undefined || Array.isArray(each['values'])),
    )
  )
}
