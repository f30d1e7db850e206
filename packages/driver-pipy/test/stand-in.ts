import { canonicalJson } from '@osm-ts/driver-api/policy'
import {
  documentStandIn,
  type OfferedDocument,
  type RefusedDocument,
  type StandInOptions,
} from '@osm-ts/driver-testkit'

import { RepoClient } from './repo-client.js'

/** Polls for documents as the codebase of this package does in a worker. */
export const standIn = documentStandIn(({ port, roots, credential }: StandInOptions) => {
  const client = new RepoClient({ port, roots: [roots], credential })
  return {
    async poll(has: string, refused: RefusedDocument | undefined): Promise<OfferedDocument | undefined | 'gone'> {
      const query = new URLSearchParams({
        key: 'proxy',
        rev: has,
        ...(refused === undefined ? {} : { refused: refused.revision, error: refused.words }),
      })
      const { status, headers, body } = await client.get(`/config?${query.toString()}`)
      if (status === 403) return 'gone'
      if (status !== 200) return undefined
      // The server answers with an object.
      const { credentials = {}, revision: _, ...rest } = JSON.parse(body) as { credentials?: object; revision: string }
      return {
        revision: String(headers['osm-revision']),
        configuration: canonicalJson(rest),
        credentials: JSON.stringify(credentials),
      }
    },
    close: () => client.close(),
  }
})
