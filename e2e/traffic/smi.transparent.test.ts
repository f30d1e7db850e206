import { jest } from '@jest/globals'

import { describeCorpus } from './support/describe-corpus.js'
import { httpCorpus } from './support/http/corpus.js'
import { tcpCorpus } from './support/tcp/corpus.js'
import type { Corpus } from './support/types.js'

jest.setTimeout(120_000)

/** The part of a corpus that some clients do. Escaped slashes are kept, so that nothing explains them. */
function partOf({ name, pairs, canonical, explanations }: Corpus, clients: readonly string[]): Corpus {
  const chosen = clients.flatMap((each) => {
    const own = pairs.filter(({ client }) => client.name === each)
    if (own.length === 0) throw new Error(`the corpus ${name} has no client ${each}`)
    return own
  })
  return {
    name,
    servers: [...new Set(chosen.map(({ server }) => server))],
    pairs: chosen,
    canonical,
    explanations: explanations.filter(({ id }) => id !== 'slash'),
  }
}

describeCorpus(partOf(httpCorpus(), ['curl-1.0', 'curl-1.1', 'node-http2', 'ws']), 'envoy', 'SMI')
describeCorpus(partOf(tcpCorpus(), ['node-net', 'node-ioredis']), 'envoy', 'SMI')
