import { jest } from '@jest/globals'

import { describeCorpus } from './support/describe-corpus.js'
import { httpCorpus } from './support/http/corpus.js'

jest.setTimeout(120_000)

describeCorpus(httpCorpus(), 'envoy')
