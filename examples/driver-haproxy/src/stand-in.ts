import { request } from 'node:https'

import { canonicalJson } from '@osm-ts/driver-api/policy'
import {
  documentStandIn,
  type OfferedDocument,
  type RefusedDocument,
  type StandInOptions,
} from '@osm-ts/driver-testkit'

/** Polls for documents as the agent of a sidecar does: level 0 of the conformance suite sees by it what proxies are told. */
export const standIn = documentStandIn((options: StandInOptions) => {
  const over = new AbortController()
  return {
    async poll(has: string, refused: RefusedDocument | undefined): Promise<OfferedDocument | undefined | 'gone'> {
      const query = new URLSearchParams({
        has,
        key: 'proxy',
        ...(refused === undefined ? {} : { refused: refused.revision, words: refused.words }),
      })
      const { status, body } = await get(`/v1/document?${query.toString()}`, options, over.signal)
      if (status === 403) return 'gone'
      if (status !== 200) return undefined
      // The server answers with such an object.
      const { certificate, revision, ...rest } = JSON.parse(body) as { certificate: string; revision: string }
      return { revision, configuration: canonicalJson(rest), credentials: certificate }
    },
    close: () => over.abort(),
  }
})

function get(
  path: string,
  { port, roots: ca, serverName: servername, credential }: StandInOptions,
  signal: AbortSignal,
): Promise<{ readonly status: number; readonly body: string }> {
  const { chain: cert, privateKey: key } = credential
  return new Promise((resolve, reject) => {
    const sent = request(
      { host: '127.0.0.1', port, path, servername, ca, cert, key, agent: false, signal },
      (response) => {
        let body = ''
        response.setEncoding('utf8')
        response.on('data', (chunk: string) => (body += chunk))
        response.once('error', reject)
        response.once('end', () => resolve({ status: response.statusCode ?? 0, body }))
      },
    )
    sent.once('error', reject)
    sent.end()
  })
}
