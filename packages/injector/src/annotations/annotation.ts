import { OsmError } from '@osm-ts/driver-api'

import type { InjectorErrorCode } from '../error-codes.js'

/** Annotations that injection reads or writes, with OSM's names. */
export const annotations = {
  injection: 'openservicemesh.io/sidecar-injection',
  workloadIdentity: 'openservicemesh.io/workload-identity',
  metrics: 'openservicemesh.io/metrics',
  inboundPortExclusions: 'openservicemesh.io/inbound-port-exclusion-list',
  outboundPortExclusions: 'openservicemesh.io/outbound-port-exclusion-list',
  outboundIpRangeExclusions: 'openservicemesh.io/outbound-ip-range-exclusion-list',
  outboundIpRangeInclusions: 'openservicemesh.io/outbound-ip-range-inclusion-list',
  interfaceExclusions: 'openservicemesh.io/network-interface-exclusion-list',
  resources: 'openservicemesh.io/sidecar-resource-',
  scrape: 'prometheus.io/scrape',
  scrapePort: 'prometheus.io/port',
  scrapePath: 'prometheus.io/path',
} as const

const SHOWN = 64

/** Who has an annotation, such as `pod` or `namespace shop`. */
export type AnnotationOwner = string

/** What is wrong with an annotation, and what would be right. */
export function annotationError(owner: AnnotationOwner, name: string, message: string): OsmError<InjectorErrorCode> {
  return new OsmError<InjectorErrorCode>('OSM_INJECT_ANNOTATION', `annotation ${name} of ${owner}: ${message}`)
}

/** A value of a user inside a message: quoted, on one line, and cut. */
export function shown(text: string): string {
  return text.length > SHOWN
    ? `${JSON.stringify(text.slice(0, SHOWN))}… (${text.length} characters)`
    : JSON.stringify(text)
}
