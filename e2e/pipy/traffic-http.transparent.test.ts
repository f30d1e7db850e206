import { jest } from '@jest/globals'

import { describeCorpus } from '../traffic/support/describe-corpus.js'
import { httpCorpus } from '../traffic/support/http/corpus.js'

jest.setTimeout(120_000)

describeCorpus(httpCorpus(), 'pipy')
