import type { IncomingMessage, ServerResponse } from 'node:http'

import type { ResourceType } from '../src/api.js'
import { inVersion } from '../src/resource-types.js'
import type { FaultAction } from './fake-faults.js'
import { FakeFailure } from './fake-objects.js'

/** A request that names objects of a kind. */
export interface Target {
  readonly type: ResourceType
  readonly namespace: string | undefined
  readonly name: string | undefined
  readonly subresource: string | undefined
}

const objectPath =
  /^\/(?:api|apis\/([^/]+))\/([^/]+)(?:\/namespaces\/([^/]+)(?=\/[^/]))?\/([^/]+)(?:\/([^/]+))?(?:\/([^/]+))?$/

/** What a path names, if it is one of objects. */
export function targetOf(path: string, types: readonly ResourceType[]): Target | undefined {
  const [, group = '', version = '', namespace, plural, name, subresource] = objectPath.exec(path) ?? []
  const found = types.find((type) => type.group === group && type.plural === plural)
  return found === undefined ? undefined : { type: inVersion(found, version), namespace, name, subresource }
}

/** The answer as the client requested it: whole, or nothing but metadata. */
export function inForm(accept: string, answer: unknown): unknown {
  const [, kind] = /^application\/json;as=(\w+);g=meta\.k8s\.io;v=v1,/.exec(accept) ?? []
  if (kind === undefined) return answer
  const { metadata, items } = answer as { readonly metadata: unknown; readonly items?: readonly unknown[] }
  const form = { apiVersion: 'meta.k8s.io/v1', kind, metadata }
  return kind === 'PartialObjectMetadataList'
    ? { ...form, items: items?.map((item) => inForm(accept.replace('List;', ';'), item)) }
    : form
}

/** True if nothing more is to be answered. */
export async function befall(fault: FaultAction, response: ServerResponse): Promise<boolean> {
  switch (fault.kind) {
    case 'status': {
      const { status, reason, message = reason, retryAfter } = fault
      if (retryAfter !== undefined) response.setHeader('retry-after', String(retryAfter))
      send(response, status, statusObject(status, reason, message))
      return true
    }
    case 'cut':
      response.destroy()
      return true
    case 'cut-body':
      response.writeHead(200, { 'content-type': 'application/json', 'content-length': '1000' })
      response.write('{"kind":', () => response.destroy())
      return true
    case 'garbage':
      response.writeHead(200, { 'content-type': 'application/json' })
      response.end(fault.text)
      return true
    case 'hold':
      await fault.until
      return false
    case 'hang':
      return true
  }
}

export function send(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' })
  response.end(JSON.stringify(body))
}

export function statusObject(code: number, reason: string, message: string): unknown {
  return { apiVersion: 'v1', kind: 'Status', status: 'Failure', code, reason, message, metadata: {} }
}

export function tooOld(): FakeFailure {
  return new FakeFailure(410, 'Expired', 'The resourceVersion for the provided watch is too old.')
}

export async function readJson(request: IncomingMessage): Promise<unknown> {
  const chunks: Buffer[] = []
  for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk)
  const text = Buffer.concat(chunks).toString('utf8')
  return text === '' ? undefined : JSON.parse(text)
}
