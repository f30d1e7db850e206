import { jest } from '@jest/globals'

import { describeCorpus } from './support/describe-corpus.js'
import { tcpCorpus } from './support/tcp/corpus.js'

jest.setTimeout(120_000)

describeCorpus(tcpCorpus(), 'envoy')
