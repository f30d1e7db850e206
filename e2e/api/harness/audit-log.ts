import { createReadStream } from 'node:fs'
import { createInterface } from 'node:readline'

/** What the API server notes of a request: who requested what, and how it was answered. */
export interface AuditEvent {
  readonly stage: 'ResponseStarted' | 'ResponseComplete' | 'Panic'
  readonly requestURI: string
  readonly verb: string
  readonly user: { readonly username: string; readonly groups?: readonly string[] }
  readonly userAgent?: string
  readonly objectRef?: {
    readonly resource: string
    readonly subresource?: string
    readonly apiGroup?: string
    readonly namespace?: string
    readonly name?: string
  }
  readonly responseStatus?: { readonly code: number; readonly reason?: string }
  readonly requestReceivedTimestamp: string
}

/** Metadata of every request, once when a long answer begins and once when any has ended. */
export const auditPolicy = JSON.stringify({
  apiVersion: 'audit.k8s.io/v1',
  kind: 'Policy',
  omitStages: ['RequestReceived'],
  omitManagedFields: true,
  rules: [{ level: 'Metadata' }],
})

/** The events of a log that satisfy, oldest first. A last line that is still being written is left out. */
export async function readAuditEvents(
  path: string,
  select: (event: AuditEvent) => boolean,
): Promise<readonly AuditEvent[]> {
  const selected: AuditEvent[] = []
  for await (const line of createInterface({ input: createReadStream(path), crlfDelay: Infinity })) {
    if (!line.endsWith('}')) continue
    const event = JSON.parse(line) as AuditEvent
    if (select(event)) selected.push(event)
  }
  return selected
}
