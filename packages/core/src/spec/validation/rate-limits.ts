import { isAnswerHeader, isHeaderName } from '../header-name.js'
import type { KindMap } from '../objects.js'
import { badDuration, badPattern, doubt, fault, findings, type CheckContext, type Finding } from './check.js'

type Setting = KindMap['UpstreamTrafficSetting']
type RateLimit = NonNullable<Setting['spec']['rateLimit']>
type HttpLocal = NonNullable<NonNullable<RateLimit['local']>['http']>
type TcpGlobal = NonNullable<NonNullable<RateLimit['global']>['tcp']>
type HttpGlobal = NonNullable<NonNullable<RateLimit['global']>['http']>
type Descriptors = NonNullable<HttpGlobal['descriptors']>
type Entry = Descriptors[number]['entries'][number]
type Header = NonNullable<Entry['headerValueMatch']>['headers'][number]

/** Rate limits of an UpstreamTrafficSetting that limit nothing, or not what they say. */
export function checkRateLimits({ spec }: Setting, context: CheckContext): readonly Finding[] {
  const { local, global } = spec.rateLimit ?? {}
  return findings(
    checkAnswer(local?.http, 'spec.rateLimit.local.http'),
    global?.tcp && checkTcpGlobal(global.tcp),
    global?.http && checkHttpGlobal(global.http, context),
    checkRoutes(spec, context),
  )
}

function checkAnswer(limit: HttpLocal | undefined, field: string): readonly Finding[] {
  return (limit?.responseHeadersToAdd ?? []).flatMap(({ name, value }, index) =>
    findings(
      !isAnswerHeader(name, value) &&
        fault(
          'OSM_SPEC_HEADER',
          `${field}.responseHeadersToAdd[${index}].name`,
          `${JSON.stringify(name)} with ${JSON.stringify(value)} can not be added to an answer, and is left out`,
        ),
    ),
  )
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
              'is empty: its descriptor is left out',
            ),
        ),
      ),
    ),
  )
}

function checkHttpGlobal({ domain, timeout, descriptors = [] }: HttpGlobal, context: CheckContext): readonly Finding[] {
  const field = 'spec.rateLimit.global.http'
  return findings(
    noDomain(domain, field),
    badDuration(timeout, `${field}.timeout`),
    checkDescriptors(descriptors, `${field}.descriptors`, context),
  )
}

function noDomain(domain: string, field: string): Finding | undefined {
  return domain === '' ? fault('OSM_SPEC_NO_EFFECT', `${field}.domain`, 'is empty: nothing is limited') : undefined
}

function checkRoutes({ httpRoutes = [], rateLimit }: Setting['spec'], context: CheckContext): readonly Finding[] {
  const seen = new Set<string>()
  return httpRoutes.flatMap(({ path, rateLimit: limits }, index) => {
    const field = `spec.httpRoutes[${index}]`
    const repeated = seen.has(path)
    seen.add(path)
    return findings(
      badPattern(path, `${field}.path`, context),
      repeated && fault('OSM_SPEC_CONFLICT', `${field}.path`, 'is the path of an entry before, which holds'),
      limits?.local === undefined &&
        limits?.global === undefined &&
        doubt('OSM_SPEC_NO_EFFECT', `${field}.rateLimit`, 'says nothing'),
      limits?.global !== undefined &&
        rateLimit?.global?.http === undefined &&
        fault(
          'OSM_SPEC_NO_EFFECT',
          `${field}.rateLimit.global`,
          'names no service that counts: give spec.rateLimit.global.http',
        ),
      checkAnswer(limits?.local, `${field}.rateLimit.local`),
      checkDescriptors(limits?.global?.descriptors ?? [], `${field}.rateLimit.global.descriptors`, context),
    )
  })
}

function checkDescriptors(descriptors: Descriptors, field: string, context: CheckContext): readonly Finding[] {
  return descriptors.flatMap(({ entries }, descriptor) =>
    entries.flatMap((entry, index) => checkEntry(entry, `${field}[${descriptor}].entries[${index}]`, context)),
  )
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
        `must say exactly one thing of header ${name}: exact, prefix, suffix, regex, contains or present`,
      ),
    match.regex !== undefined && badPattern(match.regex, `${field}.regex`, context),
  )
}

function badName(name: string, field: string): Finding | undefined {
  return isHeaderName(name)
    ? undefined
    : fault('OSM_SPEC_HEADER', field, `${JSON.stringify(name)} is no header name; its descriptor is left out`)
}
