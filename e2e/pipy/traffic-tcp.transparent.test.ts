import { jest } from '@jest/globals'

import { describeCorpus } from '../traffic/support/describe-corpus.js'
import { tcpCorpus } from '../traffic/support/tcp/corpus.js'

jest.setTimeout(120_000)

describeCorpus(tcpCorpus(), 'pipy')
