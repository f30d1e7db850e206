import type { Steps } from '../../async/index.js'
import { isAnswerHeader, isHeaderName, MAX_ANSWER_HEADER_BYTES, MAX_ANSWER_HEADERS } from '../header-name.js'
import type { KindMap } from '../objects.js'
import { badDuration, badPattern, doubt, fault, findings, inEach, type CheckContext, type Finding } from './check.js'

type Setting = KindMap['UpstreamTrafficSetting']
type RateLimit = NonNullable<Setting['spec']['rateLimit']>
type HttpLocal = NonNullable<NonNullable<RateLimit['local']>['http']>
type TcpGlobal = NonNullable<NonNullable<RateLimit['global']>['tcp']>
type HttpGlobal = NonNullable<NonNullable<RateLimit['global']>['http']>
type Descriptors = NonNullable<HttpGlobal['descriptors']>
type Entry = Descriptors[number]['entries'][number]
type Header = NonNullable<Entry['headerValueMatch']>['headers'][number]

/** Characters of a header that a message shows. */
const SHOWN = 60

/** Rate limits of an UpstreamTrafficSetting that limit nothing, or not what they say. */
export function* checkRateLimits({ spec }: Setting, context: CheckContext): Steps<readonly Finding[]> {
  const { local, global } = spec.rateLimit ?? {}
  return findings(
    checkAnswer(local?.http, 'spec.rateLimit.local.http'),
    global?.tcp && checkTcpGlobal(global.tcp),
    global?.http && (yield* checkHttpGlobal(global.http, context)),
    yield* checkRoutes(spec, context),
  )
}

function checkAnswer(limit: HttpLocal | undefined, field: string): readonly Finding[] {
  let usable = 0
  return (limit?.responseHeadersToAdd ?? []).flatMap(({ name, value }, index) => {
    const at = `${field}.responseHeadersToAdd[${index}]`
    if (!isAnswerHeader(name, value))
      return [
        fault(
          'OSM_SPEC_HEADER',
          `${at}.name`,
          `${shown(name)} with ${shown(value)} cannot be added to a response and is omitted: a header is one line, and its name and its value each have at most ${MAX_ANSWER_HEADER_BYTES} bytes`,
        ),
      ]
    usable += 1
    return findings(
      usable > MAX_ANSWER_HEADERS &&
        fault('OSM_SPEC_HEADER', at, `is omitted: at most ${MAX_ANSWER_HEADERS} headers are added to a response`),
    )
  })
}

function shown(text: string): string {
  return JSON.stringify(text.length > SHOWN ? `${text.slice(0, SHOWN)}…` : text)
}

function checkTcpGlobal({ domain, timeout, descriptors }: TcpGlobal): readonly Finding[] {
  const field = 'spec.rateLimit.global.tcp'
  return findings(
    noDomain(domain, field),
    badDuration(timeout, `${field}.timeout`),
    descriptors.flatMap(({ entries }, descriptor) =>
      entries.flatMap(({ key }, index) =>
        findings(
          key === '' &&
            fault(
              'OSM_SPEC_NO_EFFECT',
              `${field}.descriptors[${descriptor}].entries[${index}].key`,
              'is empty: its descriptor is omitted',
            ),
        ),
      ),
    ),
  )
}

function* checkHttpGlobal(
  { domain, timeout, descriptors = [] }: HttpGlobal,
  context: CheckContext,
): Steps<readonly Finding[]> {
  const field = 'spec.rateLimit.global.http'
  return findings(
    noDomain(domain, field),
    badDuration(timeout, `${field}.timeout`),
    yield* checkDescriptors(descriptors, `${field}.descriptors`, context),
  )
}

function noDomain(domain: string, field: string): Finding | undefined {
  return domain === '' ? fault('OSM_SPEC_NO_EFFECT', `${field}.domain`, 'is empty: nothing is limited') : undefined
}

function* checkRoutes(
  { httpRoutes = [], rateLimit }: Setting['spec'],
  context: CheckContext,
): Steps<readonly Finding[]> {
  const seen = new Set<string>()
  const all: Finding[] = []
  for (const [index, { path, rateLimit: limits }] of httpRoutes.entries()) {
    const field = `spec.httpRoutes[${index}]`
    const repeated = seen.has(path)
    seen.add(path)
    const found = findings(
      badPattern(path, `${field}.path`, context),
      repeated &&
        fault('OSM_SPEC_CONFLICT', `${field}.path`, 'is the path of an earlier entry, which takes precedence'),
      limits?.local === undefined &&
        limits?.global === undefined &&
        doubt('OSM_SPEC_NO_EFFECT', `${field}.rateLimit`, 'says nothing'),
      limits?.global !== undefined &&
        rateLimit?.global?.http === undefined &&
        fault(
          'OSM_SPEC_NO_EFFECT',
          `${field}.rateLimit.global`,
          'has no rate limit service: set spec.rateLimit.global.http',
        ),
      checkAnswer(limits?.local, `${field}.rateLimit.local`),
      yield* checkDescriptors(limits?.global?.descriptors ?? [], `${field}.rateLimit.global.descriptors`, context),
    )
    for (const finding of found) all.push(finding)
    yield
  }
  return all
}

function* checkDescriptors(descriptors: Descriptors, field: string, context: CheckContext): Steps<readonly Finding[]> {
  const all: Finding[] = []
  for (const [descriptor, { entries }] of descriptors.entries()) {
    const at = `${field}[${descriptor}].entries`
    for (const finding of yield* inEach(entries, (entry, index) => checkEntry(entry, `${at}[${index}]`, context)))
      all.push(finding)
  }
  return all
}

function checkEntry(entry: Entry, field: string, context: CheckContext): readonly Finding[] {
  return findings(
    Object.keys(entry).length !== 1 &&
      fault(
        'OSM_SPEC_HEADER',
        field,
        'must have exactly one of genericKey, remoteAddress, requestHeader and headerValueMatch',
      ),
    entry.requestHeader && badName(entry.requestHeader.name, `${field}.requestHeader.name`),
    (entry.headerValueMatch?.headers ?? []).flatMap((header, index) =>
      checkHeader(header, `${field}.headerValueMatch.headers[${index}]`, context),
    ),
  )
}

function checkHeader({ name, ...match }: Header, field: string, context: CheckContext): readonly Finding[] {
  return findings(
    badName(name, `${field}.name`),
    Object.keys(match).length !== 1 &&
      fault(
        'OSM_SPEC_HEADER',
        field,
        `must have exactly one condition for header ${name}: exact, prefix, suffix, regex, contains or present`,
      ),
    match.regex !== undefined && badPattern(match.regex, `${field}.regex`, context),
  )
}

function badName(name: string, field: string): Finding | undefined {
  return isHeaderName(name)
    ? undefined
    : fault('OSM_SPEC_HEADER', field, `${JSON.stringify(name)} is not a header name; its descriptor is omitted`)
}
